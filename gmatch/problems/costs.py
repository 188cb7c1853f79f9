"""What a user's argument becomes: dense or sparse costs."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from ..errors import InvalidInput
from ..foreign import as_sparse, library_of
from .dense import DenseCosts
from .limits import Asked
from .networks import Nodes, a_side_of
from .points import PointCosts
from .sparse import SparseCosts, is_sparse


def costs_of(
    cost: Any, maximize: bool = False, cost_limit: Any = None, forbid_nan: bool = False
) -> DenseCosts | SparseCosts:
    """The costs themselves, or what `SparseCosts` makes of a sparse matrix or graph, and `DenseCosts` of all else.

    Points become the matrix of their costs.
    """
    asked = Asked.checked(maximize, cost_limit, forbid_nan)
    if type(cost) is np.ndarray:
        return DenseCosts.as_asked(cost, asked)
    if library_of(cost) == "networkx":
        return costs_of_graph(cost, None, "weight", **asked.of_costs())
    return costs_of_matrix(cost.as_dense() if isinstance(cost, PointCosts) else cost, asked)


def costs_of_matrix(cost: Any, asked: Asked) -> DenseCosts | SparseCosts:
    """As `costs_of`, for costs that are no graph and no points. The options were checked."""
    if isinstance(cost, DenseCosts | SparseCosts):
        if asked.maximize and not cost.maximize or asked.cost_limit is not None:
            name = type(cost).__name__
            raise InvalidInput(
                f"a {name} has its own maximize and cost_limit; give them to {name}(cost, maximize=..., "
                "cost_limit=...) instead"
            )
        return cost
    matrix = as_sparse(cost)
    return SparseCosts.as_asked(matrix, asked) if is_sparse(matrix) else DenseCosts.as_asked(cost, asked)


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
