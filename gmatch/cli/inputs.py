"""Graphs and costs, from their names."""

from __future__ import annotations

import argparse
import sys
import zlib
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
import scipy.sparse

from .. import datasets
from ..datasets.costs import generate as generate_costs
from ..datasets.costs import read_labelled
from ..datasets.tables import Table as CostTable
from ..errors import DataError, InvalidInput
from ..problems.costs import costs_of
from ..problems.dense import DenseCosts
from ..problems.graph import BipartiteGraph, as_graph
from ..problems.sparse import SparseCosts
from .terminal import waiting

FILE_ENDINGS = (".mtx", ".mtx.gz", ".npz")
# What NumPy, SciPy and zipfile raise on an npz file that is none, is cut short, or holds something else.
DAMAGE = (
    OSError, EOFError, ValueError, KeyError, TypeError, AttributeError, RuntimeError, ArithmeticError, BadZipFile,
    zlib.error,
)  # fmt: skip


def is_file(name: str) -> bool:
    """Whether a file is there to be read. What can be read but once is refused: readers go back to the start."""
    path = Path(name)
    if path.exists() and not path.is_file() and not path.is_dir():
        kind = "pipe" if path.is_fifo() else "device or socket"
        raise DataError(f"expected a regular file at {name}; it is a {kind}; save what it yields, and name that file")
    return path.is_file()


def read_graph(name: str) -> BipartiteGraph:
    if is_file(name):
        with waiting(f"reading {name}"):
            return _read_file(name)
    if name.startswith("generator:"):
        with waiting(f"generating {name}"):
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


def read_costs(arguments: argparse.Namespace) -> CostTable:
    name, options = arguments.costs, (arguments.labels, arguments.forbid_nan)
    if name == "-":
        return read_labelled("standard input", *options, sys.stdin.buffer.read())
    if is_file(name):
        return read_labelled(name, *options)
    if name.startswith("generator:"):
        return CostTable(generate_costs(name, device=arguments.device))
    raise InvalidInput(f"expected a file that exists, or generator:NAME:SIZE; got {name!r}")


def checked_costs(table: CostTable, arguments: argparse.Namespace) -> DenseCosts | SparseCosts:
    try:
        return costs_of(table.costs, arguments.maximize, arguments.cost_limit, arguments.forbid_nan)
    except InvalidInput as error:
        raise InvalidInput(str(error).replace("forbid_nan=True", "--forbid-nan")) from error
