"""Checking: what records and checkpoints prove together, and what they do not, in a report that says both.

A chain shows that its records follow each other; only a checkpoint that was kept elsewhere shows that nobody wrote the chain anew or cut it off.
Nothing shows that a record was true when it was written. Standard library only. Comes after `notes`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from guard.proof.chains import ZEROS, Begin, Chains, Problem, Record
from guard.proof.notes import Judge, Key, Note, leaves_of, read_note, root_of, signed
from guard.proof.segments import Gone, Segments, gone_line, gone_plain

_MARK = '"kind":"audit.checkpoint"'


@dataclass
class Asked:
    """What to check: the records (read twice, the same both times), checkpoints from outside, and who must have signed them.

    `partial`: the records need not begin with the first one. `tops` gives the heads that a store keeps besides. `problems`: what is wrong already.
    """

    read: Callable[[], Iterable[tuple[Record | Begin, str]]]
    notes: list[Note] = field(default_factory=list)
    key: Key | None = None
    judge: Judge | None = None
    partial: bool = False
    tops: Callable[[], Mapping[int, tuple[int, str]]] = dict
    problems: list[Problem] = field(default_factory=list)
    bodies: Callable[[], Iterable[tuple[Record | Begin, str]]] | None = (
        None  # as `read`, where it need not be said what is wrong beside a record
    )


@dataclass
class Report:
    """What was found. `newest` is the last checkpoint that agrees with all records; `covered` of the records are behind it no more."""

    records: int = 0
    chains: int = 0
    checkpoints: int = 0
    outside: int = 0  # of them, those that did not come from the log itself
    unsigned: str = ""  # why no signature was checked
    newest: Note | None = None
    begins: int = 0  # chains that begin later than with their first record
    heads: Mapping[int, tuple[int, str]] = field(default_factory=dict)  # the last record of each chain that holds
    before: int = 0  # so many records are not among those that were checked
    gone: list[Gone] = field(default_factory=list)  # closed months that were dropped
    segments: Segments = field(default_factory=Segments)
    problems: list[Problem] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether nothing is broken."""
        return not self.problems

    @property
    def covered(self) -> int:
        """How many records the newest checkpoint covers."""
        return self.newest.records if self.newest else 0

    @property
    def reach(self) -> int:
        """The last record of chain 0 that the newest checkpoint covers, where its signature was checked."""
        if self.newest is None or self.unsigned:
            return 0
        return max((seq for chain, seq, _ in self.newest.heads if chain == 0), default=0)


def check(asked: Asked) -> Report:
    """Check the checkpoints, then every record, then one against the other."""
    report = Report(outside=len(asked.notes))
    inside = _inside(asked, report.segments)
    notes = _ordered([*asked.notes, *inside], report)
    report.checkpoints = len(notes)
    report.unsigned = _unsigned(asked) if notes else ""
    _signatures(notes, asked, report)
    wanted = {(chain, seq) for note in notes for chain, seq, _ in note.heads}
    tops = asked.tops()
    wanted.update((chain, seq) for chain, (seq, _) in tops.items())
    wanted |= report.segments.wanted()
    chains = Chains(wanted, partial=asked.partial, starts=report.segments.starts())
    for record, also in asked.read():
        if isinstance(record, Record):
            chains.add(record, also)
        else:
            chains.begin(record)
    report.records, report.chains, report.begins = chains.good, len(chains.heads), len(chains.later)
    report.heads, report.before = dict(chains.heads), sum(first - 1 for first in chains.later.values())
    report.problems += asked.problems + chains.problems
    report.problems += [chains.broken[chain] for chain in sorted(chains.broken)]
    _tops(tops, asked.tops(), chains, report)
    _against(notes, chains, report)
    report.problems += report.segments.problems(chains.later, chains.hashes)
    report.gone = report.segments.gone(chains.later, report.reach)
    return report


