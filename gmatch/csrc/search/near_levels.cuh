// near_levels.cuh: levels that the parts of a team do by themselves, without its barrier.
#pragma once
#include "search/claimed_forest.cuh"
#include "team/steps.cuh"

// The lists that a part of a team works on by itself.
template <Vertex ROWS, Vertex ENDS>
struct NearWork {
  static constexpr Vertex ROOM = SHORT_LISTS ? 6 : ROWS, ROOM_FOR_ENDS = SHORT_LISTS ? 3 : ENDS;
  // The most levels that a part does, if less than a full share of rows keeps it busy.
  static constexpr int LEVELS_AHEAD = SHORT_LISTS ? 5 : 24;
  // If half of the parts have no rows, a part with more rows than this shares them out again.
  static constexpr Vertex ROWS_TO_SHARE = SHORT_LISTS ? 1 : 64;

  Progress progress;
  Sprout sprouts[2 * ROOM];
  PathEnd ends[ROOM_FOR_ENDS];
  Vertex place, place_of_ends;
  int num_waiting[2];  // in turns, like the lists
};

// Parts of the team do several levels by themselves, each from its share of the frontier. A block then waits at each level
// for its own threads only, not for a grid. Rows that join are listed in near memory. The rows that are listed at the end go
// to the team, which shares them out again. A frontier that keeps all threads busy goes on level by level. `level` counts the
// levels of the first part.
//
// expand_list(near_steps, near_forest, sprouts, count, stride) lets the rows of a list, every `stride`-th sprout, reach
// columns; it returns the entries that this thread read.
template <class Work, class Team, class Forest, class ExpandList>
DEVICE Count expand_ahead(const Steps<Team>& steps, const Forest& forest, Vertex& level, Vertex full_share,
                          ExpandList expand_list) {
  SHARED_BY_BLOCK(Work, near);
  auto part = steps.team.part();
  if (part.rank() == 0) near.progress = Progress{};
  part.sync();
  Steps<decltype(part)> near_steps(part, near.progress);
  const auto near_forest = forest.part(steps, {near.sprouts, Work::ROOM}, near.ends, Work::ROOM_FOR_ENDS);

  // Shares are dealt out in turn, since neighbours in the list are alike, most of all the pieces of a row.
  const Vertex todo = steps.todo(), parts = steps.team.parts(), mine = steps.team.part_number();
  const Sprout* sprouts = forest.frontier_rows(steps) + mine;
  Vertex count = mine < todo ? (todo - 1 - mine) / parts + 1 : 0, stride = parts;
  Count inspected = 0;
  const int levels = todo > full_share * static_cast<Count>(parts) ? 1 : Work::LEVELS_AHEAD;
  int done = 0;
  bool is_awaited;
  do {
    // The load starts before its answer is needed.
    const int num_waiting = part.rank() == 0 && count > Work::ROWS_TO_SHARE ? steps.team.num_waiting() : 0;
    inspected += expand_list(near_steps, near_forest, sprouts, count, stride);
    if (part.rank() == 0) near.num_waiting[near_steps.parity() ^ 1] = num_waiting;
    near_steps.end();
    is_awaited = 2 * near.num_waiting[near_steps.parity()] >= parts;
    sprouts = near_forest.frontiers.near.now(near_steps);
    count = near_steps.todo() < Work::ROOM ? near_steps.todo() : Work::ROOM;
    stride = 1;
  } while (++done < levels && count > 0 && !(is_awaited && count > Work::ROWS_TO_SHARE));
  level += done - 1;
  const Vertex ends_seen = part.read(&near.progress.num_ends);
  const Vertex num_ends = ends_seen < Work::ROOM_FOR_ENDS ? ends_seen : Work::ROOM_FOR_ENDS;
  if (count == 0 && num_ends == 0) return inspected;
  if (part.rank() == 0) {
    if (count > 0) near.place = steps.append(count);
    if (num_ends > 0) near.place_of_ends = part.fetch_add(&steps.progress.num_ends, num_ends);
    if (num_ends > 0) steps.count_found(num_ends);
  }
  part.sync();
  part.each(count, [&](Count i) { forest.frontiers.next(steps)[near.place + i] = sprouts[i]; });
  part.each(num_ends, [&](Count i) { forest.ends[near.place_of_ends + i] = near.ends[i]; });
  return inspected;
}

// Lets the rows of the frontier reach columns: on a grid by parts, a group of lanes a row.
// reach(steps, forest, sprout) returns the entries that this thread read.
template <class Team, class Forest, class Reach>
DEVICE Count expand_rows(const Steps<Team>& steps, const Forest& forest, Vertex& level, Reach reach) {
  if constexpr (Team::IS_GRID) {
    constexpr Vertex FULL_SHARE = SHORT_LISTS ? 8 : 64;  // rows of a frontier that keep a part busy
    return expand_ahead<NearWork<512, 512>>(
        steps, forest, level, FULL_SHARE,
        [&](const auto& near_steps, const auto& near_forest, const Sprout* sprouts, Vertex count, Vertex stride) {
          Count inspected = 0;
          near_steps.team.each_group(count, [&](Count i) {
            inspected += reach(near_steps, near_forest, sprouts[i * stride]);
          });
          return inspected;
        });
  } else {
    Count inspected = 0;
    forest.each_frontier_row(steps, level, [&](Vertex row, Vertex root) {
      inspected += reach(steps, forest, Sprout{row, root});
    });
    return inspected;
  }
}
