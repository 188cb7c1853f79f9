"""The registry: what is known about matrices of the SuiteSparse Matrix Collection, and which come with gmatch."""

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ..errors import DataError

__all__ = ["Entry", "bundled", "bundled_file", "entry_of", "registry"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One matrix of the collection. A number that is not known for certain is None.

    Attributes
    ----------
    name : str
        ``Group/Name``, as the collection spells it.
    rows, cols, entries : int or None
        Size of the matrix.
    structural_rank : int or None
        The size of a maximum matching, as published by the collection (not computed by gmatch).
    kind : str
        ``"bundled"``: comes with gmatch; ``"collection"``: is downloaded by `gmatch.datasets.load`.
    sha256 : str or None
        Checksum of the bundled file, or of the collection's archive ``Name.tar.gz``.
    licence : str
        The terms under which the matrix may be passed on.

    Examples
    --------
    >>> entry = next(entry for entry in gmatch.datasets.bundled() if entry.name == "HB/west0067")
    >>> entry.rows, entry.entries, entry.structural_rank
    (67, 294, 67)
    """

    name: str
    rows: int | None
    cols: int | None
    entries: int | None
    structural_rank: int | None
    kind: str
    sha256: str | None
    licence: str


@cache
def registry() -> tuple[Entry, ...]:
    """All matrices that gmatch knows by name, sorted by name.

    Returns
    -------
    tuple of Entry

    Raises
    ------
    DataError
        The registry file is missing or damaged.

    Examples
    --------
    >>> "HB/west0067" in [entry.name for entry in gmatch.datasets.registry()]
    True
    """
    path = _data_folder() / "registry.tsv"
    try:
        with path.open(encoding="utf-8", newline="") as lines:
            return tuple(_entry(line) for line in csv.DictReader(lines, delimiter="\t", strict=True))
    except (OSError, ValueError, KeyError, TypeError, csv.Error) as error:
        raise DataError(f"expected the registry of matrices in {path}, got {error!r}; reinstall gmatch") from error


def bundled() -> tuple[Entry, ...]:
    """The matrices that come with gmatch and load without a network, sorted by name.

    Returns
    -------
    tuple of Entry

    Raises
    ------
    DataError
        The registry file is missing or damaged.

    Examples
    --------
    >>> len(gmatch.datasets.bundled())
    38
    """
    return tuple(entry for entry in registry() if entry.kind == "bundled")


def entry_of(name: str) -> Entry | None:
    """The entry called ``Group/Name``; None when the registry does not know it."""
    return next((entry for entry in registry() if entry.name == name), None)


def bundled_file(entry: Entry) -> Path:
    """Where the data of a bundled entry lies."""
    return _data_folder() / f"{entry.name.replace('/', '__')}.npz"


def _entry(line: dict[str, str]) -> Entry:
    return Entry(
        name=line["name"],
        rows=_number(line["rows"]),
        cols=_number(line["cols"]),
        entries=_number(line["entries"]),
        structural_rank=_number(line["structural_rank"]),
        kind=line["kind"],
        sha256=line["sha256"] or None,
        licence=line["licence"],
    )


def _number(field: str) -> int | None:
    return int(field) if field else None


def _data_folder() -> Path:
    """A wheel carries the data inside the package; a source checkout has it beside the package."""
    package = Path(__file__).resolve().parent
    installed = package / "data"
    return installed if installed.is_dir() else package.parents[1] / "datasets"
