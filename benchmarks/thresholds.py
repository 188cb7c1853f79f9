"""Measures numbers of the extension that are thresholds: one build in which they are variables, and paired runs.

    python benchmarks/thresholds.py serial/core_search.hpp:TIMES serial/core_sample.hpp:MOST_BITS --group dense
    python benchmarks/thresholds.py points/levels.hpp:FAR_PAIRS --points uniform clusters --size 10000 --factors 0 2 4

A number is the name of a `constexpr` in a file of gmatch/csrc that is no size of an array. Each number is tried at its
value times each of --factors, in turns with its own value, in one process. The cells are the cells of a --group of
`compare.py`, or families of `point_clouds.py`. A figure is the median of the ratios of CPU seconds: below 1, the other
value is faster. The answers of all values must cost equally much. The build in --scratch takes minutes, and serves for
other values of these numbers.
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import math
import random
import re
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import gettempdir
from time import process_time
from typing import Any

ROOT = Path(__file__).parent.parent
TYPES = {"Vertex": "int", "Count": "long long", "int": "int", "double": "double", "std::size_t": "std::size_t"}
DECLARED = re.compile(
    r"^( *)(static )?constexpr (Vertex|Count|int|double|std::size_t) ([A-Z_]+ = [^;]*);", re.MULTILINE
)
SETTER = """
#include <cstring>
#include "thresholds.hpp"
extern "C" __attribute__((visibility("default"))) double set_threshold(const char* name, double value) {{
{cases}  return value;
}}
"""
CASE = """  if (!std::strcmp(name, "{name}")) {{
    const double before = static_cast<double>(thresholds::{name});
    thresholds::{name} = static_cast<{type}>(value);
    return before;
  }}
