"""Graphs of networkx as arrays. networkx itself is not imported: a graph is known by its dicts."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from itertools import filterfalse
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse

from .. import _native
from ..arrays import as_dense_array
from ..errors import InvalidInput

if TYPE_CHECKING:
    import networkx

Nodes = tuple[Hashable, ...]
# What `_native.weigh_neighbours` returns.
INTEGERS, FLOATS = 1, 2


class Sides(NamedTuple):
    """A bipartite graph: nodes that are rows, nodes that are columns, and a row, a column and a weight of each edge."""

    row_nodes: Nodes
    col_nodes: Nodes
    rows: Any
    columns: Any
    weights: Any  # None if no weights were asked for

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.row_nodes), len(self.col_nodes)

    def some_rows(self, numbers: Any) -> Nodes:
        return tuple(map(self.row_nodes.__getitem__, numbers.tolist()))

    def some_columns(self, numbers: Any) -> Nodes:
        return tuple(map(self.col_nodes.__getitem__, numbers.tolist()))

    def ends_of(self, edge: int) -> tuple[str, str]:
        """The nodes of an edge, for messages."""
        return repr(self.row_nodes[self.rows[edge]]), repr(self.col_nodes[self.columns[edge]])


class Network(NamedTuple):
    """A graph with all its nodes on both sides, so that each edge is there twice: a loop once.

    The neighbours of node i of `nodes` are the numbers ``indices[indptr[i]:indptr[i + 1]]``, in the order in which the
    graph has them.
    """

    nodes: Nodes
    numbers: dict[Hashable, int]  # of the nodes
    indptr: Any
    indices: Any
    weights: Any  # of the same shape as indices, or None

    @classmethod
    def of(cls, graph: networkx.Graph[Any], weight: Hashable | None = None) -> Network:
        """The arrays of a networkx.Graph, not directed and without parallel edges; O(nodes + edges) time.

        Raises
        ------
        InvalidInput
            If a weight is no real number, or one that neither int64 nor float64 holds.
        """
        nodes = tuple(graph)
        numbers = dict(zip(nodes, range(len(nodes)), strict=True))
        adjacency = plain_adjacency(graph)
        if adjacency is None:  # a view of a graph, or a class of its own
            adjacency = {node: dict(neighbours) for node, neighbours in graph.adj.items()}
        indptr, indices, _ = _neighbours(adjacency, nodes, numbers)
        weights = None
        if weight is not None:
            weights = _weights_of_neighbours(adjacency, nodes, weight, len(indices))
            if isinstance(weights, list):
                rows = np.repeat(np.arange(len(nodes)), np.diff(indptr))
                weights = numbers_of(weights, lambda edge: f"{nodes[rows[edge]]!r} - {nodes[indices[edge]]!r}")
        return cls(nodes, numbers, indptr, indices, weights)

    def bipartition(self) -> tuple[Any, bool]:
        """Whether each node is on the first side, as a bool array, or None; and whether there is only one component.

        This follows from the components of the bipartite double cover. It has two copies of each node. For each edge it
        joins each copy of one node with the other copy of its neighbour. A component with an odd cycle stays one
        component there; any other component becomes two.
        """
        length = len(self.nodes)
        ends = np.append(self.indptr, np.full(length, self.indptr[-1]))
        cover = scipy.sparse.csr_array(
            (np.ones(len(self.indices), np.int8), self.indices + length, ends), shape=(2 * length, 2 * length)
        )
        _, pieces = scipy.sparse.csgraph.connected_components(cover, directed=False)
        first, second = pieces[:length], pieces[length:]
        components = len(np.unique(np.minimum(first, second)))
        return None if bool((first == second).any()) else first < second, components == 1

    def sides(self, rows: Any) -> Sides:
        """The sides, with the nodes of these numbers as rows and the others as columns, in the order of the graph.

        Raises
        ------
        InvalidInput
            If an edge joins two rows or two columns.
        """
        is_row = np.zeros(len(self.nodes), np.bool_)
        is_row[rows] = True
        others = (~is_row).nonzero()[0]
        column_of = np.cumsum(~is_row) - 1
        begins, lengths = self.indptr[rows], self.indptr[rows + 1] - self.indptr[rows]
        ends = np.cumsum(lengths)
        entries = np.arange(ends[-1] if len(ends) else 0) + np.repeat(begins - (ends - lengths), lengths)
        neighbours = self.indices[entries]
        row_nodes, col_nodes = self.some(rows), self.some(others)
        stray = is_row[neighbours].nonzero()[0]
        if len(stray):
            row = int(ends.searchsorted(stray[0], side="right"))
            raise _joins_one_side(row_nodes[row], self.nodes[neighbours[stray[0]]], "top")
        if len(self.indices) != 2 * len(entries):
            owners = np.repeat(np.arange(len(self.nodes)), np.diff(self.indptr))
            entry = int((~is_row[owners] & ~is_row[self.indices]).nonzero()[0][0])
            raise _joins_one_side(self.nodes[owners[entry]], self.nodes[self.indices[entry]], "bottom")
        weights = None if self.weights is None else self.weights[entries]
        return Sides(row_nodes, col_nodes, np.repeat(np.arange(len(rows)), lengths), column_of[neighbours], weights)

    def some(self, numbers: Any) -> Nodes:
        return tuple(map(self.nodes.__getitem__, numbers.tolist()))


def sides_of(graph: networkx.Graph[Any], top_nodes: Iterable[Hashable], weight: Hashable | None = None) -> Sides:
    """The top nodes of a networkx graph as rows and the others as columns; O(nodes + edges) time.

    An edge without data of this name weighs 1. Without `weight` there are no weights. Edges of directed graphs count
    without their direction. Parallel edges are all listed.

    Raises
    ------
    InvalidInput
        If a top node is not in the graph or is given twice, if an edge joins two nodes of one side, or if a weight is
        no real number.
    """
    try:
        row_nodes = tuple(top_nodes)
        row_of = dict(zip(row_nodes, range(len(row_nodes)), strict=True))
        nodes = dict.fromkeys(graph)
        adjacency, edges = plain_adjacency(graph), graph.edges
    except (TypeError, AttributeError) as error:
        raise InvalidInput(f"expected a networkx graph and the nodes of it that are rows; got {error}") from None
    if len(row_of) != len(row_nodes):
        raise InvalidInput(f"top_nodes must be distinct nodes; {len(row_nodes) - len(row_of)} are given twice")
    missing = row_of.keys() - nodes.keys()
    if missing:
        first = min(missing, key=row_of.__getitem__)
        raise InvalidInput(f"top_nodes must be nodes of the graph; {first!r} is not")
    col_nodes = tuple(filterfalse(row_of.__contains__, nodes))
    column_of = dict(zip(col_nodes, range(len(col_nodes)), strict=True))
    if adjacency is None:
        sides = _from_edges(edges, row_of, column_of, weight)
    else:
        sides = _from_adjacency(adjacency, row_nodes, col_nodes, column_of, weight)
    if isinstance(sides.weights, list):
        sides = sides._replace(weights=numbers_of(sides.weights, lambda edge: " - ".join(sides.ends_of(edge))))
    return sides


def a_side_of(graph: networkx.Graph[Any]) -> tuple[Nodes | None, bool]:
    """The nodes of one side of a bipartition, or None if there is no bipartition; and whether it is the only one.

    A graph of several components has several bipartitions.
    """
    network = Network.of(graph.to_undirected(as_view=True) if graph.is_directed() else graph)
    is_first, is_connected = network.bipartition()
    return None if is_first is None else network.some(is_first.nonzero()[0]), is_connected


def plain_adjacency(graph: Any) -> dict[Any, Any] | None:
    """The dicts of the neighbours of each node; None for a graph with directions or parallel edges, and for a view."""
    adjacency = getattr(graph, "_adj", None)
    if type(adjacency) is not dict or graph.is_directed() or graph.is_multigraph():
        return None
    return adjacency if set(map(type, adjacency.values())) <= {dict} else None


def numbers_of(weights: list[Any], name_of: Any) -> Any:
    """The weights of edges as an array of numbers that rounds no integer; `name_of(number)` names an edge."""
    for edge, weight in enumerate(weights):
        if not isinstance(weight, int | float | np.integer | np.floating | np.bool_):
            raise InvalidInput(
                f"weights must be real numbers; the weight of the edge {name_of(edge)} is {weight!r}; use int or float"
            )
    array = as_dense_array(weights, "weights") if weights else np.empty(0, np.int64)
    if array.dtype.kind == "O":
        largest = max(range(len(weights)), key=lambda edge: abs(weights[edge]))
        raise InvalidInput(
            f"weights must be integers of 64 bits, or floats; the weight of {name_of(largest)} is {weights[largest]}"
        )
    return array


def _from_adjacency(
    adjacency: dict[Any, Any], row_nodes: Nodes, col_nodes: Nodes, column_of: dict[Any, int], weight: Hashable | None
) -> Sides:
    indptr, columns, stray = _neighbours(adjacency, row_nodes, column_of)
    if stray >= 0:
        row = int(indptr.searchsorted(stray, side="right")) - 1
        neighbour = list(adjacency[row_nodes[row]])[stray - int(indptr[row])]
        raise _joins_one_side(row_nodes[row], neighbour, "top")
    if sum(map(len, map(adjacency.__getitem__, col_nodes))) != len(columns):
        node, other = next((node, other) for node in col_nodes for other in adjacency[node] if other in column_of)
        raise _joins_one_side(node, other, "bottom")
    rows = np.repeat(np.arange(len(row_nodes), dtype=np.int32), np.diff(indptr))
    weights = None if weight is None else _weights_of_neighbours(adjacency, row_nodes, weight, len(columns))
    return Sides(row_nodes, col_nodes, rows, columns, weights)


def _neighbours(adjacency: dict[Any, Any], nodes: Nodes, numbers: dict[Any, int]) -> tuple[Any, Any, int]:
    """Where the neighbours of each node begin, their numbers, and the place of the first without a number, or -1."""
    indptr = np.empty(len(nodes) + 1, np.int64)
    _native.count_neighbours(adjacency, nodes, indptr)
    found = np.empty(int(indptr[-1]), np.int32)
    return indptr, found, _native.number_neighbours(adjacency, nodes, numbers, found)


def _weights_of_neighbours(adjacency: dict[Any, Any], nodes: Nodes, weight: Hashable, entries: int) -> Any:
    """An array of the weights of all edges to the neighbours of these nodes; a list if they are numbers of many types.

    Raises
    ------
    TypeError
        If the data of an edge is no plain dict.
    """
    integers, floats = np.empty(entries, np.int64), np.empty(entries)
    kind = _native.weigh_neighbours(adjacency, nodes, weight, integers, floats)
    if kind in (INTEGERS, FLOATS):
        return integers if kind == INTEGERS else floats
    return [data.get(weight, 1) for node in nodes for data in adjacency[node].values()]


def _from_edges(edges: Any, row_of: dict[Any, int], column_of: dict[Any, int], weight: Hashable | None) -> Sides:
    """One edge after the other, for all kinds of graphs."""
    ends = edges(data=weight, default=1) if weight is not None else ((*edge, None) for edge in edges())
    rows, columns, weights = [], [], []
    for node, other, value in ends:
        if (node in row_of) == (other in row_of):
            raise _joins_one_side(node, other, "top" if node in row_of else "bottom")
        top, bottom = (node, other) if node in row_of else (other, node)
        rows.append(row_of[top])
        columns.append(column_of[bottom])
        weights.append(value)
    return Sides(
        tuple(row_of), tuple(column_of), np.array(rows, np.int64), np.array(columns, np.int64),
        None if weight is None else weights,
    )  # fmt: skip


def _joins_one_side(node: Hashable, other: Hashable, side: str) -> InvalidInput:
    return InvalidInput(
        f"expected edges between top_nodes and the other nodes; {node!r} - {other!r} joins two {side} nodes; give one "
        "whole side of the bipartition as top_nodes"
    )
