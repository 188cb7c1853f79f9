"""Costs in text, as spreadsheets and other tools write them."""

from __future__ import annotations

import csv
import gzip
import io
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gmatch import DataError
from gmatch.datasets.costs import read
from gmatch.datasets.tables import Table, read_table

WORDS = ("ann", "Bob O'Brien", "Müller", "x, y", 'the "old" one', "r 1", "a;b", "N7", "é", "last\tone")


# Characters that a name must not hold outside of quotes, since they could separate cells.
UNTOLD = {",": ";\t", ";": "\t", "\t": "", " ": " ,;\t"}


def written(
    costs: np.ndarray,
    separator: str,
    *,
    rows: list[str] | None = None,
    columns: list[str] | None = None,
    corner: str | None = "",
    quote: bool = False,
    comma: bool = False,
    ends: str = "\n",
    trailing: int = 0,
    first: int = 0,
) -> str:
    """The text of a matrix, by the csv module."""
    text = io.StringIO()
    writer = csv.writer(
        text, delimiter=separator, lineterminator=ends, quoting=csv.QUOTE_ALL if quote else csv.QUOTE_MINIMAL
    )
    lines = [[str(value).replace(".", ",") if comma else str(value) for value in row] for row in costs.tolist()]
    if rows is not None:
        lines = [[label, *line] for label, line in zip(rows, lines, strict=True)]
    if columns is not None:
        lines.insert(0, [corner, *columns] if rows is not None and corner is not None else list(columns))
    for _ in range(first):
        lines.insert(0, [""] * len(lines[-1]))
    writer.writerows([[*line, *[""] * trailing] for line in lines])
    return text.getvalue()


@pytest.mark.parametrize("seed", range(400))
def test_what_is_written_is_read(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 7, 2))
    whole = rng.random() < 0.5
    costs = rng.integers(-50, 50, shape) if whole else np.round(rng.normal(0, 9, shape), 3)
    if whole and rng.random() < 0.3:
        costs = costs.astype(np.int64) + 2**60
    if not whole and rng.random() < 0.3:
        costs[rng.random(shape) < 0.3] = np.inf
    separator = str(rng.choice([",", ";", "\t", " "]))
    names = [word for word in WORDS if not set(word) & set(UNTOLD[separator])]
    rows = rng.choice(names, shape[0]).tolist() if rng.random() < 0.5 else None
    columns = rng.choice(names, shape[1]).tolist() if rng.random() < 0.5 else None
    tidy = rng.random() < 0.5
    if shape[1] == 1 and rows is None:
        columns = None  # nothing separates
    corner = "id" if separator == " " else str(rng.choice(["", "name"]))
    text = written(
        costs, separator, rows=rows, columns=columns, corner=corner,
        quote=bool(rng.random() < 0.3), comma=separator in ";\t" and min(shape) > 1 and bool(rng.random() < 0.5),
        ends=str(rng.choice(["\n", "\r\n", "\r"])),
        trailing=0 if tidy or separator == " " or shape[1] == 1 else int(rng.integers(0, 3)),
        first=0 if tidy or separator == " " or shape[1] == 1 else int(rng.integers(0, 2)),
    )  # fmt: skip
    text = text if rng.random() < 0.7 else text.rstrip() + str(rng.choice(["", "\n\n", "\n,,,"[: 1 if tidy else 1]]))
    encoding = str(rng.choice(["utf-8", "utf-8-sig", "utf-16"]))
    content = text.encode(encoding)
    table = read_table(gzip.compress(content) if rng.random() < 0.3 else content, "file")
    assert table.costs.dtype == (np.int64 if whole else np.float64)
    assert np.array_equal(table.costs, costs), text
    # Whole numbers of int64 that end in quotes are numbers all the same.
    blanks = {name: " ".join(name.split()) for name in WORDS}
    assert table.row_labels == (rows and [blanks[row] if separator == " " else row for row in rows])
    assert table.col_labels == (columns and [blanks[column] if separator == " " else column for column in columns])


