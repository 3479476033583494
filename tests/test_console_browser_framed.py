"""The console inside somebody else's page, in a real browser: nothing of it is shown there, so nobody is led to press its buttons unseen."""

from __future__ import annotations

import pytest
from browser_kit import NEEDS_CHROMIUM, Served, person
from http_service_kit import Service, says
from playwright.sync_api import Browser

pytestmark = [pytest.mark.slow, NEEDS_CHROMIUM]


@pytest.mark.parametrize("path", ["/approvals/{approval}", "/approvals", "/approvals/batch", "/grants", "/kill", "/sign-in"])
def test_a_framed_page_shows_nothing(browser: Browser, served: Served, path: str) -> None:
    """Of a signed-in person, from another origin: the frame holds the browser's own refusal and no word of the console."""
    approval = served.held("pay", payee="Framed", amount=7)
    address = served.site + path.format(approval=approval)
    with (
        Service(says(200, f"<h1>A game</h1><iframe src='{address}'></iframe>", "text/html")) as other,
        person(browser, served, "boss" if path == "/kill" else "b1") as page,
    ):
        game = page.context.new_page()
        game.goto(f"http://127.0.0.1:{other.port}/")
        game.wait_for_load_state("networkidle")
        [framed] = game.frames[1:]
        assert framed.url.startswith("chrome-error:")
        assert not {"Framed", "Approve", "Sign", "Kill"} & set(framed.content().replace("<", " ").replace(">", " ").split())
