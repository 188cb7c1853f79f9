// ticks.cpp: how long a tick of the processor's counter takes.
#include "bindings/ticks.hpp"

#include <limits>

namespace {

// A moment by the clock and by the counter.
struct Moment {
  Count nanoseconds, ticks;

  // The system may stop this thread between two readings. The try in which fewest ticks passed counts.
  static Moment now() {
    constexpr int TRIES = 16;
    Moment moment{};
    Count fewest = std::numeric_limits<Count>::max();
    for (int k = 0; k < TRIES; ++k) {
      const Count before = ::ticks(), nanoseconds = nanoseconds_of_clock(), passed = ::ticks() - before;
      if (passed >= fewest) continue;
      fewest = passed;
      moment = {nanoseconds, before + passed / 2};
    }
    return moment;
  }
};

double measured_seconds_of_tick() {
  constexpr Count LONG_ENOUGH = 200'000;  // nanoseconds: a reading is off by less than a hundredth of it
  const Moment begin = Moment::now();
  Moment end = begin;
  while (end.nanoseconds - begin.nanoseconds < LONG_ENOUGH) end = Moment::now();
  const Count passed = end.ticks - begin.ticks;
  return passed > 0 ? 1e-9 * static_cast<double>(end.nanoseconds - begin.nanoseconds) / static_cast<double>(passed) : 1e-9;
}

}  // namespace

double seconds_of_ticks(Count ticks) {
  static const double of_one = measured_seconds_of_tick();
  return ticks > 0 ? of_one * static_cast<double>(ticks) : 0;  // another processor's counter may be behind
}
