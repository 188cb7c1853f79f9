"""The compiled extension: csrc/bindings/module.cpp and its parts."""

from collections.abc import Callable, Collection, Iterator
from typing import Any

# Fixed, and for each pair, each row and each column.
_Extent = tuple[int, int, int, int]

STRUCTS: dict[str, tuple[tuple[str, str, int, int], ...]]
"""For each field its name, its code in the letters of struct, its offset and its size."""
ENUMS: dict[str, tuple[tuple[str, int], ...]]
"""For each member its name and its number."""
ARRAYS: dict[str, tuple[tuple[tuple[str, str, _Extent, _Extent], ...], _Extent]]
"""For each array its name, the code of its entries, where it begins and how many it has; then the bytes of all."""
NARROW_TYPES: dict[str, str]
"""For each type that dense costs may be stored in and that is no number itself, the type of its numbers."""
SMALL_SIDE: int
MOST_REPRICINGS: int
PICKED_ON_GPU: int
MOST_CHANGED: int
"""The largest magnitude of integers that `match_changed` takes."""

def match(
    offsets: Any,
    columns: Any,
    num_columns: int,
    row_match: Any,
    col_match: Any,
    reached: Any,
    levels: Any,
    augmentations: Any,
    start: int,
    forest: int,
    shortest_only: bool,
    threads: int,
) -> tuple[int, ...]: ...
def match_pothen_fan(
    offsets: Any,
    columns: Any,
    num_columns: int,
    row_match: Any,
    col_match: Any,
    reached: Any,
    levels: Any,
    augmentations: Any,
    start: int,
    threads: int,
) -> tuple[int, ...]: ...
def match_mixed(
    offsets: Any,
    columns: Any,
    num_columns: int,
    row_match: Any,
    col_match: Any,
    reached: Any,
    levels: Any,
    augmentations: Any,
    start: int,
    threads: int,
) -> tuple[int, ...]: ...
def inspect(offsets: Any, columns: Any, num_columns: int, threads: int) -> tuple[int, int, int, int]: ...
def match_workspace_size(
    forest: int, start: int, num_rows: int, num_columns: int, num_edges: int, offset: str, column: str
) -> int: ...
def thread_count(processors: Callable[[], Collection[int]], asked: int | None, work: int) -> int: ...
def inspect_costs(costs: Any, stored: str, threads: int) -> tuple[Any, Any, bool, bool, bool]: ...

class FewPairs:
    lowest: Any
    highest: Any
    def has_negative_within(self, bound: float) -> bool: ...

def find_few_pairs(costs: Any, stored: str, maximize: bool, threads: int) -> FewPairs | None: ...
def few_pairs_of(rows: Any, columns: Any, costs: Any, num_rows: int, num_columns: int, common: float) -> FewPairs: ...
def assign_few_pairs(
    pairs: FewPairs, limit: int | float | None, row_match: Any, col_match: Any, u: Any, v: Any
) -> dict[str, Any]: ...
def entries_of_few_pairs(pairs: FewPairs, maximize: bool, row_match: Any, entries: Any) -> None: ...
def assign_few_pairs_in_tiers(
    pairs: FewPairs, row_match: Any, col_match: Any, u: Any, v: Any, tier_rows: Any, tier_columns: Any
) -> dict[str, Any] | None: ...
def assign_in_tiers(
    costs: Any, stored: str, maximize: bool, limit: float | None, lowest: float, highest: float, row_match: Any,
    col_match: Any, u: Any, v: Any, rests: Any | None, has_solution: bool, few_pairs: FewPairs | None,
) -> tuple[int, float, bytes | None, dict[str, Any]]: ...  # fmt: skip
def largest_rest(costs: Any, stored: str, maximize: bool, value: float) -> float: ...

class Later:
    _later: Any
    def __iter__(self) -> Iterator[Any]: ...
    def __len__(self) -> int: ...

class RowsOfPairs: ...
class ColumnsOfPairs: ...

ARRAYS_OF_CELLS: dict[str, Any]
"""Descriptors of the fields of small results that are arrays, by name."""

