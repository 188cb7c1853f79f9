"""The picture of the README: tracks and detections paired with a gate, and a matrix in block triangular form.

    python examples/pictures.py                       # writes docs/matching.png
    python examples/pictures.py --output other.svg    # matplotlib takes the format from the name

Needs matplotlib: pip install matplotlib
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # no window: it also runs where there is no display

import matplotlib.pyplot as plt
import numpy as np

import gmatch
import gmatch.plot


def main() -> int:
    parser = argparse.ArgumentParser(description="Draws the picture of the README.")
    default = Path(__file__).parents[1] / "docs" / "matching.png"
    parser.add_argument("--output", type=Path, default=default, help="a file whose name ends with .png, .svg or .pdf")
    options = parser.parse_args()
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")

    random = np.random.default_rng(3)
    tracks = random.random((40, 2))
    detections = np.vstack([tracks[:34] + random.normal(0, 0.025, (34, 2)), random.random((9, 2))])
    assignment = gmatch.lap(gmatch.PointCosts(tracks, detections, metric="euclidean", cost_limit=0.1))
    title = f"{len(tracks)} tracks, {len(detections)} detections, a gate: {assignment.size} pairs"
    gmatch.plot.matched_points(tracks, detections, assignment, title, axes=left)

    matrix = gmatch.datasets.load("HB/west0156")
    form = gmatch.block_triangular_form(matrix)
    title = f"HB/west0156: {len(form.row_blocks) - 1} diagonal blocks"
    gmatch.plot.block_triangular_form(matrix, form, title, axes=right)

    for axes in (left, right):
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=3, frameon=False, handlelength=1.5)
    figure.savefig(options.output, dpi=100)
    print(f"{options.output}: {options.output.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
