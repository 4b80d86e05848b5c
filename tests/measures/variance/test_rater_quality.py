from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import vantage
from vantage import Corpus, InputError, Instrument, Scale
from vantage.measures.intervals import ALIKE
from vantage.measures.variance.rater_quality import rater_quality, robust_z
from vantage.measures.variance.split_half import split_half


def judgments(seed: int = 0, items: int = 60, people: int = 12, per_item: int = 8) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    score = rng.normal(0, 1.3, items)
    rows = [
        (f"i{i}", f"r{r:02}", float(np.clip(np.rint(score[i] + rng.normal(0, 0.8)), -3, 3)))
        for i in range(items)
        for r in sorted(rng.choice(people, per_item, replace=False))
    ]
    return pl.DataFrame(rows, schema=["item", "rater", "value"], orient="row")


def profile(frame: pl.DataFrame, rater: str, **options: Any) -> dict[str, Any]:
    return rater_quality(frame, **options).filter(pl.col("rater") == rater).row(0, named=True)


@pytest.mark.parametrize("correlation", ["pearson", "spearman"])
def test_each_column_is_that_of_its_definition(correlation: Any) -> None:
    frame = judgments(per_item=3)
    found = rater_quality(frame, correlation=correlation)
    assert len(found) == 12
    for row in found.iter_rows(named=True):
        mine = frame.filter(pl.col("rater") == row["rater"])
        others = frame.filter(pl.col("rater") != row["rater"])
        x, y, pooled, same = [], [], [], []
        for item, _, value in mine.iter_rows():
            answers = others.filter(pl.col("item") == item)["value"].to_list()
            x.append(value)
            y.append(float(np.mean(answers)))
            pooled += answers
            same += [a == value for a in answers]
        expected = (stats.pearsonr if correlation == "pearson" else stats.spearmanr)(x, y).statistic
        assert row["estimate"] == pytest.approx(expected, abs=1e-9)
        assert row["bias"] == pytest.approx(np.mean(x) - np.mean(y))
        assert row["spread"] == pytest.approx(np.std(x, ddof=1) / np.std(pooled, ddof=1))
        assert row["agreement"] == pytest.approx(np.mean(same))
        counted = mine["value"].value_counts()["count"].to_list()
        assert row["top_share"] == pytest.approx(max(counted) / len(mine))
        assert (row["judgments"], row["items"], row["units"]) == (len(mine), len(mine), len(mine))


def test_the_longest_run_is_counted_in_the_order_of_rows() -> None:
    table = pl.DataFrame(
        {
            "item": [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6],
            "rater": ["x", "y"] * 6,
            "value": [1, 1, 1, 2, 1, 3, 2, 4, 2, 5, 1, 6],
        }
    )
    assert profile(table, "x")["longest_run"] == 3
    assert profile(table, "y")["longest_run"] == 1
    assert profile(table.reverse(), "x")["longest_run"] == 3


def test_the_expected_run_is_what_chance_makes() -> None:
    rng = np.random.default_rng(0)
    longest = []
    for _ in range(400):
        toss = rng.random(200) < 0.7
        cuts = np.flatnonzero(np.diff(toss)) + 1
        longest.append(max(len(run) for run in np.split(toss, cuts)))
    values = np.tile([1, 1, 1, 1, 1, 1, 1, 0, 0, 0], 20)
    table = {"item": np.arange(200), "rater": ["x"] * 200, "value": rng.permutation(values)}
    assert rater_quality(table)["expected_run"][0] == pytest.approx(np.mean(longest), abs=0.5)


def test_ordinary_raters_are_not_flagged() -> None:
    flagged = sum(rater_quality(judgments(seed))["flags"].list.len().sum() for seed in range(5))
    assert flagged <= 3


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (-pl.col("value"), "answers run against the others"),
        (pl.lit(2.0), "gave the same answer all"),
        ((pl.col("value") + 2).clip(-3, 3), "points from the others on the same items"),
        (pl.when(pl.col("value").abs() < 2).then(0.0).otherwise("value"), "gives one answer in"),
        ((pl.col("value") * 9).clip(-3, 3), "uses the ends of the scale"),
        ((pl.col("value") / 5), "uses a narrow part of the scale"),
        (pl.col("item").hash(1).mod(7).cast(pl.Float64) - 3, "agrees little with the others"),
        (pl.col("value").sort(), "equal answers in a row"),
    ],
)
def test_the_rater_who_stands_out_comes_first_with_the_reason(value: pl.Expr, words: str) -> None:
    frame = judgments(3, items=120)
    changed = frame.filter(pl.col("rater") == "r05").with_columns(value=value)
    planted = pl.concat([frame.filter(pl.col("rater") != "r05"), changed])
    worst = rater_quality(planted).row(0, named=True)
    assert worst["rater"] == "r05"
    assert any(words in flag for flag in worst["flags"])


