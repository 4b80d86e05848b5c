"""Spreads of answers: entropy, doubt and ambiguity of single items, among people and among simulated readers."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.studies.context.pipeline.planted import planted_corpus
from vantage import Corpus, Instrument, Scale
from vantage.context import Cost, Simulation, detected, votes
from vantage.errors import InputError
from vantage.measures.variation.spread import entropy as measured
from vantage.studies.context.pipeline.ambiguity import counted, entropy
from vantage.studies.context.pipeline.simulation import NO_ANSWER, NO_OPTION

SARCASM = Instrument.load("sarcasm")
QUESTION = SARCASM.questions[0]


def answered(rows: list[tuple[str, str, float | None, str]]) -> Corpus:
    """A corpus of answers: item, rater, value and status."""
    frame = pl.DataFrame(rows, schema=["item", "rater", "value", "status"], orient="row", infer_schema_length=None)
    items = frame["item"].unique(maintain_order=True)
    return Corpus(
        pl.DataFrame({"item": items, "text": items}),
        pl.DataFrame({"rater": frame["rater"].unique(maintain_order=True)}),
        frame.with_columns(
            pl.col("value").cast(pl.Float64), pl.lit("sarcasm").alias("question"), pl.lit("static").alias("condition")
        ),
        SARCASM,
    )


@settings(max_examples=20, deadline=None)
@given(st.lists(st.sampled_from([0.0, 1.0, None]), min_size=1, max_size=8), st.booleans())
def test_entropy_of_votes_is_that_of_the_measure(values: list[float | None], opt_outs: bool) -> None:
    rows = [("a", f"p{n}", value, "answered" if value is not None else "ambiguous") for n, value in enumerate(values)]
    corpus = answered(rows)
    shares = np.array(votes(corpus, QUESTION)["shares"].to_list())
    used = counted(shares, QUESTION.scale, opt_outs=opt_outs)
    found = entropy(used)[0] * np.log(used.shape[1])
    theirs = measured(corpus, opt_outs=opt_outs, per="item")["estimate"].to_list()
    if theirs:
        assert found == pytest.approx(theirs[0], abs=1e-12)
    else:
        assert np.isnan(found)


def test_votes_tell_doubt_and_ambiguity_and_leave_out_what_is_no_vote() -> None:
    corpus = answered(
        [
            ("a", "p1", 1, "answered"),
            ("a", "p2", 0, "answered"),
            ("a", "p3", None, "ambiguous"),
            ("a", "p4", 1, "answered"),
            ("b", "p1", None, "refused"),
        ]
    )
    told = votes(corpus, QUESTION)
    assert told["item"].to_list() == ["a"]
    row = told.row(0, named=True)
    assert (row["votes"], row["shares"], row["doubt"], row["ambiguity"]) == (4, [0.25, 0.5, 0.25], 0.5, 0.25)
    assert votes(corpus, QUESTION, condition="context").is_empty()


def test_an_item_without_a_score_says_why() -> None:
    corpus = answered([("a", "m", None, "unparsed"), ("b", "m", None, "ambiguous"), ("c", "m", 1, "answered")])
    found = detected(Simulation("direct", corpus, QUESTION, ("m",), Cost()), opt_outs=False)
    assert dict(found.table.select("item", "reason").iter_rows()) == {"a": NO_ANSWER, "b": NO_OPTION, "c": None}
    assert found.table["score"].to_list() == [None, None, 0.0]
    inside = detected(Simulation("direct", corpus, QUESTION, ("m",), Cost()))
    assert inside.table["score"].to_list() == [None, 0.0, 0.0]


def test_probabilities_count_as_shares_of_one_answer() -> None:
    corpus = planted_corpus(["clear"])
    judgments = corpus.judgments.head(2).with_columns(
        pl.Series("probabilities", [[0.2, 0.7, 0.1], [0.6, 0.3, 0.1]], dtype=pl.List(pl.Float64))
    )
    scored_corpus = Corpus(corpus.items, corpus.raters, judgments, SARCASM)
    found = votes(scored_corpus, QUESTION).row(0, named=True)
    assert found["shares"] == pytest.approx([0.4, 0.5, 0.1])
    assert found["votes"] == 2


def test_a_scale_without_ambiguous_has_no_ambiguity_and_one_without_answers_is_refused() -> None:
    plain = Instrument.of_questions("s", "Plain", {"sarcasm": Scale.labels("no", "yes")}).questions[0]
    assert votes(planted_corpus(["clear"]), plain)["ambiguity"].to_list() == [None]
    slider = Instrument.of_questions("s", "Slider", {"slider": Scale.continuous(0, 1)}).questions[0]
    with pytest.raises(InputError, match="continuous"):
        votes(planted_corpus(["clear"]), slider)
