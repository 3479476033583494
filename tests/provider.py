"""A scripted model provider on 127.0.0.1: real HTTP, all message formats, and the providers' own rejections.

    with Provider([{"role": "assistant", "content": "hello"}]) as provider:
        with openai_client(provider) as client: ...

Each accepted request is answered with the next turn of the script: an assistant message, a whole response, the text of a
stream, or (Bedrock) the list of its events. A request that the
provider would reject gets status 400 in its own error form, and the script does not move. `requests` holds the accepted bodies,
`rejections` the error texts.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

import anthropic
import httpx
import openai
from provider_frames import frames
from provider_rules import RejectedError, check_anthropic, check_openai, check_responses
from provider_rules_parts import check_bedrock, check_gemini

Body = dict[str, Any]


class Provider:
    """The server, as a context manager. `url` has no path; `ROUTES` says which are served. `cut`: send so many bytes of a stream, then break off."""

    def __init__(self, script: Iterable[Body | str | list[Body]], cut: int | None = None) -> None:
        self.script = list(script)
        self.cut = cut
        self.requests: list[Body] = []
        self.rejections: list[str] = []
        self.known: tuple[str, ...] = ()
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

    def answer(self, path: str, body: Body) -> tuple[int, Body | str | list[Body]]:
        """Status and body for one request."""
        route = next((ROUTES[known] for known in ROUTES if path.endswith(known)), None)
        if route is None:
            return 404, {"error": {"message": f"no such path {path}", "type": "not_found_error"}}
        check, reply, error = route
        with self._lock:
            try:
                check(body, self.known) if check is check_responses else check(body)
            except (RejectedError, KeyError, TypeError, AttributeError) as problem:
                self.rejections.append(str(problem))
                return 400, error(str(problem))
            if not self.script:
                return 404, error("the script has no further turn")
            self.requests.append(body)
            turn = self.script.pop(0)
            if isinstance(turn, str | list):
                return 200, turn
            given = reply(turn, body, len(self.requests))
            self.known = (
                tuple(item["call_id"] for item in given.get("output", []) if "call_id" in item)
                if check is check_responses
                else ()
            )
            return 200, given


def _handler(provider: Provider) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, answer = provider.answer(self.path.partition("?")[0], body)
            data = (
                frames(answer)
                if isinstance(answer, list)
                else (answer if isinstance(answer, str) else json.dumps(answer)).encode()
            )
            self.send_response(status)
            self.send_header("Content-Type", _KINDS.get(type(answer), "application/json"))
            if status == 400:
                self.send_header("x-amzn-ErrorType", "ValidationException")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data if isinstance(answer, dict) else data[: provider.cut])
            self.close_connection = provider.cut is not None

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the name is the base class's
            """Say nothing."""

    return Handler


_KINDS = {str: "text/event-stream", list: "application/vnd.amazon.eventstream"}


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


def _response(turn: Body, body: Body, number: int) -> Body:
    """A Response around output items; a turn with `object` is one already."""
    if "object" in turn:
        return turn
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 1_700_000_000 + number,
        "status": "completed",
        "model": body.get("model", "scripted"),
        "output": turn["output"],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": 100,
            "output_tokens": 20,
            "total_tokens": 120,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
        },
    }


def _generated(turn: Body, body: Body, number: int) -> Body:
    """A response around a content; a turn with `candidates` is one already."""
    if "candidates" in turn:
        return turn
    usage = {"promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 120}
    return {
        "candidates": [{"content": turn, "finishReason": "STOP", "index": 0}],
        "usageMetadata": usage,
        "modelVersion": "scripted",
    }


def _conversed(turn: Body, body: Body, number: int) -> Body:
    """An answer around a message; a turn with `output` is one already."""
    if "output" in turn:
        return turn
    calls = any("toolUse" in block for block in turn["content"])
    usage = {"inputTokens": 100, "outputTokens": 20, "totalTokens": 120}
    return {
        "output": {"message": turn},
        "stopReason": "tool_use" if calls else "end_turn",
        "usage": usage,
        "metrics": {"latencyMs": 1},
    }


def _openai_error(text: str) -> Body:
    return {"error": {"message": text, "type": "invalid_request_error", "param": None, "code": None}}


def _anthropic_error(text: str) -> Body:
    return {"type": "error", "error": {"type": "invalid_request_error", "message": text}}


def _google_error(text: str) -> Body:
    return {"error": {"code": 400, "message": text, "status": "INVALID_ARGUMENT"}}


def _aws_error(text: str) -> Body:
    return {"message": text}


Route = tuple[Callable[..., None], Callable[[Body, Body, int], Body], Callable[[str], Body]]
ROUTES: dict[str, Route] = {
    "/v1/chat/completions": (check_openai, _completion, _openai_error),
    "/v1/responses": (check_responses, _response, _openai_error),
    "/v1/messages": (check_anthropic, _message, _anthropic_error),
    ":generateContent": (check_gemini, _generated, _google_error),
    ":streamGenerateContent": (check_gemini, _generated, _google_error),
    "/converse": (check_bedrock, _conversed, _aws_error),
    "/converse-stream": (check_bedrock, _conversed, _aws_error),
}


def openai_client(provider: Provider) -> openai.OpenAI:
    """The real OpenAI client, pointed at the provider; close it, or use it as a context manager."""
    web = openai.DefaultHttpxClient(trust_env=False)
    return openai.OpenAI(base_url=f"{provider.url}/v1", api_key="made-up", max_retries=0, http_client=web)


def anthropic_client(provider: Provider) -> anthropic.Anthropic:
    """The real Anthropic client, pointed at the provider; close it, or use it as a context manager."""
    web = anthropic.DefaultHttpxClient(trust_env=False)
    return anthropic.Anthropic(base_url=provider.url, api_key="made-up", max_retries=0, http_client=web)


def gemini_client(provider: Provider) -> Any:
    """The real Gemini client, pointed at the provider; close it, or use it as a context manager."""
    from google import genai

    web = httpx.Client(trust_env=False)
    options = genai.types.HttpOptions(base_url=provider.url, httpx_client=web)
    return genai.Client(api_key="made-up", http_options=options)


@cache
def _session() -> Any:
    """One session for all clients: it reads the service's description from disk once."""
    from botocore.session import get_session

    return get_session()


@contextmanager
def bedrock_client(provider: Provider) -> Iterator[Any]:
    """The real Bedrock client, pointed at the provider."""
    from botocore.config import Config

    client = _session().create_client(
        "bedrock-runtime",
        region_name="us-east-1",
        endpoint_url=provider.url,
        aws_access_key_id="made-up",
        aws_secret_access_key="made-up",
        config=Config(retries={"total_max_attempts": 1}, proxies={}),
    )
    try:
        yield client
    finally:
        client.close()
