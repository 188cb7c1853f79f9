"""Duals of a square matrix, from cheapest assignments of a coarse matrix: the means of near rows by near columns.

If the prices of whole regions are wrong, all free columns lie behind one tree, and a search finds one path in a phase.
The means of SIZE rows by SIZE columns form a coarse matrix with 1/16 of the entries. Its duals are right except for
about the width of a group. A search finds an extreme point of the optimal duals, since all tight pairs lead one way. So
the coarse matrix is assigned twice: from its rows and from its columns. The mean of the two duals is optimal, too, and
lies between them.

A matrix has no coordinates. But differences of two of its columns tell which rows are near each other.

Merigot, "A multiscale approach to optimal transport", Computer Graphics Forum 30 (2011).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import mover_to, namespace, to_host

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..problems.dense import DenseCosts

# The rows, or columns, of a group. With 16, or without the assignment from the columns, searches take longer:
# benchmarks/log/core_gpu.md, "Duals of a coarse matrix once a search takes long".
SIZE = 4
# WITNESSES columns tell which rows are near each other, and WITNESSES rows tell which columns are. A part is halved by
# the difference of two witnesses. Of TRIES pairs of witnesses, the pair with the widest differences is taken.
WITNESSES, TRIES = 64, 4
# Rows whose entries are added up at once.
ROWS_AT_ONCE = 1 << 11


def coarse_duals(costs: DenseCosts, assigned: Callable[[Any], tuple[Any, Any]]) -> Any:
    """Duals v of a square matrix that forbids no pair, for an auction to begin with. None of them is above zero.

    `assigned` returns the duals u and v of a cheapest assignment of a smaller square matrix with entries of this type.
    """
    number = costs.array.shape[0]
    xp, to_device, random = namespace(costs.array), mover_to(costs.device), np.random.default_rng(0)
    witnesses = to_device(random.choice(number, min(number, WITNESSES), replace=False))
    parts = costs.array[:, witnesses], costs.array[witnesses].T
    rows, columns = (order_of_groups(to_host(part).astype(np.float64), random) for part in parts)
    means = _means(costs.array, to_device(rows), to_device(columns))
    _, v = assigned(means)
    other, _ = assigned(xp.ascontiguousarray(means.T))
    # Duals stay optimal if one number is added to all v and subtracted from all u.
    both = [duals - duals.max() for duals in (to_host(v).astype(np.float64), to_host(other).astype(np.float64))]
    centred = sum(both) / 2
    duals = np.empty(number)
    duals[columns] = np.repeat(centred - centred.max(), SIZE)
    return to_device(np.rint(duals).astype(costs.dual_type) if costs.dual_type is np.int64 else duals)


def order_of_groups(known: Any, random: Any) -> Any:
    """The numbers of rows, in groups of SIZE near rows. The last number is repeated to fill its group.

    The rows are halved again and again, each part by the difference of two columns of `known`.
    """
    number, witnesses = known.shape
    known = np.ascontiguousarray(known.T).ravel()
    order, first = np.arange(number), np.array([0])
    while True:
        sizes = np.diff(np.append(first, number))
        halves = np.where(sizes > SIZE, -(-sizes // (2 * SIZE)) * SIZE, sizes)
        if (halves == sizes).all():
            return np.append(order, np.repeat(order[-1:], -number % SIZE))
        best, widest = np.zeros(number), np.full(len(first), -1.0)
        for pair in random.integers(witnesses, size=(TRIES, 2, len(first))):
            one, other = (known[np.repeat(number * column, sizes) + order] for column in pair)
            differences = one - other
            low, high = (least.reduceat(differences, first) for least in (np.minimum, np.maximum))
            # From 0 to less than 1, so that one sort keeps the parts apart.
            scaled = (differences - np.repeat(low, sizes)) / np.repeat(1.001 * (high - low) + (high == low), sizes)
            is_wider = high - low > widest
            best = np.where(np.repeat(is_wider, sizes), scaled, best)
            widest = np.where(is_wider, high - low, widest)
        order = order[np.argsort(best + np.repeat(np.arange(len(first)), sizes))]
        first = np.unique(np.append(first, (first + halves)[halves < sizes]))


def _means(entries: Any, rows: Any, columns: Any) -> Any:
    """The mean of each SIZE rows by SIZE columns, in the type of the entries, so that no other program is compiled."""
    xp, made = namespace(entries), []
    for begin in range(0, len(rows), ROWS_AT_ONCE):
        here = rows[begin : begin + ROWS_AT_ONCE]
        of_rows = sum(entries[here[k::SIZE]].astype(np.float64) for k in range(SIZE))
        means = sum(of_rows[:, columns[k::SIZE]] for k in range(SIZE)) / SIZE**2
        made.append((means if entries.dtype.kind == "f" else xp.rint(means)).astype(entries.dtype))
    return xp.concatenate(made)
