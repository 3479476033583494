"""Compose: `Guard.load`, the one place that puts policy, store, tools, redactors and the runner together.

Everything else takes what it needs as an argument. Comes last; imported by nothing but the package's front and the command line.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack

from guard.core.ports import Redactor, Store
from guard.errors import GuardError, PolicyError, Problem
from guard.options import Folders, Options, Probes
from guard.redactors import REDACTOR, Detector, made
from guard.runner import guard as runner
from guard.runner.counting import counting
from guard.runner.erasing import KEEP
from guard.runner.patience import Checks, Hides, patient
from guard.runner.reload import Built
from guard.runner.report import failure
from guard.stores import open_store
from guard.stores.payload_keys import given_key
from guard.tools import RegisteredTool, registry

if TYPE_CHECKING:
    from guard.policy import Declared, Loaded
    from guard.policy.database import Database
    from guard.policy.reading import Reading
    from guard.policy.source import File

DEFAULT_STORE = "sqlite:///guard.db"
LONGEST_BATCH = 60.0  # seconds that the records of look-ups may wait
_LOOK = 1.0  # seconds between two looks at a policy folder


class PolicyWarning(UserWarning):
    """Something in a policy folder that is permitted and probably not meant."""


Verify: TypeAlias = "Callable[[Loaded, Sequence[File]], Sequence[Problem]]"
"""What a policy must pass before it is published: it is given the policy and the files of its cases, and gives what is wrong."""


def _cases(loaded: Loaded, files: Sequence[File]) -> Sequence[Problem]:
    """Play the folder's own cases, where it has some."""
    if not files:
        return ()
    from guard.review.suite import verify  # noqa: PLC0415 - only where there are cases

    return verify(loaded, files)


def _wider_cases(loaded: Loaded, reading: Reading) -> Sequence[Problem]:
    """Play the cases of wider layers: nothing may be decided looser than they say."""
    files = [layer.cases for layer in reading.layers[:-1] if layer.cases]
    if not files:
        return ()
    from guard.review.suite import looser  # noqa: PLC0415 - only where there are cases

    return [problem for one in files for problem in looser(loaded, one)]


VERIFY: tuple[Verify, ...] = (_cases,)


class Guard(runner.Guard):
    """The guard for plain callers: `Guard.load("policies/", tools=[…])`."""

    @classmethod
    def load(cls, folder: Folders, *, tools: Any, store: str = DEFAULT_STORE, **options: Unpack[Options]) -> Guard:
        """Read and compile a policy folder, register the tools, open the store.

        `folder` may be a list of folders, the widest first: `["policies/org", "policies/team", "policies/app"]`. A narrower one may only
        tighten what a wider one says; what would loosen it is a problem that names both places. `rules` count as the narrowest one's.

        `tools` are plain functions, a mapping of names to callables, or a registry. Further options:

        - `checks`: named checks that the policy may use.
        - `probes`: for tools with `effect: probe` what became of the act with a key: None or False (nothing), True or its result.
        - `patience`: how many seconds a check or a loader of facts may take before the call is refused; without it they run inline.
        - `clock`: the store's clock, for tests. `detectors`: further rows of the table of `guard.redactors`, which only hide more.
        - `watch`: True, or seconds between two looks at the folder: a changed policy is loaded by itself until `close()`.
        - `stale_after`: seconds after which a policy that was not found to be the right one any more refuses every call.
        - `count_tokens`: a function of a text, or the name of a tiktoken encoding (extra `tokens`); else they are estimated.
        - `checkpoints`: a `guard.proof.keeper.Checkpoints`: signed checkpoints over the audit, kept outside of the store.
        - `payload_key`: encrypts raw arguments and results: a file of keys, or `"{NAME}"` of a variable that holds them (extra `crypto`).
        - `keep_payloads`: seconds for which they are kept after a call's end (default: 30 days); None keeps them for ever.
        - `batch_reads`: seconds that the records of allowed look-ups may wait to be written together: what a crash may lose of them.
        - `rules`: a Casbin adapter that brings further rules; `signal`: a Casbin watcher that says when they changed.

        Raises PolicyError with every problem at once, StoreError when the store cannot be opened.
        """
        return cls(**_loaded(folder, tools, store, options, awaits=False))


