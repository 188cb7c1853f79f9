"""The weights of programs: the output of ptxas is read, all programs are weighed, and heavier ones are named."""

from __future__ import annotations

import json
import os
import struct
from dataclasses import replace
from pathlib import Path

import pytest
import weigh
from harness import hash_of_files
from weigh import Weighed, Weight

import gmatch
from gmatch.programs.catalogue import CSRC, PROGRAMS

ROOT = Path(__file__).parent.parent
# Output for csrc/programs/rows.cu and csrc/programs/assign_core.cu, by nvcc 13.0 for sm_90. Names of functions are cut.
ROWS = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'find_entries_grid' for 'sm_90'
ptxas info    : Function properties for find_entries_grid
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 48 registers, used 0 barriers
ptxas info    : Compile time = 55.488 ms
ptxas info    : Compiling entry function 'count_unsorted_grid' for 'sm_90'
ptxas info    : Function properties for count_unsorted_grid
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 40 registers, used 1 barriers, 256 bytes smem
ptxas info    : Compile time = 95.278 ms
"""
CORE = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'core_search_grid' for 'sm_90'
ptxas info    : Function properties for core_search_grid
    880 bytes stack frame, 158 bytes spill stores, 252 bytes spill loads
ptxas info    : Used 128 registers, used 1 barriers, 888 bytes cumulative stack size, 13536 bytes smem
ptxas info    : Compile time = 66081.250 ms
ptxas info    : Function properties for _Z10start_coreI10DeviceTeamILi32EL5Scope2EEixET_S3_4CoreIT0_E
    8 bytes stack frame, 224 bytes spill stores, 640 bytes spill loads
ptxas info    : Function properties for _Z11bound_dualsI10DeviceTeamILi32EL5Scope2EEixET_S3_4CoreIT0_E
    0 bytes stack frame, 0 bytes spill stores, 16 bytes spill loads
"""
LIGHT = Weight(registers=48, stack=0, spill_stores=0, spill_loads=0, shared=0)
HEAVY = Weight(registers=128, stack=888, spill_stores=382, spill_loads=908, shared=13536)


def elf(*sections: tuple[int, int]) -> bytes:
    """An ELF file of 64 bits that has only headers of sections, with these flags and sizes."""
    header = bytearray(64)
    struct.pack_into("<Q", header, 40, 64)
    struct.pack_into("<HH", header, 58, 64, len(sections))
    return bytes(header) + b"".join(struct.pack("<IIQQQQ24x", 0, 1, flags, 0, 0, size) for flags, size in sections)


