"""A condition of `require:` that stands alone names arguments; what else a rule may say is told apart from one."""

from __future__ import annotations

from pathlib import Path

import pytest
from policy_load_kit import PAY, entry, folder, problems

from guard.policy import load_policy

RULE = "    kind: action\n    allow: [staff]\n    approve: never\n    require: {%s}"


@pytest.mark.parametrize(("key", "value"), [("enforce", "shadow"), ("say", "no more than fifty")])
def test_what_stands_beside_a_condition_is_no_argument(tmp_path: Path, key: str, value: str) -> None:
    """`enforce: shadow` among the arguments would be a condition that no call meets, in force."""
    [found] = problems(tmp_path, entry(RULE % f"amount: {{maximum: 50}}, {key}: {value}"))

    assert (found.file, found.line) == ("tools.yaml", 7)
    assert f"{key} would be an argument here" in found.message
    assert found.cure == f"write {{when: {{…}}, {key}: {value}}}"


def test_an_argument_of_that_name_is_one(tmp_path: Path) -> None:
    """Where the tool has such an argument, it is meant."""
    schema = "\n    schema: {type: object, properties: {enforce: {type: string}}}"
    loaded = load_policy(folder(tmp_path, entry(RULE % "enforce: {const: shadow}" + schema)), None)

    assert [rule.shadow for rule in loaded.policy.tools["pay"].rules] == [False]
    assert PAY.name in loaded.policy.tools
