"""Which problems a method solves, and where. Others are refused before any work, with names of methods that fit."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gmatch
from gmatch.assignment.plan import STARTS
from gmatch.backends import cpu, gpu
from gmatch.methods import assignment_method_of, batch_method_of, method_of

COSTS = gmatch.DenseCosts(np.eye(3))
# How a method is chosen for each kind of problem.
CHOICES: dict[str, tuple[tuple[Any, ...], Callable[[Any, str], Any]]] = {
    "graph": (gmatch.METHODS, method_of),
    "dense": (gmatch.ASSIGNMENT_METHODS, lambda method, device: assignment_method_of(method, device, COSTS)[0]),
    "sparse": (gmatch.ASSIGNMENT_METHODS, lambda method, device: assignment_method_of(method, device)[0]),
    "batch": (gmatch.ASSIGNMENT_METHODS, lambda method, device: batch_method_of(method, device, 20)[0]),
}


@pytest.mark.parametrize("device", ["cpu", "gpu"])
@pytest.mark.parametrize("kind", CHOICES)
def test_what_a_refusal_names_is_taken(kind: str, device: str) -> None:
    methods, choose = CHOICES[kind]
    refused = 0
    for given in (*methods, *(method.name for method in methods)):
        try:
            assert kind in choose(given, device).solves[device]
        except gmatch.InvalidInput as error:
            refused += 1
            what, advice = str(error).split("; use ")
            assert re.match(r"method '.*' solves no .* on (the CPU|a GPU)$", what)
            names = re.findall(r"'([a-z-]+)'", advice.replace("device='cpu'", ""))
            assert "auto" in names and len(names) > 1
            for name in names:
                assert kind in choose(name, device).solves[device]
            if "device='cpu'" in advice:
                choose(given, "cpu")
    assert (refused > 0) == ((kind, device) not in {("graph", "cpu"), ("dense", "cpu")})


def test_every_method_of_a_kind_is_solved_by_the_backend() -> None:
    for programs, kind, device in (
        (programs_of("dense"), "dense", "cpu"),
        (programs_of("sparse"), "sparse", "cpu"),
        (programs_of("batch"), "batch", "cpu"),
        (gpu.DENSE_PROGRAMS, "dense", "gpu"),
        (gpu.BATCH_EDGES_OF, "batch", "gpu"),
    ):
        solving = {type(method) for method in gmatch.ASSIGNMENT_METHODS if kind in method.solves.get(device, ())}
        assert solving <= {*programs}


def programs_of(kind: str) -> list[type]:
    """The methods that the host has a program of this kind for."""
    return [method for method, programs in cpu.PROGRAMS_OF.items() if getattr(programs, kind) is not None]


def test_every_kind_of_method_is_public() -> None:
    """Messages tell users to make methods by these names."""
    for kind in map(type, (*gmatch.METHODS, *gmatch.ASSIGNMENT_METHODS)):
        assert getattr(gmatch, kind.__name__) is kind


def test_methods_take_the_starts_of_lap() -> None:
    for method in gmatch.ASSIGNMENT_METHODS:
        assert "reduce" in method.starts and {*method.starts} <= {*STARTS} - {"auto"}


@pytest.mark.parametrize(("shift", "method"), [(0.0, "jv"), (0.5, "core"), (np.inf, "core")])
def test_whole_floats_take_the_method_of_integers(shift: float, method: str) -> None:
    cost = np.random.default_rng(16).integers(0, 4000, (1200, 1200)).astype(float)
    cost[500:600] += shift
    costs = gmatch.DenseCosts(cost)
    assert assignment_method_of("auto", "cpu", costs)[0].name == method


def test_whole_floats_that_tie_take_the_method_of_integers() -> None:
    cost = np.random.default_rng(16).integers(0, 1000, (1600, 1700)).astype(np.float32)
    names = [assignment_method_of("auto", "cpu", gmatch.DenseCosts(given))[0].name for given in (cost, 2 * cost)]
    assert names == ["jv", "core"]
