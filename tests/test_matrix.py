"""The matrix of roles, tenants and tools, as a table, as JSON and as one HTML page that needs nothing else."""

from __future__ import annotations

import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest
from cli_kit import Run, in_process
from review_kit import RULES, TOOLS, loaded
from review_kit import folder as good

from guard.review.matrix import Matrix, matrix
from guard.review.matrix_page import page

EVIL = 'x<img src=//evil/a onerror="alert(1)">'


@pytest.fixture
def guard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    good(tmp_path / "policies")
    return in_process(tmp_path, monkeypatch, capfd)


def square(found: Matrix, who: str, tenant: str, tool: str) -> tuple[str, bool]:
    [one] = [one for one in found.squares if (one.subject, one.tenant, one.tool) == (who, tenant, tool)]
    return one.call, one.approves


SQUARES = {
    "a look-up runs": ("customer", "acme", "order_status", "allow", False),
    "an action waits": ("support", "acme", "close_account", "hold", False),
    "both alternatives ask somebody": ("customer", "any other", "refund", "hold", False),
    "no rule": ("customer", "acme", "close_account", "refuse", False),
    "a denial": ("trainee", "any other", "close_account", "deny", False),
    "a person's own rule": ("user:E7", "acme", "close_account", "hold", False),
    "only in that tenant": ("user:E7", "any other", "close_account", "refuse", False),
    "a person by a role": ("user:E9", "acme", "close_account", "hold", False),
    "a person of people.yaml approves": ("user:E1", "acme", "close_account", "refuse", True),
    "not elsewhere": ("user:E1", "any other", "close_account", "refuse", False),
    "whoever holds nothing": ("*", "acme", "refund", "refuse", False),
}


@pytest.mark.parametrize(("who", "tenant", "tool", "call", "approves"), SQUARES.values(), ids=SQUARES)
def test_a_square_says_what_may_be_done(tmp_path: Path, who: str, tenant: str, tool: str, call: str, *, approves: bool) -> None:
    """Roles and persons apart, each tenant and any other."""
    assert square(matrix(loaded(tmp_path)), who, tenant, tool) == (call, approves)


def test_a_deciding_rule_has_its_place(tmp_path: Path) -> None:
    """File and line, for YAML and CSV rules."""
    found = matrix(loaded(tmp_path))
    places = {place for one in found.squares for place in (*one.places, *one.approve_places)}

    assert {"rules.csv:1", "rules.csv:2", "tools.yaml:5"} <= places


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.cells = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.cells += tag == "td"


def read(text: str) -> _Page:
    found = _Page()
    found.feed(text)
    return found


def test_the_page_holds_every_square_and_nothing_from_elsewhere(tmp_path: Path) -> None:
    """No source, no link, and a content policy that forbids them."""
    found = matrix(loaded(tmp_path))
    shown = read(page(found, "policies/"))

    assert shown.cells == len(found.squares)
    assert not [attrs for _, attrs in shown.tags if {"src", "href", "onclick", "style"} & attrs.keys()]
    assert any("default-src 'none'" in (attrs.get("content") or "") for _, attrs in shown.tags)


def test_names_are_text_in_the_page(tmp_path: Path) -> None:
    """A person, a tenant and a condition written as HTML stay what they are: letters."""
    tools = TOOLS.replace(".*urgent.*", "<script>alert(1)</script>")
    rules = RULES + f"p, user:{EVIL.replace(chr(34), '').replace('(1)', '')}, <b>acme</b>, refund, call, allow\n"
    text = page(matrix(loaded(tmp_path, tools, rules)), "<title>")
    tags = [tag for tag, _ in read(text).tags]

    assert tags.count("script") == 1
    assert not {"img", "b"} & set(tags)


def test_the_command_writes_the_page(guard: Run, tmp_path: Path) -> None:
    """To the file that is named; where it cannot be written, that is misuse."""
    assert guard("explain", "--html", "matrix.html").code == 0
    assert (tmp_path / "matrix.html").read_text("utf-8").startswith("<!doctype html>")
    assert guard("explain", "--html", "none/matrix.html").code == 2


def test_who_and_what_are_rows_of_the_same_matrix(guard: Run) -> None:
    """Somebody is found by role, by user: and id, by id, and as a user of the operating system."""
    whole = guard("explain", "--matrix", "--json").json["cells"]
    assert guard("explain", "--who", "refund", "--json").json["cells"] == [one for one in whole if one["tool"] == "refund"]
    for name in ("user:E1", "E1", "ann"):
        found = guard("explain", "--what", name, "--json").json["cells"]
        assert found == [one for one in whole if one["who"] == "user:E1"]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("chromium") is None, reason="no browser here")
def test_the_page_works_in_a_browser(tmp_path: Path) -> None:
    """Its own script runs under its content policy: one tenant shows, and the tools are counted."""
    (tmp_path / "m.html").write_text(page(matrix(loaded(tmp_path / "p")), "policies/"), "utf-8")
    shown = subprocess.run(
        [
            "chromium",
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            f"--user-data-dir={tmp_path / 'u'}",
            "--dump-dom",
            (tmp_path / "m.html").as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    ).stdout

    assert "3 tools" in shown
    assert shown.count('<tbody data-tenant="any other" hidden="">') == 1
