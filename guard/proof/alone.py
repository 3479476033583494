"""Checks an exported audit log of `guard` against its own chains and against signed checkpoints, with Python 3.11 and nothing else.

    python verify_alone.py [--checkpoints FILE] [--public-key KEY-OR-FILE] [--partial] [--json] EXPORT.jsonl …

Files are given in the order in which they were written. Signatures are checked where the package `cryptography` is installed; else that is
said. Exit code 0: everything that could be checked holds; 1: something is broken; 2: it was called wrongly.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from guard.proof.chains import Begin, Problem, Record
from guard.proof.checking import Asked, Report, check, plain, told
from guard.proof.exports import read_export
from guard.proof.notes import Key, Note, ed25519, read_checkpoints, read_key


def check_files(exports: Sequence[str], checkpoints: Sequence[str], key: Key | None, *, partial: bool = False) -> Report:
    """Check exported files, in the order given. Raises OSError where one cannot be read, ValueError where it is no file."""
    problems: list[Problem] = []
    notes: list[Note] = []
    for path in checkpoints:
        notes += read_checkpoints(path, problems)
    known = len(problems)

    def read() -> Iterable[tuple[Record | Begin, str]]:
        found: list[Problem] = []
        yield from ((record, "") for record in read_export(exports, found))
        problems[known:] = found  # each time the same

    return check(Asked(read=read, notes=notes, key=key, judge=ed25519(), partial=partial, problems=problems))


def key_of(given: str | None) -> Key | None:
    """A public key as text, or in a file. Raises ValueError."""
    if given is None:
        return None
    path = Path(given)
    return read_key(path.read_text("utf-8") if "+" not in given or path.is_file() else given)


def main(argv: Sequence[str] | None = None) -> int:
    """Check what the command line names, and say what was found."""
    parser = argparse.ArgumentParser(description="Check an exported audit log of guard.")
    parser.add_argument("exports", nargs="+", metavar="EXPORT.jsonl")
    parser.add_argument("--checkpoints", action="append", default=[], metavar="FILE")
    parser.add_argument("--public-key", metavar="KEY", help="the text that `guard audit key` printed, or a file with it")
    parser.add_argument("--partial", action="store_true", help="the files need not begin with the first record")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(argv)
    try:
        report = check_files(given.exports, given.checkpoints, key_of(given.public_key), partial=given.partial)
    except (OSError, ValueError) as error:
        parser.error(_seen(str(error)))
    print(json.dumps(plain(report)) if given.json else "\n".join(map(_seen, told(report))))  # noqa: T201 - a program
    return 0 if report.ok else 1


def _seen(line: str) -> str:
    """A line with nothing in it that a terminal would not show, or would obey: names of files and checkpoints are others' texts."""
    return "".join(char if char.isprintable() else f"[U+{ord(char):04X}]" for char in line)


if __name__ == "__main__":
    sys.exit(main())
