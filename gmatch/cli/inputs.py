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
from ..datasets.loader import NAME
from ..datasets.tables import Table as CostTable
from ..errors import DataError, InvalidInput, did_you_mean, words_of
from ..problems.costs import costs_of
from ..problems.dense import DenseCosts
from ..problems.graph import BipartiteGraph, as_graph
from ..problems.sparse import SparseCosts
from .terminal import waiting

STORED_ENDINGS = (".mtx", ".mtx.gz", ".npz")
DENSE_ENDINGS = (".npy", ".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt", ".txt.gz")
# What NumPy, SciPy and zipfile raise on a file that is no npz, is cut short, or holds something else.
DAMAGE = (
    OSError, EOFError, ValueError, KeyError, TypeError, AttributeError, RuntimeError, ArithmeticError, BadZipFile,
    zlib.error,
)  # fmt: skip


def is_file(name: str) -> bool:
    """Whether the name is a file. Pipes and devices are refused: they can be read only once, and readers go back to the
    start."""
    path = Path(name)
    if path.exists() and not path.is_file() and not path.is_dir():
        kind = "pipe" if path.is_fifo() else "device or socket"
        raise DataError(f"expected a regular file at {name}; it is a {kind}; save what it yields, and name that file")
    return path.is_file()


def read_graph(name: str) -> tuple[BipartiteGraph, CostTable | None]:
    """A graph. From a dense file: its nonzero entries are the edges, and the table of the file is returned, too."""
    path, _, array = _parts_of(name)
    if is_file(path):
        with waiting(f"reading {name}"):
            return _read_file(path, array)
    if name.startswith("generator:"):
        with waiting(f"generating {name}"):
            return as_graph(datasets.generate(name)), None
    _refuse_missing_file(name)
    if "/" not in name:
        raise InvalidInput(
            f"expected a file that exists, Group/Name, or generator:NAME:SIZE; got {name!r}{_near_file(name)}"
        )
    # Shows the progress of a download itself.
    return as_graph(datasets.load(name)), None


def _read_file(name: str, array: str) -> tuple[BipartiteGraph, CostTable | None]:
    ending = name.lower()
    if ending.endswith(DENSE_ENDINGS) or array:
        return _of_table(read_labelled(name, array=array))
    if not ending.endswith(STORED_ENDINGS):
        raise InvalidInput(f"expected a file that ends in {', '.join((*STORED_ENDINGS, *DENSE_ENDINGS))}; got {name}")
    return _read_npz(name) if ending.endswith(".npz") else (as_graph(datasets.read_matrix_market(name)), None)


def _of_table(table: CostTable) -> tuple[BipartiteGraph, CostTable]:
    matrix = table.costs
    return as_graph(matrix if scipy.sparse.issparse(matrix) else scipy.sparse.csr_array(matrix)), table


def _read_npz(name: str) -> tuple[BipartiteGraph, CostTable | None]:
    """A graph from the arrays of CSR (`data` may be missing), or from another matrix that NumPy or SciPy saved."""
    try:
        with np.load(name) as arrays:
            if {"indptr", "indices", "shape"} <= set(arrays) and arrays.get("format", "csr") in ("csr", b"csr"):
                return BipartiteGraph((arrays["indptr"], arrays["indices"], arrays["shape"])), None
            is_sparse = "format" in arrays
        if is_sparse:
            return as_graph(scipy.sparse.load_npz(name)), None
    except DAMAGE as error:
        raise DataError(f"expected a matrix in {name}; got {words_of(error)}") from error
    return _of_table(read_labelled(name))


def read_costs(arguments: argparse.Namespace) -> CostTable:
    name, options = arguments.costs, (arguments.labels, arguments.forbid_nan)
    if name == "-":
        return read_labelled("standard input", *options, sys.stdin.buffer.read())
    path, _, array = _parts_of(name)
    if is_file(path):
        return read_labelled(path, *options, array=array)
    if name.startswith("generator:"):
        return CostTable(generate_costs(name, device=arguments.device))
    _refuse_missing_file(name)
    if "/" not in name:
        raise InvalidInput(
            f"expected a file that exists, generator:NAME:SIZE, or a matrix of the collection as Group/Name; got "
            f"{name!r}{_near_file(name)}"
        )
    return CostTable(datasets.load(name))


def _parts_of(name: str) -> tuple[str, str, str]:
    """The file and the array of ``FILE.npz:ARRAY``. If a file has the whole text as its name, it is that file."""
    file, colon, array = name.rpartition(":")
    named = colon and file.lower().endswith(".npz") and not Path(name).exists()
    return (file, colon, array) if named else (name, "", "")


def _refuse_missing_file(name: str) -> None:
    """Raises for a folder, and for a name that looks like a missing file, unless it is a matrix of the collection."""
    path = _parts_of(name)[0]
    is_folder = Path(path).is_dir()
    if path.lower().endswith((*STORED_ENDINGS, *DENSE_ENDINGS)) or is_folder and not NAME.fullmatch(path):
        raise DataError(f"expected a file at {path}; there is {'a folder' if is_folder else 'none'}{_near_file(path)}")


def _near_file(name: str) -> str:
    """The end of a message: a file of nearly that name in the same folder, if there is one."""
    folder = Path(name).parent
    if not folder.is_dir():
        return ""
    return did_you_mean(Path(name).name, (path.name for path in folder.iterdir() if path.is_file()))


def checked_costs(table: CostTable, arguments: argparse.Namespace) -> DenseCosts | SparseCosts:
    try:
        return costs_of(table.costs, arguments.maximize, arguments.cost_limit, arguments.forbid_nan)
    except InvalidInput as error:
        raise InvalidInput(str(error).replace("forbid_nan=True", "--forbid-nan")) from error
