"""Reported failures: several calls that wait at once, as they are decided on the console's pages. Behind the wires: test_reports_approval_batch."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from pathlib import Path

import pytest
from console_kit import Browser, Console, console

POLICY = """
    tools:
      draw: {kind: action, allow: [clerk], approve: {by: [boss]}}
      search: {kind: read, allow: [clerk]}
"""


def draw(name: str) -> str:
    return f"drew {name}"


def search(q: str) -> str:
    return f"found {q}"


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Console]:
    with console(tmp_path, POLICY, (draw, search)) as found:
        yield found


def decide(browser: Browser, decision: str, *approvals: str, one_by_one: bool) -> None:
    """On the page of each, or on the one of all."""
    if one_by_one:
        for approval in approvals:
            assert browser.vote(approval, decision, reason="said so").status == 303
        return
    fields = {**browser.open("/approvals/batch").form("/approvals/batch"), "item": list(approvals), "decision": decision}
    assert browser.send("/approvals/batch", {**fields, "reason": "said so"}).status == 200


WAYS = pytest.mark.parametrize("one_by_one", [True, False], ids=["alone", "batch"])


@WAYS
def test_mixed_decisions_br_076(running: Console, one_by_one: bool) -> None:
    """Each has its own result: what was approved runs, what was rejected is told so, and neither waits for the other."""
    first, second = running.ask("draw", name="p"), running.ask("draw", name="q")
    browser = running.browser("b1", "boss")
    decide(browser, "approved", first, one_by_one=one_by_one)
    decide(browser, "rejected", second, one_by_one=one_by_one)
    done, refused = running.go_on(first), running.go_on(second)
    assert (done.status, done.content) == ("done", "drew p")
    assert (refused.status, "said so" in refused.content) == ("refused", True)


def test_free_calls_are_on_no_page_br_078(running: Console) -> None:
    """Only what a person must decide about stands there."""
    from guard import ToolCall

    approval = running.ask("draw", name="p")
    free = running._call(ToolCall("c1", "search", {"q": "x"}), running.calls[approval][1], "conv-1")
    browser = running.browser("b1", "boss")
    pages = [browser.open("/approvals").text, browser.open("/approvals/batch").text]
    assert free.status == "done"
    assert ["search" in text for text in pages] == [False, False]
    assert "1 of 1" in pages[1]


@WAYS
@pytest.mark.parametrize("order", list(permutations(range(3)))[::2], ids=str)
def test_three_questions_at_once_br_079(running: Console, order: tuple[int, ...], one_by_one: bool) -> None:
    """All stand there at once, and can be decided in any order; deciding one runs nothing of the others and shows no new one."""
    asked = [running.ask("draw", name=name) for name in "pqr"]
    browser = running.browser("b1", "boss")
    for number, place in enumerate(order):
        source = browser.open("/approvals/batch").source
        assert sum(f'value="{one}"' in source for one in asked) == 3 - number
        decide(browser, "approved", asked[place], one_by_one=one_by_one)
    assert [running.go_on(one).content for one in asked] == ["drew p", "drew q", "drew r"]


def test_a_settled_one_sent_again_br_081(running: Console) -> None:
    """It is ignored with a word about it, and the decisions about the others count."""
    asked = [running.ask("draw", name=name) for name in "pqr"]
    browser = running.browser("b1", "boss")
    page = browser.open("/approvals/batch")
    fields = page.form("/approvals/batch")
    browser.send("/approvals/batch", {**fields, "item": [asked[0]], "decision": "approved"})
    assert running.go_on(asked[0]).status == "done"
    done = browser.send("/approvals/batch", {**fields, "item": asked, "decision": "approved"})
    assert ("2 of 3 approvals counted" in done.text, "had decided already" in done.text) == (True, True)
    assert [running.show(one).status for one in asked] == ["consumed", "approved", "approved"]


@WAYS
@pytest.mark.parametrize("yes", [0, 1])
def test_a_yes_touches_its_own_call_only_br_082(running: Console, yes: int, one_by_one: bool) -> None:
    """A click on one is no answer to another."""
    asked = [running.ask("draw", name=name) for name in "pq"]
    decide(running.browser("b1", "boss"), "approved", asked[yes], one_by_one=one_by_one)
    assert [running.show(one).status for one in asked][1 - yes] == "pending"
    assert [running.go_on(one).status for one in asked] == (["done", "held"] if yes == 0 else ["held", "done"])


def test_a_long_value_opens_on_the_page_of_several(running: Console) -> None:
    """It scrolls in its box, or the link in it opens everything: on this page as on that of one."""
    running.ask("draw", name="p" * 5_000)
    browser = running.browser("b1", "boss")
    closed, opened = (browser.open(f"/approvals/batch{query}").answer.text for query in ("", "?whole=1"))
    assert ('href="?whole=1"' in closed, 'class="whole"' in closed, 'class="whole"' in opened) == (True, False, True)
    assert "p" * 5_000 in closed
