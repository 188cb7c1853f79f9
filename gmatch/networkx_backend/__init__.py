"""gmatch as a backend of networkx: ``networkx.config.backend_priority.algos = ["gmatch"]``, or ``backend="gmatch"``.

networkx finds this module by its entry point, and calls the functions here by their names in networkx. It converts a
graph once and keeps the arrays until the graph changes. What `is_matching`, `is_maximal_matching` and
`is_perfect_matching` do takes less time than a conversion, so that they are left to networkx.
"""

from .conversion import Graph, convert_from_nx, convert_to_nx
from .matching import (
    can_run,
    eppstein_matching,
    hopcroft_karp_matching,
    max_weight_matching,
    maximum_matching,
    min_weight_matching,
    minimum_weight_full_matching,
    to_vertex_cover,
)

__all__ = [
    "Graph",
    "can_run",
    "convert_from_nx",
    "convert_to_nx",
    "eppstein_matching",
    "hopcroft_karp_matching",
    "max_weight_matching",
    "maximum_matching",
    "min_weight_matching",
    "minimum_weight_full_matching",
    "to_vertex_cover",
]
