"""Two GPUs for a process that has none: a fake CuPy, with programs that run on the host."""

from types import SimpleNamespace

import fake_cupy
import numpy as np
import scipy.sparse

import gmatch
from gmatch import backends, cuda, small_gpu
from gmatch.assignment.plan import FROM_MINIMA, Plan
from gmatch.backends import cpu, pair_lists, point_costs, point_order, sample_prices
from gmatch.backends.block_passes import FarEdges, ForestState, HostPasses, Picks
from gmatch.backends.protocol import AssignedBatch
from gmatch.devices import READERS, uploads
from gmatch.devices import cpu as reader_of_host
from gmatch.distributed import classical, core, gpu_windows, part
from gmatch.distributed.ranks import one_rank
from gmatch.distributed.sampled import Sample
from gmatch.methods import TiedCore, assignment_method_of
from gmatch.problems import limits, windows
from gmatch.problems.batch import CostBatch
from gmatch.problems.limits import Asked
from gmatch.problems.sparse import SparseCosts

run, cover_of_allowed_pairs, passes_of = core.run, core.cover_of_allowed_pairs, part.passes_of


class FakeReader:
    """Programs of the host look at arrays of a GPU."""

    @staticmethod
    def inspect_costs(array, threads=None):
        return reader_of_host.inspect_costs(array.get(), threads)

    @staticmethod
    def inspect_with_expensive(array, maximize, cost_limit):
        """The sample is the whole matrix."""
        entries = array.get().ravel() if hasattr(array, "get") else array.ravel()
        sign = -1 if maximize else 1
        bound = max(sign * entries) if cost_limit is None else min(max(sign * entries), sign * cost_limit)
        below = sign * entries[sign * entries < bound]
        return (
            reader_of_host.inspect_costs(entries.reshape(array.shape)),
            (entries.size - len(below), sign * bound, sign * max(below, default=0)),
        )

    @staticmethod
    def inspect(indptr, indices, columns):
        return reader_of_host.inspect(indptr.get(), indices.get(), columns)

    @staticmethod
    def has_duplicates(indptr, indices, columns):
        return reader_of_host.has_duplicates(indptr.get(), indices.get(), columns)

    @staticmethod
    def find_entries(*arguments):
        return fake_cupy.fake(reader_of_host.find_entries(*map(on_host, arguments)))


def on_host_too(costs):
    arrays = map(on_host, (costs.indptr, costs.indices, costs.data))
    return SparseCosts.of_checked(tuple(arrays), costs.shape, costs.lowest, costs.highest, costs.ways_out)


def solve_on_host(costs, plan, start=FROM_MINIMA):
    if plan.backend.NAME == "cpu":
        return run(costs, plan, start)
    costs = on_host_too(costs)
    host = [None if array is None else array.get() for array in start[1:]]
    solution = run(costs, plan._replace(backend=cpu), type(start)(start.kind, *host))
    return solution.moved(fake_cupy.fake)


def bid_on_host(costs):
    """No auction, but a cheapest assignment."""
    return solve_on_host(costs, Plan(FakeGPU, assignment_method_of("auto", "gpu")[0]))


