"""The pairs of an answer, with the names that a file gives them; and how the answer is printed."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..datasets.tables import Table as CostTable
from .output import COLUMNS, Pairs, named
from .terminal import Facts, grouped, milliseconds, print_facts, print_pairs

# Counters in `stats` that only one process has, or only several ranks have.
COUNTED_BY_SOME = ("rows_scanned", "edges_inspected", "ranks", "rounds", "meetings", "bytes_met")
# Facts of the search, not of the answer.
SEARCH = frozenset(
    ("initial", "start", "start_size", "team", "threads", "ran_on", "phases", "levels", "dual_steps", *COUNTED_BY_SOME)
)


def table_of(facts: Facts, seconds: float) -> dict[str, str]:
    """Facts for people."""
    names = (name for name in facts if not name.endswith("seconds"))
    return {name.replace("_", " "): grouped(facts[name]) for name in names} | {"time": f"{milliseconds(seconds)} ms"}


class Shown(NamedTuple):
    """The pairs of an answer."""

    pairs: Pairs
    labelled: bool = False  # whether a file names their ends
    columns: Sequence[str] = COLUMNS


def print_answer(arguments: argparse.Namespace, facts: Facts, table: dict[str, str], shown: Shown) -> None:
    """Prints the answer, then its pairs. The facts of the search need --verbose; JSON has all facts."""
    if arguments.json:
        all_pairs = {"assignment": named(shown.pairs, shown.columns)} if shown.labelled or arguments.pairs else {}
        print_facts(facts | all_pairs, True, table)
        return
    if not arguments.verbose:
        facts = {name: fact for name, fact in facts.items() if name not in SEARCH and not name.endswith("seconds")}
        table = {name: text for name, text in table.items() if name.replace(" ", "_") not in SEARCH}
    print_facts(facts, False, table)
    print_pairs(shown.pairs, shown.columns, every=arguments.pairs, labelled=shown.labelled)


def is_labelled(table: CostTable | None) -> bool:
    return table is not None and (table.row_labels is not None or table.col_labels is not None)


def labels_of(table: CostTable | None) -> dict[str, Any]:
    """The names in a table as arrays, by name."""
    labels = {} if table is None else {"row_labels": table.row_labels, "col_labels": table.col_labels}
    return {name: np.array(texts, np.str_) for name, texts in labels.items() if texts is not None}


def pairs_of(table: CostTable | None, matched: Any, *values: Any) -> list[tuple[Any, ...]]:
    """Row, column and values of each pair, by the names in the file, or by numbers."""
    sides = [side.tolist() for side in matched]
    for side, labels in enumerate((table.row_labels, table.col_labels) if table is not None else ()):
        if labels is not None:
            sides[side] = [labels[number] for number in sides[side]]
    return list(zip(*sides, *(array.tolist() for array in values), strict=True))
