"""The report of a month as it looks: months with everything, with one call and with nothing, on a wide screen, on a phone and on paper."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import audit_month_kit as kit
import pytest
from axe_playwright_python.sync_playwright import Axe
from browser_kit import NEEDS_CHROMIUM, picture
from playwright.sync_api import Browser

from guard.auditing import page
from guard.auditing.month import report
from guard.stores import open_store

MONTHS = ("everything", "one-call", "nothing")
MOVED = "[...document.querySelectorAll('.box')].filter(one => one.scrollWidth > one.clientWidth + 1).map(one => one.ariaLabel)"
PAPER = 688  # CSS pixels between the margins of a sheet of A4


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder, every = tmp_path_factory.mktemp("months"), list(kit.month("2026-11", 120, 3))
    ran = next(number for number, (_, event) in enumerate(every) if event.get("decision", {}).get("verdict") == "allow")
    first = {name: every[ran][1][name] for name in ("conversation", "turn", "position")}
    one = [pair for pair in every if {name: pair[1].get(name) for name in first} == first]
    made = {}
    for name, events in zip(MONTHS, (every, one, []), strict=True):
        clock = kit.Dial(kit.begin_of("2026-12") + 9e5)
        with closing(open_store("memory://", clock=clock)) as store:
            kit.write(store, events, clock)
            clock.now = kit.begin_of("2026-12") + 9e5
            made[name] = folder / f"{name}.html"
            made[name].write_text(page.whole(report(store, "2026-11")), "utf-8")
    return made


def test_where_nothing_is_there_is_no_empty_chart_or_table(pages: dict[str, Path]) -> None:
    """A sentence says so; every heading is there all the same, so that an auditor finds what was looked at."""
    texts = {name: path.read_text("utf-8") for name, path in pages.items()}
    assert [texts[name].count("<svg") for name in MONTHS] == [2 * 4, 2 * 1, 0]  # each for a wide screen and for a phone
    for said in (
        "No call was decided in this month.",
        "Nobody voted in this month.",
        "There is no record in this month",
        "0 questions were asked.",
    ):
        assert said in texts["nothing"]
    assert "No call was held or refused in this month." in texts["one-call"]
    assert all(text.count("<h2") == texts["everything"].count("<h2") for text in texts.values())
    assert all("<tbody></tbody>" not in text for text in texts.values())


@pytest.mark.slow
@NEEDS_CHROMIUM
@pytest.mark.parametrize("name", MONTHS)
@pytest.mark.parametrize("width", [1280, 390])
def test_every_text_can_be_read_and_nothing_is_wider_than_the_screen(
    browser: Browser, pages: dict[str, Path], name: str, width: int
) -> None:
    """No table moves sideways in its frame. Texts of charts are ten pixels at least on a phone too, none lies on another, and axe finds nothing."""
    with closing(browser.new_page(viewport={"width": width, "height": 844})) as shown:
        shown.goto(pages[name].as_uri())
        picture(shown, f"report-{name}-{width}")
        assert shown.evaluate("document.documentElement.scrollWidth") <= width
        assert shown.evaluate(MOVED) == []
        sizes = shown.evaluate(
            "[...document.querySelectorAll('svg text')].filter(one => one.getClientRects().length).map(one => parseFloat(getComputedStyle(one).fontSize) * one.getScreenCTM().a)"
        )
        assert min(sizes, default=10.0) >= 10.0
        overlaps = shown.evaluate(
            "[...document.querySelectorAll('svg')].flatMap(chart => { const all = [...chart.querySelectorAll('text')].map(one => one.getBoundingClientRect());"
            " return all.filter((a, i) => all.some((b, j) => i < j && a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3)) })"
        )
        assert overlaps == []
        assert Axe().run(shown).response["violations"] == []


@pytest.mark.slow
@NEEDS_CHROMIUM
@pytest.mark.parametrize("name", MONTHS)
def test_on_paper_nothing_is_cut_off(browser: Browser, pages: dict[str, Path], name: str, tmp_path: Path) -> None:
    """Between the margins of a sheet, in black on white, whatever the reader's screen is like; a PDF of it can be made."""
    with closing(browser.new_page(viewport={"width": PAPER, "height": 900}, color_scheme="dark")) as shown:
        shown.goto(pages[name].as_uri())
        shown.emulate_media(media="print")
        picture(shown, f"report-{name}-paper")
        assert shown.evaluate("document.documentElement.scrollWidth") <= PAPER
        assert shown.evaluate("getComputedStyle(document.querySelector('.report')).backgroundColor") == "rgb(255, 255, 255)"
        assert shown.evaluate(MOVED) == []
        shown.pdf(path=tmp_path / "report.pdf", format="A4", prefer_css_page_size=True)
        assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")
