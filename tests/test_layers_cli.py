"""The reviewer's desk over layers: check, test, explain, diff and approvals take several folders, the widest first."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_kit import USER
from layers_kit import folders, look, org, pay, write

from guard import Guard, Session, ToolCall
from guard.cli.main import main

TOP = """tools:
  look: {kind: read, allow: [staff], schema: {type: object, properties: {order_id: {type: string}}}, description: Look an order up.}
  refund:
    kind: action
    description: Pay an order back.
    allow: [staff]
    schema: {type: object, properties: {amount: {type: number}}, required: [amount]}
    approve: {by: [lead], expires: 2h}
limits: {run: {calls: 9, steps: 9}}
"""
APP = "tools:\n  refund: {allow: [cashier], require: {amount: {maximum: 50}}}\n"
LOOSE = "tools:\n  refund: {approve: never}\n"
CASES = """sessions: {ann: {principal: E1, roles: [staff, cashier]}}
cases:
  - {name: small, session: ann, call: {refund: {amount: 5}}, expect: hold}
  - {name: large, session: ann, call: {refund: {amount: 55}}, expect: refuse, reason: rule_refused}
"""


def _named(tmp_path: Path, *texts: object) -> list[str]:
    return [str(place) for place in folders(tmp_path, *texts)]  # type: ignore[arg-type]


def test_check_says_what_the_layers_permit_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each layer's own callers stand beside each tool, and only who satisfies all of them is counted as seeing it."""
    code = main(["check", *_named(tmp_path, TOP, APP)])
    out = capsys.readouterr().out

    assert code == 0
    assert "org: staff, team: cashier" in out
    assert "staff  1 tool" in " ".join(out.split(" ")).replace("   ", "  ")
    assert "note: rules of layers are not compared" in out


def test_check_names_both_places_of_a_loosening(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 1, the narrower folder's line first, the wider one's in the text."""
    code = main(["check", *_named(tmp_path, TOP, APP, LOOSE)])
    err = capsys.readouterr().err

    assert code == 1
    assert "app/tools.yaml:2: refund.approve: nobody is asked where lead decides at org/tools.yaml:8" in err


def test_check_as_json_has_the_code_of_a_loosening(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A program finds file, line, code and each layer's callers."""
    assert main(["check", "--json", *_named(tmp_path, TOP, LOOSE)]) == 1
    (problem,) = json.loads(capsys.readouterr().out)["problems"]
    assert main(["check", "--json", *_named(tmp_path, TOP, APP)]) == 0
    refund = next(one for one in json.loads(capsys.readouterr().out)["tools"] if one["name"] == "refund")

    assert (problem["file"], problem["line"], problem["code"]) == ("team/tools.yaml", 2, "layer-loosens")
    assert refund["allowed"] == ["org: staff", "team: cashier"]


def test_check_pins_into_the_narrowest_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What was reviewed is what all folders give together; the wider folders are not written."""
    places = _named(tmp_path, TOP, APP)

    assert main(["check", "--pin", *places]) == 0
    assert main(["check", "--strict", *places]) == 0
    assert [Path(place, "pins.json").exists() for place in places] == [False, True]
    write(Path(places[0]), TOP.replace("Pay an order back.", "Pay anybody."))
    assert main(["check", *places]) == 1
    assert "since it was pinned" in capsys.readouterr().err


def test_a_pin_of_a_wider_folder_holds_for_what_a_narrower_one_makes_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A narrower folder that changes a definition does not load until somebody has looked."""
    places = _named(tmp_path, TOP, "tools: {refund: {bind: {desk: session.desk}}}\n")
    assert main(["check", "--pin", places[0]]) == 0

    assert main(["check", *places]) == 1
    assert "desk" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["check", "org", "nowhere"], "there is no such folder"),
        (["check", "org", "team/tools.yaml"], "not a file in it"),
        (["check", "org", "--policy", "team"], "name one"),
        (["test", "org", "team", "--mutate"], "one folder"),
        (["test", "org", "team", "--min-coverage", "10"], "one folder"),
        (["explain", "--policy", "org", "--layer", "nowhere", "--who", "refund"], "there is no such folder"),
        (["diff", "org,nowhere", "org"], "there is no such folder"),
    ],
)
def test_misuse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    """A folder that is not there, or that a command does not take, is exit code 2."""
    folders(tmp_path, TOP, APP)
    monkeypatch.chdir(tmp_path)

    assert main(words) == 2
    assert said in capsys.readouterr().err


