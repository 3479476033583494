"""Keyed hashes by path: a person's records are found by an address, number or name, and hold none; nothing personal, no tag and no cost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cli_kit import guard
from reports import Desk, start

from guard.core.tags import MOST, spelled, tag, tenant_key
from guard.core.values import keyed
from guard.runner.erasing import Payloads
from guard.stores import open_store

MAIL = "Kim.Doe@Example.com"
PHONE = "+49 170 1234567"
SECRET = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
POLICY = """
    tools:
      look:
        kind: read
        allow: [staff]
        bind: {who: session.principal}
        result: {handle: {name: name}, mask: {code: last4}}
"""


def desk_of(folder: Path, result: Any = None, store: str = "memory") -> Desk:
    """A desk with one tool that returns this."""

    def look(who: str, text: str = "", more: Any = None) -> Any:
        return {"rows": 1} if result is None else result

    return start(folder, "openai-chat", POLICY, {"look": look}, store=store)


def tags(desk: Desk, part: str, call_id: str = "c") -> dict[str, str]:
    """The tags in the newest record of a call that may have some."""
    kind = "call.decided" if part == "args" else "call.end"
    found: dict[str, str] = desk.audit(kind, call_id=call_id)[-1][part].get("hmac", {})
    return found


def mine(desk: Desk, value: str) -> str:
    return tag(tenant_key(desk.guard.store.secret, "default"), value)


def test_what_is_found_or_bound_is_tagged_by_its_path(tmp_path: Path) -> None:
    """Pointers name where it stands, in texts and below; the spelling does not matter; values stand nowhere."""
    desk = desk_of(tmp_path)
    more = {"a/b": [f"write to {MAIL} or call {PHONE}"], "key": SECRET, "n": 5}
    desk.propose(("c", "look", {"text": MAIL.lower(), "more": more}))
    found = tags(desk, "args")
    assert found["/who"] == mine(desk, "u1")
    assert found["/text"] == mine(desk, MAIL)
    assert mine(desk, "0049-170-1234567") in found.values()
    assert {path.partition("#")[0] for path in found} == {"/who", "/text", "/more/a~1b/0"}
    assert mine(desk, SECRET) not in found.values()
    assert MAIL.casefold() not in json.dumps(desk.audit()).casefold()
    desk.guard.close()


def test_results_are_tagged_by_what_detectors_and_rules_hid(tmp_path: Path) -> None:
    """An address in a text, a name behind a handle, a masked number: each is found again by its value."""
    desk = desk_of(tmp_path, {"name": "Kim Doe", "code": "1234567890123", "note": [f"of {MAIL}"], "n": 7, "ok": "fine"})
    desk.propose(("c", "look", {}))
    found = tags(desk, "result")
    assert {mine(desk, value) for value in ("kim  doe", "1234567890123", MAIL)} == set(found.values())
    assert found["/note/0"] == mine(desk, MAIL)
    desk.guard.close()


def test_nothing_personal_no_tags(tmp_path: Path) -> None:
    """Most records have none but of what the session owns."""
    desk = desk_of(tmp_path)
    desk.propose(("c", "look", {"text": "the weather", "more": {"n": 1}}))
    assert (list(tags(desk, "args")), tags(desk, "result")) == (["/who"], {})
    desk.guard.close()


def test_their_number_is_bounded(tmp_path: Path) -> None:
    """A list of a thousand addresses is no thousand tags."""
    desk = desk_of(tmp_path)
    desk.propose(("c", "look", {"more": [f"user{number}@example.com" for number in range(1000)]}))
    assert len(tags(desk, "args")) == MOST
    desk.guard.close()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Kim@Example.com ", "kim@example.com"),
        ("+49 (170) 123-4567", "00491701234567"),
        ("DE89 3704 0044 0532 0130 00", "de89370400440532013000"),
        ("Kim  Doe", "kim doe"),
        ("\uff14\uff11\uff11\uff11 1111", "41111111"),
    ],
)
def test_spellings_of_one_value(one: str, other: str) -> None:
    """Whoever looks need not know how it was written."""
    assert spelled(one) == spelled(other)


def test_two_tenants_and_two_stores_have_nothing_in_common() -> None:
    """The key is the store's and the tenant's own."""
    keys = {tenant_key(secret, tenant) for secret in (b"a" * 32, b"b" * 32) for tenant in ("x", "y")}
    assert len({tag(key, MAIL) for key in keys}) == 4
    assert tenant_key(b"a", "x") == bytes.fromhex(keyed(b"a", "guard-tags-v1\0x"))


def test_a_person_is_found_and_erased_by_the_commands(tmp_path: Path) -> None:
    """`guard audit hash` gives the tag that the records hold; `erase --person` erases the calls that name them, in whoever's conversation."""
    desk = desk_of(tmp_path, store="sqlite")
    desk.propose(("c", "look", {"text": f"about {MAIL}"}), ("d", "look", {"text": "about the weather"}))
    url = f"sqlite:///{next(tmp_path.rglob('guard.db'))}"
    name = desk.chat.ref.conversation
    desk.guard.close()
    ran = guard("audit", "hash", "--field", "email", MAIL.upper(), "--store", url, cwd=tmp_path)
    assert ran.out.strip() in guard("audit", "--json", "--store", url, cwd=tmp_path).out
    words = ("audit", "erase", "--person", MAIL, "--reason", f"request of {MAIL}", "--yes", "--json", "--store", url)
    assert guard(*words, cwd=tmp_path).json["conversations"] == [
        {"tenant": "default", "conversation": name, "calls": [[1, 0]], "approvals": [], "grants": [], "words": 0}
    ]
    assert MAIL not in guard("audit", "--json", "--store", url, cwd=tmp_path).out
    store = open_store(url)
    assert Payloads(store, desk.guard.redactor).naming(MAIL, "another tenant") == {}
    store.close()
