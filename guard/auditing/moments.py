"""Moments: times as people write them: `7d`, `2026-11`, `2026-11-30`, `2026-11-30T14:00`. Always UTC. Pure: what time it is now is an argument."""

from __future__ import annotations

import calendar
import re
from datetime import UTC, datetime

HOW = "write 7d, 12h, 30m, 2026-11, 2026-11-30 or 2026-11-30T14:00 (UTC)"
_AGO = re.compile(r"(\d{1,6})([smhdw])\Z")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_MONTH = re.compile(r"(\d{4})-(\d{2})\Z", re.ASCII)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}\Z", re.ASCII)


def since(text: str, now: float) -> float:
    """When the time that `text` names begins, in seconds since the epoch. Raises ValueError with how to write it."""
    ago = _AGO.match(text)
    return now - int(ago[1]) * _UNITS[ago[2]] if ago else _span(text)[0]


def until(text: str, now: float) -> float:
    """When it is over: a month or a day is meant with its end."""
    ago = _AGO.match(text)
    return now - int(ago[1]) * _UNITS[ago[2]] if ago else _span(text)[1]


def month(text: str) -> tuple[float, float]:
    """Begin and end of a month such as 2026-11. Raises ValueError."""
    found = _MONTH.match(text)
    if found is None or not 1 <= int(found[2]) <= 12 or int(found[1]) < 1:
        raise ValueError("write a month as 2026-11")
    year, number = int(found[1]), int(found[2])
    begin = _seconds(datetime(year, number, 1, tzinfo=UTC))
    return begin, begin + calendar.monthrange(year, number)[1] * 86400


def month_of(now: float) -> str:
    """The month in which a moment lies."""
    return datetime.fromtimestamp(now, UTC).strftime("%Y-%m")


def day_of(moment: float) -> str:
    """The day in which a moment lies."""
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d")


def _span(text: str) -> tuple[float, float]:
    if _MONTH.match(text):
        return month(text)
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(HOW) from None
    begin = _seconds(found if found.tzinfo else found.replace(tzinfo=UTC))
    return begin, begin + (86400 if _DAY.match(text) else 0)


def _seconds(moment: datetime) -> float:
    try:
        return moment.timestamp()
    except (OverflowError, ValueError):
        raise ValueError(HOW) from None
