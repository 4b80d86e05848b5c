"""Draws the picture of a report that stands in the README: `python tools/picture.py demo/report.html`.

Needs the dev dependencies and Chromium.
"""

from __future__ import annotations

import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "images" / "report.png"


def main(report: Path) -> None:
    """Photographs the first screen."""
    PICTURE.parent.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1100, "height": 1100}, device_scale_factor=1.25)
        page.goto(report.resolve().as_uri())
        page.screenshot(path=PICTURE)
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
