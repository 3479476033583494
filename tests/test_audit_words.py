"""`guard audit` takes a month as the report does, and tells whoever asks for a tool that nobody knows."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest
from cli_kit import Run, folder, in_process
from search_kit import log
from stores_kit import Clock

from guard.stores import open_store


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    clock = Clock(1_793_000_000.0)  # 26 October 2026
    with closing(open_store(f"sqlite:///{tmp_path}/guard.db", clock=clock)) as store:
        for event in log():
            store.record((), [event])
            clock.now += 86400
    return in_process(tmp_path, monkeypatch, capfd)


@pytest.mark.parametrize(
    ("words", "wanted"),
    [(("2026-10",), range(1, 7)), (("2026-11", "--refused"), (9, 13, 15)), (("2026-09",), ())],
    ids=["a month", "with another option", "an empty one"],
)
def test_a_month_is_written_as_in_the_report(run: Run, words: tuple[str, ...], wanted: tuple[int, ...]) -> None:
    """From its first moment to its last."""
    found = [json.loads(line)["seq"] for line in run("audit", "--json", "--month", *words).out.splitlines()]
    assert found == [*wanted]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--month", "11/2026"), "--month 11/2026: write a month as 2026-11"),
        (("--month", "2026-13"), "--month 2026-13: write a month as 2026-11"),
        (("--month", "2026-11", "--since", "7d"), "write the month or the times"),
    ],
    ids=["form", "number", "both"],
)
def test_a_month_that_is_none_is_misuse(run: Run, words: tuple[str, ...], told: str) -> None:
    """Exit code 2, one line with the cure."""
    ran = run("audit", *words)
    assert (ran.code, ran.out, told in ran.err) == (2, "", True)


def test_the_month_of_a_report_is_its_own(run: Run) -> None:
    """The option of the same name before the verb is not taken for it."""
    assert run("audit", "report", "--month", "2026-10", "--json").json["month"] == "2026-10"


def test_a_tool_that_nobody_knows_is_told(run: Run, tmp_path: Path) -> None:
    """With the name that was probably meant, on standard error; a tool that the policy lists has just not been called."""
    said = "guard: --tool pya: no record knows this tool (did you mean pay?)\n"
    for form in ((), ("--json",), ("--csv",)):
        ran = run("audit", "--tool", "pya", *form)
        assert (ran.code, said in ran.err) == (0, True), form
    assert "--tool" not in run("audit", "--tool", "pay").err
    folder(tmp_path / "policies")
    assert (
        "--tool nope: neither policies/ nor any record knows this tool (known: drifted, look, pay)\n"
        in run("audit", "--tool", "nope").err
    )
    text = (
        (tmp_path / "policies" / "tools.yaml")
        .read_text("utf-8")
        .replace("  look:", "  nope: {kind: read, allow: [clerk]}\n  look:")
    )
    (tmp_path / "policies" / "tools.yaml").write_text(text, "utf-8")
    assert "--tool" not in run("audit", "--tool", "nope").err
    (tmp_path / "policies" / "tools.yaml").write_text("tools: [", "utf-8")
    assert "--tool nope: no record knows this tool (known: drifted, look, pay)\n" in run("audit", "--tool", "nope").err
