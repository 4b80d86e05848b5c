"""Detection in the report: methods, curves and relevance, and plain words where votes are missing or few."""

from __future__ import annotations

import polars as pl
import pytest

from tests.context.planted import Planted, planted_corpus
from vantage import Corpus
from vantage.context import Cost, Judging, Simulator, Spread, simulate
from vantage.studies.context.detecting import TITLES, Detection, detection_of, surface_names
from vantage.studies.context.detection_part import detection_sections
from vantage.studies.context.glance_part import glance
from vantage.studies.context.tasks import TASKS

SELECTIVE = TITLES["selective"]


def found(kinds: list[str], *, people: int = 5, surfaces: tuple[str, ...] = ("constant", "length")) -> Detection:
    corpus = planted_corpus(kinds, people=people)
    told = simulate(corpus, "sarcasm", Simulator(Planted(), count=6, answers="scoring"), "selective")
    return detection_of(
        Corpus(
            told.corpus.items.with_columns(pl.lit("sarcasm").alias("task")),
            told.corpus.raters,
            told.corpus.judgments,
            told.corpus.instruments,
        ),
        TASKS["sarcasm"],
        surfaces=surfaces,
        costs={("sarcasm", "planted", "selective"): Cost(7, None, None)},
        spread=Spread(),
        judging=Judging(resamples=10),
    )


def test_methods_stand_beside_votes_and_the_last_model_flags() -> None:
    one = found(["clear", "ambiguous"] * 8 + ["foreign"])
    assert [method.method for method in one.methods] == [TITLES["constant"], TITLES["length"], SELECTIVE]
    selector = one.selector()
    assert selector is not None
    assert selector.method == SELECTIVE
    flagged = one.flagged()
    assert len(flagged) >= 4
    assert set(flagged) <= {f"s{n:03}" for n in range(1, 16, 2)}
    sections, findings = detection_sections(one)
    names = [part.name for section in sections for part in section.parts]
    assert names == [
        "sarcasm-items",
        "sarcasm-methods",
        "sarcasm-curve",
        "sarcasm-calibration",
        "sarcasm-entropy",
        "sarcasm-relevance",
    ]
    text = " ".join(sections[1].text)
    assert "1 items have no score (the item is relevant to none of the personas)" in text
    assert "people find 8 of 17 statements ambiguous" in findings[0].text
    assert "better than chance" in findings[1].text
    table = next(part for part in sections[1].parts if part.name == "sarcasm-methods")
    assert table.frame.filter(method=SELECTIVE)["calls"].to_list() == [7]  # type: ignore[union-attr]


def test_too_few_votes_leave_scores_without_a_verdict_and_a_budget_flags() -> None:
    one = found(["clear", "ambiguous"] * 2)
    assert not one.judged
    assert [method.method for method in one.methods] == [SELECTIVE]
    assert len(one.flagged()) == 1
    sections, _ = detection_sections(one)
    assert "Only 4 items have votes" in sections[1].text[0]
    assert "sarcasm-methods" not in [part.name for part in sections[1].parts]


def test_nobody_and_no_model_is_said_plainly() -> None:
    corpus = planted_corpus(["clear"] * 3).filter(kind="person")
    alone = Corpus(corpus.items, corpus.raters.clear(), corpus.judgments.clear(), corpus.instruments)
    one = detection_of(
        alone, TASKS["sarcasm"], surfaces=("words",), costs={}, spread=Spread(), judging=Judging(resamples=10)
    )
    sections, findings = detection_sections(one)
    assert one.flagged() == []
    assert "no model was asked" in sections[0].text[0]
    assert "nobody has judged the 3 statements" in findings[0].text


def test_context_that_helps_shows_in_what_is_left() -> None:
    one = found(["clear", "ambiguous"] * 8)
    after = one.votes.with_columns(pl.lit(0.0).alias("doubt"))
    both = Detection(one.task, one.question, one.items, one.votes, one.methods, one.judging, after)
    sections, _ = detection_sections(both)
    figure = next(part for part in sections[1].parts if part.name == "sarcasm-remaining")
    left = figure.data.filter(method=SELECTIVE)["left"].to_list()  # type: ignore[union-attr]
    assert left[0] == pytest.approx(0.2)
    assert left[-1] == pytest.approx(0.0)
    corpus = planted_corpus(["clear", "ambiguous"] * 8)
    whole = Corpus(
        corpus.items.with_columns(pl.lit("sarcasm").alias("task")), corpus.raters, corpus.judgments, corpus.instruments
    )
    section, (answer,) = glance([both], whole)
    assert answer.text == "Context lowers people's doubt: 0.20 alone, 0.00 with context."
    assert section.text[0].startswith("Most divided, sarcasm: “Statement 1 (ambiguous yes).”")


def test_surface_methods_are_told_apart() -> None:
    assert surface_names(["direct", "words", "length"]) == ["words", "length"]
