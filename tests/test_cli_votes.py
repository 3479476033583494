"""`guard approvals` with votes of several people, notes, edits, cancelled and revoked questions: what a person types and sees."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli_kit import CLERK, POLICY, Run, asking, at_terminal, guard

from guard import Guard, Session
from guard.core.briefing import permits

MORE = (
    "approve: {by: [boss], expires: 1h, need: 2, edit: [amount], secret: [to], use_within: 15m, effect: 'Pay {amount} to {to}'}"
)
TWO = POLICY.replace("approve: {by: [boss], expires: 1h}", MORE)
OTHER = Session(principal="E8", tenant="acme", roles=("boss",))


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Guard]:
    monkeypatch.setattr("cli_kit.POLICY", TWO)
    with asking(tmp_path) as made:
        yield made


def name(asked: Guard) -> str:
    return asked.approvals.list()[0].id


def test_one_of_two(run: Run, asked: Guard) -> None:
    """The list and the view count; the first yes says that another person must; the second person's runs nothing by itself either."""
    assert "0 of 2" in run("approvals", "list").out.splitlines()[-1]
    ran = run("approvals", "approve", name(asked), "--yes")
    assert (ran.code, ran.out.splitlines()[-1]) == (
        0,
        "E2 says yes: 1 of 2 (E2); another person must say yes before it may run",
    )
    assert "1 of 2" in run("approvals", "list").out.splitlines()[-1]
    assert "said yes      1 of 2 (E2)" in run("approvals", "show", name(asked)).out
    second = run("approvals", "approve", name(asked), "--yes")
    assert (second.code, "voted about this approval already" in second.err) == (1, True)
    [vote] = asked.approvals.list()[0].votes
    assert (vote.via, vote.assurance, len(vote.presented)) == ("cli", "os-user", 64)
    assert asked.approvals.approve(name(asked), approver=OTHER).status == "approved"
    assert "use by" in run("approvals", "show", asked.approvals.list(status="approved")[0].id).out


def test_show_json_is_what_a_program_needs(run: Run, asked: Guard) -> None:
    """The document, its digest, who voted, and masks where the policy says secret: the same digest as anywhere else."""
    found = run("approvals", "show", name(asked), "--json").json
    me = Session(principal="E2", tenant="acme", roles=("boss",))
    view = asked.approvals.view(name(asked), me)
    assert (found["presented"], found["needs"], found["need"], found["revision"]) == (view.presented, 2, 2, 1)
    assert found["document"]["arguments"][0]["value"].startswith("[secret: ")
    assert "bob" not in json.dumps(found, default=str) + run("approvals", "show", name(asked)).out


def test_edit_shows_the_difference(run: Run, asked: Guard) -> None:
    """Another revision waits, with what changed; the editor cannot approve it, and still sees it."""
    old = name(asked)
    ran = run("approvals", "edit", old, "--set", "amount=7.25", "--reason", "too much")
    assert ran.code == 0
    assert "revision      2, changed by E2 (too much)" in ran.out
    assert "changed since revision 1" in ran.out
    assert "/amount  10.50  ->  7.25" in ran.out
    assert "effect        Pay 7.25 to [secret: " in ran.out
    new = name(asked)
    assert new != old
    refused = run("approvals", "approve", new, "--yes")
    assert (refused.code, "another person must decide" in refused.err) == (1, True)
    assert run("approvals", "show", new).code == 0
    stale = run("approvals", "approve", old, "--yes")
    assert (stale.code, new in stale.err) == (1, True)


