"""A console over a real guard, spoken to as a browser without scripts does: pages, forms, cookies, redirects."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from textwrap import dedent
from typing import Any

import httpx
from anyio.from_thread import start_blocking_portal
from starlette.testclient import TestClient
from stores_kit import Clock

from guard import AsyncGuard, PolicyWarning, Session, ToolCall
from guard.web.app import application
from guard.web.remote import Remote
from guard.web.tokens import Tokens

POLICY = """
    tools:
      pay:
        kind: action
        allow: [clerk]
        approve: {by: [treasury], expires: 20m, use_within: 15m, edit: [amount, memo], effect: "Pay {amount} to {payee}"}
      wire: {kind: action, allow: [clerk], approve: {by: [treasury], need: 2, secret: [token]}}
      draw: {kind: action, allow: [clerk], approve: {by: [boss]}}
"""
CLERK = Session(principal="c_1", roles=("clerk",))
HOST = "http://console.test"


def pay(payee: str, amount: int, memo: str = "") -> str:
    return f"paid {amount} to {payee}"


def wire(to: str, token: str) -> str:
    return "sent"


def draw(name: str) -> str:
    return f"drew {name}"


class _Reader(HTMLParser):
    """Forms with their fields, and the text that stands on the page."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: dict[str, dict[str, str]] = {}
        self.words: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self._form: dict[str, str] | None = None
        self._area = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.append((tag, given))
        if tag == "form":
            self._form = self.forms.setdefault(given.get("action") or "", {})
        elif tag == "textarea":
            self._area = given.get("name") or ""
        elif tag == "input" and self._form is not None and given.get("type") not in ("checkbox", "radio"):
            self._form[given.get("name") or ""] = given.get("value") or ""

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._form = None
        elif tag == "textarea":
            self._area = ""

    def handle_data(self, data: str) -> None:
        if self._area and self._form is not None:
            self._form[self._area] = self._form.get(self._area, "") + data.removeprefix("\n")
        else:
            self.words.append(data)


@dataclass(frozen=True)
class Page:
    """One answer."""

    answer: httpx.Response
    read: _Reader

    @property
    def status(self) -> int:
        return self.answer.status_code

    @property
    def text(self) -> str:
        """What stands there, blanks and line ends as one blank."""
        return " ".join("".join(self.read.words).split())

    @property
    def source(self) -> str:
        return self.answer.text

    def form(self, action: str) -> dict[str, str]:
        """The fields of a form as they stand."""
        return dict(self.read.forms[action])


@dataclass
class Browser:
    """Somebody's browser."""

    client: TestClient
    cookies: dict[str, str] = field(default_factory=dict)

    def _read(self, answer: Any) -> Page:
        reader = _Reader()
        reader.feed(answer.text)
        return Page(answer, reader)

    def _headers(self, more: dict[str, str]) -> dict[str, str]:
        cookie = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        return {"Cookie": cookie, **more} if cookie else more

    def open(self, path: str, **headers: str) -> Page:
        """Follow a link."""
        return self._read(self.client.get(path, headers=self._headers(headers), follow_redirects=False))

    def send(self, path: str, fields: Any, **headers: str) -> Page:
        """Send a form, from a page of the console unless the headers say otherwise."""
        known = {"Origin": HOST, "Sec-Fetch-Site": "same-origin", **headers}
        answer = self.client.post(path, data=fields, headers=self._headers(known), follow_redirects=False)
        for name, value in answer.cookies.items():
            self.cookies[name] = value
        return self._read(answer)

    def follow(self, page: Page) -> Page:
        """Go where an answer leads."""
        assert page.status == 303, (page.status, page.text)
        return self.open(page.answer.headers["location"])

    def vote(self, approval: str, choice: str, page: Page | None = None, **fields: str) -> Page:
        """Open an approval, or use the page that was opened before, and decide."""
        form = (page or self.open(f"/approvals/{approval}")).form(f"/approvals/{approval}/vote")
        return self.send(f"/approvals/{approval}/vote", {**form, "decision": choice, **fields})


@dataclass
class Console:
    """A running console. `ask` proposes a call and gives the approval that it waits for; `words` is what the model writes beside it."""

    guard: AsyncGuard
    tokens: Tokens
    client: TestClient
    clock: Clock
    asked: int = 0
    words: str = ""
    calls: dict[str, tuple[ToolCall, Session, str]] = field(default_factory=dict)

    def ask(self, tool: str, session: Session = CLERK, **arguments: Any) -> str:
        self.asked += 1
        proposed = (ToolCall(f"x{self.asked}", tool, arguments), session, f"conv-{self.asked}")
        outcome = self._call(*proposed)
        assert outcome.status == "held", outcome
        self.calls[outcome.approval] = proposed
        return str(outcome.approval)

    def go_on(self, approval: str) -> Any:
        """The program proposes the call of an approval once more; gives its outcome."""
        return self._call(*self.calls[approval])

    def _call(self, call: ToolCall, session: Session, conversation: str) -> Any:
        async def propose() -> Any:
            return await self.guard.call(call, session, conversation=conversation, words=self.words)

        return self.client.portal.call(propose)  # type: ignore[union-attr]

    def browser(self, person: str = "", *roles: str, scope: str = "vote", tenant: str = "") -> Browser:
        """A browser, signed in as this person."""
        self.client.cookies.clear()
        made = Browser(self.client)
        if person:
            secret = self.tokens.add(
                f"{person}-{scope}-{len(self.tokens.all())}", (scope,), person=person, roles=roles, tenant=tenant
            )
            assert made.send("/sign-in", {"token": secret, "next": "/approvals"}).status == 303
            self.client.cookies.clear()
        return made

    def show(self, approval: str) -> Any:
        return self.guard.store.approval(approval)


@contextmanager
def console(
    folder: Path,
    policy: str = POLICY,
    tools: Any = (pay, wire, draw),
    store: str = "memory://",
    link_keys: tuple[bytes, ...] = (),
    **given: Any,
) -> Iterator[Console]:
    """A console in this process."""
    place = folder / "policies"
    place.mkdir(exist_ok=True)
    (place / "tools.yaml").write_text(dedent(policy), "utf-8")
    clock = Clock()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PolicyWarning)
        guard = AsyncGuard.load(place, tools=tools, store=store, clock=clock, **given)
    tokens = Tokens(folder / "tokens.json")
    app = application(guard, Remote(), tokens, clock=lambda: clock.now, link_keys=link_keys)
    client = TestClient(app, base_url=HOST)
    with guard, start_blocking_portal() as portal:
        client.portal = portal  # one loop for all requests, as on a server
        yield Console(guard, tokens, client, clock)
