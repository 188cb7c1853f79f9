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
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from harness import Calls, Record, SideProcess, Timing, clocked, equals, markdown, timed, timed_peer

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


def peers() -> dict[str, Callable[[Any], Callable[[], int]]]:
    """Solvers that are installed here: each takes a matrix and returns a function that counts matched rows."""
    return {"SciPy": scipy_peer} | ({"igraph": igraph_peer} if find_spec("igraph") else {})


def scipy_peer(matrix: Any) -> Callable[[], int]:
    from scipy.sparse.csgraph import maximum_bipartite_matching

    return lambda: int((maximum_bipartite_matching(matrix, perm_type="column") >= 0).sum())


def igraph_peer(matrix: Any) -> Callable[[], int]:
    import igraph

    rows = matrix.shape[0]
    coordinates = matrix.tocoo()
    edges = list(zip(coordinates.row.tolist(), (coordinates.col + rows).tolist(), strict=True))
    graph = igraph.Graph.Bipartite([0] * rows + [1] * matrix.shape[1], edges)
    return lambda: len(graph.maximum_bipartite_matching())


def peer_calls(name: str, matrix: Any) -> Calls:
    """What a `SideProcess` runs."""
    solve = peers()[name](matrix)
    yield 0, None
    yield from clocked(solve)


def measure(name: str, matrix: Any, options: argparse.Namespace, side: SideProcess) -> Iterator[Timing]:
    begin = time.perf_counter()
    graph = gmatch.BipartiteGraph(matrix).on(options.device)
    checked = time.perf_counter() - begin
    size = gmatch.max_matching(graph, certify=True).size
    methods = gmatch.METHODS if options.methods == "all" else ("auto",)
    for method in methods:
        label = method if isinstance(method, str) else method.name
        facts = {"rows": graph.shape[0], "entries": graph.entries, "size": size, "check_seconds": checked}
        solve = partial(gmatch.max_matching, graph, method=method, threads=options.threads)
        check = equals(size)
        yield timed(
            name, label, clocked(solve), lambda matching, check=check: check(matching.size), options.repeats, facts,
            describe=facts_of,
        )  # fmt: skip
    if options.peers:
        for peer in peers():
            yield timed_peer(name, peer, side, peer_calls, (peer, matrix), equals(size), 1, options.limit)


def facts_of(matching: gmatch.Matching) -> dict[str, Any]:
    return {key: matching.stats[key] for key in ("initial", "start_size", "phases", "levels", "threads")}


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
    device = gpu.devices()[0] if options.device == "gpu" else f"{cpu.available_threads()} CPU threads"
    record = Record(options.output, {"device": device, "load": os.getloadavg()})
    with SideProcess() as side:
        for name, matrix in instances(options.families, options.scale):
            for timing in measure(name, matrix, options, side):
                record.add(timing)
                print(f"{timing.instance}, {timing.solver}: {timing.median} s {timing.facts}")
    reference = record.timings[0].solver
    print(f"\nMilliseconds, median of {options.repeats}; in brackets, how many times {reference}\n")
    print(markdown(record.timings, reference))


if __name__ == "__main__":
    main()
