"""Small assignment problems in many cells, and the cells in which a peer is fastest.

    python benchmarks/cells.py                              # 2,800 cells, about 7 minutes
    python benchmarks/cells.py --sizes 3 10 --options limit --worst 50

A cell is a family of costs, an option, a type, a shape and a size. It has up to 150 different problems, for two
reasons: a processor learns to predict a few problems that it meets again and again, and 1 problem in 500 may take
another way. Answers are compared before anything is timed, and peers with wrong answers are left out. Solvers take
turns in this process; what counts is the processor time of this thread. Each solver is called through one Python
function. The ratio is the best peer's time over ours, from the matrix to the pairs. We are faster if it is above 1.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from statistics import geometric_mean, median
from typing import Any, NamedTuple

import numpy as np
import peers
import scipy.optimize
from harness import POSITIVE, number, parsed

import gmatch

Solve = Callable[..., Any]
OURS = "gmatch"
SHAPES = {"square": (1.0, 1.0), "wide": (1.0, 1.5), "tall": (1.5, 1.0)}
OPTIONS = ("none", "limit", "maximize", "partial")
TYPES = ("float64", "float32", "int32", "int64")
LARGEST = {"float64": 1.7e308, "float32": 3.4e38, "int32": 1e9, "int64": 1e15}
# Costs of at least this number stand for "not".
BIG = 1e5
# Seconds of a solver in each turn. Peers that take at least 4 times as long as the fastest solver are left out.
SECONDS, SLOW = 3e-4, 4


def uniform(random: np.random.Generator, shape: tuple[int, int]) -> Any:
    return 100 * random.random(shape)


def few_integers(random: np.random.Generator, shape: tuple[int, int]) -> Any:
    return random.integers(0, 10, shape).astype(np.float64)


def zeros_and_ones(random: np.random.Generator, shape: tuple[int, int]) -> Any:
    return (random.random(shape) < 0.7).astype(np.float64)


def overlaps(random: np.random.Generator, shape: tuple[int, int]) -> Any:
    """1 - IoU of boxes: each box overlaps its partner and, on average, two others."""
    costs = np.where(random.random(shape) < 2 / max(shape), random.random(shape), 1.0)
    diagonal = np.arange(min(shape))
    costs[diagonal, diagonal] = random.random(len(diagonal))
    return costs


def points(random: np.random.Generator, shape: tuple[int, int]) -> Any:
    ours, others = (random.random((length, 2)) for length in shape)
    return np.linalg.norm(ours[:, None] - others[None], axis=2)


def capped(random: np.random.Generator, shape: tuple[int, int]) -> Any:
    return np.minimum(points(random, shape), 0.3)


def sentinels(random: np.random.Generator, shape: tuple[int, int], big: float, allowed: float) -> Any:
    return np.where(random.random(shape) > allowed / max(shape), big, random.random(shape))


FAMILIES: dict[str, Callable[[np.random.Generator, tuple[int, int]], Any]] = {
    "uniform": uniform, "few integers": few_integers, "0 and 1": zeros_and_ones, "overlaps": overlaps,
    "points": points, "capped": capped,
    **{
        f"{big:g}, {allowed} allowed": partial(sentinels, big=big, allowed=allowed)
        for big, allowed in ((1e5, 3), (1e9, 1), (1e9, 3), (1e9, 8), (1e15, 3), (1.7e308, 3))
    },
}  # fmt: skip


class Cell(NamedTuple):
    family: str
    option: str
    dtype: str
    shape: str
    size: int

    def problems(self) -> list[Any]:
        random = np.random.default_rng(self.size)
        shape = tuple(int(self.size * side) for side in SHAPES[self.shape])
        count = next(count for most, count in ((20, 150), (50, 60), (100, 20), (np.inf, 5)) if self.size <= most)
        return [self._typed(FAMILIES[self.family](random, (shape[0], shape[1]))) for _ in range(count)]

    def exists(self) -> bool:
        """Whether the cell makes sense. Sentinels have no limits and no maxima, and must fit into their type."""
        big = float(self.family.split(",")[0]) if "allowed" in self.family else 0
        return not big or (self.option in ("none", "partial") and big <= LARGEST[self.dtype])

    def _typed(self, costs: Any) -> Any:
        if np.dtype(self.dtype).kind == "i" and (costs != np.rint(costs)).any():
            costs = np.where(costs < BIG, 1000 * costs, costs)
        return np.ascontiguousarray(costs.astype(self.dtype))

    def limit(self, costs: Any) -> float:
        """A limit with about three pairs of each row below it. In some families 0.7 or 1.5 times the largest cost."""
        if self.family in ("0 and 1", "overlaps"):
            return 0.7 * float(costs.max())
        return 1.5 if self.family == "few integers" else float(np.quantile(costs, min(0.5, 3 / max(costs.shape))))


def solvers_of(cell: Cell) -> dict[str, Solve]:
    """The solvers by name. Each takes the costs, and with some options a second argument: a limit, or the negatives."""
    others = {name: solve for name, solve in peers.lap_functions().items() if name.endswith("lapjv")}
    others = {name: partial(solve, extend_cost=True, return_cost=False) for name, solve in others.items()}
    others |= peers.module_functions()
    if cell.option == "limit":
        own: dict[str, Solve] = {OURS: lambda costs, limit: tuple(gmatch.lap(costs, cost_limit=limit))}
        return own | {
            name: lambda costs, limit, solve=solve: solve(costs, cost_limit=limit)
            for name, solve in others.items()
            if name != "fastlap"
        }
    scipy_solves = scipy.optimize.linear_sum_assignment
    if cell.option == "maximize":
        own = {
            OURS: lambda costs, _: tuple(gmatch.lap(costs, maximize=True)),
            "SciPy": lambda costs, _: scipy_solves(costs, True),
        }
        return own | {name: lambda _, negative, solve=solve: solve(negative) for name, solve in others.items()}
    own = {OURS: lambda costs: tuple(gmatch.lap(costs)), "SciPy": lambda costs: scipy_solves(costs)}
    if cell.option == "partial":
        own[OURS] = lambda costs: tuple(gmatch.lap(costs, infeasible="partial"))
    return own | {name: lambda costs, solve=solve: solve(costs) for name, solve in others.items()}


def arguments_of(cell: Cell) -> list[tuple[Any, ...]]:
    if cell.option == "limit":
        return [(costs, cell.limit(costs)) for costs in cell.problems()]
    return [(costs, -costs) if cell.option == "maximize" else (costs,) for costs in cell.problems()]


def pairs_of(found: Any, shape: tuple[int, int]) -> tuple[Any, Any]:
    """The pairs in a solver's answer, which has rows and columns of pairs, or mates of rows and of columns."""
    first, second = (part for part in found if np.ndim(part) == 1)
    rows = np.flatnonzero(first >= 0)
    are_mates = (len(first), len(second)) == shape and (second[first[rows]] == rows).all()
    if are_mates and ((first < 0).any() or (second < 0).any() or not np.array_equal(first, np.arange(shape[0]))):
        return rows, first[rows]
    return first, second


