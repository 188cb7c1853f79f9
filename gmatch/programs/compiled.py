"""Machine code of a GPU's programs: shipped, kept from an earlier process, or compiled by NVRTC.

Shipped code is the package `gmatch_bipartite_kernels`, if it is installed: packaging/kernels builds it. What NVRTC
compiles is kept in the folder of CuPy's own cache, under names of ours: CuPy's keys hold paths of the machine, and cost
a run of NVRTC to find. Either is a file named by a hash of source, options and architecture: code of other sources is
never taken. A line of the log "gmatch" says where the code of an entry point came from.
"""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import os
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, Literal

from .. import cuda
from ..errors import BackendUnavailable
from .catalogue import ARCHITECTURES, OPTIONS, Variant

cupy: Any = cuda.module()

Origin = Literal["shipped", "kept", "compiled"]
PACKAGE = "gmatch_bipartite_kernels"
HURRY = ""
"""The option by which NVRTC compiles faster: "" for none, or "--Ofast-compile=min" or "--Ofast-compile=mid".

On an H100 the first answer for float32 takes 20.3 s without it, 8.2 s with min and 6.2 s with mid. But the code is
kept, and each later call with n = 20,000 takes 18.5, 20.8 and 68 ms: benchmarks/first_call.py.
"""
KNOWS_HURRY = (12, 9)  # the first NVRTC with this option
# By default NVRTC takes a function without a mark for a function of the host.
OF_NVRTC = ("--device-as-default-execution-space",)

log = logging.getLogger("gmatch")


class Kernel:
    """An entry point on the device that is current: called with a grid, a block and arguments, as CuPy's kernels are.

    Attributes
    ----------
    origin : {"shipped", "kept", "compiled"}
        Where its machine code came from.
    ptr : int
        Its handle.
    """

    def __init__(self, code: bytes, entry: str, origin: Origin) -> None:
        module = cupy.cuda.Module()
        module.load(code)
        self.origin = origin
        self._function = module.get_function(entry)
        self.ptr: int = self._function.ptr

    def __call__(self, grid: tuple[int, ...], block: tuple[int, ...], arguments: Any, shared_mem: int = 0) -> None:
        """Launches. All blocks must fit the device at once, since they may wait for each other."""
        self._function(grid, block, arguments, shared_mem, enable_cooperative_groups=True)

    def launch_apart(self, blocks: int, block_size: int, arguments: Any, shared_mem: int) -> None:
        """Launches blocks that do not wait for each other."""
        self._function((blocks,), (block_size,), arguments, shared_mem)

    def allow_near_memory(self, size: int) -> None:
        """Lets a launch have `size` bytes of a multiprocessor's own memory for each block."""
        driver = cupy.cuda.driver
        most = driver.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        if size > driver.funcGetAttribute(most, self.ptr):
            driver.funcSetAttribute(self.ptr, most, size)


def kernels_of(variant: Variant, entries: Sequence[str], capability: str) -> list[Kernel]:
    """Entry points of a program, for the device that is current; its compute capability is given as "90".

    NVRTC compiles them at the same time, each on a thread.
    """

    def found(entry: str) -> tuple[bytes, str, Origin]:
        text, begin = variant.complete_text(entry), time.perf_counter()
        code, origin = code_of(variant, entry, text, int(capability))
        log.info(
            "%s of %s for compute capability %s: %s, in %.2f s", entry, variant.name, capability, origin,
            time.perf_counter() - begin,
        )  # fmt: skip
        return code, entry, origin

    with ThreadPoolExecutor(len(entries)) as pool:
        return [Kernel(*each) for each in pool.map(found, entries)]


def code_of(variant: Variant, entry: str, text: str, capability: int) -> tuple[bytes, Origin]:
    """Machine code of a text, and where it came from."""
    shipped = shipped_code(text, capability)
    if shipped is not None:
        return shipped, "shipped"
    options, is_ptx = nvrtc_options(capability)
    place = kept_in() / f"gmatch-{key_of(text, (*options, f'NVRTC {nvrtc_version()}'))}.cubin"
    if place.is_file():
        return place.read_bytes(), "kept"
    code = compile_text(f"{variant.name}-{entry}.cu", text, options, is_ptx)
    keep(place, code)
    return code, "compiled"


