"""A service on loopback that answers as it is told and remembers every request; and a guard whose tools are requests to it."""

from __future__ import annotations

import itertools
import json
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

from guard import Guard, Session, ToolCall
from guard.core.endpoints import METHODS

CLERK = Session(principal="E1", tenant="acme", roles=("clerk",))
_NUMBERS = itertools.count()


@dataclass
class Asked:
    """One request as it arrived."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body, parse_float=str)


Answers = Callable[[BaseHTTPRequestHandler], None]


@dataclass
class Service:
    """`answer` writes the answer to each request; `asked` are the requests so far."""

    answer: Answers
    tls: ssl.SSLContext | None = None
    asked: list[Asked] = field(default_factory=list)

    def __enter__(self) -> Self:
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def every(self) -> None:
                size = int(self.headers.get("Content-Length") or 0)
                body = self.rfile.read(size)
                if len(body) < size:  # whoever sent it was killed meanwhile: nobody takes that for a request
                    self.close_connection = True
                    return
                service.asked.append(Asked(self.command, self.path, {k.lower(): v for k, v in self.headers.items()}, body))
                service.answer(self)

            def log_message(self, *_: object) -> None:
                pass

        for method in METHODS:
            setattr(Handler, f"do_{method}", Handler.every)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        if self.tls is not None:
            self._server.socket = self.tls.wrap_socket(self._server.socket, server_side=True)
        self.port = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def says(
    status: int = 200, body: bytes | str = b"{}", kind: str = "application/json", headers: dict[str, str] | None = None
) -> Answers:
    """An answer that is always the same."""
    raw = body.encode() if isinstance(body, str) else body

    def answer(to: BaseHTTPRequestHandler) -> None:
        to.send_response(status)
        for name, value in (headers or {}).items():
            to.send_header(name, value)
        if kind:
            to.send_header("Content-Type", kind)
        to.send_header("Content-Length", str(len(raw)))
        to.end_headers()
        if to.command != "HEAD":
            to.wfile.write(raw)

    return answer


def guard_with(folder: Path, tools: dict[str, dict[str, Any]]) -> Guard:
    """A guard of these entries, each allowed for clerks; actions ask nobody."""
    folder.mkdir(exist_ok=True)
    whole = {
        name: {"kind": "read", "allow": ["clerk"], **({"approve": "never"} if entry.get("kind") == "action" else {}), **entry}
        for name, entry in tools.items()
    }
    policy = {"tools": whole, "limits": {"run": {"calls": 1000}}}
    (folder / "tools.yaml").write_text(json.dumps(policy), "utf-8")
    return Guard.load(folder, tools=[], store="memory://")


def call(guard: Guard, tool: str, arguments: str = "{}", session: Session = CLERK) -> Any:
    """One call, in a conversation of its own."""
    number = next(_NUMBERS)
    return guard.call(ToolCall(f"c{number}", tool, arguments), session, conversation=f"conv{number}")


def schema(*required: str, **fields: Any) -> dict[str, Any]:
    """A schema of these fields; a word is a type."""
    shapes = {name: {"type": shape} if isinstance(shape, str) else shape for name, shape in fields.items()}
    return {"type": "object", "properties": shapes, "required": [*required]}


ANY = schema(a="string", n="number", flag="boolean", many={"type": "array", "items": {"type": "string"}}, deep="object")


def of(service: Service, path: str = "/x", **http: Any) -> dict[str, Any]:
    """An entry that is a request to the service, with arguments of every type."""
    return {"http": {"url": f"http://127.0.0.1:{service.port}{path}", **http}, "schema": ANY}
