"""Traits may have names that tables of counts and results use themselves."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import vantage
from vantage.corpora.bundled import planted_corpus


@pytest.fixture(scope="module", params=["count", "estimate"])
def corpus(request: pytest.FixtureRequest) -> tuple[vantage.Corpus, str]:
    """The planted corpus, with its trait `home` under another name."""
    planted = planted_corpus()
    raters = planted.raters.rename({"home": request.param}).drop("planted")
    return vantage.Corpus(planted.items, raters, planted.judgments, planted.instruments), request.param


def test_groups_are_those_of_the_usual_name(corpus: tuple[vantage.Corpus, str]) -> None:
    renamed, name = corpus
    mine = vantage.measures.explain(renamed, question="trust", traits=[name])
    usual = vantage.measures.explain(planted_corpus(), question="trust", traits=["home"])
    assert mine["estimate"].to_list() == pytest.approx(usual["estimate"].to_list(), nan_ok=True)


@pytest.mark.slow
def test_a_report_and_a_target_take_it(corpus: tuple[vantage.Corpus, str], tmp_path: Path) -> None:
    renamed, name = corpus
    renamed.report().write(tmp_path)
    assert name in (tmp_path / "report.html").read_text("utf-8")
    target = tmp_path / "people.csv"
    pl.DataFrame({"trait": name, "value": ["coast", "hills"], "share": [80, 20]}).write_csv(target)
    rows = vantage.measures.population(renamed.filter(question="trust"), target=str(target))
    assert rows["estimate"].is_not_null().all()
