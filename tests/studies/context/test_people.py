"""People with and without context: ambiguity, agreement and F1, and whether their doubt changes."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from tests.report.truth import claims
from tests.studies.context.judged import analysed, table
from vantage import Corpus, Instrument
from vantage.measures import alpha
from vantage.report.parts import Result
from vantage.studies.base import find
from vantage.studies.context import models
from vantage.studies.context.analysis import ContextAnalysis

ITEMS = [f"i{n}" for n in range(12)]


def asked(kind: str = "person") -> Corpus:
    """Three annotators who are often in doubt alone and right with context."""
    rows = []
    for n, item in enumerate(ITEMS):
        for rater in range(3):
            doubtful = (n + rater) % 3 == 0
            rows.append((item, f"p{rater}", "static", None if doubtful else float(n % 2 if rater else 0)))
            rows.append((item, f"p{rater}", "context", float(n % 2)))
    judged = pl.DataFrame(rows, schema=["item", "rater", "condition", "value"], orient="row")
    return Corpus(
        pl.DataFrame({"item": ITEMS, "text": ITEMS, "task": ["sarcasm"] * 12, "label": ["no", "yes"] * 6}),
        pl.DataFrame({"rater": ["p0", "p1", "p2"], "kind": [kind] * 3}),
        judged.with_columns(
            pl.lit("sarcasm").alias("question"),
            pl.when(pl.col("value").is_null()).then(pl.lit("ambiguous")).otherwise(pl.lit("answered")).alias("status"),
        ),
        Instrument.load("sarcasm"),
    )


def analysis(corpus: Corpus) -> ContextAnalysis:
    return ContextAnalysis(corpus, find("context").options(tasks="sarcasm", methods="length", resamples=50))


@pytest.fixture(scope="module")
def found() -> Result:
    """The report on the three annotators, which takes a second."""
    return analysed(asked())


def by_condition(found: Result) -> pl.DataFrame:
    return table(found, "people")


def test_context_is_set_beside_no_context(found: Result) -> None:
    rows = by_condition(found)
    assert rows["condition"].to_list() == ["static", "context"]
    static, context = rows.rows(named=True)
    assert static["ambiguity"] == pytest.approx(1 / 3)
    assert context["ambiguity"] == 0
    assert context["alpha"] == pytest.approx(1.0)
    assert context["f1"] == context["f1_decided"] == pytest.approx(1.0)
    assert static["f1"] < static["f1_decided"] < 1
    assert static["f1_low"] <= static["f1"] <= static["f1_high"]


def test_seats_are_no_readers_who_could_be_left_out(found: Result) -> None:
    seated = asked("slot")
    static = by_condition(analysed(seated)).row(0, named=True)
    how: dict[str, Any] = {"level": "nominal", "by": (), "kinds": "all", "resamples": 50}
    over_items = alpha(seated.filter(condition="static"), ci="items", **how).row(0, named=True)
    assert (static["alpha_low"], static["alpha_high"]) == pytest.approx((over_items["low"], over_items["high"]))
    of_people = by_condition(found).row(0, named=True)
    assert (of_people["alpha_low"], of_people["alpha_high"]) != (static["alpha_low"], static["alpha_high"])
    # Why raters are scored together is no part of what intervals are over.
    assert not any("ratersseveral" in one for one in found.methods)


def test_fewer_ambiguous_answers_alone_raise_the_first_f1_only() -> None:
    corpus = asked()
    right = corpus.judgments.filter(pl.col("condition") == "context")
    half = right.with_columns(
        pl.when(pl.col("rater") == "p1").then(None).otherwise("value").alias("value"),
        pl.when(pl.col("rater") == "p1").then(pl.lit("ambiguous")).otherwise(pl.lit("answered")).alias("status"),
        pl.lit("static").alias("condition"),
    )
    both = Corpus(corpus.items, corpus.raters, pl.concat([half.cast(right.schema), right]), corpus.instruments)
    static, context = by_condition(analysed(both)).rows(named=True)
    assert static["f1_decided"] == context["f1_decided"] == pytest.approx(1.0)
    assert static["f1"] < context["f1"]


def test_single_annotators_have_their_own_f1_and_seats_have_none(found: Result) -> None:
    rows = table(found, "annotators")
    static = dict(rows.filter(condition="static").select("rater", "estimate").iter_rows())
    assert static["p0"] < static["p1"]
    assert set(rows.filter(condition="context")["estimate"]) == {1.0}
    assert rows["low"].null_count() == 0
    seats = analysed(asked("slot"))
    assert "annotators" not in [one.name for one in seats.tables]
    facts = models.summary(analysis(asked("slot"))).facts
    assert (facts["annotators"], facts["seats"]) == (None, 3)


def test_the_figure_has_a_row_for_each_number_and_condition(found: Result) -> None:
    (drawn,) = [one for one in found.figures if one.name == "before-after"]
    row = drawn.data.filter(category="sarcasm: F1, decided answers", condition="context")
    assert row["estimate"].to_list() == table(found, "people").filter(condition="context")["f1_decided"].to_list()
    assert len(drawn.data) == 8


def test_the_change_of_doubt_is_that_of_the_same_items(found: Result) -> None:
    row = table(found, "summary").row(0, named=True)
    assert row["items"] == 12
    assert row["doubt_context"] == 0
    assert row["change"] == pytest.approx(-row["doubt_static"])
    assert row["change_low"] < row["change"] < row["change_high"] < 0
    assert any(text.startswith("Context lowers people's doubt about sarcasm") for text in claims(found))


def test_context_that_divides_people_turns_the_sentence_round(found: Result) -> None:
    corpus = asked()
    other = {"static": "context", "context": "static"}
    turned = corpus.judgments.with_columns(pl.col("condition").cast(pl.String).replace(other))
    other_way = analysed(Corpus(corpus.items, corpus.raters, turned, corpus.instruments))
    assert any(text.startswith("Context raises people's doubt about sarcasm") for text in claims(other_way))
    assert table(other_way, "summary")["change"][0] == pytest.approx(-table(found, "summary")["change"][0])


def test_nobody_leaves_no_section_and_answers_without_context_say_so() -> None:
    corpus = asked()
    nobody = Corpus(corpus.items, corpus.raters.clear(), corpus.judgments.clear(), corpus.instruments)
    assert "people" not in [one.name for one in analysed(nobody).tables]
    told = [finding.text for finding in analysed(nobody).findings]
    assert "Nobody has judged the 12 statements of the task sarcasm." in told
    alone = [finding.text for finding in analysed(corpus.filter(condition="static")).findings]
    assert "Nobody has judged statements in context for sarcasm." in alone
