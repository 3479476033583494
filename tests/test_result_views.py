"""What whom sees of a result: roles, kinds of content, rules that meet nothing; all through real calls."""

from __future__ import annotations

import base64
import json
import logging
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from reports import BOTH, U1, outcome, start

from guard import Image, Session, ToolCall
from guard.core.redact import NONE_SHOWN
from guard.runner.worker import Worker

PERSON = {"id": 7, "salary": Decimal("5100.00"), "phone": "extension 47", "mail": "kim at work", "born": "1984-02-03"}
ROLES = """
    tools:
      look:
        kind: read
        allow: [staff]
        result:
          keep: [id, salary, born, mail]
          mask: {born: year, salary: fixed}
          handle: {mail: contact}
          roles:
            payroll: {show: [salary]}
            doctor: {keep: [id, phone, born], show: [born]}
            trainee: {drop: [born], hash: [id]}
      act: {kind: action, allow: [staff], approve: never, handles: {to: contact}}
"""
SEEN: dict[tuple[str, ...], set[str]] = {
    (): {"id", "salary=[hidden]", "born=1984-**-**", "mail=contact"},
    ("guest",): {"id", "salary=[hidden]", "born=1984-**-**", "mail=contact"},
    ("payroll",): {"id", "salary", "born=1984-**-**", "mail=contact"},
    ("doctor",): {"id", "phone", "born"},
    ("trainee",): {"id=hash", "salary=[hidden]", "mail=contact"},
    ("payroll", "trainee"): {"id=hash", "salary=[hidden]", "mail=contact"},
    ("payroll", "doctor"): {"id", "born=1984-**-**"},
}


def seen(content: str) -> set[str]:
    """The fields that are shown, and as what where they are not shown as they are."""
    found = json.loads(content, parse_float=Decimal)
    same = {key for key, value in found.items() if value == PERSON[key]}
    return same | {f"{key}={str(value).partition('_')[0]}" for key, value in found.items() if key not in same}


@pytest.mark.parametrize("roles", SEEN, ids=lambda roles: "+".join(roles) or "nobody")
def test_a_role_sees_what_its_entry_says_and_no_more(tmp_path: Path, roles: tuple[str, ...]) -> None:
    """Rules for everybody hold for every role but where `show` names them; several roles see what each of them may see."""
    desk = start(
        tmp_path,
        "openai-chat",
        ROLES,
        {"look": lambda: PERSON, "act": lambda to="": "done"},
        session=Session(principal="u1", roles=("staff", *roles)),
    )
    turn = desk.propose(("c1", "look", {}))
    assert seen(str(outcome(turn, "c1").content)) == SEEN[roles]
    desk.closed()


def test_a_role_that_a_grant_gives_counts(tmp_path: Path) -> None:
    """Roles come from the rules as well as from the session."""
    files = {"rules.csv": "g, u1, payroll, default\n"}
    desk = start(tmp_path, "openai-chat", ROLES, {"look": lambda: PERSON, "act": lambda to="": "done"}, files=files)
    turn = desk.propose(("c1", "look", {}))
    assert seen(str(outcome(turn, "c1").content)) == SEEN["payroll",]
    desk.closed()


def test_a_child_never_sees_more_than_its_parent(tmp_path: Path) -> None:
    """Without the role that narrowed the parent, and with the one that widens; neither what the parent saw of an action."""
    policy = ROLES.replace(
        "      act:",
        "      pay:\n        kind: action\n        allow: [staff]\n        approve: never\n        result: {mask: {iban: fixed}, roles: {payroll: {show: [iban]}}}\n      act:",
    )
    tools = {"look": lambda: PERSON, "act": lambda to="": "done", "pay": lambda: {"iban": "to nobody"}}
    desk = start(tmp_path, "openai-chat", policy, tools, session=Session(principal="u1", roles=("staff", "trainee", "payroll")))
    plain, paid = desk.chat.child(roles=["staff"]), desk.chat.child(roles=["staff", "payroll"])
    for chat in (plain, paid):
        turn = desk.propose(("c1", "look", {}), chat=chat)
        assert seen(str(outcome(turn, "c1").content)) == SEEN["payroll", "trainee"]

    rich = start(
        tmp_path, "openai-chat", policy, tools, session=Session(principal="u1", roles=("staff", "payroll")), conversation="c2"
    )
    assert "to nobody" in str(outcome(rich.propose(("p1", "pay", {})), "p1").content)
    narrow = rich.propose(("p2", "pay", {}), chat=rich.chat.child(roles=["staff"]))
    assert "to nobody" not in str(outcome(narrow, "p2").content)
    assert outcome(narrow, "p2").status == "done"
    assert rich.times("pay") == 1
    desk.closed()


PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"0" * 20).decode()
JPEG = base64.b64encode(b"\xff\xd8\xff\xe0" + b"0" * 20).decode()
MESSAGE = {
    "content": [
        {"type": "text", "text": "plain words"},
        {"type": "resource", "resource": {"uri": "file:///a", "text": "inner words"}},
        {"type": "resource_link", "uri": "file:///b", "name": "linked words"},
        {"type": "image", "data": PNG, "mimeType": "image/png"},
        {"type": "image", "data": JPEG, "mimeType": "image/jpeg"},
        {"type": "image", "data": JPEG, "mimeType": "image/png"},
    ]
}
BLOCKS: dict[str, tuple[str, list[str]]] = {
    "everything": ("{text: keep}", ["plain", "inner", "linked", "image/png", "image/jpeg", "image/jpeg"]),
    "no text": ("{text: drop}", ["inner", "linked", "image/png", "image/jpeg", "image/jpeg"]),
    "no resources": ("{resources: drop}", ["plain", "image/png", "image/jpeg", "image/jpeg"]),
    "no images": ("{images: drop}", ["plain", "inner", "linked"]),
    "one type, judged by its data": ("{images: [image/png]}", ["plain", "inner", "linked", "image/png"]),
    "nothing": ("{text: drop, resources: drop, images: drop}", []),
}


@pytest.mark.parametrize(("blocks", "wanted"), BLOCKS.values(), ids=BLOCKS)
def test_kinds_of_content(tmp_path: Path, blocks: str, wanted: list[str]) -> None:
    """Texts, embedded resources and pictures by type go or stay; nothing left is not nothing found."""
    policy = f"tools: {{look: {{kind: read, allow: [staff], result: {{blocks: {blocks}}}}}}}"
    desk = start(tmp_path, "openai-chat", policy, {"look": lambda: MESSAGE})
    content = outcome(desk.propose(("c1", "look", {})), "c1").content
    if not wanted:
        assert content == NONE_SHOWN
    else:
        assert [one.media_type if isinstance(one, Image) else one.split()[0] for one in content] == wanted
    desk.closed()


@pytest.mark.parametrize(("value", "left"), [({"a": 1}, NONE_SHOWN), ("words", "words"), (None, "Nothing found.")])
def test_structured_content_may_be_left_out(tmp_path: Path, value: Any, left: str) -> None:
    """Objects and lists go, words stay, nothing is nothing."""
    policy = "tools: {look: {kind: read, allow: [staff], result: {blocks: {structured: drop}}}}"
    desk = start(tmp_path, "openai-chat", policy, {"look": lambda: value})
    assert outcome(desk.propose(("c1", "look", {})), "c1").content == left
    desk.closed()


TEXTS = {
    "text": '{"secret": "S-1", "id": 7}',
    "a block": {"content": [{"type": "text", "text": '{"secret": "S-1", "id": 7}'}]},
    "several blocks": [
        {"type": "text", "text": '{"secret": "S-1", "id": 7}'},
        {"type": "text", "text": '[{"secret": "S-1", "id": 7}]'},
    ],
    "a resource": {"content": [{"type": "resource", "resource": {"uri": "x:y", "text": '{"secret": "S-1", "id": 7}'}}]},
    "structure": {"content": [{"type": "text", "text": "S-1"}], "structuredContent": {"secret": "S-1", "id": 7}},
    "its own failure": {"ok": False, "secret": "S-1", "id": 7},
    "a failure as text": {"content": [{"type": "text", "text": '{"secret": "S-1", "id": 7}'}], "isError": True},
}


