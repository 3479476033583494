"""What an outside look found about results, children, loaders and checks: none of them shows or lets through more than the policy says."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from guard import Guard, Outcome, Session, ToolCall
from guard.errors import ConversationError, GuardError

NEEDLE = "QX-77-NEEDLE"
HEAD = "limits: {run: {steps: 80, calls: 200}}\ntools:\n"
KIM = Session(principal="kim", roles=("staff",))
RICH = Session(principal="kim", roles=("staff", "auditor"))
ROLES = "  act: {kind: action, allow: [staff], approve: never, result: {mask: {tax: fixed}, roles: {auditor: {show: [tax]}}}}\n"
OPEN = "  act: {kind: action, allow: [staff], approve: never}\n"
TIGHT = "  act: {kind: action, allow: [staff], approve: never, result: {mask: {tax: fixed}}}\n"
HOLDING = "  act: {kind: action, allow: [staff], approve: never, resource: {order: x}, checks: [chk]}\n"


def loaded(folder: Path, text: str, ran: list[str], value: Any = None, **more: Any) -> Guard:
    def act(x: str) -> Any:
        ran.append(x)
        return {"id": x, "tax": NEEDLE} if value is None else value

    (folder / "tools.yaml").write_text(HEAD + text)
    return Guard.load(folder, tools=[act], store=f"sqlite:///{folder}/guard.db", **more)


def call(guard: Guard, session: Session = KIM, call_id: str = "1") -> Outcome:
    return guard.call(ToolCall(call_id, "act", '{"x":"a"}'), session, conversation="c")


def test_a_replay_shows_what_the_session_may_see_now(tmp_path: Path) -> None:
    """What a stronger role was shown is not shown to a weaker one of the same person; equal roles get the same again; nothing runs twice."""
    ran: list[str] = []
    with loaded(tmp_path, ROLES, ran) as guard:
        first, again, weak = call(guard, RICH), call(guard, RICH, "2"), call(guard, KIM, "3")
    assert NEEDLE in str(first.content)
    assert (again.content, again.replayed) == (first.content, True)
    assert (weak.status, weak.replayed, ran) == ("done", True, ["a"])
    assert NEEDLE not in str(weak.content)


def test_a_replay_is_judged_by_the_rules_in_force(tmp_path: Path) -> None:
    """What an older policy showed is not shown again once its rules about the result are others."""
    ran: list[str] = []
    with loaded(tmp_path, OPEN, ran) as guard:
        assert NEEDLE in str(call(guard).content)
        (tmp_path / "tools.yaml").write_text(HEAD + TIGHT)
        assert guard.reload().changed
        later = call(guard, KIM, "2")
    assert (later.status, later.replayed, ran) == ("done", True, ["a"])
    assert NEEDLE not in str(later.content)


LOOKS = ("***@secret.example", "K*** L***", "****1234", "1999-**-**", "sk_ABCDEFGH12S", "hash_0000000000" + "0")


@pytest.mark.parametrize("value", LOOKS)
def test_what_looks_like_a_mask_is_hidden_too(tmp_path: Path, value: str) -> None:
    """Only what the guard put there itself may stay."""
    with loaded(tmp_path, TIGHT, [], {"tax": value}) as guard:
        assert json.loads(str(call(guard).content)) == {"tax": "[hidden]"}


def test_a_child_is_never_wider(tmp_path: Path) -> None:
    """It keeps roles of the session alone, not those that rules derive; and a rule that refuses its parent refuses it."""
    rule = "  act: {kind: action, allow: [staff], approve: never, refuse: [{when: {'session.roles[*]': {const: trainee}}}]}\n"
    (tmp_path / "rules.csv").write_text("g, kim, vip, default\np, vip, *, act, call, allow\n")
    session = Session(principal="kim", roles=("staff", "trainee"))
    with loaded(tmp_path, rule, ran := []) as guard:
        chat = guard.open(session, wire="openai-chat", conversation="c")
        with pytest.raises(ConversationError, match="vip comes of a rule"):
            chat.child(roles=["staff", "vip"])
        asked = {"id": "1", "type": "function", "function": {"name": "act", "arguments": '{"x":"a"}'}}
        message = {"role": "assistant", "content": None, "tool_calls": [asked]}
        turn = chat.child(roles=["staff"]).handle({"choices": [{"finish_reason": "tool_calls", "message": message}]})
    assert ([one.status for one in turn.outcomes], ran) == (["refused"], [])


NONE = {"False": False, "0": 0, "a list": [], "a list of records": [{"id": 1}], "a text": "not found", "True": True}


@pytest.mark.parametrize("given", NONE.values(), ids=NONE)
def test_a_loader_that_gives_no_record_found_none(tmp_path: Path, given: Any) -> None:
    """Only an object with fields is a record; everything else leaves the fact unavailable, and the call is refused."""
    with loaded(tmp_path, HOLDING, ran := [], checks={"chk": lambda _: None}) as guard:
        guard.resource("order")(lambda _: given)
        assert (str(call(guard).reason), ran) == ("fact_unavailable", [])


def test_a_loader_that_would_have_to_be_awaited(tmp_path: Path) -> None:
    """An async one is refused where it is registered; one that only gives a coroutine found nothing."""

    async def load(_: str) -> dict[str, str]:
        return {}

    def plain(name: str) -> Any:
        return load(name)

    with loaded(tmp_path, HOLDING, ran := [], checks={"chk": lambda _: None}) as guard:
        with pytest.raises(GuardError, match="async loaders need AsyncGuard"):
            guard.resource("order")(load)
        guard.resource("order")(plain)
        assert (str(call(guard).reason), ran) == ("fact_unavailable", [])


@pytest.mark.parametrize("kind", [SystemExit, GeneratorExit, asyncio.CancelledError, ValueError])
@pytest.mark.parametrize("patience", [None, 5.0])
def test_whatever_a_check_raises_refuses(tmp_path: Path, kind: Callable[[], BaseException], patience: float | None) -> None:
    """A check cannot end the program or the turn."""

    def chk(_: dict[str, Any]) -> None:
        raise kind()

    with loaded(tmp_path, HOLDING, ran := [], checks={"chk": chk}, patience=patience) as guard:
        guard.resource("order")(lambda _: {"id": 1})
        assert (str(call(guard).reason), ran) == ("check_failed", [])
