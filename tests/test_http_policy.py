"""`http:` of a policy: what is a mistake, with its line and cure, and what an entry is compiled to."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from http_service_kit import guard_with, schema
from policy_load_kit import folder, problems

from guard import Guard
from guard.errors import PolicyError
from guard.policy import load_policy, survey_policy
from guard.review.differ import compare

README = (Path(__file__).parent.parent / "README.md").read_text("utf-8")
ORDER = "{type: object, properties: {order_id: {type: string}, note: {type: string}}, required: [order_id]}"
URL = "https://api.example.com/orders/{order_id}"


def of(http: str, kind: str = "read", schema_line: str = f"    schema: {ORDER}\n") -> str:
    """A policy with one tool; `http:` stands in line 6."""
    approve = "    approve: never\n" if kind == "action" else "    description: x\n"
    return f"tools:\n  look:\n    kind: {kind}\n{approve}    allow: [staff]\n    http: {http}\n{schema_line}limits: {{run: {{calls: 9}}}}\n"


MISTAKES = {
    # name: (http block, kind, message, cure)
    "no url": ("{method: GET}", "read", "has no url", "write url"),
    "no address": ("{url: /orders}", "read", "not an address", "https://"),
    "another scheme": ("{url: 'file:///etc/passwd'}", "read", "not an address", "https://"),
    "a port that is none": ("{url: 'https://a.example:99999/'}", "read", "not an address", "https://"),
    "an argument as host": ("{url: 'https://{order_id}.example.com/'}", "read", "host is a constant", "write it out"),
    "a secret as host": ("{url: 'https://${HOST}/'}", "read", "host is a constant", "write it out"),
    "a user in the url": ("{url: 'https://u:p@a.example/'}", "read", "no user", "headers"),
    "a fragment": ("{url: 'https://a.example/x#y'}", "read", "no user, password or fragment", ""),
    "a space": ("{url: 'https://a.example/x y'}", "read", "a space", "%20"),
    "dots in the path": ("{url: 'https://a.example/x/../y'}", "read", ". or ..", ""),
    "escaped dots in the path": ("{url: 'https://a.example/x/%2e%2E/y'}", "read", ". or ..", ""),
    "an unknown argument": ("{url: 'https://a.example/{order}'}", "read", "{order} is not an argument of look", "order_id"),
    "an empty brace": ("{url: 'https://a.example/{}'}", "read", "brace without a name", "${NAME}"),
    "a lone brace": ("{url: 'https://a.example/{order_id'}", "read", "brace without a name", ""),
    "an unknown method": (f"{{url: '{URL}', method: GTE}}", "read", "http.method", "GET"),
    "an unknown key": (f"{{url: '{URL}', header: {{A: b}}}}", "read", "unknown key header", "headers"),
    "a read that deletes": (f"{{url: '{URL}', method: DELETE}}", "read", "DELETE changes something", "kind: action"),
    "a read that puts": (f"{{url: '{URL}', method: PUT}}", "read", "PUT changes something", "kind: action"),
    "a body of a GET": (f"{{url: '{URL}', body: json}}", "read", "GET has none", "query"),
    "a header of the guard": (f"{{url: '{URL}', headers: {{Host: b.example}}}}", "read", "set by the guard", "leave it out"),
    "its own idempotency key": (
        f"{{url: '{URL}', headers: {{idempotency-key: x}}}}",
        "action",
        "set by the guard",
        "leave it out",
    ),
    "a header twice": (f"{{url: '{URL}', headers: {{X-A: b, x-a: c}}}}", "read", "twice", "leave it out"),
    "a header's name": (f"{{url: '{URL}', headers: {{'X A': b}}}}", "read", "not a header's name", ""),
    "a line break in a header": (f"{{url: '{URL}', headers: {{X-A: \"b\\r\\nX-B: c\"}}}}", "read", "visible ASCII", ""),
    "redirects of an action": (f"{{url: '{URL}', method: GET, redirects: 1}}", "action", "redirects", "leave it out"),
    "redirects of a POST": (f"{{url: '{URL}', method: POST, redirects: 1}}", "read", "redirects", "leave it out"),
    "too many redirects": (f"{{url: '{URL}', redirects: 50}}", "read", "at most 5", ""),
    "hosts without redirects": (f"{{url: '{URL}', hosts: [b.example]}}", "read", "without redirects", "redirects: 1"),
    "a host with a scheme": (f"{{url: '{URL}', redirects: 1, hosts: ['https://b.example']}}", "read", "is not a host", ""),
    "a network that is none": (f"{{url: '{URL}', networks: [10.0.0.1/8]}}", "read", "is not a network", "10.2.0.0/16"),
    "a secret in the clear": ("{url: 'http://a.example/', headers: {A: '${KEY}'}}", "read", "unencrypted", "https://"),
    "an argument that goes nowhere": (
        f"{{url: '{URL}', method: POST, body: {{fixed: text}}}}",
        "action",
        "the argument note goes nowhere",
        "name it",
    ),
    "a size that is too large": (f"{{url: '{URL}', max_bytes: 99999999999}}", "read", "at most", ""),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_each_mistake_is_named_with_its_line_and_cure(name: str, tmp_path: Path) -> None:
    """A block that could send something elsewhere, or something else, does not load."""
    http, kind, message, cure = MISTAKES[name]
    found = [one for one in problems(tmp_path, of(http, kind), None) if message in one.message]

    assert [(one.file, one.line) for one in found] == [("tools.yaml", 6)]
    assert cure in found[0].cure


def test_a_tool_that_says_nothing_of_its_arguments(tmp_path: Path) -> None:
    """Without a schema nobody knows what would be sent."""
    [found] = problems(tmp_path, of("{url: 'https://a.example/'}", schema_line=""), None)

    assert "nothing is known about the arguments" in found.message


def test_a_function_of_the_same_name(tmp_path: Path) -> None:
    """A name means one thing: a function of the program or a request."""

    def look() -> str:
        return ""

    folder(tmp_path, of(f"{{url: '{URL}'}}"))
    with pytest.raises(PolicyError, match="look is a function of the program too"):
        Guard.load(tmp_path, tools=[look], store="memory://")


def test_plain_http_is_told(tmp_path: Path) -> None:
    """What travels unencrypted is permitted and said; on loopback nothing is said."""
    far = load_policy(folder(tmp_path, of("{url: 'http://a.example/{order_id}'}")), None)
    near = load_policy(folder(tmp_path, of("{url: 'http://127.0.0.1:8000/{order_id}'}")), None)

    assert ["unencrypted" in str(one) for one in far.warnings] == [True]
    assert near.warnings == ()


def test_a_secret_that_the_environment_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program does not start, and says which variable, where; a review of the folder needs none."""
    monkeypatch.delenv("GUARD_TEST_KEY", raising=False)
    folder(tmp_path, of(f"{{url: '{URL}', headers: {{Authorization: 'Bearer ${{GUARD_TEST_KEY}}'}}}}"))

    assert load_policy(tmp_path, None).policy.tools["look"].endpoint is not None
    for value in (None, "", "two\nlines", "schlüssel"):
        if value is not None:
            monkeypatch.setenv("GUARD_TEST_KEY", value)
        with pytest.raises(PolicyError, match=r"tools\.yaml:6: look needs GUARD_TEST_KEY"):
            Guard.load(tmp_path, tools=[], store="memory://")


