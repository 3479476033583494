"""Force: the policy in force with everything that is derived from it, as one frozen object that one assignment replaces.

Whoever judges something reads the reference once and uses that object to the end, so that each turn is judged by one version and runs that
version's tools. Nothing in it changes after it is published but the memos of visible tools and of names. Decides nothing. Comes after `hands`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from guard.core.audit_policy import Parts
from guard.core.model import Session
from guard.core.ports import Policy, Redactor
from guard.core.redactor import as_keyed
from guard.core.replacing import replace
from guard.errors import PolicyError, Problem
from guard.runner.hands import Hands
from guard.tools import RegisteredTool
from guard.wires import Wire
from guard.wires.names import Spelling, ToolNames, tool_names

_MOST_SESSIONS = 1_024  # entries of the table of visible tools


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class InForce:
    """One published version: the policy, and the hands that hold its tools by the policy's names.

    `mark` says from which contents it was made, so that the same contents are not loaded again; `parts` what it consists of, for the audit.
    """

    policy: Policy
    hands: Hands
    mark: str = ""
    parts: Parts = field(default_factory=dict)
    seen: dict[tuple[object, ...], frozenset[str]] = field(default_factory=dict)
    called: dict[Spelling, ToolNames] = field(default_factory=dict)

    def visible(self, session: Session) -> frozenset[str]:
        """The tools that this session may call: for the schemas and for telling the model which names exist."""
        place = (session.principal, session.tenant, session.roles, session.within and session.within.roles)
        known = self.seen.get(place)
        if known is None:
            known = frozenset(name for name in self.policy.tools if self._may(session, name))
            if len(self.seen) >= _MOST_SESSIONS:
                self.seen.clear()
            self.seen[place] = known
        return known

    def names(self, wire: Wire) -> ToolNames:
        """What the tools of this policy are called on a wire: the same for every session and in every process."""
        known = self.called.get(wire.spelling)
        if known is None:
            known = self.called[wire.spelling] = tool_names(self.policy.tools, wire.spelling)
        return known

    def _may(self, session: Session, tool: str) -> bool:
        try:
            return self.policy.authorizer.decide(session, tool, "call").allowed
        except Exception:  # noqa: BLE001 - a policy that cannot be evaluated shows nothing; the call itself says why
            return False

    def followed_by(
        self,
        policy: Policy,
        tools: Mapping[str, RegisteredTool],
        mark: str,
        redactor: Redactor | None = None,
        parts: Parts | None = None,
    ) -> InForce:
        """Another version with its own tools and redactor; leases, unwritten outcomes and loaders of facts are shared."""
        hiding = as_keyed(redactor, self.hands.redactor) if redactor is not None else self.hands.redactor
        hands = replace(self.hands, tools=tools, redactor=hiding)
        hands.keeper = self.hands.keeper
        return InForce(policy=policy, hands=hands, mark=mark, parts=parts or {})

    def expired(self) -> InForce:
        """The same version when it is too old to be relied on: nobody may do anything, and each call is refused with `policy_failed`."""
        return InForce(policy=replace(self.policy, authorizer=_Expired()), hands=self.hands, mark=self.mark)


class _Expired:
    """Judges nothing any more."""

    scoped = False

    def decide(self, _session: Session, tool: str, act: str, _scope: Mapping[str, object] | None = None) -> NoReturn:
        """Raise: what cannot be judged is refused."""
        problem = Problem(file="the policy in force", message=f"too old to judge who may {act} {tool}")
        raise PolicyError([problem])

    def would_deny(self, _session: Session, _tool: str, _scope: Mapping[str, object] | None = None) -> tuple[str, ...]:
        """Nothing is let through that could be."""
        return ()

    def roles(self, _session: Session) -> frozenset[str]:
        """Nobody has a role in a policy that is not in force any more."""
        return frozenset()
