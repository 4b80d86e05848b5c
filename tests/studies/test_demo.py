"""Planted beside found: every planted truth lies in its interval, or the report says that it does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from tests.report.truth import check_all, check_intervals
from vantage import Corpus
from vantage.corpora.bundled import planted_corpus
from vantage.raters.models.base import ModelError
from vantage.report.parts import Result
from vantage.studies import Context, run
from vantage.studies.demo.study import AS_PLANTED, Demo, estimates, planted_sets, planted_values


def answering(share: float) -> Callable[..., Corpus]:
    """A model that answers as people do on average, for a share of its answer, and at random for the rest."""

    def rate(context: Context[Any], corpus: Corpus, *_: Any, questions: list[str], items: Any = ()) -> Corpus:
        rng = np.random.default_rng(0)
        asked = {"item": list(items)} if len(items) else {}
        means = corpus.filter(kind="person", question=questions[0], **asked).judgments.group_by(
            "item", maintain_order=True
        )
        frame = means.agg(pl.col("value").mean())
        noise = rng.uniform(-3, 3, len(frame))
        value = np.clip(np.rint(share * frame["value"].to_numpy() + (1 - abs(share)) * noise), -3, 3)
        judged = frame.select("item", question=pl.lit(questions[0]), rater=pl.lit("real"), value=pl.Series(value))
        return corpus.add(judged, pl.DataFrame({"rater": ["real"], "kind": ["model"]}))

    return rate


@pytest.fixture(scope="module")
def result() -> Result:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Context, "rate", answering(1.0))
        return run("demo", asked=40).result


def frame(result: Result, name: str) -> pl.DataFrame:
    return next(table.frame for table in result.tables if table.name == name)


@pytest.mark.slow
def test_every_planted_value_is_in_its_interval_or_said_not_to_be(result: Result) -> None:
    values = frame(result, "planted").drop_nulls("planted")
    assert values["id"].to_list() == [
        *("trust", "competence", "ambiguous", "random", "constant", "model-a", "model-b", "narrow", "home", "hand")
    ]
    held = values.filter(pl.col("planted").is_between("low", "high"))
    for row in values.iter_rows(named=True):
        inside = row["low"] <= row["planted"] <= row["high"]
        beyond = row["none"] is None or not row["low"] <= row["none"] <= row["high"]
        assert (row["verdict"] == AS_PLANTED) == (inside and beyond), row
    assert result.findings[0].text.startswith(f"{len(held)} of {len(values)} planted values lie inside")
    # Intervals of nominal 95 % hold what they should in most other corpora too, as the table shows.
    assert values["coverage"].min() > 0.8  # type: ignore[operator]


@pytest.mark.slow
def test_who_and_what_was_planted_is_found_or_counted_as_missed(result: Result) -> None:
    sets = {row["what"]: row for row in frame(result, "named").iter_rows(named=True)}
    for question in ("Who answers carelessly?", "Who uses a narrow part of the scale?"):
        assert sets[question]["verdict"] == AS_PLANTED
    split = sets["Which sentences are ambiguous?"]
    assert split["planted"] == "12"
    assert int(split["found"]) == 12 - split["missed"] + split["false_alarms"]
    text = " ".join(finding.text for finding in result.findings)
    assert f"(12; {split['missed']} missed, {split['false_alarms']} too many)" in text
    assert "coast are more lenient" in text
    assert "Left- and right-handed synthetic people cannot be told apart" in text


@pytest.mark.slow
def test_sentences_are_true_and_say_that_the_ratings_are_synthetic(result: Result) -> None:
    check_all(result)
    check_intervals(result)
    assert "synthetic" in result.warnings[0]
    assert result.figures[0].options["expected"]


def test_no_estimate_looks_at_what_was_planted() -> None:
    corpus = planted_corpus()
    blank = Corpus(corpus.items, corpus.raters.with_columns(planted=pl.lit("")), corpus.judgments, corpus.instruments)
    assert_frame_equal(estimates(blank, resamples=20), estimates(corpus, resamples=20))


def test_what_is_not_there_is_not_found() -> None:
    """Without its patterns the same corpus leaves the verdicts that it should."""
    corpus, rng = planted_corpus(), np.random.default_rng(0)
    shuffled = corpus.judgments.with_columns(value=pl.col("value").shuffle(seed=1))
    demo = Demo(Corpus(corpus.items, corpus.raters, shuffled, corpus.instruments), resamples=50)
    sets = planted_sets(demo)
    assert sets.filter(pl.col("what") == "Who answers carelessly?")["false_alarms"][0] > 10
    assert "as planted" not in sets.filter(pl.col("what") == "Which model can stand in for a person?")["verdict"]
    # Answers of the two groups that are alike leave nothing of the trait that matters.
    homes = {"coast": "hills", "hills": "coast"}
    swapped = corpus.raters.with_columns(
        home=pl.when(pl.Series(rng.random(26) < 0.5)).then(pl.col("home").replace(homes)).otherwise("home")
    )
    values = planted_values(Demo(Corpus(corpus.items, swapped, corpus.judgments, corpus.instruments), resamples=50))
    assert values.frame.filter(pl.col("id") == "home")["verdict"][0] != AS_PLANTED
    assert values.facts["held"] < values.facts["values"] or values.facts["as_planted"] < values.facts["values"]


@pytest.mark.parametrize("share", [1.0, -1.0])
def test_the_real_model_is_one_more_rater(share: float) -> None:
    corpus = answering(share)(None, planted_corpus(), questions=["trust"])
    demo = Demo(corpus, resamples=50)
    values = planted_values(demo).frame.filter(pl.col("planted").is_null())
    assert values["id"].to_list() == ["real"]
    assert values["low"][0] > 0 if share > 0 else values["high"][0] < 0


@pytest.mark.slow
def test_without_a_model_everything_else_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: Any, **__: Any) -> Corpus:
        raise ModelError("The embedded model is not installed.")

    monkeypatch.setattr(Context, "rate", missing)
    result = run("demo").result
    assert "No real model was asked: The embedded model is not installed." in result.warnings
    check_all(result)
    assert frame(result, "planted")["planted"].null_count() == 0
    assert not any("real model" in finding.text for finding in result.findings)
    assert len(result.findings) == 4
