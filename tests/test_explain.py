"""`guard explain`: one call, room by room, as a real guard decides it; nothing runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_kit import Run, in_process
from review_kit import TOOLS
from review_kit import folder as good

CALL = ("--principal", "c_1", "--role", "customer", "--args")
BEFORE = """
- {user: "My order A17 is lost."}
- {call: {order_status: {order_id: A17}}, returns: {order_id: A17, status: lost, total: 400}}
"""


@pytest.fixture
def guard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    good(tmp_path / "policies")
    (tmp_path / "before.yaml").write_text(BEFORE, "utf-8")
    return in_process(tmp_path, monkeypatch, capfd)


def rooms(found: dict) -> dict[str, str]:
    return {one["room"]: one["verdict"] for one in found["rooms"]}


REFUSED = {
    "parse": ('{"order_id": "A17", "order_id": "B"}', (), "malformed_arguments"),
    "validate": ('{"order_id": 7, "amount": 20}', (), "invalid_arguments"),
    "ground": ('{"order_id": "A17", "amount": 20}', (), "prerequisite_missing"),
    "authorize": ('{"order_id": "A17", "amount": 20, "note": "urgent"}', ("--history", "before.yaml"), "rule_refused"),
    "none": ('{"order_id": "A17", "amount": 399.5, "note": "fine"}', ("--history", "before.yaml"), None),
}


@pytest.mark.parametrize(("room", "arguments", "more", "code"), [(room, *rest) for room, rest in REFUSED.items()], ids=REFUSED)
def test_a_refusal_is_told_by_its_room(guard: Run, room: str, arguments: str, more: tuple[str, ...], code: str | None) -> None:
    """Rooms before it are ok, those behind it are not reached."""
    found = guard("explain", "refund", *CALL, arguments, *more, "--json").json
    seen = rooms(found)
    names = list(seen)
    if code is None:
        assert found["verdict"] == "hold"
        assert set(seen.values()) == {"ok", "held"}
        return
    assert (found["verdict"], found["reason"]) == ("refuse", code)
    assert seen[room] == "refused"
    assert {seen[name] for name in names[: names.index(room)]} <= {"ok"}
    assert {seen[name] for name in names[names.index(room) + 1 :]} == {"not reached"}


def test_a_held_call_says_who_is_asked_and_where_values_came_from(guard: Run) -> None:
    """Room, rule with its place, origin of each argument, policy version, and a time for what was walked."""
    found = guard(
        "explain", "refund", *CALL, '{"order_id": "A17", "amount": 20, "note": "fine"}', "--history", "before.yaml", "--json"
    ).json

    assert found["origins"] == {"order_id": "model", "amount": "bounded", "note": "model"}
    assert rooms(found)["approve"] == "held"
    assert next(one for one in found["rooms"] if one["room"] == "approve")["note"] == "waits for the requester"
    assert all(one["microseconds"] is not None for one in found["rooms"] if one["room"] != "limit")
    assert len(found["policy"]) == 64


SOURCES = {
    "within": ("{at_most: order_status.total}", "amount at most order_status.total"),
    "above": ("{at_least: order_status.total, verified: true}", "amount at least order_status.total"),
    "returned": ("{returned_by: order_status.total}", "amount from order_status.total"),
    "said": ("{written_by: user}", "amount from the user's words"),
    "held": ("{held_by: session.most}", "amount from session.most"),
    "one of two": ("{any_of: [{held_by: session.most}, {returned_by: order_status.total}]}", "amount from order_status.total"),
}


@pytest.mark.parametrize(("source", "told"), SOURCES.values(), ids=list(SOURCES))
def test_what_a_value_relies_on_is_told_in_the_words_of_the_policy(guard: Run, tmp_path: Path, source: str, told: str) -> None:
    """The field of the earlier result, the user's words or the session's fact; no word of the program's own."""
    tools = (tmp_path / "policies" / "tools.yaml").read_text("utf-8")
    assert "{at_most: order_status.total, same: [order_id]}" in tools
    tools = tools.replace("{at_most: order_status.total, same: [order_id]}", source)
    (tmp_path / "policies" / "tools.yaml").write_text(tools, "utf-8")
    (tmp_path / "before.yaml").write_text(BEFORE.replace("lost.", "lost, I want 400."), "utf-8")
    most = "401" if told == "amount from session.most" else "7"
    amount = "401" if told.endswith((".most", "least order_status.total")) else "400"
    call = json.dumps({"order_id": "A17", "amount": int(amount), "note": "fine"})
    shown = guard("explain", "refund", *CALL, call, "--attribute", f"most={most}", "--history", "before.yaml", "--json")
    assert next(one for one in shown.json["rooms"] if one["room"] == "ground")["note"].startswith(told)


