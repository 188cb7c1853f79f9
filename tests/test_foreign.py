"""Costs and graphs that come from other libraries: they work, or the advice of the message leads to the answer."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import gmatch

COST = np.array([[4, 1, 3], [2, 0, 5], [3, 2, 2]])
# Pairs that are not stored would be cheapest as zeros, so a sparse and a dense reading of the matrix differ.
STORED = sp.coo_array(([5, 2, 4, 9, 8], ([0, 1, 1, 2, 2], [0, 0, 1, 2, 0])), shape=(3, 4))


def advice_of(call: Any) -> str:
    with pytest.raises(gmatch.InvalidInput) as caught:
        call()
    return str(caught.value)


# Sparse matrices, of which PyTorch sometimes warns.
quiet = pytest.mark.filterwarnings("ignore::UserWarning")


def torch_layouts() -> list[Any]:
    torch = pytest.importorskip("torch")
    dense = torch.tensor(STORED.toarray())
    numbers = torch.tensor(np.stack([STORED.row, STORED.col]))
    layouts = [torch.sparse_coo_tensor(numbers, torch.tensor(STORED.data), STORED.shape)]
    layouts += [dense.to_sparse_csr(), dense.to_sparse_csc()]
    return layouts


@quiet
def test_sparse_tensors_are_their_stored_pairs() -> None:
    torch = pytest.importorskip("torch")
    expected = gmatch.lap(STORED)
    for tensor in torch_layouts():
        for dtype in (torch.int64, torch.int8, torch.float32, torch.float64, torch.bfloat16, torch.float16):
            found = gmatch.lap(tensor.to(dtype), certify=True)
            assert found.col_ind.tolist() == expected.col_ind.tolist() and found.cost == expected.cost
            gmatch.verify(tensor.to(dtype), found)
            assert gmatch.SparseCosts(tensor.to(dtype)).entries == STORED.nnz
        assert gmatch.max_matching(tensor, certify=True).size == gmatch.max_matching(STORED).size == 3
        assert gmatch.lap(tensor, maximize=True, cost_limit=0).cost == gmatch.max_weight_matching(STORED).cost
    weights = torch_layouts()[0].float().requires_grad_()
    assert gmatch.lap(weights).cost == expected.cost


@quiet
def test_blocks_of_sparse_tensors() -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(3)
    for _ in range(10):
        dense = rng.integers(1, 9, (6, 8)) * np.kron(rng.random((3, 2)) < 0.7, np.ones((2, 4), int))
        stored = sp.bsr_array(dense, blocksize=(2, 4))
        expected = gmatch.lap(stored, infeasible="partial")
        for tensor in (torch.tensor(dense).to_sparse_bsr((2, 4)), torch.tensor(dense).to_sparse_bsc((2, 4))):
            assert gmatch.lap(tensor, infeasible="partial", certify=True).cost == expected.cost
            assert gmatch.SparseCosts(tensor).shape == (6, 8)


@quiet
def test_sparse_tensors_keep_zeros_and_sum_duplicates() -> None:
    torch = pytest.importorskip("torch")
    tensor = torch.sparse_coo_tensor(torch.tensor([[0, 0, 1], [1, 1, 0]]), torch.tensor([3, 4, 0]), (2, 2))
    found = gmatch.lap(tensor)
    assert found.pairs == [(0, 1), (1, 0)] and found.cost == 7


@quiet
def test_sparse_tensors_of_other_dimensions() -> None:
    torch = pytest.importorskip("torch")
    assert "one by one" in advice_of(lambda: gmatch.SparseCosts(torch.eye(3).repeat(2, 1, 1).to_sparse()))
    assert "dense" in advice_of(lambda: gmatch.SparseCosts(torch.ones(3, 3, 2).to_sparse(2)))
    assert "sparse Tensor" in advice_of(lambda: gmatch.DenseCosts(torch.eye(3).to_sparse()))
    assert "sparse Tensor" in advice_of(lambda: gmatch.lap([torch.eye(3).to_sparse()] * 2))


def test_tensors_that_require_a_gradient() -> None:
    torch = pytest.importorskip("torch")
    assert gmatch.lap(torch.tensor(COST, dtype=torch.float32, requires_grad=True)).cost == 5.0
    assert gmatch.lap(torch.nn.Parameter(torch.tensor(COST, dtype=torch.float64))).cost == 5.0


def test_arrays_of_pydata_sparse() -> None:
    sparse = pytest.importorskip("sparse")
    expected = gmatch.lap(STORED)
    for fill in (0.0, np.inf, np.nan):
        given = sparse.COO(np.stack([STORED.row, STORED.col]), STORED.data.astype(float), STORED.shape, fill_value=fill)
        for form in ("coo", "gcxs", "dok"):
            found = gmatch.lap(given.asformat(form), certify=True)
            assert found.cost == expected.cost
            gmatch.verify(given.asformat(form), found)
            assert gmatch.max_matching(given.asformat(form)).size == 3
    half = sparse.COO.from_scipy_sparse(STORED.astype(np.float32)).astype(np.float16)
    assert gmatch.lap(half).cost == expected.cost
    filled = sparse.COO(np.stack([STORED.row, STORED.col]), STORED.data, STORED.shape, fill_value=1)
    assert "cost.todense()" in advice_of(lambda: gmatch.lap(filled))
    assert gmatch.lap(filled.todense()).cost == 3
    assert "one by one" in advice_of(lambda: gmatch.SparseCosts(sparse.COO(np.stack([COST, COST]))))


class _FakeSparse:
    """An array as PyData's sparse has it."""

    __module__ = "sparse.numba_backend"
    format, ndim, shape, nnz = "coo", 2, STORED.shape, STORED.nnz
    data, coords = STORED.data, np.stack([STORED.row, STORED.col])

    def __init__(self, fill_value: float) -> None:
        self.fill_value = fill_value

    def asformat(self, form: str) -> _FakeSparse:
        return self

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("Cannot convert a sparse array to dense automatically.")


