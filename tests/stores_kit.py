"""What the tests of the stores share: a settable clock, and short ways to write commands."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import postgres_kit

from guard.core.model import Approval, CallKey, ConversationRef, Outcome, ToolCall, Usage
from guard.core.ports import AskApproval, CallRow, Charge, Claim, OpenTurn, Sealed, Store, TakeQuota
from guard.core.reasons import Reason
from guard.stores import open_store
from guard.stores.chain import verify_store

REF = ConversationRef(tenant="acme", principal="E1", conversation="conv-1")
CHILD = replace(REF, branch="child")
OTHER = replace(REF, principal="E2")
NEXT = replace(REF, conversation="conv-2")


STORES = ("memory", "sqlite", "postgres")


@contextmanager
def url_of(kind: str, folder: Path) -> Iterator[str]:
    """The URL of a new store of this kind."""
    if kind == "postgres":
        with postgres_kit.database() as url:
            yield url
    else:
        yield "memory://" if kind == "memory" else f"sqlite:///{folder}/guard.db"


def a_store(kind: str, folder: Path, clock: Clock) -> Iterator[Store]:
    """A store for one test; whatever the test did, its audit verifies in the end."""
    with url_of(kind, folder) as url:
        made = open_store(url, clock=clock)
        yield made
        assert verify_store(made).ok
        made.close()


@contextmanager
def in_file(file: Path) -> Iterator[Store]:
    """A store in this file, by a clock that can be set."""
    with closing(open_store(f"sqlite:///{file}", clock=Clock())) as made:
        yield made


def edit(file: Path, *statements: str) -> None:
    """What somebody with the file and a SQLite shell can do."""
    with closing(sqlite3.connect(file)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def records(store: Store) -> list[Sealed]:
    """Every record of every chain: by time, and as they stand in their chain where that is the same."""
    found = [record for chain in range(store.chains) for record in store.audit(chain=chain)]
    return found if store.chains == 1 else sorted(found, key=lambda record: str(json.loads(record.body)["ts"]))


class Clock:
    """Time that stands still until a test moves it."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def event(kind: str = "call.decided", **fields: Any) -> dict[str, Any]:
    return {"kind": kind, "tenant": "acme", **fields}


def usage(tokens: int = 0, cost: str | None = "0", *, known: bool = True) -> Usage:
    return Usage(tokens_in=tokens, cost=None if cost is None else Decimal(cost), known=known)


def turn(digest: str = "d", ref: ConversationRef = REF, **fields: Any) -> OpenTurn:
    return OpenTurn(ref=ref, digest=digest, calls=(ToolCall("c", "t"),), **{"usage": usage(), **fields})


def key(turn: int = 1, position: int = 0, ref: ConversationRef = REF, name: str = "") -> CallKey:
    return CallKey(ref, turn, position, name)


def row(status: str = "done", at: CallKey | None = None, *, tool: str = "pay", **fields: Any) -> CallRow:
    return CallRow(
        key=at or key(),
        call=ToolCall("c", tool, {"x": 1}),
        status=status,
        **{"fingerprint": "f", "mark": "f", "kind": "action", **fields},
    )


def outcome(content: Any = "shown", arguments: Any = None, **fields: Any) -> Outcome:
    return Outcome(
        **{"call_id": "c", "tool": "pay", "status": "done", "reason": None, "content": content, "arguments": arguments, **fields}
    )


def refused() -> Outcome:
    return outcome(status="refused", reason=Reason.NOT_AUTHORIZED)


def charge(amount: object = 1, limit: object = 10, *, name: str = "calls", scope: str = "run") -> Charge:
    return Charge(scope=scope, name=name, amount=Decimal(str(amount)), limit=Decimal(str(limit)))


def quota(*calls: tuple[CallKey, tuple[Charge, ...]], whole: bool = False) -> TakeQuota:
    return TakeQuota(calls=calls, whole=whole)


def claim(at: CallKey | None = None, approval: str | None = None, **fields: Any) -> Claim:
    return Claim(row=row("started", at, **fields), approval=approval, event=event("call.begin"))


def proposal(
    name: str = "a1", *, now: float, fingerprint: str = "f", at: CallKey | None = None, window: float = 100.0
) -> Approval:
    place = at or key()
    return Approval(
        id=name, fingerprint=fingerprint, status="pending", tool="pay", definition="def", kind="action", arguments={"amount": Decimal("3860.00")},
        origins={"amount": "model"}, show=("amount",), requester=place.ref.principal, tenant=place.ref.tenant,
        conversation=place.ref.conversation, branch=place.ref.branch, turn=place.turn, position=place.position, call_id="c",
        by=("supervisor",), by_self=False, policy="p1", requested_at=now, expires_at=now + window,
    )  # fmt: skip


def asking(given: Approval, run: int = 0) -> AskApproval:
    return AskApproval(proposal=given, event=event("approval.requested", approval=given.id), run=run)


def kinds(store: Any) -> list[str]:
    return [json.loads(record.body)["kind"] for record in records(store)]


def ask(store: Store, name: str = "a1", *, run: int = 0, **fields: Any) -> Approval:
    return store.ask(asking(proposal(name, now=store.now(), **fields), run))


def vote(store: Store, name: str = "a1", status: str = "approved", by: str = "B1", **given: Any) -> Approval:
    return store.vote(name, status=status, by=by, event=event("approval.resolved", approval=name), **{"reason": None, **given})
