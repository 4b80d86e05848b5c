from itertools import combinations

import numpy as np
import polars as pl
import pytest

from tests.perspective.conftest import made
from vantage import Corpus, InputError
from vantage.perspective.evaluation import evaluate
from vantage.perspective.fairness import below, gaps, minority_gap
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
    assert row["p"] < 0.01
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
    assert row["p"] > 0.05


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
    few = gaps(evaluate(told, corpus, traits=["side"], resamples=100)).row(0, named=True)
    assert few["low"] is None
    assert few["chance"] is None
    assert few["p"] is None
    assert few["reason"] == "every value has one user"
    many = evaluate(told, corpus, traits=["side"], resamples=100, over="texts")
    found = gaps(many).row(0, named=True)
    assert found["gap"] == few["gap"]
    assert 0 < found["low"] < found["gap"] < found["high"]
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
def test_the_largest_gap_of_many_traits_is_tested_as_the_largest() -> None:
    """Users of five traits that mean nothing: p is below .05 in about one of twenty samples, not in one of five."""
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
        small += int((found["p"] < 0.05).any())
        known = found.drop_nulls("low")
        assert (known["low"] <= known["gap"]).all()
        assert (known["gap"] <= known["high"]).all()
    assert small <= 6


def test_p_of_a_gap_is_that_of_every_deal_of_users() -> None:
    corpus = made(6, 12, 12, seed=5)
    pairs = people_pairs(corpus, "seen").select("item", "rater", "value")
    wrong = pl.when(pl.col("rater").is_in(["p0", "p1"]) & (pl.int_range(pl.len()) % 2 == 0)).then(1 - pl.col("value"))
    told = pairs.with_columns(wrong.otherwise("value").alias("value"))
    found = evaluate(told, corpus, traits=["side"], resamples=20)
    users = found.pairs["rater"].unique().sort().to_list()
    side = dict(corpus.raters.select("rater", "side").iter_rows())

    def gap(order: tuple[str, ...]) -> float:
        moved = {user: side[other] for user, other in zip(users, order, strict=True)}
        raters = corpus.raters.with_columns(pl.col("rater").replace_strict(moved).alias("side"))
        dealt = Corpus(corpus.items, raters, corpus.judgments, corpus.instruments)
        found = evaluate(told, dealt, traits=["side"], resamples=0).trait_values
        scores = found.filter(pl.col("class") == "macro")["f1"].to_list()
        return float(max(scores) - min(scores))

    # Which users are together is all that matters: every choice of as many as have the first value.
    first = [user for user in users if side[user] == side[users[0]]]
    every = []
    for chosen in combinations(users, len(first)):
        others = [user for user in users if user not in chosen]
        rest = [user for user in users if user not in first]
        place = dict(zip(chosen, first, strict=True)) | dict(zip(others, rest, strict=True))
        every.append(gap(tuple(place[user] for user in users)))
    row = gaps(found).row(0, named=True)
    assert row["p"] == pytest.approx(np.mean(np.array(every) >= row["gap"] - 1e-12), abs=0.03)
    assert row["chance"] == pytest.approx(np.mean(every), abs=0.02)


def test_users_who_judged_texts_of_their_own_have_a_gap_and_no_p_value() -> None:
    corpus = made(20, 40, 20)
    side = dict(corpus.raters.select("rater", "side").iter_rows())
    pairs = people_pairs(corpus, "seen").select("item", "rater", "value")
    halves = {item: ("left", "right")[n % 2] for n, item in enumerate(corpus.items["item"].to_list())}
    of_own = pl.col("item").replace_strict(halves) == pl.col("rater").replace_strict(side)
    part = Corpus(corpus.items, corpus.raters, corpus.judgments.filter(of_own), corpus.instruments)
    row = gaps(evaluate(pairs.filter(of_own), part, resamples=50)).row(0, named=True)
    assert row["p"] is None
    assert row["reason"] == "no text links the users of the two values, so the gap could come from the texts"


def test_a_value_whose_users_never_gave_the_answer_has_no_score_and_no_gap() -> None:
    corpus = made(6, 12, 12, seed=1)
    pairs = people_pairs(corpus, "seen").join(corpus.raters.select("rater", "side"), on="rater")
    left = pl.col("side") == "left"
    said = corpus.judgments.join(corpus.raters.select("rater", "side"), on="rater", maintain_order="left")
    quiet = said.with_columns(value=pl.when(left).then(0.0).otherwise("value")).drop("side")
    found = evaluate(pairs.select("item", "rater", value=pl.lit(1.0)), corpus._with(judgments=quiet), resamples=50)
    label = next(
        name for name in found.classes if found.trait_values.filter(pl.col("class") == name)["f1"].null_count()
    )
    row = gaps(found, label).row(0, named=True)
    assert (row["gap"], row["best"], row["p"]) == (None, None, None)
    assert row["reason"] == "fewer than two values have users who gave the answer"