def key_of(text: str, options: tuple[str, ...]) -> str:
    """The name of machine code: a hash of its text and options, one of them the architecture. It has no paths."""
    return hashlib.sha256("\0".join((*options, text)).encode()).hexdigest()[:32]


# Shipped code.


def shipped_options(architecture: int) -> tuple[str, ...]:
    """The options that shipped code is compiled with."""
    return (*OPTIONS, *OF_NVRTC, f"-arch=sm_{architecture}")


def shipped_name(text: str, architecture: int) -> str:
    """The name of the file of shipped code."""
    return f"{key_of(text, shipped_options(architecture))}.xz"


@cache
def shipped_in() -> Path | None:
    """The folder of shipped code, if its package is installed."""
    found = importlib.util.find_spec(PACKAGE)
    return None if found is None or found.origin is None else Path(found.origin).parent


def shipped_code(text: str, capability: int) -> bytes | None:
    """Shipped code of this very text; code for a capability runs on later ones of its generation."""
    folder = shipped_in()
    fitting = [each for each in ARCHITECTURES if each // 10 == capability // 10 and each <= capability]
    if folder is None or not fitting:
        return None
    import lzma  # not every Python has it, and only the package needs it

    path = folder / shipped_name(text, max(fitting))
    return lzma.decompress(path.read_bytes()) if path.is_file() else None


# Kept code.


def kept_in() -> Path:
    """The folder of CuPy's cache."""
    return Path(os.environ.get("CUPY_CACHE_DIR", "~/.cupy/kernel_cache")).expanduser()


def keep(place: Path, code: bytes) -> None:
    """Writes a file whole or not at all, since others may read it. If the folder cannot be written, the next process
    compiles again."""
    own = place.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        own.write_bytes(code)
        own.replace(place)
    except OSError as error:
        log.warning("cannot keep machine code in %s: %s; set CUPY_CACHE_DIR to a folder for it", place.parent, error)


# Compiled code.


def nvrtc_version() -> str:
    """The version of NVRTC, such as "13.0". CuPy loads NVRTC at the first call."""
    major, minor = cupy.cuda.nvrtc.getVersion()
    return f"{major}.{minor}"


def nvrtc_options(capability: int) -> tuple[tuple[str, ...], bool]:
    """The options of NVRTC for a compute capability, and whether it makes PTX, for one that it does not know."""
    known = cupy.cuda.nvrtc.getSupportedArchs()
    fitting = [each for each in known if each <= capability]
    if not fitting:
        raise BackendUnavailable(
            f"expected a GPU of compute capability {min(known) / 10} or later for NVRTC {nvrtc_version()}, got "
            f"{capability / 10}; install the cupy wheel of an earlier CUDA version, or use device='cpu'"
        )
    is_ptx = capability not in known
    architecture = f"-arch=compute_{max(fitting)}" if is_ptx else f"-arch=sm_{capability}"
    hurry = (HURRY,) if HURRY and cupy.cuda.nvrtc.getVersion() >= KNOWS_HURRY else ()
    return (*OPTIONS, *OF_NVRTC, *hurry, architecture), is_ptx


def compile_text(name: str, text: str, options: tuple[str, ...], is_ptx: bool) -> bytes:
    """Machine code by NVRTC, or PTX, which the driver compiles. It takes seconds."""
    nvrtc = cupy.cuda.nvrtc
    program = nvrtc.createProgram(text, name, (), ())
    try:
        nvrtc.compileProgram(program, options)
        code: bytes = (nvrtc.getPTX if is_ptx else nvrtc.getCUBIN)(program)
    except nvrtc.NVRTCError as error:
        raise BackendUnavailable(
            f"NVRTC {nvrtc_version()} cannot compile {name} with {' '.join(options)}: {error}\n"
            f"{nvrtc.getProgramLog(program)}\nreport this, and use device='cpu' meanwhile"
        ) from None
    finally:
        nvrtc.destroyProgram(program)
    return code


def about() -> list[str]:
    """The sources of machine code, as text for people, in the order in which they are asked."""
    folder = shipped_in()
    shipped = "not installed" if folder is None else f"{len(list(folder.glob('*.xz')))} programs in {folder}"
    options, _ = nvrtc_options(int(cupy.cuda.Device().compute_capability))
    return [f"shipped: {shipped}", f"kept: in {kept_in()}", f"compiled: NVRTC {nvrtc_version()} {' '.join(options)}"]
