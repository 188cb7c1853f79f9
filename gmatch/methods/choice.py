"""Which method of assignment ``"auto"`` takes, and why."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidInput, did_you_mean
from .assignment import (
    ASSIGNMENT_BY_NAME,
    JV,
    KINDS_OF_METHODS,
    AssignmentMethod,
    Classical,
    Core,
    SerialCore,
    SparseJV,
    SparseTree,
    TiedCore,
    Tree,
)
from .method import as_called, does_not_solve

if TYPE_CHECKING:
    from ..problems.dense import DenseCosts

# Made once, and with them their names.
_JV, _SPARSE_JV, _TREE, _SPARSE_TREE = JV(), SparseJV(), Tree(), SparseTree()
_CORE, _SERIAL_CORE = Core(), SerialCore()
_TREE_FIRST, _CLASSICAL_FIRST = TiedCore("tree"), TiedCore("classical")


def batch_method_of(
    method: str | AssignmentMethod, device: str, most_columns: int, largest: Callable[[], DenseCosts] | None = None
) -> tuple[AssignmentMethod, str]:
    """As `assignment_method_of`, for a batch of at most `most_columns` columns each. `largest()` is one of them."""
    auto = _auto_of_batch_on_gpu if device == "gpu" else _auto_of_batch_on_cpu
    return _method_of(method, device, "batch", partial(auto, most_columns, largest))


def _auto_of_batch_on_gpu(*_: Any) -> tuple[AssignmentMethod, str]:
    return _JV, "a batch: one block of a GPU finds the paths of a problem one after the other"


def _auto_of_batch_on_cpu(most_columns: int, largest: Callable[[], DenseCosts] | None) -> tuple[AssignmentMethod, str]:
    if largest is not None and most_columns >= min(FEW_ROWS_ON_CPU.values()):
        return _cpu_method_of(largest())
    return _JV, ONE_CORE_REASON


# Integer costs tie if their range is at most 0.7 (GPU: 0.4) times the number of rows. Many paths are then equally long.
FEW_VALUES = {"cpu": 0.7, "gpu": 0.4}


# Below 1/32 value for each row, lists of tied entries overflow, and the classical variant reads whole rows.
FEWEST_VALUES = 1 / 32


# Below these values for each row, bids of the free rows win little. The classical variant then begins with its lists.
FEW_VALUES_FOR_BIDS: dict[type, float] = {Tree: 0.4, Classical: 2}


# A problem of fewer than 256 rows is solved by the search before pricing and an auction are done. A square problem with
# 4 or more values of costs for each row: of fewer than 128 rows.
FEW_ROWS, MANY_VALUES = 256, 4


# A problem of at most 127 rows takes less time if one block of a GPU finds its paths one after the other (`JV`). Larger
# ones take `Tree`, `Classical` or `Core`: benchmarks/log/gpu_calls.md, "A small matrix is a batch of one problem".
MOST_ROWS_OF_A_BLOCK = 127


ONE_BLOCK_REASON = "few rows and columns: one block of a GPU finds the paths one after the other"


def values_per_row(costs: DenseCosts) -> float:
    """The range of integer costs over the number of rows; infinite for other costs."""
    if not costs.whole:
        return math.inf
    return (costs.highest - costs.lowest) / max(1, min(costs.shape))


def bids_pay(method: AssignmentMethod, costs: DenseCosts | None = None) -> bool:
    """Whether it is best to start from bids. None stands for costs that are not read first, such as a batch."""
    if costs is None:
        return isinstance(method, Tree)
    return values_per_row(costs) > FEW_VALUES_FOR_BIDS.get(type(method), math.inf)


def _gpu_method_of(costs: DenseCosts | None) -> tuple[AssignmentMethod, str]:
    if costs is None:
        return _TREE, "sparse costs"
    if costs.few_pairs is not None and costs.device == "gpu":
        return _SPARSE_TREE, FEW_PAIRS_REASON
    if values_per_row(costs) <= FEW_VALUES["gpu"] and costs.fits_core:
        if values_per_row(costs) <= FEWEST_VALUES:
            return _TREE_FIRST, "ties: whole costs of very few values for each row"
        return _TREE_FIRST if costs.is_narrow else _CLASSICAL_FIRST, "ties: whole costs of few values for each row"
    takes_long = costs.shape[0] == costs.shape[1] and values_per_row(costs) >= MANY_VALUES
    if min(costs.shape) < (FEW_ROWS // 2 if takes_long else FEW_ROWS):
        return _TREE, "few rows"
    if not costs.fits_core:
        return _TREE, "costs of a range that leaves no room for the duals of a part of them"
    return _CORE, "few ties: few entries of a row matter"


# Below 1200 rows (integers: 1500), one processor reads a whole row faster than it picks entries from it. From there on
# `core` is chosen: benchmarks/log/choice.md, "The core from 1,200 rows of floats on". The processor compares twice as
# many integers of 32 bits at a time, and searches are short if integers tie. The keys are types of duals.
FEW_ROWS_ON_CPU: dict[type, int] = {np.float64: 1200, np.int64: 1500}


# Below 2500 rows `jv` is faster than the core on integers that tie (benchmarks/log/ties_and_gates.md).
FEW_ROWS_WITH_TIES_ON_CPU = 2500


# About this number of entries tells whether floats are all whole. `jv` stores whole floats in 32 bits, so that they are
# solved as fast as integers.
SAMPLED_ENTRIES = 64


FEW_PAIRS_REASON = "nearly all pairs cost the same: the few cheaper ones are a sparse problem"
FEW_ROWS_REASON = "few rows: on one core shortest augmenting paths do least work"


ONE_CORE_REASON = "on one core shortest augmenting paths do least work"


LAID_OUT = "many of the pairs are stored, or all are few: solved as dense costs"


def _look_whole(costs: DenseCosts) -> bool:
    """Whether a sample of floats is whole and finite: entries of the diagonal from the end of the first row on."""
    row_step, column_step = (max(1, length // SAMPLED_ENTRIES) for length in costs.array.shape)
    some = costs.array[::row_step, ::-column_step].diagonal()
    return bool((some == np.floor(some)).all()) and math.isfinite(float(abs(some).max()))


def _cpu_method_of(costs: DenseCosts | None) -> tuple[AssignmentMethod, str]:
    if costs is None:
        return _SPARSE_JV, ONE_CORE_REASON
    if costs.few_pairs is not None and costs.device == "cpu":
        return _JV, FEW_PAIRS_REASON
    rows = min(costs.shape)
    if rows < FEW_ROWS_ON_CPU[costs.dual_type]:
        return _JV, FEW_ROWS_REASON
    is_whole = rows < FEW_ROWS_WITH_TIES_ON_CPU and (costs.whole or _look_whole(costs))
    if is_whole and rows < FEW_ROWS_ON_CPU[np.int64]:
        return _JV, FEW_ROWS_REASON
    if is_whole and costs.highest - costs.lowest <= FEW_VALUES["cpu"] * rows:
        return _JV, "ties: whole costs of few values for each row"
    if not costs.fits_core:
        return _JV, "costs of a range that leaves no room for the duals of a part of them"
    return _SERIAL_CORE, "few entries of a row matter, unless many tie"


def assignment_method_of(
    method: str | AssignmentMethod, device: str, costs: DenseCosts | None = None
) -> tuple[AssignmentMethod, str]:
    """The method that a string or a method object stands for, and why: asked for, or chosen by ``"auto"``.

    None stands for sparse costs. benchmarks/log/choice.md has the costs on which the choice was measured.
    """
    kind = "sparse" if costs is None else "narrow" if costs.is_narrow else "dense"
    return _method_of(method, device, kind, partial(_cpu_method_of if device == "cpu" else _gpu_method_of, costs))


def _method_of(
    method: str | AssignmentMethod, device: str, kind: str, by_auto: Callable[[], tuple[AssignmentMethod, str]]
) -> tuple[AssignmentMethod, str]:
    name = method.lower() if isinstance(method, str) else ""
    if name == "auto":
        return by_auto()
    found = method if isinstance(method, AssignmentMethod) else ASSIGNMENT_BY_NAME.get(name)
    if found is None:
        raise InvalidInput(
            f"unknown method {method!r}; expected one of 'auto', {', '.join(map(repr, ASSIGNMENT_BY_NAME))}, or one "
            f"of the objects {', '.join(map(as_called, KINDS_OF_METHODS))}{did_you_mean(method, ASSIGNMENT_BY_NAME)}"
        )
    if kind not in found.solves.get(device, ()):
        raise does_not_solve(found, device, kind, ASSIGNMENT_BY_NAME)
    return found, "asked for"
