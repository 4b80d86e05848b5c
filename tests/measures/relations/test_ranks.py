"""Ranks of systems in two conditions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from vantage.errors import InputError
from vantage.measures.intervals import percentile, weights
from vantage.measures.relations.ranks import rank_correlations, ranks
from vantage.measures.scoring.accuracy import accuracy

scores = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=3, max_size=7)


def score_table(rows: Sequence[tuple[float, float]]) -> dict[str, Any]:
    first, second = zip(*rows, strict=True)
    names = [f"s{i}" for i in range(len(rows))]
    return {
        "rater": names * 2,
        "condition": ["a"] * len(rows) + ["b"] * len(rows),
        "value": [*first, *second],
    }


@settings(max_examples=30)
@given(scores, st.sampled_from(["spearman", "kendall"]))
def test_a_table_of_scores_agrees_with_scipy(rows: list[tuple[int, int]], method: Any) -> None:
    x, y = np.array(rows, float).T
    row = ranks(score_table(rows), correlation=method).row(0, named=True)
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        assert row["estimate"] is None
        assert row["reason"] == "all systems are tied in a condition"
        return
    peer = stats.spearmanr if method == "spearman" else stats.kendalltau
    assert row["estimate"] == pytest.approx(peer(x, y)[0])
    assert (row["low"], row["high"]) == (None, None)


def test_the_p_value_counts_all_orders() -> None:
    # All 24 orders of four systems; six or more squared rank differences away in either direction.
    x, y = np.array([1.0, 2, 3, 4]), np.array([1.0, 3, 2, 4])
    row = ranks(score_table(list(zip(x, y, strict=True)))).row(0, named=True)
    every = [stats.spearmanr(x, order)[0] for order in permutations(y)]
    assert row["p"] == pytest.approx(np.mean(np.abs(every) >= 0.8 - 1e-9))


def test_more_than_seven_systems_have_the_usual_p_value() -> None:
    x = np.arange(10.0)
    y = np.array([1.0, 0, 3, 2, 5, 4, 7, 6, 9, 8])
    row = ranks(score_table(list(zip(x, y, strict=True)))).row(0, named=True)
    assert row["p"] == pytest.approx(stats.spearmanr(x, y)[1])


def judgments(seed: int = 0, items: int = 30) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Four systems of different skill under two conditions, and gold labels."""
    rng = np.random.default_rng(seed)
    gold = rng.integers(0, 2, items)
    skill = {"w": (0.9, 0.6), "x": (0.8, 0.9), "y": (0.7, 0.7), "z": (0.6, 0.65)}
    rows = [
        (f"i{i:02}", system, condition, float(gold[i] if rng.random() < p else 1 - gold[i]))
        for system, chances in skill.items()
        for condition, p in zip(("plain", "context"), chances, strict=True)
        for i in range(items)
    ]
    table = pl.DataFrame(rows, schema=["item", "rater", "condition", "value"], orient="row")
    return table, pl.DataFrame({"item": [f"i{i:02}" for i in range(items)], "value": gold})


def accuracies(table: pl.DataFrame, gold: pl.DataFrame, draw: Any) -> tuple[Any, Any]:
    wide = table.join(gold, on="item", suffix="_gold").with_columns(hit=pl.col("value") == pl.col("value_gold"))
    sides = []
    for condition in ("context", "plain"):
        side = wide.filter(condition=condition).pivot("rater", index="item", values="hit").sort("item")
        hits = side.select(sorted(side.columns[1:])).to_numpy().astype(float)
        sides.append(draw @ hits / draw.sum())
    return sides[0], sides[1]


def test_the_interval_and_the_swaps_are_those_of_rescored_resamples() -> None:
    table, gold = judgments()
    options: dict[str, Any] = {"reference": gold, "resamples": 50, "seed": 3}
    (block,) = weights(30, 50, 3)
    first, second = (np.array(side) for side in zip(*(accuracies(table, gold, draw) for draw in block), strict=True))
    expected = [stats.spearmanr(np.round(a, 9), np.round(b, 9))[0] for a, b in zip(first, second, strict=True)]
    drawn = ranks(table, per="resample", **options)
    assert drawn["estimate"].to_list() == pytest.approx(expected)
    row = ranks(table, **options).row(0, named=True)
    assert (row["low"], row["high"]) == pytest.approx(percentile(np.array(expected)))
    pairs = ranks(table, per="pair", **options)
    for pair in pairs.iter_rows(named=True):
        i, j = "wxyz".index(pair["system"]), "wxyz".index(pair["other"])
        apart = np.round((first[:, i] - first[:, j]), 9) * np.round((second[:, i] - second[:, j]), 9)
        assert pair["estimate"] == pytest.approx((apart < 0).mean())
    assert len(pairs) == 6
    ranked = [stats.rankdata(-np.round(scores, 9), axis=1) for scores in (first, second)]
    for system in ranks(table, per="system", **options).iter_rows(named=True):
        change = system["second_rank"] - system["first_rank"]
        assert system["rank_change"] == change
        place = "wxyz".index(system["system"])
        low, high = percentile(ranked[1][:, place] - ranked[0][:, place])
        assert low is not None
        assert high is not None
        assert system["rank_change_low"] == pytest.approx(min(low, change))
        assert system["rank_change_high"] == pytest.approx(max(high, change))


def test_system_rows_show_scores_and_ranks() -> None:
    table, gold = judgments()
    rows = ranks(table, reference=gold, per="system")
    first, second = accuracies(table, gold, np.ones(30))
    assert rows["first_score"].to_list() == pytest.approx(list(first))
    assert rows["second_score"].to_list() == pytest.approx(list(second))
    assert rows["first_rank"].to_list() == list(stats.rankdata(-np.round(first, 9)))


