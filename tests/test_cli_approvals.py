"""`guard approvals`: what an approver is shown, whose vote counts, and what everybody else learns (nothing)."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from cli_kit import BOSS, CLERK, USER, Run, at_terminal, folder, guard, look, pay, program, unwarned, waiting

from guard import Guard, ToolCall

VOTE = {"approve": ("approve", "--yes"), "reject": ("reject", "--reason", "no")}
"""How each is said without a terminal."""
PROGRAM = """
import sys
from guard import Guard, Session, ToolCall
def pay(to: str, amount: float) -> dict:
    print("paid", to)
    return {"to": to}
def look(who: str) -> dict:
    return {}
guard = Guard.load("policies", tools=[pay, look])
session = Session(principal="E1", tenant="acme", roles=("clerk",))
outcome = guard.call(ToolCall("c1", "pay", '{"to": "bob", "amount": 10.5}'), session, conversation="conv-1", key="k1")
print(outcome.status, outcome.reason)
"""


@pytest.mark.parametrize(
    ("verb", "end"),
    [("approve", "paid bob\ndone None\n"), ("reject", "refused approval_rejected\n")],
)
def test_a_vote_in_one_process_counts_in_another(verb: str, end: str, tmp_path: Path) -> None:
    """A program asks, the command line decides, the program goes on: it pays once after a yes, never after a no."""
    folder(tmp_path / "policies")
    assert program(PROGRAM, cwd=tmp_path).out == "held held_for_approval\n"
    listed = guard("approvals", "list", "--json", cwd=tmp_path).json
    ran = guard("approvals", *VOTE[verb], listed[0]["id"], "--reason", "because", cwd=tmp_path)
    assert ran.code == 0
    assert 'to      "bob"   <- written by the model' in ran.out
    assert ran.out.splitlines()[-1].startswith(f"{verb.rstrip('e')}ed by E2")
    assert program(PROGRAM, cwd=tmp_path).out == end
    assert "paid" not in program(PROGRAM, cwd=tmp_path).out
    assert guard("audit", "--verify", cwd=tmp_path).code == 0


def test_list_tells_what_waits_apart(run: Run, asked: Guard) -> None:
    """The list names tool, first arguments with nothing unseen in them, requester, conversation and expiry in UTC."""
    ran = run("approvals", "list")
    assert ran.code == 0
    row = ran.out.splitlines()[-1]
    assert row.startswith(waiting(asked))
    assert all(text in row for text in ("pending", "pay", "E1", "conv-1", "UTC"))
    assert 'to "bob[U+202E]"' in row


def test_list_all_shows_decided_ones_too(run: Run, asked: Guard) -> None:
    """What was decided is gone from the list and stands in the list of all."""
    run("approvals", "reject", waiting(asked), "--reason", "no")
    assert run("approvals", "list").out == "no approvals wait for E2 in the tenant acme\n"
    assert [(one["status"], one["reason"]) for one in run("approvals", "list", "--all", "--json").json] == [("rejected", "no")]
    assert run("approvals", "list", "--all").out.splitlines()[-1].endswith("UTC")


@pytest.mark.parametrize(
    "text",
    [
        "tool          pay (action)",
        "asked for by  E1, tenant acme",
        "conversation  conv-1",
        "may decide    boss, other than E1",
        "arguments (1 character that cannot be seen is spelled out)",
        'to      "bob[U+202E]"   <- written by the model',
        "amount  10.50   <- written by the model",
        "status        pending",
        "UTC",
    ],
)
def test_show_tells_everything(text: str, run: Run, asked: Guard) -> None:
    """Tool, digests, who asked, expiry, and every argument in full with its origin, hidden characters spelled out."""
    assert text in run("approvals", "show", waiting(asked)).out


def test_show_names_definition_and_fingerprint(run: Run, asked: Guard) -> None:
    """The digests that the approval is bound to are shown whole, to people and to programs."""
    approval = asked.approvals.list()[0]
    ran = run("approvals", "show", approval.id)
    assert approval.definition in ran.out
    assert approval.fingerprint in ran.out
    found = run("approvals", "show", approval.id, "--json")
    assert (found.json["fingerprint"], found.json["definition"]) == (approval.fingerprint, approval.definition)
    assert '"amount":10.50' in found.out


@pytest.mark.parametrize(
    "person",
    ["principal: E3, tenant: acme, roles: [clerk]", "principal: E2, tenant: other, roles: [boss]", "principal: E4, tenant: acme"],
    ids=["other-role", "other-tenant", "no-role"],
)
@pytest.mark.parametrize("verb", ["show", "approve", "reject"])
def test_a_stranger_learns_nothing(verb: str, person: str, run: Run, asked: Guard, tmp_path: Path) -> None:
    """Whoever may not decide gets the same answer as for an approval that does not exist."""
    folder(tmp_path / "policies", person)
    name = waiting(asked)
    there, nowhere = run("approvals", *VOTE.get(verb, (verb,)), name), run("approvals", *VOTE.get(verb, (verb,)), "ap_0")
    assert (there.code, there.out) == (nowhere.code, nowhere.out) == (1, "")
    assert there.err.replace(name, "ap_0") == nowhere.err
    assert "ap_" not in run("approvals", "list").out
    assert asked.approvals.show(name).status == "pending"


def test_the_requester_sees_the_call_and_cannot_approve_it(run: Run, asked: Guard, tmp_path: Path) -> None:
    """Whoever asked may look, and is told that another person must decide."""
    folder(tmp_path / "policies", "principal: E1, tenant: acme, roles: [clerk, boss]")
    name = waiting(asked)
    assert run("approvals", "show", name).code == 0
    ran = run("approvals", "approve", name, "--yes")
    assert (ran.code, asked.approvals.show(name).status) == (1, "pending")
    assert "another person must" in ran.err


@pytest.mark.parametrize("verb", ["approve", "reject"])
def test_a_second_vote_does_not_count(verb: str, run: Run, asked: Guard) -> None:
    """What is decided stays decided: exit code 1, and by whom it was."""
    name = waiting(asked)
    assert run("approvals", "reject", name, "--reason", "no").code == 0
    ran = run("approvals", *VOTE[verb], name)
    assert ran.code == 1
    assert "already" in ran.err
    assert asked.approvals.show(name).status == "rejected"


def test_a_user_that_the_policy_does_not_know_decides_nothing(run: Run, asked: Guard, tmp_path: Path) -> None:
    """The lines that would map the operating-system user are told, with exit code 1."""
    folder(tmp_path / "policies", BOSS, "somebody-else")
    ran = run("approvals", "approve", waiting(asked), "--yes")
    assert (ran.code, ran.out) == (1, "")
    assert f"the operating-system user {USER} is nobody in policies/" in ran.err
    assert f"people:\n  {USER}: {{principal: " in ran.err
    assert asked.approvals.list()[0].status == "pending"


@pytest.mark.parametrize("words", [(), ("--all",), ("--json",)], ids=["plain", "all", "json"])
def test_an_unknown_user_has_no_list(words: tuple[str, ...], run: Run, asked: Guard, tmp_path: Path) -> None:
    """Whether something waits is not said to somebody unknown, not even that nothing does; how to become known is, with exit code 1."""
    folder(tmp_path / "policies", BOSS, "somebody-else")
    ran = run("approvals", "list", *words)
    assert (ran.code, ran.out) == (1, "")
    assert f"the operating-system user {USER} is nobody in policies/" in ran.err
    assert f"people:\n  {USER}: {{principal: " in ran.err


@pytest.mark.parametrize(
    ("person", "told", "flags"),
    [
        (BOSS, "may decide", (False, True)),
        ("principal: E1, tenant: acme, roles: [boss]", "yours, another person must decide", (True, False)),
    ],
    ids=["boss", "requester"],
)
def test_list_says_what_one_can_do_about_each(
    person: str, told: str, flags: tuple[bool, bool], run: Run, asked: Guard, tmp_path: Path
) -> None:
    """A call that waits for this person is told from one of their own, which somebody else must decide."""
    folder(tmp_path / "policies", person)
    ran = run("approvals", "list")
    assert ran.out.splitlines()[-1].endswith(f"UTC  {told}")
    one = run("approvals", "list", "--json").json[0]
    assert (one["yours"], one["you_may_decide"]) == flags


# -- ids and questions -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [6, 7, 22])
def test_the_beginning_of_an_id_is_enough(length: int, run: Run, asked: Guard) -> None:
    """Six characters that no other id begins with name an approval."""
    name = waiting(asked)
    assert run("approvals", "show", name[:length], "--json").json["id"] == name
    assert run("approvals", "approve", name[:length], "--yes").code == 0
    assert asked.approvals.show(name).status == "approved"


@pytest.mark.parametrize(
    "short", ["ap_", "ap_zz", "ap_zzz", "", "%", "ap____"], ids=["kind", "few", "other", "none", "like", "any"]
)
def test_what_names_no_approval_is_not_guessed(short: str, run: Run, asked: Guard) -> None:
    """Too short or not the beginning of anything: the whole id is asked for."""
    ran = run("approvals", "approve", short, "--yes")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == f"guard: there is no approval {short} that E2 may see; give the whole id\n"
    assert asked.approvals.list()[0].status == "pending"


def test_a_beginning_that_several_ids_have_names_none(run: Run, asked: Guard) -> None:
    """Where two approvals begin alike the whole id is asked for, and works."""
    seen = {waiting(asked)[:6]: waiting(asked)}
    for number in range(5_000):
        somebody = replace(CLERK, principal=f"E-{number}")  # one person may ask no more than twenty questions at once
        call = ToolCall(f"d{number}", "pay", f'{{"to": "x", "amount": {number}}}')
        outcome = asked.call(call, somebody, conversation=f"n-{number}")
        name = str(outcome.approval)
        if name[:6] in seen:
            break
        seen[name[:6]] = name
    ran = run("approvals", "show", name[:6])
    assert (ran.code, ran.err) == (1, f"guard: 2 approvals begin with {name[:6]}; give the whole id\n")
    assert run("approvals", "show", seen[name[:6]]).code == 0


def test_a_beginning_finds_only_what_one_may_see(run: Run, asked: Guard, tmp_path: Path) -> None:
    """A stranger's beginning of an id is answered like one of nothing."""
    folder(tmp_path / "policies", "principal: E3, tenant: acme, roles: [clerk]")
    name = waiting(asked)[:10]
    there, nowhere = run("approvals", "show", name), run("approvals", "show", "ap_zzzzzzz")
    assert there.code == nowhere.code == 1
    assert there.err.replace(name, "ap_zzzzzzz") == nowhere.err


