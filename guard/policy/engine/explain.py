"""Explain: why a decision is as it is, in parts that can be shown: rules with the first term that failed, and ways from a name to its roles.

Decides nothing: the verdict beside them is the authorizer's own. Comes after engine; `CasbinAuthorizer.explain` fills it.
"""

from __future__ import annotations

from dataclasses import dataclass

from guard.core.ports import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One rule about this tool and act, and the subject of the session that came furthest with it.

    `rule` is its text as in a CSV file, `effect` allow or deny. `failed` is the first term of the matcher's AND that was not true, as text;
    None: the rule matched. `open` is the first term that only a call's arguments can decide (then the rule counts as matching for an allow,
    as not matching for a deny). `error` is what it raised: an error in a deny counts as a match, in an allow as none.
    """

    rule: str
    effect: str
    subject: str
    failed: str | None = None
    open: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RolePath:
    """One shortest way from a name of the session to a role: `names` from first to last, and the g lines between them, one fewer."""

    names: tuple[str, ...]
    grants: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """A verdict with everything that led to it. `outer` explains the session that a child conversation is within."""

    verdict: Verdict
    candidates: tuple[Candidate, ...] = ()
    paths: tuple[RolePath, ...] = ()
    outer: Explained | None = None
