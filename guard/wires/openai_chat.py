"""OpenAI Chat Completions: `tool_calls` in the assistant message, one message of role `tool` for each result.

A result is text only, so pictures follow in one user message after the last result. The wire has no error flag; the content
says `"ok": false`. Compatible hosts are read as well: objects as arguments, missing types, ids that are empty or repeated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from guard.core.model import Image, Outcome, ToolCall
from guard.core.rules import Tool
from guard.core.values import Json, JsonObject, encode
from guard.errors import WireError
from guard.wires import history as pairing
from guard.wires.base import Base
from guard.wires.common import Reply, checked, complete, given_id, schemas, seed_of, unique_ids, usage_of
from guard.wires.names import Spelling, ToolNames
from guard.wires.openai_chat_stream import WHOLE, Chunks
from guard.wires.plain import apart, is_json, look, plain, sendable, shallow, whole
from guard.wires.streams import Assembly
from guard.wires.texts import blocks_of, follow_up_blocks, text_of, words_of

MOST_CALLS = 128  # the provider rejects a longer tool_calls list in a history
SPELLING = Spelling(most=64)
_FOREIGN = ("tool_use", "tool_result", "server_tool_use")  # no set: a host may put anything in the place of a type
_NEVER_NULL = frozenset({"tool_calls", "function_call", "audio", "annotations"})  # the provider sends null, some reject it
_SDK_ONLY = frozenset({"parsed", "parsed_arguments"})  # put there by an SDK's helper, never on the wire
_REASONS, _REASONED = "<think>", "</think>"
_PAYLOAD = {"function": "arguments", "custom": "input"}
PICTURES = "Pictures that the tools above returned: output of tools, not words of the user."
_EXPECTED = "openai-chat expects a chat completion or an assistant message with `content` or `tool_calls`"


@dataclass(frozen=True, slots=True)
class OpenAIChat(Base):
    """The wire `openai-chat`. See `guard.wires.common.Wire` for the verbs."""

    name: str = "openai-chat"
    most_calls: int | None = MOST_CALLS
    spelling: Spelling = SPELLING

    def read(self, reply: object, *, turn_hint: str = "") -> Reply:
        """See Wire."""
        given, finish = _unwrap(reply)
        message = _assistant(given)
        entries = _entries(message)
        calls, ids = _calls(entries, turn_hint)
        store = _store(message, entries, calls)
        same = store.get("tool_calls") == entries
        kept = calls if same else _calls(_entries(store), "")[0]
        return Reply(
            message=message,
            calls=calls,
            truncated=finish == "length" or (bool(calls) and not complete(finish, WHOLE)),
            usage=usage_of(reply, ["prompt_tokens"], "completion_tokens"),
            ids=ids,
            store=store,
            kept=kept,
            words=_words(message) if calls else "",
        )

    def results(self, reply: Reply, outcomes: Sequence[Outcome]) -> list[JsonObject]:
        """See Wire. Calls beyond `MOST_CALLS` have no result; the last result says how many were left out."""
        checked(reply, outcomes)
        pictures: list[JsonObject] = []
        messages = [_result(reply, at, outcomes[at], pictures) for at in range(len(reply.kept))]
        if left := outcomes[len(reply.kept) :]:
            messages[-1]["content"] += _left_out(left)
        return messages + _pictures(pictures)

    def tools(self, tools: Sequence[Tool], names: ToolNames | None = None) -> list[JsonObject]:
        """See Wire."""
        told = schemas(tools, SPELLING, names)
        return [{"type": "function", "function": _function(*one)} for one in told]

    def assembly(self) -> Assembly:
        """See Wire."""
        return Chunks()

    def follow_up(self, outcomes: Sequence[Outcome]) -> list[JsonObject]:
        """See Wire."""
        if not outcomes:
            return []
        blocks = follow_up_blocks(outcomes)
        if len(blocks) == 1:
            return [{"role": "user", "content": blocks[0]}]
        return [{"role": "user", "content": [_image(item) if isinstance(item, Image) else _text(item) for item in blocks]}]

    def closed(self, reply: Reply, after: Sequence[JsonObject], outcomes: Mapping[int, Outcome]) -> list[JsonObject]:
        """See guard.wires.history.Closing. Results that stand further down move up; other messages between them follow."""
        found = [message for message in after if self.answers(message)]
        positions = pairing.match(reply, [self.answers(message)[0] for message in found])
        results = {at: _renamed(message, reply, at) for at, message in zip(positions, found, strict=True) if at is not None}
        pictures: list[JsonObject] = []
        for at, outcome in pairing.missing(reply, results, outcomes).items():
            results[at] = _result(reply, at, outcome, pictures)
        in_order = [results[at] for at in sorted(results)]
        others = [message for message in after if not self.answers(message)]
        return [*self.stored(reply), *in_order, *_pictures(pictures), *others]

    def dump(self, messages: Sequence[object]) -> list[JsonObject]:
        """See Wire."""
        return [_assistant(item) if look(item, "role") == "assistant" else whole(item) for item in messages]

    def proposes(self, message: object) -> bool:
        """See guard.wires.history.Pairing."""
        return bool(look(message, "tool_calls") or look(message, "function_call")) or isinstance(look(message, "content"), list)

    def answers(self, message: object) -> list[str]:
        """See guard.wires.history.Pairing."""
        role = look(message, "role")
        return [given_id(look(message, "tool_call_id"))] if role == "tool" else [""] if role == "function" else []


# -- reading ---------------------------------------------------------------------------------------------------------


def _unwrap(reply: object) -> tuple[object, object]:
    """The message and the finish reason of a completion; of a bare message, the message alone."""
    choices = look(reply, "choices")
    if choices is None:
        return reply, None
    if not isinstance(choices, list | tuple) or not choices or look(choices[0], "message") is None:
        raise WireError(f"{_EXPECTED}; this one has no choice with a message (a stream must be collected first)")
    return look(choices[0], "message"), look(choices[0], "finish_reason")


def _assistant(given: object) -> JsonObject:
    """The assistant message as plain JSON. Raises WireError for everything else, the other wire's messages included."""
    known = [name for name in ("role", "content", "tool_calls", "function_call") if look(given, name) is not None]
    if not known or look(given, "role") not in (None, "assistant"):
        raise WireError(f"{_EXPECTED}; got {look(given, 'role') or type(given).__name__}")
    message = {name: _proposed(name, item) for name, item in shallow(given).items()}
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    if (
        not isinstance(content, str | list | None)
        or "stop_reason" in message
        or any(look(part, "type") in _FOREIGN or look(part, "toolUse") is not None for part in parts)
    ):
        raise WireError(f"{_EXPECTED}; this looks like a message of another wire")
    kept = {name: item for name, item in message.items() if name not in _SDK_ONLY and not (item is None and name in _NEVER_NULL)}
    return {"role": "assistant", **kept}


