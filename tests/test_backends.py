"""The seam between Python and the programs."""

import ctypes
import subprocess
import sys
import threading
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import GPU

import gmatch
from gmatch import _native, cuda
from gmatch.backends import cpu, gpu
from gmatch.cardinality.matching import Start
from gmatch.devices import cpu as host
from gmatch.devices import gpu as reader
from gmatch.devices.cpu import available_threads, thread_count
from gmatch.methods import ForestKind
from gmatch.programs import launch
from gmatch.programs.catalogue import CSRC, MATCH


class HostMemory:
    """Stands for CuPy, with memory of the host."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def copy_rows(
            to: int, to_pitch: int, begin: int, pitch: int, width: int, height: int, kind: int, stream: int
        ) -> None:
            assert width <= min(to_pitch, pitch)
            for row in range(height):
                ctypes.memmove(to + row * to_pitch, begin + row * pitch, width)

        runtime = SimpleNamespace(
            memcpyDeviceToHost=2,
            memcpyAsync=lambda to, begin, size, kind, stream: ctypes.memmove(to, begin, size),
            memcpy2DAsync=copy_rows,
        )
        stream = SimpleNamespace(ptr=0, synchronize=lambda: None)
        cuda = SimpleNamespace(
            runtime=runtime,
            get_current_stream=lambda: stream,
            alloc=self.allocate,
            alloc_pinned_memory=self.allocate,
        )
        self.kept: list[object] = []
        monkeypatch.setattr(launch, "cupy", SimpleNamespace(cuda=cuda))

    def allocate(self, size: int) -> ctypes.Array:
        class Memory(ctypes.c_char * (size + 1)):
            def memset_async(self, value: int, length: int) -> None:
                ctypes.memset(self.ptr, value, length)

        memory = Memory.from_buffer(bytearray(b"\x55" * (size + 1)))
        memory.ptr = ctypes.addressof(memory)
        self.kept.append(memory)
        return memory


@pytest.mark.parametrize("fields", [launch.REPORT_SIZE, launch.CORE_REPORT_SIZE])
@pytest.mark.parametrize("room", [1, 63, 64, 65, 200])
def test_what_a_launch_counts_is_read(room: int, fields: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Munkres' forms of many launches count more phases than the journal has room for."""
    memory = HostMemory(monkeypatch)
    for phases in {0, 1, room - 1, room, room + 7}:
        made = launch.Launch(room, 1000, fields)
        levels, augmentations, workspace = made.levels, made.augmentations, made.workspace
        begin_of_report = made.report
        report = np.frombuffer((ctypes.c_longlong * fields).from_address(begin_of_report), np.int64)
        assert (report == 0).all() and made.read_report() == [0] * fields
        report[:] = np.arange(fields) * 2**40
        report[launch.PHASES] = phases
        for side, begin in enumerate((levels, augmentations)):
            journal = np.frombuffer((ctypes.c_int * room).from_address(begin), np.int32)
            journal[:] = np.arange(room) + 1000 * side
        found, journal = made.read()
        known = min(phases, room)
        assert found == report.tolist() == made.read_report()
        assert (journal[:, :known] == np.arange(known) + [[0], [1000]]).all() and journal.shape[1] >= known
        begins = [begin_of_report, made.progress, int(made.arrivals), levels, augmentations, workspace]
        assert begins == sorted(begins) and (workspace - begin_of_report) % launch.ALIGNMENT == 0
        assert workspace + 1000 <= begin_of_report + len(memory.kept[0])
        memory.kept.clear()


def test_words_begin_with_zero_and_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = HostMemory(monkeypatch)
    for count in (0, 1, 6):
        words = launch.Words(count)
        cells = np.frombuffer((ctypes.c_longlong * (count + launch.ARRIVALS)).from_address(int(words.begin)), np.int64)
        assert (cells == 0).all() and words.arrivals == words.begin + 8 * count and words.read() == [0] * count
        cells[:] = np.arange(count + launch.ARRIVALS) - 2**40
        assert words.read() == cells[:count].tolist()
    memory.kept.clear()


def test_only_team_knows_the_machine() -> None:
    programs = list(CSRC.rglob("*.cuh"))
    assert "device_team.cuh" in {path.name for path in programs} and len(programs) > 1
    for path in programs:
        if path.name != "device_team.cuh":
            text = path.read_text()
            for word in ("threadIdx", "blockIdx", "__shfl", "__CUDA", "atomicAdd", "std::"):
                assert word not in text, (path.name, word)


def test_one_file_imports_cupy() -> None:
    package = CSRC.parent
    importers = [path.name for path in package.rglob("*.py") if "import cupy" in path.read_text()]
    assert importers == ["cuda.py"]
    solve = "import sys, gmatch, scipy.sparse as sp; gmatch.max_matching(sp.eye_array(3))"
    code = f"{solve}; assert 'cupy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_thread_count() -> None:
    assert thread_count(None, 0) == 1
    assert 1 <= thread_count(None, 64) <= available_threads()
    assert thread_count(np.int64(3), 0) == 3


