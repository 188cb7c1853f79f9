"""Blocks on several GPUs: on real ones where there are some, and everywhere on arrays that pass for those of GPUs."""

import fake_cupy
import numpy as np
import pytest
from conftest import GPU
from test_distributed import FAMILIES, METHODS, assert_proven, assert_witness, families

import gmatch
from gmatch import cuda
from gmatch.backends import cpu
from gmatch.backends.block_passes import ForestState, HostPasses
from gmatch.distributed import core, part
from gmatch.problems import limits
from gmatch.problems.sparse import SparseCosts

FAMILIES_ON_GPU = [name for name in FAMILIES if name != "booleans"]


class FakeBackend:
    """Programs run on the host, but take and give arrays of a GPU."""

    NAME = "gpu"

    @staticmethod
    def inspect_costs(array):
        return cpu.inspect_costs(array.get())


def on_host_too(costs):
    arrays = map(on_host, (costs.indptr, costs.indices, costs.data))
    return SparseCosts.of_checked(tuple(arrays), costs.shape, costs.lowest, costs.highest)


def solve_on_host(costs, plan, start):
    if plan.backend.NAME == "cpu":
        return core.HOST_RUN(costs, plan, start)
    costs = on_host_too(costs)
    host = [None if array is None else array.get() for array in start[1:]]
    solution = core.HOST_RUN(costs, plan._replace(backend=cpu), type(start)(start.kind, *host))
    return solution.moved(fake_cupy.fake)


class FakePasses:
    """As those of a GPU, but run on the host."""

    def __init__(self, array, *options):
        self._host = HostPasses(array.get(), *options)

    def __getattr__(self, name):
        def on_gpu(*arguments):
            return fake_cupy.fake(getattr(self._host, name)(*map(on_host, arguments)))

        return on_gpu

    def expand(self, rows, u, forest):
        copies = ForestState(*map(on_host, forest))
        found = self._host.expand(on_host(rows), on_host(u), copies)
        for array, copy in zip(forest, copies, strict=True):
            array[...] = fake_cupy.fake(copy)
        return found


def on_host(thing):
    return thing.get() if isinstance(thing, fake_cupy.ndarray) else thing


@pytest.fixture
def gpus(monkeypatch):
    """CuPy: a fake one where there is none."""
    if GPU:
        return cuda.cupy()
    module = fake_cupy.Module()
    monkeypatch.setattr(cuda, "module", lambda: module)
    monkeypatch.setattr(cuda, "cupy", lambda: module)
    monkeypatch.setattr(limits, "backend_for", lambda name, device: FakeBackend if device == "gpu" else cpu)
    passes_of = part.passes_of
    monkeypatch.setattr(
        part, "passes_of",
        lambda array, *options: (FakePasses if type(array) is fake_cupy.ndarray else passes_of)(array, *options),
    )  # fmt: skip
    monkeypatch.setattr(core, "HOST_RUN", core.run, raising=False)
    monkeypatch.setattr(core, "run", solve_on_host)
    cover = core.cover_of_allowed_pairs
    monkeypatch.setattr(core, "cover_of_allowed_pairs", lambda costs, threads: cover(on_host_too(costs), threads))
    return module


def devices_of(size):
    count = cuda.number_of_devices()
    return [rank % count for rank in range(size)]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("family", FAMILIES_ON_GPU)
def test_rows_shared_out_to_gpus(family, method, gpus):
    cost = families(40)[family]
    for size in (1, 3):
        result = gmatch.lap(cost, devices=devices_of(size), method=method, certify=True)
        assert isinstance(result.row_match, np.ndarray)
        assert (result.stats["ranks"], result.stats["backend"]) == (size, "gpu")
        assert_proven(cost, result)


@pytest.mark.parametrize("method", METHODS)
def test_blocks_on_two_gpus(method, gpus):
    cost = families(40)["uniform"]
    blocks = []
    for number, rows in zip(devices_of(2), np.split(cost, [15]), strict=True):
        with gpus.cuda.Device(number):
            blocks.append(gpus.asarray(rows))
    result = gmatch.lap(gmatch.RowBlocks(blocks), method=method)
    assert type(result.row_match) is gpus.ndarray
    assert gmatch.verify(gmatch.RowBlocks(blocks), result).gap == 0
    assert_proven(cost, result.moved(lambda array: array.get()))


@pytest.mark.parametrize("method", METHODS)
def test_infeasible_on_gpus(method, gpus):
    cost = np.random.default_rng(1).random((30, 30))
    cost[:12, 8:] = np.inf
    with pytest.raises(gmatch.Infeasible) as raised:
        gmatch.lap(cost, devices=devices_of(3), method=method)
    assert_witness(cost, raised.value)


@pytest.mark.parametrize("method", METHODS)
def test_options_on_gpus(method, gpus):
    cost = families(40)["floats"]
    first = gmatch.lap(cost, maximize=True, cost_limit=0.8)
    again = gmatch.lap(
        cost, maximize=True, cost_limit=0.8, duals=(first.u, first.v), devices=devices_of(2), method=method
    )
    gmatch.verify(cost, again)
    assert again.status == "limited" and again.size == first.size and again.cost == pytest.approx(first.cost)


def test_blocks_of_the_host_go_to_gpus_and_back(gpus):
    cost = families(40)["floats"]
    on_gpus = gmatch.lap(gmatch.RowBlocks(np.split(cost, 4)), device="gpu", certify=True)
    assert on_gpus.stats["backend"] == "gpu" and isinstance(on_gpus.u, np.ndarray)
    assert_proven(cost, on_gpus)
    on_host = gmatch.lap(gmatch.RowBlocks([gpus.asarray(cost)]), device="cpu")
    assert on_host.stats["backend"] == "cpu" and type(on_host.u) is gpus.ndarray


@pytest.mark.parametrize(
    ("devices", "words"),
    [
        ([], "devices must be a list of numbers of GPUs"),
        ([0.0], "devices must be a list of numbers of GPUs"),
        (0, "devices must be a list of numbers of GPUs"),
        ([0, 99], "devices must be numbers from 0 to"),
        ([-1], "devices must be numbers from 0 to"),
    ],
)
def test_devices_that_are_none(devices, words, gpus):
    with pytest.raises(gmatch.InvalidInput, match=words):
        gmatch.lap([[1.0]], devices=devices)


def test_devices_and_other_places(gpus):
    with pytest.raises(gmatch.InvalidInput, match="leave comm and devices out"):
        gmatch.lap(gmatch.RowBlocks([np.eye(3)]), devices=[0])
    with pytest.raises(gmatch.InvalidInput, match="leave device out"):
        gmatch.lap(np.eye(3), devices=[0], device="cpu")
    with pytest.raises(gmatch.InvalidInput, match="devices are for one matrix of costs"):
        gmatch.lap(np.ones((2, 3, 3)), devices=[0, 0])
    with pytest.raises(gmatch.InvalidInput, match="rank 1: cost must not hold NaN; entry \\(1, 0\\) does"):
        gmatch.lap([[1.0, 2], [2, 1], [2, 2], [np.nan, 1]], devices=[0, 0])
    with pytest.raises(gmatch.InvalidInput, match="these lie on GPU 0"):
        gmatch.lap(gpus.asarray(np.eye(3)), devices=[1, 0])
    assert gmatch.lap(gpus.asarray(np.eye(3)), devices=[0, 0]).cost == 0
