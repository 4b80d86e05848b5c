"""One mark for a distribution, in every place."""

from __future__ import annotations

import polars as pl

from tests.report.reports import HOSTILE
from vantage.report import Table
from vantage.report.marks import blocks, mark, svg, words
from vantage.report.notebook import shown
from vantage.report.page import table_view, template


def test_votes_are_counted_and_shares_are_percentages() -> None:
    assert words(mark("12", [3, 1])) == "1 ×3, 2 ×1"
    assert words(mark("12", [0.25, 0.75])) == "1 25 %, 2 75 %"
    assert blocks(mark("123", [0, 1, 8])) == " ▁█"
    assert blocks(mark("12", [0, 0])) == "  "


def test_the_tallest_bar_is_the_most_frequent_answer() -> None:
    drawn = svg(mark("123", [2, 0, 4]))
    assert [part.split('"')[0] for part in drawn.split('height="')[2:]] == ["13.0", "26.0"]
    assert 'aria-label="1 ×2, 3 ×4"' in drawn
    assert "<small>" in svg(mark(["not hateful", "hateful"], [1, 1])), "long names stand beside it"


def test_hostile_answers_are_text_everywhere() -> None:
    table = Table("a", "c", pl.DataFrame({"text": ["x"], "answers": [mark([HOSTILE, "b"], [1, 2])]}))
    page = str(template("parts.html").module.show({**table_view(table), "number": 1, "above": False}))
    for html in (page, str(shown(table))):
        assert "<svg" in html
        assert "<script" not in html


def test_many_answers_with_long_names_are_told_by_their_ends_and_named_for_readers_of_screens() -> None:
    names = [f"{low} to {low + 10}" for low in range(0, 100, 10)]
    drawing = svg(mark(names, [1.0] * 10))
    assert drawing.endswith("<small>0 to 10 … 90 to 100</small>")
    assert 'aria-label="0 to 10 ×1, 10 to 20 ×1' in drawing
