"""Costs of 8 and 16 bits, which the programs read as they lie."""

from __future__ import annotations

import sys
import tracemalloc
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import scipy.optimize
from conftest import GPU

import gmatch
from gmatch import DenseCosts, InvalidInput, _native
from gmatch.arrays import as_dense_array
from gmatch.programs import catalogue
from gmatch.types import NARROW_TYPES, is_narrow, number_type

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
TYPES = [np.dtype(name) for name in ("bool", "int8", "uint8", "int16", "uint16", "float16")] + [BFLOAT16]
METHODS: list[Any] = ["auto", "jv", "core", gmatch.Core(), "tree"]


def drawn(rng: np.random.Generator, dtype: np.dtype[Any], shape: tuple[int, int], *, ties: bool = False) -> np.ndarray:
    """Costs from one end of a type to the other, or of three values."""
    if dtype.kind in "iu":
        ends = np.iinfo(dtype)
        return rng.integers(*((0, 3) if ties else (ends.min, int(ends.max) + 1)), shape).astype(dtype)
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    return (rng.integers(0, 3, shape) if ties else rng.normal(size=shape) * 10 ** rng.uniform(-6, 4)).astype(dtype)


def least(cost: np.ndarray, maximize: bool = False) -> float:
    wide = cost.astype(np.float64)
    return float(wide[scipy.optimize.linear_sum_assignment(wide, maximize)].sum())


@pytest.mark.parametrize("dtype", TYPES, ids=lambda dtype: dtype.name)
@pytest.mark.parametrize("method", METHODS, ids=str)
@pytest.mark.parametrize("threads", [None, 3])
def test_minimized_and_maximized(dtype: np.dtype[Any], method: Any, threads: int | None) -> None:
    rng = np.random.default_rng(len(dtype.name))
    for case in range(24):
        rows, columns = rng.integers(1, 70, 2)
        cost = drawn(rng, dtype, (rows, columns), ties=case % 3 == 0)
        if case % 4:
            cost = np.asfortranarray(cost) if case % 4 == 1 else np.repeat(cost, case % 4, axis=1)[:, :: case % 4]
        maximize = case % 2 == 1
        result = gmatch.lap(cost, method=method, maximize=maximize, threads=threads)
        gmatch.verify(cost, result)
        assert result.cost == pytest.approx(least(cost, maximize), rel=1e-12, abs=1e-300)
        assert result.pair_costs.dtype == number_type(DenseCosts(cost).array.dtype)


@pytest.mark.parametrize("dtype", TYPES, ids=lambda dtype: dtype.name)
@pytest.mark.skipif(not GPU, reason="needs a GPU")
def test_on_a_gpu(dtype: np.dtype[Any]) -> None:
    import cupy

    rng = np.random.default_rng(4)
    for case, shape in enumerate([(5, 5), (300, 300), (700, 900), (900, 700), (2000, 2000)]):
        cost = drawn(rng, dtype, shape, ties=case == 1)
        bits = cupy.asarray(cost.view(f"u{dtype.itemsize}"))
        there = bits.view(dtype)
        there = cupy.asfortranarray(bits).view(dtype) if case == 2 else there
        for method in ("auto", "core", "tree"):
            for maximize in (False, True):
                result = gmatch.lap(there, method=method, maximize=maximize)
                assert result.cost == pytest.approx(least(cost, maximize), rel=1e-12)
                gmatch.verify(cost, result.moved(cupy.asnumpy))
                gmatch.verify(there, result)
        assert DenseCosts(there).array.data.mem is there.data.mem


@pytest.mark.parametrize("dtype", TYPES, ids=lambda dtype: dtype.name)
def test_large_costs_are_read_where_they_lie(dtype: np.dtype[Any]) -> None:
    cost = drawn(np.random.default_rng(1), dtype, (1600, 1700))
    costs = DenseCosts(cost)
    assert np.shares_memory(costs.array, cost) and costs.is_narrow
    for method in ("jv", "core", gmatch.Core(), "tree"):
        tracemalloc.start()
        result = gmatch.lap(costs, method=method, threads=2 if method == gmatch.Core() else None)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < cost.size, "a wider copy takes two bytes and more for each entry"
        gmatch.verify(costs, result)
        assert result.cost == pytest.approx(least(cost), rel=1e-12)


@pytest.mark.parametrize("dtype", [np.dtype(np.float16), BFLOAT16], ids=lambda dtype: dtype.name)
def test_every_float_is_the_number_it_stands_for(dtype: np.dtype[Any]) -> None:
    every = np.arange(1 << 16, dtype=np.uint16).view(dtype)
    finite = every[np.isfinite(every.astype(np.float32))]
    for number in np.array_split(finite, 300):  # as the range of an 1 x 1 matrix, and of some
        lowest, highest, *odd = _native.inspect_costs(
            number[None].view(np.uint16) if dtype == BFLOAT16 else number[None], dtype.name, 1
        )
        assert (lowest, highest) == (number.astype(np.float64).min(), number.astype(np.float64).max())
        assert odd == [False, False, False]
    rng = np.random.default_rng(2)
    for _ in range(300):
        few = rng.choice(finite, (3, 3))
        result = gmatch.lap(few, method="jv")
        assert (result.pair_costs == few[result.row_ind, result.col_ind].astype(np.float32)).all()
        gmatch.verify(few, result)
    for odd_one, place in ((np.nan, 2), (np.inf, 3), (-np.inf, 4)):
        matrix = np.array([[1, odd_one], [0, 2]]).astype(dtype)
        bits = matrix.view(np.uint16) if dtype == BFLOAT16 else matrix
        found = _native.inspect_costs(bits, dtype.name, 1)
        assert [k for k in (2, 3, 4) if found[k]] == [place]


