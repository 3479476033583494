"""Kills: while one is in force nothing that it covers starts, whatever permits it; what waited has ended on record; and it can be cleared."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from stores_kit import STORES, url_of
from votes_kit import ANN, BOSS, CHIEF, Office, code, office

from guard import AsyncGuard, Guard, GuardError, Session, StoreError, ToolCall
from guard.core.reasons import Reason

MORE = ", expires: 1h, grants: [{scope: tool_here, uses: 9}]"
FREE = """
tools:
  pay: {kind: action, allow: [staff], approve: never, repeat: allow}
  look: {kind: read, allow: [staff]}
limits: {run: {calls: 1000}}
"""
OPERATOR = Session(principal="op", roles=("staff",))
AWAY = Session(principal="u1", roles=("staff",), tenant="away")

pytestmark = pytest.mark.filterwarnings("ignore::guard.PolicyWarning")


@pytest.fixture(params=STORES)
def desk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Office]:
    """An office on each store; in the end the record, replayed, gives the tables."""
    with office(tmp_path, request.param, MORE) as made:
        yield made


class Free:
    """A program whose calls need nobody."""

    def __init__(self, folder: Path, url: str, kind: type[Guard] = Guard) -> None:
        (folder / "tools.yaml").write_text(FREE)
        self.ran: list[int] = []

        def pay(n: int) -> int:
            """Pay."""
            self.ran.append(n)
            return n

        def look(n: int) -> int:
            """Look."""
            self.ran.append(n)
            return n

        self.guard: Any = kind.load(folder, tools=[pay, look], store=url)

    def call(self, tool: str = "pay", n: int = 1, who: Session = ANN, conversation: str = "c", **more: Any) -> Any:
        """One call."""
        return self.guard.call(ToolCall("c", tool, {"n": n}), who, conversation=conversation, **more)


@pytest.fixture(params=STORES)
def free(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Free]:
    """Such a program on each store."""
    with url_of(request.param, tmp_path) as url:
        made = Free(tmp_path, url)
        with made.guard:
            yield made


SCOPES: dict[str, tuple[dict[str, str], list[bool]]] = {
    "tool": ({"tool": "pay"}, [True, False, True, True]),
    "conversation": ({"conversation": "c"}, [True, True, False, False]),
    "tenant": ({"tenant": "default"}, [True, True, True, False]),
    "tool-in-tenant": ({"tool": "pay", "tenant": "away"}, [False, False, False, True]),
    "tool-in-conversation": ({"tool": "look", "conversation": "c"}, [False, True, False, False]),
    "all-three": ({"tool": "pay", "conversation": "d", "tenant": "default"}, [False, False, True, False]),
}


@pytest.mark.parametrize(("scope", "stopped"), SCOPES.values(), ids=list(SCOPES))
def test_a_kill_covers_what_it_names_and_nothing_else(free: Free, scope: dict[str, str], stopped: list[bool]) -> None:
    """Actions and look-ups alike are refused with a code of their own and do not run; whatever lies outside goes on; cleared, all goes on."""
    ways: list[dict[str, Any]] = [{}, {"tool": "look"}, {"conversation": "d"}, {"who": AWAY, "conversation": "e"}]
    kill = free.guard.kills.set(by=OPERATOR, reason="wrong amounts", **scope)
    found = [free.call(n=number, **way) for number, way in enumerate(ways)]
    assert [one.reason is Reason.KILLED for one in found] == stopped
    assert [one.status for one in found] == ["refused" if stop else "done" for stop in stopped]
    assert free.ran == [number for number, stop in enumerate(stopped) if not stop]
    free.guard.kills.clear(kill.id, by=OPERATOR, reason="mended")
    assert [free.call(n=10 + number, **way).status for number, way in enumerate(ways)] == ["done"] * 4


def test_what_waits_ends_with_the_kill_and_its_call_is_refused_at_once(desk: Office) -> None:
    """A question is cancelled and an unused yes revoked, each on record with the kill, and the calls are refused in the same transaction."""
    waiting, given = desk.ask(1), desk.ask(2)
    desk.approvals.approve(given, approver=BOSS)
    kill = desk.guard.kills.set(by=CHIEF, reason="wrong amounts", tool="pay")
    assert (desk.status(waiting), desk.status(given)) == ("cancelled", "revoked")
    assert (kill.cancelled, kill.revoked, kill.by, kill.status) == (1, 1, "c1", "set")
    rows = desk.guard.store.rows(desk.chat.ref)
    assert [(row.status, row.outcome.reason) for row in rows] == [("refused", Reason.KILLED)] * 2
    told = desk.settle()
    assert told.count('\\"code\\":\\"killed\\"') == 2
    assert "wrong amounts" not in told
    assert kill.id not in told
    [record] = desk.events("kill.set")
    assert record["kill"] == {"id": kill.id, "status": "set", "cancelled": 1, "revoked": 1, "reason": "wrong amounts"}
    assert record["actor"] == {"type": "human", "ref": "c1", "assurance": "host"}
    assert record["tool"] == {"name": "pay"}
    ends = {
        one["approval"]: one["kind"] for one in desk.events() if one.get("kill") == {"id": kill.id} and "approval_state" in one
    }
    assert ends == {waiting.id: "approval.cancelled", given.id: "approval.revoked"}
    refusals = {one["approval"]: one["decision"]["code"] for one in desk.events("call.decided") if one.get("kill")}
    assert refusals == {waiting.id: "killed", given.id: "killed"}
    assert desk.ran == []


def test_a_new_call_under_a_kill_asks_nobody(desk: Office) -> None:
    """Nobody is asked about a call that would be refused, and clearing brings nothing back: the call is proposed and asked about anew."""
    kill = desk.guard.kills.set(by=CHIEF, reason="r", conversation="c")
    assert desk.propose(1).outcomes[0].reason is Reason.KILLED
    assert desk.approvals.list(status=None) == ()
    desk.guard.kills.clear(kill, by=CHIEF, reason="mended")
    assert desk.propose(1, call="c2").outcomes[0].status == "held"


def test_a_grant_does_not_beat_a_kill(desk: Office) -> None:
    """What a grant lets run without a question is refused under a kill, and the grant of a yes that a kill took back is over."""
    first = desk.ask(1)
    desk.approvals.approve(first, approver=BOSS)
    grant = desk.guard.grants.give(first.id, by=BOSS, scope="tool_here")
    desk.settle()
    kill = desk.guard.kills.set(by=CHIEF, reason="r", tool="pay")
    assert desk.propose(2, call="c2").outcomes[0].reason is Reason.KILLED
    desk.guard.kills.clear(kill.id, by=CHIEF, reason="mended")
    assert desk.propose(3, call="c3").outcomes[0].status == "done"  # it stands still: its call had run
    other = desk.ask(4, call="c4", to="Eve") if desk.guard.grants.revoke(grant, by=BOSS) else None
    desk.approvals.approve(other, approver=BOSS)
    given = desk.guard.grants.give(other.id, by=BOSS, scope="tool_here")
    desk.guard.kills.set(by=CHIEF, reason="r", tool="pay")
    assert desk.guard.grants.show(given).status(desk.clock.now) == "revoked"


@pytest.mark.parametrize("at_once", [True, False], ids=["with the decision", "behind the decision"])
def test_what_was_approved_and_is_claimed_after_a_kill_does_not_start(desk: Office, at_once: bool) -> None:
    """The kill comes right before the claim, whether the decision is written with it or was before: nothing starts, and the model is told by the same code."""
    approval = desk.ask(1)
    desk.approvals.approve(approval, approver=BOSS)
    store = desk.guard.store
    asked: list[str] = []

    class Between:
        def __init__(self) -> None:
            self.at_once = at_once and getattr(store, "at_once", False)

        def __getattr__(self, name: str) -> Any:
            if name in ("claim", "begin"):
                asked.append(name)
                desk.guard.kills.set(by=CHIEF, reason="r", tenant="default")
            return getattr(store, name)

    desk.guard.store = desk.guard.hands.store = Between()
    told = desk.settle()
    desk.guard.store = desk.guard.hands.store = store
    assert asked == ["begin" if at_once and getattr(store, "at_once", False) else "claim"]
    assert '\\"code\\":\\"killed\\"' in told
    assert desk.ran == []
    assert desk.status(approval) == "revoked"


@pytest.mark.parametrize("tool", ["pay", "look"])
def test_a_kill_between_opening_and_recording_refuses(free: Free, tool: str) -> None:
    """The decision is written only while nothing stops it: a look-up, which nobody claims, is refused there."""
    store = free.guard.store

    class Between:
        def __getattr__(self, name: str) -> Any:
            return getattr(store, name)

        def decide(self, command: Any) -> Any:
            if not store.kills():
                free.guard.kills.set(by=OPERATOR, reason="r", tool=tool)
            return store.decide(command)

    free.guard.hands.store = Between()
    outcome = free.call(tool)
    free.guard.hands.store = store
    assert (outcome.status, outcome.reason) == ("refused", Reason.KILLED)
    assert free.ran == []
    kinds = [json.loads(one.body)["kind"] for chain in range(store.chains) for one in store.audit(chain=chain)]
    assert kinds.count("call.decided") == 1  # nothing says that it was allowed


def test_what_has_started_ends_and_is_delivered(tmp_path: Path) -> None:
    """A kill stops no call that has begun: its result goes back, and goes back again when the turn is handled again."""
    (tmp_path / "tools.yaml").write_text(FREE)

    def pay(n: int) -> int:
        """Pay."""
        guard.kills.set(by=OPERATOR, reason="r", tool="pay")
        return n

    def look(n: int) -> int:
        """Look."""
        return n

    with Guard.load(tmp_path, tools=[pay, look], store=f"sqlite:///{tmp_path}/guard.db") as guard:
        call = ToolCall("c", "pay", {"n": 7})
        first = guard.call(call, ANN, conversation="c", key="k")
        again = guard.call(call, ANN, conversation="c", key="k")
        assert (first.status, again.status, again.replayed) == ("done", "done", True)
        assert guard.call(call, ANN, conversation="c", key="other").reason is Reason.KILLED


def test_a_kill_reaches_every_process(tmp_path: Path) -> None:
    """Another program on the same store is stopped by its next call, also where it foresees its turns."""
    url = f"sqlite:///{tmp_path}/guard.db"
    here, there = Free(tmp_path, url), Free(tmp_path, url)
    with here.guard, there.guard:
        assert here.call().status == there.call(n=2).status == "done"
        there.guard.kills.set(by=OPERATOR, reason="r", conversation="c")
        assert here.call(n=3).reason is Reason.KILLED
        assert here.ran == [1]


def test_looking_for_kills_fails_closed(free: Free, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that cannot say whether something is stopped refuses."""

    def broken(*_: object) -> Any:
        raise StoreError("down")

    free.call(n=1)
    monkeypatch.setattr("guard.stores.sql_kills.stops_of", broken)
    monkeypatch.setattr("guard.stores.memory_kills.MemoryKills.stops", broken)
    assert [free.call(tool, n=2).reason for tool in ("pay", "look")] == [Reason.STORE_UNAVAILABLE] * 2
    assert free.ran == [1]


