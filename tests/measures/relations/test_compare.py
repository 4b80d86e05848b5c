"""Group comparisons: tests, effect sizes, intervals."""

from __future__ import annotations

import json
import warnings
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from vantage.corpora.readers import load
from vantage.errors import InputError
from vantage.measures.ratings import judgments_frame
from vantage.measures.relations.compare import compare
from vantage.measures.reliability.variance_design import _error_to_item, rater_scores

samples = st.lists(st.integers(0, 6), min_size=3, max_size=10)
groups = st.lists(st.integers(0, 6), min_size=5, max_size=10)


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
@given(groups, groups)
@pytest.mark.slow
def test_unpaired_tests_and_effects_agree_with_peers(x: list[int], y: list[int]) -> None:
    import pingouin

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
def test_paired_intervals_hold_the_estimate(effect: Any) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=80)
    row = one(compare(paired(x + 0.5, x + rng.normal(size=80)), between="condition", effect=effect))
    assert row["low"] < row["estimate"] < row["high"]


@pytest.mark.slow
def test_standardised_differences_of_few_units_cover_as_the_noncentral_t_does() -> None:
    rng = np.random.default_rng(6)
    held = 0
    for _ in range(200):
        row = one(
            compare(
                unpaired(rng.normal(1, 1, 11), rng.normal(0, 1, 11)),
                between="age",
                unit="rater",
                paired=False,
                permutations=9,
            )
        )
        held += row["low"] <= 1.0 <= row["high"]
    # The standard error of the share is 1.5 points; percentile bootstraps reach 91 %.
    assert 0.92 <= held / 200 <= 0.98


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
    rows = compare(pl.concat(frames), between="condition", test="t", correction="bonferroni", ci="none")
    assert rows.select("first", "second").rows() == [("a", "b"), ("a", "c"), ("b", "c")]
    assert rows["p_adjusted"].to_list() == pytest.approx([min(3 * p, 1) for p in rows["p"]])


