"""Executors: which process took a call, and whether that process is surely gone.

A name holds the machine's boot, the namespace of process numbers, the number and when the process began: all of it read from the operating
system. Only a process of this very boot and namespace can be known to be gone; of any other one nothing is known, and its lease decides. Where
the system does not tell (not Linux), nothing is known either. Comes before `sql_tables` and `claims`.
"""

from __future__ import annotations

import hashlib
import os
from functools import lru_cache
from importlib import metadata
from pathlib import Path

_PROC = Path("/proc")
_DIGITS = 18
_DEAD = frozenset("ZX")  # a process that ended and was not yet waited for does nothing any more


def me(sign: str = "") -> str:
    """The name of this process; empty where the system does not tell. `sign` stands before it: which of its claims this is."""
    own = _name(os.getpid())
    return f"{sign}@{own}" if sign else own


def process() -> dict[str, str | int]:
    """What the audit says about this process: a digest of its name, its number, and the version of the guard that it runs. No name of the machine.

    Of the machine and its boot there are digests, where the system has an id of them that nobody can guess.
    """
    ids = {"host": _short(_machine()), "boot": _short(_place().partition("/")[0])}
    return {**{name: one for name, one in ids.items() if one}, "process": _short(me()), "pid": os.getpid(), "version": _version()}


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12] if text else ""


@lru_cache(maxsize=1)
def _machine() -> str:
    try:
        return Path("/etc/machine-id").read_text("ascii").strip()
    except (OSError, ValueError):
        return ""


@lru_cache(maxsize=1)
def _version() -> str:
    try:
        return metadata.version("guard-middleware")
    except metadata.PackageNotFoundError:
        return ""


@lru_cache(maxsize=4)
def _name(pid: int) -> str:
    place, began = _place(), _began(pid)
    return f"{place}:{pid}:{began}" if place and began else ""


@lru_cache(maxsize=1)
def _place() -> str:
    """Boot and namespace of process numbers."""
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}/{(_PROC / 'self/ns/pid').readlink()}"
    except OSError:
        return ""


def _began(pid: int) -> str:
    """When the process began, in ticks since the boot; empty where the system does not tell, `dead` for one that has ended."""
    try:
        text = (_PROC / str(pid) / "stat").read_text()
    except (OSError, UnicodeDecodeError):
        return ""
    fields = text.rpartition(")")[2].split()  # the name before may hold blanks and brackets
    return "dead" if fields[0] in _DEAD else fields[19]


def gone(executor: str) -> bool:
    """Whether the process of this name (a sign before it counts for nothing) is surely gone. False where that cannot be known."""
    name = executor.rpartition("@")[2]
    if name and name == me():
        return False  # it asks
    place, pid, began = ["", "", "", *name.rsplit(":", 2)][-3:]
    if not (place and pid.isdecimal() and len(pid) <= _DIGITS) or place != _place():
        return False
    try:
        os.kill(int(pid), 0)
    except (ProcessLookupError, OverflowError):
        return True
    except OSError:
        pass  # somebody else's process
    return _began(int(pid)) not in ("", began)
