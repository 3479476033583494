"""Turn: what a host gets back for one assistant message. Data; built by the conversation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from guard.core.model import Approval, Outcome
from guard.core.values import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """The outcomes of one assistant message and the messages to append for it.

    `messages` are the results alone, `append` what the model said as it must be stored (a message, or its items) followed by them. `stop` is None while the loop
    should go on, else `done` (no calls), `held` (suspended until a person decides) or `limit` (a budget of the run is used up). `pending` are the
    approvals that calls of this turn wait for. `outcomes` has one entry for each call, in order. `warnings`
    name rules about results that met nothing in a result of this turn: probably a misspelt field.
    """

    messages: list[JsonObject]
    append: list[JsonObject]
    stop: Literal["done", "held", "limit"] | None
    pending: tuple[Approval, ...]
    outcomes: tuple[Outcome, ...]
    warnings: tuple[str, ...] = ()
