"""``gmatch k-best``, ``bottleneck``, ``scale`` and ``transport``: the neighbours of assignment, each answer proven."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..arrays import to_host
from ..datasets.tables import Table as CostTable
from ..errors import DataError, InvalidInput, words_of
from ..proof.verify import verify
from ..toolkit.bottleneck import bottleneck
from ..toolkit.ranked import k_best
from ..toolkit.scaling import scale
from ..toolkit.transport import transport
from ..toolkit_result import Scaling
from .answers import Shown, is_labelled, labels_of, pairs_of, print_answer, table_of
from .inputs import checked_costs, read_costs
from .options import a_limit, add_costs, add_printing
from .output import COLUMNS, Pairs, add_output, check_output, write_answer
from .terminal import Facts, waiting

MATES = ("row_match", "col_match")
JOBS = ("product", "sum", "bottleneck", "cardinality")


class _Answer(NamedTuple):
    """What is printed of an answer (facts, and pairs in columns), and what a file of arrays gets."""

    facts: Facts
    pairs: Pairs
    arrays: Mapping[str, Any]
    columns: Sequence[str] = COLUMNS


def add_k_best(commands: Any) -> argparse.ArgumentParser:
    command = _added(commands, "k-best", "list the cheapest assignments in order, and prove that no other is cheaper")
    command.add_argument("k", type=int, metavar="K", help="how many")
    command.add_argument("--cost-limit", type=a_limit, metavar="C", help="never make a pair that costs more than this")
    command.set_defaults(run=run_k_best)
    return command


def run_k_best(arguments: argparse.Namespace) -> int:
    """``gmatch k-best``: what each assignment costs, and the pairs of all."""
    table, costs, seconds, found = _solved(arguments, lambda costs: k_best(costs, arguments.k))
    proof = verify(costs, found)
    facts = _facts(arguments, costs) | {"found": len(found), "complete": found.complete, "tolerance": proof.tolerance}
    facts |= {"cost": found.costs.tolist(), "total_seconds": seconds}
    pairs = [(rank, *pair) for rank, one in enumerate(found) for pair in pairs_of(table, one)]
    arrays = {"row_match": found.row_match, "costs": found.costs}
    return _told(arguments, table, _Answer(facts, pairs, arrays, ("rank", "row", "column")))


def add_bottleneck(commands: Any) -> argparse.ArgumentParser:
    command = _added(
        commands, "bottleneck", "make the most expensive pair of an assignment as cheap as can be, and prove it"
    )
    command.add_argument("--then-sum", action="store_true", help="the cheapest of all such assignments")
    command.add_argument("--partial", action="store_true", help="if there is no assignment, as many pairs as possible")
    command.set_defaults(run=run_bottleneck, cost_limit=None)
    return command


def run_bottleneck(arguments: argparse.Namespace) -> int:
    """``gmatch bottleneck``: the threshold, and an assignment that keeps to it."""
    then, infeasible = "sum" if arguments.then_sum else None, "partial" if arguments.partial else "raise"
    table, costs, seconds, found = _solved(arguments, lambda costs: bottleneck(costs, then=then, infeasible=infeasible))
    proof = verify(costs, found)
    facts = _facts(arguments, costs) | {"pairs": found.size, "threshold": found.threshold, "cost": found.cost}
    facts |= {"cover_rows": proof.cover_rows, "cover_columns": proof.cover_columns, "total_seconds": seconds}
    pairs = pairs_of(table, found, to_host(found.pair_costs))
    return _told(arguments, table, _Answer(facts, pairs, {name: getattr(found, name) for name in MATES}))


def add_scale(commands: Any) -> argparse.ArgumentParser:
    command = _added(
        commands, "scale", "bring large entries to the diagonal and scale them to 1, as MC64, and prove it"
    )
    command.add_argument("--job", choices=JOBS, default="product", help="what is to be large on the diagonal")
    command.add_argument("--symmetric", action="store_true", help="scale rows and columns alike")
    command.set_defaults(run=run_scale)
    return command


def run_scale(arguments: argparse.Namespace) -> int:
    """``gmatch scale``: the diagonal, and the logarithms of the scalings in a file of arrays."""
    check_output(arguments.output)
    with waiting(f"reading {arguments.costs}"):
        table = read_costs(arguments)
    started = time.perf_counter()
    found: Scaling = scale(table.costs, arguments.job, symmetric=arguments.symmetric)
    seconds = time.perf_counter() - started
    proof = verify(table.costs, found)
    facts: Facts = {"matrix": arguments.costs, "rows": len(found.row_match), "columns": len(found.col_match)}
    facts |= {"job": found.job, "diagonal": found.size, "excess": proof.excess, "total_seconds": seconds}
    rows = (found.row_match >= 0).nonzero()[0]
    arrays = {name: getattr(found, name) for name in (*MATES, "row_log", "col_log")}
    pairs = pairs_of(table, (rows, found.row_match[rows]))
    return _told(arguments, table, _Answer(facts, pairs, arrays, COLUMNS[:2]))


def add_transport(commands: Any) -> argparse.ArgumentParser:
    command = _added(commands, "transport", "bring whole supplies to whole demands at the least cost, and prove it")
    for name, side in (("supply", "row"), ("demand", "column")):
        command.add_argument(
            f"--{name}", required=True, metavar="NUMBERS", help=f"of each {side}: numbers with commas, or a .npy file"
        )
    command.set_defaults(run=run_transport, cost_limit=None)
    return command


def run_transport(arguments: argparse.Namespace) -> int:
    """``gmatch transport``: the routes in use, and how much goes by each."""
    supply, demand = (_numbers(name, getattr(arguments, name)) for name in ("supply", "demand"))
    table, costs, seconds, found = _solved(arguments, lambda costs: transport(costs, supply, demand))
    proof = verify((costs, supply, demand), found)
    facts = _facts(arguments, costs) | {"units": int(found.amounts.sum()), "routes": len(found.rows)}
    facts |= {"cost": found.cost, "gap": proof.gap, "tolerance": proof.tolerance, "total_seconds": seconds}
    pairs = pairs_of(table, (found.rows, found.columns), found.amounts)
    arrays = {name: getattr(found, name) for name in ("rows", "columns", "amounts", "u", "v")}
    return _told(arguments, table, _Answer(facts, pairs, arrays, ("row", "column", "amount")))


def _added(commands: Any, name: str, what: str) -> argparse.ArgumentParser:
    """A command that reads a matrix, and prints and writes pairs."""
    command: argparse.ArgumentParser = commands.add_parser(name, help=what, description=f"{what.capitalize()}.")
    add_costs(command, maximize=name != "scale")
    add_printing(command, verbose=False)
    add_output(command)
    command.set_defaults(device="cpu", verbose=True)
    return command


def _solved(arguments: argparse.Namespace, solve: Callable[[Any], Any]) -> tuple[CostTable, Any, float, Any]:
    """The table, its costs, the seconds of the solver, and its result."""
    check_output(arguments.output)
    with waiting(f"reading {arguments.costs}"):
        table = read_costs(arguments)
        costs = checked_costs(table, arguments)
    with waiting(f"solving {arguments.costs}"):
        started = time.perf_counter()
        found = solve(costs)
        return table, costs, time.perf_counter() - started, found


def _facts(arguments: argparse.Namespace, costs: Any) -> Facts:
    rows, columns = costs.shape
    return {"costs": arguments.costs, "rows": rows, "columns": columns, "type": str(costs.dtype)}


def _told(arguments: argparse.Namespace, table: CostTable, answer: _Answer) -> int:
    """Writes and prints an answer."""
    facts, pairs, arrays, columns = answer
    write_answer(arguments.output, facts, pairs, {**arrays, **labels_of(table)}, columns)
    print_answer(arguments, facts, table_of(facts, facts["total_seconds"]), Shown(pairs, is_labelled(table), columns))
    return 0


def _numbers(name: str, given: str) -> Any:
    """Numbers with commas, or in a .npy file."""
    if given.lower().endswith(".npy"):
        try:
            return np.load(given, allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise DataError(f"expected an array of whole numbers in {given}, got {words_of(error)}") from None
    try:
        return np.array([int(number) for number in given.split(",")], np.int64)
    except (ValueError, OverflowError):
        raise InvalidInput(f"--{name} must be whole numbers with commas, or a .npy file; got {given!r}") from None
