from __future__ import annotations

import io
from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib.collections import LineCollection

from tests.report.reports import HOSTILE
from vantage.errors import InputError
from vantage.report import Figure
from vantage.report.charts import CHARTS, draw

RNG = np.random.default_rng(0)
NAMES = ["trust", "skill", HOSTILE]
ROWS = pl.DataFrame(
    {
        "name": NAMES * 2,
        "series": ["people"] * 3 + ["model"] * 3,
        "stage": ["first"] * 3 + [HOSTILE] * 3,
        "estimate": [0.5, 0.4, 0.3, 0.2, 0.6, None],
        "low": [0.4, 0.3, 0.2, 0.1, 0.5, None],
        "high": [0.6, 0.5, 0.4, 0.3, 0.7, None],
        "rank": [1, 2, 3, 3, 1, 2],
        "count": [3, 0, 5, 1, 2, None],
        "x": [1, 2, 3, 1, 2, 3],
        "facet": ["person", "model", "item"] * 2,
    }
)
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "map": ("map", {"x": "estimate", "y": "low", "name": "name", "cluster": "series", "centres": True}),
    "panels": ("map", {"x": "estimate", "y": "low", "name": "name", "panel": "series"}),
    "points": ("points", {"category": "name", "series": "series", "reference": 0.0, "reference_label": HOSTILE}),
    "bars": ("points", {"category": "name", "series": "series", "bars": True, "limits": (0, 1)}),
    "shares": ("shares", {"category": "name", "part": "series", "value": "count", "order": ["model", "people"]}),
    "scale": ("shares", {"category": "name", "part": "x", "value": "count"}),
    "box": ("distribution", {"value": "estimate", "category": "series"}),
    "violin": ("distribution", {"value": "estimate", "category": "name", "kind": "violin"}),
    "heat": ("heat", {"row": "name", "column": "series", "diverging": True}),
    "estimates": ("points", {"category": "series", "panel": "name"}),
    "bump": ("bump", {"who": "name", "stage": "stage", "highlight": ["trust"]}),
    "lattice": ("lattice", {"sets": "name", "panel": "series"}),
    "forest": ("points", {"category": "name", "expected": "high", "panel": "series", "reference": "low"}),
    "wright": ("wright", {"value": "estimate"}),
    "spectrum": (
        "spectrum",
        {"part": "name", "value": "estimate", "series": "series", "column": "x", "disagreement": "low"},
    ),
    "specifications": ("specifications", {"verdict": "series", "decisions": ["name", "stage"], "reference": 0.0}),
    "curve": ("curve", {"x": "x", "series": "series", "reference": 0.5, "limits": (0, 1)}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_chart_draws_real_and_hostile_data(kind: str) -> None:
    chart, options = KINDS[kind]
    figure = draw(chart, ROWS, options)
    file = io.BytesIO()
    figure.savefig(file, format="svg")
    assert b"trust" in file.getvalue() or kind in ("box", "curve")
    assert b"<img" not in file.getvalue()


@pytest.mark.parametrize("kind", KINDS)
def test_a_chart_without_data_says_so(kind: str) -> None:
    chart, options = KINDS[kind]
    figure = draw(chart, ROWS.clear(), options)
    assert "There are no data to draw." in [text.get_text() for axes in figure.axes for text in axes.texts]


@pytest.mark.parametrize("kind", KINDS)
def test_a_column_that_is_not_there_is_named(kind: str) -> None:
    chart, options = KINDS[kind]
    with pytest.raises(InputError, match="have no column 'nowhere'"):
        draw(chart, ROWS, {**options, next(iter(options)): "nowhere"})


def test_every_chart_is_tried() -> None:
    assert {chart for chart, _ in KINDS.values()} == set(CHARTS)


def test_unknown_charts_and_options_are_named() -> None:
    with pytest.raises(InputError, match="did you mean 'points'"):
        draw("point", ROWS, {})
    with pytest.raises(InputError, match="unexpected keyword argument 'colour'"):
        draw("points", ROWS, {"category": "name", "colour": "red"})


def test_intervals_stand_where_they_are() -> None:
    figure = draw("points", ROWS.head(2), {"category": "name"})
    (lines,) = (one for one in figure.axes[0].collections if isinstance(one, LineCollection))
    assert [segment[:, 0].tolist() for segment in lines.get_segments()] == [[0.4, 0.6], [0.3, 0.5]]


def test_shares_add_up_to_one() -> None:
    figure = draw("shares", ROWS, {"category": "name", "part": "series", "value": "count"})
    widths = np.array([[bar.get_width() for bar in container] for container in figure.axes[0].containers])
    assert widths.sum(axis=0).tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("chart", "options"),
    [
        ("points", {"category": "name", "series": "series"}),
        ("points", {"category": "name", "series": "series", "bars": True}),
        ("curve", {"x": "x", "series": "series"}),
        ("map", {"x": "x", "y": "estimate", "name": "name", "cluster": "series"}),
    ],
)
def test_more_series_than_colours_get_a_panel_each(chart: str, options: dict[str, Any]) -> None:
    rows = [{"name": f"n{n}", "series": f"s{s}", "x": n, "estimate": float(s + n)} for s in range(11) for n in range(3)]
    figure = draw(chart, pl.DataFrame(rows), options)
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert [title for title in titles if title] == [f"s{s}" for s in range(11)]
    assert len({axes.get_ylim() for axes in figure.axes if axes.axison}) == 1
    assert figure.legends == []


