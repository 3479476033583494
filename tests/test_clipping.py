"""Texts that are no JSON as a whole: cut by lines and words, never in the middle of the JSON that they hold; rooms hold behind MCP and the sidecar."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp_kit import run, said, talking
from reports import EVERY, start
from sidecar_kit import WHO, Sidecar

from guard.core.cutting import begun, cut, shortened, size
from guard.core.objects import objects, unfinished
from guard.core.redaction import CUT

ROWS = [{"id": f"A{n}", "total": Decimal("1.10")} for n in range(340)]
LINES = "".join(f'{{"id": "A{n}", "total": 1.10}}\n' for n in range(340))
PROSE = f"The report: {json.dumps([{'id': f'A{n}'} for n in range(99)])} and that is all."


@pytest.mark.parametrize(("most", "shown"), [(200, 6), (60, 1), (30, 0)])
def test_lines_of_json_are_cut_by_whole_lines(most: int, shown: int) -> None:
    """With how many there are; each line is JSON, its numbers as they were; cutting twice tells the first count."""
    for text in (LINES, shortened(LINES, 1_000), LINES.replace('"id": ', '"id":').replace("}", "}\r")):
        lines = shortened(text, most).split("\n")
        assert [json.loads(line) for line in lines[:-1]] == [json.loads(line) for line in LINES.split("\n")[:shown]]
        assert json.loads(lines[-1]) == {CUT: f"{shown} of 340 shown"}


def test_a_first_line_that_is_too_long_is_cut_by_its_structure() -> None:
    """As much of it as there is room for."""
    text = json.dumps({"rows": ["x" * 20] * 90, "n": 1}) + '\n{"n": 2}'
    first, note = shortened(text, 200).split("\n")
    assert json.loads(first)["rows"][-1][CUT].endswith("of 90 shown")
    assert json.loads(note) == {CUT: "1 of 2 shown"}


@pytest.mark.parametrize("most", [*range(60, 400, 7), 1_000])
def test_json_among_words_is_never_cut_in_its_middle(most: int) -> None:
    """It has fewer items, or is left out."""
    shown = shortened(PROSE, most)
    assert size(shown) <= most
    words, _, tail = shown.rpartition("[cut:")
    assert tail.endswith(f"of {len(PROSE)} characters shown]")
    if (found := words.removeprefix("The report: ").strip()) and words.startswith("The report: "):
        assert json.loads(found)[-1][CUT].endswith("of 99 shown")
    inner = json.loads(cut({"a": PROSE}, most)["a"].removeprefix("The report: ").rpartition(" [cut:")[0] or "[]")
    assert inner == [] or inner[-1][CUT].endswith("of 99 shown")


def test_what_is_known_of_a_longer_text_ends_before_json_that_is_not_whole() -> None:
    """There is nothing to cut it by."""
    for known in (PROSE[:300], PROSE[:40]):
        assert begun(known, 9_000, 350) == "The report: [cut: 11 of 9000 characters shown]"
    assert unfinished("a [1, 2] b") == len("a [1, 2] b")
    assert unfinished('a {"b": [1, {"c": "') == 2


def test_rows_and_lines_of_a_text_stay_whole() -> None:
    """Tables, logs and lists are cut between lines; a paragraph between words."""
    table = "id,total\n" + "\n".join(f"A{n},{n}.50" for n in range(300))
    for most in range(90, 200):
        shown = shortened(table, most).rpartition(" [cut:")[0]
        assert set(shown.split("\n")) <= set(table.split("\n"))
    words = "one two three " * 90
    assert shortened(words, 90).startswith("one two three one two three one two")


TEXT = st.lists(st.sampled_from(["total 12.50 EUR", "\n", "|", "[", "{", '"', "é" * 9, json.dumps(ROWS[:9], default=str), '{"a": {"b": [1, 2]}}', "x" * 50]), max_size=12)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(TEXT.map(" ".join), st.integers(50, 600), st.integers(50, 600))
def test_no_text_leaves_half_of_an_object(text: str, most: int, again: int) -> None:
    """What is whole before is whole behind it, or not there; within its bytes; cutting twice is once."""
    short = shortened(text, most)
    assert size(short) <= max(most, 60)
    assert shortened(short, most) == short
    assert size(shortened(short, again)) <= max(again, 60)
    if short != text and unfinished(text) == len(text):
        shown = short.rpartition("[cut:")[0] if "characters shown]" in short else short
        opened = unfinished(shown)
        assert opened == len(shown) or not any(start == opened for start, _ in objects(text))


POLICY = """
tools:
  rows: {kind: read, allow: [staff], result: {max_bytes: 300}}
  act: {kind: action, allow: [staff], approve: never}
limits: {run: {steps: 99}}
"""


@EVERY
def test_json_in_a_text_that_a_tool_returns_is_cut_by_its_structure(tmp_path: Path, wire: str) -> None:
    """Also far behind the place where the result ends; an empty wrapped result says so."""
    given = {"lines": LINES, "prose": PROSE, "void": {"result": []}, "said": '{"result": []}', "none": {"result": [0]}}
    desk = start(tmp_path, wire, POLICY, {"rows": lambda n: given[n], "act": lambda n: n})
    desk.propose(*((name, "rows", {"n": name}) for name in given))
    assert desk.result("lines").endswith('\n{"[cut]":"9 of 340 shown"}')
    assert '"},{"[cut]":"' in desk.result("prose")
    assert desk.result("void") == desk.result("said") == "Nothing found."
    assert json.loads(desk.result("none")) == {"result": [0]}
    desk.closed()


def test_rooms_hold_behind_mcp(tmp_path: Path) -> None:
    """Each call of a client is a turn of its conversation."""
    limits = "limits: {run: {calls: 99}, turn: {result_bytes: 400}, conversation: {result_bytes: 1000}}"
    policy = f"tools:\n  echo: {{kind: read, allow: [user]}}\n{limits}"

    async def go() -> None:
        async with talking(tmp_path, policy=policy) as talk:
            sizes = [size(said(await talk.call("echo", {"text": f"{n} word " * 500}))) for n in range(4)]
            assert 300 < sizes[0] <= 400
            assert 300 < sizes[1] <= 400
            assert 100 < sizes[2] <= 200
            assert sizes[3] <= 60

    run(go())


def test_rooms_hold_behind_the_sidecar(tmp_path: Path) -> None:
    """What a loop elsewhere reports is cut as what runs here is."""
    (tmp_path / "policies").mkdir()
    limits = "limits: {run: {calls: 99}, turn: {result_bytes: 400}, conversation: {result_bytes: 1000}}"
    entry = "{kind: read, allow: [customer], schema: {type: object, properties: {n: {type: integer}}}}"
    (tmp_path / "policies" / "tools.yaml").write_text(f"tools:\n  rows: {entry}\n{limits}\n", "utf-8")
    sizes: list[int] = []
    with Sidecar(tmp_path, policy=tmp_path / "policies") as sidecar:
        for n in range(4):
            decided: Any = sidecar.decide("rows", {"n": n}, session=WHO, conversation="one")
            told = sidecar.ask("report", ticket=decided["ticket"], status="done", result=[f"{at} word" for at in range(500)])
            sizes.append(size(told["content"]))
    assert 300 < sizes[0] <= 400
    assert 300 < sizes[1] <= 400
    assert 100 < sizes[2] <= 200
    assert sizes[3] <= 60
