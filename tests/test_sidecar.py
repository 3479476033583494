"""`guard serve`: a loop elsewhere proposes, runs and reports under the same rules. A real server process, spoken to over HTTP."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from provider import Provider
from sidecar_kit import ORDER, ROOT, WHO, Sidecar

from guard import Guard, Session
from guard.core.model import Approval
from guard.web.api import VERBS
from guard.web.description import described

SUPPORT = Session(principal="s_9", roles=("support",))


@pytest.fixture(scope="module")
def sidecar(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with Sidecar(tmp_path_factory.mktemp("sidecar")) as running:
        yield running


def looked(sidecar: Sidecar, conversation: str, order: Any = ORDER) -> Any:
    """Look an order up, as the loop does it."""
    ticket = sidecar.decide("order_status", '{"order_id": "A17"}', conversation=conversation)["ticket"]
    return sidecar.ask("report", ticket=ticket, status="done", result=order)


def test_what_a_session_sees(sidecar: Sidecar) -> None:
    """The tools of the session, without the fields that it owns; nothing for somebody without a role."""
    names = [tool["function"]["name"] for tool in sidecar.ask("tools", session=WHO)["tools"]]
    [look, _] = sidecar.ask("tools", session=WHO, wire="anthropic")["tools"]

    assert names == ["order_status", "refund"]
    assert [*look["input_schema"]["properties"]] == ["order_id"]
    assert sidecar.ask("tools", session={"principal": "x"})["tools"] == []


def test_an_allowed_call_is_run_elsewhere(sidecar: Sidecar) -> None:
    """The loop gets exactly the arguments that were decided about; the model gets what the policy keeps, with its digits."""
    decided = sidecar.decide("order_status", '{"order_id": "A17", "customer_id": "c_999"}', conversation="run")
    told = sidecar.ask("report", ticket=decided["ticket"], status="done", result=ORDER)

    assert (decided["decision"], decided["arguments"]) == ("allow", {"order_id": "A17", "customer_id": "c_123"})
    assert decided["timeout"] == 300
    assert (told["status"], told["content"]) == ("done", '{"order_id":"A17","status":"delivered","total":120.5}')
    same = sidecar.ask("report", ticket=decided["ticket"], status="done", result=ORDER)
    assert same == {**told, "replayed": True}
    other = sidecar.post("report", {"ticket": decided["ticket"], "status": "failed"})
    assert (other.status_code, "reported already" in other.text) == (409, True)  # the first report counts


@pytest.mark.parametrize(
    ("tool", "arguments", "session", "reason"),
    [
        ("refund", {"order_id": "A17", "amount": 20}, WHO, "not_grounded"),
        ("refund", '{"order_id": "A17", "amount": ', WHO, "malformed_arguments"),
        ("refund", {"order_id": "A17", "amount": -1}, WHO, "invalid_arguments"),
        ("delete_all", "{}", WHO, "unknown_tool"),
        ("order_status", '{"order_id": "A17"}', {"principal": "x"}, "not_authorized"),
        ("order_status", None, WHO, "invalid_arguments"),
    ],
)
def test_a_refusal_is_the_answer(sidecar: Sidecar, tool: str, arguments: Any, session: Any, reason: str) -> None:
    """No ticket, and a text that the model can use."""
    decided = sidecar.decide(tool, arguments, conversation=f"refused {tool} {reason}", session=session)

    assert (decided["decision"], decided["reason"], decided["error"], "ticket" in decided) == ("refuse", reason, True, False)
    assert reason in decided["content"]


@pytest.mark.parametrize(
    ("report", "status", "text"),
    [
        ({"status": "done", "result": {"refund_id": "R-1"}}, "done", "R-1"),
        ({"status": "done"}, "done", "Done"),
        ({"status": "failed", "message": "the bank said no to ann@example.com"}, "failed", "the bank said no to [email]"),
        ({"status": "failed"}, "failed", "The tool failed"),
        ({"status": "unknown"}, "unknown", "may or may not"),
    ],
    ids=str,
)
def test_how_an_action_ended(sidecar: Sidecar, report: Any, status: str, text: str) -> None:
    """What the loop reports is what is recorded and told, through the same redaction."""
    conversation = f"ended {report}"
    looked(sidecar, conversation)
    sidecar.ask("said", session=WHO, conversation=conversation, text="Please refund 20.")
    decided = sidecar.decide("refund", {"order_id": "A17", "amount": 20}, conversation=conversation)
    told = sidecar.ask("report", ticket=decided["ticket"], **report)

    assert (decided["decision"], told["status"]) == ("allow", status)
    assert text in told["content"]


@pytest.mark.slow
def test_a_held_call_runs_once_it_is_approved(tmp_path: Path) -> None:
    """It waits; proposed again after a yes it is allowed, and the next time its recorded outcome is the answer."""
    with Sidecar(tmp_path) as sidecar:
        looked(sidecar, "c")
        refund = {"order_id": "A17", "amount": 100}
        held = sidecar.decide("refund", refund)
        assert (held["decision"], bool(held["approval"])) == ("hold", True)
        assert sidecar.decide("refund", refund)["approval"] == held["approval"]
        _approve(tmp_path, held["approval"])
        decided = sidecar.decide("refund", refund)
        sidecar.ask("report", ticket=decided["ticket"], status="done", result={"refund_id": "R-1"})
        again = sidecar.decide("refund", refund)

    assert (decided["decision"], decided["arguments"]) == ("allow", refund)
    assert (again["decision"], again["replayed"], "R-1" in again["content"]) == ("answer", True, True)


def _approve(folder: Path, approval: str) -> Approval:
    names = {name: (lambda **_: None) for name in ("order_status", "refund")}
    with Guard.load(ROOT / "examples/sidecar/policies", tools=names, store=f"sqlite:///{folder}/guard.db") as guard:
        return guard.approvals.approve(approval, approver=SUPPORT)


def test_one_call_proposed_by_many_runs_once(sidecar: Sidecar) -> None:
    """Of four equal proposals one gets a ticket; the others wait for its outcome and get that."""
    looked(sidecar, "many")

    def one(_: int) -> Any:
        decided = sidecar.decide("refund", {"order_id": "A17", "amount": 10}, conversation="many")
        if decided["decision"] == "allow":
            return sidecar.ask("report", ticket=decided["ticket"], status="done", result={"refund_id": "R-7"})
        return decided

    with ThreadPoolExecutor(4) as pool:
        told = [*pool.map(one, range(4))]
    assert [one["status"] for one in told] == ["done"] * 4
    assert sorted(one["replayed"] for one in told) == [False, *[True] * 3]


def test_one_ticket_reported_by_many_at_once(sidecar: Sidecar) -> None:
    """The first report counts; an equal one gets its outcome as a replay and another one 409, also before the walk has ended."""
    looked(sidecar, "at once")
    ticket = sidecar.decide("refund", {"order_id": "A17", "amount": 11}, conversation="at once")["ticket"]
    reports = [{"status": "done", "result": {"refund_id": "R-9"}}] * 6 + [{"status": "failed"}] * 2
    with ThreadPoolExecutor(8) as pool:
        answers = [*pool.map(lambda one: sidecar.post("report", {"ticket": ticket, **one}), reports)]
    first = next(answer.json() for answer in answers if answer.status_code == 200 and not answer.json()["replayed"])
    for answer, report in zip(answers, reports, strict=True):
        assert answer.status_code == (200 if report["status"] == first["status"] else 409), answer.text
    assert sum(answer.status_code == 200 and not answer.json()["replayed"] for answer in answers) == 1


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_what_was_never_reported_is_unknown(how: signal.Signals, tmp_path: Path) -> None:
    """A server that ends before the report has lost the call: it is not run again by itself, and a late report is told so."""
    with Sidecar(tmp_path) as sidecar:
        looked(sidecar, "c")
        ticket = sidecar.decide("refund", {"order_id": "A17", "amount": 20})["ticket"]
        sidecar.stop(how)
    with sidecar as after:
        late = after.post("report", {"ticket": ticket, "status": "done"})
        again = after.decide("refund", {"order_id": "A17", "amount": 20})

    assert (late.status_code, "unknown" in late.json()["error"]) == (404, True)
    assert again["decision"] != "allow"
    assert again["status"] in ("unknown", "refused", "held")


@pytest.mark.slow
def test_a_report_after_a_crash(tmp_path: Path) -> None:
    """The loop ran the tool and the server was killed before it heard so: it is told what to do, the call ends as unknown, and no proposal runs it again."""
    shutil.copytree(ROOT / "examples" / "sidecar" / "policies", tmp_path / "policies")
    tools = (tmp_path / "policies" / "tools.yaml").read_text("utf-8")
    (tmp_path / "policies" / "tools.yaml").write_text(tools.replace("kind: action", "kind: action\n    timeout: 1", 1), "utf-8")
    refund = {"order_id": "A17", "amount": 20}
    with Sidecar(tmp_path, policy=tmp_path / "policies") as sidecar:
        looked(sidecar, "c")
        ticket = sidecar.decide("refund", refund)["ticket"]
        sidecar.stop(signal.SIGKILL)
    with sidecar as after:
        late = after.post("report", {"ticket": ticket, "status": "done", "result": {"refund_id": "R-1"}})
        again = [after.decide("refund", refund), after.decide("refund", refund, key="k"), after.decide("refund", refund)]
    assert (late.status_code, "guard approvals unknown" in late.json()["error"]) == (404, True)
    assert [one["decision"] for one in again] == ["answer"] * 3
    assert {(one["status"], one["reason"]) for one in again} == {("unknown", "outcome_unknown")}
    names = {name: (lambda **_: None) for name in ("order_status", "refund")}
    with Guard.load(tmp_path / "policies", tools=names, store=f"sqlite:///{tmp_path}/guard.db") as guard:
        [doubt] = guard.unknown.list()
        assert (doubt.tool, doubt.arguments, doubt.attempt) == ("refund", refund, 1)
        kinds = [json.loads(one.body)["kind"] for one in guard.store.audit()]
        assert (kinds.count("call.begin"), kinds.count("call.unknown")) == (1, 1)


@pytest.mark.slow
def test_a_report_that_never_comes(tmp_path: Path) -> None:
    """A loop that does not report is given up: an action is unknown, until its own late report settles it."""
    with Sidecar(tmp_path, "--report-within", "0.3") as sidecar:
        looked(sidecar, "c")
        ticket = sidecar.decide("refund", {"order_id": "A17", "amount": 20})["ticket"]
        again = sidecar.decide("refund", {"order_id": "A17", "amount": 20})
        late = sidecar.ask("report", ticket=ticket, status="done", result={"refund_id": "R-9"})
        once_more = sidecar.ask("report", ticket=ticket, status="done", result={"refund_id": "R-9"})
        other = sidecar.post("report", {"ticket": ticket, "status": "failed"})
        then = sidecar.decide("refund", {"order_id": "A17", "amount": 20})

    assert (again["status"], late["status"], late["replayed"], "R-9" in late["content"]) == ("unknown", "done", False, True)
    assert (once_more["status"], once_more["replayed"], other.status_code) == ("done", True, 409)
    assert (then["status"], then["replayed"]) == ("done", True)


@pytest.mark.slow
def test_the_loop_is_told_how_long_it_may_take(tmp_path: Path) -> None:
    """A tool's own time-out where it has one, which a shorter wait of the server's does not cut; else that wait. The call is given up then."""
    shutil.copytree(ROOT / "examples" / "sidecar" / "policies", tmp_path / "policies")
    tools = (tmp_path / "policies" / "tools.yaml").read_text("utf-8")
    (tmp_path / "policies" / "tools.yaml").write_text(tools.replace("kind: read", "kind: read\n    timeout: 90", 1), "utf-8")
    with Sidecar(tmp_path, "--report-within", "0.3", policy=tmp_path / "policies") as sidecar:
        looked(sidecar, "c")
        look = sidecar.decide("order_status", '{"order_id": "A17"}', conversation="other")
        refund = sidecar.decide("refund", {"order_id": "A17", "amount": 20})
        assert (look["timeout"], refund["timeout"]) == (90, 0.3)
        assert sidecar.decide("refund", {"order_id": "A17", "amount": 20})["status"] == "unknown"  # once the first is given up
        told = sidecar.ask("report", ticket=look["ticket"], status="done", result=ORDER)
        assert (told["status"], told["replayed"]) == ("done", False)


def test_the_description_is_of_these_verbs(sidecar: Sidecar) -> None:
    """It is valid OpenAPI in its parts, names every verb, and describes what was answered."""
    told = sidecar.client.get("/openapi.json").json()
    assert told == described()
    verbs = [f"/api/v1/{name}" for name in VERBS]
    assert [*told["paths"]][: len(verbs)] == verbs
    for path in verbs:
        body = told["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"]
        jsonschema.Draft202012Validator.check_schema(body)
    answers = [
        sidecar.decide("refund", "{}", conversation="d"),
        sidecar.decide("order_status", '{"order_id": "A17"}', conversation="d"),
    ]
    for answer in answers:
        schema = {"$ref": "#/components/schemas/Decision", "components": told["components"]}
        jsonschema.Draft202012Validator(schema).validate(answer)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("node") is None, reason="no node on this machine")
def test_the_loop_in_javascript(tmp_path: Path) -> None:
    """The example runs as it stands: it looks an order up, refunds, and the model has the last word."""
    calls = [
        ("order_status", '{"order_id": "A17"}'),
        ("refund", '{"order_id": "A17", "amount": 40}'),
        ("refund", '{"order_id": "A17", "amount": 4000}'),
    ]
    script: list[Any] = [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": f"c{i}", "type": "function", "function": {"name": n, "arguments": a}}],
        }
        for i, (n, a) in enumerate(calls)
    ]
    with Sidecar(tmp_path) as sidecar, Provider([*script, {"role": "assistant", "content": "It is on its way."}]) as provider:
        env = {
            **os.environ,
            "GUARD_TOKEN": sidecar.token,
            "GUARD_URL": sidecar.url,
            "OPENAI_BASE_URL": provider.url + "/v1",
            "OPENAI_API_KEY": "x",
        }
        done = subprocess.run(
            ["node", str(ROOT / "examples" / "sidecar_node.mjs")],
            env=env,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    assert (done.returncode, provider.rejections) == (0, []), done.stderr
    assert done.stdout.splitlines() == [
        "order_status: done",
        "refund: done",
        "refund: refused (not_grounded)",
        "It is on its way.",
    ]
    assert "23456789" not in str(provider.requests)
