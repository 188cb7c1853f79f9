"""What a user's argument becomes: dense or sparse costs."""

from __future__ import annotations

from typing import Any

from ..errors import InvalidInput
from ..foreign import as_sparse
from .dense import DenseCosts
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
    """The costs themselves, or what `SparseCosts` makes of a sparse matrix, `DenseCosts` of all else."""
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
