"""`max_weight_matching`: the heaviest matching, of any number of pairs, of most pairs, or of exactly k."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any, Unpack

from ..errors import InvalidInput
from ..foreign import library_of
from ..problems.costs import costs_of
from ..problems.networks import Nodes, a_side_of
from ..problems.sparse import SparseCosts
from ..tensors import comes_back, in_its_library
from .lap import lap
from .pairs import of_pairs
from .request import SolverOptions

if TYPE_CHECKING:
    import networkx

    from ..result import Assignment


def max_weight_matching(
    weights: Any,
    *,
    top_nodes: Iterable[Hashable] | None = None,
    weight: Hashable | None = "weight",
    cardinality: str = "any",
    pairs: int | None = None,
    forbid_nan: bool = False,
    **options: Unpack[SolverOptions],
) -> Assignment:
    """A maximum weight matching of a bipartite graph, with its proof: no other set of pairs weighs more.

    Rows and columns may stay free: pairs of negative weight are never made, and pairs of weight 0 need not be. It is
    another name of ``lap(weights, maximize=True, cost_limit=0)``. With `cardinality` it is the heaviest of the largest
    matchings, with `pairs` the heaviest of the matchings of exactly k pairs (the k-cardinality assignment problem).

    Parameters
    ----------
    weights : array, sparse matrix or networkx.Graph
        What each pair weighs, as for `lap`. The stored entries of a sparse matrix are the only allowed pairs.
        -inf forbids a pair. A batch of matrices gives an AssignmentBatch.
    top_nodes : iterable of nodes, optional
        One side of a graph, which becomes the rows. By default a side is found by colours.
    weight : key of edge data, or None
        What an edge of a graph weighs, 1 if it has no such data. None: each edge weighs 1.
    cardinality : {"any", "maximum"}
        ``"maximum"``: as many pairs as can be made, whatever they weigh (networkx's ``maxcardinality=True``).
    pairs : int, optional
        Make exactly this number of pairs, whatever they weigh. Negated costs as weights give the cheapest pairs. Not
        with ``cardinality="maximum"``, ``initial`` or ``duals``. Methods are the methods for sparse costs.
    forbid_nan : bool
        Whether NaN forbids its pair; otherwise it is refused.
    **options
        ``method``, ``initial``, ``duals``, ``deterministic``, ``device``, ``threads`` and ``certify`` of `lap`.

    Returns
    -------
    Assignment
        Its `Assignment.cost` is the weight of the matching, and its `Assignment.pairs` are pairs of nodes if `weights`
        is a graph: ``set(result.pairs)`` is what ``networkx.max_weight_matching`` returns, with the top node first.

    Raises
    ------
    InvalidInput
        If the weights, the graph or an option is not valid; a graph must be bipartite. With `pairs`, integer weights
        beyond about 2**56 are refused if their sums could overflow.
    Infeasible
        If this number of `pairs` cannot be made; its rows and columns cover all allowed pairs, and are fewer.

    Notes
    -----
    With `pairs`, rows beyond that number take one of as many columns more, and columns one of as many rows more, all of
    weight 0, in an assignment of all (M. Dell'Amico, S. Martello: The k-cardinality assignment problem. Discrete
    Applied Mathematics 76 (1997)). Its duals prove the weight: see `Assignment.pair_price`.

    Examples
    --------
    >>> import networkx
    >>> graph = networkx.Graph()
    >>> graph.add_weighted_edges_from([("a", "x", 3), ("a", "y", 5), ("b", "y", 4), ("b", "z", -1)])
    >>> gmatch.max_weight_matching(graph, top_nodes=["a", "b"]).pairs
    [('a', 'x'), ('b', 'y')]
    >>> gmatch.max_weight_matching(graph, top_nodes=["a", "b"], pairs=1).pairs
    [('a', 'y')]
    """
    decided = {"maximize", "cost_limit", "infeasible"} & options.keys()
    if decided:
        raise InvalidInput(
            f"max_weight_matching decides on {', '.join(sorted(decided))} itself; use gmatch.lap to choose"
        )
    if comes_back(weights):
        found: Assignment = in_its_library(
            weights, max_weight_matching, top_nodes=top_nodes, weight=weight, cardinality=cardinality, pairs=pairs,
            forbid_nan=forbid_nan, **options,
        )  # fmt: skip
        return found
    if top_nodes is not None and library_of(weights) != "networkx":
        raise InvalidInput(f"top_nodes are for a networkx graph; got {type(weights).__name__}; leave them out")
    if not isinstance(cardinality, str) or cardinality not in ("any", "maximum"):
        raise InvalidInput(f"cardinality must be 'any' or 'maximum'; got {cardinality!r}")
    if pairs is not None and cardinality != "any":
        raise InvalidInput("cardinality='maximum' and pairs=... both say how many pairs there are; give one of them")
    wanted: dict[str, Any] = {"maximize": True, "forbid_nan": forbid_nan}
    if cardinality == "any" and pairs is None:
        wanted["cost_limit"] = 0
    result: Assignment
    if library_of(weights) == "networkx":
        top_nodes = _a_side_of(weights) if top_nodes is None else top_nodes
        weights, wanted = SparseCosts.from_networkx(weights, top_nodes, weight, **wanted), {}
    if pairs is not None:
        result = of_pairs(costs_of(weights, **wanted), pairs, **options)
    elif cardinality == "maximum":
        result = lap(weights, **wanted, infeasible="partial", **options)
    else:
        result = lap(weights, **wanted, **options)
    return result


def _a_side_of(graph: networkx.Graph[Any]) -> Nodes:
    """One side of a bipartition. Any bipartition will do."""
    side, _ = a_side_of(graph)
    if side is None:
        raise InvalidInput(
            "expected a bipartite graph; this one has a cycle of an odd number of edges; use "
            "networkx.max_weight_matching for it"
        )
    return side
