"""`gmatch.verify` on several ranks: each proves its rows, in plain array code that shares nothing with the solvers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..arrays import device_of, exact_sum, mover_to, namespace, to_host
from ..errors import CertificateError, InvalidInput
from ..problems.limits import blocks_of, minimised
from ..problems.row_blocks import RowBlocks
from ..proof.dense import verify_dense_assignment
from ..proof.duals import (
    certificate_of,
    checked_duals,
    lowered_columns,
    refuse_excess,
    refuse_large_duals,
    tolerance_of,
)
from ..proof.matching import arrays_of, check_mates
from ..proof.windows import claimed_pairs
from ..result import Assignment, AssignmentCertificate
from .blocks import Block, Terms, block_of, fingerprint, refuse_what_is_no_array
from .places import placed
from .ranks import PATIENCE, ROOT, Ranks, reduced
from .threads import run_threads


class _Sides(NamedTuple):
    """Duals of the side whose vertices are all matched, and of the other side."""

    u: Any
    v: Any
    swapped: bool  # whether the first side are the columns of the matrix as given

    def name_of_column(self, column: int) -> int:
        return column


def verify_on_ranks(cost: Any, assignment: Any, comm: Any, strict: bool) -> AssignmentCertificate:
    """See `gmatch.verify`; the same on every rank, errors too."""
    if strict:
        raise InvalidInput("several ranks prove no assignment strictly; leave strict out, or verify in one process")
    if isinstance(cost, RowBlocks):
        if comm is not None:
            raise InvalidInput("RowBlocks are all blocks of a matrix in one process; leave comm out")
        blocks = cost.blocks
        proven: AssignmentCertificate = run_threads(
            len(blocks), lambda seat: _verify(Ranks(seat, patience=PATIENCE), blocks[seat.rank], assignment)
        )[ROOT]
        return proven
    return _verify(comm if isinstance(comm, Ranks) else Ranks(comm), cost, assignment)


def _verify(ranks: Ranks, cost: Any, assignment: Any) -> AssignmentCertificate:
    with ranks.at_work(), placed(ranks, cost, None) as block:
        if ranks.size > 1:
            return verify_block(ranks, block, assignment)
        _refuse_others(assignment, True)
        refuse_what_is_no_array(block)
        return verify_dense_assignment(block, assignment, False)


def verify_block(ranks: Ranks, cost: Any, assignment: Any) -> AssignmentCertificate:
    """The proof of an assignment of the whole matrix, over every entry, by the rank that has it.

    O(rows * columns) time in blocks, O(rows + columns) memory on each rank.
    """
    with ranks.at_work():
        ranks.done_by_all(lambda: _refuse_others(assignment, False))
        arrays = assignment.row_match, assignment.col_match, assignment.u, assignment.v, assignment.pair_costs
        claims = {"result": ranks.done_by_all(lambda: fingerprint(arrays)), "status": str(assignment.status)}
        terms = Terms(assignment.maximize, assignment.cost_limit, assignment.forbid_nan, claims)
        block = block_of(ranks, cost, terms)
        row_match, col_match = arrays_of(np, assignment, "row_match", "col_match")
        check_mates(row_match, col_match, block.shape)
        values = _checked_pairs(ranks, block, row_match, assignment)
        costs: Any = block  # the proof asks no more of the costs than a block has
        u, v = checked_duals(np, assignment, costs)
        sides = _Sides(v, u, True) if block.transposed else _Sides(u, v, False)
        pair_costs = np.full(len(sides.u), 0 if block.limit is None else block.limit, block.dual_type)
        rows = (row_match >= 0).nonzero()[0]
        pair_costs[row_match[rows] if block.transposed else rows] = values
        tolerance = tolerance_of(costs, u, v, pair_costs)
        return certificate_of(assignment, _gap(ranks, block, sides, pair_costs, tolerance), tolerance)


def _refuse_others(assignment: Any, is_alone: bool) -> None:
    """Raises `InvalidInput` for what ranks do not prove. Only a single rank proves exact duals: only it finds them."""
    if not isinstance(assignment, Assignment):
        raise InvalidInput(
            f"several ranks prove an Assignment; got {type(assignment).__name__}; verify it in one process, "
            "without comm"
        )
    has_exact = assignment.exact is not None and not is_alone
    if assignment.cover is not None or has_exact or assignment.pair_price is not None:
        raise InvalidInput(
            "several ranks prove an Assignment without cover, exact duals and pair_price; verify this one in one "
            "process, without comm"
        )


def _checked_pairs(ranks: Ranks, block: Block, row_match: Any, assignment: Assignment) -> Any:
    """What the pairs cost in the minimisation form, row by row. Each rank checks the claims for its own pairs."""
    values = claimed_pairs(block, row_match, assignment)
    (claimed,) = arrays_of(np, assignment, "pair_costs")
    rows = (row_match >= 0).nonzero()[0]
    first, end = np.searchsorted(rows, block.rows)
    own = rows[first:end]

    def as_claimed() -> None:
        entries = block.entries_at(own - block.rows[0], row_match[own])
        if (entries != claimed[first:end]).any():
            raise CertificateError("pair_costs must hold the entries of the matched pairs, row by row; it does not")

    ranks.done_by_all(as_claimed)
    return values


def _gap(ranks: Ranks, block: Block, sides: _Sides, pair_costs: Any, tolerance: int | float) -> int | float:
    """What the pairs cost beyond the bound that the duals prove."""
    base = block.lowest if block.dual_type is np.int64 else 0
    costs: Any = block
    refuse_large_duals(costs, sides, base)
    v = lowered_columns(np, sides, tolerance)
    u = sides.u - base
    far = np.full(len(u), np.inf if block.dual_type is np.float64 else np.iinfo(np.int64).max, block.dual_type)
    lowered = np.minimum(u, reduced(ranks, "min", far, lambda: _least(block, v, base, far)))
    excess = u - lowered
    refuse_excess(excess, tolerance, sides.swapped)
    return exact_sum(np.concatenate([pair_costs - base - lowered, -v]))


def _least(block: Block, v: Any, base: int | float, far: Any) -> Any:
    """The least slack over this rank's rows: of each row of the matrix, or of each column if columns are fewer."""
    least, own_rows = far.copy(), slice(*block.rows)
    if not block.array.size:
        return least
    device, xp = device_of(block.array), namespace(block.array)
    own_v = mover_to(device)(v[own_rows] if block.transposed else v)
    rows_found, of_columns = [], mover_to(device)(far)
    for rows in blocks_of(block.array.shape, device):
        slack = minimised(block.array[rows], block.dual_type, block.maximize, block.limit)
        slack -= base
        slack -= own_v[rows, None] if block.transposed else own_v
        if block.transposed:
            of_columns = xp.minimum(of_columns, slack.min(axis=0))
        else:
            rows_found.append(slack.min(axis=1))
    if block.transposed:
        return to_host(of_columns)
    least[own_rows] = to_host(xp.concatenate(rows_found))
    return least
