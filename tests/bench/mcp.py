"""What one call costs through `guard mcp`, beside the same call through FastMCP's own proxy with one middleware, and without any proxy.

    python tests/bench/mcp.py --fastmcp /path/to/venv/bin/python [--calls 300] [--place /dev/shm --place .]

All three stand in front of a server of their own over pipes, and are asked by the same client, one call after the other, in turns; the medians
are of one run. Processor time counts the proxy and its server. `--place` is where policy and store lie: what is durable on a disk waits for the
disk, which is no work of the proxy's, so look at a place in memory too. FastMCP (`pip install fastmcp`) lives in an environment of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
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
        """Milliseconds of processor time that the process and those that it started have used so far, on Linux."""
        return sum(map(_cpu, _family(self._process.pid)))

    def close(self) -> None:
        self._process.stdin.close()  # type: ignore[union-attr]
        self._process.wait(20)


def _family(pid: int) -> list[int]:
    found = [pid]
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError):  # a thread that has ended meanwhile
            for child in (task / "children").read_text("ascii").split():
                found += _family(int(child))
    return found


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1e3 / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fastmcp", required=True, help="the Python of an environment with fastmcp")
    parser.add_argument("--calls", type=int, default=300)
    parser.add_argument(
        "--place", action="append", default=[], help="a folder; may be repeated; default: the one for temporary files"
    )
    arguments = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    for folder in arguments.place or [tempfile.gettempdir()]:
        compare(folder, arguments.fastmcp, arguments.calls)


def compare(folder: str, fastmcp: str, calls: int) -> None:
    print(f"policy and store in {folder}:")
    with tempfile.TemporaryDirectory(dir=folder) as place:
        server, proxy, policies = Path(place, "server.py"), Path(place, "proxy.py"), Path(place, "policies")
        server.write_text(SERVER, "utf-8")
        proxy.write_text(PROXY, "utf-8")
        policies.mkdir()
        (policies / "tools.yaml").write_text(POLICY, "utf-8")
        behind = [sys.executable, str(server)]
        words = ["-m", "guard", "mcp", "--policy", str(policies), "--principal", "E1", "--role", "user", "--", *behind]
        ways = {
            "no proxy": Spoken(behind),
            "fastmcp": Spoken([fastmcp, str(proxy), *behind]),
            "guard": Spoken([sys.executable, *words]),
            "guard, batched": Spoken(
                [sys.executable, *words[:3], "--batch-reads", "0.5", "--store", f"sqlite:///{place}/b.db", *words[3:]]
            ),
        }
        for tool in ("look", "act"):
            measure(tool, ways, calls)
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
    spent = {name: (used[name] + way.cpu()) / (calls + 20) for name, way in ways.items()}
    for name in ways:
        print(f"  {tool}: {name} {medians[name]:.2f} ms, of which {spent[name]:.2f} ms processor time on average")
    for name in ("guard", "guard, batched"):
        ratio = median(own / other for own, other in zip(times[name], times["fastmcp"], strict=True))
        work = spent[name] / spent["fastmcp"]
        print(f"  {tool}: {name} costs {ratio:.2f} times FastMCP's proxy in time, {work:.2f} in processor time (bar 1.3)")


if __name__ == "__main__":
    main()
