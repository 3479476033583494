"""Ceilings: what is as large as the policy says passes, what is one larger is refused with its own reason, and no policy lifts them for good."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from reports import BOSS, U1, U2, Desk, codes, error, outcome, start, states
from stores_kit import NEXT, STORES, Clock, a_store, asking, key, proposal

from guard import PolicyError
from guard.core.ceilings import CEILINGS, Ceilings
from guard.policy import language, load_policy
from guard.policy.ceilings import HARD, SECONDS

README = (Path(__file__).parent.parent / "README.md").read_text("utf-8")
GET = "tools: {get: {kind: read, allow: [staff], schema: true%s}}\n"


def desk_of(tmp_path: Path, ceilings: str, wire: str = "openai-chat", own: str = "", **given: Any) -> Desk:
    text = GET % own + (f"ceilings: {ceilings}\n" if ceilings else "")
    return start(tmp_path, wire, text, {"get": lambda **_: "got"}, watched=False, **given)


def nested(depth: int) -> dict[str, Any]:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return {"v": value}


ARGUMENTS: dict[str, tuple[str, str, str]] = {
    "bytes": ("{arguments_bytes: 100}", json.dumps({"v": "x" * 91}), json.dumps({"v": "x" * 92})),
    "bytes of letters beyond ASCII": ("{arguments_bytes: 100}", '{"v": "' + "é" * 45 + 'x"}', '{"v": "' + "é" * 46 + '"}'),
    "levels": ("{arguments_depth: 5}", json.dumps(nested(5)), json.dumps(nested(6))),
    "items": ("{arguments_items: 9}", json.dumps({"v": [0] * 8}), json.dumps({"v": [0] * 9})),
}


@pytest.mark.parametrize(("ceilings", "fits", "over"), ARGUMENTS.values(), ids=ARGUMENTS)
@pytest.mark.parametrize("place", ["policy", "tool"])
def test_arguments(tmp_path: Path, ceilings: str, fits: str, over: str, place: str) -> None:
    """At the ceiling a call passes, one beyond it is `arguments_too_large`; a tool may have its own, tighter or wider."""
    if place == "policy":
        desk = desk_of(tmp_path, ceilings)
    else:
        other = "{arguments_bytes: 1000000, arguments_depth: 1}" if "depth" not in ceilings else "{arguments_items: 1000}"
        own = ceilings if "depth" in ceilings else ceilings.replace("}", ", arguments_depth: 64}")
        desk = desk_of(tmp_path, other, own=f", ceilings: {own}")
    turn = desk.propose(("c1", "get", fits), ("c2", "get", over))
    assert codes(turn) == [None, "arguments_too_large"]
    desk.closed()


@pytest.mark.parametrize(
    ("ceilings", "fits", "over"),
    [
        ("{arguments_bytes: 100}", {"v": "x" * 99}, {"v": "x" * 100}),
        ("{arguments_depth: 5}", nested(4), nested(6)),
        ("{arguments_items: 9}", {"v": [0] * 8}, {"v": [0] * 9}),
    ],
    ids=["bytes", "levels", "items"],
)
def test_arguments_that_a_provider_decoded(tmp_path: Path, ceilings: str, fits: Any, over: Any) -> None:
    """An object has the same ceilings as text: its bytes are those of its keys and texts."""
    turn = desk_of(tmp_path, ceilings, "anthropic").propose(("c1", "get", fits), ("c2", "get", over))
    assert codes(turn) == [None, "arguments_too_large"]


def test_calls_of_one_message(tmp_path: Path) -> None:
    """Those beyond the ceiling are refused one by one, and all are answered."""
    desk = desk_of(tmp_path, "{message_calls: 2}", "anthropic")
    turn = desk.propose(*[(f"c{number}", "get", {}) for number in range(3)])
    assert codes(turn) == [None, None, "limit_reached"]
    assert "at most 2 calls" in error(outcome(turn, "c2"))["message"]
    assert desk.decision("c2")["decision"]["rules"] == ["ceiling message_calls"]
    desk.closed()


def test_words_of_the_user(tmp_path: Path) -> None:
    """A longer text than the ceiling is no evidence for anything."""
    desk = desk_of(tmp_path, "{user_words: 60}", own=", ground: {v: {written_by: user}}")
    desk.say("order A17".ljust(60 - len("Please help.")))
    assert codes(desk.propose(("c1", "get", {"v": "A17"}))) == [None]
    desk.say("x")
    assert codes(desk.propose(("c2", "get", {"v": "A17"}))) == ["not_grounded"]


@pytest.mark.parametrize(("ceilings", "own"), [("{result_bytes: 100}", ""), ("{result_bytes: 5}", ", result: {max_bytes: 100}")])
@pytest.mark.parametrize(("size", "cut"), [(100, False), (101, True)])
def test_results(tmp_path: Path, ceilings: str, own: str, size: int, cut: bool) -> None:
    """A longer result is cut and says so; a tool's own `max_bytes` counts instead."""
    text = GET % own + f"ceilings: {ceilings}\n"
    desk = start(tmp_path, "openai-chat", text, {"get": lambda **_: "y" * size}, watched=False)
    assert ("of 101 characters shown]" in str(desk.propose(("c1", "get", {})).outcomes[0].content)) is cut


