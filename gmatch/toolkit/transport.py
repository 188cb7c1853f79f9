"""`transport`: whole supplies to whole demands, as an assignment with a row or a column for each unit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse

from ..arrays import as_dense_array, exact_sum, to_host, truth_of
from ..assignment.lap import lap
from ..assignment.pairs import refuse_large
from ..backends import refuse_gpu
from ..errors import Infeasible, InvalidInput
from ..problems.costs import costs_of
from ..problems.dense import DenseCosts
from ..problems.limits import blocks_of, minimised, refuse_overflow
from ..problems.sparse import SparseCosts
from ..proof.verify import verify
from ..toolkit_result import Transport

# Entries of the repeated costs: a GB in float64.
MOST_ENTRIES = 1 << 27
# The amounts of a side must sum up to less: int64 then holds the sum of both sides.
LARGEST_SUM = 2**62


def transport(
    cost: Any,
    supply: Any,
    demand: Any,
    *,
    maximize: bool = False,
    forbid_nan: bool = False,
    threads: int | None = None,
    device: str | None = None,
    certify: bool = False,
) -> Transport:
    """The cheapest way to bring whole supplies to whole demands, with its proof (the transportation problem).

    Parameters
    ----------
    cost : array or sparse matrix, shape (rows, columns)
        What a unit costs from each row to each column, as for `gmatch.lap`. The stored entries of a sparse matrix are
        the only allowed routes; +inf forbids a route (-inf when maximizing). Of a `PointCosts` the matrix is made.
        Never changed.
    supply : integer array, shape (rows,)
        How much each row has, 0 or more.
    demand : integer array, shape (columns,)
        How much each column takes, 0 or more. The smaller of both sums is brought.
    maximize : bool
        Find the way of the largest sum instead.
    forbid_nan : bool
        NaN forbids its route; otherwise it is refused.
    threads : int, optional
        Host threads, as for `gmatch.lap`.
    device : {None, "cpu"}
        The work is done on the host, and costs on a GPU are moved there; ``"gpu"`` is refused.
    certify : bool
        Also run `gmatch.verify` on the result.

    Returns
    -------
    Transport

    Raises
    ------
    InvalidInput
        If the costs, the supplies or the demands are not valid; or if there are too many units: supply times demand,
        in units, must be at most 2**27, the entries of a matrix with a row and a column for each unit. A unit is the
        greatest common divisor of all amounts. Integer costs beyond about 2**56 are refused if their sums could
        overflow.
    Infeasible
        If forbidden routes leave no way; with a witness in rows and columns. The witness's vertices of the side with
        the smaller sum may only go with the witness's vertices of the other side, whose sum is too small.
    CertificateError
        If `certify` finds the result wrong: a defect of gmatch.

    Notes
    -----
    Rows and columns are repeated for each unit, and assigned. Equal rows have equal duals, which prove the whole. Time
    and memory are the time and memory of `lap` with a row and a column for each unit: for supplies of some tens of
    units, not of thousands. POT's ``ot.emd`` is faster, and takes masses that are not whole, but proves nothing. This
    answer is its answer times the sum of masses.

    Examples
    --------
    >>> result = gmatch.transport([[4, 1, 3], [2, 6, 5]], supply=[3, 2], demand=[2, 2, 1])
    >>> result.cost, result.flow.toarray().tolist()
    (9, [[0, 2, 1], [2, 0, 0]])
    """
    refuse_gpu("gmatch.transport", device)
    costs = costs_of(cost, truth_of("maximize", maximize), None, forbid_nan).widened().on("cpu")
    if costs.cost_limit is not None:
        raise InvalidInput("transport brings all that can be brought; give costs without a cost_limit")
    sides = [
        _amounts(name, given, length)
        for name, given, length in (("supply", supply, costs.shape[0]), ("demand", demand, costs.shape[1]))
    ]
    unit = math.gcd(*sides[0].tolist(), *sides[1].tolist()) or 1
    numbers = [amounts // unit for amounts in sides]
    if max(int(side.sum()) for side in numbers) > MOST_ENTRIES:
        raise _too_many(f"a side has {max(int(side.sum()) for side in numbers)}")
    rows, columns = (np.repeat(np.arange(len(side)), side) for side in numbers)
    if costs.dual_type is np.float64:
        refuse_overflow(costs.lowest, costs.highest, costs.dtype, unit * (len(rows) + len(columns)))
    try:
        units = lap(_repeated(costs, numbers, rows, columns), maximize=costs.maximize, threads=threads)
    except Infeasible as error:
        raise _infeasible(error, rows, columns, unit) from None
    refuse_large(costs, units)
    pairs = np.stack([rows[units.row_ind], columns[units.col_ind]])
    _, first, amounts = np.unique(pairs[0] * np.int64(costs.shape[1]) + pairs[1], return_index=True, return_counts=True)
    amounts, entries = amounts.astype(np.int64) * unit, units.pair_costs[first]
    u, v = _duals(costs, units, rows, columns)
    result = Transport(
        pairs[0, first], pairs[1, first], amounts, _total(entries, amounts), u, v, costs.shape, costs.maximize,
        costs.forbid_nan,
    )  # fmt: skip
    if truth_of("certify", certify):
        verify((costs, *sides), result)
    return result


def _amounts(name: str, given: Any, length: int) -> Any:
    array = to_host(as_dense_array(given, name))
    if array.shape != (length,) or length and array.dtype.kind not in "iub":
        raise InvalidInput(
            f"{name} must be {length} whole numbers in an integer array of shape ({length},); got {array.dtype} of "
            f"shape {array.shape}"
        )
    if length and int(array.min()) < 0:
        place = int(array.argmin())
        raise InvalidInput(f"{name} must be 0 or more; {name}[{place}] is {array[place]}")
    if sum(array.tolist()) >= LARGEST_SUM:
        raise InvalidInput(f"{name} must sum up to less than {LARGEST_SUM}; got {sum(array.tolist())}")
    return array.astype(np.int64)


def _too_many(what: str) -> InvalidInput:
    return InvalidInput(
        f"there are too many units to assign each: {what}, after division by the greatest common divisor of all "
        f"amounts, and the costs of all pairs of units must be at most {MOST_ENTRIES} entries; round amounts to "
        "multiples of a greater number, or use a network simplex, such as POT's ot.emd"
    )


def _repeated(costs: DenseCosts | SparseCosts, sides: list[Any], rows: Any, columns: Any) -> Any:
    """The costs of each unit of supply for each unit of demand."""
    if isinstance(costs, DenseCosts):
        if len(rows) * len(columns) > MOST_ENTRIES:
            raise _too_many(f"{len(rows)} * {len(columns)} pairs")
        repeated = np.empty((len(rows), len(columns)), costs.matrix.dtype)
        for some in blocks_of(repeated.shape, "cpu"):  # Ctrl-C is answered between blocks
            repeated[some] = costs.matrix[rows[some]][:, columns]
        return repeated
    row_of, column_of, _ = costs.triples()
    entries = sum((sides[0][row_of] * sides[1][column_of]).tolist())
    if entries > MOST_ENTRIES:
        raise _too_many(f"{entries} allowed pairs")
    matrix = scipy.sparse.coo_array((costs.data, (row_of, column_of)), shape=costs.shape).tocsr()
    lengths = np.bincount(row_of, sides[1][column_of], costs.shape[0]).astype(np.int64)
    ends = np.append(0, np.cumsum(lengths[rows]))
    indices, data = np.empty(entries, np.int32), np.empty(entries, matrix.dtype)
    for some in blocks_of((len(rows), int(lengths.max(initial=1))), "cpu"):
        part, here = matrix[rows[some]][:, columns], slice(ends[some.start], ends[some.stop])
        indices[here], data[here] = part.indices, part.data
    return scipy.sparse.csr_array((data, indices, ends), shape=(len(rows), len(columns)))


def _infeasible(error: Infeasible, rows: Any, columns: Any, unit: int) -> Infeasible:
    """The error, with the witness in rows and columns as given."""
    sides = np.unique(rows[error.rows]), np.unique(columns[error.columns])
    by_rows = len(rows) <= len(columns)
    units = unit * len(error.rows), unit * len(error.columns)
    many, few = (0, 1) if by_rows else (1, 0)
    names = "rows", "columns"
    return Infeasible(
        f"forbidden routes leave no way: {units[many]} units of the error's {len(sides[many])} {names[many]} may only "
        f"go with the {units[few]} units of its {len(sides[few])} {names[few]}",
        *sides,
    )


def _total(entries: Any, amounts: Any) -> int | float:
    """What all units cost: exactly for integers."""
    if entries.dtype.kind == "i":
        return exact_sum(entries.astype(object) * amounts)
    return exact_sum(entries.astype(np.float64) * amounts)


def _duals(costs: DenseCosts | SparseCosts, units: Any, rows: Any, columns: Any) -> tuple[Any, Any]:
    """Equal units have duals that are equal up to rounding; vertices without units have the greatest possible ones."""
    far = 2**62 if costs.dual_type is np.int64 else np.inf
    duals = [np.full(length, far, costs.dual_type) for length in costs.shape]
    for side, of_units, numbers in ((0, units.u, rows), (1, units.v, columns)):
        np.minimum.at(duals[side], numbers, of_units.astype(costs.dual_type))
    for side, may_be_left in ((0, len(rows) > len(columns)), (1, len(columns) > len(rows))):
        missing = (duals[side] == far).nonzero()[0]
        if len(missing):
            most = _greatest_duals(costs, missing, duals[1 - side], side)
            most[most == far] = 0
            duals[side][missing] = np.minimum(most, 0) if may_be_left else most
    return duals[0], duals[1]


def _greatest_duals(costs: DenseCosts | SparseCosts, missing: Any, others: Any, side: int) -> Any:
    """The greatest duals of some vertices of a side beside the known duals of the other side."""
    far = 2**62 if others.dtype == np.int64 else np.inf
    most = np.full(len(missing), far, others.dtype)
    if isinstance(costs, DenseCosts):
        matrix, known = costs.matrix.T if side else costs.matrix, (others != far).nonzero()[0]
        for some in blocks_of((len(missing), len(others)), "cpu"):
            entries = matrix[missing[some]][:, known]
            slack = minimised(entries, costs.dual_type, costs.maximize, None) - others[known]
            most[some] = slack.min(axis=1, initial=far, where=costs.is_allowed(entries))
        return most
    *ends, values = costs.triples()
    number = np.full(costs.shape[side], -1)
    number[missing] = np.arange(len(missing))
    kept = (number[ends[side]] >= 0) & (others[ends[1 - side]] != far) & (values < np.inf)
    slack = minimised(costs.data[kept], costs.dual_type, costs.maximize, None) - others[ends[1 - side][kept]]
    np.minimum.at(most, number[ends[side][kept]], slack)
    return most
