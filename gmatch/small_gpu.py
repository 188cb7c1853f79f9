"""`lap` for a small matrix on a GPU: a batch of one problem. One block checks it and solves it in one launch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import _native
from .arrays import beside, device_of, mover_to, places_of
from .methods import MOST_ROWS_OF_A_BLOCK, ONE_BLOCK_REASON
from .result import STEPS, Assignment, Status
from .types import WORKING_TYPES

if TYPE_CHECKING:
    from .backends.protocol import AssignedBatch

# The options of `lap` that leave the cheapest pairs as they are, and `maximize`; see `small.OPTIONS_OF_SMALL`.
OPTIONS_OF_ONE_BLOCK: dict[str, Any] = {
    "maximize": (False, 0, True, 1),
    "method": ("auto", 0), "initial": ("auto", 0), "duals": (None, 0), "cost_limit": (None, 0),
    "deterministic": (False, 0), "ties": (None, 0), "forbid_nan": (False, 0, True, 0),
    "infeasible": ("raise", 0, "partial", 0), "device": (None, 0, "gpu", 0), "threads": (None, 0),
    "certify": (False, 0), "sizes": (None, 0), "mask": (None, 0), "top_nodes": (None, 0), "gap": (None, 0),
}  # fmt: skip
# The most columns: up to as many, a thread of the block has one, as `backends.gpu.MOST_SEARCHERS` says.
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
    found = assign_one(cost, bool(bits))
    return None if found is None else _assignment(found, bool(bits))


def assign_one(cost: Any, maximize: bool) -> AssignedBatch | None:
    """`gpu.assign_one`, which imports CuPy."""
    from .backends import gpu

    return gpu.assign_one(cost, maximize)


def _assignment(found: AssignedBatch, maximize: bool) -> Assignment:
    row_match, col_match, u, v, _, _ = found
    result = Assignment.later(_field, _pairs, (found,))
    vars(result).update(row_match=row_match, col_match=col_match, u=u, v=v, status=Status.OPTIMAL, maximize=maximize)
    return result


def _field(name: str, found: AssignedBatch) -> Any:
    if name == "pair_costs":
        is_complete = len(found.row_match) <= len(found.col_match)
        return found.pair_costs if is_complete else found.pair_costs[found.row_match >= 0]
    if name == "stats":
        counters = found.read_counters()
        seconds = {step: counters.pop(f"{step}_ns") / 1e9 for step in STEPS} | {"ties": 0.0}
        start = {"method": "jv", "initial": "reduce", "backend": "gpu", "seconds": seconds}
        return start | counters | {"reason": ONE_BLOCK_REASON}
    if name == "exact":
        return None
    raise AttributeError(name)


def _pairs(found: AssignedBatch) -> tuple[Any, Any]:
    row_match = found.row_match
    if len(row_match) <= len(found.col_match):  # all rows have a pair; to look for free ones would take 200 us
        with beside(row_match):
            return mover_to("gpu")(np.arange(len(row_match))), row_match.copy()
    rows = places_of(row_match >= 0)
    return rows, row_match[rows]
