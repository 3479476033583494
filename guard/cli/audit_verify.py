"""`guard audit verify`: what the records of a store, or of exported files, prove together with checkpoints.

    guard audit verify      check a store or exported files
    guard audit verifier    print the program that checks exported files without the guard

The checking is `guard.proof`'s, and only reads. In a store a record says afterwards who verified it, up to where and with which verdict.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from itertools import chain

from guard.cli import whose
from guard.cli.dropped import Earlier, carried
from guard.cli.places import UsageError
from guard.cli.rows import rows_against
from guard.cli.show import json_text, spell
from guard.cli.verifying import verifiable
from guard.core.log import Sealed, Stray, Verifiable
from guard.proof.alone import check_files, key_of
from guard.proof.chains import Begin, Problem, Record
from guard.proof.checking import Asked, Report, check, plain, told
from guard.proof.notes import Key, Note, ed25519, read_checkpoints
from guard.proof.tables import Replay

_PAGE = 5000
EXAMPLES = """examples:
  guard audit verify                                                    the records of guard.db, and the checkpoints among them
  guard audit verify --checkpoints /mnt/checkpoints.jsonl --public-key guard-audit.pub
  guard audit verify audit-2026-10.jsonl audit-2026-11.jsonl            exported files, in the order in which they were written
  guard audit verify --no-record                                        for an auditor: the store is only read
  guard audit verifier > verify_alone.py                                a program for somebody who does not have the guard

It says what is proved, up to which checkpoint, and what is not. Exit code 1 when something is broken; the first broken record is named. In a store it
also compares what the tables say of approvals, votes and grants, and by what records are found, with the records; then a record (audit.verify)
says who verified it, up to where, and what was found. A file that cannot be written is verified all the same."""


def add_verify(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `verify`."""
    parser = verbs.add_parser(
        "verify",
        help="check the chains and checkpoints of a store or of exported files, and say what that proves",
        description="Check that no record was changed, added, taken out or moved, and say up to which checkpoint that is proved.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("exports", nargs="*", metavar="EXPORT.jsonl", help="files of `guard audit --json`, in place of a store")
    parser.add_argument("--store", default=argparse.SUPPRESS, metavar="URL", help="default: that of guard audit")
    parser.add_argument("--checkpoints", action="append", default=[], metavar="FILE", help="a file that checkpoints went to")
    parser.add_argument("--public-key", metavar="KEY", help="what guard audit key printed, or a file with it")
    parser.add_argument("--partial", action="store_true", help="the files need not begin with the first record")
    parser.add_argument(
        "--closed",
        action="append",
        default=[],
        metavar="EXPORT",
        help="the export of a month that was dropped; may be repeated, the oldest first",
    )
    parser.add_argument(
        "--no-record", dest="record", action="store_false", help="only read: no record says that the store was verified"
    )
    parser.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="one object")
    whose.add(parser)
    parser.set_defaults(run=verify)


