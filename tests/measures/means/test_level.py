"""The mean answer and the share of an answer: definitions, intervals, groups of people and wrong answers."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import vantage
from vantage import Instrument, demo_corpus
from vantage.errors import InputError
from vantage.measures import mean, prevalence
from vantage.measures.intervals import Spread, interval, student_interval, wilson
from vantage.measures.means.level import MEAN_VIEW
from vantage.measures.rater_variance import FEW_RATERS
from vantage.report.sentences import Words, decide, statement
from vantage.scales import Scale


def test_every_item_counts_once() -> None:
    frame = {"item": ["a"] * 9 + ["b"], "rater": [*range(9), 0], "value": [1.0] * 9 + [0.0]}
    assert mean(frame, ci="none")["estimate"][0] == 0.5
    assert prevalence(frame, ci="none")["estimate"][0] == 0.5


def test_means_on_different_scales_are_not_ranked() -> None:
    rows = [
        (f"i{item}", f"p{rater}", question, float(base + (item + rater) % 2 * (item > 0)))
        for item in range(12)
        for rater in range(4)
        for question, base in (("liking", 1), ("trust", 4), ("percent", 60))
    ]
    scales = {"liking": Scale.points(1, 5), "trust": Scale.points(1, 5), "percent": Scale.points(0, 100)}
    judged = pl.DataFrame(rows, ["item", "rater", "question", "value"], orient="row")
    corpus = vantage.read(judged, instrument=Instrument.of_questions("three", "Three", scales))
    frame = mean(corpus, by="question", ci="items")
    assert frame["scale"].n_unique() == 2
    said = decide([statement(MEAN_VIEW.says[0], frame, Words(by=("question",)))])[0]
    assert [finding.text.split(" (")[0] for finding in said] == ["Answers are highest for trust"]


def test_intervals_over_items_are_students_and_wilsons() -> None:
    value = (np.random.default_rng(0).random(80) < 0.3).astype(float)
    frame = pl.DataFrame({"item": range(80), "rater": "ann", "value": value})
    row = mean(frame.with_columns(value=pl.col("value") * 3 - 1)).row(0, named=True)
    assert (row["low"], row["high"]) == pytest.approx(student_interval(3 * value - 1), abs=0.03)
    rare = mean(frame).row(0, named=True)  # a mean of 0 and 1 is a share
    assert (rare["low"], rare["high"]) == pytest.approx(wilson(value.sum(), 80, 0.95))
    share = prevalence(frame).row(0, named=True)
    assert (share["low"], share["high"]) == pytest.approx(wilson(value.sum(), 80, 0.95))
    nobody = prevalence(frame.with_columns(value=pl.lit(0.0)), value=1).row(0, named=True)
    assert nobody["estimate"] == 0
    assert nobody["high"] > 0.03


def test_raters_are_part_of_the_interval() -> None:
    rng = np.random.default_rng(0)
    item, rater = (grid.ravel() for grid in np.indices((50, 15)))
    value = rng.normal(size=50)[item] + 2 * rng.normal(size=15)[rater] + rng.normal(size=750)
    frame = pl.DataFrame({"item": item, "rater": rater, "value": value})
    both, items, raters = (mean(frame, ci=ci).row(0, named=True) for ci in ("auto", "items", "raters"))
    width = {row["over"]: row["high"] - row["low"] for row in (both, items, raters)}
    assert width["both"] > width["raters"] > 2 * width["items"]


def test_groups_of_people_and_answers_in_words() -> None:
    corpus = demo_corpus()
    apart = mean(corpus, between="gender", values=["woman", "man"], by="question")
    each = mean(corpus, by=["question", "gender"])
    for question, between, estimate in apart.select("question", "between", "estimate").iter_rows():
        first, second = between.split(" − ")
        values = dict(each.filter(question=question).select("gender", "estimate").iter_rows())
        assert estimate == pytest.approx(values[first] - values[second])
    frame = pl.DataFrame({"item": [1, 2, 3], "rater": "a", "value": ["yes", "no", "yes"], "question": "q"})
    import vantage

    made = vantage.read(frame)
    assert prevalence(made, value="yes", ci="none")["estimate"][0] == pytest.approx(2 / 3)
    with pytest.raises(InputError, match="there is no answer 'yess'; did you mean 'yes'"):
        prevalence(made, value="yess")
    with pytest.raises(InputError, match="say with value whose share is meant"):
        prevalence(corpus, by="question")
    with pytest.raises(InputError, match="the scale has no answer 9"):
        prevalence(corpus, value=9, by="question")
    with pytest.raises(InputError, match="a mean means nothing"):
        mean(made)


def test_empty_groups_have_a_reason() -> None:
    frame = {"item": [1], "rater": [1], "value": [None]}
    assert mean(frame)["reason"].to_list() == ["no item has an answer"]


def test_groups_of_few_raters_have_an_interval_only_where_it_is_asked_for() -> None:
    rng = np.random.default_rng(1)
    rows = [(str(item), str(rater), "ab"[rater % 2]) for item in range(40) for rater in range(3)]
    data = pl.DataFrame(rows, schema=["item", "rater", "group"], orient="row")
    data = data.with_columns(value=pl.Series(rng.integers(1, 6, len(rows)).astype(float)))
    row = mean(data, between="group").row(0, named=True)
    assert (row["low"], row["high"], row["over"]) == (None, None, None)
    assert "does not vary within raters" in row["reason"]
    asked = mean(data, between="group", ci="items").row(0, named=True)
    assert asked["low"] < asked["estimate"] < asked["high"]
    assert asked["over"] == "items"


def test_groups_of_raters_that_share_no_item_have_no_interval() -> None:
    rng = np.random.default_rng(0)
    item, rater = (grid.ravel() for grid in np.indices((20, 12)))
    group = np.where(rater < 6, "a", "b")
    answers = pl.DataFrame({"item": np.where(rater < 6, item, item + 20), "rater": rater, "group": group})
    answers = answers.with_columns(value=pl.Series(rng.normal(size=len(item)) + (rater >= 6)))
    row = mean(answers, between="group").row(0, named=True)
    assert (row["low"], row["high"], row["over"]) == (None, None, None)
    assert row["reason"] == "the two groups share no item, so a difference could come from the items"
    assert mean(answers.with_columns(item=pl.Series(item)), between="group")["reason"].to_list() == [None]


def test_a_difference_over_raters_is_that_of_leaving_out_their_rows() -> None:
    rng = np.random.default_rng(2)
    n = 400
    frame = pl.DataFrame(
        {
            "item": rng.choice(list("dacbfe"), n),
            "question": rng.choice(["p", "q"], n),
            "condition": rng.choice(["x", "y"], n),
            "rater": rng.integers(0, 7, n),
            "era": [["new", "old", "lost", None][place] for place in rng.integers(0, 4, n)],
            "value": np.where(rng.random(n) < 0.1, np.nan, rng.integers(1, 6, n)),
        }
    ).with_columns(pl.col("value").fill_nan(None))

    def by_hand(rows: pl.DataFrame) -> float:
        units = rows.drop_nulls("value").group_by("item", "question", "condition", "era").agg(pl.col("value").mean())
        old, new = (units.filter(era=era)["value"].to_numpy().mean() for era in ("old", "new"))
        return float(old - new)

    row = mean(frame, by=(), between="era", values=["old", "new"], ci="raters").row(0, named=True)
    assert row["estimate"] == pytest.approx(by_hand(frame))
    without = np.array([by_hand(frame.filter(pl.col("rater") != rater)) for rater in range(7)])
    expected = interval(row["estimate"], Spread.without_raters(without), 0.95)
    assert (row["low"], row["high"]) == pytest.approx(expected)
    assert row["judgments"] == frame.filter(pl.col("era").is_in(["old", "new"]))["value"].count()


def test_a_group_of_one_person_has_no_interval_over_people() -> None:
    item, rater = (grid.ravel() for grid in np.indices((30, 6)))
    data = pl.DataFrame({"item": item, "rater": rater, "group": np.where(rater == 0, "a", "b"), "value": item * rater})
    row = mean(data, between="group").row(0, named=True)
    assert row["estimate"] is not None
    assert (row["low"], row["over"]) == (None, None)
    assert row["reason"] == FEW_RATERS


def test_the_interval_of_five_items_holds_their_mean() -> None:
    held = []
    for seed in range(120):
        value = np.random.default_rng(seed).normal(size=5)
        low, high = (
            mean({"item": range(5), "rater": ["r"] * 5, "value": value}, ci="items").select("low", "high").row(0)
        )
        held.append(low <= 0 <= high)
    assert np.mean(held) > 0.9
