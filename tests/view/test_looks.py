"""Every kind of answer in a real browser: no tab without content, no dashes, nothing small, wide or said twice."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.often import times
from tests.report.eight import EIGHT
from vantage.report.latex import WIDTH
from vantage.report.overview import corpus_report
from vantage.view.explorer import Explorer
from vantage.view.exporting import export

pytestmark = pytest.mark.slow
REPORTED = ("nominal", "slider")
"""Reports that are looked at in CI; all eight before a release."""

LOOK = """(figures) => {
  const problems = [], shown = (one) => one.getClientRects().length > 0;
  if (document.documentElement.scrollWidth > innerWidth) problems.push("wider than the page");
  const texts = [...document.querySelectorAll(figures ? "body *" : "body *:not(svg.drawing *)")];
  for (const one of texts) {
    if (!shown(one) || ![...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim())) continue;
    const drawn = one.getScreenCTM?.(), scale = drawn ? Math.hypot(drawn.a, drawn.b) : 1;
    const size = parseFloat(getComputedStyle(one).fontSize) * scale;
    if (size < 10.9 && !["STYLE", "SCRIPT", "TITLE", "title"].includes(one.tagName))
      problems.push(`${size.toFixed(1)} px: ${one.textContent.slice(0, 40)}`);
  }
  for (const table of document.querySelectorAll("table")) {
    const rows = [...table.tBodies[0].rows].filter(shown);
    [...table.tHead.rows[0].cells].forEach((head, at) => {
      const dashes = rows.every((row) => row.cells[at]?.textContent.trim() === "–");
      if (rows.length > 2 && dashes) problems.push(`a column of dashes: ${head.textContent}`);
    });
  }
  const main = document.querySelector("main");
  if (main.innerText.length < 120 && !main.querySelector("svg")) problems.push(`nothing to see: ${main.innerText}`);
  if (main.querySelector(".problem")) problems.push(main.querySelector(".problem").innerText);
  return problems.slice(0, 5);
}"""


def violations(page: Any) -> list[str]:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    listed = axe.Axe().run(page).response["violations"]
    return [
        f"{one['id']}: {one['nodes'][0]['html'][:150]}" for one in listed if one["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("name", EIGHT)
def test_every_tab_of_the_explorer_has_something_to_show(name: str, browser: Any, tmp_path: Path) -> None:
    export(Explorer([], EIGHT[name]), tmp_path / "view.html")
    for width, scheme in ((1280, "light"), (390, "dark")):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        page = context.new_page()
        page.goto(f"file://{tmp_path / 'view.html'}")
        page.wait_for_selector("main:not([aria-busy]) .plot")
        tabs = [link.get_attribute("href") for link in page.locator("nav a").all()]
        assert [tab.split("?")[0] for tab in tabs[:3]] == ["#/spectrum", "#/items", "#/raters"]
        for tab in [*tabs, "#/item?item=t03", "#/rater?rater=p03", "#/spectrum?among=p01&among=p02"]:
            page.evaluate("(tab) => { location.hash = tab; }", tab)
            page.wait_for_timeout(60)
            page.wait_for_selector("main:not([aria-busy]) h1")
            assert (tab, page.evaluate(LOOK, True)) == (tab, [])
        assert violations(page) == []
        context.close()


@pytest.mark.parametrize("name", [*REPORTED, *EIGHT][: times(len(EIGHT) + len(REPORTED), len(REPORTED))])
def test_a_report_opens_with_the_spectrum_and_says_nothing_twice(name: str, browser: Any, tmp_path: Path) -> None:
    place = corpus_report(EIGHT[name]()).write(tmp_path / "report")
    for width, media in ((1280, "screen"), (390, "screen"), (700, "print")):
        context = browser.new_context(viewport={"width": width, "height": 900})
        page = context.new_page()
        page.emulate_media(media=media)
        page.goto(f"file://{place}")
        assert page.locator("figure").first.get_attribute("id") == "figure-spectrum"
        if media == "screen":
            assert page.evaluate(LOOK, width > 1000) == []
        else:
            assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
            assert page.locator("tbody tr:visible").count() < 200, "a print has the first rows of long tables"
        if width == 1280:
            said = page.locator("main").inner_text().splitlines()
            sentences = [line for line in said if len(line) > 60 and line.endswith(".")]
            bare = [re.sub(r"^(Table|Figure) \d+\. ", "", line) for line in sentences]
            assert [line for line, times in Counter(bare).items() if times > 1] == []
            assert "better than chance" not in page.locator(".findings li").first.inner_text()
            assert violations(page) == []
        context.close()
    for file in (tmp_path / "report" / "tables").glob("*.tex"):
        for columns in re.findall(r"begin\{tabular\}\{(.*)\}", file.read_text("utf-8")):
            assert sum(int(points) for points in re.findall(r"p\{(\d+)pt\}", columns)) <= WIDTH, file.name
