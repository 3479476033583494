"""Compose: `Guard.load`, the one place that puts policy, store, tools, redactors and the runner together.

Everything else takes what it needs as an argument. Comes last; imported by nothing but the package's front and the command line.
"""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Callable, Generator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from guard.core.ports import Policy
from guard.core.values import JsonObject
from guard.errors import GuardError, PolicyError, Problem
from guard.redactors import REDACTOR
from guard.runner import guard as runner
from guard.runner.report import failure
from guard.runner.threads import within
from guard.stores import open_store
from guard.tools import RegisteredTool, registry

if TYPE_CHECKING:
    from guard.policy import Declared

Clock: TypeAlias = Callable[[], float]
Checks: TypeAlias = Mapping[str, Callable[[JsonObject], str | None]]
Probes: TypeAlias = Mapping[str, Callable[[str], Any]]
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
        probes: Probes | None = None,
        clock: Clock | None = None,
        patience: float | None = None,
    ) -> Guard:
        """Read and compile a policy folder, register the tools, open the store.

        `tools` are plain functions, a mapping of names to callables, or a registry. `checks` are named checks that the policy may use.
        `probes` say for tools with `effect: probe` what became of the act with a key: None or False (nothing), True or its result.
        `patience` is how many seconds a check or a loader of facts may take before the call is refused; without it they run inline. Raises
        PolicyError with every problem at once, StoreError when the store cannot be opened.
        """
        policy, registered = _compiled(folder, tools, _patient(checks or {}, patience), probes or {})
        opened = open_store(store, clock=clock)
        return cls(policy=policy, store=opened, tools=registered, redactor=REDACTOR, patience=patience, probes=probes)


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
        probes: Probes | None = None,
        clock: Clock | None = None,
        patience: float | None = None,
    ) -> AsyncGuard:
        """See `Guard.load`. Returns at once and may be awaited too."""
        policy, registered = _compiled(folder, tools, _patient(checks or {}, patience), probes or {})
        opened = open_store(store, clock=clock)
        return cls(policy=policy, store=opened, tools=registered, redactor=REDACTOR, patience=patience, probes=probes)

    def __await__(self) -> Generator[None, None, AsyncGuard]:
        """Give the guard itself: `load` may be awaited or not."""
        yield from ()
        return self


def _patient(checks: Checks, patience: float | None) -> Checks:
    """The checks, each given up after `patience` seconds; an async one is misuse, since a decision waits for nobody's loop."""
    waiting = sorted(name for name, check in checks.items() if inspect.iscoroutinefunction(check))
    if waiting:
        raise GuardError(f"checks are plain functions; async: {', '.join(waiting)}")
    return {name: partial(_watched, name, check, patience) for name, check in checks.items()}


def _watched(name: str, check: Callable[[JsonObject], str | None], patience: float | None, arguments: JsonObject) -> Any:
    """Run one check; what it raises refuses, and is told to the host's log besides."""
    try:
        return within(partial(check, arguments), patience)
    except Exception as error:
        failure(f"check {name}", error, REDACTOR)
        raise


def declared(found: Mapping[str, RegisteredTool]) -> list[Declared]:
    """The registered tools as a policy folder is compiled against them: without their executables."""
    from guard.policy import Declared  # noqa: PLC0415 - with the first policy, so that importing guard stays cheap

    return [
        Declared(
            name=t.name,
            description=t.description,
            schema=t.schema,
            parameters=t.parameters,
            accepts=t.accepts,
            origin=t.origin,
            trouble=t.trouble,
            silent=t.silent,
            keyed=t.keyed,
        )
        for t in found.values()
    ]


def _compiled(
    folder: str | os.PathLike[str], tools: Any, checks: Checks, probes: Probes
) -> tuple[Policy, dict[str, RegisteredTool]]:
    from guard.policy import load_policy  # noqa: PLC0415 - with the first policy, so that importing guard stays cheap

    found = registry(tools)
    loaded = load_policy(folder, declared(found), checks=checks, probes=probes)
    for problem in loaded.warnings:
        warnings.warn(str(problem), PolicyWarning, stacklevel=3)
    missing = [name for name, registered in loaded.names.items() if registered not in found]
    if missing:
        raise PolicyError([Problem(file=str(folder), message=f"{name}: no such tool is registered") for name in missing])
    return loaded.policy, {name: found[registered] for name, registered in loaded.names.items()}
