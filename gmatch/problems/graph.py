"""What is to be solved: checked once, then frozen."""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse

from ..arrays import MAX_VERTICES, Device, device_of, mover_to, own
from ..devices import READERS
from ..errors import GmatchError, InvalidInput, changed
from ..foreign import as_sparse, is_frame, library_of
from ..types import WIDER_TYPE, WORKING_TYPES
from .frozen import Frozen
from .networks import Sides, sides_of

if TYPE_CHECKING:
    import networkx


class BipartiteGraph(Frozen):
    """A bipartite graph in compressed sparse rows; every stored entry is an edge, also when its value is zero.

    Checked when it is made, in O(rows + entries) time and without a copy of the indices where they fit; give it to
    `gmatch.max_matching` instead of the matrix to check once and solve often. Do not change its arrays: what is changed
    meanwhile, by another thread too, makes answers wrong.

    Parameters
    ----------
    graph : scipy.sparse array or matrix, cupyx.scipy.sparse matrix, or (indptr, indices, shape)
        Also a sparse tensor of torch or an array of PyData's sparse. Rows and columns may differ in number, and be
        none. Entries may be unsorted and duplicate. Index arrays may be any integers; indices of int32 and
        int64 are used as they are, and offsets copied. Formats other than CSR are converted.

    Attributes
    ----------
    indptr, indices : array
        The entries of row i are ``indices[indptr[i]:indptr[i + 1]]``.
    shape : (int, int)
        Rows and columns.
    entries : int
        Stored entries, duplicates counted (SciPy sums duplicates of COO when it converts them).
    device : {"cpu", "gpu"}
        Where the arrays live.
    row_nodes, col_nodes : tuple or None
        The nodes that rows and columns stand for, if the graph came from networkx.

    Raises
    ------
    InvalidInput
        If shape, offsets or indices do not describe a matrix.

    Notes
    -----
    To leave explicit zeros out: ``A = A.copy(); A.eliminate_zeros()``. SciPy's DIA format has no stored zeros: only its
    nonzero values are edges.

    Examples
    --------
    >>> graph = gmatch.BipartiteGraph(([0, 2, 3], [0, 1, 1], (2, 2)))
    >>> graph.shape, graph.entries
    ((2, 2), 3)
    >>> gmatch.max_matching(graph).size
    2
    """

    __slots__ = ("indptr", "indices", "shape", "entries", "device", "row_nodes", "col_nodes")

    indptr: Any
    indices: Any
    shape: tuple[int, int]
    entries: int
    device: Device
    row_nodes: tuple[Hashable, ...] | None
    col_nodes: tuple[Hashable, ...] | None

    def __init__(self, graph: Any) -> None:
        indptr, indices, shape, device = _csr_arrays(graph)
        seen = READERS[device].inspect(indptr, indices, shape[1])
        falling, first, last, bad = seen
        if falling or first != 0 or last > len(indices) or bad:
            raise _what_is_wrong(indptr, indices, shape)
        names = (getattr(graph, name, None) for name in ("row_nodes", "col_nodes"))
        self._freeze(indptr, indices, shape, last, device, *names)

    def _freeze(self, *values: Any) -> None:
        for name, value in zip(self.__slots__, values, strict=True):
            object.__setattr__(self, name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, tuple(getattr(self, name) for name in self.__slots__)

    def __repr__(self) -> str:
        rows, columns = self.shape
        return f"<BipartiteGraph of {rows} rows, {columns} columns and {self.entries} entries on the {self.device}>"

    @classmethod
    def from_networkx(cls, graph: networkx.Graph[Any], top_nodes: Iterable[Hashable]) -> BipartiteGraph:
        """A networkx graph whose rows are `top_nodes`, in the order given, and whose columns are the other nodes.

        Parameters
        ----------
        graph : networkx.Graph
            Directed graphs and multigraphs are taken as undirected and simple.
        top_nodes : iterable of nodes
            One side of the bipartition.

        Raises
        ------
        InvalidInput
            If a top node is not in the graph or is given twice, or if an edge joins two nodes of one side.
        """
        return cls.between(sides_of(graph, top_nodes))

    @classmethod
    def between(cls, sides: Sides) -> BipartiteGraph:
        """The graph of these nodes and edges."""
        ones = np.ones(len(sides.rows), np.int8)
        made = cls(scipy.sparse.coo_array((ones, (sides.rows, sides.columns)), shape=sides.shape))
        object.__setattr__(made, "row_nodes", sides.row_nodes)
        object.__setattr__(made, "col_nodes", sides.col_nodes)
        return made

    @classmethod
    def of_checked(cls, indptr: Any, indices: Any, shape: tuple[int, int], device: Device) -> BipartiteGraph:
        """The graph of arrays that the programs can take as they are."""
        return _restored(indptr, indices, shape, len(indices), device, None, None)

    def private(self) -> BipartiteGraph:
        """This graph with indices that no other thread can change: copies, checked again. On a GPU, itself."""
        if self.device != "cpu":
            return self
        made = BipartiteGraph((self.indptr, own(self.indices[: self.entries]), self.shape))
        object.__setattr__(made, "row_nodes", self.row_nodes)
        object.__setattr__(made, "col_nodes", self.col_nodes)
        return made

    def on(self, device: Device) -> BipartiteGraph:
        """This graph on a device; itself if it is there."""
        if device == self.device:
            return self
        to_device = mover_to(device)
        return _restored(
            to_device(self.indptr), to_device(self.indices), self.shape, self.entries, device,
            self.row_nodes, self.col_nodes,
        )  # fmt: skip


def _restored(*values: Any) -> BipartiteGraph:
    """A graph from a pickle or a copy."""
    graph = object.__new__(BipartiteGraph)
    graph._freeze(*values)
    return graph


def as_graph(graph: Any) -> BipartiteGraph:
    """The graph itself, or what `BipartiteGraph` makes of it."""
    return graph if isinstance(graph, BipartiteGraph) else BipartiteGraph(graph)


def private_graph(graph: Any) -> BipartiteGraph:
    """As `as_graph`, with indices that no other thread can change. Indices on a GPU are not copied."""
    if isinstance(graph, BipartiteGraph):
        return graph.private()
    indptr, indices, shape, device = _csr_arrays(graph)
    return BipartiteGraph((indptr, indices.copy() if device == "cpu" else indices, shape))


def _csr_arrays(graph: Any) -> tuple[Any, Any, tuple[int, int], Device]:
    """Offsets, indices, shape and device, of types the programs know; their contents are not trusted yet."""
    if isinstance(graph, tuple):
        if len(graph) != 3:
            raise InvalidInput(f"expected a triple (indptr, indices, shape); got a tuple of {len(graph)}")
        indptr, indices, shape = graph
    elif isinstance(graph, BipartiteGraph):
        indptr, indices, shape = graph.indptr, graph.indices, graph.shape
    else:
        matrix = as_sparse(graph)
        with damage_refused(graph):
            if not (hasattr(matrix, "format") and hasattr(matrix, "shape")):
                raise InvalidInput(_not_a_graph(graph))
            matrix = to_csr(matrix)
            indptr, indices, shape = matrix.indptr, matrix.indices, matrix.shape
    rows, columns = _shape(shape)
    indptr, indices = _index_array(indptr, "indptr"), _index_array(indices, "indices")
    device: Device = "cpu" if type(indices) is np.ndarray else device_of(indices)
    if device == "cpu":
        indptr = indptr.copy()  # no other thread can change it
    if type(indptr) is not type(indices) and device_of(indptr) != device:
        raise InvalidInput("indptr and indices must live on one device; one is a CuPy array, the other is not")
    if len(indptr) != rows + 1:
        raise InvalidInput(f"indptr must have rows + 1 = {rows + 1} offsets for shape {(rows, columns)}; "
                           f"got {len(indptr)}")  # fmt: skip
    if indptr.dtype != indices.dtype and indptr.dtype == np.int32:
        indptr = indptr.astype(np.int64)
    return indptr, indices, (rows, columns), device


def _not_a_graph(graph: Any) -> str:
    kind = type(graph).__module__.partition(".")[0]
    message = (
        "expected a sparse matrix, a triple (indptr, indices, shape) or a BipartiteGraph; got " + type(graph).__name__
    )
    if library_of(graph) == "networkx":
        return f"{message}; use gmatch.BipartiteGraph.from_networkx(graph, top_nodes)"
    if kind in ("numpy", "cupy") and hasattr(graph, "ndim"):
        return f"{message}; if its nonzero values are the edges, use scipy.sparse.csr_array(matrix)"
    if is_frame(graph):
        zeros = (
            "graph.to_numpy(float, na_value=0)" if library_of(graph) == "pandas" else "graph.fill_null(0).to_numpy()"
        )
        return f"{message}; if its nonzero values are the edges, use scipy.sparse.csr_array({zeros})"
    if isinstance(graph, list) or hasattr(graph, "__array__"):
        return f"{message}; if its nonzero values are the edges, use scipy.sparse.csr_array(numpy.asarray(graph))"
    return message


def _shape(shape: Any) -> tuple[int, int]:
    try:
        rows, columns = shape
        whole = rows == int(rows) and columns == int(columns)
        rows, columns = int(rows), int(columns)
    except (TypeError, ValueError, OverflowError):
        whole = False
    if not whole:
        raise InvalidInput(f"shape must be two whole numbers, rows and columns; got {shape!r}")
    if not (0 <= rows <= MAX_VERTICES and 0 <= columns <= MAX_VERTICES):
        raise InvalidInput(f"shape must have from 0 to {MAX_VERTICES} rows and columns; got {(rows, columns)}")
    return rows, columns


def _index_array(array: Any, name: str) -> Any:
    """A contiguous one-dimensional int32 or int64 array; `array` itself if it is one already."""
    if isinstance(array, np.ma.MaskedArray):
        raise InvalidInput(f"{name} must not be masked; use its .compressed() or .filled(...)")
    if not isinstance(array, np.ndarray) and device_of(array) == "cpu":
        try:
            array = np.asarray(array) if len(array) else np.empty(0, np.int32)
        except MemoryError:
            raise
        except Exception as error:  # whatever the methods of a user's class raise
            raise InvalidInput(f"{name} must be an array of integers; got {type(array).__name__} ({error})") from error
    dtype = array.dtype
    if array.ndim != 1 or dtype.kind not in "iu":
        raise InvalidInput(
            f"{name} must be a one-dimensional array of integers; got {array.ndim} dimensions of {dtype}"
        )
    if dtype != np.int32 and dtype != np.int64 or not dtype.isnative:
        # 64-bit unsigned numbers past the signed range become negative, and are refused as such.
        array = array.astype(np.int64 if dtype.itemsize > 4 or dtype == np.uint32 else np.int32)
    if not array.flags.c_contiguous:
        array = array.copy()
    return array


@contextmanager
def damage_refused(matrix: Any) -> Iterator[None]:
    """Whatever a damaged sparse matrix makes SciPy or us raise is an error of ours."""
    try:
        yield
    except (GmatchError, MemoryError):
        raise
    except Exception as error:
        raise InvalidInput(
            f"expected a sparse matrix; got {type(matrix).__name__}, which is no matrix or a damaged one: "
            f"{type(error).__name__}: {error}"
        ) from error


def read_sparse(matrix: Any) -> tuple[BipartiteGraph, Any, bool]:
    """A sparse matrix, checked: the graph of its entries, their values, and whether its columns are the graph's rows.

    No other thread can change the indices of the graph.
    """
    with damage_refused(matrix):
        by_columns = matrix.format == "csc"
        if isinstance(getattr(matrix, "data", None), np.ma.MaskedArray):
            raise InvalidInput("data must not be masked; leave out the pairs that are not allowed")
        compressed = matrix if by_columns else to_csr(matrix, _type_of_sums(matrix))
        if matrix.format == "coo" and compressed.nnz < matrix.nnz:  # only these are summed here
            refuse_lost_sums(matrix.data, compressed.data, lambda: to_csr(matrix, np.float64).data)
        indices = compressed.indices
        if compressed is matrix and isinstance(indices, np.ndarray):
            indices = indices.copy()
        graph = BipartiteGraph((compressed.indptr, indices, compressed.shape[::-1] if by_columns else compressed.shape))
        data = compressed.data
        is_there = type(data) is type(graph.indices) or device_of(data) == graph.device
        if data.ndim != 1 or len(data) < graph.entries or not is_there:
            raise InvalidInput(
                f"data must have an entry for each of {graph.entries} indices, where they live; got shape {data.shape}"
            )
        return graph, data[: graph.entries], by_columns


def _type_of_sums(matrix: Any) -> Any:
    """A type for sums of duplicates, which SciPy and CuPy make when they convert; None if the entries' type is wide.

    uint64 stays: int64 does not hold all of its numbers. `widened` refuses numbers that int64 does not hold.
    """
    dtype = getattr(matrix, "dtype", None)
    if dtype in WORKING_TYPES or dtype == np.uint64 or not isinstance(dtype, np.dtype):
        return None
    return WIDER_TYPE.get((dtype.kind, dtype.itemsize))


def refuse_lost_sums(given: Any, sums: Any, sums_of_floats: Callable[[], Any]) -> None:
    """Raises `InvalidInput` if a sum of integer duplicates has left the range of its type."""
    bits = 8 * sums.dtype.itemsize
    if sums.dtype.kind not in "iu" or len(given) * max(-float(given.min()), float(given.max())) < 2.0 ** (bits - 1):
        return
    # A sum that has left the range is off by 2 ** bits or more. The rounding of floats is much less.
    if bool((abs(sums.astype(np.float64) - sums_of_floats()) > 2.0 ** (bits - 2)).any()):
        raise InvalidInput(
            f"duplicates stand for their sum, which must fit into {sums.dtype}; add them up before, or use "
            "cost.astype(np.float64)"
        )


def to_csr(matrix: Any, dtype: Any = None) -> Any:
    """A matrix in CSR; one of another format is checked first, and its duplicates are summed in the type given."""
    if len(matrix.shape) != 2:
        raise InvalidInput(f"expected a matrix with rows and columns; got {len(matrix.shape)} dimensions")
    rows, columns = _shape(matrix.shape)
    if matrix.format == "csr":
        return matrix
    if matrix.format in _CHECKS:
        matrix = _with_own_numbers(matrix)
        _CHECKS[matrix.format](matrix, rows, columns)
    return (matrix if dtype is None else matrix.astype(dtype)).tocsr()


def _with_own_numbers(matrix: Any) -> Any:
    """A matrix whose numbers of rows and columns no other thread can change. It shares the values of the given one."""
    if not isinstance(matrix.data, np.ndarray):
        return matrix
    mine = copy.copy(matrix)
    if matrix.format == "lil":
        mine.rows, mine.data = own(matrix.rows), own(matrix.data)
        for lists in (mine.rows, mine.data):
            for row in range(len(lists)):
                lists[row] = list(lists[row])
    elif matrix.format == "coo":
        mine.coords = tuple(map(own, matrix.coords))
    for name in ("indptr", "indices", "offsets"):
        if hasattr(matrix, name):
            setattr(mine, name, own(getattr(matrix, name)))
    return mine


def _check_compressed_columns(matrix: Any, rows: int, columns: int) -> None:
    BipartiteGraph((matrix.indptr, matrix.indices, (columns, rows)))
    if len(matrix.data) != len(matrix.indices):
        raise InvalidInput(
            f"CSC data and indices must be equally long; got {len(matrix.data)} and {len(matrix.indices)}"
        )


def _check_blocks(matrix: Any, rows: int, columns: int) -> None:
    block_rows, block_columns = matrix.blocksize
    BipartiteGraph((matrix.indptr, matrix.indices, (rows // block_rows, columns // block_columns)))
    expected = len(matrix.indices), block_rows, block_columns
    if matrix.data.shape != expected:
        raise InvalidInput(f"BSR data must have shape {expected}; got {matrix.data.shape}")
    if rows % block_rows or columns % block_columns:
        raise InvalidInput(
            f"BSR shape {(rows, columns)} must be a multiple of its blocks, {block_rows} x {block_columns}"
        )


def _check_diagonals(matrix: Any, rows: int, columns: int) -> None:
    """Offsets outside of the matrix are diagonals without entries, such as `resize` leaves."""
    offsets, data = matrix.offsets, matrix.data
    if data.ndim != 2 or offsets.shape != data.shape[:1]:
        raise InvalidInput(f"DIA must have a row of data for each offset; got data of shape {data.shape} and "
                           f"{len(offsets)} offsets")  # fmt: skip
    if _index_array(offsets, "DIA offsets").dtype != offsets.dtype:
        raise InvalidInput(f"DIA offsets must be int32 or int64; got {offsets.dtype}")
    # SciPy adds numbers of rows to them, in int32, and counts on the sum for the room it makes.
    lowest, highest = -MAX_VERTICES, MAX_VERTICES - rows
    if len(offsets) and not lowest <= int(offsets.min()) <= int(offsets.max()) <= highest:
        raise InvalidInput(
            f"DIA offsets must be from {lowest} to {highest} for {rows} rows; got {int(offsets.min())} to "
            f"{int(offsets.max())}"
        )
    if len(np.unique(offsets)) < len(offsets):
        raise InvalidInput("DIA offsets must be distinct; some are given twice")


def _check_lists(matrix: Any, rows: int, columns: int) -> None:
    lists, data = matrix.rows, matrix.data
    if not len(lists) == len(data) == rows:
        raise InvalidInput(f"LIL must have {rows} lists of columns and of data; got {len(lists)} and {len(data)}")
    for row, (numbers, values) in enumerate(zip(lists, data, strict=True)):
        if len(numbers) != len(values):
            raise InvalidInput(f"LIL row {row} has {len(numbers)} columns and {len(values)} values")


def _check_coordinates(matrix: Any, rows: int, columns: int) -> None:
    for name, given, bound in (("row", matrix.row, rows), ("column", matrix.col, columns)):
        numbers = _index_array(given, f"COO {name} numbers")
        if len(numbers) != len(matrix.data):
            raise InvalidInput(f"COO {name} numbers and data must be equally long; got {len(numbers)} and "
                               f"{len(matrix.data)}")  # fmt: skip
        if len(numbers) and not 0 <= int(numbers.min()) <= int(numbers.max()) < bound:
            raise InvalidInput(
                f"{name} numbers must be from 0 to {bound - 1}; got {int(numbers.min())} to {int(numbers.max())}"
            )


# What conversions trust, for they read and write where it says; SciPy checks dictionaries itself.
_CHECKS = {
    "csc": _check_compressed_columns,
    "bsr": _check_blocks,
    "coo": _check_coordinates,
    "dia": _check_diagonals,
    "lil": _check_lists,
}


def _what_is_wrong(indptr: Any, indices: Any, shape: tuple[int, int]) -> InvalidInput:
    """Names the first offset or index that is wrong."""
    if int(indptr[0]) != 0:
        return InvalidInput(f"indptr must start with 0; got {int(indptr[0])}")
    falls = (indptr[1:] < indptr[:-1]).nonzero()[0]
    if len(falls):
        row = int(falls[0])
        return InvalidInput(
            f"indptr must not decrease; row {row} would begin at {int(indptr[row])} and end at {int(indptr[row + 1])}"
        )
    last = int(indptr[-1])
    if last > len(indices):
        return InvalidInput(f"indptr promises {last} entries, but indices has {len(indices)}")
    wrong = ((indices[:last] < 0) | (indices[:last] >= shape[1])).nonzero()[0]
    if not len(wrong):
        return changed("the graph")
    edge = int(wrong[0])
    return InvalidInput(f"column numbers must be from 0 to {shape[1] - 1}; entry {edge} is {int(indices[edge])}")
