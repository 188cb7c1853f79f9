"""Matrices of other libraries, as arrays of NumPy and CuPy or as sparse matrices; none of these libraries is imported.

torch, jax, pandas, polars, xarray and sparse (of PyData) are known by the module of a type.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import scipy.sparse

from . import cuda
from .errors import GmatchError, InvalidInput

EXACT_IN_FLOAT64 = 2**53
LIBRARIES = frozenset(("torch", "jax", "pandas", "polars", "xarray", "sparse", "networkx"))
# Results for arrays of these libraries have arrays of the same library.
GIVES_BACK = frozenset(("torch", "jax"))
OF_NO_LIBRARY = frozenset((np.ndarray, list, tuple))


class CompressedRows:
    """A matrix in CSR with arrays of any type and device: CuPy's own holds no integers."""

    format = "csr"

    def __init__(self, indptr: Any, indices: Any, data: Any, shape: tuple[int, int]) -> None:
        self.indptr, self.indices, self.data, self.shape = indptr, indices, data, shape

    @property
    def nnz(self) -> int:
        """How many entries are stored."""
        return len(self.data)

    def get(self) -> Any:
        """A matrix of SciPy on the host, as `get` of CuPy's matrices."""
        arrays = (array.get() for array in (self.data, self.indices, self.indptr))
        return scipy.sparse.csr_array(tuple(arrays), self.shape)


def library_of(given: Any) -> str:
    """The library among `LIBRARIES` that the type of a value comes from, or a base of it; else an empty string."""
    kind: Any = type(given)
    return _library_of(kind)


@lru_cache(maxsize=256)  # a call asks several times, and each time the names take a microsecond
def _library_of(kind: type) -> str:
    for base in kind.__mro__:
        library = base.__module__.partition(".")[0]
        if library in LIBRARIES:
            return library
    return ""


def gives_back(given: Any) -> bool:
    """Whether results for an array have arrays of its library."""
    return type(given) not in OF_NO_LIBRARY and library_of(given) in GIVES_BACK


def unwrapped(given: Any) -> Any:
    """The array in a DataArray of xarray, or a tensor of torch without its gradient. Other values as they are.

    If torch has only noted the negation of a tensor, the tensor is copied and negated.
    """
    library = library_of(given)
    if library == "xarray" and type(given).__name__ == "DataArray":
        return given.data
    return given.detach().resolve_neg() if library == "torch" and hasattr(given, "detach") else given


def as_sparse(given: Any) -> Any:
    """A sparse matrix of torch or of sparse as a matrix of SciPy, or in CSR on a GPU. Other values as they are."""
    if type(given) is np.ndarray or scipy.sparse.issparse(given):
        return given
    try:
        return _as_sparse(given)
    except (GmatchError, MemoryError):
        raise
    except Exception as error:
        raise InvalidInput(
            f"expected a matrix; got {type(given).__name__}, which is no matrix or a damaged one: "
            f"{type(error).__name__}: {error}"
        ) from error


def _as_sparse(given: Any) -> Any:
    inner = unwrapped(given)
    library = library_of(inner)
    if library == "torch" and "sparse" in str(getattr(inner, "layout", "")):
        return _of_torch(inner)
    if library == "sparse" and hasattr(inner, "fill_value"):
        return _of_sparse(inner)
    return given