def order_of_tree(points, size):
    """As the programs of a GPU, in array code."""
    number, groups, nodes = len(points), -(-len(points) // size), 1
    order, places = np.arange(number), np.arange(number)
    while nodes < groups:
        node = places // size * nodes // groups
        begins, here = np.searchsorted(node, np.arange(nodes)), points[order]
        reach = np.maximum.reduceat(here, begins) - np.minimum.reduceat(here, begins)
        order = order[np.lexsort([here[places, reach.argmax(axis=1)[node]], node])]
        nodes *= 2
    return order


class FakePasses:
    """The passes of a GPU, run on the host."""

    def __init__(self, array, *options):
        self._host = HostPasses(array.get(), *options)
        self._given = array.get(), *options

    def __getattr__(self, name):
        def on_gpu(*arguments):
            return fake_cupy.fake(getattr(self._host, name)(*map(on_host, arguments)))

        return on_gpu

    def price(self, rows, v, depth):
        """A pass over all rows, without bounds."""
        return self._picks(self._host.price(self._all(), on_host(v), depth._replace(below=None)))

    def overpriced(self, rows, u, v, depth):
        return self._picks(self._host.overpriced(on_host(rows), on_host(u), on_host(v), depth._replace(below=None)))

    def _all(self):
        return np.arange(len(self._given[0]), dtype=np.int32)

    @staticmethod
    def _picks(picks):
        return picks._replace(places=fake_cupy.fake(picks.places), bounds=None, costs=None)

    def entries_up_to(self, most, held, room):
        near = self._host.entries_up_to(most, type(held)(*map(on_host, held)), room)
        return near._replace(places=fake_cupy.fake(near.places), slacks=fake_cupy.fake(near.slacks))

    def close(self, rows, forest, bound, wanted):
        here = ForestState(*map(on_host, forest[:4]), FarEdges(*map(on_host, forest.far)), *map(on_host, forest[5:]))
        threshold = self._host.close(rows, here, bound, wanted)
        for theirs, changed in zip(forest[5:], here[5:], strict=True):
            theirs[...] = fake_cupy.fake(changed)
        return threshold


class FakePairs(FakePasses):
    """The passes over pairs of points, which also tell what the pairs cost."""

    def costs(self, places):
        costs, _, maximize, limit, _ = self._given
        return fake_cupy.fake(limits.minimised(costs.ravel()[on_host(places)], np.float64, maximize, limit))

    @staticmethod
    def _picks(picks):
        return picks._replace(places=fake_cupy.fake(picks.places), bounds=None, costs=fake_cupy.fake(picks.costs))

    def overpriced(self, rows, u, v, depth):
        """A pass over all rows."""
        least, _ = self._host.least_of_rows(self._all(), on_host(v))
        return super().overpriced(self._all(), u, v, depth)._replace(bounds=fake_cupy.fake(least))


class FakeBounds(FakePairs):
    """The passes over pairs of points of many coordinates, which number pairs in the whole problem."""

    unit, rows_seen = 2.0, 0

    def turned(self):
        costs, *options = self._given
        return FakeBounds(fake_cupy.fake(np.ascontiguousarray(costs.T)), *options)

    def price(self, rows, v, depth, most=None):
        """The best pairs of all rows; for None 16 of each row, and 3 that are drawn."""
        costs, _, maximize, limit, _ = self._given
        above = limits.minimised(costs, np.float64, maximize, limit) - on_host(v)
        picked = np.argsort(above, axis=1, kind="stable")[:, : most or 16]
        if most is None:
            drawn = np.random.default_rng(0).integers(0, costs.shape[1], (len(costs), 3))
            picked = np.concatenate([picked, np.where(np.isinf(on_host(v))[drawn], picked[:, :1], drawn)], axis=1)
        places = fake_cupy.fake(np.unique(picked + np.arange(len(costs))[:, None] * costs.shape[1]))
        return Picks(places, 0, None, self.costs(places))

    def overpriced(self, rows, u, v, depth):
        return FakePasses.overpriced(self, rows, u, v, depth)

    def overpriced_and_least(self, rows, u, v, depth):
        picks = FakePairs.overpriced(self, rows, u, v, depth)
        return picks, picks.bounds

    def rough(self, rows):
        costs, _, maximize, _, _ = self._given
        return fake_cupy.fake((costs[rows] * (-1 if maximize else 1) / self.unit).astype(np.float32))


class FakePoints:
    """The program that fills windows of points."""

    def __init__(self, x, y, metric, p):
        of_ones = gmatch.PointCosts(np.ones_like(x), np.ones_like(y), metric=metric, p=p)
        # Points of "cosine" have the length 1 already, and centroids have any length.
        self._costs = of_ones.with_points(x, y)

    def costs(self, rows):
        numbers = np.arange(self._costs.shape[0])[rows]
        return fake_cupy.fake(self._costs.of_pairs(numbers[:, None], np.arange(self._costs.shape[1])))

    def bounds(self, centre, asked):
        maximize, limit, _ = asked
        return FakeBounds(self.costs(slice(None)), np.float64, maximize, limit, 1)

    def passes(self, rows, maximize, limit):
        return FakePairs(self.costs(rows), np.float64, maximize, limit, 1)


class FakeSample:
    """The passes over samples."""

    @staticmethod
    def wanted(costs):
        return FakeSample._of(costs)._wanted()

    @staticmethod
    def above_the_least(costs):
        return FakeSample._of(costs)._above_the_least()

    @staticmethod
    def shares(costs, v, eps, free):
        return FakeSample._of(costs, None if free == -np.inf else -free)._shares(v, eps)

    @staticmethod
    def _of(costs, limit=None):
        return Sample(one_rank(), costs.get(), 0, len(costs), limit)


class FakeUploads:
    """Copies that are done at once."""

    def __init__(self, together):
        self._together = together

    def start(self, read, rows, width, dtype):
        copy = fake_cupy.fake(read(rows).astype(dtype))
        assert copy.shape == (rows.stop - rows.start, width) and rows.start % self._together == 0
        return SimpleNamespace(finish=lambda: copy)

    def close(self):
        pass


def on_host(thing):
    return thing.get() if isinstance(thing, fake_cupy.ndarray) else thing


def pretend(setattr):
    """Puts the fake GPUs in place. Returns the fake module."""
    module = fake_cupy.Module()
    setattr(cuda, "module", lambda: module)
    setattr(cuda, "cupy", lambda: module)
    setattr(cuda, "nccl", lambda: module.cuda.nccl)
    setattr(limits, "READERS", {"cpu": reader_of_host, "gpu": FakeReader})
    setattr(
        part, "passes_of",
        lambda array, *options: (FakePasses if type(array) is fake_cupy.ndarray else passes_of)(array, *options),
    )  # fmt: skip
    setattr(part, "lists_of", lambda device: pair_lists)
    setattr(core, "run", solve_on_host)
    setattr(gpu_windows, "bids_on", bid_on_host)
    setattr(small_gpu, "assign_one", lambda *_: None)
    setattr(classical, "run", solve_on_host)
    setattr(windows, "READERS", {"cpu": reader_of_host, "gpu": FakeReader})
    setattr(cuda, "memory_left", lambda: 1 << 33)
    setattr(cuda, "processors", lambda: 1)
    setattr(point_costs, "PointsOnGPU", FakePoints)
    setattr(point_order, "order_of_tree", order_of_tree)
    for name in ("wanted", "above_the_least", "shares"):
        setattr(sample_prices, name, getattr(FakeSample, name))
    setattr(uploads, "Uploads", FakeUploads)
    setattr(core, "cover_of_allowed_pairs", lambda costs, threads: cover_of_allowed_pairs(on_host_too(costs), threads))
    return module


class FakeGPU:
    """The backend of a GPU for problems of one process: programs run on the host, on arrays of a GPU."""

    NAME = "gpu"

    @staticmethod
    def match(graph, method, start, row_match, threads):
        return on_gpu(cpu.match(graph.on("cpu"), method, start, on_host(row_match), threads))

    @staticmethod
    def assign(costs, method, start, threads):
        """The host has no search that leaves ties to a core: it goes on to the end."""
        method = method.search if isinstance(method, TiedCore) else method
        return on_gpu(cpu.assign(costs.on("cpu"), method, on_host_all(start), threads))

    @staticmethod
    def assign_batch(batch, method, start, threads, drops=False):
        """Leaves problems to the host, and drops pairs, as a GPU does."""
        problems, rows, columns = batch.shape
        mates = np.full((problems, rows), -1, np.int32), np.full((problems, columns), -1, np.int32)
        duals = np.zeros((problems, rows), batch.dual_type), np.zeros((problems, columns), batch.dual_type)
        pair_costs, (sizes, dropped) = np.zeros((problems, rows), batch.array.dtype), np.zeros((2, problems), np.int64)
        for number, (height, width) in enumerate(batch.shapes.tolist()):
            matrix, options = batch.problem(number).get(), {"maximize": batch.maximize, "cost_limit": batch.cost_limit}
            try:
                one = CostBatch([matrix], **options)
                found = cpu.assign_batch(one, method, start, threads)
                is_left = found.read_counters()["size"] < one.pairs or gmatch.lap(matrix, **options).exact is not None
            except gmatch.GmatchError:
                is_left = True
            if is_left:
                pair_costs[number, :height] = np.nan if pair_costs.dtype.kind == "f" else 0
                continue
            sizes[number] = min(height, width)
            for lines, line in zip((*mates, *duals, pair_costs), found[:5], strict=True):
                lines[number, : line.shape[1]] = line[0]
            for row, column in enumerate(mates[0][number] if drops and batch.limit is not None else ()):
                price = pair_costs[number, row].item() * (-1 if batch.maximize else 1)
                if column >= 0 and price > batch.limit:
                    mates[0][number, row] = mates[1][number, column] = -1
                    pair_costs[number, row] = 0
                    dropped[number] += 1
        names = ("start_size", "phases", "levels", *(f"{step}_ns" for step in ("start", "search", "augment", "price")))
        counters = {"size": sizes, "dropped": dropped} | {name: np.zeros(problems, np.int64) for name in names}
        return AssignedBatch(*map(fake_cupy.fake, (*mates, *duals, pair_costs)), counters.copy)

    @staticmethod
    def assign_one(cost, maximize, limit):
        """The arrays of a batch of one problem, which `assign_batch` may have left."""
        cost_limit = -limit if maximize and limit is not None else limit
        batch = CostBatch.as_asked(cost[None], Asked(maximize, cost_limit, False), None, None)
        *arrays, read = FakeGPU.assign_batch(batch, gmatch.JV(), FROM_MINIMA.kind, None, True)
        counters = {name: int(numbers[0]) for name, numbers in read().items()}
        return AssignedBatch(*(array[0] for array in arrays), counters.copy) if counters["size"] else None

    @staticmethod
    def assign_sparse(costs, method, start, threads):
        return on_gpu(cpu.assign_sparse(costs.on("cpu"), method, on_host_all(start), threads))


def on_host_all(start):
    return type(start)(*map(on_host, start))


def on_gpu(found):
    *arrays, counters = found
    entries = {name: fake_cupy.fake(counters[name]) for name in ("entries",) if name in counters}
    return type(found)(*map(fake_cupy.fake, arrays), counters | entries)


class FakeMatrix:
    """The part of a sparse matrix of CuPy that gmatch uses."""

    def __init__(self, matrix):
        self._matrix, self.format, self.shape = matrix, matrix.format, matrix.shape
        for name in ("data", "indptr", "indices", "row", "col"):
            if hasattr(matrix, name):
                setattr(self, name, fake_cupy.fake(getattr(matrix, name)))

    @property
    def nnz(self):
        return self._matrix.nnz

    @property
    def dtype(self):
        return self._matrix.dtype

    def get(self):
        return self._matrix

    def tocsr(self):
        return FakeMatrix(self._matrix.tocsr())

    def tocoo(self):
        return FakeMatrix(self._matrix.tocoo())

    def astype(self, dtype):
        return FakeMatrix(self._matrix.astype(dtype))


def pretend_one(setattr):
    """Puts one fake GPU in place, for problems of one process. Returns the fake module."""
    module = fake_cupy.Module()
    setattr(cuda, "module", lambda: module)
    setattr(cuda, "cupy", lambda: module)
    setattr(cuda, "require", lambda: None)
    setattr(cuda, "memory_left", lambda: 1 << 33)
    setattr(
        cuda, "csr_matrix",
        lambda entries, rows, columns, shape: FakeMatrix(
            scipy.sparse.coo_array((entries.get(), (rows.get(), columns.get())), shape=shape).tocsr()
        ),
    )  # fmt: skip
    setattr(cuda, "entry_of_each_row", lambda matrix, columns: matrix[module.arange(len(columns)), columns])
    setattr(small_gpu, "assign_one", FakeGPU.assign_one)
    setattr(type(backends.BACKENDS), "__getitem__", lambda _, device: FakeGPU if device == "gpu" else cpu)
    setattr(type(READERS), "__getitem__", lambda _, device: FakeReader if device == "gpu" else reader_of_host)
    return module
