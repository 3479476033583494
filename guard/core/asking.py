"""Asking: what a policy says about whom to ask: one alternative of `approve:`, compiled. Data only.

Comes after paths and conditions and before rules, which re-export it; imports no room.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from guard.core.conditions import Condition
from guard.core.offers import Offer
from guard.core.paths import Path

OnMessage: TypeAlias = Literal["keep", "cancel"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRule:
    """One alternative of `approve:`. `by` holds roles; `self_` means the signed-in requester; neither means nobody is asked. Times in seconds."""

    by: tuple[str, ...] = ()
    self_: bool = False
    when: Condition | None = None
    expires: float = 86_400.0  # in which somebody must decide
    show: tuple[Path, ...] = ()
    assurance: Literal["host", "client"] = "host"  # whose word it is that the requester decided; `client`: the MCP client's too
    need: int = 1  # how many different people must say yes
    use_within: float | None = None  # in which an approved call must begin; None: until `expires` is over
    edit: tuple[Path, ...] = ()  # what an approver may change
    secret: tuple[Path, ...] = ()  # what nobody is shown
    effect: tuple[str | Path, ...] = ()  # the operator's one line: texts, and arguments to fill in
    escalate_after: float | None = None
    escalate_to: tuple[str, ...] = ()  # roles that may decide as well from then on
    on_message: OnMessage = "keep"  # what becomes of an open question when the user goes on talking
    grants: tuple[Offer, ...] = ()  # which standing grants may be given from an approval by this rule

    @property
    def strictness(self) -> int:
        """0 nobody decides, 1 the requester decides, 2 somebody else decides."""
        return 2 if self.by else 1 if self.self_ else 0
