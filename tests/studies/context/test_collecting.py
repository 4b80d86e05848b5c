"""What the study collects: people's answers from a collect server take the place of third-party votes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.report.truth import findings
from tests.studies.context.pipeline.planted import planted_corpus
from vantage import Corpus, Instrument, Scale
from vantage.errors import InputError
from vantage.report.record import Record
from vantage.studies import run
from vantage.studies.base import find
from vantage.studies.context.pipeline.dialogue import CONVERSATION
from vantage.studies.context.study import POOR, Roles, collect
from vantage.studies.execution import Context


def context(data: Path, **options: Any) -> Context[Any]:
    chosen = {"tasks": "sarcasm", "items": 12, "methods": "constant,length", "resamples": 10, **options}
    return Context(find("context").options(**chosen), Record("context", "Context"), data=data)


def answers(folder: Path, item: str, instrument: Instrument | None = None) -> Path:
    """Two people, who are in doubt about a statement alone and agree with context."""
    used = instrument or Instrument.load("sarcasm")
    rows = [("ann", "static", 0.0), ("bob", "static", 1.0), ("ann", "context", 1.0), ("bob", "context", 1.0)]
    judged = pl.DataFrame(rows, schema=["rater", "condition", "value"], orient="row")
    Corpus(
        pl.DataFrame({"item": [item], "text": ["Fine."]}),
        pl.DataFrame({"rater": ["ann", "bob"], "age": [30, 40]}),
        judged.with_columns(pl.lit(item).alias("item"), pl.lit("sarcasm").alias("question")),
        used,
    ).write(folder)
    return folder


def test_collected_answers_replace_released_votes(planted_data: Path, tmp_path: Path) -> None:
    plain = collect(context(planted_data))
    item = plain.items["item"][0]
    found = collect(context(planted_data, people=str(answers(tmp_path / "people", item))))
    assert set(found.raters["rater"]) == {"ann", "bob"}
    assert set(found.judgments["item"]) == {item}
    assert len(found.items) == 12
    report = run(
        "context", data=planted_data, tasks="sarcasm", items=12, methods="length", resamples=10,
        people=str(tmp_path / "people"),
    )  # fmt: skip
    row = next(one for one in report.result.tables if one.name == "summary").frame.row(0, named=True)
    assert (row["doubt_static"], row["doubt_context"], row["change"]) == (0.5, 0.0, -0.5)
    # One statement is no ground for a claim.
    assert row["change_low"] is None
    assert not any("doubt at" in finding.text for finding in findings(report.result))


def test_answers_on_another_scale_or_about_other_items_are_refused(planted_data: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="people judged none of the items of the task 'sarcasm'"):
        collect(context(planted_data, people=str(answers(tmp_path / "other", "elsewhere"))))
    scale = Instrument.of_questions("mine", "Mine", {"sarcasm": Scale.labels("no", "yes")})
    item = collect(context(planted_data)).items["item"][0]
    with pytest.raises(InputError, match="has other answers here"):
        collect(context(planted_data, people=str(answers(tmp_path / "scale", item, scale))))


def test_the_report_warns_of_the_embedded_model(planted_data: Path) -> None:
    told = context(planted_data, writer="embedded", methods="direct")
    told.models = ("embedded",)
    warnings = Roles.of(told).warnings(["direct"])
    assert POOR in warnings
    assert any("embedded wrote the contexts" in warning for warning in warnings)
    silent = context(planted_data, writer="openai:x", verifier="openai:y", methods="length")
    assert Roles.of(silent).warnings([]) == []


def test_real_conversations_are_shown_without_a_writer_with_those_of_the_examples(
    tmp_path: Path, models: dict[str, Any]
) -> None:
    plain = planted_corpus(["clear", "ambiguous"] * 12)
    talk = pl.Series("conversation", [[{"speaker": "Ann", "text": "Forty minutes!"}]] * 24, dtype=CONVERSATION)
    plain._with(items=plain.items.with_columns(talk)).write(tmp_path / "data" / "sarcasm")
    asked = context(tmp_path / "data", items=4, methods="length", styles="few-shot:3", runs=1)
    asked.models = ("planted",)
    judged = collect(asked).judgments.filter(pl.col("rater").str.contains("few-shot"))
    assert judged["condition"].value_counts().sort("condition").rows() == [("context", 4), ("static", 4)]
    with pytest.raises(InputError, match="there is no control 'turns'"):
        collect(context(tmp_path / "data", controls="turns"))


def test_planted_data_are_what_they_say(planted_data: Path) -> None:
    corpus = planted_corpus(["clear", "ambiguous"])
    assert corpus.judgments.filter(item="s001")["value"].to_list() == [0, 1, 0, 1, 0]
    assert (planted_data / "sarcasm" / "corpus.yaml").is_file()
