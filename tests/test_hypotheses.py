"""`best_hypotheses` and `k_best` of many problems against all assignments; their proof; and bad input."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from assignment_oracles import partial_matchings

import gmatch


def all_costs(costs: list[np.ndarray], misses: list[np.ndarray], priors: list[float], maximize: bool) -> list[float]:
    """What all children of all parents cost, the best first."""
    every: list[float] = []
    for cost, miss, prior in zip(costs, misses, priors, strict=True):
        rows, columns = cost.shape
        longer = np.concatenate([cost, miss[:, None]], axis=1)
        sums = longer[np.arange(rows), partial_matchings(rows, columns)].sum(axis=1) + prior
        every += sums[np.isfinite(sums)].tolist()
    return sorted(every, reverse=maximize)


def random_parents(rng: np.random.Generator, whole: bool, maximize: bool) -> tuple[list[Any], list[Any], list[Any]]:
    """Costs with ties, misses and priors. Some floats are forbidden."""
    never = -np.inf if maximize else np.inf
    costs, misses, priors = [], [], []
    for _ in range(rng.integers(1, 5)):
        rows, columns = rng.integers(0, 4), rng.integers(0, 4)
        cost, miss = rng.integers(-4, 5, (rows, columns)), rng.integers(-3, 4, rows)
        if not whole:
            cost, miss = cost / 4, miss / 2
            cost[rng.random(cost.shape) < 0.2] = never
            if columns >= rows and np.isfinite(cost).all():
                miss[rng.random(rows) < 0.3] = never
        costs.append(cost)
        misses.append(miss)
        priors.append(rng.integers(-3, 4).item() / (1 if whole else 4))
    return costs, misses, priors


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("whole", [False, True])
def test_against_all_children(whole: bool, maximize: bool) -> None:
    rng = np.random.default_rng([whole, maximize])
    for _ in range(20):
        costs, misses, priors = random_parents(rng, whole, maximize)
        expected = all_costs(costs, misses, priors, maximize)
        checked = [gmatch.DenseCosts(cost, maximize=maximize) for cost in costs]
        forms = (
            costs,
            [sp.coo_array(cost) if (cost != 0).all() else one for cost, one in zip(costs, checked, strict=True)],
        )
        for k in (1, 3, len(expected), len(expected) + 1):
            for form in forms:
                found = gmatch.best_hypotheses(
                    form, k, miss=misses, prior=priors, maximize=maximize, threads=int(rng.integers(1, 4)), certify=True
                )
                assert found.costs.tolist() == expected[:k]
                assert found.complete == (k > len(expected))
        for one in found:
            cost, miss = costs[one.parent], misses[one.parent]
            row_ind, col_ind = one
            assert cost[row_ind, col_ind].sum() + miss[one.row_match < 0].sum() + priors[one.parent] == one.cost


def test_any_number_of_threads_finds_the_same() -> None:
    rng = np.random.default_rng(1)
    costs = rng.integers(0, 6, (7, 8, 9))
    first = gmatch.best_hypotheses(costs, 300, miss=3, threads=1, certify=True)
    lists = gmatch.k_best(costs, 50, threads=1)
    for threads in (2, 3, 8):
        found = gmatch.best_hypotheses(costs, 300, miss=3, threads=threads)
        for name in ("parents", "ranks", "costs"):
            assert (getattr(found, name) == getattr(first, name)).all()
        assert all((one.row_match == two.row_match).all() for one, two in zip(found, first, strict=True))
        for one, two in zip(gmatch.k_best(costs, 50, threads=threads), lists, strict=True):
            assert (one.row_match == two.row_match).all() and (one.u == two.u).all()


def test_many_problems_in_one_call() -> None:
    rng = np.random.default_rng(2)
    problems = [rng.random((4, 6)), rng.integers(0, 9, (5, 5)), sp.csr_array(rng.random((6, 3))), np.empty((0, 2))]
    found = gmatch.k_best(problems, 1100, certify=True)
    for one, problem in zip(found, problems, strict=True):
        alone = gmatch.k_best(problem, 1100)
        assert (one.row_match == alone.row_match).all() and one.complete == alone.complete
    limited = gmatch.k_best(np.stack([problems[1], problems[1].T]), 3, maximize=True, cost_limit=2, certify=True)
    assert [one.cost_limit for one in limited] == [2, 2]
    with pytest.raises(gmatch.InvalidInput, match="sequence of matrices or one array"):
        gmatch.k_best(gmatch.CostBatch([problems[0]]), 2)


COSTS = [np.array([[4, 1], [2, 0]]), np.array([[3, 1]])]


def test_what_a_sequence_does() -> None:
    found = gmatch.best_hypotheses(COSTS, 4, miss=9)
    assert repr(found) == "<Hypotheses: 4 of 2 parents, costs 1 to 4>"
    assert repr(found[-1]) == "<Hypothesis 3 of parent 0 with 2 pairs, cost 4>"
    assert [one.cost for one in found[1:3]] == [3, 3]
    missed = gmatch.best_hypotheses(COSTS, 100, miss=[9, [-5]])
    assert missed.complete and missed[0].parent == 1 and missed[0].row_match.tolist() == [-1]


WRONG = {
    "must differ": lambda r: {"ranks": r.ranks * 0, "parents": r.parents * 0},
    "must be in order": lambda r: {name: getattr(r, name)[::-1] for name in ("ranks", "parents", "costs")},
    "must cost what": lambda r: {"costs": r.costs + 1},
    "left out": lambda r: {name: getattr(r, name)[1:] for name in ("ranks", "parents", "costs")},
    "no assignment": lambda r: {"ranks": r.ranks + 50},
    "may be better": lambda r: {"complete": True},
    "parent 1: ": lambda r: {"miss": (r.miss[0], r.miss[1] + 1)},
    "one entry for each": lambda r: {"costs": r.costs[1:]},
    "are for maximize": lambda r: {"maximize": True},
}


@pytest.mark.parametrize("message", WRONG)
def test_what_is_no_proof_is_refused(message: str) -> None:
    costs = [gmatch.DenseCosts(cost) for cost in COSTS]
    right = gmatch.best_hypotheses(costs, 4, miss=9, certify=True)
    with pytest.raises(gmatch.CertificateError, match=message):
        gmatch.verify(costs, dataclasses.replace(right, **WRONG[message](right)))


BAD: dict[str, dict[str, Any]] = {
    "one parent at least": {"costs": []},
    "list without parents": {"costs": []},
    "NoneType without parents": {"costs": None},
    "int without parents": {"costs": 3},
    "must have finite sums": {"costs": [[[1e307]]], "miss": 1e307, "prior": 1.7e308},
    "which float64 does not hold": {"costs": [[[2**53 + 1]], [[0.5]]], "k": 9},
    "which int64 does not hold": {"costs": [[[2**62 + 5]]], "miss": 2**62 + 5, "prior": 2**62 - 1},
    "k must be 1 or more": {"k": 0},
    "miss must be a number, or have one for each of the 2 parents": {"miss": [1]},
    "miss of parent 0 must be a number, or real numbers of shape": {"miss": [[1, 2, 3], 1]},
    "miss of parent 1 must not hold NaN or -inf": {"miss": [1, np.nan]},
    "miss of parent 0 must not hold NaN or": {"miss": -np.inf},
    "prior must be finite": {"prior": [0, np.inf]},
    "prior must be finite numbers, integers below": {"prior": 2**63},
    "prior must be a number": {"prior": None},
    "must not hold NaN": {"costs": [[[np.nan]], [[1.0]]]},
    "threads must be": {"threads": 0},
}


@pytest.mark.parametrize("message", BAD)
def test_bad_input(message: str) -> None:
    options = {"costs": COSTS, "k": 2, "miss": 9} | BAD[message]
    with pytest.raises(gmatch.InvalidInput, match=message):
        gmatch.best_hypotheses(options.pop("costs"), options.pop("k"), **options)


def test_a_parent_without_a_child() -> None:
    with pytest.raises(gmatch.Infeasible, match="parent 1 has no child"):
        gmatch.best_hypotheses([[[1.0]], [[np.inf], [1.0]]], 2, miss=[1, np.inf])
