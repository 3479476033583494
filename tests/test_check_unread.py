"""`guard check` over a file that cannot be read: its mistake alone, since what is missing elsewhere may well stand in it."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_kit import Run

PEOPLE = "people: {ann: {principal: E1, roles: [clerk]}}\n"
BROKEN = {
    "not YAML": b"tools:\n  a: {kind: [\n",
    "not UTF-8": b"tools: {a: {kind: read, allow: [clerk]}} # \xff\n",
    "no end of lists": b"tools: " + b"[" * 30_000,
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_only_its_mistake_is_told(text: bytes, run: Run, tmp_path: Path) -> None:
    """No warning that the policy names no tool or no limits; that warnings come later is said."""
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "tools.yaml").write_bytes(text)
    (tmp_path / "policies" / "people.yaml").write_text(PEOPLE, "utf-8")
    ran, plain = run("check"), run("check", "--json").json
    assert ran.code == 1
    assert ran.err.splitlines()[-1] == "policies/: 1 problem; warnings are told when tools.yaml can be read"
    assert len(ran.err.splitlines()) == 2
    assert [(one["file"], one["code"]) for one in plain["problems"]] == [("tools.yaml", "file-unread")]
    assert plain["warnings"] == []
