"""Texts of others in the audit's outlets: in terminal, CSV, JSON lines and pages they come out as text and as nothing else.

One table of hostile texts and outlets. The texts stand in every field that somebody else may fill: tool names, ids, reasons, principals, conversations, notes, rules, roles,
arguments, tenants, servers.
"""

from __future__ import annotations

import csv
import html
import io
import json
import re
from collections.abc import Callable
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from cli_kit import Run
from search_kit import HOSTILE
from stores_kit import Clock

from guard.auditing import page
from guard.auditing.inert import cell, markup
from guard.auditing.month import report
from guard.cli.logs import existing_log
from guard.core.unseen import one_line, unseen
from guard.stores import open_store

STARTS = "=+-@\uff1d\uff0b\uff0d\uff20\t\r"


def events(text: str) -> list[dict[str, Any]]:
    """A call whose every record holds the text wherever one may stand."""
    tool = {"name": text, "definition": text, "kind": "action", "server": text}
    human = {"type": "human", "ref": text, "assurance": text, "via": text}
    base = {
        "tenant": text,
        "conversation": text,
        "branch": text,
        "principal": text,
        "turn": 1,
        "position": 0,
        "call_id": text,
        "tool": tool,
        "approval": text,
    }
    decision = {"verdict": "refuse", "code": text, "rules": [text], "shadow": [text], "note": text, "policy": text}
    args = {"digest": text, "shown": {text: text}, "labels": {text: text}}
    return [
        {"kind": "call.proposed", **base, "actor": {"type": "agent"}},
        {"kind": "call.decided", **base, "args": args, "spoof": [text], "session": {"roles": [text]}, "decision": decision},
        {"kind": "approval.requested", **base, "approval_state": {"status": "pending", "by": [text], "need": 2}},
        {"kind": "approval.vote", **base, "actor": human, "approval_state": {"status": "refused", "wanted": text, "reason": text}},
        {"kind": "approval.resolved", **base, "actor": human, "approval_state": {"status": "approved", "reason": text}},
        {"kind": "call.end", **base, "exec": {"status": "error", "error": text, "class": text, "reference": text}, "result": {"labels": [text], "digest": text}},
        {"kind": "call.unknown", **base, "exec": {"status": "unknown", "error": text}},
        {"kind": "call.reconciled", **base, "actor": human, "exec": {"status": text}, "reason": text},
        {"kind": "tool.refused", **base, "drift": {"server": text, "why": text}},
        {"kind": "policy.loaded", "actor": human, "decision": {"policy": text}, "reason": text},
        {"kind": f"kill.{text}", "actor": human, "reason": text},
        {"kind": "audit.gap", "actor": human, "reason": text, "counts": {text: 3}},
    ]  # fmt: skip


# -- what each outlet may not do ---------------------------------------------------------------------------------------


def terminal(out: str, text: str) -> None:
    """Nothing that moves a cursor, changes a colour, turns a line round or hides; every line is one of ours."""
    assert [char for char in set(out) if unseen(char) and char != "\n"] == []
    assert one_line(text)[:40] in out


def spreadsheet(out: str, text: str) -> None:
    """The same number of cells in every row, none that would be computed, the text in it, and what changed named."""
    head, *rows = csv.reader(io.StringIO(out))
    assert rows
    assert {len(row) for row in rows} == {len(head)}
    for row in rows:
        assert [cell_ for cell_ in row if cell_[:1] in STARTS and cell_] == []
        assert [cell_ for cell_ in row if re.search(f"; *[{re.escape(STARTS)}]", cell_)] == []
        assert [char for char in set("".join(row)) if unseen(char)] == []
        named = dict(zip(head, row, strict=True))
        assert named["conversation"] in ("", cell(text))
        if named["conversation"]:
            assert ("conversation" in named["changed"].split()) == (cell(text) != text)


def json_lines(out: str, text: str) -> None:
    """One line for each record, in which the text is the same as it was, and nothing a terminal would obey."""
    lines = out.rstrip("\n").split("\n")
    assert all(line.isprintable() for line in lines)
    assert json.loads(lines[0])["conversation"] == text


class _Elements(HTMLParser):
    """Every element and attribute of a page, and its texts."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[tuple[str, str]] = set()
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found |= {(tag, name) for name, _ in attrs} | {(tag, "")}

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def elements(page: str) -> _Elements:
    parser = _Elements()
    parser.feed(page)
    parser.close()
    return parser


PLAIN = "plain"


def kept(folder: Path, name: str, text: str) -> str:
    with closing(open_store(f"sqlite:///{folder}/{name}.db", clock=Clock(1_793_000_000.0))) as store:
        for event in events(text):
            store.record((), [event])
    return f"sqlite:///{folder}/{name}.db"


OUTLETS: dict[str, tuple[tuple[str, ...], Callable[[str, str], None]]] = {
    "table": (("audit",), terminal),
    "json": (("audit", "--json"), json_lines),
    "csv": (("audit", "--csv"), spreadsheet),
    "show": (("audit", "show", "2"), terminal),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_text_does_anything_in_an_outlet(run: Run, tmp_path: Path, name: str) -> None:
    """Terminal, CSV and JSON lines, once each; errors of a search for the text as well."""
    text = HOSTILE[name]
    url = kept(tmp_path, "hostile", text)
    for outlet, (words, judge) in OUTLETS.items():
        ran = run(*words, "--store", url)
        assert ran.code == 0, (outlet, ran.err)
        judge(ran.out, text)
        assert [char for char in set(ran.err) if unseen(char) and char != "\n"] == [], outlet
    if "\0" not in text and name != "half":
        for words in (("show", text), ("--tool", text), ("--since", text), ("report", "--month", text)):
            ran = run("audit", *words, "--store", url) if not text.startswith(("-", "+")) else None
            assert ran is None or [char for char in set(ran.out + ran.err) if unseen(char) and char != "\n"] == []


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> set[tuple[str, str]]:
    """The elements and attributes of the report where every text is a plain one."""
    return elements(report_of(kept(tmp_path_factory.mktemp("plain"), "plain", PLAIN))).found


def report_of(url: str) -> str:
    with existing_log(url) as log:
        return page.whole(report(log, "2026-10"))


@pytest.mark.parametrize("name", HOSTILE)
def test_no_text_becomes_markup_in_the_report(tmp_path: Path, name: str, plain: set[tuple[str, str]]) -> None:
    """The page has the same elements and attributes as with a plain text, the text is in it as text, and nothing unseen."""
    made = report_of(kept(tmp_path, "hostile", HOSTILE[name]))
    found = elements(made)
    assert found.found == plain
    assert [char for char in set(made) if unseen(char) and char != "\n"] == []
    assert any(one_line(HOSTILE[name]) in piece for piece in found.text)


@pytest.mark.parametrize("name", HOSTILE)
def test_markup_and_cells_are_what_they_say(name: str) -> None:
    """A cell is one line that no spreadsheet computes; markup is a text without elements that reads as the text on one line."""
    text = HOSTILE[name]
    assert html.unescape(markup(text)) == one_line(text)
    assert not set(markup(text)) & set("<>\"'")
    assert cell(text)[:1] not in STARTS
    assert cell(cell(text)) == cell(text)


@pytest.mark.parametrize("text", ["plain", "a-b", "a=b", "x; y", "3860.00", "p, employee, *, pay, call, allow", "名前"])
def test_ordinary_cells_stay_as_they_are(text: str) -> None:
    """What no spreadsheet would compute is not touched."""
    assert cell(text) == text
