"""`guard audit erase` says so where there is nothing of the kind, and how much would go before it asks."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_kit import guard
from search_kit import record
from stores_kit import REF, event

from guard.stores import open_store


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    store = open_store(f"sqlite:///{tmp_path}/guard.db")
    store.say(REF, "hello", event("user.said"))
    store.record((), [record("call.proposed", conversation="conv-1", turn=8, position=0)])
    store.close()
    return tmp_path


@pytest.mark.parametrize("words", [("--person", "nobody@example.com"), ("--call", "conv-1:9:0"), ("--call", "conv-1/9/0")])
def test_what_is_not_there_is_not_erased(words: tuple[str, str], folder: Path) -> None:
    """Exit code 1 and a line that names it: nobody takes it for done."""
    ran = guard("audit", "erase", *words, "--reason", "r", "--yes", cwd=folder)
    assert (ran.code, ran.out) == (1, "")
    assert f"no record is about {words[1]}" in ran.err


@pytest.mark.parametrize("place", ["conv-1:8:0", "conv-1/8/0"])
def test_a_place_is_written_in_both_ways(place: str, folder: Path) -> None:
    """What one command shows, the other one takes."""
    assert guard("audit", "erase", "--call", place, "--reason", "r", "--yes", cwd=folder).code == 0
    shown = guard("audit", "show", place, "--json", cwd=folder)
    assert shown.json["call"] == "conv-1/8/0"


def test_the_question_says_how_much_would_go(folder: Path) -> None:
    """Before anybody answers."""
    ran = guard("audit", "erase", "--conversation", "conv-1", "--reason", "r", cwd=folder)
    assert ran.code == 1
    assert "Everything that is over in 1 whole conversation goes; the records stay, with their redacted copies." in ran.err
