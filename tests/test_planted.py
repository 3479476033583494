"""Planted secrets and personal values of every kind of the shared cases: in nothing that leaves or is kept, the encrypted payloads excepted.

Planted in arguments, names of arguments, results, exceptions, declared errors, reasons of votes and kills, names of tools and the model's words; looked for in the bytes of the store's
files with the write-ahead log, the exported records, a closed month, what verify says, the month's report, the audit's pages, the log and standard error: as they are, in base64, in URLs and
as JSON writes them.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from cli_kit import guard
from console_kit import console
from corpora import needed, read
from record_walk_kit import TRACE
from reports import BOSS, U1, Desk, start
from test_outlets import FOUND, heard
from test_payload_keys import KEY, KEYS

from guard import Session, ToolCall, ToolError
from guard.proof import closing
from guard.redactors import REDACTOR
from guard.runner.tracing import within

POLICY = """
    tools:
      look: {kind: read, allow: [staff]}
      fail: {kind: read, allow: [staff]}
      tell: {kind: action, allow: [staff], approve: never}
      ask: {kind: action, allow: [staff], approve: {by: [boss]}, schema: {type: object, additionalProperties: true}}
"""
ROOT = Session(principal="root", roles=("boss",))
_SHORT = 7  # characters: a shorter value would be found by chance


def look(text: str, more: Any = None) -> Any:
    """Returns what it was sent, under several names and encoded."""
    return {"found": text, "list": [text, {"x": text}], "json": json.dumps({"v": text})}


def fail(text: str) -> Any:
    raise RuntimeError(f"cannot do {text}") from KeyError(text)


def tell(text: str) -> Any:
    raise ToolError(f"no {text} here")


def ask(**given: Any) -> Any:
    return list(given)


def planted() -> Iterator[tuple[str, str, str]]:
    """One of each kind that the detectors find: kind, text, value."""
    seen: set[str] = set()
    for name in ("spans_pii", "spans_secrets"):
        for row in read(f"redaction/{name}.jsonl"):
            text = row.get("text") or "".join(row["text_parts"])
            for span in row["spans"]:
                value = text[span["start"] : span["end"]]
                plain = len(value) >= _SHORT and not span.get("weak") and not span.get("line") and len(text) < 500
                if span["type"] not in seen and plain and value not in REDACTOR.detect(None, text)[0]:
                    seen.add(span["type"])
                    yield span["type"], text, value


def forms(value: str) -> set[bytes]:
    """A value in bytes, in base64 at each offset, in a URL, and as JSON writes it."""
    raw = value.encode()
    coded = {base64.b64encode(b"x" * shift + raw)[4 if shift else 0 : -4] for shift in range(3)}
    texts = {quote(value, safe=""), json.dumps(value)[1:-1], json.dumps(json.dumps(value)[1:-1])[1:-1]}
    return {raw, *(one for one in coded if len(one) >= _SHORT), *(text.encode() for text in texts)}


def walk(desk: Desk, number: int, text: str) -> None:
    """Every way by which a value may come in."""
    desk.propose(
        (f"l{number}", "look", {"text": text, "more": {"deep": [json.dumps({"v": text})]}}),
        (f"f{number}", "fail", {"text": text}),
        (f"t{number}", "tell", {"text": text}),
        (f"n{number}", f"use {text}"[:200], {"text": text}),
        (f"a{number}", "ask", {"text": text, text[:100]: 1}),
    )
    [question] = desk.pending()
    desk.guard.approvals.reject(question.id, approver=BOSS, reason=f"because of {text}")
    desk.settle()
    beside(desk, number, text)


def stopped(desk: Desk, number: int, text: str) -> None:
    """An operator stops calls while one waits, says why, and lets them go on; the calls come in a trace of the program."""
    with within(TRACE):
        desk.guard.call(ToolCall("s", "ask", {"text": text}), U1, conversation=f"stopped {number}")
    kill = desk.guard.kills.set(by=ROOT, reason=f"stop, since {text}", conversation=f"stopped {number}")
    desk.guard.call(ToolCall("s", "ask", {"text": text}), U1, conversation=f"stopped {number}")
    desk.guard.kills.clear(kill, by=ROOT, reason=f"mended: {text}")


def closed(desk: Desk, folder: Path) -> bytes:
    """The file of a closed month with everything, which goes on record as well."""
    made = closing.write(desk.guard.store, folder / "month.jsonl", closing.Segment(number=1, behind={}), 1e10, lambda _: None)
    desk.guard.store.record((), (closing.closed(made, "2027-01", 1e10, {"type": "human", "ref": "root"}, {}),))
    return (folder / "month.jsonl").read_bytes()


def pages(folder: Path, **given: Any) -> bytes:
    """The audit's pages: the list, kills, the report, and the calls that the list leads to."""
    (folder / "console").mkdir()
    with console(folder / "console", store=f"sqlite:///{folder}/guard.db", **given) as found:
        browser = found.browser("r.admin", scope="admin", tenant="default")
        paths = ["/audit", "/audit?kind=kill.*", "/audit/report?month=2027-01", "/audit/report/file?month=2027-01"]
        sources = [browser.open(path).source for path in paths]
        calls = dict.fromkeys(re.findall(r'href="(/audit/[^"?]+)"', "".join(sources[:2])))
        sources += [browser.open(path).source for path in list(calls)[:20]]
    assert all(len(source) > 500 for source in sources)
    return "".join(sources).encode()


