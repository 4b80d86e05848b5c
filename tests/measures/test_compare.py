"""Group comparisons: tests, effect sizes, intervals."""

from __future__ import annotations

import warnings
from itertools import combinations
from typing import Any

import numpy as np
import pingouin
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from vantage.errors import InputError
from vantage.measures.compare import compare
from vantage.measures.intervals import weights

samples = st.lists(st.integers(0, 6), min_size=3, max_size=10)


def paired(x: Any, y: Any) -> pl.DataFrame:
    """The same items under two conditions."""
    items = [f"i{i:03}" for i in range(len(x))]
    return pl.DataFrame(
        {
            "item": items * 2,
            "rater": ["r"] * 2 * len(items),
            "condition": ["a"] * len(items) + ["b"] * len(items),
            "value": np.r_[np.asarray(x, float), np.asarray(y, float)],
        }
    )


def unpaired(x: Any, y: Any) -> pl.DataFrame:
    """Raters of two ages, one answer each."""
    n, m = len(x), len(y)
    return pl.DataFrame(
        {
            "item": ["i"] * (n + m),
            "rater": [f"r{i:03}" for i in range(n + m)],
            "age": ["old"] * n + ["young"] * m,
            "value": np.r_[np.asarray(x, float), np.asarray(y, float)],
        }
    )


def one(frame: pl.DataFrame) -> dict[str, Any]:
    return frame.row(0, named=True)


@settings(max_examples=10)
@given(samples, st.integers(0, 9))
def test_paired_tests_and_effects_agree_with_scipy(x: list[int], seed: int) -> None:
    first = np.array(x, float)
    second = first + np.random.default_rng(seed).integers(-2, 3, len(x))
    difference = first - second
    data = paired(first, second)
    t = one(compare(data, between="condition", test="t", ci="none"))
    assert t["difference"] == pytest.approx(difference.mean())
    if np.ptp(difference) > 0:
        assert (t["statistic"], t["p"]) == pytest.approx(tuple(stats.ttest_rel(first, second)))
        assert t["estimate"] == pytest.approx(difference.mean() / difference.std(ddof=1))
    else:
        assert (t["p"], t["estimate"]) == (None, None)
    w = one(compare(data, between="condition", test="wilcoxon", ci="none"))
    if difference.any():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert w["p"] == pytest.approx(stats.wilcoxon(difference).pvalue)
        moved = difference[difference != 0]
        ranks = stats.rankdata(np.abs(moved))
        assert w["estimate"] == pytest.approx((ranks * np.sign(moved)).sum() / ranks.sum())
    else:
        assert w["reason"] is not None


@settings(max_examples=20)
@given(samples, samples)
def test_unpaired_tests_and_effects_agree_with_peers(x: list[int], y: list[int]) -> None:
    data = unpaired(x, y)
    options: dict[str, Any] = {"between": "age", "unit": "rater", "paired": False, "ci": "none"}
    u = one(compare(data, test="mann_whitney", **options))
    wins = [np.sign(a - b) for a in x for b in y]
    assert u["estimate"] == pytest.approx(np.mean(wins))
    if len({*x, *y}) > 1:
        assert u["p"] == pytest.approx(stats.mannwhitneyu(x, y).pvalue)
    if len(set(x)) > 1 and len(set(y)) > 1:
        for test, equal in (("t", True), ("welch", False)):
            row = one(compare(data, test=test, **options))
            assert (row["statistic"], row["p"]) == pytest.approx(tuple(stats.ttest_ind(x, y, equal_var=equal)))
        d = one(compare(data, effect="d", **options))["estimate"]
        g = one(compare(data, effect="g", **options))["estimate"]
        assert d == pytest.approx(pingouin.compute_effsize(x, y, eftype="cohen"))
        assert g == pytest.approx(pingouin.compute_effsize(x, y, eftype="hedges"))


def test_permutation_of_signs_counts_all_of_them() -> None:
    # Fisher's example of Darwin's maize, in eighths of an inch: 863 of 32,768 sums reach the observed 314
    # on one side (Fisher 1935, section 21), hence 1,726 on both.
    darwin = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]
    data = paired(darwin, [0] * 15)
    row = one(compare(data, between="condition", test="permutation", permutations=2**15, ci="none"))
    assert row["p"] == pytest.approx(1726 / 32768)
    drawn = one(compare(data, between="condition", test="permutation", permutations=4000, ci="none"))
    assert drawn["p"] == pytest.approx(1726 / 32768, abs=0.012)


