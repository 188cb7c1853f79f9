"""The catalogue of programs: it agrees with the sources, and the compiler, the emulator and launches all walk it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from gmatch import _native
from gmatch.backends import gpu
from gmatch.methods import ForestKind
from gmatch.programs import catalogue, entry_points
from gmatch.programs.catalogue import CSRC, PROGRAMS, Program
from gmatch.types import NARROW_TYPES

ROOT = Path(__file__).parent.parent
EVERY_PROGRAM = pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.source)
PARAMETERS = r"\s*\(([^)]*)\)"


def text_of(source: str) -> str:
    """The text of a source without comments, each macro in one line."""
    text = re.sub(r"//.*", "", (CSRC / source).read_text())
    return re.sub(r"\\\n", "", text)


def entries_in(text: str) -> dict[str, tuple[str, list[str]]]:
    """The entry points of a source, with their most threads of a block and the types of their parameters."""
    found = re.findall(rf"^PROGRAM\((\w+), (\w+)\){PARAMETERS}", text, re.MULTILINE)
    for macro, threads, parameters in re.findall(
        rf"^#define (\w+)\(name, \.\.\.\)\s*PROGRAM\(name, (\w+)\){PARAMETERS}", text, re.MULTILINE
    ):
        found += [(name, threads, parameters) for name in re.findall(rf"^{macro}\((\w+),", text, re.MULTILINE)]
    assert len({name for name, _, _ in found}) == len(found)
    types = {name: [part.strip().rpartition(" ")[0] for part in given.split(",")] for name, _, given in found}
    return {name: (threads, types[name]) for name, threads, _ in found}


def test_every_entry_point_of_the_sources_is_listed_once() -> None:
    names = [path.relative_to(CSRC).as_posix() for path in CSRC.rglob("*.cu")]
    in_sources = {name: list(entries_in(text_of(name))) for name in names}
    assert {program.source: list(program.entries) for program in PROGRAMS} == in_sources
    assert len(PROGRAMS) == len(in_sources)
    entries = [entry for program in PROGRAMS for entry in program.entries]
    assert len(set(entries)) == len(entries) >= 20
    for path in CSRC.rglob("*"):
        if path.is_file() and path.suffix != ".cu":
            text = path.read_text()
            assert "__global__" not in text or path.name == "device_team.cuh", path
            assert not re.search(r"^\s*PROGRAM\(", text, re.MULTILINE), path


@EVERY_PROGRAM
def test_entry_points_are_as_they_are_listed(program: Program) -> None:
    entries = entries_in(text_of(program.source))
    taken: set[str] = set()
    for variant in program.variants:
        macros = variant.definitions
        for name, threads in variant.entries.items():
            threads_of_source, types = entries[name]
            assert int(macros.get(threads_of_source, threads_of_source)) == threads
            structs = [
                macros.get(each, each).partition("<")[0]
                for each in types
                if not each.endswith("*") and each not in ("Count", "int", "float", "double", "Dual", "COSTS::Dual")
            ]
            listed = iter(program.structs)
            assert bool(structs) == bool(program.structs), name
            assert all(struct in listed for struct in structs), name  # in their order
            taken.update(structs)
    assert taken == set(program.structs)


@EVERY_PROGRAM
def test_macros_that_a_source_asks_for_are_given(program: Program) -> None:
    text = text_of(program.source)
    own = {"PROGRAM", *re.findall(r"#define (\w+)", text)} | {"__VA_ARGS__"}
    assert set(re.findall(r"\b[A-Z_]{2,}\b", text)) - own == set(program.macros)
    header = (CSRC / program.source).read_text().partition("#include")[0]
    vocabulary = set(re.findall(r"^    ([A-Z_]+)  ", str(catalogue.__doc__), re.MULTILINE))
    for macro in program.macros:
        assert macro in header and macro in vocabulary
    for variant in program.variants:
        text = variant.text()
        assert text.endswith(f"#include <{program.source}>\n")
        assert all(f"#define {macro} {value}\n" in text for macro, value in variant.definitions.items())
        assert all(f"#define ENTRY_{entry} 1\n" in text for entry in program.entries)
        assert "{" not in text and "{" not in variant.name


@EVERY_PROGRAM
def test_an_entry_point_is_wanted_alone(program: Program) -> None:
    variant = program.variants[0]
    for entry in program.entries:
        for text in (variant.text(entry), variant.complete_text(entry)):
            wanted = dict(re.findall(r"^#define ENTRY_(\w+) (\d)$", text, re.MULTILINE))
            assert wanted == {other: f"{int(other == entry)}" for other in program.entries}


@EVERY_PROGRAM
def test_a_complete_text_has_each_file_once(program: Program) -> None:
    text = catalogue.amalgamated(program.source, CSRC)
    assert "//" not in text and "\n\n" not in text and "#pragma once" not in text
    sources = "".join(path.read_text() for path in CSRC.rglob("*") if path.is_file())
    assert not re.search(r'"[^"\n]*//[^"\n]*"', re.sub(r"^[^\n\"]*//.*", "", sources, flags=re.MULTILINE))
    left = re.findall(r'#include [<"](\S+)[>"]', text)
    assert all("/" not in name or name == "team/host_team.hpp" for name in left)
    structs = re.findall(r"^(?:struct|class) (\w+)[^;]*\{$", text, re.MULTILINE)
    assert "Progress" in structs or program.workspace is None
    assert text.count("class [[nodiscard]] DeviceTeam {") == 1
    assert str(CSRC) not in text


def test_a_complete_text_follows_what_it_includes_and_nothing_else(tmp_path: Path) -> None:
    """Machine code is found by the hash of the text, so a change of any included file must change the text."""
    copy = tmp_path / "csrc"
    shutil.copytree(CSRC, copy)
    variant = catalogue.ASSIGN_CORE.variants[0]

    def text() -> str:
        catalogue.amalgamated.cache_clear()
        return variant.complete_text("core_search_grid", csrc=copy)

    first = text()
    assert first == variant.complete_text("core_search_grid")
    for name in ("programs/assign_core.cu", "core/program.cuh", "team/device_team.cuh", "costs/spreads.cuh"):
        content = (copy / name).read_text()
        (copy / name).write_text(content + "constexpr int CHANGED = 1;\n")
        assert text() != first, name
        (copy / name).write_text(re.sub(r";$", ";  // another comment", content, flags=re.MULTILINE) + "// and one\n\n")
        assert text() == first, name
    for name in ("cardinality/match.cuh", "serial/rows/lanes.hpp", "team/host_team.hpp"):
        (copy / name).write_text("")
    assert text() == first


def test_no_variant_is_listed_twice() -> None:
    texts = [variant.text() for program in PROGRAMS for variant in program.variants]
    assert len(set(texts)) == len(texts) > 100
    compiled = [variant.name for program in PROGRAMS for variant in program.compiled]
    assert len(set(compiled)) == len(compiled) > 60


@EVERY_PROGRAM
def test_what_has_one_name_differs_in_lanes_alone(program: Program) -> None:
    compiled = {variant.name: variant for variant in program.compiled}
    for variant in program.variants:
        if variant.name not in compiled:
            assert variant.words["type"] in NARROW_TYPES
            continue
        words = variant.words, compiled[variant.name].words
        assert words[0].keys() == words[1].keys()
        assert {word for word in words[0] if words[0][word] != words[1][word]} <= {"lanes"}


@EVERY_PROGRAM
def test_every_word_is_emulated(program: Program) -> None:
    wide = [variant for variant in program.variants if variant.words.get("type") not in NARROW_TYPES]
    every_word = {word for variant in wide for word in variant.words.items()}
    assert {word for variant in program.each_once for word in variant.words.items()} == every_word
    texts = {variant.text() for variant in program.variants}
    assert {variant.text() for variant in program.each_once} <= texts
    assert len(program.each_once) == max(map(len, program.rows))


def test_forests_are_numbered_as_their_kinds() -> None:
    names = [words["kind"].replace("-", "_").upper() for words in catalogue.FORESTS]
    assert names == [kind.name for kind in ForestKind] and list(ForestKind) == list(range(len(names)))


def test_only_what_is_listed_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    device = SimpleNamespace(compute_capability="90")
    monkeypatch.setattr(entry_points, "cupy", SimpleNamespace(cuda=SimpleNamespace(Device=lambda number: device)))
    monkeypatch.setattr(entry_points, "kernels_of", lambda *asked: [asked])
    monkeypatch.setattr(entry_points, "entry_points", entry_points.entry_points.__wrapped__)
    entry_point = entry_points.entry_point.__wrapped__
    words = {"cost": "float", "edges": "ClassicalEdges"}
    variant, (entry,), capability = entry_point(catalogue.ASSIGN, "assign_grid", 0, **words, limit=1024)
    assert (entry, capability) == ("assign_grid", "90")
    assert variant.text(entry) == (
        "#define COSTS DenseCosts<float>\n#define EDGES ClassicalEdges<float>\n#define BLOCK_LIMIT 1024\n"
        "#define ENTRY_assign_grid 1\n#define ENTRY_assign_block 0\n#include <programs/assign.cu>\n"
    )
    for others in ({"limit": 256}, {"limit": 512, "cost": "half"}, {"edges": "TightEdges", "limit": 1024}, {}):
        with pytest.raises(LookupError, match="expected words of one variant"):
            entry_point(catalogue.ASSIGN, "assign_grid", 0, **(words | others))


# The sizes that a workspace is asked for, beside words.
SIZES = {
    "programs/match.cu": (ForestKind.CLAIMED, 1, 500, 600, 3000),
    "programs/assign_sparse.cu": (500, 600),
    "programs/assign.cu": (500, 600, 1024),
    "programs/assign_batch.cu": (50, 60, 64),
    "programs/assign_core.cu": (500, 600, 1024),
    "programs/munkres.cu": (500, 600, 1024),
}
WORDS_OF_SIZES = {
    "programs/match.cu": ("offset", "column"),
    "programs/assign_sparse.cu": ("cost", "offset", "column"),
    "programs/assign.cu": ("cost", "edges"),
    "programs/assign_batch.cu": ("cost", "edges"),
    "programs/assign_core.cu": ("cost",),
    "programs/munkres.cu": ("cost",),
}


@EVERY_PROGRAM
def test_the_extension_knows_the_workspace_of_every_variant(program: Program) -> None:
    if program.workspace is None:
        assert program.source not in SIZES
        return
    for variant in program.variants:
        words = {word: variant.words[word] for word in WORDS_OF_SIZES[program.source]}
        assert gpu.WORKSPACE_SIZES[program](*SIZES[program.source], **words) > 1000
        for word in words:
            with pytest.raises(ValueError, match="expected a type|expected types"):
                gpu.WORKSPACE_SIZES[program](*SIZES[program.source], **(words | {word: "half"}))


def test_all_workspaces_of_the_extension_are_listed() -> None:
    functions = {name for name in dir(_native) if name.endswith("workspace_size")}
    assert {program.workspace for program in PROGRAMS} - {None} == functions


def lines_of(*arguments: str, folder: Path) -> list[list[str]]:
    """The output of the catalogue alone: without gmatch and without installed packages."""
    command = [sys.executable, "-I", "-S", str(ROOT / "gmatch/programs/catalogue.py"), *arguments, str(folder)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [line.split() for line in output.splitlines()]


@pytest.mark.parametrize("arguments", [(), ("--each-once",)])
def test_it_writes_what_compilers_are_given(arguments: tuple[str, ...], tmp_path: Path) -> None:
    wanted = [variant for program in PROGRAMS for variant in (program.each_once if arguments else program.compiled)]
    assert lines_of(*arguments, folder=tmp_path) == [[variant.name, variant.program.source] for variant in wanted]
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        f"{variant.name}.cu": variant.text() if arguments else variant.complete_text() for variant in wanted
    }


def test_ci_compiles_all_of_it(tmp_path: Path) -> None:
    calls, folder = tmp_path / "calls", tmp_path / "work"
    (tmp_path / "bin").mkdir()
    folder.mkdir()
    compiler = tmp_path / "bin" / "nvcc"
    compiler.write_text(f'#!/bin/sh\nfor word; do case "$word" in *.cu) echo "$word" >> {calls};; esac; done\n')
    compiler.chmod(0o755)
    environment = os.environ | {"PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    command = [str(ROOT / ".ci" / "compile-for-gpus"), str(folder), "75", "90"]
    subprocess.run(command, check=True, cwd=ROOT, capture_output=True, env=environment)
    compiled = [Path(line).stem for line in calls.read_text().splitlines()]
    assert sorted(compiled) == sorted(variant.name for program in PROGRAMS for variant in program.compiled)
    compiler.write_text("#!/bin/sh\nexit 1\n")
    assert subprocess.run(command, cwd=ROOT, capture_output=True, env=environment).returncode != 0


def test_the_emulator_launches_every_entry_point() -> None:
    drivers = {path.stem: path.read_text() for path in (ROOT / "tests" / "emulator").glob("*.cpp")}
    assert set(drivers) == {"emulator", *(Path(program.source).stem for program in PROGRAMS)}
    for program in PROGRAMS:
        for entry in program.entries:
            assert re.search(rf"\b{entry}\b", re.sub(r"//.*", "", drivers[Path(program.source).stem])), entry
    assert "catalogue.py --each-once" in (ROOT / "tests" / "emulator" / "run").read_text()
