"""Every tool list of the shared cases becomes a folder that `guard check` accepts and that refuses everything."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from corpora import CASES, needed, read
from init_kit import REFUSALS, Desk, desk, refusing

_CORPORA = sorted(path.parent.name for path in CASES.glob("*/toolsets.jsonl")) or ["none"]


def _calls(corpus: str) -> dict[str, list[tuple[str, object]]]:
    """The calls of all episodes with each toolset, as they were sent."""
    found: dict[str, list[tuple[str, object]]] = {}
    for row in read(f"{corpus}/episodes.jsonl", exact=False):
        for turn in row["turns"]:
            for call in turn["calls"]:
                sent = call.get("arguments_raw", call["arguments"])
                found.setdefault(row["toolset"], []).append((call["name"], {} if sent is None else sent))
    return found


@needed(*_CORPORA)
@pytest.mark.parametrize("corpus", [pytest.param(name, marks=[pytest.mark.slow] if name == "bfcl" else []) for name in _CORPORA])
def test_every_tool_list_gives_a_folder_that_check_accepts_and_that_refuses_everything(
    corpus: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Each list in its own folder: no problems, an entry for each tool, and each recorded call refused for want of permission."""
    here, calls, reasons = desk(tmp_path, monkeypatch, capfd), _calls(corpus), dict[str, int]()

    for number, row in enumerate(read(f"{corpus}/toolsets.jsonl", exact=False)):
        folder = f"p{number}"
        _init(here, row, folder)
        names = {tool["name"] for tool in row["tools"]}
        own = [(name, sent) for name, sent in calls.get(row["toolset"], ()) if name in names][:50]
        for reason, count in refusing(tmp_path / folder, own).items():
            reasons[reason] = reasons.get(reason, 0) + count

    assert reasons.keys() <= REFUSALS
    assert reasons["not_authorized"] > sum(reasons.values()) / 3


def _init(here: Desk, row: dict[str, object], folder: str) -> None:
    done = here.guard("init", here.file("list.json", row), "--into", folder, "--json")
    told = json.loads(done.out)
    assert (done.code, told["left_out"], told["warnings"]) == (0, [], [])
    assert {one["name"] for one in told["tools"]} == {tool["name"] for tool in row["tools"]}  # type: ignore[attr-defined]
    checked = here.guard("check", folder, "--json")
    assert checked.code == 0, checked.out


@needed("mcp_servers", "tau_bench", "tau2")
@pytest.mark.parametrize("corpus", ["mcp_servers", "tau_bench", "tau2"])
def test_a_tool_that_writes_is_never_guessed_to_only_read(
    corpus: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """What these corpora declare to write is an action, and most of what they declare to read is a look-up.

    A server's own claims are kept from the guesses here: they would tell the answer.
    """
    here, right, reads = desk(tmp_path, monkeypatch, capfd), 0, 0

    for row in read(f"{corpus}/toolsets.jsonl", exact=False):
        tools = [{key: tool[key] for key in ("name", "description", "parameters")} for tool in row["tools"]]
        kind = {one["name"]: one["kind"] for one in here.init(tools)["tools"]}
        for tool in row["tools"]:
            assert tool["effect"] != "write" or kind[tool["name"]] == "action", tool["name"]
            reads += tool["effect"] == "read"
            right += tool["effect"] == "read" and kind[tool["name"]] != "action"

    assert right > reads / 2
