"""Matrices and the statistics on them, against SciPy and by hand."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import stats

from vantage.studies.appraisals.coding import agreed_blanks, correlation, delta, first_integer, lines, matrix


@pytest.mark.parametrize(
    ("reply", "value"),
    [("7", 7), ("7.5", 7), ("NA 3", 3), ("2020: 4", 0), ("10", 0), ("0", 0), ("COVID-19, so 8", 0), ("", 0), (None, 0)],
)
def test_the_rule_of_the_release(reply: str | None, value: float) -> None:
    assert first_integer(reply) == value


def test_blanks_are_zero_or_missing_and_unparsed_is_always_missing() -> None:
    frame = pl.DataFrame(
        {
            "item": ["a", "a", "b", "b"],
            "question": ["p", "p", "p", "q"],
            "value": [4.0, None, None, 2.0],
            "status": ["answered", "not_mentioned", "unparsed", "answered"],
        }
    )
    assert matrix(frame, ["a", "b"], ["p", "q"], 0.0)[0, 0] == 2.0
    plain = matrix(frame, ["a", "b"], ["p", "q"], None)
    assert plain[0, 0] == 4.0
    assert np.isnan(plain[1, 0])
    assert plain[1, 1] == 2.0


def test_correlations_along_each_way_are_scipys() -> None:
    rng = np.random.default_rng(0)
    one = rng.normal(size=(9, 4))
    two = one + rng.normal(size=(9, 4))
    told = [stats.pearsonr(one[:, k], two[:, k]) for k in range(4)]
    found = correlation(one, two, "questions")
    assert found.r == pytest.approx(np.mean([t.statistic for t in told]))
    assert found.p == pytest.approx(np.mean([t.pvalue for t in told]))
    assert lines(one, two, "questions") == pytest.approx([t.statistic for t in told])
    posts = np.mean([stats.spearmanr(one[k], two[k]).statistic for k in range(9)])
    assert correlation(one, two, "posts", "spearman").r == pytest.approx(posts)
    assert correlation(one, two, "all").r == pytest.approx(stats.pearsonr(one.ravel(), two.ravel()).statistic)


def test_constant_and_missing_lines_are_left_out() -> None:
    one = np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0], [np.nan, 5.0]])
    two = np.array([[1.0, 1.0], [2.0, 2.0], [4.0, 3.0], [9.0, 4.0]])
    found = correlation(one, two, "questions")
    assert found.defined == 1
    assert lines(one, two, "questions") == [pytest.approx(found.r), None]
    assert correlation(one[:, 1:], two[:, 1:], "questions").r is None
    assert delta(np.full((2, 2), np.nan), np.ones((2, 2))) is None


def test_kappas_of_blanks() -> None:
    one, two = np.array([True, True, False, False]), np.array([True, False, False, False])
    randolph, fleiss = agreed_blanks(one, two)
    assert randolph == pytest.approx(0.5)
    assert fleiss == pytest.approx((0.75 - (0.375**2 + 0.625**2)) / (1 - (0.375**2 + 0.625**2)))
    assert agreed_blanks(np.zeros(3, dtype=bool), np.zeros(3, dtype=bool)) == (1.0, None)
