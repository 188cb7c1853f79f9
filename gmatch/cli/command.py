"""The command `gmatch`: its arguments, and the run of one of its parts."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import NoReturn

from .. import __version__
from ..errors import GmatchError, InvalidInput
from .assign import add_assign
from .demo import add_demo
from .ends import BAD_DATA, EPILOG, INTERRUPTED, READER_GONE, abandon, fail, open_closed_streams, tell
from .info import add_info
from .match import add_match


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments; by default those of the process.

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
        raise InvalidInput(f"{message}; see {self.prog} --help")

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        sys.stdout.flush()  # the help, while `main` can still say what is wrong
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
    for add_command in (add_match, add_assign, add_demo, add_info):
        command = add_command(commands)
        command.add_argument("--json", action="store_true", help="print one JSON object")
        command.epilog, command.formatter_class = EPILOG, argparse.RawDescriptionHelpFormatter
    return parser
