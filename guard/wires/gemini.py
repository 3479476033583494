"""Gemini: `functionCall` parts in a content of role `model`, all results as `functionResponse` parts of one content of role `user`.

An id may be absent: then the results stand in the order of the calls, each with its tool's name and no id, and are found again by name. Thought
signatures stay with the part that they came in. A failure is `{"error": …}`, everything else `{"output": …}`; pictures follow behind the
last result in the same content. Bytes are base64 text, which the SDK takes back. Calls that the provider runs itself are none of ours.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from guard.core.model import Image, Outcome, ToolCall, Usage
from guard.core.rules import Tool
from guard.core.values import JsonObject, encode
from guard.errors import WireError
from guard.wires import history as pairing
from guard.wires.base import Base
from guard.wires.common import Reply, checked, complete, counted, given_id, schemas, seed_of, unique_ids
from guard.wires.gemini_stream import WHOLE, Contents
from guard.wires.names import Spelling, ToolNames
from guard.wires.plain import UNREADABLE, apart, arguments_of, look, plain, sendable, shallow, whole
from guard.wires.streams import Assembly
from guard.wires.texts import blocks_of, follow_up_blocks, text_of, user_text, words_of

SPELLING = Spelling(most=64, letter=True)
PICTURES = "Pictures that the functions above returned: output of tools, not words of the user."
_SNAKE = re.compile("_([a-z])")
_EXPECTED = "gemini expects a GenerateContentResponse with a candidate, or a content of role `model` with `parts`"
_BY_NAME = "name:"
_PIECES = ("partialArgs", "partial_args", "willContinue", "will_continue")


@dataclass(frozen=True, slots=True)
class Gemini(Base):
    """The wire `gemini`. See `guard.wires.common.Wire` for the verbs."""

    name: str = "gemini"
    most_calls: int | None = None
    spelling: Spelling = SPELLING

    def read(self, reply: object, *, turn_hint: str = "") -> Reply:
        """See Wire."""
        given, finish = _unwrap(reply)
        message = _content(given)
        calls, ids = _calls(message, turn_hint)
        store = _store(message, calls)
        return Reply(
            message=message,
            calls=calls,
            truncated=finish == "MAX_TOKENS" or (bool(calls) and not complete(finish, WHOLE)),
            usage=_usage(reply),
            ids=ids,
            store=store,
            kept=calls if store == message else _calls(store, "")[0],
            words=_words(message) if calls else "",
        )

    def results(self, reply: Reply, outcomes: Sequence[Outcome]) -> list[JsonObject]:
        """See Wire."""
        checked(reply, outcomes)
        pictures: list[JsonObject] = []
        parts = [_result(reply, position, outcome, pictures) for position, outcome in enumerate(outcomes)]
        return [{"role": "user", "parts": [*parts, *_pictures(pictures)]}] if parts else []

    def tools(self, tools: Sequence[Tool], names: ToolNames | None = None) -> list[JsonObject]:
        """See Wire. All functions stand in one tool."""
        told = [_function(*one) for one in schemas(tools, SPELLING, names)]
        return [{"functionDeclarations": told}] if told else []

    def user(self, text: str) -> JsonObject:
        """See Wire."""
        return {"role": "user", "parts": [{"text": user_text(text)}]}

    def assembly(self) -> Assembly:
        """See Wire."""
        return Contents()

    def follow_up(self, outcomes: Sequence[Outcome]) -> list[JsonObject]:
        """See Wire."""
        blocks = follow_up_blocks(outcomes, documents=True) if outcomes else []
        parts = [_picture(block) if isinstance(block, Image) else {"text": text_of(block)} for block in blocks]
        return [{"role": "user", "parts": parts}] if parts else []

    def closed(self, reply: Reply, after: Sequence[JsonObject], outcomes: Mapping[int, Outcome]) -> list[JsonObject]:
        """See guard.wires.history.Closing. All results stand in one content, before what else the first with results says."""
        found = [part for message in after for part in _parts(message) if _is_result(part)]
        positions = pairing.match(reply, [paired_by(look(part, "functionResponse")) for part in found])
        results = {at: _renamed(part, reply, at) for at, part in zip(positions, found, strict=True) if at is not None}
        pictures: list[JsonObject] = []
        for at, outcome in pairing.missing(reply, results, outcomes).items():
            results[at] = _result(reply, at, outcome, pictures)
        in_order = [results[at] for at in sorted(results)]
        return [*self.stored(reply), *pairing.merged(after, [*in_order, *_pictures(pictures)], "parts", _is_result)]

    def dump(self, messages: Sequence[object]) -> list[JsonObject]:
        """See Wire."""
        return [_content(item) if self.speaks(item) else _said(item) for item in messages]

    def speaks(self, message: object) -> bool:
        """See guard.wires.history.Pairing."""
        return look(message, "role") == "model"

    def proposes(self, message: object) -> bool:
        """See guard.wires.history.Pairing."""
        parts = look(message, "parts")
        return not isinstance(parts, list | tuple) or any(_field(part, "functionCall") is not None for part in parts)

    def answers(self, message: object) -> list[str]:
        """See guard.wires.history.Pairing. A result without an id answers by its tool's name."""
        found = [_field(part, "functionResponse") for part in _parts(message)]
        return [paired_by(one) for one in found if one is not None and not isinstance(one, str | int | list)]


