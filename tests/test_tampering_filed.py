"""What is filed beside a record, so that it can be found: a copy that was changed, taken out or made up is found, and named with its record."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import postgres_kit
import pytest
import tampering_kit as kit
from stores_kit import Clock, url_of

from guard.stores import open_store


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[kit.Scene]:
    folder, clock = tmp_path_factory.mktemp(request.param), Clock()
    with url_of(request.param, folder) as url:
        store = open_store(url, clock=clock)
        scene = kit.scene(store, url, folder, clock)
        store.catch_up()
        yield scene
        store.close()


def run(url: str, *statements: str) -> None:
    if not url.startswith("sqlite"):
        postgres_kit.run(url, *statements)
        return
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as file:
        for statement in statements:
            file.execute(statement)
        file.commit()


EDITS = {
    "conversation": "UPDATE filed SET conversation = 'other' WHERE chain = {c} AND seq = {s}",
    "kind": "UPDATE filed SET kind = 'x.y' WHERE chain = {c} AND seq = {s}",
    "person": "UPDATE filed SET principal = 'E9' WHERE chain = {c} AND seq = {s}",
    "time": "UPDATE filed SET at = at + 1 WHERE chain = {c} AND seq = {s}",
    "tag": "INSERT INTO tags (tag, chain, seq) VALUES ('x', {c}, {s})",
    "taken-out": "DELETE FROM filed WHERE chain = {c} AND seq = {s}",
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_an_edited_copy_is_found(made: kit.Scene, edit: str) -> None:
    """Nobody finds records by what they do not say; before and after the edit is taken back nothing is reported."""
    chain = max(made.log, key=lambda one: len(made.log[one]))
    seq = len(made.log[chain]) // 2
    assert made.verified().ok
    run(made.url, "CREATE TABLE kept AS SELECT * FROM filed", edit.format(c=chain, s=seq))
    first = made.verified().problems[0]
    assert (first.chain, first.seq) == (chain, seq)
    assert "filed" in first.what
    run(
        made.url,
        "DELETE FROM filed",
        "INSERT INTO filed SELECT * FROM kept",
        "DROP TABLE kept",
        "DELETE FROM tags WHERE tag = 'x'",
    )
    assert made.verified().ok
