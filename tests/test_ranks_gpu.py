"""Blocks on several GPUs: on real GPUs if there are some, and everywhere on arrays that pass for arrays of GPUs."""

import numpy as np
import pytest
from conftest import GPU
from fake_gpus import pretend
from test_distributed import FAMILIES, METHODS, assert_proven, assert_witness, families

import gmatch
from gmatch import cuda
from gmatch.distributed import lap as lap_on_ranks

FAMILIES_ON_GPU = [name for name in FAMILIES if name != "booleans"]


@pytest.fixture
def gpus(monkeypatch):
    """CuPy: a fake one where there is none, which has passes of ranks alone."""
    if GPU:
        return cuda.cupy()
    monkeypatch.setattr(lap_on_ranks, "is_alone", lambda ranks: False)
    return pretend(monkeypatch.setattr)


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
    if gpus.cuda.runtime.getDeviceCount() > 1:
        with pytest.raises(gmatch.InvalidInput, match="these lie on GPU 0"):
            gmatch.lap(gpus.asarray(np.eye(3)), devices=[1, 0])
    assert gmatch.lap(gpus.asarray(np.eye(3)), devices=[0, 0]).cost == 0