def _inside(asked: Asked, segments: Segments) -> list[Note]:
    """The checkpoints that the log itself holds; besides, the months that were closed."""
    found = []
    for record, _ in (asked.bodies or asked.read)():
        if isinstance(record, Record):
            segments.add(record)
        if isinstance(record, Record) and record.chain == 0 and isinstance(record.body, str) and _MARK in record.body:
            try:
                found.append(read_note(json.loads(record.body)["checkpoint"]["note"], record.where or f"record {record.seq}"))
            except (ValueError, KeyError, TypeError, RecursionError):
                continue  # the record is changed, as its hash will say, or another program's
    return found


def _ordered(notes: list[Note], report: Report) -> list[Note]:
    """The checkpoints by number, each once. Two different ones of a number, gaps and steps back are problems."""
    found: dict[int, Note] = {}
    for note in notes:
        known = found.setdefault(note.number, note)
        if known.text != note.text:
            what = f"another checkpoint {note.number} than in {known.where}: two logs were shown, or one was written anew"
            report.problems.append(Problem(note.where, what))
    ordered = [found[number] for number in sorted(found)]
    last: Note | None = None
    for note in ordered:
        why = _misfit(note, last)
        if why:
            report.problems.append(Problem(note.where, f"checkpoint {note.number}: {why}"))
        last = note
    return ordered


def _misfit(note: Note, last: Note | None) -> str:
    """What is wrong with a checkpoint by itself and behind the one before."""
    if note.root != root_of(leaves_of(note.heads)) or note.records != sum(seq for _, seq, _ in note.heads):
        return "its root or its count is not that of its heads"
    if last is None:
        return "" if note.number != 1 or note.previous == ZEROS else "the first one names one before it"
    if note.number != last.number + 1:
        return f"the one before it, {note.number - 1}, is missing"
    if note.previous != last.digest:
        return f"it does not follow checkpoint {last.number}"
    before = {chain: seq for chain, seq, _ in last.heads}
    if note.log != last.log or any(seq < before.get(chain, 0) for chain, seq, _ in note.heads):
        return f"it is of another log than checkpoint {last.number}, or of an older state of it"
    return ""


def _unsigned(asked: Asked) -> str:
    if asked.key is None:
        return "no public key was named"
    return "" if asked.judge is not None else "this Python has no Ed25519: install the package cryptography"


def _signatures(notes: list[Note], asked: Asked, report: Report) -> None:
    if asked.key is None or asked.judge is None:
        return
    for note in notes:
        if not signed(note, asked.key, asked.judge):
            what = f"checkpoint {note.number} is forged or of another key: it has no signature of {asked.key.name}+{asked.key.id.hex()}"
            report.problems.append(Problem(note.where, what))


def _tops(before: Mapping[int, tuple[int, str]], after: Mapping[int, tuple[int, str]], chains: Chains, report: Report) -> None:
    """What the store knows of the ends of its chains must be what the records say; meanwhile there may be more of them."""
    for chain, (seq, own) in before.items():
        last = chains.heads.get(chain, (0, ZEROS))[0]
        there = not seq or chains.hashes.get((chain, seq)) == own
        if chain not in chains.broken and not (there and last <= after[chain][0]):
            what = f"chain {chain} ends at record {last}, and its head is record {seq}: records were cut off or added"
            chains.broken[chain] = Problem("", what, chain, min(last, seq) + 1)
            report.problems.append(chains.broken[chain])


def _against(notes: list[Note], chains: Chains, report: Report) -> None:
    """Each checkpoint's heads must be among the records. Of each chain the first contradiction is told."""
    bad: set[int] = set(chains.broken)
    agreed: dict[int, int] = {}  # the newest record of each chain that some checkpoint confirms
    for note in notes:
        whole = not chains.later  # where chains begin later, a checkpoint agrees that meets some record that is there
        compared = [head for head in note.heads if head[1] and head[1] >= chains.later.get(head[0], 0)]
        whole = whole or bool(compared)
        for chain, seq, own in compared:
            if chains.hashes.get((chain, seq)) == own:
                agreed[chain] = seq
                continue
            whole = False
            if chain not in bad:
                bad.add(chain)
                report.problems.append(_contradiction(note, (chain, seq), chains, agreed.get(chain, 0)))
        if whole:
            report.newest = note


