"""A real browser before a real server: Debian's chromium, driven by Playwright. Pictures are kept in `.artefacts/console`, outside git."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright
from sidecar_kit import ROOT, Sidecar

from guard.web.tokens import Tokens

CHROMIUM = shutil.which("chromium")
NEEDS_CHROMIUM = pytest.mark.skipif(CHROMIUM is None, reason="no browser here: apt install chromium")
ARTEFACTS = ROOT / ".artefacts" / "console"
PHONE = {"width": 390, "height": 844}
ARGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
CLERK = {"principal": "c_1", "roles": ["clerk"]}
POLICY = """
tools:
  pay:
    kind: action
    description: Pay an invoice.
    allow: [clerk]
    schema:
      type: object
      properties: {payee: {type: string}, amount: {type: number}, memo: {type: string}}
      required: [payee, amount]
    approve:
      - by: [treasury]
        edit: [amount, memo]
        effect: "Pay {amount} to {payee}"
        show: [payee, amount]
        grants: [{scope: same_call, uses: 2, until: 1d}, {amount: amount, at_most: 5000, sum: 9000, same: [payee], until: 7d}]
  run:
    kind: action
    description: Run a command.
    allow: [clerk]
    schema:
      type: object
      properties: {cmd: {type: string}, host: {type: string}, items: {type: array}, token: {type: string}}
      required: [cmd]
    approve: {by: [treasury], need: 2, secret: [token]}
"""


class Served(Sidecar):
    """A server with a console, a loop that proposes, and people with tokens."""

    def __init__(self, folder: Path) -> None:
        policy = folder / "policies"
        policy.mkdir()
        (policy / "tools.yaml").write_text(POLICY, "utf-8")
        super().__init__(folder, policy=policy)
        self.people = {name: self._person(name) for name in ("b1", "b2", "b3")} | {"boss": self._person("boss", "admin")}
        self.asked = 0

    def _person(self, name: str, scope: str = "vote") -> str:
        return Tokens(self.folder / "guard-tokens.json").add(name, (scope,), person=name, roles=("treasury",))

    def held(self, tool: str, **arguments: Any) -> str:
        """Propose a call that waits for a person; gives its approval."""
        self.asked += 1
        answer = self.decide(tool, arguments, conversation=f"conv-{self.asked}", session=CLERK)
        assert answer["decision"] == "hold", answer
        return str(answer["approval"])

    def admin(self, method: str, path: str, **body: Any) -> Any:
        """A request of the boss to the API, answered."""
        answer = self.client.request(
            method, f"/{path}", json=body or None, headers={"Authorization": f"Bearer {self.people['boss']}"}
        )
        assert answer.status_code == 200, answer.text
        return answer.json()

    def kills(self) -> list[Any]:
        """What is stopped."""
        return list(self.admin("GET", "kill")["kills"])

    @property
    def site(self) -> str:
        return self.url.removesuffix("/api/v1")


@contextmanager
def chromium() -> Iterator[Browser]:
    """One browser."""
    ARTEFACTS.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGS)
        yield browser
        browser.close()


@contextmanager
def person(browser: Browser, served: Served, name: str = "", **options: Any) -> Iterator[Page]:
    """A window of their own for somebody, signed in through the page; phone-sized unless told otherwise."""
    context: BrowserContext = browser.new_context(base_url=served.site, **{"viewport": PHONE, **options})
    context.set_default_timeout(15_000)
    page = context.new_page()
    refused: list[str] = []
    page.on("console", lambda message: refused.append(message.text) if "Content Security Policy" in message.text else None)
    page.on("dialog", lambda dialog: refused.append(f"a dialog opened: {dialog.message}"))
    if name:
        page.goto("/approvals")
        page.get_by_label("Your token").fill(served.people[name])
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url("**/approvals")
    yield page
    context.close()
    assert refused == []


def picture(page: Page, name: str) -> None:
    """Keep what the page looks like."""
    page.screenshot(path=ARTEFACTS / f"{name}.png", full_page=True)


def faults(page: Page) -> list[str]:
    """What axe-core calls serious or critical on the page."""
    page.wait_for_load_state()  # its style counts
    found = Axe().run(page).response["violations"]
    return [f"{one['id']}: {node['html']}" for one in found if one["impact"] in ("serious", "critical") for node in one["nodes"]]


def no_sideways_scroll(page: Page) -> None:
    """The page is no wider than the screen, and no table of it moves in its frame."""
    page.wait_for_load_state()  # a click has led to the next page; its style comes with it
    width, screen = page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    assert width <= screen
    moved = "[...document.querySelectorAll('.box')].filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => one.ariaLabel)"
    assert page.evaluate(moved) == []
