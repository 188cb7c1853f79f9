"""The tables and figures of the papers, from timings, beside what the papers print."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import published
from harness import Timing, markdown_table, number, reason

from gmatch import plot

BATCH = "gmatch, one call"
ONE_BY_ONE = "gmatch, one by one"
# Batches: the number of problems, and their rows.
BATCHES = ((1024, 64), (1024, 128), (256, 256), (1024, 256), (256, 512))
# Milliseconds of each form of Munkres' method.
Steps = list[float | None]
LADDER_FORMS = ("baseline", "reductions", "fused", "cooperative", "registers")


class Study(NamedTuple):
    """Which problems a table is about."""

    sizes: tuple[int, ...]
    factors: tuple[float, ...]
    dtype: str
    ladder: bool = False
    peers: bool = True


STUDIES = {
    "date-nagi-1": Study(tuple(published.SMALL), (1,), "int32"),
    "date-nagi-2": Study(tuple(published.ASSIGNMENTS), (1,), "int32", peers=False),
    "date-nagi-3": Study((5000, 10000, 15000, 20000), (0.1, 1, 10), "int32"),
    "reports": Study(published.REPORT_SIZES, tuple(published.REPORT), "float64"),
    "ladder": Study(tuple(published.LADDER), (1000,), "float64", ladder=True, peers=False),
}
# Tables 4 and 5: the problems if no sizes are asked for.
RANKS_STUDY = Study((), (10,), "int32")
SCALING = {"date-nagi-4": published.WEAK, "date-nagi-5": published.STRONG}
RANKS_METHODS = {"classical": slice(0, 3), "tree": slice(3, 5)}  # columns of the printed figures
BATCH_STUDY = Study((), (1,), "int32")
SPREAD = "In square brackets the fastest and the slowest call, where they are more than a tenth apart."


class Results:
    """Timings by problem and solver. Several instances of a problem count as one, by their median.

    A given type of numbers replaces the type of each study.
    """

    def __init__(self, timings: list[Timing], machine: str, dtype: str | None = None) -> None:
        self.machine, self._dtype = machine, dtype
        self.cells: dict[tuple[str, float, int, int], dict[str, list[Timing]]] = {}
        self.on_ranks: dict[tuple[bool, int, int, str], list[Timing]] = {}  # by table, size, ranks and solver
        for timing in timings:
            facts = timing.facts
            if "ranks" in facts:
                shared = facts["weak"], facts["n"], facts["ranks"], timing.solver
                self.on_ranks.setdefault(shared, []).append(timing)
                continue
            problem = facts["dtype"], float(facts["factor"]), facts["n"], facts["count"]
            self.cells.setdefault(problem, {}).setdefault(timing.solver, []).append(timing)

    def of(self, study: Study, factor: float, n: int, count: int = 0) -> dict[str, Timing]:
        """The timings of a problem, by solver."""
        cell = self.dtype(study), float(factor), n, count
        return {solver: combined(some) for solver, some in self.cells.get(cell, {}).items()}

    def dtype(self, study: Study) -> str:
        return self._dtype or study.dtype

    def sizes(self, study: Study) -> list[int]:
        """The study's sizes, or the sizes that were measured if none of those was."""
        factors = {float(factor) for factor in study.factors}
        kinds = [cell for cell in self.cells if cell[0] == self.dtype(study) and cell[1] in factors and not cell[3]]
        measured = sorted({n for _, _, n, _ in kinds})
        return list(study.sizes) if set(measured) & set(study.sizes) else measured

    def solvers(self, study: Study) -> list[str]:
        """The solvers of a study, in the order in which they were first measured."""
        found = [solver for factor in study.factors for n in self.sizes(study) for solver in self.of(study, factor, n)]
        return list(dict.fromkeys(found))