def test_opt_outs_and_speed_stand_out() -> None:
    frame = judgments(4).with_columns(status=pl.lit("answered"), seconds=pl.lit(9.0))
    seconds = 6 + pl.col("item").hash(2).mod(7).cast(pl.Float64)
    frame = frame.with_columns(seconds=seconds / pl.when(pl.col("rater") == "r03").then(12).otherwise(1))
    quits = (pl.col("rater") == "r07") & (pl.col("item").hash(3).mod(2) == 0)
    frame = frame.with_columns(
        value=pl.when(~quits).then("value"),
        status=pl.when(quits).then(pl.lit("ambiguous")).otherwise("status"),
    )
    found = rater_quality(frame)
    fast = found.filter(pl.col("rater") == "r03").row(0, named=True)
    assert fast["seconds"] < 2
    assert any(flag.startswith("is fast") for flag in fast["flags"])
    quitter = found.filter(pl.col("rater") == "r07").row(0, named=True)
    assert 0.3 < quitter["opt_outs"] < 0.7
    assert any(flag.startswith("opts out of") for flag in quitter["flags"])
    assert quitter["left_out"]["ambiguous"] > 5
    assert {fast["rater"], quitter["rater"]} == set(found["rater"].to_list()[:2])
    assert "seconds" not in rater_quality(judgments()).columns
    raters = frame.select("rater").unique().with_columns(excluded=pl.col("rater") == "r01")
    rows = frame.drop_nulls("value").with_columns(question=pl.lit("q"), condition=pl.lit(""), sample=0)
    asked = Instrument.of_questions("i", "I", {"q": Scale.points(-3, 3)})
    some = rater_quality(Corpus(frame.select("item").unique(), raters, rows, asked))
    assert "seconds" in some.columns


def test_someone_who_only_opts_out_is_listed_and_flagged() -> None:
    silent = pl.DataFrame(
        {"item": [f"i{i}" for i in range(20)], "rater": "silent", "value": None, "status": "not_mentioned"}
    ).cast({"value": pl.Float64})
    frame = pl.concat([judgments().with_columns(status=pl.lit("answered")), silent])
    row = profile(frame, "silent")
    assert (row["estimate"], row["judgments"], row["opt_outs"]) == (None, 0, 1.0)
    assert row["reason"] == "shares fewer than three items with other raters"
    assert row["flags"] == ["opts out of 100 % of judgments (typically 0 %)"]


def test_samples_of_one_model_are_not_others() -> None:
    people = judgments(6, items=30)
    model = pl.concat(
        [
            pl.DataFrame({"item": [f"i{i}" for i in range(30)], "rater": "model", "value": 1.0, "sample": s})
            for s in range(5)
        ]
    )
    both = pl.concat([people.with_columns(sample=pl.lit(0)), model.cast({"sample": pl.Int32})])
    row = profile(both, "model")
    assert row["units"] == 30
    assert row["judgments"] == 150
    assert row["agreement"] < 0.5
    assert row["reason"] == "gives one answer throughout"


def test_the_order_of_rows_changes_runs_only_and_new_names_nothing() -> None:
    frame = judgments(8)
    runs = ["longest_run", "flags"]
    first = rater_quality(frame).drop(runs).sort("rater")
    second = rater_quality(frame.sample(fraction=1, shuffle=True, seed=1)).drop(runs).sort("rater")
    for column in ("estimate", "bias", "spread", "agreement", "top_share", "expected_run"):
        assert first[column].to_list() == second[column].to_list()
    renamed = rater_quality(frame.with_columns(pl.col("item") + "!", "q" + pl.col("rater")))
    assert renamed["rater"].str.strip_prefix("q").to_list() == rater_quality(frame)["rater"].to_list()


