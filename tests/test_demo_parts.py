"""What the demo is made of: the scripted model server, the made-up systems, and the example with the real `openai` package."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import pytest
from cli_kit import REPO, guard, program, travel_policy, unwarned

from guard.cli.travel.episode import load_episode, policy_path, script_of
from guard.cli.travel.model_server import PATH, ModelServer
from guard.cli.travel.report import proposed
from guard.cli.travel.tools import TravelDesk

EPISODE = load_episode()
ASKED = {"role": "user", "content": "?"}
CALLS = EPISODE["model_turns"][0]


def result(call_id: str) -> dict[str, str]:
    return {"role": "tool", "tool_call_id": call_id, "content": "{}"}


@pytest.mark.parametrize(
    "messages",
    [
        [ASKED, CALLS],
        [ASKED, CALLS, result("call_q1")],
        [ASKED, CALLS, result("call_q1"), ASKED],
        [ASKED, CALLS, result("call_q1"), result("call_q1")],
        [ASKED, CALLS, result("call_q1"), result("call_q2"), result("call_q2")],
        [ASKED, CALLS, result("call_q1"), result("call_zz")],
        [ASKED, result("call_q1"), result("call_q2")],
        [ASKED, EPISODE["model_turns"][1], result("call_q3")],
        "no list",
    ],
    ids=["unanswered", "half", "interrupted", "twice", "thrice", "wrong-id", "no-turn", "other-turn", "no-list"],
)
def test_the_model_server_rejects_a_history_that_is_not_well_formed(messages: Any) -> None:
    """An open call id, a result without its call, or a missing assistant turn: status 400, as from a provider."""
    with ModelServer({"travel": script_of(EPISODE)}) as server, httpx.Client(trust_env=False) as client:
        answer = client.post(server.url + PATH, json={"model": "travel", "messages": messages})
    assert answer.status_code == 400
    assert answer.json()["error"]["type"] == "invalid_request_error"


@pytest.mark.parametrize(("path", "body"), [("/v1/models", {"model": "travel"}), (PATH, {"model": "x"})], ids=["path", "model"])
def test_the_model_server_knows_only_its_scripts(path: str, body: dict[str, str]) -> None:
    """Another path or model is not found."""
    with ModelServer({"travel": script_of(EPISODE)}) as server, httpx.Client(trust_env=False) as client:
        assert client.post(server.url + path, json=body).status_code == 404


@pytest.mark.parametrize(
    ("text", "shown"),
    [('{"a": 1.50}', {"a": Decimal("1.50")}), ("[1]", "[1]"), ('{"a": NaN}', '{"a": NaN}'), ("{", "{"), (None, None)],
    ids=["object", "list", "nan", "broken", "none"],
)
def test_proposed_arguments_are_an_object_only_when_they_parse(text: str | None, shown: Any) -> None:
    """Whatever is no JSON object is shown as the text that the model wrote; numbers keep their digits."""
    assert proposed({"function": {"arguments": text}}) == shown


def test_the_desk_keeps_amounts_exact() -> None:
    """3860.00 stays 3860.00, and the ratio has four digits."""
    desk = TravelDesk(EPISODE["systems"])
    report = desk.query_expense("E10238")
    assert report is not None
    assert str(report["amount"]) == "3860.00"
    over = desk.calc_amount_over(Decimal("3860.00"), Decimal("3800.00"))
    assert (str(over["over_amount"]), str(over["over_ratio"]), over["is_over"]) == ("60.00", "0.0158", True)
    assert desk.query_expense("E10238", "paid") is None


def test_the_policy_of_the_demo_is_the_shipped_one() -> None:
    """A checkout uses policies/ at its root."""
    assert policy_path() == REPO / "policies"


# -- the example with the real openai package --------------------------------------------------------------------------


def test_the_example_waits_for_the_supervisor_and_files_once(tmp_path: Path) -> None:
    """The README's loop on real HTTP: held, approved by another process, filed once by the next run, told to the model."""
    example = (REPO / "examples" / "travel_expense.py").read_text("utf-8")
    text = f"__file__ = {str(REPO / 'examples' / 'travel_expense.py')!r}\n{example}"
    scripts = {"travel": script_of(EPISODE), "later": script_of(EPISODE, [EPISODE["model_turns"][-1]])}
    with ModelServer(scripts) as server:
        web = {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "made-up", "NO_PROXY": "127.0.0.1"}
        first = program(text, cwd=tmp_path, MODEL="travel", **web)
        assert (first.code, unwarned(first.err)) == (0, "")
        assert "createExpenseSupplement: held (held_for_approval)" in first.out
        assert "filing" not in first.out
        policy = str(travel_policy(tmp_path / "policy"))
        waiting = guard("approvals", "list", "--json", "--policy", policy, cwd=tmp_path).json
        assert guard("approvals", "approve", waiting[0]["id"], "--yes", "--policy", policy, cwd=tmp_path).code == 0
        later = program(text, cwd=tmp_path, MODEL="later", **web)
    assert later.out.count("filing 60.00 yuan for BX-20261015-0932") == 1
    assert "BC-20261020-0417" in later.out
