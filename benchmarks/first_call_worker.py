"""Runs in a new process for first_call.py: the seconds of its first answer, and of the same call once it is warm.

    first_call_worker.py CASE MODE REPEATS SIZE...

Prints JSON. Its clock starts before anything but the standard library is imported.
"""

import json
import os
import sys
import time

BEGIN = time.perf_counter()

FIRST = 1000
DTYPES = ("int32", "int64", "float32", "float64")
# Rows and columns of each problem of a batch, and entries of each row of a sparse matrix and of a graph.
SIDE, DEGREE = 64, 16


def problem(case, n, xp):
    """A problem of size n, with NumPy or CuPy."""
    import numpy as np

    random = np.random.default_rng(n)
    if case in ("sparse", "cardinality"):
        import scipy.sparse as sp

        columns = np.concatenate([np.arange(n), random.integers(0, n, n * (DEGREE - 1))])  # there is an assignment
        rows = np.concatenate([np.arange(n), np.repeat(np.arange(n), DEGREE - 1)])
        matrix = sp.coo_array((random.random(len(rows)), (rows, columns)), shape=(n, n)).tocsr()
        if xp is np:
            return matrix
        import cupyx.scipy.sparse

        return cupyx.scipy.sparse.csr_matrix(sp.csr_matrix(matrix))
    shape = (n, SIDE, SIDE) if case == "batch" else (n, n)
    dtype = np.dtype("float64" if case == "batch" else case)
    if dtype.kind == "f":
        made = random.random(shape, dtype=dtype)
    else:
        made = random.integers(0, 10 * n, shape, dtype=dtype)
    return xp.asarray(made)


def solve(gmatch, case, given, **options):
    """The worth of an answer and its stats: all that a caller waits for."""
    if case == "cardinality":
        matching = gmatch.max_matching(given, **options)
        return matching.size, matching.stats
    found = gmatch.lap(given, **options)
    if case == "batch":
        cost = found.cost
        return float((cost.get() if hasattr(cost, "get") else cost).sum()), found.stats
    return found.cost, found.stats


def main():
    case, mode, repeats, *sizes = sys.argv[1:]
    import gmatch
    from gmatch.programs import compiled

    if mode != "shipped":
        compiled.PACKAGE = "gmatch_bipartite_kernels_are_not_asked"
        compiled.HURRY = {"full": "", "mid": "--Ofast-compile=mid", "min": "--Ofast-compile=min"}[mode]
    import numpy as np

    imported = time.perf_counter()
    given = problem(case, FIRST, np)
    made = time.perf_counter()
    value, stats = solve(gmatch, case, given, device="gpu")
    end = time.perf_counter()
    found = {
        "first": end - BEGIN - (made - imported), "import": imported - BEGIN, "value": value, "code": stats["code"],
        "method": stats["method"], "of_cupy": len(others_in_cache()), "warm": {}, "values": {},
    }  # fmt: skip
    import cupy

    for n in map(int, sizes):
        given = problem(case, n, cupy)
        seconds = []
        for _ in range(int(repeats) + 1):  # the first may compile
            cupy.cuda.Device().synchronize()
            begin = time.perf_counter()
            value, stats = solve(gmatch, case, given)
            seconds.append(time.perf_counter() - begin)
        found["warm"][n], found["values"][n] = seconds[1:], value
    print(json.dumps(found))


def others_in_cache():
    """The programs that CuPy compiled for itself."""
    folder = os.environ["CUPY_CACHE_DIR"]
    names = os.listdir(folder) if os.path.isdir(folder) else []
    return [name for name in names if not name.startswith("gmatch-")]


main()
