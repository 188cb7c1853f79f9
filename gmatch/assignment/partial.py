"""Forbidden pairs that leave no assignment: why, and the cheapest of the largest matchings."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import all_others, mover_to
from ..cardinality.matching import largest_matching
from ..errors import Infeasible
from ..problems.graph import BipartiteGraph
from ..result import ExactDuals, Status, Tier, witness_of
from .optimum import optimum
from .programs import FROM_MINIMA, Plan, Solution, add_counters
from .request import Costs
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


def cheapest_of_largest(costs: Costs, plan: Plan, solution: Solution, names: Names | None) -> Solution:
    """The cheapest of the largest matchings, from two problems that have assignments; `solution` has its cover.

    As large as a cover, a matching has one pair for each vertex of it: none joins two of them, and all of them are
    matched. So it consists of an assignment between the cover's rows and the other columns, and one between the other
    rows and the cover's columns, of all vertices of the cover; and any two such make a largest matching.
    """
    row_match, col_match, u, v = solution.row_match, solution.col_match, solution.u, solution.v
    assert solution.cover is not None, "the allowed pairs have one"
    cover_rows, cover_columns = solution.cover
    for array, value in ((row_match, -1), (col_match, -1), (u, 0), (v, 0)):
        array.fill(value)
    other_rows, other_columns = (all_others(*of_side) for of_side in zip(solution.cover, (len(u), len(v)), strict=True))
    exact, counters = ExactDuals((), u.copy(), v.copy()), [solution.counters]
    for number, (rows, columns) in enumerate(((cover_rows, other_columns), (other_rows, cover_columns))):
        if not (len(rows) and len(columns)):
            continue
        found = optimum(costs.part(rows, columns), plan, FROM_MINIMA, names and names.part(rows, columns))
        if len(rows) > len(columns):
            found = found.turned()
        exact = _with_part(exact, found.exact or ExactDuals((), found.u, found.v), rows, columns, number)
        matched = (found.row_match >= 0).nonzero()[0]
        row_match[rows[matched]] = columns[found.row_match[matched]]
        col_match[columns[found.row_match[matched]]] = rows[matched]
        u[rows], v[columns] = found.u, found.v
        counters.append(found.counters)
    in_parts = bool(exact.tiers) or costs.overflows
    return Solution(
        solution.size,
        row_match,
        col_match,
        u,
        v,
        add_counters(*counters),
        None,
        exact if in_parts else None,
        Status.PARTIAL,
        solution.cover,
    )


def _with_part(whole: ExactDuals, part: ExactDuals, rows: Any, columns: Any, number: int) -> ExactDuals:
    """The duals of all rows and columns, with the duals of a part in their places."""
    whole.u[rows], whole.v[columns] = part.u, part.v
    tiers = list(whole.tiers)
    for tier in part.tiers:
        row_tiers, column_tiers = np.zeros_like(whole.u, np.int64), np.zeros_like(whole.v, np.int64)
        row_tiers[rows], column_tiers[columns] = tier.rows, tier.columns
        tiers.append(Tier(tier.value, row_tiers, column_tiers, number))
    return ExactDuals(tuple(tiers), whole.u, whole.v)
