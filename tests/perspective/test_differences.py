from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from tests.perspective.conftest import made
from vantage import Corpus, InputError
from vantage.perspective import Evaluation, advantage, average_user, evaluate
from vantage.perspective.evaluation import Over
from vantage.perspective.splits import people_pairs


def scored(corpus: Corpus, wrong: float, over: Over = "users", seed: int = 0) -> Evaluation:
    """Predictions of which a share is wrong."""
    pairs = people_pairs(corpus, "seen").select("item", "rater", "value").sort("item", "rater")
    flip = pl.Series(np.random.default_rng(seed).random(len(pairs)) < wrong)
    told = pairs.with_columns(pl.when(flip).then(1 - pl.col("value")).otherwise("value").alias("value"))
    return evaluate(told, corpus, resamples=100, over=over)


@pytest.mark.parametrize("over", ["users", "texts"])
def test_the_average_user_is_that_of_the_summary_and_lies_in_the_interval(over: Over) -> None:
    found = scored(made(12, 40, 20), 0.3, over)
    row = average_user(found)
    assert row["estimate"] == pytest.approx(found.f1("user"))
    assert row["low"] < row["estimate"] < row["high"]  # type: ignore[operator]


@pytest.mark.slow
@pytest.mark.parametrize("over", ["users", "texts"])
def test_a_better_model_is_told_from_a_worse_one_and_the_other_way_round(over: Over) -> None:
    corpus = made(12, 40, 20)
    good, bad = scored(corpus, 0.1, over), scored(corpus, 0.45, over, seed=1)
    row = advantage(good, bad)
    assert row["difference"] == pytest.approx((good.f1("user") or 0) - (bad.f1("user") or 0))
    assert 0 < row["low"] < row["difference"] < row["high"]
    assert row["p"] < 0.01
    turned = advantage(bad, good)
    assert turned["difference"] == pytest.approx(-row["difference"])
    assert turned["p"] == pytest.approx(row["p"], abs=0.005)


@pytest.mark.parametrize("over", ["users", "texts"])
@pytest.mark.slow
def test_two_models_alike_differ_by_chance_in_about_one_of_twenty(over: Over) -> None:
    corpus = made(12, 30, 15)
    small = sum(
        advantage(scored(corpus, 0.4, over, 2 * n), scored(corpus, 0.4, over, 2 * n + 1))["p"] < 0.05 for n in range(40)
    )
    assert small <= 6


def test_few_users_who_change_places_give_the_p_value_of_all_ways() -> None:
    corpus = made(5, 20, 15)
    one, other = scored(corpus, 0.1), scored(corpus, 0.4, seed=3)
    columns = ("rater", "f1")
    both = (
        one.users.filter(pl.col("class") == "macro")
        .select(columns)
        .join(other.users.filter(pl.col("class") == "macro").select(columns), on="rater")
    )
    apart = (both["f1"] - both["f1_right"]).to_numpy()
    signs = np.array(np.meshgrid(*[[-1, 1]] * len(apart))).reshape(len(apart), -1)
    exact = np.mean(np.abs(apart @ signs) >= abs(apart.sum()) - 1e-12)
    assert advantage(one, other)["p"] == pytest.approx(exact, abs=0.03)


def test_models_that_predicted_other_pairs_are_not_compared() -> None:
    corpus = made(6, 20, 10)
    with pytest.raises(InputError, match="did not predict the same pairs"):
        advantage(scored(corpus, 0.1), scored(made(6, 20, 10, seed=8), 0.1))
