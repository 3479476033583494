"""Cutting: a result that is too large keeps its structure; what is left out is counted, and nothing is shown in half."""

from __future__ import annotations

import copy
import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reports import EVERY, start, states
from results_kit import PICTURE
from wire_helpers import message, spelled

from guard import Guard, GuardError
from guard.core.budget import approximate, counted, fit, left
from guard.core.clipping import parsed
from guard.core.cutting import cut, level, shortened, size
from guard.core.redaction import CUT
from guard.core.values import encode
from guard.core.views import Room

LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.decimals(allow_nan=False, allow_infinity=False, places=2),
    st.text(max_size=60),
    st.text("ab 12.", max_size=400),
)
JSON = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=8) | st.dictionaries(st.text(max_size=6), inner, max_size=8), max_leaves=60
)


@settings(max_examples=200, deadline=None)
@given(value=JSON, most=st.integers(0, 600), again=st.integers(0, 600))
def test_whatever_is_cut_stays_json_of_its_kind(value: Any, most: int, again: int) -> None:
    """The same type at the top, within its bytes as soon as notes fit, nothing changed in place; cutting twice is once, and further is less."""
    before = copy.deepcopy(value)
    short = cut(value, most)
    text = encode(short)
    assert value == before
    json.loads(text)
    assert type(short) is type(value)
    if size(encode(value)) <= most:
        assert short == value
    elif most >= 60 and isinstance(value, dict | list):
        assert size(text) <= most
    assert encode(cut(short, most)) == text
    assert size(encode(cut(short, again))) <= max(size(text), 0)
    for number in numbers(short):
        assert any(str(number) == str(other) for other in numbers(value)), "no number is made or shortened"


def numbers(value: Any) -> list[Any]:
    if isinstance(value, dict | list):
        return [found for item in (value.values() if isinstance(value, dict) else value) for found in numbers(item)]
    return [value] if isinstance(value, int | Decimal) and not isinstance(value, bool) else []


ROWS = [{"id": f"A{n}", "total": Decimal("1.10"), "note": "x" * 20} for n in range(340)]
CASES: dict[str, tuple[Any, int, str]] = {
    "whole items": (ROWS, 130, '[{"id":"A0","total":1.10,"note":"xxxxxxxxxxxxxxxxxxxx"},{"[cut]":"1 of 340 shown"}]'),
    "fields at last": ({f"f{n}": n for n in range(300)}, 75, '{"f0":0,"f1":1,"f2":2,"f3":3,"[cut]":"4 of 300 shown"}'),
    "nothing fits": (ROWS, 0, '[{"[cut]":"0 of 340 shown"}]'),
}


@pytest.mark.parametrize("name", CASES)
def test_the_form_of_what_is_left(name: str) -> None:
    """Whole items go first, then texts, then fields, and the note counts them."""
    value, most, wanted = CASES[name]
    assert encode(cut(value, most)) == wanted


def test_a_cut_is_counted_from_the_first() -> None:
    """However often it is cut, the note tells how many there were."""
    short = cut(cut(cut(ROWS, 2_000), 900), 200)
    assert short[-1] == {CUT: "2 of 340 shown"}
    assert shortened(shortened("one two three " * 99, 300), 90).endswith("of 1386 characters shown]")


@pytest.mark.parametrize(
    ("text", "most"), [("It costs 12345678 EUR. " * 30, most) for most in range(60, 110)] + [("[email] and 3860.00 " * 30, 77)]
)
def test_no_number_or_mask_is_shown_in_half(text: str, most: int) -> None:
    """A text ends between two words."""
    shown = shortened(text, most).rpartition(" [cut:")[0]
    words = set(text.split())
    assert size(shortened(text, most)) <= most
    assert set(shown.split()) <= words


def test_json_in_a_text_is_cut_as_json() -> None:
    """At the top, and inside another value; what only looks like JSON is text."""
    inner = encode(ROWS)
    assert json.loads(shortened(inner, 300))[-1] == {CUT: "4 of 340 shown"}
    assert json.loads(cut({"body": inner}, 400)["body"])[-1][CUT].endswith("of 340 shown")
    assert shortened("[see below] " * 99, 100).startswith("[see below]")
    assert parsed('{"a": NaN}') is None
    assert parsed("{" * 5_000) is None


