"""What a narrower folder can do about results and roles that a wider one speaks of: nothing that shows more or asks less."""

from __future__ import annotations

from pathlib import Path

import pytest
from layers_kit import Files, folders

from guard import Guard, Session, ToolCall
from guard.errors import PolicyError

SECRET = "T-99-SECRET"
LIMITS = "limits: {run: {steps: 8, calls: 20}}\n"
SHOWN = """tools:
  find:
    kind: read
    allow: [support]
    result: {keep: [id, tax], mask: {tax: fixed}, roles: {auditor: %s}}
"""
KIM = Session(principal="kim", roles=("support",))


def find(x: str) -> dict[str, str]:
    return {"id": x, "tax": SECRET}


def opened(tmp_path: Path, *layers: Files) -> Guard:
    return Guard.load(folders(tmp_path, *layers), tools=[find], store="memory://")


@pytest.mark.filterwarnings("ignore::guard.PolicyWarning")
@pytest.mark.parametrize("rule", ["{show: [tax]}", "{keep: [id, tax]}"])
@pytest.mark.parametrize(
    "grant", ["g, kim, auditor, default", "g, support, auditor, default", "g, kim, auditor, *", "g, kim, x, *\ng, x, auditor, *"]
)
def test_a_role_that_sees_more_is_the_wider_folders_to_give(tmp_path: Path, grant: str, rule: str) -> None:
    """A grant in a narrower folder cannot make somebody one of those whom a wider folder shows more."""
    org = {"tools.yaml": SHOWN % rule + LIMITS}
    app = {"tools.yaml": "tools: {find: {result: {max_bytes: 1000}}}\n", "rules.csv": grant + "\n"}
    with pytest.raises(PolicyError, match="auditor is a role that a wider layer speaks about") as error:
        opened(tmp_path / "a", org, app)
    assert {one.code for one in error.value.problems} == {"layer-loosens"}

    with opened(tmp_path / "b", {**org, "rules.csv": grant + "\n"}, "tools: {find: {result: {max_bytes: 1000}}}\n") as guard:
        told = guard.call(ToolCall("1", "find", '{"x": "a"}'), KIM, conversation="c")
    assert told.status == "done"


@pytest.mark.filterwarnings("ignore::guard.PolicyWarning")
@pytest.mark.parametrize("approve", ["never", "[{when: {x: {const: a}}, by: never}, {by: [boss]}]"])
def test_who_approves_is_not_left_to_a_narrower_folder(tmp_path: Path, approve: str) -> None:
    """An action of a wider folder that does not say who approves it is a mistake there, and no permission for a narrower one."""
    act = "tools:\n  find: {kind: action, allow: [support]}\n" + LIMITS
    with pytest.raises(PolicyError, match="does not say who approves it"):
        opened(tmp_path / "a", act, f"tools: {{find: {{approve: {approve}}}}}\n")
    with opened(tmp_path / "b", act, "tools: {find: {approve: {by: [boss]}}}\n") as guard:
        assert guard.call(ToolCall("1", "find", '{"x": "a"}'), KIM, conversation="c").status == "held"


def test_the_time_of_a_request_is_bounded_by_the_wider_folder(tmp_path: Path) -> None:
    """A request has a time-out although nobody wrote one: a narrower folder may shorten it."""
    schema = "{type: object, properties: {}}"
    org = f"tools:\n  look: {{kind: read, allow: [support], schema: {schema}, http: {{url: 'https://a.example/x'}}}}\n" + LIMITS
    with pytest.raises(PolicyError, match="600s is more than 30s"):
        Guard.load(folders(tmp_path / "a", org, "tools: {look: {timeout: 600s}}\n"), tools=[], store="memory://")
    with Guard.load(folders(tmp_path / "b", org, "tools: {look: {timeout: 3s}}\n"), tools=[], store="memory://") as guard:
        assert guard.policy.tools["look"].timeout == 3


@pytest.mark.filterwarnings("ignore::guard.PolicyWarning")
def test_a_file_of_a_results_form_stands_in_its_own_folder(tmp_path: Path) -> None:
    """A schema file is that of the folder that names it; a narrower folder may add one where there was none."""
    own = {"f.schema.json": '{"type": "object", "required": ["id"]}'}
    org = "tools:\n  find: {kind: read, allow: [support]}\n" + LIMITS
    named = "tools:\n  find: {kind: read, allow: [support], result: {schema: f.schema.json}}\n" + LIMITS
    added = "tools: {find: {result: {schema: f.schema.json}}}\n"
    other = {"tools.yaml": "tools: {find: {result: {max_bytes: 100}}}\n", "f.schema.json": '{"type": "array"}'}
    for number, layers in enumerate([(org, {"tools.yaml": added, **own}), ({"tools.yaml": named, **own}, other)]):
        with opened(tmp_path / str(number), *layers) as guard:
            assert guard.call(ToolCall("1", "find", '{"x": "a"}'), KIM, conversation="c").status == "done"
    with pytest.raises(PolicyError, match=r"there is no file f\.schema\.json"):
        opened(tmp_path / "lost", {"tools.yaml": org, **own}, added)
