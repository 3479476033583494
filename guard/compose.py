"""Compose: `Guard.load`, the one place that puts policy, store, tools, redactors and the runner together.

Everything else takes what it needs as an argument. Comes last; imported by nothing but the package's front and the command line.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Generator, Mapping
from typing import Any, TypeAlias

from guard.core.ports import Policy
from guard.core.values import JsonObject
from guard.errors import PolicyError, Problem
from guard.policy import Declared, load_policy
from guard.redactors import REDACTOR
from guard.runner import guard as runner
from guard.stores import open_store
from guard.tools import RegisteredTool, registry

Clock: TypeAlias = Callable[[], float]
Checks: TypeAlias = Mapping[str, Callable[[JsonObject], str | None]]
DEFAULT_STORE = "sqlite:///guard.db"


class PolicyWarning(UserWarning):
    """Something in a policy folder that is permitted and probably not meant."""


class Guard(runner.Guard):
    """The guard for plain callers: `Guard.load("policies/", tools=[…])`."""

    @classmethod
    def load(
        cls,
        folder: str | os.PathLike[str],
        *,
        tools: Any,
        store: str = DEFAULT_STORE,
        checks: Checks | None = None,
        clock: Clock | None = None,
    ) -> Guard:
        """Read and compile a policy folder, register the tools, open the store.

        `tools` are plain functions, a mapping of names to callables, or a registry. `checks` are named checks that the policy may use. Raises
        PolicyError with every problem at once, StoreError when the store cannot be opened.
        """
        policy, registered = _compiled(folder, tools, checks or {})
        return cls(policy=policy, store=open_store(store, clock=clock), tools=registered, redactor=REDACTOR)


class AsyncGuard(runner.AsyncGuard):
    """The guard for asyncio callers: `AsyncGuard.load("policies/", tools=[…])`."""

    @classmethod
    def load(
        cls,
        folder: str | os.PathLike[str],
        *,
        tools: Any,
        store: str = DEFAULT_STORE,
        checks: Checks | None = None,
        clock: Clock | None = None,
    ) -> AsyncGuard:
        """See `Guard.load`. Returns at once and may be awaited too."""
        policy, registered = _compiled(folder, tools, checks or {})
        return cls(policy=policy, store=open_store(store, clock=clock), tools=registered, redactor=REDACTOR)

    def __await__(self) -> Generator[None, None, AsyncGuard]:
        """Give the guard itself: `load` may be awaited or not."""
        yield from ()
        return self


def _compiled(folder: str | os.PathLike[str], tools: Any, checks: Checks) -> tuple[Policy, dict[str, RegisteredTool]]:
    found = registry(tools)
    declared = [
        Declared(
            name=t.name,
            description=t.description,
            schema=t.schema,
            parameters=t.parameters,
            accepts=t.accepts,
            origin=t.origin,
            trouble=t.trouble,
        )
        for t in found.values()
    ]
    loaded = load_policy(folder, declared, checks=checks)
    for problem in loaded.warnings:
        warnings.warn(str(problem), PolicyWarning, stacklevel=3)
    missing = [name for name, registered in loaded.names.items() if registered not in found]
    if missing:
        raise PolicyError([Problem(file=str(folder), message=f"{name}: no such tool is registered") for name in missing])
    return loaded.policy, {name: found[registered] for name, registered in loaded.names.items()}
