// shares.hpp: work on consecutive points, shared out to threads.
#pragma once
#include <algorithm>

#include "team/host_threads.hpp"

namespace points {

// Runs work(begin, end, share) on shares of 0 to size, each of at least `least` points. If one share throws, all end, and the
// exception is thrown here. Work on fewer than 256 points takes less time than the start of a thread.
template <class Work>
void share_out(Vertex size, int threads, const Work& work, Vertex least = 256) {
  const int shares = std::max(1, std::min<int>(threads, size / least));
  run_on_host(shares, [&](const HostTeam& team) {
    const auto edge = [&](int share) { return static_cast<Vertex>(Count{size} * share / shares); };
    look_around();  // many shares are too short for the polls inside
    work(edge(team.rank()), edge(team.rank() + 1), team.rank());
  });
}

}  // namespace points
