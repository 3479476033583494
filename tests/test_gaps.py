"""No record, no action: while the record cannot be written every call is refused and answered, and afterwards a record says how many and since when."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from reports import BOTH, codes, start
from wire_helpers import answers

from guard.stores.chain import verify_store

POLICY = """
    tools:
      pay: {kind: action, allow: [staff], approve: never}
      look: {kind: read, allow: [staff]}
"""
TOOLS = {"pay": lambda amount: "paid", "look": lambda: "seen"}


@contextmanager
def gone(file: Path) -> Iterator[None]:
    """While this lasts, the store's file is not where it was."""
    aside = file.with_suffix(".aside")
    file.rename(aside)
    try:
        yield
    finally:
        aside.rename(file)


@BOTH
def test_what_was_refused_while_the_store_was_down_is_on_record(
    tmp_path: Path, wire: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Every call gets its result, nothing runs, the log has one line for each way; the next turn's record counts them by kind, once."""
    caplog.set_level(logging.WARNING, "guard")
    desk = start(tmp_path, wire, POLICY, TOOLS, store="sqlite")
    with gone(tmp_path / "guard.db"):
        for number in range(2):
            turn = desk.propose((f"p{number}", "pay", {"amount": 1}), (f"l{number}", "look", {}), (f"n{number}", "none", {}))
            assert codes(turn) == ["store_unavailable"] * 3
            assert len(answers(wire, turn.messages)) == 3
            desk.clock.now += 60
    assert not desk.ran
    assert sum("could not be written" in one.message for one in caplog.records) == 1
    assert codes(desk.propose(("c", "pay", {"amount": 1}))) == [None]
    desk.propose(("d", "look", {}))
    assert sum("is back; 6 calls" in one.message for one in caplog.records) == 1
    [record] = desk.audit("audit.gap")
    assert record["gap"]["refused"] == {"action": 2, "read": 2, "unlisted": 2}
    assert (record["gap"]["cause"], record["actor"]) == ("store_unavailable", {"type": "service"})
    assert (record["gap"]["since"], record["gap"]["until"]) == ("2027-01-15T08:00:00.000000Z", "2027-01-15T08:01:00.000000Z")
    assert verify_store(desk.guard.store).ok
    desk.guard.close()


def test_a_gap_that_could_not_be_written_is_kept(tmp_path: Path) -> None:
    """A turn that fails again adds to it; each outage gets a record of its own."""
    desk = start(tmp_path, "openai-chat", POLICY, TOOLS, store="sqlite")
    for number in range(2):
        for call in ("a", "b"):
            with gone(tmp_path / "guard.db"):
                desk.propose((f"{call}{number}", "pay", {"amount": number}))
        desk.propose((f"c{number}", "look", {}))
    assert [one["gap"]["refused"] for one in desk.audit("audit.gap")] == [{"action": 2}, {"action": 2}]
    desk.guard.close()
