"""Quality of detection against definitions by brute force and peers."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon
from scipy.stats import mannwhitneyu, spearmanr
from sklearn.metrics import roc_auc_score

from vantage import Instrument
from vantage.context import Cost, Detected, Judging, compare
from vantage.studies.context.pipeline.detection import auc_interval

SCALE = Instrument.load("sarcasm").questions[0].scale


def votes(yes: np.ndarray, readers: int = 5) -> pl.DataFrame:
    """Votes of so many readers of whom so many say yes."""
    share = yes / readers
    doubt = np.minimum(share, 1 - share)
    entropy = [-(p * np.log(p or 1) + (1 - p) * np.log((1 - p) or 1)) for p in share]
    return pl.DataFrame(
        {
            "item": [f"i{n:03}" for n in range(len(yes))],
            "shares": [[1 - p, p, 0.0] for p in share],
            "votes": [readers] * len(yes),
            "entropy": entropy,
            "doubt": doubt,
            "ambiguity": [0.0] * len(yes),
        },
        schema_overrides={"item": pl.String, "shares": pl.List(pl.Float64), "entropy": pl.Float64},
    )


def method(score: np.ndarray, shares: np.ndarray | None = None, name: str = "m") -> Detected:
    told = None if shares is None else shares.tolist()
    return Detected(
        name,
        pl.DataFrame({"item": [f"i{n:03}" for n in range(len(score))], "score": score}).with_columns(
            pl.Series("shares", told, dtype=pl.List(pl.Float64))
            if told is not None
            else pl.lit(None, dtype=pl.List(pl.Float64)).alias("shares"),
            pl.lit(None, dtype=pl.String).alias("reason"),
        ),
        Cost(3, 10, 5),
    )


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10_000))
def test_estimates_are_those_of_peers(seed: int) -> None:
    rng = np.random.default_rng(seed)
    told = votes(rng.integers(0, 6, 60))
    score = rng.integers(0, 8, 60) / 8
    raw = rng.dirichlet([1, 1, 0.2], 60)
    row = compare([method(score, raw)], told, SCALE, Judging(resamples=20)).row(0, named=True)
    truth = told["doubt"].to_numpy() >= 0.4 - 1e-9
    assert row["auc"] == pytest.approx(roc_auc_score(truth, score))
    assert row["rho"] == pytest.approx(spearmanr(score, told["entropy"].to_numpy()).statistic)
    mine = raw[:, :2] / raw[:, :2].sum(axis=1, keepdims=True)
    theirs = np.array(told["shares"].to_list())[:, :2]
    assert row["jsd"] == pytest.approx(np.mean(jensenshannon(mine, theirs, axis=1) ** 2))
    assert row["rho_shares"] == pytest.approx(spearmanr(mine.ravel(), theirs.ravel()).statistic)
    assert row["base"] == pytest.approx(truth.mean())
    assert row["auc_low"] <= row["auc"] <= row["auc_high"]
    assert (row["calls"], row["prompt_tokens"], row["completion_tokens"]) == (3, 10, 5)


def test_the_interval_of_an_auc_agrees_with_its_test_and_never_shrinks_to_nothing() -> None:
    rng = np.random.default_rng(0)
    for _ in range(40):
        told = votes(rng.integers(0, 6, 30))
        score = rng.random(30)
        row = compare([method(score)], told, SCALE, Judging(resamples=5)).row(0, named=True)
        truth = told["doubt"].to_numpy() >= 0.4 - 1e-9
        peer = mannwhitneyu(score[truth], score[~truth], method="asymptotic", use_continuity=False)
        assert row["p"] == pytest.approx(peer.pvalue)
        assert (row["p"] < 0.05) == (not row["auc_low"] <= 0.5 <= row["auc_high"])
    for few in ((1, 4), (2, 8), (5, 5)):
        low, high = auc_interval(1.0, *few)
        assert low < 0.7
        assert high == 1.0
        assert auc_interval(0.0, *few) == pytest.approx((0.0, 1 - low), abs=1e-6)


def test_the_interval_of_an_auc_covers_the_true_one() -> None:
    rng = np.random.default_rng(1)
    held = 0
    for _ in range(400):
        positive, negative = rng.normal(1, 1, 12), rng.normal(0, 1, 20)
        area = (positive[:, None] > negative).mean()
        low, high = auc_interval(float(area), 12, 20)
        held += low <= 0.7602 <= high
    assert held / 400 > 0.92


def test_a_method_without_a_distribution_has_no_divergence_and_says_so() -> None:
    told = votes(np.arange(30) % 6)
    row = compare([method(np.arange(30.0))], told, SCALE, Judging(resamples=10)).row(0, named=True)
    assert row["jsd"] is row["rho_shares"] is None
    assert "no distribution" in row["reason"]
    assert row["auc"] is not None


def test_too_few_or_one_sided_votes_leave_nulls_with_a_reason() -> None:
    few = compare([method(np.arange(5.0))], votes(np.array([0, 2, 3, 5, 1])), SCALE, Judging(resamples=10))
    assert few["precision"][0] is None
    assert "too few for a threshold" in few["reason"][0]
    unanimous = compare([method(np.arange(20.0))], votes(np.zeros(20)), SCALE, Judging(resamples=10)).row(0, named=True)
    assert unanimous["auc"] is None
    assert unanimous["precision"] is None
    nobody = compare([method(np.arange(20.0))], votes(np.zeros(0)), SCALE).row(0, named=True)
    assert nobody["base"] is None
    assert "votes" in nobody["reason"]


def test_opt_outs_of_people_count_where_they_had_some() -> None:
    told = votes(np.arange(20) % 6).with_columns(pl.Series("shares", [[0.2, 0.2, 0.6]] * 20))
    same = method(np.arange(20.0), np.tile([0.2, 0.2, 0.6], (20, 1)))
    other = method(np.arange(20.0), np.tile([0.5, 0.5, 0.0], (20, 1)))
    table = compare([same, other], told, SCALE, Judging("entropy", 0.5, resamples=5))
    assert table["jsd"][0] == pytest.approx(0, abs=1e-12)
    assert table["jsd"][1] > 0.2
