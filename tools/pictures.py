"""Pictures of the README and the documentation, drawn from small data that is kept beside them, in docs/images/data.

`make reference` draws them, and the suite fails where a picture shows something else than its data and the code give.
`python -m tools.pictures NAME …` computes the data of some anew first, which takes up to five minutes each and, for
some, the released data. Charts keep their rows and options; photographs of pages keep the words that can be read on
them, so that a page that has changed is noticed, and they need Chromium.
"""

from __future__ import annotations

import html
import io
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import polars as pl

from tools.gallery import on_white
from vantage.corpora.bundled import demo_corpus, planted_corpus
from vantage.report import Figure, Report, Result, Section, Table
from vantage.report.record import Record
from vantage.report.style import drawn
from vantage.studies import run

if TYPE_CHECKING:
    from playwright.sync_api import Page

IMAGES: Final = Path(__file__).resolve().parents[1] / "docs" / "images"
KEPT: Final = IMAGES / "data"
DIGITS: Final = 6
"""Of numbers that are kept; no picture shows more."""
ROWS: Final = (8, 9, 10, 14, 15, 16, 38, 39, 40, 42, 43)
"""The published figures that are photographed: agreement, reliability, ties and correlations."""
PORT: Final = 8765
VANTAGE: Final = (str(Path(sys.executable).with_name("vantage")),)
SIDE_BY_SIDE: Final = """<style>
body { margin: 0; padding: 14px; display: flex; gap: 14px; background: white; font: 15px sans-serif }
p { margin: 0 0 8px; font-weight: bold }
img, pre { border: 1px solid #bbb; border-radius: 4px; margin: 0 }
pre { width: 500px; height: 566px; padding: 10px; overflow: hidden; white-space: pre-wrap; font: 9px/1.36 monospace }
</style>
<div><p>What people see</p><img src="page.png" width="520"></div>
<div><p>What a model reads</p><pre>PROMPT</pre></div>
"""


def kept(name: str) -> Figure:
    """A chart with the data that is kept of it."""
    data = json.loads((KEPT / f"{name}.json").read_text("utf-8"))
    frame = pl.DataFrame(data["rows"], infer_schema_length=None)
    return Figure(name, "", "", data["chart"], frame, data["options"])


def keep(name: str, figure: Figure) -> None:
    """Keeps the data of a chart: the columns that it draws."""
    used = json.dumps(dict(figure.options))
    ends = ("estimate", "low", "high", "verdict")
    columns = [one for one in figure.data.columns if one in ends or f'"{one}"' in used]
    rows = figure.data.select(columns).with_columns(pl.selectors.float().round(DIGITS)).to_dicts()
    data = {"chart": figure.chart, "options": dict(figure.options), "rows": rows}
    text = json.dumps(data, ensure_ascii=False, indent=1)
    # A row is a line.
    text = re.sub(r"\n {3,}|\n {2}(?=\})", " ", text)
    (KEPT / f"{name}.json").write_text(text + "\n", "utf-8")


def chart(name: str) -> str:
    """A chart on a white ground, which reads in the dark too."""
    return on_white(drawn(kept(name).draw))


@cache
def demo() -> Report:
    """The report of the demo."""
    return run("demo")


def of_demo(name: str) -> Figure:
    """A figure of the demo's report."""
    return next(figure for figure in demo().result.figures if figure.name == name)


def audited() -> Figure:
    """The effects that an audit of the embedded model finds on the demo corpus."""
    with tempfile.TemporaryDirectory() as folder:
        corpus = str(demo_corpus().write(Path(folder) / "asked"))
        varied = ("--style", "scoring", "--vary", "order,labels=numbers/letters,direction,wording", "--balanced")
        asked = ("rate", corpus, "--instrument", "warmth-competence", "--question", "trust", *varied)
        for words in (asked, ("audit", corpus, "--where", "question=trust", "--to", f"{folder}/audit")):
            subprocess.run([*VANTAGE, *words], check=True)  # noqa: S603 - our own command
        report = Report.read(Path(folder) / "audit")
        return next(figure for figure in report.result.figures if figure.name == "effects")


