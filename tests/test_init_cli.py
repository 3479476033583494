"""`guard init` on the command line: Python functions, standard input, what stands there already, and the steps that it prints."""

from __future__ import annotations

import io
import json
import re
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
from cli_kit import REPO
from init_kit import CALLER, Desk, desk, kinds, refusing

from guard import Guard, PolicyWarning, ToolCall
from guard.cli import folders

TOOLS = [
    {"name": "get_order", "parameters": {"type": "object", "properties": {"order_id": {"type": "string"}}}},
    {"name": "refund"},
]
PROGRAM = '''
"""A program with tools."""
from guard import Registry, tool


def get_order(order_id: str, customer_id: str) -> dict:
    """One order."""
    return {"order_id": order_id, "customer_id": customer_id}


def refund(order_id: str, amount: float, customer_id: str, *, idempotency_key: str) -> dict:
    """Pay money back."""
    return {"amount": amount}


async def later(text: str) -> str:
    """Send later."""
    return text


def odd(x: object = object()) -> None:
    """Nobody can say what x is."""


tools = [get_order, refund]
mapping = {"get_it": get_order}
registry = Registry([get_order])
many = [get_order, later, odd]
nothing = []
described = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]
number = 7
'''


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Desk:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "program_of_tests.py").write_text(PROGRAM, "utf-8")
    yield desk(tmp_path, monkeypatch, capfd)
    sys.modules.pop("program_of_tests", None)


def program() -> Any:
    import program_of_tests

    return program_of_tests


def loaded(tools: Any, folder: str = "policies") -> Guard:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PolicyWarning)
        return Guard.load(folder, tools=tools, store="memory://")


def test_functions_are_written_without_what_their_code_says(here: Desk) -> None:
    """No description and no schema: the function has both. Kind, binding and approval are guessed; the folder loads with the program."""
    done = here.guard("init", "program_of_tests:tools")

    assert done.code == 0, done.err
    entries = {name: item.value for name, item in here.loaded().entries.items()}
    assert entries == {
        "get_order": {"kind": "read", "bind": {"customer_id": "session.principal"}},
        "refund": {"kind": "action", "bind": {"customer_id": "session.principal"}, "approve": {"by": ["approver"]}},
    }
    assert "# effect: idempotent" in here.text()
    with loaded(program().tools) as guard:
        sent = ToolCall("1", "get_order", '{"order_id": "A"}')
        assert guard.call(sent, CALLER, conversation="c").reason == "not_authorized"


@pytest.mark.parametrize(
    ("name", "tools"),
    [("mapping", {"get_it"}), ("registry", {"get_order"}), ("get_order", {"get_order"}), ("many", {"get_order", "later"})],
)
def test_whatever_a_guard_takes_as_tools_is_taken(name: str, tools: set[str], here: Desk) -> None:
    """Functions, mappings, registries, async functions; what the loader would refuse is left out, so that the program loads."""
    done = here.guard("init", f"program_of_tests:{name}", "--json")

    assert kinds(json.loads(done.out)).keys() == tools
    if name != "many":
        loaded(getattr(program(), name)).close()
    else:
        assert "odd" in json.loads(done.out)["left_out"][0]["name"]


def test_the_printed_steps_work(here: Desk) -> None:
    """Read, uncomment one line, check, load: the tool runs for that role with the caller's own id, the other one is still refused."""
    done = here.guard("init", "program_of_tests:tools", "--role", "customer")
    assert [line.strip()[:2] for line in done.out.splitlines()[-3:]] == ["1.", "2.", "3."]
    path = here.path / "policies" / "tools.yaml"
    path.write_text(path.read_text("utf-8").replace("# allow: [customer]", "allow: [customer]", 1), "utf-8")
    checked = here.guard(*done.out.splitlines()[-1].partition("guard ")[2].split())

    assert checked.code == 0
    assert "1 warning" in checked.out + checked.err
    with loaded(program().tools) as guard:
        chat = guard.open(CALLER, wire="openai-chat", conversation="c")
        chat.user("Where is order A?")
        calls = [("c1", "get_order", {"order_id": "A", "customer_id": "E9"}), ("c2", "refund", {"order_id": "A", "amount": 1})]
        sent = [{"id": i, "type": "function", "function": {"name": n, "arguments": json.dumps(a)}} for i, n, a in calls]
        turn = chat.handle(
            {"choices": [{"finish_reason": "tool_calls", "message": {"role": "assistant", "content": None, "tool_calls": sent}}]}
        )

    first, second = (json.loads(message["content"]) for message in turn.append[-2:])
    assert first == {"order_id": "A", "customer_id": "E1"}
    assert second["error"]["code"] == "not_authorized"


