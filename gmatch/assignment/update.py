"""`Assignment.update`: the cheapest assignment after rows and columns have changed, from the one before.

Vertices that stay keep their pairs and their duals, which are feasible for all pairs of two such vertices. A column
with new costs gets its largest feasible dual. Then each row without a pair takes one shortest path
(`csrc/serial/changed_rows.hpp`). If columns may stay free, a column that has lost its row must have a dual of 0 at the
end. That takes a shortest path, too, in the transposed matrix: each column may stay out there, at a price of 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .. import _native
from ..arrays import as_dense_array, as_matrix, device_of, to_host, truth_of
from ..backends.protocol import Assigned
from ..errors import InvalidInput
from ..foreign import as_sparse, is_frame, labels_of, library_of
from ..problems.dense import DenseCosts, lies_by_columns
from ..problems.limits import LARGE_ON_GPU, SPREADS, WAY_OUT_OF_NAN, blocks_of, minimised, without_nan
from ..problems.sparse import SparseCosts, is_sparse
from ..proof.verify import verify
from ..result import STEPS, Assignment, Status
from ..tensors import comes_back, in_its_library, with_arrays
from ..types import number_type, stored_as
from .lap import lap

MOST = _native.MOST_CHANGED
REASON = "a path for each row that has changed"
# Counters of a program that are added up.
ADDED = "phases", "levels", "dual_steps", "rows_scanned", "edges_inspected", "search_ns"


class _Side(NamedTuple):
    """The vertices of one side, by their present numbers: first the vertices that were kept, in order."""

    length: int
    kept: Any  # their former numbers
    changed: Any  # present numbers of vertices with new costs, increasing
    stays: Any  # booleans: whether a vertex has its former costs

    def now(self, former: Any, fill: int) -> Any:
        """The former values, for each vertex now; `fill` for new ones. Values of changed vertices mean nothing."""
        now = np.full(self.length, fill, former.dtype)
        now[: len(self.kept)] = former[self.kept]
        return now


class _State(NamedTuple):
    """A problem of at most as many rows as columns, and what is known of its solution."""

    matrix: Any
    maximize: bool
    limit: int | float | None  # of the minimisation form
    rows: _Side
    columns: _Side
    row_match: Any
    col_match: Any
    u: Any
    v: Any
    spare_rows: Any  # rows that stay, and were free
    spare_columns: Any

    def turned(self) -> _State:
        """The transposed problem."""
        return self._replace(
            matrix=self.matrix.T, rows=self.columns, columns=self.rows, row_match=self.col_match,
            col_match=self.row_match, u=self.v, v=self.u, spare_rows=self.spare_columns, spare_columns=self.spare_rows,
        )  # fmt: skip

    @property
    def columns_may_stay_free(self) -> bool:
        return self.limit is not None or self.rows.length < self.columns.length

    def values(self, rows: Any, columns: Any, cut: bool = True) -> Any:
        """What some pairs cost, in the minimisation form; cut off at the limit if `cut`."""
        limit = self.limit if cut else None
        return minimised(self.matrix[rows][:, columns], self.u.dtype.type, self.maximize, limit)


def updated(former: Assignment, cost: Any, numbers: tuple[Any, Any, Any, Any], forbid_nan: Any, certify: Any) -> Any:
    """As `Assignment.update`; `numbers` are of changed rows, changed columns, dropped rows, and dropped columns."""
    arrays: Any = with_arrays(former)
    solve = partial(_updated, former=arrays, numbers=numbers, forbid_nan=forbid_nan, certify=certify)
    return in_its_library(cost, solve) if comes_back(cost) else solve(cost)


def _updated(
    cost: Any, *, former: Assignment, numbers: tuple[Any, Any, Any, Any], forbid_nan: Any, certify: Any
) -> Assignment:
    _refuse_former(former)
    options: dict[str, Any] = {
        "maximize": former.maximize,
        "cost_limit": former.cost_limit,
        "forbid_nan": truth_of("forbid_nan", forbid_nan) or former.forbid_nan,
    }
    problem = _checked(cost, former, options)
    options = {} if isinstance(problem, DenseCosts | SparseCosts) else options
    rows, columns, drop_rows, drop_columns = numbers
    sides = (
        _side_of("row", rows, drop_rows, len(former.row_match), problem.shape[0]),
        _side_of("column", columns, drop_columns, len(former.col_match), problem.shape[1]),
    )
    result = None
    # No search starts from duals in parts, or without rows and columns.
    if former.exact is None and min(len(former.row_match), len(former.col_match), *problem.shape):
        if isinstance(problem, SparseCosts):
            result = _of_sparse(problem, former, sides)
        else:
            result = _of_dense(problem, former, sides, options.get("forbid_nan", False))
    if result is None:
        result = lap(problem, **options)
    if type(cost) is not np.ndarray and (is_frame(cost) or library_of(cost) == "xarray"):
        vars(result).update(zip(("row_nodes", "col_nodes"), labels_of(cost), strict=True))
    if truth_of("certify", certify):
        verify(problem, result)
    return result


def _refuse_former(former: Assignment) -> None:
    if former.status not in (Status.OPTIMAL, Status.LIMITED) or former.bound is not None:
        raise InvalidInput(
            "update goes on from an assignment that is optimal or limited; this one has status "
            f"{str(former.status)!r}; solve the new costs by gmatch.lap"
        )
    if device_of(former.row_match) != "cpu":
        raise InvalidInput("update works on the host; move assignment and costs there: assignment.moved(cupy.asnumpy)")


def _checked(cost: Any, former: Assignment, options: dict[str, Any]) -> Any:
    """The costs as an array, `DenseCosts` or `SparseCosts`, with the type and the options of the former assignment."""
    if isinstance(cost, DenseCosts | SparseCosts):
        if (cost.maximize, cost.cost_limit) != (former.maximize, former.cost_limit):
            raise InvalidInput(
                f"the assignment is for maximize={former.maximize} and cost_limit={former.cost_limit}; the costs are "
                f"for maximize={cost.maximize} and cost_limit={cost.cost_limit}; solve them by gmatch.lap"
            )
        problem: Any = cost
    elif is_sparse(matrix := as_sparse(cost)):
        problem = SparseCosts(matrix, **options)
    else:
        problem = as_matrix(cost)
    if (problem.device if isinstance(problem, DenseCosts | SparseCosts) else device_of(problem)) != "cpu":
        raise InvalidInput("update works on the host; move the costs there, or solve them by gmatch.lap")
    kind = number_type(problem.dtype).kind
    if len(former.pair_costs) and former.pair_costs.dtype.kind != kind:
        raise InvalidInput(
            f"cost must hold {'integers' if kind == 'f' else 'floats'}, as before; got {problem.dtype}; convert it, or "
            "solve it by gmatch.lap"
        )
    return problem


def _side_of(what: str, changed: Any, dropped: Any, former: int, now: int) -> _Side:
    kept = np.arange(former)
    gone = _numbers(f"drop_{what}s", dropped, former, "the assignment")
    if len(gone):
        is_kept = np.ones(former, np.bool_)
        is_kept[gone] = False
        kept = kept[is_kept]
    if now < len(kept):
        raise InvalidInput(
            f"cost must have at least the {len(kept)} {what}s that are kept; it has {now}; name dropped {what}s in "
            f"drop_{what}s, by their numbers in the assignment"
        )
    stays = np.ones(now, np.bool_)
    stays[len(kept) :] = False
    stays[_numbers(f"{what}s", changed, now, "cost")] = False
    return _Side(now, kept, (~stays).nonzero()[0], stays)


def _numbers(name: str, given: Any, length: int, of: str) -> Any:
    if isinstance(given, Iterable) and not hasattr(given, "dtype"):
        given = list(given)
    if isinstance(given, list) and not given:
        return np.zeros(0, np.int64)
    numbers = to_host(as_dense_array(given, name))
    if numbers.ndim != 1 or len(numbers) and numbers.dtype.kind not in "iu":
        raise InvalidInput(
            f"{name} must be a sequence of integers, numbers of {of}; got {numbers.dtype} of shape {numbers.shape}"
        )
    numbers = numbers.astype(np.int64)
    wrong = numbers[(numbers < 0) | (numbers >= length)]
    if len(wrong):
        raise InvalidInput(f"{name} must be numbers from 0 to {length - 1}, of {of}; got {int(wrong[0])}")
    return numbers


def _matches(former: Assignment, sides: tuple[_Side, _Side]) -> tuple[Any, Any]:
    """The pairs whose two vertices stay."""
    rows, columns = sides
    number_now = np.full(len(former.col_match) + 1, -1, np.int32)  # the last one is for -1
    stay = columns.stays[: len(columns.kept)].nonzero()[0]
    number_now[columns.kept[stay]] = stay
    row_match = number_now[rows.now(former.row_match, -1)]
    row_match[rows.changed] = -1
    col_match = np.full(columns.length, -1, np.int32)
    matched = (row_match >= 0).nonzero()[0]
    col_match[row_match[matched]] = matched
    # A user may have changed the arrays of the result: no column may have two rows.
    row_match[matched[col_match[row_match[matched]] != matched]] = -1
    return row_match, col_match


def _of_sparse(costs: SparseCosts, former: Assignment, sides: tuple[_Side, _Side]) -> Assignment | None:
    """As `_of_dense`, for sparse costs whose rows and columns are all matched."""
    if former.u.dtype != costs.dual_type or costs.shape[0] != costs.shape[1] or costs.cost_limit is not None:
        return None
    row_match, col_match = _matches(former, sides)
    rows, columns = sides
    u, v = rows.now(former.u, 0), columns.now(former.v, 0)
    if costs.transposed:
        rows, columns, row_match, u, v = columns, rows, col_match, v, u
    if costs.overflows or not _leave_room(costs, u, v):
        return None
    _price_columns(costs, rows, columns, u, v)
    if len(v) and not v.max() - v.min() <= costs.dual_spread():
        return None
    row_match = costs.stored_pairs(row_match)
    col_match, free = np.empty(len(v), np.int32), (row_match < 0).nonzero()[0].astype(np.int32)
    counters = dict(
        _native.match_changed_sparse(
            costs.indptr, costs.indices, costs.data, costs.maximize, free, row_match, col_match, u, v
        )
    )
    if counters.pop("size") < len(u):
        return None
    entries = costs.of_each_row(row_match)
    if _may_hide(
        minimised(entries, v.dtype.type, costs.maximize, None), (u, v), costs.data, costs.maximize,
        _largest_of(former.u, former.v),
    ):  # fmt: skip
        return None
    if costs.transposed:
        row_match, col_match, u, v, entries = col_match, row_match, v, u, costs.of_pairs(col_match, True)
    found = Assigned(row_match, col_match, u, v, counters)
    return _result(found, entries.astype(costs.dtype, copy=False), former, costs.forbid_nan)


def _leave_room(costs: SparseCosts, u: Any, v: Any) -> bool:
    """Whether sums of costs and duals fit into their type."""
    if u.dtype.kind == "f":
        return _are_finite(u, v)
    known = u, v, np.array([costs.lowest, costs.highest])
    return all(max(int(some.max(initial=0)), -int(some.min(initial=0))) < 2**61 for some in known)


def _price_columns(costs: SparseCosts, rows: _Side, columns: _Side, u: Any, v: Any) -> None:
    """Columns with new costs get the largest duals that are feasible beside rows that stay."""
    if not len(columns.changed):
        return
    row_of, column_of = costs.places()
    some = (rows.stays[row_of] & ~columns.stays[column_of]).nonzero()[0]
    least = np.full(columns.length, _far(v.dtype), v.dtype)
    np.minimum.at(least, column_of[some], costs.minimised()[some] - u[row_of[some]])
    v[columns.changed] = np.where(least < _far(v.dtype), least, 0)[columns.changed]


def _far(dtype: Any) -> int | float:
    return 2**62 if dtype.kind == "i" else np.inf


def _of_dense(problem: Any, former: Assignment, sides: tuple[_Side, _Side], forbid_nan: bool) -> Assignment | None:
    """The updated assignment; None if forbidden pairs leave no assignment, or if numbers are too large for this way."""
    if isinstance(problem, DenseCosts):
        matrix, has_nan = problem.matrix, problem.forbid_nan
    else:
        matrix, has_nan = without_nan(problem, former.maximize) if forbid_nan else (problem, False)
        _check_changed(matrix, sides, former.maximize)
    limit = -former.cost_limit if former.maximize and former.cost_limit is not None else former.cost_limit
    whole = number_type(matrix.dtype).kind == "i"
    if former.u.dtype.kind != ("i" if whole else "f") or whole and isinstance(limit, float):
        return None
    row_match, col_match = _matches(former, sides)
    rows, columns = sides
    state = _State(
        matrix, former.maximize, limit, rows, columns, row_match, col_match, rows.now(former.u, 0),
        columns.now(former.v, 0), rows.stays & (rows.now(former.row_match, 0) < 0),
        columns.stays & (columns.now(former.col_match, 0) < 0),
    )  # fmt: skip
    turned = rows.length > columns.length or rows.length == columns.length and lies_by_columns(matrix)
    if not _fits(state):
        return None
    state = _priced(state.turned() if turned else state)
    counters = _matched(state, _largest_of(former.u, former.v))
    if counters is None:
        return None
    state = state.turned() if turned else state
    pair_costs = _pair_entries(state).astype(number_type(matrix.dtype))
    return _result(Assigned(state.row_match, state.col_match, state.u, state.v, counters), pair_costs, former, has_nan)


def _check_changed(matrix: Any, sides: tuple[_Side, _Side], maximize: bool) -> None:
    """Raises `InvalidInput` for entries that are no costs."""
    if matrix.dtype.kind in "iu":
        return
    rows, columns = sides
    refused = np.inf if maximize else -np.inf
    for block, by_rows in ((matrix[rows.changed], True), (matrix[:, columns.changed], False)):
        wrong = (block != block) | (block == refused)
        if wrong.any():
            row, column = (int(places[0]) for places in wrong.nonzero())
            row, column = (rows.changed[row], column) if by_rows else (row, columns.changed[column])
            entry = matrix[row, column].item()
            way_out = WAY_OUT_OF_NAN if entry != entry else f" ({-refused:+} forbids a pair)"
            raise InvalidInput(f"cost must not hold {entry}; entry {(int(row), int(column))} does{way_out}")


def _priced(state: _State) -> _State:
    """The state with feasible duals for all columns and rows that stay; v is at most 0 if columns may stay free."""
    u, v, limit = state.u, state.v, state.limit
    stay, columns_stay = state.rows.stays, state.columns.stays
    if state.columns_may_stay_free:
        # Any amount may go from all v to all u. Free columns must have 0 then, and free rows the limit.
        if state.spare_columns.any():
            amount = v[state.spare_columns].max()
        elif limit is not None and state.spare_rows.any():
            amount = limit - u[state.spare_rows].max()
        else:
            amount = v[columns_stay].max() if columns_stay.any() else 0
        v = np.minimum(v - amount, 0)
        u = u + amount if limit is None else np.minimum(u + amount, limit)
    far = _far(v.dtype)
    if len(state.columns.changed):
        costs = state.values(stay.nonzero()[0], state.columns.changed)
        least = (costs - u[stay][:, None]).min(axis=0, initial=far)
        v[state.columns.changed] = np.where(least < far, least, 0)
        if state.columns_may_stay_free:
            v = np.minimum(v, 0)
    return state._replace(u=u, v=v)


def _fits(state: _State) -> bool:
    """Whether the known numbers are small enough for their sums."""
    every = slice(None)
    costs = state.values(state.rows.changed, every), state.values(every, state.columns.changed)
    if state.u.dtype.kind == "f":
        largest = max(float(abs(some[some < np.inf]).max(initial=0)) for some in costs)
        return _are_finite(state.u, state.v) and math.isfinite(largest * (4 * SPREADS + 16 * state.rows.length))
    # See csrc/serial/changed_rows.hpp.
    known = *costs, state.u, state.v, np.array([state.limit or 0])
    return all(max(int(some.max(initial=0)), -int(some.min(initial=0))) <= MOST for some in known)


def _matched(state: _State, before: float) -> dict[str, Any] | None:
    """Matches what must be matched; returns counters, or None if that cannot be. Duals were as large as `before`."""
    rows = state.row_match < 0 if state.limit is None else (state.row_match < 0) & ~state.spare_rows
    counters = _run(state, rows, state.limit)
    if counters is None or counters.pop("size") < state.rows.length and state.limit is None:
        return None
    if state.columns_may_stay_free:
        more = _run(state.turned(), (state.col_match < 0) & (state.v < 0), 0)
        if more is None:
            return None
        counters = counters | {name: counters[name] + more[name] for name in ADDED}
        np.minimum(state.v, 0, out=state.v)
    _free_pairs_above_limit(state)
    entries = _pair_entries(state)
    if len(entries) < state.rows.length and not _has_entry_above_limit(state):
        return None  # no pair is above the limit, and all possible pairs are made
    pair_costs = minimised(entries, state.u.dtype.type, state.maximize, None)
    return None if _may_hide(pair_costs, (state.u, state.v), state.matrix, state.maximize, before) else counters


def _run(state: _State, rows: Any, way_out: int | float | None) -> dict[str, Any] | None:
    numbers = rows.nonzero()[0].astype(np.int32)
    vectors, (bits, name) = (state.row_match, state.col_match, state.u, state.v), stored_as(state.matrix.dtype)
    try:
        return dict(
            _native.match_changed(
                state.matrix.view(bits), name, state.maximize, state.limit, way_out, numbers, *vectors
            )
        )
    except OverflowError:  # an entry whose size was not known before
        return None


def _free_pairs_above_limit(state: _State) -> None:
    """Frees pairs above the limit. They cost as much as two free vertices: their duals are the limit and 0."""
    if state.limit is None:
        return
    rows = (state.row_match >= 0).nonzero()[0]
    values = minimised(state.matrix[rows, state.row_match[rows]], state.u.dtype.type, state.maximize, None)
    above = rows[values > state.limit]
    state.col_match[state.row_match[above]] = -1
    state.row_match[above] = -1


def _has_entry_above_limit(state: _State) -> bool:
    """Whether a pair is above the limit. Mostly the first row has one."""
    for rows in (slice(1), *blocks_of(state.matrix.shape, "cpu")):
        if (state.values(rows, slice(None), False) > state.limit).any():
            return True
    return False


def _pair_entries(state: _State) -> Any:
    """The entries of the pairs, in the order of the rows."""
    rows = (state.row_match >= 0).nonzero()[0]
    return state.matrix[rows, state.row_match[rows]]


def _are_finite(*duals: Any) -> bool:
    return all(bool(np.isfinite(dual).all()) for dual in duals)


def _may_hide(pair_costs: Any, duals: tuple[Any, Any], entries: Any, maximize: bool, before: float) -> bool:
    """Whether rounding of the duals may hide costs, by the costs that are known; or duals are not finite.

    Kept duals may be larger than the sum of the present costs; duals of the solvers never are. Or they are small now,
    but were so large before that their rounding is large.
    """
    u, v = duals
    if u.dtype.kind == "i":
        return False
    if not _are_finite(u, v):
        return True
    largest, known, vertices = _largest_of(u, v), _largest_of(pair_costs), len(u) + len(v)
    if before > vertices * max(largest, known):
        return True
    if largest > vertices * known and largest > vertices * _largest_of(entries):
        return True
    # A look at all entries takes longer than an update. So only duals of 2**20 and more, which numbers that stand for
    # "not" leave, are a reason for it.
    lowest = -math.inf if largest >= LARGE_ON_GPU else 0
    within: float = _native.hiding_if_negative_within_of_pairs(pair_costs, u, v, lowest)
    if not 0 < within < math.inf:
        return within > 0
    below = entries if maximize else -entries
    return bool(((0 < below) & (below < within)).any())


def _largest_of(*some: Any) -> float:
    """The largest finite magnitude."""
    magnitudes = (abs(values.astype(np.float64)) for values in some)
    return max(float(values.max(initial=0, where=values < np.inf)) for values in magnitudes)


def _result(found: Assigned, pair_costs: Any, former: Assignment, has_nan: bool) -> Assignment:
    row_match, col_match, u, v, counters = found
    complete = len(pair_costs) == min(len(row_match), len(col_match))
    stats = {
        "method": "update",
        "initial": "given",
        "backend": "cpu",
        "seconds": {step: counters.pop(f"{step}_ns", 0) / 1e9 for step in STEPS},
        **counters,
        "team": "host",
        "threads": 1,
        "reason": REASON,
    }
    return Assignment(
        row_match, col_match, u, v, pair_costs, Status.OPTIMAL if complete else Status.LIMITED, former.maximize,
        former.cost_limit, stats=stats, forbid_nan=has_nan,
    )  # fmt: skip
