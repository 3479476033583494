"""What is filed beside a record, so that it can be found: a copy that was changed, taken out or made up is found, and named with its record."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
import tampering_kit as kit
from stores_kit import Clock, url_of

from guard.stores import open_store
from guard.stores.filing import COLUMNS


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[kit.Scene]:
    folder, clock = tmp_path_factory.mktemp(request.param), Clock()
    with url_of(request.param, folder) as url:
        store = open_store(url, clock=clock)
        scene = kit.scene(store, url, folder, clock)
        store.catch_up()
        yield scene
        store.close()


OTHER = {
    "at": "at + 1",
    "turn": "COALESCE(turn, 0) + 1",
    "position": "COALESCE(position, 0) + 1",
    "spoof": "1 - spoof",
    "shadow": "1 - shadow",
}
_WORD = "'other'"
EDITS = {
    **{name: f"UPDATE filed SET {name} = {OTHER.get(name, _WORD)} WHERE chain = {{c}} AND seq = {{s}}" for name in COLUMNS},  # noqa: S608 - our own names
    "tag": "INSERT INTO tags (tag, chain, seq) VALUES ('x', {c}, {s})",
    "taken-out": "DELETE FROM filed WHERE chain = {c} AND seq = {s}",
    "moved": "UPDATE filed SET seq = seq + 100000 WHERE chain = {c} AND seq = {s}",
}
"""Every column that is copied, and what else can be done to a row of copies."""


@pytest.mark.parametrize("name", EDITS)
def test_an_edited_copy_is_found(made: kit.Scene, name: str) -> None:
    """At a random record: nobody finds records by what they do not say. Once it is taken back, nothing is reported."""
    rng = random.Random()
    chain = rng.choice([chain for chain, records in made.log.items() if len(records) > 5])
    seq = rng.randrange(1, len(made.log[chain]))  # behind the last row of a chain nothing is filed yet
    kit.plainly(made.url, "CREATE TABLE kept AS SELECT * FROM filed", EDITS[name].format(c=chain, s=seq))
    first = made.verified().problems[0]
    assert (first.chain, first.seq) == (chain, seq)
    assert ("tags" if name == "tag" else name if name in COLUMNS else "") in first.what
    kit.plainly(
        made.url,
        *("DELETE FROM filed", "INSERT INTO filed SELECT * FROM kept", "DROP TABLE kept", "DELETE FROM tags WHERE tag = 'x'"),
    )
    assert made.verified().ok
