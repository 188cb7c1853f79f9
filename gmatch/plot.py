"""Pictures of a search, with matplotlib (``pip install 'gmatch[plot]'``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .errors import InvalidInput
from .result import Matching

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Equal searches draw equal lines. The first is the thickest, so that those on top of it do not hide it.
THICKEST, THINNEST = 4.5, 1.2
LARGEST, SMALLEST = 9.0, 4.0
DASHES = ("-", "--", "-.", ":")
MARKERS = "osD^v<>P*Xph"


def phases_and_levels(matchings: Mapping[str, Matching], title: str, axes: Axes | None = None) -> Figure:
    """How many levels each phase of a search took: figure 2 of Deveci et al. (2013).

    Parameters
    ----------
    matchings : mapping of str to Matching
        Name and result of each variant, one line each.
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
    """
    legend = axes is None
    if axes is None:
        axes = _new_axes()
    # The last phase may have no level at all, and a logarithm has no zero: linear up to one level.
    axes.set_yscale("symlog", linthresh=1, linscale=0.4)
    for number, (name, matching) in enumerate(matchings.items()):
        levels = matching.stats["levels_per_phase"]
        axes.plot(range(1, len(levels) + 1), levels, label=name, **_style(number, len(matchings)))
    axes.set(title=title, xlabel="phase", ylabel="levels")
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.locator_params(axis="x", integer=True)
    # Room for a search that has nothing to do, without freezing limits that other axes may share.
    axes.update_datalim([(1, 0), (2, 2)])
    axes.autoscale_view()
    figure = axes.get_figure(root=True)
    assert figure is not None  # axes are made by a figure
    if legend and matchings:
        figure.legend(loc="outside right upper", handlelength=5)
    return figure


def _style(number: int, lines: int) -> dict[str, Any]:
    on_top = number / max(lines - 1, 1)
    return {
        "color": f"C{number % 10}",
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
        raise InvalidInput("plots need matplotlib, which is not installed; pip install 'gmatch[plot]'") from None
    return Figure(figsize=(8, 4.5), layout="constrained").subplots()
