"""`guard audit show`: how a call stands is told by what became of it, and each record's facts name what it changed."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from cli_kit import Ran, in_process
from search_kit import record

from guard.stores import open_store

HELD: tuple[tuple[str, dict[str, Any]], ...] = (
    ("call.proposed", {}),
    ("call.decided", {"decision": {"verdict": "hold"}}),
    ("approval.requested", {"approval_state": {"status": "pending", "by": ["boss"]}}),
)
LOOKED = ("approval.viewed", {})
VAIN = ("approval.vote", {"approval_state": {"decision": "refused", "wanted": "approved", "code": "own"}})
GIVEN = ("result.delivered", {"exec": {"status": "held", "replayed": False}})


def show(folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any, *events: tuple[str, dict[str, Any]]) -> Ran:
    store = open_store(f"sqlite:///{folder}/guard.db")
    store.record((), [record(kind, **{"conversation": "c1", "turn": 1, "position": 0, **more}) for kind, more in events])
    store.close()
    return in_process(folder, monkeypatch, capfd)("audit", "show", "c1/1/0", "--json")


@pytest.mark.parametrize("beside", [(LOOKED,), (VAIN,), (GIVEN,), (LOOKED, VAIN, GIVEN)], ids=["looked", "vain", "given", "all"])
def test_a_call_that_waits_waits_in_the_end(
    beside: tuple[Any, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Somebody who looked, or voted in vain, changed nothing about it."""
    told = show(tmp_path, monkeypatch, capfd, *HELD, *beside).json
    assert told["facts"]["in the end"] == "boss asked to decide"


FACTS = {
    "what was edited": (
        "approval.edited",
        {"approval_state": {"status": "superseded", "changed": ["/amount"], "by": "ap_2"}},
        ["changed", "/amount"],
    ),
    "what it goes on as": (
        "approval.edited",
        {"approval_state": {"status": "superseded", "changed": [], "by": "ap_2"}},
        ["goes on as", "ap_2"],
    ),
    "which grant answered": ("grant.used", {"grant": {"id": "gr_1", "scope": "amount"}}, ["grant", "gr_1"]),
    "which grant decided": ("call.decided", {"decision": {"verdict": "allow"}, "grant": {"id": "gr_1"}}, ["grant", "gr_1"]),
    "which outcome": ("result.delivered", {"exec": {"status": "refused", "replayed": True}}, ["outcome", "refused"]),
}


@pytest.mark.parametrize("case", FACTS)
def test_a_record_names_what_it_is_about(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """What stands in the record stands in the facts of its step."""
    kind, more, wanted = FACTS[case]
    told = show(tmp_path, monkeypatch, capfd, *HELD, (kind, more)).json
    assert wanted in told["steps"][-1]["facts"]


def test_an_erasure_is_a_part_of_the_life_of_its_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """When, by whom and why the values went, and that the record stays; how the call ended is told as before. Other calls are not touched."""
    erased = {"erased": {"calls": [[1, 0], [3, 2]]}, "reason": "request of 3 May", "turn": None, "position": None}
    others = {**erased, "erased": {"calls": [[1, 1]]}}
    ended = ("call.end", {"exec": {"status": "ok"}})
    with closing(open_store(f"sqlite:///{tmp_path}/guard.db")) as store:
        store.record((), [record("payload.erased", **{**erased, "conversation": "c2"}), record("payload.erased", **others)])
    told = show(tmp_path, monkeypatch, capfd, ("call.proposed", {}), ended, ("payload.erased", erased)).json
    last = told["steps"][-1]
    assert [step["kind"] for step in told["steps"]] == ["call.proposed", "call.end", "payload.erased"]
    assert last["told"] == "the full arguments and result were erased; the redacted copies in the records stay"
    assert ["reason given", "request of 3 May"] in last["facts"]
    assert told["facts"]["in the end"] == "ended well"
