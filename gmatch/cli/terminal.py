"""Three ways to print facts: a table on a terminal, lines with tabs for other programs, one JSON object."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

Facts = dict[str, Any]
# The demo's table has no room for these in 80 columns. Its last line counts who agrees with what is published.
PAIRS_SHOWN = 10  # on a terminal
NOT_ON_A_TERMINAL = {"published", "phases", "levels"}


def print_facts(facts: Facts, as_json: bool, table: Mapping[str, str]) -> None:
    if as_json:
        print(json.dumps(facts))
    elif _on_terminal():
        _print_table(table)
    else:
        for name, value in facts.items():
            print(name, _plain(value), sep="\t")


def print_pairs(pairs: Sequence[tuple[Any, ...]], columns: Sequence[str], *, every: bool, labelled: bool) -> None:
    """Prints the first pairs on a terminal, and all if `every`. Elsewhere all; pairs of numbers only if `every`."""
    if not _on_terminal():
        for pair in pairs if every or labelled else ():
            print("pair", *map(_plain, pair), sep="\t")
    elif pairs:
        shown = pairs if every else pairs[:PAIRS_SHOWN]
        table = Table(box=None, padding=(0, 2, 0, 0))
        for column in columns:
            table.add_column(column, justify="left" if column in ("row", "column") else "right", overflow="fold")
        for pair in shown:
            table.add_row(*(Text(grouped(value)) for value in pair))
        print()
        Console().print(table)
        if len(shown) < len(pairs):
            print(f"and {len(pairs) - len(shown):,} more; --pairs shows all, --output FILE.csv writes them")


def _print_table(table: Mapping[str, str]) -> None:
    grid = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in table.items():
        grid.add_row(name, Text(value))
    Console().print(grid)


def print_demo(lines: Sequence[Mapping[str, Any]]) -> None:
    if not _on_terminal():
        for cells in (list(lines[0]), *(line.values() for line in lines)):
            print(*map(_plain, cells), sep="\t")
        return
    shown = [key for key in lines[0] if key not in NOT_ON_A_TERMINAL]
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    for key in shown:
        table.add_column(key, justify="left" if key in ("graph", "costs") else "right", overflow="fold")
    for line in lines:
        table.add_row(*(Text(_short(line[key])) for key in shown))
    Console().print(table)


def _short(value: Any) -> str:
    """A value, short enough for a table of 80 columns."""
    return f"{value:.4g}" if isinstance(value, float) else _plain(value)


def _plain(value: Any) -> str:
    """A value as one cell of plain text."""
    if value is None or value == []:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return one_line(" ".join(map(str, value)) if isinstance(value, list) else str(value))


def one_line(text: str) -> str:
    """The text without tabs and line ends. Bytes that are no text, as names of files may hold, are escaped."""
    return " ".join(text.split()).encode(errors="backslashreplace").decode()


def grouped(value: Any) -> str:
    """With separators for thousands, for people."""
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else _plain(value)


def as_lines(value: Any) -> str:
    return "\n".join(map(str, value)) if isinstance(value, list) and value else grouped(value)


def milliseconds(seconds: float) -> str:
    return f"{1e3 * seconds:.2f}"


def _on_terminal() -> bool:
    return sys.stdout.isatty()


def waiting(what: str) -> Any:
    """A spinner on a terminal while a command works."""
    return Console(stderr=True, quiet=not _on_terminal()).status(Text(what))


def progress_bar() -> Progress:
    """A progress bar that disappears at the end."""
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    hidden = not _on_terminal()
    # The console must be quiet, too: before rich 15 a disabled bar ends with an empty line.
    return Progress(*columns, console=Console(stderr=True, quiet=hidden), transient=True, disable=hidden)
