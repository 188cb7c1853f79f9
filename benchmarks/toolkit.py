"""The toolkit beside peers: k best, bottleneck, maximum weight, transport, scaling, hypotheses, and updates.

    python benchmarks/toolkit.py                                   # all tables
    python benchmarks/toolkit.py --only update "k best" --output FILE

Peers are called as they are: fastlap and POT if installed, SciPy, networkx. Where no peer has a function for a problem,
one is written with SciPy ("by SciPy"). Every answer must be worth as much as the answer of gmatch, which is proven
first. Solvers take turns, so that disturbances meet all of them. All run on one thread. The tables show processor
time, which other processes on the machine change less than wall time.
"""

from __future__ import annotations

import argparse
import heapq
import itertools
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

import networkx
import numpy as np
import scipy.sparse
from harness import POSITIVE, Record, Timing, equals, machine_of, markdown_table, parsed, ratio_cell
from scipy.optimize import linear_sum_assignment
from scipy.sparse.csgraph import maximum_bipartite_matching, min_weight_full_bipartite_matching

import gmatch

Solve = Callable[[], Any]
# A name; for each solver a call, and the worth of its answer; the proven worth.
Case = tuple[str, dict[str, tuple[Solve, Callable[[Any], float]]], float]


def cost_families(n: int) -> dict[str, Any]:
    random = np.random.default_rng(n)
    places = random.random((2, n, 2))
    return {
        "uniform": random.random((n, n)),
        "integers to 100": random.integers(0, 100, (n, n)),
        "points": np.linalg.norm(places[0][:, None] - places[1], axis=2),
    }


def k_best(size: str) -> Iterator[Case]:
    for n, k in (
        ((10, 100), (50, 25)) if size == "small" else ((10, 100), (50, 25), (100, 200), (200, 100), (200, 1000))
    ):
        for family, cost in cost_families(n).items():
            solvers: dict[str, Any] = {
                "gmatch": (lambda cost=cost, k=k: gmatch.k_best(cost, k), lambda found: found.costs.sum()),
            }
            if find_spec("fastlap") and n * k <= 20_000:  # it takes a minute for the largest one
                import fastlap

                solvers["fastlap"] = (
                    lambda cost=cost, k=k: fastlap.solve_lap_kbest(cost, k),
                    lambda found: sum(one[0] for one in found),
                )
            if n * k <= 2000:
                solvers["Murty by SciPy"] = (lambda cost=cost, k=k: murty(cost, k), sum)
            expected = gmatch.k_best(cost, k, certify=n <= 50).costs.sum()
            yield f"k best, {k} of {n} x {n}, {family}", solvers, float(expected)


def murty(cost: Any, k: int) -> list[float]:
    """Murty's method, as one writes it with SciPy: every child is solved from nothing."""
    cost = cost.astype(float)
    n, count = len(cost), itertools.count()

    def solved(rows: Any, forbidden: Any) -> Any:
        matrix = np.where(forbidden, np.inf, cost)
        kept = rows
        matrix[np.arange(len(kept))] = np.inf
        matrix[np.arange(len(kept)), kept] = cost[np.arange(len(kept)), kept]
        try:
            return linear_sum_assignment(matrix)[1]
        except ValueError:
            return None

    nothing = np.zeros((n, n), bool)
    best = solved(np.array([], int), nothing)
    queue, found = [(cost[np.arange(n), best].sum(), next(count), best, 0, nothing)], []
    while queue and len(found) < k:
        total, _, columns, first, forbidden = heapq.heappop(queue)
        found.append(total)
        for row in range(first, n):
            child = forbidden.copy()
            child[row, columns[row]] = True
            other = solved(columns[:row], child)
            if other is not None:
                heapq.heappush(queue, (cost[np.arange(n), other].sum(), next(count), other, row, child))
    return found


def bottleneck(size: str) -> Iterator[Case]:
    for n in (50,) if size == "small" else (100, 1000):
        for family, cost in cost_families(n).items():
            solvers: dict[str, Any] = {
                "gmatch": (lambda cost=cost: gmatch.bottleneck(cost), lambda found: found.threshold),
                "thresholds by SciPy": (lambda cost=cost: halved_threshold(cost), float),
            }
            if find_spec("fastlap"):
                import fastlap

                solvers["fastlap"] = (lambda cost=cost: fastlap.solve_lbap(cost), lambda found: found[0])
            yield f"bottleneck, {n} x {n}, {family}", solvers, float(gmatch.bottleneck(cost, certify=True).threshold)


def halved_threshold(cost: Any) -> float:
    """The least threshold that leaves an assignment, found by halving."""
    values = np.unique(cost)
    low, high = 0, len(values) - 1
    while low < high:
        middle = (low + high) // 2
        pairs = maximum_bipartite_matching(scipy.sparse.csr_array(cost <= values[middle]))
        low, high = (low, middle) if (pairs >= 0).all() else (middle + 1, high)
    return float(values[low])


