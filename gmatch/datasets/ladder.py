"""The ladder: an easy graph, except for depth-first searches that forget their dead ends."""

import numpy as np
from scipy.sparse import csr_array

from .patterns import checked_size, pattern_of_keys

__all__ = ["layered"]


def layered(k: int) -> csr_array:
    """A ladder of k rungs on which searches that forget dead ends take 2**k steps.

    Parameters
    ----------
    k : int
        Rungs of the ladder, k >= 0.

    Returns
    -------
    csr_array of int8, shape (3 k + 2, 3 k + 1)
        Pattern with 8 k - 1 entries (one for k = 0), indices sorted. Every column can be matched: a maximum matching
        has 3 k + 1 edges.

    Raises
    ------
    InvalidInput
        `k` is negative, too large or no integer.

    Notes
    -----
    Rung l (l = 0 .. k-1) has the columns 2l, 2l+1, each the first choice of the row with the same number; both rows of
    a rung also reach both columns of the next rung. The last rung is a dead end. Beside the ladder stands a path of k
    rows, row p with the columns p and p+1 of the path, whose last column is left to be matched. Two more rows enter:
    one has both columns of rung 0, the other the first column of the path.

    A greedy start matches every row except these two with its first column. Then the row at the ladder has no
    augmenting path. A search that marks only its current path, and not its dead ends, reaches rung l on 2**(l+1) ways:
    2**(k+1) - 2 visits in all. A search with marks makes 2 k visits. Layers of the graph (Hopcroft-Karp) do not help
    the search without marks: the free column of the path lies one layer deeper than the last rung, so all of the ladder
    is in the layers that are searched. SciPy's `maximum_bipartite_matching` searches without marks (its issue 26147).
    Time O(k).

    Examples
    --------
    >>> gmatch.datasets.layered(5).shape
    (17, 16)
    """
    k = checked_size("k", k, largest=2**28)
    rung = np.arange(2 * k)
    last_rung_left_out = rung[: max(2 * k - 2, 0)]
    next_left = last_rung_left_out // 2 * 2 + 2
    path = np.arange(2 * k, 3 * k)
    edges = [
        (rung, rung),
        (last_rung_left_out, next_left),
        (last_rung_left_out, next_left + 1),
        (path, path),
        (path, path + 1),
        (np.full(min(2 * k, 2), 3 * k), rung[:2]),
        (np.array([3 * k + 1]), np.array([2 * k])),
    ]
    row, col = (np.concatenate(ends) for ends in zip(*edges, strict=True))
    return pattern_of_keys(row * (3 * k + 1) + col, 3 * k + 2, 3 * k + 1)
