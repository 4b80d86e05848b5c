from __future__ import annotations

import itertools

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.text import Text

from vantage.report.charts import draw
from vantage.report.style import figure_style


def boxes(points: int, seed: int) -> tuple[list[tuple[float, ...]], int]:
    """The places of all labels on a map, in pixels, and how many of them lie inside the axes."""
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "group": [f"group number {i}" for i in range(points)],
            "x": rng.normal(size=points),
            "y": rng.normal(size=points),
        }
    )
    with figure_style():
        figure = draw("map", frame, {"x": "x", "y": "y", "height": 5.0})
        figure.draw_without_rendering()
        axes = figure.axes[0]
        # The box of the words alone, without the line that leads to them.
        found = [Text.get_window_extent(text).extents for text in axes.texts]
        room = axes.get_window_extent().padded(2)
        inside = sum(room.contains(box[0], box[1]) and room.contains(box[2], box[3]) for box in found)
    return [tuple(box) for box in found], inside


def overlapping(found: list[tuple[float, ...]]) -> int:
    return sum(a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3] for a, b in itertools.combinations(found, 2))


@settings(max_examples=5)
@given(st.integers(0, 1000))
def test_twenty_four_labels_do_not_cover_each_other(seed: int) -> None:
    found, inside = boxes(24, seed)
    assert len(found) == 24
    assert overlapping(found) == 0
    assert inside == 24


def test_a_crowd_of_a_hundred_is_mostly_readable() -> None:
    found, _ = boxes(100, 1)
    assert overlapping(found) <= 10


def test_labels_at_one_place_are_spread() -> None:
    frame = pl.DataFrame({"group": ["a", "b", "c"], "x": [1.0] * 3, "y": [1.0] * 3})
    figure = draw("map", frame, {"x": "x", "y": "y"})
    figure.draw_without_rendering()
    found = [tuple(Text.get_window_extent(text).extents) for text in figure.axes[0].texts]
    assert overlapping(found) == 0


def test_the_legend_and_the_label_of_the_axis_do_not_overlap() -> None:
    frame = pl.DataFrame({"q": ["a", "a", "b", "b"], "model": ["x", "y", "x", "y"], "estimate": [0.1, 0.2, 0.3, 0.4]})
    how = {"category": "q", "series": "model", "label": "score"}
    figure = draw("points", frame, how)
    figure.draw_without_rendering()
    (label,), (legend,) = figure.texts, figure.legends
    assert label.get_text() == "score"
    boxes = [tuple(one.get_window_extent().extents) for one in (label, legend)]
    assert overlapping(boxes) == 0
    alone = draw("points", frame.filter(model="x"), how)
    assert ([text.get_text() for text in alone.texts], alone.legends) == (["score"], [])