@pytest.mark.parametrize("edited", [False, True], ids=["as-asked", "edited"])
def test_the_terminal_shows_the_mask_of_the_document(edited: bool, run: Run, asked: Guard) -> None:
    """One secret has one mask: in the document, in JSON, in the view, in the list, at the vote; another argument's edit leaves it as it was."""
    if edited:
        assert "/to" not in run("approvals", "edit", name(asked), "--set", "amount=7.25", "--reason", "r").out
    view = asked.approvals.view(name(asked), OTHER)
    mask = view.document["arguments"][0]["value"]
    assert mask.startswith(f"[secret: {len('bob') + 1} characters, ")
    shown = run("approvals", "show", name(asked))
    lines = "".join(f"{one['path']}  {one['before']}  ->  {one['after']}" for one in view.document["difference"])
    assert f'to      "{mask}"' in shown.out
    assert shown.out.count("  ->  ") == len(view.document["difference"]) == edited
    assert lines in shown.out
    assert run("approvals", "show", name(asked), "--json").json["arguments"]["to"] == mask
    assert run("approvals", "list", "--json").json[0]["arguments"]["to"] == mask
    ran = run("approvals", "reject", name(asked), "--reason", "no")
    assert (f'to      "{mask}"' in ran.out, "/to" in ran.out) == (True, False)


@pytest.mark.parametrize(
    ("set_", "code", "told"),
    [
        ("to=eve", 1, "may not be changed here; what may be: /amount"),
        ("amount", 2, "write NAME=VALUE"),
        ("=1", 2, "write NAME=VALUE"),
        ("amount=much", 2, "amount holds a number, and this is a text; write a number, such as amount=40"),
        ("amount=true", 2, "this is true or false; write a number"),
        ('amount="7"', 2, """--set-json 'amount="7"'"""),
    ],
    ids=["not-named", "no-value", "no-name", "text-for-a-number", "flag-for-a-number", "quoted-number"],
)
def test_an_edit_that_cannot_be(run: Run, asked: Guard, set_: str, code: int, told: str) -> None:
    """Said with its cure or its outcome; what waits stays as it is."""
    before = name(asked)
    ran = run("approvals", "edit", before, "--set", set_, "--reason", "r")
    assert (ran.code, told in ran.err, name(asked)) == (code, True, before)


def test_what_was_edited_at_the_terminal_runs_in_the_program(run: Run, asked: Guard) -> None:
    """The command line knows neither the program's schema nor its sessions: the program walks the edited call whole, and runs it once."""
    assert run("approvals", "edit", name(asked), "--set", "amount=7.25", "--reason", "r").code == 0
    for who in (OTHER, Session(principal="E9", tenant="acme", roles=("boss",))):
        asked.approvals.approve(name(asked), approver=who)
    chat = asked.open(CLERK, wire="openai-chat", conversation="conv-1")
    told = str(chat.settled())
    assert '"paid":7.25' in told
    assert "A reviewer changed the arguments" in told
    assert chat.settled() == []


def test_an_edit_at_the_terminal_that_the_program_refuses(run: Run, asked: Guard) -> None:
    """What only the program can judge is refused there, before anything runs."""
    assert run("approvals", "edit", name(asked), "--set-json", 'amount="much"', "--reason", "r").code == 0
    for who in (OTHER, Session(principal="E9", tenant="acme", roles=("boss",))):
        asked.approvals.approve(name(asked), approver=who)
    assert "invalid_arguments" in str(asked.open(CLERK, wire="openai-chat", conversation="conv-1").settled())


def test_cancel_and_revoke(run: Run, asked: Guard) -> None:
    """A question is withdrawn; a yes is taken back; neither works twice, and each needs a reason."""
    first = name(asked)
    early = run("approvals", "revoke", first, "--reason", "r")
    assert (early.code, "nobody has approved it yet" in early.err) == (1, True)
    assert run("approvals", "cancel", first).code == 2
    ran = run("approvals", "cancel", first, "--reason", "not needed")
    assert (ran.code, ran.out) == (0, "cancelled by E2; the program that asked is told when it goes on\n")
    assert run("approvals", "cancel", first, "--reason", "again").code == 1
    assert run("approvals", "show", first, "--json").json["status"] == "cancelled"


