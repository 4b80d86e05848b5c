"""Sentences are true to their numbers: planted effects are claimed, turn round with the data, and noise has none."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.report.noise import SEEDS, Claiming, claiming, few
from tests.report.truth import claims
from tests.studies.perseval.made import write
from vantage.report.parts import Result
from vantage.report.record import Record
from vantage.studies.base import find
from vantage.studies.execution import Context
from vantage.studies.perseval import analysis, study, whom

SAYING = Claiming("vantage.studies.perseval", analysis, whom)


class Guessing:
    """A rater that has learned nothing: its predictions are drawn at random."""

    notes = ()

    def __init__(self, split: Any, rng: np.random.Generator) -> None:
        self.split, self.rng = split, rng

    def judge(self, pairs: pl.DataFrame | None = None) -> pl.DataFrame:
        asked = self.split.test.select("item", "rater") if pairs is None else pairs
        return asked.with_columns(pl.Series("value", self.rng.integers(0, 2, len(asked)).astype(np.float64)))


def studied(data: Path, methods: str = "tfidf,tfidf-users", resamples: int = 200) -> Result:
    """What the report on a corpus says, after every sentence was checked."""
    options = find("perseval").options(encoder="none", resamples=resamples, methods=methods)
    context = Context(options, Record("perseval", "Perseval"), data=data)
    return SAYING.result(analysis.Perspectives.of(study.collect(context), context))


def said(data: Path, methods: str = "tfidf,tfidf-users") -> list[str]:
    return claims(studied(data, methods))


def claimed(folder: Path, seeds: range, monkeypatch: pytest.MonkeyPatch) -> Mapping[int, list[str]]:
    """What the report claims of people and raters that guess, by seed."""

    def guessed(seed: int) -> Result:
        rng = np.random.default_rng(10_000 + seed)
        monkeypatch.setattr(study, "fit", lambda split, **_: Guessing(split, rng))
        return studied(write(folder / str(seed), people=60, seed=seed, noise=True), resamples=100)

    return claiming(guessed, seeds)


@pytest.mark.slow
def test_noise_claims_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert claimed(tmp_path, range(3), monkeypatch) == {}


@pytest.mark.slow
def test_noise_claims_nothing_in_nearly_all_of_200_seeds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(claimed(tmp_path, range(SEEDS), monkeypatch)) <= few(SEEDS)


@pytest.mark.slow
def test_what_learns_from_noise_claims_nothing_of_groups_and_of_knowing_users(tmp_path: Path) -> None:
    told = said(write(tmp_path, people=60, noise=True))
    # What learns from the other votes on a text meets those who voted so, with noise as well.
    assert [text for text in told if "agree with most others" not in text] == []


@pytest.mark.slow
def test_planted_differences_are_claimed(tmp_path: Path) -> None:
    told = said(write(tmp_path, people=160, texts=1200, each=30))
    assert any("go with group in made" in text and "gender" not in text for text in told)
    assert any("met better by tfidf-users" in text for text in told)
    assert not any("met worse by" in text for text in told)


@pytest.mark.slow
def test_whoever_is_served_worse_changes_place_with_the_names_of_the_sides(tmp_path: Path) -> None:
    found = {}
    for inverted in (False, True):
        folder = write(tmp_path / str(inverted), people=300, texts=300, each=30, inverted=inverted)
        (found[inverted],) = [
            text for text in said(folder, "majority") if "serves some users worse than others: " in text
        ]
    names = {"target": "control", "control": "target"}
    assert "target (group)" in found[False]
    assert re.sub("target|control", lambda name: names[name[0]], found[True]) == found[False]
