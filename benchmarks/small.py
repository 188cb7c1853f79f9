"""Small problems: microseconds of one call in Python, where the call may cost more than the solution.

    python benchmarks/small.py                               # assignment, 10 x 10 to 50 x 50, and matching
    python benchmarks/small.py --sizes 10 20 --output FILE

There are hundreds of different problems of each size: a processor learns to predict a few problems that it meets again
and again. Each solver solves all problems in its turn, and the turns go round. The table shows the mean call of each
solver's median turn. Answers are compared with a proven one before anything is timed. Peers are called as they are, in
this process: SciPy, and lapx or lap if installed. Conversions that they need are not timed.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import peers
import scipy.optimize
import scipy.sparse
from harness import POSITIVE, Record, Timing, equals, machine_of, markdown_table, number, parsed
from scipy.sparse.csgraph import maximum_bipartite_matching

import gmatch

Solve = Callable[[Any], Any]
# A function that makes problems of a size and a number; the solvers; the worth of an answer, and its proven worth.
Kind = tuple[Callable[[int, int], list[Any]], dict[str, Solve], Callable[[Any, Any], float], Callable[[Any], float]]

ASSIGNMENT: dict[str, Solve] = {
    "lap(C)": gmatch.lap,
    "rows, columns = lap(C)": lambda costs: tuple(gmatch.lap(costs)),
    "lap(C).col_ind": lambda costs: (gmatch.lap(costs).col_ind,),
    "lap(C, threads=1)": lambda costs: tuple(gmatch.lap(costs, threads=1)),
    'lap(C, infeasible="partial")': lambda costs: tuple(gmatch.lap(costs, infeasible="partial")),
    "gmatch.compat": gmatch.compat.linear_sum_assignment,
    "SciPy": scipy.optimize.linear_sum_assignment,
}
# With the pairs unpacked, for problems that may have fewer pairs than rows.
PAIRS: dict[str, Solve] = {"rows, columns = lap(C)": lambda costs: tuple(gmatch.lap(costs))}
LIMITED: dict[str, Solve] = {"lap(C, cost_limit=t)": lambda costs: tuple(gmatch.lap(costs, cost_limit=limit_of(costs)))}
MATCHING: dict[str, Solve] = {
    "max_matching(A)": gmatch.max_matching,
    "max_matching(A).size": lambda graph: gmatch.max_matching(graph).size,
    "SciPy": maximum_bipartite_matching,
}


def limit_of(costs: Any) -> float:
    """A limit: two of the uniform costs in [0, 1] of each row are below it."""
    return 2 / len(costs)


def price_of(costs: Any, found: Any) -> float:
    """The cost of the pairs, plus half the limit for each free row and each free column."""
    rows, columns = found
    return float(costs[rows, columns].sum()) - limit_of(costs) * len(rows)


def with_limit(solve: Solve) -> Solve:
    return lambda costs: solve(costs, cost_limit=limit_of(costs))  # type: ignore[call-arg]


def cost_of(costs: Any, found: Any) -> float:
    """The cost of a solver's answer: our result, or pairs, or what lapx returns."""
    answer = tuple(found) if isinstance(found, gmatch.Assignment) else found
    return peers.cost_of_lap(costs, np.arange(len(costs)), answer)


def size_of(graph: Any, found: Any) -> int:
    """The size of a solver's answer: the matching, its size, or SciPy's array."""
    return int((found >= 0).sum()) if isinstance(found, np.ndarray) else getattr(found, "size", found)


def measure(name: str, problems: Sequence[Any], solvers: dict[str, Solve], turns: int, record: Record) -> None:
    """Times one call of each solver, and adds the cells to the record."""
    seconds: dict[str, list[float]] = {solver: [] for solver in solvers}
    for _ in range(turns):
        for solver, solve in solvers.items():
            begin = time.perf_counter()
            for problem in problems:
                solve(problem)
            seconds[solver].append((time.perf_counter() - begin) / len(problems))
    for solver, calls in seconds.items():
        record.add(Timing(name, solver, median(calls), min(calls), max(calls), {"problems": len(problems)}))


def assignments(n: int, count: int) -> list[Any]:
    return list(np.random.default_rng(n).random((count, n, n)))


def tall(n: int, count: int) -> list[Any]:
    return list(np.random.default_rng(n).random((count, n + n // 2, n)))


def as_int32(n: int, count: int) -> list[Any]:
    return [(1000 * costs).astype(np.int32) for costs in assignments(n, count)]


def graphs(n: int, count: int) -> list[Any]:
    random = np.random.default_rng(n)
    return [scipy.sparse.random_array((n, n), density=min(1, 3 / n), rng=random, format="csr") for _ in range(count)]


def proven_cost(costs: Any) -> float:
    return gmatch.lap(costs, certify=True).cost


def arguments(command: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=POSITIVE, nargs="+", default=[10, 15, 20, 30, 50])
    parser.add_argument("--problems", type=POSITIVE, default=300, help="of each size")
    parser.add_argument("--turns", type=POSITIVE, default=31)
    parser.add_argument("--output", type=Path, help="JSON file to write")
    return parsed(parser, command)


def main(command: Sequence[str] | None = None) -> None:
    options = arguments(command)
    record = Record(options.output, machine_of("cpu") | {"peers": peers.versions()})
    kinds: dict[str, Kind] = {
        "assignment": (
            assignments,
            ASSIGNMENT | peers.lap_functions() | peers.module_functions(),
            cost_of,
            proven_cost,
        ),
        "tall": (
            tall,
            PAIRS | {"SciPy": scipy.optimize.linear_sum_assignment} | peers.module_functions(),
            cost_of,
            proven_cost,
        ),
        "int32": (
            as_int32,
            PAIRS | {"SciPy": scipy.optimize.linear_sum_assignment} | peers.module_functions(),
            cost_of,
            proven_cost,
        ),
        "limit": (
            assignments,
            LIMITED | {name: with_limit(peer) for name, peer in peers.module_functions().items() if name != "fastlap"},
            price_of,
            lambda costs: price_of(costs, gmatch.lap(costs, cost_limit=limit_of(costs), certify=True)),
        ),
        "matching": (graphs, MATCHING, size_of, lambda graph: gmatch.max_matching(graph, certify=True).size),
    }
    for kind, (make, solvers, value_of, prove) in kinds.items():
        for n in options.sizes:
            problems = make(n, options.problems)
            for problem in problems:
                check = equals(prove(problem))
                for solve in solvers.values():
                    check(value_of(problem, solve(problem)))
            measure(f"{kind}, {n} x {n}", problems, solvers, options.turns, record)
    print("Microseconds of one call\n")
    for kind in kinds:
        timings = [timing for timing in record.timings if timing.instance.startswith(kind)]
        solvers = list(dict.fromkeys(timing.solver for timing in timings))
        rows = [
            [name, *(number(timing.median * 1e6) for timing in timings if timing.instance == name and timing.median)]
            for name in dict.fromkeys(timing.instance for timing in timings)
        ]
        print(markdown_table([kind, *solvers], rows), end="\n\n")


if __name__ == "__main__":
    main()
