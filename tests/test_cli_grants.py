"""`guard grants` and `guard approvals approve --grant`: what is said before, what is given, what is left, and taking it back."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from cli_kit import BOSS, CLERK, POLICY, USER, Run, at_terminal, look, pay
from grants_kit import BOSS as DESK_BOSS
from grants_kit import desk

from guard import ApprovalError, Guard, Session, ToolCall
from guard.core.grant_words import words

OFFERS = "[{scope: same_call, uses: 3, until: 1d}, {amount: amount, at_most: 500, sum: 900, same: [to], until: 7d}]"
WORDS = "Calls of pay for E1 (tenant acme) run without a further question:"


def folder(place: Path, person: str = BOSS, offers: str = OFFERS) -> None:
    place.mkdir(exist_ok=True)
    text = POLICY.replace("expires: 1h}", f"expires: 1h, grants: {offers}}}")
    (place / "tools.yaml").write_text(f"{text}  {json.dumps(USER)}: {{{person}}}\n", "utf-8")


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[Any]:
    folder(tmp_path / "policies")
    with Guard.load(tmp_path / "policies", tools=[pay, look], store=f"sqlite:///{tmp_path / 'guard.db'}") as made:
        assert calling(made, 10.5, 1) == "held"
        yield made


def calling(made: Any, amount: float, turn: int, to: str = "bob") -> str:
    call = ToolCall("c", "pay", f'{{"to": "{to}", "amount": {amount}}}')
    return str(made.call(call, CLERK, conversation="conv-1", key=f"k{turn}").status)


def name(made: Any) -> str:
    return str(made.approvals.list(status=None)[0].id)


def test_a_grant_is_given_with_a_yes_and_said_in_words_before(run: Run, asked: Any) -> None:
    """The words stand between the call and the question; afterwards the calls that they describe run, and no others."""
    ran = run(
        "approvals", "approve", name(asked), "--yes", "--grant", "amount", "--at-most", "300", "--until", "2d", "--reason", "rent"
    )
    assert ran.code == 0
    assert WORDS in ran.out
    assert '- amount is at most 300 in one call, and 900 in all calls together\n- to is exactly "bob"\n' in ran.out
    last = ran.out.splitlines()[-1]
    assert re.fullmatch(r"grant gr_[0-9a-f]{20} is given; take it back with: guard grants revoke gr_[0-9a-f]{20}", last)

    assert [calling(asked, 10.5, 1), calling(asked, 300, 2), calling(asked, 300.5, 3), calling(asked, 5, 4, "eve")] == [
        *("done", "done", "held", "held")
    ]
    listed = run("grants", "list").out.splitlines()
    assert listed[0].split() == [
        "grant",
        "status",
        "scope",
        "tool",
        "calls",
        "of",
        "conversation",
        "used",
        "left",
        "until",
        "given",
        "by",
    ]
    assert re.search(r"live +amount +pay +E1 +any +1 +600 of 900 +20\d\d-", listed[2])
    [plain] = run("grants", "list", "--json").json
    assert (plain["used"], plain["summed"], plain["sum_left"], plain["by"], plain["reason"]) == (1, 300, 600, "E2", "rent")
    assert plain["givers"][0]["roles"] == ["boss"]
    assert plain["words"][0] == WORDS


def test_at_a_terminal_the_question_names_the_grant(tmp_path: Path, asked: Any) -> None:
    """Somebody is asked with the words before them; a no decides nothing and gives nothing."""
    ran = at_terminal("approvals", "approve", name(asked), "--grant", "same_call", cwd=tmp_path, typed=b"n\n")
    assert ran.code == 1
    assert "Approve and give this grant as E2? [y/N]" in ran.err
    assert WORDS in ran.out
    assert asked.approvals.list()[0].status == "pending"
    assert asked.grants.list(status=None) == ()


def test_what_may_be_given_is_said_with_the_call(run: Run, asked: Any) -> None:
    """Whoever only approves reads what could be given besides; without offers nothing is said of it."""
    ran = run("approvals", "approve", name(asked), "--yes")
    assert "may be given with a yes: --grant same_call, 3 uses, for 1 day" in ran.out
    assert asked.grants.list(status=None) == ()


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("--grant", "tool_here"), 1, "offers no grant tool_here from this approval (it offers same_call, amount)"),
        (("--grant", "amount", "--sum", "1000"), 1, "sum: the policy offers at most 900"),
        (("--grant", "amount", "--until", "2031-01-01"), 1, "until: the policy offers at most 7 days from now"),
        (("--grant", "amount", "--until", "Friday"), 2, "--until Friday: write for example 3d, 2026-12-04"),
        (("--grant", "amount", "--until", "2031-01-01T10:00"), 2, "a time needs its zone"),
        (("--grant", "amount", "--at-most", "a lot"), 1, "at_most is a number"),
        (("--grant", "everything"), 2, "invalid choice"),
        (("--uses", "3"), 2, "--uses bounds a grant: name one with --grant"),
    ],
    ids=["not offered", "a larger sum", "too late", "no time", "no zone", "no number", "no scope", "no grant"],
)
def test_what_cannot_be_given_leaves_the_call_undecided(
    run: Run, asked: Any, words: tuple[str, ...], code: int, told: str
) -> None:
    """A mistake about the grant is told before the vote: nothing is approved by it."""
    ran = run("approvals", "approve", name(asked), "--yes", *words)
    assert (ran.code, told in ran.err) == (code, True), ran
    assert asked.approvals.list()[0].status == "pending"


def test_a_grant_is_shown_and_taken_back(run: Run, asked: Any) -> None:
    """By its beginning as well; it says how often it was used, and only once that it ends."""
    run("approvals", "approve", name(asked), "--yes", "--grant", "same_call", "--json")
    [grant] = asked.grants.list()
    shown = run("grants", "show", grant.id[:9]).out
    assert re.search(rf"grant +{grant.id}\nstatus +live\nmade from +{grant.approval}\ngiven by +E2 \(boss\), ", shown)
    assert shown.splitlines()[-1].startswith("A policy that no longer offers this ends it")
    ran = run("grants", "revoke", grant.id[:9], "--reason", "left")
    assert ran.out == "revoked by E2; 0 calls used it, and no further call can\n"
    again = run("grants", "revoke", grant.id)
    assert (again.code, "already revoked by E2" in again.err) == (1, True)
    assert run("grants", "list").out == "no grants for E2 in the tenant acme\n"
    assert "revoked by   E2" in run("grants", "show", grant.id).out
    assert run("grants", "list", "--all", "--json").json[0]["status"] == "revoked"
    assert run("audit", "--verify").code == 0


def test_a_grant_that_today_offers_nobody_is_void(run: Run, asked: Any, tmp_path: Path) -> None:
    """What the policy no longer lets be given is listed as void, and not among the live ones."""
    run("approvals", "approve", name(asked), "--yes", "--grant", "same_call")
    folder(tmp_path / "policies", offers="[{scope: same_call, uses: 2, until: 1d}]")
    assert run("grants", "list").out.startswith("no grants")
    assert " void " in run("grants", "list", "--all").out


def test_others_see_no_grant(run: Run, asked: Any, tmp_path: Path) -> None:
    """Who has nothing to do with it finds none, whatever they name; the person whom it covers sees it and may take it back."""
    run("approvals", "approve", name(asked), "--yes", "--grant", "same_call")
    [grant] = asked.grants.list()
    folder(tmp_path / "policies", person="principal: E9, tenant: acme, roles: [guest]")
    for verb in ("show", "revoke"):
        ran = run("grants", verb, grant.id)
        assert (ran.code, f"there is no grant {grant.id} that E9 may see" in ran.err) == (1, True)
    folder(tmp_path / "policies", person="principal: E1, tenant: acme, roles: [clerk]")
    assert run("grants", "revoke", grant.id).code == 0


def test_two_people_give_one_grant(run: Run, asked: Any, tmp_path: Path) -> None:
    """Where the rule needs two, the first is told that another one has to, and by which words."""
    (tmp_path / "policies" / "tools.yaml").write_text(
        (tmp_path / "policies" / "tools.yaml").read_text().replace("by: [boss]", "by: [boss], need: 2")
    )
    asked.reload()
    assert calling(asked, 11, 9) == "held"
    second = next(one.id for one in asked.approvals.list() if one.need == 2)
    ran = run("approvals", "approve", second, "--yes", "--grant", "amount")
    assert ", once 2 people have given this:" in ran.out
    assert "is proposed: 1 of 2 people gave it; the next one says --grant amount" in ran.out
    text = (tmp_path / "policies" / "tools.yaml").read_text()
    (tmp_path / "policies" / "tools.yaml").write_text(text.replace("principal: E2", "principal: E3"))
    ran = run("approvals", "approve", second, "--yes", "--grant", "amount")
    assert ran.out.splitlines()[-1].startswith("grant gr_")
    assert asked.grants.list()[0].status(asked.store.now()) == "live"


def test_the_terminal_says_what_a_page_says_and_gives_just_that(run: Run, asked: Any) -> None:
    """The words are made of the grant alone, wherever they are read; an end that is counted from now is the one that was read."""
    asked_for = name(asked)
    boss = Session(principal="E2", tenant="acme", roles=("boss",))
    page = asked.grants.choices(asked_for, by=boss)[1].grant
    ran = run("approvals", "approve", asked_for, "--yes", "--grant", "amount")
    assert ran.code == 0
    [made] = asked.grants.list()
    assert "\n".join(words(made)) in ran.out
    timeless = [line for line in words(made) if not line.startswith("- until")]
    assert timeless == [line for line in words(page) if not line.startswith("- until")]


def test_what_was_read_is_given_whatever_the_clock_says_by_then(tmp_path: Path) -> None:
    """A person reads for a while: uses, sums and the very end that stood there are given, or nothing is."""
    here = desk(tmp_path)
    turn = here.propose(("c1", "pay", {"amount": 1, "payee": "A"}))
    here.approve(turn, "c1")
    waiting = here.waiting(turn, "c1")
    read = here.guard.grants.draft(waiting, by=DESK_BOSS, scope="amount", sum="700.5", uses=2)
    here.clock.now += 3600
    made = here.guard.grants.give_read(waiting, read, by=DESK_BOSS)
    assert (made.until, made.uses, made.sum, words(made)) == (read.until, 2, Decimal("700.5"), words(read))
    here.clock.now += 8 * 86_400
    with pytest.raises(ApprovalError):
        here.guard.grants.give_read(waiting, replace(read, scope="tool_here"), by=DESK_BOSS)


def test_the_json_of_a_grant_holds_no_digest_of_its_arguments(asked: Any, run: Run) -> None:
    """Of the same call the fingerprint alone: nobody can try values with it."""
    assert run("approvals", "approve", name(asked), "--yes", "--grant", "same_call").code == 0
    [plain] = run("grants", "list", "--json").json
    assert list(plain["constraint"]) == ["fingerprint"]
