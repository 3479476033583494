"""Under generated folders: one more layer never turns a refusal or a hold into an allow, nor a refusal into a hold, and never shows more."""

from __future__ import annotations

import json
import tempfile
import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from layers_kit import write

from guard import Guard, PolicyError, PolicyWarning, Session, ToolCall
from guard.core.model import Outcome
from guard.core.redaction import CUT

RANK = {"done": 2, "failed": 2, "held": 1, "refused": 0}
SEEN: Counter[str] = Counter()

SCHEMA = (
    "schema: {type: object, properties: {order_id: {type: string}, amount: {type: number}, note: {type: string}, desk: {type: string, "
    "default: front}}, required: [order_id]}"
)
KINDS = {"look": f"kind: read, {SCHEMA}", "pay": f"kind: action, {SCHEMA}"}
KEYS: Mapping[str, list[str]] = {
    "allow": ["[staff]", "['*']", "[staff, cashier]", "[cashier]"],
    "bind": ["{desk: session.desk}", "{desk: {from: session.desk, strict: true}}", "{order_id: session.order}"],
    "ground": [
        "{order_id: {returned_by: look.order_id}}",
        "{order_id: {written_by: user}}",
        "{order_id: {any_of: [{returned_by: look.order_id}, {written_by: user}]}}",
        "{amount: {at_most: look.total}}",
        "{amount: {returned_by: look.total, once: true}, desk: {held_by: session.desk}}",
    ],
    "after": ["{tool: look}", "{tool: look, same: [order_id], where: {open: true}}", "[{tool: look, once: true}]"],
    "require": [
        "{amount: {maximum: 40}}",
        "{amount: {maximum: 60}}",
        "[{desk: front}]",
        "{desk: {equals: session.desk}}",
        "{order_id: {pattern: 'A[0-9]'}}",
    ],
    "refuse": ["[{when: {note: {pattern: '.*now.*'}}}]", "{when: {amount: {minimum: 45}}, enforce: shadow}"],
    "limits": [
        "{calls: 1}",
        "{calls: 2, equal: 1}",
        "[{sum: amount, per: order_id, at_most: 60}]",
        "[{sum: amount, per: order_id, at_most: 45}, {calls: 2, per: 1h}]",
        "{calls: 1, per: 60m}",
        "{sum: amount, at_most: look.total, same: [order_id], per: order_id}",
    ],
    "ceilings": ["{arguments_bytes: 60}", "{arguments_bytes: 3000}"],
    "timeout": ["5s", "9s"],
    "resource": ["{order: order_id}", "{order: order_id, owner: customer_id}"],
    "approve": [
        "{by: [lead]}",
        "{by: [lead, boss], expires: 2h}",
        "{by: self}",
        "[{when: {amount: {maximum: 30}}, by: self}, {by: [lead]}]",
        "[{when: {amount: {maximum: 30}}, by: never}, {by: [lead, self]}]",
        "never",
        "{by: [boss], expires: 30m}",
    ],
    "result": [
        "{keep: [order_id, total]}",
        "{keep: [total, 'lines[*].price']}",
        "{keep: [lines]}",
        "{keep: [order_id, total, lines, customer.name], max_bytes: 400}",
        "{max_bytes: 30}",
        "{keep: [customer]}",
    ],
}
TOPS = [
    "limits: {run: {steps: 8, calls: 3}}",
    "limits: {run: {calls: 1, equal: 1}, turn: {calls: 1}}",
    "limits: {conversation: {calls: 2}, windows: [{calls: 2, per: 1h}]}",
    "ceilings: {arguments_bytes: 70}",
    "ceilings: {arguments_bytes: 2000, result_bytes: 300}",
    "layers: {closed: true}",
]
LINES = [
    "p, role:cashier, *, pay, call, deny",
    "p, role:staff, *, l*, call, allow",
    "p, role:cashier, *, *, call, allow",
    "p, role:lead, *, pay, approve, deny",
    "p, role:helper, *, pay, call, allow",
    "g, role:staff, helper, *",
    "g, E9, cashier, *",
    "g, E5, lead, *",
]
PEOPLE = [
    Session(principal="E9", roles=("staff",), attributes={"desk": "front", "order": "A1"}),
    Session(principal="E8", roles=("staff", "cashier"), attributes={"desk": "back", "order": "A1"}),
    Session(principal="E7", roles=("cashier",), attributes={"desk": "front"}),
]
VOTERS = [
    *PEOPLE,
    Session(principal="E5", roles=()),
    Session(principal="E4", roles=("lead",)),
    Session(principal="E3", roles=("boss",)),
    Session(principal="E2", roles=("lead", "cashier")),
]
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("look", {"order_id": "A1"}),
    ("look", {"order_id": "B1", "desk": "back"}),
    ("pay", {"order_id": "A1", "amount": 20}),
    ("pay", {"order_id": "A1", "amount": 50, "desk": "front"}),
    ("pay", {"order_id": "A1", "amount": 45, "desk": "back", "note": "now, please"}),
    ("pay", {"order_id": "B1", "amount": 30}),
    ("extra", {}),
]