@pytest.mark.parametrize(
    ("typed", "words", "status"),
    [
        (b"y\n", (), "approved"),
        (b"YES\n", (), "approved"),
        (b"n\n", (), "pending"),
        (b"\n", (), "pending"),
        (b"what\n", (), "pending"),
        (b"\x04", (), "pending"),
        (b"y\n", ("--json",), "approved"),
        (b"n\n", ("--json",), "pending"),
        (b"\x04", ("--yes",), "approved"),
    ],
    ids=["y", "yes", "n", "enter", "other", "closed", "json", "json-no", "flag"],
)
def test_a_yes_at_the_terminal_is_asked_for(
    typed: bytes, words: tuple[str, ...], status: str, asked: Guard, tmp_path: Path
) -> None:
    """At a terminal the call is shown and a yes is asked for; anything else decides nothing, with exit code 1."""
    name = waiting(asked)
    ran = at_terminal("approvals", "approve", name, *words, cwd=tmp_path, typed=typed)
    assert (ran.code, asked.approvals.show(name).status) == (0 if status == "approved" else 1, status)
    assert ("Approve as E2? [y/N]" in ran.err) == ("--yes" not in words)
    assert '"bob[U+202E]"   <- written by the model' in (ran.err if "--json" in words else ran.out)
    assert ("nothing was decided" in ran.err) == (status == "pending")
    if words == ("--json",) and status == "approved":
        assert ran.json["status"] == "approved"


