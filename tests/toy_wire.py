"""The smallest wire that works, written from the README's "Add a wire": a format of its own, with one message for each result.

A reply is `{"role": "assistant", "say": text, "calls": [{"no", "do", "with"}]}`, a result `{"role": "result", "no", "gives", "failed"}`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from guard.core.model import Image, Outcome, ToolCall
from guard.core.rules import Tool
from guard.core.values import JsonObject
from guard.errors import WireError
from guard.wires import history
from guard.wires.base import Base
from guard.wires.common import Reply, checked, given_id, schemas, seed_of, unique_ids, usage_of
from guard.wires.names import Spelling, ToolNames
from guard.wires.plain import apart, look, plain, sendable, whole
from guard.wires.texts import blocks_of, follow_up_blocks

SPELLING = Spelling(most=20)


@dataclass(frozen=True, slots=True)
class Toy(Base):
    """The wire `toy`."""

    name: str = "toy"
    most_calls: int | None = None
    spelling: Spelling = SPELLING

    def read(self, reply: object, *, turn_hint: str = "") -> Reply:
        calls = look(reply, "calls")
        if look(reply, "role") != "assistant" or not isinstance(calls, list | tuple):
            raise WireError("toy expects a message of role `assistant` with `calls`")
        given = [apart(call, 1) for call in calls]
        asked, ids = _calls(given, turn_hint)
        store = {"role": "assistant", "say": plain(look(reply, "say")), "calls": [_stored(call) for call in asked]}
        return Reply(
            message={**store, "calls": given},
            calls=asked,
            truncated=look(reply, "end") == "cut",
            usage=usage_of(reply, ["in"], "out"),
            ids=ids,
            store=sendable(store),
            kept=_calls(store["calls"], "")[0],
        )

    def results(self, reply: Reply, outcomes: Sequence[Outcome]) -> list[JsonObject]:
        checked(reply, outcomes)
        return [_result(reply, at, outcome) for at, outcome in enumerate(outcomes)]

    def tools(self, tools: Sequence[Tool], names: ToolNames | None = None) -> list[JsonObject]:
        return [{"do": name, "why": why, "with": shape} for name, why, shape in schemas(tools, SPELLING, names)]

    def follow_up(self, outcomes: Sequence[Outcome]) -> list[JsonObject]:
        return [self.user("\n".join(map(_text, follow_up_blocks(outcomes))))] if outcomes else []

    def closed(self, reply: Reply, after: Sequence[JsonObject], outcomes: Mapping[int, Outcome]) -> list[JsonObject]:
        found = [message for message in after if self.answers(message)]
        places = history.match(reply, [message["no"] for message in found])
        results = {at: message for at, message in zip(places, found, strict=True) if at is not None}
        results |= {at: _result(reply, at, one) for at, one in history.missing(reply, results, outcomes).items()}
        others = [message for message in after if not self.answers(message)]
        return [*self.stored(reply), *(results[at] for at in sorted(results)), *others]

    def dump(self, messages: Sequence[object]) -> list[JsonObject]:
        return [whole(message) for message in messages]

    def proposes(self, message: object) -> bool:
        return bool(look(message, "calls"))

    def answers(self, message: object) -> list[str]:
        return [given_id(look(message, "no"))] if look(message, "role") == "result" else []


def _calls(given: Sequence[Any], hint: str) -> tuple[tuple[ToolCall, ...], tuple[str, ...]]:
    ids = tuple(given_id(look(call, "no")) for call in given)
    bodies = [(str(look(call, "do") or ""), look(call, "with")) for call in given]
    new = unique_ids(ids, lambda at: seed_of(hint, *bodies[at]))
    return tuple(ToolCall(one, *body) for one, body in zip(new, bodies, strict=True)), ids  # type: ignore[arg-type]


def _stored(call: ToolCall) -> JsonObject:
    return {"no": call.id, "do": SPELLING.legal(call.tool), "with": call.arguments if isinstance(call.arguments, str) else "{}"}


def _result(reply: Reply, at: int, outcome: Outcome) -> JsonObject:
    gives = "\n".join(map(_text, blocks_of(outcome)))
    return {"role": "result", "no": reply.kept[at].id, "gives": gives, "failed": outcome.error}


def _text(block: str | Image) -> str:
    return block if isinstance(block, str) else "[a picture]"
