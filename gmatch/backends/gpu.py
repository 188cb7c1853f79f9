"""Programs on a GPU: one cooperative launch each."""

from __future__ import annotations

from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import _native, cuda
from ..errors import InvalidInput
from ..methods import JV, Claims, Classical, Core, Munkres, TiedCore, Tree
from ..types import number_type
from .catalogue import (
    ASSIGN,
    ASSIGN_BATCH,
    ASSIGN_CORE,
    ASSIGN_SPARSE,
    COSTS,
    FORESTS,
    INSPECT_COSTS,
    MATCH,
    MUNKRES,
    NARROW,
    PROGRAMS,
    ROWS,
    Program,
)
from .compiled import Kernel, kernels_of
from .cpu import add_counters, counters_by_name, counters_of, counters_of_assignment, journal_length, journal_of
from .launch import CORE_REPORT_SIZE, REPORT_SIZE, SIZE, Launch, Vectors, Words, first_layout, on_host
from .layouts import Layout, words_of
from .protocol import Assigned, AssignedBatch, AssignmentStart, Matched, Start

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..arrays import Device
    from ..methods import AssignmentMethod, ForestMethod
    from ..problems.batch import CostBatch
    from ..problems.dense import DenseCosts
    from ..problems.graph import BipartiteGraph
    from ..problems.sparse import SparseCosts

cupy: Any = cuda.module()

NAME: Device = "gpu"
# The paper's constant number of threads: 256 blocks of 256.
CONSTANT_BLOCKS = 256
PAPER_BLOCK_SIZE = 256
# Threads of a block that is a team by itself, or does several levels by itself: the most that a GPU allows.
BLOCK_SIZE = 1024
# What a program that keeps no journal gives back of it.
NO_JOURNAL = np.empty((2, 0), np.int32)
# A block for each multiprocessor: more threads make the barrier of the grid slower, and a level is mostly latency. They
# are worth it where blocks do several levels by themselves.
GRID_BLOCK_SIZE = 512
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
# Most threads of a block that solves a problem of a batch by shortest paths: two such blocks have the registers of a
# multiprocessor. A thread has one column, unless there are more columns than threads. With two, 64 to 300 columns take
# 1.1 to 1.5 times as long (benchmarks/log/batches.md, "A step reads several rows").
MOST_SEARCHERS = 320
# A problem of a batch whose arrays take no more is worked on in the multiprocessor's own memory: two blocks fit.
NEAR_MEMORY_LIMIT = 111 << 10
INSPECTION, COST_INSPECTION = map(Layout, ("Inspection", "CostInspection"))
CSR_EDGES, TASK, ASSIGNMENT_TASK = map(Layout, ("CsrEdges", "Task", "AssignmentTask"))
SPARSE_COSTS, ENTRIES = map(Layout, ("SparseCosts", "Entries"))
SEEN_IN_GRAPH = INSPECTION.getter("falling_offsets", "first_offset", "last_offset", "bad_columns")
SEEN_IN_COSTS = COST_INSPECTION.getter("lowest", "minus_highest", "nans", "plus_infs", "minus_infs", "fractions")
# The programs that run before and after the program of a method.
OF_COSTS = ("inspect_costs_grid", "find_pair_costs_grid")
# By the type of the duals.
DENSE_COSTS = {np.int64: Layout("DenseCosts<long long>"), np.float64: Layout("DenseCosts<double>")}
BATCH = {np.int64: Layout("Batch<long long>"), np.float64: Layout("Batch<double>")}
DUAL_OF: dict[str, Any] = {"i": np.int64, "f": np.float64}  # by the kind of the costs' type
# By their names in NumPy.
C_TYPES = {words["type"]: words["cost"] for words in (*COSTS, *NARROW)}
WORKSPACE_SIZES: dict[Program, Callable[..., int]] = {
    program: getattr(_native, program.workspace) for program in PROGRAMS if program.workspace
}
INFINITE = {np.int64: 2**63 - 1, np.float64: np.inf}  # no limit


@cache
def entry_point(program: Program, name: str, device: int, **words: str | int) -> Kernel:
    """An entry point of a program, compiled for words of the catalogue, on the current device."""
    return entry_points(program, (name,), device, **words)[0]


