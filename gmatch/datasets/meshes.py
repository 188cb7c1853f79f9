"""Graphs drawn in the unit square: triangulations, their duals, near neighbours, roads.

Their natural order is spatial: neighbours have near numbers. A greedy start leaves few free rows in this order, so
these graphs are easy. `gmatch.datasets.permute` destroys the order.
"""

import numpy as np
import scipy  # its parts scipy.spatial and scipy.sparse.csgraph are loaded when they are first used
from numpy.typing import NDArray
from scipy.sparse import csr_array, triu

from .patterns import checked_size, empty_pattern, random_of, symmetric_pattern

__all__ = ["delaunay", "mesh_dual", "rgg", "road"]

Points = NDArray[np.float64]

MORTON_BITS = 31
# A cell is refined if it is nearer to the front than 2.2 times its own width. Neighbours then differ by about a level.
REFINEMENT_DISTANCE = 2.2


def delaunay(n: int, seed: int = 0) -> csr_array:
    """Delaunay triangulation of random points in the unit square, like DIMACS10/delaunay_n10 to n24.

    Parameters
    ----------
    n : int
        Vertices.
    seed : int
        The same seed gives the same graph.

    Returns
    -------
    csr_array of int8, shape (n, n)
        Symmetric pattern, just below 6 entries per row, Morton order, indices sorted. At most three points are all
        joined to one another.

    Raises
    ------
    InvalidInput
        `n` or `seed` is negative, too large or no integer.

    Notes
    -----
    Time O(n log n). B. Delaunay, *Sur la sphere vide*, 1934; Qhull by way of SciPy.

    Examples
    --------
    >>> gmatch.datasets.delaunay(100).shape
    (100, 100)
    """
    n = checked_size("n", n)
    points = _random_points(n, random_of(seed))
    return _triangulation(points[_morton_order(points)])


def rgg(n: int, seed: int = 0) -> csr_array:
    """Random geometric graph, like DIMACS10/rgg_n_2_15_s0 to 24: points closer than 0.55 sqrt(ln n / n) are joined.

    Parameters
    ----------
    n : int
        Vertices.
    seed : int
        The same seed gives the same graph.

    Returns
    -------
    csr_array of int8, shape (n, n)
        Symmetric pattern, about 0.95 ln n entries per row, indices sorted. The points of the left half are numbered
        along y, then the points of the right half. So neighbours' numbers differ as in the collection's files.

    Raises
    ------
    InvalidInput
        `n` or `seed` is negative, too large or no integer.

    Notes
    -----
    Time O(n log n). M. Holtgrewe, P. Sanders, C. Schulz, *Engineering a scalable high quality graph partitioner*,
    IPDPS 2010.

    Examples
    --------
    >>> gmatch.datasets.rgg(100).shape
    (100, 100)
    """
    n = checked_size("n", n)
    points = _random_points(n, random_of(seed))
    if n < 2:
        return empty_pattern(n, n)
    points = points[np.lexsort((points[:, 1], points[:, 0] >= 0.5))]
    pairs = scipy.spatial.cKDTree(points).query_pairs(0.55 * np.sqrt(np.log(n) / n), output_type="ndarray")
    return symmetric_pattern(pairs[:, 0], pairs[:, 1], n)


