"""Grants under races and crashes: never one use or one cent more than given, whoever is at it; and a process that dies between use and effect."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from cli_kit import environment
from stores_kit import url_of

from guard import Guard, Session, ToolCall

POLICY = """
tools:
  pay:
    kind: action
    allow: [staff]
    repeat: allow
    {effect}approve: {{by: [boss], grants: [{{amount: amount, at_most: 500, sum: 900, same: [payee], uses: 7}}]}}
"""
IDEMPOTENT = "effect: idempotent\n    "
BOSS = Session(principal="b1", roles=("boss",))
U1 = Session(principal="u1", roles=("staff",))
PROGRAM = """
import os, sys, warnings
from pathlib import Path
warnings.simplefilter("ignore")
from guard import Guard, Session, ToolCall, tool
url, log, die, name, *amounts = sys.argv[1:]
@tool
def pay(amount: float, payee: str, idempotency_key: str = "") -> str:
    with open(log, "a") as file:
        file.write(f"{amount}\\n")
    if die == "yes":
        os.kill(os.getpid(), 9)
    return "paid"
guard = Guard.load("policies", tools=[pay], store=url)
who = Session(principal="u1", roles=("staff",))
print("ready", flush=True)
sys.stdin.readline()
for number, amount in enumerate(amounts):
    call = ToolCall("c", "pay", '{"amount": %s, "payee": "A"}' % amount)
    print(guard.call(call, who, conversation=f"{name}-{number}", key=f"k{number}").status, flush=True)
"""


def pay(amount: float, payee: str, idempotency_key: str = "") -> str:
    return "paid"


def folder(place: Path, effect: str = "") -> Path:
    (place / "policies").mkdir()
    (place / "policies" / "tools.yaml").write_text(POLICY.format(effect=effect))
    return place


def opened(place: Path, url: str) -> Any:
    return Guard.load(place / "policies", tools=[pay], store=url)


def given(guard: Any) -> Any:
    """A grant from an approved call."""
    call = ToolCall("c", "pay", '{"amount": 1, "payee": "A"}')
    held = guard.call(call, U1, conversation="first", key="k")
    guard.approvals.approve(held.approval, approver=BOSS)
    return guard.grants.give(held.approval, by=BOSS, scope="amount")


def paying(guard: Any, amount: str, conversation: str) -> str:
    call = ToolCall("c", "pay", f'{{"amount": {amount}, "payee": "A"}}')
    return str(guard.call(call, U1, conversation=conversation, key="k").status)


@pytest.mark.filterwarnings("ignore::guard.PolicyWarning")
@pytest.mark.parametrize("kind", ["memory", "sqlite", "postgres"])
def test_threads_never_use_more_than_was_given(tmp_path: Path, kind: str) -> None:
    """Twelve threads and seven uses: seven calls run, and the others are held or refused, never run."""
    with url_of(kind, folder(tmp_path)) as url:
        guard = opened(tmp_path, url)
        grant = given(guard)
        with ThreadPoolExecutor(12) as pool:
            found = list(pool.map(lambda number: paying(guard, "3.5", f"c{number}"), range(12)))

        assert sorted(found).count("done") == 7
        assert set(found) <= {"done", "held", "refused"}
        after = guard.grants.show(grant)
        assert (after.used, after.summed) == (7, Decimal("24.5"))
        guard.close()


def started(place: Path, url: str, log: Path, name: str, *amounts: str, die: bool = False) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", PROGRAM, url, str(log), "yes" if die else "no", name, *amounts]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=place, env=environment(), stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def finished(programs: list[subprocess.Popen[str]]) -> list[str]:
    """Let programs that are ready go at once; what each of them printed."""
    for one in programs:
        assert one.stdout is not None
        assert one.stdout.readline() == "ready\n"
    for one in programs:
        assert one.stdin is not None
        one.stdin.write("go\n")
        one.stdin.flush()
    return [word for one in programs for word in one.communicate(timeout=120)[0].split()]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::guard.PolicyWarning")
@pytest.mark.parametrize(("kind", "processes"), [("sqlite", 3), ("postgres", 8)])
def test_processes_never_sum_more_than_was_given(tmp_path: Path, kind: str, processes: int) -> None:
    """Several processes pay 200 each, twice: 900 hold four of them, whoever is first; the effects and the books agree."""
    log = tmp_path / "effects"
    with url_of(kind, folder(tmp_path)) as url:
        guard = opened(tmp_path, url)
        grant = given(guard)
        found = finished([started(tmp_path, url, log, f"p{number}", "200", "200") for number in range(processes)])

        assert found.count("done") == 4
        assert set(found) <= {"done", "held", "refused"}
        assert log.read_text().split() == ["200.0"] * 4
        after = guard.grants.show(grant)
        assert (after.used, after.summed) == (4, Decimal(800))
        guard.close()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::guard.PolicyWarning")
@pytest.mark.parametrize(
    ("kind", "effect", "ends", "effects"),
    [("sqlite", "", "unknown", 1), ("sqlite", IDEMPOTENT, "done", 2), ("postgres", IDEMPOTENT, "done", 2)],
    ids=["once", "idempotent", "idempotent-postgres"],
)
def test_a_process_that_dies_between_use_and_end(tmp_path: Path, kind: str, effect: str, ends: str, effects: int) -> None:
    """Killed inside of the tool: the use stays counted, once. The call is unknown, or goes on under that very use where its class lets it."""
    log = tmp_path / "effects"
    with url_of(kind, folder(tmp_path, effect)) as url:
        guard = opened(tmp_path, url)
        grant = given(guard)
        program = started(tmp_path, url, log, "p", "500", die=True)
        assert (finished([program]), program.returncode) == ([], -9)
        assert (guard.grants.show(grant).used, guard.grants.show(grant).summed) == (1, 500)
        again = finished([started(tmp_path, url, log, "p", "500")])
        assert again == [ends]
        assert len(log.read_text().split()) == effects
        after = guard.grants.show(grant)
        assert (after.used, after.summed) == (1, 500)
        assert paying(guard, "400", "next") == "done"
        assert paying(guard, "1", "after") == "held"
        guard.close()
