// shares.hpp: work on consecutive points, each of some threads a share of them.
#pragma once
#include <algorithm>

#include "team/host_threads.hpp"

namespace points {

// Runs work(begin, end, share) on shares of 0 to size, of at least `least`; what one of them throws ends all, and is thrown
// here. Fewer points than 256 take less time than a thread to start.
template <class Work>
void share_out(Vertex size, int threads, const Work& work, Vertex least = 256) {
  const int shares = std::max(1, std::min<int>(threads, size / least));
  run_on_host(shares, [&](const HostTeam& team) {
    const auto edge = [&](int share) { return static_cast<Vertex>(Count{size} * share / shares); };
    work(edge(team.rank()), edge(team.rank() + 1), team.rank());
  });
}

}  // namespace points
