"""How many alike within a day: shown to whoever decides, beside the call and outside of what is voted over."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from console_kit import CLERK, Console, console
from stores_kit import url_of

from guard import Session

OTHER = Session(principal="c_2", roles=("clerk",))
FAR = Session(principal="c_1", tenant="globex", roles=("clerk",))


@pytest.fixture(params=["memory", "postgres"])
def here(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Console]:
    with url_of(request.param, tmp_path) as url, console(tmp_path, store=url) as made:
        yield made


def line(asked: str, approved: int, rejected: int, left: int) -> str:
    return f"for the same person: {asked} about pay, {approved} approved, {rejected} rejected, {left} without a decision."


def test_questions_of_a_day_are_counted(here: Console) -> None:
    """Of the same tool, person and tenant, this one among them; a day later only what was asked since."""
    treasury = here.browser("s_9", "treasury")
    first = here.ask("pay", payee="bob", amount=1)
    assert line("1 question", 0, 0, 1) in treasury.open(f"/approvals/{first}").text
    treasury.vote(first, "approved")
    treasury.vote(here.ask("pay", payee="bob", amount=2), "rejected", reason="no")
    here.ask("pay", OTHER, payee="bob", amount=3)
    here.ask("pay", FAR, payee="bob", amount=4)
    here.ask("wire", CLERK, to="bob", token="t")
    here.ask("pay", payee="bob", amount=5)
    last = here.ask("pay", payee="bob", amount=6)
    page = treasury.open(f"/approvals/{last}")
    assert line("4 questions", 1, 1, 2) in page.text
    here.clock.now += 86_401
    again = here.ask("pay", payee="bob", amount=7)
    assert line("1 question", 0, 0, 1) in here.browser("s_9", "treasury").open(f"/approvals/{again}").text


def test_it_is_not_voted_over(here: Console) -> None:
    """A page that was opened before others were asked still counts; who may not decide does not learn how many there are."""
    name = here.ask("pay", payee="bob", amount=1)
    treasury = here.browser("s_9", "treasury")
    page = treasury.open(f"/approvals/{name}")
    here.ask("pay", payee="bob", amount=2)
    assert "Within 24 hours" not in here.browser("c_1", "clerk").open(f"/approvals/{name}").text
    assert treasury.vote(name, "approved", page).status == 303
    assert here.show(name).status == "approved"
