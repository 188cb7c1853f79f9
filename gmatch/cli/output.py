"""Files of answers: whole, or not there."""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
import shutil
import stat
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from ..arrays import to_host
from ..errors import DataError, InvalidInput
from .terminal import Facts

ENDINGS = (".npz", ".csv", ".tsv", ".json")
OUTPUT_HELP = """\
write the answer to this file: a line for each pair (.csv, .tsv), the facts and the pairs (.json), or arrays (.npz)"""
COLUMNS = ("row", "column", "cost")
Pairs = Sequence[tuple[Any, ...]]


def add_output(command: argparse.ArgumentParser) -> None:
    command.add_argument("--output", type=Path, metavar="FILE", help=OUTPUT_HELP)


def check_output(path: Path | None) -> None:
    """Refuses, before any work, a path that could not be written: the answer would be lost."""
    if path is None:
        return
    if path.suffix and path.suffix.lower() not in ENDINGS:
        raise InvalidInput(f"--output must end in {', '.join(ENDINGS)}; got {path}")
    try:
        there = path.stat()
    except FileNotFoundError:
        _check_folder(_target(path).parent)
        return
    except OSError as error:
        raise InvalidInput(f"--output must name a file that can be written to; {path}: {error.strerror}") from None
    for is_kind, kind in ((stat.S_ISDIR, "folder"), (stat.S_ISSOCK, "socket")):
        if is_kind(there.st_mode):
            raise InvalidInput(f"--output must name a file; {path} is a {kind}")
    if not os.access(path, os.W_OK):
        raise InvalidInput(f"--output must name a file that can be written to; {path} is write-protected")
    if stat.S_ISREG(there.st_mode):
        _check_folder(_target(path).parent)
        if os.path.samestat(there, os.fstat(1)):
            raise InvalidInput(f"--output must name another file than standard output goes to; got {path}")


def _check_folder(folder: Path) -> None:
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        wrong = "cannot be written to" if folder.is_dir() else "does not exist"
        raise InvalidInput(f"--output must name a file in a folder that can be written to; {folder} {wrong}")


def write_answer(
    path: Path | None, facts: Facts, pairs: Pairs, arrays: Mapping[str, Any], columns: Sequence[str] = COLUMNS
) -> None:
    """Writes the answer in the form that the ending names; arrays without an ending. `columns` name the parts of a
    pair."""
    if path is None:
        return
    ending = path.suffix.lower()
    try:
        with _output(path) as file:
            if ending == ".json":
                file.write(
                    f"{json.dumps(facts | {'assignment': named(pairs, columns)})}\n".encode(errors="surrogateescape")
                )
            elif ending in (".csv", ".tsv"):
                file.write(_as_text(pairs, columns, "," if ending == ".csv" else "\t").encode(errors="surrogateescape"))
            else:
                np.savez_compressed(file, **{name: to_host(array) for name, array in arrays.items()})
    except OSError as error:
        raise DataError(f"could not write {path}: {error.strerror}") from None


def named(pairs: Pairs, columns: Sequence[str]) -> list[dict[str, Any]]:
    """Pairs as objects of JSON."""
    return [dict(zip(columns, pair, strict=True)) for pair in pairs]


def _as_text(pairs: Pairs, columns: Sequence[str], separator: str) -> str:
    """A line of column names, then a line for each pair."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(pairs)
    return text.getvalue()


@contextmanager
def _output(path: Path) -> Iterator[IO[bytes]]:
    """A regular file appears whole or not at all: no reader sees half of it. Pipes and devices are written directly."""
    if path.exists() and not path.is_file():
        archive = io.BytesIO()  # zipfile asks for positions, and /dev/null is always at 0
        yield archive
        path.write_bytes(archive.getbuffer())
        return
    target = _target(path)
    partial = target.with_name(f".{uuid.uuid4()}.partial")  # no longer if the name is long
    try:
        with partial.open("xb") as file:
            if target.exists():
                shutil.copymode(target, partial)
            yield file
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def _target(path: Path) -> Path:
    """The file itself, not a link to it."""
    return Path(os.path.realpath(path))
