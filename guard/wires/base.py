"""Base: the verbs that wires share, so that a new one writes only what is its provider's own.

For wires whose replies are one message of role `assistant`; one with another role or with items overrides `speaks`, `joined` and `items`.
May not know any format. Comes after `history` and `common`, before the wires.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from guard.core.model import Outcome, ToolCall
from guard.core.values import JsonObject, copy
from guard.errors import WireError
from guard.wires import history as pairing
from guard.wires.common import Reply
from guard.wires.plain import look
from guard.wires.streams import Assembly
from guard.wires.texts import user_text


class Base:
    """What the wires have in common. See `guard.wires.common.Wire` for the verbs."""

    __slots__ = ()
    name: str
    items: ClassVar[bool] = False

    def stored(self, reply: Reply) -> list[JsonObject]:
        """See Wire."""
        return [copy(reply.store)]

    def user(self, text: str) -> JsonObject:
        """See Wire."""
        return {"role": "user", "content": user_text(text)}

    def assembly(self) -> Assembly:
        """See Wire. Raises WireError where the wire reads whole replies only."""
        raise WireError(f"the wire {self.name} reads no streams")

    def proposals(self: pairing.Pairing, reply: object) -> int:
        """See Wire. None in what is no reply."""
        try:
            return len(self.read(reply).calls)
        except WireError:
            return 0

    def answered(self: pairing.Pairing, history: Sequence[object], digest_of: Callable[[tuple[ToolCall, ...]], str]) -> list[str]:
        """See Wire."""
        return pairing.answered(self, history, digest_of)

    def open_calls(self: pairing.Pairing, history: Sequence[object]) -> tuple[int, Reply, frozenset[int]] | None:
        """See Wire."""
        return pairing.open_calls(self, history)

    def close(
        self: pairing.Closing, history: Sequence[object], index: int, reply: Reply, outcomes_by_position: Mapping[int, Outcome]
    ) -> list[JsonObject]:
        """See Wire."""
        return pairing.close(self, history, index, reply, outcomes_by_position)

    def close_all(
        self: pairing.Closing, history: Sequence[object], outcomes_of: Callable[[Reply], Mapping[int, Outcome]]
    ) -> list[JsonObject]:
        """See Wire."""
        return pairing.close_all(self, history, outcomes_of)

    def speaks(self, message: object) -> bool:
        """See guard.wires.history.Pairing."""
        return look(message, "role") == "assistant"

    def joined(self, messages: Sequence[object]) -> object:
        """See guard.wires.history.Pairing."""
        return messages[0]
