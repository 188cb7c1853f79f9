"""The costs of an assignment problem of points: two clouds and a metric, checked once, then frozen; no matrix."""

from __future__ import annotations

import math
import warnings
from functools import cached_property
from typing import Any

import numpy as np

from ..arrays import MAX_VERTICES, Device, as_dense_array, beside, device_of, namespace, to_host, truth_of
from ..errors import InvalidInput
from ..foreign import EXACT_IN_FLOAT64
from .dense import DenseCosts
from .frozen import Frozen
from .limits import DualType, Ranged, blocks_of, number_of, refuse_overflow

METRICS = ("sqeuclidean", "euclidean", "cityblock", "chebyshev", "minkowski", "dot", "cosine")
# Minkowski's distances that are another metric.
NAMES_OF_P = {1.0: "cityblock", 2.0: "euclidean", math.inf: "chebyshev"}
# The extension's names for the negatives of metrics. -x in the place of x changes the sign of a product.
MAXIMIZED = {metric: f"minus {metric}" for metric in METRICS} | {"dot": "dot", "cosine": "dot less 1"}
# Bounds of Minkowski's distances square coordinates.
MOST_SQUARED = 2.0**500
# Coordinates that a tree of the host takes; see csrc/points/metrics.hpp.
MOST_COORDINATES = 8
# Bytes of the matrix that is made where no tree helps.
MOST_MATRIX = 1 << 31
# Entries of a matrix that are made at once.
BLOCK = 1 << 20
# Whole costs whose sums stay whole numbers in float64.
MOST_WHOLE = 2.0**45
WITH_ROOTS = "euclidean", "minkowski"
Box = tuple[Any, Any]
TWO_CLOUDS = (
    "a sequence of two arrays is a batch of two cost matrices; if these are points, one in each row, use "
    "gmatch.lap(gmatch.PointCosts(x, y)); if they are costs, gmatch.CostBatch([x, y]) says so"
)


