"""Anthropic Messages: `tool_use` blocks in the assistant message, all results as `tool_result` blocks of one user message.

Blocks keep their order. Tools that the provider runs itself (`server_tool_use`, `mcp_tool_use`) are no calls of ours and stay
untouched. An id or name must be letters, digits, `_` and `-`; blank texts are rejected, and so are pictures in an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from guard.core.model import Block, Image, Outcome, ToolCall
from guard.core.rules import Tool
from guard.core.values import Json, JsonObject, encode
from guard.errors import WireError
from guard.wires import history as pairing
from guard.wires.anthropic_stream import WHOLE, Blocks
from guard.wires.base import Base
from guard.wires.common import Reply, checked, complete, given_id, legal_ids, schemas, seed_of, unique_ids, usage_of
from guard.wires.names import Spelling, ToolNames
from guard.wires.plain import UNREADABLE, apart, arguments_of, look, plain, read_json, sendable, shallow, whole
from guard.wires.streams import STREAMED, Assembly
from guard.wires.texts import blocks_of, follow_up_blocks, spoken, text_of, words_of

SPELLING = Spelling(most=128)
_CUT = ("max_tokens", "model_context_window_exceeded")
_PAUSES = ("pause_turn", "compaction")
_TOKENS_IN = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_THINKING = frozenset({"thinking", "redacted_thinking"})
_NO_TEXT: JsonObject = {"type": "text", "text": "(no text)"}
_EXPECTED = "anthropic expects a Message, or an assistant message whose `content` is text or a list of blocks"


@dataclass(frozen=True, slots=True)
class Anthropic(Base):
    """The wire `anthropic`. See `guard.wires.common.Wire` for the verbs."""

    name: str = "anthropic"
    most_calls: int | None = None
    spelling: Spelling = SPELLING

    def read(self, reply: object, *, turn_hint: str = "") -> Reply:
        """See Wire."""
        message = _assistant(reply)
        calls, ids = _calls(message, turn_hint)
        store = _store(message, calls)
        stop = look(reply, "stop_reason")
        return Reply(
            message=message,
            calls=calls,
            truncated=stop in _CUT or (bool(calls) and not complete(stop, WHOLE)),
            usage=usage_of(reply, _TOKENS_IN, "output_tokens"),
            ids=ids,
            store=store,
            kept=calls if store == message else _calls(store, "")[0],
            words=_words(message) if calls else "",
            paused=stop in _PAUSES and not calls,
        )

    def results(self, reply: Reply, outcomes: Sequence[Outcome]) -> list[JsonObject]:
        """See Wire."""
        checked(reply, outcomes)
        blocks = [_result(reply, position, outcome) for position, outcome in enumerate(outcomes)]
        return [{"role": "user", "content": blocks}] if blocks else []

    def tools(self, tools: Sequence[Tool], names: ToolNames | None = None) -> list[JsonObject]:
        """See Wire."""
        return [_tool(*one) for one in schemas(tools, SPELLING, names)]

    def assembly(self) -> Assembly:
        """See Wire."""
        return Blocks()

    def follow_up(self, outcomes: Sequence[Outcome]) -> list[JsonObject]:
        """See Wire."""
        if not outcomes:
            return []
        return [{"role": "user", "content": _content(follow_up_blocks(outcomes, documents=True))}]

    def closed(self, reply: Reply, after: Sequence[JsonObject], outcomes: Mapping[int, Outcome]) -> list[JsonObject]:
        """See guard.wires.history.Closing. All results stand in one user message, before what else the first with results says."""
        found = [block for message in after for block in _results_in(message)]
        positions = pairing.match(reply, [given_id(block.get("tool_use_id")) for block in found])
        results = {
            at: {**block, "tool_use_id": reply.kept[at].id} for at, block in zip(positions, found, strict=True) if at is not None
        }
        for at, outcome in pairing.missing(reply, results, outcomes).items():
            results[at] = _result(reply, at, outcome)
        in_order = [results[at] for at in sorted(results)]
        return [*self.stored(reply), *pairing.merged(after, in_order, "content", _is_result)]

    def dump(self, messages: Sequence[object]) -> list[JsonObject]:
        """See Wire."""
        return [_assistant(item) if look(item, "role") == "assistant" else whole(item) for item in messages]

    def proposes(self, message: object) -> bool:
        """See guard.wires.history.Pairing."""
        content = look(message, "content")
        return not isinstance(content, list | tuple) or any(look(block, "type") == "tool_use" for block in content)

    def answers(self, message: object) -> list[str]:
        """See guard.wires.history.Pairing."""
        content = look(message, "content") if look(message, "role") == "user" else None
        blocks = content if isinstance(content, list | tuple) else ()
        return [given_id(look(block, "tool_use_id")) for block in blocks if look(block, "type") == "tool_result"]


# -- reading ---------------------------------------------------------------------------------------------------------


def _assistant(reply: object) -> JsonObject:
    """The assistant message as it may be sent back: role and content. Raises WireError for everything else."""
    role, content = look(reply, "role"), look(reply, "content")
    if role not in (None, "assistant") or not isinstance(content, str | list | tuple):
        raise WireError(f"{_EXPECTED}; got {role or type(reply).__name__}")
    if look(reply, "tool_calls") or look(reply, "choices") or look(reply, "function_call"):
        raise WireError(f"{_EXPECTED}; this looks like a message of another wire")
    return {"role": "assistant", "content": plain(content) if isinstance(content, str) else [_block(item) for item in content]}


def _block(item: object) -> JsonObject:
    """One content block. A call that cannot be read must not cost its siblings their results, so calls are read apart."""
    fields = shallow(item)
    if not isinstance(fields.get("type"), str):
        raise WireError("each content block is an object with a `type`")
    if fields["type"] == "tool_use":
        return {name: apart(value, 0) for name, value in fields.items()}
    block = {name: plain(value) for name, value in fields.items() if name != "input"}
    if "input" in fields:  # of a tool that the provider runs itself, and takes back as an object only
        read = arguments_of(fields["input"])
        block["input"] = {} if read == UNREADABLE else read
    return block


def _uses(message: JsonObject) -> list[JsonObject]:
    content = message["content"]
    return [] if isinstance(content, str) else [block for block in content if block["type"] == "tool_use"]


def _words(message: JsonObject) -> str:
    """What the model wrote; thinking is blocks of its own."""
    content = message["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return words_of(block.get("text") if block["type"] == "text" else None for block in blocks)


def _calls(message: JsonObject, hint: str) -> tuple[tuple[ToolCall, ...], tuple[str, ...]]:
    uses = _uses(message)
    given = tuple(given_id(use.get("id")) for use in uses)
    bodies = [(use["name"] if isinstance(use.get("name"), str) else "", _input(use)) for use in uses]
    ids = unique_ids(given, lambda at: seed_of(hint, *bodies[at]))
    return tuple(ToolCall(new, name, arguments) for new, (name, arguments) in zip(ids, bodies, strict=True)), given


def _input(use: JsonObject) -> str | JsonObject:
    """The arguments as they came: an object, or the JSON text of what is none. Text stays a JSON string, so nobody decodes it twice.

    What a stream brought in pieces is text, which the core alone decodes.
    """
    if isinstance(use.get(STREAMED), str):
        return str(use[STREAMED])
    value = use.get("input")
    if value is None:
        return {}
    if value == UNREADABLE or (isinstance(value, str) and not value.strip()):
        return str(value)
    return value if isinstance(value, dict) else encode(sendable(value))


# -- storing ---------------------------------------------------------------------------------------------------------


def _store(message: JsonObject, calls: tuple[ToolCall, ...]) -> JsonObject:
    """The message without what the provider sends and then rejects: blank texts, an empty or merely thinking message."""
    content = message["content"]
    if isinstance(content, str):
        return {"role": "assistant", "content": sendable(content) if content.strip() else _NO_TEXT["text"]}
    ids = iter(legal_ids([call.id for call in calls]))
    waiting = iter(calls)
    blocks = [_stored_use(block, next(ids), next(waiting)) if block["type"] == "tool_use" else block for block in content]
    kept = [_bare(block) for block in blocks if block["type"] != "text" or str(block.get("text") or "").strip()]
    if not kept or kept[-1]["type"] in _THINKING:
        kept.append(dict(_NO_TEXT))
    result: JsonObject = sendable({"role": "assistant", "content": kept})
    return result


def _bare(block: JsonObject) -> JsonObject:
    """A text block without what an SDK's helper put there."""
    return {name: item for name, item in block.items() if name != "parsed_output"} if block["type"] == "text" else block