@pytest.mark.parametrize("words", [(), ("--json",), ("--reason", "fine")], ids=["plain", "json", "reason"])
def test_without_a_terminal_a_yes_needs_its_option(words: tuple[str, ...], asked: Guard, tmp_path: Path) -> None:
    """Where nobody can be asked nothing is decided: exit code 1, the cure, and no question that nobody reads."""
    name = waiting(asked)
    ran = guard("approvals", "approve", name, *words, cwd=tmp_path)
    assert (ran.code, asked.approvals.show(name).votes) == (1, ())
    assert unwarned(ran.err).splitlines()[-1] == "guard: nothing was decided (nobody is at a terminal: confirm with --yes)"
    assert "[y/N]" not in ran.err
    assert guard("approvals", "approve", name, *words, "--yes", cwd=tmp_path).code == 0
    assert asked.approvals.show(name).status == "approved"


def test_the_environment_does_not_say_who_somebody_is(asked: Guard, tmp_path: Path) -> None:
    """LOGNAME, USER and the like are anybody's to set, so they count for nothing."""
    folder(tmp_path / "policies", BOSS, "somebody-else")
    names = dict.fromkeys(("LOGNAME", "USER", "LNAME", "USERNAME", "SUDO_USER"), "somebody-else")
    ran = guard("approvals", "approve", waiting(asked), "--yes", cwd=tmp_path, **names)
    assert ran.code == 1
    assert asked.approvals.list()[0].status == "pending"


def test_an_expired_approval_is_not_approved(run: Run, tmp_path: Path) -> None:
    """After its time a question cannot be answered any more."""
    store = f"sqlite:///{tmp_path / 'guard.db'}"
    with closing(Guard.load(folder(tmp_path / "policies"), tools=[pay, look], store=store, clock=lambda: 1_700_000_000.0)) as old:
        old.call(ToolCall("c1", "pay", '{"to": "bob", "amount": 1}'), CLERK, conversation="conv-1")
        name = waiting(old)
    ran = run("approvals", "approve", name, "--yes")
    assert (ran.code, run("approvals", "list", "--all", "--json").json[0]["status"]) == (1, "expired")
    assert "expired" in ran.err


def test_a_rejection_takes_the_same_option_and_misuse_shows_its_own_usage(asked: Guard, tmp_path: Path) -> None:
    """`--yes` is taken by both verbs; what a verb does not know is told with that verb's usage."""
    name = waiting(asked)
    wrong = guard("approvals", "reject", name, "--reason", "no", "--nod", cwd=tmp_path)
    assert (wrong.code, "usage: guard approvals reject" in wrong.err, "unrecognized arguments: --nod" in wrong.err) == (
        2,
        True,
        True,
    )
    assert guard("approvals", "reject", name, "--reason", "no", "--yes", cwd=tmp_path).code == 0
    assert asked.approvals.show(name).status == "rejected"
