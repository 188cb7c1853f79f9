"""What a user's argument becomes: dense or sparse costs."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from ..errors import InvalidInput
from ..foreign import as_sparse, library_of
from .dense import DenseCosts
from .networks import Nodes, a_side_of
from .points import PointCosts
from .sparse import SparseCosts, is_sparse


def as_costs(cost: Any, maximize: bool = False, cost_limit: Any = None, forbid_nan: bool = False) -> DenseCosts:
    """The costs themselves, or what `DenseCosts` makes of them."""
    if not isinstance(cost, DenseCosts):
        return DenseCosts(cost, maximize=maximize, cost_limit=cost_limit, forbid_nan=forbid_nan)
    if maximize and not cost.maximize or cost_limit is not None:
        raise InvalidInput(
            "a DenseCosts has its own maximize and cost_limit; give them to DenseCosts(cost, maximize=..., "
            "cost_limit=...) instead"
        )
    return cost


def costs_of(
    cost: Any, maximize: bool = False, cost_limit: Any = None, forbid_nan: bool = False
) -> DenseCosts | SparseCosts:
    """The costs themselves, or what `SparseCosts` makes of a sparse matrix or graph, and `DenseCosts` of all else.

    Points become the matrix of their costs.
    """
    if type(cost) is np.ndarray:
        return DenseCosts(cost, maximize=maximize, cost_limit=cost_limit, forbid_nan=forbid_nan)
    if library_of(cost) == "networkx":
        asked = {"maximize": maximize, "cost_limit": cost_limit, "forbid_nan": forbid_nan}
        return costs_of_graph(cost, None, "weight", **asked)
    if isinstance(cost, PointCosts):
        cost = cost.as_dense()
    if not isinstance(cost, SparseCosts):
        matrix = as_sparse(cost)
        if is_sparse(matrix):
            return SparseCosts(matrix, maximize=maximize, cost_limit=cost_limit, forbid_nan=forbid_nan)
        return as_costs(cost, maximize, cost_limit, forbid_nan)
    if maximize and not cost.maximize or cost_limit is not None:
        raise InvalidInput(
            "a SparseCosts has its own maximize and cost_limit; give them to SparseCosts(cost, maximize=..., "
            "cost_limit=...) instead"
        )
    return cost


def costs_of_graph(
    graph: Any, top_nodes: Iterable[Hashable] | None, weight: Hashable | None, **asked: Any
) -> SparseCosts:
    """What `SparseCosts` makes of a networkx graph as `asked`; without `top_nodes` it must have one bipartition."""
    return SparseCosts.from_networkx(graph, _the_side_of(graph) if top_nodes is None else top_nodes, weight, **asked)


def _the_side_of(graph: Any) -> Nodes:
    """One side of the bipartition. There must be only one bipartition, since it says which nodes are to be matched."""
    side, is_only = a_side_of(graph)
    if side is None:
        raise InvalidInput("expected a bipartite graph; this one has a cycle of an odd number of edges")
    if not is_only:
        raise InvalidInput(
            "expected a connected graph, or one side of the bipartition as top_nodes: with several components there "
            "are several bipartitions"
        )
    return side
