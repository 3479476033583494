"""Model server: a scripted language model on 127.0.0.1 that speaks OpenAI's chat completions over real HTTP.

    with ModelServer({"travel": script}) as server:
        httpx.post(f"{server.url}/v1/chat/completions", json={"model": "travel", "messages": messages})

It keeps no state: the number of assistant messages in the history says which turn comes next, and `model` names the script. Like a real
provider it answers 400 to a history that is not well formed. It may not know the guard: the history is judged by others' rules.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

Message = dict[str, Any]
PATH = "/v1/chat/completions"


class ModelServer:
    """The server, as a context manager. `url` has no path; every script is `{"turns": [messages], "otherwise": {code: text}}`."""

    def __init__(self, scripts: Mapping[str, Mapping[str, Any]]) -> None:
        self.scripts = dict(scripts)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def answer(self, path: str, body: Message) -> tuple[int, Message]:
        """Status and JSON for one request."""
        script = self.scripts.get(body.get("model", ""))
        if path != PATH or script is None:
            return 404, _error("there is no such path or model")
        messages = body.get("messages")
        wrong = _wrong(messages, script["turns"]) if isinstance(messages, list) else "'messages' must be a list"
        if wrong or not isinstance(messages, list):
            return 400, _error(wrong)
        return 200, _completion(_next(messages, script), body["model"])


def _handler(server: ModelServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            try:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status, answer = server.answer(self.path, body)
            except (ValueError, KeyError, TypeError, AttributeError):
                status, answer = 400, _error("the request is not a chat completion")
            data = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
            """Say nothing."""

    return Handler


# -- what a provider rejects -------------------------------------------------------------------------------------------


def _wrong(messages: Sequence[Message], turns: Sequence[Message]) -> str:
    """Why this history would be rejected; empty when it would not be."""
    open_ids: list[str] = []
    spoken = 0
    for number, message in enumerate(messages):
        if message["role"] == "tool":
            if message.get("tool_call_id") not in open_ids or not isinstance(message.get("content"), str):
                return (
                    f"messages[{number}]: a tool message must answer a call of the assistant message before it, once, with text"
                )
            open_ids.remove(message["tool_call_id"])
            continue
        if open_ids:
            return f"messages[{number}]: tool calls without a result: {', '.join(open_ids)}"
        if message["role"] == "assistant":
            open_ids = _ids(message)
            if open_ids and (spoken >= len(turns) or open_ids != _ids(turns[spoken])):
                return f"messages[{number}]: this assistant message is not the one that was sent"
            spoken += 1
    return f"tool calls without a result: {', '.join(open_ids)}" if open_ids else ""


def _ids(message: Message) -> list[str]:
    return [call["id"] for call in message.get("tool_calls") or ()]


# -- what the model says -----------------------------------------------------------------------------------------------


def _next(messages: Sequence[Message], script: Mapping[str, Any]) -> Message:
    """The next turn, or another ending once a call of the newest turn did not go through."""
    spoken = [number for number, message in enumerate(messages) if message["role"] == "assistant"]
    newest = messages[spoken[-1] :] if spoken else ()
    code = next((code for message in newest if message["role"] == "tool" and (code := _refused(message["content"]))), None)
    turns = script["turns"]
    if code is None and len(spoken) < len(turns):
        turn: Message = turns[len(spoken)]
        return turn
    otherwise = script["otherwise"]
    return {"role": "assistant", "content": otherwise.get(code, otherwise["any"])}


def _refused(content: str) -> str | None:
    """The code of an error result; None for data."""
    try:
        found = json.loads(content)
    except ValueError:
        return None
    if not isinstance(found, dict) or found.get("ok") is not False or not isinstance(found.get("error"), dict):
        return None
    return str(found["error"].get("code"))


def _completion(turn: Message, model: str) -> Message:
    return {
        "id": "chatcmpl-scripted",
        "object": "chat.completion",
        "created": 1_790_000_000,
        "model": model,
        "choices": [
            {"index": 0, "finish_reason": "tool_calls" if turn.get("tool_calls") else "stop", "message": turn, "logprobs": None}
        ],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
    }


def _error(text: str) -> Message:
    return {"error": {"message": text, "type": "invalid_request_error", "param": None, "code": None}}
