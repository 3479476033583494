"""What the tests of the command line share: running `python -m guard` as a person would, in a folder of its own, and a policy that knows the tester."""

from __future__ import annotations

import json
import os
import pty
import pwd
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from guard import Guard, Session, ToolCall
from guard.cli.main import main

REPO = Path(__file__).parents[1]
USER = pwd.getpwuid(os.getuid()).pw_name
SUPERVISOR = "principal: E20417, tenant: hengxin, roles: [supervisor]"


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out, parse_float=Decimal)


def environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("COV_", "OPENAI_"))}
    path = os.pathsep.join(filter(None, [more.pop("FIRST", ""), str(REPO), os.environ.get("PYTHONPATH", "")]))
    return {**kept, "PYTHONPATH": path, "PYTHONIOENCODING": "utf-8", **more}


def unwarned(stderr: str) -> str:
    """What a program said besides the one line about the known fault of this machine's SQLite."""
    return "".join(
        line for line in stderr.splitlines(True) if not line.startswith(f"SQLite {sqlite3.sqlite_version} has a rare fault ")
    )


def guard(*words: str, cwd: Path, **env: str) -> Ran:
    """`python -m guard …` without a terminal."""
    command = [sys.executable, "-m", "guard", *words]
    done = subprocess.run(
        command,
        cwd=cwd,
        env=environment(**env),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def at_terminal(*words: str, cwd: Path, typed: bytes) -> Ran:
    """`python -m guard …` with a terminal on standard input, at which somebody has typed."""
    ours, theirs = pty.openpty()
    try:
        os.write(ours, typed)
        command = [sys.executable, "-m", "guard", *words]
        done = subprocess.run(
            command, cwd=cwd, env=environment(), stdin=theirs, capture_output=True, encoding="utf-8", timeout=120, check=False
        )
    finally:
        os.close(ours)
        os.close(theirs)
    return Ran(done.returncode, done.stdout, done.stderr)


def program(text: str, *words: str, cwd: Path, **env: str) -> Ran:
    """A Python program in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", text, *words],
        cwd=cwd,
        env=environment(**env),
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def travel_policy(folder: Path, person: str = SUPERVISOR, user: str = USER) -> Path:
    """A copy of the shipped policy in which `user` is `person`, beside the person that its cases name."""
    shutil.copytree(REPO / "policies", folder)
    people = {user: person, "supervisor": SUPERVISOR} if user != "supervisor" else {user: person}
    lines = [f"  {json.dumps(name)}: {{{one}}}\n" for name, one in people.items()]
    (folder / "people.yaml").write_text("people:\n" + "".join(lines), "utf-8")
    return folder


# -- a policy, a store and a call that waits ---------------------------------------------------------------------------

POLICY = """
tools:
  pay:
    kind: action
    allow: [clerk]
    approve: {by: [boss], expires: 1h}
  look: {kind: read, allow: [clerk, guest], bind: {who: session.principal}}
limits: {run: {calls: 100}}
people:
"""
CLERK = Session(principal="E1", tenant="acme", roles=("clerk",))
BOSS = "principal: E2, tenant: acme, roles: [boss]"


def pay(to: str, amount: Decimal) -> dict[str, Any]:
    """Pay somebody."""
    return {"paid": amount, "to": to}


def look(who: str) -> dict[str, Any]:
    """Look somebody up."""
    return {"name": who}


def folder(path: Path, person: str = BOSS, user: str = USER) -> Path:
    path.mkdir(exist_ok=True)
    (path / "tools.yaml").write_text(f"{POLICY}  {json.dumps(user)}: {{{person}}}\n", "utf-8")
    return path


@contextmanager
def asking(path: Path) -> Iterator[Guard]:
    """A store guard.db and a folder policies/ in `path`, with one call that waits and one look-up that ran."""
    made = Guard.load(folder(path / "policies"), tools=[pay, look], store=f"sqlite:///{path / 'guard.db'}")
    with closing(made):
        made.call(ToolCall("c0", "look", "{}"), CLERK, conversation="conv-1")
        outcome = made.call(ToolCall("c1", "pay", '{"to": "bob\\u202e", "amount": 10.50}'), CLERK, conversation="conv-1")
        assert outcome.status == "held"
        yield made


def waiting(made: Guard) -> str:
    return made.approvals.list()[0].id


Run = Callable[..., Ran]


def in_process(path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """The command line in this process, in the folder `path`."""
    monkeypatch.chdir(path)

    def call(*words: str) -> Ran:
        capfd.readouterr()
        try:
            code = main(words)
        except SystemExit as ended:
            code = int(ended.code or 0)
        out, err = capfd.readouterr()
        return Ran(code, out, err)

    return call
