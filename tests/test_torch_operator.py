"""The operator of PyTorch: the checks of `torch.library.opcheck`, and calls in compiled functions."""

from __future__ import annotations

import math
from typing import Any

import pytest

import gmatch

torch = pytest.importorskip("torch")
operator = pytest.importorskip("gmatch.torch").lap

DTYPES = "float32", "float64", "float16", "bfloat16", "int32", "int64", "uint8"


def costs(*shape: int, dtype: str = "float32") -> Any:
    return (torch.rand(shape, generator=torch.Generator().manual_seed(3)) * 9).to(getattr(torch, dtype))


def price(cost: Any, row_match: Any) -> Any:
    """What the pairs cost, with its gradient."""
    entries = cost.gather(-1, row_match.clamp(min=0)[..., None])[..., 0]
    return entries.where(row_match >= 0, 0).sum()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(4, 6), (6, 4), (3, 5, 4), (0, 3), (0, 3, 2), (2, 0, 3)])
def test_what_torch_asks_of_an_operator(shape: tuple[int, ...], dtype: str) -> None:
    utilities = "test_schema", "test_autograd_registration", "test_faketensor"
    seen = torch.library.opcheck(torch.ops.gmatch.lap.default, (costs(*shape, dtype=dtype),), test_utils=utilities)
    assert set(seen.values()) == {"SUCCESS"}


@pytest.mark.parametrize("options", [(), (True,), (False, 2.0)])
def test_it_finds_what_lap_finds(options: tuple[Any, ...]) -> None:
    named = dict(zip(("maximize", "cost_limit"), options, strict=False))
    for cost in (costs(7, 5), costs(3, 5, 7), costs(600, 700)):
        found, expected = operator(cost, *options), gmatch.lap(cost, **named)
        assert [side.tolist() for side in found] == [expected.row_match.tolist(), expected.col_match.tolist()]
        assert all(side.dtype == torch.int64 and side.is_contiguous() for side in found)


def test_a_compiled_function_keeps_it_whole() -> None:
    compiled = torch.compile(
        lambda cost: price(cost * 2, torch.ops.gmatch.lap(cost)[0]), fullgraph=True, backend="aot_eager"
    )
    for shape in ((3, 4, 5), (3, 6, 5), (2, 3)):
        cost = costs(*shape).requires_grad_()
        found = compiled(cost)
        assert found.item() == pytest.approx(2 * gmatch.lap(cost.detach()).cost.sum().item())
        found.backward()
        assert cost.grad.sum() == 2 * math.prod(shape[:-2]) * min(shape[-2:])


def test_errors_pass_through() -> None:
    with pytest.raises(gmatch.InvalidInput, match="got 1 dimensions"):
        operator(costs(3))
    with pytest.raises(gmatch.Infeasible):
        operator(torch.full((2, 2), math.inf))


class OnGPU(torch.Tensor):
    """Says of itself that it is on a GPU."""

    is_cuda = True


def test_no_part_of_a_cuda_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    cost = costs(3, 4)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
    for given in (cost.as_subclass(OnGPU), [cost.as_subclass(OnGPU)]):
        with pytest.raises(gmatch.InvalidInput, match="a CUDA graph is being captured"):
            gmatch.lap(given)
    assert gmatch.lap(cost).size == 3
    assert torch.Tag.cudagraph_unsafe in torch.ops.gmatch.lap.default.tags
