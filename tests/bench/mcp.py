"""What one call costs through `guard mcp`, beside the same call through FastMCP's own proxy with one middleware, and without any proxy.

    python tests/bench/mcp.py --fastmcp /path/to/venv/bin/python [--calls 300]

All three stand in front of the same server process over pipes, and are asked by the same client, one call after the other, in turns; the
medians are of one run. FastMCP (`pip install fastmcp`) lives in an environment of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

HERE = Path(__file__).parent
SERVER = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    method = asked["method"]
    if method == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    elif method == "tools/list":
        schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
        result = {"tools": [{"name": name, "description": "Say it.", "inputSchema": schema} for name in ("look", "act")]}
    elif method == "tools/call":
        found = {"said": asked["params"]["arguments"]["text"], "amount": 59.9}
        result = {"content": [{"type": "text", "text": json.dumps(found)}], "structuredContent": found}
    else:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32601, "message": "unknown"}}), flush=True)
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""
PROXY = """
import sys
from fastmcp.server import create_proxy
from fastmcp.server.middleware import Middleware
from fastmcp.client.transports import StdioTransport

class One(Middleware):
    async def on_call_tool(self, context, call_next):
        return await call_next(context)

proxy = create_proxy(StdioTransport(sys.argv[1], [sys.argv[2]], keep_alive=True))
proxy.add_middleware(One())
proxy.run(transport="stdio", show_banner=False)
"""
POLICY = """
tools:
  look: {kind: read, allow: [user]}
  act: {kind: action, allow: [user], approve: never, repeat: allow}
limits: {run: {calls: 1000000}}
"""


class Spoken:
    """A client that only sends and reads lines."""

    def __init__(self, command: list[str]) -> None:
        env = {**os.environ, "PYTHONPATH": str(HERE.parents[1])}
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env
        )
        self._number = 0
        info = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
        self.ask("initialize", info)
        self._put({"method": "notifications/initialized"})
        self.ask("tools/list", {})

    def _put(self, message: dict[str, object]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self._process.stdin.flush()

    def ask(self, method: str, params: dict[str, object]) -> dict[str, object]:
        assert self._process.stdout is not None
        self._number += 1
        self._put({"id": self._number, "method": method, "params": params})
        while True:
            found = json.loads(self._process.stdout.readline())
            if found.get("id") == self._number:
                assert "error" not in found, found
                return found["result"]

    def call(self, tool: str) -> float:
        start = time.perf_counter()
        found = self.ask("tools/call", {"name": tool, "arguments": {"text": f"word {self._number}"}})
        assert "said" in found["structuredContent"], found  # type: ignore[operator]
        return time.perf_counter() - start

    def cpu(self) -> float:
        """Milliseconds of processor time that the proxy (or the server itself) has used so far, on Linux."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text("ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * 1e3 / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        self._process.stdin.close()  # type: ignore[union-attr]
        self._process.wait(20)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fastmcp", required=True, help="the Python of an environment with fastmcp")
    parser.add_argument("--calls", type=int, default=300)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        server, proxy, policies = Path(place, "server.py"), Path(place, "proxy.py"), Path(place, "policies")
        server.write_text(SERVER, "utf-8")
        proxy.write_text(PROXY, "utf-8")
        policies.mkdir()
        (policies / "tools.yaml").write_text(POLICY, "utf-8")
        behind = [sys.executable, str(server)]
        words = ["-m", "guard", "mcp", "--policy", str(policies), "--principal", "E1", "--role", "user", "--", *behind]
        ways = {
            "no proxy": Spoken(behind),
            "fastmcp": Spoken([arguments.fastmcp, str(proxy), *behind]),
            "guard": Spoken([sys.executable, *words]),
        }
        for tool in ("look", "act"):
            measure(tool, ways, arguments.calls)
        for way in ways.values():
            way.close()


def measure(tool: str, ways: dict[str, Spoken], calls: int) -> None:
    times: dict[str, list[float]] = {name: [] for name in ways}
    used = {name: -way.cpu() for name, way in ways.items()}
    for number in range(calls + 20):
        for name, way in ways.items():
            took = way.call(tool)
            if number >= 20:
                times[name].append(took)
    medians = {name: median(found) * 1e3 for name, found in times.items()}
    ratio = median(own / other for own, other in zip(times["guard"], times["fastmcp"], strict=True))
    shown = ", ".join(f"{name} {found:.2f} ms" for name, found in medians.items())
    print(
        ", ".join(f"{name} {(used[name] + way.cpu()) / (calls + 20):.2f}" for name, way in ways.items()),
        "ms of processor time a call",
    )
    print(f"{tool}: {shown}; guard costs {ratio:.2f} times FastMCP's proxy (bar 1.3)")


if __name__ == "__main__":
    main()