SHAPES = {
    # name: (ceiling, what the tool returns, whether a part of it is left out)
    "as deep as it may be": ("result_depth: 3", {"a": [[1]]}, False),
    "deeper": ("result_depth: 3", {"a": [[[1]]]}, True),
    "deeper in an MCP result": ("result_depth: 3", {"content": [], "structuredContent": {"a": [[[1]]]}}, True),
    "deeper than a list in a tuple": ("result_depth: 2", ({"a": [1]},), True),
    "as many as may be": ("result_items: 4", [1, 2, 3], False),
    "one more": ("result_items: 4", [1, 2, 3, 4], True),
    "one more field": ("result_items: 4", {"a": 1, "b": 2, "c": 3, "d": 4}, True),
    "as many fields": ("result_items: 4", {"a": 1, "b": 2, "c": 3}, False),
    "one more from a generator": ("result_items: 4", (n for n in range(4)), True),
}


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_of_results(tmp_path: Path, name: str) -> None:
    """What is nested deeper, or comes behind so many values, is left out, and its place says so."""
    ceiling, value, cut = SHAPES[name]
    desk = start(tmp_path, "openai-chat", GET % "" + f"ceilings: {{{ceiling}}}\n", {"get": lambda **_: value}, watched=False)
    told = str(desk.propose(("c1", "get", {})).outcomes[0].content)
    assert ("nested too deeply" in told or "more than 4 values" in told) is cut


PAY = "tools: {pay: {kind: action, allow: [staff], approve: {by: [boss]}}}\nceilings: {open_approvals: 2}\n"


@pytest.mark.parametrize("store", ["memory", "sqlite"])
def test_open_questions_of_one_person(tmp_path: Path, store: str) -> None:
    """A model that changes its arguments again and again cannot flood the approver: the third question is not asked, in no conversation."""
    desk = start(tmp_path, "openai-chat", PAY, {"pay": lambda n: "paid"}, store=store)
    turns = [desk.propose((f"c{n}", "pay", {"n": n})) for n in (1, 2, 3)]
    assert [codes(turn) for turn in turns] == [["held_for_approval"], ["held_for_approval"], ["limit_reached"]]
    assert desk.decision("c3")["decision"]["rules"] == ["ceiling open_approvals"]
    assert states(desk.propose(("c4", "pay", {"n": 1}))) == ["held"]  # the same question is no new one
    for number, (session, state) in enumerate([(U1, "refused"), (U2, "held"), (replace(U1, tenant="t2"), "held")]):
        chat = desk.guard.open(session, wire="openai-chat", conversation=f"other-{number}")
        chat.user("Please.")
        assert states(desk.propose(("d1", "pay", {"n": 9}), chat=chat)) == [state]
    assert len(desk.audit("approval.requested")) == 4
    desk.guard.approvals.reject(desk.waiting(turns[0], "c1"), approver=BOSS)
    assert states(desk.propose(("c5", "pay", {"n": 5}))) == ["held"]
    desk.clock.now += 2 * 86_400  # nobody decided in time
    assert states(desk.propose(("c6", "pay", {"n": 6}))) == ["held"]
    desk.closed()


