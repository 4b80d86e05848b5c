"""The page of a plan, and the section on panels of a corpus report."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import vantage
from vantage.corpora.bundled import planted_corpus
from vantage.report.overview import overview
from vantage.report.planning import frontier_figure, plan_report


def test_the_frontier_marks_the_chosen_design_and_the_budget() -> None:
    made = vantage.plan(prevalence=0.3, goal="mean", target=0.2, price=0.12, budget=100)
    figure = frontier_figure(made, 100)
    assert figure.data["chosen"].sum() == 1
    assert figure.options["reference"] == 100
    assert "budget of 100" in figure.caption
    drawn = figure.draw()
    rings = [one for one in drawn.axes[0].collections if one.get_label() == "chosen"]
    place = np.asarray(rings[0].get_offsets())[0]
    assert place.tolist() == [made.chosen.per_item, made.choice["cost"][0]]
    assert frontier_figure(made, 1e6).options["reference"] is None


def test_where_no_design_reaches_the_target_the_budget_is_drawn() -> None:
    made = vantage.plan(components=[0.5, 0.4, 0.1], raters=4, goal="mean", target=0.01, budget=100)
    assert made.frontier.is_empty()
    assert frontier_figure(made, 100).options["y"] == "value"
    assert "no design considered here does" in made.choice["verdict"][0]


@pytest.mark.slow
def test_a_plan_is_written_as_a_page(tmp_path: Path) -> None:
    made = vantage.plan(planted_corpus(), question="trust", goal="mean", target=0.4)
    page = plan_report(made).write(tmp_path / "plan").read_text(encoding="utf-8")
    for words in ("The frontier", "What more items add", "With the help of a model", "Assumes normal effects"):
        assert words in page
    assert "@article{westfall2014" in (tmp_path / "plan" / "references.bib").read_text(encoding="utf-8")
    assert vantage.report.Report.read(tmp_path / "plan").result.findings


@pytest.mark.slow
def test_the_report_says_how_many_votes_the_models_carry() -> None:
    result = overview(planted_corpus())
    section = next(one for one in result.sections if one.title == "Models as a panel")
    said = [one.text for one in section.findings]
    assert said[0].startswith("Effective votes: 2.5 of 2 models about trust")
    assert "do not tell items apart as people do: model-b about competence." in said[2]
    assert {"panel", "panel-votes"} <= {table.name for table in result.tables}
    # Of two models there is one correlation, which needs no picture; a third that copies the first gives a matrix.
    assert not [figure for figure in result.figures if figure.name.startswith("panel-matrix")]
    planted = planted_corpus()
    copy = planted.judgments.filter(rater="model-a").select("item", "question", "condition", "sample", "value")
    added = planted.add(copy.with_columns(rater=pl.lit("copy")), pl.DataFrame({"rater": ["copy"], "kind": ["model"]}))
    matrices = [figure for figure in overview(added).figures if figure.name.startswith("panel-matrix")]
    assert [figure.name for figure in matrices] == ["panel-matrix-trust", "panel-matrix-competence"]
    assert all("1 is a copy" in figure.caption and "{question}" not in figure.caption for figure in matrices)