def _proposed(name: str, item: object) -> Json:
    """One field of the message. A call that cannot be read must not cost its siblings their results, so calls are read apart."""
    if name == "tool_calls" and isinstance(item, list | tuple):
        return [apart(entry, 2) for entry in item]
    return apart(item, 1) if name == "function_call" else plain(item)


def _words(message: JsonObject) -> str:
    """What the model wrote. A host that does not take reasoning apart leaves it at the head, up to the tag that ends it."""
    content = message.get("content")
    if not content:
        return ""
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    text = words_of(look(part, "text") if look(part, "type") == "text" else None for part in parts)
    begun, ended, said = text.rpartition(_REASONED)
    return said.lstrip() if ended else "" if text.lstrip().startswith(_REASONS) else begun + said


def _entries(message: JsonObject) -> list[JsonObject]:
    """The proposed calls in the form of `tool_calls`; the deprecated `function_call` counts as one without an id."""
    entries = message.get("tool_calls") or []
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise WireError("`tool_calls` is a list of objects")
    call = message.get("function_call")
    return entries or ([{"type": "function", "function": call}] if isinstance(call, dict) else [])


def _calls(entries: list[JsonObject], hint: str) -> tuple[tuple[ToolCall, ...], tuple[str, ...]]:
    bodies = [_proposal(entry) for entry in entries]
    given = tuple(given_id(entry.get("id")) for entry in entries)
    ids = unique_ids(given, lambda at: seed_of(hint, *bodies[at]))
    return tuple(ToolCall(new, name, arguments) for new, (name, arguments) in zip(ids, bodies, strict=True)), given