def find_choices(rows: Any, columns: Any, may_leave: Any, row_match: Any, is_kept: Any) -> bool: ...
def take_first(rows: Any, columns: Any, may_leave: Any, row_match: Any, columns_first: bool) -> int: ...
def take_first_of_bits(bits: Any, may_leave: Any, row_match: Any, columns_first: bool) -> int: ...
def has_negative_within(costs: Any, stored: str, maximize: bool, limit: int | float | None, bound: float) -> bool: ...
def settle_ties(
    costs: Any, stored: str, maximize: bool, limit: int | float | None, row_match: Any, col_match: Any, u: Any, v: Any,
    must_be_used: Any, columns_first: bool, threads: int,
) -> int: ...  # fmt: skip
def assign_jv(
    costs: Any,
    stored: str,
    maximize: bool,
    limit: int | float | None,
    least_cost: int | float,
    greatest_cost: int | float,
    row_match: Any,
    col_match: Any,
    u: Any,
    v: Any,
    has_duals: bool,
) -> dict[str, Any]: ...
def match_changed_sparse(
    offsets: Any, columns: Any, costs: Any, maximize: bool, rows: Any, row_match: Any, col_match: Any, u: Any, v: Any
) -> dict[str, Any]: ...  # fmt: skip
def match_changed(
    costs: Any, stored: str, maximize: bool, limit: int | float | None, way_out: int | float | None, rows: Any,
    row_match: Any, col_match: Any, u: Any, v: Any,
) -> dict[str, Any]: ...  # fmt: skip
def assign_core_jv(
    costs: Any,
    stored: str,
    maximize: bool,
    limit: int | float | None,
    least_cost: int | float,
    greatest_cost: int | float,
    row_match: Any,
    col_match: Any,
    u: Any,
    v: Any,
    has_duals: bool,
    may_begin_in_matrix: bool,
    threads: int,
) -> dict[str, Any]: ...
def next_core_step(facts: bytes, limits: bytes) -> int: ...
def assign_by_core(
    costs: Any,
    stored: str,
    maximize: bool,
    limit: int | float | None,
    row_match: Any,
    col_match: Any,
    u: Any,
    v: Any,
    levels: Any,
    augmentations: Any,
    start: int,
    has_duals: bool,
    spread: int | float,
    most_levels: int,
    threads: int,
) -> tuple[int, ...]: ...
def assign_by_search(
    costs: Any,
    stored: str,
    maximize: bool,
    limit: int | float | None,
    row_match: Any,
    col_match: Any,
    u: Any,
    v: Any,
    levels: Any,
    augmentations: Any,
    start: int,
    has_duals: bool,
    classical: bool,
    many_paths: bool,
    threads: int,
) -> tuple[int, ...]: ...
def assign_by_slacks(
    costs: Any,
    maximize: bool,
    limit: int | float | None,
    row_match: Any,
    col_match: Any,
    u: Any,
    v: Any,
    levels: Any,
    augmentations: Any,
    start: int,
    has_duals: bool,
    form: int,
    slacks: Any,
    threads: int,
) -> tuple[int, ...]: ...
def munkres_workspace_size(num_rows: int, num_columns: int, threads: int, cost: str) -> int: ...
def assign_bottleneck(
    costs: Any, maximize: bool, row_match: Any, col_match: Any, cover_rows: Any, cover_columns: Any
) -> tuple[int, int]: ...

class RankedIntegers:
    """The cheapest assignments in order, of costs in int64: see csrc/serial/ranked_assignments.hpp."""

    def __init__(self, offsets: Any, columns: Any, slacks: Any, leave: Any, row_match: Any, threads: int) -> None: ...

class RankedFloats:
    """The cheapest assignments in order, of costs in float64: see csrc/serial/ranked_assignments.hpp."""

    def __init__(self, offsets: Any, columns: Any, slacks: Any, leave: Any, row_match: Any, threads: int) -> None: ...

