"""The command line: match one graph, assign one matrix, run all bundled matrices, say what this machine can do.

Each command gathers plain facts first. They are printed in one of three ways: a table on a terminal, lines with tabs
for other programs, one JSON object with ``--json``.
"""

from __future__ import annotations

import argparse
import io
import json
import math
import os
import platform
import shutil
import stat
import sys
import time
import uuid
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NoReturn
from zipfile import BadZipFile

import numpy as np
import scipy.sparse
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from . import __version__, cuda, datasets
from .arrays import to_host
from .assignment.lap import lap
from .backends import backend_for, cpu
from .cardinality.matching import STARTS, max_matching, refuse_racing_start
from .datasets.costs import generate as generate_costs
from .datasets.costs import generate_rows, read_labelled
from .datasets.loader import cache_folder
from .datasets.tables import LABELS
from .datasets.tables import Table as CostTable
from .distributed.mpi import end_the_job, world
from .distributed.ranks import Ranks
from .errors import BackendUnavailable, CertificateError, DataError, GmatchError, Infeasible, InvalidInput, RankLost
from .methods import ASSIGNMENT_METHODS, METHODS, assignment_method_of, method_of
from .problems.costs import costs_of
from .problems.dense import DenseCosts
from .problems.graph import BipartiteGraph, as_graph
from .problems.sparse import SparseCosts
from .proof.verify import verify
from .result import Assignment, AssignmentCertificate, Certificate, Matching

Facts = dict[str, Any]
# Of `stats`: what is counted in one process, and what on several ranks.
COUNTED_BY_SOME = ("rows_scanned", "edges_inspected", "ranks", "rounds", "meetings", "bytes_met")

EPILOG = """\
exit codes:
  0    every answer is proven, and agrees with the structural rank that the collection publishes
  1    an answer could not be proven, or disagrees with the published structural rank; or there is no assignment
  2    bad usage or input
  3    data missing, unreadable or not writable
  4    backend unavailable, out of memory, or a rank of --mpi lost
  130  interrupted
  141  whoever read the output has gone
"""
NOT_PROVEN, BAD_INPUT, BAD_DATA, NO_BACKEND, INTERRUPTED, READER_GONE = 1, 2, 3, 4, 130, 141

GRAPH_HELP = """\
a file (.mtx, .mtx.gz, or .npz as scipy.sparse.save_npz writes it), a matrix of the SuiteSparse collection as
Group/Name, or generator:NAME:SIZE, such as generator:delaunay:17; a file that exists wins"""
COSTS_HELP = """\
a file (.npy, .npz, .mtx, .mtx.gz; pairs that a sparse .mtx or .npz does not store are forbidden; else text, plain or
gzipped, such as .csv, .tsv or .txt: cells between commas, semicolons, tabs or spaces, with or without names of rows and
columns, or OR-Library's format), - for text on standard input, or generator:NAME:SIZE[:PARAMETER][:seed=S], such as
generator:uniform:4096:10; a file that exists wins"""
LABELS_HELP = """\
what has names in text: rows in its first column, columns in its first line (default: what holds no numbers)"""
SHOWN = 8  # vertices of a witness
# The demo's table has no room for these in 80 columns. Its last line counts who agrees with what is published.
NOT_ON_A_TERMINAL = {"published", "phases", "levels"}
FILE_ENDINGS = (".mtx", ".mtx.gz", ".npz")
# What NumPy, SciPy and zipfile raise on an npz file that is none, is cut short, or holds something else.
DAMAGE = (
    OSError, EOFError, ValueError, KeyError, TypeError, AttributeError, RuntimeError, ArithmeticError, BadZipFile,
    zlib.error,
)  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments; by default those of the process.

    Returns
    -------
    int
        The exit code; ``gmatch --help`` says what it means.
    """
    _open_closed_streams()
    try:
        arguments = _parser().parse_args(argv)
        code: int = arguments.run(arguments)
        sys.stdout.flush()
        return code
    except (GmatchError, MemoryError) as error:
        return _tell(error)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _abandon(sys.stdout)
        return READER_GONE
    except OSError as error:
        _abandon(sys.stdout)
        return _fail(f"{error.filename or 'standard output'}: {error.strerror}", BAD_DATA)


def _open_closed_streams() -> None:
    """Who closed one wants nothing of it. But Python prints to stdout what has no stderr to go to, and the next file
    that is opened would take the number of the stream."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, open(nowhere, "r+", encoding="utf-8", closefd=False))


