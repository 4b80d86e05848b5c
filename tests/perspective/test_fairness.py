import numpy as np
import polars as pl
import pytest

from tests.perspective.conftest import made
from vantage import Corpus, InputError
from vantage.measures import groups
from vantage.measures.parts import DISJOINT
from vantage.perspective.evaluation import evaluate
from vantage.perspective.fairness import below, gaps, minority_gap
from vantage.perspective.splits import people_pairs


def test_a_planted_gap_is_found_with_its_sides() -> None:
    corpus = made(20, 40, 20)
    pairs = people_pairs(corpus, "seen").select("item", "rater", "value").join(corpus.raters, on="rater")
    often = pl.when(pl.int_range(pl.len()) % 4 > 0).then(1 - pl.col("value")).otherwise("value")
    wrong = pl.when(pl.col("side") == "left").then(often).otherwise("value")
    found = evaluate(pairs.select("item", "rater", wrong.alias("value")), corpus, resamples=200)
    rows = {row["group"]: row for row in gaps(found).filter(trait="side").iter_rows(named=True)}
    assert rows["left"]["estimate"] == pytest.approx(0.75, abs=0.05)
    assert rows["left"]["worse"]
    assert (rows["left"]["people"], rows["left"]["others"]) == (10, 10)
    assert rows["left"]["low"] < rows["left"]["estimate"] < rows["left"]["high"]
    assert not rows["right"]["worse"]
    worst = below(found, 0.5)
    assert set(worst["side"]) == {"left"}
    assert len(worst) == 10


def test_gaps_are_those_of_the_one_analysis_of_groups() -> None:
    corpus = made(20, 40, 20, seed=4)
    pairs = people_pairs(corpus, "seen").select("item", "rater", "value")
    told = pairs.with_columns(
        value=pl.when(pl.int_range(pl.len()) % 3 == 0).then(1 - pl.col("value")).otherwise("value")
    )
    row = gaps(evaluate(told, corpus, resamples=100)).filter(group="left").row(0, named=True)
    assert row["p"] > 0.05
    assert not row["worse"]
    errors = pairs.join(told, on=["item", "rater"], suffix="_told").join(corpus.raters, on="rater")
    errors = errors.with_columns(value=(pl.col("value") != pl.col("value_told")).cast(pl.Float64))
    same = (
        groups(errors.select("item", "rater", "value", "side"), traits="side", ci="raters")
        .filter(group="left")
        .row(0, named=True)
    )
    assert [row[name] for name in ("estimate", "low", "high", "p")] == pytest.approx(
        [same[name] for name in ("estimate", "low", "high", "p")], rel=1e-12
    )


def test_the_majority_predicts_those_who_agree_with_it() -> None:
    corpus = made(9, 12, 12, seed=2)
    votes = people_pairs(corpus, "seen")
    majority = votes.group_by("item").agg((pl.col("value").mean() > 0.5).cast(pl.Float64).alias("value"))
    found = evaluate(votes.select("item", "rater").join(majority, on="item"), corpus, resamples=100)
    apart = minority_gap(found, corpus, "seen").row(0, named=True)
    assert (apart["with"], apart["against"], apart["difference"]) == (1.0, 0.0, 1.0)
    assert len(votes) / 2 < apart["annotations"] <= len(votes), "a tie of the others is left out"


def test_over_texts_an_interval_needs_no_second_user() -> None:
    corpus = made(people=2, texts=60, each=50)
    people = corpus.judgments.select("item", "rater", "value")
    wrong = pl.when(pl.col("rater") == "p0").then(1 - pl.col("value")).otherwise(pl.col("value"))
    told = people.with_columns(pl.when(pl.int_range(pl.len()) % 3 == 0).then(wrong).otherwise("value").alias("value"))
    many = evaluate(told, corpus, traits=["side"], resamples=100, over="texts")
    few = gaps(many).row(0, named=True)
    assert few["p"] is None
    assert "has 1 rater" in few["reason"]
    values = many.trait_values.filter(pl.col("class") == "macro")
    served = values.filter(value="left").row(0, named=True)
    assert (served["f1"], served["users"], served["texts"]) == (1.0, 1, 50)
    with_one = values.filter(value="right").row(0, named=True)
    assert with_one["low"] < with_one["f1"] < with_one["high"]
    with pytest.raises(InputError, match="over 'words' is not known"):
        evaluate(told, corpus, over="words")  # type: ignore[arg-type]


def test_people_who_are_met_against_the_majority_only_turn_the_difference_round() -> None:
    corpus = made(15, 30, 20, seed=2)
    votes = people_pairs(corpus, "seen")
    most = votes.group_by("item").agg((pl.col("value").mean() > 0.5).cast(pl.Float64).alias("most"))
    told = (
        votes.select("item", "rater").join(most, on="item").select("item", "rater", (1 - pl.col("most")).alias("value"))
    )
    row = minority_gap(evaluate(told, corpus, resamples=200), corpus, "seen").row(0, named=True)
    assert row["difference"] < 0
    assert row["low"] <= row["difference"] <= row["high"] < 0


@pytest.mark.slow
def test_of_many_traits_that_mean_nothing_one_is_seldom_said_to_matter() -> None:
    rng = np.random.default_rng(0)
    small = 0
    for seed in range(40):
        corpus = made(20, 30, 15, seed=seed)
        traits = pl.DataFrame({f"t{n}": rng.permutation(["a", "b", "c", "d"] * 5) for n in range(5)})
        raters = pl.concat([corpus.raters, traits], how="horizontal")
        many = Corpus(corpus.items, raters, corpus.judgments, corpus.instruments)
        pairs = people_pairs(corpus, "seen").select("item", "rater")
        told = pairs.with_columns(pl.Series("value", rng.integers(0, 2, len(pairs)).astype(float)))
        found = gaps(evaluate(told, many, traits=[f"t{n}" for n in range(5)], resamples=20))
        small += bool(found["worse"].any())
    assert small <= 6


def test_users_who_judged_texts_of_their_own_have_a_gap_and_no_p_value() -> None:
    corpus = made(20, 40, 20)
    side = dict(corpus.raters.select("rater", "side").iter_rows())
    pairs = people_pairs(corpus, "seen").select("item", "rater", "value")
    halves = {item: ("left", "right")[n % 2] for n, item in enumerate(corpus.items["item"].to_list())}
    of_own = pl.col("item").replace_strict(halves) == pl.col("rater").replace_strict(side)
    part = Corpus(corpus.items, corpus.raters, corpus.judgments.filter(of_own), corpus.instruments)
    assert gaps(evaluate(pairs.filter(of_own), part, resamples=50))["reason"][0] == "the errors do not vary"
    guessed = pairs.filter(of_own).with_columns(value=pl.int_range(pl.len()) % 2 + 0.0)
    row = gaps(evaluate(guessed, part, resamples=50)).row(0, named=True)
    assert (row["p"], row["reason"]) == (None, DISJOINT)
