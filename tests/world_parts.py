"""The random parts of worlds: policies, sessions, calls, what tools do, and what happens between turns."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from stages import Break, Give, Late
from worlds import BOSS

from guard import Session, ToolError
from guard.core.values import JsonObject

MAIL, CARD, PHONE = "jane.doe@corp.example", "4111 1111 1111 1111", "+49 151 23456789"
PLANTED = (MAIL, CARD, PHONE, "jane.doe", "4111 1111")

# -- policies ----------------------------------------------------------------------------------------------------------

TIGHTER: dict[str, list[Any]] = {
    "checks": [["polite"], ["broken"], ["polite", "broken"]],
    "require": [{"n": {"maximum": 2}}, {"q": {"pattern": "[a-m]*"}}],
    "refuse": [[{"when": {"n": {"minimum": 2}}}], [{"when": {"q": {"const": "a"}}}]],
    "limits": [{"calls": 1}, {"calls": 2}, {"equal": 1}],
    "ground": [{"q": {"returned_by": "look.q"}}, {"n": {"returned_by": "sums.n"}}],
    "after": [{"tool": "look"}, {"tool": "sums", "where": {"n": {"maximum": 3}}}],
    "resource": [{"thing": "n", "owner": "owner"}],
    "bind": [{"user_id": "session.badge"}, {"user_id": {"from": "session.principal", "strict": True}}],
}
"""What may be added to a tool's entry and can only refuse more."""

APPROVE: list[Any] = [
    "never",
    {"by": ["boss"]},
    {"by": "self"},
    {"by": ["boss"], "expires": "1h"},
    [{"when": {"n": {"maximum": 1}}, "by": "self"}, {"by": ["boss"]}],
]
DENIES = ("p, employee, *, {tool}, call, deny\n", "p, user:E1, *, {tool}, call, deny\n", "p, *, *, *, call, deny\n")


def _entry(kind: str) -> st.SearchStrategy[dict[str, Any]]:
    needed: dict[str, Any] = {"kind": st.just(kind)}
    more: dict[str, Any] = {name: st.sampled_from(values) for name, values in TIGHTER.items() if name != "bind"}
    more["bind"] = st.sampled_from([{"user_id": "session.principal"}, *TIGHTER["bind"]])
    more["timeout"] = st.just("20ms")
    more["result"] = st.sampled_from([{"keep": ["q", "n"]}, {"empty": "nothing here"}, {"max_bytes": 40}])
    if kind == "action":
        needed["approve"] = st.sampled_from(APPROVE)
        more["repeat"] = st.just("allow")
    allow = st.sampled_from([["employee"], ["employee"], ["employee", "boss"], ["boss"]])
    needed["allow"] = allow
    return st.integers(0, 3).flatmap(
        lambda most: st.lists(st.sampled_from(sorted(more)), max_size=most, unique=True).flatmap(
            lambda chosen: st.fixed_dictionaries({**needed, **{name: more[name] for name in chosen}})
        )
    )


@st.composite
def policies(draw: st.DrawFn) -> dict[str, Any]:
    """A policy for look, sums, act and pay; `ghost` is registered and has no entry."""
    kinds = {"look": "read", "sums": "compute", "act": "action", "pay": "action"}
    policy: dict[str, Any] = {"tools": {name: draw(_entry(kind)) for name, kind in kinds.items()}}
    policy["limits"] = draw(
        st.sampled_from(
            [
                {"run": {"calls": 50}},
                {"run": {"calls": 4, "steps": 6}},
                {"turn": {"calls": 3, "whole": True}, "run": {"steps": 9}},
                {"conversation": {"calls": 6}, "run": {"equal": 2}},
            ]
        )
    )
    return policy


OPEN: dict[str, Any] = {
    "tools": {
        "look": {"kind": "read", "allow": ["employee"], "timeout": "20ms"},
        "sums": {"kind": "compute", "allow": ["employee"]},
        "act": {"kind": "action", "allow": ["employee"], "approve": "never", "timeout": "20ms"},
        "pay": {"kind": "action", "allow": ["employee"], "approve": {"by": ["boss"]}},
    },
    "limits": {"run": {"calls": 500}},
}
"""A policy that lets an employee do everything; only `pay` needs a yes."""

# -- sessions, calls, behaviours ---------------------------------------------------------------------------------------

