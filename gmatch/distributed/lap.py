"""`gmatch.lap` on several ranks: options, blocks, the problem, its solver, and the result that every rank gets.

A rank that has all rows exchanges nothing: it solves them as one process does.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Device, as_matrix, device_of, mover_to, truths_of
from ..assignment.plan import Plan, checked_duals, plan_of
from ..assignment.request import Options
from ..assignment.solve import solve
from ..backends import backend_for
from ..errors import Infeasible, InvalidInput
from ..methods import Classical, Core, Tree, assignment_method_of
from ..problems.dense import DenseCosts
from ..problems.limits import RowsOfCosts, minimised
from ..problems.row_blocks import RowBlocks
from ..proof.verify import verify
from ..result import STEPS, Assignment, Status, witness_of
from ..types import is_narrow
from .blocks import Block, Terms, block_of, fingerprint, refuse_what_is_no_array
from .classical import classical
from .core import by_core
from .found import Found
from .part import MatrixPart
from .places import checked_devices, lies_on_gpu, placed, shares
from .ranks import PATIENCE, ROOT, Ranks, reduced
from .threads import run_threads
from .tree import split_by_columns, tree, with_rows_together
from .verify import verify_block

METHODS: dict[str, Core | Classical | Tree] = {
    "auto": Core(), "core": Core(), "classical": Classical(), "tree": Tree("nearest"), "tree-nearest": Tree("nearest"),
}  # fmt: skip
Method = Core | Classical | Tree


def lap_on_ranks(cost: Any, comm: Any, devices: Any, **options: Any) -> Assignment:
    """The result of the whole matrix, on every rank; see `gmatch.lap` for the options.

    Raises
    ------
    InvalidInput, Infeasible, MemoryError
        The same on every rank.
    BackendUnavailable
        If GPUs are asked for that are not there.
    RankLost
        If another rank does not come.
    """
    is_blocks = isinstance(cost, RowBlocks)
    if is_blocks and (comm is not None or devices is not None):
        raise InvalidInput("RowBlocks are all blocks of a matrix in one process; leave comm and devices out")
    if not is_blocks and devices is None:
        return _lap(comm if isinstance(comm, Ranks) else Ranks(comm), cost, options, None)
    if comm is not None:
        raise InvalidInput(
            "devices are the GPUs of one process; with comm leave devices out, and give each rank its block on its GPU"
        )
    if devices is not None and options["device"] not in (None, "gpu"):
        raise InvalidInput(f"devices are GPUs; got device={options['device']!r}; leave device out")
    numbers = checked_devices(cost, devices) if devices is not None else [None] * len(cost)
    blocks = cost.blocks if is_blocks else shares(cost, len(numbers))
    results = run_threads(
        len(blocks),
        lambda seat: _lap(Ranks(seat, patience=PATIENCE), blocks[seat.rank], options, numbers[seat.rank]),
    )
    result: Assignment = results[ROOT]
    return result


class _Beginning(NamedTuple):
    """When a call began, and what the ranks had said to each other by then."""

    clock: float
    meetings: int
    bytes_met: int
    seconds_met: float

    @classmethod
    def now(cls, ranks: Ranks) -> _Beginning:
        return cls(perf_counter(), ranks.meetings, ranks.bytes_met, ranks.seconds_met)

    def since(self, ranks: Ranks) -> _Beginning:
        """The differences since then; in the place of the clock, the seconds of the call so far."""
        clock, meetings, bytes_met, seconds_met = self.now(ranks)
        return _Beginning(
            clock - self.clock, meetings - self.meetings, bytes_met - self.bytes_met, seconds_met - self.seconds_met
        )


def _lap(ranks: Ranks, cost: Any, options: dict[str, Any], number: int | None) -> Assignment:
    with ranks.at_work():
        begun = _Beginning.now(ranks)
        asked = ranks.done_before_agreeing(lambda: _checked(options))
        with placed(ranks, cost, asked["device"], number) as array:
            result = (_lap_alone if is_alone(ranks) else _lap_of_block)(ranks, array, asked, begun)
            there: Device = "gpu" if lies_on_gpu(cost) else "cpu"
            return result if device_of(result.row_match) == there else result.moved(mover_to(there))


def is_alone(ranks: Ranks) -> bool:
    """Whether this rank has all rows."""
    return ranks.size == 1


def _lap_alone(ranks: Ranks, array: Any, asked: dict[str, Any], begun: _Beginning) -> Assignment:
    """`gmatch.lap` of the whole matrix where it lies, if the method solves such costs in one process."""
    refuse_what_is_no_array(array)
    matrix, name = as_matrix(array), asked["method"]
    kind = "narrow" if is_narrow(matrix.dtype) else "dense"
    if name != "auto" and kind not in METHODS[name].solves[device_of(matrix)]:
        return _lap_of_block(ranks, array, asked, begun)
    costs = DenseCosts(
        matrix, maximize=asked["maximize"], cost_limit=asked["cost_limit"], forbid_nan=asked["forbid_nan"]
    )
    options = Options(
        method="auto" if name == "auto" else METHODS[name], duals=asked["duals"], threads=asked["threads"]
    )
    result = solve(costs, plan_of(costs, options))
    if asked["certify"]:
        verify(costs, result)
    past = begun.since(ranks)
    result.stats.update(ranks=1, rows=(0, len(matrix)), meetings=past.meetings, bytes_met=past.bytes_met)
    result.stats["seconds"]["meet"] = past.seconds_met
    return result


def _lap_of_block(ranks: Ranks, array: Any, asked: dict[str, Any], begun: _Beginning) -> Assignment:
    others = {
        "method": asked["method"], "duals": fingerprint(asked["duals"]), "certify": asked["certify"],
        "device": device_of(array),
    }  # fmt: skip
    block = block_of(ranks, array, Terms(asked["maximize"], asked["cost_limit"], asked["forbid_nan"], others))
    checked = begun.since(ranks).clock
    method, reason = _method(asked["method"], block)
    found = _solve(ranks, block, method, asked)
    result = result_of(ranks, block, found)
    past = begun.since(ranks)
    seconds = dict.fromkeys((*STEPS, "ties"), 0.0)
    seconds.update({"start": checked, "search": past.clock - checked - past.seconds_met, **found.seconds})
    seconds["meet"] = past.seconds_met
    result.stats.update(
        method=method.name, reason=found.reason or reason, initial="reduce", backend=device_of(block.array),
        team="ranks", threads=asked["threads"] or 1, start_size=0, ranks=ranks.size, rows=block.rows,
        meetings=past.meetings, bytes_met=past.bytes_met, seconds=seconds, **found.stats(),
    )  # fmt: skip
    if asked["certify"]:
        verify_block(ranks, array, result)
    return result


# Options of `lap` that several ranks do not take: the value that they must have, and what to do instead.
ONE_BLOCK = "each rank gives one block of one matrix"
ONLY_ALONE = {
    "infeasible": ("raise", "use cost_limit to let rows and columns stay free, or one process"),
    "deterministic": (False, "the same blocks and options give the same assignment anyway"),
    "sizes": (None, ONE_BLOCK), "mask": (None, ONE_BLOCK), "top_nodes": (None, ONE_BLOCK),
    "weight": ("weight", ONE_BLOCK),
}  # fmt: skip


def _checked(options: dict[str, Any]) -> dict[str, Any]:
    """The options that several ranks take; others are refused by name."""
    for name, (usual, advice) in ONLY_ALONE.items():
        given = options[name]
        if given is not usual and not (isinstance(given, str) and given == usual):
            raise InvalidInput(f"several ranks do not take {name}={given!r}; leave it out: {advice}")
    if not isinstance(options["initial"], str) or options["initial"] not in ("auto", "reduce"):
        raise InvalidInput(
            "several ranks start from minima; leave initial out, or give duals=(u, v) of an earlier assignment to "
            "start from"
        )
    if options["device"] not in (None, "cpu", "gpu"):
        raise InvalidInput(f"device must be None, 'cpu' or 'gpu'; got {options['device']!r}")
    backend_for(None, "cpu").check_threads(options["threads"])
    truths = truths_of(**{name: options[name] for name in ("maximize", "forbid_nan", "certify")})
    return {**options, **truths, "method": _name_of(options["method"])}


def _name_of(method: Any) -> str:
    name = method.lower() if isinstance(method, str) else getattr(method, "name", type(method).__name__)
    if name not in METHODS:
        raise InvalidInput(
            "several ranks take the methods 'auto', 'core', 'classical' and 'tree' (by nearest paths, as "
            f"gmatch.Tree('nearest')); got {name!r}; the others take a whole matrix, without comm"
        )
    return str(name)


def _method(name: str, block: Block) -> tuple[Method, str]:
    if name == "auto" and not block.fits_core:
        return METHODS["classical"], "costs of a range that leaves no room for the duals of a part of them"
    if name == "auto":
        return METHODS["core"], "on several ranks each prices its rows, and the root searches few entries of them"
    if name == "core" and not block.fits_core:
        raise InvalidInput(
            "method 'core' needs room for duals along a path of all pairs, (32 + 8 * pairs) * (highest - lowest); "
            "these costs lie too far apart for it; use 'auto' or 'classical'"
        )
    return METHODS[name], "asked for"


def _solve(ranks: Ranks, block: Block, method: Method, asked: dict[str, Any]) -> Found:
    """The solution by the method. `Tree` splits the columns of the problem, and transposes square ones for that."""
    rows, columns = block.shape
    block.transposed = rows > columns or rows == columns and type(method) is Tree
    part = MatrixPart.of(block, asked["threads"] or 1)
    # All ranks have agreed before that they were given equal duals, or none.
    v = None if asked["duals"] is None else ranks.done_by_all(lambda: given_duals(block, asked["duals"]))
    if not min(block.shape):
        u, v = (np.zeros(length, block.dual_type) for length in part.shape)
        return Found(np.full(part.shape[0], -1, np.int32), u, v)
    return SOLVERS[type(method)](ranks, part, _plan_of_root(part, asked["threads"]), v)


def _by_columns(ranks: Ranks, part: MatrixPart, _: Plan, v: Any) -> Found:
    """The solution by `tree`, whose root solves nothing."""
    if part.block.transposed:
        return tree(ranks, ranks.done_by_all(lambda: with_rows_together(part)), v)
    return tree(ranks, split_by_columns(ranks, part), v)


SOLVERS: dict[type, Callable[[Ranks, MatrixPart, Plan, Any], Found]] = {
    Core: by_core, Classical: classical, Tree: _by_columns,
}  # fmt: skip


def _plan_of_root(part: MatrixPart, threads: int | None) -> Plan:
    """How the root solves cores, on the device of its block. Threads are for the host; a GPU sizes its own grid."""
    method, _ = assignment_method_of("auto", part.device)
    return Plan(backend_for(None, part.device), method, threads if part.device == "cpu" else None, False)


def given_duals(block: RowsOfCosts, duals: Any) -> Any:
    """The given duals of the columns of the problem; None if it is not square, as in one process."""
    if duals is None:
        return None
    v = checked_duals("duals", duals, block)
    return v if block.shape[0] == block.shape[1] else None


def result_of(ranks: Ranks, block: RowsOfCosts, found: Found) -> Assignment:
    """The result for the matrix as it was given; the same on every rank."""
    if found.witness is not None:
        raise _infeasible(block, *found.witness)
    row_match, u, v = found.row_match, found.u, found.v
    col_match = np.full(len(v), -1, np.int32)
    matched = (row_match >= 0).nonzero()[0]
    col_match[row_match[matched]] = matched
    if block.transposed:
        row_match, col_match, u, v = col_match, row_match, v, u
    entries = _entries_of_all(ranks, block, row_match)
    status = Status.OPTIMAL if len(matched) == min(block.shape) else Status.LIMITED
    if block.limit is not None:
        is_above = minimised(entries, block.dual_type, block.maximize, None) > block.limit
        if is_above.any():
            rows = (row_match >= 0).nonzero()[0][is_above]
            col_match[row_match[rows]] = -1
            row_match[rows] = -1
            entries, status = entries[~is_above], Status.LIMITED
    return Assignment(
        row_match, col_match, u, v, entries, status, block.maximize, block.cost_limit, forbid_nan=block.forbid_nan
    )


def _entries_of_all(ranks: Ranks, block: RowsOfCosts, row_match: Any) -> Any:
    """The entries of all pairs, as given, in the order of the rows."""
    if not isinstance(block, Block):  # rows that no other rank has
        return block.entries_of(row_match)
    matched = (row_match >= 0).nonzero()[0]
    first, end = np.searchsorted(matched, block.rows).tolist()

    def own() -> Any:
        entries = np.zeros(len(matched), block.dtype)
        entries[first:end] = block.entries_of(row_match)
        return entries

    return reduced(ranks, "sum", np.zeros(len(matched), block.dtype), own)


def _infeasible(block: RowsOfCosts, in_rows: Any, in_columns: Any) -> Infeasible:
    """The error, with the witness in rows and columns as given."""
    cover = (~in_rows).nonzero()[0], in_columns.nonzero()[0]
    rows, columns = witness_of(cover[::-1] if block.transposed else cover, block.shape)
    sides = f"{len(rows)} rows", f"{len(columns)} columns"
    many, few = sides if block.shape[0] <= block.shape[1] else sides[::-1]
    return Infeasible(
        f"no assignment avoids the forbidden pairs: the error's {many} may only be matched with its {few}; use "
        "cost_limit to let rows and columns stay free",
        rows, columns,
    )  # fmt: skip
