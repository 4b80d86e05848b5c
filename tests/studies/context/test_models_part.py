"""Models without and with context: planted effects, planted order, planted persuasion are what the report shows."""

from __future__ import annotations

import polars as pl
import pytest

from tests.studies.context.judged import judged_corpus
from vantage.report.parts import Result
from vantage.studies.context.models_part import models_sections

FLAGGED = [f"i{n:03}" for n in range(0, 60, 3)]


@pytest.fixture(scope="module")
def result() -> Result:
    corpus, labels = judged_corpus(styles=("zero-shot", "few-shot:3"), people=4)
    sections, findings = models_sections(corpus, labels, flagged=FLAGGED, resamples=200)
    return Result(sections, findings)


def table(result: Result, name: str) -> pl.DataFrame:
    return next(one.frame for one in result.tables if one.name == name)


def test_f1_goes_where_the_skills_say(result: Result) -> None:
    found = table(result, "models-f1").filter(part="all", style="zero-shot")
    by_model = {row["model"]: row for row in found.iter_rows(named=True)}
    assert by_model["m:a"]["difference_low"] > 0.1
    assert by_model["m:d"]["difference_high"] < 0
    for row in by_model.values():
        assert row["static_low"] <= row["static"] <= row["static_high"]
        assert row["difference"] == pytest.approx(row["context"] - row["static"])
        assert (
            min(row["static"], row["context"]) - 0.05 <= row["selective"] <= max(row["static"], row["context"]) + 0.05
        )
        assert abs(row["random"] - row["selective"]) < 0.1
        assert row["items"] == 60
    parts = table(result, "models-f1").filter(model="m:a", style="zero-shot")
    assert dict(parts.select("part", "items").iter_rows()) == {"all": 60, "context needed": 20, "the rest": 40}
    shares = table(result, "models-answers").filter(part="all", model="m:a", style="zero-shot").row(0, named=True)
    assert 0.03 < shares["ambiguous_static"] < 0.2
    assert shares["ambiguous_context"] == shares["unread_static"] == 0


def test_answers_that_follow_any_context_are_shown(result: Result) -> None:
    found = table(result, "models-controls").filter(style="zero-shot", model="m:a")
    by_aim = {row["written_for"]: row for row in found.iter_rows(named=True)}
    assert set(by_aim) == {"label", "opposite", "blind"}
    assert by_aim["opposite"]["follows"] > 0.7 > by_aim["opposite"]["follows_static"]
    assert by_aim["opposite"]["difference_high"] < 0 < by_aim["label"]["difference_low"]
    assert by_aim["blind"]["follows"] is None
    assert any("written for the opposite label" in finding.text for finding in result.findings)


def test_the_order_is_turned_round_and_two_runs_are_not(result: Result) -> None:
    found = table(result, "models-rank-correlation").filter(style="zero-shot", systems_are="models")
    rho = {(row["part"], row["between"]): row["estimate"] for row in found.iter_rows(named=True)}
    assert rho["all", "static and context"] < -0.5
    assert rho["all", "two runs, static"] > 0.5
    assert {part for part, _ in rho} == {"all", "context needed", "the rest"}
    swaps = table(result, "models-swaps").filter(style="zero-shot", system="m:a", other="m:d")
    assert swaps["estimate"][0] > 0.9
    ranked = table(result, "models-rank-correlation").filter(systems_are="models and people", part="all")
    assert ranked["systems"].unique().to_list() == [6]


def test_people_stand_in_the_chart_of_ranks(result: Result) -> None:
    bump = next(one for one in result.figures if one.name.startswith("rank-shifts"))
    assert {"people, average", "people, best"} < set(bump.data["system"])
    assert sorted(bump.data.filter(condition="static")["rank"]) == [1, 2, 3, 4, 5, 6]
    assert [one.name for one in result.figures] == [
        "models-before-after-sarcasm",
        "models-shots-sarcasm",
        "rank-shifts-sarcasm-zero-shot",
    ]
    for figure in result.figures:
        figure.draw()


def test_models_that_only_judged_statements_alone_are_told_of_too() -> None:
    corpus, labels = judged_corpus(20, {"m:a": (0.8, 0.8)}, controls=False)
    alone = corpus.filter(condition="static")
    sections, findings = models_sections(alone, labels, resamples=50)
    assert [section.title for section in sections] == ["Models without and with context"]
    assert findings == []
    assert "context" not in sections[0].parts[0].frame.columns  # type: ignore[union-attr]


def test_one_model_has_no_order_and_no_model_no_section() -> None:
    corpus, labels = judged_corpus(20, {"m:a": (0.8, 0.8)}, controls=False)
    sections, _ = models_sections(corpus, labels, resamples=50)
    assert len(sections) == 1
    nobody = corpus.filter(pl.col("rater") == "nobody")
    assert models_sections(nobody, labels) == ([], [])


def test_the_same_seed_gives_the_same_report() -> None:
    corpus, labels = judged_corpus(20, runs=1, controls=False)
    one, two = (models_sections(corpus, labels, flagged=["i001", "i002"], resamples=50, seed=3)[0] for _ in range(2))
    for first, second in zip(Result(one).tables, Result(two).tables, strict=True):
        assert first.frame.equals(second.frame)