def value_of(cell: Cell, arguments: tuple[Any, ...], found: Any) -> tuple[int, float]:
    """How many pairs stand for "not", and the sum of the other pairs, less the limit for each of them."""
    costs = arguments[0]
    entries = costs[pairs_of(found, costs.shape)].astype(np.float64)
    ordinary = entries[entries < BIG]
    limit = arguments[1] if cell.option == "limit" else 0
    return len(entries) - len(ordinary), float(ordinary.sum()) - limit * len(ordinary)


def is_right(values: list[tuple[int, float]], expected: list[tuple[int, float]]) -> bool:
    return all(
        value[0] == right[0] and abs(value[1] - right[1]) <= 1e-6 * max(1.0, abs(right[1]))
        for value, right in zip(values, expected, strict=True)
    )


class Outcome(NamedTuple):
    ratio: float
    cell: Cell
    ours: float
    best: float
    peer: str
    wrong: list[str]


def measure(cell: Cell, turns: int) -> Outcome | None:
    """The times of a cell; None if no peer has right answers."""
    arguments, solvers = arguments_of(cell), solvers_of(cell)
    expected = [value_of(cell, given, solvers[OURS](*given)) for given in arguments]
    first, wrong = {}, []
    for name, solve in solvers.items():
        try:
            right = is_right([value_of(cell, given, solve(*given)) for given in arguments], expected)
        except (TypeError, ValueError, IndexError, RuntimeError):
            right = False
        if not right:
            wrong.append(name)
            continue
        first[name] = seconds_of(solve, arguments, 1)
    if len(first) < 2:
        return None
    fastest = min(first.values())
    timed = {name: took for name, took in first.items() if name == OURS or took < SLOW * fastest}
    times: dict[str, list[float]] = {name: [] for name in timed}
    for _ in range(turns):
        for name, took in timed.items():
            times[name].append(seconds_of(solvers[name], arguments, max(1, int(SECONDS / took))))
    least = {name: min(some) / len(arguments) for name, some in times.items()}
    peer = min((name for name in least if name != OURS), key=least.__getitem__, default=None)
    if peer is None:  # all are slow
        return None
    ratio = median(theirs / ours for theirs, ours in zip(times[peer], times[OURS], strict=True))
    return Outcome(ratio, cell, least[OURS], least[peer], peer, wrong)


