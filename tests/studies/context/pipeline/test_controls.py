"""Controls: what a context is written for, the conditions under which it is judged, and real preceding turns."""

from __future__ import annotations

import polars as pl
import pytest

from tests.studies.context.pipeline.conftest import statements
from tests.studies.context.pipeline.script_writer import ScriptWriter
from vantage import Corpus, Instrument, Scale
from vantage.errors import InputError
from vantage.raters.chat import ChatRater
from vantage.studies.context.pipeline.controls import (
    CONTROLS,
    attached,
    attached_steps,
    condition_of,
    context_fields,
    target,
    with_context,
    with_controls,
)
from vantage.studies.context.pipeline.generation import generate

TASKS = ["sarcasm", "politeness", "sentiment", "vaccine-stance", "abortion-stance"]


@pytest.mark.parametrize("task", TASKS)
def test_every_task_has_contexts_and_controls(task: str) -> None:
    plain = Instrument.load(task)
    statement, conversation = context_fields(plain)
    assert (statement.name, conversation.name) == ("text", "conversation")
    extended = with_controls(plain, CONTROLS)
    question = plain.questions[0].id
    for control in ("opposite", "blind"):
        assert extended.conditions[condition_of(control)] == (f"conversation_{control}", "text")
        wording = extended.question(question).wording(condition_of(control), text="Hm.")
        assert wording == plain.question(question).wording("context", text="Hm.")
    assert with_controls(extended, CONTROLS) == extended
    assert with_controls(plain, ["label"]) == plain


@pytest.mark.parametrize(
    ("scale", "label", "opposite"),
    [
        (Scale.labels("no", "yes"), 1, 0),
        (Scale.labels("no", "yes"), 0, 1),
        (Scale.points(-1, 1), 0, None),
        (Scale.points(-1, 1), -1, 1),
        (Instrument.load("abortion-stance").questions[0].scale, -1, 1),
    ],
)
def test_the_opposite_is_the_label_mirrored(scale: Scale, label: float, opposite: float | None) -> None:
    assert target(scale, label, "opposite") == opposite
    assert target(scale, label, "label") == label
    assert target(scale, label, "blind") is None


def test_an_instrument_without_conversations_is_refused() -> None:
    with pytest.raises(InputError, match="instrument 'irony' has no condition 'context'"):
        context_fields(Instrument.load("irony"))
    with pytest.raises(InputError, match="there is no control 'oposite'; did you mean 'opposite'"):
        with_controls(Instrument.load("sarcasm"), ["oposite"])  # type: ignore[list-item]


def test_contexts_of_several_kinds_stand_side_by_side(corpus: Corpus, tmp_path: object) -> None:
    sarcasm = Instrument.load("sarcasm")
    kinds = [generate(corpus, sarcasm, ScriptWriter(), ScriptWriter("v"), control=c) for c in ("label", "opposite")]
    whole, extended = attached(corpus, sarcasm, *kinds)
    assert whole.items["item"].to_list() == corpus.items["item"].to_list()
    assert whole.items["conversation_opposite"].null_count() == 0
    again = Corpus.read(whole.write(f"{tmp_path}/corpus"))
    steps = attached_steps(again)
    assert set(steps) == {"label", "opposite"}
    for one in kinds:
        assert steps[one.control].sort(pl.all()).equals(one.steps.sort(pl.all()))
    judged = with_context(again, "context-opposite", extended)
    assert judged.items["item"].to_list() == ["s1", "s2", "s3", "s4"]
    rater = ChatRater(ScriptWriter(), "zero-shot")
    call = next(rater.plan(judged, extended, condition="context-opposite"))
    assert "Conversation:\nPerson A: The train is late again." in call.request.messages[-1].content
    with pytest.raises(InputError, match="the items have no column 'conversation_blind'; generate contexts first"):
        with_context(again, "context-blind", with_controls(sarcasm, ["blind"]))


def test_other_lists_among_the_columns_do_not_disturb_a_prompt() -> None:
    plain = statements()
    items = plain.items.with_columns(pl.Series("sources", [["1", "2"]] * 4))
    corpus = Corpus(items, plain.raters, plain.judgments, plain.instruments)
    call = next(ChatRater(ScriptWriter(), "zero-shot").plan(corpus, Instrument.load("sarcasm"), condition="static"))
    assert "I just love waiting." in call.request.messages[-1].content