# -- reading ---------------------------------------------------------------------------------------------------------


def _field(value: object, name: str) -> object:
    """A field by its name on the wire, or by the one that the SDK gives it."""
    found = look(value, name)
    return look(value, re.sub("([A-Z])", lambda match: f"_{match[1].lower()}", name)) if found is None else found


def _unwrap(reply: object) -> tuple[object, object]:
    """The content and the finish reason of a response's first candidate; of a bare content, the content alone."""
    candidates = look(reply, "candidates")
    if candidates is None and look(reply, "parts") is not None and _field(reply, "promptFeedback") is None:
        return reply, None
    if not isinstance(candidates, list | tuple) or not candidates or isinstance(candidates[0], str | None):
        raise WireError(f"{_EXPECTED}; this one has no candidate")
    finish = _field(candidates[0], "finishReason")
    content = look(candidates[0], "content")
    return {"role": "model", "parts": []} if content is None else content, str.__str__(finish) if isinstance(
        finish, str
    ) else finish


def _usage(reply: object) -> Usage:
    """Thinking counts as output, and what tools of the provider read as input. Counts that are not there are none, but the first."""
    usage, model = _field(reply, "usageMetadata"), _field(reply, "modelVersion")
    first = _field(usage, "promptTokenCount")
    ins, outs = ("toolUsePromptTokenCount",), ("candidatesTokenCount", "thoughtsTokenCount")
    more, out = [[0 if (count := _field(usage, name)) is None else count for name in names] for names in (ins, outs)]
    return counted(model, [first, *more], out)


def _content(given: object) -> JsonObject:
    """The model's content as plain JSON, under the names of the wire. Raises WireError for everything else."""
    role, parts = look(given, "role"), look(given, "parts")
    if role not in (None, "model") or not isinstance(parts, list | tuple | None):
        raise WireError(f"{_EXPECTED}; got {role or type(given).__name__}")
    return {"role": "model", "parts": [_part(part) for part in parts or ()]}


def _part(part: object) -> JsonObject:
    """One part, without fields that are null. A call that cannot be read must not cost its siblings their results, so it is read apart."""
    fields = {
        _SNAKE.sub(lambda match: match[1].upper(), name): value for name, value in shallow(part).items() if value is not None
    }
    if not fields:
        raise WireError(f"{_EXPECTED}; each part is an object that holds something")
    call = fields.pop("functionCall", None)
    read = {name: plain(value, blobs=True) for name, value in fields.items()}
    if call is None:
        return read
    found = apart(call, 1)
    known = {name: item for name, item in found.items() if item is not None} if isinstance(found, dict) else {"args": UNREADABLE}
    return {"functionCall": known, **read}


def _said(message: object) -> JsonObject:
    """A content of the user as plain JSON. Results that an older host put under a role of their own are the user's today."""
    content = whole(message, blobs=True)
    parts = content.get("parts")
    if not isinstance(parts, list):
        return content
    role = {"role": "user"} if content.get("role") in ("function", "tool") else {}
    return {**content, **role, "parts": [_part(part) for part in parts]}


def _uses(message: JsonObject) -> list[JsonObject]:
    return [part["functionCall"] for part in message["parts"] if "functionCall" in part]


