"""Random graphs without geometry: Graph500 Kronecker and R-MAT (skewed degrees), and Erdos-Renyi (no structure)."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ..errors import InvalidInput
from .patterns import (
    LARGEST_SIZE,
    checked_number,
    checked_size,
    empty_pattern,
    pattern_of_keys,
    random_of,
    shown,
    symmetric_pattern,
)

__all__ = ["erdos_renyi", "kron", "rmat"]

Edges = tuple[NDArray[np.int32], NDArray[np.int32]]

# Probabilities that an edge falls into the quadrants 00, 01, 10 of the adjacency matrix (11 has the rest): Graph500.
INITIATOR = (0.57, 0.19, 0.19)
# Edges that are drawn together. The arrays of 2^18 edges stay in the cache of a processor.
EDGES_AT_A_TIME = 1 << 18
# The edges that a graph may have: more do not fit into any memory.
MOST_EDGES = 1 << 40


def kron(scale: int, edge_factor: int = 48, seed: int = 0) -> csr_array:
    """Graph500 Kronecker graph, like DIMACS10/kron_g500-logn16 to 21: heavy-tailed degrees, many isolated vertices.

    Parameters
    ----------
    scale : int
        The graph has 2**scale vertices; scale <= 30.
    edge_factor : int
        Edges drawn per vertex. Loops and repeated edges are dropped, as in the "simple" graphs of DIMACS10.
    seed : int
        The same seed gives the same graph.

    Returns
    -------
    csr_array of int8, shape (2**scale, 2**scale)
        Symmetric pattern, labels permuted at random, indices sorted.

    Raises
    ------
    InvalidInput
        `scale`, `edge_factor` or `seed` is negative, too large or no integer.

    Notes
    -----
    Time and memory O(edge_factor * 2**scale), times `scale` for the draws. J. Leskovec et al., *Kronecker graphs: an
    approach to modeling networks*, JMLR 11, 2010; https://graph500.org.

    Examples
    --------
    >>> gmatch.datasets.kron(6).shape
    (64, 64)
    """
    vertices = 1 << checked_size("scale", scale, largest=30)
    edges = checked_size("edge_factor", edge_factor, min(LARGEST_SIZE, MOST_EDGES // vertices)) * vertices
    i, j = _recursive_edges(vertices.bit_length() - 1, edges, random_of(seed))
    return symmetric_pattern(i, j, vertices)


def rmat(n: int, entries: int | None = None, seed: int = 0) -> csr_array:
    """Directed R-MAT graph, like a social network: who follows whom.

    Parameters
    ----------
    n : int
        Rows and columns.
    entries : int, optional
        Entries drawn. Repeated ones count once, so the matrix has a little less; the default of 15 n leaves about
        14 n for n = 2**19.
    seed : int
        The same seed gives the same graph.

    Returns
    -------
    csr_array of int8, shape (n, n)
        Pattern, labels permuted at random, indices sorted.

    Raises
    ------
    InvalidInput
        `n`, `entries` or `seed` is negative, too large or no integer.

    Notes
    -----
    Time O(entries log n), memory O(entries). D. Chakrabarti, Y. Zhan, C. Faloutsos, *R-MAT: a recursive model for graph
    mining*, SDM 2004.

    Examples
    --------
    >>> gmatch.datasets.rmat(100).shape
    (100, 100)
    """
    n = checked_size("n", n)
    drawn = checked_size("entries", 15 * n if entries is None else entries, MOST_EDGES)
    if n == 0:
        return empty_pattern(0, 0)
    i, j = _recursive_edges((n - 1).bit_length(), drawn, random_of(seed))
    # If n is no power of two, `%` keeps all draws and merges random pairs of vertices, since labels are permuted.
    return pattern_of_keys((i % n).astype(np.int64) * n + j % n, n, n)


def erdos_renyi(n: int, degree: float = 4, seed: int = 0) -> csr_array:
    """Random square matrix: each entry is present with probability degree / n, independently of all others.

    Parameters
    ----------
    n : int
        Rows and columns.
    degree : float
        Expected entries per row, 0 <= degree <= n (for n = 0 any degree).
    seed : int
        The same seed gives the same matrix.

    Returns
    -------
    csr_array of int8, shape (n, n)
        Pattern, indices sorted.

    Raises
    ------
    InvalidInput
        `n` or `seed` is negative, too large or no integer, or `degree` is no number or out of range.

    Notes
    -----
    Time O(entries log entries). P. Erdos, A. Renyi, *On random matrices*, 1964; sparse random graphs with few entries
    per row are the hard case for greedy starts and the good case for Karp-Sipser.

    Examples
    --------
    >>> gmatch.datasets.erdos_renyi(100, degree=4).shape
    (100, 100)
    """
    n, degree = checked_size("n", n), checked_number("degree", degree)
    random = random_of(seed)
    if n == 0:
        return empty_pattern(0, 0)
    if not 0 <= degree <= n:
        raise InvalidInput(f"expected degree between 0 and n = {n}, got {shown(degree)}")
    # Independent entries, once their number is known, are a uniformly random set of cells.
    entries = int(random.binomial(n * n, degree / n))
    return pattern_of_keys(random.choice(n * n, size=entries, replace=False, shuffle=False), n, n)


def _recursive_edges(scale: int, edges: int, random: np.random.Generator) -> Edges:
    """Ends of `edges` draws: each bit of (i, j) picks a quadrant of the matrix. Labels are permuted at random."""
    label = random.permutation(np.arange(1 << scale, dtype=np.int32))
    i, j = np.empty(edges, dtype=np.int32), np.empty(edges, dtype=np.int32)
    for start in range(0, edges, EDGES_AT_A_TIME):
        part = slice(start, min(start + EDGES_AT_A_TIME, edges))
        row, col = _quadrants(scale, part.stop - part.start, random)
        i[part], j[part] = label[row], label[col]
    return i, j


def _quadrants(scale: int, edges: int, random: np.random.Generator) -> Edges:
    below_01, below_10, below_11 = np.cumsum(INITIATOR, dtype=np.float32)
    row, col = np.zeros(edges, dtype=np.int32), np.zeros(edges, dtype=np.int32)
    for _ in range(scale):
        draw = random.random(edges, dtype=np.float32)
        lower = draw >= below_10
        right = (draw >= below_01) ^ lower ^ (draw >= below_11)
        row += row + lower
        col += col + right
    return row, col