def test_a_fake_of_pydata_sparse() -> None:
    assert gmatch.lap(_FakeSparse(0), certify=True).cost == gmatch.lap(STORED).cost
    assert gmatch.max_matching(_FakeSparse(0)).size == 3
    assert "cost.todense()" in advice_of(lambda: gmatch.lap(_FakeSparse(7.0)))


# Frames.


def frames() -> list[Any]:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(COST, index=list("abc"), columns=list("xyz"))
    mixed = frame.astype({"x": "Int64", "y": "float32", "z": "UInt8"})
    return [
        frame, frame.astype("Int64"), frame.astype("Float32"), frame.astype("uint8"), mixed,
        frame.astype({"x": "Int8"}), frame.assign(y=frame.y.astype(bool)), frame.astype("category"),
        frame.astype(pd.SparseDtype(int, 0)),
    ]  # fmt: skip


def test_pandas() -> None:
    for frame in frames():
        found = gmatch.lap(frame, certify=True)
        assert found.cost == 5
        assert gmatch.verify(frame, found).cost == 5
        assert gmatch.lap([frame, frame]).cost.tolist() == [5, 5]
    assert gmatch.lap(frames()[1]).pair_costs.dtype == np.int64
    assert gmatch.lap(frames()[6]).pair_costs.dtype.kind == "i"


def test_missing_values_of_pandas() -> None:
    pd = pytest.importorskip("pandas")
    for dtype in ("Int64", "Float64", "UInt8", "float64", "Float32"):
        frame = pd.DataFrame(COST).astype(dtype)
        frame.iloc[1, 1] = pd.NA if dtype[0] in "IFU" else np.nan
        assert "entry (1, 1)" in (message := advice_of(lambda frame=frame: gmatch.lap(frame)))
        assert message.endswith("use forbid_nan=True")
        assert gmatch.lap(frame, forbid_nan=True, certify=True).cost == 5


