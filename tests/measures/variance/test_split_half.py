from __future__ import annotations

from functools import cache
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from vantage import Corpus, InputError, Instrument, Scale
from vantage.measures.relations.correlations import pearson_rows, rounding_error
from vantage.measures.variance import split_half as module
from vantage.measures.variance.split_half import split_half, whole_test

ITEMS = {"a": [1, 2, 2], "b": [3, 5, 4, 5], "c": [2, 2], "d": [5, 4, 5, 3, 4], "e": [1, 2]}


def table(items: dict[str, list[int]] = ITEMS) -> pl.DataFrame:
    rows = [(item, f"r{r}", v) for item, values in items.items() for r, v in enumerate(values)]
    return pl.DataFrame(rows, schema=["item", "rater", "value"], orient="row")


def random_table(seed: int, items: int = 40, most: int = 6) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    score = rng.normal(0, 1.2, items)
    rows = [
        (f"i{i}", f"r{r}", float(np.clip(np.rint(3 + score[i] + rng.normal()), 1, 5)))
        for i in range(items)
        for r in rng.choice(9, rng.integers(2, most + 1), replace=False)
    ]
    return pl.DataFrame(rows, schema=["item", "rater", "value"], orient="row")


def coefficient(a: list[float], b: list[float], correlation: str) -> float:
    if len(set(a)) == 1 or len(set(b)) == 1:
        return float("nan")
    return float((stats.pearsonr if correlation == "pearson" else stats.spearmanr)(a, b).statistic)