@pytest.mark.parametrize("seed", range(60))
def test_or_library(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 12))
    costs = rng.integers(1, 101, (size, size))
    numbers = " ".join(map(str, costs.ravel()))
    for text in (
        f" {size}\n" + textwrap.fill(numbers, int(rng.integers(8, 60)), initial_indent=" ", subsequent_indent=" "),
        f"{size} {numbers}",
        "\n".join([str(size), *numbers.split()]),
        f"{size}\n\n{numbers}\n",
    ):
        assert np.array_equal(read_table(text.encode(), "file").costs, costs), text


def test_or_library_or_a_matrix() -> None:
    text = b"3 4\n1 3\n2 0\n5 3\n2 2\n"
    with pytest.raises(DataError, match="may be 5 rows of 2 costs, or OR-Library's format for 3 rows.*--labels none"):
        read_table(text, "file")
    assert read_table(text, "file", "none").costs.shape == (5, 2)
    assert read_table(b"3\n4 1 3 2 0 5 3 2 2", "file").costs.shape == (3, 3)
    assert read_table(b"3 4\n1 2\n", "file").costs.shape == (2, 2)
    with pytest.raises(DataError, match="OR-Library's format has 9 numbers after 3, and here are 8"):
        read_table(b"3\n4 1 3 2\n0 5 3 2\n", "file")
    assert read_table(b"2\n1.5 2\n3 1e1\n", "file").costs.tolist() == [[1.5, 2], [3, 10]]


def check(text: str, costs: Any, rows: Any = None, columns: Any = None, **options: Any) -> None:
    table = read_table(text.encode(), "file", **options)
    assert np.array_equal(table.costs, np.array(costs), equal_nan=True)
    assert (table.row_labels, table.col_labels) == (rows, columns)


def test_forms() -> None:
    check("4, 1, 3\n 2, 0, 5\n", [[4, 1, 3], [2, 0, 5]])
    check("# by hand\n4,1\n# more\n2,0\n", [[4, 1], [2, 0]])
    check("#,x,y\na,4,1\nb,2,0\n", [[4, 1], [2, 0]], ["a", "b"], ["x", "y"])
    check("sep=;\n4;1\n2;0\n", [[4, 1], [2, 0]])
    check("sep=|\n4|1,5\n2|0\n", [[4, 1.5], [2, 0]])
    check("x y\na 4 1\nb 2 0\n", [[4, 1], [2, 0]], ["a", "b"], ["x", "y"])  # as R writes it
    check("   4   1\n  2  0  \n", [[4, 1], [2, 0]])
    check(",0,1\n0,4,1\n1,2,0\n", [[4, 1], [2, 0]], ["0", "1"], ["0", "1"])  # as pandas writes it
    check(",2020,2021\nann,4,1\nbob,2,0\n", [[4, 1], [2, 0]], ["ann", "bob"], ["2020", "2021"])
    check("x,y\n4,1\n2,0\n", [[4, 1], [2, 0]], None, ["x", "y"])
    check("a,4,1\nb,2,0\n", [[4, 1], [2, 0]], ["a", "b"])
    check("4\n2\n", [[4], [2]])
    check("4,1", [[4, 1]])
    check("a;b,c\nd,4\n", [[4]], ["d"], ["c"])
    check("n x;y z\na 4 1\nb 2 0\n", [[4, 1], [2, 0]], ["a", "b"], ["x;y", "z"])
    check('"one\ntwo",4,1\nb,2,0\n', [[4, 1], [2, 0]], ["one\ntwo", "b"])
    check("0,5;1,25\n3;-1e2\n", [[0.5, 1.25], [3, -100]])
    check(",5;1\n3;2\n", [[0.5, 1], [3, 2]])
    check("4,inf\nInfinity,-INF\n", [[4, np.inf], [np.inf, -np.inf]])
    check("4,1,3\n,,\n\n2,0,5\n,,\n".replace(",,\n\n", "\n"), [[4, 1, 3], [2, 0, 5]])
    check("id,x,y\n7,4,1\n9,2,0\n", [[7, 4, 1], [9, 2, 0]], None, ["id", "x", "y"])
    check("id,x,y\n7,4,1\n9,2,0\n", [[4, 1], [2, 0]], ["7", "9"], ["x", "y"], labels="both")
    check("2020,2021\n4,1\n2,0\n", [[4, 1], [2, 0]], None, ["2020", "2021"], labels="columns")
    check("7,4,1\n9,2,0\n", [[4, 1], [2, 0]], ["7", "9"], None, labels="rows")


