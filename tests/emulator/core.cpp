// core.cpp: assign_core_grid, for one CORE_COST.
#include "assignment.h"
#include "core_assignment.cuh"

int main(int argc, char** argv) {
  return fuzz(argc, argv, [](Random& random) {
    constexpr int STARTS = 4;
    const int largest = random() % 3 == 0 ? 240 : 40;  // a row of the core has no room for 240 columns
    auto call = draw_call(random, draw_matrix<CORE_COST>(random, largest), STARTS, false, MOST_REPRICINGS + 2);
    const Noise workspace(random, core_workspace_size(call.shape(), call.team_tile()));
    const auto task = call.task(workspace.data(), true);
    const auto spread = dual_spread(call.matrix);
    emulator::launch(call.launch, [&] { assign_core_grid(dense_costs(call.matrix), task, spread, arrivals); });
    return call.judge();
  });
}
