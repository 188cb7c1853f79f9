"""Maximum cardinality matching: our methods and peers, and the tables of Deveci et al. 2013 beside what they print.

    python benchmarks/cardinality.py --scale 16 --peers --limit 3                  # on the CPU, with peers
    python benchmarks/cardinality.py --device gpu --budget 200 --output FILE       # on the GPU; graphs already there
    python benchmarks/cardinality.py --device gpu --output FILE --resume           # what is missing in the file
    python benchmarks/cardinality.py --families --matrices bundled cached HB/west0067
    python benchmarks/cardinality.py --read FILE --plots pictures                  # tables and figures, no measuring
    python benchmarks/cardinality.py --command "NAME=PATH {file}"                  # and a program of yours

Table 1: geometric means of the paper's eight variants, on the original graphs, on graphs with rows and columns permuted
at random, and on the hardest 20 of each set. Fig. 2: phases and levels. Figs. 3 and 4: profiles, with --plots.
Table 2: times of every graph, beside sequential algorithms: our Pothen-Fan (PFP) on the CPU and, with --peers, SciPy,
igraph and networkx.

Each answer is proven by its cover before it is timed; peers and commands must find the proven size. Times are of whole
calls in Python, with the start. The check of the graph (`BipartiteGraph`) and its way to the device are not counted;
the JSON file has their seconds apart. The eight variants start from the cheap matching, as in the paper.

Sequential solvers run in another process, which is ended when a call outlasts --limit. A command is ended, too; it
gets more seconds to read the file (--help says how many). On the GPU nothing is ended: a method whose call took longer
is not tried at larger scales. With --budget, a measurement that is not likely to end in time is not begun.

A command is run as it stands, without a shell, with a Matrix Market file (pattern, general) in the place of {file}. The
last line that it prints must be `SIZE SECONDS`, the number of matched rows and the time that counts, as in
`1024 0.0056`; its exit status must be 0. It is run once to check the size, and --repeats times to be timed. The tables
say if it fails or finds another size than ours, and a list after them says why.

The exit status is 1 if an answer was wrong or nothing was measured, 2 for arguments that cannot work.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory
from typing import Any

import deveci
import peers
import published
import scipy.io
import scipy.sparse
from harness import (
    PREPARATION,
    Calls,
    Record,
    Session,
    SideProcess,
    add_arguments,
    begun,
    equals,
    exit_status,
    load_all,
    machine_of,
    parsed,
    within,
)
from layouts import save_figures

import gmatch
from gmatch.datasets.loader import cached
from gmatch.devices.cpu import MAX_THREADS

FAMILIES: dict[str, Callable[[int], Any]] = {
    "delaunay": lambda scale: gmatch.datasets.delaunay(1 << scale),
    "mesh_dual": lambda scale: gmatch.datasets.mesh_dual(1 << scale),
    "road": lambda scale: gmatch.datasets.road(1 << scale),
    "rgg": lambda scale: gmatch.datasets.rgg(1 << scale),
    "erdos_renyi": lambda scale: gmatch.datasets.erdos_renyi(1 << scale),
    "rmat": lambda scale: gmatch.datasets.rmat(1 << scale),
    "kron": lambda scale: gmatch.datasets.kron(scale),
}
COLLECTIONS: dict[str, Callable[[], list[str]]] = {
    "bundled": lambda: [entry.name for entry in gmatch.datasets.bundled()],
    "cached": cached,
}
METHODS = ["auto", *(method.name for method in gmatch.METHODS)]
LARGEST_SCALE = 30  # rows are numbered by 32-bit integers


@dataclass(frozen=True)
class Instance:
    """A graph of a family at a scale, or a matrix by name; with facts about it once it is made or loaded."""

    graph: str
    scale: int | None = None
    permuted: bool = False
    facts: dict[str, Any] = field(default_factory=dict, compare=False)

    @property
    def name(self) -> str:
        size = "" if self.scale is None else f" 2^{self.scale}"
        return f"{self.graph}{size}{deveci.PERMUTED if self.permuted else ''}"

    @property
    def n(self) -> int:
        """Rows, by which a series is ordered. A matrix by name is a series of its own."""
        return 1 << (self.scale or 0)

    @property
    def kind(self) -> tuple[Any, ...]:
        return self.graph, self.permuted

    def matrix(self) -> Any:
        matrix = original(self.graph, self.scale)
        return gmatch.datasets.permute(matrix, seed=1) if self.permuted else matrix


@lru_cache(maxsize=1)
def original(graph: str, scale: int | None) -> Any:
    """The graph as it is; kept, because its permuted instance comes next."""
    return gmatch.datasets.load(graph) if scale is None else FAMILIES[graph](scale)


def instances(options: argparse.Namespace) -> Iterator[Instance]:
    """Small graphs of a family before large ones."""
    graphs: list[tuple[str, int | None]] = [
        (family, scale) for scale in sorted(options.scale) for family in options.families
    ]
    names = [name for given in options.matrices for name in COLLECTIONS.get(given, lambda given=given: [given])()]
    for graph, scale in [*graphs, *((name, None) for name in dict.fromkeys(names))]:
        yield Instance(graph, scale)
        yield Instance(graph, scale, permuted=True)


class MatchingSession(Session):
    """One run of this program."""

    def measure(self, instance: Instance) -> None:
        """Times our methods, peers and commands on an instance, unless a time is there already or is not allowed."""
        options = self.options
        solvers = [*options.methods, *(peers.matching_names() if options.peers else []), *options.commands]
        missing = [solver for solver in solvers if self.admits(instance, solver)]
        if not missing:
            return
        try:
            matrix = instance.matrix()
        except gmatch.GmatchError as error:
            self.tell(instance.name, str(error))
            return
        begin = time.perf_counter()
        graph = gmatch.BipartiteGraph(matrix).on(options.device)
        checked = time.perf_counter() - begin
        size = gmatch.max_matching(graph, certify=True).size
        rows, columns = graph.shape
        facts = {"rows": rows, "columns": columns, "entries": graph.entries, "size": size, "check_seconds": checked}
        instance = replace(instance, facts=facts)
        with TemporaryDirectory() as folder:
            for solver in missing:
                # Asked again, since time has passed.
                if not self.admits(instance, solver):
                    continue
                if solver in peers.MATCHING_PEERS or solver in options.commands:
                    calls = self._calls(solver, matrix, Path(folder))
                    timing = self.beside(instance, solver, calls, equals(size))
                else:
                    solve = call_of(solver, graph, options.threads)
                    timing = self.here(instance, solver, solve, partial(gmatch.verify, graph), facts_of)
                self.add(instance, timing)

    def _calls(self, solver: str, matrix: Any, folder: Path) -> Calls:
        """Calls in another process, which reads the matrix from a file: it may be too large for a pipe."""
        command = self.options.commands.get(solver)
        if command is None:
            path = written(matrix, folder / "graph.npz")
            return self.side.calls(peers.matching_calls, solver, path, limit=self.options.limit)
        return peers.command_calls(command, written(matrix, folder / "graph.mtx"), self.options.limit)


def call_of(method: str, graph: Any, threads: int | None) -> Callable[[], gmatch.Matching]:
    initial = "cheap" if method in published.VARIANTS else "auto"
    return partial(gmatch.max_matching, graph, method=method, initial=initial, threads=threads)


def facts_of(matching: gmatch.Matching) -> dict[str, Any]:
    names = ("initial", "start_size", "phases", "levels", "threads", "seconds", "levels_per_phase")
    return {name: matching.stats[name] for name in names}


def written(matrix: Any, path: Path) -> Path:
    """The file, made when it is first asked for."""
    if path.exists():
        return path
    if path.suffix == ".npz":
        scipy.sparse.save_npz(path, matrix, compressed=False)
    else:
        scipy.io.mmwrite(path, matrix, field="pattern", symmetry="general")
    return path


def command(text: str) -> tuple[str, str]:
    """The name and the rest of ``NAME=PATH {file}``."""
    name, _, rest = text.partition("=")
    if not name or "{file}" not in rest:
        raise argparse.ArgumentTypeError(f"expected NAME=PATH with {{file}} among its arguments, got {text!r}")
    if not which(shlex.split(rest)[0]):
        raise argparse.ArgumentTypeError(f"expected a program that can be run, got {shlex.split(rest)[0]!r}")
    if name in METHODS or name in peers.MATCHING_PEERS:
        raise argparse.ArgumentTypeError(f"expected a name that no solver here has, got {name!r}")
    return name, rest


def run(options: argparse.Namespace) -> Record:
    machine = machine_of(options.device) | {"peers": peers.versions(), "commands": options.commands}
    record = begun(options.output, machine, options.resume)
    with SideProcess() as side:
        session = MatchingSession(options, record, side)
        for instance in instances(options):
            session.measure(instance)
    return record


def arguments(argv: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--scale", type=within(int, 0, LARGEST_SCALE), nargs="+", default=[20], help="2^SCALE rows")
    add("--families", nargs="*", default=list(FAMILIES), choices=FAMILIES)
    add("--matrices", nargs="+", default=[], help="Group/Name; bundled, cached: all that come with gmatch, or are kept")
    variants = ["auto", *published.VARIANTS, peers.PFP]
    add("--methods", nargs="+", default=variants, choices=METHODS, metavar="METHOD", help=f"by default {variants}")
    add("--threads", type=within(int, 1, MAX_THREADS), help="of the CPU, for our methods that use several")
    add("--peers", action="store_true", help="SciPy; igraph and networkx if installed")
    about = f"see above; each run may take up to {PREPARATION} seconds more than --limit, to read the file"
    add("--command", type=command, action="append", default=[], metavar='"NAME=PATH {file}"', help=about)
    add_arguments(parser)
    options = parsed(parser, argv)
    if options.device == "gpu" and options.threads is not None:
        parser.error("--threads is for --device cpu, a GPU sizes its own grid; leave it out")
    options.commands = dict(options.command)
    return options


def main(argv: list[str] | None = None) -> int:
    options = arguments(argv)
    if options.read:
        machine, timings = load_all(options.read)
    else:
        record = run(options)
        machine, timings = str(record.machine["device"]), record.timings
    results = deveci.Results(timings, machine)
    print(deveci.all_tables(results))
    if options.plots:
        for path in save_figures(deveci.figures(results), options.plots):
            print(path)
    return exit_status(timings)


if __name__ == "__main__":
    sys.exit(main())
