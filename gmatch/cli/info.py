"""``gmatch info``: what gmatch is, and what this machine has for it."""

from __future__ import annotations

import argparse
import platform
import sys
from typing import Any

import numpy as np
import scipy.sparse

from .. import __version__, cuda
from ..datasets.loader import cache_folder
from ..devices.cpu import available_threads
from ..errors import BackendUnavailable, GmatchError
from ..methods import ASSIGNMENT_METHODS, METHODS
from .terminal import Facts, as_lines, print_facts


def add_info(commands: Any) -> argparse.ArgumentParser:
    what = "say what gmatch is, and what this machine has for it"
    command: argparse.ArgumentParser = commands.add_parser("info", help=what, description=f"{what.capitalize()}.")
    command.set_defaults(run=run_info)
    return command


def run_info(arguments: argparse.Namespace) -> int:
    """``gmatch info``: versions, threads, GPUs, folders, methods."""
    facts = {
        "gmatch": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "cpu_threads": available_threads(),
        **_gpu_facts(),
        "cache": _cache(),
        "methods": [method.name for method in METHODS],
        "assignment_methods": [method.name for method in ASSIGNMENT_METHODS],
    }
    print_facts(facts, arguments.json, {name.replace("_", " "): as_lines(value) for name, value in facts.items()})
    return 0


def _cache() -> str:
    """The folder of downloads, or why there is none."""
    try:
        return str(cache_folder())
    except GmatchError as error:
        return f"none: {error}"


def _gpu_facts() -> Facts:
    """The GPUs, or why none can be used."""
    try:
        gpus, problem = cuda.devices(), None
    except BackendUnavailable as error:
        gpus, problem = [], str(error)
    version = getattr(sys.modules.get("cupy"), "__version__", None)
    return {"cupy": version, "gpus": gpus, "gpu_problem": problem, "gpu_code": _gpu_code() if gpus else []}


def _gpu_code() -> list[str]:
    from ..programs import compiled  # imports CuPy

    return compiled.about()
