"""Trim: where results stand in a history, and how their texts are replaced there, wire by wire. What is replaced is decided elsewhere.

No message is removed or moved: every call keeps its result, and what the guard recognises turns by stays as it is. A new wire is one class here
and one row in `TRIMMERS`. Pure; comes after the wires.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

from guard.core.values import JsonObject
from guard.errors import WireError
from guard.wires.anthropic import Anthropic
from guard.wires.common import given_id
from guard.wires.history import Pairing, match, replies, reply_at
from guard.wires.openai_chat import PICTURES, OpenAIChat
from guard.wires.plain import look
from guard.wires.texts import FOLLOW_UP


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One result in a history: message `index`, its `part` there. `fresh`: the model has not answered to it yet.

    `tool` is empty where the result belongs to no call, and for the pictures that stand apart from their results. `part` is `FOLLOWED` for the
    result that a message of the guard tells of a held call.
    """

    index: int
    part: int
    tool: str
    text: str
    pictures: int = 0
    fresh: bool = False


FOLLOWED = -1
_FOLLOWED = re.compile(r"(\S+) \((?:call [^\n]*)\): (?:done|failed|refused|held|unknown)")
"""The line of a follow-up that says what became of a call."""


class Trimmer(Protocol):
    """What a wire tells about results in its messages, which are plain JSON as its `dump` gives them."""

    def places(self, messages: Sequence[JsonObject]) -> list[Place]:
        """Every result, in order."""

    def reworded(self, message: JsonObject, texts: Mapping[int, str]) -> JsonObject:
        """A new message in which these parts say these texts and no pictures; everything else is as it was."""


def trimmer(name: str) -> Trimmer:
    """How a wire's histories are shortened. Raises WireError for a wire that has no way yet."""
    if name not in TRIMMERS:
        raise WireError(f"histories of the wire {name!r} cannot be shortened yet; known are {', '.join(sorted(TRIMMERS))}")
    return TRIMMERS[name]


def _tools(wire: Pairing, messages: Sequence[JsonObject]) -> dict[int, dict[str, str]]:
    """For each message that may hold results: the tool of each id that waits there."""
    found: dict[int, dict[str, str]] = {}
    for said in replies(wire, messages):
        reply = reply_at(wire, messages, said)
        given = [(at, text) for at in range(said.stop, said.end) for text in wire.answers(messages[at])] if reply else []
        places = match(reply, [text for _, text in given]) if reply else []
        for (at, text), position in zip(given, places, strict=True):
            found.setdefault(at, {})[text] = "" if reply is None or position is None else reply.kept[position].tool
    return found


def _told(message: JsonObject) -> tuple[str, str, str] | None:
    """What a follow-up says of one call: its first two lines, the tool, and the result behind them.

    None for any other message, and for one in which a further line could be the guard's own word about another call: it stays whole.
    """
    content = message.get("content")
    if message.get("role") != "user" or not isinstance(content, str) or not content.startswith(f"{FOLLOW_UP}\n"):
        return None
    line, _, rest = content[len(FOLLOW_UP) + 1 :].partition("\n")
    first = _FOLLOWED.fullmatch(line)
    if first is None or not rest or any(_FOLLOWED.fullmatch(other) for other in rest.splitlines()):
        return None
    return f"{FOLLOW_UP}\n{line}\n", first[1], rest


def _followed(messages: Sequence[JsonObject], newest: int) -> list[Place]:
    told = ((index, _told(message)) for index, message in enumerate(messages))
    return [
        Place(index=index, part=FOLLOWED, tool=one[1], text=one[2], fresh=index > newest)
        for index, one in told
        if one is not None
    ]


def _retold(message: JsonObject, text: str) -> JsonObject:
    told = _told(message)
    return dict(message) if told is None else {**message, "content": told[0] + text}


def _newest(wire: Pairing, messages: Sequence[JsonObject]) -> int:
    """The index of the newest message that the model said: what stands behind it is fresh."""
    return max((index for index, message in enumerate(messages) if wire.speaks(message)), default=-1)


@dataclass(frozen=True, slots=True)
class OpenAIChatTrimmer:
    """Results are messages; their pictures stand in a message of the user's role that the guard wrote."""

    def places(self, messages: Sequence[JsonObject]) -> list[Place]:
        """See Trimmer."""
        tools, newest = _tools(OpenAIChat(), messages), _newest(OpenAIChat(), messages)
        found: list[Place] = []
        for index, message in enumerate(messages):
            if message.get("role") in ("tool", "function"):
                tool = tools.get(index, {}).get(given_id(message.get("tool_call_id")), "")
                found.append(Place(index=index, part=0, tool=tool, text=_joined(message.get("content")), fresh=index > newest))
            elif pictures := _shown_apart(message):
                found.append(Place(index=index, part=0, tool="", text=PICTURES, pictures=pictures, fresh=index > newest))
        return [*found, *_followed(messages, newest)]

    def reworded(self, message: JsonObject, texts: Mapping[int, str]) -> JsonObject:
        """See Trimmer."""
        if FOLLOWED in texts:
            return _retold(message, texts[FOLLOWED])
        return {**message, "content": texts[0]} if 0 in texts else dict(message)


def _shown_apart(message: JsonObject) -> int:
    """How many pictures of tools a message holds; none where the guard did not write it."""
    parts = message.get("content")
    if message.get("role") != "user" or not isinstance(parts, list) or look(parts[0] if parts else None, "text") != PICTURES:
        return 0
    return sum(look(part, "type") == "image_url" for part in parts)


@dataclass(frozen=True, slots=True)
class AnthropicTrimmer:
    """Results are blocks of a message of the user's role, pictures among them."""

    def places(self, messages: Sequence[JsonObject]) -> list[Place]:
        """See Trimmer."""
        tools, newest = _tools(Anthropic(), messages), _newest(Anthropic(), messages)
        found: list[Place] = []
        for index, message in enumerate(messages):
            content = message.get("content") if message.get("role") == "user" else None
            for part, block in enumerate(content if isinstance(content, list) else []):
                if look(block, "type") == "tool_result":
                    tool = tools.get(index, {}).get(given_id(block.get("tool_use_id")), "")
                    inner = block.get("content")
                    found.append(
                        Place(
                            index=index,
                            part=part,
                            tool=tool,
                            text=_joined(inner),
                            pictures=sum(look(one, "type") == "image" for one in inner) if isinstance(inner, list) else 0,
                            fresh=index > newest,
                        )
                    )
        return [*found, *_followed(messages, newest)]

    def reworded(self, message: JsonObject, texts: Mapping[int, str]) -> JsonObject:
        """See Trimmer."""
        if FOLLOWED in texts:
            return _retold(message, texts[FOLLOWED])
        blocks = enumerate(message["content"])
        return {**message, "content": [{**block, "content": texts[at]} if at in texts else block for at, block in blocks]}


def _joined(content: object) -> str:
    """The texts of a content, as one."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(str(look(part, "text")) for part in parts if look(part, "type") == "text")


TRIMMERS: Mapping[str, Trimmer] = MappingProxyType({"openai-chat": OpenAIChatTrimmer(), "anthropic": AnthropicTrimmer()})
"""How the histories of each wire are shortened, by the wire's name."""
