from __future__ import annotations

import xml.etree.ElementTree as ET

from tests.report.reports import HOSTILE, frame
from vantage.report import Figure
from vantage.report.cells import printable
from vantage.report.style import INK, drawn, inline


def svg(text: str = "trust") -> str:
    return drawn(Figure("a", "c", "alt", "points", frame(text), {"category": "question"}).draw)


def test_a_drawing_has_no_styles_and_takes_the_ink_of_the_page() -> None:
    found = inline(svg(), "figure-a", "in words")
    assert "style" not in found
    assert INK not in found
    assert 'fill="currentColor"' in found
    assert '<title id="figure-a-title">in words</title>' in found
    assert 'aria-labelledby="figure-a-title"' in found


def test_ids_have_a_prefix_so_that_two_drawings_do_not_meet() -> None:
    root = ET.fromstring(inline(svg(), "p", "t"))  # noqa: S314
    ids = [element.attrib["id"] for element in root.iter() if "id" in element.attrib]
    assert ids
    assert all(name.startswith("p-") for name in ids)
    used = [value for element in root.iter() for name, value in element.attrib.items() if name == "href"]
    assert used
    assert all(value.startswith("#p-") for value in used)


def test_text_stays_text_and_harmless() -> None:
    found = inline(svg(HOSTILE), "p", printable(HOSTILE))
    assert "<img" not in found
    assert "</script>" not in found
    assert "&lt;img" in found