def _abandon(stream: IO[str]) -> None:
    """The interpreter flushes it once more when it ends; that goes nowhere now."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _tell(error: GmatchError | MemoryError) -> int:
    if isinstance(error, MemoryError):
        return _fail(f"out of memory: {error}", NO_BACKEND)
    return _fail(str(error), _exit_code(error))


def _fail(message: str, code: int) -> int:
    try:
        print(f"gmatch: error: {_one_line(message)}", file=sys.stderr)
    except OSError:
        _abandon(sys.stderr)  # the code says it
    return code


def _exit_code(error: GmatchError) -> int:
    codes = (
        (CertificateError, NOT_PROVEN),
        (Infeasible, NOT_PROVEN),
        (DataError, BAD_DATA),
        (BackendUnavailable, NO_BACKEND),
        (RankLost, NO_BACKEND),
    )
    return next((code for kind, code in codes if isinstance(error, kind)), BAD_INPUT)


# What can be asked for.


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise InvalidInput(f"{message}; see {self.prog} --help")

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        sys.stdout.flush()  # the help, while `main` can still say what is wrong
        super().exit(status, message)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="gmatch",
        description="Exact bipartite matching with proofs, on GPUs and CPUs.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"gmatch {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for add_command in (_add_match, _add_assign, _add_demo, _add_info):
        command = add_command(commands)
        command.add_argument("--json", action="store_true", help="print one JSON object")
        command.epilog, command.formatter_class = EPILOG, argparse.RawDescriptionHelpFormatter
    return parser


def _add_match(commands: Any) -> argparse.ArgumentParser:
    what = "match the rows of one graph with its columns, and prove the answer"
    command: argparse.ArgumentParser = commands.add_parser("match", help=what, description=f"{what.capitalize()}.")
    command.add_argument("graph", metavar="GRAPH", help=GRAPH_HELP)
    _add_solver_options(command)
    command.add_argument("--initial", choices=STARTS, default="auto", help="the matching to start from")
    command.add_argument("--deterministic", action="store_true", help="the same matching on every run and device")
    command.add_argument("--output", type=Path, metavar="FILE.npz", help="write row_match and col_match to this file")
    command.set_defaults(run=run_match)
    return command


def _add_assign(commands: Any) -> argparse.ArgumentParser:
    what = "find the cheapest assignment of the rows of a matrix to its columns, and prove it"
    command: argparse.ArgumentParser = commands.add_parser("assign", help=what, description=f"{what.capitalize()}.")
    command.add_argument("costs", metavar="COSTS", help=COSTS_HELP)
    command.add_argument("--maximize", action="store_true", help="the dearest assignment instead")
    command.add_argument("--cost-limit", type=_limit, metavar="C", help="never make a pair dearer than this")
    command.add_argument("--labels", choices=LABELS, default="auto", help=LABELS_HELP)
    command.add_argument(
        "--forbid-nan", action="store_true", help="empty cells, NA and NaN forbid their pairs; inf always does"
    )
    command.add_argument(
        "--partial", action="store_true", help="if there is no assignment, the cheapest of the largest"
    )
    command.add_argument(
        "--deterministic", action="store_true", help="of several cheapest always the same, on any device"
    )
    command.add_argument(
        "--mpi", action="store_true",
        help="by all ranks of mpiexec, each with its rows of a .npy file or generator (use python -m mpi4py -m gmatch)",
    )  # fmt: skip
    _add_solver_options(command, "auto, jv, tree, or a full name as gmatch info lists them")
    command.add_argument(
        "--output",
        type=Path,
        metavar="FILE.npz",
        help="write row_match, col_match, u, v, and the names as row_labels and col_labels, to this file",
    )
    command.set_defaults(run=run_assign)
    return command


def _limit(text: str) -> int | float:
    """Whole numbers as they are: a float does not hold all of those that int64 does."""
    with suppress(ValueError):
        return int(text)
    with suppress(ValueError):
        if not math.isnan(limit := float(text)):
            return limit
    raise argparse.ArgumentTypeError(f"expected a number; got {text!r}")


def _add_demo(commands: Any) -> argparse.ArgumentParser:
    what = "match all matrices that come with gmatch, and assign costs of many kinds; prove every answer"
    description = f"{what.capitalize()}. --method and --threads are those of the matchings."
    command: argparse.ArgumentParser = commands.add_parser("demo", help=what, description=description)
    _add_solver_options(command)
    command.set_defaults(run=run_demo, initial="auto", deterministic=False)
    return command


def _add_info(commands: Any) -> argparse.ArgumentParser:
    what = "say what gmatch is, and what this machine has for it"
    command: argparse.ArgumentParser = commands.add_parser("info", help=what, description=f"{what.capitalize()}.")
    command.set_defaults(run=run_info)
    return command


def _add_solver_options(
    command: argparse.ArgumentParser,
    methods: str = "auto, apfb, apsb, claims, or a full name as gmatch info lists them",
) -> None:
    command.add_argument("--method", default="auto", metavar="M", help=methods)
    command.add_argument("--device", choices=["cpu", "gpu"], default="cpu", help="where to run (default: cpu)")
    command.add_argument("--threads", type=int, metavar="N", help="threads on the CPU (default: as many as pay)")


# What the demo assigns: costs of every kind.
DEMO_COSTS = (
    "generator:uniform:1000:1", "generator:uniform:1000:1000", "generator:uniform_floats:1000",
    "generator:geometric:500", "generator:low_rank:300", "generator:machol_wien:100", "generator:near_ties:300",
    "generator:few_values:500", "generator:blocks:300",
)  # fmt: skip

# The commands.


def run_match(arguments: argparse.Namespace) -> int:
    """``gmatch match``: one graph, its matching and the proof."""
    _check_solver_options(arguments)
    if arguments.output is not None:
        _check_output(arguments.output)
    graph = _read_graph(arguments.graph)
    with _waiting(f"matching {arguments.graph}"):
        answer = _solve(arguments.graph, graph, arguments)
    if arguments.output is not None and answer.certificate is not None:
        _write_arrays(arguments.output, answer.matching, ("row_match", "col_match"))
    _print_facts(answer.facts(), arguments.json, answer.table())
    return _report_doubt([answer])


def run_assign(arguments: argparse.Namespace) -> int:
    """``gmatch assign``: one matrix of costs, its cheapest assignment and the proof."""
    if arguments.mpi:
        return run_assign_on_ranks(arguments)
    assignment_method_of(arguments.method, arguments.device)
    _check_device(arguments)
    if arguments.output is not None:
        _check_output(arguments.output)
    with _waiting(f"reading {arguments.costs}"):
        table = _read_costs(arguments)
        costs = _costs_of(table, arguments)
    with _waiting(f"assigning {arguments.costs}"):
        start = time.perf_counter()
        assignment = _assign(costs, arguments)
        seconds = time.perf_counter() - start
        certificate = verify(costs, assignment)
    if arguments.output is not None:
        labels = {"row_labels": table.row_labels, "col_labels": table.col_labels}
        names = {name: np.array(texts, np.str_) for name, texts in labels.items() if texts is not None}
        _write_arrays(arguments.output, assignment, ("row_match", "col_match", "u", "v"), names)
    facts = _assignment_facts(arguments.costs, assignment, certificate, seconds)
    shown = {name.replace("_", " "): _number(value) for name, value in facts.items() if not name.endswith("seconds")}
    pairs = _named_pairs(table, assignment)
    if arguments.json and pairs:
        facts["assignment"] = [dict(zip(("row", "column", "cost"), pair, strict=True)) for pair in pairs]
    _print_facts(facts, arguments.json, shown | {"time": f"{_milliseconds(seconds)} ms"})
    if not arguments.json:
        _print_pairs(pairs)
    return 0


def run_assign_on_ranks(arguments: argparse.Namespace) -> int:
    """``gmatch assign --mpi``: all ranks get the same answer, or the same error, and the first one prints it."""
    ranks = Ranks(world())
    try:
        code = _solve_on_ranks(ranks, arguments)
    except RankLost as error:
        end_the_job(_tell(error))
        raise
    except (GmatchError, MemoryError) as error:
        code = _exit_code(error) if isinstance(error, GmatchError) else NO_BACKEND
        if ranks.rank == 0:
            _tell(error)
    sys.stdout.flush()
    ranks.agree(None)  # mpiexec ends all when the first one ends with an error, perhaps before it has printed
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
    if arguments.output is not None:
        names = "row_match", "col_match", "u", "v"
        ranks.done_by_all(lambda: _write_arrays(arguments.output, assignment, names) if first else None)
    if first:
        facts = _assignment_facts(arguments.costs, assignment, certificate, seconds)
        shown = {name.replace("_", " "): _number(fact) for name, fact in facts.items() if not name.endswith("seconds")}
        _print_facts(facts, arguments.json, shown | {"time": f"{_milliseconds(seconds)} ms"})
    return 0


def _own_rows(ranks: Ranks, arguments: argparse.Namespace) -> Any:
    """The rows of this rank, mapped, or made: no other rows are read."""
    name = arguments.costs
    if ranks.rank == 0 and arguments.output is not None:
        _check_output(arguments.output)
    if name.startswith("generator:") and not _is_file(name):
        return generate_rows(name, ranks.rank, ranks.size)
    if not name.endswith(".npy") or not _is_file(name):
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


def _costs_of(table: CostTable, arguments: argparse.Namespace) -> DenseCosts | SparseCosts:
    try:
        return costs_of(table.costs, arguments.maximize, arguments.cost_limit, arguments.forbid_nan)
    except InvalidInput as error:
        raise InvalidInput(str(error).replace("forbid_nan=True", "--forbid-nan")) from error


def _named_pairs(table: CostTable, assignment: Assignment) -> list[tuple[Any, ...]]:
    """Row, column and cost of each pair, by the names in the file; none if it has no names."""
    if table.row_labels is None and table.col_labels is None:
        return []
    sides = [assignment.row_ind.tolist(), assignment.col_ind.tolist()]
    for side, labels in enumerate((table.row_labels, table.col_labels)):
        if labels is not None:
            sides[side] = [labels[number] for number in sides[side]]
    return list(zip(*sides, assignment.pair_costs.tolist(), strict=True))


def _assign(costs: DenseCosts | SparseCosts, arguments: argparse.Namespace) -> Assignment:
    try:
        return lap(
            costs, method=arguments.method, infeasible="partial" if arguments.partial else "raise",
            deterministic=arguments.deterministic, device=arguments.device, threads=arguments.threads,
        )  # fmt: skip
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
    """The first of some vertices, and how many they are; for a message."""
    shown = ", ".join(map(str, numbers[:SHOWN].tolist())) or "none"
    return shown if len(numbers) <= SHOWN else f"{shown}, ... ({len(numbers)} of them)"


def _read_costs(arguments: argparse.Namespace) -> CostTable:
    name, options = arguments.costs, (arguments.labels, arguments.forbid_nan)
    if name == "-":
        return read_labelled("standard input", *options, sys.stdin.buffer.read())
    if _is_file(name):
        return read_labelled(name, *options)
    if name.startswith("generator:"):
        return CostTable(generate_costs(name, device=arguments.device))
    raise InvalidInput(f"expected a file that exists, or generator:NAME:SIZE; got {name!r}")


def _assignment_facts(name: str, assignment: Assignment, certificate: AssignmentCertificate, seconds: float) -> Facts:
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


def run_demo(arguments: argparse.Namespace) -> int:
    """``gmatch demo``: all bundled matrices and costs of every kind, a line each, and how many answers are proven."""
    _check_solver_options(arguments)
    names = [entry.name for entry in datasets.bundled()]
    with _progress() as progress:
        in_turn = progress.track(names, description="matching")
        answers = [_solve(name, _read_graph(name), arguments) for name in in_turn]
        assignments = [
            _demo_assignment(name, arguments) for name in progress.track(DEMO_COSTS, description="assigning")
        ]
    summary = _summary(answers)
    if arguments.json:
        print(json.dumps({"matrices": [answer.facts() for answer in answers], **summary, "assignments": assignments}))
    else:
        _print_demo([_demo_line(facts) for facts in assignments])
        print()
        _print_demo([answer.line() for answer in answers])
        print(f"{len(assignments)} assignments, each proven optimal by its duals")
        print("{matrices} matrices, {proven} proven, {agree} of {published} agree with the published structural rank"
              .format(matrices=len(answers), **summary))  # fmt: skip
    return _report_doubt(answers)


def _demo_assignment(name: str, arguments: argparse.Namespace) -> Facts:
    """Assigns one matrix of costs, and verifies the answer."""
    costs = DenseCosts(generate_costs(name, device=arguments.device))
    start = time.perf_counter()
    assignment = lap(costs, device=arguments.device)
    seconds = time.perf_counter() - start
    facts = _assignment_facts(name, assignment, verify(costs, assignment), seconds)
    return {key: facts[key] for key in ("costs", "type", "pairs", "cost", "gap", "method", "phases", "total_seconds")}


def _demo_line(facts: Facts) -> dict[str, Any]:
    shown = {key: value for key, value in facts.items() if key != "total_seconds"}
    return shown | {"ms": _milliseconds(facts["total_seconds"])}


def _cache() -> str:
    """Where downloads are kept, or why there are none."""
    try:
        return str(cache_folder())
    except GmatchError as error:
        return f"none: {error}"


def run_info(arguments: argparse.Namespace) -> int:
    """``gmatch info``: versions, threads, GPUs, folders, methods."""
    facts = {
        "gmatch": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "cpu_threads": cpu.available_threads(),
        **_gpu_facts(),
        "cache": _cache(),
        "methods": [method.name for method in METHODS],
        "assignment_methods": [method.name for method in ASSIGNMENT_METHODS],
    }
    _print_facts(facts, arguments.json, {name.replace("_", " "): _lines(value) for name, value in facts.items()})
    return 0


def _gpu_facts() -> Facts:
    """The GPUs, or why there are none to use."""
    try:
        gpus, problem = cuda.devices(), None
    except BackendUnavailable as error:
        gpus, problem = [], str(error)
    version = getattr(sys.modules.get("cupy"), "__version__", None)
    return {"cupy": version, "gpus": gpus, "gpu_problem": problem, "gpu_code": _gpu_code() if gpus else []}


def _gpu_code() -> list[str]:
    from .backends import compiled  # imports CuPy

    return compiled.about()


# One graph, from its name to an answer.


@dataclass(frozen=True)
class Answer:
    """A matching of one graph, and what is known about it beyond the solver's word."""

    name: str
    graph: BipartiteGraph
    matching: Matching
    certificate: Certificate | None
    doubt: str
    published: int | None
    seconds: float

    @property
    def agrees(self) -> bool | None:
        """Whether the size is the published one; None where none is published."""
        return None if self.published is None else self.matching.size == self.published

    def facts(self) -> Facts:
        """All that there is to say, flat, for programs."""
        rows, columns = self.graph.shape
        proof, stats = self.certificate, self.matching.stats
        return {
            "graph": self.name,
            "rows": rows,
            "columns": columns,
            "entries": self.graph.entries,
            "size": self.matching.size,
            "deficiency": min(rows, columns) - self.matching.size,
            "published_structural_rank": self.published,
            "agrees": self.agrees,
            "proven": proof is not None,
            "cover_rows": proof and proof.cover_rows,
            "cover_columns": proof and proof.cover_columns,
            **{name: stats[name] for name in ("method", "initial", "start_size", "backend", "team", "threads")},
            **{name: stats[name] for name in ("phases", "levels", "edges_inspected")},
            **{f"{step}_seconds": seconds for step, seconds in stats["seconds"].items()},
            "total_seconds": self.seconds,
        }

    def table(self) -> dict[str, str]:
        """The same for people."""
        facts = self.facts()
        text = {name: _number(value) for name, value in facts.items()}
        verdict = {None: "", True: " (agrees)", False: " (DISAGREES)"}[self.agrees]
        steps = [f"{step} {_milliseconds(seconds)}" for step, seconds in self.matching.stats["seconds"].items()]
        return {
            **{name: text[name] for name in ("graph", "rows", "columns", "entries", "size", "deficiency")},
            "published rank": text["published_structural_rank"] + verdict,
            "proof": self.proof(),
            "method": text["method"],
            "start": f"{text['initial']}, {text['start_size']} edges",
            "ran on": f"{text['backend']}, {text['team']} team, threads: {text['threads']}",
            **{name.replace("_", " "): text[name] for name in ("phases", "levels", "edges_inspected")},
            "time": f"{_milliseconds(self.seconds)} ms ({', '.join(steps)})",
        }

    def proof(self) -> str:
        """The cover that proves the matching maximum."""
        if self.certificate is None:
            return f"NOT PROVEN: {self.doubt}"
        rows, columns = self.certificate.cover_rows, self.certificate.cover_columns
        return f"a cover of {rows:,} rows + {columns:,} columns = {self.certificate.size:,}"

    def line(self) -> dict[str, Any]:
        """The most important facts, short: a line of the demo's table."""
        facts, proof = self.facts(), self.certificate
        return {
            **{name: facts[name] for name in ("graph", "rows", "columns", "entries", "size")},
            "published": self.published,
            "proof": "NOT PROVEN" if proof is None else f"{proof.cover_rows} + {proof.cover_columns}",
            "phases": facts["phases"],
            "levels": facts["levels"],
            "ms": _milliseconds(self.seconds),
        }


