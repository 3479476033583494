"""Ceilings: how large may be what comes from outside, as a policy says it, within bounds that no policy can lift.

Comes after language and before tools, whose entries may tighten or widen what counts for the arguments of one tool.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from guard.core.ceilings import Ceilings
from guard.policy import language
from guard.policy.problems import Problems
from guard.policy.source import Item

HARD: Mapping[str, int] = {
    "arguments_bytes": 16_777_216,
    "arguments_depth": 100,  # deeper values would exhaust the interpreter's stack in one place or another
    "arguments_items": 1_000_000,
    "message_calls": 10_000,
    "user_words": 10_000_000,
    "result_bytes": 16_777_216,
    "result_depth": 100,
    "result_items": 1_000_000,
    "result_text": 32_000_000,
    "open_approvals": 1_000,
    "approval_expires": 31_622_400,
    "message_bytes": 268_435_456,
    "listed_tools": 100_000,
}
"""The most that each ceiling can be set to; `approval_expires` in seconds, the others as they are counted."""

SECONDS = "approval_expires"


def ceilings(blocks: Iterable[Item], problems: Problems) -> Ceilings:
    """`ceilings:` of all files."""
    written: dict[str, Item] = {}
    for block in blocks:
        for key, item in language.mapping(block, "ceilings", problems).items():
            if key in written:
                first = written[key]
                problems.error(
                    item, f"ceilings.{key} is written twice", f"the first stands at {first.file}:{first.line}; keep one"
                )
            written.setdefault(key, item)
    return _with(Ceilings(), written, problems)


def tool_ceilings(item: Item | None, whole: Ceilings, problems: Problems) -> Ceilings:
    """`ceilings:` of one tool, beside those of the policy."""
    return whole if item is None else _with(whole, language.mapping(item, "tool_ceilings", problems), problems)


def _with(base: Ceilings, written: Mapping[str, Item], problems: Problems) -> Ceilings:
    found: dict[str, float] = {}
    for key, item in written.items():
        value = bounded(item, key, problems, f"ceilings.{key}")
        if value is not None:
            found["approval_seconds" if key == SECONDS else key] = value
    return replace(base, **found)  # type: ignore[arg-type]  # whole numbers but for the seconds, as `bounded` reads them


def bounded(item: Item | None, key: str, problems: Problems, what: str) -> float | None:
    """A value from 1 up to the hard bound of a ceiling."""
    value = language.duration(item, problems, what) if key == SECONDS else language.whole(item, problems, what)
    if item is None or value is None:
        return None
    most = HARD[key]
    if value == 0:
        effect = "withholds every result" if key.startswith("result_") else "refuses everything"
        problems.error(item, f"{what}: 0 {effect}", "write a number from 1 up (of bytes, calls, …), or leave it out")
    elif value > most:
        told = language.spelled(most) if key == SECONDS else str(most)
        problems.error(item, f"{what}: {item.value} is more than can be set", f"write at most {told}")
    else:
        return value
    return None
