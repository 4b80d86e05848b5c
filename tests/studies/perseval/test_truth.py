"""What the report claims of noise: nothing, whoever guesses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.report.spoken import spoken
from tests.report.truth import check_all, claims
from tests.studies.perseval.made import write
from vantage.report.record import Record
from vantage.studies.execution import Context
from vantage.studies.perseval import analysis, learning, scoring, study, traits, whom
from vantage.studies.perseval.options import PersevalOptions

SAY = spoken("vantage.studies.perseval", analysis, scoring, traits, whom)


class Guessing:
    """A rater that has learned nothing: its predictions are drawn at random."""

    notes = ()

    def __init__(self, split: Any, rng: np.random.Generator) -> None:
        self.split, self.rng = split, rng

    def judge(self, pairs: pl.DataFrame | None = None) -> pl.DataFrame:
        asked = self.split.test.select("item", "rater") if pairs is None else pairs
        return asked.with_columns(pl.Series("value", self.rng.integers(0, 2, len(asked)).astype(np.float64)))


def claimed(folder: Path, seeds: range, monkeypatch: pytest.MonkeyPatch) -> dict[int, list[str]]:
    """What the report claims of people and raters that guess, by seed."""
    found = {}
    for seed in seeds:
        rng = np.random.default_rng(10_000 + seed)
        monkeypatch.setattr(learning, "fit_pairs", lambda split, *_, rng=rng, **__: Guessing(split, rng))
        options = PersevalOptions(encoder="none", resamples=100, methods="tfidf,tfidf-users")
        data = write(folder / str(seed), people=60, seed=seed, noise=True)
        context = Context(options, Record("perseval", "Perseval"), data=data)
        result = SAY(analysis.Perspectives.of(study.collect(context), context))
        check_all(result)
        if told := claims(result):
            found[seed] = told
    return found


def test_noise_claims_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert claimed(tmp_path, range(3), monkeypatch) == {}


@pytest.mark.slow
def test_noise_claims_nothing_in_nearly_all_of_200_seeds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(claimed(tmp_path, range(200), monkeypatch)) <= 10
