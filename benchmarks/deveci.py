"""The tables and figures of Deveci, Kaya, Uçar and Çatalyürek (2013), from timings, beside what the paper prints."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from statistics import geometric_mean
from typing import Any, NamedTuple

import peers
import published
from harness import Timing, number, ratio_cell, reason, trouble
from layouts import seconds_of, titled

from gmatch import plot

# The end of the name of a permuted graph.
PERMUTED = " permuted"
MANY = 20
# Two graphs of each set are shown phase by phase, as in the paper, with at most 12 phases in the table.
FEW, PHASES_SHOWN = 2, 12
# What times and speedups are relative to.
REFERENCE = "auto"

Graph = dict[str, Timing]
Graphs = dict[str, Graph]


class GraphSet(NamedTuple):
    """The original graphs, or the permuted ones: timings by graph and solver."""

    label: str
    title: str
    graphs: Graphs


class Results:
    """Timings of the paper's two sets."""

    def __init__(self, timings: Iterable[Timing], machine: str) -> None:
        self.machine = machine
        self.sets = (GraphSet("O", "original graphs", {}), GraphSet("RCP", "permuted graphs", {}))
        for timing in timings:
            name = timing.instance.removesuffix(PERMUTED)
            original, permuted = self.sets
            graphs = original.graphs if name == timing.instance else permuted.graphs
            graphs.setdefault(name, {})[timing.solver] = timing

    def solvers(self) -> list[str]:
        """All solvers with a time, in the order in which they were first measured."""
        graphs = [graph for graph_set in self.sets for graph in graph_set.graphs.values()]
        return list(dict.fromkeys(solver for graph in graphs for solver in graph))

    def variants(self) -> list[str]:
        """The variants among the paper's eight that were measured, in the paper's order."""
        solvers = self.solvers()
        return [variant for variant in published.VARIANTS if variant in solvers]

    def others(self) -> list[str]:
        return [solver for solver in self.solvers() if solver not in published.VARIANTS]


def sequential_seconds(graph: Graph) -> list[float]:
    """Seconds of the sequential algorithms, the slowest first. An algorithm that was ended counts with the limit."""
    timings = [graph[solver] for solver in peers.MATCHING_PEERS if solver in graph]
    seconds = [timing.median or timing.facts.get("limit") for timing in timings]
    return sorted(filter(None, seconds), reverse=True)


def hardest(graphs: Graphs, count: int) -> Graphs:
    """The graphs on which a sequential algorithm took longest."""
    names = sorted(graphs, key=lambda name: sequential_seconds(graphs[name]), reverse=True)
    return {name: graphs[name] for name in names[:count]}


def solved(graphs: Graphs, solvers: list[str]) -> list[Graph]:
    """The graphs on which all of these solvers have a time."""
    return [graph for graph in graphs.values() if all(seconds_of(graph.get(solver)) for solver in solvers)]


def best_variant(graphs: Graphs, variants: list[str]) -> str | None:
    """The variant of the least geometric mean; in the paper it is apfb-gpubfs-wr-ct."""
    common = solved(graphs, variants)
    if not variants or not common:
        return None
    return min(variants, key=lambda variant: geometric_mean(graph[variant].median for graph in common))


def all_tables(results: Results) -> str:
    """The tables that are not empty, as Markdown."""
    tables = [*geometric_means(results), *levels_of_phases(results), *actual_times(results), *troubles(results)]
    return "\n\n".join(["", *tables, ""]) if tables else "nothing measured"


def geometric_means(results: Results) -> Iterator[str]:
    """Table 1."""
    variants = results.variants()
    rows = []
    if not variants:
        return
    for label, _, graphs in results.sets:
        rows += mean_rows(f"{label}_S1", label, graphs, variants)
        # Without sequential algorithms nothing says which graphs are hard.
        if len(graphs) > MANY and any(map(sequential_seconds, graphs.values())):
            rows += mean_rows(f"{label}_Hardest20", f"{label}_Hardest20", hardest(graphs, MANY), variants)
    if rows:
        note = (
            f"Seconds. Paper: {published.C2050}, other graphs, without the start. Here: {results.machine}, over the "
            "graphs that all variants solved, from the cheap matching: whole calls, and without the start. The "
            f"{MANY} hardest are the graphs of a larger set on which a sequential algorithm took longest. CT and MT "
            "are alike on a CPU and, for small graphs, in one block of a GPU."
        )
        title = "Deveci et al., Table 1: geometric means of the run times"
        yield titled(title, note, ["set", "of", "graphs", *variants], rows)


def mean_rows(printed: str, label: str, graphs: Graphs, variants: list[str]) -> Iterator[list[str]]:
    common = solved(graphs, variants)
    if not common:
        return
    paper = dict(zip(published.VARIANTS, published.GEOMETRIC_MEANS[printed], strict=True))
    yield [printed, "paper", str(published.SET_SIZES[printed]), *(number(paper[variant]) for variant in variants)]
    size = f"{len(common)} of {len(graphs)}"
    for of, seconds in (("here, whole call", seconds_of), ("here, after the start", after_start)):
        means = [geometric_mean(seconds(graph[variant]) for graph in common) for variant in variants]
        yield [label, of, size, *map(number, means)]


def after_start(timing: Timing) -> float:
    """Seconds of the phases, at least the smallest time that the clock of a GPU tells from 0."""
    seconds = timing.facts["seconds"]
    return max(seconds["search"] + seconds["augment"], 1e-9)


