"""Ctrl-C ends a call on the host, whatever the method; threads that the system does not start are an error of ours."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import gmatch
from gmatch import lap, max_matching

AFTER = 0.3  # seconds
# Calls end 0.06 s after the interrupt on an idle machine. Without the interrupt each takes much longer than 5 s.
MOST_SECONDS = 5
Call = Callable[[], Any]

needs_timer = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer that sends signals")


def products(size: int) -> Any:
    """Costs i * j: a long search for all methods that do not begin with an auction."""
    return np.multiply.outer(np.arange(1, size + 1), np.arange(1, size + 1))


@cache
def scattered_path(size: int) -> Any:
    """One path in an order that no search follows: thousands of levels."""
    rng = np.random.default_rng(0)
    path = sp.diags_array([np.ones(size), np.ones(size - 1)], offsets=[0, 1], format="csr")
    return gmatch.BipartiteGraph(path[rng.permutation(size)][:, rng.permutation(size)])


@cache
def scattered_graph(size: int) -> Any:
    """Three edges a row, anywhere: a depth-first search takes seconds."""
    indices = np.random.default_rng(0).integers(0, size, 3 * size, dtype=np.int32)
    return gmatch.BipartiteGraph((np.arange(0, 3 * size + 1, 3, dtype=np.int32), indices, (size, size)))


@contextmanager
def interrupt() -> Iterator[None]:
    """Interrupts the call inside as Ctrl-C does, after a while. The call must not end before, nor long after."""

    def interrupted(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupted)
    signal.setitimer(signal.ITIMER_REAL, AFTER)
    begin = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            yield
        assert time.monotonic() - begin < AFTER + MOST_SECONDS
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def check(call: Call) -> None:
    threads = threading.active_count()
    with interrupt():
        call()
    assert threading.active_count() == threads
    assert lap([[1, 2], [2, 1]]).cost == 2


@needs_timer
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    "method", ["classical", "munkres", gmatch.Munkres("baseline"), gmatch.Tree(), gmatch.Tree(paths="nearest")]
)
def test_methods_of_lap(method: Any, threads: int) -> None:
    costs = products(3000)
    check(lambda: lap(costs, method=method, threads=threads))


@needs_timer
def test_core_on_threads() -> None:
    # A core starts from a diagonal of products, in any order. One number in ten thousand refuses it.
    rng = np.random.default_rng(0)
    costs = products(3000) + (rng.random((3000, 3000)) < 1e-4) * products(3000).max()
    check(lambda: lap(costs, method=gmatch.Core(), threads=2))


@needs_timer
@pytest.mark.parametrize("method", ["jv", "tree"])
def test_sparse_costs(method: str) -> None:
    costs = sp.csr_array(products(3000))
    check(lambda: lap(costs, method=method))


@needs_timer
@pytest.mark.parametrize("method", ["jv", "tree", "classical"])
def test_batches(method: str) -> None:
    costs = np.broadcast_to(products(700), (20_000, 700, 700))
    check(lambda: lap(costs, method=method))


@needs_timer
@pytest.mark.parametrize("method", ["jv", "core"])
def test_serial_methods(method: str) -> None:
    """One call ends too soon to be interrupted, so calls follow each other until one is."""
    costs = np.random.default_rng(0).integers(0, 10**6, (1000, 1000))

    def call() -> None:
        while True:
            lap(costs, method=method)

    check(call)


@needs_timer
@pytest.mark.parametrize("method", [m for m in gmatch.METHODS if m.name.startswith(("ap", "ordered"))], ids=str)
def test_breadth_first_searches(method: Any) -> None:
    graph = scattered_path(2**21)
    check(lambda: max_matching(graph, method=method, initial="none"))


@needs_timer
@pytest.mark.parametrize("method", ["pothen-fan", "mixed"])
def test_depth_first_searches(method: str) -> None:
    graph = scattered_graph(2**21)
    check(lambda: max_matching(graph, method=method, initial="none"))


@needs_timer
def test_what_a_handler_raises_comes_out() -> None:
    class Timeout(Exception):
        pass

    def raise_timeout(number: int, frame: Any) -> None:
        raise Timeout("too long")

    costs = products(3000)
    before = signal.signal(signal.SIGALRM, raise_timeout)
    signal.setitimer(signal.ITIMER_REAL, AFTER)
    try:
        with pytest.raises(Timeout, match="too long"):
            lap(costs, method="classical")
    finally:
        signal.signal(signal.SIGALRM, before)


@needs_timer
def test_a_handler_that_returns_changes_nothing() -> None:
    seen = []
    costs = products(300)
    before = signal.signal(signal.SIGALRM, lambda number, frame: seen.append(lap([[1]]).cost))
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    try:
        result = lap(costs, method="classical", threads=2, certify=True)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert result.cost == lap(costs).cost
    assert seen and set(seen) == {1}


NO_THREADS = """
import resource
import numpy as np
import gmatch
costs = np.random.default_rng(0).random((300, 300))
graph = gmatch.BipartiteGraph((np.arange(1001), np.arange(1000), (1000, 1000)))
calls = {
    "batch": lambda: gmatch.lap(np.stack([costs] * 40), threads=40),
    "tree": lambda: gmatch.lap(costs, method="tree", threads=40),
    "core": lambda: gmatch.lap(costs, method="core", threads=40),
    "graph": lambda: gmatch.max_matching(graph, method="ordered-apfb", threads=40),
}
for call in calls.values():
    call()
in_use = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (in_use + 2**26, resource.RLIM_INFINITY))  # 8 stacks of threads
for name, call in calls.items():
    try:
        call()
    except gmatch.BackendUnavailable as error:
        print(name, type(error.__cause__).__name__, error)
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
for call in calls.values():
    call()
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux's limit on memory")
def test_threads_that_do_not_start() -> None:
    done = subprocess.run([sys.executable, "-c", NO_THREADS], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["batch", "tree", "core", "graph"]
    for line in lines:
        assert "BlockingIOError expected to start 40 threads, but the system started only" in line
        assert line.endswith("; ask for fewer with threads=")