def test_the_cases_of_the_narrowest_folder_are_played(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Against what all folders decide together."""
    places = _named(tmp_path, TOP, {"tools.yaml": APP, "cases.yaml": CASES})

    assert main(["test", *places]) == 0
    assert "2 " in capsys.readouterr().out


def test_test_does_not_play_what_loosens(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 3, with both places."""
    places = _named(tmp_path, TOP, {"tools.yaml": LOOSE, "cases.yaml": CASES})

    assert main(["test", *places]) == 3
    assert "org/tools.yaml:8" in capsys.readouterr().err


def test_explain_names_each_layers_rules(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every candidate rule with its folder, and the layer that does not allow."""
    org_, team = _named(tmp_path, TOP, APP)
    words = ["explain", "refund", "--policy", org_, "--layer", team, "--principal", "E1", "--role", "staff"]

    assert main([*words, "--args", '{"amount": 5}', "--check", "refuse"]) == 0
    out = capsys.readouterr().out
    assert "org/tools.yaml:6" in out
    assert "team/tools.yaml:2" in out
    assert "layer team: no rule allows it" in out
    assert main([*words, "--role", "cashier", "--args", '{"amount": 5}', "--check", "hold"]) == 0


def test_diff_compares_layers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One more layer never widens a tool that is there; without it the same cells widen."""
    org_, team = _named(tmp_path, TOP, APP)

    assert main(["diff", org_, f"{org_},{team}"]) == 0
    assert "narrow" in capsys.readouterr().out
    assert main(["diff", f"{org_},{team}", org_]) == 1
    assert "widen" in capsys.readouterr().out


NARROW = [pay("timeout: 5s"), pay("approve: {by: boss}"), look("result: {keep: [order_id]}"), pay("bind: {desk: session.desk}")]


@pytest.mark.parametrize("text", NARROW)
def test_diff_finds_nothing_wider_with_a_tightening(tmp_path: Path, text: str) -> None:
    """The reviewer's own comparison agrees with the loader."""
    org_, team = _named(tmp_path, org(), text)

    assert main(["diff", org_, f"{org_},{team}"]) == 0


def test_approvals_are_judged_by_all_layers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The tester is a lead by the widest folder's `people`; a narrower folder that names somebody else takes the right away."""
    people = f"people: {{{USER}: {{principal: B1, roles: [lead]}}}}\n"
    places = _named(
        tmp_path,
        TOP + people,
        "tools: {refund: {require: {amount: {maximum: 50}}}}\n",
        "tools: {refund: {approve: {by: boss}}}\n",
    )
    store = f"sqlite:///{tmp_path}/guard.db"
    top = TOP.replace("by: [lead]", "by: [lead, boss]") + people
    write(Path(places[0]), top)
    with Guard.load(
        places[:2], tools={"refund": lambda amount: amount, "look": lambda order_id="": order_id}, store=store
    ) as guard:
        held = guard.call(ToolCall("1", "refund", {"amount": 5}), Session(principal="E1", roles=("staff",)), conversation="c")
    words = ["approvals", "approve", str(held.approval), "--yes", "--policy", places[0], "--store", store]

    assert main([*words, "--layer", places[1], "--layer", places[2]]) == 1
    assert main([*words, "--layer", places[1]]) == 0
    assert "approved" in capsys.readouterr().out
