// team.cuh: what the teams that run a program offer. The files of the teams have everything in which a GPU and a host differ.
//
// A program is a function that all threads of a team run together, in steps separated by team.sync(). All teams run one
// text of a program; only the files of the teams know threads, warps, scopes and memory models.
//
//   GridTeam<LANES>   all blocks of one cooperative launch; sync is a barrier of the grid (device_team.cuh)
//   BlockTeam<LANES>  one thread block; sync is __syncthreads (device_team.cuh)
//   HostTeam          threads of this process; sync is a barrier that is free for one thread (host_team.hpp)
//
// What a team offers:
//   rank, size                 this thread's number, and how many threads there are
//   alone, team_of_one         whether the team has one thread; a team of this thread alone (host only)
//   LANES                      the size of its lane groups
//   lane, lanes                this thread's number in its lane group (a part of a warp; on the host one thread)
//   sync                       everything written before it is seen by every thread after it
//   any                        a sync that says whether any thread says yes
//   each(n, f)                 f(i) for all i in [0, n), one thread for each i
//   each_in_turn(n, f)         as each; the i of a thread follow one another
//   each_group(n, f)           as each, one lane group for each i: all its lanes call f(i)
//   each_group_apart(n, f)     as each_group, if there may be fewer i than groups: neighbours go to different blocks
//   each_tile(n, f)            as each_group, for few and heavy i, such as some rows by some columns
//   each_chosen<Note>(n, choose, f)  f(i, note) as each_group, for each i for which choose(i, note) is true; one thread asks
//                              for each i, and its note reaches its group
//   COLUMNS_AT_ONCE            how many columns a thread of a dense step holds in registers, or in its cache
//   PASSES                     whether asking every vertex costs less than keeping a list of some
//   STREAMS                    whether it reads matrices as fast as the memory can give them
//   INPUT_CHANGES              whether others may write to the caller's arrays while it reads them: then every loop needs a
//                              bound that does not depend on what it reads
//   IS_GRID                    whether it is many blocks, and its barrier expensive
//   IS_FAR                     whether its cells lie in memory that all blocks share: reading a cell that may not be needed
//                              is cheaper than waiting to learn whether it is
//   HAS_PARTS                  whether parts of it have a barrier of their own, cheaper than the team's
//   part, parts, part_number   the part of this thread as a team, whose threads share cells with threads of other parts; how
//                              many parts there are; and the number of this thread's part
//   num_waiting                how many parts wait at the team's next barrier
//   in_blocks                  this team with larger lane groups, of all threads of a block, for cells, each_group and
//                              min_group between two barriers; on the host lane groups stay as they are
//   each_item<Note>(n, open, fetch, use)  for teams that are a part: use(note, fetch(note, item)) for all items of all i in
//                              [0, n); i has open(i, note) items; evenly shared out among the lanes of a warp
//   SMALL_STEP                 the longest list that each_group leaves to rank 0, if steps without barriers pay; else 0
//   KEEPS_BACK                 how many entries of a list a thread keeps back, if counters that threads share are slow
//   AHEAD                      how many entries of a list a thread looks ahead, if it would wait for memory without; else 0
//   prefetch                   asks for a cell that will be read
//   AT_ONCE                    how many loads it starts before it waits for the first
//   ROWS_AT_ONCE               how many rows of a matrix a lane group reads together
//   read, write                relaxed access to a cell that other threads change in the same step
//   read_once                  reads a cell that nobody changes in this step, and nobody reads again soon. As with read,
//                              several reads are under way at once: a compiler puts plain loads where they are used, one
//                              after the other
//   claim                      compare and swap: true for the one thread that changed `expected` into `desired`; for a part,
//                              like `lower`, only for cells that it shares with others
//   fetch_add, append          append adds 1, for all threads that come to a line of the program to one counter
//   fetch_min                  as lower; a thread that gets a value also sees what its writer wrote before it
//   lower                      lowers a cell; returns what it held; floating point numbers must not be negative
//   min_group                  the smallest value of the lanes of a group; all its lanes call it
//   sum_before                 the sum of the values of the lanes of a group before this one; all its lanes call it
//   min_part(value, width)     the smallest number of `width` lanes of a warp that follow one another; a power of two
//   vote                       for each lane of the warp, a bit that says whether it says yes
//   count                      how many bits are set
//   meet_group                 no lane of a group goes on before all are here; a compiler moves no load past it. What lanes wrote
//                              need not be seen
//   sync_group                 what lanes of a group wrote before it is seen by all of them after it, and by who gets to it by a
//                              cell that they lower later
//   add_all, min_all, max_all  the sum, the minimum, the maximum of one value of every thread, into a cell; all threads
//                              of the team call it; floating point numbers must not be negative for the last two
//   nanoseconds                a clock
//   next, own_memory           for teams that share the problems of a batch: the next number of a counter, one for all
//                              threads of the team; and memory of the team alone
//
// Everything else that threads share becomes visible at sync. A team holds the turn of its barrier. So a function that takes
// a copy of a team returns it, and its caller goes on with the returned one.
#pragma once
#include "team/device_team.cuh"
#include "team/vertex.cuh"
#ifndef ON_GPU
#include "team/host_team.hpp"
#endif

// use(k, fetch(k)) for k = first, first + step, ... below `end`. AT_ONCE fetches of a thread are under way together.
template <int AT_ONCE, class Fetch, class Use>
DEVICE void each_fetched(Vertex first, Vertex step, Vertex end, Fetch fetch, Use use) {
  for (; first < end; first += AT_ONCE * step) {
    decltype(fetch(first)) fetched[AT_ONCE];
    for (int k = 0; k < AT_ONCE; ++k) {
      const Vertex here = first + k * step;
      fetched[k] = fetch(here < end ? here : first);
    }
    for (int k = 0; k < AT_ONCE; ++k) {
      const Vertex here = first + k * step;
      if (here < end) use(here, fetched[k]);
    }
  }
}
