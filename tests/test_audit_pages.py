"""The console's audit pages: who may read them, what a search, a life and a month show, and that no text in them is more than text."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from audit_month_kit import Maker
from console_kit import Browser, Console, console
from record_kit import fitting
from search_kit import HOSTILE, log
from test_audit_inert import PLAIN, elements, events

from guard.auditing import persons
from guard.auditing.entry import entry
from guard.core.searching import Sought
from guard.core.unseen import one_line, unseen
from guard.web.audit_pages import address

PATHS = ("/audit", "/audit/report", "/audit/report/file", "/audit/c1/1/0")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """A console over the small log, whose records are of the tenants acme and other."""
    with console(tmp_path_factory.mktemp("pages")) as found:
        found.guard.store.record((), log())
        yield found


@pytest.fixture(scope="module")
def auditor(running: Console) -> Browser:
    """Somebody of acme who runs the console."""
    return running.browser("r.admin", scope="admin", tenant="acme")


@pytest.mark.parametrize("path", PATHS)
def test_the_audit_is_for_people_who_run_the_console(running: Console, path: str) -> None:
    """Nobody is led to the sign-in page; whoever may only vote or read is told so and sees no record."""
    assert running.browser().open(path).status == 303
    for scope in ("vote", "read"):
        page = running.browser("b1", "treasury", scope=scope, tenant="acme").open(path)
        assert page.status == 403
        assert "pay" not in page.text.split()


SEARCHES = {
    "everything": ("", 13),
    "refused": ("refused=1", 2),
    "held": ("held=1", 1),
    "spoof": ("spoof=1", 1),
    "shadow": ("shadow=1", 1),
    "tool": ("tool=look", 2),
    "reason": ("reason=not_grounded", 1),
    "vote": ("approved_by=boss", 2),
    "person": ("person=E2", 2),
    "kind": ("kind=approval.*", 3),
    "conversation": ("conversation=c2", 2),
    "since": ("since=7d", 13),
    "long ago": ("until=2000-01-01", 0),
    "nothing that is a place": ("behind=x.y.z", 13),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_shows_the_records_of_the_persons_tenant(auditor: Browser, name: str) -> None:
    """One row for each record that meets the filters; never one of another tenant, or of none."""
    query, number = SEARCHES[name]
    page = auditor.open(f"/audit?{query}")
    assert page.status == 200
    assert page.source.count('<tr role="row">') - 1 == number if number else "No record fits" in page.text
    assert "not_authorized" not in page.text


def test_a_person_is_found_by_an_address_that_no_record_holds(running: Console, auditor: Browser) -> None:
    """By its keyed hash, with the tenant's key."""
    (tag,) = persons.tags("ann@example.com", running.guard.store.secret, ("acme",))
    running.guard.store.record((), [{**log()[7], "conversation": "c7", "approval": None, "result": {"hmac": {"/mail": tag}}}])
    page = auditor.open("/audit?person=Ann@example.com")
    assert "/audit/c7/1/0" in page.source
    assert page.source.count('<tr role="row">') == 2


def test_a_mistake_in_a_filter_is_told(auditor: Browser) -> None:
    """How a time is written stands on the page."""
    assert "write 7d, 12h" in auditor.open("/audit?since=yesterday").text


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("reason=not_grunded", "Reason not_grunded: there is no such code (did you mean not_grounded?)"),
        ("reason=%E2%80%AEx", "Reason [U+202E]x: there is no such code"),
        ("kind=call.decidet", "Kind call.decidet: there is no such kind of record (did you mean call.decided?)"),
        ("kind=aproval.*", "Kind aproval.*: there is no such kind of record"),
        ("reason=not_authorizet", "Reason not_authorizet: there is no such code (did you mean not_authorized?)"),
    ],
)
def test_a_misspelt_word_is_told_and_gives_no_empty_list(auditor: Browser, query: str, told: str) -> None:
    """As at the command line: the page says what is known."""
    page = auditor.open(f"/audit?{query}")
    assert told in page.text
    assert "No record fits" not in page.text


def test_a_word_of_another_version_is_found_where_the_tenant_has_it(running: Console, auditor: Browser) -> None:
    """A code and a kind that only records know; one that only another tenant's records have is as unknown as one that nobody has."""
    for tenant, code in (("acme", "old_code"), ("other", "their_code")):
        body = {
            **log()[0],
            "tenant": tenant,
            "kind": f"old.{tenant}",
            "conversation": "c8",
            "decision": {"code": code, "policy": "p"},
        }
        running.guard.store.record((), [body])
    assert auditor.open("/audit?reason=old_code").source.count('<tr role="row">') == 2
    assert auditor.open("/audit?kind=old.acme").source.count('<tr role="row">') == 2
    for query in ("reason=their_code", "kind=old.other"):
        assert "there is no such" in auditor.open(f"/audit?{query}").text


def test_older_records_follow_on_the_next_page(tmp_path: Path) -> None:
    """Each page leads to the next until every record was shown once."""
    with console(tmp_path) as found:
        made = [
            event
            for number in range(40)
            for _, event in Maker(__import__("random").Random(number), tenants=("acme",)).conversation(number, 1.8e9)
        ]
        found.guard.store.record((), made)
        browser, path, links = found.browser("r", scope="admin", tenant="acme"), "/audit", 0
        while path:
            page = browser.open(path)
            links += page.source.count('<tr role="row">') - 1
            path = next(
                (given["href"] or "" for tag, given in page.read.tags if tag == "a" and "behind=" in (given.get("href") or "")),
                "",
            )
    assert links == len(made)


