"""History: which results in a history answer which calls. The same for every wire that keeps results apart from calls.

A wire says what proposes and what answers in its messages (`Pairing`); here is the bookkeeping. Results count until the next
assistant message. Clients send histories, so nothing here is proof that a call ran: outcomes come from the ledger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from guard.core.model import Outcome, ToolCall
from guard.core.values import JsonObject
from guard.errors import WireError
from guard.wires.common import Reply


class Pairing(Protocol):
    """What a wire tells about single messages of its history."""

    def read(self, reply: object, *, turn_hint: str = "") -> Reply:
        """See Wire."""

    def speaks(self, message: object) -> bool:
        """Whether the model said this message."""

    def joined(self, messages: Sequence[object]) -> object:
        """What `read` takes, of messages that the model said in one reply."""

    def proposes(self, message: object) -> bool:
        """Whether a message that the model said holds calls; cheap, may say yes too often."""

    def answers(self, message: object) -> list[str]:
        """Ids of the results in a message, in order; an empty id where the wire gives none."""

    @property
    def items(self) -> bool:
        """Whether neighbouring messages of the model are items of one reply."""


class Closing(Pairing, Protocol):
    """What a wire tells besides, so that open messages can be closed."""

    def dump(self, messages: Sequence[object]) -> list[JsonObject]:
        """See Wire."""

    def closed(self, reply: Reply, after: Sequence[JsonObject], outcomes: Mapping[int, Outcome]) -> list[JsonObject]:
        """The stored messages of `reply` and all its results, then what else `after` (everything up to the next reply) says."""


class Said(NamedTuple):
    """Where a reply of the model stands: its messages are `[start:stop]`, what follows until the next reply is `[stop:end]`."""

    start: int
    stop: int
    end: int


def replies(wire: Pairing, history: Sequence[object]) -> list[Said]:
    """The replies of the model in a history, in order."""
    speaks = [wire.speaks(message) for message in history]
    starts = [at for at, said in enumerate(speaks) if said and not (wire.items and at and speaks[at - 1])]
    found: list[Said] = []
    ends = [*starts[1:], len(history)] if starts else []
    for start, end in zip(starts, ends, strict=True):
        stop = start + 1
        while wire.items and stop < end and speaks[stop]:
            stop += 1
        found.append(Said(start, stop, end))
    return found


def reply_at(wire: Pairing, history: Sequence[object], said: Said) -> Reply | None:
    """The reply that stands there, read; None where it holds no calls."""
    messages = history[said.start : said.stop]
    return wire.read(wire.joined(messages)) if any(wire.proposes(message) for message in messages) else None


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


def positions(wire: Pairing, history: Sequence[object], said: Said, reply: Reply) -> frozenset[int]:
    """Positions of the calls of a reply that have a result."""
    ids = [text for at in range(said.stop, said.end) for text in wire.answers(history[at])]
    return frozenset(position for position in match(reply, ids) if position is not None)


def close(
    wire: Closing, history: Sequence[object], index: int, reply: Reply, outcomes: Mapping[int, Outcome]
) -> list[JsonObject]:
    """See Wire.close."""
    messages = wire.dump(history)
    said = next(found for found in replies(wire, messages) if found.start == index)
    body = wire.closed(reply, messages[said.stop : said.end], outcomes)
    return [*messages[:index], *body, *messages[said.end :]]


def close_all(
    wire: Closing, history: Sequence[object], outcomes_of: Callable[[Reply], Mapping[int, Outcome]]
) -> list[JsonObject]:
    """See Wire.close_all. Each message is read once: histories of thousands of open messages are closed in linear time."""
    messages = wire.dump(history)
    found = replies(wire, messages)
    body: list[JsonObject] = messages[: found[0].start] if found else messages
    for said in found:
        reply = reply_at(wire, messages, said)
        if reply is None or len(positions(wire, messages, said, reply)) == len(reply.kept):
            body += messages[said.start : said.end]
        else:
            body += wire.closed(reply, messages[said.stop : said.end], outcomes_of(reply))
    return body


def answered(wire: Pairing, history: Sequence[object], digest_of: Callable[[tuple[ToolCall, ...]], str]) -> list[str]:
    """See Wire.answered."""
    digests: list[str] = []
    for said in replies(wire, history):
        reply = reply_at(wire, history, said)
        if reply is not None and reply.kept and len(positions(wire, history, said, reply)) == len(reply.kept):
            digests.append(digest_of(reply.kept))
    return digests


def open_calls(wire: Pairing, history: Sequence[object]) -> tuple[int, Reply, frozenset[int]] | None:
    """See Wire.open_calls."""
    for said in reversed(replies(wire, history)):
        reply = reply_at(wire, history, said)
        if reply is not None:
            done = positions(wire, history, said, reply)
            if len(done) < len(reply.kept):
                return said.start, reply, done
    return None


def missing(reply: Reply, present: Iterable[int], outcomes: Mapping[int, Outcome]) -> dict[int, Outcome]:
    """The outcomes for the positions without a result, in order. Raises WireError when one of them is not given."""
    there = set(present)
    lacking = [position for position in range(len(reply.kept)) if position not in there]
    if absent := [position for position in lacking if position not in outcomes]:
        raise WireError(f"no outcome was given for the open calls at positions {absent}")
    return {position: outcomes[position] for position in lacking}


def merged(
    messages: Sequence[JsonObject], results: list[JsonObject], place: str, is_result: Callable[[object], bool]
) -> list[JsonObject]:
    """For wires with all results in one user message: what stands behind the calls, with all results in the first message that held some.

    `place` is where a message keeps its blocks. Where none held results, a new message stands in front.
    """
    body: list[JsonObject] = []
    placed = False
    for message in messages:
        blocks = message.get(place) if message.get("role") == "user" else None
        if not isinstance(blocks, list) or not any(map(is_result, blocks)):
            body.append(message)
            continue
        others = [block for block in blocks if not is_result(block)]
        content = others if placed else [*results, *others]
        body += [{**message, place: content}] if content else []
        placed = True
    return body if placed else [{"role": "user", place: results}, *body]
