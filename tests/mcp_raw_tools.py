"""The tools of `mcp_raw_server.py`, as it lists them at its start."""

from __future__ import annotations

from typing import Any

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
OWNED = {
    "type": "object",
    "properties": {"text": {"type": "string"}, "user_id": {"type": "string"}},
    "required": ["text", "user_id"],
}
AMOUNT = {"type": "object", "properties": {"amount": {"type": "number"}}, "required": ["amount"]}
OUTPUT = {
    "type": "object",
    "properties": {"mail": {"type": "string", "pattern": ".*@.*"}, "amount": {"type": "number"}},
    "required": ["mail", "amount"],
}


def tool(name: str, schema: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "description": f"The tool {name}.",
        "inputSchema": schema or {"type": "object", "properties": {}},
        **more,
    }


def definitions() -> list[dict[str, Any]]:
    tools = [tool("echo", TEXT), tool("mine", OWNED), tool("pay", TEXT), tool("mail", outputSchema=OUTPUT)]
    tools += [
        tool(name)
        for name in ("boom", "fault", "slow", "die", "garbage", "broken", "huge", "again", "picture", "works", "sample")
    ]
    tools += [
        tool(name) for name in ("change", "quietly", "more", "twin", "lookalike", "orphan", "hidden", "deaf", "sound", "summary")
    ]
    tools += [tool("asks", TEXT), tool("regret"), tool("flood"), tool("swamp"), tool("odd"), tool("busy"), tool("counts", AMOUNT)]
    return tools
