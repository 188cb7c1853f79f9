"""The strict proof of an assignment of floats: its gap in exact arithmetic, without anything that solvers share.

Floats are whole multiples of 2**-1074, so all numbers here are Python's integers in that unit. The duals as given, with
the least u of each row that no pair of it contradicts, bound what any assignment costs. That bound is a little low,
for solvers round. No pair of a cheaper assignment has more slack than the bound is low, so the other pairs are left
out. Among the rest a cheaper assignment is an alternating cycle of negative weight, which Bellman and Ford's labels
find. Where there is none, the labels mend the duals, and the assignment is exactly the cheapest.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from ..arrays import to_host
from .tiers import TieredPart

EPSILON = 2.0**-52
LEAST_FLOAT = 2.0**-1074
BITS = 1074  # every float is a whole multiple of 2**-BITS
NO_ROW = -1
# The gap that is allowed, in roundings of the sum of the pairs' costs. A sum in floats has such an error anyway.
STRICT = 4
# Cycles that are sought, for each column. Roundings leave fewer. After more cycles the larger bound `low` is the gap:
# an assignment so far from the cheapest is refused anyway.
MOST_CYCLES = 16


class _Arc(NamedTuple):
    """A step of an alternating path, from a column to a vertex."""

    head: int
    weight: int
    row: int  # the row that leaves its column; NO_ROW where none does


_Graph = list[list[_Arc]]


def exact_gap(xp: Any, part: TieredPart, limit: float | None) -> Fraction:
    """How much more the pairs of a part cost than its cheapest assignment.

    O(entries) time; beside that, time and memory grow with the number of pairs whose slack is 0 up to rounding.
    """
    return Fraction(_ExactPart(xp, part, limit).gap(), 1 << BITS)


def float_above(number: Fraction) -> float:
    """The nearest float that is not below."""
    nearest = float(number)
    return nearest if nearest >= number else math.nextafter(nearest, math.inf)


def to_units(numbers: Any) -> list[int]:
    """Floats on the host as multiples of 2**-BITS."""
    mantissas, exponents = np.frexp(numbers)
    wholes, shifts = np.ldexp(mantissas, 53).astype(np.int64).tolist(), (exponents + (BITS - 53)).tolist()
    # Floats below 2**-1022 have fewer than 53 bits: a shift to the right loses none.
    return [whole << shift if shift >= 0 else whole >> -shift for whole, shift in zip(wholes, shifts, strict=True)]


class _ExactPart:
    """A part in integers. With a limit any row and any column also make a pair at the limit."""

    def __init__(self, xp: Any, part: TieredPart, limit: float | None) -> None:
        self.xp, self.part, self.limit = xp, part, limit
        self.pair_costs = to_units(to_host(part.pair_costs))
        self.v = self._column_duals()
        # Floats are multiplied by this: duals are at most a cost for each row, so their sums stay in range.
        self.shrink = 2.0 ** -(4 + len(self.v).bit_length())
        self.small_v = np.array([self._small(dual) for dual in self.v])
        # The limit less the largest v: the largest u that a row may have.
        self.left = None if limit is None else to_units([limit])[0] - max(self.v)

    def _small(self, units: int) -> float:
        return float(Fraction(units, 1 << BITS) * Fraction(self.shrink))

    def _column_duals(self) -> list[int]:
        exact = self.part.exact.moved(to_host)
        duals = to_units(exact.v)
        for tier in exact.tiers:
            (value,) = to_units([tier.value])
            duals = [dual + value * times for dual, times in zip(duals, tier.columns.tolist(), strict=True)]
        return [min(dual, 0) for dual in duals] if len(exact.u) < len(duals) else duals

    def gap(self) -> int:
        least = self._least()
        low = sum(self.pair_costs) - sum(least) - sum(self.v)  # how far the bound of the duals is below the cost
        return self._improvement(least, low) if low else 0

    def _least(self) -> list[int]:
        """The largest u of each row that no pair of it contradicts."""
        least = [self.left] * len(self.pair_costs)
        for row, column, cost in self._near(0.0):
            reduced, known = cost - self.v[column], least[row]
            if known is None or reduced < known:
                least[row] = reduced
        return [u for u in least if u is not None]  # each row has a pair

    def _near(self, reach: float) -> Iterator[tuple[int, int, int]]:
        """Row, column and cost of all pairs whose slack is at most `reach`, which is shrunk; and of some others."""
        left = math.inf if self.left is None else self._small(self.left)
        for block in self.part.blocks():
            # Entries of sparse costs are few: they are looked at on the host.
            xp = self.xp if block[0].ndim == 2 else np
            costs, rows, columns = block if block[0].ndim == 2 else map(to_host, block)
            listed = costs < (math.inf if self.limit is None else self.limit)
            small, v = xp.where(listed, costs, 0) * self.shrink, xp.asarray(self.small_v)[columns]
            reduced = xp.where(listed, small - v, math.inf)
            least = xp.full(len(self.pair_costs), left)
            if reduced.ndim == 2:
                least[rows[:, 0]] = xp.minimum(left, reduced.min(axis=1))
            else:
                xp.minimum.at(least, rows, reduced)
            u = xp.where(xp.isfinite(least), least, 0)[rows]
            # This v, the v of the least entry and the two differences are rounded, and whatever is shrunk below
            # 2**-1022.
            rounding = 4 * EPSILON * (abs(small) + abs(v) + abs(u)) + 8 * LEAST_FLOAT
            places = (listed & (reduced <= u + rounding + reach)).nonzero()
            found = [to_host(xp.broadcast_to(some, costs.shape)[places]) for some in (rows, columns, costs)]
            yield from zip(found[0].tolist(), found[1].tolist(), to_units(found[2]), strict=True)

    def _improvement(self, least: list[int], low: int) -> int:
        """How much less a cheapest assignment costs than the pairs; or its upper bound `low`, if the search is long."""
        near: list[list[tuple[int, int]]] = [[] for _ in least]
        for row, column, cost in self._near(math.nextafter(self._small(low), math.inf)):
            if cost - self.v[column] - least[row] <= low:
                near[row].append((column, cost))
        mates, free = self._mates()
        saved = 0
        for _ in range(MOST_CYCLES * len(self.v)):
            graph = self._graph(near, mates, free)
            cycle = negative_cycle(graph)
            if not cycle:
                return saved
            saved -= sum(arc.weight for _, arc in cycle)
            self._go_along(cycle, near, mates, free)
        return low

    def _mates(self) -> tuple[list[tuple[int, int]], set[int]]:
        """Column and cost of each row, and the free columns; rows that pay the limit are given some column each."""
        columns = to_host(self.part.mates).tolist()
        free = set(range(len(self.v))).difference(columns)
        mates = []
        for column, cost in zip(columns, self.pair_costs, strict=True):
            mates.append((column if column >= 0 else free.pop(), cost))
        return mates, free

    @property
    def _waypoints(self) -> tuple[int, int]:
        """Vertices beside the columns: pairs at the limit lead through the first, columns that stay free the second."""
        return len(self.v), len(self.v) + 1

    def _graph(self, near: list[list[tuple[int, int]]], mates: list[tuple[int, int]], free: set[int]) -> _Graph:
        """The arcs of each column: where its row, or no row, may go."""
        at_limit, stays_free = self._waypoints
        graph: _Graph = [[] for _ in range(len(self.v) + 2)]
        for row, (mate, cost) in enumerate(mates):
            reduced = cost - self.v[mate]
            graph[mate] = [_Arc(column, other - self.v[column] - reduced, row) for column, other in near[row]]
            if self.limit is not None:
                graph[mate].append(_Arc(at_limit, to_units([self.limit])[0] - reduced, row))
        to_all = [_Arc(column, -dual, NO_ROW) for column, dual in enumerate(self.v)]
        if self.limit is not None:
            graph[at_limit] = to_all
        if len(mates) < len(self.v):
            graph[stays_free] = to_all
            for column in free:
                graph[column] = [_Arc(stays_free, self.v[column], NO_ROW)]
        return graph

    def _go_along(
        self,
        cycle: list[tuple[int, _Arc]],
        near: list[list[tuple[int, int]]],
        mates: list[tuple[int, int]],
        free: set[int],
    ) -> None:
        """Gives the rows of a cycle their next columns along it."""
        at_limit, stays_free = self._waypoints
        after = {tail: arc for tail, arc in cycle}
        for tail, arc in cycle:
            if arc.head == stays_free:
                free.remove(tail)
                free.add(after[stays_free].head)
            elif arc.head == at_limit:
                assert self.limit is not None
                mates[arc.row] = after[at_limit].head, to_units([self.limit])[0]
            elif arc.row != NO_ROW:
                mates[arc.row] = arc.head, dict(near[arc.row])[arc.head]


def negative_cycle(graph: _Graph) -> list[tuple[int, _Arc]]:
    """The arcs of a cycle of negative weight, each with its tail; none if there is no such cycle.

    Bellman and Ford's labels in the order of a queue (Moore 1959). O(vertices * arcs) at worst.
    """
    label = [0] * len(graph)
    came_by: list[tuple[int, _Arc] | None] = [None] * len(graph)
    queue = deque(tail for tail, arcs in enumerate(graph) if any(arc.weight < 0 for arc in arcs))
    waits = [False] * len(graph)
    lowered = 0
    while queue:
        tail = queue.popleft()
        waits[tail] = False
        for arc in graph[tail]:
            if label[tail] + arc.weight >= label[arc.head]:
                continue
            label[arc.head], came_by[arc.head] = label[tail] + arc.weight, (tail, arc)
            lowered += 1
            if lowered % len(graph) == 0 and (cycle := _cycle_of(came_by)):
                return cycle
            if not waits[arc.head]:
                waits[arc.head] = True
                queue.append(arc.head)
    return []


def _cycle_of(came_by: list[tuple[int, _Arc] | None]) -> list[tuple[int, _Arc]]:
    """A cycle of arcs that vertices were reached by last: its weight is negative. Empty if there is none."""
    seen_from = [NO_ROW] * len(came_by)
    for first in range(len(came_by)):
        vertex = first
        while seen_from[vertex] < 0 and (step := came_by[vertex]):
            seen_from[vertex] = first
            vertex = step[0]
        if seen_from[vertex] != first:
            continue
        cycle: list[tuple[int, _Arc]] = []
        head = vertex
        while (step := came_by[head]) and (not cycle or head != vertex):
            cycle.append(step)
            head = step[0]
        return cycle[::-1]
    return []
