"""Devices, and how graphs get there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gmatch
from gmatch import cuda


def gpu_is_there() -> bool:
    try:
        cuda.require()
    except gmatch.BackendUnavailable:
        return False
    return True


GPU = gpu_is_there()
HOST_METHODS = (gmatch.PothenFan, gmatch.Mixed)


@pytest.fixture(params=["cpu", pytest.param("gpu", marks=pytest.mark.skipif(not GPU, reason="needs a GPU"))])
def device(request: pytest.FixtureRequest) -> Iterator[str]:
    yield request.param


def methods_on(device: str) -> list[Any]:
    """The methods that run on a device."""
    return [method for method in gmatch.METHODS if device == "cpu" or not isinstance(method, HOST_METHODS)]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Removes tests that ask a GPU for a method of the CPU. Only the test of the error remains."""

    def possible(item: pytest.Item) -> bool:
        params = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
        return not (params.get("device") == "gpu" and isinstance(params.get("method"), HOST_METHODS))

    items[:] = filter(possible, items)


def put(matrix: Any, device: str) -> gmatch.BipartiteGraph:
    """A graph whose arrays live on a device."""
    return gmatch.BipartiteGraph(matrix).on(device)


def host(array: Any) -> np.ndarray:
    return array.get() if hasattr(array, "get") else array
