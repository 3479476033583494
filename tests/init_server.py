"""MCP servers to start for the tests: an honest one of the official package, and several that are not.

python init_server.py stdio | http PORT | hang | deaf | quit | garbage | endless | same-page | paged | many | odd
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any


def honest() -> Any:
    from mcp.server.mcpserver import MCPServer
    from mcp.types import ToolAnnotations

    server = MCPServer("shop")

    @server.tool(annotations=ToolAnnotations(readOnlyHint=True))
    def get_order(order_id: str, user_id: str) -> dict[str, str]:
        """Status of an order."""
        raise AssertionError("nobody may call this")

    @server.tool()
    def refund(order_id: str, amount: float = 0.1) -> str:
        """Pay money back: "all" of it # really."""
        raise AssertionError("nobody may call this")

    @server.tool(annotations=ToolAnnotations(readOnlyHint=True))
    def frobnicate(x: int = 3) -> str:
        """Returns things."""
        raise AssertionError("nobody may call this")

    return server


def tool(number: int) -> dict[str, Any]:
    return {"name": f"get_{number}", "inputSchema": {"type": "object", "properties": {}}}


def endless(cursor: str) -> dict[str, Any]:
    return {"tools": [], "nextCursor": str(int(cursor or 0) + 1)}


def same_page(cursor: str) -> dict[str, Any]:
    return {"tools": [tool(1)], "nextCursor": "again"}


def paged(cursor: str) -> dict[str, Any]:
    page = int(cursor or 0)
    return {"tools": [tool(page)], **({"nextCursor": str(page + 1)} if page < 4 else {})}


def many(cursor: str) -> dict[str, Any]:
    start = int(cursor or 0)
    return {"tools": [tool(start + number) for number in range(4_000)], "nextCursor": str(start + 4_000)}


def odd(cursor: str) -> dict[str, Any]:
    return {"tools": [{"name": 7}]}


def raw(pages: Callable[[str], dict[str, Any]]) -> None:
    """A server of one's own making: answers line by line, and knows two questions."""
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" not in asked:
            continue
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": asked["id"]}
        if asked["method"] == "initialize":
            info = {"name": "raw", "version": "1"}
            answer["result"] = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
        elif asked["method"] == "tools/list":
            answer["result"] = pages((asked.get("params") or {}).get("cursor") or "")
        else:
            answer["error"] = {"code": -32601, "message": "unknown"}
        print(json.dumps(answer), flush=True)


def main(mode: str, *rest: str) -> None:
    if mode == "stdio":
        honest().run(transport="stdio")
    elif mode == "http":
        honest().run(transport="streamable-http", port=int(rest[0]))
    elif mode == "hang":
        time.sleep(600)
    elif mode == "quit":
        print("no key given\x1b[2J", file=sys.stderr)
        sys.exit(3)
    elif mode == "garbage":
        print("hello, I am a server", flush=True)
        honest().run(transport="stdio")
    else:
        raw({"endless": endless, "same-page": same_page, "paged": paged, "many": many, "odd": odd}[mode])


if __name__ == "__main__":
    main(*sys.argv[1:])
