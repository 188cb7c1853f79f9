// munkres.cpp: Munkres' method in all its forms, for one type of COSTS and one SLACK; launches as
// gmatch/backends/gpu.py does them.
#include "assignment.h"

using Cost = COSTS::Cost;

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
static void launch_form(MunkresForm form, const Call<Cost>& call, const Dual& least, Launch launch_one) {
  if (form >= MunkresForm::cooperative) return launch_one(munkres_grid);
  launch_one(munkres_start);
  launch_one(munkres_compress);
  while (true) {
    launch_one(munkres_search);
    if (call.report.size == call.matrix.rows) return;
    launch_one(munkres_find_least);
    if (least == COSTS::infinite()) return;
    shift(form, launch_one);
  }
}

// Slacks stay within four spreads of the costs.
static Matrix<Cost> draw_matrix_with_slacks(Random& random) {
  constexpr int LARGEST = 40;
  while (true) {
    auto matrix = draw_matrix<Cost>(random, LARGEST);
    const auto range = range_of(matrix);
    if (4 * (range.highest - range.lowest) <= std::numeric_limits<SLACK>::max()) return matrix;
  }
}

int main(int argc, char** argv) {
  return fuzz(argc, argv, 40, [](Random& random) {
    constexpr int STARTS = 5, FORMS = 5;
    const auto form = static_cast<MunkresForm>(random() % FORMS);
    emulator::instance += ", form " + std::to_string(static_cast<int>(form));
    auto call = draw_call(random, draw_matrix_with_slacks(random), STARTS);
    const Noise workspace(random, munkres_workspace_size(dense_costs(call.matrix), call.team_columns()));
    const auto task = call.task(workspace.data(), false);
    std::vector<SLACK> slacks(static_cast<std::size_t>(call.matrix.rows) * call.matrix.columns);
    Dual least = COSTS::infinite();
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
