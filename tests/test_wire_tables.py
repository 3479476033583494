"""Each wire has its row wherever the tests of the wires look one up, so that a new one is told which is lacking instead of failing everywhere.

For whoever adds a wire: run this file first. What stands here is what the README's "Add a wire" lists.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import pytest
from conformance import truncated
from wire_helpers import answers, every, given_results, message, spelled, stored_ids
from wire_talk import EVENTS, legal

from guard.wires import wire

ROWS = {
    "_MESSAGES": "wire_helpers",
    "CLIENTS": "wire_talk",
    "EVENTS": "wire_talk",
    "_CHECKS": "wire_models",
    "CUT": "conformance",
    "SAID": "test_wire_hostile",
    "LENGTH": "test_reports_streaming_assembly",
    "FINE": "test_reports_streaming_assembly",
    "NOISE": "test_tried_inputs",
    "CLOSING": "test_tried_inputs",
}
"""The tables in which every wire has a row."""
PAGE = (Path(__file__).parent.parent / "README.md").read_text("utf-8")
SEE = 'see "Add a wire" in README.md'


def needs_row(name: str, table: str) -> None:
    found: Collection[Any] = getattr(importlib.import_module(ROWS[table]), table)
    assert name in found, f"add a row {name!r} to {table} in tests/{ROWS[table]}.py; {SEE}"


@every
@pytest.mark.parametrize("table", ROWS)
def test_every_wire_has_its_row(name: str, table: str) -> None:
    """A table without the wire is named, with its file."""
    needs_row(name, table)


@every
def test_every_wire_is_told_to_users_and_played_with_its_words(name: str) -> None:
    """The README says how to ask with it; a reply with the model's words is read; pictures have a place."""
    pictures = importlib.import_module("test_reports_result_pictures")
    assert f"\n| `{name}` |" in PAGE, f'add a row to the table in "Wires and streams" of README.md; {SEE}'
    replies = importlib.import_module("test_words_wires").REPLIES
    assert name in {row[0] for row in replies.values()}, f"add a reply of {name!r} to REPLIES in tests/test_words_wires.py; {SEE}"
    placed = {*pictures.KINDS, *pictures.APART, "gemini"}
    assert name in placed, f"add {name!r} to KINDS or APART in tests/test_reports_result_pictures.py; {SEE}"


@every
@pytest.mark.parametrize("verb", ["answers", "stored_ids", "legal", "truncated"])
def test_the_tests_understand_every_wire(name: str, verb: str) -> None:
    """The functions of the tests that read a wire's form read this one's."""
    needs_row(name, "_MESSAGES")
    calls = [(text, "look", spelled(name, "{}")) for text in ("c1", "c2")]
    reply = wire(name).read(message(name, *calls))
    stored, results = wire(name).stored(reply), given_results(name, reply)
    ways: dict[str, tuple[Callable[[], Any], Any, str]] = {
        "answers": (lambda: answers(name, results), [("c1", "x"), ("c2", "x")], "wire_helpers"),
        "stored_ids": (lambda: stored_ids(name, stored), ["c1", "c2"], "wire_helpers"),
        "legal": (lambda: legal(name, [wire(name).user("go"), *stored, *results]), None, "wire_talk"),
        "truncated": (lambda: wire(name).read(truncated(name, message(name, *calls))).truncated, True, "conformance"),
    }
    read, wanted, file = ways[verb]
    try:
        found = read()
    except Exception as problem:
        raise AssertionError(f"{verb} in tests/{file}.py does not read a message of {name!r}; {SEE}") from problem
    assert found == wanted, f"{verb} in tests/{file}.py does not read a message of {name!r}; {SEE}"


@every
def test_a_stream_of_every_wire_comes_to_the_same_reply(name: str) -> None:
    """The first thing to hold: what the collector gives of the streamed message has the calls of the whole one."""
    needs_row(name, "EVENTS")
    collector = wire(name).assembly()
    for event in EVENTS[name]([("c1", "look", '{"n": 1}'), ("c2", "look", '{"n": 2}')]):
        collector.add(event)
    reply = wire(name).read(collector.reply())
    assert [(call.id, call.tool) for call in reply.calls] == [("c1", "look"), ("c2", "look")]
    assert (collector.ended, reply.truncated) == (True, False)


def test_the_readme_lists_these_tables() -> None:
    """What is asked here stands where a newcomer reads."""
    step = PAGE.partition("\n5. Add the wire's form")[2].partition("\n\n")[0]
    named = set(re.findall(r"`(\w+)`", step))
    assert {*ROWS, "REPLIES", "KINDS", "APART", "answers", "stored_ids", "legal", "truncated"} <= named