MISUSE: dict[str, tuple[dict[str, Any], str, str]] = {
    "nothing": ({}, "nothing", "a tool, a conversation or a tenant"),
    "misspelt": ({"tool": "pai"}, "unknown_tool", "did you mean pay?"),
    "no-reason": ({"tool": "pay", "reason": " "}, "no_reason", "say why"),
    "empty": ({"conversation": ""}, "nothing", "not empty"),
    "nobody": ({"tool": "pay", "by": "op"}, "not_entitled", "Session"),
}


@pytest.mark.parametrize(("given", "told", "says"), MISUSE.values(), ids=list(MISUSE))
def test_a_kill_that_would_stop_nothing_is_refused(tmp_path: Path, given: dict[str, Any], told: str, says: str) -> None:
    """It says what to write instead; nothing is stopped."""
    free = Free(tmp_path, "memory://")
    with free.guard:
        assert code(free.guard.kills.set, **{"by": OPERATOR, "reason": "r", **given}) == told
        with pytest.raises(GuardError, match=says):
            free.guard.kills.set(**{"by": OPERATOR, "reason": "r", **given})
        assert free.guard.kills.list() == ()
        assert free.call().status == "done"


def test_kills_are_listed_shown_and_cleared_once(free: Free) -> None:
    """Those in force, or all with who cleared them and why; of a tenant also what covers every tenant."""
    kills = free.guard.kills
    first, second = kills.set(by=OPERATOR, reason="a", tool="pay"), kills.set(by=OPERATOR, reason="b", tenant="away")
    assert [one.id for one in kills.list()] == [first.id, second.id]
    assert [one.id for one in kills.list(tenant="default")] == [first.id]
    cleared = kills.clear(first.id, by=CHIEF, reason="mended")
    assert (cleared.status, cleared.cleared_by, cleared.cleared_why) == ("cleared", "c1", "mended")
    assert kills.show(first) == cleared
    assert kills.list() == (second,)
    assert kills.list(status="cleared") == (cleared,)
    assert code(kills.clear, first, by=CHIEF, reason="again") == "already_decided"
    assert code(kills.clear, "ki_nothing", by=CHIEF, reason="again") == code(kills.show, "ki_nothing") == "not_found"
    assert free.call().status == "done"


def test_awaited(tmp_path: Path) -> None:
    """The same for asyncio callers."""

    async def main() -> None:
        free = Free(tmp_path, "memory://", AsyncGuard)  # type: ignore[arg-type]
        kill = await free.guard.kills.set(by=OPERATOR, reason="r", tool="look")
        assert (await free.call("look")).reason is Reason.KILLED
        assert await free.guard.kills.list() == (kill,)
        assert await free.guard.kills.show(kill.id) == kill
        await free.guard.kills.clear(kill.id, by=OPERATOR, reason="r")
        assert (await free.call("look")).status == "done"
        free.guard.close()

    asyncio.run(main())