def mesh_dual(n: int, seed: int = 0) -> csr_array:
    """Dual of an adaptively refined triangle mesh, like DIMACS10/hugetrace-00000 to 20: a vertex is a triangle.

    Parameters
    ----------
    n : int
        Vertices, which are the triangles of the mesh.
    seed : int
        The same seed gives the same graph.

    Returns
    -------
    csr_array of int8, shape (n, n)
        Symmetric pattern, connected, at most 3 entries per row (nearly always 3), Morton order, indices sorted.

    Raises
    ------
    InvalidInput
        `n` or `seed` is negative, too large or no integer.

    Notes
    -----
    The mesh is finest along a wandering front, as in the simulations that the collection's frames come from. Time
    O(n log n). O. Marquardt, S. Schamberger, *Open benchmarks for load balancing heuristics in parallel adaptive
    finite element computations*, PDPTA 2005.

    Examples
    --------
    >>> gmatch.datasets.mesh_dual(100).shape
    (100, 100)
    """
    n = checked_size("n", n)
    random = random_of(seed)
    if n == 0:
        return empty_pattern(0, 0)
    # The four corners are the hull, so p points make 2 p - 6 triangles: n, or one too many.
    corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    points = np.concatenate([corners, _refined_points((n + 7) // 2 - 4, random)])
    mesh = scipy.spatial.Delaunay(points[_morton_order(points)])
    order = _morton_order(mesh.points[mesh.simplices].mean(axis=1))
    dual = _dual(mesh.neighbors)[order][:, order]
    # The triangles that a search reaches first stay connected without the triangle that it reaches last.
    reached = scipy.sparse.csgraph.breadth_first_order(dual, 0, directed=False, return_predecessors=False)
    kept = np.sort(reached[:n])
    return _sorted(dual[kept][:, kept])


def road(n: int, seed: int = 0) -> csr_array:
    """Road network, like DIMACS10/italy_osm and europe_osm: few junctions, joined by long chains.

    Parameters
    ----------
    n : int
        Vertices, of which a fifth are junctions (at least two); the others lie along the roads between them.
    seed : int
        The same seed gives the same graph.

    Returns
    -------
    csr_array of int8, shape (n, n)
        Symmetric pattern, connected, about 2.2 entries per row, Morton order, indices sorted.

    Raises
    ------
    InvalidInput
        `n` or `seed` is negative, too large or no integer.

    Notes
    -----
    The roads are a random spanning tree of a Delaunay triangulation and half as many edges again; a road's number of
    vertices is geometrically distributed. Time O(n log n).

    Examples
    --------
    >>> gmatch.datasets.road(100).shape
    (100, 100)
    """
    n = checked_size("n", n)
    random = random_of(seed)
    if n < 2:
        return empty_pattern(n, n)
    junctions = _random_points(max(2, n // 5), random)
    junctions = junctions[_morton_order(junctions)]
    start, end = _roads(junctions, random)
    return _with_chains(junctions, start, end, n, random)


def _random_points(count: int, random: np.random.Generator) -> Points:
    return random.random((2, count)).T


def _morton_order(points: Points) -> NDArray[np.intp]:
    """The order along a Z-shaped space-filling curve through the unit square."""
    cells = (points * (2**MORTON_BITS - 1)).astype(np.uint64)
    return np.argsort(_spread_bits(cells[:, 0]) | _spread_bits(cells[:, 1]) << np.uint64(1))


def _spread_bits(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Put a zero between any two of the lower 32 bits."""
    for shift in (16, 8, 4, 2, 1):
        # The mask has runs of `shift` ones and `shift` zeros.
        values = (values | values << np.uint64(shift)) & np.uint64((2**64 - 1) // (2**shift + 1))
    return values


def _triangulation(points: Points) -> csr_array:
    few = np.arange(len(points), dtype=np.int32)[np.newaxis]
    corners = scipy.spatial.Delaunay(points).simplices if len(points) > 3 else few
    return symmetric_pattern(corners.ravel(), np.roll(corners, 1, axis=1).ravel(), len(points))


def _dual(neighbours: NDArray[np.int32]) -> csr_array:
    """Adjacency of the triangles; -1 stands for the outside."""
    triangles = len(neighbours)
    this, other = np.repeat(np.arange(triangles), 3), neighbours.ravel()
    inside = other >= 0
    return symmetric_pattern(this[inside], other[inside], triangles)


def _sorted(pattern: csr_array) -> csr_array:
    pattern.sort_indices()
    return pattern


def _refined_points(count: int, random: np.random.Generator) -> Points:
    """Centres of the cells of a quadtree refined towards a front, shaken a little, in the open unit square."""
    front = scipy.spatial.cKDTree(_wandering_front(max(count, 64), random))
    cells, width, leaves, widths = np.array([[0.5, 0.5]]), 1.0, [np.empty((0, 2))], [np.empty(0)]
    missing = count
    while len(cells) < missing:
        near = front.query(cells)[0] < REFINEMENT_DISTANCE * width
        # A refined cell becomes four. All cells together must not exceed the count.
        near &= np.cumsum(near) <= -(-(missing - len(cells)) // 3)
        leaves.append(cells[~near])
        widths.append(np.full(len(leaves[-1]), width))
        missing -= len(leaves[-1])
        width /= 2
        offsets = width / 2 * np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]])
        cells = (cells[near][:, np.newaxis] + offsets).reshape(-1, 2)
    leaves.append(cells[:missing])
    widths.append(np.full(len(leaves[-1]), width))
    shake = random.uniform(-0.2, 0.2, (count, 2))
    return np.concatenate(leaves) + shake * np.concatenate(widths)[:, np.newaxis]


def _wandering_front(steps: int, random: np.random.Generator) -> Points:
    """A smooth random curve, as points so close that no cell of the mesh is finer."""
    heading = np.cumsum(random.normal(0, 7 / np.sqrt(steps), steps))
    curve = np.cumsum(np.stack([np.cos(heading), np.sin(heading)], axis=1), axis=0)
    lowest = curve.min(axis=0)
    return np.asarray(0.1 + 0.8 * (curve - lowest) / (curve.max(axis=0) - lowest))


def _roads(junctions: Points, random: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Both ends of each road: a random spanning tree of the triangulated junctions, and half as many edges again."""
    weights = csr_array(triu(_triangulation(junctions)), dtype=np.float64)
    start, end = (ends.astype(np.int64) for ends in weights.nonzero())
    weights.data += random.random(weights.nnz)  # weights are 1 and above: 0 would mean no edge
    tree = scipy.sparse.csgraph.minimum_spanning_tree(weights)
    tree_start, tree_end = (ends.astype(np.int64) for ends in tree.nonzero())
    in_tree = np.isin(start * len(junctions) + end, tree_start * len(junctions) + tree_end)
    others = np.flatnonzero(~in_tree)
    more = random.choice(others, min(len(others), len(junctions) // 2), replace=False)
    return np.concatenate([tree_start, start[more]]), np.concatenate([tree_end, end[more]])


def _with_chains(
    junctions: Points, start: NDArray[np.int64], end: NDArray[np.int64], n: int, random: np.random.Generator
) -> csr_array:
    """Spread n - junctions vertices over the roads, straight lines from start to end; number all in Morton order."""
    # Poisson counts with exponential means are geometric.
    share = random.exponential(size=len(start))
    inner = random.multinomial(n - len(junctions), share / share.sum())
    # Road r has inner[r] + 1 pieces; the vertex after each piece but the last is a new one, numbered along all roads.
    road_of = np.repeat(np.arange(len(start)), inner + 1)
    after = len(junctions) + np.arange(len(road_of)) - road_of
    step = np.arange(len(road_of)) - np.repeat(np.cumsum(inner + 1) - inner - 1, inner + 1)
    is_last = step == inner[road_of]
    i = np.where(step == 0, start[road_of], after - 1)
    j = np.where(is_last, end[road_of], after)
    along = ((step + 1) / (inner[road_of] + 1))[~is_last, np.newaxis]
    road_of = road_of[~is_last]
    chains = (1 - along) * junctions[start[road_of]] + along * junctions[end[road_of]]
    number = np.empty(n, dtype=np.int64)
    number[_morton_order(np.concatenate([junctions, chains]))] = np.arange(n)
    return symmetric_pattern(number[i], number[j], n)
