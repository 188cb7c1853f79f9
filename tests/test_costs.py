"""What `DenseCosts` takes, what it refuses and why, and that nothing is copied without need."""

import ctypes
import math
import re
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from assignment_oracles import on
from conftest import host

import gmatch
from gmatch import CostBatch, DenseCosts, InvalidInput
from gmatch.methods.choice import values_per_row
from gmatch.problems.limits import blocks_of

INF = math.inf


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64", "longlong", "intc"])
@pytest.mark.parametrize("order", ["C", "F", "sliced", "reversed", "broadcast"])
def test_nothing_is_copied(dtype: str, order: str) -> None:
    base = np.arange(48).reshape(6, 8).astype(dtype)
    cost = {
        "C": base,
        "F": np.asfortranarray(base),
        "sliced": base[::2, 1::3],
        "reversed": base[::-1, ::-1],
        "broadcast": np.broadcast_to(base[0], (5, 8)),
    }[order]
    for given in (cost, cost.T):
        costs = DenseCosts(given)
        assert np.shares_memory(costs.array, given)
        assert (costs.matrix == given).all() and costs.shape == given.shape
        assert costs.array.shape[0] <= costs.array.shape[1]
        rows, columns = given.shape
        assert costs.transposed == (rows > columns or rows == columns and given.strides[0] < given.strides[1])


@pytest.mark.parametrize(
    "given, held",
    [
        ("uint32", "int64"), ("uint64", "int64"), (">f2", "float32"), (">i4", "int32"), (">i8", "int64"),
        (">f4", "float32"), (">f8", "float64"), (">i2", "int32"),
    ],
)  # fmt: skip
def test_types_that_are_widened(given: str, held: str) -> None:
    cost = np.array([[0, 1, 1], [1, 0, 0]]).astype(given)
    costs = DenseCosts(cost)
    assert costs.array.dtype == costs.dtype == held and costs.array.dtype.isnative
    assert (costs.array == cost).all()
    if np.dtype(given).kind in "iu" and np.dtype(given).itemsize < 8:
        assert DenseCosts(np.array([[np.iinfo(given).max, 1]], given)).highest == np.iinfo(given).max


def test_arrays_that_cannot_be_read_in_place_are_copied() -> None:
    records = np.zeros(6, np.dtype([("cost", "f8"), ("name", "S3")]))
    records["cost"] = range(6)
    fields = np.lib.stride_tricks.as_strided(records["cost"], (2, 3), (33, 11))
    shifted = np.frombuffer(bytearray(49), np.uint8)[1:].view(np.float64).reshape(2, 3)
    for cost in (fields, shifted):
        costs = DenseCosts(cost)
        assert (costs.array == cost).all() and costs.array.flags.aligned
        assert all(stride % 8 == 0 for stride in costs.array.strides)


class OnlyDlpack:
    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack__(self, **options: object) -> object:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


class OnlyArray:
    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
        return self.array


class NeedsGrad:
    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
        raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")


def test_arrays_of_other_libraries() -> None:
    array = np.arange(6.0).reshape(2, 3)
    for given in (OnlyDlpack(array), OnlyArray(array), memoryview(array)):
        assert np.shares_memory(DenseCosts(given).array, array)
    assert DenseCosts((ctypes.c_int * 3 * 2)((3, 1, 2), (1, 2, 3))).dtype == np.int32
    assert DenseCosts([[1, 2], [3, 4]]).dtype == np.int64
    assert DenseCosts(((True, False),)).dtype == np.int32
    assert DenseCosts([[1, 2.5]]).dtype == np.float64
    assert DenseCosts([[]]).shape == (1, 0)
    assert DenseCosts(np.arange(2).reshape(1, 2).view(np.matrix)).shape == (1, 2)
    assert DenseCosts(np.ma.array([[1.0, 2.0]])).shape == (1, 2)


