// munkres.cu: dense assignment by Munkres' method on a GPU: in one launch, or in a launch for each line of run_munkres.
// COSTS are DenseCosts, SLACK is the type of a slack.
#include "assignment/munkres.cuh"

using Dual = COSTS::Dual;

#define MUNKRES(name, ...)                                                                                            \
  PROGRAM(name, 1024)(COSTS costs, AssignmentTask<Dual> task, int form, SLACK* slacks, Dual* least,                   \
                      unsigned* arrivals) {                                                                           \
    GridTeam<32> team(arrivals);                                                                                      \
    Munkres<COSTS::Cost, SLACK> munkres{costs, task};                                                                 \
    munkres.set_up(static_cast<MunkresForm>(form), slacks, least);                                                    \
    __VA_ARGS__;                                                                                                      \
  }

MUNKRES(munkres_grid, run_munkres(team, munkres))
MUNKRES(munkres_start, munkres.start(team))
MUNKRES(munkres_search, munkres.search(team))
MUNKRES(munkres_find_least, munkres.find_least(team))
MUNKRES(munkres_clear_lists, munkres.edges.clear_lists(team))
MUNKRES(munkres_add_subtract, munkres.add_subtract(team))
MUNKRES(munkres_compress, munkres.edges.compress(team))
MUNKRES(munkres_add_subtract_compress, munkres.add_subtract_compress(team))
MUNKRES(munkres_sum_zeros, munkres.edges.sum_zeros(team))
