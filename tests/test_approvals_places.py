"""Where `guard approvals` finds its store, what a settled call is told as, and how hidden characters are counted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from cli_kit import Run, asking, in_process, waiting
from test_cli_unknown import doubting, name

from guard.cli.places import where
from guard.core.briefing import briefing
from guard.core.presented import document, presented


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    away = tmp_path / "away"
    away.mkdir()
    return in_process(away, monkeypatch, capfd)


def test_the_store_lies_beside_the_folder_that_is_named(run: Run, tmp_path: Path) -> None:
    """From any folder, also from one with a store of its own; whoever types a store gets that one."""
    home = tmp_path / "home"
    home.mkdir()
    with asking(home) as made:
        found = waiting(made)
        folder = str(home / "policies")
        assert found in run("approvals", "list", "--policy", folder).out
        assert run("approvals", "list", "--policy", folder, "--store", "sqlite:///guard.db").code == 2
        (tmp_path / "away" / "guard.db").write_bytes(b"")
        assert found in run("approvals", "list", "--policy", folder).out
        assert run("kill", "list", "--policy", folder).out == "nothing is stopped\n"


@pytest.mark.parametrize(
    ("store", "told"),
    [
        ("sqlite:////srv/guard.db", " --policy /srv/policies"),
        ("sqlite:////var/x.db", " --policy /srv/policies --store sqlite:////var/x.db"),
        ("postgresql://u:geheim@db/guard?password=geheim", " --policy /srv/policies --store postgresql://db/guard"),
    ],
    ids=["beside", "elsewhere", "server"],
)
def test_the_command_that_a_held_call_names(store: str, told: str) -> None:
    """It holds in every folder, and says no secret of the store."""
    assert where(Path("/srv/policies"), store) == told


def test_a_settled_call_says_that_it_was_settled(run: Run, tmp_path: Path) -> None:
    """By whom, when and how; an example stands in the help."""
    with doubting(tmp_path) as made:
        one = name(made)
        words = (
            "approvals",
            "unknown",
            "resolve",
            one[:9],
            "--happened",
            "--reason",
            "r",
            "--policy",
            str(tmp_path / "policies"),
        )
        assert run(*words).code == 0
        again = run(*words)
        assert again.code == 1
        assert f"{one[:9]} is not in doubt any more: settled by E1 at 2" in again.err
        assert again.err.rstrip().endswith("UTC: it took effect")
    assert "booked as 4711" in run("approvals", "unknown", "resolve", "--help").out


def test_one_hidden_character_is_one(tmp_path: Path) -> None:
    """The operator's line repeats the argument: it is not counted twice, and the page counts as the terminal does."""
    with asking(tmp_path) as made:
        [one] = made.approvals.list()
    shown = replace(one, effect="Pay bob\u202e")
    told = briefing(shown, document(shown), presented(shown), 0.0).warnings
    assert told[0] == "1 character that could not be seen otherwise is spelled out below"
    bare = replace(one, arguments={}, effect="Pay\u202e")
    assert briefing(bare, document(bare), presented(bare), 0.0).warnings[0].startswith("1 character ")
