"""What each rank of tests/test_ranks_mpi.py runs: ``mpiexec -n 3 python -m mpi4py mpi_job.py solve``."""

import os
import signal
import sys
import threading
import time

import numpy as np
from mpi4py import MPI
from test_distributed import METHODS, assert_proven, assert_witness, families

import gmatch
from gmatch.distributed.mpi import end_the_job

WORLD = MPI.COMM_WORLD
COST = np.random.default_rng(6).integers(0, 10**6, (90, 90))


def own_rows(cost, comm=WORLD):
    return np.array_split(cost, comm.size)[comm.rank]


def solve():
    """All families and methods, each proven in one process by every rank, and by all ranks."""
    for family, cost in families(48).items():
        for method in METHODS:
            result = gmatch.lap(own_rows(cost), method=method, comm=WORLD)
            certificate = gmatch.verify(own_rows(cost), result, comm=WORLD)
            assert certificate == assert_proven(cost, result), (family, method)
    bad = np.random.default_rng(1).random((40, 40))
    bad[:12, 8:] = np.inf
    for method in METHODS:
        try:
            gmatch.lap(own_rows(bad), method=method, comm=WORLD)
        except gmatch.Infeasible as error:
            assert_witness(bad, error)
        else:
            raise AssertionError("expected Infeasible")


def verbs():
    """Also on a communicator of some ranks, which is freed and made again; and with all rows on the last rank."""
    for _ in range(3):
        few = WORLD.Split(WORLD.rank == 0)
        assert_proven(COST, gmatch.lap(own_rows(COST, few), comm=few))
        few.Free()
    mine = COST if WORLD.rank == WORLD.size - 1 else COST[:0]
    ranks = gmatch.Ranks(WORLD, patience=20)
    assert_proven(COST, gmatch.lap(mine, comm=ranks, certify=True))
    for error in (ValueError("odd"), UnicodeDecodeError("utf-8", b"x", 0, 1, "odd")):
        try:
            ranks.agree(error if ranks.rank == 1 else None)
        except (ValueError, RuntimeError) as raised:
            assert "rank 1: " in str(raised) and "odd" in str(raised)
        else:
            raise AssertionError("expected an error")
    assert ranks.gather_list(np.arange(ranks.rank)) is None or ranks.rank == 0
    for length in (0, 100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 120, 5000):  # some go in one message
        notes = ["x" * length if rank == 1 else rank for rank in range(ranks.size)]
        assert ranks.agree(notes[ranks.rank]) == notes
    assert ranks.all_gather(np.full(3, ranks.rank)).tolist() == [[rank] * 3 for rank in range(ranks.size)]


def works():
    """The root works for longer than the patience of the other ranks."""
    ranks = gmatch.Ranks(WORLD, patience=1.0)
    with ranks.at_work():
        if ranks.rank == 0:
            time.sleep(4)
        assert ranks.agree(ranks.rank) == list(range(ranks.size))


class Nccl:
    """The part of NCCL that gmatch uses, between the memories of processes."""

    available, NCCL_UINT8, carried = True, 1, 0

    def __init__(self, size=0, name=None, rank=0):
        assert (size, name, rank) in ((0, None, 0), (WORLD.size, "name", WORLD.rank))

    NcclCommunicator = property(lambda self: Nccl)

    def get_unique_id(self):
        return "name"

    def groupStart(self):
        pass

    groupEnd = check_async_error = groupStart

    def send(self, address, length, kind, rank, stream):
        Nccl.carried += length
        WORLD.Send(MPI.memory.fromaddress(address, length), rank)

    def recv(self, address, length, kind, rank, stream):
        Nccl.carried += length
        WORLD.Recv(MPI.memory.fromaddress(address, length), rank)


def gpus():
    """Blocks on GPUs: arrays go by NCCL if each rank has a GPU of its own, otherwise by way of hosts."""
    from fake_gpus import pretend

    cupy = pretend(setattr)
    for address, nccl in (("0000:01", Nccl()), (f"0000:{WORLD.rank}", Nccl())):
        cupy.cuda.nccl = nccl
        cupy.cuda.runtime.deviceGetPCIBusId = lambda number, address=address: address
        for method in METHODS:
            cost = families(48)["floats"]
            result = gmatch.lap(own_rows(cost), method=method, comm=WORLD, device="gpu")
            assert result.stats["backend"] == "gpu" and isinstance(result.u, np.ndarray)
            assert gmatch.verify(own_rows(cost), result, comm=WORLD) == assert_proven(cost, result)
        with cupy.cuda.Device(1):
            block = cupy.asarray(own_rows(COST))
        result = gmatch.lap(block, comm=WORLD)
        assert type(result.u) is cupy.ndarray
        assert_proven(COST, result.moved(lambda array: array.get()))
        assert (Nccl.carried > 0) == (address != "0000:01")


def nan():
    cost = COST * 1.0
    cost[40, 3] = np.nan
    gmatch.lap(own_rows(cost), comm=WORLD)


def at_fault():
    if WORLD.rank == 1:
        return sys.argv[2]
    return "nothing"


def fault():
    """Rank 1 fails between two calls, or during one."""
    ranks = gmatch.Ranks(WORLD, patience=3.0)
    gmatch.lap(own_rows(COST), comm=ranks)
    match at_fault():
        case "killed":
            threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGKILL)).start()
        case "stopped":
            threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGSTOP)).start()
        case "absent":
            time.sleep(600)
        case "raises":
            raise ValueError("of the user's own code")
    try:
        for number in range(3000):
            gmatch.lap(own_rows(COST), comm=ranks, method=METHODS[number % 3])
    except gmatch.RankLost as error:
        print("RankLost:", error, flush=True)
        try:
            gmatch.lap(own_rows(COST), comm=ranks)
        except gmatch.RankLost as again:
            print("again:", again, flush=True)
        time.sleep(0.5)  # what was printed is on its way
        end_the_job(1)


{"solve": solve, "verbs": verbs, "works": works, "gpus": gpus, "nan": nan, "fault": fault}[sys.argv[1]]()
print(f"done {WORLD.rank}\n", end="", flush=True)  # in one piece, beside others
