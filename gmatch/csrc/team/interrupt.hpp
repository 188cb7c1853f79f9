// interrupt.hpp: how a thread learns that its call is to end: the user interrupts it, or another thread of its team failed.
//
// A solver counts its work on a Poll, in entries of costs or of a graph. After some entries its thread checks whether its team
// has stopped. The thread that was called also asks, every 50 ms, whether the call goes on. Either answer may end the thread
// by an exception. A thread that is not watched goes on: in tests, and in calls too short to be interrupted.
#pragma once
#include <atomic>
#include <chrono>
#include <ctime>
#include <utility>

// Thrown in a thread whose team has stopped.
struct Stopped {};

struct Watch {
  const std::atomic<bool>* stopped = nullptr;  // whether the team of this thread has stopped
  bool (*ask)() = nullptr;                     // of the thread that was called: throws to end the call; or returns whether
                                               // to ask again
  long long next = 0;                          // milliseconds, when to ask; 0: not known yet
};
inline thread_local Watch watch_of_thread;

// The thread that makes this object is watched while the object exists. If the same question is asked before and after it, time
// goes on: a call of many short teams asks as often as one of a long team.
class Watched {
 public:
  explicit Watched(const Watch& watch) : before_(std::exchange(watch_of_thread, watch)) {}
  Watched(const Watched&) = delete;
  ~Watched() {
    const Watch inside = std::exchange(watch_of_thread, before_);
    if (inside.ask == before_.ask) watch_of_thread.next = inside.next;
  }

 private:
  const Watch before_;
};

// The coarse clock of Linux goes by 1 to 10 ms. Reading it costs a fifth of reading another clock.
inline long long coarse_milliseconds() {
#ifdef CLOCK_MONOTONIC_COARSE
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
#else
  using namespace std::chrono;
  return duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
#endif
}

// Milliseconds between two questions. A question may wait 5 ms for the interpreter, if other threads keep it busy.
constexpr long long MILLISECONDS_TO_ASK = 50;

// Who is asked may begin another call in this thread.
inline bool ask_unwatched(bool (*ask)()) {
  const Watched unwatched(Watch{});
  return ask();
}

__attribute__((noinline, cold)) inline void look_around() {
  Watch& watch = watch_of_thread;
  if (watch.stopped != nullptr && watch.stopped->load(std::memory_order_relaxed)) throw Stopped{};
  if (watch.ask == nullptr) return;
  const long long now = coarse_milliseconds();
  if (watch.next != 0) {
    if (now < watch.next) return;
    if (!ask_unwatched(watch.ask)) watch.ask = nullptr;
  }
  watch.next = now + MILLISECONDS_TO_ASK;
}

// Counts the entries that a thread reads until it checks. An entry takes from 0.1 to some 10 ns.
class Poll {
 public:
  void spend(long long entries) {
    left_ -= entries;
    if (__builtin_expect(left_ < 0, false)) {
      left_ = ENTRIES;
      look_around();
    }
  }

 private:
  static constexpr long long ENTRIES = 1 << 18;  // 26 us to some ms
  long long left_ = ENTRIES;
};
