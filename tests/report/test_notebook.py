from __future__ import annotations

import re

import polars as pl
import pytest
from matplotlib.figure import Figure as Drawing

from tests.notebook.test_html import TAGS, Seen
from tests.report.reports import HOSTILE, report
from vantage.report import Report, Result, Table


@pytest.fixture(scope="module")
def made() -> Report:
    return report(HOSTILE)


def test_every_part_shows_itself_and_nothing_else(made: Report) -> None:
    result = made.result
    for part in (made, result.tables[0], result.figures[0]):
        text = part._repr_html_()
        assert type(text) is str
        plain = re.sub(r"<svg.*?</svg>", "", text, flags=re.DOTALL)
        assert Seen(plain).tags <= TAGS | {"figure", "figcaption"}
        assert "<script" not in text
        assert "onerror=" not in re.sub(r"&lt;.*?&gt;", "", text, flags=re.DOTALL).replace("onerror=&quot;", "")


def test_a_figure_that_is_shown_twice_has_two_names(made: Report) -> None:
    figure = made.result.figures[0]
    texts = [figure._repr_html_() for _ in range(2)]
    first, second = (set(re.findall(r'id="([^"]+)"', text)) for text in texts)
    assert first
    assert not first & second
    # Ink that follows the page, in the light and in the dark.
    assert "currentColor" in texts[0]


def test_a_figure_is_a_matplotlib_object_by_one_call(made: Report) -> None:
    assert isinstance(made.result.figures[0].draw(), Drawing)


def test_a_table_is_a_pandas_frame_by_one_call(made: Report) -> None:
    table = made.result.tables[0]
    found = table.to_pandas()
    assert list(found.columns) == table.frame.columns
    assert len(found) == len(table.frame)


def test_long_tables_are_cut_and_say_so() -> None:
    text = Table("long", "Many.", pl.DataFrame({"n": range(1000)}))._repr_html_()
    assert "The first 20 of 1,000 rows" in text
    assert len(text) < 10_000


def test_an_empty_result_shows() -> None:
    assert "Result" in Result([])._repr_html_()
