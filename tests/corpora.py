"""The shared cases, read where they lie, and a generated policy that allows everything in them. For `test_replays`.

Numbers are read exactly. Nothing here is a case of its own: names, schemas and calls come from the corpora, the policies from their tools.
"""

from __future__ import annotations

import json
import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from guard import Guard, PolicyWarning, Session
from guard.core.values import encode

CASES = Path(os.environ.get("GUARD_CASES") or Path(__file__).resolve().parents[2] / "shared" / "cases").absolute()
LEGAL = re.compile("[^A-Za-z0-9_-]")


def needed(*names: str) -> Any:
    """Marks of a test that replays these corpora: skipped, naming the folder, when one is missing."""
    lacking = [str(CASES / name) for name in names if not (CASES / name).is_dir()]
    why = f"the folder {', '.join(lacking)} is missing; GUARD_CASES names where the shared cases lie"
    return lambda test: pytest.mark.cases(pytest.mark.skipif(bool(lacking), reason=why)(test))


def read(name: str, *, exact: bool = True) -> Iterator[dict[str, Any]]:
    """The rows of `corpus/file.jsonl`; numbers with a fraction as Decimal, or as an SDK gives them."""
    with (CASES / name).open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line, parse_float=Decimal if exact else float)


@cache
def toolsets(corpus: str) -> dict[str, list[dict[str, Any]]]:
    """The tools of each toolset."""
    return {row["toolset"]: row["tools"] for row in read(f"{corpus}/toolsets.jsonl")}


def episodes(corpus: str, *, exact: bool = True) -> list[dict[str, Any]]:
    """The benchmark's own solutions that propose anything."""
    rows = read(f"{corpus}/episodes.jsonl", exact=exact)
    return [row for row in rows if row["origin"] == "ground_truth" and row["turns"]]


def kind(tool: Mapping[str, Any]) -> str:
    """Whether a tool looks something up or acts; what is not known to only look may act."""
    return "read" if tool["effect"] in ("read", "think") else "action"


def entry(tool: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """The policy entry of a tool that testers may call as often as they like."""
    acts = {"approve": "never", "repeat": "allow"} if kind(tool) == "action" else {}
    return {"kind": kind(tool), "allow": ["tester"], "schema": tool["parameters"], **acts, **more}


def names_of(tools: list[dict[str, Any]]) -> dict[str, str]:
    """The corpus' name of each tool by a name that providers take: 531 names of one corpus hold dots."""
    names = {LEGAL.sub("_", tool["name"]): tool["name"] for tool in tools}
    assert len(names) == len(tools)
    return names


@dataclass
class Recorder:
    """Stands in for every tool of a toolset and keeps what it was called with."""

    ran: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def tool(self, name: str) -> Callable[..., Any]:
        def run(**arguments: Any) -> dict[str, Any]:
            self.ran.append((name, arguments))
            return {"ran": name}

        return run

    def take(self) -> list[tuple[str, dict[str, Any]]]:
        """What ran since the last time, in order."""
        ran, self.ran = self.ran, []
        return ran


def load(folder: Path, entries: Mapping[str, Any], recorder: Recorder, names: Mapping[str, str] | None = None) -> Guard:
    """A guard over a generated policy file; JSON is YAML. Every tool is the recorder's, under the corpus' own name."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tools.yaml").write_text(encode({"tools": entries}), encoding="utf-8")
    tools = {name: recorder.tool((names or {}).get(name, name)) for name in entries}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PolicyWarning)  # nobody owns the identities in these schemas, which is what is warned of
        return Guard.load(folder, tools=tools, store="memory://")


TESTER = Session(principal="tester", roles=("tester",))


def same(left: Any, right: Any) -> bool:
    """The same JSON, digit by digit: 1.50 is not 1.5, and 1 is not true."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return spelled(left) == spelled(right)


def spelled(value: Any) -> tuple[str, str]:
    """Kind and text of a leaf; numbers by their digits, a float by its shortest ones."""
    number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    return (
        ("number", str(Decimal(repr(value)) if isinstance(value, float) else value))
        if number
        else (type(value).__name__, str(value))
    )