def combined(timings: list[Timing]) -> Timing:
    measured = [timing for timing in timings if timing.median is not None]
    if len(measured) < len(timings):
        return next(timing for timing in timings if timing.median is None)
    typical = sorted(measured, key=lambda timing: timing.median)[len(measured) // 2]
    return Timing(
        typical.instance,
        typical.solver,
        statistics.median(timing.median for timing in measured),
        min(timing.fastest for timing in measured),
        max(timing.slowest for timing in measured),
        typical.facts,
    )


def seconds_of(timing: Timing | None) -> float | None:
    return None if timing is None else timing.median


def cell(timing: Timing | None, unit: float, reference: float | None = None) -> str:
    """The median, its spread if that is not small, and how many times faster it is than the printed figure."""
    if timing is None:
        return ""
    if timing.median is None:
        return reason(timing)
    text = number(timing.median * unit)
    if timing.slowest - timing.fastest > 0.1 * timing.median:
        text += f" [{number(timing.fastest * unit)}, {number(timing.slowest * unit)}]"
    return text if not reference else f"{text} ({number(reference / (timing.median * unit))} x)"


def all_tables(results: Results, names: list[str]) -> str:
    """The tables that are not empty, as Markdown."""
    heads = {
        "date-nagi-1": small, "date-nagi-2": assignments, "date-nagi-3": large, "reports": reports, "ladder": ladder,
        "batches": batches, "date-nagi-4": weak, "date-nagi-5": strong,
    }  # fmt: skip
    tables = [table for name in names for table in heads[name](results)]
    return "\n\n".join(["", *tables, ""]) if tables else "nothing measured"


def titled(title: str, note: str, header: list[str], rows: list[list[str]]) -> str:
    return f"### {title}\n\n{note}\n\n{markdown_table(header, rows)}"


def small(results: Results) -> Iterator[str]:
    """Date and Nagi, Table 1."""
    study = STUDIES["date-nagi-1"]
    solvers = results.solvers(study)
    rows = []
    for n in results.sizes(study):
        found = results.of(study, 1, n)
        if found:
            value, *times = published.SMALL.get(n, (None,) * 5)
            ours = [cell(found.get(solver), 1, times[-1]) for solver in solvers]
            rows.append([str(n), number_or_dash(value), cost_of(found), *map(number_or_dash, times), *ours])
    if rows:
        header = ["n", "Obj Val, paper", "here", *published.SMALL_PROGRAMS, *solvers]
        note = (
            f"Seconds. {published.SMALL_PROGRAMS[0]} to {published.SMALL_PROGRAMS[-1]}: {published.K20X}. Others: "
            f"{results.machine}, {results.dtype(study)}; in brackets, how many times faster than CU-TREE as published. "
            f"{SPREAD}"
        )
        yield titled("Date and Nagi, Table 1: small instances, costs in [0, n]", note, header, rows)


def number_or_dash(value: float | None) -> str:
    return "–" if value is None else f"{value:g}"


def cost_of(found: dict[str, Timing]) -> str:
    return next((number_or_dash(timing.facts["cost"]) for timing in found.values() if "cost" in timing.facts), "")


def assignments(results: Results) -> Iterator[str]:
    """Date and Nagi, Table 2."""
    study = STUDIES["date-nagi-2"]
    lines: list[tuple[str, str, list[int]]] = []
    for n in results.sizes(study):
        found = results.of(study, 1, n)
        if found and n in published.ASSIGNMENTS:
            lines.append((str(n), "CU-TREE, paper", list(published.ASSIGNMENTS[n])))
        for solver, timing in found.items():
            # Methods without phases, which find one path after the other, have no line.
            if timing.facts.get("found_in_five_phases"):
                counts = [timing.facts["start_size"], *timing.facts["found_in_five_phases"]]
                lines.append((str(n), solver, counts))
    if not lines:
        return
    # The last column has all later phases: some methods have hundreds.
    shown = max(map(len, published.ASSIGNMENTS.values())) - 1
    header = ["n", "solver", "initial", *(f"[{5 * five + 1}-{5 * five + 5}]" for five in range(shown)), "later"]
    rows = []
    for n, solver, (initial, *fives) in lines:
        counts = [str(count) for count in fives[:shown]]
        later = str(sum(fives[shown:])) if fives[shown:] else ""
        rows.append([n, solver, str(initial), *counts, *[""] * (shown - len(counts)), later])
    note = f"Here: {results.machine}; of the paper's three instances the average, of ours one."
    yield titled("Date and Nagi, Table 2: assignments found in iterations (phases)", note, header, rows)


def large(results: Results) -> Iterator[str]:
    """Date and Nagi, Table 3: one table a range."""
    study = STUDIES["date-nagi-3"]
    for factor in study.factors:
        lines: list[dict[str, str]] = []
        for n in results.sizes(study):
            found = results.of(study, factor, n)
            if found:
                lines += [*printed_lines(factor, n), *measured_lines(factor, n, found)]
        if lines:
            columns = dict.fromkeys(name for line in lines for name in line)
            last = ("total", "x CU-TREE")
            header = [*(name for name in columns if name not in last), *last]
            rows = [[line.get(name, "") for name in header] for line in lines]
            note = (
                f"Seconds. Programs in capitals: {published.K20X}. Others: {results.machine}, {results.dtype(study)}; "
                f"their steps as each method names them, and the total of the whole call. {SPREAD}"
            )
            title = f"Date and Nagi, Table 3: times of steps, costs in [0, {factor:g} n]"
            yield titled(title, note, header, rows)


def printed_lines(factor: float, n: int) -> Iterator[dict[str, str]]:
    printed = published.LARGE.get((factor, n), {})
    value, initial = printed.get("", (None, None))
    for program, times in printed.items():
        if program:
            steps = {name: number_or_dash(time) for name, time in zip(published.LARGE_STEPS, times, strict=True)}
            about = {"n": str(n), "solver": program, "Obj Val": number_or_dash(value)}
            yield {**about, "initial": number_or_dash(initial), **steps}


def measured_lines(factor: float, n: int, found: dict[str, Timing]) -> Iterator[dict[str, str]]:
    reference = published.LARGE.get((factor, n), {}).get("CU-TREE", (None,))[-1]
    for solver, timing in found.items():
        about = {"n": str(n), "solver": solver}
        if "cost" in timing.facts:
            about |= {"Obj Val": number_or_dash(timing.facts["cost"]), "initial": str(timing.facts.get("start_size"))}
        steps = {name: number(time) for name, time in timing.facts.get("seconds", {}).items()}
        times = number(reference / timing.median) if reference and timing.median else ""
        yield {**about, **steps, "total": cell(timing, 1), "x CU-TREE": times}


def solver_of(method: str, ranks: int) -> str:
    return f"{method}, {ranks} rank{'s' if ranks > 1 else ''}"


def weak(results: Results) -> Iterator[str]:
    """Date and Nagi, Table 4: each rank has equally many costs, for any number of ranks."""
    yield from scaling(results, "Date and Nagi, Table 4: weak scaling", published.WEAK, "t1 / tp", True)


def strong(results: Results) -> Iterator[str]:
    """Date and Nagi, Table 5: the same problem by any number of ranks."""
    yield from scaling(results, "Date and Nagi, Table 5: strong scaling", published.STRONG, "t1 / (p tp)", False)


def scaling(
    results: Results, title: str, printed: dict[tuple[int, int], tuple[float, ...]], efficiency: str, is_weak: bool
) -> Iterator[str]:
    """One table a method: the paper's split of time beside the split of the root's time, and efficiencies."""
    for method, columns in RANKS_METHODS.items():
        measured = {
            (n, ranks): combined(some)
            for (of_weak, n, ranks, solver), some in results.on_ranks.items()
            if of_weak == is_weak and solver == solver_of(method, ranks)
        }
        totals = {cell: timing.median for cell, timing in measured.items()}
        rows = []
        for n, ranks in sorted(measured):
            timing = measured[n, ranks]
            paper = printed.get((n, ranks), (None,) * 5)[columns]
            times = [*map(number_or_dash, paper), efficiency_of(printed_totals(printed, columns), n, ranks, is_weak)]
            split = [split_of(timing, some) for some in SPLIT[method]]
            ours = [*split, cell(timing, 1, paper[-1]), efficiency_of(totals, n, ranks, is_weak)]
            rows.append([str(n), str(ranks), *times, *ours])
        if rows:
            heads = [*HEADS[method], "overall", "efficiency"]
            ours = ["passes", "search", "meet", "overall", "efficiency"]
            note = (
                f"Seconds; efficiency is {efficiency}. Paper: {published.BLUE_WATERS}. Here: {results.machine}, "
                f"{results.dtype(RANKS_STUDY)}, the steps of the root; in brackets, how many times faster than the "
                f"paper on as many GPUs. One rank runs the program of one process. {SPREAD}"
            )
            header = ["n", "ranks", *(f"{head}, paper" for head in heads), *ours]
            yield titled(f"{title}, {method}", note, header, rows)


# The steps of the paper, for the seconds in `stats` that the root takes for passes over its rows, for searches of paths
# and for meetings.
HEADS = {"classical": ("matrix comp.", "AP search"), "tree": ("AP search",)}
SPLIT = {
    "classical": (("start", "price"), ("search", "augment"), ("meet",)),
    "tree": (("start", "search"), ("augment",), ("meet",)),
}
Totals = dict[tuple[int, int], float | None]


def split_of(timing: Timing, steps: tuple[str, ...]) -> str:
    seconds = timing.facts.get("seconds")
    return number(sum(seconds.get(step, 0.0) for step in steps)) if seconds else ""


def printed_totals(printed: dict[tuple[int, int], tuple[float, ...]], columns: slice) -> Totals:
    return {cell: row[columns][-1] for cell, row in printed.items()}


def efficiency_of(totals: Totals, n: int, ranks: int, is_weak: bool) -> str:
    """The efficiency by the time of one rank: on the smallest problem (weak scaling), or on the same one (strong)."""
    ones = {size: seconds for (size, count), seconds in totals.items() if count == 1}
    one, here = ones.get(min(ones, default=0) if is_weak else n), totals.get((n, ranks))
    return f"{one / here / (1 if is_weak else ranks):.2f}" if one and here else ""


def reports(results: Results) -> Iterator[str]:
    """Kawtikwar, Cravens and Yang, Tables IV to X: one table a range."""
    study = STUDIES["reports"]
    for factor, table in published.REPORT_NUMBERS.items():
        columns = [(n, results.of(study, factor, n)) for n in results.sizes(study)]
        solvers = dict.fromkeys(solver for _, found in columns for solver in found)
        if not solvers:
            continue
        printed = {name: dict(zip(study.sizes, times, strict=True)) for name, times in published.REPORT[factor].items()}
        rows = [
            [f"{name}, paper", *(number_or_dash(times.get(n)) for n, _ in columns)] for name, times in printed.items()
        ]
        best = printed["Our code"]
        rows += [[solver, *(cell(found.get(solver), 1e3, best.get(n)) for n, found in columns)] for solver in solvers]
        note = (
            f"Milliseconds. Paper: {published.RTX_2080_TI}, no transfers. Others: {results.machine}, "
            f'{results.dtype(study)}, whole calls; in brackets, how many times faster than "Our code" of the paper. '
            f"{SPREAD}"
        )
        title = f"Kawtikwar, Cravens and Yang, Table {table}: range {factor:g}"
        yield titled(title, note, ["Name", *(str(n) for n, _ in columns)], rows)


def form_times(results: Results) -> dict[int, Steps]:
    """Milliseconds of each form of Munkres' method, in the order of the ladder, by size."""
    study = STUDIES["ladder"]
    times: dict[int, Steps] = {}
    for n in results.sizes(study):
        found = results.of(study, 1000, n)
        row = [seconds_of(found.get(f"munkres-{form}")) for form in LADDER_FORMS]
        if any(row):
            times[n] = [None if seconds is None else 1e3 * seconds for seconds in row]
    return times


def ladder(results: Results) -> Iterator[str]:
    """Kawtikwar, Chang and Govind, Tables II and III."""
    times = form_times(results)
    if not times:
        return
    note = (
        f"Paper: {published.RTX_2080_TI}. Here: {results.machine}, whole calls; Opt4, a redundant barrier, is no form "
        "of ours."
    )
    steps = zip(published.LADDER_STEPS, [*LADDER_FORMS, "barrier"], strict=True)
    names = [f"{step} ({form})" for step, form in steps]
    header = ["n", "of", names[0], *(text for name in names[1:] for text in (f"{name} t", "incr. Δt"))]
    title = "Kawtikwar, Chang and Govind, Table II: milliseconds of each form"
    yield titled(title, note, header, ladder_rows(times, differences))
    header = ["n", "of", *(text for name in names[1:] for text in (f"{name} incr.", "total"))]
    rows = [*ladder_rows(times, speedups), *mean_rows(times)]
    yield titled("Kawtikwar, Chang and Govind, Table III: speedups", note, header, rows)


def ladder_rows(times: dict[int, Steps], texts: Callable[[Steps], list[str]]) -> list[list[str]]:
    rows = []
    for n, here in times.items():
        printed = published.LADDER.get(n)
        rows += [[str(n), "paper", *texts(list(printed))]] if printed else []
        rows.append([str(n), "here", *texts([*here, None])])
    return rows


def differences(times: Steps) -> list[str]:
    pairs = zip(times, times[1:], strict=False)
    return [
        number(times[0]),
        *(text for old, new in pairs for text in (number(new), number(old - new) if old and new else "")),
    ]


def speedups(times: Steps) -> list[str]:
    return [number(ratio) for pair in ratios(times) for ratio in pair]


def ratios(times: Steps) -> list[tuple[float | None, float | None]]:
    """For each form after the first: its speedup over the form before, and over the first."""
    pairs = zip(times, times[1:], strict=False)
    return [(old / new if old and new else None, times[0] / new if times[0] and new else None) for old, new in pairs]


def mean_rows(times: dict[int, Steps]) -> Iterator[list[str]]:
    """Geometric means over the sizes that have a ratio."""
    here = [ratios([*row, None]) for row in times.values()]
    for name, rows in (("paper", [ratios(list(row)) for row in published.LADDER.values()]), ("here", here)):
        columns = zip(*([ratio for pair in row for ratio in pair] for row in rows), strict=True)
        known = [[ratio for ratio in column if ratio] for column in columns]
        yield ["geometric mean", name, *(number(statistics.geometric_mean(some)) if some else "" for some in known)]


def batches(results: Results) -> Iterator[str]:
    found = {(count, n): results.of(BATCH_STUDY, 1, n, count) for count, n in BATCHES}
    solvers = list(dict.fromkeys(solver for cells in found.values() for solver in cells))
    if not solvers:
        return
    rows = []
    for (count, n), cells in found.items():
        if cells:
            shown = [cell(cells.get(solver), 1e3) + per_problem(cells.get(solver), count) for solver in solvers]
            rows.append([f"{count} x {n} x {n}", *shown])
    note = f"Milliseconds, and microseconds a problem. Costs in [0, n]; {results.machine}; peers one by one on its CPU."
    yield titled("Batches", note, ["problems", *solvers], rows)


def per_problem(timing: Timing | None, count: int) -> str:
    return "" if timing is None or timing.median is None else f" ({number(timing.median / count * 1e6)} us)"


def save_plots(results: Results, names: list[str], folder: Path) -> list[Path]:
    """Pictures of the tables that are not empty, as PNG and SVG."""
    draw: dict[str, Callable[[Results], Iterator[tuple[str, Any]]]] = {
        "date-nagi-1": small_figure, "date-nagi-3": steps_figures, "reports": report_figures, "ladder": ladder_figures,
    }  # fmt: skip
    return save_figures((figure for name in names if name in draw for figure in draw[name](results)), folder)


def save_figures(figures: Iterable[tuple[str, Any]], folder: Path) -> list[Path]:
    """Saves each figure as PNG and SVG, under its name."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for stem, figure in figures:
        for ending in ("png", "svg"):
            paths.append(folder / f"{stem}.{ending}")
            figure.savefig(paths[-1], dpi=150)
    return paths


def series_of(results: Results, study: Study, factor: float) -> dict[str, dict[int, float]]:
    """Seconds of each solver by size."""
    series: dict[str, dict[int, float]] = {}
    for n in results.sizes(study):
        for solver, timing in results.of(study, factor, n).items():
            if timing.median is not None:
                series.setdefault(solver, {})[n] = timing.median
    return series


def small_figure(results: Results) -> Iterator[tuple[str, Any]]:
    """Date and Nagi, Fig. 2, with logarithmic axes."""
    series = series_of(results, STUDIES["date-nagi-1"], 1)
    if series:
        for column, program in enumerate(published.SMALL_PROGRAMS[2:], 3):
            series[f"{program}, K20X"] = {n: row[column] for n, row in published.SMALL.items()}
        yield "date-nagi-1", plot.run_times(series, f"Integers in [0, n]; {results.machine}")


def steps_figures(results: Results) -> Iterator[tuple[str, Any]]:
    """Date and Nagi, Fig. 3: the largest measured problem of each range."""
    study = STUDIES["date-nagi-3"]
    for factor in study.factors:
        measured = [n for n in results.sizes(study) if any(t.median for t in results.of(study, factor, n).values())]
        if not measured:
            continue
        n = measured[-1]
        bars = {
            solver: whole_of(timing)
            for solver, timing in results.of(study, factor, n).items()
            if timing.median is not None and "seconds" in timing.facts
        }
        if bars:
            title = f"n = {n:,}, integers in [0, {factor:g} n]; {results.machine}"
            yield f"date-nagi-3-range-{factor:g}", plot.time_of_steps(bars, title)


def whole_of(timing: Timing) -> dict[str, float]:
    """The steps of a call, and the rest of its time: the check of the costs, launches, the way of the answer."""
    steps = timing.facts["seconds"]
    return {**steps, "rest of the call": max(0.0, timing.median - sum(steps.values()))}


def report_figures(results: Results) -> Iterator[tuple[str, Any]]:
    study = STUDIES["reports"]
    for factor in study.factors:
        series = series_of(results, study, factor)
        if series:
            printed = zip(study.sizes, published.REPORT[factor]["Our code"], strict=True)
            series['"Our code", RTX 2080 Ti'] = {n: time / 1e3 for n, time in printed if time}
            title = f"Whole numbers in [0, {factor:g} n]; {results.machine}"
            yield f"reports-range-{factor:g}", plot.run_times(series, title)


def ladder_figures(results: Results) -> Iterator[tuple[str, Any]]:
    """Kawtikwar, Chang and Govind, Fig. 6 (right), and the total speedups of Table III as bars."""
    times = form_times(results)
    if not times:
        return
    forms = {
        form: {n: row[step] / 1e3 for n, row in times.items() if row[step]} for step, form in enumerate(LADDER_FORMS)
    }
    title = f"Forms of Munkres' method, costs in [0, 1000 n]; {results.machine}"
    yield "ladder-times", plot.run_times({form: row for form, row in forms.items() if row}, title)
    totals = {
        form: {n: row[0] / row[step] for n, row in times.items() if row[0] and row[step]}
        for step, form in enumerate(LADDER_FORMS)
    }
    if any(totals.values()):
        yield "ladder-speedups", plot.speedups(totals, title)