def seconds_of(solve: Solve, arguments: list[tuple[Any, ...]], rounds: int) -> float:
    begin = time.thread_time()
    for _ in range(rounds):
        for given in arguments:
            solve(*given)
    return (time.thread_time() - begin) / rounds


def cells(options: argparse.Namespace) -> Iterator[Cell]:
    every = itertools.product(options.families, options.options, options.dtypes, options.shapes, options.sizes)
    return (cell for cell in itertools.starmap(Cell, every) if cell.exists())


def parse(command: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=POSITIVE, nargs="+", default=[3, 5, 8, 10, 20, 50, 100, 300])
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=list(FAMILIES))
    parser.add_argument("--options", nargs="+", choices=OPTIONS, default=list(OPTIONS))
    parser.add_argument("--dtypes", nargs="+", choices=TYPES, default=list(TYPES))
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--turns", type=POSITIVE, default=9)
    parser.add_argument("--worst", type=POSITIVE, default=30, help="cells to show")
    return parsed(parser, command)


def main(command: Sequence[str] | None = None) -> None:
    options = parse(command)
    measured = [measure(cell, options.turns) for cell in cells(options)]
    outcomes = sorted(outcome for outcome in measured if outcome is not None)
    for ratio, cell, ours, best, peer, wrong in outcomes[: options.worst]:
        line = f"{ratio:.2f}  {' '.join(map(str, cell)):45} {number(ours * 1e6)} us, {peer} {number(best * 1e6)}"
        print(line + (f", wrong: {', '.join(wrong)}" if wrong else ""))
    for part in Cell._fields:
        ratios: dict[Any, list[float]] = {}
        for outcome in outcomes:
            ratios.setdefault(getattr(outcome.cell, part), []).append(outcome.ratio)
        print(", ".join(f"{name}: {geometric_mean(some):.2f} (least {min(some):.2f})" for name, some in ratios.items()))
    slower = sum(outcome.ratio < 1 for outcome in outcomes)
    mean = geometric_mean(outcome.ratio for outcome in outcomes) if outcomes else 1
    print(f"{len(outcomes)} cells, {slower} below 1; geometric mean {mean:.2f}")


if __name__ == "__main__":
    main()
