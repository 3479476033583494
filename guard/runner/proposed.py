"""Proposed: one digest for one list of calls as a model wrote them, by which the same reply is known again. Decides nothing; comes before chat."""

from __future__ import annotations

import json
from collections.abc import Mapping

from guard.core.model import ToolCall
from guard.core.values import canonical, digest


def digest_of(calls: tuple[ToolCall, ...]) -> str:
    """One digest for one list of calls: ids, names and raw arguments."""
    return digest("guard-turn-v1", *(part for call in calls for part in (call.id, call.tool, _raw(call))))


def _raw(call: ToolCall) -> str:
    arguments = call.arguments
    if arguments is None or isinstance(arguments, str):
        return arguments or ""
    try:
        return canonical(arguments)
    except (TypeError, ValueError, ArithmeticError, RecursionError):
        return json.dumps(_plain(arguments), default=str, sort_keys=True)


def _plain(arguments: Mapping[str, object]) -> dict[str, object]:
    return {str(key): value for key, value in arguments.items()}
