"""Calls: what a case says about one proposed call: the call, what its tool gives, who votes, and what must come of it.

Comes after `keys`, before `reading`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from guard.core.model import Session, Usage
from guard.core.reasons import Reason
from guard.core.values import Json
from guard.policy import language
from guard.policy.problems import Problems, meant
from guard.policy.source import Item
from guard.review.cases import FREE, Place, Proposal, Vote, Word
from guard.review.keys import DECISIONS, EXPECTATIONS, KEYS, ORIGINS, fields, names, seconds, times

_NO_SUCH_TOOL = frozenset({Reason.UNKNOWN_TOOL, Reason.NO_POLICY})
_WORDS: tuple[Word, ...] = ("approve", "reject")


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """The names that a case may use: sessions of the case files and people of the policy, its tools, checks and records."""

    sessions: Mapping[str, Session]
    tools: frozenset[str]
    checks: frozenset[str]
    records: frozenset[str]
    problems: Problems

    def session(self, item: Item | None, around: Item) -> str:
        """The name of a session that exists, or the empty text."""
        if item is None:
            cure = f"write session: {next(iter(self.sessions), 'ann')}"
            self.problems.error(around, "the case does not say whose session it is", cure)
            return ""
        name = language.text(item, self.problems, "session")
        if name and name not in self.sessions:
            cure = meant(name, self.sessions) or f"write sessions: {{{name}: {{principal: E1, roles: [role]}}}}"
            self.problems.error(item, f"no session is called {name}", cure)
            return ""
        return name


def place(item: Item) -> Place:
    """Where an item stands."""
    return Place(item.file, item.line)


def proposals(item: Item, known: dict[str, Item], around: Around, *, history: bool) -> tuple[Proposal, ...]:
    """The calls of one message: what `call` and the keys beside it say, or each entry of `calls`."""
    if "calls" not in known:
        found = proposal(item, known, around, history=history)
        return () if found is None else (found,)
    for key in KEYS["call"]:
        if key in known and key != "times":
            around.problems.error(known[key], f"{key} stands beside call, and here are calls", "write it in each of them")
    several: list[Proposal] = []
    for one in language.sequence(known["calls"], around.problems, "calls"):
        inner = fields(one, "call", around.problems)
        found = proposal(one, inner, around, history=history) if inner else None
        several += [found] * times(inner.get("times"), around.problems) if found else []
    return tuple(several)


def proposal(item: Item, known: dict[str, Item], around: Around, *, history: bool) -> Proposal | None:
    """One call. In a history it must be allowed unless something else is written there."""
    problems = around.problems
    if "call" not in known:
        problems.error(item, "no call is proposed", "write call: {tool: {argument: value}}")
        return None
    if "expect" not in known and not history:
        problems.error(item, "the case does not say what must come of the call", f"write expect: {', '.join(DECISIONS)}")
    wanted = {key: _READERS[key](known[key], around) for key in EXPECTATIONS if key in known}
    tool, arguments = _call(known["call"], around, wanted.get("reason"))
    if "returns" in known and "raises" in known:
        problems.error(known["raises"], "a tool either returns or raises", "keep one")
    return Proposal(
        tool=tool,
        arguments=arguments,
        returns=known["returns"].value if "returns" in known else None,
        raises=language.text(known["raises"], problems, "raises") if "raises" in known else None,
        vote=_vote(known, around),
        wanted={"expect": "allow", **wanted},
        spot=place(item),
    )


def _call(item: Item, around: Around, reason: Json) -> tuple[str, str | Mapping[str, Json]]:
    """The tool's name and what the model wrote behind it: an object, the text of one, or nothing."""
    name, below = (item.value, None) if isinstance(item.value, str) else next(iter(item.fields.items()), ("", None))
    if not name or len(item.fields) > 1:
        around.problems.error(item, "call: one tool and its arguments are needed", "write call: {tool: {argument: value}}")
        return "", {}
    if name not in around.tools and reason not in _NO_SUCH_TOOL:
        cure = meant(name, around.tools) or "write reason: unknown_tool where that is meant"
        around.problems.error(below or item, f"no tool of this policy is called {name}", cure)
    value = {} if below is None or below.value is None else below.value
    if not isinstance(value, dict | str):
        around.problems.error(below or item, f"the arguments of {name} are a mapping, or the text that the model wrote")
        return name, {}
    return name, value


def _vote(known: dict[str, Item], around: Around) -> Vote | None:
    words = [word for word in _WORDS if word in known]
    if not words:
        return None
    word = words[0]
    if len(words) > 1:
        around.problems.error(known[words[1]], "a person approves or rejects", "keep one")
    item = known[word]
    inner = fields(item, "vote", around.problems) if isinstance(item.value, dict) else {"by": item}
    by = around.session(inner.get("by"), item)
    return Vote(word=word, by=by, wait=seconds(inner.get("wait"), around.problems, "wait")) if by else None


def usage(item: Item | None, problems: Problems) -> Usage:
    """What the model's message cost: nothing, unless it is written."""
    if item is None:
        return FREE
    known = fields(item, "usage", problems)
    cost = language.number(known.get("cost"), problems, "cost")
    return Usage(
        tokens_in=language.whole(known.get("in"), problems, "in") or 0,
        tokens_out=language.whole(known.get("out"), problems, "out") or 0,
        model=language.text(known.get("model"), problems, "model"),
        cost=cost if cost is not None or "model" in known else Decimal(0),
    )


# -- what must come of it --------------------------------------------------------------------------------------------------


def _reason(item: Item, around: Around) -> str:
    known = [str(reason) for reason in Reason]
    if isinstance(item.value, str) and item.value not in known:
        around.problems.error(item, f"no reason is called {item.value}", meant(item.value, known) or "see Reasons in the README")
        return ""
    return language.choice(item, around.problems, "reason", known)


def _object(item: Item, around: Around) -> Json:
    if not isinstance(item.value, dict):
        around.problems.error(item, f"arguments: a mapping is needed, not {language.kind_of(item)}", "write {} for none")
    return item.value


def _origins(item: Item, around: Around) -> Json:
    found = language.entries(item, "origins", around.problems)
    return {name: language.choice(below, around.problems, f"origins.{name}", ORIGINS) for name, below in found.items()}


def _names(what: str) -> Callable[[Item, Around], Any]:
    return lambda item, around: names(item, around.problems, what)


_READERS: Mapping[str, Callable[[Item, Around], Any]] = {
    "expect": lambda item, around: language.choice(item, around.problems, "expect", DECISIONS),
    "reason": _reason,
    "rules": _names("rules"),
    "arguments": _object,
    "origins": _origins,
    "spoofed": _names("spoofed"),
    "result": lambda item, _: item.value,
    "says": lambda item, around: language.text(item, around.problems, "says"),
    "approvers": _names("approvers"),
    "expires": lambda item, around: language.duration(item, around.problems, "expires"),
    "show": _names("show"),
    "shadow": _names("shadow"),
    "offers": _names("offers"),
}
