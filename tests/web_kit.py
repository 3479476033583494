"""A running console in this process: a program whose calls are held, and the server on loopback that people reach with real requests."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent
from typing import Any, Self

import httpx

from guard import AsyncGuard, Guard, Session, ToolCall
from guard.web.app import application
from guard.web.remote import Remote
from guard.web.server import Server, configured
from guard.web.settings import Settings
from guard.web.tokens import Tokens

POLICY = """
    tools:
      pay:
        kind: action
        allow: [staff]
        schema:
          type: object
          properties: {payee: {type: string}, amount: {type: integer}}
          required: [payee, amount]
          additionalProperties: false
        approve: {by: [boss], expires: 24h}
    limits:
      run: {steps: 2000, calls: 2000}
"""
TLS = ssl.create_default_context()  # made once: it takes longer than a request


@dataclass
class Web:
    """`guard` is the program, over the store of the server; `now` is the clock of tokens and logins, in seconds."""

    folder: Path
    policy: str = POLICY
    settings: Settings | None = None
    now: float = 1_800_000_000.0
    held: int = 0
    ran: list[dict[str, Any]] = field(default_factory=list)
    _clients: list[httpx.Client] = field(default_factory=list)

    def __enter__(self) -> Self:
        policies = self.folder / "policies"
        policies.mkdir(exist_ok=True)
        (policies / "tools.yaml").write_text(dedent(self.policy), "utf-8")
        self.store = f"sqlite:///{self.folder}/guard.db"
        self.tokens = Tokens(self.folder / "guard-tokens.json")
        self.guard = Guard.load(policies, tools={"pay": self._pay}, store=self.store)
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(policies)))
        self._thread.start()
        assert self._ready.wait(30)
        return self

    def _pay(self, **arguments: Any) -> str:
        self.ran.append(arguments)
        return "paid"

    async def _serve(self, policies: Path) -> None:
        with AsyncGuard.load(policies, tools={"pay": self._pay}, store=self.store) as guard:
            app = application(guard, Remote(), self.tokens, clock=lambda: self.now, settings=self.settings)
            self.server = Server(configured(app, "127.0.0.1", 0), self._started)
            await self.server.serve()

    def _started(self, address: str) -> None:
        self.url = address.removesuffix("/api/v1")
        self._ready.set()

    def __exit__(self, *_: object) -> None:
        for client in self._clients:
            client.close()
        self.server.should_exit = True
        self._thread.join(30)
        self.guard.close()

    # -- people and programs -----------------------------------------------------------------------------------------------

    def token(self, name: str, *scopes: str, tenant: str = "", roles: tuple[str, ...] = ("boss",), **more: Any) -> str:
        """A token of a person of this name, or of a program."""
        if scopes == ("propose",):
            return self.tokens.add(name, scopes, tenant=tenant)
        return self.tokens.add(name, scopes or ("vote",), tenant=tenant, person=more.pop("person", name), roles=roles, **more)

    def client(self, secret: str = "", **headers: str) -> httpx.Client:
        """Somebody who asks, with this token or with nothing."""
        given = {"Authorization": f"Bearer {secret}", **headers} if secret else headers
        found = httpx.Client(base_url=self.url, headers=given, timeout=60, trust_env=False, verify=TLS)
        self._clients.append(found)
        return found

    def browser(self, secret: str = "", **headers: str) -> httpx.Client:
        """Somebody at a browser of this server's pages; signed in where there is a token."""
        found = self.client(**{"Origin": self.url, "Sec-Fetch-Site": "same-origin", **headers})
        if secret:
            answer = found.post("/sign-in", data={"token": secret})
            assert (answer.status_code, answer.headers["location"]) == (303, "/approvals"), answer.text
            found.headers["X-Form-Token"] = found.get("/api/v1/me").json()["form_token"]
        return found

    # -- calls -------------------------------------------------------------------------------------------------------------

    def hold(self, amount: int = 5, *, session: Session | None = None, conversation: str = "", payee: str = "bob") -> str:
        """A call that waits, in a conversation of its own and asked for by one of many; gives its approval."""
        self.held += 1
        call = ToolCall("x", "pay", {"payee": payee, "amount": amount})
        asker = session or Session(principal=f"ann{self.held // 15}", roles=("staff",))  # nobody asks for more than 20 at once
        held = self.guard.call(call, asker, conversation=conversation or f"c{self.held}")
        assert held.status == "held", held
        assert held.approval is not None
        return held.approval

    def ballot(self, client: httpx.Client, approval: str, decision: str = "approved", **more: Any) -> dict[str, Any]:
        """What a vote about it must carry, as this person is shown it."""
        shown = client.get(f"/api/v1/approvals/{approval}")
        assert shown.status_code == 200, shown.text
        seen = {name: shown.json()[name] for name in ("revision", "fingerprint", "presented")}
        return {**seen, "decision": decision, **more}

    def vote(self, client: httpx.Client, approval: str, decision: str = "approved", **more: Any) -> httpx.Response:
        """Look and vote."""
        return client.post(f"/api/v1/approvals/{approval}/votes", json=self.ballot(client, approval, decision, **more))

    def status(self, approval: str) -> str:
        """How an approval stands."""
        return self.guard.approvals.show(approval).status


@contextmanager
def web(folder: Path, **more: Any) -> Iterator[Web]:
    """A running console."""
    with Web(folder, **more) as running:
        yield running
