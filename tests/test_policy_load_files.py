"""Policy folders and their files: broken, missing, hostile or foreign ones are told, all at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from policy_load_kit import GOOD, LOOK, PAY, entry, folder, problems

from guard.errors import PolicyError
from guard.policy import load_policy

TOPS = {
    "unknown top-level key": ("tool: {}\n", 1, "unknown key tool", "did you mean tools?"),
    "unknown limit": ("limits: {run: {stepps: 3}}\n", 1, "unknown key stepps", "did you mean steps?"),
    "a price without out": ("prices: {m: {in: 2}}\n", 1, "needs in and out", "million"),
    "a person without principal": ("people:\n  ann: {roles: [boss]}\n", 2, "ann has no principal", "principal"),
    "people is empty": ("people:\n", 1, "people: a mapping is needed, not nothing", "key: value"),
    "not YAML": ("tools: {a: [}\n", 1, "not YAML", ""),
    "a tag": ("limits: !!python/object:os.system {}\n", 1, "has no meaning here", "leave the tag out"),
    "a merge key": ("a: &a {x: 1}\nlimits:\n  <<: *a\n", 3, "a key must be a text", "write << out in full"),
    "infinity": ("limits: {run: {seconds: .inf}}\n", 1, "not a value that a policy can hold", "quotes"),
    "an alias inside itself": ("limits: &a {run: *a}\n", 1, "inside the value that it names", ""),
    "a path without quotes": ("limits: {run: a[*].b}\n", 1, "not YAML", "quotes around a path with [*]"),
    "two documents": ("limits: {turn: {calls: 1}}\n---\nlimits: {}\n", 2, "another document", ""),
    "nested without end": ("limits: " + "[" * 3000, None, "nested too deeply", ""),
}


@pytest.mark.parametrize(("text", "line", "message", "cure"), TOPS.values(), ids=TOPS.keys())
def test_each_mistake_of_a_file_is_named_with_its_line_and_cure(
    tmp_path: Path, text: str, line: int | None, message: str, cure: str
) -> None:
    """A mistake outside of a tool's entry is found like one inside."""
    found = problems(tmp_path, {"tools.yaml": entry(GOOD), "more.yaml": text})
    fitting = [problem for problem in found if problem.file == "more.yaml" and message in problem.message]

    assert len(fitting) == 1, found
    assert fitting[0].line == line
    assert cure in fitting[0].cure


def test_every_mistake_of_a_folder_is_reported_at_once(tmp_path: Path) -> None:
    """Nobody repairs a policy one error at a time: tools, rules, limits and a broken file are all named."""
    found = problems(
        tmp_path,
        {
            "tools.yaml": entry("    kind: action\n    alow: [staff]\n    timeout: soon"),
            "more.yaml": "tools:\n  look: {kind: read}\nlimits: {run: {stepps: 1}}\n",
            "rules.csv": "p, staff, *, pya, call, deny\n",
            "broken.yml": "a: [",
        },
    )
    places = {(problem.file, problem.line) for problem in found}

    assert places == {
        ("tools.yaml", 3),
        ("tools.yaml", 5),
        ("tools.yaml", 6),
        ("tools.yaml", 2),  # the tool stands in more.yaml, too
        ("more.yaml", 3),
        ("rules.csv", 1),
        ("broken.yml", 1),
    }


def test_an_alias_bomb_is_refused(tmp_path: Path) -> None:
    """Nested aliases that unfold to billions of values stop the load, not the machine."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]

    found = problems(tmp_path, {"tools.yaml": "\n".join(lines)})

    assert any("more than 100000 values" in problem.message for problem in found)


@pytest.mark.parametrize("case", ["missing", "empty", "a file"])
def test_a_folder_without_a_policy_is_an_error(tmp_path: Path, case: str) -> None:
    """No policy is not an empty policy: somebody pointed at the wrong place."""
    (tmp_path / "file").write_text("")
    (tmp_path / "empty").mkdir()
    where = {"missing": tmp_path / "none", "empty": tmp_path / "empty", "a file": tmp_path / "file"}[case]

    with pytest.raises(PolicyError, match="policy folder"):
        load_policy(where)


def test_other_files_in_the_folder_are_left_alone(tmp_path: Path) -> None:
    """Cases, backups and notes are not policy."""
    files = {"tools.yaml": entry(GOOD), "cases.yaml": "- 1\n", "tools.yaml.bak": "[", "notes.md": "x", ".hidden.yaml": "["}
    (tmp_path / "cases").mkdir()

    assert set(load_policy(folder(tmp_path, files), (PAY, LOOK)).policy.tools) == {"look", "pay"}


SKIPPED = {
    "a draft": "cases-deny.csv",
    "a hidden file": ".deny.csv",
    "a backup": "rules.csv.bak",
    "an old model": "model.conf~",
    "another model": "casbin.conf",
    "a folder": "more.yaml",
    "a file in a folder": "sub/rules.csv",
}


@pytest.mark.parametrize("name", SKIPPED.values(), ids=SKIPPED.keys())
def test_a_file_that_looks_like_policy_and_is_not_read_is_named(tmp_path: Path, name: str) -> None:
    """A deny rule in a file that nobody reads would be without effect; cases and other files are no policy to anybody."""
    there = folder(tmp_path, {"tools.yaml": entry(GOOD), "cases.yaml": "- 1\n", "notes.md": "x"})
    if name == "more.yaml":
        (there / name).mkdir()
    else:
        (there / name).parent.mkdir(exist_ok=True)
        (there / name).write_text("p, staff, *, pay, call, deny\n", "utf-8")
    found = [warning for warning in load_policy(there, (PAY, LOOK)).warnings if "not read" in warning.message]

    assert [(warning.file, warning.message) for warning in found] == [(str(there), f"not read: {name}")]


def test_a_link_to_a_rule_file_that_is_gone_is_an_error(tmp_path: Path) -> None:
    """Rules that cannot be read are not the same as no rules."""
    (tmp_path / "rules.csv").symlink_to(tmp_path / "gone")

    assert [(one.file, "cannot be read" in one.message) for one in problems(tmp_path, entry(GOOD))] == [("rules.csv", True)]


def test_values_keep_their_digits_and_words(tmp_path: Path) -> None:
    """YAML 1.2: `no` is a text, a date is a text, and 0.10 stays 0.10."""
    text = entry(GOOD + "    schema: {properties: {note: {enum: [no, 2026-10-15]}, amount: {multipleOf: 0.10}}}")

    schema = load_policy(folder(tmp_path, text), (PAY, LOOK)).policy.tools["pay"].schema

    assert schema["properties"]["note"]["enum"] == ["no", "2026-10-15"]
    assert str(schema["properties"]["amount"]["multipleOf"]) == "0.10"


@pytest.mark.parametrize("name", ["MORE.YAML", "RULES.CSV"])
def test_the_ending_of_a_file_counts_in_any_case(tmp_path: Path, name: str) -> None:
    """A rule is not passed over because its file's ending is written in capitals."""
    (tmp_path / "tools.yaml").write_text("tools:\n  a: {kind: read, allow: [x]}\nlimits: {run: {steps: 3}}\n", "utf-8")
    (tmp_path / name).write_text("nonsense", "utf-8")

    with pytest.raises(PolicyError, match=name):
        load_policy(tmp_path)
