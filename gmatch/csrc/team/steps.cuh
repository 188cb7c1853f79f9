// steps.cuh: what the threads of a team tell each other from one step to the next.
//
// A step is the work between two barriers. In step k the threads fill the to-do list of step k + 1. Three counters
// take turns: while one is read (step k) and one is filled (step k + 1), rank 0 clears the third for step k + 2. So
// one barrier a step is enough: a fast thread that fills the next list never changes what a slow one still reads.
#pragma once
#include "team/mirror.hpp"
#include "team/team.cuh"

// Shared by the team; zero before the program starts.
struct Progress {
  Vertex todo[3];    // entries in the to-do list of a step
  Vertex found[3];   // path ends that the step before found (disjoint trees), or not 0 if any (speculative)
  Vertex num_ends;   // path ends found in this phase (claimed trees), or trees that found one (ordered)
  Vertex num_paths;  // paths that the reverse pass kept
  Vertex num_pieces;  // pieces of long rows made in this phase (claimed trees)
  Count augmented;   // augmentations of all phases
  Count entries_of_long_rows;  // that a start counts, to see whether degrees are skewed
  Count free_rows[2];  // rows with edges that the first fit, in stored and in shuffled order, left free

  FIELDS(Progress, todo, found, num_ends, num_paths, num_pieces, augmented, entries_of_long_rows, free_rows)
};

// What a program reports.
struct Report {
  Count start;            // which start ran, a Start
  Count dropped;          // pairs that could not be kept: of a given matching, or above a limit
  Count start_size;       // edges matched by it
  Count size;             // edges matched at the end
  Count phases;           // searches. The last one finds no path, unless all rows are matched and duals are the proof
  Count depth_first;      // how many of the phases searched depth first
  Count levels;           // steps of all searches; of a phase that searched depth first, rows on its longest path
  Count edges_inspected;  // entries read by all searches
  Count dual_steps;       // assignment: how often the duals were shifted to make more edges tight
  Count rows_scanned;     // assignment: rows of costs read by all searches
  Count bids;             // of an auction on the core
  Count rows_read;        // again in the matrix, by bidders of an auction on the core
  Count repricings;       // passes over a matrix that held the duals of its core against it
  Count dense_searches;   // 1 if the matrix itself was searched, because the core did not suffice or was not needed
  Count start_ns, search_ns, augment_ns, price_ns;

  FIELDS(Report, start, dropped, start_size, size, phases, depth_first, levels, edges_inspected, dual_steps,
         rows_scanned, bids, rows_read, repricings, dense_searches, start_ns, search_ns, augment_ns, price_ns)
};

// A row of the frontier, and the root of its tree: read together, as one word of 8 bytes.
struct alignas(8) Sprout {
  Vertex row;  // or ~piece of a long row
  Vertex root;
};

// A thread collects sprouts before it takes places in the shared list, and hands over the rest when the step ends. A place
// for each sprout would be an addition to a counter that all threads write; on a host it takes longer than all other work.
template <int ROOM>
struct KeptBack {
  Sprout* list = nullptr;
  int size = 0;
  Sprout sprouts[ROOM];
};
template <>
struct KeptBack<0> {};

// Each thread holds its own copy; all copies agree, because all threads end every step.
template <class Team>
class Steps {
 public:
  DEVICE Steps(Team& team_, Progress& progress_) : team(team_), progress(progress_) {}

  DEVICE void begin_phase() { found_ = roots_ = widest_ = 0; }

  // Goes on at the step of another copy.
  DEVICE void begin_as(const Steps& other) {
    parity_ = other.parity_;
    todo_ = other.todo_;
    found_ = other.found_;
    roots_ = other.roots_;
    widest_ = other.widest_;
  }

  DEVICE void end() {
    if constexpr (Team::KEEPS_BACK > 0) hand_over();
    if (team.rank() == 0) {
      progress.todo[before()] = 0;
      progress.found[before()] = 0;
    }
    team.sync();
    slot_ = next();
    parity_ ^= 1;
    todo_ = team.read(&progress.todo[slot_]);
    found_ += team.read(&progress.found[slot_]);
    if (widest_ == 0) roots_ = todo_;
    if (widest_ < todo_) widest_ = todo_;
  }

  // How much this step has to do; how many path ends the steps of this phase have found. Disjoint trees have at least as many
  // ends as paths. Speculative trees: not 0 if there is a path.
  DEVICE Vertex todo() const { return todo_; }
  DEVICE Vertex found() const { return found_; }
  // The to-do list of the first step of this phase, and the longest.
  DEVICE Vertex roots() const { return roots_; }
  DEVICE Vertex widest() const { return widest_; }
  // Which of two alternating buffers this step reads; it writes the other one.
  DEVICE int parity() const { return parity_; }
  // Which of three cells this step reads, fills for the next step, and clears for the one after that.
  DEVICE int current() const { return slot_; }
  DEVICE int next() const { return slot_ == 2 ? 0 : slot_ + 1; }
  DEVICE int before() const { return slot_ == 0 ? 2 : slot_ - 1; }

  // For the next step: a place in its to-do list, or `count` of them; something to do; one path end more, or `count`; a
  // path was found.
  DEVICE Vertex append() const { return team.append(&progress.todo[next()]); }
  DEVICE Vertex append(Vertex count) const { return team.fetch_add(&progress.todo[next()], count); }
  // Puts an entry into the to-do list of the next step, which stands at `list`, before that step begins.
  DEVICE void append_to(Sprout* list, Sprout sprout) const {
    if constexpr (Team::KEEPS_BACK > 0) {
      if (!team.alone()) {
        kept_back_.list = list;
        kept_back_.sprouts[kept_back_.size++] = sprout;
        if (kept_back_.size == Team::KEEPS_BACK) hand_over();
        return;
      }
    }
    list[append()] = sprout;
  }
  DEVICE void mark_todo() const { team.write(&progress.todo[next()], 1); }
  DEVICE void count_found() const { team.append(&progress.found[next()]); }
  DEVICE void count_found(Vertex count) const { team.fetch_add(&progress.found[next()], count); }
  DEVICE void mark_found() const { team.write(&progress.found[next()], 1); }

  Team& team;
  Progress& progress;

 private:
  int slot_ = 0, parity_ = 0;
  Vertex todo_ = 0, found_ = 0, roots_ = 0, widest_ = 0;
  mutable KeptBack<Team::KEEPS_BACK> kept_back_;

  DEVICE void hand_over() const {
    if (kept_back_.size == 0) return;
    Sprout* place = kept_back_.list + append(kept_back_.size);
    for (int i = 0; i < kept_back_.size; ++i) place[i] = kept_back_.sprouts[i];
    kept_back_.size = 0;
  }
};

// Nanoseconds since `then`, which becomes now.
template <class Team>
DEVICE Count lap(const Team& team, Count& then) {
  const Count now = team.nanoseconds(), passed = now - then;
  then = now;
  return passed;
}
