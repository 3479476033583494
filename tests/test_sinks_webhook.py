"""What goes out over HTTP: signed, to places that were named, told apart by id, and nothing more than a record's own words. Real servers on loopback."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from http_service_kit import Service, says
from sinks_kit import QUICK, box, follower, standing, write
from stores_kit import Clock, a_store

from guard.core.ports import Sealed, Store
from guard.sinks.entry import entry
from guard.sinks.formats import FORMATS
from guard.sinks.notice import Links, notice
from guard.sinks.notify import Notify
from guard.sinks.port import SinkError
from guard.sinks.post import Post
from guard.sinks.signing import key_of, link_mark, link_read, signed, verified
from guard.sinks.slack import Slack, message
from guard.sinks.webhook import Webhook

OLD, NEW = b"k" * 32, b"n" * 32
PAGE = Links(page="https://guard.example/approvals/{approval}")
NOW = 1_800_000_000.0


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> Iterator[Store]:
    yield from a_store("memory", tmp_path, clock)


def asked(store: Store, **more: Any) -> Sealed:
    """A record of somebody being asked."""
    fields = {"approval": "ap_1", "principal": "E1", "tool": {"name": "pay"}, "fingerprint": "f" * 64, **more}
    write(store, 1, kind="approval.requested", **fields)
    return store.audit()[-1]


def hook(service: Service, keys: Any = (OLD,), form: str = "record") -> Webhook:
    return Webhook("hook", Post(f"http://127.0.0.1:{service.port}/in?x=1"), keys, FORMATS[form], lambda: NOW)


# -- signing -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("keys", [(OLD,), (NEW, OLD), (NEW,)], ids=["old", "both", "new"])
def test_a_receiver_with_either_key_knows_the_sender(keys: tuple[bytes, ...]) -> None:
    """While keys change, both sign; whoever has one of them can tell."""
    headers = signed("id-1", int(NOW), b"{}", keys)
    for held in (OLD, NEW):
        assert verified(headers, b"{}", [held], NOW) is (held in keys)


@pytest.mark.parametrize(
    ("changed", "body", "now"),
    [
        ({"webhook-id": "id-2"}, b"{}", NOW),
        ({"webhook-timestamp": "1800000001"}, b"{}", NOW),
        ({"webhook-timestamp": "x"}, b"{}", NOW),
        ({"webhook-timestamp": "\u0661\u0662"}, b"{}", NOW),
        ({"webhook-signature": "v1,AAAA"}, b"{}", NOW),
        ({"webhook-signature": ""}, b"{}", NOW),
        ({}, b"[]", NOW),
        ({}, b"{}", NOW + 301),
        ({}, b"{}", NOW - 301),
        ({"webhook-id": "id-1.1800000000"}, b"{}", NOW),
    ],
    ids=["id", "time", "no-time", "other-digits", "signature", "none", "body", "late", "early", "dot"],
)
def test_whatever_differs_is_not_signed(changed: dict[str, str], body: bytes, now: float) -> None:
    """Id, time and body are all covered, and a request is not taken for ever."""
    headers = {**signed("id-1", int(NOW), b"{}", [OLD]), **changed}
    assert not verified(headers, body, [OLD], now)


def test_a_key_is_a_text_or_base64_behind_its_mark() -> None:
    """As Standard Webhooks writes keys; a short one is refused."""
    assert key_of("whsec_" + "QUJD" * 8) == b"ABC" * 8
    assert key_of("k" * 16) == b"k" * 16
    for short in ("", "short", "whsec_QUJD", "whsec_!!"):
        with pytest.raises(ValueError, match=r"16 bytes|base64"):
            key_of(short)


def test_a_link_is_for_one_approval_and_one_audience_and_only_to_view() -> None:
    """Its mark tells which, until when; nothing of it can be changed."""
    mark = link_mark(OLD, "ap_1", 2, "team", int(NOW) + 60)
    assert link_read([NEW, OLD], mark, NOW) == ("ap_1", 2, "team")
    assert link_read([OLD], mark, NOW + 61) is None
    assert link_read([NEW], mark, NOW) is None
    for broken in ("", "x", "x.y", mark[:-1], mark[1:], f"{mark}.x", mark.replace(".", "")):
        assert link_read([OLD], broken, NOW) is None


# -- webhooks ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMATS)
def test_a_batch_arrives_signed_in_its_form(store: Store, form: str) -> None:
    """One request, a JSON list of all records in their order, the hash of each in it."""
    write(store, 3)
    with Service(says(204, b"")) as service:
        follower(store, hook(service, form=form)).step()
    [request] = service.asked
    assert request.target == "/in?x=1"
    assert verified(request.headers, request.body, [OLD], NOW)
    assert request.headers["content-type"] == FORMATS[form].kind
    assert [one.hash in json.dumps(told) for one, told in zip(store.audit(), request.json(), strict=True)] == [True] * 3


@pytest.mark.parametrize(
    ("status", "retry"), [(500, True), (503, True), (429, True), (408, True), (404, True), (401, True), (302, True), (400, False), (422, False)]
)  # fmt: skip
def test_an_answer_says_whether_it_helps_to_try_again(store: Store, status: int, retry: bool) -> None:
    """What is refused as it is will be refused again; a redirect is followed nowhere."""
    write(store, 1)
    with Service(says(status, headers={"Location": "http://127.0.0.1:1/"})) as service, pytest.raises(SinkError) as raised:
        hook(service).send(store.audit())
    told = "it was sent, and nobody answered" if status == 302 else f"it was answered with status {status}"
    assert (raised.value.retry, str(raised.value)) == (retry, told)
    assert len(service.asked) == 1


def test_one_record_that_nobody_takes_holds_no_other(store: Store, clock: Clock) -> None:
    """The batch is refused, its records go out alone, and the bad one is set aside."""
    write(store, 5)
    bad = f'"hash":"{store.audit()[2].hash}"'

    def answer(to: Any) -> None:
        says(422 if bad.encode() in service.asked[-1].body else 200)(to)

    with Service(answer) as service:
        one = follower(store, hook(service))
        one.step()
        assert [letter.seq for letter in box(store).letters("hook", 9)] == [3]
        clock.now += 10
        one.step()
    assert standing(store, "hook").sent == 5  # four, and the record about the one that was set aside
    assert standing(store, "hook").letters == 1


def test_a_receiver_that_is_gone_costs_nothing_but_time(store: Store) -> None:
    """Nobody listens; and a receiver that says nothing for longer than it may."""
    write(store, 1)
    with Service(says()) as service:
        port = service.port
    assert follower(
        store, Webhook("hook", Post(f"http://127.0.0.1:{port}/"), (), FORMATS["record"], lambda: NOW)
    ).step().error == ("The request was not sent: the service cannot be reached.")

    def silent(_: Any) -> None:
        import time

        time.sleep(1)

    with Service(silent) as service, pytest.raises(SinkError, match="it was sent, and nobody answered"):
        Webhook("x", Post(f"http://127.0.0.1:{service.port}/", seconds=0.3), (), FORMATS["record"], lambda: NOW).send(
            store.audit()
        )


@pytest.mark.parametrize(
    "url",
    ["http://example.com/", "ftp://127.0.0.1/", "https://u:p@example.com/", "https://example.com/#x", "https:///x", "example.com", "https://e.com/a b", "https://e.com/é"],
)  # fmt: skip
def test_only_a_url_that_something_may_be_sent_to_is_taken(url: str) -> None:
    """Encrypted, unless it stays on this machine or in a network that is listed; no user, no fragment, visible ASCII."""
    with pytest.raises(ValueError, match=r"write https|only visible"):
        Post(url)


def test_a_name_that_leads_into_the_house_is_refused_unless_it_is_listed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Looked at after it was resolved: here the name of this machine stands for one that an attacker's server of names gives."""
    import socket

    real = socket.getaddrinfo
    monkeypatch.setattr(
        "socket.getaddrinfo", lambda host, *more, **kw: real("127.0.0.1" if host == "evil.example" else host, *more, **kw)
    )
    write(store, 1)
    with Service(says()) as service:
        for networks, fits in (((), False), (("10.0.0.0/8",), False), (("127.0.0.0/8",), True)):
            url = f"{'http' if networks else 'https'}://evil.example:{service.port}/"
            sink = Webhook("hook", Post(url, networks=networks), (), FORMATS["record"], lambda: NOW)
            if fits:
                sink.send(store.audit())
            else:
                with pytest.raises(SinkError, match="its destination is not permitted"):
                    sink.send(store.audit())
    assert len(service.asked) == 1


