// assign.cpp: assign_grid and assign_block, for one type of COSTS and its EDGES: the tree variant or the classical one.
#include "assignment.h"

using Cost = COSTS::Cost;

// If all costs are equal, every row finds a column at once.
static bool starts_short(const Call<Cost>& call) {
  const auto range = range_of(call.matrix);
  const bool from_nothing = !call.has_duals && call.start != AssignmentStart::none && call.start != AssignmentStart::given;
  return from_nothing && range.lowest == range.highest && !range.forbids && call.report.start_size < call.matrix.rows;
}

static bool was_left(const Call<Cost>& call) {
  return call.most_levels > 0 && call.report.levels >= call.most_levels && call.report.size < call.matrix.rows;
}

int main(int argc, char** argv) {
  return fuzz(argc, argv, 100, [](Random& random) -> std::string {
    constexpr int STARTS = 5, LARGEST = 40;
    const bool one_block = random() % 3 == 0, many_paths = random() % 2;
    auto call = draw_call(random, draw_matrix<Cost>(random, LARGEST), STARTS, one_block);
    const Noise workspace(random, assignment_workspace_size<EDGES>(dense_costs(call.matrix), call.team_columns()));
    if (random() % 4 == 0) call.most_levels = 1 + random() % 8;
    const auto task = call.task(workspace.data(), many_paths);
    emulator::launch(call.launch, [&] {
      (one_block ? assign_block : assign_grid)(dense_costs(call.matrix), task, arrivals);
    });
    if (starts_short(call)) return "a start that leaves rows without a column";
    return was_left(call) ? judge_part(call) : call.judge();
  });
}
