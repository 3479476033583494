"""CSV: audit records as rows for a spreadsheet, none of which it would compute, with a word about what a cell lost. Used by `guard audit`."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from typing import TextIO

from guard.auditing.entry import Entry
from guard.auditing.inert import cell


def _joined(*path: str) -> Callable[[Entry], str]:
    def text(one: Entry) -> str:
        found = one.at(*path)
        return " | ".join(map(str, found)) if isinstance(found, list) else ""

    return text


def _first(*paths: tuple[str, ...]) -> Callable[[Entry], str]:
    return lambda one: next((text for path in paths if (text := one.text(*path))), "")


COLUMNS: dict[str, Callable[[Entry], str]] = {
    "chain": lambda one: str(one.sealed.chain),
    "seq": lambda one: str(one.sealed.seq),
    "time": _first(("ts",)),
    "id": _first(("id",)),
    "kind": _first(("kind",)),
    "tenant": _first(("tenant",)),
    "conversation": _first(("conversation",)),
    "turn": _first(("turn",)),
    "position": _first(("position",)),
    "call": _first(("call_id",)),
    "tool": _first(("tool", "name")),
    "principal": _first(("principal",)),
    "actor": _first(("actor", "ref"), ("actor", "type")),
    "verdict": _first(("decision", "verdict")),
    "status": _first(
        *(
            ("approval_state", "decision"),
            ("approval_state", "status"),
            ("exec", "status"),
            ("kill", "status"),
            ("grant", "status"),
        ),
        ("verify", "verdict"),
    ),
    "reason": _first(("decision", "code"), ("exec", "error"), ("gap", "cause"), ("sink", "why")),
    "rules": _joined("decision", "rules"),
    "shadow": _joined("decision", "shadow"),
    "spoof": _joined("spoof"),
    "approval": _first(("approval",)),
    "kill": _first(("kill", "id")),
    "said": _first(("approval_state", "reason"), ("reason",), ("kill", "reason"), ("grant", "reason"), ("decision", "note")),
    "hash": lambda one: one.sealed.hash,
}
HEAD = (*COLUMNS, "changed")
"""The last column names those whose text is not the record's, since a spreadsheet would have computed or hidden it."""


def write(found: Iterable[Entry], out: TextIO) -> int:
    """Write a head and a row for each record; how many cells are not the record's own text."""
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(HEAD)
    changed = 0
    for one in found:
        texts = {name: made(one) for name, made in COLUMNS.items()}
        cells = {name: cell(text) for name, text in texts.items()}
        differ = [name for name in COLUMNS if cells[name] != texts[name]]
        changed += len(differ)
        rows.writerow([*cells.values(), " ".join(differ)])
    return changed


def loss(changed: int) -> str:
    """What is said about changed cells; empty where there are none."""
    cells = "1 cell was" if changed == 1 else f"{changed} cells were"
    return (
        f"{cells} changed so that no spreadsheet computes or hides them (column `changed`); --json has the exact texts"
        if changed
        else ""
    )
