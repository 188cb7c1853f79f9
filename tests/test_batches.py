"""Batches: every problem as if it were alone, for arrays, sequences and padding."""

import dataclasses
from typing import Any

import numpy as np
import pytest
from assignment_oracles import DTYPES, brute_force, on, price, random_costs
from conftest import host

import gmatch
from gmatch.methods import FEW_ROWS, TiedCore, assignment_method_of, batch_method_of
from gmatch.methods.choice import FEW_ROWS_ON_CPU

SEARCHES = ["tree", "tree-nearest", "classical"]
BATCH_METHODS = ["auto", "jv", *SEARCHES]


def check_alone(matrices: list, batch: gmatch.AssignmentBatch, **options: object) -> None:
    """Checks costs, sizes and status against each problem solved alone on the CPU."""
    assert len(batch) == len(matrices)
    for number, matrix in enumerate(matrices):
        alone = gmatch.lap(matrix, method="jv", **options)
        assignment = batch[number]
        assert (assignment.cost, assignment.size) == (alone.cost, alone.size)
        assert assignment.status == alone.status == batch.status[number]
        assert assignment.row_match.shape == (matrix.shape[0],) and assignment.col_match.shape == (matrix.shape[1],)
        assert host(batch.cost)[number] == pytest.approx(alone.cost, rel=1e-14)
        assert host(batch.size)[number] == alone.size
        assert isinstance(assignment.stats["phases"], int)


@pytest.mark.parametrize("shape", [(7, 5, 5), (6, 4, 9), (6, 9, 4), (3, 70, 70), (2, 40, 300), (1, 1, 1), (40, 3, 3)])
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64", "uint8"])
def test_arrays(shape: tuple, dtype: str, device: str) -> None:
    rng = np.random.default_rng(0)
    for most in (2, 200):
        cost = rng.integers(0, most, shape).astype(dtype)
        for number, method in enumerate(BATCH_METHODS):
            maximize = number % 2 == 1
            there = on(cost, device)
            batch = gmatch.lap(there, method=method, maximize=maximize, threads=None if device == "gpu" else number + 1)
            check_alone(list(cost), batch, maximize=maximize)
            assert [proof.gap for proof in gmatch.verify(there, batch)] == [0] * len(cost)
            assert type(batch.u) is type(there)


def test_any_strides(device: str) -> None:
    cost = np.random.default_rng(0).random((6, 8, 10))
    views = [cost.transpose(0, 2, 1), cost[::-1, ::2, ::-1], cost.transpose(2, 0, 1), cost[:, :, 3:5]]
    for view in views:
        there = on(cost, device)
        there = there.transpose(0, 2, 1) if view is views[0] else on(view, device)
        check_alone(list(view), gmatch.lap(there))
    check_alone(list(cost[:, ::-1]), gmatch.lap(on(cost, device)[:, ::-1]))


@pytest.mark.parametrize("maximize", [False, True])
def test_sequences_of_many_shapes(maximize: bool, device: str) -> None:
    rng = np.random.default_rng(0)
    for dtype in DTYPES:
        matrices = [random_costs(rng, dtype, maximize) for _ in range(30)] + [np.zeros((0, 3), dtype)]
        batch = gmatch.lap([on(matrix, device) for matrix in matrices], maximize=maximize, infeasible="partial")
        for number, matrix in enumerate(matrices[:-1]):
            assert (batch[number].size, batch[number].cost) == brute_force(matrix, maximize)
        gmatch.verify([on(matrix, device) for matrix in matrices], batch)


def test_limits(device: str) -> None:
    rng = np.random.default_rng(0)
    for limit in (-3, 0, 0.5, 4):
        for maximize in (False, True):
            cost = rng.integers(-6, 7, (30, 4, 5))
            batch = gmatch.lap(on(cost, device), cost_limit=limit, maximize=maximize, certify=True)
            for number, matrix in enumerate(cost):
                assert price(matrix, batch[number], limit) == brute_force(matrix, maximize, limit)[1]


def test_a_limit_far_above_all_costs_of_one_problem() -> None:
    """Another problem has forbidden pairs, so that duals of all problems may be as large as the limit."""
    cost = np.array([2.0, 1.0, 0.0, np.inf, 2.0]).reshape(5, 1, 1)
    batch = gmatch.lap(cost, cost_limit=2.5, certify=True)
    assert batch.cost.tolist() == [2, 1, 0, 0, 2]


