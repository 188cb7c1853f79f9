"""Options that several commands share."""

from __future__ import annotations

import argparse
import math
from contextlib import suppress

from ..backends import backend_for
from ..backends.cpu import check_threads
from ..cardinality.matching import STARTS, refuse_racing_start
from ..datasets.tables import LABELS
from ..errors import InvalidInput
from ..methods import method_of

GRAPH_HELP = """\
a file (.mtx, .mtx.gz, or .npz as scipy.sparse.save_npz writes it; or the nonzero entries of a dense .npy, .npz, .csv,
.tsv or .txt), a matrix of the SuiteSparse collection as Group/Name, or generator:NAME:SIZE, such as
generator:delaunay:17; a file that exists wins"""
COSTS_HELP = """\
a file (.npy, .npz, one array of several as FILE.npz:NAME, .mtx, .mtx.gz; pairs that a sparse .mtx or .npz does not
store are forbidden; else text, plain or gzipped, such as .csv, .tsv or .txt: cells between commas, semicolons, tabs or
spaces, with or without names of rows and columns, or OR-Library's format), - for text on standard input,
generator:NAME:SIZE[:PARAMETER][:seed=S], such as generator:uniform:4096:10, or a matrix of the SuiteSparse collection
as Group/Name; a file that exists wins"""
LABELS_HELP = """\
what has names in text: rows in its first column, columns in its first line (default: what holds no numbers)"""


def a_limit(text: str) -> int | float:
    """A number. Whole numbers stay int: floats do not hold all integers of 64 bits."""
    with suppress(ValueError):
        return int(text)
    with suppress(ValueError):
        if not math.isnan(limit := float(text)):
            return limit
    raise argparse.ArgumentTypeError(f"expected a number; got {text!r}")


def add_solver_options(
    command: argparse.ArgumentParser,
    methods: str = "auto, apfb, apsb, claims, or a full name as gmatch info lists them",
) -> None:
    command.add_argument("--method", default="auto", metavar="M", help=methods)
    command.add_argument("--device", choices=["cpu", "gpu"], default="cpu", help="where to run (default: cpu)")
    command.add_argument(
        "--threads", type=int, metavar="N", help="threads on the CPU (default: by processors and work)"
    )


def add_printing(command: argparse.ArgumentParser, *, verbose: bool = True) -> None:
    command.add_argument("--pairs", action="store_true", help="print all pairs")
    if verbose:
        command.add_argument("--verbose", action="store_true", help="print the facts of the search, too")


def add_costs(command: argparse.ArgumentParser, *, maximize: bool = True) -> None:
    """Adds the matrix of costs, and how to read it."""
    command.add_argument("costs", metavar="COSTS", help=COSTS_HELP)
    if maximize:
        command.add_argument("--maximize", action="store_true", help="the most expensive instead of the cheapest")
    command.add_argument("--labels", choices=LABELS, default="auto", help=LABELS_HELP)
    command.add_argument(
        "--forbid-nan", action="store_true", help="empty cells, NA and NaN forbid their pairs; inf always does"
    )


def check_solver_options(arguments: argparse.Namespace) -> None:
    """Refuses wrong options before any data is read or downloaded."""
    method_of(arguments.method, "cpu", arguments.deterministic)
    if arguments.deterministic:
        refuse_racing_start(STARTS[arguments.initial])
    check_device(arguments)


def check_device(arguments: argparse.Namespace) -> None:
    backend_for(None, arguments.device)
    check_threads(arguments.threads)
    if arguments.device == "gpu" and arguments.threads is not None:
        raise InvalidInput("--threads is for --device cpu; a GPU sizes its own grid")