EMPLOYEE = Session(principal="E1", roles=("employee",), attributes={"badge": "B1"})
sessions = st.sampled_from(
    [
        EMPLOYEE,
        EMPLOYEE,
        Session(principal="E1", roles=("employee",)),
        Session(principal="E1", roles=("boss",), attributes={"badge": "B1"}),
        Session(principal="E2", roles=("employee", "boss"), attributes={"badge": None}),
        Session(principal="E1"),
    ]
)
good = st.fixed_dictionaries(
    {},
    optional={
        "q": st.sampled_from(["a", "b", "zz", "rude", MAIL, f"pay {CARD} now", PHONE]),
        "n": st.integers(0, 5),
        "user_id": st.sampled_from(["E1", "E2", "B1", MAIL]),
    },
)
bad = st.sampled_from(
    ["", "null", "[]", "{", '{"n": 1', '{"n": 1, "n": 2}', '"{}"', '{"n": NaN}', '{"n": "1"}', '{"m": 1}', '{"n": 1.5}', "{}{}"]
)
arguments = st.one_of(good, good, good, good.map(json.dumps), bad, st.none())
calls = st.tuples(
    st.sampled_from(["c1", "c2", "c3", "same", "same", "", " ", "weird id!"]),
    st.sampled_from(["look", "look", "sums", "act", "act", "pay", "pay", "ghost", "lok", "", "no such tool"]),
    arguments,
)
turns = st.lists(calls, min_size=1, max_size=8)
simple_calls = st.tuples(st.sampled_from(["c1", "c2", ""]), st.sampled_from(["look", "act", "act", "pay"]), good)


class OddError(Exception):
    """An exception of the host's own."""


values = st.sampled_from(
    [
        {"q": "a", "n": 1},
        {"q": "b", "n": 3, "mail": MAIL},
        [{"q": "a"}, {"q": f"card {CARD}"}],
        f"call {PHONE} or write {MAIL}",
        None,
        "",
        [],
        b"",
        b"\xff\x00",
        float("nan"),
        {"n": float("inf")},
        {"n": object()},
        {1: {2, 3}},
        "x" * 300_000,
        {"ok": False, "error": f"no such {MAIL}"},
        {"a" * 40: {"b": [MAIL] * 3}},
    ]
)
behaviours = st.one_of(
    values.map(Give),
    values.map(Give),
    st.sampled_from(
        [ValueError, OddError, ToolError, SystemExit, MemoryError, RecursionError, TimeoutError, asyncio.CancelledError]
    ).map(Break),
    st.just(Late()),
)
scripts = st.lists(behaviours, max_size=12)

# -- what happens between turns ----------------------------------------------------------------------------------------

voters = st.sampled_from(
    [BOSS, BOSS, EMPLOYEE, Session(principal="B9", roles=("boss",), tenant="other"), Session(principal="X", roles=("clerk",))]
)
steps = st.one_of(
    turns.map(lambda found: ("turn", found)),
    st.lists(simple_calls, min_size=1, max_size=3).map(lambda found: ("turn", found)),
    st.lists(simple_calls, min_size=1, max_size=3).map(lambda found: ("turn", found)),
    st.booleans().map(lambda found: ("again", found)),
    st.tuples(st.just("vote"), st.sampled_from(["approve", "approve", "reject"]), voters),
    st.just(("settle",)),
    st.just(("say",)),
    st.sampled_from([("wait", 10.0), ("wait", 7_200.0), ("wait", 100_000.0)]),
)
plots = st.lists(steps, min_size=1, max_size=8)


def play(world: Any, plot: list[Any]) -> list[Any]:
    """Carry out the steps of a plot; what came of each, in a form that can be compared."""
    told: list[Any] = []
    for step in plot:
        match step:
            case ("turn", found):
                told.append(world.turn(found))
            case ("again", history):
                told.append(world.again(history=history))
            case ("vote", word, who):
                told.append(world.vote(word, who))
            case ("settle",):
                told.append(world.settle())
            case ("say",):
                told.append(world.say())
            case ("wait", seconds):
                world.clock.now += seconds
                told.append(None)
    return told


wires = st.sampled_from(["openai-chat", "anthropic"])
helds = st.sampled_from(["answer", "suspend"])
some = settings(
    max_examples=int(os.environ.get("GUARD_EXAMPLES", "25")),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
"""How hard each property is tried; GUARD_EXAMPLES says how many examples."""

# -- reading the audit -------------------------------------------------------------------------------------------------

Place = tuple[int, int]


def place(event: JsonObject) -> Place:
    return event["turn"], event["position"]


def judged(event: JsonObject) -> JsonObject | None:
    """What a record says was decided, but for how long it took: that differs from run to run."""
    found = event.get("decision")
    return None if found is None else {name: value for name, value in found.items() if name != "ms"}


def of_kind(events: list[JsonObject], *kinds: str) -> list[JsonObject]:
    return [event for event in events if event["kind"] in kinds]


def fields(event: JsonObject | str) -> JsonObject:
    """An event before it is sealed: an object, or the text of its members."""
    found: JsonObject = json.loads(f"{{{event}}}") if isinstance(event, str) else event
    return found