def _solve(name: str, graph: BipartiteGraph, arguments: argparse.Namespace) -> Answer:
    """Matches one graph, and verifies the answer."""
    start = time.perf_counter()
    matching = max_matching(
        graph,
        method=arguments.method,
        initial=arguments.initial,
        device=arguments.device,
        threads=arguments.threads,
        deterministic=arguments.deterministic,
    )
    seconds = time.perf_counter() - start
    try:
        certificate, doubt = verify(graph, matching), ""
    except CertificateError as error:
        certificate, doubt = None, str(error)
    return Answer(name, graph, matching, certificate, doubt, _published_rank(name), seconds)


def _is_file(name: str) -> bool:
    """Whether a file is there to be read. What can be read but once is refused: readers go back to the start."""
    path = Path(name)
    if path.exists() and not path.is_file() and not path.is_dir():
        kind = "pipe" if path.is_fifo() else "device or socket"
        raise DataError(f"expected a regular file at {name}; it is a {kind}; save what it yields, and name that file")
    return path.is_file()


def _read_graph(name: str) -> BipartiteGraph:
    if _is_file(name):
        with _waiting(f"reading {name}"):
            return _read_file(name)
    if name.startswith("generator:"):
        with _waiting(f"generating {name}"):
            return as_graph(datasets.generate(name))
    if name.endswith(FILE_ENDINGS):
        raise DataError(f"expected a file at {name}; there is {'a folder' if Path(name).is_dir() else 'none'}")
    if "/" not in name:
        raise InvalidInput(f"expected a file that exists, Group/Name, or generator:NAME:SIZE; got {name!r}")
    # Shows the progress of a download itself.
    return as_graph(datasets.load(name))


