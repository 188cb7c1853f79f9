"""Runs one build of gmatch for compare.py, in a process of its own: loads problems, proves answers, times calls.

It uses gmatch's public functions only. It imports no other file of this folder, since these import another build. Run
as

    compare_worker.py serve BUILD DEVICE DESCRIPTOR        # requests and answers go over a pipe
    compare_worker.py once BUILD DEVICE PROBLEM CALL       # one call of a new process: prints its seconds
"""

from __future__ import annotations

import json
import math
import pickle
import sys
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any


def use(build: Path) -> Any:
    """Imports gmatch of a build, also if another gmatch is installed, or installed as an editable one."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if "editable" not in type(finder).__module__]
    sys.path.insert(0, str(build))
    import gmatch

    found = Path(gmatch.__file__).parent.parent
    if found != build:
        raise ImportError(f"expected gmatch of {build}, got that of {found}")
    return gmatch


def moved(problem: Any, device: str) -> Any:
    """A problem, or each of a list, on a device."""
    if device == "cpu":
        return problem
    if isinstance(problem, list):
        return [moved(one, device) for one in problem]
    import cupy
    import cupyx.scipy.sparse

    if hasattr(problem, "tocsr"):
        import scipy.sparse

        return cupyx.scipy.sparse.csr_matrix(scipy.sparse.csr_matrix(problem))
    return cupy.asarray(problem)


class Worker:
    """The calls of a build, and the problem at hand: one, or a list of small ones that take turns."""

    def __init__(self, gmatch: Any, device: str) -> None:
        self.gmatch, self.device = gmatch, device
        self.problems: list[Any] = []
        self.call: Callable[[Any], Any] = len
        self.name, self.options = "", dict[str, Any]()

    def load(self, path: str, name: str, options: dict[str, Any]) -> None:
        with open(path, "rb") as file:
            problem = moved(pickle.load(file), self.device)
        self.name, self.options = name, options
        self.problems = problem if isinstance(problem, list) else [problem]
        if name == "max_matching of a checked graph":
            self.problems = [self.gmatch.BipartiteGraph(one).on(self.device) for one in self.problems]
        self.call = self._call()

    def _call(self) -> Callable[[Any], Any]:
        gmatch, options = self.gmatch, self.options
        lap, max_matching, linear_sum_assignment = gmatch.lap, gmatch.max_matching, gmatch.compat.linear_sum_assignment
        plain: dict[str, Callable[[Any], Any]] = {
            "lap": lap,
            "rows, columns = lap": lambda problem: tuple(lap(problem)),
            "compat": linear_sum_assignment,
            "max_matching": max_matching,
            "max_matching of a checked graph": max_matching,
        }
        call = plain[self.name]
        # Without options no keyword is passed: small calls check first whether there is any.
        return (lambda problem: call(problem, **options)) if options else call

    def prove(self) -> list[float]:
        """The worth of each answer, which must equal that of a proven answer. A batch is worth the sum of its costs."""
        worth = []
        for problem in self.problems:
            found = self._worth(problem, self.call(problem))
            proven = self._proven(problem)
            if not math.isclose(found, proven, rel_tol=1e-9, abs_tol=1e-9):
                raise AssertionError(f"{self.name}: expected {proven}, got {found}")
            worth.append(found)
        return worth

    def _worth(self, problem: Any, answer: Any) -> float:
        if hasattr(answer, "size") and "max_matching" in self.name:
            return float(answer.size)
        if self.name == "lap":
            return float(answer.cost.sum()) if hasattr(answer.cost, "sum") else float(answer.cost)
        rows, columns = answer
        return float(problem[rows, columns].sum())

    def _proven(self, problem: Any) -> float:
        if "max_matching" in self.name:
            return float(self.gmatch.max_matching(problem, **self.options, certify=True).size)
        cost = self.gmatch.lap(problem, **self.options, certify=True).cost
        return float(cost.sum()) if hasattr(cost, "sum") else float(cost)

    def time(self, loops: int) -> float:
        """Mean seconds of a call; all problems take their turn in each of the loops."""
        call, problems = self.call, self.problems
        begin = time.perf_counter()
        for _ in range(loops):
            for problem in problems:
                call(problem)
        self._wait()
        return (time.perf_counter() - begin) / (loops * len(problems))

    def loops(self, seconds: float) -> int:
        """How many loops take this number of seconds. The first loop warms up and does not count."""
        self.time(1)
        return max(1, math.ceil(seconds / (len(self.problems) * self.time(1))))

    def _wait(self) -> None:
        if self.device == "gpu":
            import cupy

            cupy.cuda.Device().synchronize()


def serve(worker: Worker, connection: Connection) -> None:
    """A request is a method's name and its arguments; an answer is whether it failed, and what it returned or why."""
    while True:
        try:
            name, arguments = connection.recv()
        except EOFError:
            return
        try:
            connection.send((False, getattr(worker, name)(*arguments)))
        except Exception as error:
            connection.send((True, f"{type(error).__name__}: {error}"))


def main(mode: str, build: str, device: str, *others: str) -> None:
    begin = time.perf_counter()
    gmatch = use(Path(build))
    seconds = {"import": time.perf_counter() - begin}
    worker = Worker(gmatch, device)
    if mode == "serve":
        serve(worker, Connection(int(others[0])))
        return
    path, name = others
    worker.load(path, name, {})
    seconds["call"] = worker.time(1)
    print(json.dumps(seconds))


if __name__ == "__main__":
    main(*sys.argv[1:])