def test_large_integers_of_pandas_stay_exact() -> None:
    pd = pytest.importorskip("pandas")
    large = 2**53 + 1
    frame = pd.DataFrame({"x": [large, 1], "y": [1, large]}, dtype="Int64")
    assert gmatch.lap(frame, maximize=True).cost == 2 * large
    frame.iloc[0, 1] = pd.NA
    assert "float64 may round" in advice_of(lambda: gmatch.lap(frame, forbid_nan=True))
    mixed = pd.DataFrame({"x": [large, 1], "y": [0.5, 1]})
    assert "column 'x'" in advice_of(lambda: gmatch.lap(mixed))


def test_objects_of_pandas() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(COST, dtype=object)
    assert "cost.convert_dtypes()" in advice_of(lambda: gmatch.lap(frame))
    assert gmatch.lap(frame.convert_dtypes()).cost == 5
    frame.iloc[0, 0] = pd.NA
    assert gmatch.lap(frame.convert_dtypes(), forbid_nan=True).cost == 5
    text = pd.DataFrame(COST.astype(str))
    assert "cost.astype(float)" in advice_of(lambda: gmatch.lap(text))
    assert gmatch.lap(text.astype(float)).cost == 5


def test_a_column_of_names() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"who": ["ann", "bob"], "cook": [4, 2], "paint": [1, 3]})
    assert "use cost.set_index('who')" in advice_of(lambda: gmatch.lap(frame))
    assert gmatch.lap(frame.set_index("who")).pairs == [("ann", "paint"), ("bob", "cook")]


def test_a_series_of_pairs() -> None:
    pd = pytest.importorskip("pandas")
    series = pd.DataFrame(COST, index=list("abc"), columns=list("xyz")).stack().drop(("a", "x"))
    message = advice_of(lambda: gmatch.lap(series))
    assert "use cost.unstack(), and forbid_nan=True" in message
    assert gmatch.lap(series.unstack(), forbid_nan=True).cost == 5


def test_graphs_of_frames() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(np.eye(3), dtype="Int64")
    frame.iloc[0, 1] = pd.NA
    given: list[tuple[Any, dict[str, Any]]] = [
        (frame, {}),
        (np.eye(3), {"matrix": np.eye(3)}),
        (np.eye(3).tolist(), {}),
    ]
    for graph, names in given:
        code = advice_of(lambda graph=graph: gmatch.max_matching(graph)).partition("use ")[2]
        scope = {"graph": graph, "scipy": __import__("scipy.sparse"), "numpy": np} | names
        assert gmatch.max_matching(eval(code, scope)).size == 3
        assert eval(code, scope).nnz == 3


def test_polars() -> None:
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame(COST, schema=["x", "y", "z"])
    for given in (frame, frame.cast(pl.Float32), frame.cast({"x": pl.UInt8}), frame.cast({"y": pl.Float64})):
        found = gmatch.lap(given, certify=True)
        assert found.cost == 5 and gmatch.verify(given, found).cost == 5
    missing = pl.DataFrame({"x": [4, 2, 3], "y": [1, None, 2], "z": [3, 5, 2]})
    assert advice_of(lambda: gmatch.lap(missing)).endswith("use forbid_nan=True")
    assert gmatch.lap(missing, forbid_nan=True).cost == 5
    decimals = frame.cast(pl.Decimal(10, 2))
    assert advice_of(lambda: gmatch.lap(decimals)).endswith("use cost.cast(polars.Float64)")
    named = pl.DataFrame({"who": ["ann", "bob"], "x": [4, 2], "y": [1, 0]})
    assert advice_of(lambda: gmatch.lap(named)).endswith("use cost.drop('who') if that column names the rows")
    assert gmatch.lap(named.drop("who")).cost == 3
    assert gmatch.lap(decimals.cast(pl.Float64)).cost == 5
    assert advice_of(lambda: gmatch.lap(frame.lazy())).endswith("use cost.collect()")
    large = pl.DataFrame({"x": [2**53 + 1, 1], "y": [1, None]})
    assert "float64 may round" in advice_of(lambda: gmatch.lap(large, forbid_nan=True))
    code = advice_of(lambda: gmatch.max_matching(missing)).partition("use ")[2]
    assert eval(code, {"graph": missing, "scipy": __import__("scipy.sparse")}).nnz == 8


