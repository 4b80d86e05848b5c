"""Judging models are asked in every style and condition, with examples that are never in the sample."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.studies.context.pipeline.conftest import statements
from tests.studies.context.pipeline.script_writer import ScriptWriter
from vantage import ChatRater, Corpus, Instrument
from vantage.report.record import Record
from vantage.studies.base import find
from vantage.studies.context.pipeline.controls import attached
from vantage.studies.context.pipeline.generation import generate
from vantage.studies.context.study import EXAMPLES, Roles, ask_models, example_corpus
from vantage.studies.context.tasks import TASKS, read_task
from vantage.studies.execution import Context

SARCASM = Instrument.load("sarcasm")


class Asking(Context[Any]):
    """A study whose only model is a script."""

    model: ScriptWriter

    def raters(self, style: str = "zero-shot", *, role: str = "", **options: Any) -> list[ChatRater]:
        return [ChatRater(self.model, style, seed=self.seed, **options)]


def asking(**options: Any) -> Asking:
    context = Asking(find("context").options(**options), Record("test", "Test"), models=("writer",))
    context.model = ScriptWriter()
    return context


def pool(count: int = 12) -> Corpus:
    items = {
        "item": [f"t{n}" for n in range(count)],
        "text": [f"I wait, case {n}." for n in range(count)],
        "task": ["sarcasm"] * count,
        "label": ["no" if n % 3 else "yes" for n in range(count)],
    }
    return Corpus.of_items(pl.DataFrame(items), SARCASM)


def test_examples_come_from_outside_the_sample_in_equal_shares() -> None:
    whole = pool(60)
    sample = whole.filter(item=["t0", "t3"])
    drawn = example_corpus(whole, sample, SARCASM, seed=1)
    assert len(drawn.items) == EXAMPLES
    assert not {"t0", "t3"} & set(drawn.items["item"])
    assert sorted(drawn.judgments["value"]) == [0] * 12 + [1] * 12
    assert example_corpus(whole, sample, SARCASM, seed=1) == drawn
    assert example_corpus(whole, sample, SARCASM, seed=2) != drawn
    assert len(example_corpus(pool(12), sample, SARCASM).items) == 10


def test_no_example_has_the_text_of_a_sampled_item(tmp_path: Path) -> None:
    rows = "text,label\nI wait.,yes\ni  WAIT!,no\nWe wait.,no\nThey wait.,yes\n"
    (tmp_path / "sarcasm.csv").write_text(rows, "utf-8")
    whole = read_task(tmp_path, TASKS["sarcasm"])
    drawn = example_corpus(whole, whole.filter(item="sarcasm-1"), SARCASM)
    assert sorted(drawn.items["text"]) == ["They wait.", "We wait."]


@pytest.fixture
def with_contexts() -> tuple[Corpus, Instrument]:
    made = [
        generate(statements(), SARCASM, ScriptWriter("generator"), ScriptWriter("v"), control=control)
        for control in ("label", "opposite")
    ]
    return attached(statements(), SARCASM, *made)


def test_every_style_and_condition_is_asked(with_contexts: tuple[Corpus, Instrument]) -> None:
    corpus, extended = with_contexts
    static = example_corpus(pool(), corpus, SARCASM)
    context = asking(styles="zero-shot,few-shot:3", runs=2)
    conditions = ("static", "context", "context-opposite")
    judged = ask_models(context, Roles.of(context).judges, corpus, extended, conditions, {"static": static})
    counts = judged.judgments.filter(pl.col("rater").str.starts_with("writer")).group_by("rater", "condition").len()
    assert sorted(counts.rows()) == [
        ("writer+few-shot:3", "static", 8),
        ("writer+zero-shot", "context", 8),
        ("writer+zero-shot", "context-opposite", 8),
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
    plain = example_corpus(pool(6), corpus, SARCASM)
    inside = generate(plain, SARCASM, ScriptWriter("generator"), ScriptWriter("v")).corpus
    context = asking(styles="few-shot:3", runs=1)
    ask_models(context, Roles.of(context).judges, corpus, extended, ("context",), {"context": inside})
    asked = context.model.requests[0].messages
    assert len(asked) == 2 + 2 * 3
    assert all("Conversation:\nPerson A: The train" in m.content for m in asked if m.role == "user")


def test_the_paper_names_answers_by_letters_and_shows_three_to_ten_examples(
    with_contexts: tuple[Corpus, Instrument],
) -> None:
    corpus, extended = with_contexts
    context = asking(prompt="paper", runs=1, styles="zero-shot")
    plain = example_corpus(pool(60), corpus, SARCASM)
    judged = ask_models(context, Roles.of(context).judges, corpus, extended, ("static",), {"static": plain})
    assert all("A = no" in request.messages[-1].content for request in context.model.requests)
    ways = [one for one in judged.raters["style"].drop_nulls().unique().sort() if one]
    assert ways == ["few-shot:10", "few-shot:3", "few-shot:5", "reasoning", "zero-shot"]
