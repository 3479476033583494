"""An MCP server that lists what a real one listed and answers what it answered: python mcp_recorded_server.py EPISODES TOOLSETS TOOLSET."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def rows(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text("utf-8").splitlines()]


def definition(one: dict[str, Any]) -> dict[str, Any]:
    more = {"annotations": one.get("annotations"), "outputSchema": one.get("output_schema")}
    found = {"name": one["name"], "description": one["description"], "inputSchema": one["parameters"]}
    return found | {key: item for key, item in more.items() if item}


def main(episodes: str, toolsets: str, name: str) -> None:
    tools = next(row for row in rows(toolsets) if row["toolset"] == name)["tools"]
    known: dict[str, Any] = {}
    for row in rows(episodes):
        for turn in row["turns"] if row["toolset"] == name else ():
            for call, result in zip(turn["calls"], turn["results"] or (), strict=False):
                known[json.dumps([call["name"], call["arguments"]], sort_keys=True)] = json.loads(result["content"])
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" not in asked:
            continue
        if asked["method"] == "initialize":
            info = {"name": name, "version": "1"}
            result: Any = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
        elif asked["method"] == "tools/list":
            result = {"tools": [definition(one) for one in tools]}
        else:
            result = known[json.dumps([asked["params"]["name"], asked["params"]["arguments"]], sort_keys=True)]
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)


main(*sys.argv[1:])