def test_unmatched_answers_are_counted_and_too_few_units_told() -> None:
    data = paired([1, 2, 3], [2, 2, 5])
    data = data.filter(~((pl.col("item") == "i000") & (pl.col("condition") == "b")))
    row = one(compare(data, between="condition", test="t", ci="none"))
    assert (row["units"], row["left_out"]) == (2, {"unpaired": 1})
    alone = one(compare(paired([1], [2]), between="condition", test="t"))
    assert (alone["estimate"], alone["p"]) == (None, None)
    assert alone["reason"] == "fewer than two units in both groups"
    mixed = one(compare(paired([1], [2]), between="condition"))
    assert (mixed["p"], mixed["reason"]) == (None, "fewer than two items in a group")


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
        {"ci": "raters"},
        {"effect": "omega"},
    ],
)
def test_bad_options_are_told_in_one_sentence(options: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        compare(paired([1, 2, 3], [1, 3, 5]), **{"between": "condition", **options})


def judged(seed: int = 0, *, raters: int = 24, items: int = 60, per_item: int = 4, shift: float = 0.0) -> pl.DataFrame:
    """Sparse ratings with strong items, a trait of the raters, and a condition of the items."""
    rng = np.random.default_rng(seed)
    item = np.repeat(np.arange(items), per_item)
    rater = np.concatenate([rng.choice(raters, per_item, replace=False) for _ in range(items)])
    old = rng.permutation(raters) < raters // 2
    effect = rng.normal(0, 0.3, raters) + shift * old
    return pl.DataFrame(
        {
            "item": item,
            "rater": rater,
            "value": rng.normal(0, 1, items)[item] + effect[rater] + rng.normal(0, 0.7, len(item)),
            "age": np.where(old, "old", "young")[rater],
            "genre": np.where(item % 2, "news", "chat"),
        }
    )


def test_the_design_decides_what_the_units_are() -> None:
    data = judged()
    trait = one(compare(data, between="age"))
    assert (trait["test"], trait["unit"], trait["over"], trait["units"]) == ("mixed", "rater", "both", 24)
    assert trait["low"] <= trait["estimate"] == trait["difference"] <= trait["high"]
    scored = one(compare(data, between="age", unit="rater"))
    assert (scored["test"], scored["over"], scored["units"]) == ("welch", "raters", 24)
    of_items = one(compare(data, between="genre"))
    assert (of_items["unit"], of_items["over"], of_items["units"]) == ("item", "both", 60)
    two = one(compare(judged(per_item=12), between="rater", values=[0, 1]))
    assert (two["unit"], two["over"]) == ("answer", "items")
    within = one(compare(paired([1, 2, 4], [2, 2, 5]), between="condition"))
    assert (within["unit"], within["over"]) == ("answer", "items")
    assert within["p"] == pytest.approx(stats.ttest_rel([1, 2, 4], [2, 2, 5]).pvalue, rel=1e-4)
    seen = pl.DataFrame({"item": [0] * 8, "rater": ["m"] * 8, "sample": [0, 1, 2, 3] * 2, "question": [*"aaaabbbb"],
                         "value": [1.0, 2, 3, 4, 2, 4, 4, 5]})  # fmt: skip
    assert one(compare(seen, between="question", unit="sample"))["over"] == "runs"


def test_items_as_units_of_a_trait_have_no_p_value() -> None:
    row = one(compare(judged(), between="age", unit="item"))
    assert (row["p"], row["p_adjusted"], row["over"]) == (None, None, "items")
    assert row["low"] <= row["estimate"] <= row["high"]
    assert "does not vary within raters" in row["reason"]


def test_fewer_than_five_raters_have_no_p_value() -> None:
    data = judged(raters=9)
    few = data.filter((pl.col("age") == "old") | pl.col("rater").is_in(data.filter(age="young")["rater"].unique()[:3]))
    row = one(compare(few, between="age"))
    assert (row["p"], row["low"], row["over"]) == (None, None, None)
    assert row["estimate"] is not None
    assert "'young' has 3 raters" in row["reason"]
    single = few.filter((pl.col("age") == "old") | (pl.col("rater") == few.filter(age="young")["rater"][0]))
    reason = one(compare(single, between="age"))["reason"]
    assert reason == "'old' has 4 raters and 'young' has 1 rater; a test needs at least 5"


@pytest.mark.slow
@pytest.mark.parametrize("both", [1, 8, 16, 22])
def test_raters_of_one_group_are_no_items_where_some_are_in_both(both: int) -> None:
    rng, rejected = np.random.default_rng(5), 0
    for seed in range(40):
        data = judged(seed, per_item=8)
        drawn = pl.Series(np.where(rng.random(len(data)) < 0.5, "old", "young"))
        some = data.with_columns(age=pl.when(pl.col("rater") < both).then(drawn).otherwise("age"))
        row = one(compare(some, between="age", ci="none"))
        rejected += row["p"] < 0.05
        assert (row["unit"], row["test"]) == ("answer", "mixed")
    # Items as units find the permuted trait in up to a third of these tables.
    assert rejected <= 6


@pytest.mark.slow
def test_raters_who_saw_two_of_three_conditions_are_no_items() -> None:
    rejected = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        items, raters = np.repeat(np.arange(60), 24), np.tile(np.arange(24), 60)
        value = rng.normal(size=60)[items] + rng.normal(size=24)[raters] + rng.normal(size=len(items))
        seen = np.array([(0, 1), (1, 2), (0, 2)])[raters % 3]
        shown = seen[np.arange(len(items)), rng.integers(0, 2, len(items))]
        table = pl.DataFrame({"item": items, "rater": raters, "value": value, "shown": np.array(list("abc"))[shown]})
        result = compare(table, between="shown", ci="none")
        assert result["test"].to_list() == ["mixed"] * 3
        rejected += result.filter(pl.col("p") < 0.05).height
    # Items as units find a difference of conditions in 43 % of such comparisons, where there is none.
    assert rejected <= 8


def test_what_cannot_be_paired_is_refused() -> None:
    with pytest.raises(InputError, match="nothing can be paired"):
        compare(judged(), between="age", paired=True)
    with pytest.raises(InputError, match="units of this comparison are raters"):
        compare(judged(), between="age", ci="items")


def test_rater_scores_equal_the_crossed_model_solved_in_full() -> None:
    data = judged(3).with_columns(question=pl.lit(""), condition=pl.lit(""), sample=pl.lit(0))
    unit, rater, y = (data[c].to_numpy() for c in ("item", "rater", "value"))
    ratio = _error_to_item(data)
    items, raters = np.eye(60)[unit], np.eye(24)[rater]
    covariance = items @ items.T / ratio + np.eye(len(y))
    inverse = np.linalg.inv(covariance)
    expected = np.linalg.solve(raters.T @ inverse @ raters, raters.T @ inverse @ y)
    found = rater_scores(data)["score"].to_numpy()
    assert found - found.mean() == pytest.approx(expected - expected.mean(), abs=1e-7)


@pytest.mark.slow
def test_the_effect_of_a_trait_is_found_without_bias_and_with_more_power_than_plain_means() -> None:
    found, plain = [], []
    for seed in range(60):
        data = judged(seed, shift=0.5)
        row = one(compare(data, between="age", ci="none", permutations=1))
        means = data.group_by("rater", "age").agg(pl.col("value").mean())
        one_side, other = (means.filter(age=age)["value"].to_numpy() for age in ("old", "young"))
        found.append((row["difference"], row["p"] < 0.05))
        plain.append(stats.ttest_ind(one_side, other, equal_var=False).pvalue < 0.05)
    assert np.mean([d for d, _ in found]) == pytest.approx(0.5, abs=0.06)
    assert np.mean([p for _, p in found]) > np.mean(plain) + 0.05


def shape(name: str, data_dir: Path) -> pl.DataFrame:
    """Real answers without traits: sparse batches of five raters, or every rater on every item."""
    if name == "wcsent":
        judgments = load("wcsent", data_dir / "wcsent").judgments
        return judgments.filter(pl.col("question") == "trust").select("item", "rater", "value").drop_nulls()
    file = json.loads((data_dir / "dices" / "dices_350_crowdsourced.json").read_text(encoding="utf-8"))
    scores = {"No": 0.0, "Unsure": 1.0, "Yes": 2.0}
    rows = [
        (entry["id"], rater, scores[answer])
        for entry in file["instances"]
        for rater, answer in enumerate(entry["annotations"]["safety"]["individual_human_scores"])
    ]
    return pl.DataFrame(rows, schema=["item", "rater", "value"], orient="row")


@pytest.mark.data
@pytest.mark.parametrize("name", ["wcsent", "dices"])
@pytest.mark.parametrize("share", [0.5, 0.2])
def test_permuted_traits_of_real_raters_are_found_in_one_run_of_twenty(data_dir: Path, name: str, share: float) -> None:
    answers = shape(name, data_dir)
    raters = answers["rater"].unique().sort()
    rng = np.random.default_rng(5)
    # The scores do not depend on the labels, so that many labels cost as much as one.
    scores = rater_scores(judgments_frame(answers))["score"].to_numpy()
    labels = np.array([rng.permutation(len(raters)) < share * len(raters) for _ in range(2000)])
    first, second = (np.array([scores[label] for label in side]) for side in (labels, ~labels))
    found, label = stats.ttest_ind(first, second, axis=1, equal_var=False).pvalue, labels[-1]
    assert 0.03 < np.mean(found < 0.05) < 0.07
    traits = pl.DataFrame({"rater": raters, "trait": np.where(label, "a", "b")})
    row = one(compare(answers.join(traits, on="rater"), between="trait", test="welch", ci="none"))
    assert row["p"] == pytest.approx(found[-1], rel=1e-6)


@pytest.mark.slow
def test_few_units_have_the_interval_of_the_non_central_t() -> None:
    held = 0
    for seed in range(200):
        x = np.random.default_rng(seed).normal(1.0, 1.0, 5)
        row = one(compare(paired(x, np.zeros(5)), between="condition"))
        held += row["low"] <= 1.0 <= row["high"]
    assert 0.91 <= held / 200 <= 0.98
    rank = one(compare(paired(x, np.zeros(5)), between="condition", effect="rank_biserial"))
    assert (rank["low"], rank["over"]) == (None, None)
    assert "fewer than 10 units" in rank["reason"]
    y = np.random.default_rng(0).normal(size=9)
    row = one(compare(unpaired(y, y[::-1] + 0.5), between="age", effect="d"))
    scale = np.sqrt(9 * 9 / 18)
    assert stats.nct.cdf(row["estimate"] * scale, 16, row["low"] * scale) == pytest.approx(0.975, abs=1e-6)
    assert stats.nct.cdf(row["estimate"] * scale, 16, row["high"] * scale) == pytest.approx(0.025, abs=1e-6)


def test_groups_of_raters_with_different_items_are_compared_within_items() -> None:
    data = judged(shift=0.8)
    row = one(compare(data, between="age", ci="none"))
    assert row["first_mean"] - row["second_mean"] == pytest.approx(row["difference"])
    plain = one(compare(data, between="age", test="welch", ci="none"))
    assert plain["difference"] != row["difference"]
    complete = judged(raters=12, per_item=12)
    means = complete.group_by("rater", "age").agg(pl.col("value").mean())
    old, young = (means.filter(age=age)["value"].to_numpy() for age in ("old", "young"))
    assert one(compare(complete, between="age"))["difference"] == pytest.approx(old.mean() - young.mean())
    with pytest.raises(InputError, match="test 'mixed' takes its units from the design"):
        compare(data, between="genre", test="mixed", unit="item")


def steered(seed: int, share: float, gap: float, shift: float = 0.0, raters: int = 24, each: int = 12) -> pl.DataFrame:
    """Forty items in two halves that lie `gap` apart; each group is given `share` of its items from its own half."""
    rng = np.random.default_rng(seed)
    quality = rng.normal(0, 1, 40) + gap * (np.arange(40) >= 20)
    rows = []
    for rater in range(raters):
        own = (np.arange(40) >= 20) == bool(rater % 2)
        chance = np.where(own, share, 1 - share)
        for item in rng.choice(40, each, replace=False, p=chance / chance.sum()):
            value = quality[item] + shift * (rater % 2) + rng.normal(0, 1)
            rows.append({"item": item, "rater": rater, "group": "ab"[rater % 2], "value": value})
    return pl.DataFrame(rows)


@pytest.mark.slow
def test_groups_that_were_given_other_items_differ_no_more_often_than_chance() -> None:
    rows = [one(compare(steered(seed, 0.85, 2.0), between="group", ci="none", permutations=99)) for seed in range(120)]
    assert abs(np.mean([row["difference"] for row in rows])) < 0.06
    assert np.mean([row["p"] < 0.05 for row in rows]) < 0.1


def test_groups_that_share_no_item_are_not_compared() -> None:
    from vantage.measures.models.explain import explain

    apart = steered(0, 1.0, 2.0)
    row = one(compare(apart, between="group"))
    assert (row["p"], row["estimate"], row["difference"]) == (None, None, None)
    assert row["reason"] == "the two groups share no item, so a difference could come from the items"
    with pytest.raises(InputError, match="raters with group 'a' and with 'b' share no item"):
        explain(apart, traits="group")
