"""Alpha under resampling of raters, against tables in which the copies are written out."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from vantage.measures.agreement.alpha import alpha, coefficient_over_raters
from vantage.measures.agreement.differences import difference
from vantage.measures.intervals import Bootstrap
from vantage.measures.rater_bootstrap import Answers, Resamples
from vantage.measures.ratings import judgments_frame
from vantage.scales import Level

N = float("nan")
LEVELS: tuple[Level, ...] = get_args(Level)
TABLES = arrays(
    np.float64,
    st.tuples(st.integers(2, 4), st.integers(2, 5)),
    elements=st.sampled_from([0.0, 1.0, 2.0, 4.0, N]),
)


def weighted(table: NDArray[np.float64], copies: list[int], drawn: list[int], level: Level) -> float:
    answers = Answers.of(judgments_frame(table))
    formula = coefficient_over_raters(difference(level, answers.values))
    columns = (np.array(times, dtype=np.float64)[:, None] for times in (copies, drawn))
    return float(formula(Resamples(answers, *columns))[0])


def written_out(table: NDArray[np.float64], copies: list[int], drawn: list[int], level: Level) -> float:
    """Alpha with every copy of an answer written out, and none paired with a copy of itself."""
    units = []
    for item, times in enumerate(drawn):
        answered = [(r, float(table[r, item])) for r in range(len(table)) if not np.isnan(table[r, item])]
        unit = [answer for answer in answered for _ in range(copies[answer[0]])]
        if len({r for r, _ in unit}) > 1:
            units += [unit] * times
    values = [v for unit in units for _, v in unit]
    n = len(values)
    codes = np.array(sorted(set(values)))
    marginal = np.array([values.count(code) for code in codes])
    rank = np.cumsum(marginal) - marginal / 2

    def delta(a: float, b: float) -> float:
        if level == "nominal":
            return float(a != b)
        if level == "interval":
            return (a - b) ** 2
        if level == "ratio":
            return ((a - b) / (a + b)) ** 2 if a + b else 0.0
        return float(rank[codes.tolist().index(a)] - rank[codes.tolist().index(b)]) ** 2

    observed = 0.0
    for unit in units:
        for r, v in unit:
            others = [w for s, w in unit if s != r]
            observed += float(np.mean([delta(v, w) for w in others]))
    expected = sum(delta(a, b) for a in values for b in values)
    return 1 - (n - 1) * observed / expected if expected else N


@pytest.mark.parametrize("level", LEVELS)
@given(table=TABLES, data=st.data())
@settings(max_examples=25, deadline=None)
def test_weights_equal_copies_written_out(level: Level, table: NDArray[np.float64], data: st.DataObject) -> None:
    table = table[~np.isnan(table).all(axis=1)][:, ~np.isnan(table).all(axis=0)]
    if not table.size:
        return
    copies = data.draw(st.lists(st.integers(0, 3), min_size=len(table), max_size=len(table)))
    drawn = data.draw(st.lists(st.integers(0, 2), min_size=table.shape[1], max_size=table.shape[1]))
    result = weighted(table, copies, drawn, level)
    assert result == pytest.approx(written_out(table, copies, drawn, level), abs=1e-9, nan_ok=True)


@pytest.mark.parametrize("level", LEVELS)
def test_everyone_drawn_once_is_alpha(level: Level) -> None:
    rng = np.random.default_rng(0)
    table = np.clip(rng.integers(0, 5, 30) + rng.integers(-1, 2, (6, 30)), 0, 5).astype(float)
    table[rng.random(table.shape) < 0.4] = N
    expected = alpha(table, level=level, ci="none")["estimate"][0]
    assert weighted(table, [1] * 6, [1] * 30, level) == pytest.approx(expected)


def test_bounds() -> None:
    rng = np.random.default_rng(1)
    answers = Answers.of(judgments_frame(rng.normal(0, 1, 60) + rng.normal(0, 1, (12, 60))))
    formula = coefficient_over_raters(difference("interval", answers.values))
    options: dict[str, Any] = {"resamples": 200, "over": ("raters", "both")}
    over_raters = answers.interval(formula, Bootstrap("raters", **options))
    again = answers.interval(formula, Bootstrap("raters", **options))
    corrected = answers.interval(formula, Bootstrap("raters", "bca", **options))
    assert over_raters == again
    assert corrected["low"] == pytest.approx(over_raters["low"], abs=0.1)


@pytest.mark.parametrize(
    ("level", "ci", "interval", "low", "high"),
    [
        ("nominal", "raters", "percentile", 0.2751185, 0.5457787),
        ("ordinal", "raters", "bca", 0.7356417, 0.8732715),
        ("ratio", "raters", "bca", 0.4812490, 0.7670432),
    ],
)
def test_the_same_seed_gives_the_same_bounds_as_ever(
    level: Any, ci: Any, interval: Any, low: float, high: float
) -> None:
    rng = np.random.default_rng(2)
    table = np.clip(rng.integers(0, 5, 40) + rng.integers(-1, 2, (7, 40)), 0, 4).astype(float)
    table[rng.random(table.shape) < 0.3] = N
    found = alpha(table, level=level, ci=ci, interval=interval, resamples=100)
    assert found.select("low", "high").row(0) == pytest.approx((low, high), abs=1e-6)
