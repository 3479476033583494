"""`guard diff` as a person and CI use it: exit codes, revisions of git, folders that do not load, replays of a log."""

from __future__ import annotations

import json
import subprocess
from contextlib import closing
from decimal import Decimal
from pathlib import Path

import pytest
from cli_kit import CLERK, Run, folder, in_process, look, pay
from review_kit import TOOLS
from review_kit import folder as good

from guard import Guard, Session, ToolCall

PAY = "allow: [clerk]"


@pytest.fixture
def guard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    good(tmp_path / "old")
    good(tmp_path / "new", TOOLS.replace("allow: [customer]\n", "allow: [customer, guest]\n"))
    return in_process(tmp_path, monkeypatch, capfd)


def test_exit_codes(guard: Run) -> None:
    """0 when nothing widens, 1 when something does, 2 for a folder that is not there."""
    assert guard("diff", "old", "old").code == 0
    assert guard("diff", "new", "old").code == 0
    wider = guard("diff", "old", "new")
    assert wider.code == 1
    assert "guest may call it" in wider.out
    assert guard("diff", "old", "none").code == 2


def test_json_holds_every_cell(guard: Run) -> None:
    """For a program: changes for people, cells with both verdicts and their rules."""
    found = guard("diff", "old", "new", "--json").json

    assert found["ok"] is False
    assert {(one["who"], one["old"]["verdict"], one["new"]["verdict"]) for one in found["cells"]} == {("guest", "none", "allow")}
    assert found["changes"][0]["new_place"].startswith("tools.yaml:")


def test_a_side_that_does_not_load_is_a_problem(guard: Run, tmp_path: Path) -> None:
    """Its mistakes are told with file and line, and nothing is called safe."""
    (tmp_path / "new" / "rules.csv").write_text("p, a, b\n", "utf-8")
    broken = guard("diff", "old", "new")
    assert broken.code == 1
    assert "rules.csv:1" in broken.err
    assert guard("diff", "old", "new", "--json").json["ok"] is False


def test_a_revision_of_git_is_a_side(guard: Run, tmp_path: Path) -> None:
    """What is committed is compared with what is on the disk; nothing is checked out."""
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com"]
    for words in (["init", "-q"], ["add", "old"], ["commit", "-qm", "one"]):
        subprocess.run([*git, *words], cwd=tmp_path, check=True)
    assert guard("diff", "git:HEAD:old/", "old").code == 0
    assert guard("diff", "git:HEAD:old", "new").code == 1


@pytest.mark.parametrize(
    "name", ["git:HEAD~99:old", "git:nothing:old", "git:HEAD:none", "git:HEAD", "git::", "git:--output=x:old"]
)
def test_a_revision_that_is_not_there_is_misuse(guard: Run, tmp_path: Path, name: str) -> None:
    """Said plainly, whether or not there is a repository."""
    assert guard("diff", name, "old").code == 2
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com"]
    for words in (["init", "-q"], ["add", "old"], ["commit", "-qm", "one"]):
        subprocess.run([*git, *words], cwd=tmp_path, check=True)
    refused = guard("diff", name, "old")
    assert (refused.code, refused.out) == (2, "")
    assert not (tmp_path / "x").exists()


def test_names_with_control_characters_are_spelled_out(guard: Run, tmp_path: Path) -> None:
    """A tool's name cannot move the cursor of whoever reads the table."""
    text = TOOLS.replace("limits:\n  run", '  "pe\\x1b[31mek": {kind: read, allow: [guest]}\nlimits:\n  run')
    good(tmp_path / "new", text)
    found = guard("diff", "old", "new")
    assert "\x1b" not in found.out + found.err


# -- replay ------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """A store with a look-up, a call that waits, and one that was refused; and a policy that lets guests pay."""
    with closing(Guard.load(folder(tmp_path / "old"), tools=[pay, look], store=f"sqlite:///{tmp_path / 'guard.db'}")) as made:
        made.call(ToolCall("c0", "look", "{}"), CLERK, conversation="one")
        made.call(ToolCall("c1", "pay", '{"to": "kim@example.com", "amount": 10.50}'), CLERK, conversation="one")
        guest = Session(principal="G1", tenant="acme", roles=("guest",))
        made.call(ToolCall("c2", "pay", '{"to": "bob", "amount": 1}'), guest, conversation="two")
    folder(tmp_path / "new")
    file = tmp_path / "new" / "tools.yaml"
    file.write_text(file.read_text("utf-8").replace(PAY, "allow: [guest]"), "utf-8")
    return in_process(tmp_path, monkeypatch, capfd)


def test_a_replay_of_a_store_says_which_decisions_would_differ(recorded: Run, tmp_path: Path) -> None:
    """The guest's call would wait now, the clerk's would be refused; the store stays as it is."""
    before = recorded("audit", "--verify").out
    found = recorded("diff", "old", "new", "--replay", "sqlite:///guard.db", "--json")

    assert found.code == 1
    assert {(one["principal"], one["old"], one["new"]) for one in found.json["differ"]} == {
        ("E1", "hold", "refuse not_authorized"),
        ("G1", "refuse not_authorized", "hold"),
    }
    assert found.json["same"] == 1
    assert recorded("audit", "--verify").out == before


def test_a_replay_of_a_file_says_what_it_cannot_tell(recorded: Run, tmp_path: Path) -> None:
    """What was judged with a stand-in for a hidden argument is marked; broken lines are counted; a file without records is misuse."""
    lines = recorded("audit", "--json").out
    (tmp_path / "log").write_bytes(lines.encode() + b'{"kind": "call.deci\n\xff\xfe\n')
    found = recorded("diff", "old", "new", "--replay", "log", "--json").json
    (tmp_path / "binary").write_bytes(bytes(range(256)) * 9)

    assert found["unreadable_lines"] == 2
    assert found["with_hidden_values"] == 1
    assert [(one["principal"], one["hidden"]) for one in found["differ"]] == [("E1", ["to"]), ("G1", [])]
    assert recorded("diff", "old", "new", "--replay", "binary").code == 2
    assert recorded("diff", "old", "new", "--replay", "none").code == 2


def test_records_without_roles_are_not_replayed(recorded: Run, tmp_path: Path) -> None:
    """Who somebody was then is not guessed from who they are now."""
    bodies = [json.loads(line, parse_float=Decimal) for line in recorded("audit", "--json").out.splitlines()]
    kept = [{name: value for name, value in body.items() if name != "session"} for body in bodies]
    (tmp_path / "log").write_text("\n".join(json.dumps(body, default=str) for body in kept), "utf-8")
    found = recorded("diff", "old", "new", "--replay", "log", "--json").json

    assert found["differ"] == []
    assert any("roles are not recorded" in reason for reason in found["not_replayed"])