class AsyncGuard(runner.AsyncGuard):
    """The guard for asyncio callers: `AsyncGuard.load("policies/", tools=[…])`."""

    @classmethod
    def load(cls, folder: Folders, *, tools: Any, store: str = DEFAULT_STORE, **options: Unpack[Options]) -> AsyncGuard:
        """See `Guard.load`. Returns at once and may be awaited too."""
        return cls(**_loaded(folder, tools, store, options, awaits=True))

    def __await__(self) -> Generator[None, None, AsyncGuard]:
        """Give the guard itself: `load` may be awaited or not."""
        yield from ()
        return self


def _loaded(folder: Folders, tools: Any, store: str, options: Options, *, awaits: bool) -> dict[str, Any]:
    """What the guard is made of."""
    if unknown := sorted(options.keys() - Options.__annotations__.keys()):
        raise TypeError(f"load() got an unexpected keyword argument {unknown[0]!r}")
    patience, probes = options.get("patience"), options.get("probes") or {}
    origin, _ = options.get("rules"), _every(options)  # what cannot be meant is said before anything is opened
    plan = Plan(
        folders=_folders(folder),
        tools=registry(tools),
        checks=options.get("checks") or {},
        patience=patience,
        probes=probes,
        rules=None if origin is None else _database(origin),
        awaits=awaits,
        detectors=tuple(options.get("detectors") or ()),
    )
    reading = plan.read(ask=True)
    built = plan.build(reading)
    for problem in built.warnings:
        warnings.warn(str(problem), PolicyWarning, stacklevel=3)
    opened = _store(store, options)
    return {
        "policy": built.policy,
        "store": opened,
        "tools": built.tools,
        "redactor": built.redactor,
        "patience": patience,
        "probes": probes,
        "origin": _origin(plan, reading.mark, built, opened, options),
        "count_tokens": counting(options.get("count_tokens")),
    }


def _origin(plan: Plan, mark: str, built: Built, opened: Store, options: Options) -> runner.Origin:
    """Where the policy came from and how it is kept up to date."""
    witness = options.get("checkpoints")
    return runner.Origin(
        source=plan,
        mark=mark,
        parts=built.parts,
        every=_every(options),
        stale_after=options.get("stale_after"),
        signal=options.get("signal"),
        witness=witness.keep(opened) if witness else None,
        keep_payloads=options.get("keep_payloads", KEEP),
    )


def _store(url: str, options: Options) -> Store:
    """The store, with its key. Raises StoreError, GuardError."""
    within = options.get("batch_reads")
    if within is not None and not 0 < within <= LONGEST_BATCH:
        raise GuardError(f"batch_reads= takes seconds above 0, up to {LONGEST_BATCH:g}: what a crash may lose")
    return open_store(url, clock=options.get("clock"), keys=given_key(options.get("payload_key"), os.environ), batch=within)


def _folders(folder: Folders) -> tuple[str, ...]:
    """The folders, the widest first. Raises GuardError for none, TypeError for what is no path."""
    found = tuple(os.fspath(one) for one in ([folder] if isinstance(folder, str | os.PathLike) else folder))
    if not found:
        raise GuardError("no policy folder is named")
    return found


def _every(options: Options) -> float | None:
    """Seconds between two looks; None where nobody looks. Raises GuardError for what cannot work."""
    watch, signal = options.get("watch", False), options.get("signal")
    if signal is not None and not callable(getattr(signal, "set_update_callback", None)):
        raise GuardError("signal= takes a Casbin watcher: an object with set_update_callback(function)")
    if isinstance(watch, bool):
        if not watch and signal is not None:
            raise GuardError("signal= says when to look, and nobody looks: add watch=True")
        return _LOOK if watch else None
    if not watch > 0:
        raise GuardError("watch= takes True, or seconds above 0 between two looks")
    return float(watch)


def _database(adapter: Any) -> Database:
    from guard.policy.database import Database  # noqa: PLC0415 - only where there is one

    return Database(adapter)


