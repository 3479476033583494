"""Claiming: an action is taken under a sign of this process's own, and what may have been taken without an answer is disowned.

The lease counts from before the store was asked. May not decide whether anything runs. Used by `hands`.
"""

from __future__ import annotations

from collections.abc import Callable
from secrets import token_hex
from typing import Any, TypeVar

from guard.core import ports as p
from guard.core.replacing import replace
from guard.errors import AnsweredInterrupt
from guard.runner.leases import Keeper, elapsed

T = TypeVar("T")


def claim(store: p.Store, keeper: Keeper, command: p.Claim) -> p.ClaimAnswer:
    """Take a call."""
    asked, sign = elapsed(), token_hex(8)
    found = _disowned(keeper, command.row, sign, lambda: store.claim(_signed(command, sign)))
    return _stamped(found, asked, sign)


def outright(store: p.Store, keeper: Keeper, command: p.Outright) -> p.Stood | None:
    """Write everything about a call, and take it where it is an action."""
    if command.claim is None:
        return store.outright(command)
    asked, sign = elapsed(), token_hex(8)
    signed = replace(command, claim=_signed(command.claim, sign))
    found = _disowned(keeper, command.claim.row, sign, lambda: store.outright(signed))
    return found if found is None or found.won is None else replace(found, won=_stamped(found.won, asked, sign))


def begin(store: p.Store, keeper: Keeper, command: p.Begin) -> p.ClaimAnswer:
    """Write the decision about a call, and take it."""
    asked, sign = elapsed(), token_hex(8)
    signed = replace(command, claim=_signed(command.claim, sign))
    return _stamped(_disowned(keeper, command.claim.row, sign, lambda: store.begin(signed)), asked, sign)


TAKES: dict[type, Callable[[p.Store, Keeper, Any], Any]] = {p.Claim: claim, p.Outright: outright, p.Begin: begin}
"""How each command is carried out that takes a call."""


def _signed(command: p.Claim, sign: str) -> p.Claim:
    return replace(command, row=replace(command.row, executor=sign))


def _stamped(found: p.ClaimAnswer, asked: float, sign: str) -> p.ClaimAnswer:
    return replace(found, asked=asked, sign=sign) if isinstance(found, p.Won) else found


def _disowned(keeper: Keeper, row: p.CallRow, sign: str, ask: Callable[[], T]) -> T:
    try:
        return ask()
    except BaseException as error:
        if not isinstance(error, AnsweredInterrupt):
            keeper.disown(row.key, sign)  # it may have been written all the same, and nothing will start
        raise
