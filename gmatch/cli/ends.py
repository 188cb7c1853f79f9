"""How a command ends: one line about what is wrong, and a code for each fault."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import IO

from ..errors import BackendUnavailable, CertificateError, DataError, GmatchError, Infeasible, RankLost
from .terminal import one_line

EPILOG = """\
exit codes:
  0    every answer is proven, and agrees with the structural rank that the
       collection publishes
  1    an answer could not be proven, or disagrees with the published
       structural rank; or there is no assignment
  2    bad usage or input
  3    data missing, unreadable or not writable
  4    backend unavailable, out of memory, or a rank of --mpi lost
  130  interrupted
  141  whoever read the output has gone
"""
NOT_PROVEN, BAD_INPUT, BAD_DATA, NO_BACKEND, INTERRUPTED, READER_GONE = 1, 2, 3, 4, 130, 141


def open_closed_streams() -> None:
    """Opens /dev/null in the place of closed streams.

    Otherwise Python would print errors to stdout, and the next opened file would get the number of a closed stream.
    """
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, open(nowhere, "r+", encoding="utf-8", closefd=False))


def abandon(stream: IO[str]) -> None:
    """Leads the stream to /dev/null: the interpreter flushes it once more when it ends."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def tell(error: GmatchError | MemoryError) -> int:
    if isinstance(error, MemoryError):
        return fail(f"out of memory: {error}", NO_BACKEND)
    return fail(str(error), exit_code(error))


def fail(message: str, code: int) -> int:
    try:
        print(f"gmatch: error: {one_line(message)}", file=sys.stderr)
    except OSError:
        abandon(sys.stderr)  # the exit code still says what is wrong
    return code


def exit_code(error: GmatchError) -> int:
    codes = (
        (CertificateError, NOT_PROVEN),
        (Infeasible, NOT_PROVEN),
        (DataError, BAD_DATA),
        (BackendUnavailable, NO_BACKEND),
        (RankLost, NO_BACKEND),
    )
    return next((code for kind, code in codes if isinstance(error, kind)), BAD_INPUT)
