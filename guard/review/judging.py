"""Judging: what a case wants of a call beside what came of it, and each difference in one line.

Values are compared as JSON: numbers by value, objects by key. Decides nothing about the call. Comes after `world`, before `suite`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from guard.core.values import Json, encode, equal
from guard.review.world import Happened


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """How one expectation is read off a call, and when what was found is what was wanted."""

    found: Callable[[Happened], Json]
    meets: Callable[[Json, Json], bool] = equal


def _all_of(found: Json, wanted: Json) -> bool:
    return set(wanted) <= set(found)


def _same(found: Json, wanted: Json) -> bool:
    return sorted(found) == sorted(wanted)


def _some(found: Json, wanted: Json) -> bool:
    return all(found.get(name) == value for name, value in wanted.items())


def _result(found: Json, wanted: Json) -> bool:
    """Whether the model sees this value. What it sees is text: a text is compared as it is, anything else as JSON."""
    if isinstance(wanted, str) or not isinstance(found, str):
        return equal(found, wanted)
    try:
        return equal(json.loads(found, parse_float=Decimal), wanted)
    except (ValueError, RecursionError):
        return False


def _content(one: Happened) -> Json:
    content = one.content
    return content if isinstance(content, str) else [block if isinstance(block, str) else block.media_type for block in content]


def _approvers(one: Happened) -> list[str]:
    asked = one.approval
    return [] if asked is None else [*asked.by, *(["self"] if asked.by_self else [])]


ROWS: Mapping[str, Row] = {
    "expect": Row(found=lambda one: one.decision),
    "reason": Row(found=lambda one: one.reason),
    "rules": Row(found=lambda one: list(one.rules), meets=_all_of),
    "arguments": Row(found=lambda one: one.arguments),
    "origins": Row(found=lambda one: one.origins, meets=_some),
    "spoofed": Row(found=lambda one: list(one.spoofed), meets=_same),
    "result": Row(found=_content, meets=_result),
    "says": Row(found=lambda one: str(_content(one)), meets=lambda found, wanted: wanted in found),
    "approvers": Row(found=_approvers, meets=_same),
    "expires": Row(found=lambda one: None if one.approval is None else one.approval.expires_at - one.approval.requested_at),
    "show": Row(found=lambda one: [] if one.approval is None else list(one.approval.show), meets=_same),
    "shadow": Row(found=lambda one: list(one.shadow), meets=_same),
    "offers": Row(found=lambda one: list(one.offered), meets=_same),
}
"""A row for each of `keys.EXPECTATIONS`."""


def differences(one: Happened) -> tuple[str, ...]:
    """What came of a call and was not wanted. Where the decision is another one, that is all that is said."""
    wanted = one.proposal.wanted
    missed = [key for key, value in wanted.items() if not ROWS[key].meets(ROWS[key].found(one), _plain(value))]
    if "expect" in missed:
        return (f"expected {wanted['expect']}, came {told(one)}",)
    return tuple(f"{key}: expected {_shown(wanted[key])}, came {_came(key, ROWS[key].found(one))}" for key in missed)


def told(one: Happened) -> str:
    """The decision in a few words: with its code, and with what the model is told."""
    code = f", {one.reason}" if one.reason else ""
    detail = _message(one.content)
    return f"{one.decision}{code}" + (f" ({detail})" if detail else "")


def _message(content: Any) -> str:
    try:
        found = json.loads(content)["error"]["message"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return ""
    return found if isinstance(found, str) else ""


def _plain(value: Json) -> Json:
    return list(value) if isinstance(value, tuple) else value


def _came(key: str, found: Json) -> str:
    """What the model sees is shown as the text that it is."""
    return found if key in {"result", "says"} and isinstance(found, str) else _shown(found)


def _shown(value: Json) -> str:
    return encode(_plain(value))
