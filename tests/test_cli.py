"""The command line in general, `guard check`, and the built wheel: what is printed, and the exit codes."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest
from cli_kit import REPO, Run, environment, folder, guard, travel_policy

from guard.cli import show
from guard.cli.main import COMMANDS, parser
from guard.cli.tables import table, width

# -- the front ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("dance",),
        ("check", "--loud"),
        ("approvals",),
        ("approvals", "show"),
        ("audit", "--limit", "0"),
        ("audit", "--limit", "x"),
    ],
    ids=["nothing", "unknown", "option", "no-verb", "no-id", "zero", "no-number"],
)
def test_misuse_ends_with_two(words: tuple[str, ...], run: Run) -> None:
    """What the parser does not understand is misuse, said on stderr."""
    ran = run(*words)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("usage: guard")


def test_version_is_told(run: Run) -> None:
    """`guard --version` names the program and a version."""
    ran = run("--version")
    assert (ran.code, ran.out.split()[0]) == (0, "guard")
    assert ran.out.split()[1][0].isdigit()


@pytest.mark.parametrize("name", [command.__name__.rpartition(".")[2] for command in COMMANDS])
def test_help_shows_examples(name: str, run: Run) -> None:
    """Each command explains itself with examples, and each example can be parsed."""
    ran = run(name, "--help")
    assert ran.code == 0
    found = [line.strip().split("   ")[0].split(" > ")[0] for line in ran.out.splitlines() if line.startswith("  guard ")]
    assert found
    for line in found:
        parser().parse_args(shlex.split(line)[1:])


def test_python_m_guard_is_the_same_program(tmp_path: Path) -> None:
    """`python -m guard` gives the exit code of the command, and no traceback for a mistake."""
    ran = guard("audit", cwd=tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "guard: guard.db: there is no such store (run the program first, or name its store with --store)\n"


def test_a_reader_that_goes_away_is_no_crash(tmp_path: Path) -> None:
    """`guard … | head` ends without a traceback."""
    command = f"{sys.executable} -m guard audit --help | head -c 1; {sys.executable} -m guard demo --yes --keep . | head -n 1"
    done = subprocess.run(
        ["sh", "-c", command], cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=120, check=False
    )
    assert "Traceback" not in done.stderr


# -- what a terminal is shown ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text", "plain text"),
        ("żółw 東京", "żółw 東京"),
        ("a\x1b[2Jb", "a[U+001B][2Jb"),
        ("a\nb\tc\x7f", "a[U+000A]b[U+0009]c[U+007F]"),
        ("\u202eevil", "[U+202E]evil"),
        ("a\u2066b\u200d", "a[U+2066]b[U+200D]"),
        ("a\u00a0b", "a[U+00A0]b"),
        ("\u2028\u2029", "[U+2028][U+2029]"),
        ("\ufe0f\u034f\u3164\u2800", "[U+FE0F][U+034F][U+3164][U+2800]"),
        ("\U000e0041", "[U+E0041]"),
        ("\ud800", "[U+D800]"),
        ("\ue000", "[U+E000]"),
        ("a" + " " * 7 + "b", "a" + " " * 7 + "b"),
        ("a" + " " * 60 + "b", "a[60 spaces]b"),
    ],
    ids=["plain", "letters", "escape", "controls", "bidi", "isolates", "nbsp", "lines", "fillers", "tags", "half", "private", "few", "many"],
)  # fmt: skip
def test_unseen_characters_are_spelled_out(text: str, shown: str) -> None:
    """A character that a reader could not see stands as U+XXXX, never dropped; long runs of spaces are counted."""
    assert show.spell(text) == shown


def test_values_keep_their_digits_and_are_shown_in_full() -> None:
    """Numbers are not rounded, nothing is cut, keys and nested texts are spelled."""
    given = {"a\u202e": [Decimal("3860.00"), {"b": "\x07"}], "long": "x" * 5000}
    assert show.value(given) == '{"a[U+202E]":[3860.00,{"b":"[U+0007]"}],"long":"' + "x" * 5000 + '"}'
    assert show.count_unseen(given) == 2


def test_columns_stay_aligned_with_wide_letters() -> None:
    """A table pads by what a terminal shows, and spells its cells."""
    lines = table(("a", "b"), [("東京", "x"), (None, "y\x1b")])
    assert lines == ["a     b", "----  ---------", "東京  x", "      y[U+001B]"]
    assert [width(text) for text in ("ab", "東京", "e\u0301")] == [2, 4, 1]


# -- check -------------------------------------------------------------------------------------------------------------


def test_check_sums_a_good_folder_up(run: Run, tmp_path: Path) -> None:
    """Each tool with its kind, who may call it, who approves and what is bound."""
    travel_policy(tmp_path / "policies")
    ran = run("check")
    assert ran.code == 0
    rows = {line.split("  ")[0]: " ".join(line.split()) for line in ran.out.splitlines()}
    assert rows["queryExpense"] == "queryExpense read employee nobody is asked user_id = session.principal"
    assert rows["createExpenseSupplement"] == "createExpenseSupplement action employee supervisor"
    assert ran.out.splitlines()[-1].startswith("policies/: 4 tools, 0 problems")


def test_check_names_rules_of_csv_files(run: Run, tmp_path: Path) -> None:
    """Allows and denies of the CSV count in the summary, with their tenant."""
    (folder(tmp_path / "policies") / "rules.csv").write_text(
        "p, auditor, acme, look, call, allow\np, intern, *, pay, call, deny\n", "utf-8"
    )
    tools = {one["name"]: one for one in run("check", "--json").json["tools"]}
    assert tools["look"]["allowed"] == ["clerk", "guest", "auditor in acme"]
    assert tools["pay"]["allowed"] == ["clerk", "not intern"]


def test_check_names_every_problem_with_file_line_and_cure(run: Run, tmp_path: Path) -> None:
    """All mistakes at once, on stderr, with exit code 1."""
    (folder(tmp_path / "policies") / "more.yaml").write_text(
        "tools:\n  a:\n    kind: raed\n    approve: never\n  b:\n    kind: action\n", "utf-8"
    )
    ran = run("check")
    assert (ran.code, ran.out) == (1, "")
    assert "more.yaml:3: kind: must be read" in ran.err
    assert "(did you mean read?)" in ran.err
    assert "more.yaml:" in ran.err.splitlines()[1]
    assert "2 problems" in ran.err.splitlines()[-1]


def test_check_json_lists_problems(run: Run, tmp_path: Path) -> None:
    """A program gets file, line, message and cure of each problem, and no tools."""
    (folder(tmp_path / "policies") / "more.yaml").write_text("tools:\n  a:\n    kind: raed\n    approve: never\n", "utf-8")
    ran = run("check", "--json")
    assert (ran.code, ran.json["ok"], ran.json["tools"]) == (1, False, [])
    assert [(one["file"], one["line"]) for one in ran.json["problems"]] == [("more.yaml", 3)]
    assert set(ran.json["problems"][0]) == {"file", "line", "message", "cure", "code"}


def test_check_of_no_folder_is_misuse(run: Run) -> None:
    """A folder that is not there is said with the option that names it."""
    ran = run("check", "--policy", "nowhere")
    assert (ran.code, ran.err) == (2, "guard: nowhere: there is no such folder (name the policy folder with --policy)\n")


@pytest.mark.parametrize("words", [("here",), ("--policy", "here"), ("here/",)], ids=["positional", "option", "slash"])
def test_check_takes_the_folder_with_or_without_the_option(words: tuple[str, ...], run: Run, tmp_path: Path) -> None:
    """`guard check here` is `guard check --policy here`."""
    travel_policy(tmp_path / "here")
    ran = run("check", *words)
    assert (ran.code, ran.out.splitlines()[-1]) == (0, f"{words[-1]}: 4 tools, 0 problems, 0 warnings")


def test_check_of_two_folders_is_misuse(run: Run, tmp_path: Path) -> None:
    """Neither of two folders is passed over in silence."""
    travel_policy(tmp_path / "here")
    ran = run("check", "here", "--policy", "there")
    assert (ran.code, ran.out, ran.err) == (2, "", "guard: two folders: here and there (name one)\n")


@pytest.mark.parametrize("command", [("check",), ("approvals", "list")], ids=["check", "approvals"])
def test_a_file_in_the_place_of_the_folder_is_told(command: tuple[str, ...], run: Run, tmp_path: Path) -> None:
    """Whoever names tools.yaml is told to name its folder."""
    folder(tmp_path / "policies")
    ran = run(*command, "--policy", "policies/tools.yaml")
    assert (ran.code, ran.err) == (2, "guard: policies/tools.yaml: name the folder, not a file in it\n")


def test_check_tells_warnings_beside_problems(run: Run, tmp_path: Path) -> None:
    """What is only noticed is told as well where something is wrong."""
    folder(tmp_path / "policies")
    (tmp_path / "policies" / "more.yaml").write_text("tools:\n  a: {kind: raed, allow: ['*']}\n", "utf-8")
    ran = run("check")
    assert ran.err.splitlines() == [
        "more.yaml:2: kind: must be read or compute or action (did you mean read?)",
        "warning: more.yaml:2: everybody may call a (name the roles)",
        "policies/: 1 problem, 1 warning",
    ]
    assert [one["message"] for one in run("check", "--json").json["warnings"]] == ["everybody may call a"]


def test_check_refuses_what_is_installed_beside_it(tmp_path: Path) -> None:
    """Both Casbin distributions, and a simpleeval that is too old, are mistakes as any in the folder."""
    for name, version in (("casbin", "1.43.0"), ("pycasbin", "2.8.0"), ("simpleeval", "1.0.3")):
        where = tmp_path / "site" / f"{name}-{version}.dist-info"
        where.mkdir(parents=True)
        (where / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", "utf-8")
    travel_policy(tmp_path / "policies")
    ran = guard("check", cwd=tmp_path, FIRST=str(tmp_path / "site"))
    assert ran.code == 1
    assert "casbin and pycasbin are both installed" in ran.err
    assert "simpleeval 1.0.3" in ran.err


# -- the wheel ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_wheel_plays_the_demo_in_an_empty_folder(tmp_path: Path) -> None:
    """Built, installed somewhere else and run in an empty folder, the demo finds its policy and its `guard` script works."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    wheels, site, empty = tmp_path / "wheels", tmp_path / "site", tmp_path / "empty"
    empty.mkdir()
    subprocess.run([*pip, "wheel", "--no-deps", "-w", str(wheels), str(REPO)], check=True, timeout=300)
    (wheel,) = wheels.glob("guard_middleware-*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--target", str(site), str(wheel)], check=True, timeout=300)
    own = {**environment(), "PYTHONPATH": str(site)}
    script = [sys.executable, str(site / "bin" / "guard"), "demo", "--yes", "--json"]
    done = subprocess.run(script, cwd=empty, env=own, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert [one["messages_sent"] for one in json.loads(done.stdout)["rounds"]] == [2, 5, 7, 9]
    where = subprocess.run(
        [sys.executable, "-c", "from guard.cli.travel.episode import policy_path; print(policy_path())"],
        cwd=empty, env=own, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert Path(where.stdout.strip()) == site / "guard" / "cli" / "travel" / "policies"
    assert list(empty.iterdir()) == []
