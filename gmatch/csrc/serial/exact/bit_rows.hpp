// bit_rows.hpp: a matrix of bits, row by row in words.
#pragma once
#include <algorithm>

#include "serial/rows/row_picks.hpp"
#include "serial/rows/short_vector.hpp"

class BitRows {
 public:
  static constexpr Vertex WORD = 64;

  BitRows(Vertex num_rows, Vertex num_columns, ShortMemory* memory)
      : num_rows_(num_rows),
        num_columns_(num_columns),
        words_((num_columns + WORD - 1) / WORD),
        bits_(Count{num_rows} * words_, 0, memory) {}

  Vertex num_columns() const { return num_columns_; }
  Vertex words() const { return words_; }  // of a row
  Marks* row(Vertex row) { return bits_.data() + row * Count{words_}; }
  const Marks* row(Vertex row) const { return bits_.data() + row * Count{words_}; }

  bool has(Vertex row, Vertex column) const { return this->row(row)[column / WORD] >> column % WORD & 1; }
  void set(Vertex row, Vertex column) { this->row(row)[column / WORD] |= Marks{1} << column % WORD; }
  void clear(Vertex row, Vertex column) { this->row(row)[column / WORD] &= ~(Marks{1} << column % WORD); }
  void clear(Vertex row) { std::fill_n(this->row(row), words_, 0); }
  // Sets all bits of columns.
  void fill(Vertex row) {
    std::fill_n(this->row(row), words_, ~Marks{0});
    if (num_columns_ % WORD != 0) this->row(row)[words_ - 1] = (Marks{1} << num_columns_ % WORD) - 1;
  }
  Vertex size_of(Vertex row) const {
    Vertex size = 0;
    for (Vertex word = 0; word < words_; ++word) size += ones_of(this->row(row)[word]);
    return size;
  }

  template <class Function>
  void each_in(Vertex row, const Function& function) const {
    const Marks* const words = this->row(row);
    for (Vertex word = 0; word < words_; ++word) {
      for (Marks here = words[word]; here != 0; here &= here - 1) function(word * WORD + first_bit(here));
    }
  }

  // Calls the function for each bit that is set in both, in order, until it returns true. The function may change bits for
  // which it was called.
  template <class Function>
  static bool any_in(const Marks* bits, const Marks* among, Vertex words, const Function& function) {
    for (Vertex word = 0; word < words; ++word) {
      for (Marks here = bits[word] & among[word]; here != 0; here &= here - 1) {
        if (function(word * WORD + first_bit(here))) return true;
      }
    }
    return false;
  }

  // By squares of words.
  BitRows transposed() const {
    BitRows to(num_columns_, num_rows_, bits_.get_allocator().memory);
    Marks square[WORD];
    Vertex side = 1;  // the least power of two that is not below the two lengths, at most WORD
    while (side < std::min(WORD, std::max(num_rows_, num_columns_))) side *= 2;
    for (Vertex top = 0; top < num_rows_; top += WORD) {
      const Vertex height = std::min(WORD, num_rows_ - top);
      for (Vertex word = 0; word < words_; ++word) {
        for (Vertex k = 0; k < height; ++k) square[k] = row(top + k)[word];
        std::fill(square + height, square + side, 0);
        transpose(square, side);
        const Vertex width = std::min(WORD, num_columns_ - word * WORD);
        for (Vertex k = 0; k < width; ++k) to.row(word * WORD + k)[top / WORD] = square[k];
      }
    }
    return to;
  }

 private:
  // Blocks beside the diagonal change places, of half as many rows and columns each time. No bit lies outside of the first `side`
  // rows and columns.
  static void transpose(Marks* square, int side) {
    Marks low_halves = 0xffffffff;
    for (int half = WORD / 2; half != 0; half /= 2, low_halves ^= low_halves << half) {
      if (half >= side) continue;
      for (int k = 0; k < side; k = ((k | half) + 1) & ~half) {
        const Marks differing = (square[k] >> half ^ square[k | half]) & low_halves;
        square[k | half] ^= differing;
        square[k] ^= differing << half;
      }
    }
  }

  const Vertex num_rows_, num_columns_, words_;
  ShortVector<Marks> bits_;
};
