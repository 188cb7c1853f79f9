"""What is known of pairs outside the core: a row is read again only if one of its pairs may have become too cheap.

The margin of a row is the least slack that its pairs outside the core had when the row was last read. A later change of
the duals lowers that slack by at most the rise of the row's dual plus the largest rise of a column's dual. Late rounds
change few duals, and read few rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

# A slack of floats counts as zero within this share of its duals, as in csrc/costs/dense.cuh.
ROUNDINGS = 2.0**-48
# The rounding error of a margin after a round, as a share of the duals that enter it.
ROUNDING = 2.0**-50


class Margins:
    """The margin of each row. Rows are read one by one; columns only move the margins.

    Parameters
    ----------
    rows : int
    """

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self.forget()

    def forget(self) -> None:
        """Drops all margins, for a core that begins anew."""
        self._margins = np.full(self._rows, -np.inf)
        self._duals: tuple[Any, Any] | None = None

    def begin(self, bounds: Any, of_columns: Any) -> None:
        """Takes a bound for each row: cost - v of its pairs outside the core is at least that. None if not known."""
        self._duals = None
        if bounds is not None:
            self._margins = bounds.astype(np.float64)
            self._duals = np.zeros(len(bounds), bounds.dtype), of_columns.copy()

    def rows_to_read(self, of_rows: Any, of_columns: Any) -> Any:
        """Numbers of the rows that must be read for these duals, increasing; all if nothing is known."""
        if self._duals is not None:
            before_rows, before_columns = self._duals
            # May be below 0: a constant that moves from all duals of columns to all duals of rows changes no slack.
            risen = (of_columns - before_columns).max() if len(of_columns) else 0
            off = ROUNDING * (abs(of_rows) + abs(of_columns).max(initial=0))
            self._margins -= (of_rows - before_rows).astype(np.float64) + float(risen) + off
        self._duals = of_rows.copy(), of_columns.copy()
        # A row with a margin of about 0, as ties leave it, has no pair that is cheaper by more than rounding.
        near = 0.5 if of_rows.dtype.kind == "i" else ROUNDINGS * abs(of_rows)
        return (self._margins < -near).nonzero()[0]

    def note(self, rows: Any, least: Any) -> None:
        """Takes the least slack that some rows have outside the core."""
        self._margins[rows] = least


class RisenRows(Margins):
    """For passes that find no margins: a row is read again if its dual rose, or if it had pairs that were too cheap.

    A pass lists only some of a row's pairs that are too cheap. A row without a listed pair has no pair outside the core
    with a slack below 0. This stays true while the duals of columns only fall and the dual of the row does not rise.
    """

    def forget(self) -> None:
        self._columns: Any = None  # duals in the last pass
        self._most: Any = None  # a dual of each row at which none of its pairs was too cheap
        self._is_known = np.zeros(self._rows, np.bool_)

    def begin(self, bounds: Any, of_columns: Any) -> None:
        self.forget()

    def rows_to_read(self, of_rows: Any, of_columns: Any) -> Any:
        if self._columns is None or (of_columns > self._columns).any():
            self._most = of_rows.copy()
            self._is_known[:] = False
        self._columns = of_columns.copy()
        # A search computes duals anew, which may round them up.
        near = 0 if of_rows.dtype.kind == "i" else ROUNDING * abs(of_rows)
        return (~self._is_known | (of_rows - self._most > near)).nonzero()[0]

    def note_listed(self, rows: Any, of_rows: Any, listed: Any) -> None:
        """Notes that `rows` were read, and that the `listed` rows among them have pairs that are too cheap."""
        self._most[rows], self._is_known[rows] = of_rows[rows], True
        self._is_known[listed] = False


class MarginsOfCore(Margins):
    """Margins for passes that also read pairs of the core. The pairs of the core are listed, and left out by number.

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
        """Adds pairs to the list of the core."""
        if not len(rows):
            return
        self._known = np.concatenate([self._known, rows * self._columns + columns])
        self._known.sort(kind="stable")  # fast, for all except the few new pairs are in order
        self._begins = None

    def leave_out(self, rows: Any, keys: Any, far: Any) -> None:
        """Sets the keys of pairs of the core to far; `keys` holds whole rows."""
        if self._begins is None:
            self._begins = np.searchsorted(self._known, np.arange(len(self._margins) + 1) * self._columns)
        begins, ends = self._begins[rows], self._begins[rows + 1]
        lengths = ends - begins
        starts = np.cumsum(lengths) - lengths
        places = np.arange(lengths.sum()) + np.repeat(begins - starts, lengths)
        at = np.repeat(np.arange(len(rows)), lengths)
        keys[at, self._known[places] - rows[at] * self._columns] = far
