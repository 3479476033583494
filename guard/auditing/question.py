"""Question: one approval of a month with its votes, and what became of it. Pure; filled by `questions`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

QUICK: Final = 5.0
"""Seconds: who votes sooner cannot have read much."""


@dataclass(frozen=True, slots=True)
class Given:
    """One vote that counted, or one that did not (`status` refused): then what was `wanted`, and what was wrong (see `uncounted`)."""

    by: str
    status: str
    at: int
    time: str
    wanted: str = ""
    wrong: str = ""


@dataclass(slots=True)
class Question:
    """One approval."""

    name: str
    tool: str = ""
    principal: str = ""
    tenant: str = ""
    call: str = ""
    asked: str = ""
    asked_at: int = 0
    votes: list[Given] = field(default_factory=list)
    decided: str = ""
    ended: str = ""
    ended_at: str = ""
    ended_by: str = ""
    ran: str = ""

    def seconds(self, vote: Given) -> float | None:
        """How long a vote took."""
        return (vote.at - self.asked_at) / 1_000_000 if self.asked else None

    @property
    def status(self) -> str:
        """What became of the question; one of several yes decides nothing yet."""
        return self.ended or self.decided or "undecided"

    @property
    def by(self) -> str:
        """Who decided it, or who ended it and who had said yes before."""
        yes = ", ".join(dict.fromkeys(vote.by for vote in self.votes if vote.status == (self.decided or "approved")))
        if not self.ended:
            return yes if self.decided else ""
        return "; ".join(filter(None, (self.ended_by, f"{self.decided or 'yes'} by {yes}" if yes else "")))


def quick(one: Question, vote: Given) -> bool:
    """Whether a vote came sooner than somebody could have read the question."""
    seconds = one.seconds(vote)
    return seconds is not None and 0 <= seconds < QUICK
