"""`guard kill`: what an operator types and sees, and that a program on the same store obeys."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli_kit import BOSS, CLERK, POLICY, USER, Run, look, pay

from guard import Guard, Session, ToolCall
from guard.core.reasons import Reason


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Any]:
    """A program with one call that waits and one that was approved."""
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "tools.yaml").write_text(f"{POLICY}  {json.dumps(USER)}: {{{BOSS}}}\n", "utf-8")
    with Guard.load(tmp_path / "policies", tools=[pay, look], store=f"sqlite:///{tmp_path / 'guard.db'}") as guard:
        assert [calling(guard, turn).status for turn in (1, 2)] == ["held", "held"]
        guard.approvals.approve(guard.approvals.list()[0], approver=Session(principal="E9", tenant="acme", roles=("boss",)))
        yield guard


def calling(made: Any, turn: int) -> Any:
    call = ToolCall("c", "pay", f'{{"to": "bob", "amount": {turn}}}')
    return made.call(call, CLERK, conversation="conv-1", key=f"k{turn}")


def test_an_operator_stops_a_tool_and_lets_it_go_on(run: Run, made: Any) -> None:
    """What ends is said, what is stopped is listed, a program on the same store obeys at once, and clearing lets new calls go on."""
    ran = run("kill", "set", "--tool", "pay", "--reason", "wrong amounts")
    assert ran.code == 0
    first, second, third = ran.out.splitlines()
    assert re.fullmatch(r"stopped by \S+: the tool pay in every tenant; new calls are refused as `killed`", first)
    assert second == "1 question cancelled, 1 unused yes revoked; a call that has begun goes on"
    name = re.fullmatch(r"let it go on with: guard kill clear (ki_[0-9a-f]{20}) --reason \.\.\.", third)[1]  # type: ignore[index]
    assert [calling(made, turn).reason for turn in (1, 2, 3)] == [Reason.KILLED] * 3
    heads, _, row = run("kill", "list").out.splitlines()
    assert heads.split() == ["kill", "status", "stops", "since", "by", "ended", "reason"]
    assert row.startswith(name)
    assert "the tool pay in every tenant" in row
    assert row.endswith("2 approvals  wrong amounts")
    cleared = run("kill", "clear", name[:9], "--reason", "mended")
    assert (cleared.code, cleared.out.split(":")[0].split()[0]) == (0, "cleared")
    assert run("kill", "list").out == "nothing is stopped\n"
    assert "mended" in run("kill", "list", "--all").out
    assert calling(made, 4).status == "held"


def test_for_a_program(run: Run, made: Any) -> None:
    """With --json each verb prints the kill, whose scope and counts are fields."""
    name = run("kill", "set", "--conversation", "conv-1", "--reason", "r", "--tenant", "acme", "--json").json["id"]
    [one] = run("kill", "list", "--json").json
    assert (one["id"], one["tool"], one["conversation"], one["tenant"]) == (name, None, "conv-1", "acme")
    assert (one["cancelled"], one["revoked"], one["status"], one["cleared_at"]) == (1, 1, "set", None)
    after = run("kill", "clear", name, "--reason", "mended", "--json").json
    assert (after["status"], after["cleared_why"]) == ("cleared", "mended")
    assert run("kill", "list", "--json").json == []


def test_a_conversation_is_one_of_the_operators_tenant(run: Run, made: Any) -> None:
    """Without --tenant it is the tenant of whoever types, as the policy's people say."""
    assert run("kill", "set", "--conversation", "conv-1", "--reason", "r", "--json").json["tenant"] == "acme"


def test_who_somebody_is(run: Run, made: Any, tmp_path: Path) -> None:
    """The operating-system user by the policy's people; whoever is nobody there says who they are, and both are on record."""
    (tmp_path / "policies" / "tools.yaml").write_text(POLICY.partition("people:")[0], "utf-8")
    unknown = run("kill", "set", "--tool", "pay", "--reason", "r")
    assert unknown.code != 0
    assert "--as NAME" in unknown.err
    assert made.kills.list() == ()
    assert run("kill", "set", "--tool", "pay", "--reason", "r", "--as", "ops-anna", "--json").json["by"] == "ops-anna"
    told = [json.loads(one.body) for one in made.store.audit()]
    [actor] = [one["actor"] for one in told if one["kind"] == "kill.set"]
    assert actor == {"type": "human", "ref": "ops-anna", "assurance": "host", "via": "cli", "account": USER}


def test_a_claimed_name_is_one_that_the_policy_knows(run: Run, made: Any) -> None:
    """Where the policy has people, nobody can sign with a name that it does not have; one that it has stands beside the account."""
    wrong = run("kill", "set", "--tool", "pay", "--reason", "r", "--as", "the CEO")
    assert (wrong.code, made.kills.list()) == (2, ())
    assert "--as the CEO: nobody in the policy's people is called so (they are E2)" in wrong.err
    name = run("kill", "set", "--tool", "pay", "--reason", "r", "--as", "E2", "--json").json["id"]
    assert run("kill", "clear", name, "--reason", "r", "--as", "E2").code == 0
    told = [json.loads(one.body) for one in made.store.audit()]
    assert [one["actor"].get("account") for one in told if one["kind"].startswith("kill.")] == [USER, USER]


