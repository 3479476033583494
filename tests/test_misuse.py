"""A command that cannot be carried out as it was written says so in one line, with exit code 2."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from cli_kit import guard

from guard.stores import open_store

MISUSED = {
    "port too high": (("serve", "--port", "99999"), "not a port: 99999"),
    "no port": (("serve", "--port", "-1"), "not a port: -1"),
    "store of no kind": (("serve", "migrate", "--store", "mysql://x"), "name a store that lasts"),
    "store that does not last": (("serve", "migrate", "--check", "--store", "memory://"), "name a store that lasts"),
    "console file": (("serve", "--console", "nosuch.yaml"), "nosuch.yaml: there is no such file"),
    "key file": (("audit", "checkpoint", "--key", "nosuch.key", "--to", "x.jsonl"), "nosuch.key: there is no such file"),
    "empty name": (("serve", "token", "add", ""), "a token's name is letters"),
    "name with a blank": (("serve", "token", "add", "a b"), "a b: a token's name is letters"),
}


@pytest.mark.parametrize("case", MISUSED)
def test_misuse_is_told_in_one_line(case: str, tmp_path: Path) -> None:
    """No traceback, nothing is made, and the cure stands in the line."""
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "tools.yaml").write_text("tools: {find: {kind: read, allow: [staff]}}\n", "utf-8")
    with closing(open_store(f"sqlite:///{tmp_path}/guard.db")):
        pass
    words, told = MISUSED[case]
    ran = guard(*words, cwd=tmp_path)
    assert ran.code == 2, ran.err
    assert told in ran.err
    assert "Traceback" not in ran.err
    assert not list(tmp_path.glob("guard-tokens*"))


def test_mistakes_of_another_file_are_not_called_the_policys(tmp_path: Path) -> None:
    """The head of the list names the file that they stand in."""
    with closing(open_store(f"sqlite:///{tmp_path}/guard.db")):
        pass
    (tmp_path / "sinks.yaml").write_text("sinks: {a: {to: jsonl}}\n", "utf-8")
    ran = guard("sinks", "run", "--once", "--sinks", "sinks.yaml", cwd=tmp_path)
    assert ran.code == 1
    assert "1 problem in sinks.yaml\n" in ran.err
