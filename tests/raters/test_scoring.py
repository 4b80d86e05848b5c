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
    table = [(item, q, "m", "", 0, None, "failed", None, None, "scoring", scores) for item, q, scores in told]
    return pl.DataFrame(table, schema=ROWS, orient="row")


def test_the_most_probable_option_and_the_mean_of_the_scale() -> None:
    scores = [math.log(p) for p in (0.1, 0.3, 0.4)]
    done = with_distributions(
        rows(("a", "grade", scores), ("a", "kind", [-1.0, -2.0]), ("b", "grade", None)), KNOWN, calibrate=False
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
    done = with_distributions(rows(*told), KNOWN, calibrate=True)
    means = np.log(np.array(done["probabilities"].to_list())).mean(axis=0)
    assert means - means.mean() == pytest.approx([0, 0, 0], abs=1e-9)
    alone = with_distributions(rows(told[0]), KNOWN, calibrate=True)
    assert alone["probabilities"][0].to_list() == pytest.approx(np.exp(scores[0]) / np.exp(scores[0]).sum())


def test_rows_without_scores_only_get_the_columns() -> None:
    done = with_distributions(rows(("a", "grade", None)), KNOWN, calibrate=True)
    assert done.columns == [*(c for c in ROWS if c != "scores"), "probabilities", "expected"]
