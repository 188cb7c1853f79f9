"""Every public name has examples in its docstring, which run and print what they say."""

from __future__ import annotations

import doctest
import inspect
from typing import Any

import matplotlib
import numpy as np
import pytest

import gmatch
import gmatch.plot
from gmatch.datasets import costs

matplotlib.use("Agg")
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def functions_of(module: Any) -> dict[str, Any]:
    """The public functions that a module defines itself."""
    found = inspect.getmembers(module, inspect.isfunction)
    return {
        f"{module.__name__}.{name}": function
        for name, function in found
        if function.__module__ == module.__name__ and not name.startswith("_")
    }


def public_names() -> dict[str, Any]:
    names = {f"gmatch.{name}": getattr(gmatch, name) for name in gmatch.__all__}
    names |= {f"gmatch.datasets.{name}": getattr(gmatch.datasets, name) for name in gmatch.datasets.__all__}
    names = {name: each for name, each in names.items() if inspect.isclass(each) or inspect.isroutine(each)}
    return names | functions_of(gmatch.compat) | functions_of(gmatch.plot) | functions_of(costs)


PUBLIC = public_names()
# For the command line and other modules; not in the reference.
INSIDE = {"gmatch.datasets.costs.generate_rows", "gmatch.datasets.costs.read_labelled"}


def test_the_public_names_are_found() -> None:
    assert {"gmatch.lap", "gmatch.Matching", "gmatch.compat.lapjv", "gmatch.plot.run_times"} <= PUBLIC.keys()
    assert len(PUBLIC) > 80 and INSIDE <= PUBLIC.keys()


@pytest.mark.parametrize("name", sorted(PUBLIC.keys() - INSIDE))
def test_the_examples_of_a_public_name_run(name: str) -> None:
    docstring = inspect.getdoc(PUBLIC[name]) or ""
    _, _, section = docstring.partition("\nExamples\n--------\n")
    test = doctest.DocTestParser().get_doctest(section, {"gmatch": gmatch, "np": np}, name, None, 0)
    assert test.examples, f"{name} has no section Examples with a line that begins with >>>"
    said: list[str] = []
    result = doctest.DocTestRunner(optionflags=OPTIONS).run(test, out=said.append)
    assert result.failed == 0, "".join(said)
