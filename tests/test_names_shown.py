"""Whoever decides reads the real name; what is kept, compared and digested goes by the reference."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from grants_kit import desk, granted

from guard.cli.show import seen
from guard.core.grant_words import promised, words
from guard.core.names import Name

REFERENCE = "person_" + "a" * 40


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("scope", ["same_call", "tool_here", "amount"])
def test_the_words_of_a_grant_name_the_person(scope: str, tmp_path: Path) -> None:
    """The real name stands in the words, the reference in the digest of what was read: the same whether or not the name is known."""
    here = desk(tmp_path)
    made = granted(here, scope)
    known, bare = (replace(made, principal=name) for name in (Name(REFERENCE, "kim@example.com"), REFERENCE))
    assert words(known)[0].startswith("Calls of pay for kim@example.com (tenant")
    assert REFERENCE in words(bare)[0]
    assert (promised(known), known.terms) == (promised(bare), bare.terms)
    here.guard.close()


def test_a_name_is_real_at_a_terminal_alone() -> None:
    """A stream that goes to a file may be a log."""
    name = Name(REFERENCE, "kim\u202e@example.com")
    assert seen(name, Terminal()) == "kim[U+202E]@example.com"
    assert seen(name, io.StringIO()) == REFERENCE
    assert seen("E2", io.StringIO()) == "E2"
