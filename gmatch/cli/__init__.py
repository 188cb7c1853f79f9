"""The command line: match one graph, assign one matrix, run all bundled matrices, say what this machine can do.

Each command gathers plain facts first, and `terminal` prints them.
"""

from .command import main, parser

__all__ = ["main", "parser"]
