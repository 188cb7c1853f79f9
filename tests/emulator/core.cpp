// core.cpp: assign_core_grid, for one CORE_COST.
#include "assignment.h"
#include "core_assignment.cuh"

int main(int argc, char** argv) {
  return fuzz(argc, argv, [](Random& random) {
    constexpr int STARTS = 4;
    const int largest = random() % 3 == 0 ? 240 : 40;  // a row of the core has no room for 240 columns
    auto call = draw_call(random, draw_matrix<CORE_COST>(random, largest), STARTS, false, MOST_REPRICINGS + 2);
    const Noise workspace(random, core_workspace_size(call.shape(), call.team_tile()));
    CoreReport report{};
    auto task = call.task(workspace.data(), true);
    task.report = &report.counters;
    const auto spread = dual_spread(call.matrix);
    emulator::launch(call.launch, [&] { assign_core_grid(dense_costs(call.matrix), task, spread, arrivals); });
    if (report.trace.size < 1 || report.trace.size > CoreTrace::ROOM) return std::string("a trace of no length that can be");
    call.report = report.counters;
    return call.judge();
  });
}