@pytest.mark.parametrize("threads, wanted", [(None, 4), (1, 1), (7, 7)])
def test_threads_that_check_costs(threads: int | None, wanted: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as are asked for, or one for each 2**20 entries."""
    started: dict[str, list[int]] = {"find_few_pairs": [], "inspect_costs": []}
    monkeypatch.setattr(host, "thread_count", partial(_native.thread_count, partial(range, 16)))

    def noted(look: Any, counts: list[int], *told: Any) -> Any:
        counts.append(told[-1])
        return look(*told)

    for name, counts in started.items():
        monkeypatch.setattr(_native, name, partial(noted, getattr(_native, name), counts))
    cost = np.zeros((2, 1 << 21))
    cost[0, :2] = -1
    gmatch.lap(cost, threads=threads)
    cost[:, ::2] = 1
    gmatch.lap(cost, threads=threads)
    gmatch.lap(sp.csr_array(np.ones((2, 2))), method="tree", threads=threads)
    assert started == {"find_few_pairs": [wanted, wanted], "inspect_costs": [wanted, threads or 1]}


def test_threads_that_match_a_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two or three threads are slower than one, unless there is much to do."""
    for processors, entries, wanted in [
        (16, 1 << 17, 1), (16, 3 << 18, 1), (16, 1 << 20, 4), (16, 1 << 30, 16), (2, 1 << 24, 1), (2, 1 << 25, 2),
    ]:  # fmt: skip
        monkeypatch.setattr(cpu, "thread_count", partial(_native.thread_count, partial(range, processors)))
        assert cpu.threads_of_graph(None, entries) == wanted
    assert cpu.threads_of_graph(3, 1) == 3


def test_solves_side_by_side() -> None:
    """The extension lets go of the interpreter, and shares nothing between calls."""
    graphs = [sp.random_array((2000, 2000), density=2e-3, rng=seed, format="csr") for seed in range(8)]
    alone = [gmatch.max_matching(graph, threads=1).size for graph in graphs]
    together: dict[int, int] = {}

    def solve(index: int) -> None:
        together[index] = gmatch.max_matching(graphs[index], threads=2, certify=True).size

    workers = [threading.Thread(target=solve, args=(index,)) for index in range(len(graphs))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [together[index] for index in range(len(graphs))] == alone


@pytest.mark.parametrize("start", list(Start))
def test_workspace_grows_with_the_problem(start: Start) -> None:
    for forest in ForestKind:

        def size(n: int, entries: int, kind: int = forest) -> int:
            return gpu.WORKSPACE_SIZES[MATCH](kind, start, n, n, entries, offset="long long", column="int")

        sizes = [size(n, 4 * n) for n in (0, 1000, 10**6)]
        assert sizes == sorted(sizes) and sizes[-1] < 10**6 * 4 * 20
        # No overflow where the number of entries passes 2^31.
        assert size(2**31 - 2, 2**33) > 2**33


@pytest.mark.skipif(GPU, reason="needs a machine without a GPU")
def test_no_gpu_says_what_to_do() -> None:
    with pytest.raises(gmatch.BackendUnavailable, match="use device='cpu'"):
        cuda.devices()


@pytest.mark.skipif(not GPU, reason="needs a GPU")
def test_threads_are_for_the_cpu() -> None:
    with pytest.raises(gmatch.InvalidInput, match="threads is for the CPU"):
        gmatch.max_matching(sp.eye_array(3), device="gpu", threads=2)


@pytest.mark.parametrize("number", [0.0, 1.5, -2.25, 5e-324, -1e-310, 1.7e308, -1.7e308, 7, -(2**63), 2**63 - 1])
def test_numbers_come_back_from_their_order(number: float) -> None:
    """The order is that of csrc/costs/inspection.cuh."""
    if isinstance(number, int):
        assert reader.from_order(number, True) == number
        return
    bits = int(np.float64(number).view(np.int64))
    place = bits if bits >= 0 else bits ^ (2**63 - 1)
    assert reader.from_order(place, False) == number


def test_no_finite_number_has_a_place() -> None:
    nothing_seen = 2**63 - 1
    assert reader.from_order(nothing_seen, False) == np.inf
    assert reader.from_order(~nothing_seen, False) == -np.inf


def test_layouts_on_a_gpu_go_after_all_launches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Layouts that were asked for lately stay. Before old ones go, the host waits for their GPU."""
    waited: list[int] = []

    def device(number: int) -> SimpleNamespace:
        return SimpleNamespace(synchronize=lambda: waited.append(number))

    fake = SimpleNamespace(array=lambda rows, dtype: np.array(rows, dtype), cuda=SimpleNamespace(Device=device))
    monkeypatch.setattr(launch, "cupy", fake)
    monkeypatch.setattr(cuda, "end_of_work", lambda: None)
    monkeypatch.setattr(launch, "MOST_LAYOUTS", 4)
    layouts = launch.Layouts()
    often = layouts.of(3, 1, 2)[0]
    assert often.tolist() == [[1, 2]]
    for size in range(100):
        assert layouts.of(3, size, 7)[0].tolist() == [[size, 7]]
        assert layouts.of(3, 1, 2)[0] is often
    assert len(layouts._new) + len(layouts._old) <= 8
    assert set(waited) == {3} and 10 < len(waited) < 100
    assert layouts.of(3, 0, 7)[0] is not often and len(waited) < 100
