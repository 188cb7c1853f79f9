"""``gmatch match``: one graph, its matching and the proof."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import datasets
from ..cardinality.matching import STARTS, max_matching
from ..errors import CertificateError
from ..problems.graph import BipartiteGraph
from ..proof.verify import verify
from ..result import Certificate, Matching
from .answers import Shown, is_labelled, labels_of, pairs_of, print_answer
from .ends import NOT_PROVEN, fail
from .inputs import read_graph
from .options import GRAPH_HELP, add_printing, add_solver_options, check_solver_options
from .output import add_output, check_output, write_answer
from .terminal import Facts, grouped, milliseconds, waiting

ENDS = ("row", "column")


def add_match(commands: Any) -> argparse.ArgumentParser:
    what = "match the rows of one graph with its columns, and prove the answer"
    command: argparse.ArgumentParser = commands.add_parser("match", help=what, description=f"{what.capitalize()}.")
    command.add_argument("graph", metavar="GRAPH", help=GRAPH_HELP)
    add_solver_options(command)
    starts = f"the matching to start from: {', '.join(STARTS)} (default: auto)"
    command.add_argument("--initial", choices=STARTS, default="auto", metavar="START", help=starts)
    command.add_argument("--deterministic", action="store_true", help="the same matching on every run and device")
    add_printing(command)
    add_output(command)
    command.set_defaults(run=run_match)
    return command


def run_match(arguments: argparse.Namespace) -> int:
    """``gmatch match``: one graph, its matching and the proof."""
    check_solver_options(arguments)
    check_output(arguments.output)
    graph, table = read_graph(arguments.graph)
    with waiting(f"matching {arguments.graph}"):
        answer = solve_graph(arguments.graph, graph, arguments)
    matching = answer.matching
    pairs = pairs_of(table, matching) if arguments.output or arguments.pairs or is_labelled(table) else []
    if answer.certificate is not None:
        arrays = {"row_match": matching.row_match, "col_match": matching.col_match} | labels_of(table)
        write_answer(arguments.output, answer.facts(), pairs, arrays, ENDS)
    shown = pairs if arguments.pairs or is_labelled(table) else []
    print_answer(arguments, answer.facts(), answer.table(), Shown(shown, is_labelled(table), ENDS))
    return report_doubt([answer])


@dataclass(frozen=True)
class Answer:
    """A matching of one graph, and what is known about it beyond the solver's word."""

    name: str
    graph: BipartiteGraph
    matching: Matching
    certificate: Certificate | None
    doubt: str
    published: int | None
    seconds: float

    @property
    def agrees(self) -> bool | None:
        """Whether the size is the published one; None where none is published."""
        return None if self.published is None else self.matching.size == self.published

    def facts(self) -> Facts:
        """All facts, flat, for programs."""
        rows, columns = self.graph.shape
        proof, stats = self.certificate, self.matching.stats
        return {
            "graph": self.name,
            "rows": rows,
            "columns": columns,
            "entries": self.graph.entries,
            "size": self.matching.size,
            "deficiency": min(rows, columns) - self.matching.size,
            "published_structural_rank": self.published,
            "agrees": self.agrees,
            "proven": proof is not None,
            "cover_rows": proof and proof.cover_rows,
            "cover_columns": proof and proof.cover_columns,
            **{name: stats[name] for name in ("method", "initial", "start_size", "backend", "team", "threads")},
            **{name: stats[name] for name in ("phases", "levels", "edges_inspected")},
            **{f"{step}_seconds": seconds for step, seconds in stats["seconds"].items()},
            "total_seconds": self.seconds,
        }

    def table(self) -> dict[str, str]:
        """The facts as text for people."""
        facts = self.facts()
        text = {name: grouped(value) for name, value in facts.items()}
        verdict = {None: "", True: " (agrees)", False: " (DISAGREES)"}[self.agrees]
        steps = [f"{step} {milliseconds(seconds)}" for step, seconds in self.matching.stats["seconds"].items()]
        return {
            **{name: text[name] for name in ("graph", "rows", "columns", "entries", "size", "deficiency")},
            "published rank": text["published_structural_rank"] + verdict,
            "proof": self.proof(),
            "method": text["method"],
            "start": f"{text['initial']}, {text['start_size']} edges",
            "ran on": f"{text['backend']}, {text['team']} team, threads: {text['threads']}",
            **{name.replace("_", " "): text[name] for name in ("phases", "levels", "edges_inspected")},
            "time": f"{milliseconds(self.seconds)} ms ({', '.join(steps)})",
        }

    def proof(self) -> str:
        """The cover that proves the matching maximum."""
        if self.certificate is None:
            return f"NOT PROVEN: {self.doubt}"
        rows, columns = self.certificate.cover_rows, self.certificate.cover_columns
        return f"a cover of {rows:,} rows + {columns:,} columns = {self.certificate.size:,}"

    def line(self) -> dict[str, Any]:
        """The most important facts, short: a line of the demo's table."""
        facts, proof = self.facts(), self.certificate
        return {
            **{name: facts[name] for name in ("graph", "rows", "columns", "entries", "size")},
            "published": self.published,
            "proof": "NOT PROVEN" if proof is None else f"{proof.cover_rows} + {proof.cover_columns}",
            "phases": facts["phases"],
            "levels": facts["levels"],
            "ms": milliseconds(self.seconds),
        }


def solve_graph(name: str, graph: BipartiteGraph, arguments: argparse.Namespace) -> Answer:
    """Matches one graph, and verifies the answer."""
    start = time.perf_counter()
    matching = max_matching(
        graph,
        method=arguments.method,
        initial=arguments.initial,
        device=arguments.device,
        threads=arguments.threads,
        deterministic=arguments.deterministic,
    )
    seconds = time.perf_counter() - start
    try:
        certificate, doubt = verify(graph, matching), ""
    except CertificateError as error:
        certificate, doubt = None, str(error)
    return Answer(name, graph, matching, certificate, doubt, _published_rank(name), seconds)


def _published_rank(name: str) -> int | None:
    if Path(name).is_file():
        return None
    return next((entry.structural_rank for entry in datasets.registry() if entry.name == name), None)


def summary_of(answers: Sequence[Answer]) -> dict[str, int]:
    return {
        "proven": sum(answer.certificate is not None for answer in answers),
        "agree": sum(answer.agrees is True for answer in answers),
        "published": sum(answer.published is not None for answer in answers),
    }


def report_doubt(answers: Iterable[Answer]) -> int:
    """Returns the exit code, and writes to stderr which answers are wrong."""
    code = 0
    for answer in answers:
        if answer.certificate is None:
            code = fail(f"{answer.name}: {answer.doubt}", NOT_PROVEN)
        elif answer.agrees is False:
            code = fail(
                f"{answer.name}: the matching has {answer.matching.size} edges, which is proven maximum, but the "
                f"published structural rank is {answer.published}", NOT_PROVEN,
            )  # fmt: skip
    return code
