"""Amazon Bedrock Converse: `toolUse` blocks in the assistant message, all results as `toolResult` blocks of one user message.

A failure has the status `error`. Blank texts are left out, since the provider rejects them. What the SDK takes as bytes (pictures, redacted
thinking) is bytes in what is given back to send, and base64 text in a dump; `resume` makes bytes of it again.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from guard.core.model import Block, Image, Outcome, ToolCall
from guard.core.rules import Tool
from guard.core.values import Json, JsonObject, encode
from guard.errors import WireError
from guard.wires import history as pairing
from guard.wires.base import Base
from guard.wires.bedrock_stream import WHOLE, Blocks
from guard.wires.common import Reply, checked, complete, counted, given_id, legal_ids, schemas, seed_of, unique_ids
from guard.wires.names import Spelling, ToolNames, legal
from guard.wires.plain import UNREADABLE, apart, arguments_of, look, plain, read_json, sendable, shallow, whole
from guard.wires.streams import STREAMED, Assembly
from guard.wires.texts import blocks_of, follow_up_blocks, spoken, text_of, user_text, words_of

SPELLING = Spelling(most=64)
MOST_ID = 64
_LEGAL_ID = re.compile(r"[a-zA-Z0-9_.:-]{1,64}")
_CUT = ("max_tokens", "model_context_window_exceeded")
_UNKNOWN = "SDK_UNKNOWN_MEMBER"  # what an older SDK makes of a block that it does not know, and does not take back
_BLOBS = frozenset({"bytes", "redactedContent"})
_UNNAMED, _LONGEST_NAME = re.compile(r"[^a-zA-Z0-9]+"), 150  # in the name of a document
_NO_TEXT: JsonObject = {"text": "(no text)"}
_EXPECTED = "bedrock-converse expects the answer of `converse`, or a message of role `assistant` with a list of `content` blocks"


@dataclass(frozen=True, slots=True)
class Bedrock(Base):
    """The wire `bedrock-converse`. See `guard.wires.common.Wire` for the verbs."""

    name: str = "bedrock-converse"
    most_calls: int | None = None
    spelling: Spelling = SPELLING

    def read(self, reply: object, *, turn_hint: str = "") -> Reply:
        """See Wire."""
        output = look(reply, "output")
        message = _assistant(reply if output is None else look(output, "message"))
        calls, ids = _calls(message, turn_hint)
        store = _store(message, calls)
        stop = look(reply, "stopReason")
        return Reply(
            message=message,
            calls=calls,
            truncated=stop in _CUT or (bool(calls) and not complete(stop, WHOLE)),
            usage=_usage(reply),
            ids=ids,
            store=store,
            kept=calls if store == message else _calls(store, "")[0],
            words=_words(message) if calls else "",
        )

    def stored(self, reply: Reply) -> list[JsonObject]:
        """See Wire."""
        return [as_bytes(reply.store)]

    def results(self, reply: Reply, outcomes: Sequence[Outcome]) -> list[JsonObject]:
        """See Wire."""
        checked(reply, outcomes)
        blocks = [_result(reply, position, outcome) for position, outcome in enumerate(outcomes)]
        return [as_bytes({"role": "user", "content": blocks})] if blocks else []

    def tools(self, tools: Sequence[Tool], names: ToolNames | None = None) -> list[JsonObject]:
        """See Wire."""
        return [{"toolSpec": _tool(*one)} for one in schemas(tools, SPELLING, names)]

    def user(self, text: str) -> JsonObject:
        """See Wire."""
        return {"role": "user", "content": [{"text": user_text(text)}]}

    def assembly(self) -> Assembly:
        """See Wire."""
        return Blocks()

    def follow_up(self, outcomes: Sequence[Outcome]) -> list[JsonObject]:
        """See Wire."""
        blocks = follow_up_blocks(outcomes, documents=True) if outcomes else []
        named = " ".join(["settled", *map(_named, outcomes)])
        return [as_bytes({"role": "user", "content": _content(blocks, named)})] if blocks else []

    def close(
        self, history: Sequence[object], index: int, reply: Reply, outcomes_by_position: Mapping[int, Outcome]
    ) -> list[JsonObject]:
        """See Wire. What the SDK takes as bytes is bytes."""
        return [as_bytes(message) for message in pairing.close(self, history, index, reply, outcomes_by_position)]

    def close_all(self, history: Sequence[object], outcomes_of: Callable[[Reply], Mapping[int, Outcome]]) -> list[JsonObject]:
        """See Wire. What the SDK takes as bytes is bytes."""
        return [as_bytes(message) for message in pairing.close_all(self, history, outcomes_of)]

    def closed(self, reply: Reply, after: Sequence[JsonObject], outcomes: Mapping[int, Outcome]) -> list[JsonObject]:
        """See guard.wires.history.Closing. All results stand in one user message, before what else the first with results says."""
        found = [block["toolResult"] for message in after for block in _blocks(message) if _is_result(block)]
        positions = pairing.match(reply, [given_id(block.get("toolUseId")) for block in found])
        results = {
            at: {"toolResult": {**block, "toolUseId": reply.kept[at].id}}
            for at, block in zip(positions, found, strict=True)
            if at is not None
        }
        for at, outcome in pairing.missing(reply, results, outcomes).items():
            results[at] = _result(reply, at, outcome)
        in_order = [results[at] for at in sorted(results)]
        return [*self.stored(reply), *pairing.merged(after, in_order, "content", _is_result)]

    def dump(self, messages: Sequence[object]) -> list[JsonObject]:
        """See Wire."""
        return [_assistant(item) if self.speaks(item) else whole(item, blobs=True) for item in messages]

    def proposes(self, message: object) -> bool:
        """See guard.wires.history.Pairing."""
        content = look(message, "content")
        return not isinstance(content, list | tuple) or any(look(block, "toolUse") is not None for block in content)

    def answers(self, message: object) -> list[str]:
        """See guard.wires.history.Pairing."""
        blocks = _blocks(message) if look(message, "role") == "user" else []
        return [given_id(look(look(block, "toolResult"), "toolUseId")) for block in blocks if _is_result(block)]


# -- reading ---------------------------------------------------------------------------------------------------------


def _assistant(given: object) -> JsonObject:
    """The assistant message as plain JSON. Raises WireError for everything else."""
    role, content = look(given, "role"), look(given, "content")
    if role not in (None, "assistant") or not isinstance(content, list | tuple):
        raise WireError(f"{_EXPECTED}; got {role or type(given).__name__}")
    return {"role": "assistant", "content": [_block(item) for item in content]}


def _block(item: object) -> JsonObject:
    """One content block. A call that cannot be read must not cost its siblings their results, so calls are read apart."""
    fields = {name: value for name, value in shallow(item).items() if value is not None}
    if not fields or "type" in fields:
        raise WireError(f"{_EXPECTED}; each block is an object under the name of its kind")
    use = fields.pop("toolUse", None)
    block = {name: plain(value, blobs=True) for name, value in fields.items()}
    if use is None:
        return block
    if look(use, "type") == "server_tool_use":
        return {"toolUse": plain(use, blobs=True), **block}
    found = apart(use, 1)
    return {"toolUse": found if isinstance(found, dict) else {"input": UNREADABLE}, **block}


def _uses(message: JsonObject) -> list[JsonObject]:
    """The calls of ours: tools that the provider runs itself are none."""
    return [block["toolUse"] for block in message["content"] if _ours(block)]


def _ours(block: JsonObject) -> bool:
    return "toolUse" in block and block["toolUse"].get("type") != "server_tool_use"


def _words(message: JsonObject) -> str:
    """What the model wrote, with citations or without; reasoning is blocks of its own."""
    pieces: list[object] = []
    for block in message["content"]:
        cited = look(block.get("citationsContent"), "content")
        pieces += [look(part, "text") for part in cited] if isinstance(cited, list) else [block.get("text")]
    return words_of(pieces)


def _calls(message: JsonObject, hint: str) -> tuple[tuple[ToolCall, ...], tuple[str, ...]]:
    uses = _uses(message)
    given = tuple(given_id(use.get("toolUseId")) for use in uses)
    bodies = [(use["name"] if isinstance(use.get("name"), str) else "", _input(use)) for use in uses]
    ids = unique_ids(given, lambda at: seed_of(hint, *bodies[at]))
    return tuple(ToolCall(new, name, arguments) for new, (name, arguments) in zip(ids, bodies, strict=True)), given


def _input(use: JsonObject) -> str | JsonObject:
    """The arguments as they came: an object, the text that a stream brought in pieces, or the JSON text of what is neither."""
    if isinstance(use.get(STREAMED), str):
        return str(use[STREAMED])
    value = use.get("input")
    return {} if value is None else value if isinstance(value, dict) else encode(sendable(value))


def _usage(reply: object) -> Any:
    usage = look(reply, "usage")
    names = ("cacheReadInputTokens", "cacheWriteInputTokens")
    more = [0 if (count := look(usage, name)) is None else count for name in names]
    return counted(look(reply, "modelId"), [look(usage, "inputTokens"), *more], [look(usage, "outputTokens")])


# -- storing ---------------------------------------------------------------------------------------------------------


def _store(message: JsonObject, calls: tuple[ToolCall, ...]) -> JsonObject:
    """The message without what the provider sends and then rejects: blank texts, an empty or merely thinking message."""
    ids = legal_ids([call.id for call in calls], lambda text: text if _LEGAL_ID.fullmatch(text) else legal(text, MOST_ID))
    waiting = iter(zip(ids, calls, strict=True))
    blocks = [_stored(block, *next(waiting)) if _ours(block) else block for block in message["content"]]
    kept = [block for block in blocks if _UNKNOWN not in block and ("text" not in block or str(block["text"] or "").strip())]
    if not kept or "reasoningContent" in kept[-1]:
        kept.append(dict(_NO_TEXT))
    result: JsonObject = sendable({"role": "assistant", "content": kept})
    return result


def _stored(block: JsonObject, new: str, call: ToolCall) -> JsonObject:
    value = read_json(call.arguments) if isinstance(call.arguments, str) else call.arguments
    read = arguments_of(value) if isinstance(value, dict) else {}
    use = {"toolUseId": new, "name": SPELLING.legal(call.tool), "input": read if isinstance(read, dict) else {}}
    return {**block, "toolUse": use}


# -- answering -------------------------------------------------------------------------------------------------------


def _result(reply: Reply, position: int, outcome: Outcome) -> JsonObject:
    blocks, call = blocks_of(outcome, documents=True), reply.kept[position].id
    if outcome.error:  # models behind this wire take only text in an error
        blocks = ("\n".join(map(spoken, blocks)),)
    status = {"status": "error"} if outcome.error else {}
    return {"toolResult": {"toolUseId": call, "content": _content(blocks, _named(outcome)), **status}}


def _named(outcome: Outcome) -> str:
    """What tells a call from those of other turns, where models give the same ids again."""
    return f"{outcome.call_id} {outcome.turn}"


def _content(blocks: Sequence[Block], named: str) -> list[JsonObject]:
    return [
        _image(block, f"{named} {number}") if isinstance(block, Image) else {"text": text_of(block)}
        for number, block in enumerate(blocks, 1)
    ]


def _image(picture: Image, name: str) -> JsonObject:
    if picture.document:  # no two of one request may have the same name, and it may hold nothing but letters and digits
        own = _UNNAMED.sub("-", name)[-_LONGEST_NAME:]
        return {"document": {"format": "pdf", "name": f"document {own}", "source": {"bytes": picture.data}}}
    return {"image": {"format": picture.media_type.removeprefix("image/"), "source": {"bytes": picture.data}}}


def _blocks(message: object) -> list[Any]:
    content = look(message, "content")
    return list(content) if isinstance(content, list | tuple) else []


def _is_result(block: object) -> bool:
    return isinstance(look(block, "toolResult"), Mapping)


def as_bytes(value: Json, name: str = "") -> Any:
    """A message as the SDK takes it: base64 text as bytes where it wants bytes; a fresh copy. Arguments and results of tools stay as they are."""
    if isinstance(value, dict):
        return {key: item if key in ("input", "json") else as_bytes(item, key) for key, item in value.items()}
    if isinstance(value, list):
        return [as_bytes(item) for item in value]
    if name in _BLOBS and isinstance(value, str):
        try:
            return b64decode(value, validate=True)
        except binascii.Error:
            return value
    return value


def _tool(name: str, description: str, parameters: JsonObject) -> JsonObject:
    return {"name": name, **({"description": description} if description else {}), "inputSchema": {"json": parameters}}
