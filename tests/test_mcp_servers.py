"""Real MCP servers behind the proxy: what eight of them once listed and answered, played again; and those that can be started here, started."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from corpora import CASES, needed, read
from mcp_kit import allowing, code, run, said, talking

from guard.redactors import REDACTOR

RECORDED = Path(__file__).parent / "mcp_recorded_server.py"
FOLDER = "mcp_servers"
BIN = os.environ.get("GUARD_MCP_BIN", "")  # a folder with mcp-server-git and the like, which need an environment of their own


def _rows(name: str) -> list[dict[str, Any]]:
    return list(read(f"{FOLDER}/{name}.jsonl", exact=False)) if (CASES / FOLDER).is_dir() else []


SETS = [row["toolset"] for row in _rows("toolsets")]


@needed(FOLDER)
@pytest.mark.parametrize("name", SETS)
def test_what_a_real_server_once_listed_and_answered(name: str, tmp_path: Path) -> None:
    """Each tool can be offered; each valid call is answered as it was then, but for what is hidden; each other one never reaches the server."""
    tools = next(row["tools"] for row in _rows("toolsets") if row["toolset"] == name)
    names = [tool["name"] for tool in tools]
    paths = [str(CASES / FOLDER / f"{file}.jsonl") for file in ("episodes", "toolsets")]

    async def go() -> None:
        async with talking(tmp_path, policy=allowing(names), command=[sys.executable, str(RECORDED), *paths, name]) as talk:
            assert await talk.names() == sorted(names)
            for row in _rows("episodes"):
                for turn in row["turns"] if row["toolset"] == name else ():
                    for call, result in zip(turn["calls"], turn["results"], strict=True):
                        _check(call, json.loads(result["content"]), await talk.call(call["name"], call["arguments"]))

    run(go())


def _check(call: dict[str, Any], then: dict[str, Any], now: dict[str, Any]) -> None:
    if not call["valid"]:
        assert code(now) in {"invalid_arguments", "unknown_tool"}
        return
    assert now["isError"] is then.get("isError", False)
    if now["isError"]:
        assert REDACTOR.detect(None, then["content"][0]["text"])[0] in json.loads(said(now))["error"]["message"]
        return
    assert "4111" not in json.dumps(now)
    assert "@example.com" not in json.dumps(now)
    structured = then.get("structuredContent")
    assert (structured is None) == ("structuredContent" not in now)
    if structured is not None:
        assert now["structuredContent"].keys() == structured.keys()
        only = next(iter(now["structuredContent"].values()))
        told = said(now)
        assert told == only or json.loads(told) in (only, now["structuredContent"])
    elif REDACTOR.quiet(then["content"][0]["text"]):
        assert said(now) == then["content"][0]["text"]


# -- started for real ----------------------------------------------------------------------------------------------------


def _found(program: str) -> str | None:
    return shutil.which(program, path=os.pathsep.join(filter(None, [BIN, os.environ.get("PATH", "")])))


def _command(name: str, path: Path) -> list[str]:
    if name in {"filesystem", "memory", "everything", "sequential-thinking"}:
        return ["npx", "--offline", "-y", f"@modelcontextprotocol/server-{name}", *([str(path)] if name == "filesystem" else [])]
    more = {
        "git": ["--repository", str(path / "repo")],
        "sqlite": ["--db-path", str(path / "x.db")],
        "time": ["--local-timezone=UTC"],
    }
    return [_found(f"mcp-server-{name}") or "absent", *more.get(name, [])]


@cache
def _held(package: str) -> bool:
    """Whether npx can start a package without fetching it."""
    words = ["npx", "--offline", "-y", "--package", package, "true"]
    return subprocess.run(words, capture_output=True, check=False, timeout=60).returncode == 0


def _ready(name: str, path: Path) -> list[str]:
    command = _command(name, path)
    if command[0] == "absent" or shutil.which(command[0]) is None:
        pytest.skip(f"the server {name} is not installed here (GUARD_MCP_BIN names a folder of programs)")
    if command[0] == "npx" and not _held(command[3]):
        pytest.skip(f"npx has no {command[3]} here")
    (path / "a.txt").write_text("mail kim.doe@example.com\n", "utf-8")
    if name == "git":
        for words in (
            ["init", "-q", "repo"],
            ["-C", "repo", "-c", "user.name=k", "-c", "user.email=k@x.example", "commit", "-qm", "one", "--allow-empty"],
        ):
            subprocess.run(["git", *words], cwd=path, check=True)
    return command


REAL: list[tuple[str, str, Any, str]] = [
    ("filesystem", "read_text_file", {"path": "{here}/a.txt"}, "mail [email]"),
    (
        "memory",
        "create_entities",
        {"entities": [{"name": "Kim", "entityType": "p", "observations": ["kim.doe@example.com"]}]},
        "[email]",
    ),
    ("everything", "get-sum", {"a": 2, "b": 3}, "5"),
    ("everything", "get-structured-content", {"location": "Chicago"}, "temperature"),
    ("everything", "get-tiny-image", {}, "image"),
    ("everything", "trigger-long-running-operation", {"duration": 1, "steps": 2}, "completed"),
    (
        "sequential-thinking",
        "sequentialthinking",
        {"thought": "a", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1},
        "thoughtNumber",
    ),
    ("git", "git_log", {"repo_path": "{here}/repo", "max_count": 1}, "one"),
    ("time", "get_current_time", {"timezone": "UTC"}, "UTC"),
    ("sqlite", "list_tables", {}, "Nothing found."),  # it says `[]`
    ("fetch", "fetch", {"url": "http://127.0.0.1:9/"}, ""),
]


@pytest.mark.slow
@pytest.mark.parametrize("name", dict.fromkeys(row[0] for row in REAL))
def test_a_real_server_answers_through_the_proxy(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Started for real: its tools are offered, calls run, an unknown field does not, and its process is gone in the end."""
    monkeypatch.setenv("MEMORY_FILE_PATH", str(tmp_path / "memory.jsonl"))
    command = _ready(name, tmp_path)
    rows = [row[1:] for row in REAL if row[0] == name]

    async def go() -> None:
        async with talking(tmp_path, policy=allowing([tool for tool, _, _ in rows]), command=command) as talk:
            assert await talk.names() == sorted(tool for tool, _, _ in rows)
            for tool, arguments, expected in rows:
                asked = json.loads(json.dumps(arguments).replace("{here}", str(tmp_path)))
                found = await talk.call(tool, asked, _meta={"progressToken": tool})
                assert expected in said(found) or expected in json.dumps(found)
                assert "@example.com" not in json.dumps(found)
                assert code(await talk.call(tool, {**asked, "no_such_field": 1})) == "invalid_arguments"
            if name == "everything":
                assert [one for one in talk.hand.got if one.get("method") == "notifications/progress"]
            server = talk.server  # type: ignore[attr-defined]
        assert await server.code(1) is not None

    run(go())
