"""The errors gmatch raises. Each message says what was expected, what came, and what to do."""

from collections.abc import Iterable
from typing import Any


class GmatchError(Exception):
    """Base of every error that gmatch raises on purpose.

    Examples
    --------
    >>> issubclass(gmatch.InvalidInput, gmatch.GmatchError)
    True
    """


class InvalidInput(GmatchError, ValueError):
    """An argument that gmatch cannot work with; raised before any work starts.

    Examples
    --------
    >>> gmatch.lap([[np.nan]])
    Traceback (most recent call last):
        ...
    gmatch.errors.InvalidInput: cost must not hold NaN; entry (0, 0) does; if NaN ...
    """


def words_of(error: Exception) -> str:
    """The message of an error of a file or of a library, for people; its name if it has no message."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error).partition("\n")[0] or type(error).__name__


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """The end of a message about a name that is not known: the nearest one that is; nothing if none is near."""
    from difflib import get_close_matches

    near = get_close_matches(str(name).lower(), [*known], n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def changed(what: str) -> InvalidInput:
    """The error for an array that has changed since it was checked."""
    return InvalidInput(f"{what} must not be changed by another thread while it is read; it was, so give a copy")


class DataError(GmatchError, OSError):
    """A file or download that is missing, unreadable, truncated or not what it should be.

    Examples
    --------
    >>> gmatch.datasets.read_matrix_market("missing.mtx")
    Traceback (most recent call last):
        ...
    gmatch.errors.DataError: expected a matrix in missing.mtx, got ...
    """


class BackendUnavailable(GmatchError, RuntimeError):
    """The device asked for cannot be used here: no CuPy, no GPU, or the system starts no threads.

    Examples
    --------
    >>> issubclass(gmatch.BackendUnavailable, RuntimeError)
    True
    """


class CertificateError(GmatchError, RuntimeError):
    """A result that does not prove itself: `gmatch.verify` found what is wrong with it.

    Examples
    --------
    >>> cost = [[4, 1, 3], [2, 0, 5], [3, 2, 2]]
    >>> gmatch.verify(np.multiply(cost, -1), gmatch.lap(cost))
    Traceback (most recent call last):
        ...
    gmatch.errors.CertificateError: pair_costs must hold the entries of the matched ...
    """


class RankLost(GmatchError, RuntimeError):
    """Another rank died, or did not come while this rank waited: end the job, and look at the other rank's message.

    Examples
    --------
    >>> issubclass(gmatch.RankLost, RuntimeError)
    True
    """


class Infeasible(GmatchError, ValueError):
    """Forbidden pairs or missing entries leave no way to match all rows, or all columns where these are fewer.

    It carries a witness (Hall 1935). With rows <= columns: `rows` may only be matched with `columns`, and these are too
    few. With rows > columns: `columns` may only be matched with `rows`, and these are too few.

    Attributes
    ----------
    rows, columns : integer array
        Increasing numbers, where the costs or the graph live.

    Examples
    --------
    >>> try:
    ...     gmatch.lap([[1, np.inf], [2, np.inf]])
    ... except gmatch.Infeasible as error:
    ...     print(error.rows, error.columns)
    [0 1] [0]
    """

    def __init__(self, message: str, rows: Any, columns: Any) -> None:
        super().__init__(message, rows, columns)
        self.rows = rows
        self.columns = columns

    def __str__(self) -> str:
        return str(self.args[0])