# -- notices -----------------------------------------------------------------------------------------------------------


def test_a_notice_tells_what_its_record_tells_and_links_to_the_page(store: Store) -> None:
    """Id, digest, link and the redacted summary, signed; what cannot be seen is spelled out."""
    one = asked(store, args={"shown": {"to": "bob\u202e", "amount": Decimal("10.50"), "card": "[card]"}})
    with Service(says()) as service:
        sink = Notify("people", Post(f"http://127.0.0.1:{service.port}/"), [OLD], PAGE, lambda: NOW)
        follower(store, sink, replace(QUICK, kinds=("approval.",))).step()
    [request] = service.asked
    told = request.json()
    assert verified(request.headers, request.body, [OLD], NOW)
    assert request.headers["webhook-id"] == told["id"] == json.loads(one.body)["id"]
    assert (told["digest"], told["link"]) == (one.hash, "https://guard.example/approvals/ap_1")
    assert told["summary"] == {
        "tool": "pay",
        "requester": "E1",
        "effect": "",
        "arguments": {"to": "bob[U+202E]", "amount": "10.50", "card": "[card]"},
    }


def test_a_long_notice_is_cut_and_says_so(store: Store) -> None:
    """Nothing of unbounded size goes to a chat; the page shows it in full."""
    one = entry(asked(store, args={"shown": {f"a{number}": "x" * 500 for number in range(30)}}))
    found = notice(one, PAGE)["summary"]["arguments"]
    assert (len(found), found["…"]) == (21, "10 more, on the page")
    assert found["a0"] == f"{'x' * 200} … (500 characters, on the page in full)"
    assert len(json.dumps(message(one, PAGE))) < 10_000


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({"to\u202e": "a", "to[U+202E]": "b"}, {"to[U+202E]": "a", "to[U+202E] (2)": "b"}),
        ({"x (2)": "a", "x\u200b": "b", "x[U+200B]": "c"}, {"x (2)": "a", "x[U+200B]": "b", "x[U+200B] (2)": "c"}),
        ({"n" * 300 + "a": "a", "n" * 300 + "b": "b", "n" * 300 + "c": "c"}, None),
        ({"…": "a", **{f"a{number}": "b" for number in range(25)}}, None),
    ],
    ids=["spelled", "numbered", "cut", "counted"],
)
def test_no_argument_vanishes_behind_another(given: dict[str, str], shown: dict[str, str] | None, store: Store) -> None:
    """Each argument stands in the summary, in the text and in order, also where names look alike once they are spelled or cut."""
    one = entry(asked(store, args={"shown": given}))
    told = notice(one, PAGE)
    found = told["summary"]["arguments"]
    assert shown is None or found == shown
    assert [*found.values()][:20] == [*given.values()][:20]
    assert len(found) == min(len(given), 21)
    assert told["text"].count("\n") == 1 + len(found)


