"""``gmatch demo``: all matrices that come with gmatch, and costs of every kind."""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

from .. import datasets
from ..assignment.lap import lap
from ..datasets.costs import generate as generate_costs
from ..problems.dense import DenseCosts
from ..proof.verify import verify
from .assign import assignment_facts
from .inputs import read_graph
from .match import report_doubt, solve_graph, summary_of
from .options import add_solver_options, check_solver_options
from .terminal import Facts, milliseconds, print_demo, progress_bar

# What the demo assigns: costs of every kind.
DEMO_COSTS = (
    "generator:uniform:1000:1", "generator:uniform:1000:1000", "generator:uniform_floats:1000",
    "generator:geometric:500", "generator:low_rank:300", "generator:machol_wien:100", "generator:near_ties:300",
    "generator:few_values:500", "generator:blocks:300",
)  # fmt: skip


def add_demo(commands: Any) -> argparse.ArgumentParser:
    what = "match all matrices that come with gmatch, and assign costs of many kinds; prove every answer"
    description = f"{what.capitalize()}. --method and --threads are for the matchings."
    command: argparse.ArgumentParser = commands.add_parser("demo", help=what, description=description)
    add_solver_options(command)
    command.set_defaults(run=run_demo, initial="auto", deterministic=False)
    return command


def run_demo(arguments: argparse.Namespace) -> int:
    """``gmatch demo``: all bundled matrices and costs of every kind, a line each, and how many answers are proven."""
    check_solver_options(arguments)
    names = [entry.name for entry in datasets.bundled()]
    with progress_bar() as progress:
        in_turn = progress.track(names, description="matching")
        answers = [solve_graph(name, read_graph(name)[0], arguments) for name in in_turn]
        assignments = [
            _demo_assignment(name, arguments) for name in progress.track(DEMO_COSTS, description="assigning")
        ]
    summary = summary_of(answers)
    if arguments.json:
        print(json.dumps({"matrices": [answer.facts() for answer in answers], **summary, "assignments": assignments}))
    else:
        print_demo([_demo_line(facts) for facts in assignments])
        print()
        print_demo([answer.line() for answer in answers])
        print(f"{len(assignments)} assignments, each proven optimal by its duals")
        print("{matrices} matrices, {proven} proven, {agree} of {published} agree with the published structural rank"
              .format(matrices=len(answers), **summary))  # fmt: skip
    return report_doubt(answers)


def _demo_assignment(name: str, arguments: argparse.Namespace) -> Facts:
    """Assigns one matrix of costs, and verifies the answer."""
    costs = DenseCosts(generate_costs(name, device=arguments.device))
    start = time.perf_counter()
    assignment = lap(costs, device=arguments.device)
    seconds = time.perf_counter() - start
    facts = assignment_facts(name, assignment, verify(costs, assignment), seconds)
    return {key: facts[key] for key in ("costs", "type", "pairs", "cost", "gap", "method", "phases", "total_seconds")}


def _demo_line(facts: Facts) -> dict[str, Any]:
    shown = {key: value for key, value in facts.items() if key != "total_seconds"}
    return shown | {"ms": milliseconds(facts["total_seconds"])}
