"""Pairing under fire, on all wires over real HTTP: whatever a tool or a model does, every id gets its one result.

The provider of these tests rejects a history as the real ones do, so that the second request of each test is the proof.
"""

from __future__ import annotations

import asyncio
import json
import threading
import warnings
from pathlib import Path
from typing import Any

import pytest
from provider import Provider
from wire_helpers import answers, message, spelled, stored_ids
from wire_talk import CLIENTS, ask

from guard import AsyncGuard, Guard, PolicyWarning, Session, ToolError
from guard.core.values import JsonObject

SESSION = Session(principal="E1", roles=("employee",))
HUGE = 50 * 1024 * 1024


class Odd:
    """Not JSON, and unhelpful about it."""

    def __repr__(self) -> str:
        raise RuntimeError("no")

    __str__ = __repr__


def stops(n: int) -> Any:
    raise SystemExit(n)


def breaks(n: int) -> Any:
    raise LookupError("row 17 of table people")


def explains(n: int) -> Any:
    raise ToolError("there is no order 17")


def sleeps(n: int) -> Any:
    threading.Event().wait(0.3)
    return n


BODIES: dict[str, Any] = {
    "fine": lambda n: {"n": n},
    "none": lambda n: None,
    "empty": lambda n: "",
    "bytes": lambda n: b"\x00\xff" * 9,
    "nan": lambda n: {"n": float("nan")},
    "huge": lambda n: "x" * HUGE,
    "odd": lambda n: Odd(),
    "nested": lambda n: {"a": [Odd(), {1, 2}, {"b": float("inf")}]},
    "breaks": breaks,
    "explains": explains,
    "stops": stops,
    "sleeps": sleeps,
}
KINDS = {"read": "", "act": ", approve: never, repeat: allow"}
POLICY = "tools:\n" + "".join(
    f"  {kind}_{name}: {{kind: {'action' if kind == 'act' else 'read'}, allow: [employee]{more}"
    f"{', timeout: 60ms' if name == 'sleeps' else ''}}}\n"
    for kind, more in KINDS.items()
    for name in BODIES
)


def tool(body: Any) -> Any:
    def run(n: int = 0) -> Any:
        return body(n)

    return run


def load(folder: Path, kind: Any = Guard, store: str = "memory://") -> Any:
    (folder / "tools.yaml").write_text(POLICY + "limits:\n  run: {calls: 1000}\n")
    tools = {f"{kind_}_{name}": tool(body) for kind_ in KINDS for name, body in BODIES.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PolicyWarning)
        return kind.load(folder, tools=tools, store=store)


def episode(wire: str, guard: Any, reply: JsonObject) -> Any:
    """One round with these calls, and one more, through the real client: the turn, and the second request as it was accepted."""
    chat = guard.open(SESSION, wire=wire, conversation="c")
    with Provider([reply, message(wire)]) as provider, CLIENTS[wire](provider) as real:
        messages: list[Any] = [chat.user("go")]
        turn = chat.handle(ask(wire, real, messages, chat.tools), history=messages)
        if asyncio.iscoroutine(turn):
            turn = asyncio.run(turn)
        messages += turn.append
        last = ask(wire, real, messages, chat.tools)
        assert provider.rejections == []
    end = chat.handle(last, history=messages)
    assert (asyncio.run(end) if asyncio.iscoroutine(end) else end).stop == "done"
    assert [found for found, _ in answers(wire, turn.messages)] == stored_ids(wire, turn.append)
    return turn


def statuses(turn: Any) -> list[str]:
    return [outcome.status for outcome in turn.outcomes]


wires = pytest.mark.parametrize("wire", ["openai-chat", "anthropic"])
every = pytest.mark.parametrize("wire", sorted(CLIENTS))
kinds = pytest.mark.parametrize("kind", [Guard, AsyncGuard], ids=["sync", "async"])
RESULTS = {
    "fine": ("done", "done"),
    "none": ("done", "done"),
    "empty": ("done", "done"),
    "bytes": ("done", "done"),
    "nan": ("done", "done"),
    "huge": ("done", "done"),
    "odd": ("done", "done"),
    "nested": ("done", "done"),
    "breaks": ("failed", "failed"),
    "explains": ("failed", "failed"),
    "stops": ("failed", "failed"),
    "sleeps": ("failed", "unknown"),
}


@wires
@kinds
@pytest.mark.parametrize("name", BODIES)
def test_whatever_a_tool_does_each_id_has_its_result(tmp_path: Path, wire: str, kind: Any, name: str) -> None:
    """Look-up and action between two siblings that keep theirs; nothing of an exception's text is shown."""
    calls = [
        ("a", "read_fine", {"n": 1}),
        ("b", f"read_{name}", {"n": 2}),
        ("c", f"act_{name}", {"n": 3}),
        ("d", "act_fine", {"n": 4}),
    ]
    turn = episode(wire, load(tmp_path, kind), message(wire, *texts(wire, calls)))

    assert statuses(turn) == ["done", *RESULTS[name], "done"]
    assert [turn.outcomes[0].content, turn.outcomes[3].content] == ['{"n":1}', '{"n":4}']
    assert all(0 < len(outcome.content) < 300_000 for outcome in turn.outcomes)
    assert "table people" not in json.dumps(turn.messages)
    if RESULTS[name][0] == "failed":
        assert json.loads(turn.outcomes[1].content)["ok"] is False


def texts(wire: str, calls: list[tuple[str, str, Any]]) -> list[tuple[str, str, Any]]:
    """Arguments as this wire carries them: objects, or JSON text."""
    return [(call_id, name, spelled(wire, sent)) for call_id, name, sent in calls]


