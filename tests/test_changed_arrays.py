"""Calls whose arrays are changed meanwhile. An error or a wrong answer may follow, but no crash and no endless loop.

The arrays lie in memory that a second process shares. It writes at any time, since no lock holds it back.
"""

from __future__ import annotations

import itertools
import mmap
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import gmatch
from gmatch import lap, max_matching
from gmatch.assignment import solve
from gmatch.assignment.programs import nothing

SECONDS_PER_CALL = 0.03  # a call is repeated for this time
Calls = Iterator[tuple[str, Callable[[], Any]]]
METHODS = (
    "jv", "core", gmatch.Tree(), gmatch.Tree(paths="nearest"), "classical", "munkres", gmatch.Munkres("baseline"),
)  # fmt: skip


class Shared:
    """Arrays in memory that another process writes to."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.memory = np.frombuffer(mmap.mmap(-1, 1 << 24), np.uint8)
        self.used = 0
        self.wrong: list[list[tuple[int, np.ndarray]]] = [[] for _ in range(12)]

    def take(self, array: Any, *wrong: Any) -> Any:
        """The array, in the shared memory. The other process mostly writes some of its numbers in another order."""
        array = np.ascontiguousarray(array)
        begin, self.used = self.used, self.used + array.nbytes + -array.nbytes % 64
        mine = self.memory[begin : begin + array.nbytes].view(array.dtype).reshape(array.shape)
        mine[...] = array
        for number, picture in enumerate(self.wrong):
            bad = self.rng.permutation(array.ravel())
            if number % 3 == 0:
                bad[self.rng.random(array.size) < 0.3] = np.array(wrong).astype(array.dtype)[number // 3 % len(wrong)]
            picture.append((begin, bad.view(np.uint8)))
        return mine

    def numbers(self, array: Any) -> Any:
        """Takes an array of numbers of rows or columns, or of offsets."""
        return self.take(array, 2**30, -1, 2**31 - 1, 0)

    def costs(self, array: Any) -> Any:
        if array.dtype.kind == "f":
            return self.take(array, np.nan, np.inf, -np.inf, np.finfo(array.dtype).max)
        info = np.iinfo(array.dtype)
        return self.take(array, info.max, info.min, info.max // 2, 0)

    @contextmanager
    def written_to(self) -> Iterator[None]:
        """The other process writes meanwhile. It ends with this process."""
        caller, writer = os.getpid(), os.fork()
        if writer == 0:
            try:
                self._write(caller)
            finally:
                os._exit(0)
        try:
            yield
        finally:
            os.kill(writer, 9)
            os.waitpid(writer, 0)

    def _write(self, caller: int) -> None:
        right, end = self.memory[: self.used].copy(), time.monotonic() + 60
        for picture in itertools.cycle(self.wrong):
            for _ in range(20):
                for begin, bad in picture:
                    self.memory[begin : begin + len(bad)] = bad
                    self.memory[begin : begin + len(bad)] = right[begin : begin + len(bad)]
                time.sleep(self.rng.exponential(0.0003))
            if os.getppid() != caller or time.monotonic() > end:
                return


def graphs(shared: Shared) -> Calls:
    size, degree = 6000, 4
    matrix = sp.random_array((size, size), density=degree / size, format="csr", rng=shared.rng)
    for index_type in (np.int32, np.int64):
        indptr, indices = (shared.numbers(array.astype(index_type)) for array in (matrix.indptr, matrix.indices))
        graph = indptr, indices, matrix.shape
        for method in gmatch.METHODS if index_type is np.int32 else (gmatch.Mixed(), gmatch.PothenFan()):
            for threads in (1, 3):
                yield f"{method.name}, {threads}", partial(max_matching, graph, method=method, threads=threads)
        for initial in ("none", "cheap", "shuffled", "min-degree", "karp-sipser"):
            yield initial, partial(max_matching, graph, initial=initial, threads=2)
        frozen, given = gmatch.BipartiteGraph(graph), shared.numbers(np.full(size, -1, index_type))
        yield "frozen", partial(max_matching, frozen)
        yield "given", partial(max_matching, frozen, initial=given)
        yield "proven", partial(max_matching, frozen, certify=True)
        yield "blocks", partial(gmatch.dulmage_mendelsohn, frozen, certify=True)
    small = sp.random_array((300, 200), density=0.02, format="csr", rng=shared.rng)
    small.indptr, small.indices = (shared.numbers(array.astype(np.int32)) for array in (small.indptr, small.indices))
    yield "small", partial(max_matching, small)
    yield "small, frozen", partial(max_matching, gmatch.BipartiteGraph(small))


def formats(shared: Shared) -> Calls:
    size = 1500
    matrix = sp.random_array((size, size), density=6 / size, rng=shared.rng) + sp.eye_array(size)
    for kind in ("csr", "csc", "bsr", "coo", "dia"):
        made = matrix.asformat(kind) if kind != "dia" else sp.dia_array(sp.eye_array(size) + sp.eye_array(size, k=3))
        if kind == "coo":
            made.coords = tuple(map(shared.numbers, made.coords))
        elif kind == "dia":
            made.offsets = shared.numbers(made.offsets)
        else:
            made.indptr, made.indices = shared.numbers(made.indptr), shared.numbers(made.indices)
        made.data = shared.costs(made.data)
        yield f"matching of {kind}", partial(max_matching, made)
        yield f"costs in {kind}", partial(lap, made)


def sparse_costs(shared: Shared) -> Calls:
    for size, density in ((40, 0.2), (900, 0.01), (1500, 0.005), (1200, 0.1)):
        for shape, dtype in itertools.product(((size, size), (size, size + size // 3)), (np.int64, np.float64)):
            matrix = sp.random_array(shape, density=density, format="csr", rng=shared.rng)
            matrix = (matrix * 1000 + sp.eye_array(*shape) * 500).tocsr()
            matrix.indptr, matrix.indices = shared.numbers(matrix.indptr), shared.numbers(matrix.indices)
            matrix.data = shared.costs(matrix.data.astype(dtype))
            name = f"{shape} of {dtype.__name__}"
            yield name, partial(lap, matrix)
            if density != 0.005:
                continue
            frozen = gmatch.SparseCosts(matrix)
            for method, threads in (("jv", 1), ("tree", 1), ("tree", 3), (gmatch.Tree(paths="nearest"), 2)):
                yield f"{name}, {method}, {threads}", partial(lap, frozen, method=method, threads=threads)
            yield f"{name}, limit", partial(lap, matrix, cost_limit=700, certify=True)
            yield f"{name}, settled", partial(lap, matrix, deterministic=True, certify=True)
            yield f"{name}, largest", partial(lap, matrix, infeasible="partial")
            yield f"{name}, heaviest", partial(gmatch.max_weight_matching, matrix)
    for shape in ((60, 60), (2000, 3000)):
        few = sp.random_array(shape, density=1.5 / shape[0], format="csr", rng=shared.rng)
        few.data = shared.costs(few.data)
        frozen = gmatch.SparseCosts(few)
        for method in ("auto", "jv", "tree"):
            yield f"{shape}, few, {method}", partial(lap, frozen, method=method, infeasible="partial")


def dense_costs(shared: Shared) -> Calls:
    shapes = (5, 5), (60, 60), (150, 150), (301, 301), (150, 400)
    for shape, dtype in itertools.product(shapes, (np.int32, np.int64, np.float32, np.float64)):
        costs = shared.costs((shared.rng.random(shape) * 1000).astype(dtype))
        name = f"{shape} of {dtype.__name__}"
        yield name, partial(lap, costs)
        if shape[0] != 150:
            continue
        frozen = gmatch.DenseCosts(costs, maximize=dtype is np.float32)
        for method, threads in itertools.product(METHODS, (1, 2)):
            yield f"{name}, {method}, {threads}", partial(lap, frozen, method=method, threads=threads)
        for initial in ("regret", "bids", "none"):
            yield f"{name}, {initial}", partial(lap, frozen, method="tree", initial=initial)
        yield f"{name}, limit", partial(lap, costs, cost_limit=100, certify=True)
        yield f"{name}, settled", partial(lap, costs, deterministic=True, certify=True)
        yield f"{name}, by columns", partial(lap, costs.T, method="core")
    for shape, dtype in itertools.product(((40, 40), (150, 400), (301, 200)), (np.float32, np.float64)):
        allowed = shared.rng.random(shape) < 1.5 / min(shape)
        costs = shared.costs(np.where(allowed, shared.rng.random(shape), np.inf).astype(dtype))
        for cost in (costs, gmatch.DenseCosts(costs), np.asfortranarray(costs)):
            yield f"{shape} of {dtype.__name__}, largest", partial(lap, cost, infeasible="partial")
            yield f"{shape} of {dtype.__name__}, why none", partial(lap, cost, device="cpu")
    alike = shared.costs(np.multiply.outer(np.arange(1.0, 200), np.arange(1.0, 200)))
    for method in ("jv", "core", gmatch.Core()):
        yield f"alike, {method}", partial(lap, alike, method=method, threads=2)


def batches(shared: Shared) -> Calls:
    for dtype in (np.int32, np.float64):
        costs = shared.costs((shared.rng.random((12, 40, 50)) * 1000).astype(dtype))
        sizes = shared.numbers(np.tile([[40, 30]], (12, 1)))
        mask = shared.take((shared.rng.random((12, 40, 1)) < 0.9) & np.ones((1, 1, 50), np.bool_), True, False)
        for method in ("jv", "tree", "classical"):
            yield f"{dtype.__name__}, {method}", partial(lap, costs, method=method, threads=2)
        yield f"{dtype.__name__}, sizes", partial(lap, costs, sizes=sizes, certify=True)
        yield f"{dtype.__name__}, mask", partial(lap, costs, mask=mask, certify=True)
        yield f"{dtype.__name__}, settled", partial(lap, costs, deterministic=True, cost_limit=10)


FAMILIES = {family.__name__: family for family in (graphs, formats, sparse_costs, dense_costs, batches)}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a second process that shares memory")
@pytest.mark.parametrize("family", FAMILIES)
def test_a_call_ends_whatever_others_write(family: str) -> None:
    done = subprocess.run([sys.executable, __file__, family], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"{done.returncode} after {done.stdout.splitlines()[-1:]}: {done.stderr[-2000:]}"
    assert done.stdout.splitlines()[-1] == "done"


@pytest.mark.parametrize("dtype", ["int32", "float64"])
def test_costs_that_forbid_nothing_and_leave_rows_free_are_told(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only costs that change during the call do so."""
    monkeypatch.setattr(solve, "_optimum", lambda costs, *_: nothing(costs))
    with pytest.raises(gmatch.InvalidInput, match="stay as they are during the call, and these changed: 0 of 40"):
        gmatch.lap(np.random.default_rng(0).integers(0, 99, (40, 50)).astype(dtype), certify=True)


def main(family: str, seed: int = 0, seconds: float = SECONDS_PER_CALL) -> None:
    shared = Shared(seed)
    calls = list(FAMILIES[family](shared))
    with shared.written_to():
        for name, call in calls:
            print(name, flush=True)
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                try:
                    call()
                except gmatch.GmatchError:
                    pass
    print("done")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:3]), *map(float, sys.argv[3:]))
