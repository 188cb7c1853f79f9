"""The proof of a transport: amounts that add up to supplies and demands, and duals whose sum is the cost."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import as_dense_array, exact_sum, to_host
from ..errors import CertificateError, InvalidInput
from ..problems.costs import costs_of
from ..problems.dense import DenseCosts
from ..problems.sparse import SparseCosts
from ..toolkit_result import Transport, TransportCertificate
from .entries import blocks_of_entries, least_of_rows, values_of
from .matching import arrays_of


def verify_transport(problem: Any, result: Transport) -> TransportCertificate:
    """As `gmatch.verify`; O(rows * columns) time in blocks, or O(rows + columns + entries) for sparse costs."""
    if not isinstance(problem, tuple | list) or len(problem) != 3:
        raise InvalidInput("the problem of a transport is a tuple: (cost, supply, demand)")
    cost, supply, demand = problem
    if isinstance(cost, DenseCosts | SparseCosts):
        costs = cost.on("cpu")
    else:
        costs = costs_of(cost, result.maximize, None, result.forbid_nan).on("cpu")
    if costs.maximize != result.maximize or costs.shape != result.shape or costs.cost_limit is not None:
        raise CertificateError("the transport is for costs of another shape, or for another maximize or cost_limit")
    sides = _amounts("supply", supply, costs.shape[0]), _amounts("demand", demand, costs.shape[1])
    sums = tuple(int(side.sum()) for side in sides)
    routes = arrays_of(np, result, "rows", "columns", "amounts")
    _check_amounts(routes, sides, sums, costs.shape)
    values = _checked_costs(costs, routes, result)
    u, v, tolerance = _checked_duals(costs, result, sides)
    if sums[0] > sums[1]:
        u = np.minimum(u, 0)
    if sums[1] > sums[0]:
        v = np.minimum(v, 0)
    u = np.minimum(u, least_of_rows(np, costs, v))
    gap = _total(values, routes[2]) - _total(u, sides[0]) - _total(v, sides[1])
    if not gap <= tolerance:
        raise CertificateError(f"the duals leave a gap of {gap}, more than the tolerance {tolerance}")
    return TransportCertificate(result.cost, max(gap, type(gap)(0)), tolerance)


def _amounts(name: str, given: Any, length: int) -> Any:
    amounts = to_host(as_dense_array(given, name))
    if amounts.shape != (length,) or length and (amounts.dtype.kind not in "iub" or int(amounts.max()) >= 2**63):
        raise InvalidInput(f"{name} must be {length} integers; got {amounts.dtype} of shape {amounts.shape}")
    return amounts.astype(np.int64)


def _total(values: Any, amounts: Any) -> int | float:
    if values.dtype.kind == "i":
        return exact_sum(values.astype(object) * amounts)
    used = amounts != 0  # a row without routes has an infinite minimum
    return exact_sum(values[used].astype(np.float64) * amounts[used])


def _check_amounts(routes: list[Any], sides: tuple[Any, Any], sums: tuple[int, ...], shape: tuple[int, int]) -> None:
    rows, columns, amounts = routes
    if any(array.dtype.kind != "i" or len(array) != len(rows) for array in routes):
        raise CertificateError("rows, columns and amounts must hold an integer for each route")
    for side, numbers, length in (("rows", rows, shape[0]), ("columns", columns, shape[1])):
        if len(numbers) and not (0 <= int(numbers.min()) and int(numbers.max()) < length):
            raise CertificateError(f"{side} of routes must be from 0 to {length - 1}")
    if len(amounts) and int(amounts.min()) < 1:
        raise CertificateError("amounts must be 1 or more")
    if sum(amounts.tolist()) != min(sums):
        raise CertificateError(f"{sum(amounts.tolist())} units are brought, not {min(sums)}")
    for side, numbers, bound in (("row", rows, sides[0]), ("column", columns, sides[1])):
        brought = np.zeros(len(bound), np.int64)
        np.add.at(brought, numbers, amounts)
        over = (brought > bound).nonzero()[0]
        if len(over):
            place = int(over[0])
            raise CertificateError(f"{brought[place]} units go by {side} {place}, more than its {bound[place]}")


def _checked_costs(costs: DenseCosts | SparseCosts, routes: list[Any], result: Transport) -> Any:
    """What a unit costs by each route, in the minimisation form. Raises if a route is forbidden or the sum is wrong."""
    places = routes[0] * np.int64(costs.shape[1]) + routes[1]
    if bool((np.diff(places) <= 0).any()):
        raise CertificateError("routes must differ, in the order of rows, then of columns")
    entries, found = np.zeros(len(places), costs.dtype), np.zeros(len(places), np.bool_)
    for rows, columns, block in blocks_of_entries(costs) if len(places) else ():
        here = np.broadcast_to(rows * np.int64(costs.shape[1]) + columns, block.shape)
        near = np.searchsorted(places, here).clip(0, len(places) - 1)
        hits = (places[near] == here).nonzero()
        entries[near[hits]], found[near[hits]] = block[hits], True
    values = values_of(costs, entries)
    if not bool(found.all()) or bool((values == np.inf).any()):
        raise CertificateError("a route is used that is not allowed")
    if _total(entries, routes[2]) != result.cost:
        raise CertificateError(f"the cost is {_total(entries, routes[2])}, not {result.cost}")
    return values


def _checked_duals(
    costs: DenseCosts | SparseCosts, result: Transport, sides: tuple[Any, Any]
) -> tuple[Any, Any, int | float]:
    u, v = arrays_of(np, result, "u", "v")
    largest: Any = max(-costs.lowest, costs.highest)
    magnitudes = [largest]
    for name, dual, length in (("u", u, costs.shape[0]), ("v", v, costs.shape[1])):
        if dual.shape != (length,) or dual.dtype != costs.dual_type or not bool(np.isfinite(dual).all()):
            raise CertificateError(
                f"{name} must hold {length} finite duals of type {np.dtype(costs.dual_type)}; got {dual.dtype} of "
                f"shape {dual.shape}"
            )
        magnitudes += [max(-dual.min().item(), dual.max().item())] if length else []
    if costs.dual_type is np.int64:
        if sum(magnitudes) >= 2**62:
            raise CertificateError("the duals are too large: their sums could overflow int64")
        return u, v, 0
    units = int(sides[0].sum() + sides[1].sum())
    if max(magnitudes) > 8 * (units + sum(costs.shape)) * largest:
        raise CertificateError("the duals are too large for costs of this range: float64 would round these away")
    return u, v, 64 * float(np.finfo(np.float64).eps) * units * max(magnitudes)
