"""Database: Casbin rules that an adapter brings from elsewhere, one row a line, so that they are read as loudly as a CSV file.

The adapter is only ever asked with a scratch model that takes every line, also those that Casbin would drop without a word; a policy in force
never sees it. May not judge a line beyond what keeps rows apart. Comes after reading and before load; used by compose.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any, Protocol

from guard.errors import GuardError, PolicyError, Problem
from guard.policy.reading import ROWS
from guard.policy.source import File

_CURE = "see that the database can be reached and that its table is there; the log has the error"


class Adapter(Protocol):
    """What Casbin calls an adapter. `load_policy` may be a coroutine function."""

    def load_policy(self, model: Any) -> Any:
        """Put every rule into the model."""


class Database:
    """Asks one adapter. An asyncio adapter runs in an event loop of its own, which is kept, since its connections belong to it."""

    def __init__(self, adapter: Any) -> None:
        if not callable(getattr(adapter, "load_policy", None)):
            raise GuardError("rules= takes a Casbin adapter: an object with load_policy(model)")
        self._adapter = adapter
        self._loop: asyncio.AbstractEventLoop | None = None
        self._process = os.getpid()

    def read(self) -> tuple[File, tuple[Problem, ...]]:
        """The rows as lines, and what keeps a row from being one. Whatever the adapter raises goes on up."""
        model = scratch()
        load = self._adapter.load_policy
        if inspect.iscoroutinefunction(load):
            self._await(load(model))
        elif inspect.isawaitable(answer := load(model)):
            self._await(answer)
        problems: list[Problem] = []
        lines = [_line(cells, number, problems) for number, cells in enumerate(model.rows, start=1)]
        return File(ROWS, "\n".join(lines).encode("utf-8", "surrogatepass")), tuple(problems)

    def _await(self, answer: Any) -> None:
        """In a thread of its own, since the caller may be inside another loop."""
        done: Future[None] = Future()

        def run() -> None:
            try:
                done.set_result(self._own().run_until_complete(_gone_through(answer)))
            except BaseException as error:  # noqa: BLE001 - raised where the caller waits
                done.set_exception(error)

        threading.Thread(target=run, daemon=True, name="guard-rules").start()
        done.result()

    def _own(self) -> asyncio.AbstractEventLoop:
        if self._loop is None or self._process != os.getpid():  # a loop of the parent process is not ours
            self._loop, self._process = asyncio.new_event_loop(), os.getpid()
        return self._loop

    def close(self) -> None:
        """Close the loop; the adapter is the host's own."""
        loop, self._loop = self._loop, None
        if loop is not None and self._process == os.getpid() and not loop.is_running():
            loop.close()


async def _gone_through(answer: Any) -> None:
    await answer


def unreadable(error: Exception) -> PolicyError:
    """That the adapter failed, without its text, which may hold a password."""
    return PolicyError([Problem(file=ROWS, message=f"the rules could not be read: {type(error).__name__}", cure=_CURE)])


def _line(cells: tuple[str, ...], number: int, problems: list[Problem]) -> str:
    """The row as a line of a rule file. One that would be read as something else is a problem, and is left out."""
    bad = next((text for text in cells if type(text) is not str or not _fits(text)), None)
    if bad is None and not cells[0].startswith("#"):
        return ", ".join(cells)
    shown = ", ".join(map(repr, cells))
    problems.append(
        Problem(file=ROWS, line=number, message=f"{shown} is no rule", cure="one name in each column, without commas")
    )
    return ""


def _fits(text: str) -> bool:
    return not any(char in text for char in ",\r\n")


# -- a model that takes everything --------------------------------------------------------------------------------------


class _Keys(dict[str, Any]):
    """A mapping that has every key."""

    def __init__(self, rows: list[tuple[str, ...]], key: str | None = None) -> None:
        super().__init__()
        self._rows, self._key = rows, key

    def __contains__(self, key: object) -> bool:
        return True

    def keys(self) -> Any:
        return self

    def __iter__(self) -> Iterator[str]:
        return iter(("p", "g"))

    def get(self, key: str, default: Any = None) -> Any:  # noqa: ARG002 - every key is there
        return self[key]

    def __missing__(self, key: str) -> Any:
        return _Assertion(self._rows, key) if self._key is not None else _Keys(self._rows, key)


class _Assertion:
    """One kind of rules of the scratch model; its policy is the list of all rows, with the kind put first."""

    def __init__(self, rows: list[tuple[str, ...]], kind: str) -> None:
        self.policy = _Lines(rows, kind)
        self.policy_map: dict[str, int] = {}
        self.tokens: tuple[str, ...] = ()
        self.rm = None


class _Lines(list[Any]):
    """Notes what is appended with its kind."""

    def __init__(self, rows: list[tuple[str, ...]], kind: str) -> None:
        super().__init__()
        self._rows, self._kind = rows, kind

    def append(self, rule: Any) -> None:
        self._rows.append((self._kind, *rule))

    def extend(self, rules: Any) -> None:
        for rule in rules:
            self.append(rule)


def scratch() -> Any:
    """A Casbin model that notes every line in `rows`, in order, whatever its kind."""
    import casbin  # noqa: PLC0415 - loaded with the first policy, so that importing guard stays cheap

    class Scratch(casbin.Model):  # type: ignore[misc]  # pycasbin ships no types
        def __init__(self) -> None:
            super().__init__()
            self.rows: list[tuple[str, ...]] = []
            self.model = _Keys(self.rows)

        def add_policy(self, _sec: str, ptype: str, rule: Any) -> bool:
            self.rows.append((ptype, *rule))
            return True

        def add_policies(self, _sec: str, ptype: str, rules: Any) -> bool:
            self.rows += [(ptype, *rule) for rule in rules]
            return True

        def has_policy(self, *_: Any) -> bool:
            return False

    return Scratch()
