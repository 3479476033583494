"""Targets: where a checkpoint is sent, outside of the store: a file that is only added to, a command, or a URL.

Each gets one line of JSON, `{"number": …, "note": …}`, and says whether it has it: what was not taken is sent again, so that a target may get one
twice. Each is bounded in time. Comes before `keeper`.
"""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

from guard.core.log import Checkpoint
from guard.core.values import encode
from guard.errors import GuardError

Target: TypeAlias = Callable[[Checkpoint], None]
"""Takes a checkpoint. Raises TargetError where it did not."""

SECONDS: Final = 30.0
_COMMAND: Final = "command:"


class TargetError(GuardError):
    """A checkpoint was not taken by a target; the text names the target and says why."""


def target(place: str) -> Target:
    """The target that a text names: `https://…`, `command:PROGRAM ARGUMENTS`, else a file. Raises TargetError for what is none."""
    if place.startswith(("https://", "http://")):
        return lambda one: _post(place, one)
    if place.startswith(_COMMAND):
        words = shlex.split(place.removeprefix(_COMMAND))
        if not words:
            raise TargetError("command: names no program")
        return lambda one: _run(words, one)
    if not place or "://" in place:
        raise TargetError(f"{place!r}: name a file, https://…, or command:PROGRAM")
    return lambda one: _append(Path(place), one)


def line_of(one: Checkpoint) -> str:
    """What a target gets."""
    return encode({"number": one.number, "note": one.note}) + "\n"


def _append(path: Path, one: Checkpoint) -> None:
    """Add a line to a file, on the disk when this returns. A line that a crash left without its end is ended first."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            size = os.fstat(handle).st_size
            torn = size > 0 and os.pread(handle, 1, size - 1) != b"\n"
            os.write(handle, (("\n" if torn else "") + line_of(one)).encode())
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        raise TargetError(f"{path}: {error.strerror}") from None


def _run(words: list[str], one: Checkpoint) -> None:
    try:
        done = subprocess.run(  # noqa: S603 - the operator's own command
            words, input=line_of(one).encode(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise TargetError(f"{words[0]}: it did not end within {SECONDS:.0f} seconds") from None
    except OSError as error:
        raise TargetError(f"{words[0]}: {error.strerror}") from None
    if done.returncode:
        raise TargetError(f"{words[0]}: exit code {done.returncode}")


def _post(url: str, one: Checkpoint) -> None:
    import httpx  # noqa: PLC0415 - only where a URL is named

    headers = {"content-type": "application/json"}
    shown = url.partition("?")[0].rpartition("@")[2]
    try:
        answer = httpx.post(url, content=line_of(one).encode(), headers=headers, timeout=SECONDS, follow_redirects=False)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise TargetError(f"{shown}: {type(error).__name__}") from None
    if not answer.is_success:
        raise TargetError(f"{shown}: status {answer.status_code}")
