"""Costs in files of text, as spreadsheets and other tools write them.

The text itself shows its separator, and whether it has a line or a column of names. Ambiguous text is refused.
"""

from __future__ import annotations

import csv
import gzip
import re
import zlib
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from ..errors import DataError

__all__ = ["LABELS", "Table", "read_table"]

Labels = Literal["auto", "none", "rows", "columns", "both"]
LABELS: tuple[str, ...] = get_args(Labels)

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?inf(inity)?", re.ASCII | re.IGNORECASE)
WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?", re.ASCII)
# Numbers as spreadsheets show them, with separators of thousands or a unit. They are refused, not taken for names.
SHOWN_NUMBER = re.compile(
    r"[+\-\u2212]?[$\u20ac\u00a3\u00a5]? ?\d+([,'_ \u00a0\u202f]\d{3})*(\.\d+)? ?[%$\u20ac\u00a3\u00a5]?"
)
FRACTION = re.compile("[.eE]")
MISSING = frozenset(("", "nan", "na", "n/a", "#n/a", "null", "none"))
SEPARATORS = "\t;,|"
EXACT_IN_FLOAT64 = 2**53
# At least 3 numbers that count up by 1, beside names, look like numbers of rows or columns. They are refused.
COUNTED = 3


class Table(NamedTuple):
    """Costs, and the names of rows and columns if the file has some."""

    costs: Any
    row_labels: list[str] | None = None
    col_labels: list[str] | None = None


class _Record(NamedTuple):
    line: int  # in the file, from 1
    cells: list[str]


class _Wrong(ValueError):
    """What is wrong with the text, and what to do."""


def read_table(content: bytes, name: str, labels: Labels = "auto", forbid_nan: bool = False) -> Table:
    """The costs in the bytes of a text file, plain or gzipped.

    Cells are separated by tabs, semicolons, commas, vertical bars or blanks: the first of these that is in every line,
    outside of quotes. If commas do not separate cells, they may be decimal commas. OR-Library's format is read, too: n,
    then n * n numbers, with line ends anywhere. Lines that begin with ``#`` and a blank are comments. A separator at
    the end of every line is left out, and so are lines of empty cells before and after the table.

    Parameters
    ----------
    content : bytes
        UTF-8, or UTF-16 with a byte order mark.
    name : str
        Of the file, for messages.
    labels : {"auto", "none", "rows", "columns", "both"}
        What has names: rows in the first column, columns in the first line. By default a line or column is names if it
        holds no numbers. Numbers from 0 or 1 are names, too, if the first cell of the table is empty.
    forbid_nan : bool
        Whether cells may be empty, NaN, NA or null; they become NaN. Otherwise they are refused.

    Returns
    -------
    Table
        Costs of int64 if all numbers are whole, else float64.

    Raises
    ------
    DataError
        If the text is no such table; the message names line and column, counted from 1.
    """
    try:
        return _table_of(_text_of(content), labels, forbid_nan)
    except _Wrong as error:
        raise DataError(f"expected a matrix of costs in {name}: {error}") from None


def _text_of(content: bytes) -> str:
    if content.startswith(b"\x1f\x8b"):
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as error:
            raise _Wrong(f"it is gzipped and damaged: {error}") from None
    if content.startswith((b"PK", b"\xd0\xcf\x11\xe0")):
        raise _Wrong("it is an archive or a spreadsheet, not text; save it as CSV")
    encoding = "utf-16" if content.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _Wrong(f"line {line} is no UTF-8 text; save it as CSV in UTF-8") from None
    if "\0" in text:
        raise _Wrong(f"line {text.count(chr(10), 0, text.index(chr(0))) + 1} has zero bytes, which no text has")
    return text


