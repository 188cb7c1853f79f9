// memory.cuh: a matching, and the memory that programs work in.
#pragma once
#include "team/mirror.hpp"
#include "team/team.cuh"

struct Matching {
  Vertex num_rows;
  Vertex num_columns;
  Vertex* row_match;  // [num_rows]     the mate or NONE
  Vertex* col_match;  // [num_columns]  the mate or NONE

  FIELDS(Matching, num_rows, num_columns, row_match, col_match)
};

// Cuts arrays out of one allocation. Without memory it only measures.
class Workspace {
 public:
  explicit DEVICE Workspace(char* memory) : memory_(memory) {}
  template <class T>
  DEVICE T* take(Count n) {
    char* array = memory_ == nullptr ? nullptr : memory_ + used_;
    used_ += (n * static_cast<Count>(sizeof(T)) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return reinterpret_cast<T*>(array);
  }
  DEVICE Count used() const { return used_; }
  DEVICE char* rest() const { return memory_ + used_; }

 private:
  static constexpr Count ALIGNMENT = 128;
  char* memory_;
  Count used_ = 0;
};