@dataclass(kw_only=True)
class Plan:
    """How a policy is made, each time anew: from these places, for these registered tools."""

    folders: tuple[str, ...]
    tools: Mapping[str, RegisteredTool]
    checks: Checks
    probes: Probes
    rules: Database | None = None
    awaits: bool = False
    verify: Sequence[Verify] | None = None
    rows: tuple[Any, Sequence[Problem]] | None = None  # what the database said last
    detectors: tuple[Detector, ...] = ()
    patience: float | None = None
    hiding: Redactor = REDACTOR  # as the policy that was built last says

    def read(self, *, ask: bool) -> Reading:
        """Everything that the policy is made of, as it is now. Raises PolicyError where the database cannot be asked."""
        from guard.policy.reading import read_places  # noqa: PLC0415 - with the first policy, so that importing guard stays cheap

        if self.rules is None:
            return read_places(self.folders)
        if ask or self.rows is None:
            self.rows = None
            self.rows = self._asked(self.rules)
        return read_places(self.folders, *self.rows)

    def _asked(self, rules: Database) -> tuple[Any, Sequence[Problem]]:
        from guard.policy.database import unreadable  # noqa: PLC0415 - only where there is one

        try:
            return rules.read()
        except Exception as error:  # noqa: BLE001 - a foreign adapter may raise anything
            failure("the adapter of the rules", error, self.hiding)
            raise unreadable(error) from None

    def build(self, reading: Any) -> Built:
        """Compile, check and verify what was read. Raises PolicyError."""
        from guard.policy.load import load_reading  # noqa: PLC0415 - as above
        from guard.policy.parts import parts  # noqa: PLC0415 - as above

        hides = Hides(self.hiding)
        checks = patient(self.checks, self.patience, hides)
        loaded = load_reading(reading, declared(self.tools), checks=checks, probes=self.probes)
        hides.redactor, trouble = made(loaded.policy.redaction, self.detectors)
        problems = self._misfits(loaded.names) + [Problem(file=self.folders[-1], message=f"redact: {why}") for why in trouble]
        for verify in (VERIFY if self.verify is None else self.verify) if not problems else ():
            problems += verify(loaded, reading.cases)
        problems += _wider_cases(loaded, reading) if not problems else ()
        if problems:
            raise PolicyError(problems, loaded.warnings)
        tools = {**{name: self.tools[one] for name, one in loaded.names.items()}, **_endpoints(loaded)}
        self.hiding = hides.redactor
        return Built(policy=loaded.policy, tools=tools, warnings=loaded.warnings, redactor=self.hiding, parts=parts(loaded))

    def _misfits(self, names: Mapping[str, str]) -> list[Problem]:
        lost = [name for name, registered in names.items() if registered not in self.tools]
        found = [Problem(file=self.folders[-1], message=f"{name}: no such tool is registered") for name in lost]
        waiting = [name for name, registered in names.items() if registered in self.tools and self.tools[registered].is_async]
        if waiting and not self.awaits:
            found.append(Problem(file=self.folders[-1], message=f"{', '.join(sorted(waiting))}: async tools need AsyncGuard"))
        return found

    def close(self) -> None:
        """Give back what asking the database held open."""
        if self.rules is not None:
            self.rules.close()


def _endpoints(loaded: Loaded) -> dict[str, RegisteredTool]:
    """The tools that the policy itself describes. Raises PolicyError where the environment lacks a secret."""
    described = {name: tool for name, tool in loaded.policy.tools.items() if tool.endpoint is not None}
    if not described:
        return {}
    from guard.tools.endpoint import offered_all  # noqa: PLC0415 - only where there are some: httpx is not loaded otherwise

    found, lacking = offered_all(described, os.environ)
    spots = {name: loaded.entries[name].fields["http"] for name in lacking}
    if lacking:
        problems = [Problem(file=spots[name].file, line=spots[name].line, message=why) for name, why in lacking.items()]
        raise PolicyError(problems, loaded.warnings)
    return found


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
            known=t.known,
        )
        for t in found.values()
    ]
