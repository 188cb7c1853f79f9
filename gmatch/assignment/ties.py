"""`lap(deterministic=True)`: of all cheapest assignments the one that a rule names, whichever of them a solver found.

The pairs that a cheapest assignment may use are those that optimal duals make tight, and every way to match all rows
along these is a cheapest assignment. So the others differ from the one that was found along alternating cycles of tight
pairs: where there is none, there is no other. Else every pair gets a mark, a pseudo-random number that depends on its
row and column alone, and `cheapest` finds the assignment whose marks have the least sum; should there be several,
another mark of each pair decides among them, and so on. That one is left soon is the isolating lemma of Mulmuley,
Vazirani and Vazirani, "Matching is as easy as matrix inversion", Combinatorica 7 (1987).

Floats have rounded duals, but their roundings bound the exact slack of all pairs that an exactly cheapest assignment
may use. Those are few. Their exact slacks are made integers, and `cheapest` finds the exact optimum, some tens of bits
at a time, before marks are looked at.

Where columns may stay free, a path between two of them that may change places is a cycle through one more vertex.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse

from .. import _native
from ..arrays import mover_to, namespace, row_of_each_entry, to_host
from ..backends import cpu
from ..backends.block_passes import HeldRows, passes_of
from ..errors import InvalidInput, changed
from ..problems.dense import DenseCosts
from ..problems.limits import SPREADS
from .programs import cheapest

if TYPE_CHECKING:
    from ..problems.sparse import SparseCosts
    from .programs import Solution

MARK_BITS = _native.MARK_BITS
# More pairs than these, and than this share of a matrix, are marked where they lie in it, not listed.
MANY_PAIRS, LARGE_SHARE = 1 << 16, 1 / 8
EPSILON = 2.0**-52


@dataclass
class Names:
    """What pairs are called in the matrix as given: the name of a pair is the sum of its row's and its column's.

    Columns beyond those with names are ways out (see `SparseCosts`): no pairs, and without marks. So it does not matter
    which side of a square matrix has them.
    """

    rows: Any
    columns: Any

    @classmethod
    def of(cls, shape: tuple[int, int], transposed: bool) -> Names:
        """For the matrix as the programs read it; `shape` is the shape of the matrix as given."""
        rows, columns = np.arange(shape[0], dtype=np.int64) * shape[1], np.arange(shape[1], dtype=np.int64)
        return cls(columns, rows) if transposed else cls(rows, columns)

    def part(self, rows: Any, columns: Any) -> Names:
        """For some rows and columns of that matrix, the fewer of which become rows."""
        sides = self.rows[to_host(rows)], self.columns[to_host(columns)]
        return Names(*(sides if len(rows) <= len(columns) else sides[::-1]))

    def marks(self, rows: Any, columns: Any, turn: int) -> Any:
        """Marks of pairs, of MARK_BITS bits, by SplitMix64 (Steele, Lea, Flood 2014)."""
        xp = namespace(rows)
        last = len(self.columns) - 1
        mixed = (xp.asarray(self.rows)[rows] + xp.asarray(self.columns)[xp.minimum(columns, last)]).astype(np.uint64)
        mixed += np.uint64((turn + 1) * 0x9E3779B97F4A7C15 % 2**64)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            mixed ^= mixed >> np.uint64(shift)
            mixed *= np.uint64(factor)
        mixed ^= mixed >> np.uint64(31)
        return xp.where(columns > last, 0, (mixed >> np.uint64(64 - MARK_BITS)).astype(np.int64))


@dataclass
class Choice:
    """Pairs, on the host, that hold all assignments there are to choose from; and the one chosen so far."""

    rows: Any
    columns: Any
    costs: Any  # of the pairs
    row_match: Any  # [rows of the matrix]
    may_leave: Any  # [columns of the matrix] which may stay free
    exact: bool  # whether all these assignments are cheapest ones

    def __post_init__(self) -> None:
        """Copies of the numbers, of the type that the extension reads."""
        self.rows, self.columns, self.row_match = (
            numbers.astype(np.int32) for numbers in (self.rows, self.columns, self.row_match)
        )

    def keep(self, which: Any) -> None:
        self.rows, self.columns, self.costs = self.rows[which], self.columns[which], self.costs[which]

    def drop_what_is_sure(self) -> bool:
        """Keeps the pairs on alternating cycles, and what their rows have now; whether there are any."""
        is_kept = np.empty(len(self.rows), np.bool_)
        found: bool = _native.find_choices(self.rows, self.columns, self.may_leave, self.row_match, is_kept)
        self.keep(is_kept)
        return found

    def decide_by_marks(self, names: Names, first_turn: int) -> int:
        """Finds the assignment that the rule names, where all cost the same; how many rows had a choice."""
        count: int = _native.decide_by_marks(
            self.rows, self.columns, self.may_leave, self.row_match, names.rows, names.columns, first_turn, MARK_BITS
        )
        if count < 0:
            raise InvalidInput(_too_many(len(np.unique(self.rows))))
        return count


def settle_ties(costs: DenseCosts | SparseCosts, solution: Solution, names: Names) -> int:
    """Makes an optimal solution the one that the rule names, its duals stay. How many rows had a choice.

    That is all rows, where too many pairs are tight to tell.
    """
    row_match, col_match, u, v = solution.row_match, solution.col_match, solution.u, solution.v
    if isinstance(costs, DenseCosts) and costs.device == "cpu" and costs.limit is None:
        if cpu.is_only_optimum(costs, row_match, col_match, u, v):
            return 0
    choice, first_turn = _tight_pairs(costs, row_match, u, v, _most_to_list(costs)), 0
    if choice is None and isinstance(costs, DenseCosts) and (marked := _marked(costs, row_match, u, v, names)):
        found, first_turn = cheapest(marked), 1
        choice = _tight_pairs(marked, found.row_match, found.u, found.v, math.inf)
    choice = choice or _tight_pairs(costs, row_match, u, v, math.inf)
    assert choice is not None, "without a bound all are listed"
    with_choice = len(row_match) if first_turn else 0
    if not choice.exact and choice.drop_what_is_sure():
        with_choice = len(np.unique(choice.rows))
        _find_exact_optimum(choice, u, v)
    with_choice = max(with_choice, choice.decide_by_marks(names, first_turn))
    chosen = mover_to(costs.device)(choice.row_match)
    col_match.fill(-1)
    row_match[:] = chosen
    col_match[chosen] = namespace(chosen).arange(len(chosen), dtype=np.int32)
    return with_choice


def _most_to_list(costs: DenseCosts | SparseCosts) -> float:
    return max(MANY_PAIRS, LARGE_SHARE * costs.array.size) if isinstance(costs, DenseCosts) else math.inf


def _tight_pairs(costs: DenseCosts | SparseCosts, row_match: Any, u: Any, v: Any, most_to_list: float) -> Choice | None:
    """The pairs that a cheapest assignment may use; None if they are too many."""
    lost = _lost_by_rounding(costs, row_match, u, v)
    reach = 8 * lost
    pairs = _pairs_within(costs, u, v, reach, most_to_list)
    # No pair of a cheapest assignment has more slack than this one has, and than its other pairs may lie below 0.
    while pairs is not None and lost + pairs[3] > reach:
        if costs.dual_type is np.int64:  # these duals are exact
            raise changed("cost")
        reach = 2 * (lost + pairs[3])
        pairs = _pairs_within(costs, u, v, reach, most_to_list)
    if pairs is None:
        return None
    rows, columns, values = map(to_host, pairs[:3])
    row_match, u, v = map(to_host, (row_match, u, v))
    may_leave = (-v <= reach) & (len(u) < len(v))
    choice = Choice(rows, columns, values, row_match, may_leave, False)
    slack, rounding = _differences(values, u[choice.rows], v[choice.columns])
    if not rounding.any() and _proves_optimum(choice, slack, v):
        choice.exact = True
        choice.keep(slack == 0)
        choice.may_leave &= v == 0
    return choice


def _lost_by_rounding(costs: DenseCosts | SparseCosts, row_match: Any, u: Any, v: Any) -> float:
    """What slacks of an assignment may sum up to, and slacks beside it be wrong by in all; 0 of integers."""
    if costs.dual_type is np.int64:
        return 0
    xp = namespace(u)
    lost = xp.abs((_costs_of_assignment(costs, row_match) - u) - v[row_match]).sum()
    if len(u) < len(v):
        lost += xp.abs(v[_free_columns(xp, row_match, len(v))]).sum() + xp.maximum(v, 0).sum()
    scale = float(max(xp.abs(u).max(), xp.abs(v).max()))
    return 1.001 * float(lost) + 8 * EPSILON * (len(u) + len(v)) * scale


def _free_columns(xp: Any, row_match: Any, length: int) -> Any:
    free = xp.ones(length, np.bool_)
    free[row_match] = False
    return free


def _pairs_within(
    costs: DenseCosts | SparseCosts, u: Any, v: Any, reach: float, most_to_list: float
) -> tuple[Any, Any, Any, float] | None:
    """Rows, columns and costs of the pairs whose slack is at most `reach`, and how far all slacks below 0 are below.

    None if they are too many.
    """
    if isinstance(costs, DenseCosts) and costs.device == "cpu":
        return _entries_within(costs, u, v, reach, most_to_list)
    xp = namespace(u)
    rows, columns, values, below, found = [], [], [], 0.0, 0
    for entries, row_of, column_of in _blocks(costs):
        slack = (entries - u[row_of]) - v[column_of]
        near = (slack <= reach).nonzero()
        found += len(near[0])
        if found > most_to_list:
            return None
        rows.append(xp.broadcast_to(row_of, slack.shape)[near])
        columns.append(xp.broadcast_to(column_of, slack.shape)[near])
        values.append(entries[near])
        below -= float(xp.minimum(slack[near], 0).sum())
    return xp.concatenate(rows), xp.concatenate(columns), xp.concatenate(values), below


def _entries_within(
    costs: DenseCosts, u: Any, v: Any, reach: float, most_to_list: float
) -> tuple[Any, Any, Any, float] | None:
    """The same of a matrix on the host: a pass finds them, and some more for its own rounding."""
    height, width = costs.array.shape
    passes = passes_of(costs.array, costs.dual_type, costs.maximize, costs.limit, 1)
    places, found, none_covered = [np.empty(0, np.int64)], 0, np.zeros(width, np.uint8)
    for some in costs.row_blocks():
        rows = np.arange(some.start, min(some.stop, height), dtype=np.int32)
        here = passes.entries_up_to(reach, HeldRows(rows, u, v, none_covered), False)
        found += len(here)
        if found > most_to_list:
            return None
        places.append(np.sort(here))
    rows, columns = divmod(np.concatenate(places), width)
    values = _minimised(costs, costs.array[rows, columns])
    slack = (values - u[rows]) - v[columns]
    near = slack <= reach
    return rows[near], columns[near], values[near], -float(np.minimum(slack[near], 0).sum())


def _blocks(costs: DenseCosts | SparseCosts) -> Iterator[tuple[Any, Any, Any]]:
    """Costs of the minimisation form, some at a time, with their rows and their columns."""
    if isinstance(costs, DenseCosts):
        xp = namespace(costs.array)
        row_of, column_of = (xp.arange(length) for length in costs.array.shape)
        for rows in costs.row_blocks():
            yield _minimised(costs, costs.array[rows]), row_of[rows, None], column_of[None]
    else:
        yield _minimised(costs, costs.data), row_of_each_entry(costs.indptr, costs.entries), costs.indices


def _minimised(costs: DenseCosts | SparseCosts, entries: Any) -> Any:
    values = entries.astype(costs.dual_type)
    if costs.maximize:
        values = -values
    return values if costs.limit is None else values.clip(None, costs.limit)


def _costs_of_assignment(costs: DenseCosts | SparseCosts, row_match: Any) -> Any:
    rows = namespace(row_match).arange(len(row_match))
    if isinstance(costs, DenseCosts):
        return _minimised(costs, costs.array[rows, row_match])
    row_of = row_of_each_entry(costs.indptr, costs.entries)
    return _minimised(costs, costs.data[row_match[row_of] == costs.indices])


def _differences(costs: Any, u: Any, v: Any) -> tuple[Any, Any]:
    """costs - u - v, and what that lost by rounding or some of it: 0 only if it lost nothing (Knuth's TwoSum)."""
    slack, lost = costs, 0
    for dual in (u, v):
        given, slack = slack, slack - dual
        if costs.dtype.kind == "f":
            with np.errstate(invalid="ignore"):  # of forbidden pairs, which have infinite slack
                back = slack - given
                lost = lost + abs((given - (slack - back)) - (dual + back))
    return slack, costs * 0 if costs.dtype.kind == "i" else lost


def _proves_optimum(choice: Choice, slack: Any, v: Any) -> bool:
    """Whether exact slacks and v prove that the assignment is a cheapest one."""
    matched = choice.row_match[choice.rows] == choice.columns
    if not ((slack >= 0).all() and (slack[matched] == 0).all()):
        return False
    if len(choice.row_match) == len(v):
        return True
    return _free_columns_are_free(np, choice.row_match, v)


def _free_columns_are_free(xp: Any, row_match: Any, v: Any) -> bool:
    return bool((v <= 0).all() and (v[_free_columns(xp, row_match, len(v))] == 0).all())


def _marked(costs: DenseCosts, row_match: Any, u: Any, v: Any, names: Names) -> DenseCosts | None:
    """Marks for costs, where pairs are tight, and no way elsewhere; None if the duals are not exactly optimal."""
    xp = namespace(u)
    length, width = costs.array.shape
    mark, square = 1 << MARK_BITS, length == width
    reward = xp.where((v == 0) | square, 0, 2 * mark * (length + 1))  # for a column that must not stay free
    reach = 8 * _lost_by_rounding(costs, row_match, u, v)
    array = xp.full((length, width), 4 * mark * (length + 1) ** 2, np.int64)
    for entries, row_of, column_of in _blocks(costs):
        slack, lost = _differences(entries, u[row_of], v[column_of])
        if bool(((slack <= reach) & ((lost != 0) | (slack < 0))).any()):
            return None
        tight = (slack == 0).nonzero()
        rows, columns = tight[0] + row_of[0, 0], tight[1]
        array[rows, columns] = names.marks(rows, columns, 0) - reward[columns]
    matched = array[xp.arange(length), row_match] <= mark
    proven = bool(matched.all()) and (square or _free_columns_are_free(xp, row_match, v))
    return DenseCosts(array) if proven else None


def _find_exact_optimum(choice: Choice, u: Any, v: Any) -> None:
    """Leaves the pairs that exactly cheapest assignments may use.

    An optimum for the highest bits of the slacks leaves slacks that are 0 except for their lowest bits, and bounds
    the slacks of the pairs that remain. So there is room for lower bits the next time.
    """
    u, v = to_host(u), to_host(v)
    costs, row_duals, column_duals = _as_integers(choice.costs, u, v)
    choice.costs = costs - row_duals[choice.rows] - column_duals[choice.columns]  # from here on: exact slacks
    leave_costs = -column_duals
    shift = None
    while shift != 0 and (shift is None or choice.drop_what_is_sure()):
        room = _room(choice)
        leaving = leave_costs[choice.columns[choice.may_leave[choice.columns]]]
        largest = max(abs(choice.costs).max(), abs(leaving).max(initial=0))
        before, shift = shift, max(0, largest.bit_length() - room)
        if before is not None and shift >= before:
            raise InvalidInput(_too_many(len(np.unique(choice.rows))))
        row_duals, column_duals, width = _improve(choice, choice.costs >> shift, leave_costs >> shift)
        choice.costs -= (row_duals[choice.rows] + column_duals[choice.columns]) << shift
        leave_costs -= column_duals << shift
        bound = width * ((1 << shift) - 1)
        choice.may_leave &= leave_costs <= bound
        choice.keep(choice.costs <= bound)


def _room(choice: Choice) -> int:
    """How many bits weights may have for `_improve`, so that no sum of them leaves 64 bits."""
    rows, columns = len(np.unique(choice.rows)), len(np.unique(choice.columns))
    taken = (SPREADS + 8 * rows).bit_length() + (0 if rows == columns else (rows + 1).bit_length() + 2)
    if 62 - taken < MARK_BITS:
        raise InvalidInput(_too_many(rows))
    return 62 - taken


def _too_many(rows: int) -> str:
    return (
        f"deterministic=True can decide ties among fewer rows only: {rows} of them tie here, and columns may stay "
        "free; leave it out, or make the costs differ"
    )


def _improve(choice: Choice, weights: Any, leave_costs: Any) -> tuple[Any, Any, int]:
    """Makes the assignment the one of least weight, with `leave_costs` for columns that stay free.

    Returns the duals of rows and of columns, by number. No weight is below the sum of its duals, and no leave cost is
    below the dual of its column. Also returns how many pairs are tight, and how many columns are free.
    """
    row_ids, rows = np.unique(choice.rows, return_inverse=True)
    column_ids, columns = np.unique(choice.columns, return_inverse=True)
    weights = weights.astype(np.int64)
    rewards = np.zeros(len(column_ids), np.int64)
    if len(row_ids) < len(column_ids):
        may_leave = choice.may_leave[column_ids]
        rewards[may_leave] = leave_costs[column_ids[may_leave]]
        most = int(max(abs(weights).max(), abs(rewards).max()))
        rewards[~may_leave] = 2 * (most + 1) * (len(row_ids) + 1)
    shape = len(row_ids), len(column_ids)
    found = cheapest(scipy.sparse.csr_array((weights - rewards[columns], (rows, columns)), shape=shape))
    choice.row_match[row_ids] = column_ids[found.row_match]
    row_duals, column_duals = np.zeros(len(choice.row_match), object), np.zeros(len(choice.may_leave), object)
    row_duals[row_ids] = found.u.astype(object)
    column_duals[column_ids] = (found.v + rewards).astype(object)
    return row_duals, column_duals, len(column_ids)


def _as_integers(*arrays: Any) -> list[Any]:
    """The same floats in a unit in which all are whole: arrays of Python's integers."""
    parts = [np.frexp(array) for array in arrays]
    wholes = [np.ldexp(mantissa, 53).astype(np.int64) for mantissa, _ in parts]
    lowest = [np.frexp((whole & -whole).astype(np.float64))[1] - 1 for whole in wholes]
    exponents = [exponent - 53 for _, exponent in parts]
    units = [(e + low)[whole != 0] for e, low, whole in zip(exponents, lowest, wholes, strict=True)]
    unit = min((int(some.min()) for some in units if len(some)), default=0)
    return [
        (whole.astype(object) << np.maximum(e - unit, 0).astype(object)) >> np.maximum(unit - e, 0).astype(object)
        for e, whole in zip(exponents, wholes, strict=True)
    ]
