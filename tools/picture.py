"""Draws the picture of a report that stands in the README: `python tools/picture.py results/wcsent/report.html`.

Needs the dev dependencies and Chromium.
"""

from __future__ import annotations

import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "images" / "report.png"


def main(report: Path) -> None:
    """Photographs the section on agreement of the wcsent study."""
    PICTURE.parent.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1000, "height": 1200}, device_scale_factor=1.5)
        page.goto(report.resolve().as_uri())
        heading = page.get_by_role("heading", name="Agreement and reliability").bounding_box()
        top = heading["y"] - 30 if heading else 0
        page.screenshot(path=PICTURE, full_page=True, clip={"x": 0, "y": top, "width": 1000, "height": 860})
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
