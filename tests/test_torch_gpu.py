"""Tensors of torch on a GPU: batches without waiting for it, on any stream."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from conftest import GPU

import gmatch

torch = pytest.importorskip("torch")
operator = pytest.importorskip("gmatch.torch").lap
pytestmark = pytest.mark.skipif(
    not (GPU and torch.cuda.is_available()), reason="needs a GPU, CuPy, and torch with CUDA"
)
# Some tenths of a second for a GPU, and much more than the host takes for a call.
LONG = 500_000_000


def costs(*shape: int, dtype: Any = torch.float32) -> Any:
    return (torch.rand(shape, generator=torch.Generator().manual_seed(3)) * 99).to(dtype).cuda()


@contextmanager
def without_waiting() -> Iterator[None]:
    """Fails if the host waits for the GPU, by torch or in any other way."""
    torch.cuda.synchronize()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says that it is a prototype
        torch.cuda.set_sync_debug_mode("error")
    try:
        torch.cuda._sleep(LONG)
        yield
        end = torch.cuda.Event()
        end.record()
        assert not end.query()
    finally:
        torch.cuda.set_sync_debug_mode("default")


def twice(call: Callable[[], Any]) -> Any:
    """The second answer, without waiting. The first call may compile, and brings memory into the pools."""
    call()
    with without_waiting():
        return call()


FIELDS = "row_match", "col_match", "u", "v", "pair_costs", "cost", "size"


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int32", "int64", "uint8"])
@pytest.mark.parametrize(
    "options", [{}, {"maximize": True}, {"cost_limit": 9}, {"sizes": [(k, 30) for k in range(8)]}], ids=str
)
def test_a_batch_does_not_wait(dtype: str, options: dict[str, Any]) -> None:
    given = costs(8, 20, 30, dtype=getattr(torch, dtype))

    def fields() -> tuple[Any, ...]:
        found = gmatch.lap(given, **options)
        return found, [getattr(found, name) for name in FIELDS]

    if dtype == "int64":  # the host looks at a limit, and at sums
        found, tensors = fields()
    else:
        found, tensors = twice(fields)
    expected = gmatch.lap(given.cpu(), **options)
    for name, tensor in zip(FIELDS, tensors, strict=True):
        assert tensor.is_cuda, name
        if name == "cost":
            # A pair that costs the limit may be free as well.
            free = options.get("cost_limit", 0) * (20 - torch.stack([found.size.cpu(), expected.size.cpu()]))
            assert torch.allclose(tensor.double().cpu() + free[0], expected.cost.double() + free[1], rtol=1e-3)
        elif name == "size" and "cost_limit" not in options:
            assert tensor.tolist() == expected.size.tolist()
    assert found.status == expected.status and found.row_match.dtype == torch.int64
    gmatch.verify([m[:h, :w] for m, (h, w) in zip(given, found.shapes.tolist(), strict=True)], found)


def test_int64_does_not_wait() -> None:
    given = costs(8, 20, 30, dtype=torch.int64)
    assert twice(lambda: gmatch.lap(given).row_match).tolist() == gmatch.lap(given).row_match.tolist()


def test_views_of_tensors() -> None:
    """Arrays lie where the tensors lie, with any strides. A tensor that torch negates when it is read is copied."""
    given = costs(4, 20, 30)
    negated = torch.complex(given, -given).conj().imag
    assert negated.is_neg()
    views = [given.transpose(1, 2), given[::2, 1::2, ::3], given[:1].expand(4, -1, -1), torch.nn.Parameter(given)]
    for view in (*views, negated, *(view[0].T for view in views)):
        found, expected = gmatch.lap(view), gmatch.lap(view.detach().cpu().resolve_neg().contiguous())
        assert found.row_match.tolist() == expected.row_match.tolist()
        gmatch.verify(view.detach(), found)


def test_targets_of_images() -> None:
    """As a DETR matcher has them, with a gradient."""
    counts = [5, 0, 12, 30, 1]
    leaf = costs(5, 25, sum(counts)).requires_grad_()

    def step() -> Any:
        leaf.grad = None
        batch = gmatch.lap([block[k] for k, block in enumerate(leaf.split(counts, -1))])
        batch.cost.sum().backward()
        return batch

    batch = twice(step)
    assert leaf.grad.sum().item() == sum(min(25, count) for count in counts)
    for (rows, columns), block in zip(batch, leaf.detach().split(counts, -1), strict=True):
        assert rows.is_cuda and len(rows) == len(columns) <= block.shape[2]
    gmatch.verify([block[k].detach() for k, block in enumerate(leaf.split(counts, -1))], batch)


@pytest.mark.parametrize("shape", [(8, 20, 30), (8, 30, 20), (3, 150, 140), (0, 3, 4), (2, 0, 3), (2, 3, 0)])
def test_the_operator_does_not_wait(shape: tuple[int, ...]) -> None:
    given = costs(*shape)
    found = twice(lambda: operator(given))
    expected = gmatch.lap(given.cpu())
    assert [side.tolist() for side in found] == [expected.row_match.tolist(), expected.col_match.tolist()]
    utilities = "test_schema", "test_autograd_registration", "test_faketensor"
    seen = torch.library.opcheck(torch.ops.gmatch.lap.default, (given,), test_utils=utilities)
    assert set(seen.values()) == {"SUCCESS"}


def test_the_stream_of_torch() -> None:
    """Costs that come late on a stream of their own, and what is made of the answer there."""
    late, stream = costs(16, 40, 40), torch.cuda.Stream()
    expected = gmatch.lap(late).row_match.tolist()
    for solve in (lambda cost: gmatch.lap(cost).row_match, lambda cost: operator(cost)[0]):
        with torch.cuda.stream(stream):
            given = torch.zeros_like(late)
            solve(given)
            given.zero_()
            with without_waiting():
                given.copy_(late)
                match = solve(given)
                given.fill_(math.nan)  # after the solver has read it
                doubled = match * 2
        stream.synchronize()
        assert match.tolist() == expected and doubled.tolist() == (match * 2).tolist()
    with torch.cuda.stream(stream):
        given = torch.zeros_like(late[0])
        stream.synchronize()
        torch.cuda._sleep(LONG)
        given.copy_(late[0])
        assert gmatch.lap(given).row_match.tolist() == expected[0]


@pytest.mark.parametrize("wrong", [math.nan, -math.inf, math.inf])
def test_what_is_wrong_is_told(wrong: float) -> None:
    given = costs(4, 5, 6).requires_grad_()
    with torch.no_grad():
        given[1, 2] = wrong
    error = gmatch.Infeasible if wrong == math.inf else gmatch.InvalidInput
    batch = gmatch.lap(given)
    assert batch.row_match[1].tolist() == [-1] * 5 and batch.col_match[1].tolist() == [-1] * 6
    assert batch.cost.isnan().tolist() == [False, True, False, False] and batch.size.tolist() == [5, 0, 5, 5]
    assert operator(given)[0][1].tolist() == [-1] * 5
    for ask in (lambda: batch.status, lambda: list(batch), lambda: gmatch.lap(given, certify=True)):
        with pytest.raises(error):
            ask()


def test_problems_that_are_left_to_the_host() -> None:
    given = costs(4, 5, 6, dtype=torch.float64).requires_grad_()
    with torch.no_grad():
        given[1, 2] = 1e15
    batch, expected = gmatch.lap(given), gmatch.lap(given.detach().cpu())
    before = batch.row_match
    assert before[1].tolist() == [-1] * 5 and batch.cost.isnan().any() and batch.size.tolist() == [5, 0, 5, 5]
    assert batch.status == ("optimal",) * 4
    assert batch.row_match.tolist() == expected.row_match.tolist() and batch.size.tolist() == [5] * 4
    assert torch.allclose(batch.cost.cpu(), expected.cost)
    batch.cost.sum().backward()
    assert given.grad.sum().item() == 20
    batch = gmatch.lap(given)
    with torch.no_grad():
        given[0, 0, 0] += 1
    with pytest.raises(gmatch.InvalidInput, match="changed in place"):
        print(batch.status)


def test_no_part_of_a_cuda_graph() -> None:
    given = costs(4, 5, 6)
    gmatch.lap(given)
    torch.cuda.synchronize()
    for solve in (gmatch.lap, operator):
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            with pytest.raises(gmatch.InvalidInput, match="a CUDA graph is being captured"):
                solve(given)
            given + 1
    import cupy

    there = cupy.asarray(given)
    with cupy.cuda.Stream(non_blocking=True) as stream:
        stream.begin_capture()
        try:
            with pytest.raises(gmatch.InvalidInput, match="a CUDA graph is being captured"):
                gmatch.lap(there)
        finally:
            stream.end_capture()
    assert gmatch.lap(there).status == ("optimal",) * 4
