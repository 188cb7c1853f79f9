// emulator.cpp: fibers, how they are switched, and where they meet. Compiled without -fsanitize=thread.
#include "emulator.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#ifndef __x86_64__
#error "switch_stacks is written for x86-64"
#endif

Index threadIdx, blockIdx, blockDim, gridDim;

// Saves the registers that a function must not change, and goes on with the other stack.
extern "C" void switch_stacks(void** save_here, void* other);
asm(R"(
.text
.globl switch_stacks
switch_stacks:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
)");

namespace emulator {

std::string instance;
alignas(16) char near_memory[MOST_BLOCKS][NEAR_BYTES];

namespace {

constexpr std::size_t STACK_BYTES = 256 << 10;
constexpr long long MOST_SWITCHES = 2'000'000'000;  // of a launch; the longest launch that ended took half as many
constexpr int STAY_BEHIND = 4096;  // switches during which one warp hardly runs

enum class Waiting { no, in_warp, in_block, on_grid, ended };
constexpr const char* WAITING_NAMES[] = {"can run", "wait in their warp", "wait in their block", "wait for the grid",
                                         "ended"};

struct alignas(64) Stack {
  char bytes[STACK_BYTES];
};
struct Fiber {
  void* stack_pointer;
  unsigned block, thread;
  Waiting waiting;
  int place;               // in ready
  std::uint64_t received;  // at a meeting
  unsigned arrivals_seen;
};

// An operation of lanes that are at one shuffle or ballot.
enum class Operation { shuffle, ballot };
struct Meeting {
  Operation operation;
  unsigned mask, arrived;
  std::uint64_t brought[WARP];
  int from[WARP];
};
// The lanes that happen to be at one line.
struct Gathering {
  const void* line;
  unsigned lanes;
};
struct Warp {
  std::vector<Meeting> meetings;
  std::vector<Gathering> gatherings;
};
struct Block {
  int arrived;
  bool is_vote, any;
};

std::vector<std::unique_ptr<Stack>> stacks;
std::vector<Fiber> fibers;
std::vector<int> ready;
std::vector<Warp> warps;
std::vector<Block> blocks;
const std::function<void()>* program;
void* caller;  // the stack that launch was called on
bool is_running = false;
int running;        // a fiber
int behind;         // the warp that is left behind, or -1
unsigned arrivals;  // at barriers of the grid
long long switches;
int rest, accesses_left;
std::uint64_t random_state;

// xorshift64.
std::uint64_t draw() {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return random_state;
}

int draw_below(std::size_t end) { return static_cast<int>((draw() >> 32) * end >> 32); }

int warp_of(int fiber) { return fiber / WARP; }
int lane() { return running % WARP; }

void make_ready(int fiber) {
  fibers[fiber].waiting = Waiting::no;
  fibers[fiber].place = static_cast<int>(ready.size());
  ready.push_back(fiber);
}

void make_unready(int fiber, Waiting waiting) {
  const int place = fibers[fiber].place, last = ready.back();
  ready[place] = last;
  fibers[last].place = place;
  ready.pop_back();
  fibers[fiber].waiting = waiting;
}

[[noreturn]] void fail_with_states(const char* what) {
  is_running = false;  // what a string is made by may be compiled to switch
  std::string reason = what;
  for (const Waiting waiting :
       {Waiting::no, Waiting::in_warp, Waiting::in_block, Waiting::on_grid, Waiting::ended}) {
    const auto count =
        std::count_if(fibers.begin(), fibers.end(), [&](const Fiber& fiber) { return fiber.waiting == waiting; });
    if (count > 0) reason += "; " + std::to_string(count) + " " + WAITING_NAMES[static_cast<int>(waiting)];
  }
  fail(reason);
}

int choose_fiber() {
  constexpr int TRIES = 6;
  if (ready.empty()) fail_with_states("threads that wait for ever");
  if (++switches > MOST_SWITCHES) fail_with_states("threads that do not end");
  if (switches % STAY_BEHIND == 0) behind = draw_below(2) == 0 ? -1 : draw_below(warps.size());
  int fiber = ready[draw_below(ready.size())];
  for (int k = 0; k < TRIES && warp_of(fiber) == behind; ++k) fiber = ready[draw_below(ready.size())];
  return fiber;
}

void run(int fiber) {
  running = fiber;
  threadIdx.x = fibers[fiber].thread;
  blockIdx.x = fibers[fiber].block;
  accesses_left = 1 + draw_below(2 * rest);
}

void run_another() {
  const int before = running, next = choose_fiber();
  run(next);
  if (next != before) switch_stacks(&fibers[before].stack_pointer, fibers[next].stack_pointer);
}

void sleep(Waiting waiting) {
  make_unready(running, waiting);
  run_another();
}

void wake_all(Waiting waiting) {
  for (std::size_t fiber = 0; fiber < fibers.size(); ++fiber) {
    if (fibers[fiber].waiting == waiting) make_ready(static_cast<int>(fiber));
  }
}

void end_fiber() {
  make_unready(running, Waiting::ended);
  const bool all_ended = std::all_of(fibers.begin(), fibers.end(),
                                     [](const Fiber& fiber) { return fiber.waiting == Waiting::ended; });
  if (!all_ended) run_another();
  switch_stacks(&fibers[running].stack_pointer, caller);
}

void run_program() {
  (*program)();
  end_fiber();
  std::abort();
}

// As switch_stacks leaves it: six registers and where to return to. The stack is aligned as after a call.
void* new_stack(Stack& stack) {
  constexpr int REGISTERS = 6;
  void** top = reinterpret_cast<void**>(stack.bytes + STACK_BYTES);
  *--top = nullptr;
  *--top = reinterpret_cast<void*>(&run_program);
  for (int k = 0; k < REGISTERS; ++k) *--top = nullptr;
  return top;
}

void maybe_switch() {
  if (is_running && --accesses_left <= 0) run_another();
}

Meeting& meeting_of(Operation operation, unsigned mask) {
  auto& meetings = warps[warp_of(running)].meetings;
  for (Meeting& meeting : meetings) {
    if (meeting.mask != mask) continue;
    if (meeting.operation != operation) fail_with_states("lanes that meet for different operations");
    return meeting;
  }
  meetings.push_back({operation, mask, 0, {}, {}});
  return meetings.back();
}

void finish(const Meeting& meeting) {
  std::uint64_t ballot = 0;
  for (int k = 0; k < WARP; ++k) {
    if (meeting.mask >> k & 1) ballot |= meeting.brought[k] << k;
  }
  const int first = running - lane();
  for (int k = 0; k < WARP; ++k) {
    if (!(meeting.mask >> k & 1)) continue;
    const bool is_ballot = meeting.operation == Operation::ballot;
    fibers[first + k].received = is_ballot ? ballot : meeting.brought[meeting.from[k]];
    if (first + k != running) make_ready(first + k);
  }
}

std::uint64_t meet(Operation operation, unsigned mask, std::uint64_t value, int from) {
  if (!(mask >> lane() & 1)) fail("a lane that is not in its mask");
  if (!(mask >> from & 1)) fail("a shuffle from outside of its mask");
  Meeting& meeting = meeting_of(operation, mask);
  meeting.brought[lane()] = value;
  meeting.from[lane()] = from;
  meeting.arrived |= 1u << lane();
  if (meeting.arrived == mask) {
    finish(meeting);
    auto& meetings = warps[warp_of(running)].meetings;
    meetings.erase(meetings.begin() + (&meeting - meetings.data()));
    maybe_switch();
  } else {
    sleep(Waiting::in_warp);
  }
  return fibers[running].received;
}

template <class T, class Change>
T change_at_once(T* cell, Change change) {
  maybe_switch();
  const T old = *cell;
  *cell = change(old);
  return old;
}

void report_crash(int signal) { fail("a crash, by signal " + std::to_string(signal)); }

void catch_crashes() {
  static char stack[64 << 10];
  stack_t own{};
  own.ss_sp = stack;
  own.ss_size = sizeof stack;
  sigaltstack(&own, nullptr);
  struct sigaction action {};
  action.sa_handler = report_crash;
  action.sa_flags = SA_ONSTACK;
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE}) sigaction(signal, &action, nullptr);
}

