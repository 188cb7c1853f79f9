"""Functions of networkx, by their names and with their arguments and results; G is our `Graph`."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import networkx
import numpy as np

from ..assignment.lap import lap
from ..cardinality.matching import max_matching
from ..errors import Infeasible, InvalidInput
from ..problems.graph import BipartiteGraph
from ..problems.networks import Network, Nodes, Sides
from ..problems.sparse import SparseCosts
from ..result import Assignment, Matching
from .conversion import Graph

Matched = dict[Hashable, Hashable]
OF_BIPARTITE_GRAPHS = ("max_weight_matching", "min_weight_matching")


def can_run(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool | str:
    """Whether the function of this name can be called with these arguments, or why not; the graph may be networkx's."""
    graph = args[0] if args else kwargs["G"]
    if graph.is_directed() or graph.is_multigraph():
        return "gmatch takes graphs without directions and parallel edges"
    if name in OF_BIPARTITE_GRAPHS:
        network = graph.network if isinstance(graph, Graph) else Network.of(graph)
        if network.bipartition()[0] is None:
            return "gmatch takes bipartite graphs; this one has a cycle of an odd number of edges"
    return True


def hopcroft_karp_matching(G: Graph, top_nodes: Iterable[Hashable] | None = None) -> Matched:
    """A maximum matching: the mate of each matched node, by `gmatch.max_matching`."""
    sides = G.sides(top_nodes)
    return _both_ways(max_matching(BipartiteGraph.between(sides)), sides)


maximum_matching = eppstein_matching = hopcroft_karp_matching


def to_vertex_cover(G: Graph, matching: Mapping[Any, Any], top_nodes: Iterable[Hashable] | None = None) -> set[Any]:
    """A smallest vertex cover (König 1931), from a maximum matching; one that is not maximum is completed first.

    Raises
    ------
    networkx.NetworkXError
        If `matching` is no matching of the graph, or the sides are wrong.
    """
    sides = G.sides(top_nodes)
    column_of: dict[Any, int] = dict(zip(sides.col_nodes, range(len(sides.col_nodes)), strict=True))
    # What is no node of the other side is number -2, which is no column.
    mates = (column_of.get(matching[node], -2) if node in matching else -1 for node in sides.row_nodes)
    row_match = np.fromiter(mates, np.int32, len(sides.row_nodes))
    try:
        rows, columns = max_matching(BipartiteGraph.between(sides), initial=row_match).vertex_cover()
    except InvalidInput as error:
        raise networkx.NetworkXError(f"expected a matching of the graph; {error}") from error
    return {*sides.some_rows(rows), *sides.some_columns(columns)}


def minimum_weight_full_matching(
    G: Graph, top_nodes: Iterable[Hashable] | None = None, weight: Hashable | None = "weight"
) -> Matched:
    """The cheapest matching of all nodes of the smaller side: the mate of each matched node, by `gmatch.lap`.

    Raises
    ------
    ValueError
        If there is no full matching, or a weight is NaN or -inf; +inf forbids its edge.
    """
    sides = G.sides(top_nodes)
    try:
        return _both_ways(lap(SparseCosts.between(sides)), sides)
    except Infeasible as error:
        rows, columns = sides.some_rows(error.rows), sides.some_columns(error.columns)
        few, many = (columns, rows) if sides.shape[0] <= sides.shape[1] else (rows, columns)
        raise ValueError(f"no full matching exists: {_some(many)} have no neighbours but {_some(few)}") from None


def max_weight_matching(
    G: Graph, maxcardinality: bool = False, weight: Hashable | None = "weight"
) -> set[tuple[Any, Any]]:
    """The heaviest matching of a bipartite graph, or the heaviest of all that have most edges."""
    if maxcardinality:
        return _largest(G, maximize=True)
    return _solved(G, {"maximize": True, "cost_limit": 0}, {})


def min_weight_matching(G: Graph, weight: Hashable | None = "weight") -> set[tuple[Any, Any]]:
    """The cheapest among the matchings of most edges of a bipartite graph."""
    return _largest(G, maximize=False)


def _largest(graph: Graph, maximize: bool) -> set[tuple[Any, Any]]:
    return _solved(graph, {"maximize": maximize}, {"infeasible": "partial"})


def _solved(graph: Graph, wanted: dict[str, Any], options: dict[str, Any]) -> set[tuple[Any, Any]]:
    is_first, _ = graph.network.bipartition()
    if is_first is None:
        raise NotImplementedError("gmatch takes bipartite graphs; this one has a cycle of an odd number of edges")
    try:
        costs = SparseCosts.between(graph.network.sides(is_first.nonzero()[0]), **wanted)
        return set(lap(costs, **options).pairs)
    except InvalidInput as error:  # weights that are infinite, no numbers, or too large for our types
        raise NotImplementedError(str(error)) from error


def _both_ways(found: Matching | Assignment, sides: Sides) -> Matched:
    rows, columns = found
    row_nodes, col_nodes = sides.some_rows(rows), sides.some_columns(columns)
    mates = dict(zip(row_nodes, col_nodes, strict=True))
    mates.update(zip(col_nodes, row_nodes, strict=True))
    return mates


def _some(nodes: Nodes) -> str:
    """How many nodes, and some of them, for messages."""
    names = [*map(repr, nodes[:5]), *(["..."] if len(nodes) > 5 else [])]
    return f"{len(nodes)} nodes ({', '.join(names)})" if names else "none"
