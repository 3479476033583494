"""History: which results in a history answer which calls. The same for every wire that keeps results apart from calls.

A wire says what proposes and what answers in its messages (`Pairing`); here is the bookkeeping. Results count until the next
assistant message. Clients send histories, so nothing here is proof that a call ran: outcomes come from the ledger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from guard.core.model import Outcome, ToolCall
from guard.core.values import JsonObject
from guard.errors import WireError
from guard.wires.common import Reply
from guard.wires.plain import look


class Pairing(Protocol):
    """What a wire tells about single messages of its history."""

    def read(self, reply: object, *, turn_hint: str = "") -> Reply:
        """See Wire."""

    def proposes(self, message: object) -> bool:
        """Whether an assistant message holds calls; cheap, may say yes too often."""

    def answers(self, message: object) -> list[str]:
        """Ids of the results in a message, in order; an empty id where the wire gives none."""


class Closing(Pairing, Protocol):
    """What a wire tells besides, so that open messages can be closed."""

    def dump(self, messages: Sequence[object]) -> list[JsonObject]:
        """See Wire."""

    def closed(self, reply: Reply, after: Sequence[JsonObject], outcomes: Mapping[int, Outcome]) -> list[JsonObject]:
        """The stored message of `reply` and all its results, then what else `after` (everything up to the next message) says."""


def span(history: Sequence[object], index: int) -> range:
    """Indexes of the messages after `index` up to the next assistant message."""
    end = index + 1
    while end < len(history) and look(history[end], "role") != "assistant":
        end += 1
    return range(index + 1, end)


def match(reply: Reply, ids: Iterable[str]) -> list[int | None]:
    """For each result id the position of the call that it answers; None where no call waits under that id.

    A result may bear the id of `store` or the id that the provider sent; of calls that share one, the first still open is meant.
    """
    by_kept = {call.id: position for position, call in enumerate(reply.kept)}
    by_given: dict[str, list[int]] = {}
    for position in reversed(range(len(reply.kept))):
        by_given.setdefault(reply.ids[position], []).append(position)
    taken: set[int] = set()
    found: list[int | None] = []
    for text in ids:
        place = _take(by_kept.get(text), by_given.get(text, []), taken)
        taken |= {place} if place is not None else set()
        found.append(place)
    return found


def _take(kept: int | None, given: list[int], taken: set[int]) -> int | None:
    if kept is not None and kept not in taken:
        return kept
    while given:
        if (position := given.pop()) not in taken:
            return position
    return None


def positions(wire: Pairing, history: Sequence[object], index: int, reply: Reply) -> frozenset[int]:
    """Positions of the calls of message `index` that have a result."""
    ids = [text for at in span(history, index) for text in wire.answers(history[at])]
    return frozenset(position for position in match(reply, ids) if position is not None)


def close(
    wire: Closing, history: Sequence[object], index: int, reply: Reply, outcomes: Mapping[int, Outcome]
) -> list[JsonObject]:
    """See Wire.close."""
    messages = wire.dump(history)
    after = span(messages, index)
    body = wire.closed(reply, messages[after.start : after.stop], outcomes)
    return [*messages[:index], *body, *messages[after.stop :]]


def close_all(
    wire: Closing, history: Sequence[object], outcomes_of: Callable[[Reply], Mapping[int, Outcome]]
) -> list[JsonObject]:
    """See Wire.close_all. Each message is read once: histories of thousands of open messages are closed in linear time."""
    messages = wire.dump(history)
    body: list[JsonObject] = []
    index = 0
    while index < len(messages):
        after = span(messages, index)
        reply = wire.read(messages[index]) if _speaks(wire, messages[index]) else None
        if reply is None or len(positions(wire, messages, index, reply)) == len(reply.kept):
            body += messages[index : after.stop]
        else:
            body += wire.closed(reply, messages[after.start : after.stop], outcomes_of(reply))
        index = after.stop
    return body


def _speaks(wire: Pairing, message: object) -> bool:
    return look(message, "role") == "assistant" and wire.proposes(message)


def answered(wire: Pairing, history: Sequence[object], digest_of: Callable[[tuple[ToolCall, ...]], str]) -> list[str]:
    """See Wire.answered."""
    digests: list[str] = []
    for index, message in enumerate(history):
        if _speaks(wire, message):
            reply = wire.read(message)
            if reply.kept and len(positions(wire, history, index, reply)) == len(reply.kept):
                digests.append(digest_of(reply.kept))
    return digests


def open_calls(wire: Pairing, history: Sequence[object]) -> tuple[int, Reply, frozenset[int]] | None:
    """See Wire.open_calls."""
    for index in reversed(range(len(history))):
        if _speaks(wire, history[index]):
            reply = wire.read(history[index])
            done = positions(wire, history, index, reply)
            if len(done) < len(reply.kept):
                return index, reply, done
    return None


def missing(reply: Reply, present: Iterable[int], outcomes: Mapping[int, Outcome]) -> dict[int, Outcome]:
    """The outcomes for the positions without a result, in order. Raises WireError when one of them is not given."""
    there = set(present)
    lacking = [position for position in range(len(reply.kept)) if position not in there]
    if absent := [position for position in lacking if position not in outcomes]:
        raise WireError(f"no outcome was given for the open calls at positions {absent}")
    return {position: outcomes[position] for position in lacking}