def _of_torch(tensor: Any) -> Any:
    if tensor.ndim != 2 or tensor.dense_dim():
        raise InvalidInput(
            f"expected a sparse tensor with rows and columns, and a number for each pair; got one of {tensor.ndim} "
            f"dimensions, {tensor.dense_dim()} of them dense; give sparse problems one by one"
        )
    shape, layout = tuple(tensor.shape), str(tensor.layout)
    if tensor.is_cuda:
        tensor = tensor if layout == "torch.sparse_csr" else tensor.to_sparse_csr()
        from_dlpack = cuda.cupy().from_dlpack
        indptr, indices = from_dlpack(tensor.crow_indices()), from_dlpack(tensor.col_indices())
        return CompressedRows(indptr, indices, from_dlpack(_as_numbers(tensor.values())), shape)
    if layout == "torch.sparse_coo":
        tensor = tensor.coalesce()
        return scipy.sparse.coo_array((_as_numbers(tensor.values()).numpy(), tensor.indices().numpy()), shape)
    values = _as_numbers(tensor.values()).numpy()
    if layout in ("torch.sparse_csr", "torch.sparse_bsr"):
        make = scipy.sparse.csr_array if layout == "torch.sparse_csr" else scipy.sparse.bsr_array
        return make((values, tensor.col_indices().numpy(), tensor.crow_indices().numpy()), shape)
    arrays = values, tensor.row_indices().numpy(), tensor.ccol_indices().numpy()
    if layout == "torch.sparse_csc":
        return scipy.sparse.csc_array(arrays, shape)
    # Blocks by columns are blocks by rows of the transposed matrix.
    return scipy.sparse.bsr_array((values.transpose(0, 2, 1), *arrays[1:]), shape[::-1]).transpose()


def _as_numbers(values: Any) -> Any:
    """Entries in a type that NumPy and SciPy know."""
    return values.float() if str(values.dtype) in ("torch.bfloat16", "torch.float16") else values


def _of_sparse(matrix: Any) -> Any:
    fill = matrix.fill_value
    if fill != 0 and np.isfinite(fill):
        raise InvalidInput(
            f"expected a sparse matrix whose other pairs are not allowed, with fill value 0, inf or NaN; got {fill}; "
            "if that is what they cost, use cost.todense()"
        )
    if matrix.ndim != 2:
        raise InvalidInput(
            f"expected a sparse matrix with rows and columns; got {matrix.ndim} dimensions; give sparse problems one "
            "by one"
        )
    stored = matrix.asformat("coo")
    data = stored.data.astype(np.float32) if stored.data.dtype == np.float16 else stored.data
    return scipy.sparse.coo_array((data, tuple(stored.coords)), stored.shape)


def sum_of(values: Any, **axis: int) -> Any:
    """The sum of a tensor of torch or an array of JAX, with its gradient. Narrower floats are added in 32 bits."""
    if values.dtype.itemsize < 4 and (values.is_floating_point() if hasattr(values, "is_floating_point") else True):
        values = values.float() if hasattr(values, "float") else values.astype(np.float32)
    return values.sum(**axis)


def is_frame(given: Any) -> bool:
    """Whether it is a DataFrame of pandas or polars."""
    return library_of(given) in ("pandas", "polars") and hasattr(given, "to_numpy") and hasattr(given, "columns")


def has_labels(given: Any) -> bool:
    """Whether it is a DataFrame or a DataArray, whose rows and columns may have labels: see `labels_of`."""
    return library_of(given) == "xarray" or is_frame(given)


def labels_of(given: Any) -> tuple[tuple[Any, ...] | None, tuple[Any, ...] | None]:
    """The labels of the rows and columns of a DataFrame or a DataArray; None for a side that has none.

    A DataFrame of polars has none for its rows, a DataArray for dimensions without coordinates.
    """
    if library_of(given) == "xarray":
        known = getattr(given, "indexes", {})  # a Variable has none
        indexes = (known.get(dimension) for dimension in given.dims)
        rows, columns = (None if index is None else tuple(index.tolist()) for index in indexes)
        return rows, columns
    if library_of(given) == "polars":
        return None, tuple(given.columns)
    return tuple(given.index.tolist()), tuple(given.columns.tolist())