class _FakeFrame:
    """As a DataFrame of polars."""

    __module__ = "polars.dataframe"
    shape = COST.shape

    def __init__(self, array: Any, dtypes: list[str]) -> None:
        self.array, self.dtypes, self.columns = array, dtypes, list("xyz")

    def __array__(self, *_: Any, **__: Any) -> Any:
        return self.array

    def to_numpy(self) -> Any:
        return self.array


def test_a_fake_of_a_frame() -> None:
    assert gmatch.lap(_FakeFrame(COST, ["Int64"] * 3)).cost == 5
    assert gmatch.lap(_FakeFrame(COST / 2, ["Int64", "Float64", "Float64"])).cost == 2.5
    large = np.array([[2.0**53, 1, 1], [1, np.nan, 1]])
    assert "column 'x'" in advice_of(lambda: gmatch.lap(_FakeFrame(large, ["Int64", "Float64", "Float64"])))
    assert gmatch.lap(_FakeFrame(large, ["Float64"] * 3), forbid_nan=True).cost == 2


def test_xarray() -> None:
    xr = pytest.importorskip("xarray")
    array = xr.DataArray(COST, dims=("row", "column"))
    found = gmatch.lap(array, certify=True)
    assert found.cost == 5 and gmatch.verify(array, found).cost == 5
    assert gmatch.lap(xr.concat([array, array], "problem")).cost.tolist() == [5, 5]
    assert advice_of(lambda: gmatch.lap(xr.Dataset({"a": array}))).endswith("use one of its variables, cost[name]")
    assert gmatch.lap(array.where(array > 2), forbid_nan=True, infeasible="partial").size == 2
    sparse = pytest.importorskip("sparse")
    assert gmatch.lap(xr.DataArray(sparse.COO.from_scipy_sparse(STORED))).cost == gmatch.lap(STORED).cost
    assert gmatch.lap(xr.Variable(("w", "t"), np.eye(2))).pairs == [(0, 1), (1, 0)]


def test_dask() -> None:
    dask = pytest.importorskip("dask.array")
    array = dask.from_array(COST, chunks=2)
    found = gmatch.lap(array)
    assert found.cost == 5 and gmatch.verify(array, found).cost == 5


# Input that is no matrix.


PAIRS = {"a": {"x": 2.0, "y": 0.0}, "b": {"x": 3.0}}


@pytest.mark.parametrize(
    "cost",
    [
        PAIRS,
        {(row, column): cost for row, costs in PAIRS.items() for column, cost in costs.items()},
        [(row, column, cost) for row, costs in PAIRS.items() for column, cost in costs.items()],
        {3: {4: 2, 5: 0}, 4: {4: 3}},
    ],
)
def test_the_advice_for_dicts_and_edge_lists(cost: Any) -> None:
    pandas = pytest.importorskip("pandas")
    message = advice_of(lambda: gmatch.lap(cost))
    assert "forbid_nan=True" in message
    code = re.search(r"use (pandas\.\S.*?\)), and", message)
    assert code is not None
    assert gmatch.lap(eval(code[1], {"cost": cost, "pandas": pandas}), forbid_nan=True).cost == 3


def test_the_advice_for_none() -> None:
    cost = [[1, None], [2, 3]]
    message = advice_of(lambda: gmatch.lap(cost))
    assert "use np.array(cost, np.float64), which makes NaN of None, and forbid_nan=True" in message
    assert gmatch.lap(np.array(cost, np.float64), forbid_nan=True).cost == 4


