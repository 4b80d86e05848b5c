"""Correlations of questions with each other and with outside variables."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from vantage.corpora import Corpus
from vantage.errors import InputError
from vantage.instruments import Instrument
from vantage.measures.intervals import CORRELATIONS as LIMITS
from vantage.measures.intervals import Spread, interval
from vantage.measures.ratings import judgments_frame
from vantage.measures.relations.correlate import correlate
from vantage.measures.relations.correlations import CORRELATIONS
from vantage.measures.variance.variances import VarianceDesign
from vantage.scales import Scale

PEERS: dict[str, Any] = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}


def answers(seed: int = 0, items: int = 40) -> pl.DataFrame:
    """Two questions and an outside column with a common cause; three raters, some gaps."""
    rng = np.random.default_rng(seed)
    cause = rng.normal(size=items)
    rows = [
        (
            f"i{i:02}",
            question,
            f"r{j}",
            float(np.round(cause[i] + rng.normal())),
            float(np.round(cause[i] * 3)),
        )
        for question in ("trust", "warmth")
        for i in range(items)
        for j in range(3)
        if rng.random() < 0.9
    ]
    return pl.DataFrame(rows, schema=["item", "question", "rater", "value", "stance"], orient="row")


@pytest.mark.parametrize("method", CORRELATIONS)
@pytest.mark.parametrize("aggregate", ["mean", "median"])
@pytest.mark.parametrize("rounding", ["none", "half_even"])
def test_scores_are_aggregated_per_item_and_correlated(method: Any, aggregate: Any, rounding: Any) -> None:
    data = answers()
    row = correlate(data, correlation=method, aggregate=aggregate, rounding=rounding, resamples=20).row(0, named=True)
    wide = (
        data.group_by("item", "question")
        .agg(getattr(pl.col("value"), aggregate)())
        .pivot("question", index="item", values="value")
        .drop_nulls()
    )
    x, y = wide["trust"].to_numpy(), wide["warmth"].to_numpy()
    if rounding == "half_even":
        x, y = np.rint(x), np.rint(y)
    assert row["estimate"] == pytest.approx(PEERS[method](x, y)[0])
    assert row["p"] == pytest.approx(PEERS[method](x, y)[1], abs=1e-9)
    assert row["low"] < row["estimate"] < row["high"]
    assert row["items"] == len(wide)


def test_the_interval_of_pearson_is_close_to_fishers() -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=500)
    y = 0.6 * x + 0.8 * rng.normal(size=500)
    data = pl.DataFrame(
        {
            "item": np.tile(np.arange(500), 2),
            "question": np.repeat(["a", "b"], 500),
            "rater": ["r"] * 1000,
            "value": np.r_[x, y],
        }
    )
    expected = stats.pearsonr(x, y).confidence_interval()
    row = correlate(data).row(0, named=True)
    assert (row["low"], row["high"]) == pytest.approx((expected.low, expected.high), abs=0.02)


def test_outside_columns_numbers_and_ordered_words() -> None:
    data = answers().with_columns(
        word=pl.when(pl.col("stance") < 0)
        .then(pl.lit("against"))
        .when(pl.col("stance") > 0)
        .then(pl.lit("favour"))
        .otherwise(pl.lit("none"))
    )
    order = {"word": ["against", "none", "favour"]}
    rows = correlate(data, outside=["stance", "word"], order=order, correlation="spearman", ci="none")
    assert rows.select("first", "second").rows() == [
        ("trust", "warmth"),
        ("trust", "stance"),
        ("trust", "word"),
        ("warmth", "stance"),
        ("warmth", "word"),
    ]
    means = data.filter(question="trust").group_by("item").agg(pl.col("value").mean(), pl.col("stance").first())
    expected = stats.spearmanr(means["value"], np.sign(means["stance"]))[0]
    assert rows.filter(first="trust", second="word")["estimate"][0] == pytest.approx(expected)
    partial = correlate(data, outside="word", order={"word": ["against", "favour"]}, ci="none")
    assert partial.filter(first="trust", second="word")["left_out"][0]["without_partner"] > 0


def test_results_do_not_depend_on_row_order_and_follow_monotone_changes() -> None:
    data = answers()
    same = correlate(data.sample(fraction=1, shuffle=True, seed=1), correlation="spearman", aggregate="median")
    plain = correlate(data, correlation="spearman", aggregate="median")
    assert same.drop("options").rows() == plain.drop("options").rows()
    stretched = data.with_columns(pl.col("value") * 2 + 1)
    assert correlate(stretched, ci="none")["estimate"][0] == pytest.approx(correlate(data, ci="none")["estimate"][0])


def test_degenerate_pairs_are_null_with_a_reason() -> None:
    flat = answers().with_columns(pl.when(pl.col("question") == "trust").then(1.0).otherwise("value").alias("value"))
    row = correlate(flat).row(0, named=True)
    assert (row["estimate"], row["p"], row["reason"]) == (None, None, "one of the two does not vary")
    apart = pl.DataFrame({"item": ["a", "b"], "question": ["p", "q"], "rater": ["r", "r"], "value": [1.0, 2.0]})
    assert correlate(apart)["reason"][0] == "fewer than two items have both scores"


def test_bad_input_is_told_in_one_sentence() -> None:
    data = answers().with_columns(word=pl.lit("x"), noise=pl.int_range(pl.len()))
    with pytest.raises(InputError, match="only one question"):
        correlate(data.filter(question="trust"))
    with pytest.raises(InputError, match="holds words"):
        correlate(data, outside="word")
    with pytest.raises(InputError, match="two values for item"):
        correlate(data, outside="noise")
    with pytest.raises(InputError, match="correlation 'tau' is not known"):
        correlate(data, correlation="tau")  # type: ignore[call-overload]


def test_a_nominal_question_is_refused_by_name() -> None:
    judgments = {"item": ["a", "a"], "rater": ["r", "r"], "question": ["kind", "trust"], "value": [0.0, 1.0]}
    data = Corpus(
        items=pl.DataFrame({"item": ["a"], "text": ["a"]}),
        raters=pl.DataFrame({"rater": ["r"]}),
        judgments=pl.DataFrame(judgments),
        instruments=Instrument.of_questions(
            "test", "Test", {"kind": Scale.labels("x", "y"), "trust": Scale.points(-1, 1)}
        ),
    )
    with pytest.raises(InputError, match="question 'kind' has a nominal scale"):
        correlate(data)


def shared(seed: int, sr: float = 1.0) -> pl.DataFrame:
    """Two unrelated questions about the same items, in batches of five raters who have a bias on each."""
    rng = np.random.default_rng(seed)
    item = np.repeat(np.arange(60), 5)
    rater = item // 6 * 5 % 25 + np.tile(np.arange(5), 60)
    frames = []
    for question in "ab":
        value = rng.normal(size=60)[item] + sr * rng.normal(size=25)[rater] + rng.normal(size=300)
        frames.append(pl.DataFrame({"item": item, "rater": rater, "question": question, "value": value}))
    return pl.concat(frames)


def test_items_that_share_raters_are_worth_fewer_independent_ones() -> None:
    data = shared(0)
    row = correlate(data, ci="none").row(0, named=True)
    # The same from full matrices (Dutilleul 1993).
    covariance = []
    for question in "ab":
        part = data.filter(question=question)
        item, rater, error = VarianceDesign.of(judgments_frame(part)).variances
        share = np.zeros((60, 25))
        share[part["item"], part["rater"]] = 0.2
        covariance.append(item * np.eye(60) + rater * share @ share.T + error / 5 * np.eye(60))
    centre = np.eye(60) - 1 / 60
    x, y = (centre @ v @ centre for v in covariance)
    expected = 1 + np.trace(x) * np.trace(y) / np.trace(x @ y)
    assert row["independent_items"] == pytest.approx(min(expected, 60), rel=1e-9)
    assert row["independent_items"] < 58
    r, n = row["estimate"], row["independent_items"]
    assert row["p"] == pytest.approx(2 * stats.t.sf(abs(r) * np.sqrt((n - 2) / (1 - r * r)), n - 2))


def test_over_raters_scores_are_made_again_without_each_of_them() -> None:
    data = shared(0, 1.2)
    row = correlate(data, ci="raters").row(0, named=True)
    rest = [data.filter(pl.col("rater") != rater) for rater in range(25)]
    estimates = np.array([correlate(table, ci="none")["estimate"][0] for table in rest])
    expected = interval(row["estimate"], Spread.without_raters(estimates, LIMITS), 0.95, LIMITS)
    assert (row["low"], row["high"]) == pytest.approx(expected)
    assert (row["over"], correlate(data)["over"][0]) == ("raters", "both")
    assert correlate(data.filter(pl.col("rater") < 3))["over"].to_list() == ["items"]


def test_whole_sources_are_left_out() -> None:
    data = shared(0).with_columns(author=pl.col("item") // 5)
    row = correlate(data, ci="items", sources="author").row(0, named=True)
    rest = [data.filter(pl.col("author") != author) for author in range(12)]
    estimates = np.array([correlate(table, ci="none")["estimate"][0] for table in rest])
    assert (row["low"], row["high"]) == pytest.approx(
        interval(row["estimate"], Spread.without(estimates, LIMITS), 0.95, LIMITS)
    )
    assert row["over"] == "sources"


@pytest.mark.slow
def test_unrelated_questions_of_the_same_raters_are_found_in_one_run_of_twenty() -> None:
    found = [correlate(shared(seed, 1.2), ci="none").select("p", "estimate").row(0) for seed in range(300)]
    plain = [2 * stats.t.sf(abs(r) * np.sqrt(58 / (1 - r * r)), 58) for _, r in found]
    assert np.mean(np.array(plain) < 0.05) > 0.08
    assert np.mean([p < 0.05 for p, _ in found]) < 0.075


def test_an_item_in_two_conditions_is_one_item() -> None:
    rng = np.random.default_rng(0)
    once = pl.DataFrame({"item": [*range(8)] * 2, "question": ["p"] * 8 + ["q"] * 8, "rater": "r"})
    once = once.with_columns(value=pl.Series(rng.normal(size=16)), condition=pl.lit("a"))
    twice = pl.concat([once, once.with_columns(condition=pl.lit("b"))])
    one, two = (correlate(frame, ci="none").row(0, named=True) for frame in (once, twice))
    assert two["estimate"] == pytest.approx(one["estimate"])
    assert two["p"] == pytest.approx(one["p"])


def test_three_items_have_no_interval() -> None:
    few = {"item": [1, 2, 3] * 2, "question": ["p"] * 3 + ["q"] * 3, "rater": ["r"] * 6, "value": [1, 2, 4, 1, 3, 4]}
    row = correlate(few).row(0, named=True)
    assert (row["low"], row["high"]) == (None, None)
    assert row["reason"] == "no interval: resamples of fewer than four items are nearly all perfectly correlated"
