"""Machine code of a GPU's programs: the places where it is sought, in order. Code of another text is never taken."""

from __future__ import annotations

import logging
import lzma
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import gmatch
from gmatch.programs import compiled
from gmatch.programs.catalogue import ARCHITECTURES, ASSIGN_CORE, INSPECT_COSTS

VARIANT, ENTRY = INSPECT_COSTS.variants[0], "inspect_costs_grid"
TEXT = VARIANT.complete_text(ENTRY)


class NVRTCError(RuntimeError):
    """What CuPy raises for NVRTC."""


@dataclass
class Compiler:
    """Stands for CuPy's NVRTC. Its code names its input."""

    version: tuple[int, int] = (13, 0)
    known: tuple[int, ...] = (75, 80, 86, 89, 90, 100, 103, 120)
    calls: list[tuple[str, ...]] = field(default_factory=list)
    error: str = ""

    NVRTCError = NVRTCError

    def getVersion(self) -> tuple[int, int]:
        return self.version

    def getSupportedArchs(self) -> tuple[int, ...]:
        return self.known

    def createProgram(self, text: str, name: str, headers: object, names: object) -> str:
        return text

    def compileProgram(self, program: str, options: tuple[str, ...]) -> None:
        self.calls.append(options)
        if self.error:
            raise NVRTCError("NVRTC_ERROR_COMPILATION (6)")

    def getProgramLog(self, program: str) -> str:
        return self.error

    def getCUBIN(self, program: str) -> bytes:
        return b"cubin of " + program.encode()

    def getPTX(self, program: str) -> bytes:
        return b"ptx of " + program.encode()

    def destroyProgram(self, program: str) -> None: ...