@cache
def entry_points(program: Program, names: tuple[str, ...], device: int, **words: str | int) -> list[Kernel]:
    """Entry points of a program that are launched one after the other. They compile at the same time."""
    variant = program.variant(**{word: str(value) for word, value in words.items()})
    return kernels_of(variant, names, cupy.cuda.Device(device).compute_capability)


def index_types(indptr: Any, indices: Any) -> dict[str, str]:
    """The types of the arrays of compressed sparse rows, as words of the catalogue."""
    return {"offset": c_type(indptr), "column": c_type(indices)}


def c_type(array: Any) -> str:
    return _c_type_of(array.dtype)


@cache
def _c_type_of(dtype: Any) -> str:
    return C_TYPES[dtype.name]  # NumPy puts the name together anew each time, which takes 2 us


def resident_blocks(kernel: Kernel, block_size: int, device: Any, near_memory: int = 0) -> int:
    """How many blocks the device holds at once. Further blocks would never reach a barrier of the grid."""
    per_processor = cupy.cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor(kernel.ptr, block_size, near_memory)
    return int(per_processor) * int(device.attributes["MultiProcessorCount"])


def grid_of(method: ForestMethod, kernel: Kernel, rows: int, device: Any) -> tuple[int, int]:
    """Blocks of the grid, and threads of a block."""
    threads = getattr(method, "threads", None)
    if threads is None:
        grows_unevenly = type(method) is Claims and not method.shortest_only
        return device.attributes["MultiProcessorCount"], BLOCK_SIZE if grows_unevenly else GRID_BLOCK_SIZE
    resident = resident_blocks(kernel, PAPER_BLOCK_SIZE, device)
    wanted = CONSTANT_BLOCKS if threads == "ct" else -(-rows // PAPER_BLOCK_SIZE)
    return max(1, min(wanted, resident)), PAPER_BLOCK_SIZE


def lanes_of(method: ForestMethod, graph: BipartiteGraph) -> int:
    """Threads that share a row: one in the paper's kernels, otherwise by the mean degree."""
    if hasattr(method, "threads"):
        return 1
    return lanes_for(graph.entries, graph.shape[0])


def lanes_for(entries: int, rows: int) -> int:
    """Threads that share a row, by the mean degree."""
    degree = entries / max(1, rows)
    return 32 if degree > 12 else 8 if degree > 4 else 4


def inspect(indptr: Any, indices: Any, columns: int) -> tuple[int, int, int, int]:
    """What the arrays of a graph hold: see `Inspection` in csrc/cardinality/sparse_rows.cuh."""
    with indices.device as device:
        lanes = lanes_for(len(indices), len(indptr) - 1)
        kernel = entry_point(ROWS, "inspect_grid", device.id, **index_types(indptr, indices), lanes=lanes)
        seen = Words(len(INSPECTION.names))
        blocks = max(1, min(device.attributes["MultiProcessorCount"], len(indices) // BLOCK_SIZE))
        edges = _edges(indptr, indices, columns)
        kernel((blocks,), (BLOCK_SIZE,), (edges, np.int64(len(indices)), seen.begin, seen.arrivals))
        falling, first, last, bad = SEEN_IN_GRAPH(seen.read())
    return falling, first, last, bad


def match(graph: BipartiteGraph, method: ForestMethod, start: int, row_match: Any, threads: int | None) -> Matched:
    """Runs `match_cardinality`."""
    check_threads(threads)
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
        kernel((blocks,), (block_size,), (_edges(graph.indptr, graph.indices, columns), task, launch.arrivals))
        row_match, col_match, reached = vectors.arrays()
        counters = counters_by_name(*launch.read(), team, blocks * block_size)
    return Matched(row_match, col_match, reached, counters | {"code": kernel.origin})


def _edges(indptr: Any, indices: Any, columns: int) -> Any:
    """A `CsrEdges` of csrc."""
    return CSR_EDGES.pack(
        num_rows=len(indptr) - 1, num_columns=columns, offsets=indptr.data.ptr, columns=indices.data.ptr
    )


def check_threads(threads: int | None) -> None:
    if threads is not None:
        raise InvalidInput(f"threads is for the CPU, a GPU sizes its own grid; got threads={threads!r}; leave it out")


def inspect_costs(array: Any) -> tuple[Any, Any, bool, bool, bool, bool]:
    """The lowest and the highest finite entry, whether there are NaN, +inf and -inf, and no fractions."""
    with array.device as device:
        kernel, _ = entry_points(INSPECT_COSTS, OF_COSTS, device.id, cost=c_type(array))
        seen = Words(len(COST_INSPECTION.names))
        blocks = max(1, min(device.attributes["MultiProcessorCount"], array.size // BLOCK_SIZE))
        kernel((blocks,), (BLOCK_SIZE,), (_entries(array), seen.begin, seen.arrivals))
        lowest, minus_highest, nans, plus_infs, minus_infs, fractions = SEEN_IN_COSTS(seen.read())
    whole = number_type(array.dtype).kind == "i"
    range_of = (_from_order(lowest, whole), _from_order(~minus_highest, whole))
    return *range_of, nans > 0, plus_infs > 0, minus_infs > 0, fractions == 0


def _pair_costs(array: Any, row_match: Any, device: int) -> Any:
    """The entry of each row of a matrix in its column; any entry for a free row. Does not wait for the result."""
    rows = len(row_match)
    pair_costs = cupy.empty(rows, array.dtype)
    _, kernel = entry_points(INSPECT_COSTS, OF_COSTS, device, cost=c_type(array))
    blocks = max(1, min(cupy.cuda.Device(device).attributes["MultiProcessorCount"], rows // GRID_BLOCK_SIZE))
    words = Words(0)  # until the launch, or another thread could have their memory first
    kernel((blocks,), (GRID_BLOCK_SIZE,), (_entries(array), row_match, pair_costs, words.arrivals))
    return pair_costs


def _entries(array: Any) -> Any:
    """An `Entries` of csrc."""
    (rows, columns), (row_stride, column_stride) = array.shape, strides_of(array)
    return ENTRIES.pack(
        first=array.data.ptr, num_rows=rows, num_columns=columns, row_stride=row_stride, column_stride=column_stride
    )


def strides_of(array: Any) -> tuple[int, int]:
    """The strides of a matrix, in entries."""
    (row_stride, column_stride), size = array.strides, array.itemsize
    return row_stride // size, column_stride // size


def _from_order(place: int, whole: bool) -> int | float:
    """The number that `order_of` in csrc/costs/inspection.cuh puts in a place; infinity if no float was finite."""
    if whole:
        return place
    if place in (2**63 - 1, -(2**63)):
        return float(np.copysign(np.inf, place))
    return float(np.int64(place if place >= 0 else place ^ (2**63 - 1)).view(np.float64))


def assign(costs: DenseCosts, method: AssignmentMethod, start: Start, threads: int | None) -> Assigned:
    """Runs a method of assignment."""
    check_threads(threads)
    if not isinstance(method, TiedCore):
        return _assign(costs, method, start)
    found = _assign(costs, method.search, start, MOST_LEVELS)
    counted = found.counters
    if counted["size"] == min(costs.shape) or counted["levels"] < MOST_LEVELS:
        return found
    # The core begins anew: an auction takes less time than searches from all rows that are free.
    found = _assign(costs, Core(), Start(AssignmentStart.REDUCE))
    both = add_counters(found.counters, counted) | {name: found.counters[name] for name in ("size", "start_size")}
    return found._replace(counters=both | {"method": "core", "reason": MANY_LEVELS})


def _assign(costs: DenseCosts, method: AssignmentMethod, start: Start, most_levels: int = 0) -> Assigned:
    """Runs one method. A search stops after `most_levels`, unless these are 0, and may leave free rows."""
    rows, columns = costs.array.shape
    dual, cost = costs.dual_type, c_type(costs.array)
    with costs.array.device as device:
        blocks, block_size = _assignment_grid(method, rows * columns, device)
        team = "block" if blocks == 1 else "grid"
        vectors = Vectors(
            (start.row_match, rows, np.int32), (None, columns, np.int32), (None, rows, dual), (start.v, columns, dual)
        )
        program, words, report_size, runs = DENSE_PROGRAMS[type(method)]
        launch = Launch(
            journal_length(method, rows),
            WORKSPACE_SIZES[program](rows, columns, blocks * block_size, cost=cost, **words), report_size,
        )  # fmt: skip
        task = _assignment_task(vectors, launch, start, method.many_paths, most_levels)
        row_stride, column_stride = strides_of(costs.array)
        problem = DENSE_COSTS[dual].pack(
            num_rows=rows, num_columns=columns, costs=costs.array.data.ptr, row_stride=row_stride,
            column_stride=column_stride, maximize=costs.maximize,
            limit=INFINITE[dual] if costs.limit is None else costs.limit,
        )  # fmt: skip
        for run in runs:
            kernel = run(costs, method, (problem, task), launch, (blocks, block_size))
            row_match, col_match, u, v = vectors.arrays()
            entries = _pair_costs(costs.array, row_match, device.id)
            report, journal = launch.read()
            counters = counters_of_assignment(report, journal_of(method, journal), team, blocks * block_size)
            if counters.get("trace", ["done"])[-1] != "bound":
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


def _assignment_grid(method: AssignmentMethod, entries: int, device: Any) -> tuple[int, int]:
    """Blocks of the grid, and threads of a block; one block is a team of its own."""
    kind, processors = type(method), device.attributes["MultiProcessorCount"]
    if kind is Munkres:
        return processors, BLOCK_SIZE
    if entries <= BLOCK_ASSIGNMENT_LIMIT and kind is not Core:
        return 1, GRID_BLOCK_SIZE
    blocks = min(processors, FEW_BLOCKS) if entries <= FEW_BLOCKS_LIMIT else processors
    is_wide = kind is Classical and entries >= WIDE_BLOCKS_FROM
    return blocks, BLOCK_SIZE if is_wide else GRID_BLOCK_SIZE


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
# For each method: its program, the words that it is compiled for beside the type of costs, the size of its report, and
# the functions that run it. The second function runs only if the trace of the first one ends with `bound`.
DENSE_PROGRAMS: dict[type, tuple[Program, dict[str, str], int, tuple[Callable[..., Kernel], ...]]] = {
    **{kind: (ASSIGN, words, REPORT_SIZE, (_run_search,)) for kind, words in EDGES_OF.items()},
    Core: (ASSIGN_CORE, {}, CORE_REPORT_SIZE, (_run_core, _search_matrix)),
    Munkres: (MUNKRES, {}, REPORT_SIZE, (_run_munkres,)),
}


def assign_batch(
    batch: CostBatch, method: AssignmentMethod, start: int, threads: int | None, drops: bool = False
) -> AssignedBatch:
    """Checks the costs and runs a method on every problem, one block each, in one launch. Does not wait for it."""
    check_threads(threads)
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


def has_duplicates(indptr: Any, indices: Any, columns: int) -> bool:
    """Whether a row may have two entries in one column: whether a row is not sorted."""
    seen = Words(1)
    _run_over_rows("count_unsorted_grid", indptr, indices, columns, seen.begin, seen.arrivals)
    return seen.read() != [0]


def find_entries(indptr: Any, indices: Any, columns: int, row_match: Any) -> Any:
    """The position of the entry of each row's pair; -1 for pairs that are not stored, and rows without a pair."""
    with indices.device:
        positions = cupy.empty(len(row_match), np.int64)
        words = Words(0)  # until the launch, or another thread could have their memory first
        _run_over_rows("find_entries_grid", indptr, indices, columns, row_match, positions, words.arrivals)
    return positions


def _run_over_rows(name: str, indptr: Any, indices: Any, columns: int, *others: Any) -> None:
    """Launches an entry point of csrc/programs/rows.cu with all rows at once, up to a full GPU."""
    rows = len(indptr) - 1
    lanes = lanes_for(len(indices), rows)
    with indices.device as device:
        kernel = entry_point(ROWS, name, device.id, **index_types(indptr, indices), lanes=lanes)
        most = 2 * device.attributes["MultiProcessorCount"]
        blocks = max(1, min(-(-rows * lanes // GRID_BLOCK_SIZE), most))
        kernel((blocks,), (GRID_BLOCK_SIZE,), (_edges(indptr, indices, columns), *others))


def assign_sparse(costs: SparseCosts, method: AssignmentMethod, start: Start, threads: int | None) -> Assigned:
    """As `assign`, for sparse costs."""
    check_threads(threads)
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
