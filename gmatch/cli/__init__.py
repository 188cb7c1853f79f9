"""The command line: a graph is matched, a matrix assigned; the toolkit, a demo, and what this machine can do.

Each command gathers plain facts first, and `terminal` prints them.
"""

from .command import main, parser

__all__ = ["main", "parser"]
