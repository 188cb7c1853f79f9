"""Weighs the programs of a GPU without one: registers, stack, spills, machine code, and seconds to compile them.

    python benchmarks/weigh.py --output NEW.json                     # every program; CPU minutes
    python benchmarks/weigh.py --only 'core-*' '*:assign_grid'       # some programs
    python benchmarks/weigh.py --sources OTHER/gmatch/csrc --output OTHER.json    # of this catalogue
    python benchmarks/weigh.py --compare OLD.json NEW.json           # what became heavier

nvcc compiles each entry point alone, as it is launched, fully optimized. ptxas says what each function takes. Spills
are the bytes of an entry point and of the functions that it calls, each counted once. Seconds are processor time, so
that other work on the machine does not count.

--compare lists the programs that changed. Its exit status is 1 if one gained stack or more than 16 bytes of spills, or
is missing in NEW. Without it the exit status is 1 if a program does not compile, 2 for arguments that cannot work.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import struct
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from fnmatch import fnmatch
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory
from typing import Any

from harness import POSITIVE, hash_of_files, markdown_table, number, parsed

import gmatch
from gmatch.programs.catalogue import CSRC, OPTIONS, PROGRAMS, Variant

# Bytes of spills that a program may gain.
MORE_SPILLS = 16


@dataclass(frozen=True)
class Weight:
    """What an entry point takes, with all that it calls; registers of a thread, the others in bytes."""

    registers: int
    stack: int
    spill_stores: int
    spill_loads: int
    shared: int


@dataclass(frozen=True)
class Weighed:
    """A program that was compiled: seconds of a processor, bytes of machine code, weights by entry point."""

    seconds: float
    code: int
    entries: dict[str, Weight]


@dataclass(frozen=True)
class Launched:
    """What is compiled at a time: a program, for one of its entry points."""

    variant: Variant
    entry: str

    @property
    def name(self) -> str:
        return f"{self.variant.name}:{self.entry}"


def programs() -> list[Launched]:
    """Every program of the catalogue, for each entry point."""
    variants = [variant for program in PROGRAMS for variant in program.compiled]
    return [Launched(variant, entry) for variant in variants for entry in variant.program.entries]


def weigh(program: Launched, sources: Path, architecture: str) -> Weighed:
    """Compiles a program with nvcc, which must find its source below `sources`."""
    with TemporaryDirectory() as folder:
        text, cubin = Path(folder) / "program.cu", Path(folder) / "program.cubin"
        text.write_text(program.variant.text(program.entry))
        command = ["nvcc", *OPTIONS, f"-I{sources}", "-cubin", f"-arch={architecture}", "-Xptxas", "-v"]
        with subprocess.Popen(
            [*command, str(text), "-o", str(cubin)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process:
            assert process.stdout is not None
            output = process.stdout.read()
            # The usage of this child only: others are compiled at the same time.
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise gmatch.BackendUnavailable(f"nvcc cannot compile {program.name}: {output.strip()}")
        # Other versions of the sources may have several entry points in this file, or this one in another file.
        found = {entry: weight for entry, weight in weights(output).items() if entry == program.entry}
        if not found:
            raise gmatch.DataError(f"expected {program.name} below {sources}, got no such entry point")
        return Weighed(usage.ru_utime + usage.ru_stime, code_size(cubin.read_bytes()), found)


ENTRY = re.compile(r"Compiling entry function '(\w+)'")
FUNCTION = re.compile(r"Function properties for")
FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"Used (\d+) registers")
CUMULATIVE = re.compile(r"(\d+) bytes cumulative stack size")
SHARED = re.compile(r"(\d+) bytes smem")


def weights(output: str) -> dict[str, Weight]:
    """What `ptxas -v` says, by entry point: first of the entry point itself, then of the functions that it calls."""
    found: dict[str, dict[str, int]] = {}
    entry: dict[str, int] = {}
    for line in output.splitlines():
        if name := ENTRY.search(line):
            entry = found[name[1]] = dict.fromkeys(Weight.__dataclass_fields__, 0)
        elif frame := FRAME.search(line):
            stack, stores, loads = map(int, frame.groups())
            entry["stack"] = max(entry["stack"], stack)
            entry["spill_stores"] += stores
            entry["spill_loads"] += loads
        elif used := USED.search(line):
            entry["registers"] = int(used[1])
            for field, pattern in (("stack", CUMULATIVE), ("shared", SHARED)):
                if more := pattern.search(line):
                    entry[field] = int(more[1])
    if not found or any(weight["registers"] == 0 for weight in found.values()):
        raise gmatch.DataError(f"expected the output of ptxas -v for an entry point, got {output.strip()!r}")
    return {name: Weight(**weight) for name, weight in found.items()}


def code_size(elf: bytes) -> int:
    """The bytes of machine code of an ELF file of 64 bits, as ptxas writes it: its sections that can be executed."""
    (sections,) = struct.unpack_from("<Q", elf, 40)
    size, count = struct.unpack_from("<HH", elf, 58)
    executable = 4
    headers = [struct.unpack_from("<IIQQQQ", elf, sections + size * section) for section in range(count)]
    return sum(length for _, _, flags, _, _, length in headers if flags & executable)


def weigh_all(wanted: Sequence[Launched], options: argparse.Namespace) -> dict[str, Weighed]:
    """The programs that compile, by name. Each is saved as soon as it is weighed."""
    found = {}
    with ThreadPoolExecutor(options.jobs) as pool:
        begun = [pool.submit(weigh, program, options.sources, options.arch) for program in wanted]
        for program, weighed in zip(wanted, begun, strict=True):
            try:
                found[program.name] = weighed.result()
            except gmatch.GmatchError as error:
                print(error, file=sys.stderr, flush=True)
                continue
            print(f"{program.name}: {found[program.name].seconds:.1f} s", file=sys.stderr, flush=True)
            if options.output:
                save(options, found)
    return found


def save(options: argparse.Namespace, found: dict[str, Weighed]) -> None:
    about = {"arch": options.arch, "nvcc": version_of_nvcc(), "sources": hash_of_files(options.sources)}
    weights_by_name = {name: asdict(weighed) for name, weighed in found.items()}
    options.output.write_text(json.dumps({**about, "programs": weights_by_name}, indent=1) + "\n")


def version_of_nvcc() -> str:
    return subprocess.run(["nvcc", "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[-1]


def load(path: Path) -> tuple[dict[str, Any], dict[str, Weighed]]:
    """What a file says of its compiler, and its programs."""
    try:
        saved = json.loads(path.read_text())
        about = {name: saved[name] for name in ("arch", "nvcc", "sources")}
        found = {
            name: Weighed(**weighed | {"entries": {key: Weight(**entry) for key, entry in weighed["entries"].items()}})
            for name, weighed in saved["programs"].items()
        }
    except OSError as error:
        problem = error.strerror
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        problem = f"{type(error).__name__}: {error}"
    else:
        return about, found
    raise gmatch.DataError(f"expected a JSON file of weigh.py --output, got {path}: {problem}; give another one")


def table(found: dict[str, Weighed]) -> str:
    rows = []
    for name, weighed in found.items():
        of_program = [f"{weighed.code:,}", number(weighed.seconds)]
        for entry, weight in weighed.entries.items():
            spills = f"{weight.spill_stores} / {weight.spill_loads}"
            rows.append([name, entry, f"{weight.registers}", f"{weight.stack}", spills, *of_program])
            name, of_program = "", ["", ""]
    return markdown_table(["program", "entry", "registers", "stack", "stores / loads", "code", "seconds"], rows)


def gains(old: Weight, new: Weight) -> list[str]:
    """Why an entry point is too heavy now."""
    problems = [f"gained {new.stack - old.stack} bytes of stack"] if new.stack > old.stack else []
    for name in ("spill_stores", "spill_loads"):
        more = getattr(new, name) - getattr(old, name)
        if more > MORE_SPILLS:
            problems.append(f"gained {more} bytes of {name.replace('_', ' ')}")
    return problems


def changes(old: dict[str, Weighed], new: dict[str, Weighed]) -> tuple[list[list[str]], list[str]]:
    """Rows of a table of the entry points that changed, and the changes that are not allowed."""
    rows, problems = [], []
    for name in {**old, **new}:
        if name not in new:
            problems.append(f"{name}: is missing in NEW")
        if name not in old or name not in new:
            continue
        for entry, before in old[name].entries.items():
            after = new[name].entries.get(entry)
            if after is None:
                problems.append(f"{name}, {entry}: is missing in NEW")
                continue
            if (before, old[name].code) != (after, new[name].code):
                fields = [(getattr(before, field), getattr(after, field)) for field in Weight.__dataclass_fields__]
                pairs = [*fields, (old[name].code, new[name].code)]
                rows.append([name, entry, *(f"{a:,}" if a == b else f"{a:,} -> {b:,}" for a, b in pairs)])
            problems += [f"{name}, {entry}: {problem}" for problem in gains(before, after)]
    return rows, problems


def compare(paths: Sequence[Path]) -> int:
    (about_old, old), (about_new, new) = map(load, paths)
    for name in ("arch", "nvcc"):
        if about_old[name] != about_new[name]:
            raise gmatch.InvalidInput(
                f"--compare: expected files of one {name}, got {about_old[name]!r} and {about_new[name]!r}; weigh both "
                "on one machine"
            )
    rows, problems = changes(old, new)
    header = ["program", "entry", "registers", "stack", "stores", "loads", "shared", "code"]
    print(markdown_table(header, rows) if rows else "Nothing changed but perhaps the time to compile.")
    both = old.keys() & new.keys()
    seconds = [sum(found[name].seconds for name in both) for found in (old, new)]
    print(
        f"\n{len(both)} programs in {seconds[0]:.0f} s, and now {seconds[1]:.0f} s; new: {len(new.keys() - old.keys())}"
    )
    for problem in problems:
        print(problem)
    return 1 if problems else 0


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--arch", default="sm_90", help="architecture, sm_90 by default")
    add("--only", nargs="+", metavar="PATTERN", default=["*"], help="programs by name or pattern; see --list")
    add("--list", action="store_true", help="print the names of all programs, and compile nothing")
    add("--sources", type=Path, default=CSRC, help="the folder csrc of another tree")
    add("--jobs", type=POSITIVE, default=1, help="programs to compile at the same time")
    add("--output", type=Path, help="JSON file to write, after each program")
    add("--compare", type=Path, nargs=2, metavar=("OLD", "NEW"), help="JSON files of --output")
    options = parsed(parser, argv)
    everything = programs()
    for pattern in options.only:
        if not any(fnmatch(program.name, pattern) for program in everything):
            parser.error(f"--only: expected a name or pattern of --list, got {pattern!r}")
    options.programs = [
        program for program in everything if any(fnmatch(program.name, pattern) for pattern in options.only)
    ]
    if not options.sources.is_dir():
        parser.error(f"--sources: expected the folder csrc of a tree, got {options.sources}")
    if not (options.list or options.compare or which("nvcc")):
        parser.error("expected nvcc on the PATH, and there is none; install CUDA's compiler, or use --compare")
    return options


def main(argv: Sequence[str] | None = None) -> int:
    options = arguments(argv)
    if options.list:
        print("\n".join(program.name for program in options.programs))
        return 0
    if options.compare:
        try:
            return compare(options.compare)
        except gmatch.GmatchError as error:
            print(error, file=sys.stderr)
            return 2
    found = weigh_all(options.programs, options)
    print(table(found))
    return 0 if len(found) == len(options.programs) else 1


if __name__ == "__main__":
    sys.exit(main())
