"""A tracker's association, as ByteTrack does it: sure detections first, then unsure ones, each with a gate.

    python examples/tracking.py                  # the two sequences that come with motmetrics
    python examples/tracking.py --gate 0.7 --seed 3

Tracks move on as they moved before, and take the detections that overlap most with their expected places. The gate is
the `cost_limit`: a pair that costs more, which means that it overlaps less, is never made. Three ways find the same
tracks, with equal MOTA and IDF1: gmatch.lap, gmatch.compat.lapjv, and SciPy on the square matrix that lap makes of a
limit.

The boxes are real detections. They come without scores, so some are made unsure at random. Needs motmetrics
(`pip install motmetrics`). Without motmetrics it says so.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

import gmatch

try:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import motmetrics
except ImportError:
    print("this example needs motmetrics, which is not installed: pip install motmetrics")
    sys.exit(0)

SEQUENCES = "TUD-Campus", "TUD-Stadtmitte"
BOX = ["X", "Y", "Width", "Height"]
MOST_FRAMES_LOST = 30
UNSURE_GATE = 0.5
Associate = Callable[[Any, float], tuple[Any, Any, Any]]


def by_lap(cost: Any, gate: float) -> tuple[Any, Any, Any]:
    """Pairs as an array of two columns, the tracks without a detection, and the detections without a track."""
    found = gmatch.lap(cost, cost_limit=gate)
    return np.stack(list(found), axis=1), found.unmatched_rows, found.unmatched_columns


def by_lapjv(cost: Any, gate: float) -> tuple[Any, Any, Any]:
    """As by_lap, by the call of lap in ByteTrack's code."""
    x, y = gmatch.compat.lapjv(cost, extend_cost=True, cost_limit=gate, return_cost=False)
    rows = np.flatnonzero(x >= 0)
    return np.stack([rows, x[rows]], axis=1), np.flatnonzero(x < 0), np.flatnonzero(y < 0)


def by_scipy(cost: Any, gate: float) -> tuple[Any, Any, Any]:
    """As by_lap, by SciPy on the matrix of lap, in which each row and column has a way out."""
    rows, columns = cost.shape
    square = np.full((rows + columns, rows + columns), gate / 2)
    square[:rows, :columns], square[rows:, columns:] = cost, 0
    pairs = np.stack(linear_sum_assignment(square), axis=1)
    pairs = pairs[(pairs[:, 0] < rows) & (pairs[:, 1] < columns)]
    return pairs, *(np.setdiff1d(np.arange(length), pairs[:, side]) for side, length in enumerate(cost.shape))


def one_minus_overlap(first: Any, second: Any) -> Any:
    """1 - IoU of all pairs of boxes, shape (boxes of the first, boxes of the second)."""
    first, second = first[:, None], second[None]
    low = np.maximum(first[..., :2], second[..., :2])
    high = np.minimum(first[..., :2] + first[..., 2:], second[..., :2] + second[..., 2:])
    common = (high - low).clip(0).prod(axis=2)
    return 1 - common / (first[..., 2:].prod(axis=2) + second[..., 2:].prod(axis=2) - common)


class Tracker:
    def __init__(self, associate: Associate, gate: float) -> None:
        self.associate, self.gate, self.seconds, self.next_name = associate, gate, 0.0, 1
        self.names, self.lost = np.zeros(0, int), np.zeros(0, int)
        self.boxes, self.speeds = np.zeros((0, 4)), np.zeros((0, 4))
        associate(np.zeros((1, 1)), gate)  # loads what the first call loads, before any time is taken

    def step(self, sure: Any, unsure: Any) -> list[tuple[int, Any]]:
        """The names and boxes of the tracks that have a detection in this frame."""
        self.boxes = self.boxes + self.speeds
        self.lost += 1
        free, new = self._assign(np.arange(len(self.names)), sure, self.gate)
        self._assign(free[self.lost[free] == 1], unsure, UNSURE_GATE)
        kept = self.lost <= MOST_FRAMES_LOST
        count = len(new)
        self.names = np.append(self.names[kept], np.arange(self.next_name, self.next_name + count))
        self.lost = np.append(self.lost[kept], np.zeros(count, int))
        self.boxes = np.vstack([self.boxes[kept], sure[new]])
        self.speeds = np.vstack([self.speeds[kept], np.zeros((count, 4))])
        self.next_name += count
        return [(int(self.names[k]), self.boxes[k]) for k in np.flatnonzero(self.lost == 0)]

    def _assign(self, tracks: Any, found: Any, gate: float) -> tuple[Any, Any]:
        """Moves tracks to their detections. Returns the tracks and the detections without a partner."""
        cost = one_minus_overlap(self.boxes[tracks], found)
        started = perf_counter()
        pairs, free, new = self.associate(cost, gate)
        self.seconds += perf_counter() - started
        chosen = tracks[pairs[:, 0]]
        moved = found[pairs[:, 1]] - self.boxes[chosen]
        self.boxes[chosen] += moved
        self.speeds[chosen, :2] += 0.5 * moved[:, :2] / self.lost[chosen, None]
        self.lost[chosen] = 0
        return tracks[free], new


def track(sequence: Path, associate: Associate, options: argparse.Namespace) -> tuple[float, float, float]:
    """MOTA, IDF1, and the seconds of association."""
    rng = np.random.default_rng(options.seed)
    truth, detections = (motmetrics.io.loadtxt(sequence / name) for name in ("gt.txt", "test.txt"))
    found, scores = motmetrics.MOTAccumulator(auto_id=True), rng.random(len(detections))
    frames = detections.index.get_level_values(0)
    tracker = Tracker(associate, options.gate)
    for frame in range(1, int(truth.index.get_level_values(0).max()) + 1):
        boxes, score = detections[BOX].to_numpy()[frames == frame], scores[frames == frame]
        tracks = tracker.step(boxes[score > 0.2], boxes[score <= 0.2])
        there = truth.loc[frame]
        overlap = one_minus_overlap(there[BOX].to_numpy(), np.array([box for _, box in tracks]).reshape(-1, 4))
        found.update(there.index.tolist(), [name for name, _ in tracks], np.where(overlap > 0.5, np.nan, overlap))
    summary = motmetrics.metrics.create().compute(found, metrics=["mota", "idf1"])
    return float(summary["mota"].iloc[0]), float(summary["idf1"].iloc[0]), tracker.seconds


def main() -> int:
    parser = argparse.ArgumentParser(description="Tracks people by three ways of association.")
    parser.add_argument("--gate", type=float, default=0.8, help="never pair boxes whose 1 - IoU is above")
    parser.add_argument("--seed", type=int, default=0, help="of the detections that are made unsure")
    options = parser.parse_args()
    folder, agree = Path(motmetrics.__file__).parent / "data", True
    print(f"{'sequence':16}{'association':20}{'MOTA':>8}{'IDF1':>8}{'ms':>8}")
    for name in SEQUENCES:
        results = {}
        for way, associate in (("gmatch.lap", by_lap), ("gmatch.compat.lapjv", by_lapjv), ("SciPy", by_scipy)):
            mota, idf1, seconds = track(folder / name, associate, options)
            results[way] = mota, idf1
            print(f"{name:16}{way:20}{mota:8.4f}{idf1:8.4f}{1e3 * seconds:8.1f}")
        agree &= len(set(results.values())) == 1
    print("MOTA and IDF1 are equal" if agree else "MOTA or IDF1 differ")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
