"""Structs, enums and arrays of csrc: Python's view of them agrees with their sources."""

from __future__ import annotations

import re
from enum import IntEnum
from importlib import import_module
from struct import calcsize, unpack_from
from typing import get_args

import numpy as np
import pytest

from gmatch import _native, methods, small
from gmatch.assignment.lap import AssignmentStart
from gmatch.backends import block_passes, cpu
from gmatch.cardinality.matching import Start
from gmatch.distributed import window_passes
from gmatch.layouts import BATCH_PROBLEM, Arrays, Layout, words_of
from gmatch.methods import ForestKind
from gmatch.programs import launch
from gmatch.programs.catalogue import CSRC, PROGRAMS

ALL_SOURCES = "".join(path.read_text() for path in CSRC.rglob("*") if path.is_file())
EVERY_STRUCT = pytest.mark.parametrize("name", _native.STRUCTS)
# The types as letters of Python's module struct.
CODES = {"Vertex": "i", "int": "i", "Count": "q", "double": "d", "bool": "?"}


def body_of(struct: str) -> str:
    """The text between the braces of a struct, without comments."""
    (body,) = re.findall(rf"^struct {struct} {{\n(.*?)^}};", ALL_SOURCES, re.MULTILINE | re.DOTALL)
    return re.sub(r"//.*", "", body)


def code_of(type_of_member: str, dual: str) -> str:
    """The code of a member that is neither an address nor a struct."""
    if f"MIRRORED_ENUM({type_of_member}," in ALL_SOURCES:
        return "i"
    return dual if type_of_member == "Dual" else CODES[type_of_member]


def members_of(name: str) -> list[tuple[str, str]]:
    """Names and codes, as the text of a struct declares them. A struct inside it stands for its own members."""
    struct, _, dual = name.partition("<")
    body = body_of(struct)
    members = []
    for line in body.partition("FIELDS(")[0].splitlines():
        declaration = re.fullmatch(r"(?:const |unsigned )?(\w+)(\W.*);", line.strip())
        if declaration is None or declaration[1] in ("using", "static"):
            continue
        for part in declaration[2].split(","):
            star, member, length = re.fullmatch(r" *(\*?) *(\w+)(?:\[(\w+)\])?", part).groups()
            if star:
                members.append((member, "P"))
            elif f"struct {declaration[1]} {{" in ALL_SOURCES:
                members += members_of(declaration[1])
            else:
                constant = re.search(rf"static constexpr int {length} = (\d+);", body)
                code = code_of(declaration[1], "d" if dual == "double>" else "q")
                members.append((member, (constant[1] if constant else length or "") + code))
    return members


@EVERY_STRUCT
def test_fields_are_the_members_that_the_source_declares(name: str) -> None:
    assert [(field, code) for field, code, _, _ in _native.STRUCTS[name]] == members_of(name)


@EVERY_STRUCT
def test_each_field_is_packed_where_it_lies(name: str) -> None:
    layout = Layout(name)
    fields = [(field, code, offset) for field, code, offset, _ in _native.STRUCTS[name]]
    if any(len(code) > 1 for _, code, _ in fields):  # arrays: these are read, and never packed
        return
    for shuffled in (fields, fields[::-1]):  # in which order they are given does not matter
        values = {field: number % 2 if code == "?" else number + 3 for number, (field, code, _) in enumerate(shuffled)}
        packed = layout.pack(**values)
        assert packed.shape == () and packed.nbytes == layout.size == layout.dtype.itemsize
        for field, code, offset in fields:
            assert unpack_from(code, packed.tobytes(), offset) == (values[field],), field
        assert packed.view(layout.dtype).item() == tuple(values[field] for field in layout.names)


