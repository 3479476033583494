"""Notify: a signed webhook for each approval that people should know of. At least once: a receiver remembers ids. Comes after notice and post."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from guard.core.ports import Sealed
from guard.core.values import encode
from guard.sinks.entry import entry
from guard.sinks.notice import Links, notice
from guard.sinks.port import SinkError
from guard.sinks.post import Post
from guard.sinks.signing import signed


class Notify:
    """Sends one request for each record. `clock` gives seconds since the epoch."""

    def __init__(self, name: str, post: Post, keys: Sequence[bytes], links: Links, clock: Callable[[], float]) -> None:
        self.name = name
        self._post, self._keys, self.links, self._clock = post, tuple(keys), links, clock

    def send(self, batch: Sequence[Sealed]) -> None:
        """See `Sink`."""
        for number, one in enumerate(batch):
            told = notice(entry(one), self.links)
            body = encode(told).encode()
            headers = signed(told["id"], int(self._clock()), body, self._keys)
            try:
                self._post.send(body, {"Content-Type": "application/json", **headers})
            except SinkError as error:
                raise SinkError(str(error), retry=error.retry, sent=number, after=error.after) from None

    def close(self) -> None:
        """Nothing is held open."""