def test_a_note_is_not_shown(run: Run, asked: Guard) -> None:
    """`--note` is kept with the vote, and in no output."""
    ran = run("approvals", "reject", name(asked), "--reason", "no", "--note", "asks every week")
    assert ran.code == 0
    [done] = asked.approvals.list(status="rejected")
    assert done.votes[0].note == "asks every week"
    assert "every week" not in ran.out + run("approvals", "show", done.id, "--json").out


def test_the_terminal_shows_before_it_asks(asked: Guard, tmp_path: Path) -> None:
    """The view, then the question; the yes carries what was shown."""
    ran = at_terminal("approvals", "approve", name(asked), cwd=tmp_path, typed=b"y\n")
    assert (ran.code, "Approve as E2? [y/N]" in ran.err, "effect        Pay 10.50" in ran.out) == (0, True, True)
    [vote] = asked.approvals.list()[0].votes
    assert vote.presented


def test_the_terminal_tells_what_the_page_tells(run: Run, asked: Guard) -> None:
    """What a yes permits in full, the policy, and the digest that the vote then carries; a secret is called one beside its mask."""
    view = asked.approvals.view(name(asked), OTHER)
    shown = run("approvals", "show", name(asked)).out
    facts = [line.partition(" ")[::2] for line in shown.splitlines()]
    told = [(fact, rest.strip()) for fact, rest in facts]
    assert [rest for fact, rest in told if fact == "permits"] == list(permits(view.approval))
    assert ("this", f"view     {view.presented}") in told
    assert ("policy", view.approval.policy) in told
    assert "<- written by the model; secret, masked" in shown
    run("approvals", "approve", name(asked), "--yes", "--reason", "seen the bill")
    assert "seen the bill" in run("approvals", "show", name(asked)).out
    assert asked.approvals.list()[0].votes[0].presented == view.presented


def test_the_watch_shows_the_difference(run: Run, asked: Guard) -> None:
    """A revision is printed with what it changed, and under the digest that `approve` shows as well."""
    run("approvals", "edit", name(asked), "--set", "amount=7.25", "--reason", "too much")
    watched = run("approvals", "watch", "--once").out
    shown = run("approvals", "show", name(asked)).out
    assert "changed since revision 1" in watched
    assert shown.strip() in watched


def test_a_yes_with_json_shows_what_it_is_about(run: Run, asked: Guard) -> None:
    """The view goes to stderr, so that no vote says that something was shown which was not; stdout holds JSON alone."""
    shown = run("approvals", "show", name(asked)).out
    ran = run("approvals", "approve", name(asked), "--yes", "--json")
    assert (ran.code, shown.strip() in ran.err, ran.json["votes"][0]["presented"] in ran.err) == (0, True, True)


@pytest.mark.parametrize(("typed", "code"), [(b"wrong month\n", 0), (b"\n", 1), (b"  \n", 1), (b"\x04", 1)])
def test_a_rejection_asks_for_its_reason_at_a_terminal(typed: bytes, code: int, asked: Guard, tmp_path: Path) -> None:
    """What is typed is the reason; nothing decides nothing."""
    ran = at_terminal("approvals", "reject", name(asked), cwd=tmp_path, typed=typed)
    assert (ran.code, "Why? (the model may read it" in ran.err) == (code, True)
    assert ("guard: nothing was decided (a rejection needs its reason)" in ran.err) == bool(code)
    [one] = asked.approvals.list(status=None)
    assert (one.status, one.reason) == (("pending", None) if code else ("rejected", "wrong month"))


@pytest.mark.parametrize("words", [(), ("--reason", " ")])
def test_a_rejection_without_a_terminal_needs_its_reason(words: tuple[str, ...], run: Run, asked: Guard, tmp_path: Path) -> None:
    """Misuse, with what to write; nothing is decided."""
    ran = guard("approvals", "reject", name(asked), *words, cwd=tmp_path)
    assert (ran.code, "a rejection needs its reason" in ran.err, len(asked.approvals.list())) == (2, True, 1)