def _stored_use(block: JsonObject, new: str, call: ToolCall) -> JsonObject:
    kept = {name: item for name, item in block.items() if name != STREAMED and not (name == "caller" and item is None)}
    return {**kept, "id": new, "name": SPELLING.legal(call.tool), "input": _stored_input(call.arguments)}


def _stored_input(arguments: Json) -> JsonObject:
    """The provider takes an object only: text that decodes to one is opened, `{}` stands for anything else."""
    value = arguments
    for _ in range(2):  # the JSON text of a text that itself holds JSON
        value = read_json(value) if isinstance(value, str) else value
    read = arguments_of(value) if isinstance(value, dict) else {}
    return read if isinstance(read, dict) else {}


# -- answering -------------------------------------------------------------------------------------------------------


def _result(reply: Reply, position: int, outcome: Outcome) -> JsonObject:
    block: JsonObject = {"type": "tool_result", "tool_use_id": reply.kept[position].id}
    blocks = blocks_of(outcome, documents=True)
    if outcome.error:  # the provider takes only text in an error
        return {**block, "content": "\n".join(map(spoken, blocks)), "is_error": True}
    return {**block, "content": _content(blocks)}


def _content(blocks: Sequence[Block]) -> Json:
    if len(blocks) == 1 and isinstance(blocks[0], str):
        return blocks[0]
    return [_image(block) if isinstance(block, Image) else {"type": "text", "text": text_of(block)} for block in blocks]


def _image(picture: Image) -> JsonObject:
    kind = "document" if picture.document else "image"
    return {"type": kind, "source": {"type": "base64", "media_type": picture.media_type, "data": picture.data}}


def _results_in(message: JsonObject) -> list[JsonObject]:
    content = message.get("content") if message.get("role") == "user" else None
    return [block for block in content if _is_result(block)] if isinstance(content, list) else []


def _is_result(block: object) -> bool:
    return look(block, "type") == "tool_result"


def _tool(name: str, description: str, parameters: JsonObject) -> JsonObject:
    return {"name": name, **({"description": description} if description else {}), "input_schema": parameters}
