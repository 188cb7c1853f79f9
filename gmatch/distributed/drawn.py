"""Entries that are drawn by chance for a core.

Many rows may prefer the same columns. If each row offers its best entries, all rows offer entries of these columns, and
in the next round entries of other columns. So entries are drawn: without replacement, each with a chance in proportion
to a weight. An entry of weight w gets the key E / w, where E is exponential. The entries of a row with the least keys
are drawn: Efraimidis, Spirakis, "Weighted random sampling with a reservoir", Information Processing Letters 97 (2006).

All rows share one list of exponentials, and each row begins at another place of it. So draws are equal in each call.
"""

from __future__ import annotations

from typing import Any

import numpy as np

# Rows begin in the list of exponentials at multiples of this share of its length. Near rows begin far from each other.
GOLDEN = 0.6180339887498949


class Draws:
    """Keys of entries, row by row. The least keys of a row are drawn.

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
        """Keys by which an entry is drawn with the weight exp(-cost / epsilon)."""
        keys = self._logarithms[self._begins(rows)]
        keys *= epsilon
        keys += costs
        return keys

    def by_amount(self, rows: Any, amounts: Any) -> Any:
        """Keys by which an entry is drawn with minus its amount as the weight. Amounts above 0 are not to be drawn."""
        return amounts / self._turned[self._begins(rows)]
