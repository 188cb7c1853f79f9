"""The order of the house: a room imports rooms below it, and no module imports itself through others."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import gmatch
from gmatch.assignment.lap import LapOptions
from gmatch.assignment.request import Options

PACKAGE = Path(gmatch.__file__).parent

# From below. A file imports from its own floor and from floors below it.
FLOORS = (
    ("errors",),
    ("cuda", "arrays", "foreign", "types", "notebook", "layouts"),
    ("programs",),
    ("devices", "result", "methods", "toolkit_result", "tensors"),
    ("problems",),
    ("proof", "backends"),
    ("small_gpu", "small_batch", "small"),
    ("cardinality",),
    ("assignment",),
    ("distributed",),
    ("compat", "datasets", "toolkit", "networkx_backend", "torch"),
    ("public",),
    ("", "cli", "plot", "__main__"),
)
# Modules that are imported only by calls with several ranks, or with rows by windows. Each is the door to its room.
DOORS = {
    ("assignment.lap", "distributed.lap"),
    ("assignment.lap", "distributed.gpu_windows"),
    ("assignment.lap", "distributed.windows"),
    ("assignment.lap", "distributed.point_windows"),
    ("proof.verify", "distributed.verify"),
}
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
ROOMS_OF_CSRC = (
    ("team",), ("costs",), ("search",), ("cardinality",), ("assignment",), ("core",), ("serial/rows",), ("serial",),
    ("serial/exact",), ("points",), ("bindings", "programs"),
)  # fmt: skip
# The most arguments of a function that is not public. The arguments of public functions are options.
MOST_ARGUMENTS = 5
FLOOR_OF_CSRC = {room: floor for floor, rooms in enumerate(ROOMS_OF_CSRC) for room in rooms}


def module_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


MODULES = {module_of(path): path for path in PACKAGE.rglob("*.py")}


def room_of(module: str) -> str:
    return module.partition(".")[0]


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """The statements of a tree, without the blocks that only type checkers read."""
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test)):
            yield child
            yield from statements(child)


def absolute(package: list[str], name: str) -> list[str]:
    """The parts of a name that is relative to a package."""
    dots = len(name) - len(name.lstrip("."))
    return package[: len(package) - dots + 1] + (name[dots:].split(".") if name[dots:] else [])


@cache
def imports_of(module: str) -> frozenset[str]:
    """The modules of gmatch that it imports, at its top or later."""
    path = MODULES[module]
    package = list(path.relative_to(PACKAGE).parent.parts)
    found = set()
    for node in statements(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "import_module":
            names = [name.value for name in node.args if isinstance(name, ast.Constant)]
            found |= {".".join(absolute(package, name)) for name in names if name.startswith("..")}  # of other rooms
        if isinstance(node, ast.Import):
            assert not any(alias.name.partition(".")[0] == "gmatch" for alias in node.names), path
        if not isinstance(node, ast.ImportFrom) or not node.level:
            continue
        base = absolute(package, "." * node.level + (node.module or ""))
        for alias in node.names:
            submodule = ".".join([*base, alias.name])
            if submodule != "_native":
                found.add(submodule if submodule in MODULES else ".".join(base))
    return frozenset(found & MODULES.keys())


def reached_from(module: str) -> set[str]:
    """The modules that it imports, perhaps through others."""
    seen: set[str] = set()
    todo = [module]
    while todo:
        new = imports_of(todo.pop()) - seen
        seen |= new
        todo += new
    return seen


@pytest.mark.parametrize("module", sorted(MODULES))
def test_a_room_imports_rooms_below_it(module: str) -> None:
    above = {other for other in imports_of(module) if FLOOR_OF[room_of(other)] > FLOOR_OF[room_of(module)]}
    assert above == {other for door, other in DOORS if door == module}


@pytest.mark.parametrize("module", sorted(MODULES))
def test_no_module_imports_itself_through_others(module: str) -> None:
    assert module not in reached_from(module)


def test_the_proof_reaches_no_solver_and_no_backend() -> None:
    """Also through others, and on several ranks, whose proof lies behind a door."""
    proofs = [module for module in MODULES if room_of(module) == "proof"]
    seen = {other for module in proofs for other in reached_from(module)}
    rooms = {room_of(module) for module in seen}
    assert not rooms & {"backends", "methods", "cardinality", "assignment", "toolkit", *FLOORS[FLOOR_OF["small"]]}
    assert {module for module in seen if room_of(module) == "distributed"} == {
        f"distributed.{name}" for name in ("blocks", "mpi", "nccl", "places", "ranks", "threads", "verify")
    }


def public_functions() -> set[tuple[str, str]]:
    """Modules and names, also of what classes make public."""
    found = set()
    families = [getattr(gmatch.datasets.costs, name) for name in gmatch.datasets.costs.__all__]
    for public in (*vars(gmatch.public).values(), *families):
        if isinstance(public, type):
            methods = {name for name in vars(public) if not name.startswith("_")} | {"__init__"}
            found |= {(public.__module__, f"{public.__qualname__}.{name}") for name in methods}
        elif callable(public):
            found.add((public.__module__, public.__qualname__))
    return {(module.partition(".")[2], name) for module, name in found}


def functions_of(node: ast.AST, within: str = "") -> Iterator[tuple[str, int]]:
    """Names of functions, methods and lambdas, and how many arguments each takes, beside what it is a method of."""
    for child in ast.iter_child_nodes(node):
        name = within
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            name = f"{within}.{getattr(child, 'name', '<lambda>')}".lstrip(".")
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            given = child.args
            names = [argument.arg for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
            names += [argument.arg for argument in (given.vararg, given.kwarg) if argument is not None]
            yield name, len(names) - (names[:1] in (["self"], ["cls"]))
        yield from functions_of(child, name)


def test_functions_have_few_arguments() -> None:
    public = public_functions()
    for module, path in MODULES.items():
        found = functions_of(ast.parse(path.read_text()))
        many = {name for name, count in found if count > MOST_ARGUMENTS and (module, name) not in public}
        assert not many, module


def test_the_lists_of_the_options_of_lap_agree() -> None:
    """Type checkers read one list, `help` reads another, and a call is handed on as the third."""
    parameters = inspect.signature(gmatch.lap).parameters
    defaults = {name: parameter.default for name, parameter in parameters.items() if name != "cost"}
    others = {name: defaults.pop(name) for name in ("comm", "devices")}
    assert defaults == Options._field_defaults and others == {"comm": None, "devices": None}
    assert list(defaults) == list(Options._fields)
    of_overloads = {"sizes", "mask"}
    assert set(LapOptions.__annotations__) == {*defaults, *others} - of_overloads
    assert all(option == parameters[name].annotation for name, option in annotations_of(LapOptions).items())


def annotations_of(options: type) -> dict[str, str]:
    """As they are written."""
    return {name: annotation.__forward_arg__ for name, annotation in options.__annotations__.items()}


# Passes from one module of gmatch to another during a call. Arrays of 1000 rows and more take the long way.
RANDOM = np.random.default_rng(0)
DENSE = RANDOM.random((1500, 1500))  # enough for two threads
SPARSE = scipy.sparse.random_array((60, 60), density=0.3, rng=RANDOM, format="csr")
FEW_PAIRS = np.where(RANDOM.random((40, 40)) < 0.97, np.inf, RANDOM.random((40, 40)))
CHECKED = gmatch.DenseCosts(DENSE)
TIES = (10 * DENSE).astype(np.int64)
FEW_STORED = scipy.sparse.random_array((60, 60), density=0.02, rng=RANDOM, format="csr")
GRAPH = scipy.sparse.random_array((70_000, 70_000), density=4e-5, rng=RANDOM, format="csr")
MOST_PASSES = {
    "dense": (lambda: gmatch.lap(DENSE), 12),
    "dense, by name": (lambda: gmatch.lap(DENSE[:40, :40], method="tree"), 12),
    "dense, checked before": (lambda: gmatch.lap(CHECKED), 10),
    "partial": (lambda: gmatch.lap(FEW_PAIRS, infeasible="partial"), 21),
    "sparse": (lambda: gmatch.lap(SPARSE, method="tree", infeasible="partial"), 15),
    "sparse, partial": (lambda: gmatch.lap(FEW_STORED, infeasible="partial", method="jv"), 27),
    "batch": (lambda: gmatch.lap(1 + RANDOM.random((20, 15, 15)), method="tree"), 14),
    "ties": (lambda: gmatch.lap(TIES, deterministic=True), 19),
    "graph": (lambda: gmatch.max_matching(GRAPH), 6),
    "blocks": (lambda: gmatch.dulmage_mendelsohn(SPARSE), 16),
    "short way": (lambda: gmatch.lap(DENSE[:40, :40]), 0),
}
# The short way stands in front of `lap`, and makes fields of results when somebody asks for them.
SHORT_WAY = {("small", "assignment.lap"), ("result", "small"), ("small", "cardinality.matching")}


def passes_of(call: Callable[[], Any]) -> list[tuple[str, str]]:
    """The calls whose caller and callee lie in different modules of gmatch; for each the two modules."""
    files, found = {str(path): module for module, path in MODULES.items()}, []

    def note(frame: Any, event: str, _: Any) -> None:
        called = files.get(frame.f_code.co_filename)
        if event != "call" or called is None:
            return
        caller = frame.f_back
        while caller is not None and caller.f_code.co_filename not in files:
            caller = caller.f_back
        if caller is not None and files[caller.f_code.co_filename] != called:
            found.append((files[caller.f_code.co_filename], called))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
    return found


@pytest.mark.parametrize("kind", MOST_PASSES)
def test_the_way_of_a_call(kind: str) -> None:
    call, most = MOST_PASSES[kind]
    call()
    passes = passes_of(call)
    assert len(passes) <= most, "\n".join(map(" -> ".join, passes))
    assert {(caller, called) for caller, called in passes if caller in reached_from(called)} <= SHORT_WAY


def test_cupy_is_imported_in_one_file() -> None:
    importers = [name for name, path in MODULES.items() if re.search(r"^\s*(import|from) cupy", path.read_text(), re.M)]
    assert importers == ["cuda"]


@pytest.mark.parametrize("room", sorted(FLOOR_OF_CSRC))
def test_a_room_of_csrc_includes_rooms_below_it(room: str) -> None:
    for path in (PACKAGE / "csrc" / room).glob("*.*"):
        for included in re.findall(r'#include "(.*)"', path.read_text()):
            other, slash, _ = included.rpartition("/")
            assert slash and FLOOR_OF_CSRC[other] <= FLOOR_OF_CSRC[room], f"{path.name} includes {included}"


def test_each_file_of_csrc_has_a_room_and_says_its_name() -> None:
    for path in (PACKAGE / "csrc").rglob("*.*"):
        assert path.parent.relative_to(PACKAGE / "csrc").as_posix() in FLOOR_OF_CSRC, path
        assert path.read_text().startswith(f"// {path.name}: "), path


def test_no_type_error_is_ignored() -> None:
    assert not [module for module, path in MODULES.items() if "type: ignore" in path.read_text()]
