"""Graphs of networkx as arrays, and what `lap` and `max_matching` say of them."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import networkx as nx
import numpy as np
import pytest

import gmatch
from gmatch import _native
from gmatch.problems.networks import Network, a_side_of, plain_adjacency, sides_of


class Node:
    """Equal to another of the same name, by Python code."""

    def __init__(self, name: object) -> None:
        self.name = name

    def __hash__(self) -> int:
        return hash(("node", self.name))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Node) and other.name == self.name


NAMES: dict[str, Callable[[int], Any]] = {
    "integers": lambda number: number,
    "negative": lambda number: 7 - number,
    "far apart": lambda number: number * 10**15 - 2**62,
    "huge": lambda number: number + 2**70,
    "strings": lambda number: f"node {number}",
    "tuples": lambda number: ("node", number),
    "objects": Node,
    "mixed": lambda number: [number, str(number), (number,), float(number) + 0.5][number % 4],
    "of NumPy": np.int64,
}


def random_graph(rng: np.random.Generator, name: Callable[[int], Any]) -> tuple[nx.Graph, list[Any]]:
    """A bipartite graph whose nodes and edges come in any order, each node given by an object of its own."""
    rows, columns = (int(size) for size in rng.integers(1, 12, 2))
    graph = nx.Graph()
    graph.add_nodes_from(name(number) for number in rng.permutation(rows + columns).tolist())
    for _ in range(int(rng.integers(0, 40))):
        ends = int(rng.integers(rows)), rows + int(rng.integers(columns))
        graph.add_edge(*(name(end) for end in ends[:: int(rng.choice([1, -1]))]), weight=int(rng.integers(-9, 9)))
    return graph, [name(row) for row in range(rows)]


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
@pytest.mark.parametrize("seed", range(20))
def test_sides_hold_every_edge_once(name: Callable[[int], Any], seed: int) -> None:
    graph, top = random_graph(np.random.default_rng(seed), name)
    expected = {frozenset((node, other)): data["weight"] for node, other, data in graph.edges(data=True)}
    view = nx.subgraph_view(graph)
    assert plain_adjacency(graph) is not None and plain_adjacency(view) is None
    for given in (graph, view):
        network = Network.of(given, "weight")
        numbers = np.array([network.numbers[node] for node in top], np.int64)
        for sides in (sides_of(given, top, "weight"), network.sides(numbers)):
            assert list(sides.row_nodes) == top and set(sides.col_nodes) == set(given) - set(top)
            ends = [
                frozenset((sides.row_nodes[row], sides.col_nodes[column]))
                for row, column in zip(sides.rows, sides.columns, strict=True)
            ]
            assert len(ends) == len(expected)
            assert dict(zip(ends, sides.weights.tolist(), strict=True)) == expected
            assert sides.weights.dtype == np.int64


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
@pytest.mark.parametrize("seed", range(20))
def test_bipartitions(name: Callable[[int], Any], seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = nx.relabel_nodes(nx.gnm_random_graph(9, int(rng.integers(0, 12)), seed), name)
    side, is_only = a_side_of(graph)
    assert is_only == nx.is_connected(graph)
    assert (side is not None) == nx.is_bipartite(graph)
    if side is not None:
        assert nx.bipartite.is_bipartite_node_set(nx.Graph(graph.edges), [node for node in side if graph.degree[node]])
    looped = graph.copy()
    looped.add_edge(name(0), name(0))
    assert a_side_of(looped)[0] is None


WEIGHTS = {
    "integers": ([3, -2, 2**63 - 1], np.int64),
    "floats": ([0.5, float("inf"), -1e300], np.float64),
    "both": ([2, 0.5, -(2**53)], np.float64),
    "booleans": ([True, False, True], np.bool_),
    "of NumPy": ([np.float32(0.5), np.float32(2), np.float32(1)], np.float32),
}


@pytest.mark.parametrize(("weights", "dtype"), WEIGHTS.values(), ids=WEIGHTS)
def test_types_of_weights(weights: list[Any], dtype: type) -> None:
    graph = nx.Graph()
    graph.add_weighted_edges_from(zip("abc", "xyz", weights, strict=True))
    sides = sides_of(graph, "abc", "weight")
    assert sides.weights.dtype == dtype and sides.weights.tolist() == weights
    assert sides_of(graph, "abc", "cost").weights.tolist() == [1, 1, 1]
    assert sides_of(graph, "abc").weights is None


@pytest.mark.parametrize("weight", ["3", None, 1j, Fraction(1, 3), [1]], ids=str)
def test_what_is_no_weight(weight: Any) -> None:
    graph = nx.Graph([("a", "x", {"weight": weight})])
    for call in (lambda: sides_of(graph, "a", "weight"), lambda: Network.of(graph, "weight")):
        with pytest.raises(gmatch.InvalidInput, match="must be real numbers; the weight of the edge 'a' - 'x' is"):
            call()


@pytest.mark.parametrize("weights", [[2**63, 1], [2**53 + 1, 0.5]], ids=str)
def test_integers_that_a_type_would_round(weights: list[Any]) -> None:
    graph = nx.Graph()
    graph.add_weighted_edges_from(zip("ab", "xy", weights, strict=True))
    with pytest.raises(gmatch.InvalidInput):
        gmatch.lap(graph, top_nodes="ab")


def test_nodes_that_change_the_graph_while_it_is_read() -> None:
    class Meddler(Node):
        def __eq__(self, other: object) -> bool:
            adjacency[0].clear()
            adjacency[0][Node("new")] = {}
            return super().__eq__(other)

        __hash__ = Node.__hash__

    meddlers = [Meddler(number) for number in range(50)]
    adjacency: dict[Any, Any] = {0: {meddler: {} for meddler in meddlers}}
    numbers: dict[Any, int] = {Node(number): number for number in range(50)}
    assert len(numbers) == 50
    found = np.empty(50, np.int32)
    try:
        assert _native.number_neighbours(adjacency, (0,), numbers, found) >= 0
    except ValueError as error:
        assert "changed" in str(error)


def test_what_is_given_to_the_native_functions_is_checked() -> None:
    adjacency: dict[Any, Any] = {0: {1: {}, 2: {}}, 1: {0: {}}, 2: {0: {}}}
    with pytest.raises(ValueError, match="an offset for each node"):
        _native.count_neighbours(adjacency, (0, 1), np.empty(2, np.int64))
    with pytest.raises(KeyError):
        _native.count_neighbours(adjacency, (5,), np.empty(2, np.int64))
    with pytest.raises(TypeError):
        _native.count_neighbours({0: [1]}, (0,), np.empty(2, np.int64))
    for names in (adjacency, {str(node): {str(other): {} for other in adjacency[node]} for node in adjacency}):
        numbers = dict(zip(names, itertools.count()))  # noqa: B905
        for length in (1, 3):
            with pytest.raises(ValueError, match="changed"):
                _native.number_neighbours(names, tuple(names)[:1], numbers, np.empty(length, np.int32))
    with pytest.raises(ValueError, match="one length"):
        _native.weigh_neighbours(adjacency, (0,), "weight", np.empty(2, np.int64), np.empty(1))
    for length in (1, 3):
        with pytest.raises(ValueError, match="changed"):
            _native.weigh_neighbours(adjacency, (0,), "weight", np.empty(length, np.int64), np.empty(length))


# lap and max_matching of graphs


def test_lap_of_a_graph() -> None:
    graph = nx.Graph()
    graph.add_weighted_edges_from([("ann", "paint", 3), ("ann", "cook", 1), ("bob", "paint", 2)], weight="hours")
    found = gmatch.lap(graph, weight="hours", certify=True)
    assert found.cost == 3
    assert set(map(frozenset, found.pairs)) == {frozenset(("ann", "cook")), frozenset(("bob", "paint"))}
    given = gmatch.lap(graph, top_nodes=["bob", "ann"], weight="hours", maximize=True, infeasible="partial")
    assert given.pairs == [("bob", "paint"), ("ann", "cook")] and given.row_nodes == ("bob", "ann")
    assert gmatch.lap(graph, top_nodes=["ann", "bob"], weight=None).cost == 2
    limited = gmatch.lap(graph, top_nodes=["ann", "bob"], weight="hours", cost_limit=1)
    assert limited.pairs == [("ann", "cook")] and limited.unmatched_rows.tolist() == [1]


def test_lap_of_graphs_that_it_does_not_take() -> None:
    with pytest.raises(gmatch.InvalidInput, match="a cycle of an odd number of edges"):
        gmatch.lap(nx.cycle_graph(5))
    with pytest.raises(gmatch.InvalidInput, match="expected a connected graph, or one side of the bipartition as top"):
        gmatch.lap(nx.Graph([(0, 1), (2, 3)]))
    for cost in (np.eye(2), np.zeros((2, 2, 2)), [[1, 2], [3, 4]], gmatch.DenseCosts(np.eye(2))):
        for options in ({"top_nodes": [0]}, {"weight": "cost"}):
            with pytest.raises(gmatch.InvalidInput, match="top_nodes and weight are for a networkx graph; got"):
                gmatch.lap(cost, **options)


@pytest.mark.parametrize("seed", range(10))
def test_lap_of_a_directed_graph(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = nx.DiGraph()
    for row, column in itertools.product("abc", "wxyz"):
        ends = (row, column) if rng.random() < 0.5 else (column, row)
        graph.add_edge(*ends, weight=int(rng.integers(100)))
    found = gmatch.lap(graph, top_nodes="abc")
    undirected = graph.to_undirected()
    best = nx.bipartite.minimum_weight_full_matching(undirected, top_nodes="abc")
    assert found.cost == sum(undirected.edges[row, best[row]]["weight"] for row in "abc")


@pytest.mark.parametrize("size", [3, 70_000])
def test_a_matching_of_a_graph_has_pairs_of_nodes(size: int) -> None:
    """A small graph takes the short way, a large one the long way."""
    graph = nx.Graph((f"row {number}", f"column {number}") for number in range(size))
    made = gmatch.BipartiteGraph.from_networkx(graph, [f"row {number}" for number in reversed(range(size))])
    found = gmatch.max_matching(made, certify=size > 3)
    assert found.row_nodes == made.row_nodes and found.col_nodes == made.col_nodes
    assert found.pairs == [(f"row {number}", f"column {number}") for number in reversed(range(size))]
    assert gmatch.max_matching((made.indptr, made.indices, made.shape)).pairs[0] == (0, size - 1)