def test_missing_cells() -> None:
    nan = np.nan
    for text in ("4,1\n,0\n", "4,1\nNA,0\n", "4,1\nnull,0\n", "4,1\n#N/A,0\n", "4,1\nNaN,0\n", '"4","1"\n"","0"\n'):
        check(text, [[4, 1], [nan, 0]], forbid_nan=True)
        with pytest.raises(DataError, match="line 2, column 1 is .*; write inf for a pair .*--forbid-nan"):
            read_table(text.encode(), "file")
    check("n;x;y\na;4;\nb;;1,5\n", [[4, nan], [nan, 1.5]], ["a", "b"], ["x", "y"], forbid_nan=True)
    check("n,x,y\na,4,1\nb,,\n", [[4, 1], [nan, nan]], ["a", "b"], ["x", "y"], forbid_nan=True)
    with pytest.raises(DataError, match="line 1, column 1 is empty"):
        read_table(b",1,3\n2,0,5\n3,2,2\n", "file")
    with pytest.raises(DataError, match="line 2, column 2 is empty"):
        read_table(b"x,y\n1,\n2,\n", "file")


@pytest.mark.parametrize(
    "text, message",
    [
        ("4,1\n2,x\n", r"expected a number in line 2, column 2; got 'x'"),
        ("4,1\nx,2\n", r"expected a number in line 2, column 1; got 'x'; use --labels if it is a name"),
        ("a,b\n1,2\n\n3,y\n", r"line 4, column 2; got 'y'"),
        ("4,1,3\n2,0\n3,2,2\n", r"line 2 has 2 cells, and line 1 has 3"),
        ("x,y,z\na,4\n", r"names 3 columns; line 2 has 2 costs|line 2 has 2 cells"),
        ('"1,234",2\n3,4\n', r"line 1, column 1; got '1,234'; write a number without separators of thousands"),
        ("1.234,5;2\n3;4\n", r"line 1, column 1; got '1.234,5'; write a number without separators of thousands"),
        ('"1,000","2,000"\n"3,000","500"\n', r"line 1, column 1; got '1,000'; write a number without separators of"),
        ("$4,$1\n$2,$0\n", r"line 1, column 1; got '\$4'; write a number without separators of thousands and units"),
        ("40%,10\n20%,0\n", r"line 1, column 1; got '40%'; write a number without separators of thousands and units"),
        ("1e400,1\n1,inf\n", r"line 1, column 1; got '1e400'; float64 does not hold it; write inf"),
        ("1.5;2,5\n3;4\n", r"line 1, column 2; got '2,5'"),
        ("4,5 1,2\n3,4 1,1\n", r"line 1, column 2; got '5 1'"),
        ("4,1_0\n2,3\n", r"line 1, column 2; got '1_0'"),
        (f"{2**63},1\n1,2\n", r"line 1, column 1: int64 does not hold 9223372036854775808"),
        (f"1,{2**53 + 1}\n0.5,2\n", r"line 1, column 2: 9007199254740993 stands beside numbers that are not whole"),
        ("1 2\n3\n", r"line 2 has 1 cells, and line 1 has 2"),
        ("id,x,y\n1,4,1\n2,2,0\n3,1,1\n", r"first column counts 1, 2, 3, ...; use --labels both .*--labels columns"),
        ("n,5,6,7\na,1,1,1\nb,2,2,2\n", r"first line counts 5, 6, 7, ...; use --labels both .*--labels rows"),
        ("x,y\n", r"names, but no costs"),
        ("", r"it is empty"),
        ("\n \n", r"it is empty"),
        (",,\n,,\n", r"all cells are empty"),
        ("€1,€2\n3,4\n5,6,7\n", r"cells"),
        ("PK\x03\x04", r"archive or a spreadsheet, not text; save it as CSV"),
        ("1,2\n3,\0\n", r"line 2 has zero bytes"),
    ],
)
def test_what_is_wrong_is_named(text: str, message: str) -> None:
    with pytest.raises(DataError, match=f"^expected a matrix of costs in file: .*({message})"):
        read_table(text.encode(), "file")


