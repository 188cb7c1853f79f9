"""`verify` believes nothing: each way in which a result can be wrong is found."""

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp
from assignment_oracles import on
from conftest import put

import gmatch
from gmatch import CertificateError, Matching

#     0 1 2
# 0   x x .
# 1   . x .
# 2   . x .
GRAPH = sp.csr_array(np.array([[1, 1, 0], [0, 1, 0], [0, 1, 0]]))


def matching(size: int, rows: list, columns: list, reached: list) -> Matching:
    return Matching(size, np.array(rows, np.int32), np.array(columns, np.int32), np.array(reached, bool))


GOOD = matching(2, [0, 1, -1], [0, 1, -1], [False, True, False])


def test_a_proof() -> None:
    assert gmatch.verify(GRAPH, GOOD) == gmatch.Certificate(size=2, cover_rows=1, cover_columns=1)


@pytest.mark.parametrize(
    "wrong, message",
    [
        (dataclasses.replace(GOOD, size=3), "the matching says it has 3 edges, but 2 rows are matched"),
        (matching(2, [0, 1], [0, 1, -1], [0, 1, 0]), "row_match must hold 3 integers; got int32 of shape (2,)"),
        (matching(2, [0, 1, -2], [0, 1, -1], [0, 1, 0]), "row_match must hold numbers from -1 to 2; got -2 to 1"),
        (matching(2, [0, 1, 3], [0, 1, -1], [0, 1, 0]), "row_match must hold numbers from -1 to 2; got 0 to 3"),
        (matching(2, [0, 1, 1], [0, 1, -1], [0, 1, 0]), "row 2 is matched with 1, which is matched with 1"),
        (matching(2, [0, 1, -1], [0, 1, 2], [0, 1, 0]), "column 2 is matched with 2, which is matched with -1"),
        (matching(3, [0, 1, 2], [0, 1, 2], [0, 1, 0]), "row 2 is matched with column 2, but they share no edge"),
        (matching(1, [0, -1, -1], [0, -1, -1], [0, 0, 0]), "the edge of row 1 and column 1 is not covered"),
        (matching(1, [1, -1, -1], [-1, 0, -1], [0, 1, 0]), "the edge of row 0 and column 0 is not covered"),
        (matching(1, [1, -1, -1], [-1, 0, -1], [1, 1, 0]), "the cover has 0 rows and 2 columns, not 1 vertices"),
        (matching(2, [0, 1, -1], [0, 1, -1], [1, 1, 1]), "the cover has 0 rows and 3 columns, not 2 vertices"),
    ],
)
def test_what_is_wrong_is_found(wrong: Matching, message: str) -> None:
    with pytest.raises(CertificateError) as caught:
        gmatch.verify(GRAPH, wrong)
    assert str(caught.value).startswith(message)


def test_a_cover_out_of_range_or_double() -> None:
    class Forged(Matching):
        cover: tuple

        def vertex_cover(self) -> tuple:
            return self.cover

    for cover, message in (
        (([0], [3]), "the cover's column numbers must be from 0 to 2"),
        (([-1], [1]), "the cover's row numbers must be from 0 to 2"),
        (([], [1, 1]), "the cover names a column twice"),
    ):
        forged = Forged(2, GOOD.row_match, GOOD.col_match, GOOD.reached_columns)
        object.__setattr__(forged, "cover", tuple(np.array(part, int) for part in cover))
        with pytest.raises(CertificateError, match=message):
            gmatch.verify(GRAPH, forged)


def test_another_graph(device: str) -> None:
    graph = put(GRAPH, device)
    other = put(sp.csr_array(np.ones((3, 3))), device)
    with pytest.raises(CertificateError, match="is not covered"):
        gmatch.verify(other, gmatch.max_matching(graph))
    assert gmatch.verify(graph, gmatch.max_matching(graph)).size == 2


def test_a_result_may_live_elsewhere(device: str) -> None:
    for problem, solve in ((GRAPH, gmatch.max_matching), (np.eye(3), gmatch.lap), (GRAPH, gmatch.dulmage_mendelsohn)):
        there = put(problem, device) if problem is GRAPH else on(problem, device)
        assert gmatch.verify(problem, solve(there)) and gmatch.verify(there, solve(problem))
    sparse = sp.csr_array(np.eye(3))
    assert gmatch.verify(sparse, gmatch.lap(gmatch.SparseCosts(sparse).on(device)))


def test_smaller_matchings_are_never_proven() -> None:
    """One pair of a maximum matching is dropped, and the mates fit: no cover of that size exists."""
    rng = np.random.default_rng(0)
    for seed in range(50):
        graph = sp.random_array((9, 8), density=0.25, rng=seed, format="csr")
        best = gmatch.max_matching(graph)
        if best.size == 0:
            continue
        row = int(rng.choice(best.row_ind))
        rows, columns = best.row_match.copy(), best.col_match.copy()
        columns[rows[row]] = rows[row] = -1
        with pytest.raises(CertificateError):
            gmatch.verify(graph, Matching(best.size - 1, rows, columns, best.reached_columns))
