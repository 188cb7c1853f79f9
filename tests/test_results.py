"""How results show themselves: names, tables, and stats that can be stored as JSON."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

import gmatch

SPARSE = sp.csr_array(([4, 0, 2, 7, 1], ([0, 0, 1, 2, 2], [0, 1, 0, 0, 3])), shape=(3, 5))
GRAPH = gmatch.BipartiteGraph.from_networkx(nx.Graph([("<a>", "x"), ("b", "x"), ("b", "y")]), ["<a>", "b"])
LARGE = np.random.default_rng(0).integers(0, 100, (300, 400))

RESULTS: dict[str, Callable[[], Any]] = {
    "small": lambda: gmatch.lap([[4, 1, 3], [2, 0, 5]]),
    "small array": lambda: gmatch.lap(np.arange(12).reshape(3, 4)),
    "large": lambda: gmatch.lap(LARGE),
    "deterministic": lambda: gmatch.lap(LARGE, deterministic=True),
    "sparse": lambda: gmatch.lap(SPARSE),
    "limited": lambda: gmatch.lap(SPARSE, cost_limit=3),
    "partial": lambda: gmatch.lap(np.array([[1, np.inf], [1, np.inf]]), infeasible="partial"),
    "several magnitudes": lambda: gmatch.lap(np.where(LARGE > 90, 1.5, 1e18)),
    "empty": lambda: gmatch.lap(np.empty((0, 3))),
    "graph": lambda: gmatch.max_weight_matching(nx.Graph([("<a>", "x"), ("b", "x")])),
    **{method: lambda method=method: gmatch.lap(LARGE, method=method) for method in ("core", "tree", "munkres", "jv")},
    "matching": lambda: gmatch.max_matching(SPARSE),
    "large matching": lambda: gmatch.max_matching(gmatch.datasets.erdos_renyi(40_000)),
    "matching of a graph": lambda: gmatch.max_matching(GRAPH),
}


@pytest.fixture(params=RESULTS.values(), ids=RESULTS)
def result(request: pytest.FixtureRequest) -> Any:
    return request.param()


def test_dir_has_what_there_is(result: Any) -> None:
    names = dir(result)
    assert not {"later", "moved"} & {*names}  # which users need not know
    fields = set(type(result).__dataclass_fields__)
    assert fields | {"row_ind", "col_ind", "pairs", "size", "unmatched_rows", "unmatched_columns"} <= set(names)
    for name in names:
        getattr(result, name)


def test_stats_are_json(result: Any) -> None:
    assert json.loads(json.dumps(result.stats)) == result.stats


def test_matched_and_unmatched(result: Any) -> None:
    for free, matched, match in (
        (result.unmatched_rows, result.row_ind, result.row_match),
        (result.unmatched_columns, result.col_ind, result.col_match),
    ):
        assert np.array_equal(np.sort(np.concatenate([free, matched])), np.arange(len(match)))
        assert (match[free] == -1).all() and np.array_equal(np.sort(free), free)


def cells(html: str) -> list[list[str | None]]:
    return [[cell.text for cell in row] for row in ElementTree.fromstring(html).iter("tr")]


def test_tables_in_notebooks(result: Any) -> None:
    header, *lines = cells(result._repr_html_())
    has_costs = isinstance(result, gmatch.Assignment)
    assert header == ["row", "column", "cost"][: 2 + has_costs]
    expected = [[str(name) for name in pair] for pair in result.pairs]
    if has_costs:
        expected = [[*pair, str(cost)] for pair, cost in zip(expected, result.pair_costs.tolist(), strict=True)]
    assert lines[:10] == expected[:10]
    assert lines[10:] == ([[f"and {len(expected) - 10} more"]] if len(expected) > 10 else [])


def test_the_caption_of_a_table() -> None:
    html = gmatch.lap([[4, 1, 3], [2, 0, 5]])._repr_html_()
    caption = "Assignment of 2 pairs between 2 rows and 3 columns, cost 3, optimal"
    assert ElementTree.fromstring(html).findtext("caption") == caption


def test_the_table_of_a_batch() -> None:
    batch = gmatch.lap([np.ones((1, 2)), np.zeros((2, 2))] * 8)
    header, *lines = cells(batch._repr_html_())
    assert header == ["problem", "rows", "columns", "pairs", "cost", "status"]
    assert lines[:2] == [["0", "1", "2", "1", "1.0", "optimal"], ["1", "2", "2", "2", "0.0", "optimal"]]
    assert len(lines) == 11 and lines[-1] == ["and 6 more"]
    assert {"row_match", "cost", "size", "status", "stats"} <= set(dir(batch))


def test_results_are_pickled_with_their_names() -> None:
    found = gmatch.max_matching(GRAPH)
    again = pickle.loads(pickle.dumps(found))
    assert again.pairs == found.pairs and set(found.pairs) == {("<a>", "x"), ("b", "y")}


# With pandas


def test_frames(result: Any) -> None:
    pd = pytest.importorskip("pandas")
    frame = result.to_frame()
    assert list(zip(frame["row"], frame["column"], strict=True)) == result.pairs
    assert ("cost" in frame) == isinstance(result, gmatch.Assignment)
    if "cost" in frame:
        assert frame["cost"].to_numpy().dtype == result.pair_costs.dtype and frame["cost"].sum() == result.cost
    assert isinstance(frame, pd.DataFrame) and len(frame) == result.size


def test_labels_of_a_frame_come_out() -> None:
    pd = pytest.importorskip("pandas")
    costs = pd.DataFrame([[4, 1, 4], [2, 0, 5]], index=["ann", "bob"], columns=["cook", "paint", "sing"])
    for options in ({}, {"method": "tree"}, {"deterministic": True}):
        found = gmatch.lap(costs, certify=True, **options)
        assert found.pairs == [("ann", "paint"), ("bob", "cook")]
        assert found.to_frame().to_dict("list") == {
            "row": ["ann", "bob"], "column": ["paint", "cook"], "cost": [1, 2],
        }  # fmt: skip
    turned = gmatch.lap(costs.T, maximize=True)
    assert turned.pairs == [("cook", "ann"), ("sing", "bob")]
    limited = gmatch.lap(gmatch.DenseCosts(costs, cost_limit=1))
    assert limited.pairs == [("bob", "paint")] and limited.row_nodes == ("ann", "bob")
    numbered = gmatch.lap(pd.DataFrame(costs.to_numpy()))
    assert numbered.pairs == [(0, 1), (1, 0)] and all(type(number) is int for pair in numbered.pairs for number in pair)


def test_labels_of_several_levels() -> None:
    pd = pytest.importorskip("pandas")
    index = pd.MultiIndex.from_product([["x", "y"], [1, 2]])
    found = gmatch.lap(pd.DataFrame(1 - np.eye(4), index=index, columns=list("abcd")))
    assert found.pairs[0] == (("x", 1), "a")
    assert found.to_frame()["row"].tolist() == index.tolist()


def test_labels_of_polars() -> None:
    """The rows of a polars table have no labels."""
    pl = pytest.importorskip("polars")
    costs = pl.DataFrame({"cook": [4, 2], "paint": [1, 0], "sing": [4, 5]})
    found = gmatch.lap(costs, certify=True)
    assert found.pairs == [(0, "paint"), (1, "cook")] and found.row_nodes is None
    assert gmatch.max_weight_matching(costs, pairs=1).pairs == [(1, "sing")]
    header, *lines = cells(found._repr_html_())
    assert lines == [["0", "paint", "1"], ["1", "cook", "2"]]


def test_labels_of_xarray() -> None:
    xr = pytest.importorskip("xarray")
    array = np.array([[4, 1, 4], [2, 0, 5]])
    both = xr.DataArray(array, dims=("who", "what"), coords={"who": ["ann", "bob"], "what": ["cook", "paint", "sing"]})
    assert gmatch.lap(both).pairs == [("ann", "paint"), ("bob", "cook")]
    assert gmatch.lap(both.T, maximize=True).pairs == [("cook", "ann"), ("sing", "bob")]
    one = xr.DataArray(array, dims=("who", "what"), coords={"what": [10, 20, 30]})
    assert gmatch.lap(one).pairs == [(0, 20), (1, 10)]
    none = gmatch.lap(xr.DataArray(array))
    assert none.pairs == [(0, 1), (1, 0)] and none.row_nodes is none.col_nodes is None
    assert gmatch.max_weight_matching(both, pairs=2).pairs == [("ann", "cook"), ("bob", "sing")]


@pytest.mark.parametrize("options", [{}, {"cost_limit": 3}, {"infeasible": "partial"}], ids=str)
def test_stats_of_batches_are_arrays_of_json(options: dict[str, Any]) -> None:
    for batch in (gmatch.lap(np.ones((3, 4, 5)), **options), gmatch.lap(np.ones((200, 30, 40)), **options)):
        assert all(len(value) == len(batch) for value in batch.stats.values() if isinstance(value, np.ndarray))
        json.dumps([one.stats for one in batch[:3]])
        assert json.loads(json.dumps(batch[1].stats)) == batch[1].stats
