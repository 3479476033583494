"""OpenAI Responses: `function_call` items among the items of a reply, one `function_call_output` item for each result.

A history is a list of items, and neighbouring items of the model are one reply; all others (reasoning, web search, messages) stay where they
are. Custom, shell and patch calls are answered in their own form; a call that the provider ran itself comes with its output and is none of
ours. The wire has no error flag; the content says `"ok": false`. A call in a namespace means the tool `namespace.name`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from guard.core.model import Outcome, ToolCall
from guard.core.rules import Tool
from guard.core.values import Json, JsonObject, copy, encode
from guard.errors import WireError
from guard.wires import history as pairing
from guard.wires.base import Base
from guard.wires.common import Reply, checked, given_id, legal_ids, schemas, seed_of, unique_ids, usage_of
from guard.wires.names import Spelling, ToolNames, legal
from guard.wires.openai_responses_answers import KINDS, content
from guard.wires.openai_responses_stream import WHOLE, Items
from guard.wires.plain import apart, is_json, look, plain, sendable, shallow, whole
from guard.wires.streams import Assembly
from guard.wires.texts import follow_up_blocks, words_of

SPELLING = Spelling(most=64)
MOST_ID = 64
_USERS = frozenset({"user", "system", "developer"})
_SDK_ONLY = frozenset({"parsed", "parsed_arguments"})  # put there by an SDK's helper, never on the wire
_EXPECTED = "openai-responses expects a Response (with `output`), or the list of its output items"


_ANSWERS = frozenset(f"{kind}_output" for kind in KINDS)
_OUTPUTS = _ANSWERS | {"computer_call_output", "mcp_approval_response"}


@dataclass(frozen=True, slots=True)
class OpenAIResponses(Base):
    """The wire `openai-responses`. See `guard.wires.common.Wire` for the verbs."""

    name: str = "openai-responses"
    most_calls: int | None = None
    spelling: Spelling = SPELLING
    items: ClassVar[bool] = True

    def read(self, reply: object, *, turn_hint: str = "") -> Reply:
        """See Wire."""
        found = _items(reply)
        calls, ids = _calls(found, turn_hint)
        store = _store(found, calls)
        status = look(reply, "status")
        return Reply(
            message={"output": found},
            calls=calls,
            truncated=status == "incomplete" or (bool(calls) and not all(map(_ended, [status, *_statuses(found)]))),
            usage=usage_of(reply, ["input_tokens"], "output_tokens"),
            ids=ids,
            store={"output": store},
            kept=calls if store == found else _calls(store, "")[0],
            words=_words(found) if calls else "",
        )

    def stored(self, reply: Reply) -> list[JsonObject]:
        """See Wire."""
        items: list[JsonObject] = copy(reply.store["output"])
        return items

    def results(self, reply: Reply, outcomes: Sequence[Outcome]) -> list[JsonObject]:
        """See Wire."""
        checked(reply, outcomes)
        return [_result(reply, position, outcome) for position, outcome in enumerate(outcomes)]

    def tools(self, tools: Sequence[Tool], names: ToolNames | None = None) -> list[JsonObject]:
        """See Wire."""
        return [_tool(*one) for one in schemas(tools, SPELLING, names)]

    def assembly(self) -> Assembly:
        """See Wire."""
        return Items()

    def follow_up(self, outcomes: Sequence[Outcome]) -> list[JsonObject]:
        """See Wire."""
        return [{"role": "user", "content": content(follow_up_blocks(outcomes, documents=True))}] if outcomes else []

    def closed(self, reply: Reply, after: Sequence[JsonObject], outcomes: Mapping[int, Outcome]) -> list[JsonObject]:
        """See guard.wires.history.Closing. Results that stand further down move up; other items between them follow."""
        found = [item for item in after if self.answers(item)]
        positions = pairing.match(reply, [self.answers(item)[0] for item in found])
        results = {at: _renamed(item, reply, at) for at, item in zip(positions, found, strict=True) if at is not None}
        for at, outcome in pairing.missing(reply, results, outcomes).items():
            results[at] = _result(reply, at, outcome)
        return [
            *self.stored(reply),
            *(results[at] for at in sorted(results)),
            *(item for item in after if not self.answers(item)),
        ]

    def dump(self, messages: Sequence[object]) -> list[JsonObject]:
        """See Wire."""
        return [_item(item) if self.speaks(item) else whole(item) for item in messages]

    def speaks(self, message: object) -> bool:
        """See guard.wires.history.Pairing. Whatever is neither a result nor said by the host is the model's."""
        kind, role = _kind(message), look(message, "role")
        host = isinstance(role, str) and role in _USERS
        return not host and kind not in _OUTPUTS and (bool(kind) or role == "assistant")

    def joined(self, messages: Sequence[object]) -> object:
        """See guard.wires.history.Pairing."""
        return list(messages)

    def proposes(self, message: object) -> bool:
        """See guard.wires.history.Pairing."""
        return _kind(message) in KINDS

    def answers(self, message: object) -> list[str]:
        """See guard.wires.history.Pairing."""
        return [given_id(look(message, "call_id") or look(message, "id"))] if _kind(message) in _ANSWERS else []


# -- reading ---------------------------------------------------------------------------------------------------------


def _items(reply: object) -> list[JsonObject]:
    """The items of a reply. Raises WireError for everything that is none."""
    output = reply if isinstance(reply, list | tuple) else look(reply, "output")
    if not isinstance(output, list | tuple):
        raise WireError(f"{_EXPECTED}; got {look(reply, 'role') or type(reply).__name__}")
    return [_item(item) for item in output]


