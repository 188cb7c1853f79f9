"""Messages between ranks that are threads of this process. tests/test_ranks_mpi.py has processes of MPI."""

import subprocess
import sys
import time

import numpy as np
import pytest

import gmatch
from gmatch.distributed.ranks import ROOT, Ranks, gathered, of_root, reduced
from gmatch.distributed.threads import run_threads

SIZES = [1, 2, 3, 5]


def on_threads(size, work, patience=20.0):
    return run_threads(size, lambda seat: work(Ranks(seat, patience=patience)))


@pytest.mark.parametrize("size", SIZES)
def test_agree_gives_all_notes_to_all(size):
    assert on_threads(size, lambda ranks: ranks.agree(ranks.rank**2)) == [[rank**2 for rank in range(size)]] * size


@pytest.mark.parametrize("size", SIZES)
def test_broadcast_fills_the_arrays_of_all(size):
    def work(ranks):
        array = np.full(4, ranks.rank + 1.5)
        ranks.broadcast(array, size - 1)
        return array.tolist()

    assert on_threads(size, work) == [[size + 0.5] * 4] * size


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("op", "reduce"), [("sum", np.sum), ("min", np.min), ("max", np.max)])
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float64])
def test_all_reduce(size, op, reduce, dtype):
    parts = np.random.default_rng(size).integers(-99, 99, (size, 7)).astype(dtype)

    def work(ranks):
        array = parts[ranks.rank].copy()
        ranks.all_reduce(array, op)
        return array

    for array in on_threads(size, work):
        assert array.dtype == dtype and (array == reduce(parts, axis=0)).all()


@pytest.mark.parametrize("size", SIZES)
def test_all_gather(size):
    def work(ranks):
        array = np.array([ranks.rank, -(2**62)])
        gathered = ranks.all_gather(array)
        array[:] = 0  # the message stays as it was sent
        return gathered

    for taken in on_threads(size, work):
        assert taken.dtype == np.int64 and taken.tolist() == [[rank, -(2**62)] for rank in range(size)]


@pytest.mark.parametrize("size", SIZES)
def test_parts_of_any_length_are_gathered_in_the_order_of_ranks(size):
    lengths = [(3 * rank) % 4 for rank in range(size)]  # the first is empty
    parts = [np.arange(length, dtype=np.int32) + 10 * rank for rank, length in enumerate(lengths)]
    starts = np.cumsum([0, *lengths]).tolist()

    def work(ranks):
        into = np.full(sum(lengths), -1, np.int32)
        ranks.gather_rows(parts[ranks.rank], into, starts)
        return into, ranks.gather_list(parts[ranks.rank]), ranks.gather_list(parts[ranks.rank], size - 1)

    whole = np.concatenate(parts)
    for rank, (into, on_root, on_last) in enumerate(on_threads(size, work)):
        assert (into == (whole if rank == ROOT else -1)).all()
        assert (on_root is None) == (rank != ROOT) and (on_last is None) == (rank != size - 1)
        for taken in (on_root, on_last):
            assert taken is None or taken.dtype == np.int32 and (taken == whole).all()


def test_what_a_rank_says_is_what_it_was_then():
    def work(ranks):
        array = np.full(1000, ranks.rank)
        notes = ranks.agree(None)
        for _ in range(50):
            ranks.broadcast(array)
            assert (array == 0).all()
            array += ranks.rank
        return len(notes)

    assert on_threads(3, work) == [3, 3, 3]


def test_meetings_are_counted():
    def work(ranks):
        ranks.all_reduce(np.zeros(5), "sum")
        ranks.agree(1)
        return ranks.meetings, ranks.bytes_met

    assert on_threads(2, work) == [(2, 40)] * 2


# Errors.


def failing(rank, error):
    def work(ranks):
        try:
            return work.step(ranks, error if ranks.rank == rank else None)
        except Exception as raised:
            return raised

    return work


def after_a_failure_on_all(step):
    """What a step returns on three ranks, once all of them have raised what the last one raised in it."""
    work = failing(2, MemoryError("full"))
    work.step = step
    for raised in on_threads(3, work):
        assert type(raised) is MemoryError and str(raised) == "rank 2: full"
    work = failing(None, None)
    work.step = step
    return on_threads(3, work)


