"""Judging models are asked in every style and condition, with examples that are never in the sample."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from tests.studies.context.pipeline.conftest import statements
from tests.studies.context.pipeline.script_writer import ScriptWriter
from vantage import ChatRater, Corpus, Instrument
from vantage.report.record import Record
from vantage.studies.context.collecting import ask_models, example_corpus
from vantage.studies.context.options import ContextOptions
from vantage.studies.context.pipeline.controls import attached
from vantage.studies.context.pipeline.generation import generate
from vantage.studies.execution import Context

SARCASM = Instrument.load("sarcasm")


class Asking(Context[ContextOptions]):
    """A study whose only model is a script."""

    model: ScriptWriter

    def raters(self, style: str = "zero-shot", *, role: str = "", **options: Any) -> list[ChatRater]:
        return [ChatRater(self.model, style, seed=self.seed, **options)]


def asking(**options: Any) -> Asking:
    context = Asking(ContextOptions(**options), Record("test", "Test"), models=("writer",))
    context.model = ScriptWriter()
    return context


def pool(count: int = 12) -> tuple[pl.DataFrame, pl.DataFrame]:
    items = pl.DataFrame(
        {"item": [f"t{n}" for n in range(count)], "text": [f"I wait, case {n}." for n in range(count)]}
    )
    return items, items.select("item", value=(pl.int_range(pl.len()) % 3 == 0).cast(pl.Float64))


def test_examples_come_from_outside_the_sample_in_equal_shares() -> None:
    items, labels = pool()
    twin = pl.DataFrame({"item": ["s9"], "text": ["i  WAIT, case 3."]})
    sample = pl.concat([items.head(1), twin])
    drawn = example_corpus(items, labels, SARCASM, sample, count=4, seed=1)
    assert len(drawn.items) == 4
    assert not {"t0", "t3"} & set(drawn.items["item"])
    assert sorted(drawn.judgments["value"]) == [0, 0, 1, 1]
    again = example_corpus(items, labels, SARCASM, sample, count=4, seed=1)
    assert again == drawn
    assert len(example_corpus(items, labels, SARCASM, sample, count=99).items) == 10


@pytest.fixture
def with_contexts() -> tuple[Corpus, Instrument]:
    made = [
        generate(statements(), SARCASM, ScriptWriter("generator"), ScriptWriter("v"), control=control)
        for control in ("label", "opposite")
    ]
    return attached(statements(), SARCASM, *made)


def test_every_style_and_condition_is_asked(with_contexts: tuple[Corpus, Instrument]) -> None:
    corpus, extended = with_contexts
    items, labels = pool()
    static = example_corpus(items, labels, SARCASM, corpus.items)
    context = asking(styles="zero-shot,few-shot:3", runs=2)
    judged = ask_models(context, corpus, extended, ("static", "context", "context-opposite"), {"static": static})
    counts = judged.judgments.filter(pl.col("rater").str.starts_with("writer")).group_by("rater", "condition").len()
    assert sorted(counts.rows()) == [
        ("writer+few-shot:3", "static", 8),
        ("writer+zero-shot", "context", 6),
        ("writer+zero-shot", "context-opposite", 6),
        ("writer+zero-shot", "static", 8),
    ]
    assert context.warnings == [
        "few-shot:3 was left out under the condition context of sarcasm: there are 0 worked examples for it outside "
        "the sample."
    ]
    assert context.reached == judged
    shown = {m.content for r in context.model.requests for m in r.messages[1:-1] if m.role == "user"}
    texts = set(corpus.items["text"])
    assert shown
    assert not any(text in prompt for text in texts for prompt in shown)
    drawn = {r.sampling.temperature for r in context.model.requests}
    assert drawn == {0.2}


def test_examples_with_context_are_shown_with_theirs(with_contexts: tuple[Corpus, Instrument]) -> None:
    corpus, extended = with_contexts
    items, labels = pool(6)
    plain = example_corpus(items, labels, SARCASM, corpus.items)
    inside = generate(plain, SARCASM, ScriptWriter("generator"), ScriptWriter("v"), labels=labels).corpus
    context = asking(styles="few-shot:3", runs=1)
    ask_models(context, corpus, extended, ("context",), {"context": inside})
    asked = context.model.requests[0].messages
    assert len(asked) == 2 + 2 * 3
    assert all("Conversation:\nPerson A: The train" in m.content for m in asked if m.role == "user")