def test_a_spoofed_field_is_told(guard: Run) -> None:
    """The session's value stands; that the model sent another one is said, without that value."""
    shown = guard("explain", "order_status", *CALL, '{"order_id": "A17", "customer_id": "EVIL"}')

    assert shown.code == 0
    assert shown.out.startswith("ALLOW")
    assert "customer_id = session.principal (the model sent another value)" in shown.out
    assert "EVIL" not in shown.out


def test_arguments_are_redacted_unless_values_are_asked_for(guard: Run) -> None:
    """As in the audit."""
    call = ("explain", "refund", *CALL, '{"order_id": "A17", "amount": 20, "note": "kim@example.com"}')
    assert "kim@example.com" not in guard(*call).out
    assert "kim@example.com" in guard(*call, "--values").out


def test_whoever_no_rule_allows_is_refused_with_the_rules_that_there_are(guard: Run) -> None:
    """A role that no rule names."""
    found = guard("explain", "close_account", "--principal", "x", "--role", "guest", "--args", '{"account": "1"}', "--json").json

    assert (found["verdict"], found["reason"]) == ("refuse", "not_authorized")
    assert rooms(found)["authorize"] == "refused"


def test_nothing_runs_and_nothing_is_written(guard: Run, tmp_path: Path) -> None:
    """No store, no file beside those that were there."""
    guard("explain", "order_status", *CALL, '{"order_id": "A17"}')

    assert sorted(path.name for path in tmp_path.iterdir()) == ["before.yaml", "policies"]


def test_check_makes_an_exit_code_of_the_verdict(guard: Run) -> None:
    """For scripts."""
    call = ("explain", "order_status", *CALL, '{"order_id": "A17"}', "--check")
    assert guard(*call, "allow").code == 0
    assert guard(*call, "refuse").code == 1


def test_a_case_is_explained(guard: Run, tmp_path: Path) -> None:
    """A call of the folder's cases by its name; a name that is not there is misuse with the nearest one."""
    case = {"name": "a look", "session": "kim", "call": {"order_status": {"order_id": "A17"}}, "expect": "allow"}
    text = {"sessions": {"kim": {"principal": "c_1", "roles": ["customer"]}}, "cases": [case]}
    (tmp_path / "policies" / "cases.yaml").write_text(json.dumps(text), "utf-8")
    found = guard("explain", "--case", "a look", "--json")

    assert (found.code, found.json["verdict"]) == (0, "allow")
    missing = guard("explain", "--case", "a lok")
    assert missing.code == 2
    assert "a look" in missing.err


MISUSES = {
    "an unknown tool": ("refnd", *CALL, "{}"),
    "nobody": ("refund",),
    "nothing asked": (),
    "two things asked": ("refund", "--matrix"),
    "an attribute without a value": ("refund", *CALL, "{}", "--attribute", "level"),
    "a time that is none": ("refund", *CALL, "{}", "--at", "noon"),
    "a history that is not there": ("refund", *CALL, "{}", "--history", "none.yaml"),
    "a history with an unknown tool": ("refund", *CALL, "{}", "--history", "bad.yaml"),
    "who of an unknown tool": ("--who", "refnd"),
    "what of nobody": ("--what", "suport"),
}


@pytest.mark.parametrize("words", MISUSES.values(), ids=MISUSES)
def test_misuse_is_told_plainly(guard: Run, tmp_path: Path, words: tuple[str, ...]) -> None:
    """Exit code 2, one plain text, no traceback."""
    (tmp_path / "bad.yaml").write_text("- {call: {nothing: {}}}\n", "utf-8")
    found = guard("explain", *words)

    assert (found.code, found.out) == (2, "")
    assert "Traceback" not in found.err


def test_a_misspelt_tool_gets_the_nearest_name(guard: Run) -> None:
    """As elsewhere."""
    assert "did you mean refund?" in guard("explain", "refnd", *CALL, "{}").err


def test_every_answer_agrees_with_the_matrix(guard: Run) -> None:
    """Whoever the matrix lets call a look-up may call it."""
    squares = guard("explain", "--who", "order_status", "--json").json["cells"]
    for one in squares:
        if one["kind"] != "role" or one["tenant"] != "acme":
            continue
        words = (
            "explain",
            "order_status",
            "--principal",
            "p",
            "--tenant",
            "acme",
            "--role",
            one["who"],
            "--args",
            '{"order_id": "1"}',
        )
        assert guard(*words, "--json").json["verdict"] == one["call"], one


def test_a_policy_that_does_not_load_explains_nothing(guard: Run, tmp_path: Path) -> None:
    """Its mistakes are told, with exit code 1."""
    (tmp_path / "policies" / "tools.yaml").write_text(TOOLS.replace("kind: read", "kind: red"), "utf-8")
    found = guard("explain", "refund", *CALL, "{}")

    assert found.code == 1
    assert "tools.yaml:4" in found.err
