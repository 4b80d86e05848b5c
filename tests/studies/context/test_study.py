"""The context study from its data to its report: planted ambiguity is found, and nothing is asked twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.report.truth import findings
from tests.studies.context.pipeline.planted import planted_corpus
from vantage import Corpus
from vantage.errors import InputError
from vantage.report.record import Record
from vantage.studies import run
from vantage.studies.base import find
from vantage.studies.context.study import collect
from vantage.studies.execution import Context

FEW: dict[str, Any] = {
    "tasks": "sarcasm",
    "items": 24,
    "persona_count": 5,
    "answers": "scoring",
    "methods": "constant,length,direct,selective",
    "styles": "zero-shot",
    "runs": 1,
    "resamples": 20,
}


@pytest.mark.slow
def test_the_report_finds_planted_ambiguity_and_tells_what_it_cost(planted_data: Path, models: dict[str, Any]) -> None:
    few = {**FEW, "persona_count": 8, "evaluate": False}
    report = run("context", data=planted_data, models=["planted"], **few)
    table = next(t for t in report.result.tables if t.name == "methods-sarcasm").frame
    auc = dict(table.select("method", "auc").iter_rows())
    assert auc["selective personas, direct"] > 0.95 > auc["no persona, direct"]
    calls = dict(table.select("method", "calls").iter_rows())
    assert calls["no persona, direct"] == 24
    assert calls["selective personas, direct"] > 24 * 8
    assert calls["always the average answer"] == 0
    said = " ".join(finding.text for finding in findings(report.result))
    assert "12 of 24 statements of the task sarcasm" in said
    assert "better than by chance with selective personas, direct" in said
    assert "Nobody has judged statements in context for sarcasm." in said


@pytest.mark.slow
def test_collecting_again_asks_nothing_and_costs_the_same(
    planted_data: Path, models: dict[str, Any], tmp_path: Path
) -> None:
    def collected() -> tuple[Corpus, dict[str, Any]]:
        context = Context(
            find("context").options(**FEW),
            Record("context", "Context"),
            data=planted_data,
            models=("planted",),
            folder=tmp_path,
        )
        return collect(context), context.noted

    first, costs = collected()
    asked = models["planted"].asked
    assert asked
    again, same = collected()
    assert models["planted"].asked == asked
    assert same == costs
    assert again == first


@pytest.mark.slow
def test_two_tasks_fit_into_one_corpus(planted_data: Path, models: dict[str, Any], tmp_path: Path) -> None:
    planted_corpus(["clear", "ambiguous"] * 6, task="politeness").write(planted_data / "politeness")
    few = {**FEW, "tasks": "politeness,sarcasm", "items": 12, "methods": "direct,persona", "persona_count": 2}
    report = run("context", data=planted_data, models=["planted"], **{**few, "evaluate": False})
    tables = {table.name: table.frame for table in report.result.tables}
    assert tables["summary"].select("task", "statements").rows() == [("politeness", 12), ("sarcasm", 12)]
    for task in ("politeness", "sarcasm"):
        assert tables[f"methods-{task}"]["calls"].to_list() == [12, 24]


def test_contexts_are_written_and_judged_with_their_controls(planted_data: Path, models: dict[str, Any]) -> None:
    few = {**FEW, "items": 8, "methods": "direct", "first_person": False, "controls": "label,blind"}
    report = run("context", data=planted_data, models=["planted"], writer="writer", **few)
    glance = next(t for t in report.result.tables if t.name == "summary").frame.row(0, named=True)
    assert glance["contexts"] is not None
    assert glance["statements"] == 8
    told = " ".join([*report.result.warnings, *(finding.text for finding in findings(report.result))])
    assert "writer" in told
    assert glance["contexts"] > 0
    scores = next(t for t in report.result.tables if t.name == "models-f1").frame.filter(part="all")
    assert glance["f1_context"] == pytest.approx(scores["context"].mean())
    assert glance["f1_static"] == pytest.approx(scores["static"].mean())


def test_without_models_and_votes_there_is_still_an_honest_report(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    rows = "".join(f"I say statement {n} of many,{'against' if n % 2 else 'favoring'}\n" for n in range(12))
    (data / "abortion-stance.csv").write_text(f"text,label\n{rows}", encoding="utf-8")
    report = run("context", data=data, tasks="abortion-stance", items=6, resamples=10)
    said = " ".join(finding.text for finding in findings(report.result))
    assert "Nobody has judged the 6 statements of the task abortion-stance." in said
    assert "Nobody has judged statements in context for abortion-stance." in said


def test_bad_options_are_named_before_anything_is_asked(planted_data: Path, models: dict[str, Any]) -> None:
    for wrong, message in (
        ({"tasks": "irony"}, "no task 'irony'"),
        ({"methods": "magic"}, "no method of detection 'magic'"),
        ({"people": str(planted_data)}, "the folder has no corpus.yaml"),
        ({"personas": "crowd"}, "crowd"),
        ({"mark": 0.0}, "mark"),
        ({"budget": 2.0}, "budget"),
        ({"folds": 3}, "study 'context' has no option 'folds'"),
        ({"controls": "gold"}, "gold"),
    ):
        with pytest.raises(InputError, match=message):
            run("context", data=planted_data, models=["planted"], **{**FEW, **wrong})
    assert models["planted"].asked <= 24


@pytest.mark.data
@pytest.mark.slow
def test_the_published_votes_give_a_report_without_any_model(data_dir: Path) -> None:
    report = run(
        "context",
        data=data_dir / "social-cognition",
        tasks="sarcasm",
        methods="constant,length,words-doubt",
        resamples=20,
    )
    table = next(t for t in report.result.tables if t.name == "methods-sarcasm").frame
    assert table["items"].to_list() == [120] * 3
    people = next(t for t in report.result.tables if t.name == "people").frame.row(0, named=True)
    assert people["condition"] == "static"
    assert 0.4 < people["alpha"] < 0.8
    assert people["ambiguity"] == 0.0
