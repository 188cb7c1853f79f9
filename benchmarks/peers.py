"""Other solvers of assignment problems that are installed here.

Those on the CPU run in a `SideProcess`, so that they can be stopped; those on the GPU in this one, beside the costs.

A peer takes a matrix and returns a function that solves it and returns the cost. Conversions to the type that it is
fastest with are made before, and not timed.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from contextlib import suppress
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from harness import Calls, clocked

import gmatch

Solve = Callable[[], float]

LAP_FUNCTIONS = ("lapjv", "lapjvx", "lapjvc", "lapjvs", "lapjvr", "lapjvh")


def names() -> list[str]:
    """The peers that are installed."""
    found = ["SciPy"]
    if find_spec("lap"):
        found += [f"{_distribution_of_lap()} {name}" for name in _lap_functions()]
    if find_spec("ortools"):
        found.append("OR-Tools")
    return found


def calls(name: str, path: Path) -> Calls:
    """Calls of a peer on the costs in a file: a matrix, or a batch of them solved one by one.

    A file and not a seed, for a seed makes other costs on another device.
    """
    costs = np.load(path)
    if costs.ndim == 2:
        solve = prepared(name, costs)
    else:
        solves = [prepared(name, matrix) for matrix in costs]

        def solve() -> float:
            return math.fsum(one() for one in solves)

    yield 0, None
    yield from clocked(solve)


def prepared(name: str, matrix: np.ndarray) -> Solve:
    if name == "SciPy":
        return _scipy(matrix)
    if name == "OR-Tools":
        return _ortools(matrix)
    if name == "gmatch jv":  # ours, beside methods on a GPU
        return lambda: gmatch.lap(matrix, method="jv").cost
    return _lap(matrix, name.split()[-1])


def _scipy(matrix: np.ndarray) -> Solve:
    from scipy.optimize import linear_sum_assignment

    floats = np.ascontiguousarray(matrix, np.float64)
    return lambda: float(floats[linear_sum_assignment(floats)].sum())


def _distribution_of_lap() -> str:
    """The module `lap` comes from the distribution lap, or from its successor lapx."""
    return metadata.packages_distributions().get("lap", ["lap"])[0]


def _lap_functions() -> list[str]:
    import lap

    return [name for name in LAP_FUNCTIONS if hasattr(lap, name)]


def _lap(matrix: np.ndarray, name: str) -> Solve:
    import lap

    floats = np.ascontiguousarray(matrix, np.float64)
    rows = np.arange(len(floats))
    return lambda: _cost_of(floats, rows, getattr(lap, name)(floats))


def _cost_of(matrix: np.ndarray, rows: np.ndarray, answer: Any) -> float:
    """lapx's functions return the cost, or the pairs, or both."""
    parts = answer if isinstance(answer, tuple) else (answer,)
    number = next((float(part) for part in parts if np.ndim(part) == 0), None)
    if number is not None:
        return number
    return float(matrix[rows, parts[-1]].sum())


def _ortools(matrix: np.ndarray) -> Solve:
    """Its graph of all pairs is part of the work: it takes no matrix."""
    from ortools.graph.python.linear_sum_assignment import SimpleLinearSumAssignment

    whole = matrix.astype(np.int64)
    if not (whole == matrix).all():
        raise TypeError("OR-Tools takes whole numbers only")
    left, right = (numbers.ravel().astype(np.int32) for numbers in np.indices(whole.shape))

    def solve() -> float:
        problem = SimpleLinearSumAssignment()
        problem.add_arcs_with_cost(left, right, whole.ravel())
        problem.solve()
        return float(problem.optimal_cost())

    return solve


def versions() -> dict[str, str]:
    """Of the distributions that the peers come from."""
    found = {}
    for name in ("numpy", "scipy", "lap", "lapx", "ortools", "torch", "torch-linear-assignment", "cupy-cuda13x"):
        with suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def on_gpu() -> list[str]:
    """Peers that take costs on the GPU, in this process."""
    if not (find_spec("torch") and find_spec("torch_linear_assignment")):
        return []
    import torch

    return ["torch-linear-assignment"] if torch.cuda.is_available() else []


def prepared_on_gpu(costs: Any) -> Solve:
    """torch-linear-assignment on a CuPy matrix or a batch of them. It works in float32, whatever it is given."""
    import torch
    from torch_linear_assignment import batch_linear_assignment

    given = torch.from_dlpack(costs if costs.ndim == 3 else costs[None])
    floats = given.float()

    def solve() -> float:
        with warnings.catch_warnings():
            # That it was built without CUDA and goes to the CPU.
            warnings.simplefilter("error")
            mates = batch_linear_assignment(floats)
        return float(given.gather(2, mates[:, :, None]).double().sum().item())

    return solve
