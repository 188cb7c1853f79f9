"""`deterministic=True`: the same matching on every run, thread count and device, by the rule that is documented."""

import os
import re
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import host, put
from oracles import Triple, first_fit, ordered_matching, random_graph

import gmatch

SEARCHES = ("apfb", "apsb")
STARTS = ("auto", "cheap", "shuffled", "min-degree", "none")
COUNTERS = (
    "method", "initial", "start_size", "phases", "levels", "edges_inspected", "levels_per_phase",
    "augmentations_per_phase",
)  # fmt: skip
# Random graphs; GMATCH_CASES=100000 takes hours.
CASES = int(os.environ.get("GMATCH_CASES", 400))
SMALL = ("HB/west0156", "HB/gemat12", "Pajek/GD97_b", "JGD_Homology/n3c6-b1")


def answer(graph: Any, **options: Any) -> tuple[Any, ...]:
    """The values that must be equal everywhere."""
    matching = gmatch.max_matching(graph, certify=True, deterministic=True, **options)
    reached = host(matching.reached_columns)
    return (
        host(matching.row_match).tolist(),
        host(matching.col_match).tolist(),
        reached.tolist(),
        [matching.stats[counter] for counter in COUNTERS],
    )


def crowded_graph(rng: np.random.Generator) -> Triple:
    """Frontiers of hundreds of rows that reach few columns, so that threads meet."""
    rows, columns = (int(n) for n in rng.integers(200, 900, 2))
    degrees = rng.integers(0, rng.choice([3, 5, 9]), rows)
    indptr = np.concatenate([[0], np.cumsum(degrees)])
    # Low columns have more entries.
    indices = (columns * rng.random(indptr[-1]) ** rng.choice([1, 2])).astype(np.int32)
    return indptr, indices, (rows, columns)


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize(("make", "cases"), [(random_graph, CASES), (crowded_graph, CASES // 10)])
def test_computes_the_documented_rule(make: Any, cases: int, search: str, device: str) -> None:
    rng = np.random.default_rng(10)
    for case in range(cases if device == "cpu" else cases // 5):
        triple = make(rng)
        first = np.array(first_fit(triple), np.int32)
        given = np.where(rng.random(len(first)) < 0.5, first, -1)
        start = ("none", "cheap", given)[case % 3]
        from_row_match = (np.full_like(first, -1), first, given)[case % 3]
        threads = (1, 2, 3, 8)[case % 4] if device == "cpu" else None
        matching = gmatch.max_matching(
            put(triple, device), method=gmatch.Ordered(search), initial=start, threads=threads, deterministic=True
        )
        row_match, reached = ordered_matching(triple, from_row_match.tolist(), search == "apsb")
        assert host(matching.row_match).tolist() == row_match, case
        assert set(np.flatnonzero(host(matching.reached_columns))) == reached, case


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize(("make", "cases"), [(random_graph, CASES), (crowded_graph, CASES // 4)])
def test_same_for_any_number_of_threads(make: Any, cases: int, search: str) -> None:
    rng = np.random.default_rng(11)
    for case in range(cases):
        graph = gmatch.BipartiteGraph(make(rng))
        options = {"method": gmatch.Ordered(search), "initial": STARTS[case % 4]}
        expected = answer(graph, threads=1, **options)
        for threads in (2, 3, 8):
            assert answer(graph, threads=threads, **options) == expected, (case, threads)


@pytest.mark.parametrize("start", STARTS)
def test_same_on_every_run_thread_count_and_device(start: str, device: str) -> None:
    graphs = [gmatch.datasets.load(name) for name in SMALL]
    graphs += [gmatch.datasets.erdos_renyi(20000, degree=4), gmatch.datasets.permute(gmatch.datasets.delaunay(1 << 12))]
    for graph in graphs:
        expected = answer(graph, initial=start, threads=1)
        for threads in (1, 2, 3, 8, 8, 8) if device == "cpu" else (None, None):
            assert answer(put(graph, device), initial=start, threads=threads) == expected


def test_long_paths_and_small_levels() -> None:
    """Rank 0 does runs of small levels alone. Levels here shrink until they are small; runs end after any number."""
    rng = np.random.default_rng(12)
    for lengths in ([3000], [1, 2, 3], np.arange(2, 150), np.repeat([3, 4, 50, 51, 300], 30)):
        rows = int(np.sum(lengths))
        row = np.arange(rows)
        start = np.where(np.isin(row, np.cumsum(lengths) - 1), -1, row + 1).astype(np.int32)
        shortcuts = rng.integers(0, rows, (2, rows // 50))  # for which the paths race
        at_row, at_column = np.hstack([[row, row], [row[:-1], row[:-1] + 1], shortcuts])
        matrix = sp.coo_array((np.ones(len(at_row)), (at_row, at_column)), shape=(rows, rows)).tocsr()
        for search in SEARCHES:
            options = {"method": gmatch.Ordered(search), "initial": start}
            expected = answer(matrix, threads=1, **options)
            for threads in (2, 3, 8):
                assert answer(matrix, threads=threads, **options) == expected


def test_methods_that_are_deterministic() -> None:
    graph = gmatch.datasets.load("HB/west0156")
    methods = {
        method: gmatch.max_matching(graph, method=method, deterministic=True).stats["method"]
        for method in ("auto", "ordered", "ordered-apsb", "Ordered-APFB", gmatch.Ordered("apsb"))
    }
    assert list(methods.values()) == ["ordered-apfb", "ordered-apfb", "ordered-apsb", "ordered-apfb", "ordered-apsb"]


@pytest.mark.parametrize("method", ["apfb", "claims", "pothen-fan", "mixed", gmatch.APsB(), gmatch.Claims("apsb")])
def test_other_methods_are_refused(method: Any) -> None:
    name = gmatch.max_matching(sp.eye_array(2), method=method).stats["method"]
    message = (
        "deterministic=True needs a method whose matching is the same on every run, thread count and device; got "
        f"'{name}'; use method='auto', 'ordered-apfb' or 'ordered-apsb', or deterministic=False"
    )
    for solve in (gmatch.max_matching, gmatch.structural_rank, gmatch.dulmage_mendelsohn):
        with pytest.raises(gmatch.InvalidInput, match=f"^{re.escape(message)}$"):
            solve(sp.eye_array(2), method=method, deterministic=True)
    with pytest.raises(gmatch.InvalidInput, match="^unknown method 'ordred'"):
        gmatch.max_matching(sp.eye_array(2), method="ordred", deterministic=True)


def test_a_start_that_races_is_refused() -> None:
    message = (
        "deterministic=True needs a start that is the same on every run, thread count and device; got 'karp-sipser'; "
        "use initial='auto', 'cheap', 'shuffled', 'min-degree', 'none' or a matching, or deterministic=False"
    )
    with pytest.raises(gmatch.InvalidInput, match=f"^{re.escape(message)}$"):
        gmatch.max_matching(sp.eye_array(2), initial="karp-sipser", deterministic=True)
    assert gmatch.max_matching(sp.eye_array(2), initial="karp-sipser", method="ordered").size == 2


def test_decompositions_are_the_same() -> None:
    for name in SMALL:
        matrix = gmatch.datasets.load(name)
        forms = [
            gmatch.dulmage_mendelsohn(matrix, deterministic=True, certify=True, threads=threads)
            for threads in (1, 2, 8)
        ]
        assert {form.stats["method"] for form in forms} == {"ordered-apfb"}
        for form in forms[1:]:
            for mine, first in zip(form, forms[0], strict=True):
                assert (mine == first).all()
    matrix = gmatch.datasets.load("HB/west0156")
    assert gmatch.block_triangular_form(matrix, deterministic=True).stats["method"] == "ordered-apfb"
    assert gmatch.structural_rank(matrix, deterministic=True) == 156
