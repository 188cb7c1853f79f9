"""``gmatch assign``: one matrix of costs, its cheapest assignment and the proof; also by all ranks of mpiexec."""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import numpy as np

from ..assignment.lap import lap
from ..assignment.pairs import of_pairs
from ..datasets.costs import generate_rows
from ..distributed.mpi import end_the_job, world
from ..distributed.ranks import Ranks
from ..errors import DataError, GmatchError, Infeasible, InvalidInput, RankLost
from ..methods import assignment_method_of
from ..problems.dense import DenseCosts
from ..problems.sparse import SparseCosts
from ..proof.verify import verify
from ..result import Assignment, AssignmentCertificate
from .answers import COUNTED_BY_SOME, Shown, is_labelled, labels_of, pairs_of, print_answer, table_of
from .ends import NO_BACKEND, exit_code, tell
from .inputs import checked_costs, is_file, read_costs
from .options import a_limit, add_costs, add_printing, add_solver_options, check_device
from .output import add_output, check_output, write_answer
from .terminal import Facts, waiting

SHOWN = 8  # vertices of a witness


def add_assign(commands: Any) -> argparse.ArgumentParser:
    what = "find the cheapest assignment of the rows of a matrix to its columns, and prove it"
    command: argparse.ArgumentParser = commands.add_parser("assign", help=what, description=f"{what.capitalize()}.")
    add_costs(command)
    command.add_argument("--cost-limit", type=a_limit, metavar="C", help="never make a pair that costs more than this")
    command.add_argument(
        "--partial", action="store_true", help="if there is no assignment, the cheapest of the largest"
    )
    command.add_argument(
        "--exactly", type=int, metavar="K", help="K pairs, whatever they cost: the cheapest matching of K pairs"
    )
    command.add_argument(
        "--deterministic", action="store_true", help="of several cheapest always the same, on any device"
    )
    command.add_argument(
        "--mpi", action="store_true",
        help="by all ranks of mpiexec, each with its rows of a .npy file or generator (use python -m mpi4py -m gmatch)",
    )  # fmt: skip
    add_solver_options(command, "auto, jv, tree, or a full name as gmatch info lists them")
    add_printing(command)
    add_output(command)
    command.set_defaults(run=run_assign)
    return command


def run_assign(arguments: argparse.Namespace) -> int:
    """``gmatch assign``: one matrix of costs, its cheapest assignment and the proof."""
    if arguments.exactly is not None and (arguments.partial or arguments.mpi or arguments.cost_limit is not None):
        raise InvalidInput("--exactly says how many pairs there are; leave --partial, --cost-limit and --mpi out")
    if arguments.mpi:
        return run_assign_on_ranks(arguments)
    assignment_method_of(arguments.method, arguments.device)
    check_device(arguments)
    check_output(arguments.output)
    with waiting(f"reading {arguments.costs}"):
        table = read_costs(arguments)
        costs = checked_costs(table, arguments)
    with waiting(f"assigning {arguments.costs}"):
        start = time.perf_counter()
        assignment = _assign(costs, arguments)
        seconds = time.perf_counter() - start
        certificate = verify(costs, assignment)
    facts = assignment_facts(arguments.costs, assignment, certificate, seconds)
    pairs = pairs_of(table, assignment, assignment.pair_costs)
    arrays = {name: getattr(assignment, name) for name in ("row_match", "col_match", "u", "v")} | labels_of(table)
    write_answer(arguments.output, facts, pairs, arrays)
    print_answer(arguments, facts, table_of(facts, seconds), Shown(pairs, is_labelled(table)))
    return 0


def run_assign_on_ranks(arguments: argparse.Namespace) -> int:
    """``gmatch assign --mpi``: all ranks get the same answer, or the same error, and the first one prints it."""
    ranks = Ranks(world())
    try:
        code = _solve_on_ranks(ranks, arguments)
    except RankLost as error:
        end_the_job(tell(error))
        raise
    except (GmatchError, MemoryError) as error:
        code = exit_code(error) if isinstance(error, GmatchError) else NO_BACKEND
        if ranks.rank == 0:
            tell(error)
    sys.stdout.flush()
    ranks.agree(None)  # mpiexec ends all ranks when one ends with an error: wait until the first rank has printed
    return code


