"""Limited: calls a sink in a thread of its own and waits for it no longer than a bound. Comes after port.

A call that hangs is never joined by a second one: until it ends, the sink counts as hanging. A hanging thread ends with the process.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from guard.sinks.port import SinkError


class Limited:
    """Runs one piece of work at a time."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._thread: threading.Thread | None = None

    def run(self, work: Callable[[], None], seconds: float) -> None:
        """Do the work. Raises SinkError where it fails, does not end in time, or the one before still hangs."""
        if self.hangs(seconds):
            raise SinkError("it hangs: an earlier attempt has not ended")
        failed: list[BaseException] = []

        def whole() -> None:
            try:
                work()
            except BaseException as error:  # noqa: BLE001 - told below
                failed.append(error)

        self._thread = threading.Thread(target=whole, name=f"guard-sink-{self._name}", daemon=True)
        self._thread.start()
        if self.hangs(seconds):
            raise SinkError(f"it did not end within {seconds:g} seconds")
        if failed:
            raise failed[0] if isinstance(failed[0], SinkError) else SinkError(f"it failed: {type(failed[0]).__name__}")

    def hangs(self, seconds: float) -> bool:
        """Whether the last work has not ended, after so many seconds more."""
        if self._thread is not None:
            self._thread.join(seconds)
            if not self._thread.is_alive():
                self._thread = None
        return self._thread is not None
