"""What the tests of people's names share: a guard on a store that others open too, and a program to which no name tells anything."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from stores_kit import Clock, url_of

from guard import Guard, PolicyWarning
from guard.core.ports import Redactor

BLIND = Redactor(detect=lambda _key, text: (text, ()))  # finds nothing: as a program before references


class Home:
    """A guard with a policy of one file, at a clock that stands still."""

    def __init__(self, folder: Path, url: str, policy: str, tools: Any) -> None:
        self.url, self.folder, self.clock = url, folder / "policies", Clock()
        self.folder.mkdir()
        self.write(policy)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PolicyWarning)
            self.guard = Guard.load(self.folder, tools=tools, store=url, clock=self.clock)

    def write(self, policy: str) -> None:
        """Put another text in the policy's place; `guard.reload()` takes it."""
        (self.folder / "tools.yaml").write_text(policy, "utf-8")

    def blind(self) -> Guard:
        """A guard on the same store that takes every name as it is."""
        now = self.guard.hands
        return Guard(policy=self.guard.policy, store=self.guard.store, tools=now.tools, redactor=BLIND)


H = TypeVar("H", bound=Home)


def living(kind: str, folder: Path, make: Callable[[Path, str], H]) -> Iterator[H]:
    """A home on a new store of this kind, for one test."""
    with url_of(kind, folder) as url:
        made = make(folder, url)
        yield made
        made.guard.close()
