"""Distances between two groups' answers."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any, get_args

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.spatial.distance import jensenshannon

from vantage.corpora import Corpus
from vantage.errors import InputError
from vantage.instruments import Instrument
from vantage.measures.variation.distances import Distance, distance
from vantage.scales import Scale


def table(first: list[list[int]], second: list[list[int]]) -> pl.DataFrame:
    """The answers of two groups to the same items."""
    rows = [
        (f"i{i}", f"{group}{j}", group, float(value))
        for group, side in (("a", first), ("b", second))
        for i, answers in enumerate(side)
        for j, value in enumerate(answers)
    ]
    return pl.DataFrame(rows, schema=["item", "rater", "group", "value"], orient="row")


sides = st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=5), min_size=3, max_size=3)


def brute(p: Any, q: Any, metric: str, codes: Any) -> float:
    if metric == "jsd":
        return float(jensenshannon(p, q) ** 2)
    if metric == "js_distance":
        return float(jensenshannon(p, q))
    if metric == "manhattan":
        return float(np.abs(p - q).sum())
    if metric == "euclidean":
        return float(np.linalg.norm(p - q))
    return float(stats.wasserstein_distance(codes, codes, p, q))


@given(sides, sides, st.sampled_from(["jsd", "js_distance", "manhattan", "euclidean", "wasserstein"]))
def test_distances_agree_with_scipy(first: list[list[int]], second: list[list[int]], metric: Any) -> None:
    codes = np.arange(5)
    expected = []
    for one, two in zip(first, second, strict=True):
        p, q = (np.bincount(side, minlength=5) / len(side) for side in (one, two))
        expected.append(brute(p, q, metric, codes))
    items = distance(table(first, second), between="group", metric=metric, per="item")
    assert items["estimate"].to_list() == pytest.approx(expected, abs=1e-7)
    mean = distance(table(first, second), between="group", metric=metric, ci="none").row(0, named=True)
    assert mean["estimate"] == pytest.approx(np.mean(expected), abs=1e-7)


@given(sides, sides)
def test_smoothed_cross_entropy_is_entropy_plus_divergence(first: list[list[int]], second: list[list[int]]) -> None:
    data = table(first, second)
    k = data["value"].n_unique()
    both = distance(data, between="group", metric=["cross_entropy", "kl"], smoothing=0.5, ci="none")
    expected = []
    for one, two in zip(first, second, strict=True):
        smoothed = [(two.count(v) + 0.5) / (len(two) + 0.5 * k) for v in one]
        expected.append(-np.mean(np.log(smoothed)))
    assert both["estimate"][0] == pytest.approx(np.mean(expected))
    entropies = [stats.entropy(np.bincount(side)) for side in first]
    assert both["estimate"][0] - both["estimate"][1] == pytest.approx(np.mean(entropies), abs=1e-9)


def test_cross_entropy_without_smoothing_may_be_undefined() -> None:
    row = distance(table([[0, 1]], [[0, 0]]), between="group", metric="cross_entropy").row(0, named=True)
    assert row["estimate"] is None
    assert "smoothing" in row["reason"]
    defined = distance(table([[0, 0]], [[0, 1]]), between="group", metric="cross_entropy", base="bits")
    assert defined["estimate"][0] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("metric", "largest"),
    [("jsd", 1), ("js_distance", 1), ("manhattan", 1), ("euclidean", 1), ("wasserstein", 1)],
)
def test_normalised_distances_reach_one_between_the_ends(metric: Any, largest: float) -> None:
    opposite = table([[0, 0]], [[4, 4]])
    assert distance(opposite, between="group", metric=metric, normalise=True)["estimate"][0] == pytest.approx(largest)


def test_base_of_the_divergence_and_of_its_root() -> None:
    opposite = table([[0]], [[1]])
    nats = distance(opposite, between="group", metric=["jsd", "js_distance"])["estimate"].to_list()
    bits = distance(opposite, between="group", metric=["jsd", "js_distance"], base="bits")["estimate"].to_list()
    assert nats == pytest.approx([math.log(2), math.sqrt(math.log(2))])
    assert bits == pytest.approx([1.0, 1.0])


def test_items_of_one_group_are_left_out_and_counted() -> None:
    data = pl.concat(
        [
            table([[0, 1]], [[1, 1]]),
            pl.DataFrame({"item": ["x"], "rater": ["a9"], "group": ["a"], "value": [1.0]}),
        ]
    )
    row = distance(data, between="group").row(0, named=True)
    assert (row["items"], row["judgments"], row["left_out"]) == (1, 4, {"one_sided": 1})
    assert row["low"] is None


def test_a_group_without_the_second_side_has_a_reason() -> None:
    data = table([[0], [1]], [[1], [1]]).with_columns(topic=pl.col("item"))
    data = data.filter(~((pl.col("item") == "i1") & (pl.col("group") == "b")))
    rows = distance(data, between="group", by="topic")
    assert rows["estimate"].is_null().to_list() == [False, True]
    assert rows["reason"][1] == "no item was answered by both groups"


def test_opt_outs_may_be_categories() -> None:
    data = table([[0, 0]], [[0, 0]]).with_columns(status=pl.lit("answered"))
    silent = pl.col("rater") == "b1"
    data = data.with_columns(
        pl.when(silent).then(pl.lit("ambiguous")).otherwise("status").alias("status"),
        pl.when(silent).then(None).otherwise("value").alias("value"),
    )
    assert distance(data, between="group", metric="manhattan")["estimate"][0] == 0.0
    assert distance(data, between="group", metric="manhattan", opt_outs=True)["estimate"][0] == 1.0


def corpus(scale: Scale, values: list[float]) -> Corpus:
    return Corpus(
        items=pl.DataFrame({"item": ["a"], "text": ["a"]}),
        raters=pl.DataFrame({"rater": ["p", "q", "m"], "kind": ["person", "person", "model"]}),
        judgments=pl.DataFrame({"item": ["a"] * 3, "rater": ["p", "q", "m"], "question": ["q"] * 3, "value": values}),
        instruments=Instrument.of_questions("test", "Test", {"q": scale}),
    )


def test_people_against_models_of_a_corpus() -> None:
    row = distance(corpus(Scale.points(1, 5), [1, 3, 5]), between="kind", metric="wasserstein", normalise=True)
    assert row.select("first", "second", "estimate").row(0) == ("person", "model", 0.75)


def test_what_a_scale_does_not_allow() -> None:
    with pytest.raises(InputError, match="'q' has a nominal scale"):
        distance(corpus(Scale.labels("a", "b"), [0, 1, 1]), between="kind", metric="wasserstein")
    row = distance(corpus(Scale.continuous(0, 9), [1, 2, 3]), between="kind").row(0, named=True)
    assert row["estimate"] is None
    assert "wasserstein" in row["reason"]


@pytest.mark.parametrize(
    "options",
    [
        {"metric": "cosine"},
        {"metric": "kl", "normalise": True},
        {"metric": "wasserstein", "opt_outs": True},
        {"smoothing": -1.0},
        {"base": "k"},
        {"values": ["a", "z"]},
        {"between": "item"},
    ],
)
def test_bad_options_are_told_in_one_sentence(options: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        distance(table([[0], [1], [2]], [[1], [1], [1]]), **{"between": "group", **options})


def test_every_metric_is_zero_between_equal_groups_but_cross_entropy() -> None:
    same = table([[0, 1, 1]], [[0, 1, 1]])
    found = dict(distance(same, between="group", metric=get_args(Distance)).select("metric", "estimate").rows())
    assert found.pop("cross_entropy") == pytest.approx(stats.entropy([1, 2]))
    assert list(found.values()) == pytest.approx([0.0] * 6, abs=1e-12)


def grouped(seed: int, shift: float) -> pl.DataFrame:
    """Forty items, twelve raters in two groups, the second of which answers higher by a shift."""
    rng = np.random.default_rng(seed)
    rater, item = (grid.ravel() for grid in np.indices((12, 40)))
    value = np.clip(np.rint(rng.normal(size=40)[item] + rng.normal(size=480) + shift * (rater >= 6)), -2, 2)
    return pl.DataFrame({"item": item, "rater": rater, "value": value, "group": np.where(rater < 6, "a", "b")})


def test_groups_that_do_not_differ_lie_at_the_floor() -> None:
    same = distance(grouped(0, 0.0), between="group", metric=["jsd", "wasserstein"])
    apart = distance(grouped(0, 1.0), between="group", metric=["jsd", "wasserstein"])
    for alike, other in zip(same.iter_rows(named=True), apart.iter_rows(named=True), strict=True):
        assert alike["estimate"] == pytest.approx(alike["chance"], rel=0.1)
        assert alike["excess"] == pytest.approx(alike["estimate"] - alike["chance"])
        assert alike["excess_low"] < 0 < alike["excess_high"]
        assert alike["p"] > 0.05
        assert other["excess_low"] > 0
        assert other["p"] == pytest.approx(1 / 101)


def test_the_floor_is_the_mean_over_all_ways_to_deal_the_raters() -> None:
    data = grouped(1, 0.5).filter(pl.col("rater").is_in([0, 1, 6, 7]), pl.col("item") < 6)
    every = []
    for first in combinations([0, 1, 6, 7], 2):
        dealt = data.with_columns(group=pl.when(pl.col("rater").is_in(first)).then(pl.lit("a")).otherwise(pl.lit("b")))
        every.append(distance(dealt, between="group", ci="none")["estimate"][0])
    row = distance(data, between="group", relabellings=400).row(0, named=True)
    assert row["chance"] == pytest.approx(np.mean(every), abs=0.01)


def test_there_is_no_floor_where_raters_are_in_both_groups() -> None:
    data = grouped(0, 0.0).with_columns(half=pl.when(pl.col("item") % 2 == 0).then(pl.lit("x")).otherwise(pl.lit("y")))
    by_question = distance(data, between="half", match=["question"])
    assert "chance" not in by_question.columns
    assert "chance" not in distance(grouped(0, 0.0), between="group", ci="none").columns