@pytest.mark.parametrize("kind", STORES)
def test_sixteen_threads_ask_for_one_person(tmp_path: Path, kind: str) -> None:
    """From sixteen conversations at once, exactly as many questions are opened as the ceiling says."""
    for store in a_store(kind, tmp_path, Clock()):

        def ask(number: int, store: Any = store) -> bool:
            at = key(1, ref=replace(NEXT, conversation=f"conv-{number}"))
            given = proposal(f"a{number}", now=store.now(), at=at, fingerprint=f"f{number}")
            return store.ask(replace(asking(given), most=5)) is not None

        with ThreadPoolExecutor(16) as pool:
            assert sum(pool.map(ask, range(16))) == 5


def test_the_longest_time_of_a_question(tmp_path: Path) -> None:
    """`expires` beyond the ceiling is a mistake, and the usual time is never longer than it."""
    text = "tools: {pay: {kind: action, allow: [staff], approve: {by: [boss]%s}}}\nceilings: {approval_expires: 2h}\n"
    (tmp_path / "tools.yaml").write_text(text % ", expires: 2h")
    load_policy(tmp_path)
    (tmp_path / "tools.yaml").write_text(text % ", expires: 3h")
    with pytest.raises(PolicyError, match="more than the ceiling of 2h"):
        load_policy(tmp_path)
    (tmp_path / "tools.yaml").write_text(text % "")
    assert load_policy(tmp_path).policy.tools["pay"].approval[0].expires == 7_200


def value_of(name: str, number: float) -> str:
    return f"{number}s" if name == SECONDS else str(number)


@pytest.mark.parametrize("name", HARD)
def test_hard_bounds(tmp_path: Path, name: str) -> None:
    """Each ceiling can be set up to its hard bound and no further; zero, a text or infinity is a mistake with a cure."""
    good = value_of(name, HARD[name])
    (tmp_path / "tools.yaml").write_text(GET % "" + f"ceilings: {{{name}: {good}}}\n")
    load_policy(tmp_path)
    for bad in (value_of(name, HARD[name] + 1), value_of(name, 0), ".inf", "none", "-1"):
        (tmp_path / "tools.yaml").write_text(GET % "" + f"ceilings: {{{name}: {bad}}}\n")
        with pytest.raises(PolicyError) as caught:
            load_policy(tmp_path)
        assert caught.value.problems[0].cure


def test_the_readme_tells_every_ceiling() -> None:
    """Its table has each key with its default and its hard bound."""
    rows = dict(re.findall(r"^\| `(\w+)` \| ([^|]+ \| [^|]+) \|", README, re.MULTILINE))
    spelled = lambda name, value: language.spelled(value) if name == SECONDS else f"{value:,}"
    plain = {
        ("approval_expires" if one.name == "approval_seconds" else one.name): getattr(CEILINGS, one.name)
        for one in fields(Ceilings)
    }
    assert set(plain) == set(HARD) == set(language.KEYS["ceilings"])
    assert {name: rows.get(name) for name in HARD} == {
        name: f"{spelled(name, plain[name])} | {spelled(name, HARD[name])}" for name in HARD
    }


def test_a_long_argument_cannot_pass_for_evidence(tmp_path: Path) -> None:
    """A result that repeats what stood somewhere in a very long argument is no evidence, however long that was."""
    policy = """
        tools:
          echo: {kind: read, allow: [staff]}
          pay: {kind: read, allow: [staff], ground: {order: {returned_by: echo.order}}}
    """
    tools = {"echo": lambda text: {"order": text.split()[-1]}, "pay": lambda order: "paid"}
    for size in (10, 120_000):
        desk = start(tmp_path, "openai-chat", policy, tools)
        desk.propose(("c1", "echo", {"text": "x" * size + " A17"}))
        assert codes(desk.propose(("c2", "pay", {"order": "A17"}))) == ["not_grounded"]


@pytest.mark.parametrize(("count", "last"), [(120_000, 0), (120_001, {"truncated": "more than 120001 values"})])
def test_a_generator_is_read_as_far_as_a_result_may_go(tmp_path: Path, count: int, last: Any) -> None:
    """Nothing that a generator gives is left out in silence: all of it counts, or the result says that more came."""
    text = GET % "" + "ceilings: {result_items: 120001}\n"
    desk = start(tmp_path, "openai-chat", text, {"get": lambda **_: (0 for _ in range(count))}, watched=False)
    desk.propose(("c1", "get", {}))
    [row] = desk.guard.store.rows(desk.chat.ref)
    assert (len(row.value), row.value[-1]) == (count, last)
