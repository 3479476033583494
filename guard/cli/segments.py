"""`guard audit close` and `guard audit drop`: a month of records written to a file, and its records let go once that file is kept elsewhere.

    guard audit close    write the records of a month to a file, and put on record what it holds
    guard audit drop     delete the records of a closed month from the store

What a month is and what such records say is `guard.proof.closing`'s; what may be deleted is the store's.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress
from pathlib import Path

from guard.auditing import moments
from guard.cli import whose
from guard.cli.audit_verify import stored_report
from guard.cli.places import UsageError, existing_file, existing_store
from guard.cli.progress import Progress
from guard.cli.show import json_text, spell
from guard.core.exported import read_first
from guard.core.log import Segment
from guard.core.ports import Store
from guard.errors import GuardError
from guard.proof import closing
from guard.proof.alone import check_files, key_of
from guard.proof.checking import Report, told
from guard.proof.keeper import Checkpoints, Keeper
from guard.proof.notes import Key
from guard.stores.outbox import outbox_of

CLOSE = """examples:
  guard audit close --month 2026-10 --export /archive/audit-2026-10.jsonl --key guard-audit.key --to /mnt/other/checkpoints.jsonl
  guard audit close --month 2026-10 --export audit-2026-10.jsonl        without a checkpoint: nothing of it can be dropped before one is made

The file holds every record that was not closed before, up to the end of the month, chain by chain; guard audit verify FILE checks it, several in the order of their
months. A month is closed when it is over (UTC), the log holds, and nothing in it is open: no approval that waits or may be used, no call that is started or
unknown. Then a record (audit.segment_closed) says what the file holds, with its SHA-256, and with --key a signed checkpoint over that record is made and sent."""
DROP = """examples:
  guard audit drop --month 2026-10 --export /archive/audit-2026-10.jsonl --public-key guard-audit.key.pub
  guard audit drop --month 2026-10 --export audit-2026-10.jsonl --public-key guard-audit.key.pub --checkpoints checkpoints.jsonl --yes

The records of the month and of all before it go, but for the last one of each chain: approvals, calls, grants, budgets and values stay. First the file is checked
again (its SHA-256 is the one on record, its chains hold), the log is, and a signed checkpoint must cover the record that says that the month was closed. From then on guard audit
verify begins where the month ended and says so; guard audit verify --closed FILE checks file and store as one log. On PostgreSQL it takes a role that may delete."""
_SOME = 10
_PORTION = 2000


class _NotNowError(GuardError):
    """The month cannot be closed or dropped as things stand: exit code 1."""


def add_close(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `close`."""
    parser = _parser(verbs, "close", "write a month's records to a file and put on record what it holds", CLOSE)
    parser.add_argument("--export", required=True, metavar="FILE", help="a new file for the records")
    parser.add_argument("--key", metavar="FILE", help="the key that guard audit key made: a checkpoint is made behind it")
    parser.add_argument(
        "--to",
        action="append",
        default=[],
        metavar="PLACE",
        help="where the checkpoint goes: a file, https://…, or command:PROGRAM",
    )
    parser.set_defaults(run=lambda arguments: _carried_out(close, arguments))


