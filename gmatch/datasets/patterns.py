"""What all generators share: checked sizes, numbers and seeds, and patterns built from edges.

While a pattern is built, an edge is one int64 key, row * cols + col: keys sort fast.
"""

import math
import operator
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from ..errors import InvalidInput
from ..problems.graph import BipartiteGraph

__all__ = [
    "checked_number",
    "checked_size",
    "checked_spec",
    "empty_pattern",
    "pattern_of_keys",
    "permute",
    "random_of",
    "shown",
    "symmetric_pattern",
]

LARGEST_SIZE = np.iinfo(np.int32).max
# Characters of a specification. Python refuses integers of many digits; users may set that limit as low as 640.
LONGEST_SPEC = 500


def permute(matrix: Any, seed: int = 0) -> csr_array:
    """Permute rows and columns, independently, at random: the "RCP" instances of Deveci et al.

    A mesh in natural order is easy, since neighbours lie side by side. A permuted mesh is as hard as a random graph.

    Parameters
    ----------
    matrix : scipy.sparse array or matrix, shape (rows, cols)
        Not changed. The entries of a dense array are its nonzero elements.
    seed : int
        The same seed gives the same permutation.

    Returns
    -------
    csr_array, shape (rows, cols)
        Same dtype and number of entries; indices sorted.

    Raises
    ------
    InvalidInput
        `matrix` is not a matrix or is damaged, or `seed` is not an integer >= 0.

    Notes
    -----
    Time linear in the entries, except for the sort of each row. M. Deveci, K. Kaya, B. Ucar, U. V. Catalyurek, *GPU
    accelerated maximum cardinality matching algorithms for bipartite graphs*, Euro-Par 2013, section 4.

    Examples
    --------
    >>> matrix = gmatch.datasets.permute(gmatch.datasets.load("HB/west0067"), seed=1)
    >>> gmatch.structural_rank(matrix)
    67
    """
    random = random_of(seed)
    if issparse(matrix):
        BipartiteGraph(matrix)  # checks the indices: SciPy reads and writes where they say, unchecked
    try:
        rows, cols = matrix.shape
        natural = csr_array(matrix)
        shuffled = natural[random.permutation(rows)]
    except (AttributeError, TypeError, ValueError) as error:
        raise InvalidInput(
            f"expected a sparse matrix with rows and columns, got {type(matrix).__name__}: {error}"
        ) from None
    new_column = random.permutation(cols).astype(shuffled.indices.dtype)
    permuted = csr_array((shuffled.data, new_column[shuffled.indices], shuffled.indptr), shape=(rows, cols))
    permuted.sort_indices()
    return permuted


def checked_size(name: str, value: int, largest: int = LARGEST_SIZE, smallest: int = 0) -> int:
    """`value` as an int in [smallest, largest]; otherwise InvalidInput."""
    try:
        size = int(operator.index(value))  # True is 1
    except TypeError:
        raise InvalidInput(f"expected {name} to be an integer, got {shown(value)}") from None
    if not smallest <= size <= largest:
        raise InvalidInput(f"expected {name} between {smallest} and {largest}, got {shown(size)}")
    return size


def checked_number(name: str, value: Any) -> float:
    """`value` as an int or a float, infinite and NaN too; otherwise InvalidInput."""
    with suppress(TypeError):
        return int(operator.index(value))
    try:
        return math.ldexp(value, 0)  # as float(), which would also take text
    except (TypeError, ValueError, OverflowError):
        raise InvalidInput(f"expected {name} to be a number, got {shown(value)}") from None


def checked_spec(spec: str) -> str:
    """The text that specifies a matrix, if Python can read every number in it."""
    if not isinstance(spec, str):
        raise InvalidInput(f"expected a text of the form NAME:SIZE, got {shown(spec)}")
    if len(spec) > LONGEST_SPEC:
        raise InvalidInput(f"expected NAME:SIZE in at most {LONGEST_SPEC} characters, got {len(spec)}: {shown(spec)}")
    return spec


def shown(value: object) -> str:
    """A value as messages show it. Long values are cut, and so are integers that Python refuses to write."""
    try:
        text = repr(value)
    except ValueError:
        return "an integer of thousands of digits"
    return text if len(text) <= LONGEST_SPEC else f"{text[:50]}..."


def random_of(seed: int) -> np.random.Generator:
    return np.random.default_rng(checked_size("seed", seed, largest=2**63 - 1))


def empty_pattern(rows: int, cols: int) -> csr_array:
    return pattern_of_keys(np.empty(0, dtype=np.int64), rows, cols)


def symmetric_pattern(i: NDArray[np.integer], j: NDArray[np.integer], vertices: int) -> csr_array:
    """Adjacency of the undirected simple graph with the edges {i, j}; loops and repeated edges are dropped."""
    keys = np.minimum(i, j).astype(np.int64) * vertices + np.maximum(i, j)
    upper = pattern_of_keys(keys[i != j], vertices, vertices)
    return csr_array(upper + upper.T.tocsr())


def pattern_of_keys(keys: NDArray[np.int64], rows: int, cols: int) -> csr_array:
    """The pattern with the entries key = row * cols + col; repeated ones count once. Sorts `keys` in place."""
    keys.sort()
    first = np.ones(keys.size, dtype=bool)
    np.not_equal(keys[1:], keys[:-1], out=first[1:])
    row, col = np.divmod(keys[first], max(cols, 1))
    offsets = np.zeros(rows + 1, dtype=np.int64 if row.size > LARGEST_SIZE else np.int32)
    np.cumsum(np.bincount(row, minlength=rows), out=offsets[1:])
    return csr_array((np.ones(row.size, dtype=np.int8), col.astype(np.int32), offsets), shape=(rows, cols))