def _read_file(name: str) -> BipartiteGraph:
    if not name.endswith(FILE_ENDINGS):
        raise InvalidInput(f"expected a file that ends in {', '.join(FILE_ENDINGS)}; got {name}")
    return _read_npz(name) if name.endswith(".npz") else as_graph(datasets.read_matrix_market(name))


def _read_npz(name: str) -> BipartiteGraph:
    """A graph from the arrays of CSR, which need no data here, or from whatever else SciPy saves."""
    try:
        with np.load(name) as arrays:
            if {"indptr", "indices", "shape"} <= set(arrays) and arrays.get("format", "csr") in ("csr", b"csr"):
                return BipartiteGraph((arrays["indptr"], arrays["indices"], arrays["shape"]))
        return as_graph(scipy.sparse.load_npz(name))
    except DAMAGE as error:
        raise DataError(f"expected a sparse matrix in {name}; got {type(error).__name__}: {error}") from error


def _published_rank(name: str) -> int | None:
    if Path(name).is_file():
        return None
    return next((entry.structural_rank for entry in datasets.registry() if entry.name == name), None)


def _check_solver_options(arguments: argparse.Namespace) -> None:
    """Before any data is read, and perhaps downloaded."""
    method_of(arguments.method, "cpu", arguments.deterministic)
    if arguments.deterministic:
        refuse_racing_start(STARTS[arguments.initial])
    _check_device(arguments)