def rank(
    rankings: list[Any], row_matches: list[Any], us: list[Any], vs: list[Any], gaps: Any, threads: int
) -> list[tuple[int, bool]]: ...
def assign_batch(
    problems: Any,
    entries: Any,
    wanted: tuple[bool, int | float | None, int | float, int | float],
    method: tuple[str, int, bool, int],
    answers: tuple[Any, ...],
    threads: int,
) -> list[tuple[int, ...]]: ...
def core_workspace_size(num_rows: int, num_columns: int, threads: int, cost: str) -> int: ...
def batch_workspace_size(num_rows: int, num_columns: int, threads: int, cost: str, edges: str) -> int: ...
def assignment_workspace_size(num_rows: int, num_columns: int, threads: int, cost: str, edges: str) -> int: ...
def has_duplicates(offsets: Any, columns: Any, num_columns: int) -> bool: ...
def find_entries(offsets: Any, columns: Any, num_columns: int, row_match: Any, positions: Any) -> None: ...
def assign_sparse_jv(
    offsets: Any,
    columns: Any,
    costs: Any,
    maximize: bool,
    row_match: Any,
    col_match: Any,
    u: Any,
    v: Any,
    has_duals: bool,
    threads: int,
) -> dict[str, Any]: ...
def assign_sparse_tree(
    offsets: Any,
    columns: Any,
    costs: Any,
    maximize: bool,
    row_match: Any,
    col_match: Any,
    u: Any,
    v: Any,
    levels: Any,
    augmentations: Any,
    start: int,
    has_duals: bool,
    many_paths: bool,
    spread: int | float,
    threads: int,
) -> tuple[int, ...]: ...
def least_of_rows(
    costs: Any, stored: str, maximize: bool, limit: int | float | None, rows: Any, v: Any, covered: Any, least: Any,
    nearest: Any, threads: int,
) -> None: ...  # fmt: skip
def least_of_columns(
    costs: Any, stored: str, maximize: bool, limit: int | float | None, u: Any, least: Any, places: Any, threads: int
) -> None: ...
def entries_up_to(
    costs: Any, stored: str, maximize: bool, limit: int | float | None, rows: Any, u: Any, v: Any, covered: Any,
    most: int | float, places: Any, slacks: Any, threads: int,
) -> int: ...  # fmt: skip
def pick(
    costs: Any, stored: str, maximize: bool, limit: int | float | None, rows: Any, u: Any, v: Any,
    depth: tuple[int, int, int, int | float | None], bounds: Any, threads: int,
) -> tuple[Any, Any, int]: ...  # fmt: skip
def close_forest(
    costs: Any, stored: str, maximize: bool, limit: int | float | None, frontier: tuple[Any, int], first_column: int,
    mate: Any, u: Any, v: Any, label: Any, predecessor: Any, expanded: Any, far: tuple[Any, Any, Any],
    bound: int | float, wanted: int, threads: int,
) -> int | float: ...  # fmt: skip
def augment_trees(
    row_match: Any, label: Any, predecessor: Any, theta: int | float, free_keep_duals: bool
) -> int | float: ...
def assign_points(
    x: Any, y: Any, metric: str, p: float, doubled: bool, limit: float, whole: bool, unit: float, start_match: Any,
    start_v: Any, row_match: Any, col_match: Any, u: Any, v: Any, smallest: int, threads: int, gap: float,
) -> dict[str, Any]: ...  # fmt: skip

STRATA: int
WIDE_PANEL: int

def best_of_strata(keys: Any, first: int, height: int, far: int | float, most: int, best: Any) -> None: ...
def costs_of_pairs(x: Any, y: Any, metric: str, rows: Any, columns: Any, costs: Any) -> None: ...

class PairBounds:
    def __init__(self, x: Any, y: Any, of_rows: Any, of_columns: Any, unit: float, root: bool) -> None: ...