@pytest.fixture
def nvrtc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Compiler]:
    """A compiler, an empty cache, and nothing shipped."""
    compiler = Compiler()
    monkeypatch.setattr(compiled, "cupy", SimpleNamespace(cuda=SimpleNamespace(nvrtc=compiler)))
    monkeypatch.setenv("CUPY_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(compiled, "PACKAGE", "gmatch_bipartite_kernels_that_are_not_installed")
    compiled.shipped_in.cache_clear()
    yield compiler
    compiled.shipped_in.cache_clear()


def ship(folder: Path, monkeypatch: pytest.MonkeyPatch, **files: bytes) -> Path:
    """Installs a package of shipped code with these files."""
    package = folder / "shipped" / "fake_kernels"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    for name, code in files.items():
        (package / f"{name}.xz").write_bytes(lzma.compress(code))
    monkeypatch.syspath_prepend(str(package.parent))
    monkeypatch.setattr(compiled, "PACKAGE", "fake_kernels")
    compiled.shipped_in.cache_clear()
    return package


def name_of(text: str, architecture: int) -> str:
    return compiled.shipped_name(text, architecture).removesuffix(".xz")


def test_code_is_compiled_once_and_kept_for_later(nvrtc: Compiler) -> None:
    found = [compiled.code_of(VARIANT, ENTRY, TEXT, 90) for _ in range(3)]
    assert [origin for _, origin in found] == ["compiled", "kept", "kept"]
    assert {code for code, _ in found} == {b"cubin of " + TEXT.encode()} and len(nvrtc.calls) == 1
    (kept,) = compiled.kept_in().iterdir()
    assert kept.name.startswith("gmatch-") and kept.suffix == ".cubin"


def test_kept_code_is_of_one_text_one_capability_one_compiler_and_its_options(
    nvrtc: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    def origin(text: str = TEXT, capability: int = 90) -> str:
        return compiled.code_of(VARIANT, ENTRY, text, capability)[1]

    assert origin() == "compiled" and origin(TEXT + " ") == origin(capability=80) == "compiled"
    nvrtc.version = (13, 1)
    assert origin() == "compiled"
    monkeypatch.setattr(compiled, "HURRY", "--Ofast-compile=min")
    assert origin() == "compiled" and origin() == "kept"


def test_shipped_code_comes_first(nvrtc: Compiler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled.code_of(VARIANT, ENTRY, TEXT, 90)
    ship(tmp_path, monkeypatch, **{name_of(TEXT, 90): b"nine", name_of(TEXT, 80): b"eight", name_of(TEXT, 120): b"12"})
    nvrtc.calls.clear()
    for capability, code in ((90, b"nine"), (80, b"eight"), (86, b"eight"), (89, b"eight"), (120, b"12"), (121, b"12")):
        assert compiled.code_of(VARIANT, ENTRY, TEXT, capability) == (code, "shipped")
    assert nvrtc.calls == []


def test_shipped_code_of_another_text_or_architecture_is_ignored(
    nvrtc: Compiler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ship(tmp_path, monkeypatch, **{name_of(TEXT + "// changed", 90): b"stale", name_of(TEXT, 80): b"eight"})
    assert compiled.code_of(VARIANT, ENTRY, TEXT, 90)[1] == "compiled"
    assert compiled.code_of(VARIANT, ENTRY, TEXT, 75)[1] == "compiled"
    assert compiled.code_of(VARIANT, ENTRY, TEXT, 103)[1] == "compiled"
    monkeypatch.setattr(compiled, "OPTIONS", ("-std=c++20",))
    assert compiled.code_of(VARIANT, ENTRY, TEXT, 80)[1] == "compiled"


def test_names_of_code_differ_by_all_that_makes_it() -> None:
    other = ASSIGN_CORE.variants[0].complete_text("core_search_grid")
    names = [compiled.shipped_name(text, each) for text in (TEXT, other, TEXT + " ") for each in ARCHITECTURES]
    assert len(set(names)) == 3 * len(ARCHITECTURES) and all(len(name) == 35 for name in names)
    assert compiled.key_of("b", ("a",)) != compiled.key_of("", ("a", "b"))


def test_the_option_to_hurry_is_for_compilers_that_know_it(nvrtc: Compiler, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "HURRY", "--Ofast-compile=mid")
    for version, hurries in (((12, 8), False), ((12, 9), True), ((13, 0), True), ((13, 5), True)):
        nvrtc.version = version
        options, is_ptx = compiled.nvrtc_options(90)
        assert ("--Ofast-compile=mid" in options) == hurries and not is_ptx
        assert options[0] == "-std=c++17" and options[-1] == "-arch=sm_90"
    assert not any("/" in option for option in options)  # no path of this machine
    monkeypatch.setattr(compiled, "HURRY", "")
    assert not any("Ofast" in option for option in compiled.nvrtc_options(90)[0])


def test_a_gpu_that_the_compiler_does_not_know(nvrtc: Compiler) -> None:
    assert compiled.nvrtc_options(130)[0][-1] == "-arch=compute_120"
    assert compiled.code_of(VARIANT, ENTRY, TEXT, 130)[0].startswith(b"ptx of ")
    with pytest.raises(gmatch.BackendUnavailable, match="expected a GPU of compute capability 7.5 or later .* got 7.0"):
        compiled.nvrtc_options(70)


def test_a_text_that_does_not_compile(nvrtc: Compiler) -> None:
    nvrtc.error = "no such type"
    with pytest.raises(gmatch.BackendUnavailable, match="(?s)cannot compile inspection-int32.*no such type.*report"):
        compiled.code_of(VARIANT, ENTRY, TEXT, 90)
    assert not compiled.kept_in().exists()


def test_a_cache_that_cannot_be_written_costs_time_alone(
    nvrtc: Compiler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CUPY_CACHE_DIR", str(tmp_path / "file"))
    for _ in range(2):
        assert compiled.code_of(VARIANT, ENTRY, TEXT, 90)[1] == "compiled"
    assert caplog.text.count("cannot keep machine code") == 2


class Driver:
    """Stands for CuPy's driver, with one function that may use 48 KiB."""

    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8

    def __init__(self) -> None:
        self.size = 48 << 10

    def funcGetAttribute(self, attribute: int, function: int) -> int:
        assert (attribute, function) == (8, 77)
        return self.size

    def funcSetAttribute(self, function: int, attribute: int, value: int) -> None:
        assert (attribute, function) == (8, 77)
        self.size = value


def test_a_kernel_says_where_it_came_from_and_a_line_of_the_log_too(
    nvrtc: Compiler, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    launches: list[tuple[object, ...]] = []
    loaded: list[bytes] = []

    class Function:
        ptr = 77

        def __call__(self, *arguments: object, enable_cooperative_groups: bool) -> None:
            assert enable_cooperative_groups
            launches.append(arguments)

    class Module:
        def load(self, code: bytes) -> None:
            loaded.append(code)

        def get_function(self, name: str) -> Function:
            assert name == ENTRY
            return Function()

    cuda, driver = compiled.cupy.cuda, Driver()
    cuda.Module, cuda.driver = Module, driver
    with caplog.at_level(logging.INFO, "gmatch"):
        kernels = [compiled.kernels_of(VARIANT, (ENTRY,), "90")[0] for _ in range(2)]
    assert [kernel.origin for kernel in kernels] == ["compiled", "kept"] and len(set(loaded)) == 1
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 2
    assert lines[0].startswith("inspect_costs_grid of inspection-int32 for compute capability 90: compiled, in ")
    kernels[0]((3,), (512,), ("argument",), 100)
    assert launches == [((3,), (512,), ("argument",), 100)]
    for asked, allowed in ((1000, 48 << 10), (100_000, 100_000), (50_000, 100_000)):
        kernels[0].allow_near_memory(asked)
        assert driver.size == allowed


def test_entry_points_compile_at_the_same_time(nvrtc: Compiler, monkeypatch: pytest.MonkeyPatch) -> None:
    both, entries = threading.Barrier(2), ("inspect_costs_grid", "find_pair_costs_grid")

    def compile_text(*given: Any) -> bytes:
        both.wait(timeout=30)  # until the other one has begun
        return str(given[0]).encode()

    monkeypatch.setattr(compiled, "compile_text", compile_text)
    monkeypatch.setattr(compiled, "Kernel", lambda code, entry, origin: (entry, entry in code.decode(), origin))
    found = compiled.kernels_of(VARIANT, entries, "90")
    assert found == [(entry, True, "compiled") for entry in entries]


def test_what_is_there_is_told(nvrtc: Compiler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled.cupy.cuda.Device = lambda: SimpleNamespace(compute_capability="90")
    first, second, third = compiled.about()
    assert first == "shipped: not installed" and second == f"kept: in {tmp_path / 'cache'}"
    assert third.startswith("compiled: NVRTC 13.0 -std=c++17 ") and third.endswith(" -arch=sm_90")
    package = ship(tmp_path, monkeypatch, **{name_of(TEXT, 90): b"nine"})
    assert compiled.about()[0] == f"shipped: 1 programs in {package}"
