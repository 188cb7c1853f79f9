// point_costs.cu: what some rows of points cost with all others. TERMS say which metric.
#include "points/window.cuh"

PROGRAM(point_costs_grid, 512)(PointWindow window, unsigned* arrivals) {
  GridTeam<32> team(arrivals);
  find_costs_of_window<TERMS>(team, window);
}
