"""Lasting: a length of time as people say it, to the thousandth of a second: what a policy sets is never rounded. Pure; comes after nothing."""

from __future__ import annotations

_UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"))
_MOST = 100  # of one unit; more is told in larger ones


def lasting(seconds: float) -> str:
    """`15 minutes`, `7 days`, `90 seconds`; what is no whole number of one unit in several: `1 day 3 hours 46 minutes 40 seconds`."""
    seconds = round(seconds, 3)
    for unit, name in _UNITS:
        count, rest = divmod(seconds, unit)
        if count and not rest and (count < _MOST or name == "day"):
            return _counted(count, name)
    return _counted(seconds, "second") if seconds < _MOST else _mixed(seconds)


def _mixed(seconds: float) -> str:
    parts: list[tuple[float, str]] = []
    for unit, name in _UNITS:
        count, seconds = divmod(seconds, unit)
        parts.append((count, name))
    return " ".join(_counted(count, name) for count, name in (*parts, (seconds, "second")) if count)


def _counted(count: float, name: str) -> str:
    told = f"{count:.3f}".rstrip("0").rstrip(".")
    return f"{told} {name}{'' if count == 1 else 's'}"
