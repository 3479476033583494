"""Every field that a record can have, walked by the schema of records: whatever stands in it comes out of every outlet as text and as nothing else.

Each field of each kind of record holds a hostile text with the field's own name in it. A field that is added to the schema is walked as well.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from cli_kit import Run
from console_kit import console
from stores_kit import Clock
from test_audit_inert import STARTS, elements, report_of

from guard.auditing.entry import Entry, entry
from guard.auditing.inert import cell
from guard.auditing.kinds import KINDS
from guard.cli.audit_csv import COLUMNS as CELLS
from guard.core.log import Sealed
from guard.core.searching import PLAIN
from guard.core.unseen import one_line, unseen
from guard.proof.schema import record_schema
from guard.sinks.entry import entry as sunk
from guard.sinks.formats import FORMATS
from guard.sinks.notice import Links, notice
from guard.sinks.slack import message as slack_message
from guard.sinks.syslog import message as syslog_message
from guard.stores import filing, open_store

EVIL = "<img src=x onerror=1>&amp;'\"\n\r\x1b[31m\x9b\u202e\u200b\u2028\U000e0041\x07{{7*7}},;=1+1"
TEXTS = {
    "formula": f"={EVIL}",
    "plus": f"+{EVIL}",
    "at": f"\t@{EVIL}",
    "minus": f"-{EVIL}",
    "bidi": f"\u2066{EVIL}",
    "nul": f"\0{EVIL}",
    "half": f"\ud800{EVIL}",
}
OWN = frozenset({"v", "id", "ts", "mono", "chain", "seq", "kind"})  # the store writes them, but for the kind
OCTOBER = 1_793_000_000.0
PAGE = Links(page="https://guard.example/approvals/{approval}")


def filled(schema: dict[str, Any], text: str, path: str = "") -> Any:
    """A value of this form in which every text, and every name that is not fixed, is the text and the path of its place."""
    whole = record_schema()
    if "$ref" in schema:
        schema = whole["$defs"][schema["$ref"].rpartition("/")[2]]
    types = schema.get("type", "string")
    kind = types[0] if isinstance(types, list) else types
    if kind == "object":
        deep = {name: below for name, below in schema.get("properties", {}).items() if path.count("/") < 4 or name != "within"}
        named = {name: filled(below, text, f"{path}/{name}") for name, below in deep.items()}
        more = schema.get("additionalProperties", {"type": "string"} if not named else None)
        free = {} if not isinstance(more, dict) else {f"{text}{path}/name": filled(more, text, f"{path}/value")}
        return {**named, **free}
    if kind == "array":
        return [filled(schema["items"], text, f"{path}[]")]
    return {"integer": 1, "number": 1.5, "boolean": True}.get(kind, f"{text}{path}")


def bodies(text: str) -> Iterator[dict[str, Any]]:
    """One record of each kind, and one of a kind that nobody knows, with every field there is; then with what decides how they are told."""
    schema = record_schema()
    whole = {name: filled(below, text, f"/{name}") for name, below in schema["properties"].items() if name not in OWN}
    for kind in (*KINDS, f"{text}/kind", f"call.{text}", f"approval.{text}"):
        yield {"kind": kind, **whole}
    for verdict in ("allow", "hold", "refuse"):
        yield {"kind": "call.decided", **whole, "decision": {**whole["decision"], "verdict": verdict}}
    for status in ("pending", "approved", "rejected", "expired", "refused"):
        state = {
            **whole["approval_state"],
            "status": status,
            "decision": status,
            "reason": f"{text}/said",
            "by": [f"{text}/role"],
            "why": f"{text}/why",
        }
        yield {"kind": "approval.resolved", **whole, "approval_state": state}
    for status in ("ok", "error", "unknown"):
        yield {"kind": "call.end", **whole, "exec": {**whole["exec"], "status": status}}


def stored(folder: Path, name: str, text: str) -> tuple[str, list[Sealed]]:
    url = f"sqlite:///{folder}/{name}.db"
    with closing(open_store(url, clock=Clock(OCTOBER))) as store:
        store.record((), list(bodies(text)))
        return url, list(store.audit())


def leaves(value: Any) -> Iterator[str]:
    """Every text in a value, names as well."""
    if isinstance(value, dict):
        for name, below in value.items():
            yield name
            yield from leaves(below)
    elif isinstance(value, list):
        for below in value:
            yield from leaves(below)
    elif isinstance(value, str):
        yield value


def unseen_in(text: str) -> list[str]:
    return [char for char in set(text) if unseen(char) and char != "\n"]


def test_every_field_of_the_schema_and_every_column_is_walked(tmp_path: Path) -> None:
    """The test's own reach: each text of the schema, each column that is copied and each cell of the table holds the text in some record."""
    text = "@evil"
    _, records = stored(tmp_path, "reach", text)
    found = [json.loads(one.body) for one in records]
    held = {leaf for body in found for leaf in leaves(body) if leaf.startswith(text)}
    for path in (
        "/tenant",
        "/actor/ref",
        "/tool/server",
        "/args/shown/name",
        "/decision/rules[]",
        "/policy/parts/name",
        "/changed/value/added[]",
        "/result/shown",
        "/kill/reason",
        "/actor/addr",
        "/trace",
        "/verify/verdict",
        "/segment/month",
        "/gap/cause",
        "/gap/refused/name",
        "/sink/why",
        "/grant/reason",
    ):
        assert f"{text}{path}" in held
    columns = [filing.columns(one.body) for one in records]
    texts = [name for name in filing.COLUMNS if isinstance(filing.columns(records[0].body)[name], str) and name != "ts"]
    assert {*texts} >= {*PLAIN} - {"turn", "position"}
    assert [name for name in texts if not any(str(one[name]).startswith(text) for one in columns)] == []
    cells = {
        name: {made(entry(one)) for one in records}
        for name, made in CELLS.items()
        if name not in ("chain", "seq", "time", "id", "hash", "turn", "position")
    }
    assert [name for name, values in cells.items() if not any(text in value for value in values)] == []