def _solve_on_ranks(ranks: Ranks, arguments: argparse.Namespace) -> int:
    first = ranks.rank == 0
    rows = ranks.done_by_all(lambda: _own_rows(ranks, arguments))
    start = time.perf_counter()
    assignment = lap(
        rows, maximize=arguments.maximize, cost_limit=arguments.cost_limit, forbid_nan=arguments.forbid_nan,
        method=arguments.method, infeasible="partial" if arguments.partial else "raise",
        deterministic=arguments.deterministic, device=arguments.device, threads=arguments.threads, comm=ranks,
    )  # fmt: skip
    seconds = time.perf_counter() - start
    certificate = verify(rows, assignment, comm=ranks)
    facts, pairs = (
        assignment_facts(arguments.costs, assignment, certificate, seconds),
        pairs_of(None, assignment, assignment.pair_costs),
    )
    arrays = {name: getattr(assignment, name) for name in ("row_match", "col_match", "u", "v")}
    ranks.done_by_all(lambda: write_answer(arguments.output, facts, pairs, arrays) if first else None)
    if first:
        print_answer(arguments, facts, table_of(facts, seconds), Shown(pairs))
    return 0


def _own_rows(ranks: Ranks, arguments: argparse.Namespace) -> Any:
    """The rows of this rank, mapped from the file or generated. No other rows are read."""
    name = arguments.costs
    if ranks.rank == 0:
        check_output(arguments.output)
    if name.startswith("generator:") and not is_file(name):
        return generate_rows(name, ranks.rank, ranks.size)
    if not name.endswith(".npy") or not is_file(name):
        raise InvalidInput(
            f"--mpi takes a .npy file, of which each rank maps its rows, or generator:NAME:SIZE; got {name!r}"
        )
    try:
        matrix = np.load(name, mmap_mode="r")
    except (OSError, ValueError, EOFError) as error:
        raise DataError(f"{name} is no .npy file of numbers: {error}") from None
    if matrix.ndim != 2:
        raise InvalidInput(f"expected a matrix of costs, with rows and columns; {name} has {matrix.ndim} dimensions")
    first, end = (part * len(matrix) // ranks.size for part in (ranks.rank, ranks.rank + 1))
    return matrix[first:end]


def _assign(costs: DenseCosts | SparseCosts, arguments: argparse.Namespace) -> Assignment:
    options: dict[str, Any] = {
        name: getattr(arguments, name) for name in ("method", "deterministic", "device", "threads")
    }
    if arguments.exactly is not None:
        return of_pairs(costs, arguments.exactly, **options)
    try:
        found: Assignment = lap(costs, infeasible="partial" if arguments.partial else "raise", **options)
        return found
    except Infeasible as error:
        rows, columns = _some(error.rows), _some(error.columns)
        few, many = (columns, rows) if costs.shape[0] <= costs.shape[1] else (rows, columns)
        kinds = ("rows", "columns") if few is columns else ("columns", "rows")
        raise Infeasible(
            f"no assignment avoids the forbidden pairs: {kinds[0]} {many} may only be matched with {kinds[1]} {few}; "
            "use --partial to make as many as can be, or --cost-limit to let rows and columns stay free",
            error.rows, error.columns,
        ) from None  # fmt: skip


def _some(numbers: Any) -> str:
    """The first of some vertices, and their number; for a message."""
    shown = ", ".join(map(str, numbers[:SHOWN].tolist())) or "none"
    return shown if len(numbers) <= SHOWN else f"{shown}, ... ({len(numbers)} of them)"


def assignment_facts(name: str, assignment: Assignment, certificate: AssignmentCertificate, seconds: float) -> Facts:
    stats = assignment.stats
    return {
        "costs": name,
        "rows": len(assignment.row_match),
        "columns": len(assignment.col_match),
        "type": str(assignment.pair_costs.dtype),
        "pairs": len(assignment.row_ind),
        "cost": assignment.cost,
        "status": str(assignment.status),
        "gap": certificate.gap,
        "tolerance": certificate.tolerance,
        **{key: stats[key] for key in ("method", "initial", "start_size", "backend", "team", "threads")},
        **{key: stats[key] for key in ("phases", "levels", "dual_steps")},
        **{key: stats[key] for key in COUNTED_BY_SOME if key in stats},
        **{f"{step}_seconds": value for step, value in stats["seconds"].items()},
        "total_seconds": seconds,
    }