def write_compiler(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Puts a program of this name before nvcc."""
    folder.mkdir()
    nvcc = folder / "nvcc"
    nvcc.write_text(f"#!/bin/sh\n{text}")
    nvcc.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


def save(path: Path, programs: dict[str, Weighed], **about: str) -> Path:
    options = weigh.argparse.Namespace(arch="sm_90", sources=CSRC, output=path)
    weigh.save(options, programs)
    path.write_text(json.dumps(json.loads(path.read_text()) | about))
    return path


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A compiler that weighs a program of sparse rows and refuses all others. Returns the folder with its arguments."""
    folder = tmp_path / "bin"
    (tmp_path / "output").write_text(ROWS)
    (tmp_path / "cubin").write_bytes(elf((6, 0x1880), (3, 4000), (0x100006, 0x1A80)))
    write_compiler(
        folder,
        f'echo "$@" >> {folder}/calls\n'
        '[ "$1" = --version ] && echo "Build 13" && exit\n'
        'for last; do true; done\ngrep -q rows.cu "${last%.cubin}.cu" || { echo "no such type" >&2; exit 1; }\n'
        f"cat {tmp_path}/output >&2; cp {tmp_path}/cubin $last\n",
        monkeypatch,
    )
    return folder


def test_what_ptxas_says_is_read() -> None:
    assert weigh.weights(ROWS) == {
        "find_entries_grid": LIGHT,
        "count_unsorted_grid": replace(LIGHT, registers=40, shared=256),
    }
    # The weights include the functions that it calls.
    assert weigh.weights(CORE) == {"core_search_grid": HEAVY}


@pytest.mark.parametrize("output", ["", "nvcc warning: something else", CORE.replace("Used 128 registers", "")])
def test_output_without_registers_is_refused(output: str) -> None:
    with pytest.raises(gmatch.DataError, match="expected the output of ptxas -v"):
        weigh.weights(output)


def test_machine_code_is_what_can_be_executed() -> None:
    assert weigh.code_size(elf((6, 1000), (2, 50), (0x4, 24), (0, 7))) == 1024


def test_a_program_is_weighed(compiler: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "weights.json"
    name = "rows:find_entries_grid"
    assert weigh.main(["--only", name, "--output", str(file), "--arch", "sm_100"]) == 0
    lines = [line.split(" | ") for line in capsys.readouterr().out.splitlines()]
    assert lines[2][:6] == [f"| {name}", "find_entries_grid", "48", "0", "0 / 0", f"{0x1880 + 0x1A80:,}"]
    assert len(lines) == 3
    about, found = weigh.load(file)
    assert about == {"arch": "sm_100", "nvcc": "Build 13", "sources": hash_of_files(CSRC)}
    weight = weigh.weights(ROWS)["find_entries_grid"]
    assert found[name].entries == {"find_entries_grid": weight} and found[name].code == 0x1880 + 0x1A80
    call = (compiler / "calls").read_text().splitlines()[0]
    assert call.startswith(f"-std=c++17 -I{CSRC} -cubin -arch=sm_100 -Xptxas -v /")


def test_a_program_that_does_not_compile_is_no_silence(
    compiler: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "weights.json"
    only = ["core-int32:core_search_grid", "rows:find_entries_grid"]
    assert weigh.main(["--only", *only, "--output", str(file), "--jobs", "2"]) == 1
    output = capsys.readouterr()
    assert f"nvcc cannot compile {only[0]}: no such type" in output.err and "find_entries_grid" in output.out
    assert list(weigh.load(file)[1]) == only[1:]


def test_sources_without_an_entry_point_are_told(compiler: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert weigh.main(["--only", "rows:*"]) == 1
    output = capsys.readouterr()
    assert "expected rows:inspect_grid below" in output.err and "find_entries_grid" in output.out


def test_all_programs_of_the_catalogue_are_weighed(capsys: pytest.CaptureFixture[str]) -> None:
    assert weigh.main(["--list"]) == 0
    names = [
        f"{variant.name}:{entry}" for program in PROGRAMS for variant in program.compiled for entry in program.entries
    ]
    assert capsys.readouterr().out.split() == names and len(set(names)) == len(names) > 50


def test_what_became_heavier(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def programs(weight: Weight, **others: Weighed) -> dict[str, Weighed]:
        return {"core": Weighed(40, 1000, {"grid": weight}), **others}

    light = Weighed(1, 100, {"a": LIGHT, "b": LIGHT})
    old = save(tmp_path / "old.json", programs(HEAVY, rows=light))
    cases: list[tuple[dict[str, Weighed], list[str]]] = [
        (programs(HEAVY, rows=light), []),
        (programs(replace(HEAVY, registers=255, shared=0, spill_stores=382 + 16), rows=light, new=light), []),
        (programs(replace(HEAVY, stack=0, spill_loads=0, spill_stores=0), rows=light), []),
        (programs(replace(HEAVY, stack=896), rows=light), ["core, grid: gained 8 bytes of stack"]),
        (programs(replace(HEAVY, spill_stores=399), rows=light), ["core, grid: gained 17 bytes of spill stores"]),
        (programs(replace(HEAVY, spill_loads=1000), rows=light), ["core, grid: gained 92 bytes of spill loads"]),
        (programs(HEAVY), ["rows: is missing in NEW"]),
        (programs(HEAVY, rows=replace(light, entries={"a": LIGHT})), ["rows, b: is missing in NEW"]),
    ]
    for number, (found, problems) in enumerate(cases):
        new = save(tmp_path / f"{number}.json", found)
        assert weigh.main(["--compare", str(old), str(new)]) == (1 if problems else 0)
        lines = capsys.readouterr().out.splitlines()
        assert [line for line in lines if "gained" in line or "missing" in line] == problems
        assert ("Nothing changed" in lines[0]) == (number in (0, 6, 7))
    assert "| core | grid | 128 | 888 -> 896 | 382 | 908 | 13,536 | 1,000 |" in table_of(
        old, tmp_path / "3.json", capsys
    )


def table_of(old: Path, new: Path, capsys: pytest.CaptureFixture[str]) -> str:
    weigh.main(["--compare", str(old), str(new)])
    return capsys.readouterr().out


def test_files_that_cannot_be_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = save(tmp_path / "old.json", {})
    other = save(tmp_path / "other.json", {}, arch="sm_80")
    (tmp_path / "text.json").write_text("[1]")
    for path, problem in (
        (other, "expected files of one arch, got 'sm_90' and 'sm_80'; weigh both on one machine"),
        (tmp_path / "none.json", "none.json: No such file or directory; give another one"),
        (tmp_path / "text.json", "text.json: TypeError"),
    ):
        assert weigh.main(["--compare", str(old), str(path)]) == 2
        assert problem in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ("--only rows:* no-such", "--only: expected a name or pattern of --list, got 'no-such'"),
        ("--sources /no/such/folder", "--sources: expected the folder csrc of a tree, got /no/such/folder"),
        ("--jobs 0", "--jobs: expected a whole number of at least 1, got '0'"),
        ("", "expected nvcc on the PATH, and there is none; install CUDA's compiler, or use --compare"),
    ],
)
def test_arguments_that_cannot_work(
    arguments: str, problem: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SystemExit) as stopped:
        weigh.main(arguments.split())
    assert stopped.value.code == 2 and problem in capsys.readouterr().err


def test_names_are_listed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert weigh.main(["--list", "--only", "core-*"]) == 0
    assert capsys.readouterr().out.split() == [
        f"core-{cost}:core_{launch}_grid"
        for cost in ("int32", "int64", "float32", "float64", "float16")
        for launch in ("start", "search", "matrix")
    ]
