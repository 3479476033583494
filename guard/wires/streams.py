"""Streams: what collects the events of a streamed reply. The events of each format are read by that wire's own collector.

A collector is given every event as it came, and gives the whole reply once there is nothing more: what `read` takes, and nothing that was
repaired. What was cut off says so, so that none of its calls runs. May not judge or hand over anything before that.
"""

from __future__ import annotations

from typing import Any, Protocol

from guard.core.values import JsonObject
from guard.errors import WireError

CUT_OFF = "cut_off"
"""Stands for the reason why a reply ended where the stream never said one: no provider's word, so nothing takes it for a whole reply."""

STREAMED = "guard_streamed_input"
"""Where a collector puts the text of arguments that came in pieces, on wires whose whole replies hold an object."""


class Assembly(Protocol):
    """Collects the events of one streamed reply. `add` is total: what it does not know, it passes over."""

    @property
    def ended(self) -> bool:
        """Whether the provider has said that the reply is over."""

    def add(self, event: object) -> None:
        """Take one event."""

    def cut(self) -> None:
        """Take note that an event could not be read: whatever the provider says, this reply is not whole."""

    def reply(self) -> JsonObject:
        """Everything so far as a reply in the wire's own form; one that was cut off bears a reason that says so."""


class Streaming(Protocol):
    """What a collector needs of a wire."""

    def assembly(self) -> Assembly:
        """See Wire."""

    def proposals(self, reply: object) -> int:
        """How many calls a reply holds."""


class Collector:
    """An assembly around a wire's own: an event that breaks it makes the reply a cut one, and a stream without any event is misuse."""

    def __init__(self, wire: Streaming) -> None:
        self._wire = wire
        self._inner = wire.assembly()
        self._seen = False
        self._broken = False

    @property
    def ended(self) -> bool:
        """Whether the provider has said that the reply is over, and every event could be read."""
        return self._inner.ended and not self._broken

    def add(self, event: object) -> None:
        """Take one event. Never raises: the host gets each event, whatever is in it."""
        self._seen = True
        try:
            self._inner.add(event)
        except Exception:  # noqa: BLE001 - an event that cannot be read makes the reply one that is not whole
            self._broken = True
            self._inner.cut()

    def calls(self) -> bool:
        """Whether a call has come, whole or not."""
        return self._seen and self._wire.proposals(self._inner.reply()) > 0

    def reply(self) -> JsonObject:
        """The reply as the wire reads it. Raises WireError for a stream that brought no event at all."""
        if not self._seen:
            raise WireError("the stream brought no event, so there is no reply to handle")
        return self._inner.reply()


class Parts:
    """Text in pieces, by name: pieces that are texts are joined, lists are put behind each other, of anything else the last counts."""

    def __init__(self) -> None:
        self.fields: dict[str, Any] = {}

    def add(self, name: str, piece: Any) -> None:
        """Put a piece behind what is there; None changes nothing."""
        if piece is None:
            self.fields.setdefault(name, None)
            return
        before = self.fields.get(name)
        same = (isinstance(before, str) and isinstance(piece, str)) or (isinstance(before, list) and isinstance(piece, list))
        self.fields[name] = before + piece if same else piece


def worst(reasons: list[Any], known: frozenset[str]) -> Any:
    """Of the reasons why a reply ended, where a provider gives several: one that does not say that it is whole, else the last."""
    bad = [reason for reason in reasons if not (isinstance(reason, str) and reason in known)]
    return bad[0] if bad else reasons[-1] if reasons else None
