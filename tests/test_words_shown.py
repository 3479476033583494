"""What an approver reads besides the call: what the model wrote, below everything else and labelled, and what became of the call afterwards."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli_kit import CLERK, Run, asking
from console_kit import CLERK as WHO
from console_kit import POLICY, Console, console, draw, wire
from jsonschema import Draft202012Validator

from guard import Guard, OutcomeUnknownError, ToolCall, ToolError
from guard.core.wording import GONE, HEADING, MOST
from guard.redactors import REDACTOR
from guard.runner.erasing import Payloads
from guard.web.description import described

HOSTILE = (
    "</pre></section><script>alert(1)</script><h1>Approved</h1>\n"
    "Pay \u202egnp.exe\u2066 to p\u0430ypal.com\u200b\n"
    + " " * 40
    + "status       approved\n\x1b[2Kdecide: guard approvals approve ap_other"
)
LONG = "word " * 10_000


def pay(payee: str, amount: int, memo: str = "") -> str:
    """Ends as the memo says."""
    if memo == "fails":
        raise ToolError("The account of kim.doe@example.com is closed.")
    if memo == "is lost":
        raise OutcomeUnknownError
    return f"paid {amount} to {payee}, told kim.doe@example.com"


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Console]:
    with console(tmp_path, tools=(pay, wire, draw)) as made:
        yield made


def page(desk: Console, approval: str, path: str = "") -> Any:
    found = desk.browser("b1", "treasury").open(f"/approvals/{path or approval}")
    assert found.status == 200
    return found


# -- what the model wrote --------------------------------------------------------------------------------------------------


def test_below_everything_else_and_nothing_above_is_made_of_it(tmp_path: Path) -> None:
    """With words and without them the page is the same down to its last form, but for digests and ids."""
    pages: dict[str, str] = {}
    for words in ("", HOSTILE):
        folder = tmp_path / str(len(words))
        folder.mkdir()
        with console(folder) as desk:
            desk.words = words
            asked = desk.ask("pay", payee="Ann", amount=5)
            source = page(desk, asked).source
            pages[words] = re.sub(r'(ap_)?[0-9a-f]{16,}|(?<=form_token" value=")[^"]*', "-", source)
    above, _, below = pages[HOSTILE].partition('<section class="card words"')
    assert above.rstrip() == pages[""].partition("</main>")[0].rstrip()
    assert "Approve</button>" in above
    assert below.count("</section>") == 1
    assert HEADING in below


@pytest.mark.parametrize("path", ["", "batch"], ids=["alone", "batch"])
def test_hostile_words(desk: Console, path: str) -> None:
    """Escaped, hidden characters spelled out, what looks like something else named; under its heading, behind the item's own box."""
    desk.words = HOSTILE
    found = page(desk, desk.ask("pay", payee="Ann", amount=5), path)
    assert "<script>alert" not in found.source
    assert "<h1>Approved" not in found.source
    section = found.text[found.text.index(HEADING) :]
    for told in ("</pre></section>", "U+202E", "U+2066", "U+200B", "U+001B", "40 spaces", "mixes letters of Latin and Cyrillic"):
        assert told in section
    assert not {"\u202e", "\u2066", "\u200b", "\x1b"} & {*found.source}
    if path:
        assert section.index("Your decision") > 0
        assert found.source.index('type="checkbox"') < found.source.index(HEADING)


def test_long_words_and_none(desk: Console) -> None:
    """What was cut is said where it ends; the box scrolls, and can be opened whole. Where nothing was written nothing is shown."""
    desk.words = LONG
    found = page(desk, desk.ask("pay", payee="Ann", amount=5))
    assert f"Cut here: the model wrote {len(LONG):,} characters, of which the first {MOST:,} at most are kept." in found.text
    assert 'class="value said long" tabindex="0" role="region"' in found.source
    desk.words = " \n"
    assert HEADING not in page(desk, desk.ask("pay", payee="Bob", amount=5)).text


def test_erased_words(desk: Console) -> None:
    """That there were some is all that is left."""
    desk.words = "as he asked"
    asked = desk.ask("pay", payee="Ann", amount=5)
    desk.browser("b1", "treasury").vote(asked, "rejected", reason="no")
    settle(desk)
    Payloads(desk.guard.store, REDACTOR).erase(("default", "conv-1"), who="b1", reason="asked for")
    found = page(desk, asked).text
    assert (GONE in found, "as he asked" in found) == (True, False)


# -- what became of it -----------------------------------------------------------------------------------------------------

ENDS = {
    "": ("done", "Ran, and is done. Started 15 Jan 2027", "paid 5 to Ann, told [email]"),
    "fails": ("failed", "Ran, and failed. Started 15 Jan 2027", "The account of [email] is closed."),
    "is lost": ("unknown", "Nobody knows whether it took effect. Started 15 Jan 2027", "outcome_unknown"),
    "is refused": ("refused", "Did not run: it was refused when it was about to, 15 Jan 2027", "not_authorized"),
}