@cache
def every_annotation_split(aggregate: str, correlation: str) -> float:
    """The mean over all possible ways to halve all items, each equally likely."""
    score: Any = np.mean if aggregate == "mean" else np.median
    ways = []
    for values in ITEMS.values():
        n = len(values)
        halves = []
        for chosen in combinations(range(n), n // 2):
            rest = [v for i, v in enumerate(values) if i not in chosen]
            halves.append((score([values[i] for i in chosen]), score(rest)))
        ways.append(halves)
    found = [coefficient([h[0] for h in halves], [h[1] for h in halves], correlation) for halves in product(*ways)]
    return float(np.nanmean(found))


@pytest.mark.slow
@pytest.mark.parametrize("aggregate", ["mean", "median"])
@pytest.mark.parametrize("correlation", ["pearson", "spearman"])
@pytest.mark.parametrize("way", ["table", "shuffle", "counts"])
def test_annotation_splits_average_to_the_mean_over_all_splits(
    aggregate: Any, correlation: Any, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if way == "shuffle":
        monkeypatch.setattr(module, "TABLE_CELLS", 0)
    if way == "counts":
        monkeypatch.setattr(module, "PATTERN_UNITS", 0)
    row = split_half(table(), aggregate=aggregate, correlation=correlation, splits=4000, seed=1).row(0, named=True)
    exact = every_annotation_split(aggregate, correlation)
    assert row["estimate"] == pytest.approx(exact, abs=4 * row["sd"] / np.sqrt(4000))
    assert row["split_low"] < row["estimate"] < row["split_high"]
    assert (row["items"], row["raters"], row["judgments"], row["splits"]) == (5, 5, 16, 4000)


@pytest.mark.parametrize("aggregate", ["mean", "median"])
@pytest.mark.parametrize("correlation", ["pearson", "spearman"])
def test_rater_splits_average_to_the_mean_over_all_halves_of_raters(aggregate: Any, correlation: Any) -> None:
    frame = random_table(3, items=12, most=5).filter(pl.col("rater") < "r7")
    raters = sorted(frame["rater"].unique())
    score: Any = np.mean if aggregate == "mean" else np.median
    found = []
    for chosen in combinations(raters, len(raters) // 2):
        pairs = []
        for (_,), answers in frame.group_by("item"):
            mine = answers["rater"].is_in(list(chosen))
            if 0 < mine.sum() < len(answers):
                value = answers["value"].to_numpy()
                pairs.append((score(value[mine.to_numpy()]), score(value[~mine.to_numpy()])))
        found.append(coefficient([p[0] for p in pairs], [p[1] for p in pairs], correlation))
    row = split_half(frame, split="raters", aggregate=aggregate, correlation=correlation, splits=2000).row(
        0, named=True
    )
    assert row["estimate"] == pytest.approx(np.nanmean(found), abs=4 * row["sd"] / np.sqrt(2000))


def test_the_idiomatic_pandas_loop_gives_the_same_number() -> None:
    frame = random_table(0)
    data = pd.DataFrame(frame.to_dict(as_series=False))
    rng = np.random.default_rng(0)
    found = []
    for _ in range(300):
        shuffled = data.iloc[rng.permutation(len(data))]
        place = shuffled.groupby("item").cumcount()
        first = place < shuffled.groupby("item")["value"].transform("size") // 2
        means = shuffled.groupby(["item", first])["value"].mean().unstack()
        found.append(float(means.corr().to_numpy()[0, 1]))
    ours = split_half(frame, splits=2000).row(0, named=True)
    assert ours["estimate"] == pytest.approx(np.mean(found), abs=5 * np.std(found) / np.sqrt(300))
    assert ours["sd"] == pytest.approx(np.std(found), rel=0.2)


@pytest.mark.parametrize("split", ["annotations", "raters"])
@pytest.mark.parametrize("aggregate", ["mean", "median"])
def test_the_order_of_rows_makes_no_difference(split: Any, aggregate: Any) -> None:
    frame = random_table(5)
    shuffled = frame.sample(fraction=1, shuffle=True, seed=2)
    first, second = (split_half(f, split=split, aggregate=aggregate, splits=50) for f in (frame, shuffled))
    assert first.equals(second)


def test_new_names_and_a_change_of_scale_make_no_difference() -> None:
    frame = random_table(6)
    renamed = frame.with_columns("x" + pl.col("item").str.reverse(), pl.col("rater").str.reverse())
    moved = frame.with_columns(pl.col("value") * 2 - 8)
    expected = split_half(frame, splits=50)["estimate"][0]
    assert split_half(renamed, splits=50)["estimate"][0] == expected
    assert split_half(moved, splits=50)["estimate"][0] == pytest.approx(expected, abs=1e-12)
    ranks = split_half(frame, aggregate="median", correlation="spearman", splits=50)["estimate"][0]
    again = split_half(moved, aggregate="median", correlation="spearman", splits=50)["estimate"][0]
    assert ranks == pytest.approx(again, abs=1e-12)


def test_the_same_seed_gives_the_same_result_and_another_seed_another() -> None:
    frame = random_table(7)
    assert split_half(frame, splits=20, seed=3).equals(split_half(frame, splits=20, seed=3))
    assert split_half(frame, splits=20, seed=3)["estimate"][0] != split_half(frame, splits=20)["estimate"][0]


def test_groups_are_those_of_separate_tables() -> None:
    one, two = random_table(8), random_table(9)
    both = pl.concat([one.with_columns(target=pl.lit("x")), two.with_columns(target=pl.lit("y"))])
    grouped = split_half(both, by="target", splits=30)
    assert grouped["target"].to_list() == ["x", "y"]
    alone = [split_half(frame, splits=30)["estimate"][0] for frame in (one, two)]
    assert grouped["estimate"].to_list() == alone


def test_many_answers_per_item_are_shuffled_and_medians_of_many_agree() -> None:
    rng = np.random.default_rng(0)
    matrix = np.clip(np.rint(rng.normal(0, 1, 30) + rng.normal(0, 1, (24, 30))), -3, 3)
    row = split_half(matrix, splits=200, spearman_brown=True).row(0, named=True)
    # The reliability of the mean of 24 raters with equal variances of items and noise is 24/25.
    assert row["estimate"] == pytest.approx(24 / 25, abs=0.02)
    assert split_half(matrix, splits=50, aggregate="median", correlation="spearman")["estimate"][0] > 0.7


@pytest.mark.parametrize("correlation", ["pearson", "spearman"])
def test_many_items_with_the_same_answers_cost_no_more_and_give_the_same(correlation: Any) -> None:
    rng = np.random.default_rng(0)
    matrix = np.clip(np.rint(rng.normal(0, 1, 3000) + rng.normal(0, 1, (4, 3000))), -1, 2) ** 3
    frame = pl.DataFrame(
        {"item": np.tile(np.arange(3000), 4), "rater": np.repeat(np.arange(4), 3000), "value": matrix.ravel()}
    )
    by_counts = split_half(frame, splits=300, correlation=correlation).row(0, named=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "PATTERN_UNITS", 10**9)
        one_by_one = split_half(frame, splits=300, correlation=correlation).row(0, named=True)
        other = split_half(frame, splits=20, correlation="spearman" if correlation == "pearson" else "pearson")[
            "estimate"
        ][0]
    assert by_counts["estimate"] != one_by_one["estimate"]
    assert by_counts["estimate"] == pytest.approx(one_by_one["estimate"], abs=4 * one_by_one["sd"] / np.sqrt(150))
    assert by_counts["sd"] == pytest.approx(one_by_one["sd"], rel=0.2)
    assert abs(other - one_by_one["estimate"]) > 10 * one_by_one["sd"] / np.sqrt(150), (
        "the two correlations differ here"
    )
    constant = split_half(np.full((4, 3000), 0.1), splits=5)
    assert constant["reason"].to_list() == ["the halves do not vary from item to item"]


@pytest.mark.parametrize(
    ("ratings", "split", "reason"),
    [
        ([[1, 2, 3, 4]], "annotations", "fewer than three items have two answers"),
        ([[1, 2], [2, 3]], "annotations", "fewer than three items have two answers"),
        ([[3, 3, 3, 3], [3, 3, 3, 3]], "annotations", "the halves do not vary from item to item"),
        ([[0.1] * 4, [0.1] * 4, [0.1] * 4], "annotations", "the halves do not vary from item to item"),
        ([[3, 3, 3, 3], [3, 3, 3, 3]], "raters", "the halves do not vary from item to item"),
    ],
)
def test_what_is_undefined_is_null_with_a_reason(ratings: Any, split: Any, reason: str) -> None:
    row = split_half(ratings, split=split, splits=10).row(0, named=True)
    assert row["estimate"] is None
    assert row["reason"] == reason


def test_one_rater_with_samples_has_no_other_half_of_raters() -> None:
    samples = {
        "item": list("abcabc"),
        "rater": ["m"] * 6,
        "sample": [0] * 3 + [1] * 3,
        "value": [1, 2, 3, 1, 2, 4],
    }
    assert split_half(samples, splits=10)["estimate"][0] > 0.9
    assert split_half(samples, split="raters", splits=10)["reason"][0] == "there is one rater only"


def test_nothing_but_missing_answers() -> None:
    nothing = pl.DataFrame(
        {"item": ["a", "b"], "rater": ["x", "y"], "value": pl.Series([None, None], dtype=pl.Float64)}
    )
    row = split_half(nothing).row(0, named=True)
    assert row["estimate"] is None
    assert row["left_out"] == {"missing": 2}


def test_single_answers_are_unpaired() -> None:
    row = split_half(table({**ITEMS, "z": [5]}), splits=10).row(0, named=True)
    assert row["left_out"] == {"unpaired": 1}
    assert row["judgments"] == 16


def test_a_nominal_question_is_refused_by_name() -> None:
    names = pl.DataFrame(
        {"item": list("aabbcc"), "question": "stance", "rater": list("xyxyxy"), "value": [0, 1, 1, 1, 2, 0]}
    )
    corpus = Corpus(
        items=pl.DataFrame({"item": list("abc")}),
        raters=pl.DataFrame({"rater": ["x", "y"]}),
        judgments=names,
        instruments=Instrument.of_questions("s", "S", {"stance": Scale.labels("no", "none", "yes")}),
    )
    with pytest.raises(InputError, match="'stance' has a nominal scale"):
        split_half(corpus)


@pytest.mark.parametrize("options", [{"split": "x"}, {"aggregate": "mode"}, {"correlation": "tau"}, {"splits": 0}])
def test_unknown_options_are_refused(options: Any) -> None:
    with pytest.raises(InputError):
        split_half(table(), **options)


@given(
    hnp.arrays(np.float64, (3, 7), elements=st.integers(-3, 3)),
    hnp.arrays(np.float64, (3, 7), elements=st.integers(-3, 3)),
)
def test_row_correlations_and_ranks_are_those_of_scipy(a: Any, b: Any) -> None:
    negligible = rounding_error(np.concatenate([a, b]))
    for first, second, ours, ranked in zip(
        a,
        b,
        pearson_rows(a, b, (negligible, negligible)),
        pearson_rows(module._ranks(a), module._ranks(b), (negligible, negligible)),
        strict=True,
    ):
        expected = coefficient(first.tolist(), second.tolist(), "pearson")
        assert ours == pytest.approx(expected, abs=1e-12, nan_ok=True)
        expected = coefficient(first.tolist(), second.tolist(), "spearman")
        assert ranked == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_an_even_number_of_raters_is_halved_evenly() -> None:
    matrix = np.random.default_rng(8).normal(size=(4, 9)) + np.random.default_rng(9).normal(size=9)
    every = [
        np.corrcoef(matrix[list(one)].mean(axis=0), np.delete(matrix, one, axis=0).mean(axis=0))[0, 1]
        for one in combinations(range(4), 2)
    ]
    row = split_half(matrix, split="raters", splits=600).row(0, named=True)
    assert row["estimate"] == pytest.approx(np.mean(every), abs=4 * row["sd"] / np.sqrt(600))
    assert (row["split_low"], row["split_high"]) == pytest.approx((min(every), max(every)), abs=1e-9)


@pytest.mark.parametrize("raters", [2, 3, 5])
def test_stepping_up_gives_the_reliability_of_all_answers(raters: int) -> None:
    rng = np.random.default_rng(raters)
    matrix = rng.normal(0, 1, 4000) + rng.normal(0, 1.5, (raters, 4000))
    truth = raters / (raters + 1.5**2)
    for split in ("annotations", "raters"):
        found = split_half(matrix, split=split, spearman_brown=True, splits=40, ci="none")
        assert found["estimate"][0] == pytest.approx(truth, abs=0.015)
    ends = whole_test(np.array([0.5, 1.0, -1.0]), np.full(3, 0.25)).tolist()
    assert ends == pytest.approx([2 / 3, 1, np.nan], nan_ok=True)


def test_the_interval_is_no_longer_that_of_the_splits() -> None:
    rng = np.random.default_rng(4)
    matrix = rng.normal(0, 1, 60) + rng.normal(0, 1, (12, 60))
    rows = {ci: split_half(matrix, ci=ci, splits=100).row(0, named=True) for ci in ("auto", "items", "none")}
    assert (rows["auto"]["over"], rows["items"]["over"], rows["none"]["over"]) == ("both", "items", None)
    for ci in ("auto", "items"):
        assert rows[ci]["low"] < rows[ci]["estimate"] < rows[ci]["high"]
        assert (rows[ci]["low"], rows[ci]["high"]) != (rows[ci]["split_low"], rows[ci]["split_high"])
    stepped = split_half(matrix, splits=100, spearman_brown=True).row(0, named=True)
    assert stepped["low"] < 12 / 13 < stepped["high"]
    against = split_half(np.array([[1.0, 5, 1, 5], [5, 1, 5, 1]]), splits=5).row(0, named=True)
    assert against["low"] is None
    assert against["reason"].startswith("no interval")


def test_halves_that_run_against_each_other_have_no_reliability() -> None:
    opposed = [[1, 2, 3, 4, 5], [5, 4, 3, 2, 1]]
    row = split_half(opposed, splits=20, spearman_brown=True).row(0, named=True)
    assert row["estimate"] is None
    assert "run against each other" in row["reason"]
    assert split_half(opposed, splits=20, ci="none")["estimate"][0] == pytest.approx(-1)
    rng = np.random.default_rng(3)
    noise = split_half(rng.normal(size=(20, 40)), splits=50, spearman_brown=True, ci="none")["estimate"][0]
    assert -1 < noise < 1, "what is merely unreliable keeps its estimate"
