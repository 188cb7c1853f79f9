// block_picks.cpp: the entries that a rank picks from its block on host threads, for Python.
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include "bindings/block_runs.hpp"
#include "bindings/numpy_arrays.hpp"
#include "serial/rows/block_picks.hpp"

namespace {

// A vector as an array of NumPy that owns it.
template <class T>
nb::object as_array(std::vector<T>&& numbers) {
  auto* const kept = new std::vector<T>(std::move(numbers));
  const nb::capsule owner(kept, [](void* given) noexcept { delete static_cast<std::vector<T>*>(given); });
  return numpy::Table::get().view(owner, kept->data(), static_cast<Py_ssize_t>(kept->size()));
}

// See PickedPlaces; an empty u is none.
template <class Dual>
nb::tuple pick(AnyMatrix costs, const std::string& stored, bool maximize, nb::handle limit, Array<Vertex> rows, Array<Dual> u,
               Array<Dual> v, std::tuple<Vertex, Vertex, Vertex, nb::handle> depth, Array<Dual> bounds, int threads) {
  const auto [minima, chosen, room, below] = depth;
  const Dual most = below.is_none() ? beyond_all(Dual{}) : nb::cast<Dual>(below);
  const BlockPicks<Dual> asked{rows.data(), static_cast<Vertex>(rows.size()), u.size() == 0 ? nullptr : u.data(),
                               v.data(), {minima, chosen, room}, most, bounds.data()};
  PickedPlaces<Dual> found = with_stored<Dual>(stored, [&](auto entry) {
    const auto block = dense_costs<decltype(entry)>(costs, maximize, limit);
    const OthersMayRun others_may_run;
    return pick_from_block(block, asked, threads);
  });
  return nb::make_tuple(as_array(std::move(found.places)), as_array(std::move(found.costs)), found.overpriced);
}

template <class Dual>
void define_block_picks_for(nb::module_& m) {
  m.def("pick", &pick<Dual>, "costs"_a.noconvert(), "stored"_a, "maximize"_a, "limit"_a.none(), "rows"_a.noconvert(),
        "u"_a.noconvert(), "v"_a.noconvert(), "depth"_a, "bounds"_a.noconvert(), "threads"_a);
}

}  // namespace

void define_block_picks(nb::module_& m) {
  define_block_picks_for<Count>(m);
  define_block_picks_for<double>(m);
}
