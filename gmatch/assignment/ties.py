"""`lap(deterministic=True)`: a rule names one of the cheapest assignments, whichever of them a solver found.

Optimal duals make exactly those pairs tight that a cheapest assignment may use. Every way to match all rows along tight
pairs is a cheapest assignment. So any other cheapest assignment differs from the one that was found by alternating
cycles of tight pairs. Without such a cycle there is no other one. Otherwise every pair gets a mark, a pseudo-random
number that depends on its row and column alone, and `cheapest` finds the assignment whose marks have the least sum. If
several have that sum, a second mark of each pair decides among them, and so on. Few turns are enough: see the isolating
lemma of Mulmuley, Vazirani and Vazirani, "Matching is as easy as matrix inversion", Combinatorica 7 (1987).

Duals of floats are rounded. So the exact optimum is found first, among the pairs that an exactly cheapest assignment
may use: see `exact.py`.

If columns may stay free, two of them may change places along a path. That path is a cycle through one more vertex.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _native
from ..arrays import namespace, to_host
from ..backends import cpu
from ..backends.protocol import Vectors
from ..errors import InvalidInput
from ..problems.dense import DenseCosts
from .exact import (
    Choice,
    choose_cheapest,
    cost_blocks,
    exact_differences,
    free_columns_are_free,
    lost_by_rounding,
    may_stay_free,
    take,
    tight_pairs,
)
from .programs import cheapest

if TYPE_CHECKING:
    from ..problems.sparse import SparseCosts
    from ..result import Assignment
    from .programs import Solution

MARK_BITS = _native.MARK_BITS
# More tight pairs than both of these limits, a number and a share of the matrix, are marked in a matrix, not listed.
MANY_PAIRS, LARGE_SHARE = 1 << 16, 1 / 8


@dataclass
class Names:
    """Names of the pairs in the matrix as given. The name of a pair is the sum of its row's and its column's name.

    Columns without names are ways out (see `SparseCosts`): they make no pairs, and have no marks. So it does not matter
    which side of a square matrix has ways out.
    """

    rows: Any
    columns: Any

    @classmethod
    def of(cls, shape: tuple[int, int], transposed: bool) -> Names:
        """For the matrix as the programs read it; `shape` is the shape of the matrix as given."""
        rows, columns = np.arange(shape[0], dtype=np.int64) * shape[1], np.arange(shape[1], dtype=np.int64)
        return cls(columns, rows) if transposed else cls(rows, columns)

    def part(self, rows: Any, columns: Any, turned: bool) -> Names:
        """For some rows and columns of that matrix. They change places if `turned`."""
        sides = self.rows[to_host(rows)], self.columns[to_host(columns)]
        return Names(*(sides[::-1] if turned else sides))

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


def settle_ties(costs: DenseCosts | SparseCosts, solution: Solution, names: Names) -> int:
    """Changes the pairs of an optimal solution to the assignment that the rule names. The duals stay.

    Returns how many rows had a choice: all rows, if too many pairs are tight to tell.
    """
    if isinstance(costs, DenseCosts) and costs.device == "cpu":
        settled = cpu.settle_ties(costs, solution.vectors, solution.must_be_used, (names.rows, names.columns))
        if settled is not None:
            return settled
    choice, first_turn = tight_pairs(costs, solution, _most_to_list(costs)), 0
    if choice is None and isinstance(costs, DenseCosts) and (marked := _marked(costs, solution, names)):
        found, first_turn = cheapest(marked), 1
        of_marks = solution._replace(must_be_used=None, **of_vectors(found))
        choice = tight_pairs(marked, of_marks, math.inf)
    choice = choice or tight_pairs(costs, solution, math.inf)
    assert choice is not None, "without a bound all are listed"
    with_choice = len(solution.row_match) if first_turn else 0
    if not choice.exact and choice.drop_what_is_sure():  # rounded duals leave more pairs than tie
        choose_cheapest(choice, solution)
    with_choice = max(with_choice, _decide_by_marks(choice, names, first_turn))
    take(costs, solution, choice.row_match)
    return with_choice


def of_vectors(found: Solution | Assignment) -> dict[str, Any]:
    """Mates and duals of a solution, by name."""
    return {name: getattr(found, name) for name in Vectors._fields}


def _decide_by_marks(choice: Choice, names: Names, first_turn: int) -> int:
    """Finds the assignment that the rule names among equally cheap ones. Returns how many rows had a choice."""
    count: int = _native.decide_by_marks(
        choice.rows, choice.columns, choice.may_leave, choice.row_match, names.rows, names.columns, first_turn,
        MARK_BITS,
    )  # fmt: skip
    if count < 0:
        rows = len(np.unique(choice.rows))
        raise InvalidInput(
            f"deterministic=True can decide ties among fewer rows only: {rows} of them tie here, and columns may stay "
            "free; leave it out, or make the costs differ"
        )
    return count


def _most_to_list(costs: DenseCosts | SparseCosts) -> float:
    return max(MANY_PAIRS, LARGE_SHARE * costs.array.size) if isinstance(costs, DenseCosts) else math.inf


def _marked(costs: DenseCosts, solution: Solution, names: Names) -> DenseCosts | None:
    """Costs that are the marks of tight pairs, and forbid all others; None if the duals are not exactly optimal."""
    row_match, u, v = solution.row_match, solution.u, solution.v
    xp = namespace(u)
    length, width = costs.array.shape
    mark, square = 1 << MARK_BITS, length == width
    may_leave = may_stay_free(solution) & (v == 0)
    reward = xp.where(may_leave | square, 0, 2 * mark * (length + 1))  # for a column that must not stay free
    reach = 8 * lost_by_rounding(costs, solution)
    array = xp.full((length, width), 4 * mark * (length + 1) ** 2, np.int64)
    for entries, row_of, column_of in cost_blocks(costs):
        slack, lost = exact_differences(entries, u[row_of], v[column_of])
        if bool(((slack <= reach) & ((lost != 0) | (slack < 0))).any()):
            return None
        tight = (slack == 0).nonzero()
        rows, columns = tight[0] + row_of[0, 0], tight[1]
        array[rows, columns] = names.marks(rows, columns, 0) - reward[columns]
    matched = array[xp.arange(length), row_match] <= mark
    proven = bool(matched.all()) and free_columns_are_free(solution)
    return DenseCosts(array) if proven else None