def verify(arguments: argparse.Namespace) -> int:
    """Exit code 1 when something is broken."""
    try:
        key = key_of(arguments.public_key)
        if arguments.exports:
            report = check_files(arguments.exports, arguments.checkpoints, key, partial=arguments.partial)
            tell(report, json=arguments.json)
        else:
            with verifiable(arguments.store, record=arguments.record, policy=arguments.policy) as (log, record):
                report = stored_report(log, arguments.checkpoints, key, arguments.closed)
                tell(report, json=arguments.json)
                if why := record(report):
                    print(f"guard: no record says that this was verified: {why}", file=sys.stderr)
    except OSError as error:
        raise UsageError(f"{spell(str(error.filename))}: cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise UsageError(spell(str(error))) from error
    return 0 if report.ok else 1


def tell(report: Report, *, json: bool) -> None:
    """Print a report."""
    if json:
        print(json_text(plain(report)), flush=True)
    else:
        print("\n".join(map(spell_line, told(report))), flush=True)


def spell_line(line: str) -> str:
    """A line of a report; its columns stay."""
    return line[:13] + spell(line[13:])


def stored_report(store: Verifiable, checkpoints: Sequence[str], key: Key | None, closed: Sequence[str] = ()) -> Report:
    """What the records of a store prove, with the checkpoints of these files and those among the records. Raises OSError.

    `closed`: exports of months that were dropped; with them the records are checked as if they had stayed.
    """
    problems: list[Problem] = []
    notes: list[Note] = []
    for path in checkpoints:
        notes += read_checkpoints(path, problems)
    before, earlier, secret = store.tabled(), Earlier(store, closed), getattr(store, "secret", b"")
    replay = [Replay(secret)]

    def read() -> Iterable[tuple[Record | Begin, str]]:
        replay[0] = told = Replay(secret)
        for one, wrong in chain(earlier.records(), _records(store)):
            told.add(one.chain, one.seq, one.body)
            yield one, wrong

    def bodies() -> Iterable[tuple[Record | Begin, str]]:
        return chain(earlier.records(), _records(store, beside=False))

    report = check(Asked(read=read, bodies=bodies, notes=notes, key=key, judge=ed25519(), tops=store.heads, problems=problems))
    report.problems += [Problem(f"table {one.table}", _stray(one), one.chain, one.seq) for one in store.strays()]
    if not any(one.seq is not None and not one.where for one in report.problems):
        report.problems += rows_against(store, replay[0], report.heads, cut=bool(report.begins))
    report.problems += earlier.problems(report.segments)
    report.problems += replay[0].against(before, store.tabled(), carried(report.segments) if report.begins else None)
    return report


def _stray(one: Stray) -> str:
    said = {
        "audit": "no chain has a place for this record",
        "claims": "it takes a call that is not among the calls of the store",
        "segment_ends": "it lets records before this one be deleted, and nobody is dropping them",
    }
    return said.get(one.table, "this row is about a record that there is not")


def _records(store: Verifiable, *, beside: bool = True) -> Iterable[tuple[Record, str]]:
    """Every record of a store, a page at a time, and what is wrong with the columns beside it, where that is asked."""
    for number in range(store.chains):
        after = 0
        while page := store.audit(chain=number, after=after, limit=_PAGE):
            wrong = _copies(store, number, after, page) if beside else {}
            yield from ((Record(one.chain, one.seq, one.prev, one.hash, one.body), wrong.get(one.seq, "")) for one in page)
            after = page[-1].seq
            if type(after) is not int:  # a file holds whatever is put into it; what is no number comes last
                break


def _copies(store: Verifiable, number: int, after: int, page: Sequence[Sealed]) -> dict[int, str]:
    """By number the records beside which something else is filed than they say. A store that files nothing has none.

    What comes behind the last record that is filed is not filed yet; a search reads it. Whether more is filed behind this page is asked first: it may be filed meanwhile.
    """
    filed = getattr(store, "copies", None)
    if filed is None:
        return {}
    differing = import_module("guard.stores.filing").differing
    page = [one for one in page if type(one.seq) is int and type(one.body) is str]  # as the chain says of the others
    if not page:
        return {}
    last = page[-1].seq
    whole = bool(filed(chain=number, after=last, limit=1))
    stored = {one.seq: one for one in filed(chain=number, after=after, limit=_PAGE)}
    end = last if whole else max(stored, default=after)
    found = {one.seq: differing(one, stored.get(one.seq)) for one in page if one.seq <= end}
    return {seq: f"what is filed about the record differs from it: {', '.join(names)}" for seq, names in found.items() if names}


def add_verifier(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `verifier`."""
    parser = verbs.add_parser(
        "verifier",
        help="print a program that checks exported files without the guard",
        description="Print a Python program that checks exported files and checkpoints; it needs nothing but Python (and cryptography for signatures).",
        epilog="examples:\n  guard audit verifier > verify_alone.py\n  python verify_alone.py audit.jsonl",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=verifier)


def verifier(_: argparse.Namespace) -> int:
    """Print the program."""
    from guard.proof.verifier import source  # noqa: PLC0415 - reads the package's own files

    print(source(), end="")
    return 0
