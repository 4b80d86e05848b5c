from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tests.report.reports import HOSTILE
from vantage import Corpus, Instrument, Scale, demo_corpus
from vantage.report.overview import corpus_report, overview


def small(judgments: dict[str, list[object]], scale: Scale, kinds: list[str]) -> Corpus:
    items = pl.DataFrame({"item": ["a", "b"], "text": [HOSTILE, "fine"]})
    raters = pl.DataFrame({"rater": [f"r{i}" for i in range(len(kinds))], "kind": kinds})
    schema = {"item": pl.String, "question": pl.String, "rater": pl.String, "value": pl.Float64, "status": pl.String}
    frame = pl.DataFrame(judgments or None, schema=schema)
    return Corpus(items, raters, frame, Instrument.of_questions("mine", "Mine", {"q": scale}))


def test_the_demo_corpus_gives_numbers_that_the_measures_give() -> None:
    from vantage import alpha

    result = overview(demo_corpus(), seed=3)
    table = next(t for t in result.tables if t.name == "alpha")
    assert table.frame["question"].to_list() == ["trust", "sociability", "competence"]
    direct = dict(alpha(demo_corpus(), by="question", seed=3).select("question", "low").iter_rows())
    assert dict(table.frame.select("question", "low").iter_rows()) == direct
    assert "r9" in result.findings[1].text


def test_a_corpus_without_judgments_says_so(tmp_path: Path) -> None:
    report = corpus_report(small({}, Scale.points(1, 5), ["person"]))
    assert report.result.warnings == ["The corpus has no judgments, so there is nothing to measure yet."]
    assert report.write(tmp_path / "out").is_file()


def test_a_model_that_refused_everything_is_told_and_nothing_breaks(tmp_path: Path) -> None:
    rows: dict[str, list[object]] = {
        "item": ["a", "b"],
        "question": ["q", "q"],
        "rater": ["r0", "r0"],
        "value": [None, None],
        "status": ["refused", "refused"],
    }
    report = corpus_report(small(rows, Scale.points(1, 5), ["model"]))
    assert report.result.warnings == ["r0 gave no value in 2 judgments (mostly refused)."]
    assert report.record.counts["r0"]["refused"] == 2
    assert report.write(tmp_path / "out").is_file()


@pytest.mark.parametrize(
    "scale", [Scale.labels("no", "yes"), Scale.continuous(0, 1), Scale.points(0, 1, anchors={0: HOSTILE, 1: "yes"})]
)
def test_every_kind_of_scale_has_a_picture(tmp_path: Path, scale: Scale) -> None:
    rows: dict[str, list[object]] = {
        "item": ["a", "b", "a", "b"],
        "question": ["q"] * 4,
        "rater": ["r0", "r0", "r1", "r1"],
        "value": [0, 1, 0, 1],
        "status": ["answered"] * 4,
    }
    report = corpus_report(small(rows, scale, ["person", "person"]))
    assert report.result.figures[0].name in ("answers", "values")
    text = report.write(tmp_path / "out").read_text()
    assert "<img" not in text


def test_people_are_compared_with_people() -> None:
    corpus = demo_corpus()
    rows = corpus.judgments.filter(rater="r1").with_columns(pl.lit("m").alias("rater"))
    with_model = corpus.add(rows, pl.DataFrame({"rater": ["m"], "kind": ["model"]}))
    one = next(t for t in overview(corpus).tables if t.name == "alpha")
    other = next(t for t in overview(with_model).tables if t.name == "alpha")
    assert other.frame["estimate"].to_list() == one.frame["estimate"].to_list()
    assert "the people among the raters" in other.caption


def test_models_and_personas_without_people_are_reported_together(tmp_path: Path) -> None:
    rows: dict[str, list[object]] = {
        "item": ["a", "b"] * 3,
        "question": ["q"] * 6,
        "rater": ["r0", "r0", "r1", "r1", "r2", "r2"],
        "value": [1.0, 5.0, 2.0, 4.0, 1.0, 4.0],
        "status": ["answered"] * 6,
    }
    report = corpus_report(small(rows, Scale.points(1, 5), ["model", "model", "persona"]))
    found = next(table for table in report.result.tables if table.name == "alpha")
    assert found.frame["raters"].to_list() == [3]
    assert report.write(tmp_path / "out").is_file()