def _contradiction(note: Note, at: tuple[int, int], chains: Chains, agreed: int) -> Problem:
    chain, seq = at
    last = chains.heads.get(chain, (0, ""))[0]
    name = f"checkpoint {note.number} of {note.time}"
    if last < seq:
        what = f"chain {chain} ends at record {last}, and {name} has record {seq}: records were cut off, or a backup was put back"
        return Problem(note.where, what, chain, last + 1)
    what = f"record {seq} is not the one of {name}: the chain was written anew from one of the records {agreed + 1} to {seq} on"
    return Problem(note.where, what, chain, agreed + 1)


# -- telling -----------------------------------------------------------------------------------------------------------------


def told(report: Report) -> list[str]:
    """The report for a person."""
    lines = [f"{'BROKEN':<13}{_place(problem)}" for problem in report.problems]
    plural = "chain" if report.chains == 1 else "chains"
    lines.append(f"{'records':<13}{report.records} in {report.chains} {plural} follow each other")
    if report.begins:
        lines.append(f"{'':<13}{report.begins} of the chains begin later than with record 1; what was before is not looked at")
    lines += [f"{'dropped':<13}{gone_line(one)}" for one in report.gone]
    lines.append(f"{'checkpoints':<13}{_checkpoints(report)}")
    lines.append(f"{'proved':<13}{_proved(report)}")
    lines.append(f"{'not proved':<13}{_unproved(report)}")
    return lines


def _place(problem: Problem) -> str:
    at = f"record {problem.seq} of chain {problem.chain}" if problem.seq is not None else ""
    return ": ".join(part for part in (at, problem.where, problem.what) if part)


def _checkpoints(report: Report) -> str:
    if not report.checkpoints:
        return "none"
    signatures = f"signatures not checked, since {report.unsigned}" if report.unsigned else "signed"
    newest = (
        f"the newest that agrees is {report.newest.number} of {report.newest.time}"
        if report.newest
        else "none agrees with the records"
    )
    outside = "" if report.outside else ", all of them from the log itself"
    return f"{report.checkpoints}, {signatures}{outside}; {newest}"


def _proved(report: Report) -> str:
    if report.problems:
        return "that something is broken; see above"
    if report.newest is None or report.unsigned:
        return "no single record was changed, added, taken out or moved without all behind it being written anew"
    when = f"since checkpoint {report.newest.number} was signed"
    left = f"; {report.before} of them are not here, their exports prove what they say" if report.gone else ""
    return f"the first {report.covered} records are what they were {when}: none was changed, added, taken out or moved{left}"


def _unproved(report: Report) -> str:
    loose = [one.closed.month for one in report.gone if not one.covered]
    if loose and report.newest is not None and not report.unsigned:
        return f"that {', '.join(loose)} was closed before its records were dropped: no signed checkpoint covers the record that says so"
    if report.newest is None or report.unsigned:
        return "whoever can write the log could have written it anew or cut off its end: only a signed checkpoint kept elsewhere would show it"
    kept = "" if report.outside else ", nor that newer checkpoints were not cut off with the log, since none was kept elsewhere"
    rest = max(report.records + report.before - report.covered, 0)
    return f"the {rest} records behind it{kept}; and that a record was true when it was written"


def plain(report: Report) -> dict[str, object]:
    """The report for a program."""
    newest = report.newest
    return {
        "ok": report.ok,
        "records": report.records,
        "chains": report.chains,
        "checkpoints": report.checkpoints,
        "from_outside": report.outside,
        "signatures": "none" if not report.checkpoints else "not checked" if report.unsigned else "checked",
        "signatures_why": report.unsigned or None,
        "up_to": None if newest is None else {"checkpoint": newest.number, "time": newest.time, "records": newest.records},
        "dropped": [gone_plain(one) for one in report.gone],
        "problems": [
            {"chain": one.chain, "seq": one.seq, "where": one.where or None, "what": one.what} for one in report.problems
        ],
    }
