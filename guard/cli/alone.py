"""Alone: a store without its policy, for what must work in an emergency: the folder is broken, and a tool has to be stopped now.

A policy that names no tool permits nothing and knows nobody, so whoever types is the operating-system user, or says who they are. What could not be
checked is said. Used by `kill`.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Final

from guard.cli.places import UsageError, system_user
from guard.cli.show import spell
from guard.core.model import Session
from guard.core.ports import Policy, Store, Verdict
from guard.core.rules import Limits
from guard.core.searching import Sought
from guard.core.values import Json
from guard.core.ways import Way
from guard.errors import GuardError, PolicyError


class _Nobody:
    """Nobody may do anything."""

    scoped = False

    def decide(self, session: Session, tool: str, act: str, scope: Mapping[str, Json] | None = None) -> Verdict:  # noqa: ARG002 - a port's form
        """No rule allows it."""
        return Verdict(allowed=False)

    def would_deny(self, session: Session, tool: str, scope: Mapping[str, Json] | None = None) -> tuple[str, ...]:  # noqa: ARG002 - a port's form
        """No rule is on trial."""
        return ()

    def roles(self, session: Session) -> frozenset[str]:
        """Those that it came with."""
        return frozenset(session.roles)


NOTHING: Final = Policy(version="none: it does not load", tools={}, authorizer=_Nobody(), limits=Limits())
"""The policy of a store that is worked with alone."""


def told(folder: str, error: GuardError) -> None:
    """Say that the policy is left aside, and what that means."""
    why = error.problems[0] if isinstance(error, PolicyError) and error.problems else error
    more = len(error.problems) - 1 if isinstance(error, PolicyError) else 0
    also = f" and {more} more; guard check {spell(folder)} names them all" if more > 0 else ""
    print(f"guard: the policy does not load: {spell(str(why))}{also}", file=sys.stderr)
    print("guard: going on with the store alone: no name was checked against the policy", file=sys.stderr)


def check_tool(store: Store, tool: str | None) -> None:
    """Say where the log, too, has never heard of a tool: a misspelt name stops nothing."""
    if tool is not None and not store.search(Sought(kinds=("call.*",), tool=tool, limit=1)):
        print(f"guard: no record of this store is about a tool called {spell(tool)}; is it spelt so?", file=sys.stderr)


def somebody(name: str | None) -> Session:
    """Whoever types, where no policy says who that is: by their own word beside their account, or the account itself."""
    user = system_user()
    return Session(
        principal=user if name is None else name, way=Way(assurance="os-user", via="cli", account="" if name is None else user)
    )


def whose(conversation: str | None, tenant: str | None) -> None:
    """Raises UsageError for a conversation of nobody knows which tenant."""
    if conversation is not None and tenant is None:
        raise UsageError(
            "--conversation: say of which tenant with --tenant (default, where sessions name none): the policy that says yours does not load"
        )