def test_permutation_of_groups_approaches_all_regroupings() -> None:
    x, y = [1, 2, 4, 5, 7], [3, 6, 8, 9, 9, 8]
    row = one(
        compare(
            unpaired(x, y),
            between="age",
            unit="rater",
            paired=False,
            test="permutation",
            permutations=20000,
            ci="none",
        )
    )
    pooled = np.array(x + y, float)
    sums = [abs(pooled[list(chosen)].sum() - 5 * pooled.mean()) for chosen in combinations(range(11), 5)]
    observed = abs(sum(x) - 5 * pooled.mean())
    assert row["p"] == pytest.approx(np.mean(np.array(sums) >= observed - 1e-9), abs=0.006)


@pytest.mark.parametrize("effect", ["dz", "d", "g", "rank_biserial"])
@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_paired_intervals_hold_the_estimate(effect: Any, method: Any) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=80)
    row = one(compare(paired(x + 0.5, x + rng.normal(size=80)), between="condition", effect=effect, method=method))
    assert row["low"] < row["estimate"] < row["high"]


def test_effect_intervals_equal_recomputation_on_resamples() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 6, 15), rng.integers(0, 6, 15)
    (block,) = weights(15, 40, 7)
    for effect in ("dz", "rank_biserial", "g"):
        row = one(compare(paired(x, y), between="condition", effect=effect, resamples=40, seed=7))
        values = []
        for draw in block.astype(int):
            again = paired(np.repeat(x, draw), np.repeat(y, draw))
            values.append(one(compare(again, between="condition", effect=effect, ci="none"))["estimate"])
        assert (row["low"], row["high"]) == pytest.approx(tuple(np.quantile(values, [0.025, 0.975])))


def test_unpaired_interval_covers_the_planted_effect() -> None:
    rng = np.random.default_rng(5)
    data = unpaired(rng.normal(1, 1, 150), rng.normal(0, 1, 200))
    row = one(compare(data, between="age", unit="rater", paired=False))
    assert row["low"] < 1.0 < row["high"]
    assert row["high"] - row["low"] == pytest.approx(2 * 1.96 * 0.115, rel=0.15)
    delta = one(compare(data, between="age", unit="rater", paired=False, test="mann_whitney"))
    assert delta["low"] < 0.52 < delta["high"]


def test_all_pairs_of_values_are_corrected_together() -> None:
    rng = np.random.default_rng(0)
    frames = [
        paired(rng.normal(size=20), rng.normal(size=20)).filter(condition="a").with_columns(condition=pl.lit(c))
        for c in "abc"
    ]
    rows = compare(pl.concat(frames), between="condition", correction="bonferroni", ci="none")
    assert rows.select("first", "second").rows() == [("a", "b"), ("a", "c"), ("b", "c")]
    assert rows["p_adjusted"].to_list() == pytest.approx([min(3 * p, 1) for p in rows["p"]])


def test_unmatched_answers_are_counted_and_too_few_units_told() -> None:
    data = paired([1, 2, 3], [2, 2, 5])
    data = data.filter(~((pl.col("item") == "i000") & (pl.col("condition") == "b")))
    row = one(compare(data, between="condition", ci="none"))
    assert (row["units"], row["left_out"]) == (2, {"unpaired": 1})
    alone = one(compare(paired([1], [2]), between="condition"))
    assert (alone["estimate"], alone["p"]) == (None, None)
    assert alone["reason"] == "fewer than two units in both groups"


@pytest.mark.parametrize(
    "options",
    [
        {"between": "item"},
        {"test": "welch"},
        {"test": "anova"},
        {"effect": "cliffs_delta"},
        {"values": ["a", "z"]},
        {"values": ["a"]},
        {"correction": "none of these"},
        {"paired": False, "method": "bca"},
    ],
)
def test_bad_options_are_told_in_one_sentence(options: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        compare(paired([1, 2, 3], [1, 3, 5]), **{"between": "condition", **options})
