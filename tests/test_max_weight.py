"""`max_weight_matching` beside networkx, and weighted networkx graphs as costs."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from assignment_oracles import METHODS, random_costs

import gmatch


def random_graph(rng: np.random.Generator) -> tuple[nx.Graph, list[Any], list[Any]]:
    """Weights of all signs, whole or not; nodes of any names, in any order."""
    rows, columns = rng.integers(0, 9, 2)
    top, bottom = [f"row {i}" for i in range(rows)], [(0, j) for j in range(columns)]
    graph = nx.Graph()
    graph.add_nodes_from(rng.permutation(np.array(top, object)).tolist())
    graph.add_nodes_from(bottom)
    whole = rng.random() < 0.5
    for edge in itertools.product(top, bottom):
        if rng.random() < 0.4:
            weight = int(rng.integers(-3, 9)) if whole else float(rng.normal(1, 2))
            graph.add_edge(*(edge if rng.random() < 0.5 else edge[::-1]), gain=weight)
    return graph, top, bottom


def weight_of(graph: nx.Graph, pairs: Any, key: str = "gain") -> float:
    return sum(graph[a][b][key] for a, b in pairs)


@pytest.mark.parametrize("seed", range(300))
def test_beside_networkx(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph, top, bottom = random_graph(rng)
    expected = weight_of(graph, nx.max_weight_matching(graph, weight="gain"))
    method = rng.choice(["auto", "jv", "tree"])
    found = gmatch.max_weight_matching(graph, top_nodes=top, weight="gain", method=method, certify=True)
    assert found.cost == pytest.approx(expected, abs=1e-9)
    assert weight_of(graph, found.pairs) == pytest.approx(expected, abs=1e-9)
    assert nx.is_matching(graph, set(found.pairs))
    assert found.row_nodes == tuple(top) and set(found.col_nodes or ()) == set(bottom)
    assert all(row in top and column in bottom for row, column in found.pairs)
    colored = gmatch.max_weight_matching(graph, weight="gain", certify=True)
    assert weight_of(graph, colored.pairs) == pytest.approx(expected, abs=1e-9)

    matrix = np.full((len(top), len(bottom)), -np.inf)
    for a, b, weight in graph.edges(data="gain"):
        row, column = (a, b) if a in top else (b, a)
        matrix[top.index(row), bottom.index(column)] = weight
    dense = gmatch.max_weight_matching(matrix, method=rng.choice(METHODS["cpu"]), certify=True)
    assert dense.cost == pytest.approx(expected, abs=1e-9)
    assert dense.row_nodes is None and dense.pairs == list(zip(*(part.tolist() for part in dense), strict=True))
    missing = np.where(matrix == -np.inf, np.nan, matrix)
    assert gmatch.max_weight_matching(missing, forbid_nan=True, certify=True).cost == dense.cost
    places = np.isfinite(matrix).nonzero()
    sparse = sp.coo_array((matrix[places], places), shape=matrix.shape)
    assert gmatch.max_weight_matching(sparse, certify=True).cost == pytest.approx(expected, abs=1e-9)
    assert (sparse.toarray()[tuple(dense)] >= 0).all()

    most = nx.max_weight_matching(graph, maxcardinality=True, weight="gain")
    heaviest = gmatch.lap(
        gmatch.SparseCosts.from_networkx(graph, top, "gain", maximize=True), infeasible="partial", certify=True
    )
    assert heaviest.size == len(most) and heaviest.cost == pytest.approx(weight_of(graph, most), abs=1e-9)


@pytest.mark.parametrize("seed", range(40))
def test_full_matchings_beside_networkx(seed: int) -> None:
    graph = nx.bipartite.random_graph(5, 7, 0.8, seed=seed)
    rng = np.random.default_rng(seed)
    for _, _, data in graph.edges(data=True):
        data["weight"] = int(rng.integers(0, 2**55))
    top = list(range(5))
    costs = gmatch.SparseCosts.from_networkx(graph, top)
    found = gmatch.lap(costs, certify=True)
    expected = nx.bipartite.minimum_weight_full_matching(graph, top)
    pairs = [(node, mate) for node, mate in expected.items() if node in top]
    assert found.cost <= weight_of(graph, pairs, "weight")  # SciPy rounds
    assert found.cost == weight_of(graph, found.pairs, "weight")
    assert [row for row, _ in found.pairs] == top
    assert gmatch.verify(costs, found).gap == 0


def test_weights_that_are_missing_or_not_asked_for() -> None:
    graph = nx.Graph([("a", "x"), ("b", "x", {"weight": 5}), ("b", "y")])
    found = gmatch.max_weight_matching(graph)
    assert found.cost == 5 == weight_of(nx.Graph([("b", "x", {"weight": 5})]), nx.max_weight_matching(graph), "weight")
    assert gmatch.max_weight_matching(graph, weight=None).cost == 2
    assert gmatch.SparseCosts.from_networkx(graph, ["a", "b"]).dtype == np.int64
    assert gmatch.max_weight_matching(nx.Graph()).pairs == []


def test_kinds_of_graphs() -> None:
    directed = nx.DiGraph()
    directed.add_weighted_edges_from([("a", "x", 2.0), ("y", "a", 3.0)])
    assert set(gmatch.max_weight_matching(directed, top_nodes=["a"]).pairs) == {("a", "y")}
    directed.add_edge("x", "a", weight=1.0)
    multi = nx.MultiGraph([("a", "x", {"weight": 1}), ("a", "x", {"weight": 2})])
    for graph in (directed, multi):
        with pytest.raises(
            gmatch.InvalidInput, match="expected one edge between two nodes; there are more between 'a'"
        ):
            gmatch.max_weight_matching(graph, top_nodes=["a"])

    class Mine(nx.Graph):
        pass

    assert gmatch.max_weight_matching(Mine([("a", "x", {"weight": 7})])).cost == 7
    assert gmatch.lap(Mine([("a", "x", {"weight": 7})])).cost == 7


def test_bad_weights_and_sides() -> None:
    graph = nx.Graph([("a", "x", {"weight": "3"}), ("a", "y", {"weight": 1})])
    with pytest.raises(gmatch.InvalidInput, match="the weight of the edge 'a' - 'x' is '3'; use int or float"):
        gmatch.max_weight_matching(graph, top_nodes=["a"])
    with pytest.raises(gmatch.InvalidInput, match="top_nodes must be nodes of the graph; 'z' is not"):
        gmatch.max_weight_matching(graph, top_nodes=["z"], weight=None)
    for odd in (nx.cycle_graph(3), nx.Graph([(0, 0)])):
        with pytest.raises(gmatch.InvalidInput, match="use networkx.max_weight_matching for it"):
            gmatch.max_weight_matching(odd)
    nan = nx.Graph([("a", "x", {"weight": float("nan")}), ("a", "y", {"weight": 1.0})])
    with pytest.raises(gmatch.InvalidInput, match="use forbid_nan=True"):
        gmatch.max_weight_matching(nan, top_nodes=["a"])
    assert gmatch.max_weight_matching(nan, top_nodes=["a"], forbid_nan=True).pairs == [("a", "y")]


def test_options_that_are_decided() -> None:
    for options in ({"maximize": False}, {"cost_limit": 3, "infeasible": "raise"}):
        with pytest.raises(gmatch.InvalidInput, match="decides on (maximize|cost_limit, infeasible) itself"):
            gmatch.max_weight_matching(np.eye(2), **options)
    with pytest.raises(gmatch.InvalidInput, match="top_nodes are for a networkx graph; got ndarray"):
        gmatch.max_weight_matching(np.eye(2), top_nodes=[0])
    assert isinstance(gmatch.max_weight_matching(np.zeros((2, 3, 3))), gmatch.AssignmentBatch)


@pytest.mark.parametrize("make", [
    lambda graph: graph, lambda graph: gmatch.BipartiteGraph.from_networkx(graph, ["a", "b"]),
])  # fmt: skip
def test_what_names_the_way_in_for_a_graph(make: Any) -> None:
    graph = nx.Graph()
    graph.add_weighted_edges_from([("a", "x", 2.0), ("a", "y", 0.0), ("b", "x", 3.0)])
    takes_no_graph = [gmatch.SparseCosts, gmatch.DenseCosts]
    for call in takes_no_graph if make(graph) is graph else [gmatch.lap, *takes_no_graph]:
        with pytest.raises(gmatch.InvalidInput) as caught:
            call(make(graph))
        code = str(caught.value).partition("use ")[2].partition(")")[0] + ")"
        costs = eval(code, {"gmatch": gmatch, "graph": graph, "top_nodes": ["a", "b"]})
        assert gmatch.lap(costs).cost == 3


def test_docstrings_name_it() -> None:
    for documented in (gmatch.lap, gmatch.compat, gmatch.SparseCosts.from_networkx):
        assert "max_weight_matching" in (documented.__doc__ or "")


@pytest.mark.parametrize("seed", range(100))
def test_most_pairs_beside_networkx(seed: int) -> None:
    graph, top, _ = random_graph(np.random.default_rng(seed))
    expected = nx.max_weight_matching(graph, maxcardinality=True, weight="gain")
    found = gmatch.max_weight_matching(graph, top_nodes=top, weight="gain", cardinality="maximum", certify=True)
    assert found.size == len(expected)
    assert found.cost == pytest.approx(weight_of(graph, expected), abs=1e-9)


def heaviest_of_pairs(weights: np.ndarray, pairs: int) -> float:
    """The largest weight over all choices of rows, and of columns for them."""
    rows, columns = map(range, weights.shape)
    return max(
        (
            float(weights[list(some), list(way)].sum())
            for some in itertools.combinations(rows, pairs)
            for way in itertools.permutations(columns, pairs)
        ),
        default=-np.inf,
    )


@pytest.mark.parametrize("seed", range(60))
def test_exactly_k_pairs_against_all_matchings(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights = random_costs(rng, str(rng.choice(["int32", "int64", "float64", "int8"])), True, largest=4)
    places = (weights != -np.inf).nonzero()
    sparse = sp.coo_array((weights[places], places), shape=weights.shape)
    for pairs in range(min(weights.shape) + 1):
        expected = heaviest_of_pairs(weights, pairs)
        for form in (weights, np.asfortranarray(weights), sparse, gmatch.DenseCosts(weights, maximize=True)):
            if expected == -np.inf:
                with pytest.raises(gmatch.Infeasible) as raised:
                    gmatch.max_weight_matching(form, pairs=pairs)
                cover = raised.value
                assert len(cover.rows) + len(cover.columns) < pairs
                covered = np.isin(places[0], cover.rows) | np.isin(places[1], cover.columns)
                assert covered.all()
                continue
            found = gmatch.max_weight_matching(form, pairs=pairs, certify=True)
            assert (found.size, found.cost, found.status) == (pairs, expected, "pairs")


def test_exactly_k_pairs_of_larger_graphs() -> None:
    """Weights are concave in the number of pairs; the greatest is the maximum weight, the last that of most pairs."""
    weights = np.random.default_rng(1).normal(size=(30, 40))
    found = [gmatch.max_weight_matching(weights, pairs=k, certify=True) for k in range(31)]
    costs = [one.cost for one in found]
    assert (np.diff(costs, 2) <= 1e-12).all()
    assert max(costs) == pytest.approx(gmatch.max_weight_matching(weights).cost)
    assert costs[-1] == pytest.approx(gmatch.lap(weights, maximize=True).cost)
    graph, top, _ = random_graph(np.random.default_rng(4))
    named = gmatch.max_weight_matching(graph, top_nodes=top, weight="gain", pairs=2, certify=True)
    assert all(graph.has_edge(*pair) for pair in named.pairs)


WRONG = {
    "leave a gap": lambda r: {"u": r.u - 1},
    "duals leave": lambda r: {"pair_price": r.pair_price - 1},
    "must be 'pairs'": lambda r: {"status": gmatch.Status.LIMITED},
    "pair_price must be": lambda r: {"pair_price": 0.5},
    "too large": lambda r: {"pair_price": 2**62},
    "pair_costs must hold": lambda r: {"pair_costs": r.pair_costs - 1},
    "is for maximize": lambda r: {"maximize": False},
}


@pytest.mark.parametrize("message", WRONG)
def test_what_proves_no_number_of_pairs_is_refused(message: str) -> None:
    costs = gmatch.DenseCosts([[5, 1, 4], [2, 9, 3]], maximize=True)
    right = gmatch.max_weight_matching(costs, pairs=1)
    assert gmatch.verify(costs, right).gap == 0 and right.pairs == [(1, 1)]
    with pytest.raises(gmatch.CertificateError, match=message):
        gmatch.verify(costs, dataclasses.replace(right, **WRONG[message](right)))
    lighter = {"row_match": [0, -1], "col_match": [0, -1, -1], "pair_costs": [5]}
    arrays = {name: np.array(values) for name, values in lighter.items()}
    with pytest.raises(gmatch.CertificateError, match="not proven most expensive"):
        gmatch.verify(costs, dataclasses.replace(right, **arrays))


def test_big_numbers_among_weights() -> None:
    weights = np.array([[5.0, 1e9, 4.0], [2.0, 9.0, 1e9], [1e9, 1.0, 3.0]])
    assert gmatch.max_weight_matching(-weights, pairs=3, certify=True).cost == gmatch.lap(-weights, maximize=True).cost
    assert gmatch.max_weight_matching(weights, pairs=2, certify=True).cost == 2e9


def test_bad_numbers_of_pairs() -> None:
    for pairs in (-1, 3, 1.5, True, "1"):
        with pytest.raises(gmatch.InvalidInput, match="pairs must be"):
            gmatch.max_weight_matching([[1, 2, 3], [4, 5, 6]], pairs=pairs)  # type: ignore[arg-type]
    with pytest.raises(gmatch.InvalidInput, match="give one of them"):
        gmatch.max_weight_matching([[1]], pairs=1, cardinality="maximum")
    with pytest.raises(gmatch.InvalidInput, match="'any' or 'maximum'"):
        gmatch.max_weight_matching([[1]], cardinality="most")
    with pytest.raises(gmatch.InvalidInput, match="nothing given"):
        gmatch.max_weight_matching([[1]], pairs=1, initial="none")
    with pytest.raises(TypeError, match="takes no gap, ties$"):
        gmatch.max_weight_matching([[1]], pairs=1, ties="scipy", gap=0.1)  # type: ignore[call-arg]