def _check_device(arguments: argparse.Namespace) -> None:
    backend_for(None, arguments.device)
    cpu.thread_count(arguments.threads, 0)
    if arguments.device == "gpu" and arguments.threads is not None:
        raise InvalidInput("--threads is for --device cpu; a GPU sizes its own grid")


def _check_output(path: Path) -> None:
    """Before any work, whose answer would be lost."""
    try:
        there = path.stat()
    except FileNotFoundError:
        _check_folder(_target(path).parent)
        return
    except OSError as error:
        raise InvalidInput(f"--output must name a file that can be written to; {path}: {error.strerror}") from None
    for is_kind, kind in ((stat.S_ISDIR, "folder"), (stat.S_ISSOCK, "socket")):
        if is_kind(there.st_mode):
            raise InvalidInput(f"--output must name a file; {path} is a {kind}")
    if not os.access(path, os.W_OK):
        raise InvalidInput(f"--output must name a file that can be written to; {path} is write-protected")
    if stat.S_ISREG(there.st_mode):
        _check_folder(_target(path).parent)
        if os.path.samestat(there, os.fstat(1)):
            raise InvalidInput(f"--output must name another file than standard output goes to; got {path}")


def _check_folder(folder: Path) -> None:
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        wrong = "cannot be written to" if folder.is_dir() else "does not exist"
        raise InvalidInput(f"--output must name a file in a folder that can be written to; {folder} {wrong}")


