"""Context: everything that a walk may know besides the answers to its commands. Data only. Comes after rights and before board."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from guard.core.budget import Count, Spent, approximate
from guard.core.gaps import NOTHING, Gap
from guard.core.model import CallKey, ConversationRef, Session, ToolCall
from guard.core.ports import CallRow, Opened, Policy, Redactor
from guard.core.rights import Rights, Sessions


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a walk is given: everything it may know besides the answers to its commands."""

    policy: Policy
    session: Session
    ref: ConversationRef
    offered: frozenset[str]  # tools that this chat may propose
    visible: frozenset[str]  # tools that the session may call, for telling the model
    redactor: Redactor
    now: float
    count: Count = approximate  # how many tokens a text has
    spent: tuple[Spent, ...] = ()  # what the results of earlier turns came to, where the policy bounds those of a conversation
    salt: Callable[[], str] = str  # a fresh random text, for the digests of one call
    gap: Gap = NOTHING  # what has to be put on record with the turn: calls that were refused while the store was down
    watch: Callable[[object, object], None] | None = None  # told of each step: what a room was given and gave; decides nothing
    words: str = ""  # what the model wrote beside the calls: kept with a question to people, read by no room
    at_once: bool = False  # whether the store has one writer, so that several steps are written in one transaction
    ahead: Opened | None = None  # of a single call: the turn that most likely comes next; None: it is walked step by step
    sessions: Sessions | None = None  # who somebody is today, where the host says so
    took: Callable[[], float | None] = lambda: None  # milliseconds since the walk began, by a clock that never stands still
    trace: str = (
        ""  # what records of the walk say of the trace that the caller is in, as members of JSON with a comma before them
    )
    priv: str = ""  # what they say of the key under which raw values of the walk are written, likewise

    @property
    def rights(self) -> Rights:
        """Who may decide, by the policy in force."""
        return Rights(
            authorizer=self.policy.authorizer, people=self.policy.people, sessions=self.sessions, redactor=self.redactor
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One proposed call at its place. `row` is what the ledger has of it, `since` the turn before which results count."""

    key: CallKey
    call: ToolCall
    row: CallRow | None
    since: int
    salt: str = ""


def salt_of(row: CallRow | None, fresh: str) -> str:
    """The salt that a call has by now, or a fresh one."""
    return fresh if row is None or row.erased else row.salt or fresh