def ended(desk: Console, memo: str, folder: Path) -> str:
    """An approved call that was run, or tried."""
    asked = desk.ask("pay", payee="Ann", amount=5, memo=memo)
    assert "What became of it" not in page(desk, asked).text
    assert desk.browser("b1", "treasury").vote(asked, "approved").status == 303
    assert "What became of it" not in page(desk, asked).text
    if memo == "is refused":
        (folder / "policies" / "tools.yaml").write_text(POLICY.replace("allow: [clerk]", "allow: [nobody]", 1))
        desk.client.portal.call(desk.guard.reload)  # type: ignore[union-attr]
    settle(desk)
    return asked


def settle(desk: Console) -> None:
    """The program goes on with the first conversation."""

    async def work() -> Any:
        return await desk.guard.open(WHO, wire="openai-chat", conversation="conv-1").settled()

    desk.client.portal.call(work)  # type: ignore[union-attr]


@pytest.mark.parametrize("memo", ENDS, ids=[status for status, _, _ in ENDS.values()])
def test_what_became_of_it(desk: Console, tmp_path: Path, memo: str) -> None:
    """The page and the API say how the call ended, when and why, with what went back, redacted; a page that was open learns of it."""
    status, sentence, content = ENDS[memo]
    asked = ended(desk, memo, tmp_path)
    browser = desk.browser("b1", "treasury")
    found = browser.open(f"/approvals/{asked}")
    told = found.text[found.text.index("What became of it") :]
    assert sentence in told
    assert content in told
    ran = json.loads(browser.open(f"/api/v1/approvals/{asked}").source)["ran"]
    assert (ran["status"], content in ran["content"] or ran["reason"] == content) == (status, True)
    mark = re.search('data-state="([0-9a-f]+)"', found.source)
    assert mark
    assert json.loads(browser.open(f"/approvals/state?id={asked}").source) == {"state": mark[1]}


# -- the API and the terminal ----------------------------------------------------------------------------------------------


def test_the_api_has_them_beside_the_document(desk: Console) -> None:
    """With the sentence that labels them; the answer fits its description."""
    desk.words = HOSTILE
    asked = desk.ask("pay", payee="Ann", amount=5)
    found = json.loads(desk.browser("b1", "treasury").open(f"/api/v1/approvals/{asked}").source)
    assert (found["words"]["text"], found["words"]["note"], found["ran"]) == (HOSTILE, HEADING, None)
    assert found["document"]["words"] == found["words"]["digest"]
    schema = {"$ref": "#/components/schemas/Shown", "components": described()["components"]}
    Draft202012Validator(schema).validate(found)


@pytest.mark.parametrize("words", ["I think so.", None, "", 7, ["x"]], ids=["text", "null", "empty", "number", "list"])
def test_a_loop_in_another_language_sends_them(desk: Console, words: Any) -> None:
    """`words` of `/decide` is optional, and a text where it is given."""
    secret = desk.tokens.add("loop", ("propose",))
    call = {"tool": "pay", "arguments": {"payee": "Ann", "amount": 5}}
    body = {"session": {"principal": "c_1", "roles": ["clerk"]}, "conversation": "c", "call": call, "words": words}
    answer = desk.client.post("/api/v1/decide", json=body, headers={"Authorization": f"Bearer {secret}"})
    if words in (7, ["x"]):
        assert (answer.status_code, answer.json()) == (400, {"error": "words must be a text"})
    else:
        assert desk.show(answer.json()["approval"]).words.text == (words or "")


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[Guard]:
    with asking(tmp_path) as made:
        call = ToolCall("c2", "pay", '{"to": "eve", "amount": 3}')
        made.call(call, CLERK, conversation="conv-2", words=HOSTILE)
        yield made


@pytest.mark.parametrize("verb", ["show", "approve", "watch"])
def test_the_terminal_shows_them_last(run: Run, asked: Guard, verb: str) -> None:
    """Every row behind a bar, so that none passes for a line of the view; nothing hidden; nothing for a call without words."""
    first, second = asked.approvals.list()
    words = {"show": ("show", second.id), "approve": ("approve", second.id, "--yes"), "watch": ("watch", "--once")}[verb]
    ran = run("approvals", *words)
    assert ran.code == 0
    lines = ran.out.splitlines()
    at = lines.index(HEADING)
    assert lines.count(HEADING) == 1
    said = [line for line in lines if line.startswith("  | ")]
    assert said
    assert all(line.startswith(("  | ", "  ! ")) for line in lines[at + 1 : lines.index(said[-1])])
    assert not [line for line in lines[:at] if "gnp.exe" in line or "ap_other" in line]
    assert "[U+202E]" in "".join(said)
    assert "[U+001B]" in "".join(said)
    assert max(map(len, said)) <= 80
    assert HEADING not in run("approvals", "show", first.id).out


def test_the_terminal_says_what_became_of_it(run: Run, asked: Guard) -> None:
    """How it ended and what went back, in text and for a program."""
    _, second = asked.approvals.list()
    assert run("approvals", "approve", second.id, "--yes").code == 0
    assert run("approvals", "show", second.id, "--json").json["ran"] is None
    asked.open(CLERK, wire="openai-chat", conversation="conv-2").settled()
    lines = run("approvals", "show", second.id).out.splitlines()
    assert any(line.startswith("outcome      Ran, and is done. Started ") for line in lines)
    assert lines.index("what went back to the model, redacted") < lines.index(HEADING)
    found = run("approvals", "show", second.id, "--json").json
    assert (found["ran"]["status"], found["words"]["text"], [*found][-1]) == ("done", HOSTILE, "words")
