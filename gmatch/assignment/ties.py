"""`lap(deterministic=True)`: a rule names one of the cheapest assignments, whichever of them a solver found.

Optimal duals make exactly those pairs tight that a cheapest assignment may use. Every way to match all rows along tight
pairs is a cheapest assignment. So any other cheapest assignment differs from the one that was found by alternating
cycles of tight pairs. Without such a cycle there is no other one. Otherwise each row of the matrix as given takes the
first column that it may take, one row after the other. A row stays free only if it may take no column.

Duals of floats are rounded. So the exact optimum is found first, among the pairs that an exactly cheapest assignment
may use: see `exact.py`.

If columns may stay free, two of them may change places along a path. That path is a cycle through one more vertex.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _native
from ..arrays import namespace, to_host
from ..backends import cpu
from ..problems.dense import DenseCosts
from .exact import (
    choose_cheapest,
    cost_blocks,
    exact_differences,
    free_columns_are_free,
    lost_by_rounding,
    may_stay_free,
    take,
    tight_pairs,
)

if TYPE_CHECKING:
    from ..problems.sparse import SparseCosts
    from .programs import Solution

# Tight pairs are written as bits, not in lists, if they are more than a number and more than a share of the matrix.
MANY_PAIRS, LARGE_SHARE = 1 << 16, 1 / 8
# The number of bits in a word, and in a byte.
WORD, BYTE = 64, 8


def settle_ties(
    costs: DenseCosts | SparseCosts, solution: Solution, columns_first: bool, threads: int | None = 1
) -> int:
    """Changes the pairs of an optimal solution to the assignment that the rule names. The duals stay.

    `columns_first` says that the columns are the rows of the matrix as given. Ways out are columns behind all others,
    so a row takes its way out last. Returns how many rows had a choice.
    """
    if isinstance(costs, DenseCosts) and costs.device == "cpu":
        settled = cpu.settle_ties(costs, solution.vectors, solution.must_be_used, columns_first, threads)
        if settled is not None:
            return settled
    choice = tight_pairs(costs, solution, _most_to_list(costs))
    if choice is None and isinstance(costs, DenseCosts) and (bits := _bits_of_tight_pairs(costs, solution)) is not None:
        row_match = to_host(solution.row_match).copy()
        may_leave = to_host(may_stay_free(solution) & (solution.v == 0))
        with_choice: int = _native.take_first_of_bits(bits, may_leave, row_match, columns_first)
        take(costs, solution, row_match)
        return with_choice
    choice = choice or tight_pairs(costs, solution, math.inf)
    assert choice is not None, "without a bound all are listed"
    if not choice.exact and choice.drop_what_is_sure():  # rounded duals leave more pairs than tie
        choose_cheapest(choice, solution)
    with_choice = _native.take_first(choice.rows, choice.columns, choice.may_leave, choice.row_match, columns_first)
    take(costs, solution, choice.row_match)
    return with_choice


def _most_to_list(costs: DenseCosts | SparseCosts) -> float:
    return max(MANY_PAIRS, LARGE_SHARE * costs.array.size) if isinstance(costs, DenseCosts) else math.inf


def _bits_of_tight_pairs(costs: DenseCosts, solution: Solution) -> Any:
    """Tight pairs as bits of rows, in whole words, on the host; None if the duals are not exactly optimal."""
    row_match, u, v = solution.row_match, solution.u, solution.v
    xp = namespace(u)
    length, width = costs.array.shape
    num_bytes = -(-width // WORD) * WORD // BYTE
    reach = 8 * lost_by_rounding(costs, solution)
    bits = np.zeros((length, num_bytes), np.uint8)
    has_pair = xp.zeros(length, np.bool_)
    for entries, row_of, column_of in cost_blocks(costs):
        slack, lost = exact_differences(entries, u[row_of], v[column_of])
        if bool(((slack <= reach) & ((lost != 0) | (slack < 0))).any()):
            return None
        first, last = int(row_of[0, 0]), int(row_of[-1, 0]) + 1
        tight = xp.zeros((last - first, num_bytes * BYTE), np.bool_)
        tight[:, :width] = slack == 0
        has_pair[first:last] = tight[xp.arange(last - first), row_match[first:last]]
        lowest_last = tight.reshape(-1, BYTE)[:, ::-1]
        bits[first:last] = to_host(xp.packbits(lowest_last.ravel())).reshape(last - first, num_bytes)
    if not (bool(has_pair.all()) and free_columns_are_free(solution)):
        return None
    return bits.ravel().view(np.uint64)