@pytest.mark.parametrize("maximize", [False, True])
def test_a_limit_with_a_fraction_that_whole_costs_of_one_problem_do_not_reach(maximize: bool, device: str) -> None:
    """The limit makes floats of the duals of all problems. Those of that problem alone would be whole."""
    cost = np.array([[[1, 0], [2, 1]], [[5, 9], [3, 7]]]) * (-1 if maximize else 1)
    limit = -2.5 if maximize else 2.5
    batch = gmatch.lap(on(cost, device), cost_limit=limit, maximize=maximize, certify=True)
    assert batch.u.dtype == np.float64
    gmatch.verify(on(cost[0], device), batch[0])
    gmatch.verify(gmatch.CostBatch(on(cost, device), cost_limit=limit, maximize=maximize), batch)
    wrong = dataclasses.replace(batch[0], u=batch[0].u + 0.25)
    with pytest.raises(gmatch.CertificateError):
        gmatch.verify(on(cost[0], device), wrong)


def test_padding_is_never_read(device: str) -> None:
    rng = np.random.default_rng(0)
    cost = np.full((9, 8, 11), np.nan)
    sizes = np.stack([rng.integers(1, 9, 9), rng.integers(1, 12, 9)], axis=1)
    sizes[0] = 8, 11
    mask = np.zeros(cost.shape, bool)
    for number, (rows, columns) in enumerate(sizes):
        cost[number, :rows, :columns] = rng.random((rows, columns))
        mask[number, :rows, :columns] = True
    matrices = [matrix[:rows, :columns] for matrix, (rows, columns) in zip(cost, sizes, strict=True)]
    for padding in ({"sizes": sizes}, {"mask": mask}):
        batch = gmatch.lap(on(cost, device), certify=True, **padding)
        check_alone(matrices, batch)
        assert all((host(batch.row_match)[k, rows:] == -1).all() for k, (rows, _) in enumerate(sizes))


def test_padding_at_any_place(device: str) -> None:
    rng = np.random.default_rng(0)
    cost = rng.random((12, 7, 6))
    rows, columns = rng.random((12, 7)) < 0.6, rng.random((12, 6)) < 0.6
    mask = rows[:, :, None] & columns[:, None, :]
    cost[~mask] = np.nan
    batch = gmatch.lap(on(cost, device), mask=on(mask, device), certify=True)
    gmatch.verify(on(cost, device), batch)
    for number in range(12):
        inner = cost[number][rows[number]][:, columns[number]]
        best = gmatch.lap(inner)
        i = (host(batch.row_match)[number] >= 0).nonzero()[0]
        j = host(batch.row_match)[number][i]
        assert len(i) == min(inner.shape) and rows[number][i].all() and columns[number][j].all()
        assert cost[number, i, j].sum() == pytest.approx(best.cost, rel=1e-15)
        assert (host(batch.col_match)[number][j] == i).all()
        assert batch[number].row_match.shape == (len(inner),)


def test_infeasible_problems(device: str) -> None:
    cost = np.random.default_rng(0).random((5, 4, 4))
    cost[3, :, 1:] = np.inf
    with pytest.raises(gmatch.Infeasible, match=r"^problem 3: no assignment avoids the forbidden pairs") as caught:
        _ = gmatch.lap(on(cost, device)).status  # the host looks at what a GPU has left when somebody asks
    assert len(host(caught.value.rows)) > len(host(caught.value.columns))
    batch = gmatch.lap(on(cost, device), infeasible="partial", certify=True)
    assert [str(status) for status in batch.status] == ["optimal"] * 3 + ["partial", "optimal"]
    assert host(batch.size).tolist() == [4, 4, 4, 1, 4]
    assert batch[3].cost == cost[3, :, 0].min() and batch[3].witness is not None


