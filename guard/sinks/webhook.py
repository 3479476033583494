"""Webhook: batches of records, in one of the formats, as signed requests. At least once: a receiver tells records apart by their ids.

A batch that is refused as it is goes out record by record, so that one that nobody takes holds none of the others. Comes after formats and post.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from guard.core.ports import Sealed
from guard.core.values import encode, sha
from guard.sinks.entry import entry
from guard.sinks.formats import Format
from guard.sinks.port import SinkError
from guard.sinks.post import Post
from guard.sinks.signing import signed


class Webhook:
    """Sends a JSON list of records. `clock` gives seconds since the epoch."""

    def __init__(self, name: str, post: Post, keys: Sequence[bytes], form: Format, clock: Callable[[], float]) -> None:
        self.name = name
        self._post, self._keys, self._form, self._clock = post, tuple(keys), form, clock

    def send(self, batch: Sequence[Sealed]) -> None:
        """See `Sink`."""
        try:
            self._send(batch)
        except SinkError as error:
            if error.retry or len(batch) == 1:
                raise
        else:
            return
        for number, one in enumerate(batch):
            try:
                self._send([one])
            except SinkError as error:
                raise SinkError(str(error), retry=error.retry, sent=number, after=error.after) from None

    def _send(self, batch: Sequence[Sealed]) -> None:
        body = f"[{','.join(encode(self._form.of(entry(one))) for one in batch)}]".encode()
        name = sha(f"{batch[0].hash}{batch[-1].hash}")[:32]
        headers = signed(name, int(self._clock()), body, self._keys) if self._keys else {"webhook-id": name}
        self._post.send(body, {"Content-Type": self._form.kind, **headers})

    def close(self) -> None:
        """Nothing is held open."""