def beside(desk: Desk, number: int, text: str) -> None:
    """What the model writes beside a call that waits for a person."""
    held = desk.guard.call(ToolCall("w", "ask", {"n": number}), U1, conversation=f"beside {number}", words=f"So: {text}")
    desk.guard.approvals.reject(held.approval, approver=BOSS, reason="no")


def found_in(outlets: dict[str, bytes], values: dict[str, str]) -> list[tuple[str, str]]:
    """Which kinds of value stand in which outlets, in whatever form."""
    return [
        (name, kind)
        for name, data in outlets.items()
        for kind, value in values.items()
        if any(form in data for form in forms(value))
    ]


def besides(folder: Path, **given: Any) -> dict[str, bytes]:
    """What verify and the month's report say, and the audit's pages; the records of kills, of the month and of verifying are there."""
    verified, report = (guard("audit", *words.split(), cwd=folder) for words in ("verify", "report --month 2027-01"))
    shown = guard("audit", "--json", cwd=folder).out
    assert all(f'"kind":"{kind}"' in shown for kind in ("kill.set", "kill.cleared", "audit.verify", "audit.segment_closed"))
    told = {"verified": verified.out + verified.err, "report": report.out + report.err}
    return {**{name: text.encode() for name, text in told.items()}, "pages": pages(folder, **given)}


def played(
    folder: Path, cases: list[tuple[str, str, str]], *, whole: bool = False, **given: Any
) -> tuple[dict[str, bytes], bytes]:
    """The outlets after all cases, and the bytes of the store."""
    tools = {"look": look, "fail": fail, "tell": tell, "ask": ask}
    with heard() as told:
        desk = start(folder, "openai-chat", POLICY, tools, store="sqlite")
        desk.guard.close()
        desk.guard = desk.load(**given)
        desk.chat = desk.guard.open(**desk.opening)
        for number, (_, text, _) in enumerate(cases):
            walk(desk, number, text)
            if whole:
                stopped(desk, number, text)
        month = closed(desk, folder) if whole else b""
        kept = b"".join(path.read_bytes() for path in sorted(folder.glob("guard.db*")))
        desk.guard.close()
    more = besides(folder, **given) if whole else {}
    shown = guard("audit", "--json", cwd=folder)
    listed = guard("audit", cwd=folder)
    log = told.getvalue().encode()
    return {
        "log": log,
        "records": shown.out.encode(),
        "table": listed.out.encode(),
        "month": month,
        "error": (shown.err + listed.err).encode(),
        **more,
    }, kept


@needed("redaction")
@pytest.mark.slow
def test_every_kind_of_the_shared_cases(tmp_path: Path) -> None:
    """In no outlet, and in no byte of a store whose payloads are encrypted."""
    cases = list(planted())
    assert len(cases) > 100
    outlets, kept = played(tmp_path, cases, payload_key=KEYS)
    assert not found_in({**outlets, "file": kept}, {kind: value for kind, _, value in cases})


@pytest.mark.parametrize("key", [None, KEYS], ids=["plain", "encrypted"])
def test_a_few_kinds_and_where_they_stand(tmp_path: Path, key: Any) -> None:
    """The same with three kinds; without a key the search finds them in the file, so it finds what is there."""
    cases = [("mail", "write to kim.doe@example.com", "kim.doe@example.com"), ("token", f"token {FOUND} ok", FOUND)]
    outlets, kept = played(
        tmp_path, [*cases, ("card", "pays with 4111 1111 1111 1111", "4111 1111 1111 1111")], whole=True, payload_key=key
    )
    values = {kind: value for kind, _, value in cases}
    assert not found_in(outlets, values)
    assert bool(found_in({"file": kept}, values)) == (key is None)
    assert KEY.encode() not in kept


def test_words_are_kept_redacted(tmp_path: Path) -> None:
    """Of values in the model's words alone nothing is left even in a store without a key, nor in the view of a terminal."""
    cases = {"mail": "kim.doe@example.com", "token": FOUND, "card": "4111 1111 1111 1111"}
    desk = start(tmp_path, "openai-chat", POLICY, {"look": look, "fail": fail, "tell": tell, "ask": ask}, store="sqlite")
    for number, value in enumerate(cases.values()):
        beside(desk, number, f"token {value} ok")
    texts = "".join(one.words.text for one in desk.guard.approvals.list(status="rejected"))
    assert texts.count("So: ") == len(cases)
    kept = b"".join(path.read_bytes() for path in sorted(tmp_path.glob("guard.db*")))
    desk.guard.close()
    assert not found_in({"file": kept, "view": texts.encode()}, cases)


def test_a_secret_that_its_line_cuts_off() -> None:
    """A quoted value without its end, as a traceback shows it, is a secret all the same; a sentence that begins so is none."""
    assert "x4yz9-abcdef" not in REDACTOR.detect(None, 'Error: "access_token1": "x4yz9-abcdef\n\nat line 3')[0]
    told = 'the password: "is told to you by mail\nand then'
    assert REDACTOR.detect(None, told)[0] == told