BROKEN = ['{"n": 1', "", "null", "[]", "not json", '{"n": 1}{"n": 2}', '{"n": 1, "n": 2}', '"{}"', '{"n": NaN}', "{}\x00", None]


@pytest.mark.parametrize("sent", BROKEN, ids=repr)
def test_broken_arguments_get_their_result_on_a_wire_with_text(tmp_path: Path, sent: Any) -> None:
    """Text that is no object is refused, empty and missing arguments count as none where nothing is required."""
    turn = episode("openai-chat", load(tmp_path), message("openai-chat", ("a", "read_fine", sent), ("b", "act_fine", '{"n": 1}')))

    assert statuses(turn) == ["done" if sent in (None, "") else "refused", "done"]


@pytest.mark.parametrize("sent", [None, [], "text", 7, {"n": None}, {"m": 1}, {"n": "1"}], ids=repr)
def test_odd_input_gets_its_result_on_a_wire_with_objects(tmp_path: Path, sent: Any) -> None:
    """Whatever stands for the input, the id is answered and the stored turn is one that the provider takes back."""
    use = {"type": "tool_use", "id": "a", "name": "read_fine", "input": sent}
    other = {"type": "tool_use", "id": "b", "name": "act_fine", "input": {"n": 1}}
    turn = episode("anthropic", load(tmp_path), {"role": "assistant", "content": [use, other]})

    assert statuses(turn) == ["done" if sent in (None, {"n": None}) else "refused", "done"]


@wires
def test_missing_arguments_get_their_result(tmp_path: Path, wire: str) -> None:
    """A call without the field at all is answered like one with nothing in it."""
    reply = message(wire, ("a", "read_fine", {}), ("b", "act_fine", {}))
    for call in reply["content"][1:] if wire == "anthropic" else [found["function"] for found in reply["tool_calls"]]:
        del call["input" if wire == "anthropic" else "arguments"]

    assert statuses(episode(wire, load(tmp_path), reply)) == ["done", "done"]


@every
@pytest.mark.parametrize(
    "ids",
    [("", ""), ("same", "same", "same"), ("", "call_0", ""), (" ", "a b", "a b"), ("x" * 300, "é", "a.b"), (None, None)],
    ids=["empty", "repeated", "empty beside one", "blank and illegal", "long and illegal", "null"],
)
def test_empty_and_repeated_ids_get_one_result_each(tmp_path: Path, wire: str, ids: tuple[Any, ...]) -> None:
    """Each call is answered under an id of its own, in call order."""
    calls = [(call_id, "act_fine", {"n": number}) for number, call_id in enumerate(ids)]
    turn = episode(wire, load(tmp_path), message(wire, *texts(wire, calls)))

    assert [outcome.content for outcome in turn.outcomes] == [f'{{"n":{number}}}' for number in range(len(ids))]
    assert wire == "gemini" or len(set(stored_ids(wire, turn.append))) == len(ids)  # there an id may be absent


@every
@pytest.mark.parametrize("name", ["read_fin", "", "delete everything", "x" * 200, "ünknown", "read.fine"], ids=repr)
def test_an_unknown_tool_gets_its_result(tmp_path: Path, wire: str, name: str) -> None:
    """Refused with the names that exist; the sibling runs."""
    turn = episode(wire, load(tmp_path), message(wire, *texts(wire, [("a", name, {}), ("b", "read_fine", {"n": 1})])))

    assert statuses(turn) == ["refused", "done"]
    assert "read_fine" in json.loads(turn.outcomes[0].content)["error"]["known_tools"]


@wires
@kinds
@pytest.mark.parametrize("store", ["memory://", "sqlite"])
@pytest.mark.parametrize("count", [1, 2, 8, 64])
def test_many_parallel_calls_get_one_result_each(tmp_path: Path, wire: str, kind: Any, store: str, count: int) -> None:
    """Good ones, failing ones and unknown ones mixed: one result each, in call order."""
    names = ("read_fine", "act_fine", "read_breaks", "no_such")
    calls = [(f"id{number}", names[number % 4], {"n": number}) for number in range(count)]
    url = store if store != "sqlite" else f"sqlite:///{tmp_path / 'guard.db'}"
    turn = episode(wire, load(tmp_path, kind, url), message(wire, *texts(wire, calls)))

    assert statuses(turn) == [("done", "done", "failed", "refused")[number % 4] for number in range(count)]
    assert [found for found, _ in answers(wire, turn.messages)] == [call_id for call_id, _, _ in calls]


@every
def test_more_calls_than_the_provider_takes_back_stay_answerable(tmp_path: Path, wire: str) -> None:
    """200 calls: what is stored is answered call by call, what is not stored did not run."""
    calls = [(f"id{number}", "act_fine", {"n": number}) for number in range(200)]
    turn = episode(wire, load(tmp_path), message(wire, *texts(wire, calls)))

    stored = len(stored_ids(wire, turn.append))
    assert stored == (128 if wire == "openai-chat" else 200)
    assert statuses(turn) == ["done"] * stored + ["refused"] * (200 - stored)


@every
def test_the_conversation_goes_on_after_everything_at_once(tmp_path: Path, wire: str) -> None:
    """All of it in one message, and then a further round on the same conversation."""
    names = [f"{kind}_{name}" for kind in KINDS for name in BODIES if name != "huge"]
    calls = [("same", name, {"n": number}) for number, name in enumerate([*names, "nothing", ""])]
    guard = load(tmp_path)
    assert len(episode(wire, guard, message(wire, *texts(wire, calls))).outcomes) == len(calls)
    assert statuses(episode(wire, guard, message(wire, *texts(wire, [("same", "read_fine", {"n": 1})])))) == ["done"]
