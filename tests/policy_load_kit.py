"""What the tests of reading policies share: a folder of given files, its mistakes, and an entry to make them in."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from guard.errors import PolicyError, Problem
from guard.policy import Declared, load_policy

SIGNATURE = {
    "type": "object",
    "properties": {"order_id": {"type": "string"}, "amount": {"type": "number"}, "note": {"type": "string"}},
    "required": ["order_id"],
}
PAY = Declared(name="pay", schema=SIGNATURE, parameters=frozenset({"order_id", "amount", "note"}))
LOOK = Declared(name="look", schema={"type": "object", "properties": {}}, parameters=frozenset())


def folder(tmp_path: Path, files: Mapping[str, str] | str) -> Path:
    """A policy folder with these files; a text is tools.yaml."""
    for name, text in ({"tools.yaml": files} if isinstance(files, str) else files).items():
        (tmp_path / name).write_text(text, "utf-8")
    return tmp_path


def problems(
    tmp_path: Path, files: Mapping[str, str] | str, declared: object = (PAY, LOOK), **more: object
) -> tuple[Problem, ...]:
    """The mistakes that loading reports."""
    with pytest.raises(PolicyError) as caught:
        load_policy(folder(tmp_path, files), declared, **more)
    return caught.value.problems


def entry(lines: str) -> str:
    """A policy with an action `pay`, whose own keys begin at line 4, and a read tool."""
    return f"tools:\n  look: {{kind: read, allow: [staff]}}\n  pay:\n{lines}\n"


GOOD = "    kind: action\n    allow: [staff]\n    approve: never\n"
