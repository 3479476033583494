"""What the keeper of leases and unwritten outcomes says in the host's log."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from crash.seams import Wrapped
from stores_kit import row

from guard.core.ports import CallRow, Finish
from guard.errors import StoreError
from guard.redactors import REDACTOR
from guard.runner.leases import Keeper
from guard.stores import open_store


class Down(Wrapped):
    """A store that is down, and says more than it should."""

    def call(self, key: Any) -> CallRow:
        raise StoreError("mail jane.doe@corp.example")


def test_a_store_that_stays_down_is_named_without_its_words(caplog: pytest.LogCaptureFixture) -> None:
    """The error's text is the store's: it may hold anybody's data, so the log gets its class alone."""
    keeper = Keeper(Down(open_store("memory://")), REDACTOR)
    keeper.owe(Finish(rows=(row(attempt=1),), events=()))
    with caplog.at_level(logging.WARNING, logger="guard"):
        keeper.flush()
    keeper.close()
    assert caplog.messages == [
        "1 outcomes could not be recorded yet, and are kept until the store is back: StoreError (unavailable)"
    ]
    assert "jane" not in caplog.text
