"""Assignment as an operator of PyTorch, `torch.ops.gmatch.lap`, which `torch.compile` and `torch.export` keep whole.

To import this module registers it. `gmatch.lap` takes tensors, too, and tells more of what it finds; but it is no
operator, and a compiled function is interrupted where it is called.
"""

from __future__ import annotations

from typing import Any

try:
    import torch
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("gmatch.torch needs PyTorch, which is not installed; pip install torch") from error

from ..assignment.lap import lap as solve
from ..errors import InvalidInput
from ..tensors import mates_of

__all__ = ["lap"]


def _match(cost: Any, maximize: bool = False, cost_limit: float | None = None) -> tuple[Any, Any]:
    _check_dimensions(cost)
    return mates_of(cost, solve, maximize=maximize, cost_limit=cost_limit)


def _match_of_fake(cost: Any, maximize: bool = False, cost_limit: float | None = None) -> tuple[Any, Any]:
    """What is known of the results before there are costs."""
    _check_dimensions(cost)
    *problems, rows, columns = cost.shape
    return tuple(cost.new_empty([*problems, length], dtype=torch.int64) for length in (rows, columns))


def _check_dimensions(cost: Any) -> None:
    if cost.ndim not in (2, 3):
        raise InvalidInput(
            f"expected costs of shape (rows, columns) or (problems, rows, columns); got {cost.ndim} dimensions"
        )


_library: Any = torch.library
_OPERATORS = _library.Library("gmatch", "FRAGMENT")
_OPERATORS.define(
    "lap(Tensor cost, bool maximize=False, float? cost_limit=None) -> (Tensor, Tensor)",
    # A search asks after each step whether it is done, and a batch takes memory from a pool of CuPy: neither can be
    # part of a CUDA graph.
    tags=(torch.Tag.cudagraph_unsafe,),
)
# Not by `torch.library.custom_op`, whose Python around each call takes longer than a small problem.
_OPERATORS.impl("lap", _match, "CompositeExplicitAutograd")
_library.register_fake("gmatch::lap", _match_of_fake, lib=_OPERATORS)


def lap(cost: Any, maximize: bool = False, cost_limit: float | None = None) -> tuple[Any, Any]:
    """The mates of the rows and columns of a cheapest assignment, as `gmatch.lap` finds it.

    Parameters
    ----------
    cost : tensor, shape (rows, columns) or (problems, rows, columns)
        On either device, of any type that `gmatch.lap` takes.
    maximize : bool
        Find the most expensive assignment instead.
    cost_limit : float, optional
        Pairs that cost more than this are never matched; see `gmatch.lap`.

    Returns
    -------
    row_match : int64 tensor, shape (rows,) or (problems, rows)
        The column of each row, -1 for a free row. In a batch on a GPU all rows of a problem that the GPU cannot solve
        have -1.
    col_match : int64 tensor, shape (columns,) or (problems, columns)
        The row of each column, -1 for a free column.

    Raises
    ------
    InvalidInput, Infeasible
        As `gmatch.lap`; and for other numbers of dimensions. A batch on a GPU raises no error for its costs.

    Notes
    -----
    The host does not wait for a batch on a GPU, except for int64 with a limit. The work is queued on the current stream
    of PyTorch. So no error says why a problem has -1 everywhere. There are four reasons: an entry is NaN or the
    infinity that forbids nothing, there is no assignment, sums could overflow, or a big number in the place of inf,
    2**20 or more, hides what other pairs cost. ``gmatch.lap(cost).status`` raises the error, and solves the last kind.

    Indices have no gradient. What the pairs cost has one if it is taken from the costs:
    ``cost.gather(-1, row_match.clamp(min=0)[..., None])[..., 0].where(row_match >= 0, 0).sum()``.

    Where PyTorch makes CUDA graphs of what it compiles, it leaves this operator out of them.
    """
    matches: tuple[Any, Any] = torch.ops.gmatch.lap(cost, maximize, cost_limit)
    return matches
