"""One person has one name on record, whichever command they use: who the policy's people say that the operating-system user is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli_kit import USER, Run, in_process
from segments_kit import Archive, archive
from stores_kit import records


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Iterator[Archive]:
    run: Run = in_process(tmp_path, monkeypatch, capfd)
    with archive("sqlite", tmp_path, run) as found:
        yield found


def named(folder: Path, principal: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "people.yaml").write_text(f"people: {{{json.dumps(USER)}: {{principal: {principal}, roles: [boss]}}}}\n", "utf-8")


def actors(made: Archive, kind: str) -> list[dict[str, Any]]:
    bodies = (json.loads(one.body) for one in records(made.desk.guard.store))
    return [body["actor"] for body in bodies if body["kind"] == kind]


def test_who_closes_drops_verifies_and_erases_is_who_votes(made: Archive) -> None:
    """The person, and how that is known: as in a kill that the same user sets. A reference stands for a name that tells something."""
    named(made.folder / "policies", "m_1")
    assert made.guard("kill", "set", "--tool", "pay", "--reason", "r", "--store", made.url).code == 0
    kill = actors(made, "kill.set")[-1]
    assert kill == {"type": "human", "ref": "m_1", "assurance": "os-user", "via": "cli"}
    assert (made.run("verify").code, made.close().code, made.drop().code) == (0, 0, 0)
    assert made.run("erase", "--conversation", "c", "--reason", "r", "--yes").code in (0, 1)
    for kind in ("audit.segment_closed", "audit.segment_dropped", "audit.verify", "payload.erased"):
        assert actors(made, kind)[-1] == kill, kind
    named(made.folder / "policies", "kim@example.com")
    assert made.guard("kill", "set", "--tool", "pay", "--reason", "again", "--store", made.url).code == 0
    made.run("verify")
    assert actors(made, "audit.verify")[-1] == actors(made, "kill.set")[-1]
    assert actors(made, "audit.verify")[-1]["ref"].startswith("person_")


def test_without_a_policy_the_system_user_is_named(made: Archive) -> None:
    """Verifying needs no policy: one that is broken is not in the way, one that is named has to be there."""
    assert made.run("verify").code == 0
    assert actors(made, "audit.verify")[-1]["ref"] == USER  # nobody in the people of this policy
    (made.folder / "policies" / "tools.yaml").write_text("tools: [", "utf-8")
    assert made.run("verify").code == 0
    assert actors(made, "audit.verify")[-1]["ref"] == USER
    ran = made.run("verify", "--policy", "no-such-folder")
    assert (ran.code, "no-such-folder: there is no such folder" in ran.err) == (2, True)
