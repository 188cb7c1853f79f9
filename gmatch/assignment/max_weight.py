"""`max_weight_matching`: the heaviest matching, of any number of pairs."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from ..errors import InvalidInput
from ..foreign import library_of
from ..problems.networks import Nodes, a_side_of
from ..problems.sparse import SparseCosts
from .lap import lap

if TYPE_CHECKING:
    import networkx

    from ..methods import AssignmentMethod
    from ..result import Assignment


class _Options(TypedDict, total=False):
    method: str | AssignmentMethod
    initial: Any
    duals: tuple[Any, Any] | None
    deterministic: bool
    device: str | None
    threads: int | None
    certify: bool


def max_weight_matching(
    weights: Any,
    *,
    top_nodes: Iterable[Hashable] | None = None,
    weight: Hashable | None = "weight",
    forbid_nan: bool = False,
    **options: Unpack[_Options],
) -> Assignment:
    """A maximum weight matching of a bipartite graph, with its proof: no other set of pairs weighs more.

    Rows and columns may stay free: pairs of negative weight are never made, and pairs of weight 0 need not be. It is
    ``lap(weights, maximize=True, cost_limit=0)``, by another name.

    Parameters
    ----------
    weights : array, sparse matrix or networkx.Graph
        Of a matrix what each pair weighs, as for `lap`; of a sparse one the stored entries are the only allowed pairs.
        -inf forbids a pair. A batch of matrices gives an AssignmentBatch.
    top_nodes : iterable of nodes, optional
        Of a graph one side of the bipartition, which becomes the rows. By default a side is found by colours.
    weight : key of edge data, or None
        Of a graph what an edge weighs, 1 where it has no such data. None: each weighs 1.
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
        If the weights, the graph or an option is not valid; a graph must be bipartite.

    Notes
    -----
    The heaviest among the matchings of most pairs, networkx's ``maxcardinality=True``, is
    ``lap(weights, maximize=True, infeasible="partial")`` of a sparse matrix, or of
    ``SparseCosts.from_networkx(graph, top_nodes, maximize=True)``.

    Examples
    --------
    >>> import networkx
    >>> graph = networkx.Graph()
    >>> graph.add_weighted_edges_from([("a", "x", 3), ("a", "y", 5), ("b", "y", 4), ("b", "z", -1)])
    >>> gmatch.max_weight_matching(graph, top_nodes=["a", "b"]).pairs
    [('a', 'x'), ('b', 'y')]
    """
    decided = {"maximize", "cost_limit", "infeasible"} & options.keys()
    if decided:
        raise InvalidInput(
            f"max_weight_matching decides on {', '.join(sorted(decided))} itself; use gmatch.lap to choose"
        )
    if top_nodes is not None and library_of(weights) != "networkx":
        raise InvalidInput(f"top_nodes are for a networkx graph; got {type(weights).__name__}; leave them out")
    wanted: dict[str, Any] = {"maximize": True, "cost_limit": 0, "forbid_nan": forbid_nan}
    result: Assignment
    if library_of(weights) == "networkx":
        top_nodes = _a_side_of(weights) if top_nodes is None else top_nodes
        result = lap(SparseCosts.from_networkx(weights, top_nodes, weight, **wanted), **options)
    else:
        result = lap(weights, **wanted, **options)
    return result


def _a_side_of(graph: networkx.Graph[Any]) -> Nodes:
    """One side of a bipartition; any is as good as another."""
    side, _ = a_side_of(graph)
    if side is None:
        raise InvalidInput(
            "expected a bipartite graph; this one has a cycle of an odd number of edges; use "
            "networkx.max_weight_matching for it"
        )
    return side