def add_drop(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `drop`."""
    parser = _parser(verbs, "drop", "delete the records of a closed month, which its file holds", DROP)
    parser.add_argument("--export", required=True, metavar="FILE", help="the file that the month was closed with")
    parser.add_argument("--public-key", required=True, metavar="KEY", help="what guard audit key printed, or a file with it")
    parser.add_argument("--checkpoints", action="append", default=[], metavar="FILE", help="a file that checkpoints went to")
    parser.add_argument("--yes", action="store_true", help="do not ask at the terminal")
    parser.set_defaults(run=lambda arguments: _carried_out(drop, arguments))


def _parser(
    verbs: argparse._SubParsersAction[argparse.ArgumentParser], name: str, what: str, epilog: str
) -> argparse.ArgumentParser:
    description = f"{what[0].upper()}{what[1:]}."
    parser = verbs.add_parser(
        name, help=what, description=description, epilog=epilog, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--month", required=True, metavar="YYYY-MM", help="UTC")
    parser.add_argument("--store", default=argparse.SUPPRESS, metavar="URL", help="default: that of guard audit")
    parser.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="one object")
    whose.add(parser)
    return parser


def _carried_out(act: object, arguments: argparse.Namespace) -> int:
    try:
        with existing_store(arguments.store, locked=True) as store:
            return int(act(store, arguments))  # type: ignore[operator] # one of the two below
    except _NotNowError as error:
        print(f"guard: {spell(str(error))}", file=sys.stderr)
        return 1
    except OSError as error:
        raise UsageError(f"{spell(str(error.filename))}: {error.strerror}") from error
    except ValueError as error:
        raise UsageError(spell(str(error))) from error


def close(store: Store, arguments: argparse.Namespace) -> int:
    """Exit code 1 where something in the month is open, or the log does not hold."""
    month = _month(arguments.month)
    end = moments.month(month)[1]
    keeper, actor = _keeper(store, arguments), whose.actor(store, arguments.policy)
    known = store.segments()
    if store.now() < end:
        raise UsageError(f"--month {month}: it is not over; a month ends at 00:00 UTC")
    if known and end <= known[-1].until:
        raise UsageError(f"--month {month}: {known[-1].month} was closed already, with everything before it")
    _refuse_open(store, month, end)
    _whole(stored_report(store, [], None))  # earlier checkpoints may be of another key: whoever drops the month names one
    made = closing.Segment(number=len(known) + 1, behind=dict(known[-1].ends) if known else {})
    with Progress("records written") as progress:
        whole = sum(seq for seq, _ in store.heads().values())
        closing.write(store, Path(arguments.export), made, end, lambda done: progress.told(done, whole))
    if not made.records:
        raise _NotNowError(f"there is no record of {month} or before that is not closed already")
    one = Segment(number=made.number, month=month, until=end, digest=made.digest, ends=made.last)
    event = closing.closed(made, month, end, actor, store.tabled())
    if store.close_segment(one, event) is None:
        Path(arguments.export).unlink()
        _refuse_open(store, month, end)
        raise _NotNowError(f"somebody else closed a month meanwhile; {month} was not closed")
    point = None if keeper is None else keeper.look(now=True)
    told = {"segment": made.number, "month": month, "records": made.records, "sha256": made.digest, "bytes": made.size}
    if arguments.json:
        print(json_text({**told, "export": arguments.export, "checkpoint": None if point is None else point.number}))
    else:
        signed = (
            f"; checkpoint {point.number} covers that" if point else "; no checkpoint covers that yet (guard audit checkpoint)"
        )
        print(f"{month} is closed: {made.records} records in {spell(arguments.export)}, SHA-256 {made.digest}{signed}")
    return 0


def _keeper(store: Store, arguments: argparse.Namespace) -> Keeper | None:
    if bool(arguments.key) != bool(arguments.to):
        raise UsageError("--key and --to: a checkpoint needs both, a key and a place outside of the store")
    if not arguments.key:
        return None
    existing_file(arguments.key, "--key")
    return Keeper(store, Checkpoints(key=arguments.key, to=arguments.to), start=False)


def _month(text: str) -> str:
    try:
        moments.month(text)
    except ValueError as error:
        raise UsageError(f"--month {spell(text)}: {error}") from None
    return text


def _refuse_open(store: Store, month: str, end: float) -> None:
    store.approvals(status="pending")  # writes down those whose time is over
    found = store.open_before(end)
    if not found:
        return
    more = f"\n  and {len(found) - _SOME} more" if len(found) > _SOME else ""
    listed = "".join(f"\n  {spell(one)}" for one in found[:_SOME])
    print(f"guard: {month} cannot be closed, since this began in it and is not over:{listed}{more}", file=sys.stderr)
    raise _NotNowError(
        "decide or withdraw approvals (guard approvals list), settle unknown calls (guard approvals unknown), and close it again"
    )


def _whole(report: Report) -> None:
    if not report.ok:
        first = next(line for line in told(report) if line.startswith("BROKEN"))
        raise _NotNowError(
            f"the log does not hold, so nothing was done (guard audit verify): {first.removeprefix('BROKEN').strip()}"
        )


# -- dropping ------------------------------------------------------------------------------------------------------------------


def drop(store: Store, arguments: argparse.Namespace) -> int:
    """Exit code 1 where the file or the log does not hold, or no signed checkpoint covers the month."""
    month, key, actor = _month(arguments.month), key_of(arguments.public_key), whose.actor(store, arguments.policy)
    existing_file(arguments.export, "--export")
    segment = next((one for one in store.segments() if one.month == month), None)
    if segment is None:
        raise UsageError(f"--month {month}: it was not closed (guard audit close)")
    older = [one.month for one in store.segments() if one.number < segment.number and one.dropped is None]
    if older:
        raise _NotNowError(f"{', '.join(older)} must be dropped first: what is deleted is held against its own file")
    _same_file(arguments.export, segment)
    _covered(store, arguments.checkpoints, key, segment)
    _sent_on(store, segment)
    whole = sum(seq - 1 for seq, _ in segment.ends.values())
    if not arguments.yes and not _confirmed(
        f"The records up to the end of {month} go from the store; {arguments.export} has to be kept. Go on? [y/N] "
    ):
        print("guard: nothing was dropped", file=sys.stderr)
        return 1
    with suppress(AttributeError):
        store.catch_up()  # type: ignore[attr-defined] # what is to be filed is filed first
    event, gone = closing.dropped(segment.number, month, segment.digest, segment.ends, actor), 0
    with Progress("records dropped") as progress:
        while count := store.drop_segment(segment.number, event, most=_PORTION):
            gone += count
            progress.told(gone, whole)
    if arguments.json:
        print(json_text({"segment": segment.number, "month": month, "dropped": gone, "sha256": segment.digest}))
    else:
        print(f"{gone} records up to the end of {month} are dropped; their export has the SHA-256 {segment.digest}")
    return 0


def _same_file(path: str, segment: Segment) -> None:
    """Hold a file against what is on record, and check its chains. Raises GuardError."""
    if closing.file_digest(path)[0] != segment.digest:
        raise _NotNowError(f"{path} is not what {segment.month} was closed with: its SHA-256 is another one")
    report = check_files([path], [], None, partial=True)
    with Path(path).open("rb") as file:
        number, behind = read_first(file.readline().decode())
    ends = {chain: head for chain, head in segment.ends.items() if head[0]}
    if not report.ok or number != segment.number or {**behind, **report.heads} != ends:
        raise _NotNowError(f"{path} does not hold the records of {segment.month} whole")


def _covered(store: Store, checkpoints: list[str], key: Key | None, segment: Segment) -> None:
    """The log holds, and a signed checkpoint covers the record that says that the month was closed as it was. Raises GuardError."""
    report = stored_report(store, checkpoints, key)
    _whole(report)
    one = report.segments.closed.get(segment.number)
    same = one is not None and (one.month, one.digest) == (segment.month, segment.digest)
    if one is None or not same or {chain: head for chain, head in one.last.items() if head[0]} != dict(segment.ends):
        raise _NotNowError(f"no record says that {segment.month} was closed as the store has it")
    if report.reach < one.seq:
        why = f" ({report.unsigned})" if report.unsigned else ""
        raise _NotNowError(
            f"no signed checkpoint covers the record that says that {segment.month} was closed{why}: guard audit checkpoint"
        )


def _sent_on(store: Store, segment: Segment) -> None:
    """No sink still has to take a record that would go. Raises GuardError."""
    outbox = outbox_of(store)
    for sink in outbox.sinks():
        behind = any(seq > sink.cursors.get(chain, 0) for chain, (seq, _) in segment.ends.items())
        aside = any(letter.seq < segment.ends.get(letter.chain, (0, ""))[0] for letter in outbox.letters(sink.sink, 1 << 30))
        if behind or aside:
            what = "has records set aside" if aside else "has not taken all records"
            raise _NotNowError(f"the sink {sink.sink} {what} of {segment.month} or before: guard sinks status")


def _confirmed(question: str) -> bool:
    print(question, end="", file=sys.stderr, flush=True)
    return sys.stdin.isatty() and sys.stdin.readline().strip().lower() in {"y", "yes"}
