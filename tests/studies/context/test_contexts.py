"""The report on contexts counts what was kept, dropped and rejected, and shows some of them as conversations."""

from __future__ import annotations

import polars as pl
import pytest

from tests.studies.context.pipeline.conftest import STATEMENTS, statements
from tests.studies.context.pipeline.script_writer import CONVERSATION, ScriptWriter
from vantage import Corpus, Instrument
from vantage.report.engine import Absent
from vantage.studies.base import find
from vantage.studies.context import contexts
from vantage.studies.context.analysis import ContextAnalysis
from vantage.studies.context.pipeline.controls import attached
from vantage.studies.context.pipeline.generation import generate


def once(step: str, said: str, number: int) -> str | None:
    """No conversation at the first try for one statement; otherwise a conversation that is another at each try."""
    if step != "conversation":
        return None
    return "<b>nothing</b>" if "love" in said and number == 0 else f"{CONVERSATION}\nPerson A: Mile {number}."


def analysis(corpus: Corpus) -> ContextAnalysis:
    labelled = corpus.items.with_columns(pl.lit("sarcasm").alias("task"))
    whole = Corpus(labelled, corpus.raters, corpus.judgments, corpus.instruments)
    return ContextAnalysis(whole, find("context").options(tasks="sarcasm"))


@pytest.fixture(scope="module")
def whole() -> ContextAnalysis:
    sarcasm = Instrument.load("sarcasm")
    grades = ScriptWriter("verifier", lambda step, _, number: "2" if step == "redundancy" and number == 0 else None)
    corpus = statements({**STATEMENTS, "s4": ("Trains are late on Mondays.", None)})
    made = [generate(corpus, sarcasm, ScriptWriter(replies=once), grades, control=c) for c in ("label", "blind")]
    return analysis(attached(corpus, sarcasm, *made)[0])


def test_everything_is_counted(whole: ContextAnalysis) -> None:
    told = contexts.written(whole)
    overview = told.frame.filter(control="label").row(0, named=True)
    assert (overview["statements"], overview["kept"], overview["share"]) == (4, 3, 0.75)
    assert overview["kept_for_label"] == 3
    assert overview["first_try"] == 0
    assert told.frame.filter(control="blind")["kept_for_label"].to_list() == [None]
    assert told.facts == {"writers": "writer", "checkers": "verifier"}
    lost = contexts.rejected(whole)
    assert lost is not None
    attempts = {row[:3]: row[3] for row in lost.select("control", "step", "reason", "attempts").iter_rows()}
    assert attempts["label", "conversation", "the conversation is empty"] == 1
    assert attempts["label", "verification", "redundancy is 2, below 4"] == 3
    dropped = lost.filter(control="label", step="statement dropped")
    assert dropped.select("reason", "statements").rows() == [("the item has no original label", 1)]


def test_kept_contexts_are_shown_as_conversations_with_the_statement_marked(whole: ContextAnalysis) -> None:
    shown = contexts.examples(whole)
    assert [one.name for one in shown] == [f"context-{kind}" for kind in ("label-1", "label-2", "label-3", "blind-1")]
    first = shown[0].frame
    assert first.filter("judged")["text"].to_list() == ["I just love waiting. And the bus?"]
    assert ("Person A", "Forty minutes.") in first.select("speaker", "text").rows()
    assert "written for the original label" in shown[0].caption
    assert "written without a label" in shown[3].caption


def test_no_contexts_no_section() -> None:
    nothing = analysis(statements())
    for function in (contexts.written, contexts.rejected, contexts.examples):
        with pytest.raises(Absent):
            function(nothing)


def test_a_corpus_in_which_nothing_was_kept_is_told_plainly() -> None:
    sarcasm = Instrument.load("sarcasm")
    made = generate(statements(), sarcasm, ScriptWriter(replies=lambda *_: ""), ScriptWriter("v"), attempts=1)
    told = contexts.written(analysis(attached(statements(), sarcasm, made)[0]))
    assert told.frame.select("kept", "first_try").row(0) == (0, None)