void make_fibers(const Launch& launch) {
  const int count = launch.blocks * launch.threads;
  while (static_cast<int>(stacks.size()) < count) stacks.emplace_back(new Stack);
  ready.clear();
  fibers.assign(count, {});
  for (int fiber = 0; fiber < count; ++fiber) {
    fibers[fiber].stack_pointer = new_stack(*stacks[fiber]);
    fibers[fiber].block = fiber / launch.threads;
    fibers[fiber].thread = fiber % launch.threads;
    make_ready(fiber);
  }
}

}  // namespace

void fail(const std::string& reason) {
  std::printf("WRONG: %s\n  in %s\n", reason.c_str(), instance.c_str());
  std::fflush(stdout);
  std::_Exit(1);
}

void launch(const Launch& launch, const std::function<void()>& program_) {
  if (launch.blocks > MOST_BLOCKS || launch.threads % WARP != 0) fail("a launch of a shape that the emulator has not");
  [[maybe_unused]] static const bool caught = (catch_crashes(), true);
  program = &program_;
  random_state = launch.seed | 1;
  rest = launch.rest;
  switches = arrivals = 0;
  behind = -1;
  gridDim.x = launch.blocks;
  blockDim.x = launch.threads;
  make_fibers(launch);
  warps.assign(fibers.size() / WARP, {});
  blocks.assign(launch.blocks, {});
  run(choose_fiber());
  is_running = true;
  switch_stacks(&caller, fibers[running].stack_pointer);
  is_running = false;
}

