"""Pictures: what is drawn, in colours that all people tell apart, and room for legends."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gmatch
from gmatch import plot

pytest.importorskip("matplotlib")
RNG = np.random.default_rng(4)
X, Y = RNG.random((7, 2)), RNG.random((9, 2))
COSTS = np.linalg.norm(X[:, None] - Y, axis=2)

# What dichromats see of linear RGB (Viénot, Brettel and Mollon 1999): without long, and without middle wavelengths.
SEEN = {
    "all": np.eye(3),
    "protanopia": np.array([[0.11238, 0.88762, 0], [0.11238, 0.88762, 0], [0.00401, -0.00401, 1]]),
    "deuteranopia": np.array([[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]]),
}


@pytest.mark.parametrize("eyes", SEEN)
def test_colours_differ_for_all_eyes(eyes: str) -> None:
    from matplotlib.colors import to_rgb

    seen = [SEEN[eyes] @ np.array(to_rgb(colour)) ** 2.2 for colour in (*plot.COLOURS, "#FFFFFF")]
    assert min(np.abs(one - two).max() for one, two in combinations(seen, 2)) > 0.08


def test_points_and_their_pairs(tmp_path: Path) -> None:
    found = gmatch.lap(COSTS, cost_limit=0.3)
    figure = plot.matched_points(X, Y, found, "points")
    (axes,) = figure.axes
    ends = np.asarray(axes.lines[0].get_xydata()).reshape(-1, 3, 2)
    assert np.array_equal(ends[:, 0], X[found.row_ind]) and np.array_equal(ends[:, 1], Y[found.col_ind])
    assert [len(collection.get_offsets()) for collection in axes.collections] == [7, 9]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [f"{found.size} pairs", "7 rows", "9 columns"]
    figure.savefig(tmp_path / "points.png")
    with pytest.raises(gmatch.InvalidInput, match=r"y must have a point of the plane.*\(9, 3\)"):
        plot.matched_points(X, np.ones((9, 3)), found, "points")


def test_entries_and_their_pairs(tmp_path: Path) -> None:
    costs = np.where(COSTS < 0.9, COSTS, np.inf)
    found = gmatch.lap(costs)
    figure = plot.matched_entries(costs, found, "entries")
    image, marks = figure.axes[0].images[0].get_array(), figure.axes[0].collections[0].get_offsets()
    assert np.array_equal(np.ma.getmaskarray(image), np.isinf(costs))
    assert np.asarray(marks).tolist() == [[column, row] for row, column in found.pairs]
    figure.savefig(tmp_path / "entries.png")
    with pytest.raises(gmatch.InvalidInput, match="expected a matrix of costs; got 3 dimensions"):
        plot.matched_entries(costs[None], found, "entries")


@pytest.mark.parametrize("name", ["Pajek/GD97_b", "HB/west0067"])
def test_a_block_triangular_form(name: str, tmp_path: Path) -> None:
    matrix = gmatch.datasets.load(name)
    form = gmatch.dulmage_mendelsohn(matrix)
    figure = plot.block_triangular_form(matrix, form, name)
    others, pairs = (np.asarray(marks.get_offsets()).astype(int) for marks in figure.axes[0].collections)
    drawn = {(int(row), int(column)) for column, row in np.concatenate([others, pairs])}
    assert drawn == set(
        zip(*(side.tolist() for side in matrix[form.row_order][:, form.col_order].nonzero()), strict=True)
    )
    assert len(pairs) == form.matching.size
    figure.savefig(tmp_path / "form.png")
    with pytest.raises(gmatch.InvalidInput, match="expected the matrix of this form"):
        plot.block_triangular_form(matrix[1:], form, name)


def test_axes_of_ones_own() -> None:
    from matplotlib.figure import Figure

    matrix, figure = gmatch.datasets.load("Pajek/GD97_b"), Figure()
    axes: Any = figure.subplots(3)
    plot.matched_points(X, Y, gmatch.lap(COSTS), "points", axes[0])
    plot.matched_entries(COSTS, gmatch.lap(COSTS), "entries", axes[1])
    assert plot.block_triangular_form(matrix, gmatch.dulmage_mendelsohn(matrix), "form", axes[2]) is figure
    assert not figure.legends


def test_a_legend_takes_no_room_from_the_axes() -> None:
    widths = []
    for name in ("x", "a solver with a name that is very long indeed"):
        figure = plot.run_times({name: {10: 1.0, 20: 2.0}}, "times")
        figure.draw_without_rendering()
        widths.append(figure.axes[0].get_window_extent().width)
        legend = figure.legends[0].get_window_extent()
        assert legend.x0 > figure.axes[0].get_window_extent().x1 and legend.x1 <= figure.bbox.x1
    assert widths[0] == pytest.approx(widths[1], rel=0.02)
