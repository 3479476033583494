"""The PostgreSQL store where the server breaks a deadlock: tried again, and a refusal with its own reason where that does not help."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import postgres_kit
import pytest
from stores_kit import REF, claim
from wire_helpers import message

from guard import Guard, Session
from guard.core.ports import Won
from guard.errors import StoreError
from guard.stores import open_store
from guard.stores.chain import verify_store
from guard.stores.postgres import TRIES

POLICY = "tools:\n  pay: {kind: action, allow: [staff], approve: never}\nlimits: {run: {calls: 20}}\n"
BROKEN = """
CREATE SEQUENCE tried;
CREATE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF nextval('tried') <= {times} THEN RAISE EXCEPTION USING ERRCODE = '40P01'; END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER broken BEFORE INSERT ON claims FOR EACH ROW EXECUTE FUNCTION broken();
"""
PAID: list[int] = []


def pay(amount: int) -> str:
    """Pay."""
    PAID.append(amount)
    return "paid"


@pytest.fixture
def url() -> Iterator[str]:
    with postgres_kit.database() as made:
        yield made


def test_a_deadlock_that_passes_is_not_noticed(url: str) -> None:
    """The same work is done again, and only the last time counts: one claim, one record."""
    postgres_kit.run(url, BROKEN.format(times=2))
    with closing(open_store(url)) as store:
        assert isinstance(store.claim(claim()), Won)
        assert [row.status for row in store.rows(REF)] == ["started"]
        assert verify_store(store).ok


def test_a_deadlock_that_stays_has_its_own_reason(url: str) -> None:
    """After so many tries nothing is written, and the error says why."""
    postgres_kit.run(url, BROKEN.format(times=TRIES * 4))
    with closing(open_store(url)) as store:
        with pytest.raises(StoreError) as caught:
            store.claim(claim())
        assert caught.value.code == "deadlock"
        assert store.rows(REF) == ()
        assert verify_store(store).ok


def test_an_action_is_refused_for_it_before_it_runs(url: str, tmp_path: Path) -> None:
    """The tool does not run, and the model is told that the call was refused since nothing can be recorded."""
    PAID.clear()
    (tmp_path / "tools.yaml").write_text(POLICY)
    postgres_kit.run(url, BROKEN.format(times=1_000))
    with Guard.load(tmp_path, tools=[pay], store=url) as guard:
        chat = guard.open(Session(principal="u1", roles=("staff",)), wire="openai-chat", conversation="c1")
        turn = chat.handle(message("openai-chat", ("c1", "pay", '{"amount": 3}')), history=[chat.user("go")])
    assert [(outcome.status, outcome.reason) for outcome in turn.outcomes] == [("refused", "store_unavailable")]
    assert '"cause":"deadlock"' in str(turn.messages).replace(" ", "")
    assert PAID == []
