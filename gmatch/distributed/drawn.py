"""Pairs that are drawn by chance for a core.

Many rows may prefer the same columns. If each row offers its best pairs, all offer pairs of these columns, and the next
round the pairs of others. So pairs are drawn: without replacement, each with a chance in proportion to a weight. Row by
row, a pair of the weight w gets the key E / w, where E is exponential, and the pairs with the least keys are drawn:
Efraimidis, Spirakis, "Weighted random sampling with a reservoir", Information Processing Letters 97 (2006).

All rows share one list of exponentials, each from another place on. So draws are equal in each call, and cheap.
"""

from __future__ import annotations

from typing import Any

import numpy as np

# Rows begin in the list of exponentials at multiples of this share of its length. Near rows begin far from each other.
GOLDEN = 0.6180339887498949


class Draws:
    """Keys of pairs, row by row. The least keys of a row are drawn.

    Parameters
    ----------
    width : int
        Entries of a row.
    """

    def __init__(self, width: int) -> None:
        exponentials = np.random.default_rng(0).exponential(size=width) + np.finfo(np.float32).tiny
        twice = np.concatenate([exponentials, exponentials])
        self._turned = np.lib.stride_tricks.sliding_window_view(twice, width)
        self._logarithms = np.lib.stride_tricks.sliding_window_view(np.log(twice), width)

    def _begins(self, rows: Any) -> Any:
        return (rows * GOLDEN % 1 * len(self._turned)).astype(np.int64).clip(0, len(self._turned) - 1)

    def by_cost(self, rows: Any, costs: Any, epsilon: float) -> Any:
        """Keys by which a pair is drawn with the weight exp(-cost / epsilon). A pair of infinite cost has no weight."""
        keys = self._logarithms[self._begins(rows)]
        keys *= epsilon
        keys += costs
        return keys

    def by_amount(self, rows: Any, amounts: Any) -> Any:
        """Keys by which a pair is drawn with its amount as the weight; the amounts are below 0, or not to be drawn."""
        return amounts / self._turned[self._begins(rows)]
