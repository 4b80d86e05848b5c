"""Group comparisons: units, tests, intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from vantage.errors import InputError
from vantage.measures.relations.compare import compare


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


def one(frame: pl.DataFrame) -> dict[str, Any]:
    return frame.row(0, named=True)


def test_too_few_units_are_told() -> None:
    mixed = one(compare(paired([1], [2]), between="condition"))
    assert (mixed["p"], mixed["reason"]) == (None, "fewer than two items in a group")


@pytest.mark.parametrize(
    "options",
    [
        {"between": "item"},
        {"values": ["a", "z"]},
        {"values": ["a"]},
        {"correction": "none of these"},
        {"ci": "raters"},
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
    assert (trait["unit"], trait["over"], trait["units"]) == ("rater", "both", 24)
    assert trait["low"] <= trait["estimate"] == trait["difference"] <= trait["high"]
    assert (trait["first"], trait["second"]) == ("old", "young")
    slope = one(compare(data.with_columns(years=pl.col("rater") / 7), between="years"))
    assert (slope["first"], slope["second"]) == ("raters of higher years", "raters of lower years")
    of_items = one(compare(data, between="genre"))
    assert (of_items["unit"], of_items["over"], of_items["units"]) == ("item", "both", 60)
    two = one(compare(judged(per_item=12), between="rater", values=[0, 1]))
    assert (two["unit"], two["over"]) == ("answer", "items")
    within = one(compare(paired([1, 2, 4], [2, 2, 5]), between="condition"))
    assert (within["unit"], within["over"]) == ("answer", "items")
    assert within["p"] == pytest.approx(stats.ttest_rel([1, 2, 4], [2, 2, 5]).pvalue, rel=1e-4)


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
        assert row["unit"] == "answer"
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
        assert result.height == 3
        rejected += result.filter(pl.col("p") < 0.05).height
    # Items as units find a difference of conditions in 43 % of such comparisons, where there is none.
    assert rejected <= 8


@pytest.mark.slow
def test_the_effect_of_a_trait_is_found_without_bias_and_with_more_power_than_plain_means() -> None:
    found, plain = [], []
    for seed in range(60):
        data = judged(seed, shift=0.5)
        row = one(compare(data, between="age", ci="none"))
        means = data.group_by("rater", "age").agg(pl.col("value").mean())
        one_side, other = (means.filter(age=age)["value"].to_numpy() for age in ("old", "young"))
        found.append((row["difference"], row["p"] < 0.05))
        plain.append(stats.ttest_ind(one_side, other, equal_var=False).pvalue < 0.05)
    assert np.mean([d for d, _ in found]) == pytest.approx(0.5, abs=0.06)
    assert np.mean([p for _, p in found]) > np.mean(plain) + 0.05


def test_groups_of_raters_with_different_items_are_compared_within_items() -> None:
    data = judged(shift=0.8)
    row = one(compare(data, between="age", ci="none"))
    assert row["first_mean"] - row["second_mean"] == pytest.approx(row["difference"])
    old, young = (data.filter(age=age)["value"].to_numpy().mean() for age in ("old", "young"))
    assert abs(row["difference"] - (old - young)) > 0.01
    complete = judged(raters=12, per_item=12)
    means = complete.group_by("rater", "age").agg(pl.col("value").mean())
    old, young = (means.filter(age=age)["value"].to_numpy() for age in ("old", "young"))
    assert one(compare(complete, between="age"))["difference"] == pytest.approx(old.mean() - young.mean())


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
    rows = [one(compare(steered(seed, 0.85, 2.0), between="group", ci="none")) for seed in range(120)]
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


@pytest.mark.parametrize(("items", "over"), [(1, None), (2, "both")])
def test_two_items_are_enough_to_generalise_to_others(items: int, over: str | None) -> None:
    rng = np.random.default_rng(0)
    item, rater, late = (grid.ravel() for grid in np.indices((items, 12, 2)))
    value = rng.normal(size=items)[item] + rng.normal(size=12)[rater] + late + rng.normal(size=len(item))
    data = {"item": item, "rater": rater, "condition": np.array(["early", "late"])[late], "value": value}
    assert compare(data, between="condition")["over"].to_list() == [over]
