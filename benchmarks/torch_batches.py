"""Batches of tensors on a GPU: gmatch beside torch-linear-assignment, in one process on one card.

    python benchmarks/torch_batches.py --output torch_batches.json
    python benchmarks/torch_batches.py --shapes 208x300x100 --dtypes float32 bfloat16

A shape is problems x rows x columns. Costs are even: floats in [0, 1), integers below 300. Each answer is checked
before it is timed: the first and the last problem against SciPy, the sums of all problems against each other. Four
times are taken:

| solver | a call |
|---|---|
| gmatch | ``gmatch.lap(cost).row_match``, until the GPU is done |
| gmatch, status | until the status of each problem is read, which raises errors |
| gmatch, host | until the call returns; the GPU may still be working |
| torch-linear-assignment | ``batch_linear_assignment(cost)``, until the GPU is done. It waits for the GPU twice |

Needs CuPy, torch with CUDA, and a GPU. torch-linear-assignment is left out if it is not installed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from harness import (
    POSITIVE,
    Record,
    Timing,
    clocked,
    equals,
    exit_status,
    machine_of,
    markdown,
    parsed,
    timed,
)
from scipy.optimize import linear_sum_assignment

import gmatch

SHAPES = "208x300x100", "208x300x300", "208x300x600"
DTYPES = "float32", "float64", "float16", "bfloat16", "int32"
PEER = "torch-linear-assignment"


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shapes", nargs="+", type=shape_of, default=list(map(shape_of, SHAPES)))
    parser.add_argument("--dtypes", nargs="+", choices=DTYPES, default=["float32"])
    parser.add_argument("--repeats", type=POSITIVE, default=15, help="timed calls of each cell; the median counts")
    parser.add_argument("--output", type=Path, help="JSON file to write")
    parser.set_defaults(device="gpu")
    return parsed(parser, argv)


def shape_of(text: str) -> tuple[int, ...]:
    """Problems, rows and columns."""
    numbers = text.split("x")
    if len(numbers) != 3 or not all(number.isdecimal() and int(number) for number in numbers):
        raise argparse.ArgumentTypeError(f"expected problems, rows and columns as 208x300x100, got {text!r}")
    return tuple(map(int, numbers))


def by_gmatch(cost: Any) -> Any:
    return gmatch.lap(cost).row_match


def with_status(cost: Any) -> Any:
    batch = gmatch.lap(cost)
    assert set(batch.status) <= {"optimal"}
    return batch.row_match


def by_peer(cost: Any) -> Any:
    from torch_linear_assignment import batch_linear_assignment

    return batch_linear_assignment(cost)


def price(cost: Any, match: Any) -> float:
    """What all pairs cost."""
    entries = cost.double().gather(2, match.clamp(min=0)[..., None])[..., 0]
    return float(entries.where(match >= 0, 0).sum())


def check_some(cost: Any, match: Any) -> None:
    """Holds the first and the last problem against SciPy."""
    for number in {0, len(cost) - 1}:
        matrix = cost[number].double().cpu().numpy()
        equals(float(matrix[linear_sum_assignment(matrix)].sum()))(price(cost[number, None], match[number, None]))


def calls_of(solve: Callable[[Any], Any], cost: Any, waits: bool) -> Any:
    """Seconds and answers: until the GPU is done, or until the call returns."""
    import torch

    def whole() -> Any:
        match = solve(cost)
        torch.cuda.synchronize()
        return match

    if waits:
        yield from clocked(whole)
    while True:
        torch.cuda.synchronize()
        begin = time.perf_counter()
        match = solve(cost)
        yield time.perf_counter() - begin, match


def measure(shape: tuple[int, ...], dtype: str, repeats: int) -> list[Timing]:
    """The times of one shape, after all solvers were found to agree."""
    import torch

    instance = f"{' x '.join(map(str, shape))}, {dtype}"
    noise = torch.rand(shape, generator=torch.Generator().manual_seed(1))
    cost = (noise * 300 if dtype.startswith("int") else noise).to(getattr(torch, dtype)).cuda()
    solvers: dict[str, tuple[Callable[[Any], Any], bool]] = {
        "gmatch": (by_gmatch, True), "gmatch, status": (with_status, True), "gmatch, host": (by_gmatch, False),
    }  # fmt: skip
    if find_spec("torch_linear_assignment"):
        solvers[PEER] = by_peer, True
    expected = by_gmatch(cost)
    check_some(cost, expected)
    facts = {"shape": shape, "dtype": dtype, "entries": cost.numel()}

    def check(match: Any) -> None:
        equals(price(cost, expected))(price(cost, match))

    return [
        timed(instance, name, calls_of(solve, cost, waits), check, repeats, facts)
        for name, (solve, waits) in solvers.items()
    ]


def main(argv: Sequence[str] | None = None) -> int:
    options = arguments(argv)
    if not find_spec("torch"):
        print("torch is not installed: pip install torch")
        return 1
    import torch

    record = Record(options.output, machine_of("gpu") | {"torch": torch.__version__})
    for shape in options.shapes:
        for dtype in options.dtypes:
            for timing in measure(shape, dtype, options.repeats):
                record.add(timing)
    print(markdown(record.timings, "gmatch"))
    return exit_status(record.timings)


if __name__ == "__main__":
    sys.exit(main())