def _write_arrays(
    path: Path, result: Matching | Assignment, names: Sequence[str], more: Mapping[str, Any] | None = None
) -> None:
    arrays = {name: to_host(getattr(result, name)) for name in names} | dict(more or {})
    try:
        with _output(path) as file:
            np.savez_compressed(file, **arrays)
    except OSError as error:
        raise DataError(f"could not write {path}: {error.strerror}") from None


@contextmanager
def _output(path: Path) -> Iterator[IO[bytes]]:
    """All of a file or nothing: whoever waits for it never reads half of it. Pipes and devices are written to."""
    if path.exists() and not path.is_file():
        archive = io.BytesIO()  # zipfile asks for positions, and /dev/null is always at 0
        yield archive
        path.write_bytes(archive.getbuffer())
        return
    target = _target(path)
    partial = target.with_name(f".{uuid.uuid4()}.partial")  # no longer if the name is long
    try:
        with partial.open("xb") as file:
            if target.exists():
                shutil.copymode(target, partial)
            yield file
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def _target(path: Path) -> Path:
    """The file itself, not a link to it."""
    return Path(os.path.realpath(path))


def _summary(answers: Sequence[Answer]) -> dict[str, int]:
    return {
        "proven": sum(answer.certificate is not None for answer in answers),
        "agree": sum(answer.agrees is True for answer in answers),
        "published": sum(answer.published is not None for answer in answers),
    }


