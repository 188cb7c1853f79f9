// point_order.cpp: orders of points by a tree, beside plain loops.
#include <algorithm>
#include <numeric>
#include <vector>

#include "fuzz.h"

int main(int argc, char** argv) {
  return fuzz(argc, argv, 200, [](Random& random) -> std::string {
    const emulator::Launch launch = draw_launch(random);
    const Count n = 1 + random() % (random() % 4 == 0 ? 4000 : 300), group = 1 + random() % 20, d = 1 + random() % 4;
    const Count groups = (n + group - 1) / group;
    const Count nodes = 1 + random() % groups;
    emulator::instance += ": " + std::to_string(n) + " points, " + name_of(launch);
    std::vector<double> points(n * d), keys(2 * n + 1, 77);
    for (double& number : points) number = static_cast<double>(random() % 50) - 20;
    std::vector<int> widest(nodes + 1, -7);
    std::vector<Count> order(n), taken(n + 1, -7), sorted(n);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    emulator::launch(launch, [&] {
      keys_of_nodes_grid(points.data(), static_cast<int>(d), n, group, nodes, order.data(), widest.data(), keys.data(),
                         arrivals);
    });
    for (Count node = 0; node < nodes; ++node) {
      std::vector<Count> mine;
      for (Count place = 0; place < n; ++place) {
        if (place / group * nodes / groups == node) mine.push_back(place);
      }
      if (mine.empty()) return "a node without points";
      std::vector<double> reach(d);
      for (Count k = 0; k < d; ++k) {
        double least = HUGE_VAL, most = -HUGE_VAL;
        const Count step = (static_cast<Count>(mine.size()) + SEEN - 1) / SEEN;
        for (std::size_t i = 0; i < mine.size(); i += step) {
          const Count place = mine[i];
          least = std::min(least, points[order[place] * d + k]);
          most = std::max(most, points[order[place] * d + k]);
        }
        reach[k] = most - least;
      }
      const Count farthest = std::max_element(reach.begin(), reach.end()) - reach.begin();
      for (const Count place : mine) {
        if (keys[n + place] != static_cast<double>(node)) return "another node";
        if (keys[place] != points[order[place] * d + farthest]) return "another coordinate";
      }
    }
    if (keys[2 * n] != 77 || widest[nodes] != -7) return "a key too many";
    std::iota(sorted.begin(), sorted.end(), 0);
    std::shuffle(sorted.begin(), sorted.end(), random);
    emulator::launch(launch, [&] { take_places_grid(order.data(), sorted.data(), n, taken.data(), arrivals); });
    for (Count place = 0; place < n; ++place) {
      if (taken[place] != order[sorted[place]]) return "another place";
    }
    return taken[n] == -7 ? "" : "a place too many";
  });
}