@pytest.mark.parametrize("dtype", TYPES, ids=lambda dtype: dtype.name)
def test_options(dtype: np.dtype[Any]) -> None:
    rng = np.random.default_rng(3)
    for shape in ((9, 9), (12, 7), (30, 40)):
        cost = drawn(rng, dtype, shape)
        wide = cost.astype(np.int64 if dtype.kind in "biu" else np.float64)
        limit = float(np.median(wide))
        duals = [np.zeros(length, np.int64 if dtype.kind in "biu" else np.float64) for length in shape]
        for options in (
            {"cost_limit": limit}, {"cost_limit": limit + 0.5, "maximize": True}, {"deterministic": True},
            {"infeasible": "partial"}, {"duals": duals},
        ):  # fmt: skip
            result, expected = (gmatch.lap(given, **options) for given in (cost, wide))
            gmatch.verify(cost, result)
            assert result.cost == pytest.approx(expected.cost, rel=1e-12, abs=1e-300)
            if "deterministic" in options:
                assert (result.col_ind == expected.col_ind).all()
        pairs = [gmatch.max_weight_matching(given, pairs=4) for given in (cost, wide)]
        gmatch.verify(cost, pairs[0])
        assert pairs[0].cost == pytest.approx(pairs[1].cost)
        assert gmatch.bottleneck(cost).threshold == gmatch.bottleneck(wide).threshold
        assert gmatch.k_best(cost, 3).costs.tolist() == pytest.approx(gmatch.k_best(wide, 3).costs.tolist())


@pytest.mark.parametrize("dtype", [np.dtype(np.float16), BFLOAT16], ids=lambda dtype: dtype.name)
def test_forbidden_pairs(dtype: np.dtype[Any]) -> None:
    cost = np.array([[1, np.inf, 2], [np.nan, 3, np.inf], [4, 5, np.inf]]).astype(dtype)
    with pytest.raises(InvalidInput, match=r"NaN; entry \(1, 0\) does"):
        gmatch.lap(cost)
    result = gmatch.lap(cost, forbid_nan=True)
    gmatch.verify(cost, result)
    assert result.col_ind.tolist() == [2, 1, 0]
    cost[0] = np.inf
    with pytest.raises(gmatch.Infeasible):
        gmatch.lap(cost, forbid_nan=True)


@pytest.mark.parametrize("method", ["classical", "munkres"])
def test_methods_that_read_none_say_what_to_do(method: str) -> None:
    with pytest.raises(InvalidInput, match=r"solves no dense costs of 8 or 16 bits .* or cost.astype\(np.float32\)"):
        gmatch.lap(np.ones((3, 3), np.int8), method=method)
    assert gmatch.lap(np.ones((3, 3), np.int32), method=method).cost == 3


def test_types_of_another_byte_order_are_copied() -> None:
    assert DenseCosts(np.ones((2, 2), ">i2")).array.dtype == np.int32


def test_tensors_of_brain_floats(monkeypatch: pytest.MonkeyPatch) -> None:
    """bfloat16 of PyTorch, which NumPy reads as integers of 16 bits."""
    bits = np.array([[1, 2], [3, 5]]).astype(BFLOAT16).view(np.int16)

    class Tensor:
        dtype = "torch.bfloat16"

        def view(self, dtype: object) -> np.ndarray:
            assert dtype == "torch.int16"
            return bits

        def float(self) -> np.ndarray:
            return bits.view(BFLOAT16).astype(np.float32)

    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(int16="torch.int16"))
    array = as_dense_array(Tensor())
    assert array.dtype == BFLOAT16 and np.shares_memory(array, bits)
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    assert as_dense_array(Tensor()).dtype == np.float32


def test_tables_agree() -> None:
    """The tables of Python, of the extension and of the GPU's programs."""
    for name, number in NARROW_TYPES.items():
        dtype = BFLOAT16 if name == "bfloat16" else np.dtype(name)
        assert is_narrow(dtype) and number_type(dtype) == number
        seen = _native.inspect_costs(np.zeros((1, 1), f"u{dtype.itemsize}"), name, 1)
        assert seen == (0, 0, False, False, False) and isinstance(seen[0], int if number.kind == "i" else float)
    assert {words["type"] for words in catalogue.NARROW} == NARROW_TYPES.keys()
    with pytest.raises(ValueError, match="not stored as the name"):
        _native.inspect_costs(np.zeros((1, 1), np.int8), "int16", 1)
    with pytest.raises(ValueError, match="expected a type of costs"):
        _native.inspect_costs(np.zeros((1, 1), np.int8), "uint32", 1)
