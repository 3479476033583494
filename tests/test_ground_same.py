"""`same:` of a ground: told wherever the ground is told, and missed where it is probably meant."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_kit import Run, in_process

from guard import Guard, Session, ToolCall
from guard.policy import load_policy
from guard.review.matrix import conditions

POLICY = """tools:
  balance: {{kind: read, allow: [clerk], schema: {{type: object, properties: {{account: {{type: string}}}}, required: [account]}}}}
  pay:
    kind: action
    allow: [clerk]
    approve: never
    schema: {{type: object, properties: {{account: {{type: string}}, amount: {{type: number}}}}, required: [account, amount]}}
    ground: {{amount: {{at_most: balance.amount{more}}}}}
limits: {{run: {{calls: 20}}}}
"""


def written(path: Path, more: str = "") -> Path:
    folder = path / "policies"
    folder.mkdir()
    (folder / "tools.yaml").write_text(POLICY.format(more=more), "utf-8")
    return folder


def test_what_must_agree_is_told(tmp_path: Path) -> None:
    """In the matrix and in the refusal."""
    folder = written(tmp_path, ", same: [account]")
    told = conditions(load_policy([str(folder)]).policy.tools["pay"])
    assert "amount at most balance.amount of the newest call with the same account" in told
    amounts = {"a": 100, "b": 1}

    def balance(account: str) -> dict[str, int]:
        return {"amount": amounts[account]}

    def pay(account: str, amount: float) -> str:
        return "paid"

    with Guard.load(folder, tools=[balance, pay], store="memory://") as guard:
        who = Session(principal="E1", roles=("clerk",))
        guard.call(ToolCall("c1", "balance", '{"account": "a"}'), who, conversation="c", key="k1")
        refused = guard.call(ToolCall("c2", "pay", '{"account": "b", "amount": 50}'), who, conversation="c", key="k2")
        assert "amount must be at_most balance.amount with the same account." in str(refused.content)
        assert (
            guard.call(ToolCall("c3", "pay", '{"account": "a", "amount": 50}'), who, conversation="c", key="k3").status == "done"
        )


@pytest.mark.parametrize(("more", "code"), [("", 1), (", same: [account]", 0)], ids=["without", "with"])
def test_a_bound_without_same_is_a_warning(
    more: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """With the line and the cure, where both tools have the argument."""
    run: Run = in_process(tmp_path, monkeypatch, capfd)
    written(tmp_path, more)
    ran = run("check", "--strict")
    told = ran.out + ran.err
    assert ("of any account, not of this call's" in told, "add same: [account]" in told) == (code == 1, code == 1), told
    assert ("tools.yaml:8" in told) == (code == 1), told
