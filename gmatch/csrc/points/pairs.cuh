// pairs.cuh: points as programs of a GPU get them.
#pragma once
#include "costs/dense.cuh"

// Some rows of points. A window is read by passes right after it was written.
struct PointWindow {
  const double* x;  // [num_rows][dimension]
  const double* y;  // [dimension][num_columns]
  double* costs;    // [num_rows][num_columns]
  Vertex num_rows;
  Vertex num_columns;
  Vertex dimension;
  double p;         // of Minkowski's distances

  FIELDS(PointWindow, x, y, costs, num_rows, num_columns, dimension, p)
};

// Two clouds, and what becomes of the cost of a pair.
struct PointPairs {
  const double* x;  // [num_rows][coordinates]
  const double* y;  // [coordinates][num_columns]
  Vertex num_rows;
  Vertex num_columns;
  double p;         // of Minkowski's distances
  double sign;      // -1 for costs to be maximized, else 1
  double limit;     // costs are cut off at it

  FIELDS(PointPairs, x, y, num_rows, num_columns, p, sign, limit)

  DEVICE double infinite() const { return beyond_all(double{}); }
  DEVICE double of_cost(double cost) const {
    const double here = sign * cost;
    return here < limit ? here : limit;
  }
};

// Columns in tiles, and what bounds all pairs of a tile. A tile is 32 columns that follow one another, and a bundle is 32 tiles.
struct Tiles {
  static constexpr Vertex COLUMNS = 32;  // a lane has one; also tiles of a bundle

  // [coordinates][2][tiles], and behind them [coordinates][2][bundles]: the least and the largest number of each coordinate
  const double* boxes;
  const double* v;      // [num_columns]
  const double* tops;   // [tiles], and behind them [bundles]: the largest v

  // How many tiles columns have, or how many bundles tiles have.
  static DEVICE Vertex number_of(Vertex size) { return (size + COLUMNS - 1) / COLUMNS; }
};