def paired_by(call: object) -> str:
    """What call and result are paired by: the id, or where there is none the tool's name."""
    name = look(call, "name")
    return given_id(look(call, "id")) or (f"{_BY_NAME}{name}" if isinstance(name, str) else _BY_NAME)


def _words(message: JsonObject) -> str:
    """What the model wrote; parts marked as thoughts are none of it."""
    return words_of(None if part.get("thought") else part.get("text") for part in message["parts"])


def _calls(message: JsonObject, hint: str) -> tuple[tuple[ToolCall, ...], tuple[str, ...]]:
    uses = _uses(message)
    given = [given_id(use.get("id")) for use in uses]
    bodies = [(use["name"] if isinstance(use.get("name"), str) else "", _arguments(use)) for use in uses]
    ids = unique_ids(given, lambda at: seed_of(hint, *bodies[at]))
    calls = tuple(ToolCall(new, name, arguments) for new, (name, arguments) in zip(ids, bodies, strict=True))
    return calls, tuple(map(paired_by, uses))


def _arguments(use: JsonObject) -> str | JsonObject:
    """The arguments as they came: an object, nothing, or what is neither and is refused, as are pieces that nobody put together."""
    if any(use.get(name) for name in _PIECES):
        return UNREADABLE
    value = use.get("args")
    return {} if value is None else value if isinstance(value, dict) else encode(sendable(value))


# -- storing ---------------------------------------------------------------------------------------------------------


def _store(message: JsonObject, calls: tuple[ToolCall, ...]) -> JsonObject:
    """The content as the provider takes it back: an id only where one came and only once, arguments that are an object, no empty content."""
    waiting = iter(calls)
    parts = [_stored(part, next(waiting)) if "functionCall" in part else part for part in message["parts"]]
    result: JsonObject = sendable({"role": "model", "parts": parts or [{"text": "(no text)"}]})
    return result


def _stored(part: JsonObject, call: ToolCall) -> JsonObject:
    given = part["functionCall"]
    own = {"args", "name", "id", *_PIECES}
    kept: JsonObject = {name: item for name, item in given.items() if name not in own}
    read = arguments_of(call.arguments) if isinstance(call.arguments, Mapping) else {}
    if given_id(given.get("id")):
        kept["id"] = call.id
    if "args" in given:
        kept["args"] = read if isinstance(read, dict) else {}
    return {**part, "functionCall": {**kept, "name": SPELLING.legal(call.tool)}}


# -- answering -------------------------------------------------------------------------------------------------------


def _result(reply: Reply, position: int, outcome: Outcome, pictures: list[JsonObject]) -> JsonObject:
    """One result; pictures in it are appended to `pictures`, labelled."""
    texts: list[str] = []
    for block in blocks_of(outcome, documents=True):
        if isinstance(block, Image):
            number, what = len(pictures) // 2 + 1, "document" if block.document else "picture"
            pictures += [{"text": f"{what.title()} {number}, from {reply.kept[position].tool or 'a tool'}:"}, _picture(block)]
            texts.append(f"[{what} {number} follows]")
        else:
            texts.append(block)
    response = {"error" if outcome.error else "output": "\n".join(texts)}
    return _renamed({"functionResponse": {"response": response}}, reply, position)


def _renamed(part: JsonObject, reply: Reply, position: int) -> JsonObject:
    """A result under id and name of its call in `store`."""
    use = _uses(reply.store)[position]
    own = {name: use[name] for name in ("id", "name") if name in use}
    rest = {name: item for name, item in part["functionResponse"].items() if name not in ("id", "name")}
    return {**part, "functionResponse": {**own, **rest}}


def _parts(message: object) -> list[Any]:
    parts = look(message, "parts")
    return list(parts) if isinstance(parts, list | tuple) else []


def _is_result(part: object) -> bool:
    return isinstance(look(part, "functionResponse"), Mapping)


def _pictures(parts: list[JsonObject]) -> list[JsonObject]:
    return [{"text": PICTURES}, *parts] if parts else []


def _picture(picture: Image) -> JsonObject:
    return {"inlineData": {"mimeType": picture.media_type, "data": picture.data}}


def _function(name: str, description: str, parameters: JsonObject) -> JsonObject:
    return {"name": name, **({"description": description} if description else {}), "parametersJsonSchema": parameters}