@pytest.mark.parametrize(
    "cost, message",
    [
        ([1, 2, 3], "expected a matrix of costs, with rows and columns; got list of 1 dimensions"),
        (7, "expected a matrix of costs, with rows and columns; got int of 0 dimensions"),
        (None, "expected a matrix of costs, with rows and columns; got NoneType of 0 dimensions"),
        (
            np.zeros((2, 3, 4)),
            "expected a matrix of costs, with rows and columns; got ndarray of 3 dimensions",
        ),
        (
            sp.csr_array(np.eye(2)),
            "expected a dense matrix of costs; got a sparse csr_array; make a dense one, with inf (-inf when "
            "maximizing) for the pairs that are not stored",
        ),
        (
            np.ma.array([[1.0, 2.0]], mask=[[True, False]]),
            "cost must not be masked; use cost.astype(float).filled(inf) to forbid the masked pairs (-inf to maximize)",
        ),
        (
            np.eye(2) * 1j,
            "cost must hold real numbers: bool, int8 to int64, uint8 to uint64, or float16 to float64; got complex128",
        ),
        (
            np.eye(2).astype(str),
            "cost must hold real numbers: bool, int8 to int64, uint8 to uint64, or float16 to float64; got <U32",
        ),
        (
            np.eye(2).astype(object),
            "cost must hold real numbers: bool, int8 to int64, uint8 to uint64, or float16 to float64; got object; "
            "use cost.astype(np.float64)",
        ),
        (
            np.eye(2).astype("m8[s]"),
            "cost must hold real numbers: bool, int8 to int64, uint8 to uint64, or float16 to float64; "
            "got timedelta64[s]",
        ),
        (
            np.array([[2**63, 1]], np.uint64),
            "cost must hold integers below 2**63; the largest is 9223372036854775808; subtract the least cost from "
            "all, (cost - cost.min()).astype(np.int64), which changes no answer without a cost_limit",
        ),
        (
            NeedsGrad(),
            "cost must be an array of numbers; got NeedsGrad (Can't call numpy() on Tensor that requires grad. Use "
            "tensor.detach().numpy() instead.)",
        ),
    ],
)
def test_what_is_no_matrix_of_numbers(cost: object, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        DenseCosts(cost)
    assert str(caught.value) == message


def test_long_doubles_and_ragged_lists() -> None:
    with pytest.raises(InvalidInput, match=r"got (float|long)\w+; use cost.astype\(np.float64\)$"):
        DenseCosts(np.eye(2).astype(np.longdouble))
    with pytest.raises(InvalidInput, match="^cost must be an array of numbers; got list .*inhomogeneous shape"):
        DenseCosts([[1, 2], [3]])


@pytest.mark.parametrize(
    "cost, number",
    [
        ([[2**63, 2**53 + 1], [1, 2]], 2**63),
        ([[2**63, 0]], 2**63),
        ([[0.5, 2**53 + 1]], 2**53 + 1),
        (((np.inf, 0.5), (1, -(2**60) - 1)), -(2**60) - 1),
        ([[np.int64(2**60 + 1), 0.5]], 2**60 + 1),
        ([np.array([2**60 + 1]), np.array([0.5])], 2**60 + 1),
    ],
)
def test_lists_of_integers_that_numpy_would_round(cost: Any, number: int) -> None:
    for given in (cost, [cost, cost]):
        with pytest.raises(InvalidInput, match=rf"cost must not mix {number} with smaller integers or with floats"):
            gmatch.lap(given)


def test_lists_of_large_numbers_that_numpy_holds() -> None:
    for cost in ([[10**18, 0.5]], [[1e300, 1, np.inf]], [[2**62, 2**62 + 1]], [[2.0**70, 2**60]]):
        assert DenseCosts(cost).matrix.tolist() == cost


def test_masked_rows_in_lists() -> None:
    masked, plain = np.ma.array([1.0, 2.0], mask=[True, False]), np.ma.array([5.0, 1.0])
    for cost in ([masked, plain], [[plain, plain], [plain, masked]], [[1.0, 2.0], masked]):
        with pytest.raises(InvalidInput, match="^cost must not be masked; use "):
            gmatch.lap(cost)
    assert gmatch.lap([plain, [0.0, 3.0]]).col_ind.tolist() == [1, 0]
    with pytest.raises(InvalidInput, match="^cost must be an array of numbers; got list .*masked element"):
        gmatch.lap([[np.ma.array(3, mask=True), 1]])


def test_lists_that_are_deep_or_hold_themselves() -> None:
    itself: list = []
    itself.append(itself)
    deep: list = []
    for _ in range(10_000):
        deep = [deep]
    for cost in (itself, deep, [deep, deep], [[[1], 2]], [[[1], [2]], [3, 4]]):
        with pytest.raises(InvalidInput, match="must be an array of numbers; got list|expected a matrix of costs"):
            gmatch.lap(cost)


def test_damaged_sparse_matrices_are_known_by_their_type() -> None:
    damaged = sp.coo_array(np.eye(2))
    damaged.data = damaged.data[:-1]
    with pytest.raises(InvalidInput, match="^expected a dense matrix of costs; got a sparse coo_array"):
        DenseCosts(damaged)


@pytest.mark.parametrize("maximize", [np.array([True, False]), sp.eye_array(2)])
def test_maximize_is_one_truth(maximize: Any) -> None:
    for make in (DenseCosts, lambda cost, **options: CostBatch(cost[None], **options)):
        with pytest.raises(InvalidInput, match=f"^maximize must be True or False; got {type(maximize).__name__}$"):
            make(np.eye(2), maximize=maximize)
        assert make(np.eye(2), maximize=np.array([1])).maximize is True


@pytest.mark.parametrize("wrong", [(1.0, 2.0, True, False, False, False), (1.0, 2.0, False, False, True, False)])
def test_costs_that_another_thread_changes(wrong: tuple, monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry that the check saw has changed when the error looks for it."""
    monkeypatch.setattr("gmatch.devices.cpu.inspect_costs", lambda array, threads: wrong)
    with pytest.raises(InvalidInput, match="^cost must not be changed by another thread while it is read; it was, "):
        DenseCosts(np.ones((2, 2)))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize(
    "value, maximize, what",
    [
        (np.nan, False, "NaN"),
        (np.nan, True, "NaN"),
        (-INF, False, r"-inf when minimizing \(\+inf forbids a pair\)"),
        (INF, True, r"\+inf when maximizing \(-inf forbids a pair\)"),
    ],
)
def test_values_that_are_no_costs(dtype: str, value: float, maximize: bool, what: str, device: str) -> None:
    for shape in ((1, 1), (3, 4), (400, 700), (700, 400)):
        for entry in ((0, 0), (shape[0] - 1, shape[1] - 1), (shape[0] // 2, shape[1] // 3)):
            cost = np.ones(shape, dtype)
            cost[entry] = value
            cost[-1, -1] = value
            advice = "; if NaN is for a pair that is not allowed, use forbid_nan=True" if what == "NaN" else ""
            message = rf"^cost must not hold {what}; entry {re.escape(str(entry))} does{advice}$"
            with pytest.raises(InvalidInput, match=message):
                DenseCosts(on(cost, device), maximize=maximize)


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_the_range(dtype: str, device: str) -> None:
    rng = np.random.default_rng(0)
    for shape in ((1, 1), (3, 5), (5, 3), (600, 500)):
        entries = rng.integers(-100, 100, shape).astype(dtype)
        if np.dtype(dtype).kind == "f":
            forbidden = rng.random(shape) < 0.3
            entries[forbidden] = INF
            for rows in (slice(0, 1), slice(0, shape[0] // 2)):
                entries[rows] = INF
        for cost, sign in ((entries, 1), (-entries, -1)):
            costs = DenseCosts(on(cost, device), maximize=sign < 0)
            finite = entries[np.isfinite(entries)]
            expected = (finite.min(), finite.max()) if finite.size else (0, 0)
            assert (costs.lowest, costs.highest, costs.forbids) == (*expected, finite.size < entries.size)
            assert isinstance(costs.lowest, float if np.dtype(dtype).kind == "f" else int)


def test_nothing_but_forbidden_pairs(device: str) -> None:
    for shape in ((1, 1), (700, 700)):
        for value in (INF, -INF):
            costs = DenseCosts(on(np.full(shape, value), device), maximize=value < 0)
            assert (costs.lowest, costs.highest, costs.forbids) == (0, 0, True)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_is_known_to_be_whole(dtype: str, device: str) -> None:
    """Integers are; so are floats without fractions on a GPU, where the pass over floats finds out at no cost."""
    for shape in ((3, 4), (300, 500)):
        numbers = np.arange(-5, math.prod(shape) - 5).reshape(shape)
        floats = numbers.astype(dtype)
        floats[1, 1] = INF
        assert DenseCosts(on(numbers, device)).whole
        assert DenseCosts(on(floats, device)).whole == (device == "gpu")
        for entry in ((0, 0), (shape[0] - 1, shape[1] - 1)):
            broken = floats.copy()
            broken[entry] += 0.5
            costs = DenseCosts(on(broken, device))
            assert not costs.whole and values_per_row(costs) == INF


def test_where_it_lives(device: str) -> None:
    costs = DenseCosts(on(np.eye(3, 2), device))
    assert costs.device == device and costs.on(device) is costs
    there = costs.on("cpu")
    assert there.device == "cpu" and type(there.array) is np.ndarray and there.transposed
    assert (there.matrix == np.eye(3, 2)).all()


class TestOverflow:
    def test_int64(self) -> None:
        # 32 * spread + magnitude < 2**63 - 1
        most = (2**63 - 2) // 33
        assert DenseCosts(np.array([[0, most]])).highest == most
        assert DenseCosts(np.array([[0, -most]]), maximize=True).highest == most
        assert not DenseCosts(np.array([[0, most]])).overflows
        assert DenseCosts(np.array([[0, most + 1]])).overflows
        with pytest.raises(InvalidInput) as caught:
            DenseCosts(np.array([[0, most + 1, int(0.618 * most)]]))
        assert str(caught.value) == (
            "sums of these costs could overflow int64: 32 * (highest - lowest) + the largest magnitude must be below "
            f"2**63 - 1; got 32 * {most + 1} + {most + 1}; divide by a common factor, or, if the differences that "
            "float64 rounds away do not matter (beyond 2**53), use cost.astype(np.float64)"
        )
        # A large magnitude with a small range is allowed, except for the number that has no opposite.
        assert DenseCosts(np.full((3, 3), 2**63 - 2)).lowest == 2**63 - 2
        for maximize in (False, True):
            costs = DenseCosts(np.full((3, 3), -(2**63)), maximize=maximize)
            assert gmatch.lap(costs, certify=True).cost == -3 * 2**63

    @pytest.mark.parametrize("method", ["auto", "jv", "core", "tree", "classical", "munkres"])
    def test_what_programs_take_for_forbidden_is_a_cost(self, method: str, device: str) -> None:
        if device == "gpu" and method == "jv":
            return
        most = 2**63 - 1
        for cost, maximize in (([[most]], False), ([[-most]], True), (np.array([[most]], np.uint64), False)):
            there = on(np.asarray(cost), device)
            assignment = gmatch.lap(there, maximize=maximize, method=method, certify=True)
            assert assignment.cost == (-most if maximize else most)
            if method not in ("core", "munkres"):
                batch = gmatch.lap(on(np.array([cost, cost]), device), maximize=maximize, method=method, certify=True)
                assert [one.cost for one in batch] == [assignment.cost] * 2
            there = on(np.full((3, 3), 1 - most if maximize else most - 1), device)
            assert gmatch.lap(there, maximize=maximize, method=method, certify=True).size == 3

    def test_nor_a_limit(self) -> None:
        for most in (2**63 - 1, 2**63, 2**64):
            for kind in (np.asarray, sp.csr_array):
                for limit, maximize in ((-most, False), (most, True)):
                    with pytest.raises(InvalidInput, match="could overflow int64"):
                        gmatch.lap(kind(np.ones((2, 2), int)), cost_limit=limit, maximize=maximize)
        assert DenseCosts(np.ones((2, 2), int), cost_limit=2**63 - 1).limit is None
        with pytest.raises(InvalidInput, match="could overflow int64"):
            gmatch.lap(sp.csr_array(np.ones((2, 2), int)), cost_limit=2**63 - 1)

    def test_int32_never_overflows(self) -> None:
        cost = np.array([[-(2**31), 2**31 - 1]], np.int32)
        costs = DenseCosts(cost, maximize=True)
        assert (costs.lowest, costs.highest) == (1 - 2**31, 2**31)

    def test_floats(self) -> None:
        assert DenseCosts(np.array([[0, 1e306]])).highest == 1e306
        for cost in ([[0, 1e308]], [[-1e308, 1e308]], np.full((3, 3), 1e308)):
            assert DenseCosts(cost).overflows and gmatch.lap(cost, certify=True).size == len(cost)
        with pytest.raises(InvalidInput, match="^sums of these costs could overflow float64: highest - lowest is "):
            DenseCosts([[0, 1e308, 0.618e308]])
        assert DenseCosts(np.array([[3.4e38, -3.4e38]], np.float32)).lowest < -3e38

    def test_a_limit_may_keep_it_from_happening(self) -> None:
        cost = np.array([[0, 2**62]])
        assert DenseCosts(cost, cost_limit=1000).highest == 1000
        with pytest.raises(InvalidInput, match="could overflow int64"):
            DenseCosts(np.zeros((1, 1), np.int32), cost_limit=-(2**63))
        # The number that has no opposite is refused.
        for make in (DenseCosts, lambda cost, **options: CostBatch(cost[None], **options)):
            with pytest.raises(InvalidInput, match=r"^cost must not hold -2\*\*63 when maximizing"):
                make(np.array([[0, -(2**63)]]), maximize=True, cost_limit=0)


class TestLimits:
    @pytest.mark.parametrize(
        "cost_limit, maximize, limit",
        [
            (5, False, 5), (5.0, False, 5), (5.5, False, 5.5), (9, False, None), (INF, False, None),
            (np.int8(5), False, 5), (np.array(5), False, 5), (np.array(5.0), False, 5), (np.float32(2.5), False, 2.5),
            (10**40, False, None), (None, False, None), (5, True, -5), (0, True, None), (-INF, True, None),
            (-1.5, True, None),
        ],
    )  # fmt: skip
    def test_of_integers(self, cost_limit: object, maximize: bool, limit: float | None) -> None:
        costs = DenseCosts(np.array([[0, 9]]), maximize=maximize, cost_limit=cost_limit)
        assert costs.limit == limit and type(costs.limit) is type(limit)
        assert costs.array.dtype == (np.float64 if isinstance(limit, float) else np.int64)
        assert costs.dtype == np.int64
        assert costs.highest == (max(0, 9 * (not maximize)) if limit is None else limit)

    def test_of_floats(self) -> None:
        cost = np.array([[0, 9]], np.float32)
        costs = DenseCosts(cost, cost_limit=5)
        assert costs.limit == 5.0 and type(costs.limit) is float
        assert costs.array is cost or costs.array.base is cost or np.shares_memory(costs.array, cost)
        assert DenseCosts(np.array([[0, INF]]), cost_limit=50).limit == 50.0
        assert DenseCosts(np.array([[0, INF]]), cost_limit=50).highest == 50.0

    @pytest.mark.parametrize("cost_limit", ["5", b"5", [5, 6], 1j, np.array([1, 2]), object])
    @pytest.mark.parametrize("dtype", ["int64", "float64"])
    def test_what_is_no_number(self, cost_limit: object, dtype: str) -> None:
        with pytest.raises(InvalidInput) as caught:
            DenseCosts(np.array([[0, 9]], dtype), cost_limit=cost_limit)
        assert str(caught.value) == f"cost_limit must be a number; got {cost_limit!r}"

    def test_integers_that_float64_does_not_hold(self) -> None:
        with pytest.raises(InvalidInput) as caught:
            DenseCosts(np.array([[0, 2**53 + 1]]), cost_limit=0.5)
        assert str(caught.value) == (
            "cost_limit must be whole for integer costs beyond 2**53, which float64 does not hold; got 0.5 with a cost "
            "of magnitude 9007199254740993"
        )
        assert DenseCosts(np.array([[0, 2**53]]), cost_limit=0.5).array.dtype == np.float64


def test_it_is_frozen() -> None:
    costs = DenseCosts(np.eye(2), cost_limit=0.5)
    with pytest.raises(AttributeError, match="^a DenseCosts is frozen; make a new one instead of setting maximize$"):
        costs.maximize = True
    with pytest.raises(AttributeError, match="^a DenseCosts is frozen; array cannot be deleted$"):
        del costs.array
    assert repr(costs) == "<DenseCosts of 2 rows and 2 columns, float64, least, limit 0.5, on the cpu>"
    assert repr(DenseCosts(np.eye(2, dtype=int), maximize=True)).endswith("int64, most, on the cpu>")


def test_allowed_pairs(device: str) -> None:
    rng = np.random.default_rng(0)
    for shape in ((1, 1), (4, 6), (6, 4), (900, 500)):
        cost = np.where(rng.random(shape) < 0.3, INF, 1.0)
        costs = DenseCosts(on(cost, device))
        indptr, indices, of_shape = costs.allowed_pairs()
        dense = sp.csr_array((np.ones(len(indices)), host(indices), host(indptr)), shape=of_shape).toarray()
        assert (dense == np.isfinite(host(costs.array))).all()


def test_blocks() -> None:
    for shape in ((0, 5), (5, 0), (1, 10**9), (10**6, 1), (1000, 1000)):
        rows = [row for block in blocks_of(shape, "cpu") for row in range(shape[0])[block]]
        assert rows == list(range(shape[0]))
        assert all((block.stop - block.start) * shape[1] <= max(1 << 17, shape[1]) for block in blocks_of(shape, "cpu"))


def test_an_error_of_ours_is_not_wrapped(monkeypatch: pytest.MonkeyPatch) -> None:
    class OnGpu:
        __cuda_array_interface__: dict = {}

    def no_gpu() -> None:
        raise gmatch.BackendUnavailable("no GPU")

    monkeypatch.setattr("gmatch.cuda.require", no_gpu)
    with pytest.raises(gmatch.BackendUnavailable, match="^no GPU$"):
        DenseCosts(OnGpu())
