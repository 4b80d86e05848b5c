from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.report.truth import check_all
from vantage import Corpus
from vantage.raters.models.base import ModelError
from vantage.studies import Context, run
from vantage.studies.demo.mapping import DIMENSIONS
from vantage.studies.stereomap.people import human_clusters


def placing(sign: float = 1.0, noise: float = 0.05) -> Callable[..., Corpus]:
    """Answers as people's clusters have them, or turned round, with some noise."""

    def rate(context: Context[Any], corpus: Corpus, *_: Any, questions: list[str]) -> Corpus:
        rng = np.random.default_rng(0)
        clusters = human_clusters()
        warm = {"tolerant", "warm", "good-natured", "sincere", "friendly", "well-intentioned", "trustworthy"}
        rows = []
        for item, reference in corpus.items.select("item", "reference").iter_rows():
            for question in questions:
                true = getattr(clusters[reference], "warmth" if question in warm else "competence")
                expected = 3 + sign * (true - 3) + noise * rng.normal()
                rows.append({"item": item, "question": question, "rater": "m", "value": 3.0, "expected": expected})
        return corpus.add(pl.DataFrame(rows), pl.DataFrame({"rater": ["m"], "kind": ["model"]}))

    return rate


def test_a_model_that_sees_as_people_do_is_found_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Context, "rate", placing())
    report = run("demo", out=tmp_path / "demo")
    related = next(table for table in report.result.tables if table.name == "people").frame
    assert related["question"].to_list() == list(DIMENSIONS)
    assert related["estimate"].min() > 0.9  # type: ignore[operator]
    assert related["items"].to_list() == [24, 24]
    first = report.result.findings[0].text
    assert first.startswith("The small model orders the groups as people do, better than chance, in ")
    assert all(dimension in first for dimension in DIMENSIONS)
    check_all(report.result)
    figure = report.result.figures[0]
    assert (figure.data.height, figure.data["panel"].n_unique()) == (24 + 5, 2)
    groups = next(table for table in report.result.tables if table.name == "groups").frame
    apart = (groups["warmth"] - groups["people_warmth"]).abs().max()
    assert isinstance(apart, float)
    assert apart < 0.1
    assert any("24 groups" in text for text in report.result.warnings)


@pytest.mark.parametrize(("sign", "noise", "begins"), [(-1.0, 0.05, "other way round"), (0.0, 1.0, "no better")])
def test_the_first_finding_follows_the_answers(
    monkeypatch: pytest.MonkeyPatch, sign: float, noise: float, begins: str
) -> None:
    monkeypatch.setattr(Context, "rate", placing(sign, noise))
    result = run("demo").result
    check_all(result)
    assert begins in result.findings[0].text


def test_one_group_has_no_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Context, "rate", placing())
    result = run("demo", groups=1).result
    check_all(result)
    assert not any("small model" in finding.text for finding in result.findings)


def test_without_a_model_everything_else_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: Any, **__: Any) -> Corpus:
        raise ModelError("The embedded model is not installed.")

    monkeypatch.setattr(Context, "rate", missing)
    report = run("demo")
    assert "No map could be drawn: The embedded model is not installed." in report.result.warnings
    check_all(report.result)
    assert {"alpha", "split-half", "raters"} == {table.name for table in report.result.tables}
    assert not any("135 million" in text for text in report.result.warnings)
    told = " ".join(finding.text for finding in report.result.findings)
    # One of the synthetic raters answers without reading.
    assert "The answers of r9 " in told
    assert "are not shown to follow those of the other synthetic raters" in told
