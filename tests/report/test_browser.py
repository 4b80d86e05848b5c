"""The page in a real browser: it fits, follows its own policy, sorts, and is usable without sight."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.report.reports import HOSTILE, report
from tests.report.studied import STUDIES, studied
from vantage import demo_corpus
from vantage.report import Report, Result, Section, Table
from vantage.report.compare import compare
from vantage.report.overview import corpus_report
from vantage.report.parts import dialogue

pytestmark = pytest.mark.slow

CUT_OFF = """() => [...document.querySelectorAll(".wide, .wide td, .wide th, .dialogue li")]
  .filter((box) => box.scrollWidth > box.clientWidth + 1 && getComputedStyle(box).display !== "inline")
  .map((box) => [box.closest("[id]")?.id, box.textContent.slice(0, 60), box.scrollWidth, box.clientWidth])"""
"""Tables and cells that are wider than the room they have."""
FIGURES = """() => [...document.querySelectorAll(".both")].map((box) => {
  const seen = [...box.querySelectorAll("svg")].filter((one) => getComputedStyle(one).display !== "none");
  const letters = seen.flatMap((one) => [...one.querySelectorAll("text")].map((text) =>
    parseFloat(getComputedStyle(text).fontSize) * one.getBoundingClientRect().width / one.viewBox.baseVal.width));
  return { hidden: box.scrollWidth - box.clientWidth, letters: Math.min(...letters), drawings: seen.length };
})"""
"""Figures with a drawing for phones: how much of them is out of sight, and how high their letters are in pixels."""
NEVER = re.compile(
    r"(?<![\d.,–−-])1 (rows|turns|tables|figures|items|raters|judgments|texts|users|groups|runs|statements)\b"
    r"|\bp\w* ?[=<] ?0?\.000\b|–[ \u00a0]?–"
)
"""What no report says."""
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
FLAGS += ["--disable-sync", "--no-first-run"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("there is no Chromium on this machine")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    corpus = corpus_report(demo_corpus()).write(folder / "corpus")
    hostile = report(HOSTILE)
    rows = Table("rows", "Many rows.", pl.DataFrame({"name": [f"row {i}" for i in range(300)], "n": range(300)}))
    talk = dialogue("talk", "Talk.", [("Ann", HOSTILE), (HOSTILE, "x" * 300)], "And " * 80)
    sections = [*hostile.result.sections, Section("More", [], [rows, talk, wide()])]
    Report(hostile.record, Result(sections, hostile.result.findings)).write(folder / "hostile")
    both = compare(folder / "hostile", folder / "hostile").write(folder / "both")
    return {"corpus": corpus, "hostile": folder / "hostile" / "report.html", "both": both}


def wide() -> Table:
    """A table of 40 columns with names and texts that have no place to break."""
    rows = [{f"a_very_long_name_{n}": "w" * n if n % 3 else n / 7 for n in range(40)} for _ in range(30)]
    return Table("wide", "Many columns.", pl.DataFrame(rows))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("studies")


@pytest.mark.parametrize("name", STUDIES)
def test_no_table_of_a_study_is_cut_off(browser: Any, folder: Path, name: str) -> None:
    (folder / name).mkdir()
    path = studied(name, folder / name)
    for width, scheme in ((1280, "light"), (390, "dark")):
        page, said = opened(browser, path, width, scheme)
        for fold in page.locator("details").all():
            fold.evaluate("one => { one.open = true }")
        assert page.locator(".wide").count() > 3
        assert page.evaluate(CUT_OFF) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert NEVER.findall(page.locator("main").inner_text()) == []
        assert said == []
        first = page.locator("main > *").first.inner_text()
        assert first.startswith("Findings")
        page.close()


def opened(browser: Any, path: Path, width: int, scheme: str = "light", **options: Any) -> tuple[Any, list[str]]:
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme, **options)
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: said.append(dialog.message))
    page.on("request", lambda request: said.append(request.url) if not request.url.startswith("file:") else None)
    page.goto(path.as_uri())
    return page, said


@pytest.mark.parametrize("name", ["corpus", "hostile", "both"])
@pytest.mark.parametrize(("width", "scheme"), [(360, "dark"), (1440, "light")])
def test_a_page_fits_and_breaks_none_of_its_own_rules(
    browser: Any, pages: dict[str, Path], name: str, width: int, scheme: str
) -> None:
    page, said = opened(browser, pages[name], width, scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(CUT_OFF) == []
    assert said == []
    # A phone sees all of a figure, in letters that can be read.
    figures = page.evaluate(FIGURES)
    assert not [one for one in figures if one["hidden"] > 1 or one["letters"] < 9 or one["drawings"] != 1], figures
    assert bool(figures) == (name == "corpus")
    page.close()


@pytest.mark.parametrize("script", [True, False])
def test_long_tables_are_folded_with_or_without_scripts(browser: Any, pages: dict[str, Path], script: bool) -> None:
    context = browser.new_context(java_script_enabled=script, viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.goto(pages["hostile"].as_uri())
    rows = page.locator("#table-rows tbody tr:visible")
    assert rows.count() == 10
    page.locator("#table-rows summary").click()
    assert rows.count() == 200
    assert page.locator("#table-alpha summary").count() == 0
    context.close()


def test_rows_are_cards_on_a_phone(browser: Any, pages: dict[str, Path]) -> None:
    page, _ = opened(browser, pages["corpus"], 390)
    table = page.locator("#table-questions")
    assert table.locator("thead").is_hidden()
    cells = table.locator("tbody tr").first.locator("td")
    boxes = [cells.nth(n).bounding_box() for n in range(3)]
    assert boxes[0]["x"] == boxes[1]["x"]
    assert boxes[0]["y"] < boxes[1]["y"] < boxes[2]["y"]
    assert page.evaluate("getComputedStyle(document.querySelector('#table-questions td'), '::before').content") == (
        '"question"'
    )
    page.close()


def test_a_click_on_a_head_sorts_by_numbers_and_a_word_filters(browser: Any, pages: dict[str, Path]) -> None:
    page, _ = opened(browser, pages["hostile"], 1000)
    table = page.locator("#table-rows table")
    head = table.locator("thead button").nth(1)
    head.click()
    head.click()
    assert table.locator("tbody tr").first.locator("td").nth(1).inner_text() == "199"
    assert table.locator("tbody tr:visible").count() == 10
    assert table.locator("thead th").nth(1).get_attribute("aria-sort") == "descending"
    page.locator("#table-rows input").fill("row 19")
    assert table.locator("tbody tr:visible").count() == 11
    page.close()


def test_the_page_reads_the_same_without_scripts(browser: Any, pages: dict[str, Path]) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(pages["corpus"].as_uri())
    assert page.locator("table").count() >= 4
    assert page.locator("thead button").count() == 0
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_stands_in_the_way_of_those_who_cannot_see(browser: Any, pages: dict[str, Path], scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    page, _ = opened(browser, pages["corpus"], 1000, scheme)
    found = axe.Axe().run(page).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"][:200]) for one in found] == []
    page.close()


def test_it_prints_on_paper(browser: Any, pages: dict[str, Path], tmp_path: Path) -> None:
    page, _ = opened(browser, pages["corpus"], 1000, "dark")
    page.pdf(path=tmp_path / "report.pdf", prefer_css_page_size=True)
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")
    page.emulate_media(media="print")
    colours = page.evaluate("[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]")
    assert colours == ["rgb(255, 255, 255)", "rgb(0, 0, 0)"]
    assert page.locator("nav").is_hidden()
    page.set_viewport_size({"width": 673, "height": 900})
    assert page.evaluate(CUT_OFF) == []
    page.close()
