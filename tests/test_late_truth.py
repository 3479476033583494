"""How an attempt really ended settles an unknown call, whoever ran it: on record, told once; what a person has said stands, but for a done act."""

from __future__ import annotations

import asyncio
import json
import threading
import warnings
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from life_kit import CLERK, ENTRIES, UNKNOWN, Life, a_life, plain_lives, reply, said, until
from stores_kit import STORES, records, url_of

from guard import AsyncGuard, Outcome, PolicyWarning, Session, ToolCall
from guard.core.model import ConversationRef
from guard.runner.worker import Worker
from guard.web.remote import ContradictedError, Remote, Report, SettledError, Ticket

POLICY = """
tools:
  pay: {kind: action, allow: [clerk], schema: {type: object, properties: {n: {type: integer}}}, approve: never}
  soon: {kind: action, allow: [clerk], schema: {type: object, properties: {n: {type: integer}}}, approve: never, timeout: 50ms}
  look: {kind: read, allow: [clerk], schema: {type: object, properties: {n: {type: integer}}}}
limits: {run: {calls: 500}}
"""
ANN = Session(principal="E1", tenant="acme", roles=("clerk",))
DONE, FAILED, NOBODY = (
    Report(status="done", result={"ref": "R-1"}),
    Report(status="failed", message="No account."),
    Report(status="unknown"),
)


class Elsewhere:
    """A server's guard over one store, whose tools a loop runs."""

    def __init__(self, folder: Path, url: str) -> None:
        folder.joinpath("tools.yaml").write_text(POLICY)
        self.remote = Remote(0.05)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PolicyWarning)
            self.guard = AsyncGuard.load(folder, tools=self.remote.tools(["pay", "soon", "look"]), store=url)

    async def propose(self, tool: str = "pay", n: int = 1) -> Ticket:
        """A ticket that was given up."""
        call = ToolCall("c1", tool, f'{{"n": {n}}}')
        found = await self.remote.propose(lambda: self.guard.call(call, ANN, conversation="c"), "loop")
        assert isinstance(found, Ticket)
        assert found.outcome is not None
        await asyncio.wait({found.outcome})
        return found

    async def report(self, ticket: Ticket, report: Report) -> Outcome:
        found = await self.remote.report(ticket.token, report, "loop")
        assert found is not None
        return found

    async def settle(self, *, happened: bool) -> None:
        [doubt] = await self.guard.unknown.list()
        await self.guard.unknown.resolve(doubt, happened=happened, approver=ANN, reason="asked the bank")

    def status(self) -> str:
        return self.guard.store.rows(ConversationRef(tenant="acme", principal="E1", conversation="c"))[0].status

    def settled(self) -> list[Any]:
        """Who said that it took effect, and whether that agrees with what was known; in order."""
        bodies = [json.loads(record.body) for record in records(self.guard.store)]
        return [
            (body["actor"]["type"], body["exec"]["status"], body["effect"].get("agrees"))
            for body in bodies
            if body["kind"] == "call.reconciled"
        ]


@pytest.fixture(params=STORES)
def elsewhere(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Elsewhere]:
    with url_of(request.param, tmp_path) as url:
        made = Elsewhere(tmp_path, url)
        with closing(made.guard):
            yield made


@pytest.mark.parametrize("tool", ["pay", "soon"], ids=["given up by the server", "after the tool's time-out"])
@pytest.mark.parametrize(("report", "status"), [(DONE, "done"), (FAILED, "failed")], ids=["done", "failed"])
def test_a_late_report_settles_its_call(elsewhere: Elsewhere, tool: str, report: Report, status: str) -> None:
    """Unknown until then; the report's own outcome goes back, it is on record, and the same once more is a replay."""

    async def loop() -> None:
        ticket = await elsewhere.propose(tool)
        assert (await ticket.outcome).status == "unknown"  # type: ignore[misc]
        assert await elsewhere.remote.report(ticket.token, report, "another loop") is None
        late = await elsewhere.report(ticket, report)
        assert (late.status, late.replayed, late.call_id) == (status, False, "c1")
        assert ("R-1" in str(late.content), "No account." in str(late.content)) == (status == "done", status == "failed")
        again = await elsewhere.report(ticket, report)
        assert (again.status, again.replayed) == (status, True)
        with pytest.raises(ContradictedError):
            await elsewhere.report(ticket, DONE if report is FAILED else FAILED)

    asyncio.run(loop())
    assert elsewhere.status() == status
    assert elsewhere.settled() == [("service", "ok" if status == "done" else "error", True)]


def test_many_late_reports_at_once_settle_it_once(elsewhere: Elsewhere) -> None:
    """Eight equal ones: one settles, the others are replays."""

    async def loop() -> None:
        ticket = await elsewhere.propose()
        found = await asyncio.gather(*(elsewhere.report(ticket, DONE) for _ in range(8)))
        assert sorted((one.status, one.replayed) for one in found) == [("done", False), *[("done", True)] * 7]

    asyncio.run(loop())
    assert len(elsewhere.settled()) == 1


