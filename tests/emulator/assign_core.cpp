// assign_core.cpp: the launches of a core as the host starts them, for one type of COSTS.
#include "assignment.h"

int main(int argc, char** argv) {
  return fuzz(argc, argv, 40, [](Random& random) {
    constexpr int STARTS = 5;
    const int largest = random() % 3 == 0 ? 240 : 40;  // a row of the core has no room for 240 columns
    auto call = draw_call(random, draw_matrix<COSTS::Cost>(random, largest), STARTS, false, MOST_REPRICINGS + 2);
    const Noise workspace(random, core_workspace_size(dense_costs(call.matrix), call.team_columns()));
    CoreReport report{};
    if (random() % 4 == 0) call.most_levels = 1 + random() % 8;
    auto task = call.task(workspace.data(), true);
    task.report = &report.counters;
    const auto spread = dual_spread(call.matrix);
    const auto costs = dense_costs(call.matrix);
    emulator::launch(call.launch, [&] { core_start_grid(costs, task, spread, arrivals); });
    emulator::launch(call.launch, [&] { core_search_grid(costs, task, spread, arrivals); });
    if (report.trace.ends_with(CoreStep::bound)) {
      emulator::launch(call.launch, [&] { core_matrix_grid(costs, task, spread, arrivals); });
    }
    if (report.trace.size < 1 || report.trace.size > CoreTrace::ROOM) return std::string("a trace of no length that can be");
    call.report = report.counters;
    if (report.trace.ends_with(CoreStep::coarsen)) {
      if (call.most_levels == 0) return std::string("a search that was given up for nothing");
      return judge_part(call);
    }
    if (!report.trace.ends_with(CoreStep::reprice) && !report.trace.ends_with(CoreStep::search_matrix)) {
      return std::string("launches that left the plan before its end");
    }
    return call.judge();
  });
}
