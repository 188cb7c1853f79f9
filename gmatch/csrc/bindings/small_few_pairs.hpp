// small_few_pairs.hpp: the short way of large matrices in which nearly all pairs have the same cost and few cost less.
#pragma once
#include <vector>

#include "bindings/small_costs.hpp"

// Fills the cells. Returns false if the cheaper pairs are not few, or if the costs need another way.
template <class Cost>
bool solve_small_few_pairs(const SmallMatrix<Cost>& given, const SmallCall& call, Count* cells, std::vector<Count>& words);
