"""No outlet tells what is hidden: a secret planted in what tools, checks, loaders, people and the model say is found nowhere.

Outlets: the messages that go back, the audit, the log, standard output and error, and the list of approvals that somebody sees who may not
decide. The store's payloads hold it, and whoever may approve sees it.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reports import BOSS, BOTH, Desk, outcome, start

from guard import ToolError

PLAIN = "Wilhelmina Ÿpsilon-Zett"
"""No detector knows it: only the policy's rule hides it."""
FOUND = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
"""A detector knows it, wherever it stands."""
POLICY = """
    tools:
      find:
        kind: read
        allow: [staff]
        result: {handle: {"..name": name}, drop: [..note], mask: {"..code": last4}, hash: [..tax]}
      use:
        kind: action
        allow: [staff]
        approve: never
        checks: [fine]
        resource: {person: name}
        handles: {name: name, text: name}
      ask:
        kind: action
        allow: [staff]
        approve: {by: [boss]}
        handles: {name: name}
"""


@contextmanager
def heard() -> Iterator[io.StringIO]:
    """Everything that is logged or printed."""
    told = io.StringIO()
    handler = logging.StreamHandler(told)
    log = logging.getLogger("guard")
    level, propagates = log.level, log.propagate
    log.addHandler(handler)
    log.setLevel(logging.DEBUG)
    try:
        with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
            yield told
    finally:
        log.removeHandler(handler)
        log.setLevel(level)
        log.propagate = propagates


class OwnError(Exception):
    """As a library would raise it: with its data in arguments, notes and a cause."""

    def __init__(self, text: str) -> None:
        super().__init__(text, {"name": text})
        self.add_note(f"while looking for {text}")
        self.__cause__ = KeyError(text)


WAYS: dict[str, Any] = {
    "returns it": lambda name: {"name": name, "list": [name, {"x": name}]},
    "returns a text": lambda name: f"done for {name.upper()}",
    "returns it as a key": lambda name: {name: {"of": [name]}},
    "raises": lambda name: (_ for _ in ()).throw(OwnError(name)),
    "raises a group": lambda name: (_ for _ in ()).throw(ExceptionGroup(name, [OwnError(name), ValueError(name)])),
    "raises a url": lambda name: (_ for _ in ()).throw(OwnError(f"GET https://example.com/{quote(name)}?q={json.dumps(name)}")),
    "declares it safe": lambda name: (_ for _ in ()).throw(ToolError(f"{name} is locked")),
    "fails with words": lambda name: {"content": [{"type": "text", "text": f"no {name}"}], "isError": True},
    "fails with data": lambda name: {"ok": False, "error": f"no {name}"},
}


def desk_of(folder: Path, wire: str, way: Any, *, check: str = "pass", load: str = "pass", store: str = "memory") -> Desk:
    """A desk whose second tool does with a name what `way` says."""

    def use(name: str, text: str = "") -> Any:
        return way(name)

    def fine(arguments: dict[str, Any]) -> str | None:
        if check == "raises":
            raise OwnError(arguments["name"])
        return f"{arguments['name']} is barred" if check == "refuses" else None

    def find(q: str = "") -> dict[str, Any]:
        return {
            "name": PLAIN,
            "note": PLAIN,
            "code": f"{PLAIN}-{FOUND}-9999",
            "tax": PLAIN,
            "key": FOUND,
            "text": f"token {FOUND}",
        }

    tools = {"find": find, "use": use, "ask": lambda name: f"asked {name}"}
    made = start(folder, wire, POLICY, tools, store=store, checks={"fine": fine})

    def person(identity: str) -> dict[str, Any]:
        if load == "raises":
            raise OwnError(identity)
        return {"name": identity}

    made.guard.resource("person")(person)
    return made


def quiet(desk: Desk, told: io.StringIO, *more: str) -> None:
    """The planted values stand in no outlet."""
    texts = {"history": json.dumps(desk.history, ensure_ascii=False), "audit": json.dumps(desk.audit()), "log": told.getvalue()}
    texts |= {f"text {number}": text for number, text in enumerate(more)}
    for name, text in texts.items():
        for value in (PLAIN, FOUND, quote(PLAIN), json.dumps(PLAIN)[1:-1]):
            assert value.casefold() not in text.casefold(), (name, value)


