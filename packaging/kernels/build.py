"""Builds the package of machine code for GPUs, without a GPU: gmatch-bipartite-kernels, which gmatch loads.

    pip install 'nvidia-cuda-nvcc-cu12==12.9.*' 'nvidia-cuda-nvrtc-cu12==12.9.*'
    python packaging/kernels/build.py FOLDER                                   # all of it: half an hour of two cores
    python packaging/kernels/build.py FOLDER --only 'rows-8:*' 'core-*'        # a sample

Writes one wheel for all platforms to FOLDER. Each entry point of each program of gmatch/programs/catalogue.py is
compiled for each architecture by NVRTC and ptxas of CUDA 12.9. All drivers since 525 load it, also drivers of CUDA 13.
A file is named by a hash of source, options and architecture (gmatch/programs/compiled.py). So a wheel of other sources
than the gmatch beside it is of no use, but does no harm.

Not published yet. Once it is, the extra "gpu" of pyproject.toml asks for the version built of the same sources.
"""

from __future__ import annotations

import argparse
import base64
import ctypes
import hashlib
import importlib.util
import lzma
import os
import struct
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from tempfile import TemporaryDirectory

import gmatch
from gmatch.programs.catalogue import ARCHITECTURES, OPTIONS, PROGRAMS, Variant
from gmatch.programs.compiled import OF_NVRTC, PACKAGE, shipped_name

# By the architecture: what the source may ask for. It asks whether there is more than 7.5 has.
FRONT_ENDS = {architecture: 75 if architecture < 80 else 80 for architecture in ARCHITECTURES}
EM_CUDA = 190
LEVEL = 6  # of xz: the largest file takes 9 ms to unpack; zlib would take 3, and two thirds more room


@dataclass(frozen=True)
class Compiler:
    """NVRTC and ptxas of one version of CUDA."""

    nvrtc: ctypes.CDLL
    ptxas: Path

    def ptx(self, text: str, architecture: int) -> bytes:
        options = [option.encode() for option in (*OPTIONS, *OF_NVRTC, f"-arch=compute_{architecture}")]
        program, size = ctypes.c_void_p(), ctypes.c_size_t()
        self._call("CreateProgram", ctypes.byref(program), text.encode(), b"program.cu", 0, None, None)
        try:
            array = (ctypes.c_char_p * len(options))(*options)
            if self.nvrtc.nvrtcCompileProgram(program, len(options), array) != 0:
                self._call("GetProgramLogSize", program, ctypes.byref(size))
                message = ctypes.create_string_buffer(size.value)
                self._call("GetProgramLog", program, message)
                raise SystemExit(f"NVRTC: {message.value.decode()}")
            self._call("GetPTXSize", program, ctypes.byref(size))
            code = ctypes.create_string_buffer(size.value)
            self._call("GetPTX", program, code)
        finally:
            self._call("DestroyProgram", ctypes.byref(program))
        return code.value

    def cubin(self, ptx: bytes, architecture: int) -> bytes:
        with TemporaryDirectory() as folder:
            source, target = Path(folder) / "program.ptx", Path(folder) / "program.cubin"
            source.write_bytes(ptx)
            command = [self.ptxas, f"-arch=sm_{architecture}", source, "-o", target]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode != 0:
                raise SystemExit(f"ptxas: {done.stdout}{done.stderr}")
            return target.read_bytes()

    def _call(self, name: str, *arguments: object) -> None:
        result = getattr(self.nvrtc, f"nvrtc{name}")(*arguments)
        if result != 0:
            raise SystemExit(f"nvrtc{name}: error {result}")


def find_compiler() -> Compiler:
    """Of the packages that the module's docstring names."""
    found = importlib.util.find_spec("nvidia")
    for folder in map(Path, (found.submodule_search_locations or ()) if found else ()):
        nvrtc, ptxas = folder / "cuda_nvrtc/lib/libnvrtc.so.12", folder / "cuda_nvcc/bin/ptxas"
        if nvrtc.is_file() and ptxas.is_file():
            # It opens a library beside it by its name alone.
            for beside in sorted(nvrtc.parent.glob("libnvrtc-builtins.so.*")):
                ctypes.CDLL(str(beside), ctypes.RTLD_GLOBAL)
            ptxas.chmod(ptxas.stat().st_mode | 0o111)
            return Compiler(ctypes.CDLL(str(nvrtc)), ptxas)
    raise SystemExit(
        "expected NVRTC and ptxas of CUDA 12.9 for this Python, and they are not installed; "
        "pip install 'nvidia-cuda-nvcc-cu12==12.9.*' 'nvidia-cuda-nvrtc-cu12==12.9.*'"
    )