@BOTH
@pytest.mark.parametrize("value", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("rule", ["drop: [secret]", "mask: {secret: fixed}", "keep: [id, '[*].id']", "drop: [..secret]"])
def test_fields_are_found_in_every_form_of_a_result(tmp_path: Path, wire: str, value: Any, rule: str) -> None:
    """Objects, JSON in texts, blocks and resources, failures: a rule cannot be sidestepped by how the tool says it."""
    policy = f"tools: {{look: {{kind: read, allow: [staff], result: {{{rule}}}}}}}"
    desk = start(tmp_path, wire, policy, {"look": lambda: value})
    desk.propose(("c1", "look", {}))
    assert "S-1" not in desk.everything()
    if "isError" not in str(value) or "keep" not in rule:
        assert "7" in desk.result("c1")
    desk.closed()


@BOTH
def test_a_rule_that_meets_nothing_is_reported(tmp_path: Path, wire: str, caplog: pytest.LogCaptureFixture) -> None:
    """In the turn, in the audit's record, and once in the log; a result that is empty reports nothing."""
    policy = "tools: {look: {kind: read, allow: [staff], result: {keep: [id, nmae], drop: [..notes]}}}"
    results: list[Any] = [{"id": 1, "name": "S-1"}, {"id": 2}, {}, None]
    desk = start(tmp_path, wire, policy, {"look": lambda n: results[n]})
    with caplog.at_level(logging.WARNING):
        turns = [desk.propose((f"c{n}", "look", {"n": n})) for n in range(4)]
    wanted = ("look: result.keep nmae matched nothing", "look: result.drop ..notes matched nothing")
    assert [turn.warnings for turn in turns] == [wanted, wanted, (), ()]
    assert [sum(text in record.message for record in caplog.records) for text in wanted] == [1, 1]
    ends = [event["result"].get("labels", []) for event in desk.audit("call.end")]
    assert ends[0] == ["keep nmae matched nothing", "drop ..notes matched nothing"]
    assert ends[2] == []
    assert "S-1" not in desk.everything()
    desk.closed()


def test_a_keep_that_leaves_nothing_says_so(tmp_path: Path) -> None:
    """Not "nothing found": there was something, and the record says that nothing was shown."""
    policy = "tools: {look: {kind: read, allow: [staff], result: {keep: [idd], empty: no such order}}}"
    desk = start(tmp_path, "openai-chat", policy, {"look": lambda: {"id": 7}})
    assert outcome(desk.propose(("c1", "look", {})), "c1").content == NONE_SHOWN
    assert "nothing shown" in desk.audit("call.end")[0]["result"]["labels"]
    desk.closed()


IDLE = """
    tools:
      look: {kind: read, allow: [staff], result: {keep: [id, nmae]}}
      act: {kind: action, allow: [staff], approve: {by: [boss]}, result: {keep: [id, nmae]}}
"""


@pytest.mark.parametrize("way", ["call", "settle", "worker"])
def test_a_rule_that_meets_nothing_is_logged_whichever_way_a_call_runs(
    way: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Without a wire, after a yes, and in a worker there is no turn that could say so: the log does."""
    desk = start(tmp_path, "openai-chat", IDLE, {"look": lambda: {"id": 1}, "act": lambda: {"id": 1}})
    tool = "look" if way == "call" else "act"
    with caplog.at_level(logging.WARNING):
        if way == "call":
            assert desk.guard.call(ToolCall("c1", tool, "{}"), U1, conversation="alone").status == "done"
        else:
            turn = desk.propose(("c1", tool, {}))
            desk.approve(turn, "c1")
            if way == "settle":
                desk.settle()
            else:
                Worker(desk.guard, lambda _name, _tenant: U1, grace=0.0).once()
    wanted = f"{tool}: result.keep nmae matched nothing"
    assert sum(wanted in record.message for record in caplog.records) == 1
    desk.closed()