def _report_doubt(answers: Iterable[Answer]) -> int:
    """The exit code; what is wrong goes to stderr."""
    code = 0
    for answer in answers:
        if answer.certificate is None:
            code = _fail(f"{answer.name}: {answer.doubt}", NOT_PROVEN)
        elif answer.agrees is False:
            code = _fail(
                f"{answer.name}: the matching has {answer.matching.size} edges, which is proven maximum, but the "
                f"published structural rank is {answer.published}", NOT_PROVEN,
            )  # fmt: skip
    return code


# Three ways to print.


def _print_facts(facts: Facts, as_json: bool, table: Mapping[str, str]) -> None:
    if as_json:
        print(json.dumps(facts))
    elif _on_terminal():
        _print_table(table)
    else:
        for name, value in facts.items():
            print(name, _plain(value), sep="\t")


def _print_pairs(pairs: Sequence[tuple[Any, ...]]) -> None:
    if not _on_terminal():
        for pair in pairs:
            print("pair", *map(_plain, pair), sep="\t")
    elif pairs:
        table = Table(box=None, padding=(0, 2, 0, 0))
        for column in ("row", "column", "cost"):
            table.add_column(column, justify="right" if column == "cost" else "left", overflow="fold")
        for pair in pairs:
            table.add_row(*(Text(_number(value)) for value in pair))
        Console().print(table)


