from __future__ import annotations

import logging

import matplotlib as mpl
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib import font_manager

from tests.report.reports import HOSTILE, frame
from vantage.report import Figure
from vantage.report.charts import palette
from vantage.report.style import FAINT, PALETTE, PEOPLE, assigned, colours, drawn, markers, short


def contrast(first: str, second: str) -> float:
    """The contrast of two colours by WCAG 2."""
    light, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("colour", [*PALETTE, FAINT])
def test_colours_stand_out_in_the_light_and_in_the_dark(colour: str) -> None:
    assert contrast(colour, "#ffffff") >= 3
    assert contrast(colour, "#15181d") >= 3


def test_the_same_figure_gives_the_same_bytes() -> None:
    figure = Figure("a", "c", "alt", "points", frame(), {"category": "question"})
    assert drawn(figure.draw) == drawn(figure.draw)


def test_hostile_labels_make_a_sound_figure() -> None:
    figure = Figure("a", "c", "alt", "points", frame(HOSTILE), {"category": "question", "label": HOSTILE})
    files = drawn(figure.draw)
    assert "<img" not in files.svg
    assert files.pdf.startswith(b"%PDF")


def test_a_missing_font_is_no_reason_to_fail(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(font_manager.fontManager.__class__, "get_font_names", lambda self: [])
    with caplog.at_level(logging.WARNING):
        files = drawn(Figure("a", "c", "alt", "points", frame("日本"), {"category": "question"}).draw)
    assert "日本" in files.svg


def test_labels_are_short_and_on_one_line() -> None:
    assert short("a\nb\x00" + "x" * 100) == "a b�" + "x" * 35 + "…"
    assert short(3.0) == "3"
    assert short(None) == "–"


def test_colours_and_markers_go_together() -> None:
    assert len(set(markers(range(8)).values())) == 8
    assert len(set(colours(["people", *range(7)]).values())) == 8
    assert colours(["a", "people"])["people"] == PEOPLE


@settings(max_examples=60)
@given(st.lists(st.lists(st.sampled_from(["people", *"abcdefghij"]), unique=True, max_size=8), max_size=6))
def test_a_name_keeps_its_colour_and_no_two_in_a_figure_share_one(groups: list[list[str]]) -> None:
    found = assigned(groups)
    assert set(found) == {name for names in groups for name in names}
    assert found.get("people", PEOPLE) == PEOPLE
    if sum(map(len, groups)) <= len(PALETTE):
        for names in groups:
            assert len({found[name] for name in names}) == len(names)


def test_a_series_has_one_colour_through_all_figures_of_a_report() -> None:
    first = pl.DataFrame({"q": ["x"] * 3, "who": ["m1", "m2", "people"], "estimate": [0.1, 0.2, 0.3]})
    figures = [
        Figure("one", "c", chart="points", data=first, options={"category": "q", "series": "who"}),
        Figure("two", "c", chart="points", data=first.reverse(), options={"category": "q", "series": "who"}),
        Figure("three", "c", chart="points", data=first[1:2], options={"category": "who"}),
    ]
    found = palette(figures)
    assert found["people"] == PEOPLE
    svgs = [drawn(figure.draw, found).svg for figure in figures]
    for name in ("m1", "m2", "people"):
        assert all(found[name] in svg for svg in svgs[:2])
    assert found["m2"] in svgs[2]
    assert found["m1"] not in svgs[2]


def test_a_theme_that_someone_set_does_not_change_a_figure() -> None:
    figure = Figure("a", "c", "alt", "points", frame(), {"category": "question"})
    with mpl.rc_context({"ytick.major.size": 0, "xtick.major.size": 9, "axes.xmargin": 0.4, "xtick.direction": "in"}):
        themed = drawn(figure.draw)
        assert mpl.rcParams["xtick.major.size"] == 9
    assert themed == drawn(figure.draw)