def max_weight(size: str) -> Iterator[Case]:
    for n in (30,) if size == "small" else (100, 1000):
        random = np.random.default_rng(n)
        weights = scipy.sparse.random_array((n, n), density=5 / n, rng=random, format="csr")
        weights.data -= 0.2
        dense, graph = weights.toarray(), networkx.bipartite.from_biadjacency_matrix(weights)
        solvers: dict[str, Any] = {
            "gmatch, sparse": (lambda w=weights: gmatch.max_weight_matching(w), lambda found: found.cost),
            "gmatch, networkx graph": (lambda g=graph: gmatch.max_weight_matching(g), lambda found: found.cost),
            "dense by SciPy": (
                lambda d=dense: linear_sum_assignment(np.maximum(d, 0), maximize=True),
                lambda found, d=dense: np.maximum(d, 0)[found].sum(),
            ),
        }
        if n <= 200:
            solvers["networkx"] = (
                lambda g=graph: networkx.max_weight_matching(g),
                lambda found, g=graph: sum(g.edges[edge]["weight"] for edge in found),
            )
        expected = gmatch.max_weight_matching(weights, certify=True).cost
        yield f"max weight, {n} x {n}, 5 entries a row", solvers, float(expected)


def transport(size: str) -> Iterator[Case]:
    for n, units in ((20, 3),) if size == "small" else ((100, 5), (500, 4)):
        random = np.random.default_rng(n)
        cost, supply = random.random((n, n)), random.integers(1, 2 * units, n)
        demand = np.bincount(random.integers(0, n, supply.sum()), minlength=n)
        solvers: dict[str, Any] = {
            "gmatch": (lambda c=cost, s=supply, d=demand: gmatch.transport(c, s, d), lambda found: found.cost)
        }
        if find_spec("ot"):
            import ot

            masses = supply.astype(float), demand.astype(float)
            solvers["POT emd"] = (
                lambda c=cost, masses=masses: ot.emd(*masses, c),
                lambda plan, c=cost: (plan * c).sum(),
            )
        expected = gmatch.transport(cost, supply, demand, certify=True).cost
        yield f"transport, {n} x {n}, {supply.sum()} units", solvers, float(expected)


def scaling(size: str) -> Iterator[Case]:
    for n in (100,) if size == "small" else (1000, 20000):
        random = np.random.default_rng(n)
        matrix = scipy.sparse.random_array((n, n), density=8 / n, rng=random, format="csr")
        matrix = (matrix + scipy.sparse.diags_array(random.random(n) * 1e-3)).tocsr()
        logs = matrix.copy()
        logs.data = 1 - np.log(matrix.data / matrix.data.max())  # above 0: SciPy drops zeros

        def by_scipy(logs: Any = logs) -> Any:
            return min_weight_full_bipartite_matching(logs)

        solvers: dict[str, Any] = {
            "gmatch": (lambda m=matrix: gmatch.scale(m), lambda found, m=matrix: products(m, found.row_match)),
            "pairs only, by SciPy": (by_scipy, lambda found, m=matrix: products(m, found[1])),
        }
        yield (
            f"scale, {n} x {n}, 9 entries a row",
            solvers,
            products(matrix, gmatch.scale(matrix, certify=True).row_match),
        )


def products(matrix: Any, row_match: Any) -> float:
    """The logarithm of the product on the diagonal."""
    return float(np.log(matrix[np.arange(len(row_match)), row_match]).sum())


MISS = 0.5


