"""What is known of pairs outside the core: a row is read again only if one of its pairs may have become too cheap.

When a row was read, its pairs outside the core had at least so much slack: its margin. Since then its dual has risen by
some, each dual of the other side by something or less, and no pair has lost more than both. Late rounds change few
duals, and read few rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

# Slacks of floats within so many of their duals are zero but for rounding: as in csrc/costs/dense.cuh.
ROUNDINGS = 2.0**-48
# What a margin may be off after a round, in parts of the duals that enter it.
ROUNDING = 2.0**-50


class Margins:
    """Of rows that are read one by one, and columns that are not.

    Parameters
    ----------
    rows : int
    """

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self.forget()

    def forget(self) -> None:
        """Nothing is known: the core begins anew."""
        self._margins = np.full(self._rows, -np.inf)
        self._duals: tuple[Any, Any] | None = None

    def begin(self, bounds: Any, of_columns: Any) -> None:
        """Pairs outside the core cost so much more than these duals of columns; of bounds that are not known None."""
        self._duals = None
        if bounds is not None:
            self._margins = bounds.astype(np.float64)
            self._duals = np.zeros(len(bounds), bounds.dtype), of_columns.copy()

    def rows_to_read(self, of_rows: Any, of_columns: Any) -> Any:
        """Numbers of the rows that must be read for these duals, increasing; all if nothing is known."""
        if self._duals is not None:
            before_rows, before_columns = self._duals
            # All that one side gains the other may lose: then no slack changes.
            risen = (of_columns - before_columns).max() if len(of_columns) else 0
            off = ROUNDING * (abs(of_rows) + abs(of_columns).max(initial=0))
            self._margins -= (of_rows - before_rows).astype(np.float64) + float(risen) + off
        self._duals = of_rows.copy(), of_columns.copy()
        # Rows whose bound is their dual, as where pairs tie, have none that is cheaper but for rounding.
        near = 0.5 if of_rows.dtype.kind == "i" else ROUNDINGS * abs(of_rows)
        return (self._margins < -near).nonzero()[0]

    def note(self, rows: Any, least: Any) -> None:
        """The least slack that some rows have outside the core."""
        self._margins[rows] = least


class MarginsOfCore(Margins):
    """The same, where pairs are read that may be in the core, as all of the core are known.

    Parameters
    ----------
    rows, columns : int
    """

    def __init__(self, rows: int, columns: int) -> None:
        self._columns = columns
        super().__init__(rows)

    def forget(self) -> None:
        super().forget()
        self._known = np.empty(0, np.int64)  # row * columns + column of pairs of the core, increasing
        self._begins: Any = None

    def join(self, rows: Any, columns: Any) -> None:
        """Pairs of the core."""
        if not len(rows):
            return
        self._known = np.concatenate([self._known, rows * self._columns + columns])
        self._known.sort(kind="stable")  # of some that are sorted, and few that are not
        self._begins = None

    def leave_out(self, rows: Any, keys: Any, far: Any) -> None:
        """Makes the keys of pairs of the core far; `keys` are of some rows, whole."""
        if self._begins is None:
            self._begins = np.searchsorted(self._known, np.arange(len(self._margins) + 1) * self._columns)
        begins, ends = self._begins[rows], self._begins[rows + 1]
        lengths = ends - begins
        starts = np.cumsum(lengths) - lengths
        places = np.arange(lengths.sum()) + np.repeat(begins - starts, lengths)
        at = np.repeat(np.arange(len(rows)), lengths)
        keys[at, self._known[places] - rows[at] * self._columns] = far
