"""People with and without context: ambiguity, agreement and F1, and what is said where seats hide who is who."""

from __future__ import annotations

import polars as pl
import pytest

from vantage import Corpus, Instrument
from vantage.studies.context.people_part import people_sections, per_annotator, summary

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


LABELS = pl.DataFrame({"item": ITEMS, "question": ["sarcasm"] * 12, "value": [0.0, 1.0] * 6})


def test_context_is_set_beside_no_context() -> None:
    found = summary(asked(), LABELS, resamples=50, seed=0)
    assert found["condition"].to_list() == ["static", "context"]
    static, context = found.rows(named=True)
    assert static["ambiguity"] == pytest.approx(1 / 3)
    assert context["ambiguity"] == 0
    assert context["alpha"] == pytest.approx(1.0)
    assert context["f1"] == context["f1_decided"] == pytest.approx(1.0)
    assert static["f1"] < static["f1_decided"] < 1
    assert static["f1_low"] <= static["f1"] <= static["f1_high"]


def test_fewer_ambiguous_answers_alone_raise_the_first_f1_only() -> None:
    corpus = asked()
    right = corpus.judgments.filter(pl.col("condition") == "context")
    half = right.with_columns(
        pl.when(pl.col("rater") == "p1").then(None).otherwise("value").alias("value"),
        pl.when(pl.col("rater") == "p1").then(pl.lit("ambiguous")).otherwise(pl.lit("answered")).alias("status"),
        pl.lit("static").alias("condition"),
    )
    both = Corpus(corpus.items, corpus.raters, pl.concat([half.cast(right.schema), right]), corpus.instruments)
    static, context = summary(both, LABELS, resamples=20, seed=0).rows(named=True)
    assert static["f1_decided"] == context["f1_decided"] == pytest.approx(1.0)
    assert static["f1"] < context["f1"]


def test_single_annotators_have_their_own_f1() -> None:
    found = per_annotator(asked(), LABELS, resamples=20, seed=0)
    assert found is not None
    static = dict(found.filter(condition="static").select("rater", "estimate").iter_rows())
    assert static["p0"] < static["p1"]
    assert set(found.filter(condition="context")["estimate"]) == {1.0}
    assert found["low"].null_count() == 0


def test_seats_have_no_single_annotators_and_the_section_says_so() -> None:
    corpus = asked("slot")
    assert per_annotator(corpus, LABELS, resamples=10, seed=0) is None
    (section,), (finding,) = people_sections(corpus, LABELS, resamples=10)
    assert "exchangeable" in section.text[0]
    assert [part.name for part in section.parts] == ["people", "before-after"]
    assert "from 0.33 to 0.00" in finding.text


def test_nobody_leaves_no_section() -> None:
    corpus = asked()
    assert people_sections(Corpus(corpus.items, corpus.raters.clear(), corpus.judgments.clear(), corpus.instruments),
                           LABELS) == ([], [])  # fmt: skip


def test_only_static_answers_say_that_context_is_missing() -> None:
    alone = asked().filter(condition="static")
    _, (finding,) = people_sections(alone, LABELS, resamples=10)
    assert "Nobody has judged them with context" in finding.text