@pytest.mark.parametrize("error", [gmatch.InvalidInput("costs must not hold NaN"), MemoryError("no room")])
def test_an_error_of_one_rank_is_raised_by_all(error):
    work = failing(1, error)
    work.step = lambda ranks, note: ranks.agree(note)
    for raised in on_threads(3, work):
        assert type(raised) is type(error) and str(raised) == f"rank 1: {error}"


def test_an_error_alone_is_not_of_a_rank():
    work = failing(0, gmatch.InvalidInput("wrong"))
    work.step = lambda ranks, note: ranks.agree(note)
    assert [str(raised) for raised in on_threads(1, work)] == ["wrong"]


def test_an_error_that_no_text_makes_is_raised_in_words():
    work = failing(1, UnicodeDecodeError("utf-8", b"x", 0, 1, "odd"))
    work.step = lambda ranks, note: ranks.agree(note)
    for raised in on_threads(2, work):
        assert type(raised) is RuntimeError and "rank 1: UnicodeDecodeError: " in str(raised)


@pytest.mark.parametrize("op", ["sum", "min", "max"])
@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_a_step_that_fails_on_one_rank_fails_on_all(op, dtype):
    def step(ranks, error):
        def local():
            if error:
                raise error
            return np.array([ranks.rank + 1], dtype)

        return reduced(ranks, op, np.zeros(1, dtype), local)

    expected = {"sum": 6, "min": 1, "max": 3}[op]
    for result in after_a_failure_on_all(step):
        assert result.tolist() == [expected] and result.dtype == dtype


def test_lists_that_fail_on_one_rank_fail_on_all():
    def step(ranks, error):
        def local():
            if error:
                raise error
            return np.arange(ranks.rank), np.arange(ranks.rank) * 0.5

        return gathered(ranks, local)

    (whole, halves), *others = after_a_failure_on_all(step)
    assert whole.tolist() == [0, 0, 1] and halves.tolist() == [0, 0, 0.5]
    assert others == [(None, None)] * 2


def test_what_fails_before_agreeing_fails_on_all():
    def step(ranks, error):
        def local():
            if error:
                raise error
            return ranks.rank

        return ranks.done_before_agreeing(local), ranks.agree(ranks.rank)

    assert after_a_failure_on_all(step) == [(rank, [0, 1, 2]) for rank in range(3)]


def test_what_fails_on_the_root_fails_on_all():
    def step(ranks, error):
        def local():
            if error:
                raise error
            return [1, 2]

        return of_root(ranks, 2, np.int32, local).tolist()

    work = failing(ROOT, MemoryError("full"))
    work.step = step
    assert [str(raised) for raised in on_threads(2, work)] == ["rank 0: full"] * 2
    work = failing(None, None)
    work.step = step
    assert on_threads(2, work) == [[1, 2]] * 2


def test_a_rank_that_ends_is_not_waited_for():
    def work(ranks):
        if ranks.rank == 1:
            raise KeyError("of the user's own")
        ranks.agree(None)

    now = time.monotonic()
    with pytest.raises(KeyError, match="of the user's own"):
        on_threads(3, work, patience=600.0)
    assert time.monotonic() - now < 60


def test_a_rank_that_never_comes_is_lost():
    def work(ranks):
        if ranks.rank == 0:
            time.sleep(2)  # and then it comes no more
            return "absent"
        with pytest.raises(gmatch.RankLost, match=r"rank 1 waited 0\.2 s"):
            ranks.agree(None)
        return "lost"

    assert on_threads(2, work, patience=0.2) == ["absent", "lost"]


def test_a_rank_that_works_is_waited_for():
    def work(ranks):
        if ranks.rank == 0:
            with ranks.at_work():
                time.sleep(1.0)
                return ranks.agree(0)
        return ranks.agree(1)

    assert on_threads(2, work, patience=0.2) == [[0, 1]] * 2


@pytest.mark.parametrize("patience", [0, -1, float("inf"), float("nan"), True, "long"])
def test_patience_is_checked(patience):
    with pytest.raises(gmatch.InvalidInput, match="patience must be a positive number of seconds"):
        on_threads(1, lambda ranks: None, patience=patience)


def test_importing_gmatch_imports_no_mpi():
    code = "import sys, gmatch; gmatch.Ranks, gmatch.lap([[1]]); assert 'mpi4py' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
