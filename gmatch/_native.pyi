"""The compiled extension: csrc/module.cpp."""

from typing import Any

REPORT_FIELDS: tuple[str, ...]
PROGRESS_SIZE: int

def match(
    offsets: Any,
    columns: Any,
    num_columns: int,
    row_match: Any,
    col_match: Any,
    reached: Any,
    levels: Any,
    augmentations: Any,
    forest: int,
    start: int,
    shortest_only: bool,
    threads: int,
) -> tuple[int, ...]: ...
def inspect(offsets: Any, columns: Any, num_columns: int, threads: int) -> tuple[int, int, int, int]: ...
def workspace_size(forest: int, start: int, num_rows: int, num_columns: int, num_edges: int) -> int: ...
