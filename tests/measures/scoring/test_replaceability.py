"""The alternative annotator test."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from vantage.corpora import Corpus
from vantage.errors import InputError
from vantage.instruments import Instrument
from vantage.measures.scoring.replaceability import alt_test
from vantage.scales import Scale


def table(people: Any, model: Any) -> pl.DataFrame:
    """People's answers (one row each, NaN for none) and a model's, as a long table with kinds."""
    rows = [
        (f"i{i:03}", rater, kind, float(value))
        for kind, side in (("person", people), ("model", [model]))
        for j, values in enumerate(side)
        for rater in [f"p{j}" if kind == "person" else "m"]
        for i, value in enumerate(values)
        if not np.isnan(value)
    ]
    return pl.DataFrame(rows, schema=["item", "rater", "kind", "value"], orient="row")


def score(answer: float, others: list[float], alignment: str) -> float:
    if alignment == "accuracy":
        return float(np.mean([answer == other for other in others]))
    if alignment == "rmse":
        return -float(np.sqrt(np.mean([(answer - other) ** 2 for other in others])))
    return -float(np.mean([abs(answer - other) for other in others]))


def by_definition(people: Any, model: Any, alignment: str, epsilon: float) -> tuple[float, float, list[float]]:
    """Winning rate, mean advantage probability and p-values, person by person and item by item."""
    p_values, advantages = [], []
    for j in range(len(people)):
        model_wins, person_wins = [], []
        for i in range(len(model)):
            others = [people[k][i] for k in range(len(people)) if k != j and not np.isnan(people[k][i])]
            if np.isnan(people[j][i]) or np.isnan(model[i]) or not others:
                continue
            mine, theirs = score(model[i], others, alignment), score(people[j][i], others, alignment)
            model_wins.append(mine >= theirs - 1e-9)
            person_wins.append(theirs >= mine - 1e-9)
        difference = np.array(person_wins, float) - np.array(model_wins, float) - epsilon
        if np.ptp(difference) == 0:
            p_values.append(0.0 if difference[0] < 0 else 1.0)
        else:
            p_values.append(float(stats.ttest_1samp(difference, 0, alternative="less").pvalue))
        advantages.append(float(np.mean(model_wins)))
    rejected = multipletests(p_values, alpha=0.05, method="fdr_by")[0]
    return float(np.mean(rejected)), float(np.mean(advantages)), p_values


@settings(max_examples=25)
@given(
    st.integers(0, 10_000),
    st.sampled_from(["accuracy", "rmse", "mae"]),
    st.sampled_from([0.0, 0.1, 0.2]),
    st.floats(0, 0.3),
)
def test_the_test_follows_its_definition(seed: int, alignment: Any, epsilon: float, gaps: float) -> None:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 5, 80).astype(float)
    people = np.where(rng.random((3, 80)) < 0.6, truth, rng.integers(0, 5, (3, 80)))
    model = np.where(rng.random(80) < 0.7, truth, rng.integers(0, 5, 80))
    people = np.where(rng.random((3, 80)) < gaps, np.nan, people)
    data = table(people, model)
    options: dict[str, Any] = {
        "alignment": alignment,
        "epsilon": epsilon,
        "min_items": 2,
        "ci": "none",
    }
    rate, advantage, p_values = by_definition(people, model, alignment, epsilon)
    row = alt_test(data, **options).row(0, named=True)
    assert row["estimate"] == pytest.approx(rate)
    assert row["advantage"] == pytest.approx(advantage)
    assert row["passes"] == (rate >= 0.5)
    each = alt_test(data, per="person", **options)
    assert each["person"].to_list() == ["p0", "p1", "p2"]
    assert each["p"].to_list() == pytest.approx(p_values)


def test_two_people_and_a_model_by_hand() -> None:
    # With p0 left out, the model agrees with p1 on items 1, 2, 3 and p0 does on 1, 2: ties on 1, 2 and 4.
    people = [[1, 1, 0, 0], [1, 1, 1, 1]]
    model = [1, 1, 1, 0]
    rows = alt_test(table(people, model), alignment="accuracy", min_items=2, per="person", ci="none")
    first = rows.filter(person="p0").row(0, named=True)
    assert (first["estimate"], first["person_advantage"], first["shared"]) == (1.0, 0.75, 4)
    second = rows.filter(person="p1").row(0, named=True)
    # With p1 left out, the model agrees with p0 on 1, 2, 4 and p1 on 1, 2.
    assert (second["estimate"], second["person_advantage"]) == (1.0, 0.75)
    assert set(rows["test"]) == {"wilcoxon"}


def test_small_samples_are_tested_by_signed_ranks() -> None:
    rng = np.random.default_rng(0)
    people = rng.integers(0, 2, (3, 20))
    model = rng.integers(0, 2, 20)
    row = alt_test(table(people, model), alignment="accuracy", min_items=10, epsilon=0.1, per="person", ci="none").row(
        0, named=True
    )
    wins = []
    for i in range(20):
        others = [people[1][i], people[2][i]]
        mine, theirs = score(model[i], others, "accuracy"), score(people[0][i], others, "accuracy")
        wins.append(float(theirs >= mine) - float(mine >= theirs) - 0.1)
    assert row["p"] == pytest.approx(stats.wilcoxon(wins, alternative="less", method="approx").pvalue)


def test_people_with_few_items_are_not_tested_and_told() -> None:
    people = np.ones((3, 40))
    people[2, 10:] = np.nan
    data = table(people, np.ones(40))
    rows = alt_test(data, alignment="accuracy", per="person")
    assert rows["replaceable"].to_list() == [True, True, None]
    assert rows["reason"][2] == "10 shared items, fewer than the 30 that a test needs"
    summary = alt_test(data, alignment="accuracy").row(0, named=True)
    assert (summary["people"], summary["tested"], summary["estimate"], summary["advantage"]) == (
        3,
        2,
        1.0,
        1.0,
    )
    assert (summary["passes"], summary["stands_in"]) == (None, None)
    assert summary["reason"].startswith("2 of 3 people could be tested")
    assert alt_test(table(people[:, :5], np.ones(5)), alignment="accuracy")["estimate"][0] is None


def test_one_tested_person_gives_no_verdict_and_three_do() -> None:
    rng = np.random.default_rng(3)
    people = rng.integers(0, 2, (4, 40)).astype(float)
    people[1:3, 20:] = people[3, :20] = np.nan
    people[0] = 1.0  # whoever answers alike, and to everything, must not speak for all
    said = alt_test(table(people, people[0]), alignment="accuracy", ci="none").row(0, named=True)
    assert (said["tested"], said["estimate"], said["passes"], said["stands_in"]) == (1, 1.0, None, None)
    assert said["reason"].endswith("a verdict needs 3")
    said = alt_test(table(people[:3, :20], people[0, :20]), alignment="accuracy", min_items=20, ci="none").row(
        0, named=True
    )
    assert (said["tested"], said["passes"]) == (3, True)


def test_epsilon_decides_between_equals_and_a_worse_model_fails() -> None:
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 3, 200)
    people = np.where(rng.random((4, 200)) < 0.7, truth, rng.integers(0, 3, (4, 200)))
    like_them = np.where(rng.random(200) < 0.7, truth, rng.integers(0, 3, 200))
    guesses = rng.integers(0, 3, 200)
    assert alt_test(table(people, like_them), alignment="accuracy", epsilon=0.2, ci="none")["passes"][0]
    assert not alt_test(table(people, like_them), alignment="accuracy", epsilon=0.0, ci="none")["passes"][0]
    assert not alt_test(table(people, guesses), alignment="accuracy", epsilon=0.2, ci="none")["passes"][0]


def test_the_advantage_has_an_interval_over_items() -> None:
    rng = np.random.default_rng(2)
    people = rng.integers(0, 3, (1, 100)).repeat(3, axis=0)
    people[1:] = rng.integers(0, 3, (2, 100))
    data = table(people, rng.integers(0, 3, 100))
    row = alt_test(data, alignment="accuracy").row(0, named=True)
    assert row["advantage_low"] < row["advantage"] < row["advantage_high"]
    assert row["advantage_high"] - row["advantage_low"] < 0.25


def test_unanswered_items_are_left_out_or_lost() -> None:
    data = table(np.ones((3, 40)), np.ones(40)).with_columns(status=pl.lit("answered"))
    refused = (pl.col("rater") == "m") & (pl.col("item") < "i010")
    data = data.with_columns(
        pl.when(refused).then(None).otherwise("value").alias("value"),
        pl.when(refused).then(pl.lit("refused")).otherwise("status").alias("status"),
    )
    left_out = alt_test(data, alignment="accuracy", ci="none").row(0, named=True)
    assert (left_out["advantage"], left_out["left_out"]) == (1.0, {"refused": 10, "unmatched": 30})
    assert (left_out["passes"], left_out["answered"]) == (True, 0.75)
    lost = alt_test(data, alignment="accuracy", missing="wrong", ci="none").row(0, named=True)
    assert (lost["advantage"], lost["items"]) == (0.75, 40)


def test_repeated_samples_of_the_model_are_averaged() -> None:
    data = table(np.ones((3, 30)), np.ones(30)).with_columns(sample=pl.lit(0))
    again = data.filter(kind="model").with_columns(sample=pl.lit(1), value=pl.lit(0.0))
    # Half of the model's samples agree with people who always agree: it loses every item.
    row = alt_test(pl.concat([data, again]), alignment="accuracy", ci="none").row(0, named=True)
    assert (row["advantage"], row["estimate"]) == (0.0, 0.0)


def test_row_order_and_names_do_not_matter() -> None:
    rng = np.random.default_rng(3)
    data = table(rng.integers(0, 3, (3, 50)), rng.integers(0, 3, 50))
    other = data.sample(fraction=1, shuffle=True, seed=0).with_columns(
        rater="x" + pl.col("rater"), item="y" + pl.col("item")
    )
    plain, mixed = (alt_test(t, alignment="rmse", resamples=50).drop("model", "options") for t in (data, other))
    assert plain.rows() == mixed.rows()


def corpus(scale: Scale) -> Corpus:
    rng = np.random.default_rng(0)
    data = table(rng.integers(0, 2, (3, 40)), rng.integers(0, 2, 40))
    raters = data.select("rater", "kind").unique()
    return Corpus(
        items=data.select("item", pl.col("item").alias("text")).unique(),
        raters=raters,
        judgments=data.select("item", "rater", "value", question=pl.lit("q")),
        instruments=Instrument.of_questions("test", "Test", {"q": scale}),
    )


def test_the_scale_chooses_the_alignment() -> None:
    assert alt_test(corpus(Scale.labels("no", "yes")), ci="none")["alignment"][0] == "accuracy"
    assert alt_test(corpus(Scale.points(0, 1)), ci="none")["alignment"][0] == "rmse"
    with pytest.raises(InputError, match="'q' has a nominal scale"):
        alt_test(corpus(Scale.labels("no", "yes")), alignment="rmse")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "level of measurement"),
        ({"alignment": "bleu"}, "alignment 'bleu'"),
        ({"alignment": "accuracy", "epsilon": 1.5}, "epsilon 1.5"),
        ({"alignment": "accuracy", "models": ["x"]}, "no rater 'x'"),
        ({"alignment": "accuracy", "per": "item"}, "per 'item'"),
    ],
)
def test_bad_input_is_told_in_one_sentence(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        alt_test(table([[1, 0], [1, 1]], [1, 1]), **options)


def test_a_group_without_the_model_is_null_with_a_reason() -> None:
    data = table(np.ones((3, 60)), np.ones(60)).with_columns(
        topic=pl.when(pl.col("item") < "i030").then(pl.lit("x")).otherwise(pl.lit("y"))
    )
    data = data.filter(~((pl.col("kind") == "model") & (pl.col("topic") == "y")))
    rows = alt_test(data, by="topic", alignment="accuracy", ci="none")
    assert rows["estimate"].to_list() == [1.0, None]
    assert rows["reason"].to_list() == [None, "no model was asked in this group"]


def test_people_alone_leave_no_model_to_test() -> None:
    with pytest.raises(InputError, match="no model to test"):
        alt_test(table([[1, 0], [1, 1]], [1, 1]).filter(kind="person"), alignment="accuracy")


def test_a_plain_array_needs_the_models_named() -> None:
    answers = np.ones((3, 30))
    with pytest.raises(InputError, match="which raters are models"):
        alt_test(answers, alignment="accuracy")
    assert alt_test(answers, alignment="accuracy", models=["2"], ci="none")["tested"][0] == 2