def refuse_other_code(cubin: bytes, architecture: int, entry: str) -> None:
    """What a driver would refuse later: an ELF file of another machine or architecture, or without the entry point."""
    machine, version = struct.unpack_from("<H", cubin, 18)[0], cubin[8]
    (flags,) = struct.unpack_from("<I", cubin, 48)
    of_file = flags & 0xFF if version < 8 else flags >> 8 & 0xFF  # the ABI moved it
    if cubin[:4] != b"\x7fELF" or (machine, of_file) != (EM_CUDA, architecture) or entry.encode() not in cubin:
        raise SystemExit(f"expected {entry} for sm_{architecture}, got machine {machine}, sm_{of_file}")


def refuse_what_is_read_otherwise(cuobjdump: Path, cubin: bytes, architecture: int, entry: str) -> None:
    """The same, by NVIDIA's own tool."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "program.cubin"
        file.write_bytes(cubin)
        head, usage = (
            subprocess.run([cuobjdump, option, file], capture_output=True, text=True, check=True).stdout
            for option in ("-elf", "-res-usage")
        )
    if f" sm={architecture}," not in head or f"Function {entry}:" not in usage:
        raise SystemExit(f"cuobjdump: expected {entry} for sm_{architecture}, got {head[:200]} {usage[:200]}")


def build(compiler: Compiler, variant: Variant, entry: str, cuobjdump: Path | None) -> dict[str, bytes]:
    """Files of an entry point, by their names."""
    text, begin = variant.complete_text(entry), time.perf_counter()
    ptx = {front_end: compiler.ptx(text, front_end) for front_end in set(FRONT_ENDS.values())}
    files = {}
    for architecture, front_end in FRONT_ENDS.items():
        cubin = compiler.cubin(ptx[front_end], architecture)
        refuse_other_code(cubin, architecture, entry)
        if cuobjdump is not None:
            refuse_what_is_read_otherwise(cuobjdump, cubin, architecture, entry)
        files[shipped_name(text, architecture)] = lzma.compress(cubin, preset=LEVEL)
    size = sum(map(len, files.values()))
    print(f"{name_of(variant, entry)}: {time.perf_counter() - begin:.1f} s, {size:,} bytes", flush=True)
    return files


def name_of(variant: Variant, entry: str) -> str:
    lanes = f"-{variant.words['lanes']}" if "ROW_LANES" in variant.definitions else ""
    return f"{variant.name}{lanes}:{entry}"


def write_wheel(folder: Path, files: dict[str, bytes]) -> Path:
    """As the specification of binary distributions has it. Its times are all the same, so that equal code is equal."""
    version = gmatch.__version__
    info = f"{PACKAGE}-{version}.dist-info"
    readme = f"Machine code of gmatch-bipartite {version} for GPUs. gmatch loads it; there is nothing to import."
    contents: dict[str, bytes] = {
        f"{PACKAGE}/__init__.py": f'"""{readme}"""\n'.encode(),
        **{f"{PACKAGE}/{name}": content for name, content in sorted(files.items())},
        f"{info}/METADATA": (
            f"Metadata-Version: 2.1\nName: {PACKAGE.replace('_', '-')}\nVersion: {version}\nSummary: {readme}\n"
            "License: BSD-3-Clause\nRequires-Python: >=3.11\n"
        ).encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: gmatch\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    lines = [f"{name},sha256={digest(content)},{len(content)}\n" for name, content in contents.items()]
    contents[f"{info}/RECORD"] = ("".join(lines) + f"{info}/RECORD,,\n").encode()
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / f"{PACKAGE}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, content in contents.items():
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content)
    return wheel


def digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def launched(patterns: Iterable[str]) -> list[tuple[Variant, str]]:
    """All that may be launched, the longest to compile first, so that no core waits for it at the end."""
    everything = [(variant, entry) for program in PROGRAMS for variant in program.variants for entry in program.entries]
    wanted = [each for each in everything if any(fnmatch(name_of(*each), pattern) for pattern in patterns)]
    return sorted(wanted, key=lambda each: not each[0].name.startswith("core"))


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="where to write the wheel")
    parser.add_argument("--only", nargs="+", metavar="PATTERN", default=["*"], help="NAME:ENTRY, or patterns of it")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="entry points to compile at the same time")
    parser.add_argument("--cuobjdump", type=Path, metavar="FILE", help="NVIDIA's tool, to be asked about each file")
    options = parser.parse_args(argv)
    wanted = launched(options.only)
    if not wanted:
        parser.error(f"--only: expected NAME:ENTRY or patterns of it, got {' '.join(options.only)}")
    compiler, files = find_compiler(), {}
    with ThreadPoolExecutor(options.jobs) as pool:
        for found in pool.map(lambda each: build(compiler, *each, options.cuobjdump), wanted):
            files.update(found)
    wheel = write_wheel(options.folder, files)
    print(f"{wheel}: {len(wanted)} entry points, {len(files)} files, {wheel.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
