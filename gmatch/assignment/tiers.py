"""Costs of several magnitudes, such as a big number that stands for "not" among ordinary costs, solved exactly.

If a few rows must use the big number, duals are as large as it, and rounding hides the ordinary costs in them. So each
cost is split into a whole multiple of the big number, its *tier*, and an exact rest:

    cost = value * tier + rest,    with value > 32 * (rows + 1) * |rest| for all pairs.

No sum of rests outweighs one tier more. So the cheapest assignment has the least rest of all assignments of the least
tier. `lap` first finds the least tier, in integers. The duals of that problem say exactly which pairs an assignment of
the least tier may use. Then `lap` finds the least rest along these pairs. Rests may be split again. Duals are kept in
the same parts, so that rounding loses none of them, and they prove the whole answer.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .. import _native
from ..arrays import mover_to, namespace, to_host
from ..backends import cpu
from ..backends.protocol import Vectors, add_counters
from ..errors import InvalidInput, changed
from ..methods import JV
from ..problems.dense import DenseCosts
from ..problems.limits import FEW, LARGE_ON_GPU
from ..problems.sparse import SparseCosts
from ..problems.splits import ROOM, Split, fit, never_used, split_values
from ..result import ExactDuals, Tier
from .exact import costs_of_assignment, find_exact_optimum, is_proven, sum_of_pairs
from .plan import Costs, Plan
from .programs import Solution, duals_hide_costs, run

# The reward for a column that must be used: 8 times the largest rest at first, and 16 times more each time that such a
# column stays free.
REWARD, MORE_REWARD = 8, 16


ON_HOST = 'few pairs beside a number for "not" that must be used: the host solves their sparse problem'

# A problem that has the cheapest assignments of the costs, its solution, and a solution of the costs with equal pairs.
Solved = tuple[Costs, Solution, Solution]


def solve_by_tiers(costs: Costs, plan: Plan) -> Solved | None:
    """The cheapest assignment of costs that `core` or sums of costs have no room for; None if they do not split.

    If forbidden pairs leave no assignment, rows stay free.
    """
    are_floats = costs.overflows and costs.device == "cpu" and costs.dual_type is np.float64
    if are_floats and isinstance(costs, DenseCosts) and isinstance(plan.method, JV):
        found = _solved_on_host(costs, plan)
        if found is not None:
            return found
    split = _split_of(costs)
    if split is not None:
        return _solve_by_tiers(costs, split, plan)
    if costs.overflows:  # costs that overflow and do not split were refused before
        raise changed("cost")
    return None


def mended(costs: Costs, solution: Solution, plan: Plan) -> Solved:
    """The cheapest assignment, if duals of a solution hide what pairs cost."""
    if costs.device == "cpu" and isinstance(costs, DenseCosts):
        found, unproven_sum = _mended_on_host(costs, solution, plan)
        if found is not None:
            return found
        if unproven_sum is not None:
            find_exact_optimum(costs, solution, unproven_sum)
            solution = solution._replace(entries=None)  # the pairs may be others now
            return costs, solution, solution
    solved = solve_few_pairs(costs, plan, solution) if costs.device == "gpu" else None
    if solved is not None:
        return solved
    if _is_exact(costs.minimised(), costs.shape, solution):
        return costs, solution, solution
    split = _split_of(costs)
    if split is not None:
        return _solve_by_tiers(costs, split, plan)
    if not is_proven(costs, solution):
        find_exact_optimum(costs, solution, sum_of_pairs(costs, solution))
        solution = solution._replace(entries=None)  # the pairs may be others now
    return costs, solution, solution


def _solved_on_host(costs: DenseCosts, plan: Plan) -> Solved | None:
    """The cheapest assignment of costs of which one number is far above all others; None if no number is."""
    vectors, rests = cpu.new_vectors(costs), _room_for_rests(costs, plan)
    outcome, _, exact, counters = cpu.assign_in_tiers(costs, vectors, rests, has_solution=False)
    if outcome == "open":
        return None
    return _in_tiers(costs, Solution(counters.pop("size"), *vectors, counters, exact=exact), rests)


def _mended_on_host(costs: DenseCosts, solution: Solution, plan: Plan) -> tuple[Solved | None, float | None]:
    """What `mended` returns, for dense costs on the host, by the duals of the solution; None if these are of no use.

    The solution stands, or a solution in tiers replaces it, or a solution that a search of its slacks has refined. Also
    returns what the unproven pairs cost in sum, if the duals are of no use because there are no tiers.
    """
    copies, rests = Vectors._make(vector.copy() for vector in solution.vectors), _room_for_rests(costs, plan)
    outcome, unproven_sum, exact, counters = cpu.assign_in_tiers(costs, copies, rests)
    if outcome == "stands":
        return (costs, solution, solution), None
    if outcome == "open":
        return None, unproven_sum
    counters, entries = add_counters(solution.counters, counters), cpu.entries_of(costs, copies.row_match)
    found = solution._replace(**copies._asdict(), entries=entries, exact=exact, counters=counters)
    return _in_tiers(costs, found, rests), None


def solve_few_pairs(costs: Costs, plan: Plan, after: Solution | None = None) -> Solved | None:
    """The cheapest assignment of costs on a GPU, nearly all of which are a number that stands for "not".

    At most 1 pair in FEW costs less. The host solves the sparse problem of these pairs. It solves the problem only if
    the number must be used: a row has no cheaper pair, or the duals of a solution by a program of the GPU hide costs.
    That solution is `after`. Returns None for other costs.
    """
    if not isinstance(costs, DenseCosts) or plan.deterministic or not _may_have_not(costs):
        return None
    others = costs.array != (-costs.highest if costs.maximize else costs.highest)
    if FEW * int(others.sum()) > others.size:
        return None
    rows, columns = (to_host(numbers).astype(np.int32) for numbers in others.nonzero())
    if after is None and len(np.unique(rows)) == len(costs.array):
        return None
    of_pairs = to_host(costs.array[others]).astype(np.float64) * (-1 if costs.maximize else 1)
    num_rows, num_columns = costs.array.shape
    few_pairs = _native.few_pairs_of(rows, columns, of_pairs, num_rows, num_columns, costs.highest)
    vectors = cpu.new_vectors(costs)
    exact, counters = cpu.few_pairs_in_tiers(few_pairs, vectors)
    if exact is None:
        return None
    counters = counters if after is None else add_counters(after.counters, counters)
    solution = Solution(min(costs.shape), *vectors, counters | {"reason": ON_HOST}, exact=exact).moved(mover_to("gpu"))
    return costs, solution, solution


def _may_have_not(costs: DenseCosts) -> bool:
    """Whether the greatest cost is a float so large that it may stand for "not", and no pair is forbidden."""
    most, rows = costs.highest, min(costs.shape)
    is_large = most >= LARGE_ON_GPU and most > ROOM * (rows + 1) * abs(costs.lowest)
    return costs.dual_type is np.float64 and costs.limit is None and not costs.forbids and is_large


def _room_for_rests(costs: DenseCosts, plan: Plan) -> Any:
    """Ties are told by the rests."""
    return np.empty(costs.array.shape) if plan.deterministic else None


def _in_tiers(costs: DenseCosts, found: Solution, rests: Any) -> Solved:
    """A solution in tiers, and the problem of its last rests, if those are known."""
    exact = found.exact
    if rests is None or exact is None:
        return costs, found, found
    must_be_used = np.any([tier.columns < 0 for tier in exact.tiers], axis=0)
    of_rests = found._replace(u=exact.u, v=exact.v, exact=None, must_be_used=must_be_used)
    return DenseCosts(rests), of_rests, found


def _split_of(costs: Costs) -> Split | None:
    """The costs in tiers; None where their magnitudes lie too close together."""
    values = costs.minimised()
    return split_values(values, abs(values) != math.inf, min(costs.shape))


def _is_exact(values: Any, shape: tuple[int, int], solution: Solution) -> bool:
    """Whether all costs are multiples of a number above the rounding of the duals. Rounding then loses no cost."""
    xp = namespace(values)
    magnitudes = abs(values[(values != 0) & (abs(values) != math.inf)])
    if not magnitudes.size:
        return True
    largest = max(float(abs(dual).max()) for dual in (solution.u, solution.v))
    mantissa, exponent = xp.frexp(magnitudes)
    whole = xp.ldexp(mantissa, 53).astype(np.int64)
    lowest_bit = xp.frexp((whole & -whole).astype(np.float64))[1] - 1
    unit = int((exponent + lowest_bit).min()) - 53
    return 64 * 2.0**-52 * sum(shape) * largest < 2.0**unit


class _Left(NamedTuple):
    """What is known of costs so far: the pairs that a cheapest assignment may use, and the columns that it must use."""

    costs: Costs
    allowed: Any  # of each entry
    must: Any  # of each column

    def learn(self, value: int | float, numbers: Any, found: _Least) -> Tier:
        """The duals of whole multiples of a value. From then on a pair is allowed if a cheapest assignment may use it.

        The arrays change in place.
        """
        row_of, column_of = self.costs.places()
        tier = Tier(value, found.solution.u, found.duals_of_columns(self.must))
        allowed, must = self.allowed, self.must
        allowed &= numbers == tier.rows[row_of] + tier.columns[column_of]
        must |= (tier.columns < 0) & (self.costs.shape[0] != self.costs.shape[1])
        return tier


class _Least(NamedTuple):
    """The assignment of least entries among the assignments that use all columns that must be used."""

    problem: Costs
    solution: Solution
    reward: int | float  # by which the entries of these columns are lower in the problem that was solved

    def duals_of_columns(self, must: Any) -> Any:
        """The duals of the columns for entries that are not lowered."""
        return self.solution.v + namespace(must).where(must, self.reward, 0)


def _solve_by_tiers(costs: Costs, split: Split, plan: Plan) -> Solved:
    """The cheapest assignment by the least tier, then the least rest, which may be split again.

    Returns the problem of the last rest, its solution, and the same pairs as a solution of the costs. The cheapest
    assignments of that problem are the cheapest assignments of the costs. If forbidden pairs leave no assignment, rows
    stay free.
    """
    values = costs.minimised()
    left = _Left(costs, abs(values) != math.inf, namespace(values).zeros(max(costs.shape), np.bool_))
    tiers: list[Tier] = []
    counters: dict[str, Any] = {}
    next_split: Split | None = split
    while next_split is not None:
        split = next_split
        found = _least(left, split.tiers, max(int(abs(split.tiers).max()), 1), plan)
        counters = _both(counters, found.solution)
        if found.solution.size < min(costs.shape):
            u, v = (dual.astype(costs.dual_type) for dual in (found.solution.u, found.solution.v))
            return found.problem, found.solution, found.solution._replace(u=u, v=v, counters=counters, entries=None)
        tiers.append(left.learn(split.value, split.tiers, found))
        rest, next_split = _least_rest(left, split, plan)
        counters = counters if rest is None else _both(counters, rest.solution)
    assert rest is not None, "rests whose sums are too large are split again"
    return _whole(left, tiers, split.rests, rest, counters)


def _least_rest(left: _Left, split: Split, plan: Plan) -> tuple[_Least | None, Split | None]:
    """The assignment of the least rest, unless sums of rests are too large; and the next split, if one is needed."""
    costs, rests = left.costs, split.rests
    rows, are_floats = min(costs.shape), costs.dual_type is np.float64
    most = abs(rests[left.allowed]).max().item()  # rests of other pairs do not matter
    if not fit(costs, most, rows):
        next_split = split_values(rests, left.allowed, rows)
        if next_split is None:
            raise InvalidInput(
                f"sums of these costs could overflow: the pairs that a cheapest assignment may use differ by up to "
                f"{2 * most}; divide by a common factor"
            )
        return None, next_split
    found = _least(left, rests, most or (split.value / (ROOM * (rows + 1)) if are_floats else 1), plan)
    if found.reward and are_floats:  # a reward hides rests as a big number does
        found = found._replace(problem=costs.with_entries(rests, left.allowed, math.inf))
    problem, solution, _ = found
    is_hidden = duals_hide_costs(problem, solution, problem.of_each_row(solution.row_match)) and not _is_exact(
        problem.minimised(), costs.shape, solution
    )
    return found, split_values(rests, left.allowed, rows) if is_hidden else None


def _whole(left: _Left, tiers: list[Tier], rests: Any, found: _Least, counters: dict[str, Any]) -> Solved:
    """The last problem, its solution, and the solution of the costs, with duals in tiers."""
    problem, solution, reward = found
    of_problem, v = solution._replace(must_be_used=left.must), found.duals_of_columns(left.must)
    if left.costs.dual_type is np.float64:
        if reward:
            u = costs_of_assignment(problem, solution.row_match) - v[solution.row_match]
            of_problem = of_problem._replace(u=u, v=v)
        # Even duals of the size of the rests may round by more than the few pairs without a big number cost.
        if not is_proven(problem, of_problem, rests):
            find_exact_optimum(problem, of_problem, sum_of_pairs(problem, of_problem, rests))
        v = of_problem.v
    exact = ExactDuals(tuple(tiers), of_problem.u, v)
    u, v = exact.nearest_u(), exact.nearest_v()
    return problem, of_problem, solution._replace(u=u, v=v, counters=counters, entries=None, exact=exact)


def _least(left: _Left, entries: Any, most: int | float, plan: Plan) -> _Least:
    """The assignment of least entries along allowed pairs. Its reward is small, since it costs floats some bits."""
    costs, allowed, must = left
    xp, whole = namespace(entries), entries.dtype.kind == "i"
    column_of = costs.places()[1]
    rows = min(costs.shape)
    enough = 2 * (rows + 1) * most
    reward: int | float = 0
    while True:
        never = never_used(most + reward, rows) if whole else math.inf
        less = entries - xp.where(must, reward, 0).astype(entries.dtype)[column_of] if reward else entries
        problem = costs.with_entries(less, allowed, never)
        solution = run(problem, plan)
        if whole:
            solution = _without(never, problem, solution)
        free = must & (solution.col_match < 0)
        if solution.size < rows or not bool(free.any()):
            return _Least(problem, solution, reward)
        reward = min(max(REWARD * most, MORE_REWARD * reward), enough)
        reward = reward if whole else 2.0 ** math.ceil(math.log2(reward))


def _without(never: int | float, problem: Costs, solution: Solution) -> Solution:
    """The solution without pairs that stand for "not". They are freed in place: there is no assignment without them."""
    if isinstance(problem, SparseCosts):
        return solution
    row_match = solution.row_match
    rows = (row_match >= 0).nonzero()[0]
    wrong = rows[problem.array[rows, row_match[rows]] == never]
    solution.col_match[row_match[wrong]] = -1
    row_match[wrong] = -1
    return solution._replace(size=solution.size - len(wrong))


def _both(counters: dict[str, Any], found: Solution) -> dict[str, Any]:
    """What all runs counted together; the size of the start is the last run's."""
    if not counters:
        return found.counters
    return add_counters(counters, found.counters) | {"start_size": found.counters["start_size"]}
