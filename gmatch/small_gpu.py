"""`lap` for a small matrix on a GPU: a batch of one problem. One block checks it and solves it in one launch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import _native
from .arrays import beside, device_of, mover_to, places_of
from .methods import MOST_ROWS_OF_A_BLOCK, ONE_BLOCK_REASON
from .problems.limits import number_of
from .result import STEPS, Assignment, Status
from .types import WORKING_TYPES

if TYPE_CHECKING:
    from .backends.protocol import AssignedBatch

# Options of `lap` with which a small matrix takes the short way, as in `small.OPTIONS_OF_SMALL`. A limit may have any
# value here; `_is_simple` looks at it.
OPTIONS_OF_ONE_BLOCK: dict[str, Any] = {
    "maximize": (False, 0, True, 1),
    "method": ("auto", 0), "initial": ("auto", 0), "duals": (None, 0), "cost_limit": None,
    "deterministic": (False, 0), "ties": (None, 0), "forbid_nan": (False, 0, True, 0),
    "infeasible": ("raise", 0, "partial", 0), "device": (None, 0, "gpu", 0), "threads": (None, 0),
    "certify": (False, 0), "sizes": (None, 0), "mask": (None, 0), "top_nodes": (None, 0), "gap": (None, 0),
}  # fmt: skip
# The most columns: with more than `backends.gpu.MOST_SEARCHERS` a thread of the block would have two of them.
MOST_COLUMNS = 320


def small_on_gpu_first(cost: Any, options: dict[str, Any]) -> Assignment | None:
    """The answer for a small matrix of CuPy; None: the long way, which also says what is wrong with costs."""
    if device_of(cost) != "gpu" or cost.ndim != 2 or cost.dtype not in WORKING_TYPES:
        return None
    fewer, more = sorted(cost.shape)
    if not 0 < fewer <= MOST_ROWS_OF_A_BLOCK or more > MOST_COLUMNS:
        return None
    bits = _native.bits_of_options(OPTIONS_OF_ONE_BLOCK, options)
    if bits is None:
        return None
    maximize, cost_limit = bool(bits), options.get("cost_limit")
    if cost_limit is not None:
        cost_limit = number_of(cost_limit, cost.dtype, maximize)
    if not _is_simple(cost_limit, cost.dtype):
        return None
    limit = -cost_limit if maximize and cost_limit is not None else cost_limit
    found = assign_one(cost, maximize, limit)
    return None if found is None else _assignment(found, maximize, cost_limit)


def _is_simple(cost_limit: int | float | None, dtype: Any) -> bool:
    """Whether the program takes the limit as it is. For integers it is an int in the range of int32: sums are short."""
    if cost_limit is None or dtype.kind == "f":
        return True
    return type(cost_limit) is int and -(2**31) < cost_limit < 2**31


def assign_one(cost: Any, maximize: bool, limit: int | float | None) -> AssignedBatch | None:
    """`gpu.assign_one`, which imports CuPy."""
    from .backends import gpu

    return gpu.assign_one(cost, maximize, limit)


def _assignment(found: AssignedBatch, maximize: bool, cost_limit: int | float | None) -> Assignment:
    row_match, col_match, u, v, _, read_counters = found
    result = Assignment.later(_field, _pairs, (found,))
    vars(result).update(
        row_match=row_match, col_match=col_match, u=u, v=v, maximize=maximize, cost_limit=cost_limit,
        status=Status.LIMITED if read_counters()["dropped"] else Status.OPTIMAL,
    )  # fmt: skip
    return result


def _all_rows_have_pairs(found: AssignedBatch) -> bool:
    return len(found.row_match) <= len(found.col_match) and not found.read_counters()["dropped"]


def _field(name: str, found: AssignedBatch) -> Any:
    if name == "pair_costs":
        return found.pair_costs if _all_rows_have_pairs(found) else found.pair_costs[found.row_match >= 0]
    if name == "stats":
        counters = found.read_counters()
        seconds = {step: counters.pop(f"{step}_ns") / 1e9 for step in STEPS} | {"ties": 0.0}
        del counters["dropped"]
        start = {"method": "jv", "initial": "reduce", "backend": "gpu", "seconds": seconds}
        return start | counters | {"reason": ONE_BLOCK_REASON}
    if name == "exact":
        return None
    raise AttributeError(name)


def _pairs(found: AssignedBatch) -> tuple[Any, Any]:
    row_match = found.row_match
    if _all_rows_have_pairs(found):  # to look for the others would take 200 us
        with beside(row_match):
            return mover_to("gpu")(np.arange(len(row_match))), row_match.copy()
    rows = places_of(row_match >= 0)
    return rows, row_match[rows]