@pytest.mark.parametrize(
    ("sizes", "total", "height"),
    [((), 0, None), ((5,), 5, None), ((5,), 4, 4), ((1, 100, 3), 60, 56), ((50, 100), 60, 30), ((10, 10), 0, 0), ((1, 1), -5, 0)],
)
def test_the_largest_give_way_first(sizes: tuple[int, ...], total: int, height: int | None) -> None:
    """What is small stays whole; the others are lowered to one height."""
    assert level(sizes, total) == height


# -- as a user sees it -----------------------------------------------------------------------------------------------------

TOOLS = """
tools:
  rows: {{kind: read, allow: [staff], result: {result}}}
  act: {{kind: action, allow: [staff], approve: never}}
limits: {{run: {{steps: 99}}, {limits}}}
"""


def rows(n: int) -> Any:
    return [{"id": at, "total": Decimal("1.10")} for at in range(n)]


@EVERY
@pytest.mark.parametrize("rule", ["{max_bytes: 300}", "{max_tokens: 100}", "{max_bytes: 300, keep: [id, total]}"])
def test_a_result_within_its_own_room(tmp_path: Path, wire: str, rule: str) -> None:
    """It is valid JSON of the same kind, says how much is shown, and the record says that it was cut; a ground still knows all of it."""
    text = TOOLS.format(result=rule, limits="turn: {calls: 9}").replace(
        "approve: never", "approve: never, ground: {n: {returned_by: 'rows[*].id'}}"
    )
    desk = start(tmp_path, wire, text, {"rows": rows, "act": lambda n: n})
    desk.propose(("c1", "rows", {"n": 340}))
    shown = json.loads(desk.result("c1"), parse_float=Decimal)
    assert shown[-1][CUT] == f"{len(shown) - 1} of 340 shown"
    assert shown[0] == {"id": 0, "total": Decimal("1.10")}
    assert size(desk.result("c1")) <= 300
    assert "cut" in desk.audit("call.end")[0]["result"]["labels"]
    assert states(desk.propose(("c2", "act", {"n": 339}))) == ["done"]
    desk.closed()


@EVERY
@pytest.mark.parametrize("limit", ["turn: {result_bytes: 2000}", "turn: {result_tokens: 900}"])
def test_one_result_does_not_starve_its_siblings(tmp_path: Path, wire: str, limit: str) -> None:
    """The largest is cut first, each call keeps its result, small ones and the guard's notices stay whole."""
    desk = start(tmp_path, wire, TOOLS.format(result="{max_bytes: 90000}", limits=limit), {"rows": rows, "act": lambda n: n})
    calls = [("c1", "rows", {"n": 3}), ("c2", "rows", {"n": 900}), ("c3", "none", {}), ("c4", "rows", {"n": 500})]
    turn = desk.propose(*calls)
    assert json.loads(desk.result("c1"), parse_float=Decimal) == rows(3)
    cuts = [json.loads(desk.result(name))[-1][CUT] for name in ("c2", "c4")]
    assert [one.partition(" of ")[2] for one in cuts] == ["900 shown", "500 shown"]
    assert len({one.partition(" of ")[0] for one in cuts}) == 1, "of two large ones each has the same share"
    assert states(turn) == ["done", "done", "refused", "done"]
    total = sum(size(str(one.content)) if "bytes" in limit else approximate(str(one.content)) for one in turn.outcomes)
    assert total <= (2_000 if "bytes" in limit else 900)
    desk.closed()


