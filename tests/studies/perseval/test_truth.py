"""Sentences are true to their numbers: planted effects are claimed, turn round with the data, and noise has none."""

from __future__ import annotations

import re
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


def said(data: Path, methods: str = "tfidf,tfidf-users", resamples: int = 200) -> list[str]:
    """What the report on a corpus claims, after every sentence was checked."""
    options = PersevalOptions(encoder="none", resamples=resamples, methods=methods)
    context = Context(options, Record("perseval", "Perseval"), data=data)
    result = SAY(analysis.Perspectives.of(study.collect(context), context))
    check_all(result)
    return claims(result)


def claimed(folder: Path, seeds: range, monkeypatch: pytest.MonkeyPatch) -> dict[int, list[str]]:
    """What the report claims of people and raters that guess, by seed."""
    found = {}
    for seed in seeds:
        rng = np.random.default_rng(10_000 + seed)
        monkeypatch.setattr(learning, "fit_pairs", lambda split, *_, rng=rng, **__: Guessing(split, rng))
        data = write(folder / str(seed), people=60, seed=seed, noise=True)
        if told := said(data, resamples=100):
            found[seed] = told
    return found


def test_noise_claims_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert claimed(tmp_path, range(3), monkeypatch) == {}


@pytest.mark.slow
def test_noise_claims_nothing_in_nearly_all_of_200_seeds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(claimed(tmp_path, range(200), monkeypatch)) <= 10


def test_what_learns_from_noise_claims_nothing_of_groups_and_of_knowing_users(tmp_path: Path) -> None:
    told = said(write(tmp_path, people=60, noise=True))
    # What learns from the other votes on a text meets those who voted so, with noise as well.
    assert [text for text in told if "agree with most others" not in text] == []


def test_planted_differences_are_claimed(tmp_path: Path) -> None:
    told = said(write(tmp_path, people=160, texts=1200, each=30))
    assert any("go with group in made" in text and "gender" not in text for text in told)
    assert any("met better by tfidf-users" in text for text in told)
    assert not any("met worse by" in text for text in told)


def test_whoever_is_served_worse_changes_place_with_the_names_of_the_sides(tmp_path: Path) -> None:
    found = {}
    for inverted in (False, True):
        folder = write(tmp_path / str(inverted), people=120, texts=300, each=30, inverted=inverted)
        (found[inverted],) = [
            text for text in said(folder, "tfidf") if text.startswith("Groups of users are not served")
        ]
    names = {"target": "control", "control": "target"}
    assert "group target" in found[False]
    assert re.sub("target|control", lambda name: names[name[0]], found[True]) == found[False]