@pytest.mark.parametrize("name", ["c1/1/0", "ap_1", "0:3", "3"])
def test_a_call_is_shown_from_proposal_to_end(auditor: Browser, name: str) -> None:
    """By its place, its approval or one of its records."""
    page = auditor.open(f"/audit/{name}")
    assert page.status == 200
    places = [
        page.text.rindex(words)
        for words in (
            "proposed by the model",
            "held for a person",
            "asked to decide",
            ", approval.resolved",
            "started",
            "ended well",
        )
    ]
    assert places == sorted(places)


@pytest.mark.parametrize("name", ["nothing", "c9/1/0", "%00", "999", "0:999"])
def test_what_is_not_there_is_not_found(auditor: Browser, name: str) -> None:
    """Whatever the name looks like."""
    assert auditor.open(f"/audit/{name}").status == 404


def test_what_is_another_tenants_is_not_found(running: Console, auditor: Browser) -> None:
    """The same answer as for what is not there, by either name of the record: a stranger learns nothing."""
    others = [one for one in map(entry, running.guard.store.search(Sought())) if one.at("tenant") != "acme"]
    assert {one.at("tenant") for one in others} >= {"other"}
    for one in others:
        for name in (one.number, f"{one.sealed.chain}:{one.sealed.seq}"):
            assert auditor.open(f"/audit/{name}").status == 404, name


def test_an_id_of_several_calls_lists_them(auditor: Browser) -> None:
    """Each leads on."""
    page = auditor.open("/audit/call_1")
    assert [link for link in ("/audit/c1/1/0", "/audit/c2/1/0") if f'href="{link}"' in page.source] == [
        "/audit/c1/1/0",
        "/audit/c2/1/0",
    ]


def test_a_month_shows_its_charts_and_is_to_be_had_as_a_file(auditor: Browser) -> None:
    """The same sections as the file of the command line; calls lead to their lives; the file needs nothing of the server."""
    page = auditor.open("/audit/report?month=2027-01")
    assert (page.status, page.source.count("<svg")) == (200, 8)
    assert f'href="{address("c2/1/0")}"' in page.source
    assert "Run: guard audit verify" in page.text
    assert "style=" not in page.source
    whole = auditor.open("/audit/report/file?month=2027-01").answer
    assert whole.headers["content-disposition"] == 'attachment; filename="audit-2027-01.html"'
    assert "/audit" not in whole.text
    assert auditor.open("/audit/report?month=x").status == 404


def test_a_report_that_is_taken_along_is_on_record(running: Console, auditor: Browser) -> None:
    """By whom, and the digest of exactly what they got; looking at the page is none, and what a browser fetches ahead gets no file."""
    before = len(running.guard.store.search(Sought(kinds=("audit.export",), limit=9)))
    whole = auditor.open("/audit/report/file?month=2026-12").answer
    auditor.open("/audit/report?month=2026-12")
    [last] = running.guard.store.search(Sought(kinds=("audit.export",), limit=1))
    told = entry(last)
    assert told.at("export", "sha256") == hashlib.sha256(whole.content).hexdigest()
    assert (told.text("actor", "ref"), told.text("tenant"), told.text("export", "name")) == (
        "r.admin",
        "acme",
        "audit-2026-12.html",
    )
    assert fitting(last.body)
    ahead = auditor.open("/audit/report/file?month=2026-12", **{"Sec-Purpose": "prefetch"})
    assert (ahead.status, len(running.guard.store.search(Sought(kinds=("audit.export",), limit=9)))) == (503, before + 1)


def test_the_style_is_a_file(auditor: Browser) -> None:
    """Nothing on a page needs a style of its own, which the content policy forbids."""
    answer = auditor.open("/audit/style.css").answer
    assert (answer.status_code, answer.headers["content-type"].partition(";")[0]) == (200, "text/css")


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[tuple[str, str]]]:
    return {path: found for path, (found, _) in _pages(tmp_path_factory.mktemp("plain"), PLAIN).items()}


def _pages(folder: Path, text: str) -> dict[str, tuple[set[tuple[str, str]], str]]:
    """Elements and source of each page about a call that holds a text everywhere but in its tenant."""
    with console(folder) as found:
        found.guard.store.record((), [{**event, "tenant": "acme"} if "tenant" in event else event for event in events(text)])
        browser = found.browser("r.admin", scope="admin", tenant="acme")
        pages = {path: browser.open(path) for path in ("/audit", "/audit/3", "/audit/report?month=2027-01")}
    assert {page.status for page in pages.values()} == {200}
    return {path: (elements(page.source).found, page.source) for path, page in pages.items()}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_text_becomes_markup_on_a_page(tmp_path: Path, name: str, plain: dict[str, set[tuple[str, str]]]) -> None:
    """The pages have the same elements and attributes as with a plain text, and nothing unseen."""
    for path, (found, source) in _pages(tmp_path, HOSTILE[name]).items():
        assert found - {("span", "class"), ("span", "title")} == plain[path] - {("span", "class")}, path  # a sign of the console
        assert [char for char in set(source) if unseen(char) and char != "\n"] == [], path
        assert one_line(HOSTILE[name]) in "".join(elements(source).text)