@pytest.mark.parametrize("name", TEXTS)
def test_terminal_csv_and_json_lines(run: Run, tmp_path: Path, name: str) -> None:
    """Nothing unseen anywhere, no cell that would be computed, and the exact texts again from JSON lines and from the store's bytes."""
    url, records = stored(tmp_path, "all", TEXTS[name])
    shown = records if name == "formula" else records[:1]
    for words in (("audit",), ("audit", "--json"), ("audit", "--csv"), *(("audit", "show", str(one.seq)) for one in shown)):
        ran = run(*words, "--store", url)
        assert unseen_in(ran.out + ran.err) == [], words
        assert ran.code == 0, (words, ran.err)
        if "--csv" in words:
            head, *rows = csv.reader(io.StringIO(ran.out))
            assert len(rows) == len(records)
            assert {len(row) for row in rows} == {len(head)}
            assert [
                one
                for row in rows
                for one in row
                if (one[:1] and one[0] in STARTS) or re.search(f"[;|,] *[{re.escape(STARTS)}]", one)
            ] == []
        if "--json" in words:
            lines = ran.out.rstrip("\n").split("\n")
            said = [{key: value for key, value in json.loads(line).items() if key not in ("prev", "hash")} for line in lines]
            assert said == [json.loads(one.body) for one in records]


@pytest.mark.parametrize("name", ["formula", "nul", "half"])
def test_the_report_and_the_pages(tmp_path: Path, name: str) -> None:
    """The same elements and attributes as with plain texts, and nothing unseen in any."""
    made = {}
    for text in (TEXTS[name], "plain"):
        folder = tmp_path / str(len(made))
        folder.mkdir()
        pages = {"report": report_of(stored(folder, "report", text)[0])}
        with console(folder) as found:
            found.guard.store.record((), [{**one, "tenant": "acme"} for one in bodies(text)])
            browser = found.browser("r.admin", scope="admin", tenant="acme")
            for path in ("/audit", "/audit/3", "/audit/report?month=2027-01", "/audit/report/file?month=2027-01"):
                page = browser.open(path)
                assert page.status == 200, path
                pages[path] = page.source
        made[text] = pages
    hostile, plain = made.values()
    for path, source in hostile.items():
        assert unseen_in(source) == [], path
        signs = {("span", "class"), ("span", "title")}  # of the console, where something had to be spelled out
        assert elements(source).found - signs == elements(plain[path]).found - signs, path
        assert one_line(TEXTS[name])[:30] in "".join(elements(source).text), path


@pytest.mark.parametrize("name", TEXTS)
def test_what_is_sent_to_others(tmp_path: Path, name: str) -> None:
    """A line of syslog, a message, a notice and each format: one event each, its texts the record's own as JSON or spelled out."""
    _, records = stored(tmp_path, "sent", TEXTS[name])
    for one in records:
        found = sunk(one)
        line = syslog_message(found, 65_536).decode("ascii")
        assert line.isprintable()
        assert json.loads(line[line.index("] {") + 2 :]) == json.loads(one.body)
        for made in (notice(found, PAGE), slack_message(found, PAGE)):
            shown = [leaf for leaf in leaves(made) if leaf != found.kind]
            assert [leaf for leaf in shown if unseen_in(leaf)] == []
        assert [leaf for leaf in leaves(slack_message(found, PAGE)["text"]) if re.search("<[^h]", leaf)] == []
        for form in FORMATS.values():
            assert "\n" not in json.dumps(form.of(found), default=str)


@pytest.mark.parametrize("body", ["no JSON\x1b\n=1+1", '{"kind":"\\u202e"}', "[]", '{"kind":5,"tool":"\\u001b"}'])
def test_a_record_that_cannot_be_read(tmp_path: Path, body: str) -> None:
    """Whoever damaged it does nothing in a table or a cell either."""
    one = Sealed(chain=0, seq=1, prev="0" * 64, hash="f" * 64, body=body)
    for found in (entry(one), Entry(one, {})):
        for text in (made(found) for made in CELLS.values()):
            assert unseen_in(cell(text)) == []
            assert cell(text)[:1] not in STARTS or not cell(text)
