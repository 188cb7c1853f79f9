"""Devices, and how graphs get there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gmatch
from gmatch.backends import gpu


def gpu_is_there() -> bool:
    try:
        gpu.require()
    except gmatch.BackendUnavailable:
        return False
    return True


GPU = gpu_is_there()


@pytest.fixture(params=["cpu", pytest.param("gpu", marks=pytest.mark.skipif(not GPU, reason="needs a GPU"))])
def device(request: pytest.FixtureRequest) -> Iterator[str]:
    yield request.param


def put(matrix: Any, device: str) -> gmatch.BipartiteGraph:
    """A graph whose arrays live on a device."""
    return gmatch.BipartiteGraph(matrix).on(device)


def host(array: Any) -> np.ndarray:
    return array.get() if hasattr(array, "get") else array
