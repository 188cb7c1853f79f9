"""Costs that are never all on a GPU: times of `gmatch.lap` for points, functions, and matrices that are copied to it.

    python benchmarks/gpu_windows.py results.json
    python benchmarks/gpu_windows.py results.json --parts copies --copied 60000 --memory 6

A small problem of each kind comes first, since its call compiles the programs. Copies are also timed alone,
without passes. The time of a call over the time of its copies says how well both overlap. With --memory a GPU of that
many GB stands for this one.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from harness import machine_of
from point_clouds import FAMILIES, WARM

import gmatch
from gmatch import cuda


def seconds_of(call: Callable[[], Any]) -> tuple[float, Any]:
    began = perf_counter()
    found = call()
    cuda.finish_work()
    return perf_counter() - began, found


def told(name: str, costs: Any, small: Any, **options: Any) -> dict[str, Any]:
    """The time of the costs, after a small problem of the same kind."""
    gmatch.lap(small, device="gpu", **options)
    seconds, found = seconds_of(lambda: gmatch.lap(costs, device="gpu", **options))
    told = {"name": name, "seconds": seconds, "status": found.status, "stats": found.stats}
    print(f"{name}: {seconds:.3f} s, {found.status}, {json.dumps(found.stats, default=str)}", flush=True)
    return told


def points(options: argparse.Namespace) -> list[dict[str, Any]]:
    found = []
    for family, d in (("uniform", 2), ("uniform", 3), ("mixture", 2), ("ring", 2), ("gaussian", 16), ("gaussian", 64)):
        small, large = (
            gmatch.PointCosts(*FAMILIES[family](np.random.default_rng(0), n, d)) for n in (WARM, options.points)
        )
        found.append(told(f"{family}, n = {options.points}, d = {d}", large, small))
    return found


def functions(options: argparse.Namespace) -> list[dict[str, Any]]:
    cupy = cuda.cupy()

    def costs(n: int) -> gmatch.FunctionCosts:
        a, b = cupy.random.random((2, n))
        return gmatch.FunctionCosts(lambda rows, columns: cupy.abs(a[rows, None] - b[columns]), (n, n), np.float64)

    return [told(f"a function, n = {options.called}", costs(options.called), costs(WARM))]


def copies(options: argparse.Namespace) -> list[dict[str, Any]]:
    n = options.copied
    matrix = np.empty((n, n), np.float32)
    for first in range(0, n, 1000):
        matrix[first : first + 1000] = cuda.cupy().random.random((min(1000, n - first), n), np.float32).get()
    small = gmatch.RowWindows(matrix[:WARM, :WARM].copy())
    windows = gmatch.RowWindows(matrix).on_gpu()
    alone, number = seconds_of(lambda: sum(1 for _ in windows.each()))
    windows.close()
    print(f"copies alone: {alone:.3f} s, {number} windows, {matrix.nbytes / alone / 1e9:.1f} GB/s", flush=True)
    call = told(f"float32 of the host, n = {n}", gmatch.RowWindows(matrix), small)
    call["seconds_of_copies"] = alone * call["stats"]["windows"] / number
    print(f"{call['seconds'] / call['seconds_of_copies']:.2f} times the time of its copies", flush=True)
    return [call]


PARTS = {part.__name__: part for part in (points, functions, copies)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--points", type=int, default=100_000)
    parser.add_argument("--called", type=int, default=50_000, help="rows and columns of the function")
    parser.add_argument("--copied", type=int, default=40_000, help="rows and columns of the matrix")
    parser.add_argument("--memory", type=float, help="GB that arrays may take on the GPU")
    options = parser.parse_args()
    if options.memory is not None:
        cuda.cupy().get_default_memory_pool().set_limit(size=int(options.memory * 1e9))
    record: dict[str, Any] = {"machine": machine_of("gpu"), "timings": []}
    for part in options.parts:
        record["timings"] += PARTS[part](options)
        options.output.write_text(json.dumps(record, indent=1, default=str) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
