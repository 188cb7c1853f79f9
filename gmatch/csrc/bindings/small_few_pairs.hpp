// small_few_pairs.hpp: the short way of matrices that are not small, if few of their pairs are cheaper than all others.
#pragma once
#include <vector>

#include "bindings/small_costs.hpp"

// Fills the cells. False for all costs but such, and if they need another way.
template <class Cost>
bool solve_small_few_pairs(const SmallMatrix<Cost>& given, const SmallCall& call, Count* cells, std::vector<Count>& words);
