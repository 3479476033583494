"""Deciding: the decisions of a turn written down with the questions that they open, unless an answer or a kill was faster: then nothing is.

Shared by every store; may only ask the tables. Comes after `claims` and `kills`, before `kill_ledger`.
"""

from __future__ import annotations

from guard.core.model import Approval
from guard.core.ports import Record
from guard.stores import kills
from guard.stores.approvals import ask, look
from guard.stores.budgets import take
from guard.stores.claims import record
from guard.stores.tables import Tables


class AnsweredError(Exception):
    """A question was answered by something else meanwhile, or there is no room for it: nothing is written, and the decisions have to be made again. Never leaves the stores."""

    def __init__(self, found: tuple[Approval | None, ...]) -> None:
        super().__init__()
        self.found = found


def hold(tables: Tables, command: Record) -> None:
    """Open what a person is asked and write the decisions, in one transaction. Raises AnsweredError or StoppedError, and then no question stays open. See Record."""
    kills.heed(tables, command.going, still=True)
    if command.take is not None and any(answer is not None for answer in take(tables, command.take)):
        raise AnsweredError(())
    found = tuple(ask(tables, asked) for asked in command.asks)
    if any(one is not asked.proposal for one, asked in zip(found, command.asks, strict=True)):
        raise AnsweredError(found)
    record(tables, command.rows, command.events, going=command.going)


def lapse(tables: Tables, command: Record) -> None:
    """Write down which windows have ended of what answers these questions: a yes that was found to be over stays over, whatever the clock does then."""
    for asked in command.asks:
        home = asked.proposal.tenant, asked.proposal.conversation
        for known in tables.about(home, asked.proposal.fingerprint):
            look(tables, known)


def decide(tables: Tables, command: Record) -> None:
    """Write decisions that open no question. Raises StoppedError. See Record."""
    kills.heed(tables, command.going, still=False)
    record(tables, command.rows, command.events, going=command.going)
