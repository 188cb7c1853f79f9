"""An order of points on the current GPU in which near points follow one another: see csrc/points/order.cuh."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..programs.catalogue import POINT_ORDER
from ..programs.entry_points import GRID_BLOCK_SIZE, cupy, entry_points, resident_blocks
from ..programs.launch import Words

PROGRAMS = "keys_of_nodes_grid", "take_places_grid"


def order_of_tree(points: Any, size: int) -> Any:
    """Numbers of points of the host, in an order in which the points of each group of `size` are near each other.

    O(n log(n)) work for each of log2(n / size) levels.
    """
    number, groups, device = len(points), -(-len(points) // size), cupy.cuda.Device()
    order = cupy.asarray(np.arange(number))
    if groups < 2:
        return order.get()
    kernels = entry_points(POINT_ORDER, PROGRAMS, device.id)
    here, words, keys = cupy.asarray(points), Words(0), cupy.empty((2, number), np.float64)
    widest = cupy.empty(groups, np.int32)

    def run(which: int, *arguments: Any) -> None:
        blocks = resident_blocks(kernels[which], GRID_BLOCK_SIZE, device)
        kernels[which]((blocks,), (GRID_BLOCK_SIZE,), (*arguments, words.arrivals))

    nodes = 1
    while nodes < groups:
        numbers = (np.int64(each) for each in (number, size, nodes))
        run(0, here, np.int32(points.shape[1]), *numbers, order, widest, keys)
        taken = cupy.empty_like(order)
        run(1, order, cupy.lexsort(keys), np.int64(number), taken)
        order, nodes = taken, 2 * nodes
    return order.get()
