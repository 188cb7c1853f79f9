"""Linear assignment: our methods and peers on the papers' costs, and on harder ones.

    python benchmarks/assignment.py --sizes 1000 2000 4000 --peers       # on the CPU
    python benchmarks/assignment.py --sizes 4096 20000 --device gpu      # on the GPU; costs already there
    python benchmarks/assignment.py --costs geometric machol_wien        # other families
    python benchmarks/assignment.py --costs others --methods auto jv     # all of `other_costs.py`
    python benchmarks/assignment.py --costs sparse --sizes 100000 --peers  # ten entries a row, beside SciPy
    python benchmarks/assignment.py --deterministic                      # and what deterministic=True adds

Each answer is compared with a cost proven by duals before it is timed. Times include everything from the matrix to
the answer in Python, also the check of the costs. Prints a Markdown table and writes JSON. `papers.py` has the papers'
tables.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import other_costs
import peers
import scipy.sparse
from harness import (
    LIMIT,
    POSITIVE,
    Record,
    SideProcess,
    Timing,
    clocked,
    equals,
    machine_of,
    markdown,
    parsed,
    timed,
    timed_peer,
)
from scipy.sparse.csgraph import min_weight_full_bipartite_matching

import gmatch
from gmatch.datasets import costs
from gmatch.methods import assignment_method_of

Make = Callable[[int, str], Any]


def planted(n: int, device: str, values: int | None = None) -> Any:
    """About ten entries a row, among them a permutation, as float64: even in [0, 1), or of few values."""
    random = np.random.default_rng(0)
    columns = np.hstack([random.integers(0, n, (n, 9)), random.permutation(n)[:, None]])
    matrix = scipy.sparse.csr_array((np.ones(10 * n), (np.arange(n).repeat(10), columns.ravel())), shape=(n, n))
    matrix.data = random.random(matrix.nnz) if values is None else random.integers(1, values + 1, matrix.nnz) * 1.0
    if device == "cpu":
        return matrix
    import cupyx.scipy.sparse

    return cupyx.scipy.sparse.csr_matrix(scipy.sparse.csr_matrix(matrix))


FAMILIES: dict[str, Make] = {
    "uniform 0.1": lambda n, device: costs.uniform(n, 0.1, device=device),
    "uniform 1": lambda n, device: costs.uniform(n, 1, device=device),
    "uniform 10": lambda n, device: costs.uniform(n, 10, device=device),
    "uniform 1000": lambda n, device: costs.uniform(n, 1000, device=device),
    "float64": lambda n, device: costs.uniform_floats(n, device=device),
    "float32": lambda n, device: costs.uniform_floats(n, dtype=np.float32, device=device),
    "geometric": lambda n, device: costs.geometric(n, device=device),
    "squared": lambda n, device: costs.geometric(n, squared=True, device=device),
    "low_rank": lambda n, device: costs.low_rank(n, device=device),
    "machol_wien": lambda n, device: costs.machol_wien(n, device=device),
    "few_values": lambda n, device: costs.few_values(n, device=device),
    "near_ties": lambda n, device: costs.near_ties(n, device=device),
    "blocks": lambda n, device: costs.blocks(n, device=device),
    "sparse": planted,
    "sparse, 100 values": lambda n, device: planted(n, device, 100),
    "sparse, 5 values": lambda n, device: planted(n, device, 5),
    **{family: partial(other_costs.make, family) for family in other_costs.FAMILIES},
}
OTHERS = "others"  # all of other_costs
PAPER = ["uniform 0.1", "uniform 1", "uniform 10", "uniform 1000", "float64", "float32"]


def measure(family: str, n: int, options: argparse.Namespace, side: SideProcess) -> Iterator[Timing]:
    matrix = FAMILIES[family](n, options.device)
    name = f"{family}, n = {n}"
    best = gmatch.lap(matrix, certify=True).cost
    for method in options.methods:
        for deterministic in (False, True)[: 1 + options.deterministic]:
            yield timed(
                name, f"{method}{', deterministic' * deterministic}",
                clocked(partial(gmatch.lap, matrix, method=method, deterministic=deterministic)),
                lambda assignment: equals(best)(assignment.cost), options.repeats, {}, describe=facts_of,
            )  # fmt: skip
    if options.peers and family.startswith("sparse"):
        on_host = matrix if options.device == "cpu" else matrix.get()
        calls = clocked(partial(min_weight_full_bipartite_matching, on_host))
        yield timed(
            name, "SciPy", calls, lambda pairs: equals(best)(on_host[pairs].sum()), options.repeats, {}, options.limit
        )  # fmt: skip
    elif options.peers:
        with TemporaryDirectory() as folder:
            path = Path(folder) / "costs.npy"
            np.save(path, matrix if options.device == "cpu" else matrix.get())
            for peer in peers.names():
                calls = side.calls(peers.calls, peer, path, limit=options.limit)
                try:
                    yield timed_peer(name, peer, calls, equals(best), options.repeats, options.limit)
                except AssertionError as error:
                    yield Timing.none(name, peer, {"wrong": str(error)})


def facts_of(assignment: gmatch.Assignment) -> dict[str, Any]:
    return {key: assignment.stats[key] for key in ("method", "phases", "levels", "dual_steps", "seconds")}


def method(text: str) -> str:
    """A method that `gmatch.lap` knows."""
    try:
        assignment_method_of(text, "cpu")
    except gmatch.GmatchError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=POSITIVE, nargs="+", default=[500, 1000, 2000])
    parser.add_argument("--costs", nargs="+", default=PAPER, choices=[*FAMILIES, OTHERS])
    parser.add_argument("--methods", type=method, nargs="+", default=["auto"])
    parser.add_argument("--device", choices=["cpu", "gpu"], default="cpu")
    parser.add_argument("--repeats", type=POSITIVE, default=3)
    parser.add_argument("--deterministic", action="store_true", help="each method also with deterministic=True")
    parser.add_argument("--peers", action="store_true", help="SciPy; lapx, lap and OR-Tools if installed")
    parser.add_argument("--limit", type=LIMIT, default=20, help="seconds a peer may take")
    parser.add_argument("--output", type=Path, help="JSON file to write")
    options = parsed(parser, argv)
    if OTHERS in options.costs and len(options.costs) > 1:
        parser.error(f"{OTHERS!r} are all of other_costs.py; give it alone, or families by name")
    return options


def main(argv: Sequence[str] | None = None) -> None:
    options = arguments(argv)
    record = Record(options.output, machine_of(options.device))
    with SideProcess() as side:
        for n in options.sizes:
            for family in other_costs.FAMILIES if options.costs == [OTHERS] else options.costs:
                for timing in measure(family, n, options, side):
                    record.add(timing)
    reference = record.timings[0].solver
    print(f"Milliseconds, median of {options.repeats}; in brackets, how many times {reference}\n")
    print(markdown(record.timings, reference))


if __name__ == "__main__":
    main()