def _table_of(text: str, labels: Labels, forbid_nan: bool) -> Table:
    lines = ["" if not line.strip(" ") else line for line in re.split("\r\n?|\n", text)]
    del text
    given = re.fullmatch(r"sep=(.)", lines[0].strip()) if lines else None  # some spreadsheets name the separator
    if given:
        lines[0] = ""
    separator = given[1] if given else _separator_of(lines)
    lines = ["" if _is_comment(line) else line for line in lines]
    if not any(map(str.strip, lines)):
        raise _Wrong("it is empty")
    if separator == " " and labels in ("auto", "none"):
        costs = _or_library(lines, labels)
        if costs is not None:
            return Table(costs)
    costs = _plain_numbers(lines, separator) if labels in ("auto", "none") else None
    return _careful(lines, separator, labels, forbid_nan) if costs is None else Table(costs)


def _separator_of(lines: Sequence[str]) -> str:
    """The first separator that is in every line, outside of quotes; else the first in any line; else blanks."""
    bare = [re.sub(r'"[^"]*"', "", line) for line in lines if line.strip() and not _is_comment(line)]
    for enough, separators in ((all, SEPARATORS + " "), (any, SEPARATORS)):
        for separator in separators:
            if bare and enough(separator in line.strip(" ") for line in bare):
                return separator
    return " "


def _is_comment(line: str) -> bool:
    """Whether a line is a comment. A name may also begin with ``#``, and ``#N/A`` is a missing cost."""
    return line == "#" or line.startswith("# ")


def _or_library(lines: Sequence[str], labels: Labels) -> Any:
    """The matrix after its size n; None if there are not n * n numbers, or if their lines look like another table."""
    counts = [len(numbers) for line in lines if (numbers := line.split())]
    first = next(line for line in lines if line.strip()).split()[0]
    if not WHOLE.fullmatch(first) or len(first) > 9 or (size := int(first)) < 2 or sum(counts) != 1 + size * size:
        return None
    alone = counts[0] == 1
    if len(set(counts)) == 1 and len(counts) > 1 and not alone:
        if labels == "none":
            return None
        raise _Wrong(
            f"it may be {len(counts)} rows of {counts[0]} costs, or OR-Library's format for {size} rows and columns; "
            f"use --labels none for rows of costs; for OR-Library's format write {size} on a line of its own"
        )
    if labels == "none" and len(set(counts)) == 1:
        return None
    numbers = _plain_numbers([" ".join(line.strip() for line in lines)], " ")
    return None if numbers is None else numbers[0, 1:].reshape(size, size)


def _plain_numbers(lines: Sequence[str], separator: str) -> Any:
    """The matrix as NumPy reads it, if there are only numbers; None if there is anything else, or a doubt."""
    if separator != "," and any("," in line for line in lines):
        if any("." in line for line in lines):
            return None
        lines = [line.replace(",", ".") for line in lines]
    # Decided by the text: NumPy cuts off fractions if it is told to read integers.
    dtype = np.float64 if any(map(FRACTION.search, lines)) else np.int64
    try:
        costs = np.loadtxt(lines, dtype, comments=None, delimiter=None if separator == " " else separator, ndmin=2)
    except (ValueError, OverflowError):
        return None
    # Whole numbers that float64 may round, numbers that it does not hold, and NaN are looked at cell by cell.
    certain = dtype is np.int64 or bool((np.isinf(costs) | (abs(costs) < EXACT_IN_FLOAT64)).all())
    infinite = int(np.isinf(costs).sum())  # more than are written if a number is too large
    return costs if certain and infinite <= sum(line.casefold().count("inf") for line in lines if infinite) else None


def _careful(lines: Sequence[str], separator: str, labels: Labels, forbid_nan: bool) -> Table:
    """A table with names, quotes, empty cells or errors."""
    records = _records_of(lines, separator)
    width = max(_length(record.cells) for record in records)
    records = [_Record(line, cells[:width]) for line, cells in records]
    named_columns, named_rows = _what_is_named(records, width, separator, labels)
    header = None
    if named_columns:
        header, records = records[0].cells, records[1:]
        if named_rows and len(header) == width:
            header = header[1:]
    _refuse_ragged(records, header, width - named_rows, width, separator)
    costs = _numbers_of(records, int(named_rows), separator, forbid_nan)
    return Table(costs, [cells[0] for _, cells in records] if named_rows else None, header)


