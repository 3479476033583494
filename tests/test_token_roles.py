"""`guard serve token add --role`: a role that the policy does not know is kept, and said."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_kit import Run, folder

ADD = ("serve", "token", "add", "ann", "--person", "s_9", "--scope", "vote")


@pytest.mark.parametrize(
    ("role", "told"),
    [
        ("bosss", "guard: warning: no rule of policies/ names the role bosss (did you mean boss?); it is kept as written\n"),
        (
            "auditor",
            "guard: warning: no rule of policies/ names the role auditor (known: boss, clerk, guest); it is kept as written\n",
        ),
        ("boss", ""),
    ],
)
def test_a_role_that_no_rule_names_is_told(role: str, told: str, run: Run, tmp_path: Path) -> None:
    """With the name that was probably meant; the token is made all the same, and printed alone."""
    folder(tmp_path / "policies")
    ran = run(*ADD, "--role", role)
    assert (ran.code, ran.out.startswith("guard_"), ran.out.count("\n")) == (0, True, 1)
    assert ran.err == f"{told}guard: keep it now, only its hash is kept here\n"
    assert run("serve", "token", "list", "--json").json[0]["roles"] == [role]


def test_without_a_policy_nothing_is_said(run: Run) -> None:
    """Where none lies in the usual place and none is named; one that is named and not there is misuse."""
    assert run(*ADD, "--role", "x", "--policy", "nowhere").code == 2
    ran = run(*ADD, "--role", "x")
    assert (ran.code, "warning" in ran.err) == (0, False)
