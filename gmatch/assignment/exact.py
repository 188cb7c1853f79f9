"""The exactly cheapest assignment of floats, from one that is the cheapest up to the rounding of its duals.

Floats have rounded duals, but their roundings bound the exact slack of all pairs that an exactly cheapest assignment
may use. Those are few, unless duals are far larger than costs. Their exact slacks are made integers, and `cheapest`
finds the exact optimum, some tens of bits at a time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse

from .. import _native
from ..arrays import Device, lower_at, mover_to, namespace, row_of_each_entry, to_host
from ..backends.block_passes import HeldRows, passes_of
from ..errors import InvalidInput, changed
from ..problems.dense import DenseCosts
from ..problems.limits import SPREADS, minimised
from ..problems.splits import ROOM
from .programs import cheapest
from .turns import Proven, difference, solve_in_turns

if TYPE_CHECKING:
    from ..problems.sparse import SparseCosts
    from .programs import Solution

EPSILON = 2.0**-52
LAST_DIGITS = 4 * EPSILON
# See `sum_of_pairs`.
GROWTH = 16


@dataclass
class Choice:
    """Pairs, on the host, that include all assignments to choose from; and the one chosen so far."""

    rows: Any
    columns: Any
    costs: Any  # of the pairs
    row_match: Any  # [rows of the matrix]
    may_leave: Any  # [columns of the matrix] which may stay free
    exact: bool  # whether all these assignments are cheapest ones

    def __post_init__(self) -> None:
        """Copies the numbers, in the type that the extension reads."""
        self.rows, self.columns, self.row_match = (
            numbers.astype(np.int32) for numbers in (self.rows, self.columns, self.row_match)
        )

    def keep(self, which: Any) -> None:
        self.rows, self.columns, self.costs = self.rows[which], self.columns[which], self.costs[which]

    def drop_what_is_sure(self) -> bool:
        """Keeps the pairs on alternating cycles, and the present pairs of their rows. Returns whether there are any."""
        is_kept = np.empty(len(self.rows), np.bool_)
        found: bool = _native.find_choices(self.rows, self.columns, self.may_leave, self.row_match, is_kept)
        self.keep(is_kept)
        return found


def find_exact_optimum(costs: DenseCosts | SparseCosts, solution: Solution, total: float) -> None:
    """Makes a solution the cheapest, and its duals the floats that are nearest to duals that prove it.

    Only pairs within reach of a cheapest assignment are read. If all columns are used, floats prove it up to the last
    digits of `total`, the sum that `is_proven` asks for: see `turns.py`. If that fails, the pairs become integers,
    whose bits span all magnitudes: O(pairs * bits) memory. If other pairs are within reach of the new duals, they join,
    and all of them are solved again.
    """
    is_square = len(solution.u) == len(solution.v)
    to_device, may_leave = mover_to(costs.device), to_host(may_stay_free(solution))
    listed: tuple[Any, ...] = (np.empty(0, np.int64),) * 3
    *more, reach = _listed(costs, solution)
    while len(more[0]):
        listed = tuple(map(np.append, listed, more))
        found = solve_in_turns(listed, solution.moved(to_host), LAST_DIGITS * total) if is_square else None
        found = found or _solve_in_integers(listed, solution, may_leave)
        solution.u[:], solution.v[:] = to_device(found.u), to_device(found.v)
        take(costs, solution, found.row_match)
        if found.moved < reach / 2:  # other pairs had more slack than the duals have moved
            return
        *now, reach = _listed(costs, solution)
        known, places = (rows.astype(np.int64) * len(may_leave) + columns for rows, columns, _ in (listed, now))
        more = [part[~np.isin(places, known)] for part in now]


def _solve_in_integers(listed: tuple[Any, Any, Any], solution: Solution, may_leave: Any) -> Proven:
    """The exactly cheapest assignment along the listed pairs."""
    choice = Choice(*listed, to_host(solution.row_match), may_leave, False)
    duals = _refine(choice, solution)
    is_free = np.bincount(listed[1], minlength=len(may_leave)) == 0
    v = np.where(is_free, 0, duals.floats(duals.columns))
    return Proven(choice.row_match, duals.floats(duals.rows), v, math.inf)


def _listed(costs: DenseCosts | SparseCosts, solution: Solution) -> tuple[Any, ...]:
    """Rows, columns and costs of the pairs within reach, on the host; and a bound of their slack."""
    pairs = _pairs_in_reach(costs, solution, math.inf)
    assert pairs is not None, "there is no bound of their number"
    allowed = pairs[2] < math.inf  # the reach may be infinite
    return *(to_host(part[allowed]) for part in pairs[:3]), pairs[3]


def is_proven(costs: DenseCosts | SparseCosts, solution: Solution, entries: Any = None) -> bool:
    """Whether v proves the pairs cheapest, up to the last digits of the sum of their costs.

    `entries` are all costs. They are given if `costs` forbid pairs that are known to be of no use.
    """
    return _gap_of(costs, solution) <= LAST_DIGITS * sum_of_pairs(costs, solution, entries)


def sum_of_pairs(costs: DenseCosts | SparseCosts, solution: Solution, entries: Any = None) -> float:
    """What the pairs cost in sum, without their signs and without numbers that stand for "not".

    A number stands for "not" if it is in more than one entry, and leaves room for all pairs that cost less. So does
    each larger number, if it is in more than one entry.
    """
    pair_costs = abs(costs_of_assignment(costs, solution.row_match))
    numbers = np.unique(to_host(pair_costs))[::-1]
    has_gap = numbers[:-1] > ROOM * (len(pair_costs) + 1) * numbers[1:]
    candidates, begin = int(has_gap.nonzero()[0].max(initial=-1)) + 1, 0  # down to the last gap
    least_for_not = math.inf
    # A pass counts GROWTH times as many numbers as the passes before it: the first number that stands once ends this.
    while begin < candidates:
        end = min(candidates, GROWTH * begin + 1)
        blocks = (block for block, _, _ in cost_blocks(costs)) if entries is None else (entries,)
        is_repeated = _times_found(blocks, numbers[begin:end], costs.device) > 1
        repeated = end - begin if bool(is_repeated.all()) else int(is_repeated.argmin())
        gaps = has_gap[begin : begin + repeated].nonzero()[0]
        if len(gaps):
            least_for_not = float(numbers[begin + gaps[-1]])
        begin = end if repeated == end - begin else candidates
    return float(pair_costs[pair_costs < least_for_not].sum())


def _times_found(blocks: Iterable[Any], numbers: Any, device: Device) -> Any:
    """In how many entries each of some magnitudes stands. They fall."""
    found = np.zeros(len(numbers), np.int64)
    rising = mover_to(device)(numbers[::-1].copy())
    for entries in blocks:
        xp, magnitudes = namespace(entries), abs(entries)
        magnitudes = magnitudes[(magnitudes >= numbers[-1]) & (magnitudes <= numbers[0])]
        places = xp.searchsorted(rising, magnitudes)
        found += to_host(xp.bincount(places[rising[places] == magnitudes], minlength=len(numbers)))[::-1]
    return found


def _gap_of(costs: DenseCosts | SparseCosts, solution: Solution) -> float:
    """How much more the pairs cost than v proves, plus the rounding by its size. O(entries) work; u is not read."""
    xp, v = namespace(solution.v), solution.v
    rests, lost = difference(costs_of_assignment(costs, solution.row_match), v[solution.row_match])
    below = xp.zeros(len(rests))
    for entries, row_of, column_of in cost_blocks(costs):
        reduced, more_lost = difference(entries, v[column_of])
        over = (rests[row_of] - reduced) + (lost[row_of] - more_lost)
        over = xp.where(entries == math.inf, 0, over)
        if over.ndim == 2:
            below[row_of[:, 0]] = -over.max(axis=1)
        else:
            lower_at(below, row_of, -over)
    free_or_not = 0.0
    if len(below) < len(v):
        free_or_not = abs(v[_free_columns(solution)]).sum() + xp.maximum(v[may_stay_free(solution)], 0).sum()
    return float(free_or_not - below.sum())


def take(costs: DenseCosts | SparseCosts, solution: Solution, row_match: Any) -> None:
    """Writes pairs, which are on the host, to the solution."""
    chosen = mover_to(costs.device)(row_match)
    solution.col_match.fill(-1)
    solution.row_match[:] = chosen
    solution.col_match[chosen] = namespace(chosen).arange(len(chosen), dtype=np.int32)


def tight_pairs(costs: DenseCosts | SparseCosts, solution: Solution, most_to_list: float) -> Choice | None:
    """The pairs that a cheapest assignment may use; None if they are too many."""
    pairs = _pairs_in_reach(costs, solution, most_to_list)
    if pairs is None:
        return None
    found = *pairs[:3], solution.row_match, solution.u, solution.v, may_stay_free(solution)
    rows, columns, values, row_match, u, v, free = found if costs.device == "cpu" else map(to_host, found)
    reach = pairs[3]
    choice = Choice(rows, columns, values, row_match, free & (-v <= reach), False)
    slack, rounding = exact_differences(values, u[choice.rows], v[choice.columns])
    if not rounding.any() and _proves_optimum(choice, slack) and free_columns_are_free(solution):
        choice.exact = True
        choice.keep(slack == 0)
        choice.may_leave &= v == 0
    return choice


def may_stay_free(solution: Solution) -> Any:
    """Which columns may stay free, by all facts except v."""
    may = namespace(solution.v).full(len(solution.v), len(solution.u) < len(solution.v), np.bool_)
    return may if solution.must_be_used is None else may & ~solution.must_be_used


def _free_columns(solution: Solution) -> Any:
    free = namespace(solution.v).ones(len(solution.v), np.bool_)
    free[solution.row_match] = False
    return free


def lost_by_rounding(costs: DenseCosts | SparseCosts, solution: Solution) -> float:
    """A bound of the sum of the slacks of an assignment, plus the error of all other slacks; 0 for integers."""
    if costs.dual_type is np.int64:
        return 0
    row_match, u, v = solution.row_match, solution.u, solution.v
    xp = namespace(u)
    lost = xp.abs((costs_of_assignment(costs, row_match) - u) - v[row_match]).sum()
    if len(u) < len(v):
        lost += xp.abs(v[_free_columns(solution)]).sum() + xp.maximum(v[may_stay_free(solution)], 0).sum()
    scale = float(max(xp.abs(u).max(), xp.abs(v).max()))
    return 1.001 * float(lost) + 8 * EPSILON * (len(u) + len(v)) * scale


def _pairs_in_reach(
    costs: DenseCosts | SparseCosts, solution: Solution, most_to_list: float
) -> tuple[Any, Any, Any, float] | None:
    """Rows, columns and costs of the pairs that a cheapest assignment may use, and the slack that they have at most.

    None if they are too many.
    """
    lost = lost_by_rounding(costs, solution)
    reach = 8 * lost
    # A pair of a cheapest assignment has at most the slack of this assignment plus what all slacks may lie below 0.
    while True:
        pairs = _pairs_within(costs, solution.u, solution.v, reach, most_to_list)
        if pairs is None:
            return None
        needed = lost + pairs[3]
        if not needed > reach:
            return *pairs[:3], reach
        if costs.dual_type is np.int64:  # these duals are exact
            raise changed("cost")
        reach = 2 * needed


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
    for entries, row_of, column_of in cost_blocks(costs):
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
    """The entries within reach in a matrix on the host, and a few more because a pass rounds."""
    height, width = costs.array.shape
    passes = passes_of(costs.array, costs.dual_type, costs.maximize, costs.limit, 1)
    places, found = [np.empty(0, np.int64)], 0
    for some in costs.row_blocks():
        rows = np.arange(some.start, min(some.stop, height), dtype=np.int32)
        room = int(min(len(rows) * width, most_to_list - found + 1))
        here = passes.entries_up_to(reach, HeldRows(rows, u, v), room)
        found += here.number
        if found > most_to_list:
            return None
        places.append(np.sort(here.places))
    rows, columns = divmod(np.concatenate(places), width)
    values = _minimised(costs, costs.array[rows, columns])
    slack = (values - u[rows]) - v[columns]
    near = slack <= reach
    return rows[near], columns[near], values[near], -float(np.minimum(slack[near], 0).sum())


def cost_blocks(costs: DenseCosts | SparseCosts) -> Iterator[tuple[Any, Any, Any]]:
    """Costs of the minimisation form, some at a time, with their rows and their columns."""
    if isinstance(costs, DenseCosts):
        xp = namespace(costs.array)
        row_of, column_of = (xp.arange(length) for length in costs.array.shape)
        for rows in costs.row_blocks():
            yield _minimised(costs, costs.array[rows]), row_of[rows, None], column_of[None]
    else:
        yield _minimised(costs, costs.data), row_of_each_entry(costs.indptr, costs.entries), costs.indices


def _minimised(costs: DenseCosts | SparseCosts, entries: Any) -> Any:
    return minimised(entries, costs.dual_type, costs.maximize, costs.limit)


def costs_of_assignment(costs: DenseCosts | SparseCosts, row_match: Any) -> Any:
    rows = namespace(row_match).arange(len(row_match))
    if isinstance(costs, DenseCosts):
        return _minimised(costs, costs.array[rows, row_match])
    row_of = row_of_each_entry(costs.indptr, costs.entries)
    return _minimised(costs, costs.data[row_match[row_of] == costs.indices])


def exact_differences(costs: Any, u: Any, v: Any) -> tuple[Any, Any]:
    """costs - u - v, and its rounding error or a part of it: 0 only if there is none (Knuth's TwoSum)."""
    slack, lost = costs, 0
    for dual in (u, v):
        if costs.dtype.kind == "f":
            slack, lost_here = difference(slack, dual)
            lost = lost + abs(lost_here)
        else:
            slack = slack - dual
    return slack, costs * 0 if costs.dtype.kind == "i" else lost


def _proves_optimum(choice: Choice, slack: Any) -> bool:
    """Whether exact slacks prove that no assignment of the same columns is cheaper."""
    matched = choice.row_match[choice.rows] == choice.columns
    return bool((slack >= 0).all() and (slack[matched] == 0).all())


def free_columns_are_free(solution: Solution) -> bool:
    """Whether v proves that no assignment of other columns is cheaper."""
    if len(solution.u) == len(solution.v):
        return True
    v = solution.v
    return bool((v[may_stay_free(solution)] <= 0).all() and (v[_free_columns(solution)] == 0).all())


def choose_cheapest(choice: Choice, solution: Solution) -> None:
    """Leaves the pairs that exactly cheapest assignments may use."""
    duals = _refine(choice, solution)
    choice.may_leave &= duals.columns == 0
    choice.keep(choice.costs == 0)


class _ExactDuals(NamedTuple):
    """Duals as Python's integers, in a unit of 2**exponent."""

    rows: Any
    columns: Any
    exponent: int

    def floats(self, duals: Any) -> Any:
        """The nearest floats."""
        unit = Fraction(2) ** self.exponent
        try:
            return np.array([float(dual * unit) for dual in duals.tolist()])
        except OverflowError as error:  # the costs have changed: inspected costs have sums within the range of floats
            raise changed("cost") from error


def _refine(choice: Choice, solution: Solution) -> _ExactDuals:
    """Makes the assignment the cheapest, and the costs of the pairs their exact slacks, by duals that prove it.

    The violations of the duals bound what another assignment can save. A pair with more slack than this bound is of no
    use. So weights of some tens of bits, the highest bits of the slacks that matter, find the best assignment as far as
    these bits go. Its duals in these bits are exact. Added to the duals they leave violations in lower bits only, which
    are the weights of the next turn. There is a turn for some tens of bits between the largest and the least cost, and
    none for bits that are all 0.
    """
    (costs, u, v), exponent = _as_integers(choice.costs, to_host(solution.u), to_host(solution.v))
    problem = _Numbered(choice)
    choice.costs = costs - u[choice.rows] - v[choice.columns]
    leave_costs = -v
    before = None
    while wrong := problem.is_wrong_by(choice, leave_costs):
        shift = max(0, wrong.bit_length() + 4 - problem.room)
        if before is not None and shift >= before:
            raise changed("cost")
        before = shift
        row_duals, column_duals = problem.improve(choice, leave_costs, shift, 4 * (wrong >> shift) + problem.rounding)
        row_duals, column_duals = row_duals << shift, column_duals << shift
        choice.costs -= row_duals[choice.rows] + column_duals[choice.columns]
        leave_costs -= column_duals
        u += row_duals
    if problem.uses_all_columns and choice.may_leave.any():  # v of columns that may leave must be at most 0
        most = max(0, (-leave_costs)[problem.columns].max())
        leave_costs[problem.columns] += most
        u[problem.rows] += most
    return _ExactDuals(u, -leave_costs, exponent)


class _Numbered:
    """The rows and the columns of the pairs, with new numbers."""

    def __init__(self, choice: Choice) -> None:
        self.rows, self.row_of = np.unique(choice.rows, return_inverse=True)
        self.columns, self.column_of = np.unique(choice.columns, return_inverse=True)
        self.shape = rows, columns = len(self.rows), len(self.columns)
        self.uses_all_columns = rows == columns
        self.may_leave = choice.may_leave[self.columns] & (not self.uses_all_columns)
        # How much rounding down may change sums of weights; and the bits of weights, so that sums stay within 64 bits.
        self.rounding = 4 * (rows + columns + 1)
        taken = (SPREADS + 8 * rows).bit_length() + (0 if self.uses_all_columns else (rows + 1).bit_length() + 2)
        self.room = 62 - taken
        if self.room < self.rounding.bit_length() + 2:
            raise InvalidInput(
                f"float64 rounds away which assignment is cheapest, and this can be told among fewer rows only: {rows} "
                "of them have a choice here; use costs of fewer magnitudes"
            )

    def is_wrong_by(self, choice: Choice, leave_costs: Any) -> int:
        """A bound on the violations: slacks below 0, and slacks of matched pairs and of free columns above 0."""
        matched = choice.row_match[choice.rows] == choice.columns
        leaving = leave_costs[self.columns[self.may_leave]]
        is_free = ~np.isin(self.columns[self.may_leave], choice.row_match)
        below = -min(0, choice.costs.min()) * self.shape[0] - min(0, leaving.min(initial=0)) * self.shape[1]
        return int(abs(choice.costs[matched]).sum() + abs(leaving[is_free]).sum() + below)

    def improve(self, choice: Choice, leave_costs: Any, shift: int, most: int) -> tuple[Any, Any]:
        """Makes the assignment the cheapest by the bits of slacks from `shift` on, for slacks below `most`.

        Returns the duals of rows and of columns, by number: no slack is below their sum, and no leave cost is below
        the dual of its column.
        """
        weights = np.minimum(choice.costs >> shift, most).astype(np.int64)
        rewards = np.zeros(self.shape[1], np.int64)
        if not self.uses_all_columns:
            rewards[:] = 2 * (most + 1) * (self.shape[0] + 1)
            leaving = leave_costs[self.columns[self.may_leave]]
            rewards[self.may_leave] = np.minimum(leaving >> shift, most).astype(np.int64)
        pairs = (weights - rewards[self.column_of], (self.row_of, self.column_of))
        found = cheapest(scipy.sparse.csr_array(pairs, shape=self.shape))
        choice.row_match[self.rows] = self.columns[found.row_match]
        row_duals, column_duals = np.zeros(len(choice.row_match), object), np.zeros(len(choice.may_leave), object)
        row_duals[self.rows] = found.u.astype(object)
        column_duals[self.columns] = (found.v + rewards).astype(object)
        return row_duals, column_duals


def _as_integers(*arrays: Any) -> tuple[list[Any], int]:
    """The floats as multiples of a power of two: arrays of Python's integers, and the exponent of that power."""
    parts = [np.frexp(array) for array in arrays]
    wholes = [np.ldexp(mantissa, 53).astype(np.int64) for mantissa, _ in parts]
    lowest = [np.frexp((whole & -whole).astype(np.float64))[1] - 1 for whole in wholes]
    exponents = [exponent - 53 for _, exponent in parts]
    units = [(e + low)[whole != 0] for e, low, whole in zip(exponents, lowest, wholes, strict=True)]
    unit = min((int(some.min()) for some in units if len(some)), default=0)
    integers = [
        (whole.astype(object) << np.maximum(e - unit, 0).astype(object)) >> np.maximum(unit - e, 0).astype(object)
        for e, whole in zip(exponents, wholes, strict=True)
    ]
    return integers, unit