def _records_of(lines: Sequence[str], separator: str) -> list[_Record]:
    """The lines as cells, without empty lines, and without lines of empty cells at the ends."""
    if separator == " ":
        lines = [" ".join(line.split()) for line in lines]
    reader = csv.reader((line + "\n" for line in lines), delimiter=separator)
    try:
        records = [_Record(reader.line_num, [cell.strip() for cell in cells]) for cells in reader if cells]
    except csv.Error as error:
        raise _Wrong(f"line {reader.line_num}: {error}") from None
    filled = [number for number, record in enumerate(records) if _length(record.cells)]
    if not filled:
        raise _Wrong("all cells are empty")
    return records[filled[0] : filled[-1] + 1]


def _length(cells: Sequence[str]) -> int:
    """How many cells there are up to the last that is not empty."""
    return max((number for number, cell in enumerate(cells, 1) if cell), default=0)


def _what_is_named(records: list[_Record], width: int, separator: str, labels: Labels) -> tuple[bool, bool]:
    """Whether the first line names columns, and whether the first column names rows."""
    if labels != "auto":
        return labels in ("columns", "both"), labels in ("rows", "both")
    first = [_kind(cell, separator) for cell in records[0].cells]
    firsts = [_kind(record.cells[0], separator) for record in records]
    others = first[1:] or first
    if len(records) > 1 and len(first) == width > 1 and not records[0].cells[0]:
        numbered = _counts(records[0].cells[1:]) and _counts([record.cells[0] for record in records[1:]])
        if numbered or "text" in others or _are_names(firsts[1:]):
            return True, True
    names_columns = _are_names(others)
    if names_columns and len(first) == width - 1:  # R writes no name above the names of rows
        named = [record.cells[0] for record in records[1:]]
        return True, _are_names(firsts[1:]) or _counts(named)
    names_rows = width > 1 and _are_names(firsts[1:] if names_columns else firsts)
    if names_columns and not names_rows:
        if first[0] == "number":
            return False, False  # an error says later which of them is wrong
        if width > 1:
            _refuse_what_counts("column", "rows", [record.cells[0] for record in records[1:]])
    if names_rows and not names_columns:
        _refuse_what_counts("line", "columns", records[0].cells[1:])
    return names_columns, names_rows


def _are_names(kinds: Sequence[str]) -> bool:
    return "text" in kinds and "number" not in kinds


def _kind(cell: str, separator: str) -> str:
    if cell.casefold() in MISSING:
        return "missing"
    is_number = NUMBER.fullmatch(cell) or separator != "," and DECIMAL_COMMA.fullmatch(cell)
    return "number" if is_number or SHOWN_NUMBER.fullmatch(cell) else "text"


def _counts(cells: Sequence[str], begins: tuple[int, ...] = (0, 1)) -> bool:
    """Whether cells are consecutive numbers."""
    if not cells or not all(WHOLE.fullmatch(cell) for cell in cells):
        return False
    numbers = [int(cell) for cell in cells]
    return (not begins or numbers[0] in begins) and numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def _refuse_what_counts(what: str, side: str, cells: Sequence[str]) -> None:
    """Raises if the first column or line, beside names, looks like numbers of rows or columns."""
    if len(cells) >= COUNTED and _counts(cells, ()):
        other = "columns" if side == "rows" else "rows"
        raise _Wrong(
            f"its first {what} counts {', '.join(cells[:3])}, ...; use --labels both if that numbers the {side}, or "
            f"--labels {other} if it holds costs"
        )