@pytest.mark.parametrize(
    "change",
    [{"url": "https://b.example.com/"}, {"method": "POST"}, {"headers": {"X": "y"}}, {"networks": ["10.0.0.0/8"]}],
    ids=str,
)
def test_an_approval_is_for_one_endpoint(tmp_path: Path, change: dict[str, object]) -> None:
    """Whatever of the request changes makes another definition, which an approval is bound to."""
    entry = {"kind": "action", "schema": schema(), "http": {"url": "https://a.example.com/", "method": "PUT"}}
    old = guard_with(tmp_path, {"act": entry}).policy.tools["act"].definition
    new = guard_with(tmp_path, {"act": {**entry, "http": {**entry["http"], **change}}}).policy.tools["act"].definition

    assert old != new


def test_the_readmes_block_is_good(tmp_path: Path) -> None:
    """What the README shows loads without a word."""
    [text] = re.findall(r"^```yaml\n# tickets/tools.yaml\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    found = survey_policy(folder(tmp_path, text), None)

    assert (found.errors, [one for one in found.warnings if "session.customer" not in str(one)]) == ((), [])
    assert json.dumps(sorted(found.tools)) == '["find_tickets", "open_ticket"]'
    assert [found.tools[name].timeout for name in ("find_tickets", "open_ticket")] == [30.0, 10.0]


WIDER = {"redirects": 3, "hosts": ["b.example", "c.example"], "networks": ["10.0.0.0/8"], "max_bytes": 9000}
EDITS = {
    "another place": ({"url": "https://c.example/x"}, "may widen"),
    "another method": ({"method": "HEAD"}, "may widen"),
    "another header": ({"headers": {"X-A": "c"}}, "may widen"),
    "another query": ({"query": {"q": "{order_id}"}}, "may widen"),
    "more redirects": ({"redirects": 4}, "widens"),
    "fewer redirects": ({"redirects": 2}, "narrows"),
    "a host more": ({"hosts": ["b.example", "c.example", "d.example"]}, "widens"),
    "a host less": ({"hosts": ["b.example"]}, "narrows"),
    "a network more": ({"networks": ["10.0.0.0/8", "fd00::/8"]}, "widens"),
    "a larger answer": ({"max_bytes": 10000}, "widens"),
    "the same": ({}, ""),
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_of_the_request_has_its_direction(name: str, tmp_path: Path) -> None:
    """Another request may do anything; further ways for it widen. No constant of a header is printed."""
    change, direction = EDITS[name]
    http = {"url": "https://a.example/x", "headers": {"X-A": "b-constant"}, **WIDER}
    sides = []
    for side, block in (("old", http), ("new", {**http, **change})):
        (tmp_path / side).mkdir()
        sides.append(load_policy(folder(tmp_path / side, of(json.dumps(block))), None))
    found = compare(*sides).changes

    assert {str(one.direction) for one in found} == ({direction} if direction else set())
    assert [one for one in found if "b-constant" in str(one)] == []
    assert all(one.new_place == "tools.yaml:6" for one in found)


def test_a_function_that_becomes_a_request(tmp_path: Path) -> None:
    """What stands behind the tool is another thing: somebody should look."""
    old = load_policy(
        folder(tmp_path, of("{url: 'https://a.example/'}").replace("    http: {url: 'https://a.example/'}\n", "")), None
    )
    new = load_policy(folder(tmp_path, of("{url: 'https://a.example/'}")), None)

    assert ("http", "may widen") in [(one.what, str(one.direction)) for one in compare(old, new).changes]
