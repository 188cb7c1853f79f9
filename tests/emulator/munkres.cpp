// munkres.cpp: Munkres' method in all its forms, for one COST and SLACK; launches as gmatch/backends/gpu.py does them.
#include "assignment.h"
#include "munkres.cuh"

using DualOfCost = DualOf<COST>::type;

// A dual step and its new zeros, as a form has them.
template <class Launch>
static void shift(MunkresForm form, Launch launch_one) {
  launch_one(munkres_clear_lists);
  if (form == MunkresForm::fused) {
    launch_one(munkres_add_subtract_compress);
  } else {
    launch_one(munkres_add_subtract);
    launch_one(munkres_compress);
  }
  if (form != MunkresForm::baseline) launch_one(munkres_sum_zeros);
}

template <class Launch>
static void launch_form(MunkresForm form, const Call<COST>& call, const DualOfCost& least, Launch launch_one) {
  if (form >= MunkresForm::cooperative) return launch_one(munkres_grid);
  launch_one(munkres_start);
  launch_one(munkres_compress);
  while (true) {
    launch_one(munkres_search);
    if (call.report.size == call.matrix.rows) return;
    launch_one(munkres_find_least);
    if (least == DenseCosts<COST>::infinite()) return;
    shift(form, launch_one);
  }
}

// Slacks stay within four spreads of the costs.
static Matrix<COST> draw_matrix_with_slacks(Random& random) {
  constexpr int LARGEST = 40;
  while (true) {
    auto matrix = draw_matrix<COST>(random, LARGEST);
    const auto range = range_of(matrix);
    if (4 * (range.highest - range.lowest) <= std::numeric_limits<SLACK>::max()) return matrix;
  }
}

int main(int argc, char** argv) {
  return fuzz(argc, argv, [](Random& random) {
    constexpr int STARTS = 5, FORMS = 5;
    const auto form = static_cast<MunkresForm>(random() % FORMS);
    emulator::instance += ", form " + std::to_string(static_cast<int>(form));
    auto call = draw_call(random, draw_matrix_with_slacks(random), STARTS);
    const Noise workspace(random, munkres_workspace_size(call.shape(), call.team_tile()));
    const auto task = call.task(workspace.data(), false);
    std::vector<SLACK> slacks(static_cast<std::size_t>(call.matrix.rows) * call.matrix.columns);
    DualOfCost least = DenseCosts<COST>::infinite();
    launch_form(form, call, least, [&](auto* program) {
      emulator::Launch launch = call.launch;
      launch.seed = random();
      emulator::launch(launch, [&] {
        program(dense_costs(call.matrix), task, static_cast<int>(form), slacks.data(), &least, arrivals);
      });
    });
    return call.judge();
  });
}
