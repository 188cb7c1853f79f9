"""Costs by which peers were faster: a call of ours beside each peer's, in one process, in turn.

    python benchmarks/worst.py                            # all groups
    python benchmarks/worst.py --groups sentinels --sizes 10 100 1000 --dtypes float32
    python benchmarks/worst.py --output FILE

Groups: a number that stands for "not" and that some rows must use, for three shares of these rows; distances capped at
some neighbours; tall matrices and other strides; rows that differ by little, maxima, a band in a sea; warm starts,
where the peer is the other method. Answers are compared with a proven one before anything is timed. Peers that take
longer than the limit are not called with larger costs. A call is from the matrix to the pairs. The ratio is the median
of the best peer with right answers over ours: we are faster if it is above 1.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any, NamedTuple

import numpy as np
import other_costs
import peers
import scipy.optimize
from harness import LIMIT, POSITIVE, Record, Timing, machine_of, markdown_table, number, parsed

import gmatch

Solve = Callable[[Any], Any]
OURS = "gmatch"
# Big numbers that stand for "not", and how many allowed pairs a row has: with one, a third of the rows must use it.
NUMBERS, ALLOWED = (1e5, 1e9, 1e15), (1.0, 3.0, 8.0)
# Peers that take at least 20 times as long as the fastest solver are called once.
SLOW = 20


class Case(NamedTuple):
    name: str
    costs: Any
    ours: Solve
    others: dict[str, Solve]  # the first of them is always timed


def sentinels(n: int, dtype: Any) -> Iterator[Case]:
    for big in NUMBERS:
        for allowed in ALLOWED:
            for shape in ((n, n), (n, n + n // 2), (n + n // 2, n)):
                random = np.random.RandomState(n)
                costs = random.random_sample(shape)
                costs[random.random_sample(shape) > allowed / max(shape)] = big
                yield of_peers(f"{big:.0e}, {allowed:g} allowed, {shape[0]} x {shape[1]}", costs.astype(dtype))


def capped(n: int, dtype: Any) -> Iterator[Case]:
    for neighbours in (3, 10, 30, 100):
        costs = other_costs.capped_points(np.random.RandomState(n), n, min(neighbours, n / 2))
        yield of_peers(f"capped at {neighbours} neighbours, n = {n}", costs.astype(dtype))


def strides(n: int, dtype: Any) -> Iterator[Case]:
    random = np.random.RandomState(n)
    for rows, columns in ((n + n // 2, n), (n + n // 10, n), (n, n + n // 10), (n, 4 * n)):
        costs = random.random_sample((rows, columns)).astype(dtype)
        yield of_peers(f"{rows} x {columns}", costs)
    wide = random.random_sample((n, 2 * n)).astype(dtype)
    yield of_peers(f"every second column, n = {n}", wide[:, ::2])
    yield of_peers(f"by columns, n = {n}", np.asfortranarray(wide[:, :n]))
    tall = random.random_sample((2 * n, n)).astype(dtype)
    turned = {"gmatch, transposed copy": lambda costs: tuple(gmatch.lap(np.ascontiguousarray(costs.T)))[::-1]}
    yield Case(f"{2 * n} x {n} beside its transposed copy", tall, pairs_of, turned)


def levels(n: int, dtype: Any) -> Iterator[Case]:
    for family in ("maxima", "minima", "band in a sea", "equal rows 1e-15", "equal rows 1e-12", "equal rows 1e-9"):
        costs = other_costs.FAMILIES[family](np.random.RandomState(n), n)
        yield of_peers(f"{family}, n = {n}", costs if costs.dtype.kind == "i" else costs.astype(dtype))


def warm(n: int, dtype: Any) -> Iterator[Case]:
    """Costs that changed a little, with the duals from before."""
    for family in ("points in 3 dimensions", "shifted points", "column prices", "cosines", "products of rank 4"):
        before = other_costs.FAMILIES[family](np.random.RandomState(n), n).astype(dtype)
        noise = np.random.RandomState(n + 1).random_sample(before.shape)
        costs = (before * (1 + 1e-3 * noise)).astype(dtype)
        start = gmatch.lap(before)
        duals = start.u, start.v

        def solve(costs: Any, method: str, duals: Any = duals) -> Any:
            return tuple(gmatch.lap(costs, duals=duals, method=method))

        others: dict[str, Solve] = {method: partial(solve, method=method) for method in ("jv", "core")}
        yield Case(f"{family}, n = {n}", costs, partial(solve, method="auto"), others)


GROUPS: dict[str, Callable[[int, Any], Iterator[Case]]] = {
    "sentinels": sentinels, "capped": capped, "strides": strides, "levels": levels, "warm": warm,
}  # fmt: skip


def pairs_of(costs: Any) -> Any:
    return tuple(gmatch.lap(costs))


def of_peers(name: str, costs: Any) -> Case:
    others: dict[str, Solve] = {"SciPy": scipy.optimize.linear_sum_assignment}
    if costs.shape[0] == costs.shape[1]:
        others |= {name: solve for name, solve in peers.lap_functions().items() if name.endswith("lapjv")}
    return Case(name, costs, pairs_of, others | peers.module_functions())


def value_of(costs: Any, found: Any) -> tuple[int, float]:
    """How many pairs stand for "not", and what the others cost. Their sum would hide the others' cost."""
    parts = [part for part in found if np.ndim(part) == 1]  # lapx's functions return the cost, too
    every_row = np.arange(len(parts[0]))
    as_pairs = np.ndim(found[0]) == 1 or np.array_equal(parts[0], every_row)  # or mates of rows, then of columns
    rows, columns = parts if as_pairs else (every_row, parts[0])
    pairs = np.asarray(costs, np.float64)[rows, columns]
    big = pairs >= NUMBERS[0]
    return int(big.sum()), float(pairs[~big].sum())