BROKEN = {
    "no YAML": lambda folder: (folder / "tools.yaml").write_text("tools: [", "utf-8"),
    "an unknown key": lambda folder: (folder / "tools.yaml").write_text(
        f"{POLICY.replace('allow', 'alow')}  x: {{{BOSS}}}\n", "utf-8"
    ),
    "a broken row": lambda folder: (folder / "rules.csv").write_text("p, clerk\n", "utf-8"),
    "no folder": lambda folder: folder.rename(folder.with_name("elsewhere")),
}


@pytest.mark.parametrize("how", BROKEN)
def test_a_policy_that_does_not_load_stops_nobody(run: Run, made: Any, tmp_path: Path, how: str) -> None:
    """The store alone does: what was not checked is said, calls are refused at once, and whoever it was stands there by their account."""
    BROKEN[how](tmp_path / "policies")
    ran = run("kill", "set", "--tool", "pay", "--reason", "wrong amounts, says kim@example.com")
    assert ran.code == 0
    first, second = ran.err.splitlines()
    assert first.startswith("guard: the policy does not load: ")
    assert second == "guard: going on with the store alone: no name was checked against the policy"
    assert [calling(made, turn).reason for turn in (1, 2, 3)] == [Reason.KILLED] * 3
    [kill] = made.kills.list()
    assert (kill.by, kill.reason) == (USER, "wrong amounts, says [email]")
    assert kill.id in run("kill", "list").out
    assert run("kill", "clear", kill.id[:9], "--reason", "mended", "--as", "ops-anna").code == 0
    told = [json.loads(one.body) for one in made.store.audit()]
    actors = [one["actor"] for one in told if one["kind"].startswith("kill.")]
    assert actors == [
        {"type": "human", "ref": USER, "assurance": "os-user", "via": "cli"},
        {"type": "human", "ref": "ops-anna", "assurance": "host", "via": "cli", "account": USER},
    ]


def test_what_can_be_said_without_a_policy_is_said(run: Run, made: Any, tmp_path: Path) -> None:
    """A name that the log has never heard of is doubted and stopped all the same; a conversation needs its tenant; misuse stays misuse."""
    BROKEN["no YAML"](tmp_path / "policies")
    ran = run("kill", "set", "--tool", "pai", "--reason", "r")
    assert (ran.code, ran.err.splitlines()[-1]) == (
        0,
        "guard: no record of this store is about a tool called pai; is it spelt so?",
    )
    alone = run("kill", "set", "--conversation", "conv-1", "--reason", "r")
    assert (alone.code, "--tenant" in alone.err) == (2, True)
    assert [one.stop.tool for one in made.kills.list()] == ["pai"]
    assert run("kill", "set", "--conversation", "conv-1", "--tenant", "acme", "--reason", "r").code == 0
    assert calling(made, 3).reason == Reason.KILLED
    assert run("kill", "set", "--tool", "pay", "--reason", " ").code == 2
    assert run("kill", "list", "--store", "sqlite:///none.db").code == 2


def test_a_conversation_is_found_under_the_name_that_it_is_kept_under(run: Run, tmp_path: Path) -> None:
    """A program whose policy hides more keeps a reference; a kill by a policy that does not load covers the conversation nevertheless."""
    (tmp_path / "policies").mkdir()
    more = "redact: {detectors: {case: {pattern: 'CASE-[0-9]+'}}}\n"
    (tmp_path / "policies" / "tools.yaml").write_text(f"{more}{POLICY}  {json.dumps(USER)}: {{{BOSS}}}\n", "utf-8")
    with Guard.load(tmp_path / "policies", tools=[pay, look], store=f"sqlite:///{tmp_path / 'guard.db'}") as guard:
        call = ToolCall("c", "pay", '{"to": "bob", "amount": 1}')
        assert guard.call(call, CLERK, conversation="CASE-17", key="1").status == "held"
        BROKEN["no YAML"](tmp_path / "policies")
        assert run("kill", "set", "--conversation", "CASE-17", "--tenant", "acme", "--reason", "r").code == 0
        assert guard.call(call, CLERK, conversation="CASE-17", key="2").reason == Reason.KILLED


MISUSE: dict[str, tuple[tuple[str, ...], int, str]] = {
    "nothing": (("set", "--reason", "r"), 2, "--tool NAME, --conversation ID or --tenant TENANT"),
    "misspelt": (("set", "--tool", "pai", "--reason", "r"), 2, "did you mean pay?"),
    "empty": (("set", "--tenant", "", "--reason", "r"), 2, "--tenant: it is empty"),
    "no-reason": (("set", "--tool", "pay", "--reason", " "), 2, "--reason: say why"),
    "not-there": (("clear", "ki_0000000", "--reason", "r"), 1, "guard kill list --all"),
    "no-such-folder": (("set", "--tool", "pay", "--reason", "r", "--policy", "polices"), 2, "polices"),
    "no-store": (("list", "--store", "sqlite:///none.db"), 2, "there is no such store"),
}


@pytest.mark.parametrize(("words", "exit_code", "says"), MISUSE.values(), ids=list(MISUSE))
def test_misuse_names_the_cure(run: Run, made: Any, words: tuple[str, ...], exit_code: int, says: str) -> None:
    """Nothing is stopped by it."""
    ran = run("kill", *words)
    assert ran.code == exit_code
    assert says in ran.err
    assert made.kills.list() == ()


def test_cleared_once(run: Run, made: Any) -> None:
    """The second one hears who was faster, and when."""
    name = run("kill", "set", "--tool", "pay", "--reason", "r", "--json").json["id"]
    run("kill", "clear", name, "--reason", "mended")
    again = run("kill", "clear", name, "--reason", "mended")
    assert again.code == 1
    assert "already cleared by" in again.err