def test_blanks_and_marks_are_counted_in_a_notice(store: Store) -> None:
    """Nothing is pushed out of sight, or covered."""
    one = entry(asked(store, args={"shown": {"to": "bob" + " " * 60 + "eve", "memo": "a" + "\u0301" * 3}}))
    assert notice(one, PAGE)["summary"]["arguments"] == {"to": "bob[60 spaces]eve", "memo": "a\u0301\u0301[U+0301]"}


def test_a_signed_link_holds_until_the_decision_is_due(store: Store) -> None:
    """For the audience that it was made for."""
    one = entry(asked(store, approval_state={"decide_by": NOW + 100.5, "revision": 3}))
    link = replace(PAGE, key=OLD, audience="slack").to(one)
    assert link_read([OLD], link.partition("?view=")[2], NOW) == ("ap_1", 3, "slack")
    assert link_read([OLD], link.partition("?view=")[2], NOW + 101) is None


HOSTILE = "<!channel> <https://evil.example|ok> *b* `c` & &lt; @here :bomb: \u202e\u200b\n*New line*"


def test_nothing_in_a_slack_message_is_markup_but_its_link(store: Store) -> None:
    """Values stand in plain text, the line for notifications is escaped, and no value makes a second link or a mention."""
    made = {"tool": {"name": HOSTILE}, "principal": HOSTILE, "approval": "ap_<1>|x", "args": {"shown": {HOSTILE: HOSTILE}}}
    found = message(entry(asked(store, **made)), PAGE)
    kinds = [block["text"]["type"] for block in found["blocks"]]
    assert kinds == ["plain_text", "plain_text", "mrkdwn"]
    assert found["blocks"][2]["text"]["text"] == "<https://guard.example/approvals/ap_%3C1%3E%7Cx|Open the approval>"
    assert found["mrkdwn"] is False
    assert not {"<", ">"} & set(found["text"])
    assert "&amp;lt;" in found["text"]
    plain = "".join(block["text"]["text"] for block in found["blocks"][:2])
    assert "[U+202E][U+200B][U+000A]" in plain
    assert not {"\u202e", "\u200b"} & set(json.dumps(found, ensure_ascii=False))


def test_slack_gets_one_message_an_approval(store: Store) -> None:
    """In order; one that fails is tried again from there."""
    for number in range(3):
        asked(store, approval=f"ap_{number}")
    answers = iter(map(says, [200, 500, 200, 200]))

    def answer(to: Any) -> None:
        next(answers)(to)

    with Service(answer) as service:
        one = follower(store, Slack("people", Post(f"http://127.0.0.1:{service.port}/"), PAGE), replace(QUICK, first=1e-9))
        assert one.step().did == "failed"
        one.step()
    told = [request.json()["blocks"][2]["text"]["text"].partition("|")[0][-4:] for request in service.asked]
    assert told == ["ap_0", "ap_1", "ap_1", "ap_2"]
