"""The README is executed: every block runs, every reason, command and policy key in the code stands in it."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from provider import Provider
from wire_talk import streamed

from guard.cli.main import COMMANDS, parser
from guard.cli.places import system_user
from guard.core.reasons import Reason
from guard.policy.language import KEYS
from guard.review.keys import KEYS as CASES

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
_CALLS = [
    [("call_1", "order_status", '{"order_id": "A17"}')],
    [("call_2", "refund", '{"order_id": "A17", "amount": 20}')],
]


def _script() -> list[Any]:
    turns: list[Any] = [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": i, "type": "function", "function": {"name": n, "arguments": a}} for i, n, a in calls],
        }
        for calls in _CALLS
    ]
    return [*turns, {"role": "assistant", "content": "The refund waits for a colleague's approval."}, streamed("openai-chat")]


def test_every_block_of_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files named by a block's first line are written, python blocks run in order, shell commands exit with 0."""
    monkeypatch.chdir(tmp_path)
    space: dict[str, object] = {"__name__": "readme"}
    with Provider(_script()) as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", provider.url + "/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        for language, text in BLOCKS:
            if language in ("yaml", "csv", "ini") or text.startswith("# app.py"):
                _write(tmp_path, text)
        for language, text in BLOCKS:
            if language == "python":
                exec(compile(text, "README.md", "exec"), space)  # noqa: S102 - the README is the program under test
        closing = getattr(space["client"], "close")  # noqa: B009 - the name comes from the README
        closing()

    statuses = [message.get("role") for message in provider.requests[2]["messages"]]

    assert provider.rejections == []
    assert statuses == ["user", "assistant", "tool", "assistant", "tool"]
    assert space["outcome"].reason == Reason.NOT_GROUNDED  # type: ignore[attr-defined]
    assert "R-1" in str(space["messages"])
    assert space["messages"][-1]["content"] == "Let me see."  # type: ignore[index]  # what was streamed last


def _write(folder: Path, text: str) -> None:
    name, _, body = text.partition("\n")
    path = folder / name.removeprefix("# ").strip()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(body if path.suffix == ".csv" else text, "utf-8")


COMMANDS_SHOWN = [
    line[2:] for language, text in BLOCKS if language == "console" for line in text.splitlines() if line.startswith("$ ")
]


def test_every_command_of_the_readme_runs(tmp_path: Path) -> None:
    """The commands of the console blocks exit with 0 where the README's own files lie."""
    for text in (
        text for language, text in BLOCKS if language == "yaml" and text.startswith(("# policies/", "# layers/", "# sinks.yaml"))
    ):
        _write(tmp_path, text)
    _write(tmp_path, next(text for _, text in BLOCKS if text.startswith("# app.py")))
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    (tmp_path / "policies" / "people.yaml").write_text(
        f"people: {{{system_user()}: {{principal: s_9, roles: [support]}}}}\n", "utf-8"
    )
    kim = "ConversationRef(tenant='default', principal='kim@example.com', conversation='ticket-1')"
    make = f"from guard.core.model import ConversationRef; from guard.stores import open_store; open_store('sqlite:///guard.db').open({kim})"
    subprocess.run([sys.executable, "-c", make], cwd=tmp_path, env=env, check=True)

    codes = {}
    for command in COMMANDS_SHOWN:
        arguments = shlex.split(command.removeprefix("guard "))
        done = subprocess.run(
            [sys.executable, "-m", "guard", *arguments], cwd=tmp_path, env=env, capture_output=True, check=False
        )
        codes[command] = (done.returncode, done.stderr.decode()[-300:])

    assert len(codes) >= 8
    assert {command: code for command, code in codes.items() if code[0] != 0} == {}


@pytest.mark.parametrize("reason", list(Reason), ids=str)
def test_every_reason_stands_in_the_readme(reason: Reason) -> None:
    """A code that the model can meet has a row."""
    assert f"| `{reason.value}` |" in README


def test_the_readme_names_no_reason_that_does_not_exist() -> None:
    """A row whose code is gone is a mistake."""
    section = README.partition("## Reasons")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `([a-z_]+)` \|", section, re.MULTILINE)

    assert set(rows) == {reason.value for reason in Reason}


@pytest.mark.parametrize("key", sorted({key for keys in KEYS.values() for key in keys}))
def test_every_policy_key_stands_in_the_readme(key: str) -> None:
    """A key of the policy language is shown in an example or named in the text."""
    assert re.search(rf"(?<![\w]){key}:|`{key}[:`]", README)


@pytest.mark.parametrize("key", sorted({key for keys in CASES.values() for key in keys}))
def test_every_key_of_cases_stands_in_the_readme(key: str) -> None:
    """So does a key of the language of cases."""
    assert re.search(rf"(?<![\w]){key}:|`{key}[:`]", README)


@pytest.mark.parametrize("command", [command.__name__.rpartition(".")[2] for command in COMMANDS])
def test_every_command_stands_in_the_readme(command: str) -> None:
    """A command that `guard --help` lists is shown."""
    assert f"guard {command}" in README
    assert command in parser().format_help()


def test_the_test_command_is_what_ci_runs() -> None:
    """CI takes the README's second set-up command from the README itself."""
    assert "README.md" in (ROOT / ".ci" / "run").read_text("utf-8")
    assert re.search(r"^    python3 -m venv .*pytest ", README, re.MULTILINE)


def test_every_extra_stands_once_in_the_table() -> None:
    """Whoever looks for a feature finds what to install; only the extra of the benchmarks is not for users."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    table = README.partition("| extra | for |")[2].partition("\n\n")[0]
    listed = [name for line in table.splitlines()[2:] for name in re.findall(r"`([^`]+)`", line.split("|")[1])]
    assert sorted(listed) == sorted({*project["optional-dependencies"]} - {"bench"})
