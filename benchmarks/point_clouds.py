"""Times of `gmatch.lap(PointCosts(...))` for families of points, beside SciPy and POT.

    python benchmarks/point_clouds.py results.json --families uniform ring --sizes 100000
    python benchmarks/point_clouds.py results.json --families uniform --sizes 1000 3000 10000 --solvers gmatch scipy pot
    python benchmarks/point_clouds.py results.json --sizes 1000000 --dimensions 3 --gap 1e-3 --threads 1 2
    python benchmarks/point_clouds.py results.json --device gpu --families uniform mixture ring --dimensions 2 3 16 64
    python benchmarks/point_clouds.py results.json --device gpu --one-process --runs 3
    python benchmarks/point_clouds.py results.json --plot times.png

The least CPU seconds and the least wall time of all runs count, since machines are shared. The time of a peer includes
the matrix that it needs. Each call has a process of its own. With --one-process all calls share one: on a GPU a
process takes longer to start than most calls take. Peers run up to 10,000 points.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
from harness import machine_of

import gmatch
from gmatch import cuda

SOLVERS = "gmatch", "scipy", "pot"
MOST_OF_PEERS = 10_000
SHOWN = "cpu_s", "wall_s", "cost", "gpu_bytes_a_point"
# The process of a call is ended after this time.
SECONDS = 600


def uniform(rng: np.random.Generator, n: int, d: int) -> Any:
    return rng.random((n, d)), rng.random((n, d))


def moved(rng: np.random.Generator, n: int, d: int) -> Any:
    """Even points, and the same points moved by half their spacing, in another order."""
    x = rng.random((n, d))
    return x, rng.permutation(x + rng.normal(scale=0.5 * n ** (-1 / d), size=x.shape))


def mixture(rng: np.random.Generator, n: int, d: int) -> Any:
    """Each cloud has ten normal heaps of its own."""
    clouds = []
    for _ in range(2):
        centres, widths = rng.random((10, d)), rng.uniform(0.02, 0.2, (10, 1))
        of = rng.integers(0, 10, n)
        clouds.append(centres[of] + widths[of] * rng.normal(size=(n, d)))
    return clouds


def clusters(rng: np.random.Generator, n: int, d: int) -> Any:
    """Both clouds lie in the same narrow heaps, with different shares of points."""
    centres = rng.random((20, d))
    shares = rng.dirichlet(np.ones(20), 2)
    return [centres[rng.choice(20, n, p=share)] + 0.01 * rng.normal(size=(n, d)) for share in shares]


def grid(rng: np.random.Generator, n: int, d: int) -> Any:
    """Whole coordinates, with duplicates."""
    width = round(n ** (1 / d))
    return rng.integers(0, width, (n, d)), rng.integers(0, width, (n, d))


def ring(rng: np.random.Generator, n: int, d: int) -> Any:
    """A normal cloud, and points of length 1."""
    y = rng.normal(size=(n, d))
    return rng.normal(size=(n, d)), y / np.linalg.norm(y, axis=1, keepdims=True)


def one_far(rng: np.random.Generator, n: int, d: int) -> Any:
    """A tenth of one cloud lies far away."""
    x, y = rng.random((n, d)), rng.random((n, d))
    y[: n // 10] += 100
    return x, y


def gaussian(rng: np.random.Generator, n: int, d: int) -> Any:
    """Two normal clouds in float32, as features are."""
    return rng.normal(size=(2, n, d)).astype(np.float32)


FAMILIES = {f.__name__: f for f in (uniform, moved, mixture, clusters, grid, ring, one_far, gaussian)}
# A small problem of the same kind before the clock starts: on a GPU it compiles programs or loads them.
WARM = 3000
# Points of more coordinates than this are features, which are float32.
FEW_COORDINATES = 8


def points_of(family: str, seed: int, n: int, d: int) -> Any:
    clouds = FAMILIES[family](np.random.default_rng(seed), n, d)
    return clouds if d <= FEW_COORDINATES else [cloud.astype(np.float32) for cloud in clouds]


def run_here(
    family: str, n: int, d: int, solver: str, options: dict[str, Any], metric: str, proof: bool
) -> dict[str, Any]:
    if options.get("device") == "gpu":
        gmatch.lap(gmatch.PointCosts(*points_of(family, 1, WARM, d), metric=metric), **options)
        cuda.module().get_default_memory_pool().free_all_blocks()
    x, y = points_of(family, 0, n, d)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    wall, cpu = perf_counter(), process_time()
    found: dict[str, Any] = {}
    if solver == "gmatch":
        costs = gmatch.PointCosts(x, y, metric=metric)
        assignment = gmatch.lap(costs, **options)
        cost = assignment.cost
        found = {"bound": assignment.bound, "stats": assignment.stats}
    else:
        from scipy.spatial.distance import cdist

        matrix = cdist(x, y, metric)
        if solver == "scipy":
            from scipy.optimize import linear_sum_assignment

            cost = float(matrix[linear_sum_assignment(matrix)].sum())
        else:
            import ot

            weights = np.full(n, 1 / n)
            cost = n * float(ot.emd2(weights, weights, matrix, numItermax=10**8, numThreads=1))
    found |= {"wall_s": perf_counter() - wall, "cpu_s": process_time() - cpu, "cost": cost}
    found["peak_bytes_a_point"] = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 / n
    if options.get("device") == "gpu":
        found["gpu_bytes_a_point"] = cuda.module().get_default_memory_pool().total_bytes() / n
    if solver == "gmatch" and proof:
        cpu = process_time()
        certificate = gmatch.verify(costs, assignment)
        found |= {"verify_cpu_s": process_time() - cpu, "gap": certificate.gap, "tolerance": certificate.tolerance}
    return found


def run_apart(arguments: list[Any], seconds: float) -> dict[str, Any]:
    """Runs in another process, with one thread of BLAS."""
    command = [sys.executable, __file__, "--here", json.dumps(arguments)]
    limits = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=seconds, env=os.environ | limits)
    except subprocess.TimeoutExpired:
        return {"trouble": f"more than {seconds} s"}
    if ended.returncode:
        return {"trouble": ended.stderr.strip().splitlines()[-1]}
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


def least_of(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """The run with the least CPU seconds, with the least wall time of all."""
    troubled = [run for run in runs if "trouble" in run]
    if troubled:
        return troubled[0]
    return min(runs, key=lambda run: run["cpu_s"]) | {"wall_s": min(run["wall_s"] for run in runs)}


def draw(record: dict[str, Any], path: Path) -> None:
    """CPU seconds over n, a line for each solver, family and dimension."""
    from gmatch.plot import run_times

    seconds: dict[str, dict[int, float]] = {}
    for timing in record["timings"]:
        if "cpu_s" in timing:
            name = f"{timing['solver']}, {timing['family']} in {timing['d']}-D"
            seconds.setdefault(name, {})[timing["n"]] = timing["cpu_s"]
    run_times(seconds, f"CPU seconds, {record['machine']['device']}").savefig(path, bbox_inches="tight")


def commit() -> str:
    """The commit of the working tree, with a + if the tree differs from it; empty without a history of git."""
    described = ["git", "describe", "--always", "--abbrev=12", "--exclude=*", "--dirty=+"]
    return subprocess.run(
        described, capture_output=True, text=True, cwd=Path(__file__).parent, check=False
    ).stdout.strip()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path, nargs="?")
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=list(FAMILIES)[:7])
    parser.add_argument("--sizes", nargs="+", type=int, default=[100_000])
    parser.add_argument("--dimensions", nargs="+", type=int, default=[2, 3])
    parser.add_argument("--solvers", nargs="+", choices=SOLVERS, default=["gmatch"])
    parser.add_argument("--threads", nargs="+", type=int, default=[1])
    parser.add_argument("--metric", default="sqeuclidean")
    parser.add_argument("--gap", type=float)
    parser.add_argument("--device", choices=["cpu", "gpu"], default="cpu")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--one-process", action="store_true", help="all calls in this process, without --seconds")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="a process that takes longer is ended")
    parser.add_argument("--proof", action="store_true", help="verify each answer")
    parser.add_argument("--plot", type=Path, help="a picture of CPU seconds over points, of a file with results")
    parser.add_argument("--here", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.here:
        print(json.dumps(run_here(*json.loads(options.here)), default=float))
        return 0
    if options.output is None:
        parser.error("where the results go is missing")
    if options.plot:
        draw(json.loads(options.output.read_text()), options.plot)
        return 0
    record: dict[str, Any] = {
        "command": " ".join(["python", *sys.argv]), "commit": commit(), "machine": machine_of(options.device),
        "timings": [],
    }  # fmt: skip
    for n in options.sizes:
        for d in options.dimensions:
            for family in options.families:
                for solver in options.solvers:
                    if solver != "gmatch" and n > MOST_OF_PEERS:
                        continue
                    for threads in options.threads if solver == "gmatch" else [1]:
                        how = {"threads": threads} if options.device == "cpu" else {"device": "gpu"}
                        how |= {} if options.gap is None else {"gap": options.gap}
                        task = [family, n, d, solver, how, options.metric, options.proof]
                        least = least_of(
                            [
                                run_here(*task) if options.one_process else run_apart(task, options.seconds)
                                for _ in range(options.runs)
                            ]
                        )
                        record["timings"].append(
                            {"family": family, "n": n, "d": d, "solver": solver, "metric": options.metric} | how | least
                        )
                        shown = {name: least[name] for name in ("trouble", *SHOWN) if name in least}
                        print(family, n, d, solver, threads, shown, flush=True)
                        options.output.write_text(json.dumps(record, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
