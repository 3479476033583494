"""Common: what every wire gives back (`Reply`), what every wire can do (`Wire`), and the rules for ids, names and usage.

Wires are pure functions from and to messages. They may not judge, run, store or drop a call: each call that the provider
expects an answer to becomes a `ToolCall`, however broken it is, and the core refuses it. Comes after `plain`, before the wires.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Protocol

from guard.core.model import Outcome, ToolCall, Usage
from guard.core.rules import Tool
from guard.core.values import Json, JsonObject, digest, encode
from guard.errors import WireError
from guard.wires.plain import look, plain, sendable

_LEGAL = re.compile(r"[a-zA-Z0-9_-]+")
_ILLEGAL = re.compile(r"[^a-zA-Z0-9_-]")
_READABLE = 40  # characters of an illegal id or name that stay readable
MOST_COUNT = 2**53
"""Tokens and prices stay below this: every store holds such a number exactly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A model's reply, read. `message` is the assistant message as it came, `ids` its ids as they came, both for the audit.

    `calls` are what was proposed, raw, with ids that are unique and not empty. `store` is the message as it must be appended, and
    `kept` the calls as a later reading of `store` gives them: compare messages by `kept`, never by `calls`. `truncated`: the reply
    was cut off, so none of its calls may run. `paused`: the provider only interrupted its own tools and wants the message back.
    """

    message: JsonObject
    calls: tuple[ToolCall, ...]
    truncated: bool
    usage: Usage
    ids: tuple[str, ...]
    store: JsonObject
    kept: tuple[ToolCall, ...]
    paused: bool = False


class Wire(Protocol):
    """One message format. Every verb raises WireError, and nothing else, for messages that are not in it."""

    @property
    def name(self) -> str:
        """The name in the table of wires."""

    @property
    def most_calls(self) -> int | None:
        """Calls that the provider takes back in one message; further ones are cut from `store` and `results`, so do not run them."""

    def read(self, reply: object, *, turn_hint: str = "") -> Reply:
        """Read an SDK response, an SDK message, or a dict of either. `turn_hint` enters the ids that are made up for empty ones."""

    def stored(self, reply: Reply) -> JsonObject:
        """The assistant message to append, a fresh copy: verbatim but for ids, names and texts that the provider would reject."""

    def results(self, reply: Reply, outcomes: Sequence[Outcome]) -> list[JsonObject]:
        """One result for each call, contiguous, in call order, then any message with pictures. `outcomes`: one a call, in order."""

    def tools(self, tools: Sequence[Tool]) -> list[JsonObject]:
        """Schemas for the model; fresh copies. Raises WireError for a name that the provider rejects."""

    def user(self, text: str) -> JsonObject:
        """A message of the user. Raises WireError for blank text, which providers reject."""

    def follow_up(self, outcomes: Sequence[Outcome]) -> list[JsonObject]:
        """At most one message, saying that it comes from the guard, with what became of calls that were held."""

    def answered(self, history: Sequence[object], digest_of: Callable[[tuple[ToolCall, ...]], str]) -> list[str]:
        """Digests (over `kept`), in order, of the assistant messages with calls that have all their results."""

    def open_calls(self, history: Sequence[object]) -> tuple[int, Reply, frozenset[int]] | None:
        """The newest assistant message whose calls lack results: its index, its reply, the positions answered already."""

    def close(
        self, history: Sequence[object], index: int, reply: Reply, outcomes_by_position: Mapping[int, Outcome]
    ) -> list[JsonObject]:
        """The history as plain JSON with the missing results of message `index` in place. Results without a call are dropped."""

    def close_all(self, history: Sequence[object], outcomes_of: Callable[[Reply], Mapping[int, Outcome]]) -> list[JsonObject]:
        """The history as plain JSON with every open message closed as by `close`, in one pass.

        `outcomes_of` is asked once for each open message, the oldest first; only the positions that lack a result are looked up in its
        answer. Raises WireError when one of them is not there.
        """

    def dump(self, messages: Sequence[object]) -> list[JsonObject]:
        """Plain JSON of dicts and SDK objects, one for one. Raises WireError for what is not a message."""


# -- ids and names ---------------------------------------------------------------------------------------------------


def seed_of(hint: str, name: str, arguments: Json) -> str:
    """What a made-up id depends on besides the position: the same message always gets the same ids."""
    return f"{hint}\n{name}\n{arguments if isinstance(arguments, str) else encode(sendable(arguments))}"


def given_id(value: object) -> str:
    """An id as it came, as text; empty when there is none."""
    return value if isinstance(value, str) else str(value) if type(value) is int and value.bit_length() <= 128 else ""


def unique_ids(given: Sequence[str], seed_of: Callable[[int], str]) -> tuple[str, ...]:
    """Ids that are unique and not blank. The first bearer of an id keeps it; a made-up id depends on position and seed alone."""
    if len(set(given)) == len(given) and all(text.strip() for text in given):
        return tuple(given)
    taken = {text for text in given if text.strip()}
    free = _Free(taken)
    ids: list[str] = []
    borne: set[str] = set()
    for position, text in enumerate(given):
        new = text if text.strip() else f"call_{position}_{digest(seed_of(position))[:8]}"
        if new in borne or (new != text and new in taken):
            new = free(new)
        ids.append(new)
        borne.add(new)
        taken.add(new)
    return tuple(ids)


class _Free:
    """Finds the next free `text_2`, `text_3`, …; remembers where it stopped, so that thousands of equal ids cost no more than others."""

    def __init__(self, taken: set[str]) -> None:
        self._taken = taken
        self._next: dict[str, int] = {}

    def __call__(self, text: str) -> str:
        number = self._next.get(text, 2)
        while (found := f"{text}_{number}") in self._taken:
            number += 1
        self._next[text] = number + 1
        return found


def legal(text: str, most: int | None = None) -> str:
    """`text` when it is a legal id or name (letters, digits, `_`, `-`; at most `most`), else a legal stand-in made from it."""
    if _LEGAL.fullmatch(text) and (most is None or len(text) <= most):
        return text
    return f"{_ILLEGAL.sub('_', text)[:_READABLE] or 'unnamed'}_{digest(text)[:8]}"


def legal_ids(ids: Sequence[str]) -> tuple[str, ...]:
    """Legal ids for unique ids, one for one and still unique; legal ones stay as they are."""
    taken = {text for text in ids if _LEGAL.fullmatch(text)}
    free = _Free(taken)
    made: list[str] = []
    for text in ids:
        new = legal(text)
        if new != text:
            new = free(new) if new in taken else new
            taken.add(new)
        made.append(new)
    return tuple(made)


def schema(tool: Tool, most: int) -> tuple[str, JsonObject]:
    """Name and visible schema of a tool, to be sent: a fresh copy. Raises WireError for a name that the provider rejects."""
    if legal(tool.name, most) != tool.name:
        raise WireError(f"the provider rejects the tool name {tool.name!r}: only letters, digits, _ and -, at most {most}")
    return tool.name, {"type": "object", **_numbers(plain(tool.visible))}


def _numbers(value: Json) -> Json:
    """JSON for an SDK's encoder, which knows no Decimal: only bounds in schemas get here, never anybody's amounts."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, dict):
        return {key: _numbers(item) for key, item in value.items()}
    return [_numbers(item) for item in value] if isinstance(value, list) else value