def test_that_nobody_knew_is_no_last_word(elsewhere: Elsewhere) -> None:
    """A loop that reported unknown may find out afterwards."""

    async def loop() -> None:
        found = await elsewhere.remote.propose(
            lambda: elsewhere.guard.call(ToolCall("c1", "pay", '{"n": 1}'), ANN, conversation="c"), "loop"
        )
        assert isinstance(found, Ticket)
        assert (await elsewhere.report(found, NOBODY)).status == "unknown"
        assert (await elsewhere.report(found, NOBODY)).status == "unknown"
        assert (await elsewhere.report(found, DONE)).status == "done"

    asyncio.run(loop())
    assert elsewhere.settled() == [("service", "ok", True)]


WORDS = {
    # what the person said, what the report says: (whether the person's word stands, what the ledger says)
    "it happened, and was done": (True, DONE, "agrees", "done"),
    "it happened, and failed": (True, FAILED, "stands", "done"),
    "it did not, and failed": (False, FAILED, "agrees", "failed"),
    "it did not, and was done": (False, DONE, "outranked", "done"),
}


@pytest.mark.parametrize("case", WORDS)
def test_after_a_persons_word(elsewhere: Elsewhere, case: str) -> None:
    """A disagreeing report is on record and answered so; only a done act outranks the word that there was none."""
    happened, report, how, status = WORDS[case]

    async def loop() -> None:
        ticket = await elsewhere.propose()
        await elsewhere.settle(happened=happened)
        if how == "stands":
            with pytest.raises(SettledError):
                await elsewhere.report(ticket, report)
            with pytest.raises(SettledError):
                await elsewhere.report(ticket, report)
        else:
            assert (await elsewhere.report(ticket, report)).status == status

    asyncio.run(loop())
    assert elsewhere.status() == status
    more = [] if how == "agrees" else [("service", "ok" if report is DONE else "error", False)]
    assert elsewhere.settled() == [("human", "ok" if happened else "error", None), *more]


def test_a_late_look_up_changes_nothing(elsewhere: Elsewhere) -> None:
    """It failed and may be made again."""

    async def loop() -> None:
        ticket = await elsewhere.propose("look")
        assert (await elsewhere.report(ticket, DONE)).status == "failed"

    asyncio.run(loop())
    assert elsewhere.settled() == []


# -- in this process -----------------------------------------------------------------------------------------------------------


@pytest.fixture(params=plain_lives)
def life(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Life]:
    yield from a_life(request, tmp_path)


def test_a_thread_that_ends_late_is_on_record_as_what_settled_it(life: Life) -> None:
    """Beside its own end stands that it settled the unknown call."""
    go = threading.Event()
    life.answers["once"] = lambda n: go.wait(20) and {"n": n}
    guard = life.process(once=f"{ENTRIES['once']}, timeout: 50ms")
    assert said(life.propose(guard, ("once", 1))[0]) == UNKNOWN
    go.set()
    until(lambda: life.statuses() == ["done"])
    [one] = life.events("call.reconciled")
    assert (one["actor"], one["exec"], one["effect"]) == (
        {"type": "service"},
        {"status": "ok", "attempt": 1},
        {"observed": True, "agrees": True},
    )


def test_an_async_tool_that_does_not_stop_is_heard(life: Life) -> None:
    """One that is told to stop and ends well all the same: it was done."""
    go = asyncio.Event()

    async def stubborn(n: int) -> dict[str, int]:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await go.wait()
        return {"n": n}

    async def program() -> None:
        life.colour = "async, async tools"
        life.answers["once"] = stubborn
        guard = life.process(once=f"{ENTRIES['once']}, timeout: 50ms")
        turn = await life.chat(guard).handle(reply(("once", 1)))
        assert said(turn.outcomes[0]) == UNKNOWN
        go.set()
        await asyncio.to_thread(until, lambda: life.statuses() == ["done"], 20)

    asyncio.run(program())
    assert [one["effect"]["observed"] for one in life.events("call.reconciled")] == [True]


def test_a_workers_tool_that_ends_late_settles_the_call(life: Life) -> None:
    """A worker gave it up at its time-out; while the process lives, the end counts."""
    go = threading.Event()
    life.answers["held"] = lambda n: go.wait(20) and {"n": n}
    guard = life.process(held=f"{ENTRIES['held']}, timeout: 50ms")
    life.propose(guard, ("held", 1))
    life.approve(guard)
    with Worker(guard, lambda *_: CLERK, grace=0) as worker:
        worker.once()
    assert life.statuses() == ["unknown"]
    go.set()
    until(lambda: life.statuses() == ["done"])
    assert [one["effect"]["agrees"] for one in life.events("call.reconciled")] == [True]
