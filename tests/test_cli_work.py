"""`guard serve work`: what it loads, what it prints, when it stops, and what it says to misuse."""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from cli_kit import Ran, environment
from life_kit import until

from guard import Guard, Session, ToolCall
from guard.cli import work
from guard.cli.places import UsageError
from guard.errors import GuardError, StoreError

POLICY = """
tools:
  pay: {kind: action, allow: [clerk], approve: {by: [boss]}}
limits: {run: {calls: 100}}
"""
CLERK = Session(principal="E1", tenant="acme", roles=("clerk",))
BOSS = Session(principal="E2", tenant="acme", roles=("boss",))
SHOP = """
import time
from pathlib import Path
from guard import AsyncGuard, Guard, Registry, Session
STORE = "sqlite:///guard.db"
def pay(n: int) -> dict:
    with Path("paid").open("a") as paid:
        paid.write(f"{n}\\n")
    time.sleep(SLOW)
    return {"n": n}
async def apay(n: int) -> dict:
    return pay(n)
SLOW = 0
class inner:
    tools = {"pay": pay}
functions, mapping, registry, awaited = [pay], {"pay": pay}, Registry([pay]), {"pay": apay}
def who(principal, tenant):
    return Session(principal=principal, tenant=tenant, roles=("clerk",)) if principal == "E1" else None
def nobody(principal, tenant):
    return None
async def later(principal, tenant):
    return None
def make():
    return Guard.load("policies", tools=mapping, store=STORE)
def amake():
    return AsyncGuard.load("policies", tools=awaited, store=STORE)
def none():
    return None
number = 3
"""
COMMAND = "import argparse, sys; from guard.cli import work, main; p = argparse.ArgumentParser(); work.add(p.add_subparsers()); "
COMMAND += "a = p.parse_args(['work', *sys.argv[1:]]); sys.exit(a.run(a))"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Guard]:
    """A folder with a program, a policy and a store, and a guard on it; three calls are approved."""
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "tools.yaml").write_text(POLICY)
    (tmp_path / "shop.py").write_text(SHOP)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    sys.modules.pop("shop", None)  # an example has that name too
    before = signal.getsignal(signal.SIGTERM)

    def pay(n: int) -> dict[str, int]:
        raise AssertionError("the host does not run it")

    with closing(Guard.load("policies", tools=[pay], store="sqlite:///guard.db")) as made:
        for n in (1, 2, 3):
            made.call(ToolCall(f"c{n}", "pay", f'{{"n": {n}}}'), CLERK, conversation="conv\u202e")
        for asked in made.approvals.list():
            made.approvals.approve(asked.id, approver=BOSS)
        yield made
    sys.modules.pop("shop", None)
    signal.signal(signal.SIGTERM, before)


def parsed(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="guard serve")
    work.add(parser.add_subparsers())
    return parser.parse_args(["work", *words])


def once(capfd: pytest.CaptureFixture[str], *words: str) -> Ran:
    capfd.readouterr()
    code = work.work(parsed(*words, "--once", "--grace", "0"))
    out, err = capfd.readouterr()
    return Ran(code, out, err)


def paid() -> list[str]:
    return Path("paid").read_text().split() if Path("paid").exists() else []