@EVERY_STRUCT
def test_members_that_are_missing_or_unknown_are_refused(name: str) -> None:
    layout = Layout(name)
    members = dict.fromkeys(layout.names, 0)
    first = layout.names[0]
    with pytest.raises(TypeError, match=first):
        layout.pack(**{field: 0 for field in members if field != first})
    with pytest.raises(TypeError, match="another"):
        layout.pack(**members, another=0)
    with pytest.raises(TypeError):
        layout.pack(*members.values())


@EVERY_STRUCT
def test_swapped_members_are_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mirror must have the order of its struct."""
    fields = _native.STRUCTS[name]
    for k in range(len(fields) - 1):
        swapped = (*fields[:k], fields[k + 1], fields[k], *fields[k + 2 :])
        monkeypatch.setitem(_native.STRUCTS, name, swapped)
        with pytest.raises(ImportError, match=f"^{name}: expected fields at"):
            Layout(name)
        offset = (*fields[:k], (*fields[k][:2], fields[k][2] + 1, fields[k][3]), *fields[k + 1 :])
        monkeypatch.setitem(_native.STRUCTS, name, offset)
        with pytest.raises(ImportError, match=f"^{name}: expected fields at"):
            Layout(name)


def test_what_programs_take_by_value_is_mirrored() -> None:
    wanted = {struct for program in PROGRAMS for struct in program.structs}
    assert wanted <= {name.partition("<")[0] for name in _native.STRUCTS}
    assert (launch.REPORT_SIZE, launch.CORE_REPORT_SIZE) == (18, 18 + 65)


MIRRORED: dict[str, list[str]] = {
    **{enum.__name__: [member.name.lower() for member in enum] for enum in (ForestKind, AssignmentStart)},
    "Start": ["automatic" if start is Start.AUTO else start.name.lower() for start in Start],
    "MunkresForm": list(get_args(methods.assignment.Form)),
}


@pytest.mark.parametrize("name", MIRRORED)
def test_enums_are_numbered_as_in_the_source(name: str) -> None:
    assert _native.ENUMS[name] == tuple((member, number) for number, member in enumerate(MIRRORED[name]))
    kinds: dict[str, type[IntEnum]] = {"ForestKind": ForestKind, "AssignmentStart": AssignmentStart, "Start": Start}
    if name in kinds:
        assert [int(member) for member in kinds[name]] == list(range(len(MIRRORED[name])))


def test_every_enum_of_the_extension_is_used_by_number_or_name() -> None:
    assert set(_native.ENUMS) == {*MIRRORED, "CoreStep", "Storage", "TierOutcome"}
    assert set(cpu.TIER_OUTCOMES) == {"stands", "solved", "refined", "open"}
    assert set(small.STORAGE) == {"rows", "columns", "coordinates"}


# Numbers that Python and csrc both need: a module, the name there, a file of csrc, and the name there if it differs.
WRITTEN_TWICE = (
    ("problems.limits", "SPREADS", "assignment/checked_batch.cuh"),
    ("problems.limits", "LARGE_ON_GPU", "assignment/checked_batch.cuh"),
    ("problems.splits", "ROOM", "costs/hidden.cuh"),
    ("problems.splits", "ROOM", "serial/exact/lowered_costs.hpp"),
    ("problems.splits", "MOST_TIERS", "serial/exact/tier_scan.hpp"),
    ("assignment.exact", "LAST_DIGITS", "serial/exact/tiers.hpp"),
    ("assignment.exact", "GROWTH", "serial/exact/tiers.hpp"),
    ("distributed.core", "WANTED", "core/column_minima.cuh"),
    ("distributed.margins", "ROUNDINGS", "costs/dense.cuh"),
    ("distributed.margins", "ROUNDINGS", "core/block_passes.cuh"),
    ("backends.block_passes", "STRATA", "costs/pass.cuh"),
    ("backends.pair_lists_gpu", "MOST_SHARES", "points/lists.cuh"),
    ("backends.point_bounds", "STRATA_OF_ROW", "points/bounds.cuh"),
    ("backends.point_costs", "TILE", "points/pairs.cuh", "COLUMNS"),
    ("distributed.gpu_windows", "FOUR", "points/fours.hpp", "SIZE"),
)


def number_in_source(name: str, text: str) -> float:
    """The value of a constant of csrc. It may be a product or a quotient with constants of the same file."""
    (pattern,) = re.findall(rf"constexpr [^;]*\b{name} = ([^,;]+)[,;]", text)
    if "epsilon()" in pattern:
        return 2.0**-52
    pattern = re.sub(r"[A-Z]{2,}\w*", lambda other: str(number_in_source(other[0], text)), pattern.replace("1LL", "1"))
    pattern = re.sub(r"0x1p(\d+)", r"2.0**\1", pattern)
    assert re.fullmatch(r"[\d.e ()*/<-]+", pattern), pattern
    number: float = eval(pattern)
    return number


@pytest.mark.parametrize(("module", "name", "source", "other"), [(*row, row[1])[:4] for row in WRITTEN_TWICE])
def test_numbers_that_are_written_twice_are_equal(module: str, name: str, source: str, other: str) -> None:
    number = getattr(import_module(f"gmatch.{module}"), name)
    assert number == number_in_source(other, (CSRC / source).read_text())


# The numbers of minima of a row, by their names in serial/core_search.hpp and in serial/rows/row_picks.hpp.
MINIMA = {"MINIMA": "FEWEST_MINIMA", "MOST_MINIMA": "MOST_MINIMA"}


def test_rows_are_picked_alike_by_ranks_and_by_a_host() -> None:
    (depths,) = re.findall(r"DEPTHS\[WHOLE\] = \{(.*?)\};", (CSRC / "serial/core_search.hpp").read_text(), re.DOTALL)
    picks = (CSRC / "serial/rows/row_picks.hpp").read_text()
    minima = {name: number_in_source(of_picks, picks) for name, of_picks in MINIMA.items()}
    found = re.findall(r"\{(\w+), (\d+), (\d+)\}", depths)
    assert [(minima[name], int(rank), int(room)) for name, rank, room in found] == list(block_passes.DEPTHS)
    assert window_passes.PICKED == _native.PICKED_ON_GPU * block_passes.STRATA


SHAPES = [(0, 0), (1, 1), (3, 5), (5, 3), (7, 7), (0, 4), (2, 300)]


@pytest.mark.parametrize("name", _native.ARRAYS)
@pytest.mark.parametrize(("rows", "columns"), SHAPES)
def test_arrays_lie_one_after_another(name: str, rows: int, columns: int) -> None:
    arrays, sizes = Arrays(name), (1, min(rows, columns), rows, columns)
    total = sum(bytes_of * size for bytes_of, size in zip(arrays.size, sizes, strict=True))
    memory = bytearray(total)
    views = [view(memory, rows, columns) for view in arrays.views.values()]
    begins = [sum(map(int.__mul__, begin, sizes)) for begin in arrays.begins.values()]
    ends = [begin + view.nbytes for begin, view in zip(begins, views, strict=True)]
    assert begins == [0, *ends[:-1]] and ends[-1] == total
    for number, view in enumerate(views):
        view[...] = number + 1
    for number, view in enumerate(views):
        assert (view == number + 1).all()
    for code, view in zip((code for _, code, _, _ in _native.ARRAYS[name][0]), views, strict=True):
        assert view.itemsize == calcsize(code) and view.ctypes.data % view.itemsize == 0


def test_problems_of_a_batch_are_rows_of_words() -> None:
    problems = np.zeros(3, BATCH_PROBLEM.dtype)
    problems["num_columns"] = [4, 5, 6]
    words = words_of(problems)
    assert words.shape == (3, len(BATCH_PROBLEM.names)) and words.flags.c_contiguous
    assert words[:, BATCH_PROBLEM.names.index("num_columns")].tolist() == [4, 5, 6]
    assert words_of(problems[:0]).shape == (0, len(BATCH_PROBLEM.names))
