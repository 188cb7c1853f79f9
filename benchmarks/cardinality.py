"""Maximum cardinality matching: our methods and peers on the papers' families, natural and permuted.

    python benchmarks/cardinality.py --scale 18                    # on the CPU, with peers
    python benchmarks/cardinality.py --scale 20 --device gpu       # on the GPU; graphs already there
    python benchmarks/cardinality.py --scale 18 --methods all      # the paper's eight variants, and four with claims

Each answer is proven by its cover before it is timed. Times include the start and the answer's way to Python, not the
check of the graph (`BipartiteGraph`), whose time is given beside. Prints a Markdown table; writes JSON.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from harness import Timing, markdown, save, timed, timed_peer

import gmatch
from gmatch.backends import cpu, gpu

FAMILIES: dict[str, Callable[[int], Any]] = {
    "delaunay": lambda scale: gmatch.datasets.delaunay(1 << scale),
    "mesh_dual": lambda scale: gmatch.datasets.mesh_dual(1 << scale),
    "road": lambda scale: gmatch.datasets.road(1 << scale),
    "rgg": lambda scale: gmatch.datasets.rgg(1 << scale),
    "erdos_renyi": lambda scale: gmatch.datasets.erdos_renyi(1 << scale),
    "rmat": lambda scale: gmatch.datasets.rmat(1 << scale),
    "kron": lambda scale: gmatch.datasets.kron(scale),
}


def instances(names: list[str], scale: int) -> Iterator[tuple[str, Any]]:
    for name in names:
        matrix = FAMILIES[name](scale)
        yield f"{name} 2^{scale}", matrix
        yield f"{name} 2^{scale} permuted", gmatch.datasets.permute(matrix, seed=1)


def peers(matrix: Any) -> dict[str, Callable[[], int]]:
    """Solvers that are installed here."""
    from scipy.sparse.csgraph import maximum_bipartite_matching

    found = {"SciPy": lambda: int((maximum_bipartite_matching(matrix, perm_type="column") >= 0).sum())}
    try:
        import igraph
    except ImportError:
        return found
    rows = matrix.shape[0]
    coordinates = matrix.tocoo()
    edges = list(zip(coordinates.row.tolist(), (coordinates.col + rows).tolist(), strict=True))
    graph = igraph.Graph.Bipartite([0] * rows + [1] * matrix.shape[1], edges)
    return found | {"igraph": lambda: len(graph.maximum_bipartite_matching())}


def measure(name: str, matrix: Any, options: argparse.Namespace) -> Iterator[Timing]:
    begin = time.perf_counter()
    graph = gmatch.BipartiteGraph(matrix).on(options.device)
    checked = time.perf_counter() - begin
    size = gmatch.max_matching(graph, certify=True).size
    methods = gmatch.METHODS if options.methods == "all" else ("auto",)
    for method in methods:
        label = method if isinstance(method, str) else method.name
        facts = {"rows": graph.shape[0], "entries": graph.entries, "size": size, "check_seconds": checked}

        def solve(method: Any = method, facts: dict[str, Any] = facts) -> int:
            matching = gmatch.max_matching(graph, method=method, threads=options.threads)
            facts |= {key: matching.stats[key] for key in ("initial", "start_size", "phases", "levels", "threads")}
            return matching.size

        yield timed(name, label, solve, size, options.repeats, facts)
    if options.peers:
        for peer, solve in peers(matrix).items():
            yield timed_peer(name, peer, solve, size, 1, options.limit)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=int, default=16, help="2^SCALE rows")
    parser.add_argument("--families", nargs="+", default=list(FAMILIES), choices=FAMILIES)
    parser.add_argument("--methods", choices=["auto", "all"], default="auto")
    parser.add_argument("--device", choices=["cpu", "gpu"], default="cpu")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--peers", action="store_true", help="SciPy, and igraph if it is installed")
    parser.add_argument("--limit", type=float, default=20, help="seconds a peer may take")
    parser.add_argument("--output", type=Path, help="JSON file to write")
    return parser.parse_args()


def main() -> None:
    options = arguments()
    timings: list[Timing] = []
    for name, matrix in instances(options.families, options.scale):
        timings += measure(name, matrix, options)
        print(*(f"{timing.instance}, {timing.solver}: {timing.median} s {timing.facts}" for timing in timings[-1:]))
    reference = timings[0].solver
    print(f"\nMilliseconds, median of {options.repeats}; in brackets, how many times {reference}\n")
    print(markdown(timings, reference))
    if options.output:
        device = gpu.devices()[0] if options.device == "gpu" else f"{cpu.available_threads()} CPU threads"
        save(options.output, timings, {"device": device, "load": os.getloadavg()})


if __name__ == "__main__":
    main()
