"""Soft labels against people: proper scores and the reliability curve."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from vantage import demo_corpus
from vantage.errors import InputError
from vantage.measures.scoring.calibration import calibration


def answers(seed: int = 0, *, items: int = 200, people: int = 8, samples: int = 40, sharp: float = 1.0) -> pl.DataFrame:
    """People with a distribution per item, and a model that samples from it, sharpened."""
    rng = np.random.default_rng(seed)
    truth = rng.dirichlet([1.0, 1.0, 1.0], items)
    model = truth**sharp / (truth**sharp).sum(axis=1, keepdims=True)
    rows = []
    for i in range(items):
        rows += [(i, f"p{j}", 0, float(v)) for j, v in enumerate(rng.choice(3, people, p=truth[i]))]
        rows += [(i, "m", s, float(v)) for s, v in enumerate(rng.choice(3, samples, p=model[i]))]
    return pl.DataFrame(rows, schema=["item", "rater", "sample", "value"], orient="row")


def scores(frame: pl.DataFrame, **options: Any) -> dict[str, dict[str, Any]]:
    people = sorted({name for name in frame["rater"] if name != "m"})
    return {row["score"]: row for row in calibration(frame, people=people, **options).iter_rows(named=True)}


def test_scores_are_those_of_single_answers() -> None:
    frame = answers(items=12, people=4, samples=5)
    brier, log, best = [], [], []
    for _, part in frame.group_by("item", maintain_order=True):
        said = part.filter(rater="m")["value"].to_numpy()
        p = (np.bincount(said.astype(int), minlength=3) + 0.5) / (len(said) + 1.5)
        theirs = part.filter(pl.col("rater") != "m")["value"].to_numpy().astype(int)
        brier.append(np.mean([np.square(p - np.eye(3)[y]).sum() for y in theirs]))
        log.append(np.mean([-np.log(p[y]) for y in theirs]))
        others = [np.delete(theirs, k) for k in range(4)]
        best.append(np.mean([(others[k] != theirs[k]).mean() for k in range(4)]))
    found = scores(frame, smoothing=0.5)
    assert found["brier"]["estimate"] == pytest.approx(np.mean(brier))
    assert found["log"]["estimate"] == pytest.approx(np.mean(log))
    # The Brier score of the true distribution is the chance that two people differ.
    assert found["brier"]["best"] == pytest.approx(np.mean(best))
    assert (found["brier"]["over"], found["brier"]["judgments"]) == ("items", 48)


def test_people_and_the_best_prediction_bound_a_model() -> None:
    right, sharp = scores(answers(samples=400), smoothing=0.1), scores(answers(samples=400, sharp=4.0), smoothing=0.1)
    for name in ("brier", "log"):
        assert right[name]["low"] <= right[name]["best"] + 0.02
        assert right[name]["estimate"] < sharp[name]["estimate"]
        assert right[name]["estimate"] < right[name]["ceiling"]  # eight people know less than four hundred samples
        assert right[name]["skill_low"] > 1
        assert right[name]["above_floor"]
    assert right["calibration_error"]["low"] == 0
    assert right["calibration_error"]["estimate"] < 0.03
    assert sharp["calibration_error"]["low"] > 0.1


@pytest.mark.parametrize("people", [1, 3])
def test_the_error_of_a_calibrated_model_is_no_larger_for_few_people(people: int) -> None:
    """Of raw distances the error would be .05 and more with forty items; what is left of its square is 0 on average."""
    squares, held = [], []
    for seed in range(20):
        row = scores(answers(seed, items=40, people=people, samples=150))["calibration_error"]
        squares.append(row["estimate"] ** 2)
        held.append(row["low"] == 0)
    assert np.mean(np.sqrt(squares) == 0) > 0.3, "as often below 0 as above, and cut there"
    assert np.mean(squares) < 0.006
    assert np.mean(held) > 0.85


def test_a_model_that_gives_everyone_the_same_distribution_is_at_the_floor() -> None:
    frame = answers(samples=0)
    rng = np.random.default_rng(5)
    everyone = frame["value"].to_numpy()
    blind = pl.DataFrame(
        [(i, "m", s, float(v)) for i in range(200) for s, v in enumerate(rng.choice(everyone, 200))],
        schema=frame.schema,
        orient="row",
    )
    found = scores(pl.concat([frame, blind]), smoothing=0.1)
    for name in ("brier", "log"):
        row = found[name]
        assert row["floor_rater"] == "people's answers at random"
        assert row["estimate"] == pytest.approx(row["floor"], abs=0.02)
        assert row["above_floor"] is False
        assert row["skill"] < 0.1
        assert row["ceiling"] < row["floor"]


def test_the_curve_of_a_calibrated_model_lies_in_its_band() -> None:
    people = [f"p{j}" for j in range(8)]
    inside = {}
    for sharp in (1.0, 4.0):
        curve = calibration(answers(samples=400, sharp=sharp), people=people, per="bin", resamples=200)
        held = (curve["expected_low"] <= curve["estimate"]) & (curve["estimate"] <= curve["expected_high"])
        inside[sharp] = int(held.sum()) / len(held)
        assert curve["probabilities"].sum() == 600
    assert inside[1.0] >= 0.8
    assert inside[4.0] <= 0.4


def test_impossible_answers_and_bad_options_are_explained() -> None:
    frame = pl.DataFrame({"item": [1, 1, 1], "rater": ["m", "p", "q"], "value": [0, 1, 0]})
    found = {row["score"]: row for row in calibration(frame, people=["p", "q"]).iter_rows(named=True)}
    assert found["log"]["estimate"] is None
    assert "smoothing" in found["log"]["reason"]
    assert found["brier"]["estimate"] == 1.0
    wrong: list[dict[str, Any]] = [{"bins": 0}, {"smoothing": -1}, {"per": "item"}]
    for options in wrong:
        with pytest.raises(InputError):
            calibration(frame, people=["p", "q"], **options)


def test_a_model_of_a_corpus_is_found_without_asking_for_all_kinds() -> None:
    corpus = demo_corpus().filter(question="trust")
    model = corpus.judgments.filter(rater="r1").with_columns(rater=pl.lit("bot"))
    both = corpus.add(model, pl.DataFrame({"rater": ["bot"], "kind": ["model"]}))
    named = calibration(both, raters=["bot"], ci="none")
    assert named["estimate"][0] is not None
    assert named.equals(calibration(both, ci="none").with_columns(named["options"]))
