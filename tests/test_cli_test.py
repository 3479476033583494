"""`guard test` as a person and a build server meet it: lines, tables, JSON, JUnit, exit codes."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from cases_kit import SESSIONS, folder
from cli_kit import Run, environment, guard

GOOD = "  - {name: good one, session: ann, call: find, expect: allow}\n"
BAD = "  - {name: bad one, session: ann, call: find, expect: hold}\n"
BROKEN = "  - {name: broken one, session: ann, history: [{call: {open: {id: D2}}}], call: find, expect: allow}\n"
HOSTILE = '  - {name: "a\\e[31m\\u202e<&\\"\\x01 ü", session: ann, call: find, expect: hold}\n'
BARE = "tools:\n  find: {kind: read, allow: ['*']}\nlimits: {run: {calls: 9}}\n"


def _cases(tmp_path: Path, text: str) -> Path:
    return folder(tmp_path / "policies", SESSIONS + "cases:\n" + text)


def test_all_passed(tmp_path: Path, run: Run) -> None:
    """One line and exit code 0; the folder is policies/, or named either way."""
    _cases(tmp_path, GOOD)
    assert (run("test").out, run("test").code) == ("1 case, 1 passed, 0 failed\n", 0)
    assert run("test", "policies").code == run("test", "--policy", "policies").code == 0
    assert run("test", "policies", "--policy", "policies").code == 2


def test_what_failed_is_told_in_one_line_each(tmp_path: Path, run: Run) -> None:
    """File and line that an editor opens, the name, what was expected and what came; then the counts; exit code 1."""
    _cases(tmp_path, GOOD + BAD + BROKEN)
    ran = run("test")
    lines = ran.out.splitlines()

    assert ran.code == 1
    assert lines[0] == "policies/cases.yaml:11: bad one: expected hold, came allow"
    assert lines[1].startswith(
        "policies/cases.yaml:12: broken one: its history is broken: open: expected allow, came refuse, not_owner"
    )
    assert lines[2:] == ["3 cases, 1 passed, 1 failed, 1 broken"]


def test_one_may_be_chosen_by_name(tmp_path: Path, run: Run) -> None:
    """Part of the name, whatever the case; a text that no name has is misuse."""
    _cases(tmp_path, GOOD + BAD)
    assert (run("test", "-k", "GOOD").code, run("test", "-k", "bad").code) == (0, 1)
    ran = run("test", "-k", "ugly")
    assert (ran.code, "no case has ugly in its name (2 cases)" in ran.err) == (2, True)


@pytest.mark.parametrize(
    ("text", "told"), [("cases: {nme: 1}\n", "cases.yaml:1: unknown key nme"), (None, "tools.yaml:1: unknown key tool ")]
)
def test_what_does_not_load_has_an_exit_code_of_its_own(tmp_path: Path, run: Run, text: str | None, told: str) -> None:
    """3, so that a build tells a policy that does not compile from one that decides otherwise."""
    folder(tmp_path / "policies", text or "cases: []\n")
    if text is None:
        (tmp_path / "policies" / "tools.yaml").write_text("tool: {}\n")
    ran, plain = run("test"), run("test", "--json")

    assert (ran.code, plain.code, ran.out) == (3, 3, "")
    assert told in ran.err
    assert (plain.json["ok"], plain.json["loaded"], plain.json["problems"][0]["line"]) == (False, False, 1)


def test_without_cases_it_says_how_to_write_one(tmp_path: Path, run: Run) -> None:
    """A folder without cases tests nothing: exit code 2, and the template is one that can be read."""
    path = folder(tmp_path / "policies", "")
    (path / "cases.yaml").unlink()
    ran = run("test")

    assert ran.code == 2
    assert "no cases: write policies/cases.yaml" in ran.err
    template = ran.err.partition("\n\n")[2]
    (path / "cases.yaml").write_text(template.replace("some_tool", "find").replace("employee", "clerk"))
    assert run("test").code == 0
    assert run("test", "nowhere").code == 2


def test_coverage_names_what_decided_in_no_case(tmp_path: Path, run: Run) -> None:
    """A table, the uncovered with file and line, the share; a share below what is wanted is exit code 1."""
    _cases(tmp_path, GOOD)
    ran = run("test", "--coverage")

    assert ran.code == 0
    assert any(line.split()[:3] == ["send", "bind", "by"] for line in ran.out.splitlines())
    assert "decided in no case: policies/tools.yaml:8: send: bind by" in ran.out
    assert "rules decided in some case: " in ran.out
    assert run("test", "--min-coverage", "50").code == 1
    assert run("test", "--min-coverage", "101").code == 2


def test_what_could_be_taken_away_is_told(tmp_path: Path, run: Run) -> None:
    """Each with file and line; exit code 1. With nothing to take away, or every rule noticed, 0."""
    _cases(tmp_path, GOOD)
    ran = run("test", "--mutate", "--json")
    survived = [one for one in ran.json["mutants"] if one["fate"] == "survived"]

    assert ran.code == 1
    assert {"tool": "send", "rule": "bind by", "file": "tools.yaml", "line": 8, "fate": "survived", "by": None} in survived
    assert "noticed by no case: policies/tools.yaml:8: send: bind by" in run("test", "--mutate").out
    shown = run("test", str(Path(__file__).parents[1] / "policies"), "--mutate")
    assert (shown.code, "19 rules taken away: 19 noticed by a case, 0 by none" in shown.out) == (0, True)


def test_json_is_one_object(tmp_path: Path, run: Run) -> None:
    """Every case with its status, place and differences, and what was decided."""
    _cases(tmp_path, GOOD + BAD)
    ran = run("test", "--json", "--coverage")
    good, bad = ran.json["cases"]

    assert ran.code == 1
    assert (good["status"], bad["status"], bad["line"]) == ("passed", "failed", 11)
    assert bad["differences"] == [{"file": "cases.yaml", "line": 11, "message": "expected hold, came allow"}]
    assert good["calls"] == [{"tool": "find", "decision": "allow", "reason": None, "rules": ["p, clerk, *, find, call, allow"]}]
    assert {"tool", "rule", "file", "line", "decided", "passed"} == set(ran.json["coverage"]["rules"][0])


def test_junit_can_be_read_whatever_a_name_holds(tmp_path: Path, run: Run) -> None:
    """One suite, a testcase for each case, failures and errors counted; what XML cannot hold is spelled out, on the terminal too."""
    _cases(tmp_path, GOOD + BROKEN + HOSTILE)
    ran = run("test", "--junit", "out.xml")
    suite = ET.parse(tmp_path / "out.xml").getroot().find("testsuite")  # noqa: S314 - our own file
    assert suite is not None
    cases = suite.findall("testcase")

    assert ran.code == 1
    assert "\x1b" not in ran.out
    assert "\u202e" not in ran.out
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "1", "1")
    assert [case.get("name") for case in cases] == ["good one", "broken one", 'a[U+001B][31m\u202e<&"[U+0001] ü']
    assert [[child.tag for child in case] for case in cases] == [[], ["error"], ["failure"]]
    assert cases[2].find("failure").get("message") == "expected hold, came allow"  # type: ignore[union-attr]
    assert (cases[2].get("file"), cases[2].get("line")) == ("policies/cases.yaml", "12")
    assert run("test", "--junit", "no/such/folder.xml").code == 2


def test_the_programs_tools_bring_their_schemas(tmp_path: Path, run: Run) -> None:
    """Types and names of arguments are judged then; no function is called, and a module that is not there is misuse."""
    folder(
        tmp_path / "policies",
        "sessions: {ann: {principal: E1}}\ncases: [{name: n, session: ann, call: {find: {number: x}}, expect: allow}]\n",
        BARE,
        "",
    )
    (tmp_path / "my_shop_tools.py").write_text("def find(number: int) -> str:\n    raise SystemExit(9)\n\ntools = [find]\n")
    assert run("test").code == 0
    ran = run("test", "--tools", "my_shop_tools:tools")
    assert ran.code == 1
    assert "expected allow, came refuse, invalid_arguments" in ran.out
    assert run("test", "--tools", "no_such_module:tools").code == 2


def test_checks_and_probes_of_the_program_are_not_needed(tmp_path: Path, run: Run) -> None:
    """Cases say what they answer, with the program's schemas too."""
    policy = BARE.replace("['*']", "['*'], checks: hours").replace(
        "limits", "  send: {kind: action, allow: ['*'], approve: never, effect: probe}\nlimits"
    )
    text = (
        "sessions: {ann: {principal: E1}}\nchecks: {hours: pass}\ncases: [{name: n, session: ann, call: find, expect: allow}]\n"
    )
    folder(tmp_path / "policies", text, policy, "")
    (tmp_path / "my_other_tools.py").write_text(
        "def find() -> str: ...\n\ndef send(*, idempotency_key: str) -> str: ...\n\ntools = [find, send]\n"
    )
    assert (run("test", "--tools", "my_other_tools:tools").err, run("test", "--tools", "my_other_tools:tools").code) == ("", 0)


def test_a_long_run_is_interrupted_cleanly(tmp_path: Path) -> None:
    """At a terminal it says how far it is; Ctrl-C ends it with exit code 130 and one word, without a traceback."""
    _cases(tmp_path, "".join(GOOD.replace("good", f"good {n}") for n in range(300)))
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "guard", "test", "--mutate"]
    told = ""
    with subprocess.Popen(command, cwd=tmp_path, env=environment(), stdout=subprocess.DEVNULL, stderr=theirs) as process:
        os.close(theirs)
        while "changed policies tried" not in told:
            told += os.read(ours, 65_536).decode()
        process.send_signal(signal.SIGINT)
        code = process.wait(timeout=60)
    told += os.read(ours, 65_536).decode()
    os.close(ours)

    assert code == 130, told
    assert "Traceback" not in told
    assert "interrupted" in told


def test_the_help_shows_examples_and_exit_codes(tmp_path: Path) -> None:
    """`--help` of the command, from a fresh folder."""
    ran = guard("test", "--help", cwd=tmp_path)

    assert ran.code == 0
    assert "guard test --mutate" in ran.out
    assert "3 the policy or the cases do not load" in ran.out
    assert json.dumps(ran.err) == '""'