def test_bytes_that_are_no_text() -> None:
    with pytest.raises(DataError, match="line 2 is no UTF-8 text; save it as CSV in UTF-8"):
        read_table("a,1\nMüller,2\n".encode("latin-1"), "file")
    with pytest.raises(DataError, match="gzipped and damaged"):
        read_table(gzip.compress(b"1,2\n3,4\n" * 50)[:-9], "file")


def test_whole_numbers_stay_exact() -> None:
    numbers = [[2**63 - 1, -(2**63)], [2**53 + 1, 0]]
    for text in (f"{2**63 - 1},{-(2**63)}\n{2**53 + 1},0\n", f'"{2**63 - 1}";{-(2**63)}\n{2**53 + 1};0\n'):
        table = read_table(text.encode(), "file")
        assert table.costs.dtype == np.int64 and table.costs.tolist() == numbers
    assert read_table(f"{2**53},0.5".encode(), "file").costs.tolist() == [[2.0**53, 0.5]]


def test_what_libraries_write(tmp_path: Path) -> None:
    costs = np.random.default_rng(5).integers(0, 99, (6, 4))
    np.savetxt(tmp_path / "a.txt", costs, header="4 tasks")
    np.savetxt(tmp_path / "b.csv.gz", costs, "%d", delimiter=",")
    for name, dtype in (("a.txt", np.float64), ("b.csv.gz", np.int64)):
        found = read(tmp_path / name)
        assert found.dtype == dtype and np.array_equal(found, costs)


def test_what_frames_write(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    costs = np.random.default_rng(6).integers(0, 99, (3, 4))
    named = pd.DataFrame(costs, index=["a", "b", "c"], columns=list("wxyz"))
    plain = pd.DataFrame(costs)
    for frame, options, rows, columns in (
        (named, {}, ["a", "b", "c"], list("wxyz")),
        (named, {"sep": "\t", "index_label": "who"}, ["a", "b", "c"], list("wxyz")),
        (named / 8, {"sep": ";", "decimal": ","}, ["a", "b", "c"], list("wxyz")),
        (named, {"index": False}, None, list("wxyz")),
        (named, {"index": False, "header": False}, None, None),
        (plain, {}, ["0", "1", "2"], ["0", "1", "2", "3"]),
    ):
        table = read_table(frame.to_csv(**options).encode(), "file")
        assert np.array_equal(table.costs, frame.to_numpy())
        assert (table.row_labels, table.col_labels) == (rows, columns)
    missing = named.astype("Int64")
    missing.iloc[1, 2] = pd.NA
    assert np.isnan(read_table(missing.to_csv().encode(), "file", forbid_nan=True).costs).sum() == 1


def test_plain_and_careful_reading_agree() -> None:
    """NumPy reads text of numbers only; the csv module reads all other text."""
    rng = np.random.default_rng(7)
    for separator in ",;\t ":
        costs = np.round(rng.normal(0, 1e3, (40, 30)), 4)
        plain = "\n".join(separator.join(map(str, row)) for row in costs.tolist())
        quoted = "\n".join(separator.join(f'"{number}"' for number in row) for row in costs.tolist())
        first, second = (read_table(text.encode(), "file") for text in (plain, quoted))
        assert isinstance(first, Table) and np.array_equal(first.costs, second.costs)


def test_bars_separate_cells() -> None:
    assert read_table(b"4|1|3\n2|0|5\n", "bars.csv").costs.tolist() == [[4, 1, 3], [2, 0, 5]]
    named = read_table(b"|x|y\na|4|1,5\nb|2|0\n", "bars.csv")
    assert (named.costs.tolist(), named.row_labels, named.col_labels) == ([[4, 1.5], [2, 0]], ["a", "b"], ["x", "y"])


def test_names_that_hold_digits_are_names() -> None:
    for names in (
        ["10.0.0.1", "10.0.0.2"],
        ["2024-01-02", "2024-01-03"],
        ["1st", "2nd"],
        ["a1", "a2"],
        ["12:30", "12:45"],
    ):
        text = "".join(f"{name};{row};7\n" for row, name in enumerate(names))
        assert read_table(text.encode(), "names.csv").row_labels == names