FORMS = {
    "functions": ("--tools", "shop:functions"),
    "mapping": ("--tools", "shop:mapping"),
    "registry": ("--tools", "shop:registry"),
    "one function": ("--tools", "shop:pay"),
    "inside": ("--tools", "shop:inner.tools"),
    "async tools": ("--tools", "shop:awaited"),
    "what makes a guard": ("--guard", "shop:make"),
    "what makes an async one": ("--guard", "shop:amake"),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_tools_and_guard(form: str, here: Guard, capfd: pytest.CaptureFixture[str]) -> None:
    """Each runs the approved calls once, in order; the second time nothing is left."""
    ran = once(capfd, *FORMS[form], "--session", "shop:who")
    assert (ran.code, paid()) == (0, ["1", "2", "3"])
    assert ran.out.splitlines() == [f"pay: done; conv[U+202E], turn {n}, for E1 in acme" for n in (1, 2, 3)]
    assert "guard: working on" in ran.err
    assert (once(capfd, *FORMS[form], "--session", "shop:who").out, len(paid())) == ("", 3)


def test_a_guard_that_is_there_already(here: Guard, capfd: pytest.CaptureFixture[str]) -> None:
    """`--guard` may name the guard itself."""
    with Path("shop.py").open("a") as shop:
        shop.write("made = make()\n")
    assert once(capfd, "--guard", "shop:made", "--session", "shop:who").code == 0
    assert len(paid()) == 3


def test_json_is_one_object_a_line(here: Guard, capfd: pytest.CaptureFixture[str]) -> None:
    """Tool, status, reason, id and place of each call."""
    ran = once(capfd, "--guard", "shop:make", "--session", "shop:who", "--json")
    lines = [json.loads(line) for line in ran.out.splitlines()]
    assert [(one["tool"], one["status"], one["reason"], one["tenant"], one["turn"]) for one in lines] == [
        ("pay", "done", None, "acme", n) for n in (1, 2, 3)
    ]
    assert {one["conversation"] for one in lines} == {"conv\u202e"}
    assert all(one["id"].startswith("un_") for one in lines)


def test_nobody_to_act_for_is_said(here: Guard, capfd: pytest.CaptureFixture[str]) -> None:
    """The calls stay held for whoever can tell who the person is."""
    ran = once(capfd, "--guard", "shop:make", "--session", "shop:nobody")
    assert [line.partition(";")[0] for line in ran.out.splitlines()] == [
        "pay: nobody (the session loader gave nobody, or failed)"
    ] * 3
    assert paid() == []
    assert {row.status for row in here.store.rows(here.open(CLERK, wire="openai-chat", conversation="conv\u202e").ref)} == {
        "held"
    }


MISUSE = {
    "neither": ((), "either --tools MODULE:NAME or --guard"),
    "both": (("--tools", "shop:mapping", "--guard", "shop:make"), "either --tools MODULE:NAME or --guard"),
    "no colon": (("--tools", "shop"), "--tools shop: write MODULE:NAME"),
    "no name": (("--guard", "shop:"), "--guard shop:: write MODULE:NAME"),
    "no module": (("--guard", ":make"), "--guard :make: write MODULE:NAME"),
    "a module that is not there": (("--tools", "shoop:tools"), "No module named 'shoop'"),
    "a relative module": (("--tools", ".shop:mapping"), "--tools .shop:mapping:"),
    "a name that is not there": (("--tools", "shop:nothing"), "has no attribute 'nothing'"),
    "no guard": (("--guard", "shop:number"), "this is no Guard, and gives none"),
    "makes no guard": (("--guard", "shop:none"), "this is no Guard, and gives none"),
    "a hostile name": (("--guard", "sh\x1b[2Jop:make"), "sh[U+001B][2Jop"),
}


@pytest.mark.parametrize("module", [True, False], ids=["loading", "making"])
def test_what_a_program_raised_is_told(module: bool, here: Guard) -> None:
    """In one line, without what is personal or secret in it."""
    line = 'raise RuntimeError("no database at postgresql://app:hunter22xyz@db/x\\nfor kim@example.com")\n'
    Path("broken.py").write_text(line if module else f"def make():\n    {line}", "utf-8")
    sys.modules.pop("broken", None)
    with pytest.raises(UsageError) as caught:
        work.work(parsed("--guard", "broken:make", "--session", "shop:who", "--once"))
    told = "RuntimeError: no database at postgresql://[secret]@db/x[U+000A]for [email]"
    assert str(caught.value) == f"--guard broken:make: {'loading the module' if module else 'it'} raised {told}"


@pytest.mark.parametrize("case", MISUSE)
def test_misuse_is_named(case: str, here: Guard) -> None:
    """What cannot be loaded is said with its option; nothing runs."""
    words, text = MISUSE[case]
    with pytest.raises(UsageError) as caught:
        work.work(parsed(*words, "--session", "shop:who", "--once"))
    assert text in str(caught.value)
    assert paid() == []


@pytest.mark.parametrize(
    ("loader", "text"),
    [("number", "a function (principal, tenant) is needed"), ("later", "plain function"), ("nope", "has no attribute")],
)
def test_a_session_loader_is_a_plain_function(loader: str, text: str, here: Guard) -> None:
    """Without one nobody can be acted for."""
    with pytest.raises(GuardError, match=text.replace("(", r"\(").replace(")", r"\)")):
        work.work(parsed("--guard", "shop:make", "--session", f"shop:{loader}", "--once"))


@pytest.mark.parametrize("words", [("--grace", "-1"), ("--poll", "nan"), ("--poll", "inf"), ("--grace", "soon")])
def test_seconds_are_numbers_from_nothing_up(words: tuple[str, str], here: Guard, capfd: pytest.CaptureFixture[str]) -> None:
    """Anything else is misuse: exit code 2."""
    with pytest.raises(SystemExit) as ended:
        parsed("--guard", "shop:make", "--session", "shop:who", *words)
    assert ended.value.code == 2
    assert words[0] in capfd.readouterr().err


def test_a_session_loader_is_required_and_help_says_why(capfd: pytest.CaptureFixture[str]) -> None:
    """Roles that were stored with a call authorize nothing."""
    with pytest.raises(SystemExit):
        parsed("--guard", "shop:make")
    assert "--session" in capfd.readouterr().err
    with pytest.raises(SystemExit) as ended:
        parsed("--help")
    shown = " ".join(capfd.readouterr().out.split())
    assert (ended.value.code, "roles that were stored with a call authorize nothing" in shown) == (0, True)


def test_a_password_in_the_store_is_not_shown(here: Guard) -> None:
    """What stands before the host of a store's address stays where it was written."""
    words = ("--tools", "shop:mapping", "--session", "shop:who", "--store", "postgresql://guard:secret@db/guard")
    assert work._shown(parsed(*words)) == "db/guard"


class Flaky:
    """A store that is down the first two times that it is asked for work."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.left = inner, 2
        self.blocking, self.secret = inner.blocking, inner.secret

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def pick(self, **more: Any) -> Any:
        self.left -= 1
        if self.left >= 0:
            raise StoreError("the database failed: another process keeps it locked")
        return self.inner.pick(**more)


def test_a_store_that_is_down_is_asked_again(here: Guard, capfd: pytest.CaptureFixture[str]) -> None:
    """It may be up at the next look; `--once` does not take an outage for the end of the work."""
    sys.path.insert(0, str(Path.cwd()))
    import shop

    made = shop.make()
    made.store = made.hands.store = Flaky(made.store)
    shop.flaky = made
    ran = once(capfd, "--guard", "shop:flaky", "--session", "shop:who", "--poll", "0.01")
    assert (ran.code, len(paid())) == (0, 3)
    assert ran.err.count("another process keeps it locked; trying again") == 2


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "Ctrl-C"])
def test_it_stops_between_two_calls(number: signal.Signals, here: Guard) -> None:
    """The call under way ends and is recorded; the next one is not begun, and another worker takes it later."""
    Path("shop.py").write_text(SHOP.replace("SLOW = 0", "SLOW = 1"))
    words = ["--guard", "shop:make", "--session", "shop:who", "--grace", "0"]
    child = subprocess.Popen(
        [sys.executable, "-c", COMMAND, *words], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    until(paid, 20)
    child.send_signal(number)
    out, _ = child.communicate(timeout=20)
    assert paid() == ["1"]
    rows = here.store.rows(here.open(CLERK, wire="openai-chat", conversation="conv\u202e").ref)
    assert [row.status for row in rows][1:] == ["held", "held"]
    if number is signal.SIGTERM:
        assert (child.returncode, rows[0].status, out.count("pay: done")) == (0, "done", 1)
    else:
        assert rows[0].status == "unknown"  # it was broken off


def test_it_waits_for_more_until_it_is_told_to_stop(here: Guard) -> None:
    """Without --once it looks again; SIGTERM while it waits ends it well."""
    words = ["--guard", "shop:make", "--session", "shop:who", "--grace", "0", "--poll", "0.05"]
    child = subprocess.Popen(
        [sys.executable, "-c", COMMAND, *words], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    until(lambda: len(paid()) == 3, 20)
    here.call(ToolCall("c4", "pay", '{"n": 4}'), CLERK, conversation="more")
    here.approvals.approve(here.approvals.list()[0].id, approver=BOSS)
    until(lambda: len(paid()) == 4, 20)
    child.send_signal(signal.SIGTERM)
    out, _ = child.communicate(timeout=20)
    assert (child.returncode, out.count("pay: done")) == (0, 4)
