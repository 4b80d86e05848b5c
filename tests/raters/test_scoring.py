from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

from vantage import Instrument, Scale
from vantage.raters.conversation import ROWS
from vantage.raters.scoring import with_distributions

QUESTIONS = Instrument.of_questions(
    "i", "Two", {"grade": Scale.points(1, 3), "kind": Scale.labels("cat", "dog")}
).questions
KNOWN = {question.id: question for question in QUESTIONS}


def rows(*told: tuple[str, str, list[float] | None]) -> pl.DataFrame:
    table = [
        (item, q, "m", "", 0, None, "failed", None, "The", "scoring" if scores else "failed", None, scores, None)
        for item, q, scores in told
    ]
    return pl.DataFrame(table, schema=ROWS, orient="row")


def test_the_most_probable_option_and_the_mean_of_the_scale() -> None:
    scores = [math.log(p) for p in (0.1, 0.3, 0.4)]
    done = with_distributions(
        rows(("a", "grade", scores), ("a", "kind", [-1.0, -2.0]), ("b", "grade", None)),
        KNOWN,
        calibrate=False,
        least_mass=0.3,
    )
    grade, kind, failed = done.iter_rows(named=True)
    assert (grade["value"], grade["status"], grade["rule"]) == (3.0, "answered", "scoring")
    assert grade["probabilities"] == pytest.approx([0.125, 0.375, 0.5])
    assert grade["expected"] == pytest.approx(0.125 + 0.75 + 1.5)
    assert (kind["value"], kind["expected"]) == (KNOWN["kind"].scale.codes[0], None)
    assert (failed["value"], failed["status"], failed["rule"], failed["probabilities"]) == (
        *(None, "failed"),
        *("failed", None),
    )


def test_calibration_compares_the_items_of_one_question() -> None:
    generator = np.random.default_rng(1)
    scores = generator.normal(size=(6, 3))
    told = [(f"i{n}", "grade", row.tolist()) for n, row in enumerate(scores)]
    done = with_distributions(rows(*told), KNOWN, calibrate=True, least_mass=0)
    means = np.log(np.array(done["probabilities"].to_list())).mean(axis=0)
    assert means - means.mean() == pytest.approx([0, 0, 0], abs=1e-9)
    alone = with_distributions(rows(told[0]), KNOWN, calibrate=True, least_mass=0)
    assert alone["probabilities"][0].to_list() == pytest.approx(np.exp(scores[0]) / np.exp(scores[0]).sum())


def test_rows_without_scores_only_get_the_columns() -> None:
    done = with_distributions(rows(("a", "grade", None)), KNOWN, calibrate=True, least_mass=0)
    assert done.columns == [*(c for c in ROWS if c != "scores"), "probabilities", "expected", "mass"]


def test_an_option_that_the_model_would_not_say_is_no_answer() -> None:
    """Where no option was among the tokens told, or all have next to nothing, the first is not the answer."""
    floor, nothing, enough = [-9.0] * 3, [-math.inf] * 3, [math.log(0.2), math.log(0.6), -math.inf]
    done = with_distributions(
        rows(("a", "grade", floor), ("b", "grade", nothing), ("c", "grade", enough)), KNOWN, calibrate=False
    )
    low, none, good = done.iter_rows(named=True)
    for row in (low, none):
        assert (row["value"], row["status"], row["rule"]) == (None, "failed", "low-mass")
        assert (row["probabilities"], row["expected"]) == (None, None)
    assert low["mass"] == pytest.approx(3 * math.exp(-9))
    assert none["mass"] == 0
    assert "less than 0.5: the model would rather say something else (it would begin with 'The')." in low["reply"]
    assert (good["value"], good["status"], good["reply"], good["mass"]) == (2.0, "answered", None, pytest.approx(0.8))
    assert good["probabilities"] == pytest.approx([0.25, 0.75, 0.0])


def test_the_least_mass_can_be_chosen() -> None:
    told = rows(("a", "grade", [math.log(0.1), math.log(0.2), math.log(0.05)]))
    assert with_distributions(told, KNOWN, calibrate=False)["status"][0] == "failed"
    assert with_distributions(told, KNOWN, calibrate=False, least_mass=0.3)["value"][0] == 2.0


def test_calibration_bears_an_option_without_probability() -> None:
    told = [("a", "grade", [math.log(0.5), math.log(0.5), -math.inf]), ("b", "grade", [-1.0, -2.0, -3.0])]
    done = with_distributions(rows(*told), KNOWN, calibrate=True)
    assert np.isfinite(np.array(done["probabilities"].to_list())).all()
