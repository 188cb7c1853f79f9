"""Pictures of matchings, of searches and of their times, with matplotlib (``pip install 'gmatch-bipartite[plot]'``)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse

from .arrays import as_dense_array, to_host
from .errors import InvalidInput
from .result import Decomposition, Matching

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Equal searches draw equal lines. The first is the thickest, so that later lines do not hide it.
THICKEST, THINNEST = 4.5, 1.2
# Sizes of markers, in points, in the same order.
LARGEST, SMALLEST = 9.0, 4.0
# Seven colours that people with any kind of colour vision tell apart (Okabe and Ito 2008), and black.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000", "#F0E442")
WIDTH, HEIGHT = 8.0, 4.5  # of a figure in inches, without its legend
DASHES = ("-", "--", "-.", ":")
MARKERS = "osD^v<>P*Xph"
# The end of the axis of the paper's performance profiles.
MOST_TIMES = 10


def phases_and_levels(
    matchings: Mapping[str, Matching | Sequence[int]], title: str, axes: Axes | None = None
) -> Figure:
    """How many levels each phase of a search took: figure 2 of Deveci et al. (2013).

    Parameters
    ----------
    matchings : mapping of str to Matching or sequence of int
        Name and result of each variant, or the levels of its phases; one line each.
    title : str
        What was matched.
    axes : matplotlib axes, optional
        Where to draw; by default in a new figure, with a legend.

    Returns
    -------
    matplotlib.figure.Figure
        Save it with its ``savefig``.

    Raises
    ------
    InvalidInput
        If matplotlib is not installed.

    Examples
    --------
    >>> import gmatch.plot
    >>> graph = gmatch.datasets.delaunay(1000)
    >>> searches = {name: gmatch.max_matching(graph, method=name) for name in ("apfb", "claims")}
    >>> figure = gmatch.plot.phases_and_levels(searches, "delaunay, 1000 vertices")
    """
    legend = axes is None
    if axes is None:
        axes = _new_axes()
    # The last phase may have no level at all, and a logarithm has no zero: linear up to one level.
    axes.set_yscale("symlog", linthresh=1, linscale=0.4)
    for number, (name, matching) in enumerate(matchings.items()):
        levels = matching.stats["levels_per_phase"] if isinstance(matching, Matching) else matching
        axes.plot(range(1, len(levels) + 1), levels, label=name, **_style(number, len(matchings)))
    axes.set(title=title, xlabel="phase", ylabel="levels")
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.locator_params(axis="x", integer=True)
    # Room for a search that has nothing to do, without freezing limits that other axes may share.
    axes.update_datalim([(1, 0), (2, 2)])
    axes.autoscale_view()
    return _finished(axes, legend and bool(matchings))


def run_times(seconds: Mapping[str, Mapping[int, float]], title: str, axes: Axes | None = None) -> Figure:
    """Run time over problem size, one line a solver, both logarithmic: figure 2 of Date and Nagi (2016).

    Parameters
    ----------
    seconds : mapping of str to mapping of int to float
        Name of each solver, and its seconds by number of rows.
    title : str
        What was solved, and where.
    axes : matplotlib axes, optional
        As for `phases_and_levels`; so are the result and the error.

    Examples
    --------
    >>> import gmatch.plot
    >>> figure = gmatch.plot.run_times({"ours": {100: 0.01, 200: 0.03}, "theirs": {100: 0.02}}, "dense costs")
    """
    legend = axes is None
    if axes is None:
        axes = _new_axes()
    for number, (name, by_size) in enumerate(seconds.items()):
        axes.plot(list(by_size), list(by_size.values()), label=name, **_style(number, len(seconds)))
    axes.set(title=title, xlabel="n", ylabel="seconds", xscale="log", yscale="log")
    # Sizes are few and not powers of ten: they label themselves.
    sizes = sorted({size for by_size in seconds.values() for size in by_size})
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes], rotation=45 if len(sizes) > 6 else 0)
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    return _finished(axes, legend and bool(seconds))


def time_of_steps(seconds: Mapping[str, Mapping[str, float]], title: str, axes: Axes | None = None) -> Figure:
    """What each step contributes to the run time, one stacked bar a solver: figure 3 of Date and Nagi (2016).

    Parameters
    ----------
    seconds : mapping of str to mapping of str to float
        Name of each solver, and its seconds by step. Solvers may have different steps.
    title : str
        What was solved, and where.
    axes : matplotlib axes, optional
        As for `phases_and_levels`; so are the result and the error.

    Examples
    --------
    >>> import gmatch.plot
    >>> figure = gmatch.plot.time_of_steps({"tree": {"start": 0.1, "search": 0.5}}, "n = 1000")
    """
    legend = axes is None
    if axes is None:
        axes = _new_axes()
    solvers = list(seconds)
    ends = [0.0] * len(solvers)
    steps_of_all = dict.fromkeys(step for steps in seconds.values() for step in steps)
    for number, step in enumerate(steps_of_all):
        widths = [steps.get(step, 0.0) for steps in seconds.values()]
        axes.barh(solvers, widths, left=ends, label=step, color=COLOURS[number % len(COLOURS)])
        ends = [end + width for end, width in zip(ends, widths, strict=True)]
    axes.set(title=title, xlabel="seconds")
    axes.invert_yaxis()
    return _finished(axes, legend and bool(seconds))


def speedups(ratios: Mapping[str, Mapping[int, float]], title: str, axes: Axes | None = None) -> Figure:
    """How many times faster each form of a solver is, a group of bars for each size: after Kawtikwar et al.

    Parameters
    ----------
    ratios : mapping of str to mapping of int to float
        Name of each form, and by number of rows how many times faster than the first it is.
    title : str
        What was solved, and where.
    axes : matplotlib axes, optional
        As for `phases_and_levels`; so are the result and the error.

    Examples
    --------
    >>> import gmatch.plot
    >>> figure = gmatch.plot.speedups({"fused": {512: 1.2, 1024: 1.5}}, "over the first form")
    """
    legend = axes is None
    if axes is None:
        axes = _new_axes()
    sizes = sorted({size for by_size in ratios.values() for size in by_size})
    width = 0.8 / max(len(ratios), 1)
    for number, (name, by_size) in enumerate(ratios.items()):
        places = [sizes.index(size) + (number + 0.5) * width - 0.4 for size in by_size]
        bars = axes.bar(places, list(by_size.values()), width, label=name, color=COLOURS[number % len(COLOURS)])
        axes.bar_label(bars, fmt="{:.1f}", fontsize="x-small")
    axes.set_xticks(range(len(sizes)), [f"{size:,}" for size in sizes])
    axes.set(title=title, xlabel="n", ylabel="times faster")
    return _finished(axes, legend and bool(ratios))


def speedup_profiles(speedups: Mapping[str, Mapping[str, float]], title: str, axes: Axes | None = None) -> Figure:
    """The fraction of the cases in which each solver is at least 2^x times faster: figure 3 of Deveci et al. (2013).

    Parameters
    ----------
    speedups : mapping of str to mapping of str to float
        Name of each solver, and by case how many times faster than a reference it is. A case that is missing, but is
        there for another solver, was not solved.
    title : str
        What was solved, and where.
    axes : matplotlib axes, optional
        As for `phases_and_levels`; so are the result and the error.

    Examples
    --------
    >>> import gmatch.plot
    >>> figure = gmatch.plot.speedup_profiles({"ours": {"a graph": 2.0, "another": 8.0}}, "over SciPy")
    """
    legend = axes is None
    if axes is None:
        axes = _new_axes()
    cases = _cases(speedups)
    logarithms = {name: sorted(map(math.log2, by_case.values())) for name, by_case in speedups.items()}
    least = min((some[0] for some in logarithms.values() if some), default=0.0)
    for number, (name, some) in enumerate(logarithms.items()):
        # All solved cases are at least as fast as the slowest; none is faster than the fastest.
        shares = [left / len(cases) for left in range(len(some), 0, -1)]
        places, heights = [least, *some, *some[-1:]], [*shares[:1], *shares, 0]
        axes.step(places, heights, where="pre", label=name, **_style(number, len(logarithms)) | {"marker": ""})
    axes.axvline(0, color="0.8", zorder=0)
    axes.set(title=title, xlabel="x", ylabel="P(speedup $\\geq 2^x$)", ylim=(-0.02, 1.02))
    return _finished(axes, legend and bool(speedups))


def performance_profiles(seconds: Mapping[str, Mapping[str, float]], title: str, axes: Axes | None = None) -> Figure:
    """The fraction of the cases in which each solver takes at most x times the best: figure 4 of Deveci et al. (2013).

    Parameters
    ----------
    seconds : mapping of str to mapping of str to float
        Name of each solver, and its run time by case. A case that is missing, but is there for another solver, was not
        solved.
    title : str
        What was solved, and where.
    axes : matplotlib axes, optional
        As for `phases_and_levels`; so are the result and the error.

    Notes
    -----
    E. D. Dolan, J. J. Moré, *Benchmarking optimization software with performance profiles*, Mathematical Programming
    91, 2002.

    Examples
    --------
    >>> import gmatch.plot
    >>> figure = gmatch.plot.performance_profiles({"ours": {"a": 1.0}, "theirs": {"a": 2.0}}, "one graph")
    """
    legend = axes is None
    if axes is None:
        axes = _new_axes()
    cases = _cases(seconds)
    best = {case: min(by_case[case] for by_case in seconds.values() if case in by_case) for case in cases}
    for number, (name, by_case) in enumerate(seconds.items()):
        ratios = sorted(time / best[case] for case, time in by_case.items() if time <= MOST_TIMES * best[case])
        shares = [count / len(cases) for count in range(1, len(ratios) + 1)]
        places, heights = [1, *ratios, MOST_TIMES], [0, *shares, *(shares[-1:] or [0])]
        axes.step(places, heights, where="post", label=name, **_style(number, len(seconds)) | {"marker": ""})
    axes.set(title=title, xlabel="times the best", ylabel="fraction of the cases")
    axes.set(xlim=(0.9, MOST_TIMES), ylim=(-0.02, 1.02), xticks=range(1, MOST_TIMES + 1))
    return _finished(axes, legend and bool(seconds))


def matched_points(x: Any, y: Any, matched: Any, title: str, axes: Axes | None = None) -> Figure:
    """Two sets of points in the plane, and a line for each pair.

    Parameters
    ----------
    x, y : arrays, shapes (rows, 2) and (columns, 2)
        The points that are the rows of the costs, and the points that are their columns.
    matched : Assignment, Matching, or (rows, columns)
        The pairs.
    title : str
    axes : matplotlib axes, optional
        As for `phases_and_levels`; so are the result and the error.

    Examples
    --------
    >>> import gmatch.plot
    >>> x, y = np.random.default_rng(0).random((2, 40, 2))
    >>> figure = gmatch.plot.matched_points(x, y, gmatch.lap(gmatch.PointCosts(x, y)), "40 points and 40")
    """
    legend = axes is None
    if axes is None:
        axes = _new_axes()
    x, y = (to_host(as_dense_array(points, name)) for points, name in ((x, "x"), (y, "y")))
    for points, name in ((x, "x"), (y, "y")):
        if points.ndim != 2 or points.shape[1] != 2:
            raise InvalidInput(f"{name} must have a point of the plane in each row, shape (n, 2); got {points.shape}")
    rows, columns = _pairs_of(matched)
    # One line with gaps is drawn sooner than many.
    between = np.full((len(rows), 3, 2), np.nan)
    between[:, 0], between[:, 1] = x[rows], y[columns]
    axes.plot(*between.reshape(-1, 2).T, color="0.6", linewidth=1, zorder=1, label=f"{len(rows):,} pairs")
    size = 36 if max(len(x), len(y)) < 300 else 6
    axes.scatter(x[:, 0], x[:, 1], s=size, color=COLOURS[0], marker="o", zorder=2, label=f"{len(x):,} rows")
    axes.scatter(y[:, 0], y[:, 1], s=size, color=COLOURS[5], marker="^", zorder=3, label=f"{len(y):,} columns")
    axes.set(title=title, aspect="equal")
    return _finished(axes, legend)


def matched_entries(costs: Any, matched: Any, title: str, axes: Axes | None = None) -> Figure:
    """A matrix of costs in shades, larger costs darker, and its pairs; forbidden pairs are white.

    Parameters
    ----------
    costs : array, shape (rows, columns)
    matched : Assignment or (rows, columns)
        The pairs.
    title : str
    axes : matplotlib axes, optional
        As for `phases_and_levels`; so are the result and the error.

    Examples
    --------
    >>> import gmatch.plot
    >>> cost = np.random.default_rng(0).random((9, 9))
    >>> figure = gmatch.plot.matched_entries(cost, gmatch.lap(cost), "9 x 9")
    """
    legend = axes is None
    if axes is None:
        axes = _new_axes()
    entries = to_host(as_dense_array(costs)).astype(np.float64)
    if entries.ndim != 2:
        raise InvalidInput(f"expected a matrix of costs; got {entries.ndim} dimensions")
    shades = axes.imshow(np.ma.masked_invalid(entries), cmap="cividis_r", aspect="auto", interpolation="nearest")
    rows, columns = _pairs_of(matched)
    # As wide as a cell, but never too small to be seen.
    size = max(12.0, (250 / max(entries.shape, default=1)) ** 2)
    axes.scatter(
        columns, rows, s=size, marker="s", facecolors="none", edgecolors=COLOURS[5], linewidths=1.5,
        label=f"{len(rows):,} pairs",
    )  # fmt: skip
    figure = axes.get_figure(root=True)
    assert figure is not None
    figure.colorbar(shades, ax=axes, label="cost")
    axes.set(title=title, xlabel="column", ylabel="row")
    axes.locator_params(integer=True)
    return _finished(axes, legend)


def block_triangular_form(matrix: Any, form: Decomposition, title: str, axes: Axes | None = None) -> Figure:
    """The entries of a matrix in its block triangular form, its diagonal, and the blocks.

    Parameters
    ----------
    matrix : sparse matrix, shape (rows, columns)
    form : Decomposition
        What `gmatch.dulmage_mendelsohn` or `gmatch.block_triangular_form` made of it.
    title : str
    axes : matplotlib axes, optional
        As for `phases_and_levels`; so are the result and the error.

    Examples
    --------
    >>> import gmatch.plot
    >>> matrix = gmatch.datasets.load("HB/west0067")
    >>> figure = gmatch.plot.block_triangular_form(matrix, gmatch.block_triangular_form(matrix), "HB/west0067")
    """
    legend = axes is None
    if axes is None:
        axes = _new_axes()
    stored = scipy.sparse.coo_array(to_host(matrix))
    row_order, col_order, row_blocks, col_blocks = (
        to_host(array) for array in (form.row_order, form.col_order, form.row_blocks, form.col_blocks)
    )
    if stored.shape != (len(row_order), len(col_order)):
        raise InvalidInput(
            f"expected the matrix of this form, shape {(len(row_order), len(col_order))}; got {stored.shape}"
        )
    row_place, col_place = np.argsort(row_order), np.argsort(col_order)
    mates = to_host(form.matching.row_match)
    rows, columns = stored.coords
    on_diagonal = mates[rows] == columns
    size = min(30.0, max(3.0, (280 / max(*stored.shape, 1)) ** 2))
    for which, colour, marker, label in (
        (~on_diagonal, "0.45", "o", f"{(~on_diagonal).sum():,} other entries"),
        (on_diagonal, COLOURS[0], "s", f"{on_diagonal.sum():,} pairs"),
    ):
        x, y = col_place[columns[which]], row_place[rows[which]]
        axes.scatter(x, y, s=size, color=colour, marker=marker, linewidths=0, label=label)
    for first, last, left, right in zip(row_blocks, row_blocks[1:], col_blocks, col_blocks[1:], strict=False):
        if last - first == right - left == 1:
            continue  # one pair, which is drawn as an entry
        corners = np.array([left, right, right, left, left]) - 0.5, np.array([first, first, last, last, first]) - 0.5
        axes.plot(*corners, color=COLOURS[5], linewidth=0.8, label="_nolegend_")
    axes.plot([], [], color=COLOURS[5], label=f"{len(row_blocks) - 1:,} blocks")
    axes.set(title=title, xlabel="column", ylabel="row", aspect="equal")
    axes.set(xlim=(-1, stored.shape[1]), ylim=(stored.shape[0], -1))
    return _finished(axes, legend)


def _pairs_of(matched: Any) -> tuple[Any, Any]:
    """The rows and the columns of pairs, on the host."""
    rows, columns = (to_host(as_dense_array(side, "pairs")) for side in matched)
    return rows, columns


def _cases(solvers: Mapping[str, Mapping[str, float]]) -> list[str]:
    return list(dict.fromkeys(case for by_case in solvers.values() for case in by_case))


def _finished(axes: Axes, legend: bool) -> Figure:
    figure = axes.get_figure(root=True)
    assert figure is not None  # axes are made by a figure
    if legend:
        # The legend stands beside the axes: the figure becomes wider by its width.
        box = figure.legend(loc="outside right upper", handlelength=4)
        figure.draw_without_rendering()
        figure.set_figwidth(WIDTH + box.get_window_extent().width / figure.dpi)
    return figure


def _style(number: int, lines: int) -> dict[str, Any]:
    on_top = number / max(lines - 1, 1)
    return {
        "color": COLOURS[number % len(COLOURS)],
        "linestyle": DASHES[number % len(DASHES)],
        "linewidth": THICKEST - (THICKEST - THINNEST) * on_top,
        "marker": MARKERS[number % len(MARKERS)],
        "markersize": LARGEST - (LARGEST - SMALLEST) * on_top,
    }


def _new_axes() -> Axes:
    try:
        # Without pyplot no window opens, and nothing is kept after the figure is gone.
        from matplotlib.figure import Figure
    except ImportError:
        raise InvalidInput(
            "plots need matplotlib, which is not installed; pip install 'gmatch-bipartite[plot]'"
        ) from None
    return Figure(figsize=(WIDTH, HEIGHT), layout="constrained").subplots()
