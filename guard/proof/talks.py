"""Talks: what the records say of each conversation: whose it is, how often the user spoke, how many turns it had and what they cost, held against its counters.

Every record of a conversation stands in one chain, in the order of its transactions, so its counters follow from them: from the last time that the user spoke, or from the first
turn. Where a record is of an earlier version, or left with a closed month, no more is said than that counters are too low. Comes after `chains` and before `ran`.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Context, Decimal, InvalidOperation
from typing import Any, Final

from guard.core.log import Counted
from guard.core.values import digest
from guard.proof.chains import Problem

_TEXT: Final = r'("(?:[^"\\]|\\.)*")'
_OPENED: Final = re.compile(
    rf'"ts":"([^"]+)".{{0,200}}?"kind":"call\.proposed","tenant":{_TEXT},"conversation":{_TEXT},"principal":{_TEXT}(?:,"branch":{_TEXT})?,"turn":(\d+)'
)
_USAGE: Final = re.compile(r',"usage":\{(?:"tokens":(\d+),"cost":(?:"([^"]+)"|null)(,"known":false)?)?\}\}$')
_EXACT: Final = Context(prec=2000)
_NEAR: Final = 160  # characters at the end of a body among which its usage stands
_FIRST: Final[dict[str, Any]] = {"words": 0, "runs": 0, "turns": 0, "tokens": 0, "cost": "0", "known": True}
Home = tuple[str, str]


@dataclass(slots=True)
class _Talk:
    """One conversation: how often the user spoke, the last turn, and since `base` (what stood when the user spoke last) how many turns said what they cost."""

    said: int = 0
    last: int = 0
    base: dict[str, Any] | None = None
    since: str = ""  # when that was
    turns: int = 0
    tokens: int = 0
    cost: Decimal | None = Decimal(0)
    known: bool = True
    whose: set[str] = field(default_factory=set)
    upto: list[int] = field(default_factory=list)  # each time that the user spoke, the last turn before


class Talks:
    """Conversations by the records, of each chain in their order."""

    def __init__(self) -> None:
        self._talks: dict[Home, _Talk] = {}

    def _of(self, home: Home) -> _Talk:
        found = self._talks.get(home)
        if found is None:
            found = self._talks[home] = _Talk()
        return found

    def said(self, home: Home, found: dict[str, Any]) -> None:
        """The user spoke: what stood then, where the record says it."""
        talk, counts = self._of(home), found.get("counts")
        base = counts if isinstance(counts, dict) and counts.keys() >= _FIRST.keys() else None
        talk.said, talk.base, talk.since = talk.said + 1, base, str(found.get("ts"))
        talk.turns, talk.tokens, talk.cost, talk.known = 0, 0, Decimal(0), True
        talk.upto.append(talk.last if base is None else max(talk.last, base["turns"]))
        talk.whose.add(str(found.get("principal")))

    def turned(self, home: Home, turn: int) -> int:
        """Its records got as far as this turn. How often the user has spoken since that was opened."""
        talk = self._of(home)
        talk.last = max(talk.last, turn)
        return len(talk.upto) - bisect_left(talk.upto, turn)

    def opened(self, body: str) -> None:
        """A record that is not read otherwise: that a call was proposed, the last one of its turn with what that cost."""
        usage = _USAGE.search(body, max(len(body) - _NEAR, 0))
        found = _OPENED.search(body) if usage is not None else None
        if usage is None or found is None or not int(found[6]):
            return  # turn 0 is nobody's: somebody else wanted to go on with it
        talk = self._of((json.loads(found[2]), json.loads(found[3])))
        talk.whose.add(json.loads(found[4]))
        talk.last = max(talk.last, int(found[6]))
        if talk.base is None and not talk.said and int(found[6]) == 1:
            talk.base, talk.since = _FIRST, found[1]
        talk.turns += 1
        talk.tokens += int(usage[1] or 0)
        talk.cost = _plus(talk.cost, usage[2])
        talk.known = talk.known and usage[1] is not None and usage[3] is None

    # -- held against the counters -----------------------------------------------------------------------------------------------

    def against(self, one: Counted, *, cut: bool) -> Iterator[Problem]:
        """Counters, owner and name of a conversation that are not as the records say."""
        home = (one.tenant, one.conversation)
        talk, name = self._talks.get(home, _Talk()), f"conversation {one.tenant}/{one.conversation}"
        if one.says.get("id", digest(*home)[:32]) != digest(*home)[:32]:
            yield Problem("", f"{name} is filed as another one (conversations.id)")
        if not cut and talk.whose and one.says.get("principal", next(iter(talk.whose))) not in talk.whose:
            yield Problem("", f"{name} is of somebody else in the store than by the records (conversations.principal)")
        lower = [
            f"{kept} {what} in the store, and {told} by the records"
            for what, kept, told in (
                ("turns", one.turns, talk.last),
                ("messages of the user", one.words, talk.said),
                ("runs", one.runs, talk.said),
            )
            if not isinstance(kept, int) or kept < told
        ]
        if lower:
            yield Problem("", f"{name} was counted back: {'; '.join(lower)}")
        elif talk.base is not None and one.says:
            for column, kept, told in _counters(one, talk, talk.base):
                if kept != told:
                    yield Problem("", f"{name} says {kept} in the store, and {told} by the records (conversations.{column})")


def _counters(one: Counted, talk: _Talk, base: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Column, what it holds and what it must hold."""
    said = one.says
    yield "words", one.words, base["words"]
    yield "run", one.runs, base["runs"]
    must: dict[str, Any] = {"steps": talk.turns, "tokens": talk.tokens, "total_tokens": base["tokens"] + talk.tokens}
    if talk.turns != one.turns - base["turns"]:  # a program of an earlier version opened some of the turns
        yield from (
            (name, said.get(name), f"{least} or more") for name, least in must.items() if not _reaches(said.get(name), least)
        )
        return
    must |= {"known": int(talk.known), "total_known": int(talk.known and base["known"] is True)}
    must |= {"cost": talk.cost, "total_cost": _plus(talk.cost, base["cost"])}
    must |= {"started": talk.since} if one.turns or base["words"] else {}
    yield from ((name, said.get(name), told) for name, told in must.items())


def _reaches(kept: Any, least: int) -> bool:
    return isinstance(kept, int) and kept >= least


def _plus(total: Decimal | None, more: str | None) -> Decimal | None:
    try:
        return None if total is None or more is None else _EXACT.add(total, Decimal(more))
    except InvalidOperation:
        return None
