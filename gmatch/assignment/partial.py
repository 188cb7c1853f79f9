"""Forbidden pairs that leave no assignment: why, and the cheapest of the largest matchings."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..arrays import all_others, mover_to
from ..cardinality.matching import largest_matching
from ..errors import Infeasible
from ..problems.graph import BipartiteGraph
from ..result import ExactDuals, Status, Tier, witness_of
from .plan import Costs
from .programs import Solution, add_counters
from .ties import Names


def cover_of_allowed_pairs(costs: Costs, threads: int | None) -> tuple[Any, Any]:
    """Rows and columns of a smallest vertex cover (König 1931) of the pairs that are not forbidden."""
    graph = BipartiteGraph.of_checked(*costs.allowed_pairs(), costs.device)
    return largest_matching(graph, threads).vertex_cover()


def infeasible(costs: Costs, cover: tuple[Any, Any]) -> Infeasible:
    """The error, with the witness in rows and columns as given."""
    back = mover_to(costs.device)
    size = len(cover[0]) + len(cover[1])
    rows, columns = map(back, witness_of(cover[::-1] if costs.transposed else cover, costs.shape))
    sides = f"{len(rows)} rows", f"{len(columns)} columns"
    many, few = sides if costs.shape[0] <= costs.shape[1] else sides[::-1]
    message = (
        f"no assignment avoids the forbidden pairs: {size} of {min(costs.shape)} pairs can be made; the error's {many} "
        f"may only be matched with its {few}; use infeasible='partial' to make as many as can be, or cost_limit to let "
        "rows and columns stay free"
    )
    return Infeasible(message, rows, columns)


class Part(NamedTuple):
    """Some rows and columns of a problem as a problem of its own. Its rows are the side with fewer vertices."""

    number: int  # 0 with the cover's rows, 1 with its columns
    rows: Any
    columns: Any
    costs: Costs
    names: Names | None


def parts_of(costs: Costs, cover: tuple[Any, Any], names: Names | None) -> list[Part]:
    """Two problems whose cheapest assignments together are the cheapest of the largest matchings.

    A largest matching has as many pairs as the cover has vertices. So each vertex of the cover is matched, and no pair
    joins two of them. The matching therefore consists of two assignments: one between the cover's rows and the other
    columns, and one between the other rows and the cover's columns. Any two such assignments make a largest matching.
    """
    others = [all_others(*of_side) for of_side in zip(cover, sorted(costs.shape), strict=True)]
    return [
        Part(number, rows, columns, costs.part(rows, columns), names and names.part(rows, columns))
        for number, (rows, columns) in enumerate(((cover[0], others[1]), (others[0], cover[1])))
        if len(rows) and len(columns)
    ]


def joined(costs: Costs, solution: Solution, parts: list[Part], found: list[Solution]) -> Solution:
    """The cheapest of the largest matchings, from what is found for the parts; `solution` has its cover."""
    row_match, col_match, u, v = solution.row_match, solution.col_match, solution.u, solution.v
    for array, value in ((row_match, -1), (col_match, -1), (u, 0), (v, 0)):
        array.fill(value)
    exact = ExactDuals((), u.copy(), v.copy())
    for part, one in zip(parts, found, strict=True):
        rows, columns = part.rows, part.columns
        one = one.turned() if len(rows) > len(columns) else one
        exact = _with_part(exact, one.exact or ExactDuals((), one.u, one.v), part)
        matched = (one.row_match >= 0).nonzero()[0]
        row_match[rows[matched]] = columns[one.row_match[matched]]
        col_match[columns[one.row_match[matched]]] = rows[matched]
        u[rows], v[columns] = one.u, one.v
    counters = add_counters(solution.counters, *(one.counters for one in found))
    in_parts = bool(exact.tiers) or costs.overflows
    return replace(solution, counters=counters, entries=None, exact=exact if in_parts else None, status=Status.PARTIAL)


def _with_part(whole: ExactDuals, duals: ExactDuals, part: Part) -> ExactDuals:
    """The duals of all rows and columns, with the duals of a part in their places."""
    whole.u[part.rows], whole.v[part.columns] = duals.u, duals.v
    tiers = list(whole.tiers)
    for tier in duals.tiers:
        row_tiers, column_tiers = np.zeros_like(whole.u, np.int64), np.zeros_like(whole.v, np.int64)
        row_tiers[part.rows], column_tiers[part.columns] = tier.rows, tier.columns
        tiers.append(Tier(tier.value, row_tiers, column_tiers, part.number))
    return ExactDuals(tuple(tiers), whole.u, whole.v)