def _print_table(table: Mapping[str, str]) -> None:
    grid = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in table.items():
        grid.add_row(name, Text(value))
    Console().print(grid)


def _print_demo(lines: Sequence[Mapping[str, Any]]) -> None:
    if not _on_terminal():
        for cells in (list(lines[0]), *(line.values() for line in lines)):
            print(*map(_plain, cells), sep="\t")
        return
    shown = [key for key in lines[0] if key not in NOT_ON_A_TERMINAL]
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    for key in shown:
        table.add_column(key, justify="left" if key in ("graph", "costs") else "right", overflow="fold")
    for line in lines:
        table.add_row(*(Text(_short(line[key])) for key in shown))
    Console().print(table)


def _short(value: Any) -> str:
    """A value of a table that has to fit 80 columns."""
    return f"{value:.4g}" if isinstance(value, float) else _plain(value)


def _plain(value: Any) -> str:
    """A value as one cell of plain text."""
    if value is None or value == []:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return _one_line(" ".join(value) if isinstance(value, list) else str(value))


def _one_line(text: str) -> str:
    """No tabs and line ends; what is no text (names of files may hold any bytes) is escaped."""
    return " ".join(text.split()).encode(errors="backslashreplace").decode()


def _number(value: Any) -> str:
    """With separators for thousands, for people."""
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else _plain(value)


def _lines(value: Any) -> str:
    return "\n".join(value) if isinstance(value, list) and value else _number(value)


def _milliseconds(seconds: float) -> str:
    return f"{1e3 * seconds:.2f}"


# Terminals.


def _on_terminal() -> bool:
    return sys.stdout.isatty()


def _waiting(what: str) -> Any:
    """Something that turns while we work, where people look."""
    return Console(stderr=True, quiet=not _on_terminal()).status(Text(what))


def _progress() -> Progress:
    """A bar that is gone in the end."""
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    return Progress(*columns, console=Console(stderr=True), transient=True, disable=not _on_terminal())
