"""What the proofs of dense and of sparse assignments share: duals, covers, tolerances, certificates."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from ..arrays import exact_sum, namespace
from ..errors import CertificateError
from ..problems.limits import Ranged
from ..result import Assignment, AssignmentCertificate, ExactDuals, Status
from .matching import arrays_of, mask_of, moved_here, vector_of
from .strict import STRICT, exact_gap, float_above
from .tiers import TieredPart, check_exact, gap_in_tiers, ordinary_costs


def refuse_excess(excess: Any, tolerance: int | float, swapped: bool) -> None:
    """Raises `CertificateError` if duals must fall by more than rounding explains. Rows are columns if `swapped`."""
    if not exact_sum(excess) <= tolerance:
        worst = int(excess.argmax())
        raise CertificateError(
            f"the dual of {'column' if swapped else 'row'} {worst} exceeds what a pair of it leaves by "
            f"{excess[worst].item()}: the duals are not feasible"
        )


def refuse_overflow_of(costs: Ranged) -> None:
    if costs.overflows:
        raise CertificateError("sums of these costs could overflow: only exact duals, in tiers, prove an assignment")


def mates_among(mates: Any, columns: Any, length: int) -> Any:
    """The place of each mate among some columns, of `length` columns in all; -1 for free rows."""
    place = np.full_like(columns, -1, shape=length + 1)
    place[columns] = namespace(columns).arange(len(columns))
    return place[mates]


def strict_certificate(
    xp: Any, assignment: Assignment, parts: list[TieredPart], limit: float | None
) -> AssignmentCertificate:
    """The certificate with the gap in exact arithmetic. Its tolerance is a rounding of what the pairs cost."""
    parts = [part for part in parts if len(part.pair_costs)]
    gap = sum((exact_gap(xp, part, limit) for part in parts), Fraction(0))
    ordinary = exact_sum(np.concatenate([abs(ordinary_costs(xp, part)) for part in parts])) if parts else 0.0
    return certificate_of(assignment, float_above(gap), STRICT * 2.0**-52 * ordinary)


def certificate_in_tiers(
    xp: Any, assignment: Assignment, parts: list[TieredPart], vertices: int
) -> AssignmentCertificate:
    gaps = [gap_in_tiers(xp, part, vertices) for part in parts if len(part.pair_costs)]
    return certificate_of(assignment, sum(gap for gap, _ in gaps), sum(tolerance for _, tolerance in gaps))


def exact_duals_here(xp: Any, assignment: Assignment, costs: Ranged) -> ExactDuals | None:
    """The exact duals, if there are some, where the costs live, of the right types and lengths."""
    if assignment.exact is None:
        return None
    for name, array, length, dtype in check_exact(assignment.exact, costs.shape, costs.dual_type):
        array = vector_of(xp, name, array)
        if array.shape != (length,) or array.dtype != dtype:
            raise CertificateError(
                f"{name} must hold {length} numbers of type {np.dtype(dtype)}; got {array.dtype} of shape {array.shape}"
            )
        if not bool(xp.isfinite(array).all()):
            raise CertificateError(f"{name} must be finite")
    return assignment.exact.moved(lambda array: moved_here(xp, array))


def status_of(assignment: Assignment, size: int, most: int) -> Status:
    """The status that `size` of `most` possible pairs must have, by whether there is a cover."""
    if size < most:
        return Status.LIMITED if assignment.cover is None else Status.PARTIAL
    return Status.BOUNDED if claimed_gap(assignment) > 0 else Status.OPTIMAL


def claimed_gap(assignment: Assignment) -> int | float:
    """How far the cost of the assignment may be from the optimum, as it claims."""
    bound: Any = assignment.bound
    if bound is None:
        return 0
    if isinstance(bound, bool) or not isinstance(bound, int | float) or not bound - bound == 0:
        raise CertificateError(f"the bound must be a finite number; got {bound!r}")
    cost: int | float = assignment.cost
    return bound - cost if assignment.maximize else cost - bound


def certificate_of(assignment: Assignment, gap: int | float, tolerance: int | float) -> AssignmentCertificate:
    """The certificate of an assignment that is proven within its bound; without a bound, cheapest."""
    tolerance += max(claimed_gap(assignment), 0)
    if not gap <= tolerance:
        raise CertificateError(
            f"the duals leave a gap of {gap}, more than the tolerance {tolerance}: the assignment is not proven "
            f"{'most expensive' if assignment.maximize else 'cheapest'}"
        )
    # Rounding can make a gap of floats negative.
    return AssignmentCertificate(assignment.cost, max(gap, type(gap)(0)), tolerance)


def refuse_costs_of_others(costs: Ranged, assignment: Assignment) -> None:
    if (costs.maximize, costs.cost_limit) != (assignment.maximize, assignment.cost_limit):
        raise CertificateError(
            f"the assignment is for maximize={assignment.maximize} and cost_limit={assignment.cost_limit}, the costs "
            f"are for maximize={costs.maximize} and cost_limit={costs.cost_limit}"
        )


def checked_duals(xp: Any, assignment: Assignment, costs: Ranged) -> list[Any]:
    duals = arrays_of(xp, assignment, "u", "v")
    for name, dual, length in zip("uv", duals, costs.shape, strict=True):
        if dual.shape != (length,) or dual.dtype != costs.dual_type:
            raise CertificateError(
                f"{name} must hold {length} duals of type {np.dtype(costs.dual_type)}; got {dual.dtype} of shape "
                f"{dual.shape}"
            )
        infinite = (~xp.isfinite(dual)).nonzero()[0]
        if len(infinite):
            raise CertificateError(f"{name}[{int(infinite[0])}] is {dual[infinite[0]].item()}, which is no dual")
    return duals


def cover_of(xp: Any, assignment: Assignment, shape: tuple[int, int]) -> tuple[tuple[Any, Any], list[Any]]:
    """Rows and columns of the cover as numbers, and as booleans. Raises unless their number is the number of pairs."""
    given: Any = assignment.cover
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise CertificateError(f"the cover must be numbers of rows and numbers of columns; got {given!r}")
    sides = "row", "column"
    cover = tuple(vector_of(xp, f"{side}s of the cover", part) for side, part in zip(sides, given, strict=True))
    in_cover = [mask_of(xp, *side) for side in zip(cover, shape, sides, strict=True)]
    if len(cover[0]) + len(cover[1]) != assignment.size:
        raise CertificateError(
            f"the cover has {len(cover[0])} rows and {len(cover[1])} columns, not {assignment.size} vertices: the "
            "matching is not proven largest"
        )
    return cover, in_cover


def lowered_columns(xp: Any, part: Any, tolerance: int | float) -> Any:
    """The duals of the columns of a part. If columns outnumber the rows, duals above 0 by rounding become 0."""
    if len(part.v) <= len(part.u):
        return part.v
    lowered = xp.minimum(part.v, 0)
    if not exact_sum(part.v - lowered) <= tolerance:
        name, number = "vu"[part.swapped], part.name_of_column(int(part.v.argmax()))
        raise CertificateError(
            f"{name}[{number}] is {part.v.max().item()}, but must not be above 0 on the side with more vertices"
        )
    return lowered


def tolerance_of(costs: Ranged, u: Any, v: Any, pair_costs: Any) -> int | float:
    if costs.dual_type is np.int64:
        return 0
    vertices = sum(costs.shape)
    scale = max((float(abs(values).max()) for values in (u, v, pair_costs) if values.size), default=0.0)
    # A limit counts even where no cost is above it: in a batch, another problem may have such costs.
    if scale > 8 * vertices * max(-costs.lowest, costs.highest, abs(costs.cost_limit or 0)):
        raise CertificateError("the duals are too large for costs of this range: float64 would round these away")
    return 64 * float(np.finfo(np.float64).eps) * vertices * scale


def refuse_large_duals(costs: Ranged, part: Any, base: int | float) -> None:
    """Integers: sums of the costs less `base`, of u less `base` and of v must not overflow.

    Sums of a solver's duals do not, see `DenseCosts`: if all u are large, all v are small.
    """
    if costs.dual_type is not np.int64:
        return
    u, v = (
        (min(0, int(dual.min()) - less), max(0, int(dual.max()) - less)) if dual.size else (0, 0)
        for dual, less in ((part.u, base), (part.v, 0))
    )
    if max(-u[0] - v[0], u[1] + v[1]) + costs.highest - costs.lowest >= 2**63:
        raise CertificateError("the duals are too large for costs of this range: their sums could overflow int64")
