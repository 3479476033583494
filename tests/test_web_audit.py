"""The audit over HTTP: who may read it, that it finds what the console's page finds, page by page, and what it says of a request that it cannot carry out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import jsonschema
import pytest
from console_kit import Browser, Console, console
from search_kit import HOSTILE, log, record
from test_audit_pages import SEARCHES
from test_search import hostile

from guard.auditing.entry import entry
from guard.cli.records import json_line
from guard.core.searching import Sought
from guard.web.description import described

PLACE = "/api/v1/audit"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """A console over the small log, whose records are of the tenants acme and other."""
    with console(tmp_path_factory.mktemp("api")) as found:
        found.guard.store.record((), log())
        yield found


@pytest.fixture(scope="module")
def auditor(running: Console) -> Browser:
    """Somebody of acme who runs the console."""
    return running.browser("r.admin", scope="admin", tenant="acme")


def ask(running: Console, browser: Browser, query: str = "") -> httpx.Response:
    cookies = {"Cookie": "; ".join(f"{name}={value}" for name, value in browser.cookies.items())}
    return running.client.get(f"{PLACE}?{query}", headers=cookies)


def told(running: Console, browser: Browser, query: str = "") -> Any:
    """The answer, as it is described."""
    found = ask(running, browser, query)
    assert found.status_code == 200, found.text
    whole = {"$ref": "#/components/schemas/AuditRecords", "components": described()["components"]}
    jsonschema.Draft202012Validator(whole, format_checker=jsonschema.FormatChecker()).validate(found.json())
    return found.json()


def test_the_audit_is_for_people_who_run_the_console(running: Console, auditor: Browser) -> None:
    """Nobody, and whoever may only vote or read, is told so and gets no record."""
    assert ask(running, running.browser()).status_code == 401
    for scope in ("vote", "read"):
        refused = ask(running, running.browser("b1", "treasury", scope=scope, tenant="acme"))
        assert refused.status_code == 403
        assert refused.json().keys() == {"error"}


@pytest.mark.parametrize("name", [name for name in SEARCHES if name != "nothing that is a place"])
def test_a_search_gives_what_the_page_shows(running: Console, auditor: Browser, name: str) -> None:
    """The records of the person's tenant alone, newest first."""
    query, number = SEARCHES[name]
    found = told(running, auditor, query)
    assert (len(found["records"]), found["next"]) == (number, None)
    assert {one.get("tenant") for one in found["records"]} <= {"acme"}
    page = auditor.open(f"/audit?{query}").source
    shown = [page.index(f">{one['seq']}</a>") for one in found["records"]]
    assert shown == sorted(shown)


def test_a_record_is_what_the_command_line_writes(running: Console, auditor: Browser) -> None:
    """Its body with `prev` and `hash`, so that the same program reads both."""
    store = running.guard.store
    lines = [json.loads(json_line(entry(one))) for one in store.search(Sought(tenant="acme"))]
    assert told(running, auditor)["records"] == lines


def test_pages_follow_each_other(running: Console, auditor: Browser) -> None:
    """`next` leads to the page behind, and is null at the end; the console's page takes the same place."""
    paged, behind = [], ""
    while True:
        found = told(running, auditor, f"limit=4{behind}")
        paged += found["records"]
        if found["next"] is None:
            break
        assert len(found["records"]) == 4
        behind = f"&behind={found['next']}"
        (first, *_) = told(running, auditor, f"limit=1{behind}")["records"]
        assert f">{first['seq']}</a>" in auditor.open(f"/audit?behind={found['next']}").source
    assert paged == told(running, auditor)["records"]


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("since=yesterday", "write 7d, 12h"),
        ("reason=not_grunded", "did you mean not_grounded?"),
        ("kind=aproval.*", "there is no such kind of record"),
        ("refused=1&held=1", "no decision is both"),
        ("refused=0", "write 1, or leave it out"),
        ("limit=0", "limit must be 1 to 200"),
        ("limit=%D9%A1", "limit must be 1 to 200"),
        ("limit=201", "limit must be 1 to 200"),
        ("behind=x.y.z", "next of the page before"),
        ("tenant=other", "filters, each once"),
        ("tool=a&tool=b", "filters, each once"),
        (f"tool={'x' * 301}", "at most 300 characters"),
    ],
)
def test_a_request_that_cannot_be_carried_out_says_why(running: Console, auditor: Browser, query: str, why: str) -> None:
    """And gives no record of another search."""
    refused = ask(running, auditor, query)
    assert refused.status_code == 400
    assert why in refused.json()["error"]


@pytest.mark.parametrize("name", HOSTILE)
def test_no_text_breaks_an_answer(running: Console, auditor: Browser, name: str) -> None:
    """Whatever stands in a record, or is asked for, the answer is JSON that holds it as a value."""
    (one,) = hostile(HOSTILE[name])
    running.guard.store.record((), [record("call.decided", tool=one["tool"], args=one["args"], conversation=f"hostile {name}")])
    found = told(running, auditor, str(httpx.QueryParams(conversation=f"hostile {name}")))
    typed = [HOSTILE[name], HOSTILE[name].encode("utf-8", "replace").decode()]
    assert [one["tool"]["name"] in typed for one in found["records"]] == [True]
    for field in ("tool", "person", "conversation", "approved_by"):
        asked = str(httpx.QueryParams({field: HOSTILE[name].encode("utf-8", "replace").decode()[:300]}))
        assert ask(running, auditor, asked).status_code == 200