def _look(order_id: str, amount: float = 0, note: str = "", desk: str = "front") -> dict[str, Any]:
    customer = {"name": "Ann", "city": "Ulm"}
    return {
        "order_id": order_id,
        "total": 50,
        "open": True,
        "customer": customer,
        "lines": [{"price": 50, "art": "x"}],
        "desk": desk,
    }


def _pay(order_id: str, amount: float = 0, note: str = "", desk: str = "front") -> dict[str, Any]:
    return {"order_id": order_id, "total": 50, "paid": True}


def _extra() -> dict[str, Any]:
    return {"order_id": "A1"}


@st.composite
def entries(draw: st.DrawFn, *, whole: bool) -> str:
    """The text of one folder's tools.yaml: of the widest every tool, of a narrower one a few keys of some."""
    lines = ["tools:"]
    for tool, kind in KINDS.items():
        keys = draw(st.lists(st.sampled_from(sorted(KEYS)), max_size=5 if whole else 2, unique=True))
        keys = sorted({*keys, "allow", *(["approve"] if tool == "pay" else [])}) if whole else keys
        written = [f"{key}: {draw(st.sampled_from(KEYS[key]))}" for key in keys]
        if whole or written:
            lines.append(f"  {tool}: {{{', '.join([*([kind] if whole else []), *written])}}}")
    if draw(st.integers(0, 5)) == 0:
        lines.append("  extra: {kind: read, allow: ['*']}")
    tops = draw(st.lists(st.sampled_from(TOPS), max_size=2, unique_by=lambda one: one.partition(":")[0]))
    return "\n".join([*(lines if len(lines) > 1 else []), *tops, ""])


RULES = st.lists(st.sampled_from(LINES), max_size=3, unique=True).map("\n".join)


def _guard(places: list[Path]) -> Guard | None:
    try:
        guard = Guard.load(places, tools={"look": _look, "pay": _pay, "extra": _extra}, store="memory://")
    except PolicyError:
        return None

    @guard.resource("order")
    def order(order_id: str) -> dict[str, Any]:
        return {"customer_id": "E9" if order_id == "A1" else "E8"}

    return guard


def _play(guard: Guard, session: Session, name: str, before: list[int], call: tuple[str, dict[str, Any]]) -> list[Outcome]:
    """A conversation: the user speaks, earlier calls, and the call that it is about."""
    guard.open(session, wire="openai-chat", conversation=name).user("Pay 20 for A1 back")
    asked = [*(CALLS[index] for index in before), call]
    return [
        guard.call(ToolCall(str(number), tool, dict(sent)), session, conversation=name)
        for number, (tool, sent) in enumerate(asked)
    ]


def _shown(content: object) -> set[str]:
    """Every place with a value in what the model sees; the guard's own note of what was cut is none."""
    try:
        value = json.loads(content) if isinstance(content, str) else content
    except ValueError:
        return set()
    return {leaf for leaf in _leaves(value, "") if not leaf.endswith(f".{CUT}")}


def _leaves(value: Any, at: str) -> list[str]:
    if isinstance(value, dict):
        return [leaf for key, one in value.items() for leaf in _leaves(one, f"{at}.{key}")]
    if isinstance(value, list):
        return [leaf for one in value for leaf in _leaves(one, f"{at}[]")]
    return [at]