def test_groups_are_those_of_separate_tables() -> None:
    frame = pl.concat([judgments(s).with_columns(question=pl.lit(q)) for s, q in ((1, "p"), (2, "q"))])
    grouped = rater_quality(frame, by="question")
    assert grouped.columns[:3] == ["question", "rater", "flags"]
    alone = rater_quality(judgments(2))
    assert grouped.filter(question="q")["estimate"].to_list() == alone["estimate"].to_list()


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ([[1, 2, 3, 4, 5, 6]], "shares fewer than three items with other raters"),
        ([[1], [1]], "shares fewer than three items with other raters"),
        ([[3] * 6, [3] * 6], "gives one answer throughout"),
        ([[1, 2, 3, 4, 5, 6], [2] * 6], "the others' means do not vary"),
    ],
)
def test_what_is_undefined_is_null_with_a_reason(table: Any, reason: str) -> None:
    row = rater_quality(table).sort("rater").row(0, named=True)
    assert row["estimate"] is None
    assert row["reason"] == reason


def test_one_answer_throughout_is_no_spread_and_said_once() -> None:
    frame = judgments(3).with_columns(value=pl.when(pl.col("rater") == "r05").then(0.1).otherwise("value"))
    row = profile(frame, "r05")
    assert row["spread"] == 0.0
    assert row["flags"] == [f"gave the same answer all {row['judgments']} times"]
    assert (
        profile(pl.DataFrame({"item": list("aabb"), "rater": list("xyxy"), "value": [0.1] * 4}), "x")["spread"] is None
    )


def test_nothing_but_missing_answers() -> None:
    nothing = pl.DataFrame({"item": ["a"], "rater": ["x"], "value": pl.Series([None], dtype=pl.Float64)})
    row = rater_quality(nothing).row(0, named=True)
    assert row["estimate"] is None
    assert row["left_out"] == {"missing": 1}
    assert row["flags"] == []


def test_refusals() -> None:
    with pytest.raises(InputError, match="correlation 'tau'"):
        rater_quality(judgments(), correlation="tau")  # type: ignore[call-overload]
    corpus = Corpus(
        pl.DataFrame({"item": ["a"]}),
        pl.DataFrame({"rater": ["x", "y"]}),
        pl.DataFrame({"item": ["a", "a"], "question": "stance", "rater": ["x", "y"], "value": [0, 1]}),
        Instrument.of_questions("i", "I", {"stance": Scale.labels("no", "unclear", "yes")}),
    )
    with pytest.raises(InputError, match="'stance' has a nominal scale"):
        rater_quality(corpus)


def test_robust_distances_ignore_what_is_not_known() -> None:
    found = robust_z(np.array([1.0, 2.0, 3.0, np.nan]))
    assert np.isnan(found[3])
    np.testing.assert_allclose(found[:3], [-0.6745, 0, 0.6745])
    np.testing.assert_array_equal(robust_z(np.zeros(4)), np.zeros(4))


def test_two_options_without_an_order_are_compared_like_two_numbers() -> None:
    rng = np.random.default_rng(0)
    truth = rng.random(60)
    said = np.where(rng.random((8, 60)) < 0.15 + 0.7 * (truth > 0.5), "yes", "no")
    rows = [{"item": i, "rater": r, "answer": said[r, i]} for r in range(8) for i in range(60)]
    named = vantage.read(pl.DataFrame(rows).rename({"answer": "value"}))
    assert not named.questions[0].scale.ordered
    numbers = (said == "yes").astype(float)
    for one, other in ((rater_quality(named), rater_quality(numbers)), (split_half(named), split_half(numbers))):
        assert one["estimate"].to_list() == pytest.approx(other["estimate"].to_list())
    assert not any("of the scale" in flag for flags in rater_quality(named)["flags"] for flag in flags)


def test_a_perfect_correlation_has_no_interval_and_says_so() -> None:
    answers = {"item": [*range(20)] * 3, "rater": ["a"] * 20 + ["b"] * 20 + ["c"] * 20, "value": [*range(20)] * 3}
    rows = rater_quality(pl.DataFrame(answers).with_columns(pl.col("value").cast(pl.Float64)))
    assert rows["estimate"].to_list() == pytest.approx([1.0] * 3)
    assert rows["low"].is_null().all()
    assert set(rows["reason"]) == {ALIKE}
