"""A standing permission given on a phone, by keyboard, with scripts off; looked through by axe-core with the choice on the page."""

from __future__ import annotations

from typing import Any

import pytest
from browser_kit import CLERK, NEEDS_CHROMIUM, Served, faults, no_sideways_scroll, person, picture
from playwright.sync_api import Browser, expect

pytestmark = [pytest.mark.slow, NEEDS_CHROMIUM]
WORDS = (
    "Calls of pay for c_1 (tenant default) run without a further question:",
    "amount is at most 5000 in one call, and 9000 in all calls together",
    'payee is exactly "Ann [U+202E]Meier ',
    "every other argument may be ANYTHING: memo",
    "in any conversation of this person",
    "until ",
    "only with exactly the arguments of the call that was approved",
)


def asked(served: Served, width: int, amount: int) -> Any:
    """What becomes of a further payment to the same payee."""
    arguments = {"payee": f"Ann \u202eMeier {width}", "amount": amount, "memo": "x"}
    return served.decide("pay", arguments, conversation=f"further-{width}-{amount}", session=CLERK)["decision"]


@pytest.mark.parametrize("width", [390, 1280])
def test_a_permission_is_read_and_given_by_keyboard(browser: Browser, served: Served, width: int) -> None:
    """Nothing is chosen at first; the arrow keys choose, Enter approves, and the next call runs without a question."""
    approval = served.held("pay", payee=f"Ann \u202eMeier {width}", amount=1250, memo="Invoice 4711")
    looks: Any = {"viewport": {"width": width, "height": 844}, "java_script_enabled": False}
    with person(browser, served, "b1", **looks) as page:
        page.goto(f"/approvals/{approval}")
        no_sideways_scroll(page)
        for words in WORDS:
            expect(page.locator("main")).to_contain_text(words)
        none = page.get_by_label("No: this call only")
        expect(none).to_be_checked()
        none.focus()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowDown")
        expect(page.get_by_label("Yes: calls up to an amount")).to_be_checked()
        picture(page, f"giving-{width}")
        page.get_by_role("button", name="Approve", exact=True).focus()
        page.keyboard.press("Enter")
        expect(page.locator("main")).to_contain_text("Further calls, permitted with this approval")
        page.get_by_role("link", name="gr_").click()
        expect(page.locator("main")).to_contain_text("in force")
    assert [asked(served, width, 100), asked(served, width, 5001)] == ["allow", "hold"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_fault_in_the_choice(browser: Browser, served: Served, scheme: Any) -> None:
    """Each choice has its label and its words, in both themes."""
    approval = served.held("pay", payee=f"Axe {scheme}", amount=12_500, memo="m")
    with person(browser, served, "b1", color_scheme=scheme) as page:
        page.goto(f"/approvals/{approval}")
        assert faults(page) == []
