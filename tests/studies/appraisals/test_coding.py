"""Matrices and the statistics on them, against SciPy and by hand; intervals over posts against drawing rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest
from scipy import stats

from vantage.measures.intervals import percentile, weights
from vantage.measures.ratings import Floats
from vantage.measures.resampling import Resampling
from vantage.studies.appraisals.coding import (
    STATISTICS,
    Weighted,
    clustered,
    compared,
    correlation,
    difference,
    first_integer,
    kappa,
    matrix,
    mean_p,
    places,
)

HOW = Resampling(resamples=40, seed=3)


def value(statistic: Weighted, posts: int) -> float:
    return float(statistic(np.ones((1, posts)))[0])


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
    assert value(correlation(one, two), 9) == pytest.approx(np.mean([t.statistic for t in told]))
    p, defined = mean_p(one, two, "questions")
    assert p == pytest.approx(np.mean([t.pvalue for t in told]))
    assert defined == 4
    posts = np.mean([stats.spearmanr(one[k], two[k]).statistic for k in range(9)])
    assert value(correlation(one, two, "posts", "spearman"), 9) == pytest.approx(posts)
    everything = stats.pearsonr(one.ravel(), two.ravel()).statistic
    assert value(correlation(one, two, "all"), 9) == pytest.approx(everything)


def test_constant_and_missing_lines_are_left_out() -> None:
    one = np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0], [np.nan, 5.0]])
    two = np.array([[1.0, 1.0], [2.0, 2.0], [4.0, 3.0], [9.0, 4.0]])
    assert mean_p(one, two, "questions")[1] == 1
    assert value(correlation(one, two), 4) == pytest.approx(stats.pearsonr([1, 2, 3], [1, 2, 4]).statistic)
    nothing = compared([one[:, 1:]], two[:, 1:], ["per_question"], HOW)
    assert nothing == {"per_question": None, "per_question_low": None, "per_question_high": None}
    assert compared([np.full((2, 2), np.nan)], np.ones((2, 2)), ["delta"], HOW)["delta"] is None


def test_kappas_of_blanks() -> None:
    one, two = np.array([[0.0, 0.0, 3.0, 4.0]]), np.array([[0.0, 5.0, 6.0, 7.0]])
    assert value(kappa(one, two, "randolph"), 1) == pytest.approx(0.5)
    chance = 0.375**2 + 0.625**2
    assert value(kappa(one, two, "fleiss"), 1) == pytest.approx((0.75 - chance) / (1 - chance))
    assert value(kappa(np.ones((1, 3)), np.ones((1, 3)), "randolph"), 1) == 1.0
    assert np.isnan(value(kappa(np.ones((1, 3)), np.ones((1, 3)), "fleiss"), 1))


def two_raters() -> tuple[Floats, Floats]:
    rng = np.random.default_rng(1)
    one = rng.integers(0, 10, (15, 4)).astype(np.float64)
    two = np.clip(one + rng.integers(-3, 4, one.shape), 0, 9)
    one[rng.random(one.shape) < 0.1] = np.nan
    return one, two


def drawn_rows() -> list[list[int]]:
    """The same resamples as lists of rows."""
    blocks = np.concatenate(list(weights(15, HOW.resamples, HOW.seed)))
    return [np.repeat(np.arange(15), row.astype(int)).tolist() for row in blocks]


@pytest.mark.parametrize("name", list(STATISTICS))
def test_intervals_are_those_of_drawn_rows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # As if every statistic jumped: its interval is then that of resamples.
    monkeypatch.setattr("vantage.measures.resampling.Jumping", tuple)
    one, two = two_raters()
    statistic: Callable[[Floats, Floats], Weighted] = STATISTICS[name]
    told = [value(statistic(one[rows], two[rows]), len(rows)) for rows in drawn_rows()]
    found = compared([one], two, [name], HOW)
    assert (found[f"{name}_low"], found[f"{name}_high"]) == pytest.approx(percentile(np.array(told)))
    assert found[name] == pytest.approx(value(statistic(one, two), 15))


def test_runs_are_averaged() -> None:
    one, two = two_raters()
    found = compared([one, two], two, ["delta"], HOW)
    assert found["delta"] == pytest.approx(value(difference(one, two), 15) / 2)


def test_with_one_post_there_is_no_interval() -> None:
    one, two = two_raters()
    assert compared([two[:1]], two[:1], ["delta"], HOW) == {"delta": 0.0, "delta_low": None, "delta_high": None}
    assert compared([one[:0]], two[:0], ["delta"], HOW)["delta"] is None
    assert clustered(np.arange(4.0), np.arange(4.0), np.arange(4), Resampling("none")) == ((None, None), None)


def test_p_values_know_that_texts_share_posts() -> None:
    # Every text counts five times: as single texts they would be five times the evidence, as posts they are not.
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=30), rng.normal(size=30)
    y += 0.3 * x
    how = Resampling(resamples=400)
    bounds, p = clustered(x, y, np.arange(30), how)
    again, repeated = clustered(np.repeat(x, 5), np.repeat(y, 5), np.repeat(np.arange(30), 5), how)
    assert again == pytest.approx(bounds)
    assert repeated == pytest.approx(p)
    assert p is not None
    assert 0.0 < p < 1.0


def test_p_values_of_noise_that_posts_share_are_uniform_enough() -> None:
    rng = np.random.default_rng(2)
    posts = np.repeat(np.arange(40), 4)
    small = []
    for _ in range(100):
        x, y = (np.repeat(rng.normal(size=40), 4) + 0.5 * rng.normal(size=160) for _ in range(2))
        small.append((clustered(x, y, posts, Resampling(resamples=100))[1] or 0.0) < 0.05)
    # Tests that take texts for independent find more than a fifth of such noise clear.
    assert np.mean(small) < 0.13


def test_weights_of_many_resamples_are_those_of_the_library() -> None:
    from sklearn.linear_model import LogisticRegression

    from vantage.studies.appraisals.emotions import fitted_weights

    rng = np.random.default_rng(0)
    features = rng.normal(size=(60, 5))
    target = (features[:, 0] + rng.normal(size=60) > 0.5).astype(np.int64)
    posts = [rng.integers(0, 60, 60) for _ in range(5)]
    counts = np.array([np.bincount(one, minlength=60) for one in posts], dtype=np.float64)
    found = fitted_weights(features, target, counts)
    for mine, one in zip(found, posts, strict=True):
        model = LogisticRegression(class_weight="balanced", tol=1e-8).fit(features[one], target[one])
        assert mine == pytest.approx([*model.coef_[0], *model.intercept_], abs=1e-3)
    alone = np.zeros((1, 60))
    alone[0, np.flatnonzero(target == 1)[0]] = 60
    assert np.isnan(fitted_weights(features, target, alone)).all()


def test_places_follow_from_all_pairs_and_not_from_neighbours() -> None:
    rng = np.random.default_rng(0)
    # Each of five is a little further than the one before: neighbours are tied, the ends are told apart.
    values = rng.normal(np.arange(5) * 0.06, 0.3, (60, 5))
    order = places(list("vwxyz"), lambda weight: weight @ values / weight.sum(axis=1, keepdims=True), 60)
    assert order["v"]["place"].startswith("1")
    assert order["z"]["place"].endswith("5")
    assert "z" not in order["v"]["tied"]
    assert "w" in order["v"]["tied"]
    same = places(list("ab"), lambda weight: np.zeros((len(weight), 2)), 10)
    assert same["a"] == {"place": "1 to 2", "tied": "b"}
    assert places(["a"], lambda weight: np.zeros((len(weight), 1)), 10)["a"]["place"] == ""
