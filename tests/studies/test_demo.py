from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from vantage import Corpus
from vantage.raters.models.base import ModelError
from vantage.studies import Context, run
from vantage.studies.demo import DIMENSIONS
from vantage.studies.stereomap.people import human_clusters


def placed(context: Context[Any], corpus: Corpus, *_: Any, questions: list[str]) -> Corpus:
    """Answers as people's clusters have them, with a little noise: a model that sees the groups as people do."""
    rng = np.random.default_rng(0)
    clusters = human_clusters()
    warm = {"tolerant", "warm", "good-natured", "sincere", "friendly", "well-intentioned", "trustworthy"}
    rows = [
        {
            "item": item,
            "question": question,
            "rater": "m",
            "value": 3.0,
            "expected": getattr(clusters[reference], "warmth" if question in warm else "competence")
            + 0.05 * rng.normal(),
        }
        for item, reference in corpus.items.select("item", "reference").iter_rows()
        for question in questions
    ]
    return corpus.add(pl.DataFrame(rows), pl.DataFrame({"rater": ["m"], "kind": ["model"]}))


def test_a_model_that_sees_as_people_do_is_found_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Context, "rate", placed)
    report = run("demo", out=tmp_path / "demo")
    related = next(table for table in report.result.tables if table.name == "people").frame
    assert related["question"].to_list() == list(DIMENSIONS)
    assert related["estimate"].min() > 0.9  # type: ignore[operator]
    assert related["items"].to_list() == [24, 24]
    assert report.result.findings[0].text.startswith("In competence and warmth the small model orders the groups")
    figure = report.result.figures[0]
    assert (figure.data.height, figure.data["panel"].n_unique()) == (24 + 5, 2)
    groups = next(table for table in report.result.tables if table.name == "groups").frame
    apart = (groups["warmth"] - groups["people_warmth"]).abs().max()
    assert isinstance(apart, float)
    assert apart < 0.1
    assert len(report.result.findings) == 3


def test_without_a_model_everything_else_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: Any, **__: Any) -> Corpus:
        raise ModelError("The embedded model is not installed.")

    monkeypatch.setattr(Context, "rate", missing)
    report = run("demo")
    assert "No map could be drawn: The embedded model is not installed." in report.result.warnings
    assert report.result.sections[0].title.startswith("Agreement")
    assert len(report.result.findings) == 2
