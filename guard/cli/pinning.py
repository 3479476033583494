"""Pinning: write `pins.json` into a policy folder: the definitions that the person who runs the command has reviewed. Used by `check`."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from guard.cli.places import UsageError
from guard.cli.show import spell
from guard.errors import GuardError
from guard.policy import Survey
from guard.policy.file_names import PINS
from guard.policy.pins import Pin, compare, definitions, pins_text, read_pins
from guard.policy.problems import Problems
from guard.policy.source import File, read_folder

_OURS = frozenset({"pin-changed", "pins-broken"})


def write_pins(folder: str, survey: Survey) -> tuple[str, ...]:
    """Pin every known definition and say what changed, in a line each. Writes nothing, and gives nothing, where the policy has other mistakes.

    Pins of other servers, and of tools whose definition is not known here, stay. Raises UsageError for a pins.json that is a link, GuardError
    when the folder cannot be written.
    """
    if any(problem.code not in _OURS for problem in survey.errors):
        return ()
    path = pins_path(folder)
    servers = read_pins(read_folder(folder, Problems(), alone=False), Problems()) or {}
    before = servers.get("", {})
    now = definitions({name: tool for name, tool in survey.tools.items() if name in survey.told})
    unknown = sorted(survey.tools.keys() - now.keys())
    kept = {name: before[name] for name in unknown if name in before}
    _write(path, pins_text({**servers, "": {**kept, **now}}))
    told = [f"{PINS}: {drift.kind}: {drift.name}" for drift in compare(before, {**kept, **now})]
    if unknown:
        told.append(f"{PINS}: not pinned, since only the program knows their definition (add --tools): {', '.join(unknown)}")
    return (*told, f"{PINS}: {len(now)} pinned")


def write_server_pins(folder: str, server: str, now: Mapping[str, Pin]) -> tuple[str, ...]:
    """Pin the definitions of an MCP server and say what changed, in a line each. All other pins stay. Raises as `write_pins`."""
    path = pins_path(folder)
    problems = Problems()
    servers = read_pins((File(PINS, path.read_bytes()),), problems) if path.is_file() else {}
    before = (servers or {}).get(server, {})
    _write(path, pins_text({**(servers or {}), server: now}))
    told = [f"{PINS}: {drift.kind}: {drift.name}" for drift in compare(before, now)]
    return (*told, f"{PINS}: {len(now)} of the server {server} pinned")


def pins_path(folder: str) -> Path:
    """Where the pins are. Raises UsageError for a link."""
    path = Path(folder, PINS)
    if path.is_symlink():
        raise UsageError(f"{spell(str(path))} is a link (pin in the folder that it leads to)")
    return path


def _write(path: Path, text: str) -> None:
    """The whole file or nothing of it."""
    try:
        handle, name = tempfile.mkstemp(prefix=".pins", dir=path.parent)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            Path(name).chmod(0o644)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as failure:
        raise GuardError(f"{spell(str(path))} cannot be written: {failure.strerror}") from failure