def test_errors_rank_the_other_way_round() -> None:
    table, gold = judgments()
    by_accuracy = ranks(table, reference=gold, per="system")
    by_error = ranks(table, reference=gold, score="mae", per="system")
    assert by_error["first_rank"].to_list() == by_accuracy["first_rank"].to_list()
    same = [ranks(table, reference=gold, score=s, resamples=30) for s in ("accuracy", "mae", "f1_micro")]
    assert same[0]["estimate"][0] == pytest.approx(same[1]["estimate"][0])
    assert same[0]["low"][0] == pytest.approx(same[2]["low"][0])


def test_each_person_may_be_the_reference() -> None:
    table, gold = judgments()
    people = gold.select(
        "item", pl.lit("p").alias("rater"), pl.col("value").cast(pl.Float64), condition=pl.lit("plain")
    )
    people = people.filter(pl.col("item") < "i25")
    data = pl.concat(
        [table.with_columns(kind=pl.lit("model")), people.with_columns(kind=pl.lit("person"))], how="diagonal"
    )
    found = ranks(data, reference="each", per="system", ci="none")
    expected = ranks(table, reference=people.select("item", "value"), per="system", ci="none")
    assert found["first_score"].to_list() == pytest.approx(expected["first_score"].to_list())


def test_row_order_does_not_matter() -> None:
    table, gold = judgments()
    shuffled = table.sample(fraction=1, shuffle=True, seed=2)
    plain, mixed = (ranks(t, reference=gold, resamples=40).drop("options") for t in (table, shuffled))
    assert plain.rows() == mixed.rows()


def test_systems_of_one_condition_are_not_ranked() -> None:
    table, gold = judgments()
    table = table.filter(~((pl.col("rater") == "z") & (pl.col("condition") == "plain")))
    row = ranks(table, reference=gold, ci="none").row(0, named=True)
    assert (row["systems"], row["left_out"]) == (3, {"unranked": 30})
    alone = ranks(table.filter(pl.col("rater").is_in(["w", "z"])), reference=gold).row(0, named=True)
    assert alone["reason"] == "fewer than two systems have a score in both conditions"


def test_rank_correlation_of_rows_with_an_undefined_score_is_undefined() -> None:
    assert np.isnan(rank_correlations(np.array([[1.0, np.nan, 2.0]]), np.array([[1.0, 2.0, 3.0]]), "spearman")[0])


@pytest.mark.parametrize(
    "options",
    [{"score": "f1"}, {"score": "f1_class"}, {"correlation": "pearson"}, {"per": "item"}, {"values": ["a"]}],
)
def test_bad_options_are_told_in_one_sentence(options: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        ranks(score_table([(1, 2), (2, 1)]), **options)


@pytest.mark.parametrize("zero_division", [0.0, None])
def test_classes_without_a_denominator_count_as_in_accuracy(zero_division: float | None) -> None:
    table, gold = judgments()
    # Nobody answers 2 and the reference never has it, so that its F1 has no denominator.
    options: dict[str, Any] = {"reference": gold, "zero_division": zero_division, "ci": "none"}
    with_third = pl.concat([table, table.head(1).with_columns(value=pl.lit(2.0), item=pl.lit("other"))])
    scores = ranks(with_third, per="system", score="f1_macro", **options)
    expected = accuracy(with_third, by=["rater", "condition"], metric="f1_macro", **options)
    for row in scores.iter_rows(named=True):
        for side, condition in (("first_score", "context"), ("second_score", "plain")):
            same = expected.filter(rater=row["system"], condition=condition)["estimate"][0]
            assert row[side] == pytest.approx(same)
    assert (scores["first_score"] < 0.67).all() == (zero_division == 0.0)


def test_systems_that_answered_different_items_are_named() -> None:
    rows = [
        (item, system, condition, value)
        for item, hard in (("a", 0.0), ("b", 1.0))
        for system, value in (("s", 1.0), ("t", hard), ("u", 1 - hard))
        for condition in "xy"
    ]
    frame = pl.DataFrame(rows, schema=["item", "rater", "condition", "value"], orient="row")
    assert "different items" not in str(ranks(frame)["reason"][0])
    fewer = frame.filter(~((pl.col("rater") == "t") & (pl.col("condition") == "y") & (pl.col("item") == "a")))
    assert "the systems answered different items" in ranks(fewer)["reason"][0]
    assert set(ranks(fewer, per="system")["reason"]) == {ranks(fewer, per="system")["reason"][0]}


def test_models_are_ranked_by_how_well_they_hit_people() -> None:
    rows = [
        (item, rater, kind, condition, value if kind == "person" or item != missed else 1 - value)
        for condition, missed in (("x", "a"), ("y", "b"))
        for item, value in (("a", 0.0), ("b", 1.0), ("c", 1.0))
        for rater, kind in (("ann", "person"), ("bob", "person"), ("eve", "person"), ("m", "model"))
    ]
    data = pl.DataFrame(rows, schema=["item", "rater", "kind", "condition", "value"], orient="row")
    both = pl.concat([data, data.filter(rater="ann").with_columns(rater=pl.lit("n"), kind=pl.lit("model"))])
    scores = ranks(both, per="system", ci="none")
    assert scores.select("system", "score", pl.col("first_score").round(2)).rows() == [
        ("m", "accuracy", 0.67),
        ("n", "accuracy", 1.0),
    ]
