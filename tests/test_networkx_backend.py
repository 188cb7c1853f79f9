"""gmatch as a backend of networkx: networkx's own tests, results beside networkx's, and what it leaves to networkx."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from networkx.algorithms import bipartite

import _gmatch_networkx
from gmatch import networkx_backend

FUNCTIONS = set(_gmatch_networkx.FUNCTIONS)
GIVEN = {"backend": "gmatch"}


@pytest.fixture(autouse=True)
def no_warnings_of_the_cache() -> Iterator[None]:
    assert "gmatch" in nx.utils.backends.backends, "networkx finds gmatch once it is installed: pip install -e ."
    with nx.config(warnings_to_ignore={"cache"}):
        yield


def random_graph(seed: int, rows: int = 12, columns: int = 12) -> tuple[nx.Graph, list[Any]]:
    rng = np.random.default_rng(seed)
    graph = nx.bipartite.random_graph(rows, columns, float(rng.uniform(0.1, 0.6)), seed=seed)
    for _, _, data in graph.edges(data=True):
        data["weight"] = int(rng.integers(-20, 50))
    return nx.relabel_nodes(graph, {row: f"row {row}" for row in range(rows)}), [f"row {row}" for row in range(rows)]


def weight_of(graph: nx.Graph, pairs: Any) -> int:
    return sum(graph.edges[pair]["weight"] for pair in pairs)


def is_matching_both_ways(graph: nx.Graph, mates: dict[Any, Any]) -> bool:
    return nx.is_matching(graph, mates) and all(mates[mates[node]] == node for node in mates)


# networkx's own tests


def run_tests_of_networkx(module: str, folder: Path, **environment: str) -> str:
    command = [sys.executable, "-m", "pytest", "-rx", "-p", "no:cacheprovider", "--pyargs", module]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True,
        env={**os.environ, "NETWORKX_TEST_BACKEND": "gmatch", "COLUMNS": "200", **environment},
    ).stdout  # fmt: skip


MODULES = ("networkx.algorithms.bipartite.tests.test_matching", "networkx.algorithms.tests.test_matching")


@pytest.mark.parametrize("module", MODULES)
def test_networkx_tests_pass(module: str, tmp_path: Path) -> None:
    """The tests of networkx pass. Tests that do not run call a function that gmatch does not have: networkx does not
    fall back in its own tests.
    """
    output = run_tests_of_networkx(module, tmp_path)
    last = output.splitlines()[-1]
    assert re.search(r"\d+ passed", last) and not re.search(r"\bfailed|error", last), output
    missing = re.findall(r"XFAIL .* - '(\w+)' not implemented by gmatch(.*)", output)
    assert len(missing) == int((re.findall(r"(\d+) xfailed", last) or ["0"])[0]), output
    not_bipartite = {name for name, rest in missing if rest == " with the given arguments"}
    assert not_bipartite <= {"max_weight_matching", "min_weight_matching"}
    assert not FUNCTIONS & {name for name, rest in missing if not rest}


@pytest.mark.parametrize("module", MODULES)
def test_networkx_tests_pass_with_what_networkx_does_itself(module: str, tmp_path: Path) -> None:
    output = run_tests_of_networkx(module, tmp_path, NETWORKX_FALLBACK_TO_NX="1")
    assert re.fullmatch(r"=*\s*\d+ passed in .*", output.splitlines()[-1]), output


# Beside networkx


@pytest.mark.parametrize("seed", range(25))
def test_largest_matchings_and_covers(seed: int) -> None:
    graph, top = random_graph(seed, columns=9 + seed % 7)
    expected = bipartite.hopcroft_karp_matching(graph, top)
    for function in (bipartite.hopcroft_karp_matching, bipartite.maximum_matching, bipartite.eppstein_matching):
        mates = function(graph, top, **GIVEN)
        assert is_matching_both_ways(graph, mates) and len(mates) == len(expected)
        cover = bipartite.to_vertex_cover(graph, mates, top, **GIVEN)
        assert cover == bipartite.to_vertex_cover(graph, mates, top)
    few = dict(list(expected.items())[:0])
    assert bipartite.to_vertex_cover(graph, few, top, **GIVEN) == cover, "what is missing is found"


@pytest.mark.parametrize("seed", range(25))
def test_weights(seed: int) -> None:
    graph, _ = random_graph(seed)
    for most in (False, True):
        pairs = nx.max_weight_matching(graph, most, **GIVEN)
        assert nx.is_matching(graph, pairs)
        expected = nx.max_weight_matching(graph, most)
        assert weight_of(graph, pairs) == weight_of(graph, expected)
        assert not most or len(pairs) == len(expected)
    least, expected = nx.min_weight_matching(graph, **GIVEN), nx.min_weight_matching(graph)
    assert nx.is_matching(graph, least) and len(least) == len(expected)
    assert weight_of(graph, least) == weight_of(graph, expected)


@pytest.mark.parametrize("seed", range(25))
def test_full_matchings(seed: int) -> None:
    graph, top = random_graph(seed, rows=5, columns=6)
    for node in set(graph) - set(top):
        graph.add_edge(top[seed % 5], node, weight=1000)
        graph.add_edge(top[seed % 4], node)  # weighs 1
    for weight in ("weight", None):
        if len(bipartite.hopcroft_karp_matching(graph, top)) < 10:
            with pytest.raises(
                ValueError, match=r"no full matching exists: [1-5] nodes \('row \d'.*\) have no neighbours but "
            ):
                bipartite.minimum_weight_full_matching(graph, top, weight, **GIVEN)
            continue
        mates = bipartite.minimum_weight_full_matching(graph, top, weight, **GIVEN)
        expected = bipartite.minimum_weight_full_matching(graph, top, weight)
        assert is_matching_both_ways(graph, mates) and len(mates) == len(expected)
        costs = [sum(graph.edges[row, found[row]].get("weight", 1) for row in top) for found in (mates, expected)]
        assert weight is None or costs[0] == costs[1]


def test_a_witness_names_nodes_of_either_side() -> None:
    graph = nx.Graph([("a", "x"), ("b", "x")])
    graph.add_nodes_from("yz")
    message = r"2 nodes \('a', 'b'\) have no neighbours but 1 nodes \('x'\)"
    for top in ("ab", "xyz"):
        with pytest.raises(ValueError, match=message):
            bipartite.minimum_weight_full_matching(graph, top, **GIVEN)


def test_integers_are_exact() -> None:
    graph = nx.Graph()
    graph.add_weighted_edges_from([("a", "x", 2**55), ("a", "y", 2**55 + 1), ("b", "x", 2**55), ("b", "y", 2**55 + 2)])
    assert bipartite.minimum_weight_full_matching(graph, "ab", **GIVEN)["a"] == "y"
    assert nx.max_weight_matching(graph, **GIVEN) in ({("a", "x"), ("b", "y")}, {("x", "a"), ("y", "b")})


def test_long_paths_need_no_recursion() -> None:
    graph = nx.path_graph(20_000)
    nx.add_path(graph, [0, "end"])
    assert len(bipartite.maximum_matching(graph, **GIVEN)) == 20_000


# How networkx comes here, and what gmatch leaves to networkx


def test_unchanged_code_runs_here(caplog: pytest.LogCaptureFixture) -> None:
    graph, top = random_graph(1)
    with nx.config(backend_priority=["gmatch"]), caplog.at_level("DEBUG", logger="networkx"):
        bipartite.maximum_matching(graph, top)
    assert "Using backend 'gmatch' for call to 'hopcroft_karp_matching'" in caplog.text


def test_a_conversion_is_kept_until_the_graph_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = nx.Graph([("a", "x")])
    conversions = []
    convert = networkx_backend.convert_from_nx
    monkeypatch.setattr(
        networkx_backend, "convert_from_nx", lambda *args, **kwargs: conversions.append(1) or convert(*args, **kwargs)
    )
    for _ in range(3):
        assert bipartite.maximum_matching(graph, "a", **GIVEN) == {"a": "x", "x": "a"}
    assert len(conversions) == 1
    graph.add_edge("b", "y")
    assert len(bipartite.maximum_matching(graph, "ab", **GIVEN)) == 4
    assert len(conversions) == 2


LEFT_TO_NETWORKX = {
    "odd cycle": nx.cycle_graph(5),
    "loop": nx.Graph([(0, 0), (0, 1)]),
    "fractions": nx.Graph([(0, 1, {"weight": Fraction(1, 3)})]),
    "infinite": nx.Graph([(0, 1, {"weight": float("inf")})]),
    "huge": nx.Graph([(0, 1, {"weight": 2**70})]),
}


@pytest.mark.parametrize("graph", LEFT_TO_NETWORKX.values(), ids=LEFT_TO_NETWORKX)
def test_what_networkx_does_itself(graph: nx.Graph) -> None:
    expected = nx.max_weight_matching(graph)
    with pytest.raises(NotImplementedError, match="gmatch"):
        nx.max_weight_matching(graph, **GIVEN)
    with nx.config(backend_priority=["gmatch"]):
        assert set(map(frozenset, nx.max_weight_matching(graph))) == set(map(frozenset, expected))


@pytest.mark.parametrize("kind", [nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
def test_kinds_of_graphs_that_networkx_takes_itself(kind: type[nx.Graph]) -> None:
    graph = kind([("a", "x"), ("b", "x")])
    assert networkx_backend.can_run("hopcroft_karp_matching", (graph,), {}) is not True
    with pytest.raises(NotImplementedError):
        networkx_backend.convert_from_nx(graph)
    with nx.config(backend_priority=["gmatch"]):
        assert len(bipartite.maximum_matching(graph, "ab")) == 2


@pytest.mark.parametrize("function", [
    bipartite.hopcroft_karp_matching, bipartite.minimum_weight_full_matching,
    lambda *args, **kwargs: bipartite.to_vertex_cover(args[0], {}, *args[1:], **kwargs),
])  # fmt: skip
def test_errors(function: Any) -> None:
    with pytest.raises(nx.AmbiguousSolution):
        function(nx.Graph([(0, 1), (2, 3)]), **GIVEN)
    with pytest.raises(nx.NetworkXError, match="Graph is not bipartite."):
        function(nx.cycle_graph(3), **GIVEN)
    with pytest.raises(nx.NetworkXPointlessConcept):
        function(nx.Graph(), **GIVEN)
    with pytest.raises(nx.NodeNotFound, match="'z' is not"):
        function(nx.Graph([("a", "x")]), ["a", "z"], **GIVEN)
    for top in (["a", "x"], []):
        with pytest.raises(nx.NetworkXError, match="'a' - 'x' joins two (top|bottom) nodes"):
            function(nx.Graph([("a", "x")]), top, **GIVEN)


def test_what_is_no_matching_has_no_cover() -> None:
    graph = nx.Graph([("a", "x"), ("b", "x"), ("b", "y")])
    for matching in ({"a": "y"}, {"a": "x", "b": "x"}, {"a": "b"}, {"a": "elsewhere"}):
        with pytest.raises(nx.NetworkXError, match="expected a matching of the graph"):
            bipartite.to_vertex_cover(graph, matching, "ab", **GIVEN)


def test_there_and_back() -> None:
    graph, _ = random_graph(3)
    graph.add_edge(5.5, 5.5, weight=4)
    for attributes in (None, {"weight": 1}):
        converted = networkx_backend.convert_from_nx(graph, edge_attrs=attributes)
        assert networkx_backend.convert_from_nx(converted) is converted
        assert len(converted) == converted.number_of_nodes() == len(graph) and list(converted) == list(graph)
        assert 5.5 in converted and "elsewhere" not in converted
        back = networkx_backend.convert_to_nx(converted)
        assert list(back) == list(graph) and nx.utils.edges_equal(
            back.edges(data="weight"), graph.edges(data="weight" if attributes else "nothing")
        )
    with pytest.raises(NotImplementedError, match="one weight for each edge"):
        networkx_backend.convert_from_nx(graph, edge_attrs={"weight": 0})
    assert networkx_backend.convert_to_nx({1: 2}) == {1: 2}


def test_a_converted_graph_may_be_given() -> None:
    graph, top = random_graph(5)
    converted = networkx_backend.convert_from_nx(graph, edge_attrs={"weight": 1})
    assert len(bipartite.maximum_matching(converted, top)) == len(bipartite.maximum_matching(graph, top))
    assert weight_of(graph, nx.max_weight_matching(converted)) == weight_of(graph, nx.max_weight_matching(graph))


def test_the_info_names_what_is_there() -> None:
    """networkx takes any attribute with the name of one of its functions for an implementation of the function."""
    known = nx.utils.backends._registered_algorithms.keys()
    assert {name for name in dir(networkx_backend) if name in known} == FUNCTIONS
    assert nx.utils.backends.backend_info["gmatch"]["functions"].keys() == FUNCTIONS


def test_networkx_imports_as_little_as_without_it() -> None:
    code = "import sys, networkx; print('gmatch' in networkx.utils.backends.backends, *sys.modules)"
    found, *modules = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert found == "True" and "_gmatch_networkx" in modules
    assert not {"gmatch", "numpy", "scipy"} & set(modules)
