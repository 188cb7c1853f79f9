// fuzz.h: the loop of every driver: random instances, each on a grid or a block of random shape.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <type_traits>

#include "emulator.h"

using Random = std::mt19937_64;

// The type that an array of a program holds.
template <class Pointer>
using Pointee = std::remove_const_t<std::remove_pointer_t<Pointer>>;

// The words of the grid's barrier. They are zero once; then launches of all instances, on grids of any size, go on with
// what the last one left.
inline unsigned arrivals[4];

inline emulator::Launch draw_launch(Random& random, bool one_block = false) {
  constexpr int MOST = 3, PACES = 6;
  const int blocks = one_block ? 1 : 1 + random() % MOST;
  const int threads = emulator::WARP * (1 + random() % MOST);
  return {blocks, threads, random(), 4 << random() % PACES};
}

inline std::string name_of(const emulator::Launch& launch) {
  return std::to_string(launch.blocks) + " x " + std::to_string(launch.threads) + " threads";
}

// Memory full of noise, since no answer may depend on its former content; and a fence behind it.
class Noise {
 public:
  Noise(Random& random, std::size_t bytes) : bytes_(bytes), memory_(new char[bytes + FENCE]) {
    for (std::size_t i = 0; i < bytes; ++i) memory_[i] = static_cast<char>(random());
    std::fill_n(memory_.get() + bytes, FENCE, UNTOUCHED);
  }
  ~Noise() {
    for (std::size_t i = 0; i < FENCE; ++i) {
      if (memory_[bytes_ + i] != UNTOUCHED) emulator::fail("a write behind the workspace");
    }
  }
  char* data() const { return memory_.get(); }

 private:
  static constexpr std::size_t FENCE = 64;
  static constexpr char UNTOUCHED = 0x5a;
  std::size_t bytes_;
  std::unique_ptr<char[]> memory_;
};

// Arguments: how many instances, `usual` without any, and the first seed. solve(random) says what is wrong with an
// answer, or nothing.
template <class Solve>
int fuzz(int argc, char** argv, int usual, Solve solve) {
  const std::string path = argv[0], name = path.substr(path.rfind('/') + 1);
  const int instances = argc > 1 ? std::atoi(argv[1]) : usual, first = argc > 2 ? std::atoi(argv[2]) : 0;
  for (int seed = first; seed < first + instances; ++seed) {
    Random random(seed);
    emulator::instance = name + ", seed " + std::to_string(seed);
    const std::string wrong = solve(random);
    if (!wrong.empty()) emulator::fail(wrong);
  }
  std::printf("%s: %d instances, none wrong\n", name.c_str(), instances);
  return 0;
}
