"""What the model wrote and what became of a call, in a real browser: on a phone and on a desk, with scripts off, looked through by axe-core."""

from __future__ import annotations

from pathlib import Path

import pytest
from browser_kit import CLERK, NEEDS_CHROMIUM, Served, chromium, faults, no_sideways_scroll, person, picture
from playwright.sync_api import expect

from guard.core.wording import HEADING

pytestmark = [pytest.mark.slow, NEEDS_CHROMIUM]

WORDS = {
    "hostile": "</pre></section><script>alert(1)</script><h1>Approved</h1>\n\u202egnp.exe\u2066 p\u0430ypal.com "
    + "x" * 600
    + " " * 60
    + ".",
    "long": ("word " * 9 + "\n") * 1_200,
    "none": None,
}


def test_words_and_ends(tmp_path: Path) -> None:
    """No sideways scrolling, no script, no serious fault; the heading stands below the buttons, and nothing where nothing was written."""
    with Served(tmp_path) as served, chromium() as browser:
        given = {"session": CLERK, "conversation": "words"}
        asked = {
            name: served.decide("pay", {"payee": name, "amount": at}, words=words, **given)["approval"]
            for at, (name, words) in enumerate(WORDS.items())
        }
        for width in (390, 1280):
            with person(browser, served, "b1", viewport={"width": width, "height": 844}) as page:
                for name, approval in asked.items():
                    page.goto(f"/approvals/{approval}")
                    no_sideways_scroll(page)
                    picture(page, f"words-{name}-{width}")
                    heading = page.get_by_role("heading", name=HEADING)
                    expect(heading).to_have_count(0 if name == "none" else 1)
                    if name != "none":
                        page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
                        top, button = (
                            heading.bounding_box(),
                            page.get_by_role("button", name="Approve", exact=True).bounding_box(),
                        )
                        assert top
                        assert button
                        assert top["y"] > button["y"] + button["height"]
                    assert faults(page) == []
                page.goto("/approvals/batch")
                no_sideways_scroll(page)
                expect(page.get_by_role("heading", name=HEADING)).to_have_count(2)
                assert faults(page) == []
        with person(browser, served, "b1", java_script_enabled=False) as page:
            page.goto(f"/approvals/{asked['hostile']}")
            page.get_by_role("button", name="Approve", exact=True).click()
            ticket = served.decide("pay", {"payee": "hostile", "amount": 0}, **given)["ticket"]
            served.ask("report", ticket=ticket, status="failed", message="Closed by kim.doe@example.com")
            page.goto(f"/approvals/{asked['hostile']}")
            expect(page.locator("main")).to_contain_text("Ran, and failed. Started")
            expect(page.locator("main")).to_contain_text("Closed by [email]")
            no_sideways_scroll(page)
            picture(page, "words-ended-390")
