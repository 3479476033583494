"""What is told of a question that is over: how it ended and by whom, and of one whose values were erased when and by whom, on the page and at a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from cli_kit import CLERK, Run, folder, look, pay
from console_kit import Console, console
from erasing_kit import payloads

from guard import Guard, Outcome, Session, ToolCall
from guard.web.description import described


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Console]:
    with console(tmp_path) as found:
        yield found


def test_the_page_of_an_erased_call_says_when_by_whom_and_why(running: Console) -> None:
    """Nothing on it says that the call had no arguments, nor that the note about the erasure went back to the model."""
    approval = running.ask("pay", payee="Ann", amount=100)
    browser = running.browser("b1", "treasury")
    browser.vote(approval, "approved")
    assert running.go_on(approval).status == "done"
    payloads(running.guard.store).erase(("default", "conv-1"), who="root", reason="request of 3 May")
    page = browser.open(f"/approvals/{approval}")
    assert page.text.count("request of 3 May") == 2  # below the title, and where the arguments stood
    assert "Its arguments were erased on 2" in page.text
    assert "(by " in page.text.partition("erased on 2")[2][:40]
    assert "What went back to the model was erased with the arguments" in page.text
    for untrue in ("without any arguments", "redacted:", "Run pay", "have been erased since"):
        assert untrue not in page.text


def test_a_program_is_told_that_a_call_was_erased(running: Console) -> None:
    """The API says what the page says, in a field of its own; before, and for a call that has its arguments, that is null."""
    approval, other = running.ask("pay", payee="Ann", amount=100), running.ask("pay", payee="Bob", amount=1)
    secret = running.tokens.add("b1", ("vote",), person="b1", roles=("treasury",))

    def told(name: str) -> Any:
        return running.client.get(f"/api/v1/approvals/{name}", headers={"Authorization": f"Bearer {secret}"}).json()

    running.browser("b1", "treasury").vote(approval, "approved")
    assert running.go_on(approval).status == "done"
    assert (told(approval)["erased"], told(approval)["ran"]["content"]) == (None, "paid 100 to Ann")
    payloads(running.guard.store).erase(("default", "conv-1"), who="root", reason="request of 3 May")
    after = told(approval)
    assert after["erased"].startswith("erased on 2")
    assert after["erased"].endswith("reason: request of 3 May)")
    assert after["ran"]["content"] is None
    assert told(other)["erased"] is None
    schema = {"$ref": "#/components/schemas/Shown", "components": described()["components"]}
    jsonschema.Draft202012Validator(schema).validate(after)


def load(place: Path) -> Guard:
    return Guard.load(folder(place / "policies"), tools=[pay, look], store=f"sqlite:///{place / 'guard.db'}")


def ask(made: Guard) -> Outcome:
    return made.call(ToolCall("c1", "pay", '{"to": "bob", "amount": 10}'), CLERK, conversation="conv-1")


def test_the_terminal_says_that_a_call_was_erased(run: Run, tmp_path: Path) -> None:
    """`list` and `show` say so in the place of what is gone, with who and why; nothing says that there was nothing."""
    with closing(load(tmp_path)) as made:
        name = ask(made).approval
        made.approvals.approve(name, approver=Session(principal="E2", tenant="acme", roles=("boss",)))
        assert ask(made).status == "done"
        assert run("audit", "erase", "--conversation", "conv-1", "--reason", "asked for it", "--yes").code == 0
    assert "erased; `show` says when" in run("approvals", "list", "--all").out
    shown = run("approvals", "show", name)
    assert shown.out.count("asked for it)") == 2  # effect and arguments
    assert "what went back to the model was erased with the arguments" in shown.out
    assert "(none)" not in shown.out
    told = run("approvals", "show", name, "--json").json
    assert told["erased"].startswith("erased on 2")
    assert told["ran"]["content"] is None


@pytest.mark.parametrize("over", ["consumed", "rejected", "cancelled"])
def test_a_question_that_is_over_offers_nothing(over: str, running: Console) -> None:
    """No sentence of what a yes permits, no time by which to decide: how it ended stands there."""
    approval = running.ask("pay", payee="Ann", amount=100)
    browser = running.browser("b1", "treasury")
    if over == "cancelled":
        form = browser.open(f"/approvals/{approval}").form(f"/approvals/{approval}/cancel")
        browser.send(f"/approvals/{approval}/cancel", {**form, "reason": "not needed"})
    else:
        browser.vote(approval, "approved" if over == "consumed" else "rejected", reason="" if over == "consumed" else "no")
    if over == "consumed":
        running.go_on(approval)
    page = browser.open(f"/approvals/{approval}")
    assert running.show(approval).status == over
    assert "This one call may run once" not in page.text
    assert "Decide by" not in page.text
    assert "Had to be decided by" in page.text
    assert ("The yes was used for this one run and permits nothing more" in page.text) == (over == "consumed")


def test_everybody_who_agreed_is_named(running: Console) -> None:
    """Where two had to say yes, both stand in the sentence about the end."""
    approval = running.ask("wire", to="Ann", token="t")
    for person in ("b1", "b2"):
        running.browser(person, "treasury").vote(approval, "approved")
    running.go_on(approval)
    page = running.browser("b1", "treasury").open(f"/approvals/{approval}")
    assert "Approved and started (by b1 and b2, " in page.text


def test_the_terminal_says_how_a_question_ended(run: Run, tmp_path: Path) -> None:
    """`consumed` is explained, and nothing is permitted any more."""
    with closing(load(tmp_path)) as made:
        name = ask(made).approval
        assert "permits " in run("approvals", "show", name).out
        made.approvals.approve(name, approver=Session(principal="E2", tenant="acme", roles=("boss",)))
        ask(made)
    shown = run("approvals", "show", name).out
    assert "status        consumed: approved and started (E2, 2" in shown
    assert not [line for line in shown.splitlines() if line.startswith(("permits", "expires", "use by", "may decide"))]
