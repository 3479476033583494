"""The kill switch in a real browser: on a phone with scripts off, by keyboard, and looked through by axe-core."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from browser_kit import CLERK, NEEDS_CHROMIUM, Served, faults, no_sideways_scroll, person, picture
from playwright.sync_api import Browser, Page, expect

pytestmark = [pytest.mark.slow, NEEDS_CHROMIUM]

HOSTILE = "amounts\u202egnorw<img src=x onerror=alert(1)>" + "x" * 600 + "\u0335\u0321" * 40


@pytest.fixture(autouse=True)
def let_go(served: Served) -> Iterator[None]:
    """Nothing is stopped behind a test."""
    yield
    for one in served.kills():
        served.admin("POST", f"kill/{one['id']}/clear", reason="the test is over")


def decided(served: Served, payee: str) -> Any:
    """What the loop is told of a call that it proposes."""
    told = served.decide("pay", {"payee": payee, "amount": 5}, conversation=f"kill {payee}", session=CLERK)
    return told.get("reason") or told["decision"]


def stop(page: Page, reason: str, **named: str) -> None:
    """Fill the form and send it."""
    page.goto("/kill")
    if "tool" in named:
        page.get_by_label("Tool", exact=True).select_option(named["tool"])
    page.get_by_role("textbox", name="Conversation").fill(named.get("conversation", ""))
    page.get_by_label("Why (on record").fill(reason)
    page.get_by_role("button", name="Stop them").click()


def test_stopping_and_letting_go_on_on_a_phone_with_scripts_off(browser: Browser, served: Served) -> None:
    """Found in the menu, stopped by tool; the loop is refused, what waited has ended, and after a reason it goes on."""
    waits = served.held("pay", payee="Waits", amount=5)
    with person(browser, served, "boss", java_script_enabled=False) as page:
        page.get_by_role("link", name="Kill switch").click()
        expect(page.locator("main")).to_contain_text("Nothing is stopped in the tenant")
        no_sideways_scroll(page)
        picture(page, "kill-none-phone")
        stop(page, HOSTILE, tool="pay")
        expect(page.locator("main")).to_contain_text("Stopped: the tool pay in the tenant")
        expect(page.locator("main")).to_contain_text("1 question, 0 unused yeses")
        assert {"U+202E", "U+0335"} <= {code for code in ("U+202E", "U+0335") if code in page.locator("main").inner_text()}
        assert page.locator("main script, main img").count() == 0
        for button in page.locator("main button").all():
            assert (button.bounding_box() or {"height": 0})["height"] >= 48
        no_sideways_scroll(page)
        picture(page, "kill-set-phone")
        assert decided(served, "Under") == "killed"
        page.goto(f"/approvals/{waits}")
        expect(page.locator("main")).to_contain_text("cancelled")
        page.goto("/kill")
        page.get_by_label("Why it may go on").fill("mended")
        page.get_by_role("button", name="Let new calls go on").click()
        expect(page.get_by_role("heading", name="What was stopped before")).to_be_visible()
        no_sideways_scroll(page)
        picture(page, "kill-cleared-phone")
    assert decided(served, "After") == "held_for_approval"


def test_what_is_missing_is_said_on_a_phone(browser: Browser, served: Served) -> None:
    """The browser leads to the reason; a form that names nothing stops nothing, and says what to choose."""
    with person(browser, served, "boss") as page:
        page.goto("/kill")
        page.get_by_role("button", name="Stop them").click()
        expect(page.get_by_label("Why (on record")).to_be_focused()
        stop(page, "r")
        expect(page.get_by_role("alert")).to_contain_text("Nothing was stopped")
        expect(page.get_by_label("Why (on record")).to_have_value("r")
        no_sideways_scroll(page)
        picture(page, "kill-wrong-phone")
    assert served.kills() == []


def test_who_was_faster_is_told(browser: Browser, served: Served) -> None:
    """The second one to clear reads who did, on the page that shows how it stands."""
    with person(browser, served, "boss", java_script_enabled=False) as slow:
        stop(slow, "r", conversation="conv-9")
        [kill] = served.kills()
        served.admin("POST", f"kill/{kill['id']}/clear", reason="mended")
        slow.get_by_label("Why it may go on").fill("mended, too")
        slow.get_by_role("button", name="Let new calls go on").click()
        expect(slow.get_by_role("alert")).to_contain_text("Somebody was faster")
        expect(slow.get_by_role("alert")).to_contain_text("already cleared by boss")


def test_by_keyboard(browser: Browser, served: Served) -> None:
    """From the top of the page through the form by Tab alone, in reading order, each stop visible; Space ticks, Enter sends."""
    with person(browser, served, "boss") as page:
        page.goto("/kill")
        stops = []
        for _ in range(30):
            page.keyboard.press("Tab")
            stops.append(page.evaluate("(document.activeElement.name || document.activeElement.innerText || '').trim()"))
            assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
            if stops[-1] == "all":
                page.keyboard.press("Space")
            if stops[-1] == "reason":
                page.keyboard.type("everything is wrong")
            if stops[-1] == "Stop them":
                break
        assert stops[0] == "To the content"
        assert stops[-5:] == ["tool", "conversation", "all", "reason", "Stop them"]
        page.keyboard.press("Enter")
        expect(page.locator("main")).to_contain_text("Stopped: everything in the tenant")
    assert decided(served, "Nobody") == "killed"


@pytest.mark.parametrize(("scheme", "width"), [("light", 390), ("dark", 1200)])
def test_axe_finds_no_serious_fault(browser: Browser, served: Served, scheme: Any, width: int) -> None:
    """With stops in force, some cleared, and a form that was sent wrongly, in both themes."""
    looks: Any = {"color_scheme": scheme, "viewport": {"width": width, "height": 844}}
    found = {}
    with person(browser, served, "boss", **looks) as page:
        stop(page, HOSTILE, tool="pay")
        found["set"] = faults(page)
        stop(page, "this one only", conversation="conv-1")
        served.admin("POST", f"kill/{served.kills()[0]['id']}/clear", reason=HOSTILE)
        stop(page, "r")
        found["wrong"] = faults(page)
        no_sideways_scroll(page)
        picture(page, f"kill-{scheme}-{width}")
    assert {one: told for one, told in found.items() if told} == {}
