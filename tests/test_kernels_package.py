"""The package of machine code: it has every program that may be launched, and gmatch finds it. Nothing is compiled."""

from __future__ import annotations

import struct
import sys
import zipfile
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

import gmatch
from gmatch.programs import compiled
from gmatch.programs.catalogue import ARCHITECTURES, PROGRAMS

BUILD = Path(__file__).parent.parent / "packaging" / "kernels" / "build.py"


def load_build() -> Any:
    spec = spec_from_file_location("build_kernels", BUILD)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    sys.modules["build_kernels"] = module  # dataclasses look for it there
    spec.loader.exec_module(module)
    return module


build = load_build()


def cubin(architecture: int, version: int, content: bytes) -> bytes:
    """An ELF file as ptxas 12.9 writes it: of ABI 7 or 8."""
    header = bytearray(64)
    header[:4], header[8] = b"\x7fELF", version
    struct.pack_into("<H", header, 18, 190)
    struct.pack_into("<I", header, 48, 0x500500 | architecture if version < 8 else 0x6000002 | architecture << 8)
    return bytes(header) + content


class Compiler:
    """Stands for NVRTC and ptxas. Its code is its input."""

    def ptx(self, text: str, architecture: int) -> bytes:
        return text.encode()

    def cubin(self, ptx: bytes, architecture: int) -> bytes:
        return cubin(architecture, 7 if architecture < 100 else 8, ptx)


@pytest.fixture
def unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The whole package, installed."""
    monkeypatch.setattr(build, "find_compiler", Compiler)
    monkeypatch.setattr(build, "LEVEL", 0)
    only = ["core-*", "rows-8:*", "munkres-float64:*", "cardinality-*-huge-4:*"]
    assert build.main([str(tmp_path), "--jobs", "2", "--only", *only]) == 0
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name == f"gmatch_bipartite_kernels-{gmatch.__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    compiled.shipped_in.cache_clear()
    yield tmp_path / "site"
    sys.modules.pop(compiled.PACKAGE, None)
    compiled.shipped_in.cache_clear()


def test_all_that_may_be_launched_is_built_under_a_name_of_its_own() -> None:
    wanted = build.launched(["*"])
    expected = [(variant, entry) for program in PROGRAMS for variant in program.variants for entry in program.entries]
    assert len(wanted) == len(expected) > 250 and set(wanted) == set(expected)
    assert len({build.name_of(*each) for each in wanted}) == len(wanted)
    texts = {variant.complete_text(entry) for variant, entry in wanted}
    assert len(texts) == len(wanted)
    assert set(build.FRONT_ENDS) == set(ARCHITECTURES)


def test_gmatch_finds_what_was_built(unpacked: Path) -> None:
    found = 0
    for program in PROGRAMS:
        for variant in program.variants:
            for entry in program.entries:
                text = variant.complete_text(entry)
                code = {compiled.shipped_code(text, capability) for capability in (75, 80, 86, 90, 103, 121)}
                if code != {None}:
                    assert all(text.encode() in each for each in code if each is not None) and len(code) == 5
                    found += 1
    assert found == 10 * 3 + 3 + 9 + 5 * 2 - 2 * 2  # a forest of the paper has a thread for each row
    assert compiled.shipped_code(text + " ", 90) is None


def test_its_record_is_whole(unpacked: Path) -> None:
    (record,) = unpacked.glob("*.dist-info/RECORD")
    lines = [line.split(",") for line in record.read_text().splitlines()]
    files = {path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*") if path.is_file()}
    assert {name for name, _, _ in lines} == files
    for name, checksum, size in lines:
        content = (unpacked / name).read_bytes()
        assert name.endswith("RECORD") or (checksum, size) == (f"sha256={build.digest(content)}", f"{len(content)}")


def test_other_code_is_refused() -> None:
    build.refuse_other_code(cubin(90, 7, b"run_grid"), 90, "run_grid")
    build.refuse_other_code(cubin(120, 8, b"run_grid"), 120, "run_grid")
    for wrong in (cubin(80, 7, b"run_grid"), cubin(90, 8, b"run"), b"\x7fELF" + bytes(100)):
        with pytest.raises(SystemExit, match="expected run_grid for sm_90, got machine"):
            build.refuse_other_code(wrong, 90, "run_grid")


def test_a_pattern_of_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        build.main([str(tmp_path), "--only", "no-such"])
    assert stopped.value.code == 2 and "--only: expected NAME:ENTRY" in capsys.readouterr().err
