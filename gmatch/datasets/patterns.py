"""What all generators share: checked sizes, seeds, and patterns built from edges.

While a pattern is built, an edge is one int64 key, row * cols + col: keys sort fast.
"""

import operator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ..errors import InvalidInput

__all__ = ["checked_size", "empty_pattern", "pattern_of_keys", "permute", "random_of", "symmetric_pattern"]

LARGEST_SIZE = np.iinfo(np.int32).max


def permute(matrix: Any, seed: int = 0) -> csr_array:
    """Permute rows and columns, independently, at random: the "RCP" instances of Deveci et al.

    A mesh in natural order is easy, since neighbours lie side by side; permuted, it is as hard as a random graph.

    Parameters
    ----------
    matrix : scipy.sparse array or matrix, shape (rows, cols)
        Not changed. Of a dense array the nonzero elements are the entries.
    seed : int
        The same seed gives the same permutation.

    Returns
    -------
    csr_array, shape (rows, cols)
        Same dtype and number of entries; indices sorted.

    Raises
    ------
    InvalidInput
        `matrix` is not a matrix, or `seed` is not an integer >= 0.

    Notes
    -----
    Time linear in the entries, but for the sort of each row. M. Deveci, K. Kaya, B. Ucar, U. V. Catalyurek, *GPU
    accelerated maximum cardinality matching algorithms for bipartite graphs*, Euro-Par 2013, section 4.
    """
    random = random_of(seed)
    try:
        rows, cols = matrix.shape
        natural = csr_array(matrix)
    except (AttributeError, TypeError, ValueError):
        raise InvalidInput(f"expected a sparse matrix with rows and columns, got {type(matrix).__name__}") from None
    shuffled = natural[random.permutation(rows)]
    new_column = random.permutation(cols).astype(shuffled.indices.dtype)
    permuted = csr_array((shuffled.data, new_column[shuffled.indices], shuffled.indptr), shape=(rows, cols))
    permuted.sort_indices()
    return permuted


def checked_size(name: str, value: int, largest: int = LARGEST_SIZE) -> int:
    """`value` as an int in [0, largest]; otherwise InvalidInput."""
    try:
        size = operator.index(value)
    except TypeError:
        raise InvalidInput(f"expected {name} to be an integer, got {value!r}") from None
    if not 0 <= size <= largest:
        raise InvalidInput(f"expected {name} between 0 and {largest}, got {size}")
    return size


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