def measure(case: Case, turns: int, limit: float, left_out: set[str]) -> list[Timing]:
    """Medians of calls, in turns of all solvers that are not much slower than the fastest."""
    proven = gmatch.lap(case.costs, certify=True)
    right = value_of(case.costs, tuple(proven))
    solvers = {OURS: case.ours, **{name: solve for name, solve in case.others.items() if name not in left_out}}
    facts: dict[str, dict[str, Any]] = {name: {} for name in solvers}
    first: dict[str, float] = {}
    for name, solve in solvers.items():
        begin = time.perf_counter()
        found = value_of(case.costs, solve(case.costs))
        first[name] = time.perf_counter() - begin
        if found[0] != right[0] or abs(found[1] - right[1]) > 1e-6 * max(1.0, abs(right[1])):
            facts[name] = {"wrong": f"{found} instead of {right}"}
    assert not facts[OURS], facts[OURS]
    left_out |= {name for name, took in first.items() if took > limit} - {OURS, next(iter(case.others))}
    fastest = min(first.values())
    always = {OURS, next(iter(case.others))}
    seconds: dict[str, list[float]] = {
        name: [] for name, took in first.items() if took < SLOW * fastest or name in always
    }
    for _ in range(turns):
        for name in seconds:
            begin = time.perf_counter()
            solvers[name](case.costs)
            seconds[name].append(time.perf_counter() - begin)
    name_of_case = f"{case.name}, {case.costs.dtype}"
    return [
        Timing(name_of_case, name, median(calls), min(calls), max(calls), facts[name])
        for name, calls in seconds.items()
    ]


def seconds_of(timing: Timing) -> float:
    assert timing.median is not None, "all of these are timed"
    return timing.median


def arguments(command: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--groups", nargs="+", choices=GROUPS, default=list(GROUPS))
    parser.add_argument("--sizes", type=POSITIVE, nargs="+", default=[10, 30, 100, 300, 1000])
    parser.add_argument("--dtypes", nargs="+", choices=["float64", "float32"], default=["float64"])
    parser.add_argument("--turns", type=POSITIVE, default=7)
    parser.add_argument("--limit", type=LIMIT, default=10, help="seconds that the calls of a peer may take")
    parser.add_argument("--output", type=Path, help="JSON file to write")
    return parsed(parser, command)


def main(command: Sequence[str] | None = None) -> None:
    options = arguments(command)
    record = Record(options.output, machine_of("cpu") | {"peers": peers.versions()})
    for group in options.groups:
        for dtype in options.dtypes:
            rows: list[list[str]] = []
            ratios: list[float] = []
            left_out: set[str] = set()
            for n in options.sizes:
                for case in GROUPS[group](n, np.dtype(dtype)):
                    timings = measure(case, options.turns, options.limit, left_out)
                    for timing in timings:
                        record.add(timing)
                    ours, *others = timings
                    wrong = [timing.solver for timing in others if timing.facts]
                    right = [timing for timing in others if not timing.facts]
                    best = min(right or others, key=seconds_of)
                    ratios.append(seconds_of(best) / seconds_of(ours))
                    milliseconds = number(seconds_of(ours) * 1e3), number(seconds_of(best) * 1e3)
                    rows.append([case.name, *milliseconds, best.solver, number(ratios[-1]), ", ".join(wrong)])
            print(f"{group}, {dtype}: least {number(min(ratios))}, geometric mean {number(geometric_mean(ratios))}\n")
            header = [group, "gmatch, ms", "best peer, ms", "which", "ratio", "wrong"]
            print(markdown_table(header, rows), end="\n\n", flush=True)


if __name__ == "__main__":
    main()
