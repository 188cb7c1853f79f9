"""The command `gmatch`: its arguments, and the run of one of its parts."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from textwrap import fill
from typing import NoReturn

from .. import __version__
from ..errors import GmatchError, InvalidInput, did_you_mean
from .assign import add_assign
from .demo import add_demo
from .ends import BAD_DATA, EPILOG, INTERRUPTED, READER_GONE, abandon, fail, open_closed_streams, tell
from .info import add_info
from .match import add_match
from .toolkit import add_bottleneck, add_k_best, add_scale, add_transport

WIDTH = 79  # of a terminal, less one column
COMMANDS = add_match, add_assign, add_k_best, add_bottleneck, add_scale, add_transport, add_demo, add_info


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments; by default the arguments of the process.

    Returns
    -------
    int
        The exit code; ``gmatch --help`` says what it means.
    """
    open_closed_streams()
    try:
        arguments = parser().parse_args(argv)
        code: int = arguments.run(arguments)
        sys.stdout.flush()
        return code
    except (GmatchError, MemoryError) as error:
        return tell(error)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        abandon(sys.stdout)
        return READER_GONE
    except OSError as error:
        abandon(sys.stdout)
        return fail(f"{error.filename or 'standard output'}: {error.strerror}", BAD_DATA)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise InvalidInput(f"{message}{self._nearest(message)}; see {self.prog} --help")

    def _nearest(self, message: str) -> str:
        """A known choice or option that is spelled nearly as the unknown one."""
        if choice := re.search(r"invalid choice: '(.*)' \(choose from (.*)\)", message):
            return did_you_mean(choice[1], re.findall(r"[\w-]+", choice[2]))
        if option := re.search(r"unrecognized arguments: (--[\w-]+)", message):
            parts = (action.choices.values() for action in self._actions if isinstance(action.choices, dict))
            known = (name for some in parts for command in some for name in command._option_string_actions)
            return did_you_mean(option[1], set(known))
        return ""

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        sys.stdout.flush()  # the help is written here, where `main` still reports a failed write
        super().exit(status, message)


def parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="gmatch",
        description="Exact bipartite matching with proofs, on GPUs and CPUs.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"gmatch {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for add_command in COMMANDS:
        command = add_command(commands)
        command.add_argument("--json", action="store_true", help="print one JSON object")
        command.epilog, command.formatter_class = EPILOG, argparse.RawDescriptionHelpFormatter
        command.description = fill(command.description or "", WIDTH)
    return parser
