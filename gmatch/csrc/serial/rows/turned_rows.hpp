// turned_rows.hpp: a transposed copy of square rows that lie in memory, so that searches may begin at columns.
#pragma once
#include <memory>

#include "serial/rows/row_copies.hpp"
#include "serial/rows/rows.hpp"

// Other rows have no such copy.
template <class Rows>
struct TurnedRows {
  static constexpr bool EXIST = false;
};

template <class Cost, class Work, bool MAXIMIZE>
class TurnedRows<StoredRows<Cost, Work, MAXIMIZE>> {
 public:
  static constexpr bool EXIST = true;

  explicit TurnedRows(const StoredRows<Cost, Work, MAXIMIZE>& rows)
      : entries_(new Cost[Count{rows.num_rows()} * rows.num_columns()]), costs_(rows.costs) {
    costs_.row_stride = rows.costs.column_stride;
    costs_.column_stride = rows.costs.row_stride;
    copy_rows(costs_, entries_.get(), 1);
    costs_.costs = entries_.get();
    costs_.row_stride = costs_.num_columns;
    costs_.column_stride = 1;
  }

  StoredRows<Cost, Work, MAXIMIZE> rows() const { return {costs_}; }

 private:
  const std::unique_ptr<Cost[]> entries_;
  DenseCosts<Cost> costs_;
};