def hypotheses(size: str) -> Iterator[Case]:
    for parents, n, k in ((4, 5, 10),) if size == "small" else ((20, 12, 100), (100, 12, 100), (20, 50, 100)):
        random = np.random.default_rng(parents)
        costs, prior = random.random((parents, n, n + n // 4)), random.random(parents) / 10
        solvers: dict[str, Any] = {
            "gmatch": (
                lambda c=costs, k=k, p=prior: gmatch.best_hypotheses(c, k, miss=MISS, prior=p, threads=1),
                lambda found: found.costs.sum(),
            ),
            "each by gmatch.k_best": (
                lambda c=costs, k=k, p=prior: sorted(each_by_k_best(c, k, p))[:k],
                sum,
            ),
        }
        if find_spec("fastlap"):
            solvers["each by fastlap"] = (
                lambda c=costs, k=k, p=prior: sorted(each_by_fastlap(c, k, p))[:k],
                sum,
            )
        best = gmatch.best_hypotheses(costs, k, miss=MISS, prior=prior, certify=True)
        yield f"hypotheses, {k} of {parents} parents of {n} x {n + n // 4}", solvers, float(best.costs.sum())


def with_misses(cost: Any) -> Any:
    return np.concatenate([cost, np.where(np.eye(len(cost), dtype=bool), MISS, np.inf)], axis=1)


def each_by_k_best(costs: Any, k: int, prior: Any) -> list[float]:
    return [
        price + own
        for cost, own in zip(costs, prior, strict=True)
        for price in gmatch.k_best(with_misses(cost), k).costs
    ]


def each_by_fastlap(costs: Any, k: int, prior: Any) -> list[float]:
    import fastlap

    # It fails with inf. A number that no best assignment uses forbids instead.
    problems = (np.nan_to_num(with_misses(cost), posinf=1e3) for cost in costs)
    return [
        found[0] + own
        for problem, own in zip(problems, prior, strict=True)
        for found in fastlap.solve_lap_kbest(problem, k)
    ]


def update(size: str) -> Iterator[Case]:
    for n in (20, 100) if size == "small" else (100, 300, 1000, 3000):
        for name, columns, limit in (
            ("square", n, None),
            ("10 % more columns", n + n // 10, None),
            ("limit", n, 2 / n),
        ):
            random = np.random.default_rng(n)
            cost = random.random((n, columns))
            former = gmatch.lap(cost, cost_limit=limit)
            cost[n // 2] = random.random(columns)
            price = with_limit(limit)
            solvers: dict[str, Any] = {
                "update": (lambda c=cost, a=former, n=n: a.update(c, rows=[n // 2]), price),
                "lap anew": (lambda c=cost, limit=limit: gmatch.lap(c, cost_limit=limit, threads=1), price),
            }
            if limit is None:
                solvers["SciPy anew"] = (
                    lambda c=cost: linear_sum_assignment(c),
                    lambda found, c=cost: float(c[found].sum()),
                )
            expected = price(former.update(cost, rows=[n // 2], certify=True))
            yield f"update, {n} x {columns}, one row, {name}", solvers, expected


def with_limit(limit: float | None) -> Callable[[Any], float]:
    """What an assignment costs with a limit for each row that stays free."""
    return lambda found: found.cost + (limit or 0) * (len(found.row_match) - found.size)


KINDS = {
    "k best": k_best, "bottleneck": bottleneck, "max weight": max_weight, "transport": transport, "scale": scaling,
    "hypotheses": hypotheses, "update": update,
}  # fmt: skip


def measure(case: Case, turns: int, seconds_at_most: float, record: Record) -> None:
    name, solvers, expected = case
    check = equals(expected)
    facts: dict[str, dict[str, Any]] = {}
    for solver, (solve, worth) in solvers.items():
        try:
            check(worth(solve()))
        except AssertionError as error:
            facts[solver] = {"wrong": str(error)}
        except Exception as error:  # whatever a peer raises
            facts[solver] = {"failed": f"{type(error).__name__}: {error}"}
    seconds: dict[str, list[float]] = {solver: [] for solver in solvers if solver not in facts}
    for _ in range(turns):
        for solver, times in seconds.items():
            if sum(times) < seconds_at_most:
                begin = time.process_time()
                solvers[solver][0]()
                times.append(time.process_time() - begin)
    for solver in solvers:
        times = seconds.get(solver)
        if times:
            timing = Timing(name, solver, median(times), min(times), max(times), {"calls": len(times)})
        else:
            timing = Timing.none(name, solver, facts[solver])
        record.add(timing)
        print(f"{name}, {solver}: {ratio_cell(timing)} {facts.get(solver, '')}", flush=True)


def versions() -> dict[str, str]:
    found = {}
    for distribution in ("numpy", "scipy", "networkx", "fastlap", "pot"):
        try:
            found[distribution] = metadata.version(distribution)
        except metadata.PackageNotFoundError:
            continue
    return found


def commit() -> str:
    folder = Path(__file__).parent
    return subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=folder, capture_output=True, text=True, check=False
    ).stdout.strip()


def arguments(command: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=KINDS, nargs="+", default=list(KINDS))
    parser.add_argument("--size", choices=["small", "full"], default="full")
    parser.add_argument("--turns", type=POSITIVE, default=15)
    parser.add_argument("--seconds", type=POSITIVE, default=3, help="after which a solver has no more turns")
    parser.add_argument("--output", type=Path, help="JSON file to write")
    return parsed(parser, command)


def main(command: Sequence[str] | None = None) -> None:
    options = arguments(command)
    given = sys.argv[1:] if command is None else command
    told = {"peers": versions(), "commit": commit(), "command": " ".join(["benchmarks/toolkit.py", *given])}
    record = Record(options.output, machine_of("cpu") | told)
    for kind in options.only:
        for case in KINDS[kind](options.size):
            measure(case, options.turns, options.seconds, record)
    print("\nMilliseconds of the processor, and their multiple of the first solver's\n")
    for kind in options.only:
        timings = [timing for timing in record.timings if timing.instance.startswith(kind)]
        solvers = list(dict.fromkeys(timing.solver for timing in timings))
        rows = []
        for name in dict.fromkeys(timing.instance for timing in timings):
            row = {timing.solver: timing for timing in timings if timing.instance == name}
            base = row[solvers[0]].median
            rows.append([name, *(ratio_cell(row.get(one), None if one == solvers[0] else base) for one in solvers)])
        print(markdown_table([kind, *solvers], rows), end="\n\n")


if __name__ == "__main__":
    main()