@BOTH
@pytest.mark.parametrize(
    ("way", "other"),
    [*((way, "") for way in WAYS), *(("returns it", other) for other in ("check refuses", "check raises", "load raises"))],
)
def test_whatever_comes_of_a_call_keeps_what_is_hidden(tmp_path: Path, wire: str, way: str, other: str) -> None:
    """Results, errors with notes and causes, refusals of checks, failures of loaders, in whatever form they tell it."""
    kind, _, what = other.partition(" ")
    with heard() as told:
        desk = desk_of(
            tmp_path, wire, WAYS[way], check=what if kind == "check" else "pass", load=what if kind == "load" else "pass"
        )
        person = json.loads(str(outcome(desk.propose(("f", "find", {})), "f").content))
        turn = desk.propose(("u", "use", {"name": person["name"], "text": f"for {person['name']}"}))
        again = desk.chat.resume(desk.history)
    assert person["name"].startswith("name_")
    quiet(desk, told, json.dumps(again), repr([one.content for one in turn.outcomes]))
    desk.guard.close()


@BOTH
def test_an_approval_shows_it_to_who_may_decide_and_to_no_record(tmp_path: Path, wire: str) -> None:
    """The person sees the name; what they write about it is told and recorded without."""
    with heard() as told:
        desk = desk_of(tmp_path, wire, WAYS["returns it"])
        person = json.loads(str(outcome(desk.propose(("f", "find", {})), "f").content))
        turn = desk.propose(("a", "ask", {"name": person["name"]}), ("b", "ask", {"name": person["name"] + " "}))
        [question, *_] = desk.pending()
        assert question.arguments["name"] == PLAIN
        desk.guard.approvals.reject(question.id, approver=BOSS, reason=f"{PLAIN} has moved, {FOUND} too")
        said = desk.settle()
    assert f"{person['name']} has moved" in said
    quiet(desk, told, repr([one.content for one in turn.outcomes]))
    desk.guard.close()


def test_the_store_keeps_it_in_its_payloads_alone(tmp_path: Path) -> None:
    """Every other table of the file is free of it."""
    with heard():
        desk = desk_of(tmp_path, "openai-chat", WAYS["returns it"], store="sqlite")
        person = json.loads(str(outcome(desk.propose(("f", "find", {})), "f").content))
        desk.propose(("u", "use", {"name": person["name"]}), ("a", "ask", {"name": person["name"]}))
        desk.guard.close()
    file = sqlite3.connect(tmp_path / "guard.db")
    tables = [name for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    holding = {name for name in tables if any(PLAIN in str(row) for row in file.execute(f"SELECT * FROM {name}"))}  # noqa: S608 - our own names
    file.close()
    assert holding == {"payloads"}


NEST = st.recursive(
    st.sampled_from(["VALUE", "a VALUE b", "x", "VALUEVALUE"]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["name", "k", "VALUE", "note"]), inner, max_size=3),
        inner.map(json.dumps),
    ),
    max_leaves=6,
)


def planted(shape: Any, value: str) -> Any:
    """The shape with the value in it, in texts and names of fields."""
    if isinstance(shape, str):
        return shape.replace("VALUE", value)
    if isinstance(shape, list):
        return [planted(item, value) for item in shape]
    return {planted(key, value): planted(item, value) for key, item in shape.items()}


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(shape=NEST, value=st.sampled_from([PLAIN, FOUND]), raises=st.booleans())
def test_however_a_tool_nests_it(shape: Any, value: str, raises: bool) -> None:
    """A value that the call was given behind a handle, or that a detector knows, nested and encoded at random, in a result or an error."""

    def way(_name: str) -> Any:
        if raises:
            raise ToolError(json.dumps(planted(shape, value)))
        return planted(shape, value)

    with tempfile.TemporaryDirectory() as folder, heard() as told:
        desk = desk_of(Path(folder), "openai-chat", way)
        person = json.loads(str(outcome(desk.propose(("f", "find", {})), "f").content))
        desk.propose(("u", "use", {"name": person["name"]}))
        quiet(desk, told)
        desk.guard.close()
