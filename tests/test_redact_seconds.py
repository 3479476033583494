"""`redact: seconds:`, the time that looking through one result may take: the least of all files and layers, and what takes longer is withheld."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from reports import start, write

from guard import Guard, PolicyError
from guard.core.redaction import Redaction
from guard.policy import load_policy
from guard.redactors import redactor

POLICY = "tools: {look: {kind: read, allow: [staff]}}\nredact: {seconds: %s}\n"


@pytest.mark.parametrize("wrong", ["0", "-1", "20.5", "'2'", "true", "2s"])
def test_a_time_that_is_none_is_refused_with_its_line(tmp_path: Path, wrong: str) -> None:
    """Nothing turns the bound off, and nothing makes it longer than it is."""
    folder = write(tmp_path, POLICY % wrong)
    with pytest.raises(PolicyError, match=r"tools.yaml:2.*seconds"):
        Guard.load(folder, tools={"look": lambda: ""}, store="memory://")


def test_the_least_of_all_files_holds(tmp_path: Path) -> None:
    """Another file, of the same layer or of one below, can only shorten it."""
    folder = write(tmp_path, POLICY % 3, {"more.yaml": "redact: {seconds: 7}"})
    assert load_policy(folder).policy.redaction.seconds == 3
    (folder / "more.yaml").write_text("redact: {seconds: 0.5}", "utf-8")
    assert load_policy(folder).policy.redaction.seconds == 0.5


def test_a_result_that_takes_longer_is_withheld(tmp_path: Path) -> None:
    """As one of a detector that fails: nothing of it is shown, and its tool is told to have run."""
    value: list[Any] = [{"mail": f"a{at}@example.com", "text": "a@b " * 500} for at in range(40)]
    desk = start(tmp_path, "openai-chat", POLICY % 0.0001, {"look": lambda: value})
    outcome = desk.propose(("c1", "look", {})).outcomes[0]
    assert "example.com" not in str(outcome.content)
    assert outcome.status == "failed" or "withheld" in str(outcome.content)


@pytest.mark.parametrize("fast", [True, False], ids=["with google-re2", "without"])
def test_the_bound_is_of_one_result(fast: bool) -> None:
    """Of all its texts together, and of a single one."""
    one = redactor(Redaction(seconds=0.0001), fast=fast)
    texts = [f"a{at}@example.com " * 50 for at in range(200)]
    with pytest.raises(TimeoutError):
        one.sift(texts)
    with pytest.raises(TimeoutError):
        one.detect(None, "a@example.com " * 5000)
    assert redactor(Redaction(seconds=5), fast=fast).detect(None, "a@example.com")[1] == ("email",)
