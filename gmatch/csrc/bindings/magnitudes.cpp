// magnitudes.cpp: whether duals hide the costs of pairs, for Python; see costs/magnitudes.hpp.
#include "bindings/module.hpp"
#include "costs/magnitudes.hpp"

namespace {

template <class T>
using Matrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

double hiding_if_negative_within_of_pairs(Array<const double> pair_costs, Array<const double> u, Array<const double> v,
                                          double lowest) {
  const auto rows = static_cast<Vertex>(pair_costs.shape(0));
  const double largest =
      std::max(largest_magnitude(u.data(), static_cast<Vertex>(u.shape(0))),
               largest_magnitude(v.data(), static_cast<Vertex>(v.shape(0))));
  return hiding_if_negative_within(rows, largest, lowest, [&](Vertex row) { return pair_costs.data()[row]; });
}

// For each problem of a batch, whose arrays have padding: free rows are not looked at.
void hiding_if_negative_within_of_batch(Matrix<const Vertex> row_match, Matrix<const double> u, Matrix<const double> v,
                                         Matrix<const double> pair_costs, double lowest, Array<double> within) {
  const auto rows = static_cast<Vertex>(u.shape(1)), columns = static_cast<Vertex>(v.shape(1));
  std::vector<double> costs(rows);
  for (std::size_t p = 0; p < u.shape(0); ++p) {
    const double largest =
        std::max(largest_magnitude(u.data() + p * rows, rows), largest_magnitude(v.data() + p * columns, columns));
    Vertex pairs = 0;
    for (Vertex row = 0; row < rows; ++row) {
      if (row_match.data()[p * rows + row] != NONE) costs[pairs++] = pair_costs.data()[p * rows + row];
    }
    within.data()[p] = hiding_if_negative_within(pairs, largest, lowest, [&](Vertex pair) { return costs[pair]; });
  }
}

}  // namespace

void define_magnitudes(nb::module_& m) {
  m.def("hiding_if_negative_within_of_batch", &hiding_if_negative_within_of_batch, "row_match"_a.noconvert(),
        "u"_a.noconvert(), "v"_a.noconvert(), "pair_costs"_a.noconvert(), "lowest"_a, "within"_a.noconvert());
  m.def("hiding_if_negative_within_of_pairs", &hiding_if_negative_within_of_pairs, "pair_costs"_a.noconvert(),
        "u"_a.noconvert(), "v"_a.noconvert(), "lowest"_a);
}
