"""What tests of many files are given: a store of each kind and its clock, the command line, a browser before a server. And how Hypothesis judges.

A property is judged by what it finds, never by how long a busy machine takes for it. Whatever only some tests need is imported where it is made.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings
from stores_kit import STORES, Clock, a_store

if TYPE_CHECKING:
    from browser_kit import Served
    from cli_kit import Run
    from playwright.sync_api import Browser
    from record_walk_kit import Walk
    from segments_kit import Archive

    from guard import Guard
    from guard.core.ports import Store

settings.register_profile("guard", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("guard")


@pytest.fixture
def clock() -> Clock:
    """Time that stands still until a test moves it."""
    return Clock()


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Iterator[Store]:
    """A new store of each kind; whatever a test did, its audit verifies in the end."""
    yield from a_store(request.param, tmp_path, clock)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """The command line in this process, in the test's folder."""
    from cli_kit import in_process

    return in_process(tmp_path, monkeypatch, capfd)


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[Guard]:
    """A store in the test's folder with one call that waits for a person."""
    from cli_kit import asking

    with asking(tmp_path) as made:
        yield made


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with a console, for the tests of one file."""
    from browser_kit import Served

    with Served(tmp_path_factory.mktemp("console")) as running:
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A real browser, for the tests of one file."""
    from browser_kit import chromium

    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walk]:
    """A store with a record of every kind, for the tests of one file."""
    from record_walk_kit import Walk, everything

    made = Walk.begin(tmp_path_factory.mktemp("walk"), "memory://")
    everything(made)
    yield made
    made.guard.close()


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def archived(request: pytest.FixtureRequest, tmp_path: Path, run: Run) -> Iterator[Archive]:
    """A store with records of two months, a key, and the command line."""
    from segments_kit import archive

    with archive(request.param, tmp_path, run) as found:
        yield found