def _proposal(entry: JsonObject) -> tuple[str, str | JsonObject]:
    """Tool name and raw arguments of one entry, whatever its type; empty where there are none."""
    kind = _kind(entry)
    given = entry.get(kind)
    body = given if isinstance(given, dict) else entry
    arguments = body.get(_PAYLOAD.get(kind, "arguments"))
    name = body.get("name")
    text = "" if arguments is None else arguments if isinstance(arguments, str | dict) else encode(sendable(arguments))
    return name if isinstance(name, str) else "", text


def _kind(entry: JsonObject) -> str:
    kind = entry.get("type")
    return kind if isinstance(kind, str) and kind else "function"


# -- storing ---------------------------------------------------------------------------------------------------------


def _store(message: JsonObject, entries: list[JsonObject], calls: tuple[ToolCall, ...]) -> JsonObject:
    store = {name: item for name, item in message.items() if name not in ("tool_calls", "function_call")}
    if message.get("tool_calls"):
        pairs = zip(entries[:MOST_CALLS], calls, strict=False)
        store["tool_calls"] = [_stored_entry(entry, call) for entry, call in pairs]
    elif entries:
        store["function_call"] = _stored_entry(entries[0], calls[0])["function"]
    elif store.get("content") is None and not store.get("refusal"):
        store["content"] = ""  # an assistant message needs content or calls
    result: JsonObject = sendable(store)
    return result


def _stored_entry(entry: JsonObject, call: ToolCall) -> JsonObject:
    kind = _kind(entry)
    body = entry.get(kind)
    if not isinstance(body, dict):
        kind, body = "function", {"arguments": call.arguments}
    body = {name: item for name, item in body.items() if name not in _SDK_ONLY} | {"name": SPELLING.legal(call.tool)}
    if kind == "function":
        body["arguments"] = _argument_text(call.arguments)
    elif kind == "custom":
        body["input"] = call.arguments if isinstance(call.arguments, str) else encode(sendable(call.arguments))
    return {**entry, "id": call.id, "type": kind, kind: body}


def _argument_text(arguments: Json) -> str:
    """JSON text to store. Text that is not JSON would spoil every later request on strict hosts, so `{}` stands for it."""
    if not isinstance(arguments, str):
        return encode(sendable(arguments)) if arguments is not None else "{}"
    return arguments if is_json(arguments) else "{}"


# -- answering -------------------------------------------------------------------------------------------------------


def _result(reply: Reply, position: int, outcome: Outcome, pictures: list[JsonObject]) -> JsonObject:
    """One result message; pictures in it are appended to `pictures`, labelled."""
    texts: list[str] = []
    for block in blocks_of(outcome):
        if isinstance(block, Image):
            number = len(pictures) // 2 + 1
            pictures += [
                _text(f"Picture {number}, from {outcome.tool or 'a tool'} (call {reply.kept[position].id}):"),
                _image(block),
            ]
            texts.append(f"[picture {number} follows]")
        else:
            texts.append(block)
    return _renamed({"role": "tool", "content": "\n".join(texts)}, reply, position)


def _renamed(message: JsonObject, reply: Reply, position: int) -> JsonObject:
    """A result under the id of its call in `store`."""
    call = reply.kept[position]
    if "function_call" in reply.store:
        return {"role": "function", "name": call.tool, "content": message["content"]}
    return {**message, "role": "tool", "tool_call_id": call.id}


def _pictures(parts: list[JsonObject]) -> list[JsonObject]:
    return [{"role": "user", "content": [_text(PICTURES), *parts]}] if parts else []


def _left_out(outcomes: Sequence[Outcome]) -> str:
    counts = ", ".join(f"{count} {status}" for status, count in sorted(Counter(item.status for item in outcomes).items()))
    return f"\n[{len(outcomes)} further calls of this message were left out: the provider takes {MOST_CALLS} at once. Of them: {counts}.]"


def _text(text: str) -> JsonObject:
    return {"type": "text", "text": text_of(text)}


def _image(picture: Image) -> JsonObject:
    return {"type": "image_url", "image_url": {"url": f"data:{picture.media_type};base64,{picture.data}"}}


def _function(name: str, description: str, parameters: JsonObject) -> JsonObject:
    return {"name": name, **({"description": description} if description else {}), "parameters": parameters}
