"""Makes the pictures of the README and the documentation from real output: `python -m tools.pictures [REPORT]`.

Figures come from the demo's report, with a white ground so that they are readable on dark pages too. The picture of one
instrument as page and prompt is a screenshot of the annotation server beside what `vantage rate --show 1` prints; it
needs Chromium and Playwright. Given the `report.html` of `vantage study wcsent`, it also photographs what that
recomputes of the paper.
"""

from __future__ import annotations

import html
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Final

from vantage.corpora.bundled import demo_corpus, planted_corpus
from vantage.studies import run

IMAGES: Final = Path(__file__).resolve().parents[1] / "docs" / "images"
FIGURES: Final = {"planted": "planted", "people": "raters"}
"""Figures of the demo and the names of their pictures."""
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


def figures(folder: Path) -> None:
    """The figures of the demo."""
    run("demo", out=folder / "demo")
    for name, picture in FIGURES.items():
        grounded(folder / "demo" / "figures" / f"{name}.svg", picture)


def audited(folder: Path) -> None:
    """The effects that an audit of the embedded model finds on the demo corpus, as docs/audit.md shows them."""
    corpus = str(demo_corpus().write(folder / "asked"))
    varied = ("--style", "scoring", "--vary", "order,labels=numbers/letters,direction,wording", "--balanced")
    asked = ("rate", corpus, "--instrument", "warmth-competence", "--question", "trust", *varied)
    for words in (asked, ("audit", corpus, "--where", "question=trust", "--out", str(folder / "audit"))):
        subprocess.run([*VANTAGE, *words], check=True)  # noqa: S603 - our own command
    grounded(folder / "audit" / "figures" / "effects.svg", "audit")


def adaptive(folder: Path) -> None:
    """What adapting saves on DICES and what looking often does, as docs/adaptive.md shows them; needs the data."""
    from benchmarks.adaptive import looks, ratings_by_share
    from vantage.report.charts import draw
    from vantage.report.style import drawn

    by_share: dict[str, object] = {"x": "share", "y": "ratings", "series": "way", "label": "ratings per item"}
    by_share["x_label"] = "share of raters who say unsafe"
    by_look = {"x": "ratings", "series": "interval", "label": "alpha", "x_label": "ratings so far"}
    for picture, data, options in (
        ("adaptive-ratings", ratings_by_share(), by_share),
        ("adaptive-looks", looks(), by_look),
    ):
        (folder / f"{picture}.svg").write_text(drawn(lambda d=data, o=options: draw("curve", d, o)).svg, "utf-8")  # type: ignore[misc]
        grounded(folder / f"{picture}.svg", picture)


def grounded(figure: Path, picture: str) -> None:
    """Copies a figure with a white ground and without its metadata."""
    ground = '<rect width="100%" height="100%" fill="white"/>'
    svg = re.sub(r"<metadata>.*?</metadata>", "", figure.read_text("utf-8"), flags=re.DOTALL)
    (IMAGES / f"{picture}.svg").write_text(re.sub(r"(<svg[^>]*>)", rf"\1{ground}", svg, count=1), "utf-8")


def page_and_prompt(folder: Path) -> None:
    """One instrument as the page for people and as the prompt for models."""
    from playwright.sync_api import sync_playwright

    corpus = str(planted_corpus().filter(item="n021").write(folder / "corpus"))
    asked = ("--instrument", "warmth-competence")
    shown = subprocess.run(  # noqa: S603 - our own command
        [*VANTAGE, "rate", corpus, *asked, "--question", "trust", "--show", "1"],
        capture_output=True,
        text=True,
        check=True,
    )
    served = [*VANTAGE, "collect", corpus, *asked, "--port", str(PORT)]
    server = subprocess.Popen(served, stdout=subprocess.DEVNULL)  # noqa: S603 - our own command
    try:
        address = f"http://127.0.0.1:{PORT}/"
        for _ in range(100):
            try:
                urllib.request.urlopen(address)
                break
            except OSError:
                time.sleep(0.2)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 620, "height": 700}, device_scale_factor=1.5)
            page.goto(address)
            while "/item/" not in page.url:
                page.locator("button").first.click()
                page.wait_for_load_state()
            page.screenshot(path=folder / "page.png", full_page=False)
            prompt = shown.stdout.strip()
            (folder / "both.html").write_text(SIDE_BY_SIDE.replace("PROMPT", html.escape(prompt)), "utf-8")
            page = browser.new_page(viewport={"width": 1090, "height": 640}, device_scale_factor=1.2)
            page.goto(f"file://{folder / 'both.html'}")
            page.screenshot(path=IMAGES / "instrument.png")
            small(IMAGES / "instrument.png")
            browser.close()
    finally:
        server.terminate()


def explorer(folder: Path) -> None:
    """Two views of the explorer on the demo, whose report `figures` has written."""
    from playwright.sync_api import sync_playwright

    served = [*VANTAGE, "view", str(folder / "demo"), "--no-open"]
    server = subprocess.Popen(served, stderr=subprocess.PIPE, text=True)  # noqa: S603 - our own command
    try:
        line = server.stderr.readline() if server.stderr else ""
        address = line.removeprefix("Look at ").strip()
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1160, "height": 760})
            page.goto(address)
            for view, picture in (
                ("items?sort=distance&rater=model-b", "view-items"),
                ("map", "view-raters"),
            ):
                page.goto(f"{address.partition('/?')[0]}/#/{view}")
                page.wait_for_timeout(3000)
                page.screenshot(path=IMAGES / f"{picture}.png")
                small(IMAGES / f"{picture}.png")
            browser.close()
    finally:
        server.terminate()


def small(picture: Path) -> None:
    """Writes a picture again with 64 colours, which is enough for text and charts."""
    from PIL import Image

    Image.open(picture).convert("RGB").quantize(64).save(picture, optimize=True)


def report(path: Path) -> None:
    """What the wcsent study recomputes of its paper."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1000, "height": 1200}, device_scale_factor=1.5)
        page.goto(path.resolve().as_uri())
        heading = page.get_by_role("heading", name="Published beside recomputed").bounding_box()
        top = heading["y"] - 30 if heading else 0
        page.screenshot(
            path=IMAGES / "report.png", full_page=True, clip={"x": 0, "y": top, "width": 1000, "height": 620}
        )
        small(IMAGES / "report.png")
        browser.close()


if __name__ == "__main__":
    for written in sys.argv[1:]:
        report(Path(written))
    with tempfile.TemporaryDirectory() as work:
        figures(Path(work))
        audited(Path(work))
        adaptive(Path(work))
        page_and_prompt(Path(work))
        explorer(Path(work))
