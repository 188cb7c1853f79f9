"""Plain answers to compare with, and random small graphs to ask about."""

from __future__ import annotations

import numpy as np

Triple = tuple[np.ndarray, np.ndarray, tuple[int, int]]


def adjacency(triple: Triple) -> list[list[int]]:
    indptr, indices, (rows, _) = triple
    return [indices[indptr[row] : indptr[row + 1]].tolist() for row in range(rows)]


def kuhn(triple: Triple) -> int:
    """The size of a maximum matching."""
    return largest_matching(adjacency(triple))


def largest_matching(columns_of: list[list[int]]) -> int:
    """The size of a maximum matching, one augmenting path at a time (Kuhn 1955)."""
    mate: dict[int, int] = {}

    def augment(row: int, seen: set[int]) -> bool:
        for column in columns_of[row]:
            if column not in seen:
                seen.add(column)
                if column not in mate or augment(mate[column], seen):
                    mate[column] = row
                    return True
        return False

    return sum(augment(row, set()) for row in range(len(columns_of)))


def first_fit(triple: Triple) -> list[int]:
    """The cheap matching: every row in order takes its first free column; -1 if there is none."""
    taken: set[int] = set()
    row_match = []
    for columns in adjacency(triple):
        column = next((column for column in columns if column not in taken), -1)
        row_match.append(column)
        taken.add(column)
    return row_match


def ordered_matching(triple: Triple, row_match: list[int], shortest_only: bool) -> tuple[list[int], set[int]]:
    """The documented rule of `Ordered` from a given start: the column of each row, and what the last search reached."""
    columns_of = adjacency(triple)
    row_match = list(row_match)
    while True:
        col_match = {column: row for row, column in enumerate(row_match) if column >= 0}
        root = {row: row for row, columns in enumerate(columns_of) if columns and row_match[row] < 0}
        predecessor: dict[int, int] = {}
        path_end: dict[int, int] = {}
        frontier = set(root)
        while frontier and not (shortest_only and path_end):
            winner: dict[int, int] = {}
            for row in frontier:
                for column in set(columns_of[row]) - predecessor.keys():
                    winner[column] = min(row, winner.get(column, row))
            predecessor |= winner
            for column in winner.keys() - col_match.keys():
                tree = root[winner[column]]
                path_end[tree] = min(column, path_end.get(tree, column))
            reached = {col_match[column]: root[row] for column, row in winner.items() if column in col_match}
            root |= reached
            frontier = {row for row, tree in reached.items() if tree not in path_end}
        if not path_end:
            return row_match, set(predecessor)
        for end in path_end.values():
            column = end
            while column >= 0:
                row = predecessor[column]
                row_match[row], column = column, row_match[row]


def random_graph(rng: np.random.Generator, largest: int = 12) -> Triple:
    """Any number of rows and columns up to `largest`; entries unsorted and with duplicates."""
    rows, columns = (int(n) for n in rng.integers(0, largest + 1, 2))
    most = int(rng.choice([rows + columns, 2 * (rows + columns), rows * columns + 1]))
    entries = int(rng.integers(0, most + 1)) if rows and columns else 0
    row_of = np.sort(rng.integers(0, max(rows, 1), entries))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row_of, minlength=rows))[:rows]]).astype(np.int32)
    indices = rng.integers(0, max(columns, 1), entries).astype(np.int32)
    return indptr, indices, (rows, columns)
