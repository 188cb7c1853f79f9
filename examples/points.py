"""Two clouds of points matched at the least cost, without the matrix, and proven: the second cloud is the first, moved.

    python examples/points.py                         # 20,000 points in the plane
    python examples/points.py 5000 --dimension 3 --metric euclidean --noise 0.1
    python examples/points.py 300 --noise 0.6 --picture points.png   # draws both clouds and their pairs

Each point is moved by some noise, in spacings of the points, and the order is lost. If the noise is small, the cheapest
assignment finds the order again.
"""

from __future__ import annotations

import argparse
from time import perf_counter

import numpy as np

import gmatch


def main() -> int:
    parser = argparse.ArgumentParser(description="Matches a cloud of points with its moved copy.")
    parser.add_argument("points", type=int, nargs="?", default=20_000)
    parser.add_argument("--dimension", type=int, default=2)
    parser.add_argument("--metric", default="sqeuclidean")
    parser.add_argument("--noise", type=float, default=0.1, help="standard deviation, in spacings of the points")
    parser.add_argument("--picture", help="a file for a picture of the pairs, in the plane; needs matplotlib")
    options = parser.parse_args()
    if options.picture and options.dimension != 2:
        parser.error("only points of dimension 2 are drawn")

    rng = np.random.default_rng(0)
    before = rng.random((options.points, options.dimension))
    order = rng.permutation(options.points)
    spacing = options.points ** (-1 / options.dimension)
    after = (before + rng.normal(scale=options.noise * spacing, size=before.shape))[order]

    started = perf_counter()
    costs = gmatch.PointCosts(before, after, metric=options.metric)
    assignment = gmatch.lap(costs)
    matched = perf_counter()
    certificate = gmatch.verify(costs, assignment)
    found = (order[assignment.col_ind] == assignment.row_ind).mean()
    print(f"cost {certificate.cost:.9g}, proven to within {certificate.gap:.1e}")
    print(f"{found:.1%} of {options.points} points found again")
    print(f"lap {matched - started:.2f} s, verify {perf_counter() - matched:.2f} s")
    if options.picture:
        from gmatch.plot import matched_points

        title = f"{options.points} points, moved by {options.noise:g} spacings: {found:.0%} found again"
        matched_points(before, after, assignment, title).savefig(options.picture, bbox_inches="tight")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