def saved_by_adapting() -> Figure:
    """Ratings per item of DICES by how unsafe raters find it."""
    from benchmarks.adaptive import ratings_by_share

    options = {"x": "share", "y": "ratings", "series": "way", "label": "ratings per item"}
    options["x_label"] = "share of raters who say unsafe"
    return Figure("ratings", "", "", "curve", ratings_by_share(), options)


def looked_at_often() -> Figure:
    """What looking at a study again and again does to its interval."""
    from benchmarks.adaptive import looks

    options = {"x": "ratings", "series": "interval", "label": "alpha", "x_label": "ratings so far"}
    return Figure("looks", "", "", "curve", looks().filter(pl.col("ratings") % 10 == 0), options)


def who_labelled() -> Figure:
    """Whether framing changed, under other choices of whose labels count."""
    from tests.robust.test_worked import MODELS, framing
    from tools.results import published_data
    from vantage.robust import Alternative, Conclusion, Universe, curve, robust
    from vantage.robust.universe import default_universe

    folder = published_data()
    assert folder is not None, "the released data are needed"  # noqa: S101 - of a tool
    whose = {"as claimed": Alternative(), **{one: Alternative(where={"rater": [one]}) for one in MODELS}}
    corpus, options = framing(folder / "people-and-models" / "framing"), {"values": ["since 2018", "before"]}
    about = Conclusion.of("prevalence", {"between": "era", **options}, {"question": ["re2"]})
    choices = {"whose": whose, **default_universe(about, corpus).choices}
    return curve(robust(corpus, about, Universe(choices=choices)))


def stopping() -> Figure:
    """What simulated readers cost that stop early."""
    from benchmarks.readers import figure

    return figure()


CHARTS: Final[dict[str, Callable[[], Figure]]] = {
    "planted": partial(of_demo, "planted"),
    "raters": partial(of_demo, "people"),
    "audit": audited,
    "adaptive-ratings": saved_by_adapting,
    "adaptive-looks": looked_at_often,
    "context-stopping": stopping,
    "robust": who_labelled,
}
"""What computes the data of each chart."""


def scaling() -> str:
    """The curves of docs/scaling.md, from the points that `python -m benchmarks scaling` keeps."""
    from benchmarks.scaling import RECORD, draw

    return draw(json.loads(RECORD.read_text("utf-8")))


def published() -> pl.DataFrame:
    """Some published figures of a study beside recomputed ones."""
    from tools.results import published_data, report

    folder = published_data()
    assert folder is not None, "the released data are needed"  # noqa: S101 - of a tool
    tables = report("wcsent", folder).result.tables
    frame = next(table.frame for table in tables if table.published)
    return frame[list(ROWS)]


