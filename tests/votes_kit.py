"""What the tests of votes share: one office on a store of any kind, people who vote, and the record read back as states."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from stores_kit import STORES, Clock, records, url_of
from wire_helpers import message, spelled

from guard import ApprovalError, Guard, PolicyWarning, Session
from guard.cli.audit_verify import stored_report
from guard.core.approval import Approval, Seen

ANN = Session(principal="u1", roles=("staff",), attributes={"account": "A-1"})
BOSSES = [Session(principal=f"b{number}", roles=("boss",)) for number in range(4)]
BOSS, OTHER = BOSSES[0], BOSSES[1]
CHIEF = Session(principal="c1", roles=("chief",))
STRANGER = Session(principal="u9", roles=("staff",))
PAY = """
tools:
  pay:
    kind: action
    allow: [staff]
    bind: {{account: session.account}}
    require: {{amount: {{maximum: 1000}}}}
    approve: {{by: [boss]{more}}}
limits: {{run: {{calls: 1000}}}}
people: {{pat: {{principal: p1, roles: [boss]}}}}
"""

LASTING = [pytest.param(one, marks=[pytest.mark.slow] if one == "postgres" else []) for one in STORES]
"""Every store; the one that needs a server among the slow tests."""

__all__ = ["LASTING", "STORES", "Office", "code", "office"]


class Office:
    """One program with a chat, on a store that outlives it."""

    def __init__(self, folder: Path, url: str, policy: str, wire: str = "openai-chat", held: Any = "answer") -> None:
        self.folder, self.url, self.clock, self.wire, self.held = folder / "policies", url, Clock(), wire, held
        self.ran: list[dict[str, Any]] = []
        self.history: list[dict[str, Any]] = []
        self.session = ANN
        self.folder.mkdir(exist_ok=True)
        self.policy(policy)
        self.start()

    def policy(self, text: str) -> None:
        """Write another policy; the program reads it when it starts or reloads."""
        (self.folder / "tools.yaml").write_text(text, "utf-8")

    def start(self) -> None:
        """A new process: nothing is left of the last one but the store."""

        def pay(amount: int, to: str, account: str, note: str = "") -> dict[str, Any]:
            """Pay somebody."""
            self.ran.append({"amount": amount, "to": to, "account": account, "note": note})
            return {"paid": amount}

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PolicyWarning)
            self.guard = Guard.load(self.folder, tools=[pay], store=self.url, clock=self.clock)
        self.chat = self.guard.open(self.session, wire=self.wire, conversation="c", held=self.held)

    def restart(self) -> None:
        """The process ended; a store in memory goes on, since it has nothing else to be."""
        if self.url != "memory://":
            self.guard.close()
            self.start()

    @property
    def approvals(self) -> Any:
        return self.guard.approvals

    def propose(self, amount: int = 100, to: str = "Bob", call: str = "c1", **more: Any) -> Any:
        """One call in one reply; what the guard gives back is kept in the history."""
        sent = spelled(self.wire, {"amount": amount, "to": to, **more})
        turn = self.chat.handle(message(self.wire, (call, "pay", sent)), history=self.history)
        self.history += turn.append
        return turn

    def ask(self, amount: int = 100, **more: Any) -> Approval:
        """The approval that such a call waits for."""
        name = self.propose(amount, **more).outcomes[0].approval
        found: Approval = self.approvals.show(name)
        return found

    def seen(self, approval: Approval | str, who: Session = BOSS) -> Seen:
        """What this person's form carries."""
        found: Seen = self.approvals.view(approval, who).seen
        return found

    def say(self, text: str = "and?") -> None:
        self.history.append(self.chat.user(text))

    def settle(self) -> str:
        """Carry out what was decided; what the model is told."""
        told = self.chat.settled()
        self.history += told
        return json.dumps(told, default=str)

    def events(self, *kinds: str) -> list[dict[str, Any]]:
        """Records of these kinds in the order of their chains."""
        found = [json.loads(record.body) for record in records(self.guard.store)]
        return [one for one in found if not kinds or one["kind"] in kinds]

    def told(self) -> str:
        """Every record as one text."""
        return "".join(record.body for record in records(self.guard.store))

    def status(self, approval: Approval | str) -> str:
        return str(self.approvals.show(approval).status)

    def close(self) -> None:
        found = stored_report(self.guard.store, [], None).problems
        assert found == [], found  # the record, replayed, gives the tables
        self.guard.close()


@contextmanager
def office(folder: Path, store: str = "memory", more: str = "", **given: Any) -> Iterator[Office]:
    """An office whose policy for `pay` says this besides `by: [boss]`."""
    with url_of(store, folder) as url:
        made = Office(folder, url, PAY.format(more=more), **given)
        made.say("Please pay.")
        yield made
        made.close()


def known(principal: str, tenant: str) -> Session | None:
    """Who somebody is, as the host says."""
    return next((one for one in (ANN, CHIEF, STRANGER, *BOSSES) if (one.principal, one.tenant) == (principal, tenant)), None)


def code(do: Any, *given: Any, **named: Any) -> str:
    """By which code a person is refused; nothing where they are not."""
    try:
        do(*given, **named)
    except ApprovalError as error:
        return error.code
    return ""


ENDS = {"approval.expired": "expired", "approval.cancelled": "cancelled", "approval.revoked": "revoked"}


def replayed(events: list[Mapping[str, Any]]) -> dict[str, str]:
    """The states of all approvals by the record alone."""
    found: dict[str, str] = {}
    for event in events:
        kind, name, state = event["kind"], event.get("approval"), event.get("approval_state", {})
        if kind == "approval.requested":
            found[name] = "pending"
        elif kind == "approval.edited":
            found[name], found[state["by"]] = "superseded", "pending"
        elif kind in {"approval.superseded", "approval.revalidation_failed"}:
            found[name] = "superseded"
        elif kind in ENDS:
            found[name] = ENDS[kind]
        elif kind == "approval.resolved":
            found[name] = state["status"]
        elif kind == "call.begin" and name:
            found[name] = "consumed"
    return found
