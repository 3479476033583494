"""Replays of the benchmarks' own solutions where records have owners: the owner's calls run, the same calls of anybody else do not.

Owners and the reading of the parameters come from the shared cases; the policy's `bind` and `resource` are made from them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from corpora import Recorder, entry, episodes, load, needed, read, same, toolsets

from guard import Outcome, Reason, Session, ToolCall
from guard.core.values import encode


class Shop:
    """One domain of a corpus with owned records: its policy binds the session's fields and names the records that calls touch."""

    def __init__(self, corpus: str, domain: str, folder: Path) -> None:
        notes = next(read(f"{corpus}/annotations.jsonl"))
        self.tools = {tool["name"]: tool for tool in toolsets(corpus)[f"{corpus}/{domain}"]}
        self.tables = {row["table"]: row["owner_of"] for row in read(f"{corpus}/ownership.jsonl") if row["domain"] == domain}
        self.session = set(notes["session_params"])
        self.owned = {path: table for path, table in notes["owned_params"].items() if table in self.tables}
        self.recorder = Recorder()
        self.guard = load(folder, {name: self.entry(tool) for name, tool in self.tools.items()}, self.recorder)
        for table, owner_of in self.tables.items():
            self.guard.resource(table)(loader(owner_of))

    def entry(self, tool: Mapping[str, Any]) -> dict[str, Any]:
        """The policy entry of a tool."""
        fields = tool["parameters"].get("properties", {})
        more: dict[str, Any] = {}
        if bound := {name: "session.principal" for name in fields if name in self.session}:
            more["bind"] = bound
        paths = {path.replace("[]", "[*]"): table for path, table in self.owned.items() if path.partition("[")[0] in fields}
        if paths:
            more["resource"] = [{table: path, "owner": "user"} for path, table in paths.items()]
        return entry(tool, **more)

    def owners(self, call: Mapping[str, Any]) -> list[str | None]:
        """The owners of the records that a call names; None for one that does not exist."""
        return [self.tables[table].get(value) for path, table in self.owned.items() for value in at(call["arguments"], path)]

    def stranger(self, user: str) -> str:
        """Somebody else with records here."""
        return next(owner for owners in self.tables.values() for owner in owners.values() if owner != user)

    def run(self, call: Mapping[str, Any], user: str, conversation: str) -> tuple[Outcome, list[Any]]:
        """One call as this user, and what ran."""
        session = Session(principal=user, roles=("tester",))
        given = ToolCall(call["id"], call["name"], encode(call["arguments"]))
        outcome = self.guard.call(given, session, conversation=f"{conversation} of {user}")
        return outcome, self.recorder.take()


def loader(owner_of: Mapping[str, str]) -> Callable[[str], dict[str, str] | None]:
    """A loader of records from a table of owners."""
    return lambda record: {"user": owner_of[record]} if record in owner_of else None


def at(arguments: Mapping[str, Any], path: str) -> list[Any]:
    """The values at `name` or `list[].name`."""
    head, _, tail = path.partition("[].")
    found = arguments.get(head)
    return [item[tail] for item in found or []] if tail else [] if found is None else [found]


DOMAINS = [("tau_bench", "airline"), ("tau_bench", "retail"), ("tau2", "airline"), ("tau2", "retail")]


def owned_calls(corpus: str, domain: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """(episode, its user, call) of a domain's ground truth."""
    for episode in episodes(corpus):
        if episode["toolset"] == f"{corpus}/{domain}":
            for number, turn in enumerate(episode["turns"]):
                for call in turn["calls"]:
                    yield f"{episode['id']} {number}", episode["session"].get("user_id", "somebody"), call


@needed("tau_bench", "tau2")
@pytest.mark.parametrize(("corpus", "domain"), DOMAINS, ids=["-".join(row) for row in DOMAINS])
def test_the_owners_calls_run(corpus: str, domain: str, tmp_path: Path) -> None:
    """Every call about the signed-in user's own records runs unchanged; one about a record that does not exist does not."""
    shop = Shop(corpus, domain, tmp_path)
    own = 0
    for place, user, call in owned_calls(corpus, domain):
        outcome, ran = shop.run(call, user, place)
        if set(shop.owners(call)) <= {user}:
            assert outcome.status == "done", (place, call, outcome)
            assert [call["name"]] == [name for name, _ in ran]
            assert same(call["arguments"], ran[0][1])
            own += bool(shop.owners(call))
        else:
            assert (outcome.reason, ran) == (Reason.NOT_OWNER, []), (place, call, outcome)

    assert own > 50


@needed("tau_bench", "tau2")
@pytest.mark.parametrize(("corpus", "domain"), DOMAINS, ids=["-".join(row) for row in DOMAINS])
def test_the_same_calls_as_another_user(corpus: str, domain: str, tmp_path: Path) -> None:
    """As anybody else no call about the owner's records runs, and a bound field holds the caller's own id, never the owner's."""
    shop = Shop(corpus, domain, tmp_path)
    refused = bound = 0
    for place, user, call in owned_calls(corpus, domain):
        stranger = shop.stranger(user)
        outcome, ran = shop.run(call, stranger, place)
        if shop.owners(call):
            assert (outcome.status, outcome.reason, ran) == ("refused", Reason.NOT_OWNER, []), (place, call, outcome)
            assert user not in str(outcome.content)
            refused += 1
        else:
            mine = {name: stranger for name in call["arguments"] if name in shop.session}
            assert outcome.status == "done", (place, call, outcome)
            assert [{**call["arguments"], **mine}] == [arguments for _, arguments in ran]
            bound += bool(mine)

    assert refused > 50
    assert bound > 0 or not any(shop.session & call["arguments"].keys() for *_, call in owned_calls(corpus, domain))
