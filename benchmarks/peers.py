"""Other solvers of assignment and of matching problems: the peers that are installed here, and commands of the user.

Peers on the CPU run in a `SideProcess`, so that they can be stopped. Peers on the GPU run in this process, beside the
costs.

A peer takes a matrix, and returns a function that solves it and returns the cost, or the number of matched rows. The
conversion to the type that the peer is fastest with is made before, and is not timed.
"""

from __future__ import annotations

import importlib
import math
import os
import shlex
import signal
import subprocess
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from harness import PREPARATION, Calls, clocked

import gmatch

Solve = Callable[[], float]

LAP_FUNCTIONS = ("lapjv", "lapjvx", "lapjvc", "lapjvs", "lapjvr", "lapjvh")
DISTRIBUTIONS = (
    "numpy", "scipy", "lap", "lapx", "laprust", "lapcpp", "fastlap", "ortools",
    "torch", "torch-linear-assignment", "cupy-cuda13x", "igraph", "networkx",
)  # fmt: skip


def names() -> list[str]:
    """The peers that are installed."""
    found = ["SciPy", *lap_functions(), *module_functions()]
    if find_spec("ortools"):
        found.append("OR-Tools")
    return found


def calls(name: str, path: Path) -> Calls:
    """Calls of a peer on the costs in a file: a matrix, or a batch of them solved one by one.

    It is a file, not a seed: a seed makes other costs on another device.
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
    return _lap(matrix, name)


def _scipy(matrix: np.ndarray) -> Solve:
    from scipy.optimize import linear_sum_assignment

    floats = np.ascontiguousarray(matrix, np.float64)
    return lambda: float(floats[linear_sum_assignment(floats)].sum())


def _distribution_of_lap() -> str:
    """The module `lap` comes from the distribution lap, or from its successor lapx."""
    return metadata.packages_distributions().get("lap", ["lap"])[0]


def lap_functions() -> dict[str, Callable[[np.ndarray], Any]]:
    """The functions of `lap` that solve a matrix of floats, by the names of the peers; none if it is not installed."""
    if not find_spec("lap"):
        return {}
    import lap

    names = (name for name in LAP_FUNCTIONS if hasattr(lap, name))
    return {f"{_distribution_of_lap()} {name}": getattr(lap, name) for name in names}


# Modules with one function each that returns rows and columns, and the options with which it takes any shape.
MODULES = {
    "laprust": ("lapjv", {"extend_cost": True}), "lapcpp": ("lapjv", {"extend_cost": True}), "fastlap": ("lapjvx", {}),
}  # fmt: skip


def module_functions(**options: Any) -> dict[str, Callable[[np.ndarray], Any]]:
    """The functions of laprust, lapcpp and fastlap, if installed. `options`, such as cost_limit, go to each."""
    found = {}
    for module, (function, own) in MODULES.items():
        if find_spec(module):
            solve = getattr(importlib.import_module(module), function)
            found[module] = partial(solve, return_cost=False, **own, **options)
    return found


def _lap(matrix: np.ndarray, name: str) -> Solve:
    floats = np.ascontiguousarray(matrix, np.float64)
    rows, solve = np.arange(len(floats)), (lap_functions() | module_functions())[name]
    return lambda: cost_of_lap(floats, rows, solve(floats))


def cost_of_lap(matrix: np.ndarray, rows: np.ndarray, answer: Any) -> float:
    """The cost from an answer of lapx: its functions return the cost, or the pairs, or both."""
    parts = answer if isinstance(answer, tuple) else (answer,)
    number = next((float(part) for part in parts if np.ndim(part) == 0), None)
    if number is not None:
        return number
    if len(parts) == 2:  # rows and columns: in tall matrices, and with a limit, some rows have no pair
        rows = parts[0]
    return float(matrix[rows, parts[-1]].sum())


def _ortools(matrix: np.ndarray) -> Solve:
    """OR-Tools takes no matrix, so making its graph of all pairs is timed, too."""
    from ortools.graph.python.linear_sum_assignment import SimpleLinearSumAssignment

    if not (np.isfinite(matrix).all() and (np.trunc(matrix) == matrix).all()):
        raise TypeError("OR-Tools takes whole numbers only")
    whole = matrix.astype(np.int64)
    left, right = (numbers.ravel().astype(np.int32) for numbers in np.indices(whole.shape))

    def solve() -> float:
        problem = SimpleLinearSumAssignment()
        problem.add_arcs_with_cost(left, right, whole.ravel())
        problem.solve()
        return float(problem.optimal_cost())

    return solve


def versions() -> dict[str, str]:
    """The versions of the distributions that the peers come from."""
    found = {}
    for name in DISTRIBUTIONS:
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
            # It warns if it was built without CUDA and runs on the CPU.
            warnings.simplefilter("error")
            mates = batch_linear_assignment(floats)
        return float(given.gather(2, mates[:, :, None]).double().sum().item())

    return solve


# Matching.

# Edges that networkx gets at most: Python objects for more take longer than the limit of any call, and gigabytes.
MOST_ENTRIES_FOR_NETWORKX = 1 << 22


def matching_names() -> list[str]:
    """The peers that are installed."""
    return [name for name in MATCHING_PEERS if name != PFP and find_spec(name.lower())]


def matching_calls(name: str, path: Path) -> Calls:
    """Calls of a peer on the matrix in a file."""
    solve = MATCHING_PEERS[name](scipy.sparse.csr_array(scipy.sparse.load_npz(path)))
    yield 0, None
    yield from clocked(solve)


def _pothen_fan(matrix: Any) -> Solve:
    """Ours, on one core: PFP, the paper's sequential algorithm."""
    graph = gmatch.BipartiteGraph(matrix)
    return lambda: gmatch.max_matching(graph, method=PFP, threads=1).size


