"""Targets of which something is not known: an argument with a default, one that is left out or null, and one that another policy named."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from policy_load_kit import GOOD, entry, folder
from stores_kit import STORES, url_of

from guard import Guard, PolicyWarning, Session, ToolCall
from guard.errors import OutcomeUnknownError
from guard.policy import Declared, load_policy

ANN = Session(principal="E1", roles=("clerk",))
UNKNOWN, BLOCKED = ("unknown", "outcome_unknown"), ("refused", "earlier_unknown")
POLICY = """
tools:
  pay: {{kind: action, allow: [clerk], approve: never, unknown: {{target: {target}}}}}
limits: {{run: {{calls: 500}}}}
"""


def by_default(n: int, account: str = "main") -> str:
    """Pays from an account that has a default."""
    raise OutcomeUnknownError


def perhaps(n: int, account: str | None = None) -> str:
    """Pays from an account, or from whichever."""
    raise OutcomeUnknownError


def two(n: int, account: str | None = None, iban: str | None = None) -> str:
    """Pays to an IBAN as well."""
    raise OutcomeUnknownError


@pytest.fixture(params=[one for one in STORES if one != "memory"])  # each call is a program of its own
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    with url_of(request.param, tmp_path) as found:
        yield found


class Program:
    """A program on the store, with a policy of its own."""

    def __init__(self, tmp_path: Path, url: str) -> None:
        self.folder, self.url, self.calls = tmp_path / "policy", url, 0
        self.folder.mkdir()

    def pay(self, tool: Any, target: str, **arguments: Any) -> tuple[str, str | None]:
        """How one payment ended, in a conversation of its own."""
        self.calls += 1
        (self.folder / "tools.yaml").write_text(POLICY.format(target=target))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PolicyWarning)
            guard = Guard.load(self.folder, tools={"pay": tool}, store=self.url)
        with guard:
            call = ToolCall("c1", "pay", json.dumps({"n": self.calls, **arguments}))
            one = guard.call(call, ANN, conversation=f"c{self.calls}")
            self.blocks = [doubt.blocks for doubt in guard.unknown.list()]
        return one.status, None if one.reason is None else str(one.reason)


OPEN: dict[str, tuple[Any, dict[str, Any], dict[str, Any], Any]] = {
    "left out, then its default": (by_default, {}, {"account": "main"}, BLOCKED),
    "its default, then left out": (by_default, {"account": "MAIN"}, {}, BLOCKED),
    "left out, then another": (by_default, {}, {"account": "second"}, UNKNOWN),
    "null, then left out": (perhaps, {"account": None}, {}, BLOCKED),
    "null, then a value": (perhaps, {"account": None}, {"account": "A"}, BLOCKED),
    "left out, then a value": (perhaps, {}, {"account": "A"}, BLOCKED),
    "a value, then left out": (perhaps, {"account": "A"}, {}, BLOCKED),
    "a value, then another": (perhaps, {"account": "A"}, {"account": "B"}, UNKNOWN),
}


@pytest.mark.parametrize("case", OPEN)
def test_what_is_not_known_may_be_the_same(tmp_path: Path, url: str, case: str) -> None:
    """A default is what runs; without one a call may act on any target, and waits and keeps others waiting."""
    tool, first, second, found = OPEN[case]
    program = Program(tmp_path, url)
    assert program.pay(tool, "[account]", **first) == UNKNOWN
    known = tool is by_default or first.get("account") is not None
    assert program.blocks == ["pay with the same account" if known else "every pay"]
    assert program.pay(tool, "[account]", **second) == found


PARTLY: dict[str, tuple[dict[str, Any], dict[str, Any], Any]] = {
    "one is not known, the other the same": ({"account": "A"}, {"account": "A", "iban": "I"}, BLOCKED),
    "one is not known, the other another": ({"account": "A"}, {"account": "B", "iban": "I"}, UNKNOWN),
    "each knows another one": ({"account": "A"}, {"iban": "I"}, BLOCKED),
    "both know the same one": ({"account": "A"}, {"account": "B"}, UNKNOWN),
}


@pytest.mark.parametrize("case", PARTLY)
def test_what_is_known_tells_them_apart(tmp_path: Path, url: str, case: str) -> None:
    """Of several arguments one that both have and that differs is enough."""
    first, second, found = PARTLY[case]
    program = Program(tmp_path, url)
    assert program.pay(two, "[account, iban]", **first) == UNKNOWN
    assert program.pay(two, "[account, iban]", **second) == found


LATER: dict[str, tuple[str, dict[str, Any], Any]] = {
    "another argument": ("[iban]", {"iban": "A"}, BLOCKED),
    "one more, the same account": ("[account, iban]", {"account": "A", "iban": "I"}, BLOCKED),
    "one more, another account": ("[account, iban]", {"account": "B", "iban": "I"}, UNKNOWN),
}


@pytest.mark.parametrize("case", LATER)
def test_a_call_from_before_another_policy(tmp_path: Path, url: str, case: str) -> None:
    """It is compared by its arguments; what the new policy names and it does not have may be the same."""
    target, second, found = LATER[case]
    program = Program(tmp_path, url)
    assert program.pay(by_default, "[account]", account="A") == UNKNOWN
    assert program.pay(two, target, **second) == found


# -- what `guard check` says ---------------------------------------------------------------------------------------------------

SCHEMAS: dict[str, tuple[dict[str, Any], list[str], str | None]] = {
    "required": ({"type": "string"}, ["to"], None),
    "optional": ({"type": "string"}, [], "make it required or give it a default"),
    "with a default": ({"type": "string", "default": "main"}, [], None),
    "whose default is null": ({"type": ["string", "null"], "default": None}, [], "let it not be null"),
    "whose default does not fit": ({"type": "string", "default": 3}, [], "make it required or give it a default"),
    "required, perhaps null": ({"type": ["string", "null"]}, ["to"], "let it not be null"),
}


@pytest.mark.parametrize("case", SCHEMAS)
def test_a_target_that_may_be_missing_is_a_warning(tmp_path: Path, case: str) -> None:
    """At the line of `unknown:`, with its cure; the policy loads."""
    shape, required, cure = SCHEMAS[case]
    schema = {"type": "object", "properties": {"to": shape}, "required": required}
    look = Declared(name="look", schema={"type": "object", "properties": {}}, parameters=frozenset())
    pay = Declared(name="pay", schema=schema, parameters=frozenset({"to"}))
    text = entry(GOOD + "    unknown: {target: to}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PolicyWarning)
        found = load_policy(folder(tmp_path, text), (pay, look)).warnings
    told = [(one.file, one.line, one.cure) for one in found if "unknown: to may be" in one.message]
    assert told == ([] if cure is None else [("tools.yaml", 7, cure)])