class PointCosts(Frozen, Ranged):
    """What it costs to match points x with points y, as `gmatch.lap` takes it: row i is x[i], column j is y[j].

    The matrix is never made. If d is at most 8, trees find the pairs that matter, in little more than O(n log n) time.
    With a p of about 18 or more trees do not take ``"minkowski"``, since small coordinates to that power are 0.

    In all other cases a search on one core asks for rows of costs, and each is computed when it is asked for. For
    ``"sqeuclidean"``, ``"euclidean"``, ``"dot"`` and ``"cosine"`` a first search reads bounds from products in float32.
    Rows that were computed are kept in at most 256 MB. ``"minkowski"`` takes passes over windows of rows instead. For
    another `method` and ``deterministic=True`` the matrix is made, in float64, if it takes at most 2 GB.

    On a GPU there are no trees. Passes over all pairs compute what points of up to 8 coordinates cost. For more
    coordinates they compare bounds in float32 first, and compute the cost of the few pairs that no bound rules out.
    Another `method` makes the matrix.

    Parameters
    ----------
    x, y : arrays, shapes (n, d) and (m, d)
        The points: NumPy and CuPy arrays, tensors and other arrays, or nested lists; of bool, integers of magnitude at
        most 2**53, or float16 to float64. Both lie on the host, or both on a GPU. All are taken as float64, which
        changes none.
    metric : {"sqeuclidean", "euclidean", "cityblock", "chebyshev", "minkowski", "dot", "cosine"}
        With t = x[k] - y[k], and sums in the order of k, each operation rounded once to float64: ``"sqeuclidean"`` is
        the sum of t * t, ``"euclidean"`` its square root, ``"cityblock"`` the sum of abs(t), ``"chebyshev"`` the
        largest abs(t), ``"minkowski"`` (the sum of abs(t)**p)**(1/p), ``"dot"`` minus the sum of x[k] * y[k], and
        ``"cosine"`` 1 minus that sum for points divided by their lengths. In NumPy these are `of_pairs`.
    p : number, optional
        Of ``"minkowski"``, at least 1. With p = 1, 2 or inf it is the metric of that name.
    maximize : bool
        Whether the assignment of the largest sum is wanted.
    cost_limit : number, optional
        Pairs that cost more than this are never matched, and points may stay free instead: see `gmatch.lap`.

    Attributes
    ----------
    given : (array, array)
        x and y, shapes (n, d) and (m, d), in C order, on the device where they were given. Floats keep their type.
        Other numbers are float64. So are points of ``"cosine"``, which are divided by their lengths. Copies, or the
        arrays given: do not change them.
    x, y : float64 arrays, C order
        The points of `given` on the host, made when they are first asked for: copies, unless they are float64 there.
    lies_on : {"cpu", "gpu"}
        Where the points were given. `lap` solves them there, unless `device` says otherwise, and its result lies there.
    metric : str
    p : float or None
        Of ``"minkowski"``.
    shape : (int, int)
        n and m.
    dtype : dtype
        The type of the costs: float64.
    maximize : bool
    cost_limit, limit : float or None
        As given, and in the minimisation form.
    lowest, highest : float
        Bounds of the costs in the minimisation form.
    whole : bool
        Whether all costs are whole numbers.
    device : "cpu"

    Raises
    ------
    InvalidInput
        If x or y is no array as above, or holds NaN or inf. If x and y differ in their number of coordinates. If sums
        of costs could overflow float64, as with squares of coordinates of about 1e150. If a point has length 0, and so
        no cosine.

    Notes
    -----
    `verify` proves points in trees pair by pair. For a pair that costs c and has the duals u and v, its tolerance is 64
    roundings of abs(c) + abs(u) + abs(v), or 1.4e-14 of that sum. So an exchange among some pairs gains at most the sum
    of their own roundings. Neither points far away nor a large limit change that, except that duals of points that
    compete with a free point are of the size of the limit. ``"cosine"`` adds 1 to the sum, since these distances are
    differences from 1. Without trees, and for ``"minkowski"``, each pair counts the largest dual or cost of all pairs.
    An offset that x and y share loses nothing beyond the rounding of the coordinates, except for ``"dot"`` and
    ``"cosine"``: their costs are of the size of the offset.

    Examples
    --------
    >>> import gmatch
    >>> gmatch.lap(gmatch.PointCosts([[0.0, 0.0], [5.0, 0.0]], [[4.0, 0.0], [0.0, 1.0]])).col_ind.tolist()
    [1, 0]
    """

    given: tuple[Any, Any]
    lies_on: Device
    metric: str
    p: float | None
    shape: tuple[int, int]
    maximize: bool
    cost_limit: int | float | None
    limit: int | float | None
    lowest: float
    highest: float
    whole: bool

    dtype = np.dtype(np.float64)
    dual_type: DualType = np.float64
    device: Device = "cpu"
    transposed = forbids = forbid_nan = overflows = False

    def __init__(
        self,
        x: Any,
        y: Any,
        *,
        metric: str = "sqeuclidean",
        p: float | None = None,
        maximize: bool = False,
        cost_limit: Any = None,
    ) -> None:
        metric, p = _metric_of(metric, p)
        maximize = truth_of("maximize", maximize)
        x, y = as_dense_array(x, "x"), as_dense_array(y, "y")
        lies_on = device_of(x)
        if device_of(y) != lies_on:
            raise InvalidInput(
                f"x and y must both lie on the host, or both on a GPU; got x on the {lies_on} and y on the "
                f"{device_of(y)}; move one of them"
            )
        (x, x_is_whole, box_of_x), (y, y_is_whole, box_of_y) = _read(x, "x", metric), _read(y, "y", metric)
        if x.shape[1] != y.shape[1]:
            raise InvalidInput(f"x and y must have the same coordinates; got shapes {x.shape} and {y.shape}")
        if len(x) + len(y) > MAX_VERTICES:
            raise InvalidInput(f"x and y must be at most {MAX_VERTICES} points; got {len(x)} and {len(y)}")
        lowest, highest = _range_of(box_of_x, box_of_y, metric, p)
        try:
            refuse_overflow(lowest, highest, self.dtype, min(len(x), len(y)))
        except InvalidInput:
            raise InvalidInput(
                f"sums of what these points cost could overflow float64: a pair can cost {highest}; scale the points "
                "down by a power of two"
            ) from None
        cost_limit = None if cost_limit is None else number_of(cost_limit, self.dtype, maximize)
        if maximize:
            lowest, highest = -highest, -lowest
        vars(self).update(
            given=(x, y), lies_on=lies_on, metric=metric, p=p, shape=(len(x), len(y)), maximize=maximize,
            cost_limit=cost_limit, limit=cost_limit if cost_limit is None or not maximize else -cost_limit,
            lowest=lowest, highest=highest,
            whole=x_is_whole and y_is_whole and max(-lowest, highest) < MOST_WHOLE,
        )  # fmt: skip

    @cached_property
    def x(self) -> Any:
        return _as_float64(self.given[0])

    @cached_property
    def y(self) -> Any:
        return _as_float64(self.given[1])

    def __repr__(self) -> str:
        rows, columns = self.shape
        wanted = "most" if self.maximize else "least"
        limit = "" if self.cost_limit is None else f", limit {self.cost_limit}"
        p = "" if self.p is None else f" of p = {self.p}"
        return f"<PointCosts of {rows} and {columns} points in {self.coordinates}-D, {self.metric}{p}, {wanted}{limit}>"

    def suit_trees(self) -> bool:
        """Whether the cheapest assignment is found without the matrix."""
        if self.coordinates > MOST_COORDINATES:
            return False
        if self.p is None:
            return True
        # A sum of powers below 2**-960 has lost digits, see Minkowski in csrc/points/metrics.hpp. Its root must be
        # below the rounding of the largest distance, 2**-50 of it.
        lost, largest = self.coordinates * 2.0 ** (-960 / self.p), max(-self.lowest, self.highest)
        return lost <= largest * 2.0**-50 and largest <= MOST_SQUARED

    def for_trees(self) -> PointCosts:
        """Points that suit trees, of which the least cost is wanted: pairs cost what these do in the minimisation form.

        To maximize x y is to minimize (-x) y.
        """
        if not self.maximize:
            return self
        other = self.with_points(-self.x, self.y) if self.metric in ("dot", "cosine") else self.with_points(*self.given)
        vars(other).update(metric=MAXIMIZED[self.metric], maximize=False, cost_limit=None)
        return other

    @property
    def coordinates(self) -> int:
        """How many coordinates a point has."""
        return int(self.given[0].shape[1])

    @property
    def unit(self) -> float:
        """Costs are differences of numbers of this size, and rounded as these are, however small they are."""
        return 1.0 if self.metric in ("cosine", "dot less 1") else 0.0

    def turned(self) -> PointCosts:
        """With x and y in each other's place; views."""
        return self.with_points(*self.given[::-1])

    def with_points(self, x: Any, y: Any) -> PointCosts:
        """Other points with this metric, none of them farther out."""
        other = object.__new__(PointCosts)
        made = {name: value for name, value in vars(self).items() if name not in ("x", "y")}
        vars(other).update(made, given=(x, y), shape=(len(x), len(y)))
        return other

    def some(self, rows: Any, columns: Any) -> PointCosts:
        """Some of the points, by their numbers; copies."""
        return self.with_points(self.x[rows], self.y[columns])

    def may_pair(self, rows: Any, columns: Any) -> Any:
        """Which pairs are not forbidden: all."""
        return np.ones(len(rows), np.bool_)

    def of_pairs(self, rows: Any, columns: Any) -> Any:
        """What pairs cost: a float64 array of the shape that the indices broadcast to."""
        shape = np.broadcast_shapes(np.shape(rows), np.shape(columns))
        total = np.zeros(shape)
        for k in range(self.x.shape[1]):
            x, y = self.x[rows, k], self.y[columns, k]
            if self.metric in ("dot", "cosine"):
                total += x * y
                continue
            t = x - y
            if self.metric in ("sqeuclidean", "euclidean"):
                total += t * t
            elif self.metric == "cityblock":
                total += abs(t)
            elif self.metric == "chebyshev":
                np.maximum(total, abs(t), out=total)
            else:
                total += abs(t) ** self.p
        if self.metric == "euclidean":
            return np.sqrt(total)
        if self.metric == "minkowski":
            assert self.p is not None
            return total ** (1 / self.p)
        if self.metric in ("dot", "cosine"):
            return (self.metric == "cosine") - total
        return total

    def as_dense(self) -> DenseCosts:
        """The matrix, of float64; O(n m) time and memory.

        Raises
        ------
        InvalidInput
            If it takes more than 2 GB.
        """
        rows, columns = self.shape
        if 8 * rows * columns > MOST_MATRIX:
            raise InvalidInput(
                "points are matched without their matrix by method='auto', without deterministic=True; the "
                f"matrix would take {8 * rows * columns} bytes, more than {MOST_MATRIX}; leave such options out, or "
                "make it yourself, in a smaller type, and give that to lap"
            )
        matrix = np.empty(self.shape)
        step = max(1, BLOCK // max(columns, 1))
        for first in range(0, rows, step):
            block = np.arange(first, min(first + step, rows))
            matrix[block] = self.of_pairs(block[:, None], np.arange(columns))
        return DenseCosts(matrix, maximize=self.maximize, cost_limit=self.cost_limit)


def points_of(cost: PointCosts, **options: Any) -> PointCosts:
    """The costs themselves; refused beside options that they have of their own, or that are for matrices."""
    given = [name for name, option in options.items() if option is not None and option is not False]
    if given:
        raise InvalidInput(
            f"a PointCosts has its own maximize and cost_limit, and takes no sizes, mask and forbid_nan; got {given[0]}"
            "; give maximize and cost_limit to PointCosts(x, y, ...) instead"
        )
    return cost


def look_like_points(cost: Any) -> bool:
    """Whether a sequence of two matrices may be meant for two clouds: few columns, the same ones, and many rows."""
    if type(cost) not in (list, tuple) or len(cost) != 2:
        return False
    try:
        (rows, columns), (others, as_many) = cost[0].shape, cost[1].shape
        return bool(1 <= columns == as_many and min(rows, others) >= 8 * columns)
    except Exception:  # a user's class raised; the code that reads the costs says what is wrong
        return False


def warn_of_points(cost: Any, frames: int = 5) -> None:
    """Warns the caller of `lap`, who is that many frames away, if two matrices may be meant for two clouds.

    On the short way of batches and on the long way the caller is five frames away.
    """
    if look_like_points(cost):
        warnings.warn(TWO_CLOUDS, stacklevel=frames)


def _metric_of(metric: Any, p: Any) -> tuple[str, float | None]:
    if not isinstance(metric, str) or metric not in METRICS:
        raise InvalidInput(f"metric must be one of {', '.join(map(repr, METRICS))}; got {metric!r}")
    if metric != "minkowski":
        if p is not None:
            raise InvalidInput(f"p is for metric 'minkowski'; got p={p!r} for {metric!r}")
        return metric, None
    if isinstance(p, bool) or not isinstance(p, int | float | np.number) or not p >= 1:
        raise InvalidInput(f"metric 'minkowski' needs a number p, at least 1; got {p!r}")
    p = float(p)
    return (NAMES_OF_P[p], None) if p in NAMES_OF_P else (metric, p)


def _read(array: Any, name: str, metric: str) -> tuple[Any, bool, Box | None]:
    """The points as a problem keeps them, whether their costs are whole numbers, and their box; None for "cosine"."""
    with beside(array):
        points = _points_of(array, name)
        if metric == "cosine":
            return _of_length_one(points, name), False, None
        return points, metric not in WITH_ROOTS and _are_whole(points), _box_of(points)


def _points_of(array: Any, name: str) -> Any:
    """The points as floats in C order that hold exactly what was given, on its device; itself if it has such points.

    Floats keep their type, in the byte order of the machine. Other numbers become float64.
    """
    if array.ndim != 2 or array.shape[1] == 0:
        advice = f"; of numbers on a line use {name}.reshape(-1, 1)" if array.ndim == 1 and array.size else ""
        raise InvalidInput(f"{name} must be points, an array of shape (points, coordinates); got {array.shape}{advice}")
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise InvalidInput(
            f"{name} must hold real numbers: bool, integers, or float16 to float64; got {array.dtype}; use "
            f"{name}.astype(np.float64)"
        )
    if array.dtype.kind in "iu" and array.size and max(-int(array.min()), int(array.max())) > EXACT_IN_FLOAT64:
        raise InvalidInput(
            f"{name} must hold integers of magnitude at most 2**53, which float64 holds exactly; got {array.min()} to "
            f"{array.max()}; subtract a common offset from x and y, or use {name}.astype(np.float64)"
        )
    dtype = array.dtype.newbyteorder("=") if array.dtype.kind == "f" else np.dtype(np.float64)
    xp = namespace(array)
    points = xp.ascontiguousarray(array, dtype)
    for some in blocks_of(points.shape, device_of(points)):
        is_finite = xp.isfinite(points[some])
        if not is_finite.all():
            row, column = (int(numbers[0]) for numbers in (~is_finite).nonzero())
            place = some.start + row, column
            raise InvalidInput(f"{name} must hold finite coordinates; {name}{list(place)} is {points[place]}")
    return points


def _as_float64(points: Any) -> Any:
    return np.ascontiguousarray(to_host(points), np.float64)


def _are_whole(points: Any) -> bool:
    """Whether all coordinates are whole numbers. The first points mostly say that they are not."""
    xp = namespace(points)
    return all(
        bool((points[some] == xp.rint(points[some])).all()) for some in blocks_of(points.shape, device_of(points))
    )


def _of_length_one(points: Any, name: str) -> Any:
    xp, points = namespace(points), points.astype(np.float64, copy=False)
    squares = xp.zeros(len(points))
    with np.errstate(over="ignore"):
        for k in range(points.shape[1]):
            squares += points[:, k] * points[:, k]
    # A denormal sum has too few digits, and an infinite one none.
    wrong = to_host((~((squares >= np.finfo(np.float64).tiny) & (squares < np.inf))).nonzero()[0])
    if len(wrong):
        raise InvalidInput(
            f"metric 'cosine' needs points whose squared length is a normal float64; {name}[{int(wrong[0])}] has "
            f"{squares[wrong[0]]}"
        )
    return points / xp.sqrt(squares)[:, None]


def _box_of(points: Any) -> Box | None:
    """The least and the largest of each coordinate: float64 arrays of the host, shape (d,). None without points."""
    if not len(points):
        return None
    least, largest = (to_host(ends).astype(np.float64) for ends in (points.min(axis=0), points.max(axis=0)))
    return least, largest


def _range_of(x: Box | None, y: Box | None, metric: str, p: float | None) -> tuple[float, float]:
    """Bounds of what a pair costs, from the boxes of both clouds."""
    if metric == "cosine":
        return -1.0, 3.0  # with room for rounding
    if x is None or y is None:
        return 0.0, 0.0
    with np.errstate(over="ignore"):
        if metric == "dot":
            of_x, of_y = (np.maximum(-least, largest) for least, largest in (x, y))
            most = float((of_x * of_y).sum())
            return -most, most
        widths = np.maximum(x[1] - y[0], y[1] - x[0])
        if metric in ("cityblock", "chebyshev"):
            return 0.0, float(widths.sum() if metric == "cityblock" else widths.max())
        # Squares and powers must not overflow, even if a root is drawn of their sum.
        power = 2.0 if p is None else p
        total = float((widths**power).sum())
        return 0.0, total if metric == "sqeuclidean" or total == math.inf else total ** (1 / power)
