// tier_rows.hpp: rows of rests, and of costs with another value of a tier, as the serial solvers scan rows. They are made
// anew for each scan, in the cache. See serial/exact/tiers.hpp.
#pragma once
#include "serial/exact/tier_scan.hpp"

// The rests of the remaining pairs, as the serial solvers scan rows.
class RestRows {
 public:
  using Entry = double;
  using Work = double;
  using Scan = RowScan<double, double, false>;

  RestRows(CopiedRows<double> costs, const ShortVector<Tier>& tiers)
      : costs_(std::move(costs)),
        tiers_(&tiers),
        rests_(tiers.get_allocator()),
        of_row_(tiers.get_allocator()) {}

  Vertex num_rows() const { return costs_.num_rows(); }
  Vertex num_columns() const { return costs_.num_columns(); }
  Vertex width() const { return costs_.width(); }
  const double* entries(Vertex row) {
    const double* costs = costs_.entries(row);
    if (tiers_->empty()) return costs;
    double* rests = room_for(row);
    set_tiers_of(row);
    TierScan::find_rests(costs, of_row_.data(), static_cast<int>(of_row_.size()), width(), rests);
    return rests;
  }
  // The rests of all pairs, also of those that the tiers leave out.
  const double* all_rests(Vertex row) {
    const double* costs = costs_.entries(row);
    if (tiers_->empty()) return costs;
    double* rests = room_for(row);
    set_tiers_of(row);
    for (Vertex j = 0; j < num_columns(); ++j) rests[j] = TierScan::rest_in_any_tier(costs[j], of_row_.data(), of_row_.size());
    return rests;
  }
  double at(Vertex row, Vertex column) const {
    set_tiers_of(row);
    return TierScan::find_rest(costs_.at(row, column), of_row_.data(), static_cast<int>(of_row_.size()), column);
  }

 private:
  double* room_for(Vertex row) {
    rests_.resize(ROWS_KEPT * Count{width()});
    return rests_.data() + row % ROWS_KEPT * Count{width()};
  }
  void set_tiers_of(Vertex row) const {
    of_row_.clear();
    for (const Tier& tier : *tiers_) of_row_.push_back(TierScan::of_row(tier, row));
  }

  CopiedRows<double> costs_;
  const ShortVector<Tier>* tiers_;
  ShortVector<double> rests_;
  mutable ShortVector<TierScan::OfRow> of_row_;
};

// Costs in which a number stands for the value of a tier, as the serial solvers scan rows.
class ReplacedRows {
 public:
  using Entry = double;
  using Work = double;
  using Scan = RestRows::Scan;

  ReplacedRows(const RestRows& costs, const Tier& tier, double value)
      : costs_(costs), tier_(&tier), value_(value), replaced_(ROWS_KEPT * Count{costs.width()}) {}

  Vertex num_rows() const { return costs_.num_rows(); }
  Vertex num_columns() const { return costs_.num_columns(); }
  Vertex width() const { return costs_.width(); }
  const double* entries(Vertex row) {
    double* replaced = replaced_.data() + row % ROWS_KEPT * Count{width()};
    TierScan::replace_value(costs_.entries(row), TierScan::of_row(*tier_, row), value_, width(), replaced);
    return replaced;
  }
  double at(Vertex row, Vertex column) const {
    return TierScan::with_value(costs_.at(row, column), TierScan::of_row(*tier_, row), value_);
  }

 private:
  RestRows costs_;
  const Tier* tier_;
  const double value_;
  LineVector<double> replaced_;
};
