"""Desks: what people do with a guard's store besides letting calls run: approvals, grants, calls in doubt, kills. Made at the first need. Used by the guards."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, cast

from guard.runner.approvals import Approvals
from guard.runner.approvals_async import AsyncApprovals
from guard.runner.doubts import AsyncDoubts, Doubts
from guard.runner.grants import Grants
from guard.runner.grants_async import AsyncGrants
from guard.runner.kills import AsyncKills, Kills

if TYPE_CHECKING:
    from guard.runner.guard import GuardBase


class Desks:
    """Of the guard for plain callers."""

    @cached_property
    def approvals(self) -> Approvals:
        """The approvals of the store."""
        return Approvals(cast("GuardBase", self))

    @cached_property
    def grants(self) -> Grants:
        """Standing permissions that people gave from approvals."""
        return Grants(cast("GuardBase", self))

    @cached_property
    def unknown(self) -> Doubts:
        """Calls of the store that were started and have no outcome."""
        return Doubts(cast("GuardBase", self))

    @cached_property
    def kills(self) -> Kills:
        """What operators have stopped: a tool, a conversation, a tenant."""
        return Kills(cast("GuardBase", self))


class AsyncDesks:
    """Of the guard for asyncio callers."""

    @cached_property
    def approvals(self) -> AsyncApprovals:
        """The approvals of the store, awaited."""
        return AsyncApprovals(cast("GuardBase", self))

    @cached_property
    def grants(self) -> AsyncGrants:
        """Standing permissions that people gave from approvals, awaited."""
        return AsyncGrants(cast("GuardBase", self))

    @cached_property
    def unknown(self) -> AsyncDoubts:
        """Calls of the store that were started and have no outcome, awaited."""
        return AsyncDoubts(cast("GuardBase", self))

    @cached_property
    def kills(self) -> AsyncKills:
        """What operators have stopped: a tool, a conversation, a tenant; awaited."""
        return AsyncKills(cast("GuardBase", self))
