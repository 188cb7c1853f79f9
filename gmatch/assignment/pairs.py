"""The best matching of exactly k pairs, as an assignment: all other rows and columns get mates of their own."""

from __future__ import annotations

import operator
from typing import Any, Unpack

import numpy as np
import scipy.sparse

from ..arrays import mover_to
from ..cardinality.matching import max_matching
from ..errors import Infeasible, InvalidInput
from ..problems.dense import DenseCosts
from ..problems.sparse import SparseCosts
from ..proof.verify import verify
from ..result import Assignment, Status
from .plan import plan_of
from .request import Options, SolverOptions
from .solve import solve

# The largest cost and the largest duals of both sides must add up to less. Reductions and their proofs make sums of at
# most five such numbers, and proofs allow half of the range of int64.
LARGEST_SUM = 2**59

_Arrays = tuple[Any, Any, Any]


def of_pairs(costs: DenseCosts | SparseCosts, pairs: int, **options: Unpack[SolverOptions]) -> Assignment:
    """The cheapest matching of `pairs` pairs, or the most expensive if the costs maximize. All work is on the host."""
    number = _number(pairs, costs)
    if others := options.keys() - SolverOptions.__annotations__.keys():
        raise TypeError(f"max_weight_matching(..., pairs=...) takes no {', '.join(sorted(others))}")
    certify = options.pop("certify", False)
    if options.pop("initial", None) is not None or options.pop("duals", None) is not None:
        raise InvalidInput("pairs=... starts from nothing given; leave initial and duals out")
    if costs.cost_limit is not None:
        raise InvalidInput("pairs=... makes pairs whatever they cost; give costs without a cost_limit")
    here = costs.widened().on("cpu")
    rows, columns, entries = _allowed_pairs(here)
    extended = SparseCosts(_extended((rows, columns, entries), costs.shape, number), maximize=costs.maximize)
    try:
        whole = solve(extended, plan_of(extended, Options(**options).checked(extended)))
    except Infeasible:
        raise _too_many(costs, rows, columns, number) from None
    result = _result(here, whole).moved(mover_to(costs.device))
    if certify:
        verify(costs, result)
    return result


def _number(pairs: Any, costs: DenseCosts | SparseCosts) -> int:
    try:
        number = operator.index(pairs)
    except TypeError:
        raise InvalidInput(f"pairs must be an integer; got {pairs!r}") from None
    if isinstance(pairs, bool) or not 0 <= number <= min(costs.shape):
        raise InvalidInput(
            f"pairs must be from 0 to {min(costs.shape)}, for there are {costs.shape[0]} rows and {costs.shape[1]} "
            f"columns; got {pairs!r}"
        )
    return number


def _allowed_pairs(costs: DenseCosts | SparseCosts) -> _Arrays:
    """Rows, columns and entries of the matrix as given."""
    if isinstance(costs, DenseCosts):
        rows, columns = costs.is_allowed(costs.matrix).nonzero()
        return rows, columns, costs.matrix[rows, columns]
    rows, columns, values = costs.triples()
    allowed = values < np.inf
    return rows[allowed], columns[allowed], costs.data[allowed]


def _extended(triple: _Arrays, shape: tuple[int, int], number: int) -> Any:
    """Costs with one more column for each row that stays free, and one more row for each column that stays free.

    They cost nothing, and an added row does not go with an added column. So an assignment has `number` pairs of the
    matrix as given.
    """
    (rows, columns), (more_rows, more_columns) = shape, (shape[1] - number, shape[0] - number)
    ways = [
        np.indices((rows, more_columns)).reshape(2, -1) + [[0], [columns]],
        np.indices((more_rows, columns)).reshape(2, -1) + [[rows], [0]],
    ]
    row_of, column_of = (np.concatenate([triple[side], *(way[side] for way in ways)]) for side in range(2))
    entries = np.zeros(len(row_of), triple[2].dtype)
    entries[: len(triple[2])] = triple[2]
    whole_shape = rows + more_rows, columns + more_columns
    return scipy.sparse.coo_array((entries, (row_of, column_of)), shape=whole_shape).tocsr()


def _result(costs: DenseCosts | SparseCosts, whole: Assignment) -> Assignment:
    """The part of the assignment that lies in the matrix as given, with its duals.

    All added columns have one dual, which is added to the duals of the rows. All added rows have one dual, which is
    added to the duals of the columns. The duals of free vertices become 0 by that, and no dual is above 0.
    """
    refuse_large(costs, whole)
    rows, columns = costs.shape
    row_match, col_match = whole.row_match[:rows].copy(), whole.col_match[:columns].copy()
    row_match[row_match >= columns] = -1
    col_match[col_match >= rows] = -1
    u, v = whole.u[:rows], whole.v[:columns]
    of_columns = _least(whole.v[columns:], -u)
    of_rows = _least(whole.u[rows:], -v)
    u, v = u + of_columns, v + of_rows
    return Assignment(
        row_match, col_match, u, v, costs.of_pairs(row_match, False), Status.PAIRS, costs.maximize, None, None,
        whole.stats, None, costs.forbid_nan, costs.row_nodes, costs.col_nodes, (-(of_columns + of_rows)).item(),
    )  # fmt: skip


def refuse_large(costs: DenseCosts | SparseCosts, whole: Assignment) -> None:
    """Raises `InvalidInput` if sums of integer costs and of duals of an assignment of them could overflow int64.

    Floats always pass: their duals are rounded to float64.
    """
    if costs.dual_type is not np.int64:
        return
    duals = [max(-int(dual.min()), int(dual.max())) for dual in (whole.u, whole.v) if len(dual)]
    if whole.exact is not None or max(-costs.lowest, costs.highest) + sum(duals) >= LARGEST_SUM:
        raise InvalidInput(
            "sums of these costs could overflow int64; subtract one number from all costs, or divide them by a common "
            "factor; if a big number forbids pairs, leave these out of a sparse matrix instead"
        )


def _least(added: Any, otherwise: Any) -> Any:
    """The least dual of the added vertices; `otherwise` if none were added."""
    return added.min() if len(added) else otherwise.min() if len(otherwise) else otherwise.dtype.type(0)


def _too_many(costs: DenseCosts | SparseCosts, rows: Any, columns: Any, number: int) -> Infeasible:
    ones = np.ones(len(rows), np.int8)
    graph = scipy.sparse.coo_array((ones, (rows, columns)), shape=costs.shape).tocsr()
    cover = max_matching(graph).vertex_cover()
    size = len(cover[0]) + len(cover[1])
    back = mover_to(costs.device)
    return Infeasible(
        f"{size} pairs can be made, not {number}: the error's {len(cover[0])} rows and {len(cover[1])} columns cover "
        "all allowed pairs; ask for fewer pairs",
        *map(back, cover),
    )
