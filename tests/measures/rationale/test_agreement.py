"""Agreement of rationales beside chance: brute force, invariances, and the published experts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.measures.rationale.single import rouge
from vantage.corpora.readers import load
from vantage.errors import InputError
from vantage.measures import rationale_agreement, rationale_similarity


def corpus(seed: int = 0) -> pl.DataFrame:
    """Two people and a model whose reasons take words from the item and from the question."""
    rng = np.random.default_rng(seed)
    rows = []
    for item in range(8):
        for question in ("p", "q"):
            for rater, kind in (("x", "person"), ("y", "person"), ("m", "model")):
                words = [f"i{item}", f"i{item}too", f"q{question}", *rng.choice(["oh", "well", "so", "then"], 2)]
                rows.append((str(item), question, rater, kind, 1.0, " ".join(rng.permutation(words))))
    return pl.DataFrame(rows, schema=["item", "question", "rater", "kind", "value", "rationale"], orient="row")


def test_pairs_are_averaged_as_by_hand() -> None:
    table = corpus().filter(pl.col("kind") == "person")
    found = rationale_agreement(table, metric=["rouge-1"], ci="none", by="question")
    for question in ("p", "q"):
        texts = table.filter(pl.col("question") == question).group_by("item").agg("rationale")["rationale"]
        by_hand = np.mean([rouge(a, b)["rouge-1"] for a, b in texts])
        row = found.filter((pl.col("question") == question) & (pl.col("pairs") == "actual")).row(0, named=True)
        assert row["estimate"] == pytest.approx(by_hand)
        assert (row["compared"], row["items"], row["raters"]) == (16, 8, 2)


def test_actual_pairs_are_more_alike_than_chance() -> None:
    found = rationale_agreement(corpus(), metric=["rouge-1"], resamples=50)
    actual, question, item = found["estimate"].to_list()
    assert actual > item > question
    assert (found["low"] <= found["estimate"]).all()
    assert (found["estimate"] <= found["high"]).all()
    # Actual pairs less each baseline, with an interval that has the difference in it.
    assert found["beyond"].to_list() == [None, pytest.approx(actual - question), pytest.approx(actual - item)]
    assert (found["beyond_low"][1:] > 0).all()
    assert (found["beyond_low"][1:] <= found["beyond"][1:]).all()


def test_the_order_of_rows_does_not_matter_and_the_seed_does_what_it_should() -> None:
    first = rationale_agreement(corpus(), metric=["rouge-l"], resamples=20, draws=1, seed=3)
    again = rationale_agreement(corpus(), metric=["rouge-l"], resamples=20, draws=1, seed=3)
    assert first.equals(again)
    turned = rationale_agreement(corpus().reverse(), metric=["rouge-l"], ci="none", draws=1, seed=3)
    assert turned["estimate"][0] == pytest.approx(first["estimate"][0])


def test_a_model_is_compared_with_people_only() -> None:
    found = rationale_similarity(corpus(), metric=["rouge-1", "embedding"], ci="none")
    assert found["model"].unique().to_list() == ["m"]
    rows = found.filter(pl.col("metric") == "embedding")
    assert rows["estimate"].to_list() == [None] * 3
    assert all("needs an encoder" in reason for reason in rows["reason"])
    assert found.filter(pl.col("metric") == "rouge-1")["estimate"].is_not_null().all()
    named = rationale_similarity(corpus().drop("kind"), models=["m"], people=["x", "y"], metric=["rouge-1"], ci="none")
    assert named["estimate"][0] == pytest.approx(found["estimate"][0])


def test_missing_rationales_are_counted() -> None:
    table = corpus().with_columns(pl.when(pl.col("item") == "0").then(None).otherwise("rationale").alias("rationale"))
    found = rationale_agreement(table, metric=["rouge-1"], ci="none")
    assert found["left_out"][0] == {"no rationale": 4, "model": 16}
    assert found["items"][0] == 7


def test_nothing_to_compare_is_null_with_a_reason() -> None:
    alone = corpus().filter(pl.col("rater") == "x")
    found = rationale_agreement(alone, metric=["bleu-2"], ci="none")
    assert found["estimate"].to_list() == [None] * 3
    assert set(found["reason"]) == {"no two rationales can be compared"}


def test_tables_without_rationales_or_kinds_are_refused() -> None:
    with pytest.raises(InputError, match="no column 'rationale'"):
        rationale_agreement(corpus().drop("rationale"))
    with pytest.raises(InputError, match="which raters are models"):
        rationale_similarity(corpus().drop("kind"))


@pytest.mark.data
@pytest.mark.slow
def test_against_texts_by_the_same_hand_the_experts_are_above_chance(data_dir: Path) -> None:
    people = load("appraisals", data_dir / "appraisals", replies="none")
    double = people.judgments.filter(pl.col("item").count().over("item", "question") == 2)
    found = rationale_agreement(
        double, metric=["bleu-4", "rouge-l"], direction="ordered", writer="other", draws=2, ci="none"
    )
    told = {(m, p): e for m, p, e in found.select("metric", "pairs", "estimate").iter_rows()}
    assert told["bleu-4", "actual"] == pytest.approx(0.046, abs=0.0005)
    assert told["rouge-l", "actual"] == pytest.approx(0.262, abs=0.0005)
    # Exact expectations over all pairs: 0.036 and 0.025, 0.238 and 0.210.
    assert told["bleu-4", "same question, other item"] == pytest.approx(0.036, abs=0.004)
    assert told["rouge-l", "same question, other item"] == pytest.approx(0.238, abs=0.006)
    assert told["bleu-4", "same item, other question"] == pytest.approx(0.025, abs=0.004)
    assert told["rouge-l", "same item, other question"] == pytest.approx(0.210, abs=0.006)