def array_of_frame(frame: Any) -> Any:
    """The numbers of a DataFrame, missing ones as NaN; refused where integers would be rounded."""
    array = frame.to_numpy()
    if array.dtype.kind in "biuf" and not may_have_rounded(array):
        return array
    array = _of_pandas(frame) if library_of(frame) == "pandas" else np.asarray(frame)
    if array.dtype.kind == "f":
        whole = [number for number, dtype in enumerate(frame.dtypes) if str(dtype).lower().startswith(("int", "uint"))]
        large = abs(array[:, whole]) >= EXACT_IN_FLOAT64
        if large.any():
            row, place = (int(numbers[0]) for numbers in large.nonzero())
            raise InvalidInput(
                f"cost must not mix integers from 2**53 on with floats or missing values, whose float64 may round "
                f"them; got {array[row, whole[place]]:.0f} in row {row} of column {frame.columns[whole[place]]!r}; if "
                "that does no harm, give its float64 array"
            )
    return array


def may_have_rounded(array: Any) -> bool:
    """Whether an array that NumPy made of numbers may hold integers that it rounded."""
    if array.dtype != np.float64:
        return False
    magnitudes = abs(array)
    if magnitudes.max(initial=0) < EXACT_IN_FLOAT64:  # false if there is NaN
        return False
    large = magnitudes >= EXACT_IN_FLOAT64
    return bool(large.any() and np.isfinite(array[large]).any())


def _of_pandas(frame: Any) -> Any:
    """The numbers in the NumPy type that holds all columns. NumPy makes objects of nullable and of mixed types."""
    types = [getattr(dtype, "numpy_dtype", dtype) for dtype in frame.dtypes]
    if not types or not all(isinstance(dtype, np.dtype) and dtype.kind in "biuf" for dtype in types):
        return np.asarray(frame)
    common = np.result_type(*types)
    if common.kind != "f" and bool(frame.isna().to_numpy().any()):
        common = np.dtype(np.float64)
    if common.kind == "f":
        return frame.to_numpy(common, na_value=np.nan)
    return frame.to_numpy(common)


def way_in(given: Any, what: str = "cost") -> str:
    """The end of a message for a value that is no array of numbers: what to do; empty if there is no advice."""
    library, name = library_of(given), type(given).__name__
    if library == "networkx":
        return (
            "; use gmatch.SparseCosts.from_networkx(graph, top_nodes, weight='weight') for its cheapest assignment, or "
            "gmatch.max_weight_matching(graph)"
        )
    if name == "BipartiteGraph" and given.row_nodes is not None:
        return "; it has no costs; use gmatch.SparseCosts.from_networkx(graph, top_nodes, weight='weight')"
    if name == "BipartiteGraph":
        return "; it has no costs; use scipy.sparse.csr_array((costs, graph.indices, graph.indptr), graph.shape)"
    if name == "LazyFrame":
        return f"; use {what}.collect()"
    if library == "xarray" and name == "Dataset":
        return f"; use one of its variables, {what}[name]"
    if library == "pandas" and getattr(getattr(given, "index", None), "nlevels", 1) == 2 and name == "Series":
        return f"; use {what}.unstack(), and forbid_nan=True if pairs are missing in it"
    if isinstance(given, dict):
        return _way_in_of_dict(given, what)
    if _is_edge_list(given):
        return (
            f"; if it lists edges, use pandas.DataFrame({what}).pivot(index=0, columns=1, values=2), and "
            "forbid_nan=True if pairs are missing in it, or scipy.sparse.coo_array((costs, (rows, columns))) of "
            "numbered rows and columns"
        )
    return ""


def _way_in_of_dict(given: dict[Any, Any], what: str) -> str:
    missing = ", and forbid_nan=True if pairs are missing in it"
    if all(isinstance(key, tuple) and len(key) == 2 for key in given):
        return f"; use pandas.Series({what}).unstack(){missing}"
    return f"; use pandas.DataFrame.from_dict({what}, orient='index'){missing}"


def _is_edge_list(given: Any) -> bool:
    """Whether it looks like (row, column, cost), with names of rows or columns that are no numbers."""
    if not isinstance(given, list | tuple | set | frozenset) or not given:
        return False
    return all(isinstance(edge, list | tuple) and len(edge) == 3 for edge in given) and any(
        not isinstance(name, int | float | np.number) for edge in given for name in edge[:2]
    )
