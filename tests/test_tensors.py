"""Tensors of torch and arrays of JAX: what comes in goes out, and what pairs cost has a gradient."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import gmatch

torch = pytest.importorskip("torch")
RNG = np.random.default_rng(2)
COST = np.array([[4.0, 1, 3, 9], [2, 0, 5, 9], [3, 2, 2, 9]])
LARGE = RNG.integers(0, 1000, (600, 700))


def tensors_of(result: Any) -> dict[str, Any]:
    names = (
        "row_match",
        "col_match",
        "row_ind",
        "col_ind",
        "u",
        "v",
        "pair_costs",
        "unmatched_rows",
        "unmatched_columns",
    )
    return {name: getattr(result, name) for name in names}


def check_equal(found: Any, expected: gmatch.Assignment) -> None:
    """All attributes are tensors, and are equal to the attributes of the result for arrays."""
    for name, tensor in tensors_of(found).items():
        array = getattr(expected, name)
        assert isinstance(tensor, torch.Tensor), name
        assert tensor.tolist() == array.tolist() and tuple(tensor.shape) == array.shape, name
        if array.dtype.kind == "i" and name not in ("u", "v", "pair_costs"):
            assert tensor.dtype == torch.int64, name
    assert (found.size, found.status, found.pairs) == (expected.size, expected.status, expected.pairs)
    assert isinstance(found.cost, torch.Tensor) and found.cost.shape == () and found.cost == expected.cost
    assert repr(found) == repr(expected) and found._repr_html_() == expected._repr_html_()
    assert (found.maximize, found.cost_limit, found.stats.keys()) == (
        expected.maximize, expected.cost_limit, expected.stats.keys()
    )  # fmt: skip


def test_tensors_of_truths_are_proven() -> None:
    cost = torch.tensor([[True, False], [True, True]])
    for given in (cost, cost[None]):
        found = gmatch.lap(given, certify=True)
        assert found.pair_costs.dtype == torch.bool and int(found.cost) == 1
        gmatch.verify(given, found)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16", "int64", "int32", "int8", "uint8"])
@pytest.mark.parametrize("options", [{}, {"maximize": True}, {"cost_limit": 2}, {"method": "tree"}], ids=str)
def test_tensors_in_tensors_out(dtype: str, options: dict[str, Any]) -> None:
    cost = torch.tensor(COST).to(getattr(torch, dtype))
    found = gmatch.lap(cost, certify=True, **options)
    check_equal(found, gmatch.lap(COST.astype(int) if "int" in dtype else COST, **options))
    assert found.pair_costs.dtype == cost.dtype
    assert gmatch.verify(cost, found).cost == found.cost
    first, again = tuple(found), tuple(found)
    assert all(one is two for one, two in zip(first, again, strict=True))
    assert torch.equal(cost[first], found.pair_costs)


def test_large_ones_and_views() -> None:
    cost = torch.tensor(LARGE)
    for given, array in ((cost, LARGE), (cost.T, LARGE.T), (cost[::2, 3:], LARGE[::2, 3:])):
        check_equal(gmatch.lap(given), gmatch.lap(array))
    again = gmatch.lap(cost, initial=gmatch.lap(cost))
    assert again.stats["initial"] == "given" and again.cost == gmatch.lap(LARGE).cost
    assert gmatch.lap(cost, duals=(again.u, again.v), initial=again.row_match).cost == again.cost


def test_rows_of_tensors() -> None:
    rows = [torch.tensor(row, requires_grad=True) for row in COST]
    found = gmatch.lap(rows)
    check_equal(found, gmatch.lap(COST))
    found.cost.backward()
    assert [row.grad.tolist() for row in rows] == [[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0]]


def test_others_among_tensors_are_refused() -> None:
    for other in (np.zeros((2, 2)), None, [[1.0]]):
        with pytest.raises(gmatch.InvalidInput, match="matrices of torch, as the first one is; number 1 is"):
            gmatch.lap([torch.zeros(2, 2), other])


def test_partial_and_empty() -> None:
    given = torch.tensor([[1.0, math.inf], [1.0, math.inf]])
    found, expected = (gmatch.lap(cost, infeasible="partial") for cost in (given, given.numpy()))
    check_equal(found, expected)
    for name in ("cover", "witness"):
        assert [side.tolist() for side in getattr(found, name)] == [side.tolist() for side in getattr(expected, name)]
    gmatch.verify(given, found)
    for shape in ((0, 3), (3, 0), (0, 0)):
        check_equal(gmatch.lap(torch.zeros(shape)), gmatch.lap(np.zeros(shape, np.float32)))


def test_a_changed_result_is_not_proven() -> None:
    cost = torch.tensor(COST)
    found = gmatch.lap(cost)
    found.u[0] += 1
    with pytest.raises(gmatch.CertificateError):
        gmatch.verify(cost, found)


def test_frames_and_pickles() -> None:
    import pickle

    pytest.importorskip("pandas")
    for dtype in (torch.float32, torch.bfloat16):
        found = gmatch.lap(torch.tensor(COST, dtype=dtype, requires_grad=True))
        assert found.to_frame()["cost"].tolist() == [1.0, 2.0, 2.0]
    found = gmatch.lap(torch.tensor(COST))
    again = pickle.loads(pickle.dumps(found))
    assert again.cost == found.cost and again.pairs == found.pairs


@pytest.mark.parametrize(
    "options", [{}, {"cost_limit": 0.3}, {"sizes": [(2, 3), (4, 5), (1, 1)]}, {"mask": True}], ids=str
)
def test_pickles_of_batches(options: dict[str, Any]) -> None:
    import pickle

    cost = torch.rand((3, 4, 5), generator=torch.Generator().manual_seed(1))
    if "mask" in options:
        mask = torch.ones_like(cost, dtype=torch.bool)
        mask[0, 1], mask[2, :, 2] = False, False
        options = {"mask": mask}
    found = gmatch.lap(cost, **options)
    again = pickle.loads(pickle.dumps(found))
    assert torch.equal(found.row_match, again.row_match) and repr(found) == repr(again)
    for one, two in zip(found, again, strict=True):
        assert all(torch.equal(*sides) for sides in zip(one, two, strict=True))
        for name in ("row_match", "col_match", "u", "v", "pair_costs"):
            assert torch.equal(getattr(one, name), getattr(two, name))
        assert one.status == two.status and float(one.cost) == pytest.approx(float(two.cost))


# Gradients.


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("kind", ["tensor", "parameter", "computed", "half"])
def test_the_gradient_of_the_cost_is_the_permutation(kind: str, maximize: bool) -> None:
    leaf = torch.tensor(COST, dtype=torch.float16 if kind == "half" else torch.float32, requires_grad=True)
    if kind == "parameter":
        leaf = torch.nn.Parameter(leaf.detach())
    found = gmatch.lap(leaf * 1 if kind == "computed" else leaf, maximize=maximize)
    found.cost.backward()
    expected = np.zeros(COST.shape)
    expected[gmatch.lap(COST, maximize=maximize).row_ind, gmatch.lap(COST, maximize=maximize).col_ind] = 1
    assert leaf.grad.tolist() == expected.tolist()
    assert not found.u.requires_grad and not gmatch.lap(leaf.detach()).cost.requires_grad


def test_gradients_by_differences() -> None:
    """Where the optimum is unique, the cost of the assignment has the derivatives that differences tell."""
    torch.manual_seed(0)
    for shape in ((4, 6), (6, 4)):
        cost = torch.rand(shape, dtype=torch.float64, requires_grad=True)
        assert torch.autograd.gradcheck(lambda c: gmatch.lap(c).cost, (cost,))
        assert torch.autograd.gradcheck(lambda c: gmatch.lap(c, cost_limit=0.2).cost, (cost,))
    batch = torch.rand((3, 4, 5), dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda c: gmatch.lap(c).cost, (batch,))
    assert torch.autograd.gradcheck(lambda c: gmatch.lap(c, sizes=[(4, 5), (2, 3), (0, 4)]).cost, (batch,))
    ragged = [torch.rand((4, n), dtype=torch.float64, requires_grad=True) for n in (3, 0, 6)]
    assert torch.autograd.gradcheck(lambda *c: gmatch.lap(list(c)).cost, ragged)
    assert torch.autograd.gradcheck(lambda *c: sum(one.cost for one in gmatch.lap(c)), ragged)


@pytest.mark.filterwarnings("ignore::UserWarning")  # torch says that sparse CSR is in beta
def test_sparse_tensors() -> None:
    stored = sp.coo_array(([5.0, 2, 4, 9, 8], ([0, 1, 1, 2, 2], [0, 0, 1, 2, 0])), shape=(3, 4))
    places = torch.tensor(np.stack([stored.row, stored.col]))
    values = torch.tensor(stored.data, requires_grad=True)
    for make in (lambda t: t, lambda t: t.to_sparse_csr()):
        found = gmatch.lap(make(torch.sparse_coo_tensor(places, values, stored.shape)), certify=True)
        check_equal(found, gmatch.lap(stored))
        (gradient,) = torch.autograd.grad(found.cost, values)
        assert gradient.tolist() == [1, 0, 1, 1, 0]
        matching = gmatch.max_matching(
            make(torch.sparse_coo_tensor(places, values.detach(), stored.shape)), certify=True
        )
        expected = gmatch.max_matching(stored)
        assert matching.size == 3 and matching.pairs == expected.pairs
        assert all(
            isinstance(side, torch.Tensor) for side in (*matching, *matching.vertex_cover(), matching.unmatched_columns)
        )
        assert [side.tolist() for side in matching.vertex_cover()] == [s.tolist() for s in expected.vertex_cover()]
        gmatch.verify(stored, matching)


def test_max_weight_matching() -> None:
    weights = torch.tensor([[3.0, -1], [-2, -5]], requires_grad=True)
    found = gmatch.max_weight_matching(weights)
    found.cost.backward()
    assert found.pairs == [(0, 0)] and weights.grad.tolist() == [[1, 0], [0, 0]]
    for options in ({"pairs": 2}, {"cardinality": "maximum"}):
        found = gmatch.max_weight_matching(weights, **options)
        (gradient,) = torch.autograd.grad(found.cost, weights)
        assert found.pairs == [(0, 0), (1, 1)] and gradient.tolist() == [[1, 0], [0, 1]]
        gmatch.verify(weights, found)


# Batches.


def detr_costs(columns: list[int], dtype: Any = None) -> Any:
    """Costs of 9 queries and the targets of all images side by side, as a DETR matcher has them."""
    torch.manual_seed(1)
    return torch.rand((len(columns), 9, sum(columns)), dtype=dtype, requires_grad=True)


@pytest.mark.parametrize("columns", [[3, 0, 5, 12], [0, 0], [2], [1, 1]])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_split_by_targets(columns: list[int], dtype: Any) -> None:
    from scipy.optimize import linear_sum_assignment

    costs = detr_costs(columns, dtype)
    split = [block[k] for k, block in enumerate(costs.split(columns, -1))]
    batch = gmatch.lap(split)
    for (rows, chosen), cost in zip(batch, split, strict=True):
        assert rows.dtype == chosen.dtype == torch.int64
        expected = linear_sum_assignment(cost.detach().float().numpy())
        assert cost[rows, chosen].sum().item() == pytest.approx(cost[expected].sum().item(), rel=1e-2)
        assert len(rows) == min(cost.shape)
    batch.cost.sum().backward()
    assert costs.grad.sum() == sum(min(9, n) for n in columns)
    for k, (block, cost) in enumerate(zip(costs.grad.split(columns, -1), split, strict=True)):
        expected = torch.zeros_like(cost)
        expected[tuple(batch[k])] = 1
        assert torch.equal(block[k], expected)
    gmatch.verify([cost.detach() for cost in split], batch)


@pytest.mark.parametrize("problems", [4, 600])  # the short way and the long way
@pytest.mark.parametrize("options", [{}, {"maximize": True}, {"cost_limit": 0.3}], ids=str)
def test_batches_in_tensors(problems: int, options: dict[str, Any]) -> None:
    array = RNG.random((problems, 14, 20))
    given = torch.tensor(array)
    batch, expected = gmatch.lap(given, certify=True, **options), gmatch.lap(array, **options)
    for name in ("row_match", "col_match", "u", "v", "pair_costs", "size"):
        tensor = getattr(batch, name)
        assert isinstance(tensor, torch.Tensor) and np.array_equal(tensor.numpy(), getattr(expected, name)), name
    assert batch.row_match.dtype == torch.int64 and batch.status == expected.status
    assert np.allclose(batch.cost.numpy(), expected.cost, rtol=1e-14) and repr(batch) == repr(expected)
    assert isinstance(batch[1].cost, torch.Tensor)
    for one, two in zip(batch[1:4], expected[1:4], strict=True):
        assert one.pairs == two.pairs and one.row_match.tolist() == two.row_match.tolist()
    gmatch.verify(given, batch)


def test_masks_and_sizes() -> None:
    given = torch.tensor(RNG.random((3, 4, 5)), requires_grad=True)
    mask = torch.ones((3, 4, 5), dtype=torch.bool)
    mask[0, 1], mask[1, :, 2], mask[2] = False, False, False
    batch = gmatch.lap(given, mask=mask, certify=True)
    expected = gmatch.lap(given.detach().numpy(), mask=mask.numpy())
    for one, two in zip(batch, expected, strict=True):
        assert [side.tolist() for side in one] == [side.tolist() for side in two] and one.size == two.size
        assert one.row_match.tolist() == two.row_match.tolist() and one.pair_costs.tolist() == two.pair_costs.tolist()
    batch.cost.sum().backward()
    assert given.grad.sum(dim=(1, 2)).tolist() == [3, 4, 0] and not given.grad[~mask].any()


def test_a_batch_that_is_partial() -> None:
    given = torch.tensor([[[1.0, math.inf], [2.0, math.inf]], [[1.0, 2.0], [2.0, 1.0]]])
    batch = gmatch.lap(given, infeasible="partial")
    assert batch.status == ("partial", "optimal") and all(isinstance(side, torch.Tensor) for side in batch[0].cover)
    gmatch.verify(given, batch)


# JAX.


@pytest.fixture
def jax() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("jax")


def test_arrays_of_jax(jax: Any) -> None:
    cost = jax.numpy.asarray(COST)
    found = gmatch.lap(cost, certify=True)
    expected = gmatch.lap(COST)
    for name, array in tensors_of(found).items():
        assert array.tolist() == getattr(expected, name).tolist()
        assert isinstance(array, jax.Array) or name in "uv", name
    assert isinstance(found.cost, jax.Array) and found.cost == 5
    gmatch.verify(cost, found)
    batch = gmatch.lap(jax.numpy.stack([cost, cost + 1]))
    assert batch.cost.tolist() == [5, 8] and isinstance(batch.row_match, jax.Array)
    assert [tuple(map(list, map(np.asarray, one))) for one in batch] == [([0, 1, 2], [1, 0, 2])] * 2
    with pytest.raises(gmatch.InvalidInput):
        jax.grad(lambda c: gmatch.lap(c).cost)(cost)


@pytest.mark.parametrize("points", [40, 4000])
def test_two_tensors_of_coordinates_bring_a_warning(points):
    x, y = torch.rand(2, points, 3)
    for clouds in ((x, y), [x, y]):
        with pytest.warns(UserWarning, match="PointCosts") as caught:
            gmatch.lap(clouds)
        assert [warning.filename for warning in caught] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gmatch.lap([x, y, y]), gmatch.lap(torch.stack([x, y])), gmatch.lap(gmatch.CostBatch([x, y]))
        gmatch.lap(torch.rand(points, 6).split([3, 3], -1))  # costs of two images with three targets each


def test_costs_that_int64_does_not_hold_are_refused():
    half = torch.full((2, 2, 2), 4 * 10**18)
    assert gmatch.lap(half).cost.tolist() == [8 * 10**18] * 2 and gmatch.lap(half[0]).cost == 8 * 10**18
    batch = gmatch.lap(half + 10**18)
    with pytest.raises(gmatch.InvalidInput, match=r"int64 does not hold 10{19}, the cost of problem 0; use sum\(batch"):
        print(batch.cost)
    for alone in (batch[1], gmatch.lap(half[0] + 10**18)):
        assert sum(alone.pair_costs.tolist()) == 10**19
        with pytest.raises(gmatch.InvalidInput, match=r"int64 does not hold 10{19}, the cost; use sum\(assignment"):
            print(alone.cost)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "int64", "uint8"])
@pytest.mark.parametrize("options", [{}, {"maximize": True}, {"cost_limit": 3.0}, {"infeasible": "partial"}])
def test_small_tensors_take_the_short_way(dtype: str, options: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    tensor = torch.from_numpy(np.random.default_rng(2).integers(0, 9, (5, 7)).astype(dtype))
    expected = gmatch.lap(tensor, **options)  # the first tensor tells what its library is
    monkeypatch.setattr(gmatch.small, "in_its_library", None)
    for costs in (tensor, tensor.T.contiguous().T):
        found = gmatch.lap(costs, **options)
        rows, columns = found
        assert found.row_ind is rows and found.col_ind is columns and rows.dtype == columns.dtype == torch.int64
        for name in ("row_ind", "col_ind", "row_match", "col_match", "u", "v", "pair_costs"):
            one, other = getattr(found, name), getattr(expected, name)
            assert type(one) is torch.Tensor and one.dtype == other.dtype and one.equal(other)
        assert found.cost == expected.cost and found.status == expected.status
        assert found.maximize == expected.maximize and found.cost_limit == expected.cost_limit
        assert gmatch.verify(tensor, found)


@pytest.mark.parametrize("dtype", ["uint16", "uint32", "uint64"])
@pytest.mark.parametrize("shape", [(4, 5), (2, 4, 5), (600, 700)])
def test_integers_without_a_sign_are_proven(dtype: str, shape: tuple[int, ...]) -> None:
    tensor = torch.from_numpy(RNG.integers(1, 99, shape).astype(dtype))
    found = gmatch.lap(tensor, certify=True)
    assert found.pair_costs.dtype == tensor.dtype
    wrong = replace(found, pair_costs=torch.from_numpy(found.pair_costs.numpy() + np.dtype(dtype).type(1)))
    with pytest.raises(gmatch.CertificateError, match="^(problem 0: )?pair_costs must hold the entries"):
        gmatch.verify(tensor, wrong)


def test_other_small_tensors_take_the_way_through_python() -> None:
    gmatch.lap(torch.eye(3))
    needs_gradient = torch.eye(3, requires_grad=True)
    assert gmatch.lap(needs_gradient).cost.requires_grad
    assert gmatch.lap(torch.nn.Parameter(torch.eye(3))).cost.requires_grad
    inf = torch.inf
    partial = gmatch.lap(torch.tensor([[1.0, inf], [2.0, inf]]), infeasible="partial")
    assert partial.status == "partial" and [part.tolist() for part in partial.cover] == [[], [0]]
    assert gmatch.lap(torch.eye(3).to_sparse(), maximize=True).cost == 3
    assert gmatch.lap(torch.complex(torch.eye(3), torch.eye(3)).imag.conj()).cost == 0
    assert gmatch.lap(torch.eye(3).bfloat16()).pair_costs.dtype == torch.bfloat16
    with pytest.raises(gmatch.InvalidInput):
        gmatch.lap(torch.tensor([[1.0, torch.nan]]))


def test_partial_matchings_of_small_batches_of_tensors() -> None:
    inf = math.inf
    costs = torch.tensor([[[1.0, inf], [2.0, inf]], [[1.0, 3.0], [2.0, 9.0]]])
    for given in (costs, list(costs)):
        batch = gmatch.lap(given, infeasible="partial")
        assert batch.status == ("partial", "optimal") and batch.covers.keys() == {0}
        assert [side.tolist() for side in batch[0].cover] == [[], [0]] and batch[1].cover is None
        assert batch.covers[0][1].dtype == torch.int64 and batch[0].col_ind.tolist() == [0]
