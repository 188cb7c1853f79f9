"""Programs on a GPU: one cooperative launch each."""

from __future__ import annotations

import math
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import _native, cuda
from ..devices.gpu import csr_edges, entries_of_pairs, lanes_for, strides_of
from ..errors import InvalidInput
from ..layouts import Layout, words_of
from ..methods import JV, Classical, Core, Munkres, SparseTree, TiedCore, Tree
from ..problems.dense import DenseCosts
from ..programs.catalogue import (
    ASSIGN,
    ASSIGN_BATCH,
    ASSIGN_CORE,
    ASSIGN_SPARSE,
    FORESTS,
    MATCH,
    MUNKRES,
    PROGRAMS,
    Program,
)
from ..programs.compiled import Kernel
from ..programs.entry_points import (
    BLOCK_SIZE,
    GRID_BLOCK_SIZE,
    c_type,
    cupy,
    entry_point,
    entry_points,
    index_types,
    resident_blocks,
)
from ..programs.launch import CORE_REPORT_SIZE, REPORT_SIZE, SIZE, Launch, Vectors, Words, first_layout, on_host
from . import few_pairs_gpu
from .coarse_duals import assign_in_time
from .cpu import counters_by_name, counters_of, counters_of_assignment
from .protocol import Assigned, AssignedBatch, AssignmentStart, Matched, Start, add_counters

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..arrays import Device
    from ..methods import AssignmentMethod, ForestMethod
    from ..problems.batch import CostBatch
    from ..problems.graph import BipartiteGraph
    from ..problems.sparse import SparseCosts

NAME: Device = "gpu"
# The paper's constant number of threads: 256 blocks of 256.
CONSTANT_BLOCKS = 256
PAPER_BLOCK_SIZE = 256
# What a program that keeps no journal gives back of it.
NO_JOURNAL = np.empty((2, 0), np.int32)
# Up to this many rows, columns and entries one thread block solves a problem faster than a grid with its barriers.
BLOCK_TEAM_LIMIT = 1 << 14
# An assignment problem of at most 2**14 entries is solved by one block faster than by a grid.
BLOCK_ASSIGNMENT_LIMIT = 1 << 14
# Up to 2**20 entries, fewer blocks than there are multiprocessors have work enough, and meet sooner.
FEW_BLOCKS, FEW_BLOCKS_LIMIT = 64, 1 << 20
# The classical variant reads whole rows faster from 2**26 entries on with more threads than the tree has registers for.
WIDE_BLOCKS_FROM = 1 << 26
# A search in the matrix leaves ties to a core after these levels. For 1,000 and 4,000 rows 256 levels take 2 to 6 ms,
# and a core takes 5 to 15, so both together take at most twice as long as the core alone. For 300 rows both take 4 to 5
# ms, and the core alone 1.5 to 2. Costs drawn evenly take at most 214 levels: benchmarks/log/choice.md, "A search of
# ties that takes long leaves them to a core".
MOST_LEVELS = 256
MANY_LEVELS = "ties: a search in the matrix took many levels, so a core took over"
REDUCED = Start(AssignmentStart.REDUCE)
# Most threads of a block that solves a problem of a batch by shortest paths: two such blocks have the registers of a
# multiprocessor. A thread has one column, unless there are more columns than threads. With two, 64 to 300 columns take
# 1.1 to 1.5 times as long (benchmarks/log/batches.md, "A step reads several rows").
MOST_SEARCHERS = 320
# A problem of a batch whose arrays take no more is worked on in the multiprocessor's own memory: two blocks fit.
NEAR_MEMORY_LIMIT = 111 << 10
TASK, ASSIGNMENT_TASK, SPARSE_COSTS = map(Layout, ("Task", "AssignmentTask", "SparseCosts"))
# By the type of the duals.
DENSE_COSTS = {np.int64: Layout("DenseCosts<long long>"), np.float64: Layout("DenseCosts<double>")}
BATCH = {np.int64: Layout("Batch<long long>"), np.float64: Layout("Batch<double>")}
DUAL_OF: dict[str, Any] = {"i": np.int64, "f": np.float64}  # by the kind of the costs' type
WORKSPACE_SIZES: dict[Program, Callable[..., int]] = {
    program: getattr(_native, program.workspace) for program in PROGRAMS if program.workspace
}
INFINITE = {np.int64: 2**63 - 1, np.float64: np.inf}  # no limit


