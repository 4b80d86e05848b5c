from __future__ import annotations

import logging

import matplotlib as mpl
import pytest
from matplotlib import font_manager

from tests.report.reports import HOSTILE, frame
from vantage.report import Figure
from vantage.report.style import FAINT, PALETTE, PEOPLE, colours, drawn, markers, printed, short


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
    assert printed(figure.draw) == printed(figure.draw)


def test_hostile_labels_make_a_sound_figure() -> None:
    figure = Figure("a", "c", "alt", "points", frame(HOSTILE), {"category": "question", "label": HOSTILE})
    assert "<img" not in drawn(figure.draw)
    assert printed(figure.draw).startswith(b"%PDF")


def test_a_missing_font_is_no_reason_to_fail(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(font_manager.fontManager.__class__, "get_font_names", lambda self: [])
    with caplog.at_level(logging.WARNING):
        svg = drawn(Figure("a", "c", "alt", "points", frame("日本"), {"category": "question"}).draw)
    assert "日本" in svg


def test_labels_are_short_and_on_one_line() -> None:
    assert short("a\nb\x00" + "x" * 100) == "a b�" + "x" * 35 + "…"
    assert short(3.0) == "3"
    assert short(None) == "–"


def test_colours_and_markers_go_together() -> None:
    assert len(set(markers(range(8)).values())) == 8
    assert len(set(colours(["people", *range(7)]).values())) == 8
    assert colours(["a", "people"])["people"] == PEOPLE


def test_a_series_has_one_colour_through_all_figures_of_a_report() -> None:
    """Unless two that are drawn together would share it."""
    assert colours(["m1", "m2", "people"])["m1"] == colours(["people", "m1"])["m1"]
    for several in (["m1", "m2", "m3"], ["a", "b", "c", "d", "e", "f", "g", "people"]):
        assert len(set(colours(several).values())) == len(several)


def test_a_theme_that_someone_set_does_not_change_a_figure() -> None:
    figure = Figure("a", "c", "alt", "points", frame(), {"category": "question"})
    with mpl.rc_context({"ytick.major.size": 0, "xtick.major.size": 9, "axes.xmargin": 0.4, "xtick.direction": "in"}):
        themed = drawn(figure.draw)
        assert mpl.rcParams["xtick.major.size"] == 9
    assert themed == drawn(figure.draw)