# -- usage and outcomes ----------------------------------------------------------------------------------------------


def usage_of(reply: object, tokens_in: Sequence[str], tokens_out: str) -> Usage:
    """The usage of a response: the named counts, the first of `tokens_in` required. Unknown when one is no count of tokens."""
    usage, model = look(reply, "usage"), look(reply, "model")
    name = model if isinstance(model, str) else ""
    first, *more = [look(usage, field) for field in tokens_in]
    counts = [look(usage, tokens_out), first, *(0 if count is None else count for count in more)]
    tokens = [count for count in counts if type(count) is int and 0 <= count < MOST_COUNT]
    if len(tokens) != len(counts):
        return Usage(model=name, known=False)
    return Usage(tokens_in=sum(tokens[1:]), tokens_out=tokens[0], model=name, cost=_cost(look(usage, "cost")))


def _cost(value: object) -> Decimal | None:
    """The price, where a host states one."""
    try:
        cost = Decimal(str(value)) if type(value) in (int, float, str, Decimal) else None
    except (InvalidOperation, ValueError):  # ValueError: an integer of thousands of digits
        return None
    return cost if cost is not None and cost.is_finite() and 0 <= cost < MOST_COUNT else None


def complete(reason: object, known: frozenset[str]) -> bool:
    """Whether a reply ended as it should: for no reason told, or one of the known ones. Hosts have many words for a cut reply."""
    return reason is None or (isinstance(reason, str) and reason in known)


def checked(reply: Reply, outcomes: Sequence[Outcome]) -> Sequence[Outcome]:
    """The outcomes, when there is one for each call in call order. Raises WireError otherwise: nothing is paired by guessing."""
    if [outcome.call_id for outcome in outcomes] != [call.id for call in reply.calls]:
        raise WireError(f"results need one outcome for each of the {len(reply.calls)} calls, in call order")
    return outcomes
