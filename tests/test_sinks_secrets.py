"""Nothing of a payload leaves: planted secrets are looked for in every byte that any sink sends or writes, plain, escaped and encoded."""

from __future__ import annotations

import base64
import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from http_service_kit import Service, says
from reports import BOSS, outcome, start
from sinks_kit import QUICK, follower
from test_outlets import FOUND, PLAIN, WAYS, desk_of, heard
from test_sinks_otel import Seen
from test_sinks_syslog import tcp, waited

from guard.errors import ApprovalError
from guard.sinks.formats import FORMATS
from guard.sinks.jsonl import JsonLines
from guard.sinks.notice import Links
from guard.sinks.notify import Notify
from guard.sinks.post import Post
from guard.sinks.slack import Slack
from guard.sinks.syslog import Address, Syslog
from guard.sinks.webhook import Webhook

KEY = b"a key of the sender's own"
PAGE = Links(page="https://guard.example/approvals/{approval}", key=KEY, audience="people")


def spellings(value: str) -> set[bytes]:
    """A value as it may stand in bytes: in JSON, in JSON in JSON, in a URL, in base64 at each offset, in hexadecimal."""
    escaped = json.dumps(value)[1:-1]
    texts = {value, escaped, json.dumps(escaped)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1], repr(value)[1:-1]}
    texts |= {quote(value, safe=""), quote_plus(value), quote(quote(value, safe=""), safe="")}
    raw = value.encode()
    inner = {base64.b64encode(b"x" * shift + raw)[4 if shift else 0 : -4] for shift in range(3)}
    inner |= {base64.urlsafe_b64encode(b"x" * shift + raw)[4 if shift else 0 : -4] for shift in range(3)}
    return {text.encode() for text in texts} | inner | {raw.hex().encode()}


def test_the_search_would_find_it() -> None:
    """Each spelling is found where it stands: else the test below would prove nothing."""
    for made in (
        json.dumps({"x": PLAIN}),
        base64.b64encode(f"??{PLAIN}??".encode()).decode(),
        quote(f"a {PLAIN}"),
        json.dumps(json.dumps(FOUND)),
    ):
        assert any(one in made.encode() for value in (PLAIN, FOUND) for one in spellings(value)), made


def played(folder: Path, way: str) -> Any:
    """A desk at which a hidden name went through results, errors, arguments, an approval, reasons and notes."""
    desk = desk_of(folder, "openai-chat", WAYS[way])
    person = json.loads(str(outcome(desk.propose(("f", "find", {})), "f").content))
    desk.propose(("u", "use", {"name": person["name"], "text": f"for {person['name']} {FOUND}"}))
    desk.propose(("x", FOUND, {"name": person["name"]}))
    desk.propose(("a", "ask", {"name": person["name"]}), ("b", "ask", {"name": f"{person['name']} "}))
    for number, question in enumerate(desk.pending()):
        vote = desk.guard.approvals.reject if number else desk.guard.approvals.approve
        try:
            vote(question.id, approver=BOSS, reason=f"{PLAIN} has moved, {FOUND} too")
        except ApprovalError:
            continue
    desk.settle()
    return desk


@pytest.mark.parametrize("way", ["returns it", "raises", "declares it safe"])
def test_no_sink_sends_what_was_planted(tmp_path: Path, way: str) -> None:
    """Files, webhooks in each form, notices, Slack, traces with arguments, syslog; all of them sent something."""
    sent: dict[str, bytes] = {}
    with heard(), ExitStack() as stack:
        desk = played(tmp_path, way)
        service = stack.enter_context(Service(says()))
        log = stack.enter_context(tcp())
        post, seen = Post(f"http://127.0.0.1:{service.port}/"), Seen(arguments=True)
        sinks: dict[str, Any] = {
            "files": JsonLines("files", tmp_path / "out" / "audit.jsonl"),
            **{f"web {form}": Webhook(f"web-{form}", post, [KEY], FORMATS[form], lambda: 1e9) for form in FORMATS},
            **{
                f"file {form}": JsonLines(form, tmp_path / form / "x.jsonl", form=FORMATS[form].of)
                for form in ("ocsf", "cloudevents")
            },
            "notify": Notify("notify", post, [KEY], PAGE, lambda: 1e9),
            "slack": Slack("slack", post, PAGE),
            "syslog": Syslog("syslog", Address.of(f"tcp://127.0.0.1:{log.server_address[1]}")),
            "otel": seen.sink,
        }
        for name, sink in sinks.items():
            before = len(service.asked)
            step = follower(desk.guard.store, sink, QUICK).step()
            assert (step.did, step.error) == ("sent", ""), name
            sent[name] = b"\n".join(one.body + repr(one.headers).encode() + one.target.encode() for one in service.asked[before:])
        count = len(desk.guard.store.audit())
        sent["syslog"] = b"\n".join(waited(log.got, count))
        sinks["syslog"].close()
        sent["otel"] = "".join(
            [*(one.to_json() for one in seen.spans()), *(one.to_json() for one in seen.logs_of.get_finished_logs())]
        ).encode()
        for name, folder in (("files", "out"), ("file ocsf", "ocsf"), ("file cloudevents", "cloudevents")):
            sent[name] = b"".join(path.read_bytes() for path in (tmp_path / folder).iterdir())
        sent["store"] = repr(desk.guard.store.outbox.sinks()).encode()
        desk.guard.close()
    assert all(len(data) > 200 for data in sent.values()), {name: len(data) for name, data in sent.items()}
    for name, data in sent.items():
        for value in (PLAIN, FOUND):
            assert [one for one in spellings(value) if one.lower() in data.lower()] == [], name
        assert KEY not in data, name


def test_the_record_of_a_question_has_the_digest_of_its_decision(tmp_path: Path) -> None:
    """Keyed like every other: a short value cannot be guessed from what a sink got."""
    with heard():
        desk = played(tmp_path, "returns it")
        bodies = [json.loads(one.body) for one in desk.guard.store.audit()]
        desk.guard.close()
    asked = {body["approval"]: body["args"]["digest"] for body in bodies if body["kind"] == "approval.requested"}
    held = {body["approval"]: body["args"]["digest"] for body in bodies if body.get("decision", {}).get("verdict") == "hold"}
    assert asked
    assert asked == held


def test_what_the_policy_shows_to_nobody_is_in_no_record_of_the_call(tmp_path: Path) -> None:
    """Held, refused by a room, or refused before it was final: the argument stands as a mark in every record, its size aside."""
    policy = """
        tools:
          upload:
            kind: action
            allow: [staff]
            refuse: [{when: {to: {enum: [nowhere]}}, say: Not there.}]
            approve: {by: [boss], secret: [token]}
    """
    desk = start(tmp_path, "openai-chat", policy, {"upload": lambda to, token: "up"}, store="sqlite")
    for number, arguments in enumerate([{"to": "a"}, {"to": "nowhere"}, {"to": 5}]):
        desk.propose((f"c{number}", "upload", {**arguments, "token": "pin 4711"}))
    found = [one for one in desk.audit() if one["kind"] in ("call.decided", "approval.requested")]
    assert {one.get("decision", {}).get("verdict") for one in found} >= {"hold", "refuse"}
    assert all(one["args"]["shown"]["token"] == "[secret]" for one in found)
    assert "4711" not in json.dumps(desk.audit())
    desk.closed()