def test_the_standard_input_is_a_source(here: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """`guard init -` reads it."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(TOOLS).encode())))
    assert here.guard("init", "-", "--into", "a/b/c").code == 0
    assert refusing(here.path / "a/b/c") == {"not_authorized": 4}


def test_a_policy_that_stands_there_is_not_touched(here: Desk) -> None:
    """Exit code 2 and the names of the files; with --force the other files stay, and what they allow is said."""
    source = here.file("source.json", TOOLS)
    (here.path / "policies").mkdir()
    (here.path / "policies" / "rules.csv").write_text("p, viewer, *, *, call, allow\n", "utf-8")
    done = here.guard("init", source)
    assert (done.code, "there is a policy already (rules.csv)" in done.err) == (2, True)
    assert [path.name for path in (here.path / "policies").iterdir()] == ["rules.csv"]

    done = here.guard("init", source, "--force")
    assert done.code == 0
    assert "rules.csv:1: a rule that stood there already allows viewer to call get_order and 1 more" in done.err
    assert sorted(path.name for path in (here.path / "policies").iterdir()) == ["rules.csv", "tools.yaml"]


def test_force_that_would_break_the_folder_changes_nothing(here: Desk) -> None:
    """The files that stay are judged together with the new ones before any of them is moved."""
    (here.path / "policies").mkdir()
    old = here.path / "policies" / "more.yaml"
    old.write_text("tools: {refund: {kind: action, approve: never}}\n", "utf-8")
    done = here.guard("init", here.file("source.json", TOOLS), "--force")

    assert done.code == 1
    assert "refund is written twice" in done.err
    assert [path.name for path in old.parent.iterdir()] == ["more.yaml"]


def test_files_of_an_earlier_and_longer_list_go(here: Desk) -> None:
    """`tools-2.yaml` belongs to init: what is not written again is removed with --force."""
    (here.path / "policies").mkdir()
    for name in ("tools.yaml", "tools-2.yaml"):
        (here.path / "policies" / name).write_text("tools: {get_order: {kind: read}}\n", "utf-8")

    assert here.guard("init", here.file("source.json", TOOLS), "--force").code == 0
    assert [path.name for path in (here.path / "policies").iterdir()] == ["tools.yaml"]


@pytest.mark.parametrize("stop", [KeyboardInterrupt, RuntimeError])
def test_nothing_half_written_stays(stop: type[BaseException], here: Desk) -> None:
    """Whatever ends the writing before the last step, neither the folder nor the stage beside it is there."""

    def judge(_: Path) -> None:
        raise stop

    with pytest.raises(stop):
        folders.write_folder(here.path / "policies", {"tools.yaml": "x"}, judge)
    assert [path.name for path in here.path.iterdir() if path.suffix != ".py"] == []


WRONG: dict[str, tuple[list[str], str, int]] = {
    "no source": ([], "name one source", 2),
    "two sources": (["a", "b"], "name one source", 2),
    "no file": (["no-such.json"], "there is no such file", 2),
    "a folder": (["."], "cannot be read", 2),
    "no module": (["no_such_module_7:tools"], "No module named", 2),
    "no name": (["program_of_tests:no_such"], "no_such", 2),
    "no tools": (["program_of_tests:number"], "is not a tool", 1),
    "descriptions": (["program_of_tests:described"], "holds no functions: write it as JSON", 2),
    "a program": (["program_of_tests.py"], "guard init program_of_tests:tools", 2),
    "none": (["program_of_tests:nothing"], "nothing was written", 1),
    "odd role": (["program_of_tests:tools", "--role", "a: [b]"], "cannot be a role", 2),
    "everybody": (["program_of_tests:tools", "--role", "*"], "cannot be a role", 2),
    "file for a folder": (["program_of_tests:tools", "--into", "program_of_tests.py"], "this is a file", 2),
    "below a file": (["program_of_tests:tools", "--into", "program_of_tests.py/x"], "cannot be written", 2),
}


@pytest.mark.parametrize(("words", "said", "code"), WRONG.values(), ids=WRONG.keys())
def test_what_cannot_be_done_is_said(words: list[str], said: str, code: int, here: Desk) -> None:
    """One line, an exit code, no traceback and no folder."""
    done = here.guard("init", *words)

    assert (done.code, said in done.err) == (code, True), done.err
    assert "Traceback" not in done.err
    assert not (here.path / "policies").exists()


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="a place where nobody may write is needed, and /proc is one")
def test_a_folder_that_may_not_be_written_is_said(here: Desk) -> None:
    """The operating system's reason, not its traceback."""
    done = here.guard("init", "program_of_tests:tools", "--into", "/proc/policies")
    assert (done.code, "/proc/policies: cannot be written: " in done.err) == (2, True)


def test_the_readme_shows_what_is_written(here: Desk) -> None:
    """The block of drafts/tools.yaml is what `guard init` makes of the block of app.py."""
    readme = (REPO / "README.md").read_text("utf-8")
    blocks = dict(re.findall(r"^```\w+\n# (app\.py|drafts/tools\.yaml)\n(.*?)^```", readme, re.MULTILINE | re.DOTALL))
    (here.path / "app_of_readme.py").write_text(blocks["app.py"], "utf-8")

    assert here.guard("init", "app_of_readme:tools", "--into", "drafts/").code == 0
    assert blocks["drafts/tools.yaml"] in here.text("drafts")
