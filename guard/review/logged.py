"""Logged: what earlier calls of a conversation gave, read from the records alone: a ledger for replays where no store is at hand.

A record holds a redacted copy of what went back, where it was short. A value that is hidden in it satisfies no ground, and what is not in it is said to
be missing, never guessed. Comes after `hidden` and before `replay`; used by the command.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal

from guard.core import ports as p
from guard.core.model import CallKey, ConversationRef, ToolCall
from guard.core.values import Json, JsonObject

_MARKED = frozenset({"untrusted", "begin", "data", "end"})
_STATUS = {"ok": "done", "unknown": "unknown"}
_Home = tuple[str, str]


class MissingError(Exception):
    """Something that a ledger would hold is not in the log; the text says what."""


class Logged:
    """The calls of a log by conversation. Call it to answer what a walk asks of earlier calls."""

    def __init__(self, bodies: Iterable[JsonObject]) -> None:
        self._decided: dict[_Home, dict[tuple[int, int], JsonObject]] = {}
        self._ended: dict[_Home, dict[tuple[int, int], JsonObject]] = {}
        for body in bodies:
            table = {"call.decided": self._decided, "call.end": self._ended, "call.reconciled": self._ended}.get(
                str(body.get("kind"))
            )
            if table is not None:
                home = (str(body.get("tenant")), str(body.get("conversation")))
                table.setdefault(home, {})[_number(body.get("turn")), _number(body.get("position"))] = body

    def __call__(self, command: p.LoadLedger) -> p.Ledger:
        """The finished calls of these tools in earlier turns. Raises MissingError where the log does not hold what they gave."""
        if command.words:
            raise MissingError("what the user said is not in the log; name the store instead")
        home = (command.ref.tenant, command.ref.conversation)
        decided, ended = self._decided.get(home, {}), self._ended.get(home, {})
        rows = [
            _row(command.ref, place, decided[place], body)
            for place, body in sorted(ended.items())
            if place in decided and place[0] < command.before and _name(body) in command.tools
        ]
        return p.Ledger(calls=tuple(rows))


def _row(ref: ConversationRef, place: tuple[int, int], decided: JsonObject, ended: JsonObject) -> p.CallRow:
    args, result = decided.get("args") or {}, ended.get("result") or {}
    status = _STATUS.get(str((ended.get("exec") or {}).get("status")), "failed")
    if status == "done" and "shown" not in result:
        raise MissingError("an earlier result is not in the log (it was long, or not for everybody); name the store instead")
    labels = args.get("labels") or {}
    return p.CallRow(
        key=CallKey(ref, *place),
        call=ToolCall(str(ended.get("call_id") or ""), _name(ended), args.get("shown")),
        status=status,
        kind=str((decided.get("tool") or {}).get("kind") or ""),
        arguments=args.get("shown"),
        owned=frozenset(name for name, origin in labels.items() if origin not in ("model", "default")),
        value=_given(result.get("shown")) if status == "done" else None,
    )


def _given(shown: Json) -> Json:
    """What a tool gave, without the marks around text of others."""
    return shown["data"] if isinstance(shown, Mapping) and shown.keys() == _MARKED else shown


def _name(body: JsonObject) -> str:
    return str((body.get("tool") or {}).get("name") or "")


def _number(value: Json) -> int:
    return value if isinstance(value, int) else 0


def opened(turn: int) -> p.Opened:
    """What opening a turn gives where nothing but the turn is known: nothing was used up yet."""
    return p.Opened(
        turn=turn,
        again=p.Again.NEW,
        rows={},
        run=1,
        steps=1,
        seconds=0,
        tokens=0,
        cost=Decimal(0),
        tokens_known=True,
        total_tokens=0,
        total_cost=Decimal(0),
    )
