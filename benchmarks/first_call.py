"""The first answer of a GPU: seconds from `import gmatch` on a machine that never ran it, and of the same call later.

    python benchmarks/first_call.py --output FILE                              # all cases, compiled in two ways
    python benchmarks/first_call.py --modes shipped mid --cases float32 batch
    python benchmarks/first_call.py --modes mid full --rounds 3                # noise

Each case and mode runs in two new processes, one after the other. The first has an empty cache of CuPy: "cold". The
second finds what the first left there: "kept". It then times the same call warm, on arrays of the GPU. Modes are the
values of `HURRY` in gmatch/programs/compiled.py:

    full      optimized as much as NVRTC can
    mid, min  --Ofast-compile of it
    shipped   what the package gmatch-bipartite-kernels has; it must be installed

Cases are the four types of dense costs, a batch of problems of 64 x 64, sparse costs and a graph, both of 16 entries a
row. The first call gets 1000 rows, or 1000 problems, as arrays of NumPy. The table shows medians. "CuPy" counts the
programs that CuPy compiled for itself until the first answer, which should be 0. The exit status is 1 if modes find
different values.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from harness import POSITIVE, machine_of, markdown_table, number, parsed

WORKER = Path(__file__).with_name("first_call_worker.py")
CASES = ("int32", "int64", "float32", "float64", "batch", "sparse", "cardinality")
MODES = ("full", "mid", "min", "shipped")
LIMIT = 300.0  # seconds of a process
Found = dict[str, Any]


def ask(case: str, mode: str, repeats: int, sizes: Sequence[int], cache: Path) -> Found:
    """The findings of a new process. `cache` holds the caches of CuPy and of CUDA."""
    command = [sys.executable, str(WORKER), case, mode, f"{repeats}", *map(str, sizes)]
    places = {"CUPY_CACHE_DIR": str(cache / "cupy"), "CUDA_CACHE_PATH": str(cache / "cuda")}
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, env=os.environ | places)
    if done.returncode != 0:
        raise SystemExit(f"{case}, {mode}: {done.stderr}")
    found: Found = json.loads(done.stdout.splitlines()[-1])
    return found


def measure(case: str, mode: str, options: argparse.Namespace) -> Found:
    """Seconds of a case: cold, kept, and warm by size; and its values, which must be equal in all modes."""
    colds, kepts = [], []
    for _ in range(options.rounds):
        with TemporaryDirectory() as folder:
            colds.append(ask(case, mode, 0, (), Path(folder)))
            kepts.append(ask(case, mode, options.repeats, options.sizes, Path(folder)))
    warm = {size: median(time for kept in kepts for time in kept["warm"][size]) for size in kepts[0]["warm"]}
    cold = colds[0]
    return {
        "case": case, "mode": mode, "cold": median(each["first"] for each in colds),
        "kept": median(each["first"] for each in kepts), "import": median(each["import"] for each in colds),
        "code": cold["code"], "method": cold["method"], "of_cupy": cold["of_cupy"], "warm": warm,
        "values": {"first": cold["value"], **kepts[0]["values"]},
    }  # fmt: skip


def table(found: Sequence[Found], sizes: Sequence[int]) -> str:
    header = ["case", "mode", "method", "code", "cold, s", "kept, s", "import, s", "CuPy"]
    header += [f"{size} warm, ms" for size in sizes]
    rows = []
    for each in found:
        seconds = [number(each[name]) for name in ("cold", "kept", "import")]
        warm = [number(1e3 * each["warm"][f"{size}"]) for size in sizes]
        rows.append([each["case"], each["mode"], each["method"], each["code"], *seconds, f"{each['of_cupy']}", *warm])
    return markdown_table(header, rows)


def differences(found: Sequence[Found]) -> list[str]:
    """Where modes found different values. Sums of floats may be added up in another order."""
    problems = []
    for each in found:
        first = next(other for other in found if other["case"] == each["case"])
        for name, value in each["values"].items():
            if abs(value - first["values"][name]) > 1e-9 * abs(value):
                problems.append(f"{each['case']}, {name}: {value} by {each['mode']}, not {first['values'][name]}")
    return problems


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", choices=CASES, default=CASES)
    parser.add_argument("--modes", nargs="+", choices=MODES, default=("mid", "full"))
    parser.add_argument("--sizes", nargs="*", type=POSITIVE, default=[1000, 4096, 20000], help="of warm calls")
    parser.add_argument("--repeats", type=POSITIVE, default=9, help="warm calls of each size")
    parser.add_argument("--rounds", type=POSITIVE, default=1, help="pairs of processes of each case and mode")
    parser.add_argument("--output", type=Path, help="JSON file to write, after each case and mode")
    options = parsed(parser, argv)
    machine, found = machine_of("gpu"), []
    for case in options.cases:
        for mode in options.modes:
            found.append(measure(case, mode, options))
            print(f"{case}, {mode}: {found[-1]['cold']:.2f} s", file=sys.stderr, flush=True)
            if options.output:
                options.output.write_text(json.dumps({**machine, "calls": found}, indent=1) + "\n")
    print(table(found, options.sizes))
    problems = differences(found)
    print(*problems, sep="\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