@EVERY
@pytest.mark.parametrize("store", ["memory", "sqlite"])
def test_a_conversation_has_a_room_too(tmp_path: Path, wire: str, store: str) -> None:
    """What earlier turns showed counts; when it is used up every call still gets a result, which says how much there would be."""
    limits = "turn: {result_bytes: 1500}, conversation: {result_bytes: 2500}"
    desk = start(
        tmp_path, wire, TOOLS.format(result="{max_bytes: 90000}", limits=limits), {"rows": rows, "act": lambda n: n}, store=store
    )
    sizes = []
    for at in range(4):
        before = list(desk.history)
        reply = message(wire, (f"c{at}", "rows", spelled(wire, {"n": 200 + at})))
        turn = desk.chat.handle(reply, history=before)
        desk.history += turn.append
        sizes.append(size(str(turn.outcomes[0].content)))
        if store == "sqlite":
            desk.restart()
    assert 1_300 < sizes[0] <= 1_500
    assert 800 < sizes[1] <= 1_000
    assert [desk.result(name) for name in ("c2", "c3")] == ['[{"[cut]":"0 of 202 shown"}]', '[{"[cut]":"0 of 203 shown"}]']
    again = desk.chat.handle(reply, history=before)
    assert str(again.outcomes[0].content) == desk.result("c3")
    desk.closed()


@EVERY
def test_pictures_cost_tokens(tmp_path: Path, wire: str) -> None:
    """Bytes are those of text; a picture that does not fit into the tokens leaves a note."""
    text = TOOLS.format(result="{max_bytes: 50, max_tokens: 2000}", limits="turn: {calls: 9}")
    desk = start(tmp_path, wire, text, {"rows": lambda: ["look", PICTURE, PICTURE], "act": lambda n: n})
    desk.propose(("c1", "rows", {}))
    assert json.dumps(desk.history).count(PICTURE.data) == 0
    assert "a picture was left out" in json.dumps(desk.history)
    one = fit(("look", PICTURE), Room(bytes=50, tokens=2_000), approximate)
    assert one == ("look", PICTURE)


# -- counting ----------------------------------------------------------------------------------------------------------------


def test_the_host_may_count(tmp_path: Path) -> None:
    """Its function decides; one that breaks later counts bytes, which no tokenizer exceeds; one that cannot count is misuse."""
    assert counted(lambda text: 1 // 0, "äb") == 3
    assert counted(lambda text: -1, "äb") == 3
    assert size(str(fit("word " * 99, Room(tokens=40), len))) <= 40
    (tmp_path / "tools.yaml").write_text("tools: {act: {kind: read, allow: [staff]}}\nlimits: {run: {steps: 3}}\n")

    def act() -> int:
        return 1

    for given_, said in [(5, "takes a function"), (lambda text: "many", "gives str"), (lambda text: 1 // 0, "ZeroDivisionError")]:
        with pytest.raises(GuardError, match=said):
            Guard.load(tmp_path, tools=[act], store="memory://", count_tokens=given_)
    with Guard.load(tmp_path, tools=[act], store="memory://", count_tokens=len) as made:
        assert made.count_tokens("abc") == 3


def test_an_encoding_names_its_extra(tmp_path: Path) -> None:
    """A name means tiktoken's; without the package, or with a name that it does not know, the error says what to do."""
    (tmp_path / "tools.yaml").write_text("tools: {act: {kind: read, allow: [staff]}}\nlimits: {run: {steps: 3}}\n")

    def act() -> int:
        return 1

    with pytest.raises(GuardError, match=re.escape("[tokens]") + "|cannot be loaded"):
        Guard.load(tmp_path, tools=[act], store="memory://", count_tokens="no such encoding")


@pytest.mark.parametrize(
    ("turn", "conversation", "spent", "room"),
    [
        (None, None, (5,), None),
        (10, None, (99,), 10),
        (None, 10, (4, 3), 3),
        (5, 10, (99, 99), 0),
        (5, 100, (99, 99), 5),
        (5, 12, (99, 99), 2),
        (None, 10, (2**62,), 0),
    ],
)
def test_what_a_conversation_has_left(
    turn: int | None, conversation: int | None, spent: tuple[int, ...], room: int | None
) -> None:
    """Of an earlier turn counts what its own room, and what was left then, let through."""
    from guard.core.budget import Spent

    told = [Spent(turn=at, bytes=one, tokens=one) for at, one in enumerate(spent)]
    assert left(Room(bytes=turn, tokens=turn), Room(bytes=conversation, tokens=conversation), told) == Room(
        bytes=room, tokens=room
    )
