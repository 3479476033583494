"""Common: what every wire gives back (`Reply`), what every wire can do (`Wire`), and the rules for ids, names and usage.

Wires are pure functions from and to messages. They may not judge, run, store or drop a call: each call that the provider
expects an answer to becomes a `ToolCall`, however broken it is, and the core refuses it. Comes after `plain`, before the wires.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Protocol, TypeGuard

from guard.core.model import Outcome, ToolCall, Usage
from guard.core.rules import Tool
from guard.core.values import Json, JsonObject, digest, encode
from guard.errors import WireError
from guard.wires.names import Spelling, ToolNames, legal, tool_names
from guard.wires.plain import look, plain, sendable
from guard.wires.streams import Assembly

MOST_COUNT = 2**53
"""Tokens and prices stay below this: every store holds such a number exactly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A model's reply, read. `message` is the assistant message as it came, `ids` what its calls are paired by as they came.

    `calls` are what was proposed, raw, under the names of the wire, with ids that are unique and not empty. `store` is the message as it
    must be appended, in the form that `read` takes, and `kept` the calls as a later reading of it gives them: compare messages by `kept`,
    never by `calls`. `truncated`: the reply was cut off, so none of its calls may run. `paused`: the provider only interrupted its own
    tools and wants the message back. `words` is what the model wrote beside its calls, reasoning left out; empty without calls.
    """

    message: JsonObject
    calls: tuple[ToolCall, ...]
    truncated: bool
    usage: Usage
    ids: tuple[str, ...]
    store: JsonObject
    kept: tuple[ToolCall, ...]
    paused: bool = False
    words: str = ""


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

    @property
    def spelling(self) -> Spelling:
        """What the provider takes as a tool's name."""

    def stored(self, reply: Reply) -> list[JsonObject]:
        """What the model said, to append: fresh copies, verbatim but for ids, names and texts that the provider would reject.

        One message, except where the provider keeps the parts of a reply as items of their own.
        """

    def proposals(self, reply: object) -> int:
        """How many calls a reply holds; none in what is no reply."""

    def assembly(self) -> Assembly:
        """A fresh collector of the events of one streamed reply, which gives what `read` takes."""

    def results(self, reply: Reply, outcomes: Sequence[Outcome]) -> list[JsonObject]:
        """One result for each call, contiguous, in call order, then any message with pictures. `outcomes`: one a call, in order."""

    def tools(self, tools: Sequence[Tool], names: ToolNames | None = None) -> list[JsonObject]:
        """Schemas for the model; fresh copies. `names` are those of all tools of the policy; without it, of these tools alone."""

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


def legal_ids(ids: Sequence[str], make: Callable[[str], str] = legal) -> tuple[str, ...]:
    """Legal ids for unique ids, one for one and still unique; legal ones stay as they are. `make` gives a legal id for any."""
    taken = {text for text in ids if make(text) == text}
    free = _Free(taken)
    made: list[str] = []
    for text in ids:
        new = make(text)
        if new != text:
            new = free(new) if new in taken else new
            taken.add(new)
        made.append(new)
    return tuple(made)


def schemas(tools: Sequence[Tool], spelling: Spelling, names: ToolNames | None) -> list[tuple[str, str, JsonObject]]:
    """Name on the wire, description and visible schema of each tool, to be sent: fresh copies.

    Raises WireError for a tool that has no name of its own there.
    """
    told = tool_names([tool.name for tool in tools], spelling) if names is None else names
    found = [(told.show(tool.name), tool.description, {"type": "object", **_numbers(plain(tool.visible))}) for tool in tools]
    if lost := [name for name, _, _ in found if not spelling.takes(name)]:
        raise WireError(f"the provider takes no name for the tool {lost[0]!r} that is not another tool's: rename one of them")
    return found


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
    if usage is None:
        return Usage(model=model if isinstance(model, str) else "", known=False)
    first, *more = [look(usage, field) for field in tokens_in]
    counts = [first, *(0 if count is None else count for count in more)]
    return counted(model, counts, [look(usage, tokens_out)], look(usage, "cost"))


def counted(model: object, tokens_in: Sequence[object], tokens_out: Sequence[object], cost: object = None) -> Usage:
    """The usage with these counts; unknown when one of them is no count of tokens."""
    name = model if isinstance(model, str) else ""
    ins, outs = [[count for count in counts if _is_count(count)] for counts in (tokens_in, tokens_out)]
    if len(ins) != len(tokens_in) or len(outs) != len(tokens_out):
        return Usage(model=name, known=False)
    return Usage(tokens_in=sum(ins), tokens_out=sum(outs), model=name, cost=_cost(cost))


def _is_count(value: object) -> TypeGuard[int]:
    return type(value) is int and 0 <= value < MOST_COUNT


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
