"""`guard demo` as a person runs it: the four rounds, the question at the terminal, the attacks, and the scripted model server."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest
from cli_kit import at_terminal, environment, guard

from guard.cli.travel.episode import load_episode

EPISODE = load_episode()
Q1 = {"id": "call_q1", "tool": "queryExpense", "status": "done", "reason": None}
Q2 = {"id": "call_q2", "tool": "queryTravelPolicy", "status": "done", "reason": None}
Q3 = {"id": "call_q3", "tool": "calcAmountOver", "status": "done", "reason": None}
Q4 = {"id": "call_q4", "tool": "createExpenseSupplement", "status": "done", "reason": None}
REPORT = {"user_id": "E10238", "status": "submitted"}
GRADE = {"job_level": "P6", "city_tier": "2"}
AMOUNTS = {"actual_amount": Decimal("3860.00"), "limit_amount": Decimal("3800.00")}
TICKET = {"expense_id": "BX-20261015-0932", "over_amount": Decimal("60.00"), "reason": "hotel over the limit"}
ONCE = {"queryExpense": 1, "queryTravelPolicy": 1, "calcAmountOver": 1, "createExpenseSupplement": 1}
NOT_FILED = {**ONCE, "createExpenseSupplement": 0}


def test_demo_json_has_exactly_the_promised_structure(tmp_path: Path) -> None:
    """Four requests with 2, 5, 7 and 9 messages, every call done once with its final arguments, and a chain that holds."""
    ran = guard("demo", "--yes", "--json", cwd=tmp_path)
    assert (ran.code, ran.err) == (0, "")
    found = ran.json
    records = found["audit"].pop("records")
    assert records > 10
    assert found == {
        "rounds": [
            {
                "messages_sent": 2,
                "calls": [{**Q1, "proposed": REPORT, "final": REPORT}, {**Q2, "proposed": GRADE, "final": GRADE}],
            },
            {"messages_sent": 5, "calls": [{**Q3, "proposed": AMOUNTS, "final": AMOUNTS}]},
            {"messages_sent": 7, "calls": [{**Q4, "proposed": TICKET, "final": TICKET}]},
            {"messages_sent": 9, "calls": []},
        ],
        "answer": EPISODE["model_turns"][-1]["content"],
        "executions": ONCE,
        "audit": {"verified": True},
    }
    assert '"actual_amount":3860.00' in ran.out
    assert list(tmp_path.iterdir()) == [], "without --keep nothing is written where the demo is run"


@pytest.mark.parametrize(
    "text",
    [
        "Round 1: 2 messages sent",
        "Round 4: 9 messages sent",
        "the model notes: First I look up",
        'user_id  "E10238"   <- from the session',
        "actual_amount  3860.00   <- from an earlier result",
        'reason       "hotel over the limit"   <- written by the model',
        "hold, held (held_for_approval)",
        "p, employee, *, queryExpense, call, allow",
        "may decide    supervisor, other than E10238",
        "approved by E20417",
        "ticket number is BC-20261020-0417",
        "approval.resolved",
        "the chain holds",
    ],
)
def test_demo_shows_notes_decisions_and_audit(text: str, shown: str) -> None:
    """A person sees what the model noted, each decision with its reason and origins, the vote, and the checked audit."""
    assert text in shown


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> str:
    return guard("demo", "--yes", cwd=tmp_path_factory.mktemp("shown")).out


# -- the question ------------------------------------------------------------------------------------------------------


def test_without_a_terminal_the_call_stays_held(tmp_path: Path) -> None:
    """Nobody to ask: nothing is filed, the way to answer is told, and the exit code is 1."""
    ran = guard("demo", cwd=tmp_path)
    assert ran.code == 1
    assert "held (held_for_approval)" in ran.out
    assert "guard demo --yes" in ran.err
    assert "Round 4" not in ran.out


def test_without_a_terminal_json_is_printed_all_the_same(tmp_path: Path) -> None:
    """The held call has no final arguments, there is no answer, and its tool never ran."""
    ran = guard("demo", "--json", cwd=tmp_path)
    assert ran.code == 1
    assert [one["messages_sent"] for one in ran.json["rounds"]] == [2, 5, 7]
    assert ran.json["rounds"][2]["calls"] == [
        {**Q4, "proposed": TICKET, "final": None, "status": "held", "reason": "held_for_approval"}
    ]
    assert (ran.json["answer"], ran.json["executions"], ran.json["audit"]["verified"]) == (None, NOT_FILED, True)


def test_a_no_at_the_terminal_rejects(tmp_path: Path) -> None:
    """The model is told, the conversation ends sensibly, nothing is filed."""
    ran = at_terminal("demo", cwd=tmp_path, typed=b"n\n")
    assert ran.code == 1
    assert "rejected by E20417" in ran.out
    assert "refused (approval_rejected)" in ran.out
    assert "Your supervisor declined the supplement" in ran.out


@pytest.mark.parametrize("typed", [b"YES\n", b"what?\n\ny\n"], ids=["yes", "asked-again"])
def test_a_yes_at_the_terminal_approves(typed: bytes, tmp_path: Path) -> None:
    """Only a clear answer counts; anything else is asked again. With --json the question goes to stderr."""
    ran = at_terminal("demo", "--json", cwd=tmp_path, typed=typed)
    assert (ran.code, ran.json["executions"]) == (0, ONCE)
    assert "Approve as E20417" in ran.err
    assert '"hotel over the limit"   <- written by the model' in ran.err


def test_a_closed_terminal_is_no_answer(tmp_path: Path) -> None:
    """End of input neither approves nor rejects."""
    ran = at_terminal("demo", "--json", cwd=tmp_path, typed=b"\x04")
    assert (ran.code, ran.json["rounds"][2]["calls"][0]["status"]) == (1, "held")


def test_an_interrupt_ends_with_130(tmp_path: Path) -> None:
    """Ctrl-C at the question: exit code 130 and no traceback."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "guard", "demo", "--json"]
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment(), stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        while "[y/n]" not in (seen := process.stderr.read(1)) and seen != "[":
            assert seen
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    os.close(ours)
    os.close(theirs)
    assert process.returncode == 130
    assert "Traceback" not in err


def test_keep_leaves_a_store_that_the_audit_reads(tmp_path: Path) -> None:
    """--keep makes the folder; two runs stay apart in one store, whose chain holds."""
    assert guard("demo", "--yes", "--keep", "out", cwd=tmp_path).code == 0
    assert guard("demo", "--yes", "--keep", "out", cwd=tmp_path).code == 0
    ran = guard("audit", "--store", "sqlite:///out/guard.db", "--kind", "call.begin", cwd=tmp_path)
    assert ran.code == 0
    assert ran.out.count("createExpenseSupplement") == 2


def test_keep_where_no_folder_can_be_is_misuse(tmp_path: Path) -> None:
    """A file in the way is said, not raised."""
    (tmp_path / "out").write_text("")
    ran = guard("demo", "--yes", "--keep", "out", cwd=tmp_path)
    assert ran.code == 2
    assert ran.err.startswith("guard: out: this folder cannot be made")