def grid_of(method: ForestMethod, kernel: Kernel, rows: int, device: Any) -> tuple[int, int]:
    """Blocks of the grid, and threads of a block."""
    if method.threads is None:
        return device.attributes["MultiProcessorCount"], BLOCK_SIZE if method.grows_unevenly else GRID_BLOCK_SIZE
    resident = resident_blocks(kernel, PAPER_BLOCK_SIZE, device)
    wanted = CONSTANT_BLOCKS if method.threads == "ct" else -(-rows // PAPER_BLOCK_SIZE)
    return max(1, min(wanted, resident)), PAPER_BLOCK_SIZE


def lanes_of(method: ForestMethod, graph: BipartiteGraph) -> int:
    """Threads that share a row: one in the paper's kernels, otherwise by the mean degree."""
    return lanes_for(graph.entries, graph.shape[0]) if method.threads is None else 1


def match(graph: BipartiteGraph, method: ForestMethod, start: int, row_match: Any, threads: int | None) -> Matched:
    """Runs `match_cardinality`."""
    rows, columns = graph.shape
    with graph.indices.device as device:
        team = "block" if rows + columns + graph.entries <= BLOCK_TEAM_LIMIT else "grid"
        types = index_types(graph.indptr, graph.indices)
        kernel = entry_point(
            MATCH, f"match_{team}", device.id, **types, forest=FORESTS[method.forest]["forest"],
            lanes=lanes_of(method, graph),
        )  # fmt: skip
        blocks, block_size = (1, BLOCK_SIZE) if team == "block" else grid_of(method, kernel, rows, device)

        vectors = Vectors((row_match, rows, np.int32), (None, columns, np.int32), (None, columns, np.bool_))
        launch = Launch(
            min(rows, columns) + 1,
            WORKSPACE_SIZES[MATCH](method.forest, start, rows, columns, graph.entries, **types),
        )
        to_row_match, to_col_match, to_reached = vectors.addresses
        task = TASK.pack(
            num_rows=rows, num_columns=columns, row_match=to_row_match, col_match=to_col_match, reached=to_reached,
            levels=launch.levels, augmentations=launch.augmentations, workspace=launch.workspace,
            progress=launch.progress, report=launch.report, start=start, shortest_only=method.shortest_only,
        )  # fmt: skip
        kernel((blocks,), (block_size,), (csr_edges(graph.indptr, graph.indices, columns), task, launch.arrivals))
        row_match, col_match, reached = vectors.arrays()
        counters = counters_by_name(*launch.read(), team, blocks * block_size)
    return Matched(row_match, col_match, reached, counters | {"code": kernel.origin})


def check_threads(threads: int | None) -> None:
    if threads is not None:
        raise InvalidInput(f"threads is for the CPU, a GPU sizes its own grid; got threads={threads!r}; leave it out")


def assign(costs: DenseCosts, method: AssignmentMethod, start: Start, threads: int | None) -> Assigned:
    """Runs a method of assignment."""
    if isinstance(method, SparseTree):
        if costs.few_pairs is not None:
            return _assign_few_pairs(costs)
        method = Core() if costs.fits_core else Tree()  # a copy has no few pairs, for example the costs of one tier
    if not isinstance(method, TiedCore):
        if isinstance(method, Core):
            return assign_in_time(
                costs, start, lambda costs, start, levels: _assign(costs, method, start, levels), few_pairs_gpu.halve
            )
        return _assign(costs, method, start)
    found = _assign(costs, method.search, start, MOST_LEVELS)
    counted = found.counters
    if counted["size"] == min(costs.shape) or counted["levels"] < MOST_LEVELS:
        return found
    # The core begins anew: an auction takes less time than searches from all rows that are free.
    found = assign(costs, Core(), REDUCED, None)
    both = add_counters(found.counters, counted) | {name: found.counters[name] for name in ("size", "start_size")}
    return found._replace(counters=both | {"method": "core", "reason": MANY_LEVELS})


def _assign_few_pairs(costs: DenseCosts) -> Assigned:
    """The cheapest assignment by the sparse problem of the few cheaper pairs, doubled into a square one."""
    doubled = few_pairs_gpu.double(costs)
    found = assign_sparse(doubled, Tree(), REDUCED, None)
    halves = few_pairs_gpu.halve(costs, found)
    if halves.is_rounded:  # see `_run_sparse` of assignment/programs.py
        start = Start(AssignmentStart.GIVEN, found.row_match, halves.duals)
        halves = few_pairs_gpu.halve(costs, assign_sparse(doubled, Tree(), start, None))
        both = add_counters(found.counters, halves.found.counters)
        counters = both | {name: halves.found.counters[name] for name in ("size", "start_size")}
        halves = halves._replace(found=halves.found._replace(counters=counters))
    entries = entries_of_pairs(costs.array, halves.found.row_match, costs.array.device.id)
    return halves.found._replace(counters=halves.found.counters | {"entries": entries})


def _assign(costs: DenseCosts, method: AssignmentMethod, start: Start, most_levels: int = 0) -> Assigned:
    """Runs one method. A search stops after `most_levels`, unless these are 0, and may leave free rows.

    The shape of the costs of a core may differ from the shape of their array: see `DenseCosts.squared`.
    """
    rows, columns = sorted(costs.shape)
    dual, cost = costs.dual_type, c_type(costs.array)
    with costs.array.device as device:
        of_method = DENSE_PROGRAMS[type(method)]
        program, blocks, block_size = of_method.program, *of_method.grid(rows * columns, device)
        team = "block" if blocks == 1 else "grid"
        vectors = Vectors(
            (start.row_match, rows, np.int32), (None, columns, np.int32), (None, rows, dual), (start.v, columns, dual)
        )
        launch = Launch(
            (rows + 1) * method.most_searches,
            WORKSPACE_SIZES[program](rows, columns, blocks * block_size, cost=cost, **of_method.words),
            of_method.report_size,
        )  # fmt: skip
        task = _assignment_task(vectors, launch, start, method.many_paths, most_levels)
        row_stride, column_stride = strides_of(costs.array)
        problem = DENSE_COSTS[dual].pack(
            num_rows=len(costs.array), num_columns=costs.array.shape[1], costs=costs.array.data.ptr,
            row_stride=row_stride, column_stride=column_stride, maximize=costs.maximize,
            limit=INFINITE[dual] if costs.limit is None else costs.limit,
        )  # fmt: skip
        for run in of_method.runs:
            kernel = run(costs, method, (problem, task), launch, (blocks, block_size))
            row_match, col_match, u, v = vectors.arrays()
            entries = entries_of_pairs(costs.array, row_match[: len(costs.array)], device.id)
            report, journal = launch.read()
            known = journal if method.one_launch else NO_JOURNAL
            counters = counters_of_assignment(report, known, team, blocks * block_size)
            if counters.get("trace", ["done"])[-1] != "bound" or rows != len(costs.array):
                break
    return Assigned(row_match, col_match, u, v, counters | {"entries": entries, "code": kernel.origin})


def _assignment_task(vectors: Vectors, launch: Launch, start: Start, many_paths: bool, most_levels: int = 0) -> Any:
    """An `AssignmentTask` of csrc; the vectors are row_match, col_match, u and v."""
    rows, columns, _, _ = vectors.lengths
    row_match, col_match, u, v = vectors.addresses
    return ASSIGNMENT_TASK.pack(
        num_rows=rows, num_columns=columns, row_match=row_match, col_match=col_match, u=u, v=v, levels=launch.levels,
        augmentations=launch.augmentations, workspace=launch.workspace, progress=launch.progress,
        report=launch.report, start=start.kind, has_duals=start.v is not None, many_paths=many_paths,
        most_levels=most_levels,
    )  # fmt: skip


def _run_search(costs: DenseCosts, method: Any, given: tuple[Any, Any], state: Launch, grid: tuple[int, int]) -> Kernel:
    blocks, block_size = grid
    name, words = "assign_block" if blocks == 1 else "assign_grid", EDGES_OF[type(method)]
    kernel = entry_point(ASSIGN, name, costs.array.device.id, cost=c_type(costs.array), **words, limit=block_size)
    kernel((blocks,), (block_size,), (*given, state.arrivals))
    return kernel


def _run_core(costs: DenseCosts, method: Core, given: tuple[Any, Any], state: Launch, grid: tuple[int, int]) -> Kernel:
    """The first launches of the plan of csrc/core/plan.cuh. `_search_matrix` must follow if they end with `bound`."""
    return _launch_core(("core_start_grid", "core_search_grid"), costs, given, state, grid)


def _search_matrix(
    costs: DenseCosts, method: Any, given: tuple[Any, Any], state: Launch, grid: tuple[int, int]
) -> Kernel:
    """The last launch of the plan. It compiles only if it is needed."""
    return _launch_core(("core_matrix_grid",), costs, given, state, grid)


def _launch_core(
    names: tuple[str, ...], costs: DenseCosts, given: tuple[Any, Any], state: Launch, grid: tuple[int, int]
) -> Kernel:
    kernels = entry_points(ASSIGN_CORE, names, costs.array.device.id, cost=c_type(costs.array))
    for kernel in kernels:
        kernel(grid[:1], grid[1:], (*given, costs.dual_type(costs.dual_spread()), state.arrivals))
    return kernels[-1]


def _run_munkres(
    costs: DenseCosts, method: Munkres, given: tuple[Any, Any], state: Launch, grid: tuple[int, int]
) -> Kernel:
    """One launch, or the loop of `run_munkres` in csrc/assignment/munkres.cuh with a launch for each line."""
    (rows, columns), device = costs.array.shape, costs.array.device.id
    slacks = cupy.empty(rows * columns, costs.slack_type())
    infinite = INFINITE[costs.dual_type]
    least = cupy.array([infinite], costs.dual_type)  # cupy.full would compile a program for it
    arguments = (*given, np.int32(method.rung), slacks, least, state.arrivals)

    def launch(name: str) -> Kernel:
        kernel = entry_point(MUNKRES, f"munkres_{name}", device, cost=c_type(costs.array), slack=c_type(slacks))
        kernel(grid[:1], grid[1:], arguments)
        return kernel

    if method.one_launch:
        return launch("grid")
    shift = ("add_subtract_compress",) if method.form == "fused" else ("add_subtract", "compress")
    count = () if method.form == "baseline" else ("sum_zeros",)
    launch("start")
    launch("compress")
    while True:
        kernel = launch("search")
        if state.read_report()[SIZE] == rows:
            return kernel
        launch("find_least")
        if least.item() == infinite:
            return kernel
        for step in ("clear_lists", *shift, *count):
            launch(step)


# The edges of each method that the search runs.
EDGES_OF: dict[type, dict[str, str]] = {Tree: {"edges": "TightEdges"}, Classical: {"edges": "ClassicalEdges"}}
# The edges of each method that solves batches.
BATCH_EDGES_OF = {**EDGES_OF, JV: {"edges": "ShortestPaths"}}


class DenseProgram(NamedTuple):
    """The program of a method for dense costs, and its grid by the number of entries."""

    program: Program
    words: dict[str, str]  # that it is compiled for, beside the type of costs
    runs: tuple[Callable[..., Kernel], ...]  # the second only if the trace of the first ends with `bound`
    report_size: int = REPORT_SIZE
    one_block_up_to: int = BLOCK_ASSIGNMENT_LIMIT
    few_blocks_up_to: int = FEW_BLOCKS_LIMIT
    wide_blocks_from: float = math.inf

    def grid(self, entries: int, device: Any) -> tuple[int, int]:
        """Blocks of the grid, and threads of a block; one block is a team of its own."""
        if entries <= self.one_block_up_to:
            return 1, GRID_BLOCK_SIZE
        processors = device.attributes["MultiProcessorCount"]
        blocks = min(processors, FEW_BLOCKS) if entries <= self.few_blocks_up_to else processors
        return blocks, BLOCK_SIZE if entries >= self.wide_blocks_from else GRID_BLOCK_SIZE


DENSE_PROGRAMS: dict[type, DenseProgram] = {
    Tree: DenseProgram(ASSIGN, EDGES_OF[Tree], (_run_search,)),
    Classical: DenseProgram(ASSIGN, EDGES_OF[Classical], (_run_search,), wide_blocks_from=WIDE_BLOCKS_FROM),
    Core: DenseProgram(ASSIGN_CORE, {}, (_run_core, _search_matrix), CORE_REPORT_SIZE, one_block_up_to=0),
    Munkres: DenseProgram(MUNKRES, {}, (_run_munkres,), one_block_up_to=0, few_blocks_up_to=0, wide_blocks_from=0),
}


def assign_batch(
    batch: CostBatch, method: AssignmentMethod, start: int, threads: int | None, drops: bool = False
) -> AssignedBatch:
    """Checks the costs and runs a method on every problem, one block each, in one launch. Does not wait for it."""
    problems, rows, columns = batch.shape
    dual = batch.dual_type
    with batch.array.device as device:
        if cuda.is_capturing():
            raise InvalidInput(
                "a CUDA graph is being captured, and no assignment can be part of one: its memory comes from a pool, "
                "and the host has to look at some problems; call gmatch before or after the graph"
            )
        layout, step = batch.short_layout()
        if step:
            fewer, more = sorted((rows, columns))
            problem_layout = first_layout(device.id, *layout[0].tolist())
        else:
            fewer, more = (int(layout[side].max(initial=0)) for side in ("num_rows", "num_columns"))
            problem_layout = cupy.asarray(words_of(layout))
        kind: Any = type(method)
        program = _program_of_batch(device.id, kind, c_type(batch.array), fewer, more)
        kernel, block_size, bytes_needed, near, resident = program
        blocks = max(1, min(problems, resident))
        widths = rows, columns, rows, columns, rows, REPORT_SIZE
        types = np.int32, np.int32, dual, dual, batch.array.dtype, np.int64
        vectors = Vectors(
            *((None, problems * width, dtype) for width, dtype in zip(widths, types, strict=True)), (None, 1, np.int64)
        )
        to_row_match, to_col_match, to_u, to_v, to_pair_costs, to_reports, taken = vectors.addresses
        vectors.clear_last()
        workspace = cupy.empty(1 if near else blocks * bytes_needed, np.uint8)
        all_problems = BATCH[dual].pack(
            problems=problem_layout.data.ptr, step=step, num_problems=problems, most_rows=rows, most_columns=columns,
            entries=batch.array.data.ptr, maximize=batch.maximize,
            limit=INFINITE[dual] if batch.limit is None else batch.limit, drops=drops, row_match=to_row_match,
            col_match=to_col_match, u=to_u, v=to_v, pair_costs=to_pair_costs, reports=to_reports, start=start,
            many_paths=method.many_paths,
        )  # fmt: skip
        arguments = (all_problems, workspace, np.int64(bytes_needed), np.int64(near), np.uint64(taken))
        kernel.launch_apart(blocks, block_size, arguments, near)
        row_match, col_match, u, v, pair_costs, reports = vectors.matrices(problems, *widths)
        facts = {"team": "block", "threads": blocks * block_size, "code": kernel.origin}
    return AssignedBatch(row_match, col_match, u, v, pair_costs, partial(_counters_on_host, reports, facts))


def assign_one(array: Any, maximize: bool, limit: Any) -> AssignedBatch | None:
    """Checks the costs of one small problem and solves it by `JV`, in one block and one launch.

    `limit` is as in `DenseCosts`. Returns None if the GPU leaves the problem, as `AssignedBatch` says. The arrays have
    one dimension less than there.
    """
    rows, columns = array.shape
    fewer, more = sorted((rows, columns))
    dual, dtype = DUAL_OF[array.dtype.kind], array.dtype
    with array.device as device:
        kernel, block_size, _, near, _ = _program_of_batch(device.id, JV, c_type(array), fewer, more)
        lengths = (rows, np.int32), (columns, np.int32), (rows, dual), (columns, dual), (rows, dtype)
        vectors, words = Vectors(*((None, *length) for length in lengths)), Words(REPORT_SIZE)
        steps, is_turned = strides_of(array), rows > columns
        layout = (0, *(steps[::-1] if is_turned else steps), fewer, more, is_turned)
        row_match, col_match, u, v, pair_costs = vectors.addresses
        on_gpu = first_layout(device.id, *layout)
        problem = BATCH[dual].pack(
            problems=on_gpu.data.ptr, step=1, num_problems=1, most_rows=rows,
            most_columns=columns, entries=array.data.ptr, maximize=maximize,
            limit=INFINITE[dual] if limit is None else limit, drops=True, row_match=row_match, col_match=col_match,
            u=u, v=v, pair_costs=pair_costs, reports=words.begin, start=AssignmentStart.REDUCE, many_paths=False,
        )  # fmt: skip
        bytes_near = np.int64(near)  # 16 kB at most: so small a problem always fits
        kernel.launch_apart(1, block_size, (problem, np.uint64(0), bytes_near, bytes_near, words.arrivals), near)
        arrays = vectors.arrays()
        counters = counters_by_name(words.read(), NO_JOURNAL, "block", block_size) | {"code": kernel.origin}
        del counters["start"]  # of maximum cardinality
    return AssignedBatch._make([*arrays, counters.copy]) if counters["size"] == fewer else None


class _BatchProgram(NamedTuple):
    """A program for batches of problems of a size."""

    kernel: Kernel
    block_size: int
    bytes_needed: int  # by a block
    near: int  # the bytes that it has in the multiprocessor's own memory
    resident: int  # the blocks that the device holds at once


# To ask for all this takes the host longer than a launch. It is kept for 1,024 sizes, since the batches of a detector
# differ in their numbers of targets.
@lru_cache(maxsize=1024)
def _program_of_batch(device: int, method: type, cost: str, fewer: int, more: int) -> _BatchProgram:
    """The program for a method and a type of costs, on the current device. `fewer` and `more` are the most vertices."""
    words = {"cost": cost, **BATCH_EDGES_OF[method]}
    block_size = _block_size_of_batch(method, more)
    bytes_needed = WORKSPACE_SIZES[ASSIGN_BATCH](fewer, more, block_size, **words)
    near = bytes_needed if bytes_needed <= NEAR_MEMORY_LIMIT else 0
    kernel = entry_point(ASSIGN_BATCH, "assign_batch", device, **words)
    kernel.allow_near_memory(near)
    resident = resident_blocks(kernel, block_size, cupy.cuda.Device(device), near)
    return _BatchProgram(kernel, block_size, bytes_needed, near, resident)


def _block_size_of_batch(method: type, columns: int) -> int:
    """The threads of a block for a problem. Threads without a column only make the barrier slower."""
    if issubclass(method, JV):
        columns_of_a_thread = max(1, -(-columns // MOST_SEARCHERS))
        return max(32, -(-columns // (32 * columns_of_a_thread)) * 32)
    return min(GRID_BLOCK_SIZE, max(64, -(-columns // 64) * 64))


def _counters_on_host(reports: Any, facts: dict[str, Any]) -> dict[str, Any]:
    with reports.device:
        return counters_of(on_host(reports)) | facts


def assign_sparse(costs: SparseCosts, method: AssignmentMethod, start: Start, threads: int | None) -> Assigned:
    """As `assign`, for sparse costs."""
    rows, columns = sorted(costs.shape)
    start = start if rows == columns else start._replace(v=None)
    team = "block" if rows + columns + costs.entries <= BLOCK_TEAM_LIMIT else "grid"
    return _run_sparse(costs, (f"assign_sparse_{team}", "find_stored_costs_grid"), start, method.many_paths)


def bid_sparse(costs: SparseCosts) -> Assigned:
    """What an auction alone finds for a square problem: pairs, and duals of the columns, from which u follow.

    The pairs need not be the cheapest ones, and some rows may be free. If no auction is held, as for equal costs, all
    rows are free and v is 0.
    """
    # A start that changes nothing: no pairs, and duals that are 0.
    start = Start(AssignmentStart.GIVEN, cupy.full(costs.shape[0], -1, np.int32), cupy.zeros(costs.shape[1]))
    return _run_sparse(costs, ("bid_sparse_grid",), start, True)


def _run_sparse(costs: SparseCosts, names: tuple[str, ...], start: Start, many_paths: bool) -> Assigned:
    """Launches entry points of csrc/programs/assign_sparse.cu: the first solves or bids, the others find pair costs."""
    rows, columns = sorted(costs.shape)
    dual, team = costs.dual_type, names[0].rpartition("_")[2]
    with costs.data.device as device:
        types = {"cost": c_type(costs.data), **index_types(costs.indptr, costs.indices)}
        kernel, *others = entry_points(ASSIGN_SPARSE, names, device.id, **types, lanes=lanes_for(costs.entries, rows))
        blocks = 1 if team == "block" else device.attributes["MultiProcessorCount"]
        vectors = Vectors(
            (start.row_match, rows, np.int32), (None, columns, np.int32), (None, rows, dual), (start.v, columns, dual)
        )
        launch = Launch(rows + 1, WORKSPACE_SIZES[ASSIGN_SPARSE](rows, columns, **types))
        task = _assignment_task(vectors, launch, start, many_paths)
        problem = SPARSE_COSTS.pack(
            num_rows=rows, num_columns=columns, offsets=costs.indptr.data.ptr, columns=costs.indices.data.ptr,
            entries=costs.data.data.ptr, maximize=costs.maximize,
        )  # fmt: skip
        kernel((blocks,), (GRID_BLOCK_SIZE,), (problem, task, dual(costs.dual_spread()), launch.arrivals))
        row_match, col_match, u, v = vectors.arrays()
        entries = cupy.empty(rows, costs.data.dtype)
        for find in others:
            find((blocks,), (GRID_BLOCK_SIZE,), (problem, row_match, entries, launch.arrivals))
        counters = counters_of_assignment(*launch.read(), team, blocks * GRID_BLOCK_SIZE)
    if others:
        counters["entries"] = entries
    return Assigned(row_match, col_match, u, v, counters | {"code": kernel.origin})
