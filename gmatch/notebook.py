"""Results as small tables of HTML, for notebooks."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

LINES_SHOWN = 10


def table(caption: str, names: tuple[str, ...], lines: Iterable[tuple[Any, ...]], length: int) -> str:
    """A table of HTML with the first of `length` lines. It says how many more there are."""
    shown = [line for line, _ in zip(lines, range(LINES_SHOWN), strict=False)]
    rows = [_row("th", names), *(_row("td", line) for line in shown)]
    if length > len(shown):
        rows.append(f'<tr><td colspan="{len(names)}">and {length - len(shown)} more</td></tr>')
    return f"<table><caption>{escape(caption)}</caption>{''.join(rows)}</table>"


def _row(tag: str, cells: tuple[Any, ...]) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(format(cell))}</{tag}>' for cell in cells)}</tr>"
