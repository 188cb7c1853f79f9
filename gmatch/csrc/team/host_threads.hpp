// host_threads.hpp: teams of host threads.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "team/interrupt.hpp"
#include "team/team.cuh"

// Thrown if the system starts no more threads.
struct TooFewThreads : std::runtime_error {
  TooFewThreads(int wanted, int started, const std::error_code& why)
      : std::runtime_error("expected to start " + std::to_string(wanted) + " threads, but the system started only " +
                           std::to_string(started) + "; ask for fewer with threads="),
        code(why) {}
  const std::error_code code;
};

// The threads of a team beside the thread that was called. No thread begins before all have started, so that none waits at a
// barrier for a thread that never comes. An exception of one thread stops all.
class Crew {
 public:
  Crew() = default;
  Crew(const Crew&) = delete;
  ~Crew() {
    begin(false);
    for (std::thread& thread : threads_) thread.join();
  }

  // Starts run(rank) for each rank from 1 on.
  template <class Run>
  void start(int size, const Run& run) {
    threads_.reserve(size - 1);
    try {
      for (int rank = 1; rank < size; ++rank) {
        threads_.emplace_back([this, rank, &run] {
          if (may_begin()) watch([&] { run(rank); }, Watch{});
          leave();
        });
      }
    } catch (const std::system_error& error) {
      throw TooFewThreads(size, static_cast<int>(threads_.size()) + 1, error.code());
    }
    num_working_ = size - 1;
    begin(true);
  }

  // Runs the part of this thread, waits for the other threads, and throws the exception that one of them has thrown.
  template <class Run>
  void join_in(const Run& run) {
    watch(
        [&] {
          run();
          wait_for_others();
        },
        watch_of_thread);
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    if (error_) std::rethrow_exception(error_);
  }

 private:
  // The thread asks what it asked before the team was made.
  template <class Run>
  void watch(const Run& run, const Watch& before) {
    try {
      const Watched watched({&stopped_, before.ask, before.next});
      run();
    } catch (const Stopped&) {  // another thread has failed, and its exception says why
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!error_) error_ = std::current_exception();
      stopped_.store(true, std::memory_order_relaxed);
    }
  }

  void begin(bool go) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (state_ == State::WAITS) state_ = go ? State::GOES : State::ENDS;
    }
    changed_.notify_all();
  }
  bool may_begin() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return state_ != State::WAITS; });
    return state_ == State::GOES;
  }
  void leave() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      --num_working_;
    }
    changed_.notify_all();
  }
  // Asks meanwhile whether the call goes on: the other threads may take long.
  void wait_for_others() {
    constexpr std::chrono::milliseconds A_WHILE(20);
    std::unique_lock<std::mutex> lock(mutex_);
    while (!changed_.wait_for(lock, A_WHILE, [this] { return num_working_ == 0; })) {
      lock.unlock();
      look_around();
      lock.lock();
    }
  }

  enum class State { WAITS, GOES, ENDS };
  std::mutex mutex_;
  std::condition_variable changed_;
  State state_ = State::WAITS;
  int num_working_ = 0;
  std::atomic<bool> stopped_{false};
  std::exception_ptr error_;
  std::vector<std::thread> threads_;
};

// Runs program(team) on a team of `size` threads, with this one. An exception of one thread ends all, and is thrown here.
template <class Team = HostTeam, class Program>
void run_on_host(int size, const Program& program) {
  if (size == 1) {
    Team team(0, 1, nullptr);
    program(team);
    return;
  }
  Barrier barrier(size);
  const auto run = [&](int rank) {
    Team team(rank, size, &barrier);
    program(team);
  };
  Crew crew;
  crew.start(size, run);
  crew.join_in([&] { run(0); });
}
