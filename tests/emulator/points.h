// points.h: what the drivers of passes over points have in common.
#pragma once
#include <string>
#include <vector>

#include "fuzz.h"

// Some pairs by their places. run(places, number, found) launches the program that computes what they cost.
template <class Run>
std::string judge_places(const std::vector<double>& costs, Random& random, const Run& run) {
  std::vector<Count> places(random() % 100);
  for (Count& place : places) place = random() % costs.size();
  std::vector<double> found(places.size() + 1, 77);
  const Count number = places.size();
  run(places.data(), number, found.data());
  for (Count i = 0; i < number; ++i) {
    if (found[i] != costs[places[i]]) return "another cost of a pair";
  }
  return found[number] == 77 ? "" : "a cost too many";
}
