"""A scripted model provider on 127.0.0.1: real HTTP, both message formats, and the providers' own rejections.

    with Provider([{"role": "assistant", "content": "hello"}]) as provider:
        with openai_client(provider) as client: ...

Each accepted request is answered with the next turn of the script: an assistant message, a whole response, or the text of a
stream. A request that the
provider would reject gets status 400 in its own error form, and the script does not move. `requests` holds the accepted bodies,
`rejections` the error texts.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

import anthropic
import openai
from provider_rules import RejectedError, check_anthropic, check_openai

Body = dict[str, Any]


class Provider:
    """The server, as a context manager. `url` has no path: `/v1/chat/completions` and `/v1/messages` are served."""

    def __init__(self, script: Iterable[Body | str]) -> None:
        self.script = list(script)
        self.requests: list[Body] = []
        self.rejections: list[str] = []
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def answer(self, path: str, body: Body) -> tuple[int, Body | str]:
        """Status and body for one request."""
        if path not in ROUTES:
            return 404, {"error": {"message": f"no such path {path}", "type": "not_found_error"}}
        check, reply, error = ROUTES[path]
        with self._lock:
            try:
                check(body)
            except (RejectedError, KeyError, TypeError, AttributeError) as problem:
                self.rejections.append(str(problem))
                return 400, error(str(problem))
            if not self.script:
                return 404, error("the script has no further turn")
            self.requests.append(body)
            turn = self.script.pop(0)
            return 200, turn if isinstance(turn, str) else reply(turn, body, len(self.requests))


def _handler(provider: Provider) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, answer = provider.answer(self.path.partition("?")[0], body)
            data = (answer if isinstance(answer, str) else json.dumps(answer)).encode()
            self.send_response(status)
            self.send_header("Content-Type", "text/event-stream" if isinstance(answer, str) else "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the name is the base class's
            """Say nothing."""

    return Handler


def _completion(turn: Body, body: Body, number: int) -> Body:
    """A chat completion around an assistant message; a turn with `choices` is one already."""
    if "choices" in turn:
        return turn
    finish = "tool_calls" if turn.get("tool_calls") else "stop"
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 1_700_000_000 + number,
        "model": body.get("model", "scripted"),
        "choices": [{"index": 0, "finish_reason": finish, "message": turn, "logprobs": None}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
    }


def _message(turn: Body, body: Body, number: int) -> Body:
    """A Message around content blocks; a turn with `type` is one already."""
    if "type" in turn:
        return turn
    content = turn["content"] if isinstance(turn["content"], list) else [{"type": "text", "text": turn["content"]}]
    calls = any(block["type"] == "tool_use" for block in content)
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": body.get("model", "scripted"),
        "content": content,
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 100, "output_tokens": 20},
    }


def _openai_error(text: str) -> Body:
    return {"error": {"message": text, "type": "invalid_request_error", "param": None, "code": None}}


def _anthropic_error(text: str) -> Body:
    return {"type": "error", "error": {"type": "invalid_request_error", "message": text}}


Route = tuple[Callable[[Body], None], Callable[[Body, Body, int], Body], Callable[[str], Body]]
ROUTES: dict[str, Route] = {
    "/v1/chat/completions": (check_openai, _completion, _openai_error),
    "/v1/messages": (check_anthropic, _message, _anthropic_error),
}


def openai_client(provider: Provider) -> openai.OpenAI:
    """The real OpenAI client, pointed at the provider; close it, or use it as a context manager."""
    web = openai.DefaultHttpxClient(trust_env=False)
    return openai.OpenAI(base_url=f"{provider.url}/v1", api_key="made-up", max_retries=0, http_client=web)


def anthropic_client(provider: Provider) -> anthropic.Anthropic:
    """The real Anthropic client, pointed at the provider; close it, or use it as a context manager."""
    web = anthropic.DefaultHttpxClient(trust_env=False)
    return anthropic.Anthropic(base_url=provider.url, api_key="made-up", max_retries=0, http_client=web)
