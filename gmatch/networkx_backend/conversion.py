"""Graphs of networkx as what the backend computes on, and back."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Any

import networkx
import numpy as np

from ..errors import InvalidInput
from ..problems.networks import Network, Sides


class Graph:
    """The arrays of a networkx.Graph, with one weight for each edge at most, and no other data.

    Parameters
    ----------
    network : Network
    weight : key of edge data, or None
        What the weights of the network are called.
    """

    __networkx_backend__ = "gmatch"

    def __init__(self, network: Network, weight: Hashable | None = None) -> None:
        self.network, self.weight = network, weight

    def __len__(self) -> int:
        return len(self.network.nodes)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.network.nodes)

    def __contains__(self, node: object) -> bool:
        return node in self.network.numbers

    def number_of_nodes(self) -> int:
        return len(self)

    def is_directed(self) -> bool:
        return False

    def is_multigraph(self) -> bool:
        return False

    def sides(self, top_nodes: Iterable[Hashable] | None) -> Sides:
        """A side of the bipartition as rows, and the other one as columns; errors as of networkx.bipartite.sets.

        Raises
        ------
        networkx.AmbiguousSolution
            If no side is given and the graph is not connected.
        networkx.NetworkXError
            If an edge joins two nodes of one side, or a node is not in the graph.
        """
        try:
            return self.network.sides(self._a_side() if top_nodes is None else self._numbers_of(top_nodes))
        except InvalidInput as error:
            raise networkx.NetworkXError(str(error)) from error

    def _a_side(self) -> Any:
        if not len(self):
            raise networkx.NetworkXPointlessConcept("Connectivity is undefined for the null graph.")
        is_first, is_connected = self.network.bipartition()
        if not is_connected:
            raise networkx.AmbiguousSolution("Disconnected graph: Ambiguous solution for bipartite sets.")
        if is_first is None:
            raise networkx.NetworkXError("Graph is not bipartite.")
        return is_first.nonzero()[0]

    def _numbers_of(self, nodes: Iterable[Hashable]) -> Any:
        distinct = dict.fromkeys(nodes)
        try:
            return np.fromiter(map(self.network.numbers.__getitem__, distinct), np.int64, len(distinct))
        except KeyError as error:
            raise networkx.NodeNotFound(f"top_nodes must be nodes of the graph; {error.args[0]!r} is not") from None


def convert_from_nx(
    graph: Any, *, edge_attrs: dict[Hashable, Any] | None = None, preserve_edge_attrs: Any = False, **_: Any
) -> Graph:
    """A networkx.Graph as arrays, in O(nodes + edges) time. Data that no function here reads is not kept.

    Raises
    ------
    NotImplementedError
        If the backend cannot represent the graph, and networkx shall go on without: it is directed, has parallel edges,
        or weights that are no real numbers.
    """
    if isinstance(graph, Graph):
        return graph
    if graph.is_directed() or graph.is_multigraph():
        raise NotImplementedError("gmatch takes graphs without directions and parallel edges")
    weights = edge_attrs or {}
    if preserve_edge_attrs is True or len(weights) > 1 or any(default != 1 for default in weights.values()):
        raise NotImplementedError("gmatch takes graphs with one weight for each edge at most, 1 where there is none")
    weight = next(iter(weights), None)
    try:
        return Graph(Network.of(graph, weight), weight)
    except InvalidInput as error:
        raise NotImplementedError(str(error)) from error


def convert_to_nx(result: Any, *, name: str | None = None) -> Any:
    """A networkx.Graph with the nodes, edges and weights of one of ours; all else is what it is."""
    if not isinstance(result, Graph):
        return result
    nodes, _, indptr, indices, weights = result.network
    owners = np.repeat(np.arange(len(nodes)), np.diff(indptr))
    once = owners <= indices
    ends = [[nodes[number] for number in numbers[once].tolist()] for numbers in (owners, indices)]
    graph: networkx.Graph[Any] = networkx.Graph()
    graph.add_nodes_from(nodes)
    if weights is None:
        graph.add_edges_from(zip(*ends, strict=True))
    else:
        data = ({result.weight: number} for number in weights[once].tolist())
        graph.add_edges_from(zip(*ends, data, strict=True))
    return graph