@contextmanager
def browser() -> Iterator[Callable[..., Page]]:
    """Opens pages of a size in Chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        yield lambda width, height, sharp=1.0: started.new_page(
            viewport={"width": width, "height": height}, device_scale_factor=sharp, color_scheme="light"
        )
        started.close()


def instrument(open_: Callable[..., Page], folder: Path) -> tuple[Page, str]:
    """One instrument as the page for people and as the prompt for models."""
    corpus = str(planted_corpus().filter(item="n021").write(folder / "corpus"))
    asked = ("--instrument", "warmth-competence")
    prompted = [*VANTAGE, "rate", corpus, *asked, "--question", "trust", "--show", "1"]
    shown = subprocess.run(prompted, capture_output=True, text=True, check=True)  # noqa: S603 - our own command
    served = [*VANTAGE, "collect", corpus, *asked, "--port", str(PORT)]
    server = subprocess.Popen(served, stdout=subprocess.DEVNULL)  # noqa: S603 - our own command
    try:
        address = f"http://127.0.0.1:{PORT}/"
        for _ in range(300):
            try:
                urllib.request.urlopen(address)
                break
            except OSError:
                time.sleep(0.2)
        page = open_(620, 700, 1.5)
        page.goto(address)
        while "/item/" not in page.url:
            page.locator("button").first.click()
            page.wait_for_load_state()
        page.screenshot(path=folder / "page.png")
        words = page.inner_text("body")
    finally:
        server.terminate()
        server.wait()
    (folder / "both.html").write_text(SIDE_BY_SIDE.replace("PROMPT", html.escape(shown.stdout.strip())), "utf-8")
    page = open_(1090, 640, 1.2)
    page.goto((folder / "both.html").as_uri())
    return page, f"{words}\n{page.inner_text('body')}"


def explorer(view: str, open_: Callable[..., Page], folder: Path) -> tuple[Page, str]:
    """A view of the explorer on the planted corpus."""
    from vantage.view import Explorer, export

    (folder / "view.html").write_text(export(Explorer([], planted_corpus)), "utf-8")
    page = open_(1160, 760)
    page.goto(f"{(folder / 'view.html').as_uri()}#/{view}")
    page.wait_for_selector("main:not([aria-busy]) :is(.plot, svg, canvas)")
    return page, page.inner_text("body")


def report_page(open_: Callable[..., Page], folder: Path) -> tuple[Page, str]:
    """Published beside recomputed figures, as a report shows them."""
    from vantage.report.published import published_table

    table = published_table("published", "Printed figures beside recomputed ones.", [])
    frame = pl.read_json(KEPT / "report.json")
    shown = Table(table.name, table.caption, frame, table.columns, table.shown, table.keys, published=True)
    record = Record("wcsent", "Published beside recomputed", [], state="complete")
    section = Section("Published beside recomputed", [], [shown])
    place = Report(record, Result([section], [], [], [])).write(folder / "report")
    page = open_(1000, 620, 1.5)
    page.goto(place.as_uri())
    page.evaluate("() => document.querySelectorAll('header, nav').forEach((one) => one.remove())")
    return page, page.inner_text("table")


PHOTOGRAPHS: Final[dict[str, Callable[[Callable[..., Page], Path], tuple[Page, str]]]] = {
    "instrument": instrument,
    "view-items": partial(explorer, "items?sort=distance&rater=model-b"),
    "view-raters": partial(explorer, "map"),
    "report": report_page,
}
"""Pictures of pages, with the words on them."""


def photographed(name: str, open_: Callable[..., Page]) -> tuple[bytes, str]:
    """A picture of a page, with 64 colours, which is enough for text and charts, and the words on the page."""
    from PIL import Image

    with tempfile.TemporaryDirectory() as folder:
        page, words = PHOTOGRAPHS[name](open_, Path(folder))
        taken = Image.open(io.BytesIO(page.screenshot()))
    small = io.BytesIO()
    taken.convert("RGB").quantize(64).save(small, "png", optimize=True)
    return small.getvalue(), "\n".join(line.strip() for line in words.splitlines() if line.strip()) + "\n"


def photograph() -> None:
    """Takes those pictures of pages anew whose words have changed."""
    with browser() as open_:
        for name in PHOTOGRAPHS:
            picture, words = photographed(name, open_)
            said = KEPT / f"{name}.txt"
            if not said.is_file() or said.read_text("utf-8") != words:
                (IMAGES / f"{name}.png").write_bytes(picture)
                said.write_text(words, "utf-8")


if __name__ == "__main__":
    KEPT.mkdir(exist_ok=True)
    for asked in sys.argv[1:]:
        if asked == "report":
            (KEPT / "report.json").write_text(published().write_json() + "\n", "utf-8")
        else:
            keep(asked, CHARTS[asked]())
            (IMAGES / f"{asked}.svg").write_text(chart(asked), "utf-8")
    photograph()
