// module_magnitudes.cpp: whether duals hide what pairs cost, for Python.
#include "magnitudes.hpp"
#include "module.hpp"

namespace {

// The matrix is as it was solved: every row has its pair.
template <class Cost>
bool duals_hide_costs_of_matrix(nb::ndarray<const Cost, nb::ndim<2>, nb::device::cpu> costs, Array<const Vertex> row_match,
                                Array<const double> u, Array<const double> v, double lowest, double highest) {
  const auto rows = static_cast<Vertex>(costs.shape(0)), columns = static_cast<Vertex>(costs.shape(1));
  const double largest = std::max(largest_magnitude(u.data(), rows), largest_magnitude(v.data(), columns));
  return duals_hide_costs(rows, largest, lowest, highest, [&](Vertex row) {
    return costs.data()[row * costs.stride(0) + row_match.data()[row] * costs.stride(1)];
  });
}

bool duals_hide_costs_of_pairs(Array<const double> pair_costs, Array<const double> u, Array<const double> v, double lowest,
                               double highest) {
  const auto rows = static_cast<Vertex>(pair_costs.shape(0));
  const double largest =
      std::max(largest_magnitude(u.data(), static_cast<Vertex>(u.shape(0))), largest_magnitude(v.data(), static_cast<Vertex>(v.shape(0))));
  return duals_hide_costs(rows, largest, lowest, highest,
                          [&](Vertex row) { return pair_costs.data()[row]; });
}

}  // namespace

void define_magnitudes(nb::module_& m) {
  m.def("duals_hide_costs", &duals_hide_costs_of_matrix<float>, "costs"_a.noconvert(), "row_match"_a.noconvert(),
        "u"_a.noconvert(), "v"_a.noconvert(), "lowest"_a, "highest"_a);
  m.def("duals_hide_costs", &duals_hide_costs_of_matrix<double>, "costs"_a.noconvert(), "row_match"_a.noconvert(),
        "u"_a.noconvert(), "v"_a.noconvert(), "lowest"_a, "highest"_a);
  m.def("duals_hide_costs_of_pairs", &duals_hide_costs_of_pairs, "pair_costs"_a.noconvert(), "u"_a.noconvert(),
        "v"_a.noconvert(), "lowest"_a, "highest"_a);
}