def few_graphs(results: Results) -> Iterator[tuple[str, Graph]]:
    """The hardest graphs of each set, with the variants that have a time. MT variants search as CT does, and are left
    out."""
    variants = [variant for variant in results.variants() if variant.endswith("-ct")]
    for label, _, graphs in results.sets:
        for name, graph in hardest(graphs, FEW).items():
            found = {variant: graph[variant] for variant in variants if seconds_of(graph.get(variant))}
            if found:
                yield f"{name} ({label})", found


def levels_of_phases(results: Results) -> Iterator[str]:
    """Fig. 2, in numbers."""
    rows = []
    for name, graph in few_graphs(results):
        for variant, timing in graph.items():
            levels = timing.facts["levels_per_phase"]
            shown = [*map(str, levels[:PHASES_SHOWN]), *["..."][: len(levels) - PHASES_SHOWN]]
            rows.append([name, variant, str(len(levels)), str(sum(levels)), " ".join(shown)])
    if rows:
        note = f"The hardest {FEW} graphs of each set; {results.machine}. The last phase finds no path."
        title = "Deveci et al., Fig. 2: phases, and their levels (calls of the BFS kernel)"
        yield titled(title, note, ["graph", "variant", "phases", "levels", "levels of each phase"], rows)


def actual_times(results: Results) -> Iterator[str]:
    """Table 2: a table of each set."""
    solvers = results.others()
    for label, title, graphs in results.sets:
        if not graphs:
            continue
        printed = {name: row for name in graphs if (row := printed_times(name, label))}
        programs = [f"{program}, paper" for program in published.HARDEST_PROGRAMS] if printed else []
        rows = []
        for name, graph in graphs.items():
            base = seconds_of(graph.get(REFERENCE))
            times = [ratio_cell(graph.get(solver), None if solver == REFERENCE else base) for solver in solvers]
            paper = printed.get(name, [""] * len(programs))
            rows.append([name, *size_of(graph), *times, best_cell(graph, results.variants(), base), *paper])
        header = ["graph", "rows", "columns", "entries", "matched", *solvers, "best variant", *programs]
        note = (
            f"Milliseconds of whole calls, {results.machine}; sequential algorithms on a core of its host. In brackets "
            f"how many times {REFERENCE} that is. {peers.PFP} is the paper's PFP, ours."
            f"{f' Paper: {published.C2050}, without the start.' if printed else ''}"
        )
        yield titled(f"Deveci et al., Table 2: actual run times, {title}", note, header, rows)


def printed_times(name: str, label: str) -> list[str]:
    """The paper's milliseconds for a matrix of the collection, if it has them."""
    original, permuted = published.HARDEST.get(name.rpartition("/")[2], ((), ()))
    return [number(1e3 * seconds) for seconds in (original if label == "O" else permuted)]


def size_of(graph: Graph) -> list[str]:
    facts = next((timing.facts for timing in graph.values() if "rows" in timing.facts), {})
    return [f"{facts[name]:,}" if name in facts else "" for name in ("rows", "columns", "entries", "size")]


def best_cell(graph: Graph, variants: list[str], base: float | None) -> str:
    found = [graph[variant] for variant in variants if seconds_of(graph.get(variant))]
    best = min(found, key=lambda timing: timing.median, default=None)
    return "" if best is None else f"{ratio_cell(best, base)} {best.solver}"


def troubles(results: Results) -> Iterator[str]:
    """Every cell that is wrong or failed, and why."""
    timings = [timing for graph_set in results.sets for graph in graph_set.graphs.values() for timing in graph.values()]
    lines = [f"- {timing.instance}, {timing.solver}: {reason(timing)}: {trouble(timing)}" for timing in timings
             if trouble(timing)]  # fmt: skip
    if lines:
        yield "\n".join(["### Wrong or failed", "", *lines])


def figures(results: Results) -> Iterator[tuple[str, Any]]:
    """Figs. 2, 3 and 4, with their names."""
    for name, graph in few_graphs(results):
        levels = {variant: timing.facts["levels_per_phase"] for variant, timing in graph.items()}
        stem = re.sub(r"[^\w.]+", "-", name).strip("-")
        yield f"deveci-fig-2-{stem}", plot.phases_and_levels(levels, f"{name}; {results.machine}")
    for label, title, graphs in results.sets:
        seconds = times_to_compare(graphs, results)
        where = f"{title}; {results.machine}"
        speedups = {
            solver: speedups_over_sequential(graphs, by_graph)
            for solver, by_graph in seconds.items()
            if solver not in peers.MATCHING_PEERS
        }
        if any(speedups.values()):
            yield f"deveci-fig-3-{label}", plot.speedup_profiles(speedups, f"Speedup profiles, {where}")
        if seconds:
            yield f"deveci-fig-4-{label}", plot.performance_profiles(seconds, f"Performance profiles, {where}")


def times_to_compare(graphs: Graphs, results: Results) -> dict[str, dict[str, float]]:
    """Seconds by solver and graph. The best of the eight variants stands for all, as in the paper."""
    best = best_variant(graphs, results.variants())
    compared = [*results.others(), *([best] if best else [])]
    seconds = {
        solver: {name: graph[solver].median for name, graph in graphs.items() if seconds_of(graph.get(solver))}
        for solver in compared
    }
    return {solver: by_graph for solver, by_graph in seconds.items() if by_graph}


def speedups_over_sequential(graphs: Graphs, seconds: dict[str, float]) -> dict[str, float]:
    """Speedups over the fastest sequential algorithm of each graph; lower bounds if all were ended at the limit.

    The paper's speedups are over one algorithm for all graphs of a set.
    """
    least = {name: min(times) for name, graph in graphs.items() if (times := sequential_seconds(graph))}
    return {name: least[name] / time for name, time in seconds.items() if name in least}