def _compare(
    wide: Guard, both: Guard, session: Session, number: str, before: list[int], call: tuple[str, dict[str, Any]]
) -> None:
    """The last call of the same conversation under both; where the history itself went otherwise there is nothing to compare."""
    if call[0] not in wide.policy.tools:
        return  # a tool that only the narrower layer names: it may, where no list is closed
    *history, last = _play(both, session, f"a{number}", before, call)
    final = [(one.tool, dict(one.arguments or {})) for one in (*history, last)]
    earlier = [sent if one.status == "done" else CALLS[index] for one, sent, index in zip(history, final, before, strict=False)]
    known = _replayed(wide, session, f"b{number}", earlier, call if RANK[last.status] == 0 else (call[0], final[-1][1]))
    if [one.status for one in known[:-1]] != [one.status for one in history]:
        return
    SEEN[f"{known[-1].status} -> {last.status}"] += 1
    assert RANK[last.status] <= RANK[known[-1].status], (call, known[-1], last)
    if last.status == known[-1].status == "done":
        # a bound on bytes hides nothing from anybody: where it cut the wider result, fewer fields may fit whole
        assert CUT in str(known[-1].content) or _shown(last.content) <= _shown(known[-1].content)
    if last.status == known[-1].status == "held":
        _compare_voters(wide, both, known[-1], last)


def _replayed(guard: Guard, session: Session, name: str, before: list[Any], call: tuple[str, dict[str, Any]]) -> list[Outcome]:
    guard.open(session, wire="openai-chat", conversation=name).user("Pay 20 for A1 back")
    return [
        guard.call(ToolCall(str(number), tool, dict(sent)), session, conversation=name)
        for number, (tool, sent) in enumerate([*before, call])
    ]


def _compare_voters(wide: Guard, both: Guard, before: Outcome, after: Outcome) -> None:
    """Whoever may decide with the layer may decide without it, and has no more time."""
    old, new = wide.approvals.show(str(before.approval)), both.approvals.show(str(after.approval))
    for one in VOTERS:
        voter = replace(one, tenant=old.tenant)
        assert wide.approvals.entitled(old, voter) or not both.approvals.entitled(new, voter), voter
    assert new.expires_at - new.requested_at <= old.expires_at - old.requested_at


def _hold(widest: str, narrower: list[tuple[str, str]], rules: str, plays: list[tuple[int, list[int], int]]) -> None:
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", PolicyWarning)
        texts = [(widest, rules), *narrower]
        places = [
            write(
                Path(folder, f"l{n}"),
                {"tools.yaml": text or "limits: {turn: {whole: true}}\n", **({"r.csv": csv} if csv else {})},
            )
            for n, (text, csv) in enumerate(texts)
        ]
        for count in range(1, len(places)):
            wide, both = _guard(places[:count]), _guard(places[: count + 1])
            SEEN["loaded" if wide and both else "not loaded"] += 1
            if wide is None or both is None:
                return
            for number, (who, before, call) in enumerate(plays):
                session = replace(PEOPLE[who], tenant=f"t{number}")  # budgets over days are a tenant's or its persons'
                _compare(wide, both, session, f"{count}-{number}", before, CALLS[call])


PLAYS = st.lists(
    st.tuples(st.integers(0, 2), st.lists(st.integers(0, 5), max_size=2), st.integers(0, 6)), min_size=6, max_size=10
)
NARROWER = st.lists(st.tuples(entries(whole=False), RULES), min_size=1, max_size=2)
QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large]


@settings(max_examples=25, deadline=None, suppress_health_check=QUIET)
@given(entries(whole=True), NARROWER, RULES, PLAYS)
def test_a_layer_only_tightens(
    widest: str, narrower: list[tuple[str, str]], rules: str, plays: list[tuple[int, list[int], int]]
) -> None:
    """Whatever the folders say: where they load, the verdict with one more layer is the same or stricter."""
    _hold(widest, narrower, rules, plays)


def test_the_generated_folders_say_something() -> None:
    """Many of them load, and verdicts of every kind are compared, so that the property is about something."""
    if not SEEN:
        pytest.skip("the property did not run in this process")

    assert SEEN["loaded"] >= 5
    assert sum(count for name, count in SEEN.items() if "->" in name) >= 50


@pytest.mark.slow
@settings(max_examples=150, deadline=None, suppress_health_check=QUIET)
@given(entries(whole=True), NARROWER, RULES, PLAYS)
def test_a_layer_only_tightens_in_many(
    widest: str, narrower: list[tuple[str, str]], rules: str, plays: list[tuple[int, list[int], int]]
) -> None:
    """The same, for many more."""
    _hold(widest, narrower, rules, plays)
