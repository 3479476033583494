"""Stamps: the time text and the id that each audit record gets, and which process wrote it at which moment of its own.

Ids are UUIDv7 (RFC 9562): the milliseconds, then random bits that count up within a millisecond, so ids of one writer always rise, even when
the clock steps back. Not safe for several threads: whoever seals holds a lock. Comes before `chain`.
"""

from __future__ import annotations

import os
import time
from functools import lru_cache

from guard.stores.executors import process

_RANDOM = 74  # bits of a UUIDv7 that are neither time nor version nor variant
_LOW_BITS = 62  # those behind the variant
_TAIL_BITS = 48  # those behind the last dash
_TAIL = (1 << _TAIL_BITS) - 1
_NEXT = (1 << _LOW_BITS - _TAIL_BITS) - 1
_VARIANT = 0x8000
_BEGAN = time.monotonic()


def time_text(now: float) -> str:
    """`now` (seconds since the epoch) as UTC text with microseconds: 2026-01-31T09:05:00.000123Z."""
    second, micros = divmod(round(now * 1_000_000), 1_000_000)
    return f"{_second_text(second)}.{micros:06d}Z"


@lru_cache(maxsize=8)
def _second_text(second: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))


def beside(at: float) -> tuple[str, str]:
    """What stands behind the time of a record: seconds since this process began, by a clock that nobody sets, and which process that is.

    It stands in the first of records that are written together, and is so of all of them. The second text is without the process, for a record that says more of it. Two records of one process whose times differ otherwise than these: somebody has set the clock in between.
    """
    mono = f',"mono":{at - _BEGAN:.6f}'
    return f"{mono}{_writer(os.getpid())}", mono


@lru_cache(maxsize=4)
def _writer(_: int) -> str:
    own = process()["process"]
    return f',"writer":{{"process":"{own}"}}' if own else ""


class Stamps:
    """Makes the stamps of one writer. A forked process begins anew."""

    __slots__ = ("_head", "_high", "_last", "_now", "_text", "_texted")

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        """Forget what was given: in a forked process the next ids are its own."""
        self._last = -1  # the newest id: milliseconds and random bits in one number
        self._high = -1
        self._head = ""
        self._now: float | None = None
        self._texted: float | None = None  # the time of `_text`
        self._text = ""

    def stamp(self, now: float) -> tuple[str, str]:
        """The time text of `now` and a new UUIDv7, greater than all before."""
        name = self.name(now)
        return self.text(now), name

    def text(self, now: float) -> str:
        """The time text of `now`."""
        if self._texted != now:
            self._texted, self._text = now, time_text(now)
        return self._text

    def beside(self) -> tuple[str, str]:
        """See the function of this name; as of now."""
        return beside(time.monotonic())

    def names(self, now: float, number: int) -> list[str]:
        """So many new UUIDv7 of about that time, as `name` gives them one by one."""
        first = self.name(now)
        last = self._last & _TAIL
        if last + number > _TAIL:  # they would count beyond the last dash
            return [first, *(self.name(now) for _ in range(number - 1))]
        self._last += number - 1
        head = self._head
        return [first, *[f"{head}{one:012x}" for one in range(last + 1, last + number)]]

    def name(self, now: float) -> str:
        """A new UUIDv7 of about that time, greater than all before."""
        value = self._last + 1
        if now != self._now:
            self._now = now
            milliseconds = int(now * 1000)
            if milliseconds > self._last >> _RANDOM:
                value = milliseconds << _RANDOM | int.from_bytes(os.urandom(9))  # 72 random bits: room to count
        self._last = value
        if value >> _TAIL_BITS != self._high:  # seldom: ids count up behind the last dash
            digits = f"{value >> _LOW_BITS:015x}"
            self._head = f"{digits[:8]}-{digits[8:12]}-7{digits[12:]}-{_VARIANT | value >> _TAIL_BITS & _NEXT:04x}-"
            self._high = value >> _TAIL_BITS
        return f"{self._head}{value & _TAIL:012x}"