def test_sequences_behave() -> None:
    cost = np.arange(24).reshape(2, 3, 4)
    batch = gmatch.lap(cost)
    assert [a.cost for a in batch] == [batch[0].cost, batch[-1].cost] == batch.cost.tolist()
    assert len(batch[:1]) == 1 and isinstance(batch[0], gmatch.Assignment)
    assert gmatch.lap(cost.tolist()).cost.tolist() == batch.cost.tolist()
    assert repr(batch) == "<AssignmentBatch of 2 problems, 6 pairs>"
    with pytest.raises(IndexError):
        batch[2]
    assert (
        gmatch.lap(gmatch.CostBatch(cost, maximize=True)).cost.tolist() == gmatch.lap(cost, maximize=True).cost.tolist()
    )
    for empty in (np.zeros((0, 3, 3)), np.zeros((4, 0, 3)), np.zeros((4, 3, 0))):
        assert len(gmatch.lap(empty)) == len(empty)


ONE = np.zeros((2, 3, 4))
COUNT = np.arange(24).reshape(2, 3, 4)
BAD = {
    "nan": (np.where(COUNT == 17, np.nan, 0), {}, r"problem 1: cost must not hold NaN; entry \(1, 1\) does"),
    "sizes": (ONE, {"sizes": [[3, 5], [1, 1]]}, r"from 0 to 3 rows and 4 columns; got \[3, 5\] for problem 0"),
    "sizes shape": (ONE, {"sizes": [3, 5]}, r"sizes must be integers of shape \(2, 2\)"),
    "mask": (ONE, {"mask": np.ones((3, 4), bool)}, "mask must hold booleans, one for each cost"),
    "mask pairs": (ONE, {"mask": COUNT != 3}, "the mask of problem 0 leaves out single pairs"),
    "both": (ONE, {"mask": ONE == 0, "sizes": [[1, 1], [1, 1]]}, "give sizes or mask, not both"),
    "sequence": ([ONE[0]], {"sizes": [[1, 1]]}, "the matrices of a sequence have shapes"),
    "matrix": (ONE[0], {"sizes": [[1, 1]]}, r"expected costs of shape \(problems, rows, columns\); got 2 dimensions"),
    "vector inside": ([ONE[0], ONE[0, 0]], {}, "problem 1: expected a matrix of costs; got 1 dimensions"),
    "start": (ONE, {"initial": np.zeros(3, int)}, "a batch starts from"),
    "duals": (ONE, {"duals": (1, 2)}, "a batch starts from"),
    "set": (gmatch.CostBatch(ONE), {"maximize": True}, "a CostBatch has its own maximize"),
    "method": (ONE, {"method": "munkres"}, "method 'munkres-registers' solves no batches on the CPU; use 'auto', 'jv'"),
    "threads": (ONE, {"threads": 0}, "threads must be an integer from 1 to 1024, or None; got 0"),
    "large integers and floats": (
        [np.full((1, 1), 0.5, np.float32), np.array([[2**60 + 1, 0]])], {}, r"problem 1: integers beyond 2\*\*53 must"
    ),
    "int64": (np.array([[[2**62, 2**61], [2**60 * 3 + 2**58, 0]]]), {}, "could overflow int64"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_batches(name: str) -> None:
    cost, options, message = BAD[name]
    with pytest.raises(gmatch.InvalidInput, match=message):
        gmatch.lap(cost, **options)


def test_matrices_of_several_types(device: str) -> None:
    integers = np.array([[1, 2], [3, 1]])
    for dtypes in (("int64", "int32", "uint8"), ("int64", "float32"), ("int32", "float32"), ("float32", "float64")):
        for cost_limit in (None, 2):
            given = [on(integers.astype(dtype), device) for dtype in dtypes]
            batch = gmatch.lap(given, cost_limit=cost_limit)
            for matrix, found, proof in zip(given, batch, gmatch.verify(given, batch), strict=True):
                assert gmatch.verify(matrix, found) == proof and proof.cost == 2
    assert gmatch.lap([integers * 2**51, integers / 2])[0].pair_costs.tolist() == [2.0**51] * 2
    wide = gmatch.lap([integers, integers / 2])[0]
    with pytest.raises(gmatch.CertificateError, match="pair_costs must hold the entries"):
        gmatch.verify(integers * 2**54, wide)
    with pytest.raises(gmatch.CertificateError, match="pair_costs must hold the entries"):
        gmatch.verify(integers, gmatch.lap([integers.astype(np.int32)])[0])


def test_no_sizes_for_no_problems() -> None:
    for sizes in ([], (), np.empty((0, 2), int)):
        assert len(gmatch.lap(np.empty((0, 2, 3)), sizes=sizes)) == 0
    with pytest.raises(gmatch.InvalidInput, match=r"sizes must be integers of shape \(2, 2\)"):
        gmatch.lap(ONE, sizes=[])


@pytest.mark.parametrize(
    "problem, message",
    [
        (None, r"expected costs of shape \(problems, rows, columns\); got 0 dimensions"),
        (np.eye(2), r"expected costs of shape \(problems, rows, columns\); got 2 dimensions"),
        ([np.eye(2)], "expected the costs of 2 problems; got 1"),
        (gmatch.CostBatch([np.eye(2)] * 3), "expected the costs of 2 problems; got 3"),
        ([np.eye(2)[0], np.eye(2)], "problem 0: expected a matrix of costs; got 1 dimensions"),
        ([np.eye(2), None], "problem 1: expected a matrix of costs; got 0 dimensions"),
        ([np.eye(2), [[1], [2, 3]]], "cost must be an array of numbers; got list"),
    ],
)
def test_what_no_batch_can_be_verified_for(problem: Any, message: str) -> None:
    batch = gmatch.lap([np.eye(2)] * 2)
    with pytest.raises(gmatch.InvalidInput, match=message):
        gmatch.verify(problem, batch)


def test_smaller_matrices_than_a_mask_was_for() -> None:
    cost, mask = np.random.default_rng(0).random((2, 3, 4)), np.ones((2, 3, 4), bool)
    mask[:, 0] = False
    batch = gmatch.lap(cost, mask=mask, certify=True)
    with pytest.raises(gmatch.InvalidInput, match=r"problem 0: expected a matrix of shape \(3, 4\); got \(2, 2\)"):
        gmatch.verify(cost[:, :2, :2], batch)


def test_methods_of_batches_are_chosen_by_the_device() -> None:
    assert batch_method_of("auto", "gpu", 1000)[0] == gmatch.JV()
    assert batch_method_of("auto", "cpu", 1000)[0] == gmatch.JV()
    assert batch_method_of("tree", "gpu", 1000) == (gmatch.Tree(), "asked for")


@pytest.mark.parametrize("dtype", ["float64", "int32"])
def test_large_problems_are_solved_as_each_alone(dtype: str) -> None:
    """The core solves large problems of a batch, and shortest paths solve the small ones."""
    rng = np.random.default_rng(0)
    rows = FEW_ROWS_ON_CPU[np.float64 if dtype == "float64" else np.int64]
    sizes = (rows, 9), (rows + 10, rows + 10), (rows, rows + 30), (20, 30)
    matrices = [(rng.random(size) * 2**20).astype(dtype) for size in sizes]
    batch = gmatch.lap(matrices, certify=True, threads=2)
    check_alone(matrices, batch)
    assert batch.stats["method"] == "core" and (batch.stats["start_size"] > 0).tolist() == [False, True, True, False]
    assert gmatch.lap(matrices[3:]).stats["method"] == "jv"


def test_methods_are_chosen_by_ties_and_size() -> None:
    def chosen(cost: Any, device: str = "gpu") -> Any:
        return assignment_method_of("auto", device, gmatch.DenseCosts(cost))[0]

    rows = FEW_ROWS
    few, many = np.eye(rows, dtype=int) * (rows // 3), np.eye(rows, dtype=int) * rows
    assert chosen(few) == TiedCore("classical") and chosen(few, "cpu") == chosen(many, "cpu") == gmatch.JV()
    assert chosen(few.clip(max=rows // 32)) == chosen(few.astype(np.int16)) == TiedCore("tree")
    assert chosen(few.clip(max=rows // 32 + 1)) == TiedCore("classical")
    assert chosen(few + (2**63 - 10**5)) == gmatch.Tree()  # no room for the duals of a core
    assert chosen(many) == chosen(many / 9) == gmatch.Core()
    assert chosen(many[1:]) == chosen(many[1:] / 9) == gmatch.Tree()
    half = many[rows // 2 :, rows // 2 :] * 2
    assert chosen(half) == chosen(half / 9) == gmatch.Core()
    assert chosen(half - half.clip(max=1)) == chosen(half[1:, 1:] / 9) == gmatch.Tree()
    assert chosen(np.eye(rows, dtype=np.int64) * 2**56) == gmatch.Tree()
    assert assignment_method_of("auto", "gpu", None)[0] == gmatch.Tree()


def test_core_refuses_costs_without_room_for_duals() -> None:
    with pytest.raises(gmatch.InvalidInput, match="method 'core' needs room for duals"):
        gmatch.lap(np.random.default_rng(0).integers(0, 2**53, (300, 300)), method="core")


@pytest.mark.parametrize("shape", [(4, 3, 5), (4, 5, 3), (1, 2, 2), (3, 0, 2), (0, 2, 3)])
@pytest.mark.parametrize("order", ["C", "F", "backwards", "every other", "one for all"])
def test_short_layout(shape: tuple[int, int, int], order: str) -> None:
    """The short layout, for problems of one shape, says the same of each problem as the long layout."""
    costs = np.zeros(shape)
    given = {
        "C": costs, "F": np.asfortranarray(costs), "backwards": costs[::-1, :, ::-1],
        "every other": np.zeros((2 * shape[0], *shape[1:]))[::2], "one for all": np.broadcast_to(costs[:1], shape),
    }[order]  # fmt: skip
    batch = gmatch.CostBatch(given)
    layout, step = batch.short_layout()
    if len(layout) != len(batch) or step:
        assert len(layout) == 1 and step
        layout = layout.repeat(len(batch), axis=0)
        layout["offset"] += step * np.arange(len(batch))
    assert (layout == batch.layout()).all()
    ragged = gmatch.CostBatch(np.zeros((2, 3, 3)), sizes=[[3, 3], [2, 3]])
    assert ragged.short_layout()[1] == 0 and (ragged.short_layout()[0] == ragged.layout()).all()


def test_costs_that_int64_does_not_hold_are_refused(device: str) -> None:
    half = np.full((2, 2, 2), 4 * 10**18)
    assert gmatch.lap(half, device=device).cost.tolist() == [8 * 10**18] * 2
    batch = gmatch.lap(half + 10**18, device=device)
    assert batch[1].cost == 10**19
    with pytest.raises(gmatch.InvalidInput, match="int64 does not hold 10000000000000000000, the cost of problem 0"):
        _ = batch.cost


def test_a_matrix_that_repeats_is_looked_at_once() -> None:
    matrix = np.arange(12.0).reshape(3, 4)
    batch = gmatch.CostBatch(np.broadcast_to(matrix, (1000, 3, 4)))
    entries = batch._entries_that_count()
    assert entries.size == matrix.size and np.shares_memory(entries, matrix)
    assert {one.cost for one in gmatch.lap(batch, certify=True)} == {gmatch.lap(matrix).cost}


@pytest.mark.parametrize("rows", [[[7, 1], [4, 0]], [[8, 6, 6], [7, 2, 3], [1, 0, 3]]])
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_the_rule_does_not_know_how_a_matrix_lies_in_memory(rows: list, dtype: str) -> None:
    """A square matrix by columns is read turned. With a limit only one form of its duals tells which pairs are sure."""
    matrix = np.array(rows, dtype)
    for cost_limit in range(9):
        alone = gmatch.lap(matrix, cost_limit=cost_limit, deterministic=True)
        for given in (matrix, np.asfortranarray(matrix)):
            batch = gmatch.lap(
                np.stack([given.T, given.T]).transpose(0, 2, 1), cost_limit=cost_limit, deterministic=True
            )
            assert batch[1].row_match.tolist() == alone.row_match.tolist()
            assert batch[1].size == alone.size


def test_the_rule_takes_limits_that_some_problems_do_not_reach() -> None:
    """Whole costs become floats with such a limit, but not in a problem alone that is below it."""
    for maximize in (False, True):
        cost = np.array([[[0, 1], [1, 0]], [[2, 0], [0, 3]]]) * (-1 if maximize else 1)
        options = {"cost_limit": -1.5 if maximize else 1.5, "maximize": maximize, "deterministic": True}
        batch = gmatch.lap(cost, **options)
        for number, matrix in enumerate(cost):
            alone = gmatch.lap(matrix, **options)
            assert batch[number].row_match.tolist() == alone.row_match.tolist()
            assert batch[number].cost == alone.cost