def _scipy_matching(matrix: Any) -> Solve:
    from scipy.sparse.csgraph import maximum_bipartite_matching

    return lambda: int((maximum_bipartite_matching(matrix, perm_type="column") >= 0).sum())


def _igraph_matching(matrix: Any) -> Solve:
    import igraph

    graph = igraph.Graph.Bipartite(np.arange(sum(matrix.shape)) >= matrix.shape[0], _edges(matrix))
    return lambda: len(graph.maximum_bipartite_matching())


def _networkx_matching(matrix: Any) -> Solve:
    import networkx

    if matrix.nnz > MOST_ENTRIES_FOR_NETWORKX:
        raise MemoryError(f"{matrix.nnz} entries are more than networkx is given, {MOST_ENTRIES_FOR_NETWORKX}")
    graph = networkx.Graph()
    graph.add_nodes_from(range(sum(matrix.shape)))
    graph.add_edges_from(_edges(matrix).tolist())
    rows = range(matrix.shape[0])
    return lambda: len(networkx.bipartite.hopcroft_karp_matching(graph, rows)) // 2


def _edges(matrix: Any) -> np.ndarray:
    """Pairs of vertices, the columns numbered after the rows."""
    coordinates = matrix.tocoo()
    return np.column_stack((coordinates.row, coordinates.col.astype(np.int64) + matrix.shape[0]))


PFP = "pothen-fan"
# All are serial: the paper's speedups are over serial algorithms.
MATCHING_PEERS: dict[str, Callable[[Any], Solve]] = {
    PFP: _pothen_fan, "SciPy": _scipy_matching, "igraph": _igraph_matching, "networkx": _networkx_matching,
}  # fmt: skip


def command_calls(command: str, path: Path, limit: float) -> Calls:
    """Runs of a command that matches the graph in a Matrix Market file, whose path takes the place of ``{file}``.

    The last line that it prints must be ``SIZE SECONDS``, the number of matched rows and the time for them.
    """
    arguments = [argument.replace("{file}", str(path)) for argument in shlex.split(command)]
    while True:
        # PREPARATION seconds more, since it reads the file in every run.
        yield _size_and_seconds(_printed(arguments, PREPARATION + limit))


def _printed(arguments: list[str], limit: float) -> str:
    """The output of a command. It is ended at the limit, with all processes that it started."""
    try:
        process = subprocess.Popen(
            arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            errors="replace", start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        raise ChildProcessError(f"cannot run {arguments[0]}: {error.strerror}") from None
    try:
        output, complaints = process.communicate(timeout=limit)
    except BaseException as error:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        if isinstance(error, subprocess.TimeoutExpired):
            raise TimeoutError(f"no answer within {limit:g} s") from None
        raise
    if process.returncode:
        complaint = _last_line(complaints) or _last_line(output) or "it said nothing"
        raise ChildProcessError(f"exit status {process.returncode}: {complaint}")
    return output


def _size_and_seconds(output: str) -> tuple[float, int]:
    line = _last_line(output)
    try:
        size, seconds = line.split()
        found = float(seconds), int(size)
    except ValueError:
        found = math.nan, 0
    if not 0 < found[0] < math.inf:
        raise ChildProcessError(f"expected SIZE SECONDS, as in 1024 0.0056, in the last line; got {line!r}")
    return found


def _last_line(text: str) -> str:
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")