"""


@dataclass(frozen=True)
class Threshold:
    """A number of a file below gmatch/csrc."""

    file: str
    name: str

    @classmethod
    def named(cls, text: str) -> Threshold:
        file, colon, name = text.partition(":")
        if not colon or not (ROOT / "gmatch/csrc" / file).is_file():
            raise argparse.ArgumentTypeError(f"expected FILE:NAME with a FILE in gmatch/csrc, got {text!r}")
        return cls(file, name)

    @property
    def variable(self) -> str:
        return f"{Path(self.file).stem}_{self.name}"


def rewritten(text: str, thresholds: list[Threshold]) -> tuple[str, dict[Threshold, tuple[str, str]]]:
    """The text of a file with references in the place of its thresholds, and the type and the value of each."""
    by_name = {threshold.name: threshold for threshold in thresholds}
    found: dict[Threshold, tuple[str, str]] = {}

    def replace(match: re.Match[str]) -> str:
        indent, static, type_name, numbers = match.groups(default="")
        lines = []
        for number in re.split(r", (?=[A-Z_]+ = )", numbers):
            name, value = number.split(" = ", 1)
            if name in by_name:
                found[by_name[name]] = TYPES[type_name], value
                type_name_here, value = f"const {type_name}&", f"thresholds::{by_name[name].variable}"
            else:
                type_name_here = type_name
            lines.append(f"{indent}{static}constexpr {type_name_here} {name} = {value};")
        return "\n".join(lines)

    text = DECLARED.sub(replace, text)
    return text.replace("#pragma once", '#pragma once\n#include "thresholds.hpp"', 1), found


def build(thresholds: list[Threshold], scratch: Path) -> Path:
    """A folder with a compiled gmatch in it, whose thresholds `set_threshold` sets."""
    digest = hashlib.sha256(repr(sorted(map(str, thresholds))).encode())
    for path in sorted(path for path in (ROOT / "gmatch").rglob("*") if path.suffix not in (".so", ".pyc")):
        digest.update(path.read_bytes() if path.is_file() else b"")
    tree = scratch / digest.hexdigest()[:16]
    csrc = tree / "gmatch/csrc"
    if list((tree / "gmatch").glob("_native.*so")):
        return tree
    shutil.rmtree(tree, ignore_errors=True)
    shutil.copytree(ROOT / "gmatch", tree / "gmatch", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    shutil.copy(ROOT / "CMakeLists.txt", tree)
    declared: dict[Threshold, tuple[str, str]] = {}
    for file in {threshold.file for threshold in thresholds}:
        text, found = rewritten((csrc / file).read_text(), [one for one in thresholds if one.file == file])
        (csrc / file).write_text(text)
        declared |= found
    if missing := [f"{one.file}:{one.name}" for one in thresholds if one not in declared]:
        raise SystemExit(f"no constexpr numbers: {', '.join(missing)}")
    variables = "".join(f"inline {kind} {one.variable} = {value};\n" for one, (kind, value) in declared.items())
    header = f"#pragma once\n#include <cstddef>\nnamespace thresholds {{\n{variables}}}  // namespace thresholds\n"
    (csrc / "thresholds.hpp").write_text(header)
    cases = "".join(CASE.format(name=one.variable, type=kind) for one, (kind, _) in declared.items())
    with (csrc / "bindings/module.cpp").open("a") as module:
        module.write(SETTER.format(cases=cases))
    # A number outside a class becomes a variable of each unit, so the linker sees it several times.
    options = [f"-DPython_EXECUTABLE={sys.executable}", "-DCMAKE_MODULE_LINKER_FLAGS=-Wl,--allow-multiple-definition"]
    subprocess.run(["cmake", "-S", tree, "-B", tree / "build", *options], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", tree / "build", "-j2"], check=True)
    for module_file in (tree / "build").glob("_native.*"):
        shutil.copy(module_file, tree / "gmatch")
    return tree


Call = Callable[[], Any]  # returns an Assignment


def cells(options: argparse.Namespace) -> Iterator[tuple[str, Call]]:
    """Names and calls of what is measured. gmatch is the one that was built."""
    import numpy as np

    import gmatch

    if options.points:
        import point_clouds

        for family in options.points:
            costs = gmatch.PointCosts(*point_clouds.FAMILIES[family](np.random.default_rng(0), options.size, 3))
            yield f"{family} 3-D, n = {options.size}", partial(gmatch.lap, costs, threads=1)
        return
    import compare

    for cell in compare.cells("cpu", options.size, 16):
        if cell.group == options.group and cell.call == "lap":
            problem = cell.make()
            keywords = cell.options | ({"method": options.method} if options.method else {})
            yield cell.name, partial(gmatch.lap, problem, **keywords)


def ratios(call: Call, setter: Callable[[float], Any], own: float, values: list[float], pairs: int) -> list[float]:
    """For each value the median of the ratios of its CPU seconds to the CPU seconds of the own value."""
    setter(own)
    expected = call().cost
    seconds: dict[float, list[float]] = {value: [] for value in (own, *values)}
    for _ in range(pairs):
        for value in random.sample(list(seconds), len(seconds)):
            setter(value)
            begin = process_time()
            cost = call().cost
            seconds[value].append(process_time() - begin)
            if not math.isclose(cost, expected, rel_tol=1e-9, abs_tol=1e-9):
                raise AssertionError(f"cost {expected} with {own:g}, {cost} with {value:g}")
    setter(own)
    return [statistics.median(a / b for a, b in zip(seconds[value], seconds[own], strict=True)) for value in values]


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("thresholds", nargs="+", type=Threshold.named, metavar="FILE:NAME")
    parser.add_argument("--factors", nargs="+", type=float, default=[0.25, 0.5, 2.0, 4.0])
    parser.add_argument("--group", default="dense", choices=("dense", "others", "methods", "sparse"))
    parser.add_argument("--points", nargs="+", default=[], help="families of point_clouds.py, instead of a group")
    parser.add_argument("--size", type=int, default=500)
    parser.add_argument("--method", help="a method of lap for all cells")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--scratch", type=Path, default=Path(gettempdir()) / "gmatch-thresholds")
    options = parser.parse_args(argv)
    tree = build(options.thresholds, options.scratch)
    sys.path[:0] = [str(tree), str(Path(__file__).parent)]
    from gmatch import _native

    library = ctypes.CDLL(str(_native.__file__))
    library.set_threshold.restype, library.set_threshold.argtypes = ctypes.c_double, [ctypes.c_char_p, ctypes.c_double]
    calls = list(cells(options))
    for threshold in options.thresholds:
        name = threshold.variable.encode()
        own = library.set_threshold(name, 0.0)
        # A number of at least 1 stays at least 1, except for a factor of 0: the program may divide by it.
        values = [max(own * factor, min(own, 1.0)) if factor else 0.0 for factor in options.factors]
        print(f"\n| {threshold.name}, {own:g} | {' | '.join(f'{value:g}' for value in values)} |")
        print("|---|" + "---|" * len(values))
        means = [0.0] * len(values)
        for cell, call in calls:
            found = ratios(call, partial(library.set_threshold, name), own, values, options.pairs)
            means = [mean + math.log(ratio) / len(calls) for mean, ratio in zip(means, found, strict=True)]
            print(f"| {cell} | {' | '.join(f'{ratio:.2f}' for ratio in found)} |", flush=True)
        print(f"| geometric mean | {' | '.join(f'{math.exp(mean):.2f}' for mean in means)} |")


if __name__ == "__main__":
    main()
