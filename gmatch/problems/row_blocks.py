"""A matrix of costs as blocks of rows, one for each rank of this process."""

from __future__ import annotations

from typing import Any

from ..errors import InvalidInput


class RowBlocks:
    """A matrix that lies in several arrays, each of consecutive rows, as `gmatch.lap` takes it.

    Each block is a rank, on a thread of this process; no copy of the whole matrix is made. For blocks in several
    processes see the option `comm` of `gmatch.lap`. (A plain list of matrices is a batch of problems.)

    Parameters
    ----------
    blocks : sequence of arrays, each of shape (some rows, columns)
        On the host, or each on a GPU, of one type and one width, in the order of the rows; of any heights, zero too.
        Checked when they are solved.

    Attributes
    ----------
    blocks : tuple of arrays

    Raises
    ------
    InvalidInput
        If it is no sequence of blocks, or there is none.

    Examples
    --------
    >>> costs = gmatch.RowBlocks([np.array([[4, 1, 3]]), np.array([[2, 0, 5], [3, 2, 2]])])
    >>> assignment = gmatch.lap(costs)
    >>> assignment.cost, assignment.stats["ranks"]
    (5, 2)
    """

    blocks: tuple[Any, ...]

    def __init__(self, blocks: Any) -> None:
        if not isinstance(blocks, list | tuple):
            raise InvalidInput(f"RowBlocks takes a list of blocks of rows; got {type(blocks).__name__}")
        if not blocks:
            raise InvalidInput("RowBlocks takes at least one block of rows; got none")
        self.blocks = tuple(blocks)

    def __len__(self) -> int:
        return len(self.blocks)

    def __repr__(self) -> str:
        return f"<RowBlocks of {len(self)} blocks>"