def _refuse_ragged(records: list[_Record], header: list[str] | None, columns: int, width: int, separator: str) -> None:
    if not records or columns < 1:
        raise _Wrong("it has names, but no costs; use --labels none if they are costs")
    whole = next((record for record in records if len(record.cells) == width), records[0])
    for line, cells in records:
        if len(cells) != width:
            advice = "; separate cells by commas, semicolons, tabs or spaces" if len(cells) == 1 or width == 1 else ""
            size = records[0].cells[0]
            if separator == " " and len(records[0].cells) == 1 and WHOLE.fullmatch(size) and len(size) < 10:
                numbers = sum(len(record.cells) for record in records[1:])
                advice = f"; OR-Library's format has {int(size) ** 2} numbers after {size}, and here are {numbers}"
            raise _Wrong(f"line {line} has {len(cells)} cells, and line {whole.line} has {len(whole.cells)}{advice}")
    if header is not None and len(header) != columns:
        raise _Wrong(f"its first line names {len(header)} columns; line {records[0].line} has {columns} costs")


def _numbers_of(records: list[_Record], first: int, separator: str, forbid_nan: bool) -> Any:
    """The costs in the cells from `first` on: int64 if all are whole, else float64."""
    lines = ["\t".join(cells[first:]) for _, cells in records]
    if separator != "," or not any("," in line for line in lines):
        costs = _plain_numbers(lines, "\t")
        if costs is not None and costs.shape == (len(records), len(records[0].cells) - first):
            return costs
    commas = separator != "," and not any("." in cell for _, cells in records for cell in cells[first:])
    rows = [
        [_number(cell, line, column, commas, forbid_nan) for column, cell in enumerate(cells[first:], first + 1)]
        for line, cells in records
    ]
    all_whole = all(isinstance(number, int) for row in rows for number in row)
    for record, row in zip(records, rows, strict=True):
        for column, number in enumerate(row, first + 1):
            if isinstance(number, int):
                _refuse_rounding(number, record.line, column, all_whole)
    return np.array(rows, np.int64 if all_whole else np.float64)


def _number(cell: str, line: int, column: int, commas: bool, forbid_nan: bool) -> int | float:
    if cell.casefold() in MISSING:
        if forbid_nan:
            return float("nan")
        what = f"is {cell}" if cell else "is empty"
        raise _Wrong(
            f"line {line}, column {column} {what}; write inf for a pair that is not allowed (-inf when maximizing), or "
            "use --forbid-nan"
        )
    if WHOLE.fullmatch(cell):
        return int(cell) if len(cell) < 400 else _no_number(cell, line, column, "; it is too long")
    text = cell.replace(",", ".") if commas and DECIMAL_COMMA.fullmatch(cell) else cell
    if NUMBER.fullmatch(text):
        number = float(text)
        if np.isinf(number) and "inf" not in text.casefold():
            _no_number(cell, line, column, "; float64 does not hold it; write inf for a pair that is not allowed")
        return number
    advice = "; use --labels if it is a name"
    if re.fullmatch(r"[+-]?\d[\d.,' \u00a0\u202f]*", cell) or SHOWN_NUMBER.fullmatch(cell):
        advice = "; write a number without separators of thousands and units, and with a decimal point"
    return _no_number(cell, line, column, advice)


def _no_number(cell: str, line: int, column: int, advice: str) -> int:
    shown = cell if len(cell) <= 40 else cell[:37] + "..."
    raise _Wrong(f"expected a number in line {line}, column {column}; got {shown!r}{advice}")


def _refuse_rounding(number: int, line: int, column: int, all_whole: bool) -> None:
    place = f"line {line}, column {column}: "
    advice = "; write it with a decimal point if rounding does no harm, or inf if the pair is not allowed"
    if all_whole and not -(2**63) <= number < 2**63:
        raise _Wrong(f"{place}int64 does not hold {number}{advice}")
    if not all_whole and abs(number) >= EXACT_IN_FLOAT64 and float(number) != number:
        raise _Wrong(f"{place}{number} stands beside numbers that are not whole, whose float64 would round it{advice}")