def assign_point_rows(
    x: Any,
    y: Any,
    metric: str,
    maximize: bool,
    limit: float,
    bounds: PairBounds | None,
    row_match: Any,
    col_match: Any,
    u: Any,
    v: Any,
    has_duals: bool,
    threads: int,
) -> dict[str, Any]: ...
def rows_of_points(
    x: Any, y: Any, metric: str, maximize: bool, bounds: PairBounds | None, own: float | None, numbers: Any, rows: Any
) -> None: ...
def sparse_assignment_workspace_size(num_rows: int, num_columns: int, cost: str, offset: str, column: str) -> int: ...
def is_best_laid_out(rows: int, columns: int, entries: int) -> bool: ...
def decompose(
    offsets: Any, columns: Any, row_match: Any, col_match: Any, reached: Any
) -> tuple[tuple[Any, Any, Any, Any, Any, Any], int]: ...
def cover_of_dense(
    costs: Any, stored: str, maximize: bool, threads_for: Callable[[int], int]
) -> tuple[Any, Any, Any, Any]: ...
def cover_of_sparse(
    offsets: Any, columns: Any, costs: Any, maximize: bool, num_columns: int, threads_for: Callable[[int], int]
) -> tuple[Any, Any, Any, Any]: ...
def copy_part(
    costs: Any, stored: str, maximize: bool, rows: Any, columns: Any, to: Any
) -> tuple[int | float, int | float]: ...
def part_of_sparse(
    offsets: Any,
    columns: Any,
    costs: Any,
    maximize: bool,
    num_columns: int,
    kept_rows: Any,
    kept_columns: Any,
    turned: bool,
) -> tuple[tuple[Any, Any, Any], int | float, int | float]: ...
def lies_dense(offsets: Any, columns: Any, costs: Any, num_columns: int) -> bool: ...
def lay_out_sparse(offsets: Any, columns: Any, costs: Any, to: Any, missing: int | float) -> bool: ...
def small_sparse_solver(
    kind: type,
    make_field: Any,
    make_field_of_laid_out: Any,
    storage: int,
    maximize: bool,
    deterministic: bool,
    may_be_partial: bool,
) -> Any: ...
def array_of_lists(lists: list[Any] | tuple[Any, ...]) -> Any: ...
def pairs_small(costs: Any, maximize: bool) -> tuple[Any, Any] | None: ...
def small_solver(kind: type, make_field: Any, maximize: bool, deterministic: bool, may_be_partial: bool) -> Any: ...
def bits_of_options(table: dict[str, Any], options: dict[str, Any]) -> int | None: ...
def seconds_of_ticks(ticks: int) -> float: ...
def small_lap(
    table: dict[str, Any],
    solvers: tuple[Any, ...],
    of_batches: tuple[Any, ...],
    of_sparse: dict[type, tuple[Any, ...]],
    of_tensors: dict[type, tuple[Any, Any, Any]],
    otherwise: Callable[..., Any],
) -> Callable[..., Any]: ...
def pairs_of_small_batch(cells: Any, line: int | tuple[int, Any]) -> tuple[Any, Any]: ...
def sizes_of_small_batch(cells: Any, lines: list[Any]) -> list[tuple[int, int, int]]: ...
def result_of_small_batch(kind: type, make_field: Any, cells: Any, line: int | tuple[int, Any]) -> Any: ...
def results_of_small_batch(kind: type, make_field: Any, cells: Any, lines: list[Any]) -> list[Any]: ...
def results_as_tensors(
    kind: type, make_field: Any, from_numpy: Any, cells: Any, lines: list[Any], problems: Any
) -> list[Any]: ...
def match_small(offsets: Any, columns: Any, num_columns: int, cells: Any) -> bool: ...
def hiding_if_negative_within_of_pairs(pair_costs: Any, u: Any, v: Any, lowest: float) -> float: ...
def hiding_if_negative_within_of_batch(
    row_match: Any, u: Any, v: Any, pair_costs: Any, lowest: float, within: Any
) -> None: ...
def count_neighbours(adjacency: dict[Any, Any], nodes: tuple[Any, ...], offsets: Any) -> None: ...
def number_neighbours(
    adjacency: dict[Any, Any], nodes: tuple[Any, ...], numbers: dict[Any, int], found: Any
) -> int: ...
def weigh_neighbours(
    adjacency: dict[Any, Any], nodes: tuple[Any, ...], weight: Any, integers: Any, floats: Any
) -> int: ...
