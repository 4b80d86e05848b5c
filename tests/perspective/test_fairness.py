import polars as pl
import pytest

from tests.perspective.conftest import made
from vantage import InputError
from vantage.perspective.evaluation import evaluate
from vantage.perspective.fairness import against_majority, below, gaps
from vantage.perspective.splits import people_pairs


def test_a_planted_gap_is_found_with_its_sides() -> None:
    corpus = made(20, 40, 20)
    pairs = people_pairs(corpus, "seen").select("item", "rater", "value").join(corpus.raters, on="rater")
    wrong = pl.when(pl.col("side") == "left").then(1 - pl.col("value")).otherwise("value")
    found = evaluate(pairs.select("item", "rater", wrong.alias("value")), corpus, resamples=200)
    row = gaps(found).row(0, named=True)
    assert (row["best"], row["worst"], row["gap"]) == ("right", "left", 1.0)
    assert row["low"] == row["high"] == 1.0
    assert row["chance"] < 0.5
    worst = below(found, 0.5)
    assert set(worst["side"]) == {"left"}
    assert len(worst) == 10
    with pytest.raises(InputError, match="no class 'c'"):
        gaps(found, "c")


def test_without_a_difference_the_gap_is_no_larger_than_by_chance() -> None:
    corpus = made(20, 40, 20, seed=4)
    pairs = people_pairs(corpus, "seen").select("item", "rater", "value")
    told = pairs.with_columns(
        value=pl.when(pl.int_range(pl.len()) % 3 == 0).then(1 - pl.col("value")).otherwise("value")
    )
    row = gaps(evaluate(told, corpus, resamples=100)).row(0, named=True)
    assert row["gap"] < 3 * row["chance"]


def test_the_majority_predicts_those_who_agree_with_it() -> None:
    corpus = made(9, 12, 12, seed=2)
    votes = people_pairs(corpus, "seen")
    majority = votes.group_by("item").agg((pl.col("value").mean() > 0.5).cast(pl.Float64).alias("value"))
    found = evaluate(votes.select("item", "rater").join(majority, on="item"), corpus, resamples=100)
    table = against_majority(found, corpus, "seen")
    scores = dict(table.select("stance", "accuracy").iter_rows())
    assert scores["with most"] == 1.0
    assert scores["against most"] == 0.0
    assert table["annotations"].sum() == len(votes)
    assert table["alone"].to_list() == [0, 0, 0]


def test_over_texts_an_interval_needs_no_second_user() -> None:
    corpus = made(people=2, texts=60, each=50)
    people = corpus.judgments.select("item", "rater", "value")
    wrong = pl.when(pl.col("rater") == "p0").then(1 - pl.col("value")).otherwise(pl.col("value"))
    told = people.with_columns(pl.when(pl.int_range(pl.len()) % 3 == 0).then(wrong).otherwise("value").alias("value"))
    few = gaps(evaluate(told, corpus, traits=["side"], resamples=100)).row(0, named=True)
    assert few["low"] is None
    assert few["chance"] is None
    many = evaluate(told, corpus, traits=["side"], resamples=100, over="texts")
    found = gaps(many).row(0, named=True)
    assert found["gap"] == few["gap"]
    assert 0 < found["low"] < found["gap"] < found["high"]
    values = many.trait_values.filter(pl.col("class") == "macro")
    served = values.filter(value="left").row(0, named=True)
    assert (served["f1"], served["users"], served["texts"]) == (1.0, 1, 50)
    with_one = values.filter(value="right").row(0, named=True)
    assert with_one["low"] < with_one["f1"] < with_one["high"]
    with pytest.raises(InputError, match="intervals over 'words' are not known"):
        evaluate(told, corpus, over="words")  # type: ignore[arg-type]
