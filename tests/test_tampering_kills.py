"""A stop that was taken out of the store and put back: whatever began meanwhile began under it, in whichever chain its record stands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rows_kit import BOSSES, Desk, execute, program
from stores_kit import Clock, url_of

from guard.cli.audit_verify import stored_report
from guard.core.ports import Store

UNDER = "was in force by the records when a call began that it covers"
SCOPES: dict[str, dict[str, Any]] = {
    "a-tool": {"tool": "send"},
    "a-conversation": {"conversation": "c3", "tenant": "default"},
    "a-tenant": {"tenant": "default"},
}


def problems(store: Store) -> list[str]:
    return [one.what for one in stored_report(store, [], None).problems]


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
@pytest.mark.parametrize("scope", SCOPES.values(), ids=SCOPES)
def test_a_call_that_began_while_a_kill_was_taken_out_is_found(kind: str, scope: dict[str, Any], tmp_path: Path) -> None:
    """The kill stands again as it stood; what began before it and after it was cleared is nobody's fault, and what it does not cover neither."""

    def pay(amount: int, to: str, account: str, note: str = "") -> int:
        return amount

    def send(to: str) -> str:
        return to

    def look(account: str) -> str:
        return account

    with url_of(kind, tmp_path) as url:
        guard = program(tmp_path, url, [pay, send, look], Clock())
        desks = [Desk(guard, f"c{number}") for number in range(6)]
        for desk in desks:
            assert desk.call("send", to="a").status == "done"
        kill = guard.kills.set(by=BOSSES[0], reason="stop", **scope)
        assert [desks[3].call("send", to="b").status, desks[4].call("look").status in ("done", "refused")] == ["refused", True]
        assert problems(guard.store) == []
        execute(url, "CREATE TABLE kept AS SELECT * FROM kills")
        execute(url, "DELETE FROM kills")
        assert desks[3].call("send", to="c").status == "done"
        execute(url, "INSERT INTO kills SELECT * FROM kept")
        execute(url, "DROP TABLE kept")
        assert [UNDER in one for one in problems(guard.store)] == [True]
        guard.kills.clear(kill, by=BOSSES[0], reason="over")
        for desk in desks:
            assert desk.call("send", to="d").status == "done"
        assert [UNDER in one for one in problems(guard.store)] == [True]
        guard.close()