def _item(item: object) -> JsonObject:
    """One item, without fields that are null. A call that cannot be read must not cost its siblings their results, so it is read apart."""
    fields = shallow(item)
    kind = _kind(fields)
    if not kind and fields.get("role") != "assistant":
        raise WireError(f"{_EXPECTED}; each is an object with a `type`")
    calls = kind in KINDS
    return {
        name: apart(value, 0) if calls else _bare(plain(value))
        for name, value in fields.items()
        if value is not None and name not in _SDK_ONLY
    }


def _bare(value: Json) -> Json:
    """A message's parts without what an SDK's helper put there."""
    if not isinstance(value, list):
        return value
    return [
        {name: one for name, one in part.items() if name not in _SDK_ONLY} if isinstance(part, dict) else part for part in value
    ]


def _words(items: Sequence[JsonObject]) -> str:
    """What the model wrote: the texts of its messages, each message apart; reasoning is an item of its own."""
    said = [item.get("content") for item in items if _kind(item) == "message" or item.get("role") == "assistant"]
    parts = [[content] if isinstance(content, str) else content if isinstance(content, list) else [] for content in said]
    return words_of(part for message in parts for part in (*map(_text, message), None))


def _text(part: object) -> object:
    return part if isinstance(part, str) else look(part, "text") if look(part, "type") in ("output_text", "text") else None


def _kind(item: object) -> str:
    """The type of an item; empty where it has none."""
    kind = look(item, "type")
    return kind if isinstance(kind, str) else ""


def _ours(items: Sequence[JsonObject]) -> list[JsonObject]:
    """The calls that the provider has not run itself."""
    done = {given_id(item.get("call_id")) for item in items if _kind(item) in _ANSWERS} - {""}
    return [item for item in items if _kind(item) in KINDS and given_id(item.get("call_id")) not in done]


def _statuses(items: Sequence[JsonObject]) -> list[Json]:
    return [item.get("status") for item in _ours(items)]


def _ended(status: Json) -> bool:
    return status is None or (isinstance(status, str) and status in WHOLE)


def _calls(items: Sequence[JsonObject], hint: str) -> tuple[tuple[ToolCall, ...], tuple[str, ...]]:
    ours = _ours(items)
    bodies = [_proposal(item) for item in ours]
    given = tuple(given_id(item.get("call_id")) for item in ours)
    ids = unique_ids(given, lambda at: seed_of(hint, *bodies[at]))
    return tuple(ToolCall(new, name, arguments) for new, (name, arguments) in zip(ids, bodies, strict=True)), given


def _proposal(item: JsonObject) -> tuple[str, str | JsonObject]:
    """Tool name and raw arguments; the arguments are empty where there are none."""
    kind = KINDS[item["type"]]
    name, space, arguments = item.get("name", kind.tool), item.get("namespace"), item.get(kind.payload)
    text = "" if arguments is None else arguments if isinstance(arguments, str | dict) else encode(sendable(arguments))
    if not isinstance(name, str):
        return "", text
    return f"{space}.{name}" if isinstance(space, str) and space not in ("", name) else name, text


# -- storing ---------------------------------------------------------------------------------------------------------


def _store(items: Sequence[JsonObject], calls: Sequence[ToolCall]) -> list[JsonObject]:
    ids = legal_ids([call.id for call in calls], lambda text: text if len(text) <= MOST_ID else legal(text, MOST_ID))
    ours = {id(item): (new, call) for item, new, call in zip(_ours(items), ids, calls, strict=True)}
    seen: set[Json] = set()
    store: list[JsonObject] = []
    for item in items:
        kept = _stored_call(item, *ours[id(item)]) if id(item) in ours else dict(item)
        if isinstance(name := kept.get("id"), str) and name in seen:
            del kept["id"]  # the provider takes an item's id once
        seen.add(name if isinstance(name, str) else None)
        store.append(sendable(kept))
    return store


def _stored_call(item: JsonObject, new: str, call: ToolCall) -> JsonObject:
    """A call as the provider takes it back: text that is not JSON would spoil every later request, so `{}` stands for it."""
    payload = KINDS[item["type"]].payload
    kept = {**item, "call_id": new}
    if payload == "arguments":
        text = call.arguments if isinstance(call.arguments, str) else encode(sendable(call.arguments))
        kept["arguments"] = text if is_json(text) else "{}"
    elif payload == "input":
        kept["input"] = call.arguments if isinstance(call.arguments, str) else encode(sendable(call.arguments))
    elif not isinstance(kept.get(payload), dict):
        kept[payload] = {}
    return kept | ({"name": SPELLING.legal(str(kept.get("name") or ""))} if payload in ("arguments", "input") else {})


# -- answering -------------------------------------------------------------------------------------------------------


def _result(reply: Reply, position: int, outcome: Outcome) -> JsonObject:
    item = _ours(reply.store["output"])[position]
    answer = KINDS[item["type"]].answer(outcome)
    caller = {"caller": copy(item["caller"])} if "caller" in item else {}
    return _renamed({**answer, **caller}, reply, position)


def _renamed(item: JsonObject, reply: Reply, position: int) -> JsonObject:
    """A result under the id of its call in `store`."""
    place = "id" if item["type"] == "local_shell_call_output" else "call_id"
    return {
        "type": item["type"],
        place: reply.kept[position].id,
        **{name: one for name, one in item.items() if name not in ("type", place)},
    }


def _tool(name: str, description: str, parameters: JsonObject) -> JsonObject:
    told = {"description": description} if description else {}
    return {"type": "function", "name": name, **told, "parameters": parameters, "strict": False}