def test_maps_that_are_compared_share_axes() -> None:
    rng = np.random.default_rng(1)
    rows = [{"who": "people", "group": f"g{n}", "warmth": n / 2, "competence": 5 - n / 2} for n in range(10)]
    rows += [
        {"who": "model", "group": f"g{n}", "warmth": 3 + 0.1 * rng.random(), "competence": 3 + 0.1 * rng.random()}
        for n in range(10)
    ]
    frame = pl.DataFrame(rows).with_columns(warmth_low=pl.col("warmth") - 0.3, warmth_high=pl.col("warmth") + 0.3)
    figure = draw("map", frame, {"panel": "who"})
    people, model = figure.axes
    assert (people.get_xlim(), people.get_ylim()) == (model.get_xlim(), model.get_ylim())
    assert (len(people.texts), len(model.texts)) == (10, 10)
    (crosses,) = (one for one in people.collections if isinstance(one, LineCollection))
    assert crosses.get_segments()[0].tolist() == [[5.0, -0.3], [5.0, 0.3]]


@pytest.mark.parametrize("kind", KINDS)
def test_every_chart_is_told_in_words(kind: str) -> None:
    chart, options = KINDS[kind]
    told = Figure("a", "c", chart=chart, data=ROWS, options=options).in_words
    value = options.get("value") or {"map": "low", "bump": "rank"}.get(chart, "estimate")
    assert f"{ROWS[value].count()} points; the lowest is" in told
    assert told.endswith(".")
    assert Figure("a", "c", chart=chart, data=ROWS.clear(), options=options).in_words.endswith("There are no data.")
    assert Figure("a", "c", "Mine.", chart, ROWS, options).in_words == "Mine."


def test_what_has_no_estimate_is_not_drawn_as_an_empty_row_or_series() -> None:
    frame = pl.DataFrame({"name": ["a", "b"], "kind": ["x", None], "estimate": [0.5, None]})
    figure = draw("points", frame, {"category": "name", "series": "kind"})
    assert [tick.get_text() for tick in figure.axes[0].get_yticklabels()] == ["a"]
    assert figure.legends == []


def test_cells_have_no_negative_zero_and_a_true_minus() -> None:
    frame = pl.DataFrame({"row": ["a", "a"], "column": ["b", "c"], "estimate": [-0.004, -1.0]})
    figure = draw("heat", frame, {"row": "row", "column": "column", "digits": 1})
    assert [text.get_text() for text in figure.axes[0].texts] == ["0.0", "−1.0"]
