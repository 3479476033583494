"""What importing `guard` costs, beside the packages that it needs: CPU and memory of fresh interpreters, and what was loaded.

Used by `path.py --import`. Each sample is a new process; kinds take turns; medians.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
ROUNDS = 9
KINDS = {
    "nothing": "",
    "pydantic": "import pydantic",
    "jsonschema": "import jsonschema",
    "casbin": "import casbin",
    "httpx": "import httpx",
    "all four": "import pydantic, jsonschema, casbin, httpx",
    "guard": "import guard",
}
FORBIDDEN = (
    *("openai", "anthropic", "langchain", "langgraph", "pydantic_ai", "agents", "mcp", "fastmcp"),
    *("fastapi", "starlette", "uvicorn", "flask", "aiohttp", "jinja2", "httpx", "requests"),
    *("sqlite3", "psycopg", "psycopg2", "asyncpg", "sqlalchemy", "redis"),
)
"""SDKs, web and database packages, which no program should load by importing the guard alone."""
PROBE = """
import json, resource, sys, time
{code}
high = 0
try:
    with open("/proc/self/status") as status:
        high = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
except OSError:
    high = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps([time.process_time(), high / 1024, sorted(sys.modules)]))
"""


def one(code: str, cache: str) -> tuple[float, float, list[str]]:
    """CPU seconds since the process began, peak MiB, loaded modules. Compiled files of all packages lie in `cache`."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONPYCACHEPREFIX": cache, "PYTHONDONTWRITEBYTECODE": ""}
    done = subprocess.run([sys.executable, "-c", PROBE.format(code=code)], check=True, capture_output=True, text=True, env=env)
    cpu, peak, modules = json.loads(done.stdout)
    return cpu, peak, modules


def measured() -> list[dict[str, Any]]:
    """One row for each kind of import."""
    found: dict[str, list[tuple[float, float, list[str]]]] = {name: [] for name in KINDS}
    with tempfile.TemporaryDirectory() as cache:
        for number in range(ROUNDS + 1):
            for name, code in KINDS.items():
                result = one(code, cache)
                if number:  # the first compiles and fills the disk's cache
                    found[name].append(result)
    rows = []
    for name, results in found.items():
        loaded = {module.partition(".")[0] for module in results[0][2]}
        rows.append(
            {
                "import": name,
                "cpu_s": statistics.median(cpu for cpu, _, _ in results),
                "peak_mib": statistics.median(peak for _, peak, _ in results),
                "modules": len(results[0][2]),
                "forbidden": [module for module in FORBIDDEN if module in loaded],
            }
        )
    return rows


def report(as_json: bool) -> int:
    """Print the rows; 1 when importing the guard loads what it must not."""
    rows = measured()
    if as_json:
        print(json.dumps(rows))
    else:
        print(f"{'import':12} {'CPU s':>7} {'MiB':>6} {'modules':>8}   forbidden")
        for row in rows:
            listed = ", ".join(row["forbidden"]) if row["import"] == "guard" else ""
            print(f"{row['import']:12} {row['cpu_s']:7.3f} {row['peak_mib']:6.1f} {row['modules']:8}   {listed or '-'}")
    return 1 if rows[-1]["forbidden"] else 0
