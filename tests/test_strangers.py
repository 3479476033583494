"""Strangers: calls that were proposed in a conversation of somebody else are refused and leave as much of a trace as any refusal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from record_kit import fitting
from reload_kit import CLERK, load, write
from stores_kit import STORES, records, url_of

from guard import Session, ToolCall
from guard.cli.main import main
from guard.core.ports import Store
from guard.core.replacing import replace
from guard.stores.chain import verify_store

STRANGER = Session(principal="E2", roles=("clerk",))
CALL = ToolCall("s1", "look", {"n": 7})


def of_strangers(store: Store) -> list[dict[str, Any]]:
    found = [fitting(record.body) for record in records(store)]
    return [one for one in found if one.get("principal") == "E2"]


@pytest.mark.parametrize("kind", STORES)
def test_a_call_in_a_conversation_of_somebody_else_is_on_record(kind: str, tmp_path: Path) -> None:
    """Each time: who proposed what, that it was refused and why, under which roles and policy; it takes no turn of the conversation."""
    with url_of(kind, tmp_path) as url, load(write(tmp_path / "policies"), store=url) as guard:
        guard.call(CALL, CLERK, conversation="c")
        for _ in range(2):
            outcome = guard.call(CALL, STRANGER, conversation="c")
            assert (outcome.status, outcome.reason) == ("refused", "not_owner")
        assert guard.call(ToolCall("c2", "look", {"n": 8}), CLERK, conversation="c").turn == 2
        proposed, decided, *again = of_strangers(guard.store)
        assert [one["kind"] for one in (proposed, decided, *again)] == ["call.proposed", "call.decided"] * 2
        assert (decided["turn"], decided["position"], decided["conversation"]) == (0, 0, "c")
        assert (proposed["call_id"], proposed["tool"], proposed["args"]["size"]) == ("s1", {"name": "look"}, 9)
        told = decided["decision"]
        assert (told["verdict"], told["code"], told["policy"]) == ("refuse", "not_owner", guard.policy.version)
        assert decided["session"] == {"roles": ["clerk"]}
        assert verify_store(guard.store).ok


def test_where_it_cannot_be_recorded_it_is_a_refusal_and_a_gap(tmp_path: Path) -> None:
    """Refused for lack of a record, and counted with what else was."""
    file = tmp_path / "guard.db"
    with load(write(tmp_path / "policies"), store=f"sqlite:///{file}") as guard:
        guard.call(CALL, CLERK, conversation="c")
        file.rename(tmp_path / "aside")
        assert guard.call(CALL, STRANGER, conversation="c").reason == "store_unavailable"
        (tmp_path / "aside").rename(file)
        guard.call(CALL, CLERK, conversation="c")
        [gap] = [one for record in records(guard.store) if (one := json.loads(record.body))["kind"] == "audit.gap"]
        assert gap["gap"]["refused"] == {"read": 1}


def test_the_commands_find_it_and_a_replay_goes_over_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Among the refusals, under its place; it rests on whose the conversation is, so no policy decides it again."""
    policy, url = write(tmp_path / "policies"), f"sqlite:///{tmp_path}/guard.db"
    with load(policy, store=url) as guard:
        guard.call(CALL, CLERK, conversation="c")
        guard.call(CALL, replace(STRANGER, principal="E3"), conversation="c")
    assert main(["audit", "--refused", "--principal", "E3", "--json", "--store", url]) == 0
    [one] = map(json.loads, capsys.readouterr().out.splitlines())
    assert one["decision"]["code"] == "not_owner"
    assert main(["audit", "show", "c/0/0", "--store", url]) == 0
    assert "not_owner" in capsys.readouterr().out
    assert main(["diff", str(policy), str(policy), "--replay", url]) == 0
