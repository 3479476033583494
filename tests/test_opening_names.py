"""Names that no record could hold are an error where they are given, which says what is wrong: not a store that seems to be down."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from stores_kit import url_of
from votes_kit import LASTING

from guard import Guard, GuardError, Session, ToolCall

KIM = {"principal": "kim", "tenant": "acme", "conversation": "c", "key": "k"}
WHAT = {"conversation": "name of the conversation"}


def look(x: str) -> str:
    return "seen " + x


@pytest.fixture(params=LASTING)
def made(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, Guard]]:
    (tmp_path / "tools.yaml").write_text(
        "limits: {run: {steps: 9, calls: 9}}\ntools: {look: {kind: read, allow: [staff]}}\n", "utf-8"
    )
    with url_of(request.param, tmp_path) as url:
        guard = Guard.load(tmp_path, tools={"look": look}, store=url)
        yield request.param, guard
        guard.close()


def call(guard: Guard, **names: Any) -> str:
    given = KIM | names
    session = Session(principal=given["principal"], tenant=given["tenant"], roles=("staff",))
    return guard.call(ToolCall("i", "look", {"x": "1"}), session, conversation=given["conversation"], key=given["key"]).status


@pytest.mark.parametrize("name", KIM)
def test_half_characters(made: tuple[str, Guard], name: str) -> None:
    """Half a character is refused by every store, under whichever name; whole ones of any script are kept."""
    _, guard = made
    with pytest.raises(GuardError, match=f"the {WHAT.get(name, name)} has half a character .* at position 2"):
        call(guard, **{name: "ab\ud800c"})
    assert call(guard, **{name: "é\U0001f600"}) == "done"


@pytest.mark.parametrize("name", KIM)
def test_nul(made: tuple[str, Guard], name: str) -> None:
    """What PostgreSQL cannot hold is refused there, and kept where it can be."""
    kind, guard = made
    if kind != "postgres":
        assert call(guard, **{name: "a\0b"}) == "done"
        return
    with pytest.raises(GuardError, match=f"the {WHAT.get(name, name)} has a NUL character at position 1"):
        call(guard, **{name: "a\0b"})