std::uint64_t shuffle(unsigned mask, std::uint64_t value, int from) {
  return meet(Operation::shuffle, mask, value, from % WARP);
}

bool meet_in_block(bool is_vote, bool yes) {
  Block& block = blocks[blockIdx.x];
  if (block.arrived == 0) block = {0, is_vote, false};
  if (block.is_vote != is_vote) fail_with_states("threads of a block at different barriers");
  block.any |= yes;
  if (++block.arrived < static_cast<int>(blockDim.x)) {
    sleep(Waiting::in_block);
    return fibers[running].received != 0;
  }
  block.arrived = 0;
  const int first = running - static_cast<int>(threadIdx.x), end = first + static_cast<int>(blockDim.x);
  for (int fiber = first; fiber < end; ++fiber) {
    fibers[fiber].received = block.any;
    if (fiber != running) make_ready(fiber);
  }
  maybe_switch();
  return fibers[running].received != 0;
}

}  // namespace emulator

using namespace emulator;

unsigned __ballot_sync(unsigned mask, bool yes) {
  return static_cast<unsigned>(meet(Operation::ballot, mask, yes, lane()));
}

// The first lane at a line waits a moment for others.
__attribute__((noinline)) unsigned __activemask() {
  const void* line = __builtin_return_address(0);
  auto& gatherings = warps[warp_of(running)].gatherings;
  const auto here = [&] {
    return std::find_if(gatherings.begin(), gatherings.end(), [&](const Gathering& g) { return g.line == line; });
  };
  if (here() != gatherings.end()) {
    here()->lanes |= 1u << lane();
    sleep(Waiting::in_warp);
    return static_cast<unsigned>(fibers[running].received);
  }
  gatherings.push_back({line, 1u << lane()});
  for (int moments = draw_below(fibers.size()); moments > 0; --moments) run_another();
  const unsigned lanes = here()->lanes;
  gatherings.erase(here());
  for (int k = 0; k < WARP; ++k) {
    const int fiber = running - lane() + k;
    if (!(lanes >> k & 1) || fiber == running) continue;
    fibers[fiber].received = lanes;
    make_ready(fiber);
  }
  return lanes;
}

int atomicCAS(int* cell, int expected, int desired) {
  return change_at_once(cell, [&](int old) { return old == expected ? desired : old; });
}
int atomicAdd(int* cell, int value) {
  return change_at_once(cell, [&](int old) { return old + value; });
}
unsigned long long atomicAdd(unsigned long long* cell, unsigned long long value) {
  return change_at_once(cell, [&](unsigned long long old) { return old + value; });
}
int atomicMin(int* cell, int value) {
  return change_at_once(cell, [&](int old) { return std::min(old, value); });
}
long long atomicMin(long long* cell, long long value) {
  return change_at_once(cell, [&](long long old) { return std::min(old, value); });
}
long long atomicMax(long long* cell, long long value) {
  return change_at_once(cell, [&](long long old) { return std::max(old, value); });
}

// A thread that asks again before another arrives would read the same value: it sleeps until one arrives.
unsigned load_acquire(const unsigned* cell) {
  if (fibers[running].arrivals_seen == arrivals) sleep(Waiting::on_grid);
  else maybe_switch();
  fibers[running].arrivals_seen = arrivals;
  return *cell;
}
void add_release(unsigned* cell, unsigned addend) {
  change_at_once(cell, [&](unsigned old) { return old + addend; });
  ++arrivals;
  wake_all(Waiting::on_grid);
}

// What g++ calls where a program that is compiled with -fsanitize=thread reads or writes, or begins a block of code of
// one that is compiled with -fsanitize-coverage=trace-pc, which goes together with -fsanitize=address.
extern "C" {
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
void __tsan_read_range(void*, unsigned long) { maybe_switch(); }
void __tsan_write_range(void*, unsigned long) { maybe_switch(); }
#define ACCESSES_OF(size)                                          \
  void __tsan_read##size(void*) { maybe_switch(); }                \
  void __tsan_write##size(void*) { maybe_switch(); }               \
  void __tsan_unaligned_read##size(void*) { maybe_switch(); }      \
  void __tsan_unaligned_write##size(void*) { maybe_switch(); }
ACCESSES_OF(1)
ACCESSES_OF(2)
ACCESSES_OF(4)
ACCESSES_OF(8)
ACCESSES_OF(16)
void __sanitizer_cov_trace_pc() { maybe_switch(); }
}
