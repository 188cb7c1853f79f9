"""Forbidden pairs that leave no assignment: why, and the cheapest of the largest matchings."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..arrays import all_others, mover_to
from ..backends import cpu
from ..backends.protocol import Cover, add_counters
from ..cardinality.matching import largest_matching
from ..errors import Infeasible, changed
from ..problems.dense import DenseCosts
from ..problems.graph import BipartiteGraph
from ..result import ExactDuals, Status, Tier, witness_of
from .plan import Costs
from .programs import Solution


def cover_of_allowed_pairs(costs: Costs, threads: int | None) -> Cover:
    """A smallest vertex cover (König 1931) of the pairs that are not forbidden."""
    if costs.device == "cpu":
        return cpu.cover(costs, threads) if isinstance(costs, DenseCosts) else cpu.cover_of_sparse(costs, threads)
    graph = BipartiteGraph.of_checked(*costs.allowed_pairs(), costs.device)
    rows, columns = largest_matching(graph, threads).vertex_cover()
    return Cover(rows, columns, *(all_others(*side) for side in zip((rows, columns), graph.shape, strict=True)))


def infeasible(costs: Costs, cover: Cover) -> Infeasible:
    """The error, with the witness in rows and columns as given."""
    back = mover_to(costs.device)
    size = len(cover.rows) + len(cover.columns)
    sides = (cover.columns, cover.rows) if costs.transposed else (cover.rows, cover.columns)
    rows, columns = map(back, witness_of(sides, costs.shape))
    sides = f"{len(rows)} rows", f"{len(columns)} columns"
    many, few = sides if costs.shape[0] <= costs.shape[1] else sides[::-1]
    message = (
        f"no assignment avoids the forbidden pairs: {size} of {min(costs.shape)} pairs can be made; the error's {many} "
        f"may only be matched with its {few}; use infeasible='partial' to make as many as can be, or cost_limit to let "
        "rows and columns stay free"
    )
    return Infeasible(message, rows, columns)


class Part(NamedTuple):
    """Some rows and columns of a problem, as a problem of its own."""

    number: int  # 0 with the cover's rows, 1 with its columns
    rows: Any
    columns: Any
    turned: bool  # whether the columns are the rows of its costs
    costs: Costs
    columns_first: bool  # whether its columns are rows of the matrix as given


def parts_of(costs: Costs, threads: int | None, columns_first: bool) -> tuple[Cover, list[Part]]:
    """A cover, and two problems whose cheapest assignments together are the cheapest of the largest matchings.

    A largest matching has as many pairs as the cover has vertices. So each vertex of the cover is matched, and no pair
    joins two of them. The matching therefore consists of two assignments: one between the cover's rows and the other
    columns, and one between the other rows and the cover's columns. Any two such assignments make a largest matching.
    """
    if costs.device == "cpu":
        find: Any = cpu.parts if isinstance(costs, DenseCosts) else cpu.parts_of_sparse
        cover, found = find(costs, threads)
        problems = [costs.of_part(*one) for one in found]
        turned = False, True  # the vertices of the cover are the rows
    else:
        cover = cover_of_allowed_pairs(costs, threads)
        problems = [costs.part(cover.rows, cover.other_columns), costs.part(cover.other_rows, cover.columns)]
        turned = False, len(cover.other_rows) > len(cover.columns)
    sides = (cover.rows, cover.other_columns), (cover.other_rows, cover.columns)
    return cover, [
        Part(number, *sides[number], turned[number], problem, columns_first != turned[number])
        for number, problem in enumerate(problems)
        if min(problem.shape)
    ]


def joined(costs: Costs, solution: Solution, parts: list[Part], found: list[Solution]) -> Solution:
    """The cheapest of the largest matchings, from the solutions of the parts. `solution` has the cover."""
    row_match, col_match, u, v = solution.row_match, solution.col_match, solution.u, solution.v
    for array, value in ((row_match, -1), (col_match, -1), (u, 0), (v, 0)):
        array.fill(value)
    entries = None
    if found and all(one.entries is not None for one in found):
        entries = np.zeros_like(found[0].entries, shape=len(row_match))
    for part, one in zip(parts, found, strict=True):
        near, far, of_near, of_far = part.rows, part.columns, u, v
        if part.turned:
            near, far, of_near, of_far = far, near, v, u
        if one.size < len(near):
            raise changed("cost")
        mates = far[one.row_match]
        rows, columns = (mates, near) if part.turned else (near, mates)
        row_match[rows], col_match[columns] = columns, rows
        of_near[near], of_far[far] = one.u, one.v
        if entries is not None:
            entries[rows] = one.entries
    return solution._replace(
        counters=add_counters(solution.counters, *(one.counters for one in found)), status=Status.PARTIAL,
        entries=None if entries is None else entries[row_match >= 0], exact=_exact_duals(costs, solution, parts, found),
    )  # fmt: skip


def _exact_duals(costs: Costs, solution: Solution, parts: list[Part], found: list[Solution]) -> ExactDuals | None:
    """Exact duals of all rows and columns, with the tiers of the parts; None if no part has any."""
    if not costs.overflows and all(one.exact is None for one in found):
        return None
    whole = ExactDuals((), solution.u.copy(), solution.v.copy())
    for part, one in zip(parts, found, strict=True):
        duals = one.exact or ExactDuals((), one.u, one.v)
        whole = _with_part(whole, duals.turned() if part.turned else duals, part)
    return whole


def _with_part(whole: ExactDuals, duals: ExactDuals, part: Part) -> ExactDuals:
    """The duals of all rows and columns, with the duals of a part in their places."""
    whole.u[part.rows], whole.v[part.columns] = duals.u, duals.v
    tiers = list(whole.tiers)
    for tier in duals.tiers:
        row_tiers, column_tiers = np.zeros_like(whole.u, np.int64), np.zeros_like(whole.v, np.int64)
        row_tiers[part.rows], column_tiers[part.columns] = tier.rows, tier.columns
        tiers.append(Tier(tier.value, row_tiers, column_tiers, part.number))
    return ExactDuals(tuple(tiers), whole.u, whole.v)
