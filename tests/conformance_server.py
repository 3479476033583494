"""An MCP server that offers the tools of the conformance scenarios, a line a message, as a server of somebody else's would."""

from __future__ import annotations

import json
import sys
import threading
from typing import Any

from conformance_scenarios import TOOLS

from guard import ToolError
from guard.core.model import Image
from guard.tools.registry import registry

LOCK = threading.Lock()


def send(number: Any, **more: Any) -> None:
    with LOCK:
        print(json.dumps({"jsonrpc": "2.0", "id": number, **more}), flush=True)


def listed() -> list[dict[str, Any]]:
    return [
        {"name": tool.name, "description": tool.description or tool.name, "inputSchema": tool.schema}
        for tool in registry(TOOLS).values()
    ]


def result(value: Any) -> dict[str, Any]:
    if value is None:
        return {"content": []}
    if isinstance(value, list):
        return {"content": [block(one) for one in value]}
    if isinstance(value, dict):
        return {"content": [{"type": "text", "text": json.dumps(value)}], "structuredContent": value}
    return {"content": [{"type": "text", "text": str(value)}]}


def block(one: Any) -> dict[str, Any]:
    if isinstance(one, Image):
        return {"type": "image", "data": one.data, "mimeType": one.media_type}
    return {"type": "text", "text": str(one)}


def call(number: Any, name: str, arguments: dict[str, Any]) -> None:
    try:
        send(number, result=result(TOOLS[name](**arguments)))
    except ToolError as error:
        send(number, result={"content": [{"type": "text", "text": str(error)}], "isError": True})
    except Exception:
        send(number, result={"content": [], "isError": True})


for line in sys.stdin:
    asked = json.loads(line)
    method, number, params = asked.get("method"), asked.get("id"), asked.get("params") or {}
    if method == "initialize":
        about = {"name": "conformance", "version": "1"}
        send(number, result={"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": about})
    elif method == "tools/list":
        send(number, result={"tools": listed()})
    elif method == "tools/call":
        threading.Thread(target=call, args=(number, params["name"], params.get("arguments") or {}), daemon=True).start()
    elif number is not None:
        send(number, result={})
