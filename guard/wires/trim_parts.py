"""Trim, the common part: what a place in a history is, which tool a result came from, and how a follow-up of the guard is read.

May not know any wire's format. Pure; comes after `history`, before `trim_wires`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from guard.core.values import JsonObject
from guard.wires.history import Pairing, match, replies, reply_at
from guard.wires.texts import FOLLOW_UP


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One result in a history: message `index`, its `part` there. `fresh`: the model has not answered to it yet.

    `tool` is empty where the result belongs to no call, and for the pictures that stand apart from their results. `part` is `FOLLOWED` for the
    result that a message of the guard tells of a held call, `SHOWN` for pictures that stand behind the results in one message with them.
    """

    index: int
    part: int
    tool: str
    text: str
    pictures: int = 0
    fresh: bool = False


FOLLOWED = -1
SHOWN = -2
_FOLLOWED = re.compile(r"(\S+) \((?:call [^\n]*)\): (?:done|failed|refused|held|unknown)")
"""The line of a follow-up that says what became of a call."""


class Trimmer(Protocol):
    """What a wire tells about results in its messages, which are plain JSON as its `dump` gives them."""

    def places(self, messages: Sequence[JsonObject]) -> list[Place]:
        """Every result, in order."""

    def reworded(self, message: JsonObject, texts: Mapping[int, str]) -> JsonObject:
        """A new message in which these parts say these texts and no pictures; everything else is as it was."""

    def sent(self, message: JsonObject) -> JsonObject:
        """A message as the provider's own package takes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A result within one message: its `part`, the id that it bears (as the wire's `answers` gives it), its text and its pictures."""

    part: int
    id: str
    text: str
    pictures: int = 0


class Trim:
    """What the trimmers have in common: a wire's own says where the results in one message stand, and where a text of the user."""

    __slots__ = ()
    wire: ClassVar[Pairing]

    def found(self, message: JsonObject) -> Iterator[Result]:
        """The results in one message."""
        raise NotImplementedError

    def shown(self, message: JsonObject) -> tuple[int, str, int] | None:
        """Pictures that the guard put apart from their results: the part, the text before them, how many. None where there are none."""

    def said(self, message: JsonObject) -> str | None:
        """The text of a message that holds one text of the user's role and nothing else."""
        raise NotImplementedError

    def saying(self, message: JsonObject, text: str) -> JsonObject:
        """Such a message with another text."""
        raise NotImplementedError

    def replaced(self, message: JsonObject, texts: Mapping[int, str]) -> JsonObject:
        """See Trimmer.reworded, for results and pictures."""
        raise NotImplementedError

    def sent(self, message: JsonObject) -> JsonObject:
        """See Trimmer."""
        return message

    def places(self, messages: Sequence[JsonObject]) -> list[Place]:
        """See Trimmer."""
        tools, newest = tools_of(self.wire, messages), newest_of(self.wire, messages)
        places: list[Place] = []
        for index, message in enumerate(messages):
            fresh = index > newest
            for one in self.found(message):
                tool = tools.get(index, {}).get(one.id, "")
                places.append(Place(index=index, part=one.part, tool=tool, text=one.text, pictures=one.pictures, fresh=fresh))
            if (apart := self.shown(message)) is not None:
                places.append(Place(index=index, part=apart[0], tool="", text=apart[1], pictures=apart[2], fresh=fresh))
        return [*places, *self._followed(messages, newest)]

    def reworded(self, message: JsonObject, texts: Mapping[int, str]) -> JsonObject:
        """See Trimmer."""
        if FOLLOWED not in texts:
            return self.replaced(message, texts)
        told = told_of(self.said(message))
        return dict(message) if told is None else self.saying(message, told[0] + texts[FOLLOWED])

    def _followed(self, messages: Sequence[JsonObject], newest: int) -> list[Place]:
        told = ((index, told_of(self.said(message))) for index, message in enumerate(messages))
        return [
            Place(index=index, part=FOLLOWED, tool=one[1], text=one[2], fresh=index > newest)
            for index, one in told
            if one is not None
        ]


def tools_of(wire: Pairing, messages: Sequence[JsonObject]) -> dict[int, dict[str, str]]:
    """For each message that may hold results: the tool of each id that waits there."""
    found: dict[int, dict[str, str]] = {}
    for said in replies(wire, messages):
        reply = reply_at(wire, messages, said)
        given = [(at, text) for at in range(said.stop, said.end) for text in wire.answers(messages[at])] if reply else []
        places = match(reply, [text for _, text in given]) if reply else []
        for (at, text), position in zip(given, places, strict=True):
            tool = "" if reply is None or position is None else reply.kept[position].tool
            found.setdefault(at, {})[text] = tool
    return found


def newest_of(wire: Pairing, messages: Sequence[JsonObject]) -> int:
    """The index of the newest message that the model said: what stands behind it is fresh."""
    return max((index for index, message in enumerate(messages) if wire.speaks(message)), default=-1)


def told_of(text: str | None) -> tuple[str, str, str] | None:
    """What a follow-up says of one call: its first two lines, the tool, and the result behind them.

    None for any other text, and for one in which a further line could be the guard's own word about another call: it stays whole.
    """
    if text is None or not text.startswith(f"{FOLLOW_UP}\n"):
        return None
    line, _, rest = text[len(FOLLOW_UP) + 1 :].partition("\n")
    first = _FOLLOWED.fullmatch(line)
    if first is None or not rest or any(_FOLLOWED.fullmatch(other) for other in rest.splitlines()):
        return None
    return f"{FOLLOW_UP}\n{line}\n", first[1], rest