# Errors inside of a user's class.


class Evil:
    """An array whose methods raise."""

    def __init__(self, place: str, error: BaseException) -> None:
        self.place, self.error = place, error

    def __getattribute__(self, name: str) -> Any:
        if name in ("place", "error", "__class__", "__dict__"):
            return object.__getattribute__(self, name)
        if name == self.place:
            raise self.error
        if name == "shape":
            return (2, 2)
        return object.__getattribute__(self, name)


class EvilArray(Evil):
    shape = (2, 2)

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise self.error


class EvilDLPack(Evil):
    shape = (2, 2)

    def __dlpack__(self, *_: Any, **__: Any) -> Any:
        raise self.error

    def __dlpack_device__(self) -> Any:
        return (1, 0)


class EvilDevice(EvilDLPack):
    def __dlpack_device__(self) -> Any:
        raise self.error


class EvilCuda(Evil):
    @property
    def __cuda_array_interface__(self) -> Any:
        raise self.error


ERRORS = (
    KeyError("evil"), AttributeError("evil"), IndexError(3), ZeroDivisionError(), OSError("evil"), StopIteration(),
    RecursionError(), UnicodeError("evil"), ValueError("evil"), RuntimeError("evil"), AssertionError(),
    NotImplementedError(), ArithmeticError(), Exception("evil"), LookupError(), EOFError(), TypeError("evil"),
)  # fmt: skip


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_errors_of_others_are_the_cause_of_ours(error: Exception) -> None:
    good = gmatch.lap(np.eye(2))
    evils = [EvilArray("", error), EvilDLPack("", error), EvilDevice("", error)]
    if not isinstance(error, AttributeError):  # that means: there is none
        evils += [EvilCuda("", error), Evil("ndim", error), Evil("shape", error), Evil("dtype", error)]
    for evil in evils:
        calls = [
            lambda evil=evil: gmatch.DenseCosts(evil), lambda evil=evil: gmatch.lap(evil),
            lambda evil=evil: gmatch.lap([evil, evil]), lambda evil=evil: gmatch.CostBatch([evil]),
            lambda evil=evil: gmatch.verify(evil, good), lambda evil=evil: gmatch.max_weight_matching(evil),
        ]  # fmt: skip
        for call in calls:
            with pytest.raises(gmatch.InvalidInput) as caught:
                call()
            if isinstance(evil, EvilArray | EvilDLPack):
                assert caught.value.__cause__ is error


def test_errors_of_others_in_options() -> None:
    error = KeyError("evil")
    evil = EvilArray("", error)
    for call in (
        lambda: gmatch.lap(np.eye(2), initial=evil), lambda: gmatch.lap(np.eye(2), duals=(evil, evil)),
        lambda: gmatch.lap(np.zeros((1, 2, 2)), mask=evil), lambda: gmatch.lap(np.zeros((1, 2, 2)), sizes=evil),
    ):  # fmt: skip
        with pytest.raises(gmatch.InvalidInput) as caught:
            call()
        assert caught.value.__cause__ is error


@pytest.mark.parametrize("error", [KeyboardInterrupt(), MemoryError("no room"), SystemExit(3)])
def test_what_passes(error: BaseException) -> None:
    for evil in (EvilArray("", error), EvilDLPack("", error), EvilCuda("", error)):
        for call in (gmatch.lap, gmatch.DenseCosts, lambda evil: gmatch.CostBatch([evil])):
            with pytest.raises(type(error)) as caught:
                call(evil)
            assert caught.value is error


def test_infinities_of_frames_forbid() -> None:
    pd = pytest.importorskip("pandas")
    assert gmatch.lap(pd.DataFrame([[math.inf, 1.0], [2.0, 9.0]])).cost == 3
