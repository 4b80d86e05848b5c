"""Raters that do not read, and the share of the way from them to a person."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from tests.often import times
from vantage.measures.scoring.accuracy import accuracy
from vantage.measures.scoring.floors import AT_RANDOM, MEDIAN, MODAL, SHUFFLED, dealt, no_skill_raters
from vantage.scales import Scale

PEOPLE = [f"p{j}" for j in range(6)]


def rows(value: list[float], gold: list[float], question: str = "q") -> pl.DataFrame:
    """A model's answers beside those of people, one item each."""
    items = [f"i{number:03}" for number in range(len(value))]
    about = {"question": question, "condition": "", "rater": "m", "sample": 0}
    return pl.DataFrame({"item": items, "value": value, "gold": gold}).with_columns(
        pl.lit(one).alias(name) for name, one in about.items()
    )


def rated(model: np.ndarray, items: int = 120, noise: float = 0.25, seed: int = 0) -> tuple[pl.DataFrame, np.ndarray]:
    """Six people who answer a question of two options, mostly "no", and a model; with the truth."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(items) < 0.3).astype(float)
    people = np.where(rng.random((6, items)) < noise, rng.random((6, items)) < 0.3, truth).astype(float)
    answers = np.vstack([people, model if len(model) else truth])
    rater, item = (grid.ravel() for grid in np.indices(answers.shape))
    names = np.array([*PEOPLE, "m"])
    return pl.DataFrame({"item": item, "rater": names[rater], "value": answers.ravel()}), truth


def test_no_skill_raters_are_those_of_the_table() -> None:
    table = rows([1, 2, 3, 4, 5, 5], [1, 2, 2, 4, 5, 3])
    made = no_skill_raters(table, Scale.points(1, 5), ordered=True)
    assert list(made) == [MODAL, AT_RANDOM, MEDIAN, SHUFFLED]
    assert made[MODAL]["value"].to_list() == [2.0] * 6
    # Of the others' 2, 2, 3, 4, 5 the median is 3, of 1, 2, 2, 3, 5 it is 2.
    assert made[MEDIAN]["value"].to_list() == [3.0, 3.0, 3.0, 2.0, 2.0, 2.0]
    shares = made[AT_RANDOM].group_by("item").agg(pl.col("value").eq(2).mean())["value"]
    assert set(shares) == {0.35}, "seven of twenty answers stand for a third"
    for _, one in made[SHUFFLED].with_columns(draw=pl.int_range(pl.len()) // 6).group_by("draw"):
        assert sorted(one["value"]) == [1, 2, 3, 4, 5, 5]


def test_questions_have_no_skill_raters_of_their_own() -> None:
    table = pl.concat([rows([0] * 4, [1, 1, 1, 0], "first"), rows([9] * 4, [0, 0, 1, 0], "second")])
    made = no_skill_raters(table, Scale.points(0, 1), ordered=True)
    modal = made[MODAL].group_by("question").agg(pl.col("value").unique().first())
    assert dict(modal.iter_rows()) == {"first": 1.0, "second": 0.0}
    mixed = made[SHUFFLED].group_by("question").agg(pl.col("value").unique().sort())
    assert dict(mixed.iter_rows()) == {"first": [0.0], "second": [9.0]}
    assert {"always 0", "always 1"} <= set(made), "neither is what is most frequent of both questions"


def test_answers_are_dealt_to_other_users_too() -> None:
    table = pl.DataFrame({"item": [*"aabb"], "user": [*"xyxy"], "rater": "m", "value": [1.0, 2.0, 3.0, 4.0]})
    for row in dealt(table, 20, 0, over="user"):
        assert {frozenset(row[:2]), frozenset(row[2:])} == {frozenset({1.0, 2.0}), frozenset({3.0, 4.0})}


@pytest.mark.parametrize("metric", ["accuracy", "kappa", "f1_macro", "mae"])
def test_a_constant_is_at_the_floor_and_the_truth_above_a_person(metric: str) -> None:
    for model, expected in (("constant", False), ("truth", True)):
        data, _ = rated(np.zeros(120) if model == "constant" else np.array([]))
        row = accuracy(data, people=PEOPLE, metric=metric, reference="each", resamples=200).row(0, named=True)
        assert row["above_floor"] is expected
        if model == "constant" and metric in ("accuracy", "mae"):
            assert row["floor_rater"] == MODAL
            assert row["estimate"] == pytest.approx(row["floor"])
            assert row["skill"] == pytest.approx(0)
        if model == "truth":
            assert 1 < row["skill_low"] <= row["skill"] <= row["skill_high"]
            better = 1 if metric != "mae" else -1
            assert better * row["estimate"] > better * row["ceiling"] > better * row["floor"]


def test_where_people_are_no_better_than_a_constant_a_score_shows_no_skill() -> None:
    rng = np.random.default_rng(1)
    truth = rng.normal(size=150)
    answers = np.clip(np.rint(3 + truth * 0.4 + rng.normal(size=(7, 150))), 1, 5)
    rater, item = (grid.ravel() for grid in np.indices(answers.shape))
    data = pl.DataFrame({"item": item, "rater": np.array([*PEOPLE, "m"])[rater], "value": answers.ravel()})
    metrics = ["mae", "quadratic_kappa", "spearman"]
    found = accuracy(data, people=PEOPLE, metric=metrics, reference="each", resamples=200)
    near, kappa, ranks = found.iter_rows(named=True)
    assert near["skill"] is None
    assert "people themselves are not shown to be better than the m" in near["skill_reason"]
    assert kappa["skill_low"] < 1 < kappa["skill_high"], "the model is one of them"
    assert ranks["floor"] == 0.0
    assert ranks["skill_low"] < 1 < ranks["skill_high"], "the model is one of them"
    assert ranks["skill"] == pytest.approx(ranks["estimate"] / ranks["ceiling"])


@pytest.mark.slow
@pytest.mark.parametrize("reads", [True, False])
def test_the_share_of_the_way_of_a_correlation_covers(reads: bool) -> None:
    """A rater that answers like one more person has all of it, and one that does not read none."""
    held, above, seeds = 0, 0, times(300, 100)
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        truth = rng.normal(size=60)
        seen = np.vstack([np.tile(truth, (len(PEOPLE), 1)), truth if reads else rng.permutation(truth)])
        answers = np.clip(np.rint(4 + 1.3 * (seen + rng.normal(size=seen.shape))), 1, 7)
        rater, item = (grid.ravel() for grid in np.indices(answers.shape))
        data = pl.DataFrame({"item": item, "rater": np.array([*PEOPLE, "m"])[rater], "value": answers.ravel()})
        row = accuracy(data, people=PEOPLE, metric="spearman", reference="mean", ci="items").row(0, named=True)
        held += row["skill_low"] <= float(reads) <= row["skill_high"]
        above += row["above_floor"]
    assert 0.91 <= held / seeds <= 0.99
    assert above >= 0.95 * seeds if reads else above <= 2
