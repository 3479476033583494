"""Ways: by which way a person came to the guard, and whose word it is that they are who they are. Data only. Comes after approval and before the model."""

from __future__ import annotations

from dataclasses import dataclass

from guard.core.approval import Assurance, Via


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How somebody acts. `addr` is the other end's network address where a server knows it; no record holds it as it is (see `actors`).

    `account` is the operating-system user of somebody who says who they are, under another name than that account has in the policy.
    """

    assurance: Assurance = "host"
    via: Via = "program"
    addr: str = ""
    account: str = ""


PROGRAM = Way()
"""The host's own word, without a server in between."""
