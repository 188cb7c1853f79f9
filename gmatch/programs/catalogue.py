"""Every program of a GPU, once. NVRTC, nvcc in CI, the emulator and the gauges walk this table.

    python gmatch/programs/catalogue.py FOLDER                  # write NAME.cu for each program to compile, complete
    python gmatch/programs/catalogue.py --each-once FOLDER      # fewer, which include their sources: for the emulator

Prints a line for each program: its name and its source. The fewer programs of --each-once also have every word of the
table. The script runs by itself: it needs only this file and csrc.

A program is a file of csrc with entry points. It is compiled for words of the table, such as "int" for a type of costs.
The words fill the macros of the source, which have one meaning everywhere:

    COSTS        the struct that says how costs are given
    EDGES        the edges that a search goes along
    FOREST       how threads that race for a vertex are reconciled
    SLACK        the type of a slack
    TERMS        the terms of the sum that a pair of points costs
    COORDINATES  how many numbers a point has
    ROW_LANES    how many threads share a row
    BLOCK_LIMIT  how many threads a block has at most

Only the entry points that are launched are compiled, one at a time: see PROGRAM in csrc/team/device_team.cuh.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Container, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain, product
from pathlib import Path

CSRC = Path(__file__).parent.parent / "csrc"
OPTIONS = ("-std=c++17",)
"""Options of every compiler."""
ARCHITECTURES = (75, 80, 90, 100, 120)
"""Compute capabilities that code is shipped for. The code of one runs on all later ones of its generation."""
INCLUDE = re.compile(r'#include [<"](\S+)[>"]')


@cache
def amalgamated(source: str, csrc: Path) -> str:
    """A file of csrc with all files that it includes in their places, each once: a compiler need not find them.

    Comments and empty lines are left out, so that changes of these keep its machine code. An include that depends on a
    condition is for the host, and stays as it is.
    """
    seen: set[str] = set()

    def lines_of(name: str) -> Iterator[str]:
        seen.add(name)
        conditions = 0
        for line in (csrc / name).read_text(encoding="utf-8").splitlines():
            text = line.partition("//")[0].strip()  # no string in csrc has two slashes
            conditions += text.startswith("#if") - text.startswith("#endif")
            include = INCLUDE.match(text) if conditions == 0 else None
            if include and include[1] not in seen:
                yield from lines_of(include[1])
            elif text and not include and text != "#pragma once":
                yield line.partition("//")[0].rstrip()

    return "".join(f"{line}\n" for line in lines_of(source))


Words = dict[str, str]


def _types_in(table: str) -> tuple[Words, ...]:
    """The types of costs in a table of csrc/costs/stored.cuh."""
    text = (CSRC / "costs/stored.cuh").read_text(encoding="utf-8")
    rows = re.search(rf"#define {table}\(ROW\)((?:.*\\\n)*.*)", text)
    assert rows is not None, table
    return tuple({"type": name, "cost": cost} for name, cost in re.findall(r"ROW\((\w+), ([\w ]+)\)", rows[1]))


# Words that go together are one row. `type`, `size`, `kind`, `search`, `metric` and `wide` are for names.
COSTS = _types_in("WIDE_TYPES")
# Narrow types, read as they lie. They differ only in how an entry becomes a number. Floats take the most code for that,
# so a float comes first: where one type stands for all, the first one does.
NARROW = tuple(sorted(_types_in("NARROW_TYPES"), key=lambda words: "float" not in words["type"]))
SLACKS: tuple[Words, ...] = (
    {"type": "int32", "cost": "int", "slack": "int", "wide": ""},
    {"type": "int32", "cost": "int", "slack": "long long", "wide": "-wide"},
    {"type": "int64", "cost": "long long", "slack": "long long", "wide": ""},
    {"type": "float32", "cost": "float", "slack": "double", "wide": ""},
    {"type": "float64", "cost": "double", "slack": "double", "wide": ""},
)
INDICES: tuple[Words, ...] = (
    {"size": "", "offset": "int", "column": "int"}, {"size": "-large", "offset": "long long", "column": "int"},
    {"size": "-huge", "offset": "long long", "column": "long long"},
)  # fmt: skip
LANES: tuple[Words, ...] = ({"lanes": "8"}, {"lanes": "4"}, {"lanes": "32"})
# Numbered as ForestKind. The paper's forests have a thread for each row, whatever LANES says.
FORESTS: tuple[Words, ...] = (
    {"kind": "speculative", "forest": "SpeculativeForest<false>", "lanes": "1"},
    {"kind": "speculative-with-roots", "forest": "SpeculativeForest<true>", "lanes": "1"},
    {"kind": "claimed", "forest": "ClaimedForest<false>"},
    {"kind": "claimed-with-roots", "forest": "ClaimedForest<true>"},
    {"kind": "ordered", "forest": "OrderedForest"},
)
# Threads of a block. The tree variant has no registers for more, whatever LIMITS say.
LIMITS: tuple[Words, ...] = ({"limit": "512", "wide": ""}, {"limit": "1024", "wide": "-wide"})
TREE: Words = {"search": "tree", "edges": "TightEdges", "limit": "512", "wide": ""}
SEARCHES: tuple[Words, ...] = tuple(
    {**search, **cost} for cost in COSTS for search in (TREE, {"search": "classical", "edges": "ClassicalEdges"})
)


# Metrics of points, and the terms that their sums have.
METRICS: tuple[Words, ...] = (
    {"metric": "sqeuclidean", "terms": "SquaredTerms"}, {"metric": "euclidean", "terms": "RootOfSquaredTerms"},
    {"metric": "cityblock", "terms": "AbsoluteTerms"}, {"metric": "chebyshev", "terms": "LargestTerm"},
    {"metric": "minkowski", "terms": "Powers"}, {"metric": "dot", "terms": "Products<0>"},
    {"metric": "cosine", "terms": "Products<1>"},
)  # fmt: skip
# Coordinates that passes over pairs are compiled for.
COORDINATES: tuple[Words, ...] = (
    {"coordinates": "2"},
    {"coordinates": "3"},
    {"coordinates": "4"},
    {"coordinates": "8"},
)
# Shortest paths have registers for two blocks of half as many threads in a multiprocessor: MOST_SEARCHERS of gpu.py.
PATHS: Words = {"search": "jv", "edges": "ShortestPaths", "limit": "640"}
METHODS_OF_BATCHES: tuple[Words, ...] = (
    *({**search, "limit": "512"} for search in SEARCHES), *({**PATHS, **cost} for cost in COSTS),
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Variant:
    """A program, and the words it is compiled for."""

    program: Program
    words: Words

    @property
    def name(self) -> str:
        """Variants of one name differ in how many threads share a row, and in nothing else."""
        return self.program.title.format(**self.words)

    @property
    def definitions(self) -> dict[str, str]:
        """The text of each macro."""
        return {macro: pattern.format(**self.words) for macro, pattern in self.program.macros.items()}

    @property
    def entries(self) -> dict[str, int]:
        """Its entry points, and the most threads of a block of each."""
        return {entry: int(threads.format(**self.words)) for entry, threads in self.program.entries.items()}

    def text(self, *entries: str) -> str:
        """The text for a compiler that finds csrc, with some entry points or with all."""
        return self._head(entries or self.program.entries) + f"#include <{self.program.source}>\n"

    def complete_text(self, *entries: str, csrc: Path = CSRC) -> str:
        """The text for a compiler that finds no files."""
        return self._head(entries or self.program.entries) + amalgamated(self.program.source, csrc)

    def _head(self, entries: Container[str]) -> str:
        """The definitions. They stand in the text, since nvcc would split an option at each comma."""
        wanted = {f"ENTRY_{entry}": f"{int(entry in entries)}" for entry in self.program.entries}
        return "".join(f"#define {macro} {value}\n" for macro, value in (self.definitions | wanted).items())


@dataclass(frozen=True, eq=False)
class Program:
    """A source with entry points.

    Attributes
    ----------
    source : str
        A file of csrc.
    entries : dict
        Its entry points, and the most threads of a block of each: a number or a word of the table.
    structs : tuple of str
        The first arguments of the entry points, by value; some take only the first one. Addresses and numbers follow.
    macros : dict
        The text of each macro, by words of the table.
    title : str
        The name of a variant, by words of the table.
    rows : tuple
        Tables of words. A variant has a row of each table. A later row overrides words of an earlier one.
    workspace : str or None
        The function of the extension that returns the bytes of its workspace.
    narrow : tuple
        Rows for narrow types of costs, as `rows`; empty if it reads none. The emulator leaves them out: it draws costs
        of the types that narrow entries become.
    """

    source: str
    entries: dict[str, str]
    structs: tuple[str, ...]
    macros: dict[str, str]
    title: str
    rows: tuple[tuple[Words, ...], ...]
    workspace: str | None = None
    narrow: tuple[tuple[Words, ...], ...] = ((),)

    @cached_property
    def variants(self) -> tuple[Variant, ...]:
        """All variants that may run."""
        return self._different(chain(product(*self.rows), product(*self.narrow)))

    @cached_property
    def compiled(self) -> tuple[Variant, ...]:
        """One variant of each name, and one for a narrow type: if it compiles, other narrow types do."""
        names: dict[str, Variant] = {}
        for variant in (*self._different(product(*self.rows)), *self._different(product(*self.narrow))[:1]):
            names.setdefault(variant.name, variant)
        return tuple(names.values())

    @cached_property
    def each_once(self) -> tuple[Variant, ...]:
        """As few variants as have every row of words."""
        most = max(map(len, self.rows))
        return self._different(tuple(rows[k % len(rows)] for rows in self.rows) for k in range(most))

    def variant(self, **words: str) -> Variant:
        """The variant with these words."""
        found = [variant for variant in self.variants if words.items() <= variant.words.items()]
        if len(found) != 1:
            raise LookupError(
                f"{self.source}: expected words of one variant in gmatch/programs/catalogue.py, got {words}, of "
                f"{len(found)}; add what is to run there"
            )
        return found[0]

    def _different(self, chosen: Iterator[tuple[Words, ...]]) -> tuple[Variant, ...]:
        merged = [{word: value for row in rows for word, value in row.items()} for rows in chosen]
        return tuple(Variant(self, words) for k, words in enumerate(merged) if words not in merged[:k])


MATCH = Program(
    source="programs/match.cu",
    entries={"match_grid": "1024", "match_block": "1024"},
    structs=("CsrEdges", "Task"),
    macros={"EDGES": "CsrEdges<{offset}, {column}>", "FOREST": "{forest}", "ROW_LANES": "{lanes}"},
    title="cardinality-{kind}{size}",
    rows=(LANES, FORESTS, INDICES),
    workspace="match_workspace_size",
)
ASSIGN = Program(
    source="programs/assign.cu",
    entries={"assign_grid": "{limit}", "assign_block": "{limit}"},
    structs=("DenseCosts", "AssignmentTask"),
    macros={"COSTS": "DenseCosts<{cost}>", "EDGES": "{edges}<{cost}>", "BLOCK_LIMIT": "{limit}"},
    title="{search}-{type}{wide}",
    rows=(LIMITS, SEARCHES),
    workspace="assignment_workspace_size",
    narrow=(tuple({**TREE, **cost} for cost in NARROW),),
)
ASSIGN_CORE = Program(
    source="programs/assign_core.cu",
    entries=dict.fromkeys(("core_start_grid", "core_search_grid", "core_matrix_grid"), "512"),
    structs=("DenseCosts", "AssignmentTask"),
    macros={"COSTS": "DenseCosts<{cost}>"},
    title="core-{type}",
    rows=(COSTS,),
    workspace="core_workspace_size",
    narrow=(NARROW,),
)
BLOCK_PASSES = Program(
    source="programs/block_passes.cu",
    entries=dict.fromkeys(
        (
            "least_of_rows_grid", "least_of_columns_grid", "entries_up_to_grid", "price_rows_grid", "overpriced_grid",
            "close_grid",
        ),
        "512",
    ),
    structs=("DenseCosts", "BlockPass", "Forest"),
    macros={"COSTS": "DenseCosts<{cost}>"},
    title="block-passes-{type}",
    rows=(COSTS,),
    narrow=(NARROW,),
)  # fmt: skip
ASSIGN_BATCH = Program(
    source="programs/assign_batch.cu",
    entries={"assign_batch": "{limit}"},
    structs=("Batch",),
    macros={"COSTS": "Batch<{cost}>", "EDGES": "{edges}<{cost}>", "BLOCK_LIMIT": "{limit}"},
    title="{search}-batch-{type}",
    rows=(METHODS_OF_BATCHES,),
    workspace="batch_workspace_size",
)
ASSIGN_SPARSE = Program(
    source="programs/assign_sparse.cu",
    entries=dict.fromkeys(
        ("assign_sparse_grid", "assign_sparse_block", "bid_sparse_grid", "find_stored_costs_grid"), "512"
    ),
    structs=("SparseCosts", "AssignmentTask"),
    macros={"COSTS": "SparseCosts<{cost}, {offset}, {column}>", "ROW_LANES": "{lanes}"},
    title="sparse-{type}{size}",
    rows=(LANES, COSTS, INDICES),
    workspace="sparse_assignment_workspace_size",
)
MUNKRES = Program(
    source="programs/munkres.cu",
    entries=dict.fromkeys(
        (
            "munkres_grid", "munkres_start", "munkres_search", "munkres_find_least", "munkres_clear_lists",
            "munkres_add_subtract", "munkres_compress", "munkres_add_subtract_compress", "munkres_sum_zeros",
        ),
        "1024",
    ),
    structs=("DenseCosts", "AssignmentTask"),
    macros={"COSTS": "DenseCosts<{cost}>", "SLACK": "{slack}"},
    title="munkres-{type}{wide}",
    rows=(SLACKS,),
    workspace="munkres_workspace_size",
)  # fmt: skip
INSPECT_COSTS = Program(
    source="programs/inspect_costs.cu",
    entries={"inspect_costs_grid": "1024", "find_pair_costs_grid": "512"},
    structs=("Entries",),
    macros={"COSTS": "Entries<{cost}>"},
    title="inspection-{type}",
    rows=(COSTS,),
    narrow=(NARROW,),
)
FEW_PAIRS = Program(
    source="programs/few_pairs.cu",
    entries=dict.fromkeys(("double_few_pairs_grid", "halve_few_pairs_grid"), "512"),
    structs=("DenseCosts",),
    macros={"COSTS": "DenseCosts<{cost}>"},
    title="few-pairs-{type}",
    rows=(COSTS,),
    narrow=(NARROW,),
)
ROWS = Program(
    source="programs/rows.cu",
    entries={"inspect_grid": "1024", "count_unsorted_grid": "512", "find_entries_grid": "512"},
    structs=("CsrEdges",),
    macros={"EDGES": "CsrEdges<{offset}, {column}>", "ROW_LANES": "{lanes}"},
    title="rows{size}",
    rows=(LANES, INDICES),
)
POINT_COSTS = Program(
    source="programs/point_costs.cu",
    entries={"point_costs_grid": "512"},
    structs=("PointWindow",),
    macros={"TERMS": "{terms}"},
    title="point-costs-{metric}",
    rows=(METRICS,),
)
POINT_PASSES = Program(
    source="programs/point_passes.cu",
    entries=dict.fromkeys(
        (
            "price_points_grid", "overpriced_points_grid", "least_of_points_grid", "costs_of_places_grid",
            "boxes_of_points_grid",
        ),
        "512",
    ),
    structs=("PointPairs",),
    macros={"TERMS": "{terms}", "COORDINATES": "{coordinates}"},
    title="point-passes-{metric}-{coordinates}",
    rows=(METRICS, COORDINATES),
)  # fmt: skip
POINT_BOUNDS = Program(
    source="programs/point_bounds.cu",
    entries=dict.fromkeys(
        (
            "price_bounds_grid", "overpriced_bounds_grid", "draw_pairs_grid", "costs_by_places_grid",
            "round_duals_grid", "largest_grid", "halves_grid", "factors_grid", "finish_window_grid",
            "bounds_of_window_grid",
        ),
        "512",
    ),
    structs=("PointPairs", "PointWindow"),
    macros={"TERMS": "{terms}"},
    title="point-bounds-{metric}",
    rows=(METRICS,),
)  # fmt: skip
PAIR_LISTS = Program(
    source="programs/pair_lists.cu",
    entries=dict.fromkeys(
        (
            "merge_pairs_grid", "make_rows_grid", "make_long_rows_grid", "count_unknown_grid", "least_of_lists_grid",
            "place_pairs_grid", "turn_pairs_grid", "copy_rows_grid",
        ),
        "512",
    ),
    structs=(),
    macros={},
    title="pair-lists",
    rows=(({},),),
)  # fmt: skip
POINT_ORDER = Program(
    source="programs/point_order.cu",
    entries=dict.fromkeys(("keys_of_nodes_grid", "take_places_grid"), "512"),
    structs=(),
    macros={},
    title="point-order",
    rows=(({},),),
)
SAMPLE_PRICES = Program(
    source="programs/sample_prices.cu",
    entries=dict.fromkeys(("wanted_grid", "above_the_least_grid", "shares_grid"), "512"),
    structs=(),
    macros={},
    title="sample-prices",
    rows=(({},),),
)
PROGRAMS = (
    MATCH, ASSIGN, ASSIGN_BATCH, ASSIGN_CORE, ASSIGN_SPARSE, BLOCK_PASSES, MUNKRES, INSPECT_COSTS, FEW_PAIRS, ROWS,
    POINT_COSTS, POINT_PASSES, POINT_BOUNDS, PAIR_LISTS, POINT_ORDER, SAMPLE_PRICES,
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="where to write")
    parser.add_argument("--each-once", action="store_true", help="as few as have each word of the table; with includes")
    options = parser.parse_args()
    for program in PROGRAMS:
        for variant in program.each_once if options.each_once else program.compiled:
            text = variant.text() if options.each_once else variant.complete_text()
            (options.folder / f"{variant.name}.cu").write_text(text)
            print(variant.name, program.source)


if __name__ == "__main__":
    main()
