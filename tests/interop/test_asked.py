from __future__ import annotations

import polars as pl
import pytest

from vantage import Corpus, InputError, Instrument, Scale, demo_corpus
from vantage.interop.asked import Sheet
from vantage.raters.chat import ChatRater
from vantage.scales import OptOut

MINE = Instrument.of_questions(
    "tone",
    "Tone",
    {
        "rude": Scale.labels("no", "yes", opt_outs=[OptOut("ambiguous", "cannot tell")]),
        "warmth": Scale.continuous(0, 1),
    },
)


def corpus() -> Corpus:
    rows = [
        ("a", "rude", "ann", 0.0, "answered", ""),
        ("a", "rude", "bob", 1.0, "answered", ""),
        ("a", "rude", "cem", None, "ambiguous", ""),
        ("a", "rude", "bot", 1.0, "answered", ""),
        ("b", "rude", "ann", 1.0, "answered", "context"),
        ("a", "warmth", "ann", 0.5, "answered", ""),
    ]
    return Corpus(
        items=pl.DataFrame({"item": ["a", "b"], "text": ["Go away.", "Hello."]}),
        raters=pl.DataFrame({"rater": ["ann", "bob", "cem", "bot"], "kind": ["person", "person", "slot", "model"]}),
        judgments=pl.DataFrame(
            rows, schema=["item", "question", "rater", "value", "status", "condition"], orient="row"
        ),
        instruments=MINE,
    )


def test_people_are_counted_by_the_words_they_would_write() -> None:
    asked = list(Sheet.of(corpus()).asked())
    assert [(one.item["item"], one.question.id) for one in asked] == [
        ("a", "rude"),
        ("b", "rude"),
        ("a", "warmth"),
        ("b", "warmth"),
    ]
    # The model is not counted, and an opt-out is an answer.
    assert asked[0].people == {"no": 1, "yes": 1, "ambiguous": 1}
    assert asked[0].most == ["no", "yes", "ambiguous"]
    assert asked[2].people == {}
    assert asked[2].most == []
    assert asked[2].form == {"words": [], "range": [0.0, 1.0]}


def test_people_are_counted_once_and_under_one_condition() -> None:
    again = corpus().judgments.filter(rater="ann", item="a").with_columns(sample=pl.lit(1, dtype=pl.Int32))
    assert next(Sheet.of(corpus().add(again)).asked()).people == {"no": 1, "yes": 1, "ambiguous": 1}
    assert list(Sheet.of(corpus(), question="rude").asked())[1].people == {}, "nobody was asked about b like that"
    static = corpus().judgments.with_columns(
        condition=pl.when(condition="").then(pl.lit("static")).otherwise("condition")
    )
    before_after = Corpus(corpus().items, corpus().raters, static, MINE)
    with pytest.raises(InputError, match=r"several conditions \(context, static\); name one"):
        next(Sheet.of(before_after).asked())


def test_the_messages_are_those_of_a_run() -> None:
    demo = demo_corpus()
    sheet = Sheet.of(demo, question="trust", style="few-shot:2+reasoning", seed=3)
    rater = ChatRater("anything", "few-shot:2+reasoning", seed=3)
    planned = rater.plan(demo, sheet.instrument, questions=["trust"])
    assert [one.messages for one in sheet.asked()] == [call.request.messages for call in planned]


def test_coarse_answers_are_counted_in_bands() -> None:
    sheet = Sheet.of(demo_corpus(), question="trust", style="coarse")
    fine = {one.item["item"]: one.people for one in Sheet.of(demo_corpus(), question="trust").asked()}
    for one in sheet.asked():
        assert set(one.people) <= {"low", "neutral", "high"}
        assert sum(one.people.values()) == sum(fine[one.item["item"]].values())


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"question": "rud"}, "no question 'rud'; did you mean 'rude'"),
        ({"style": "together"}, "no place for the style 'together'"),
        ({"style": "persona"}, "no place for the style 'persona'"),
        ({"condition": "context"}, "no condition 'context'"),
        ({"instrument": "ironi"}, "did you mean 'irony'"),
    ],
)
def test_what_cannot_be_asked_is_refused(options: dict[str, str], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        Sheet.of(corpus(), **options, refused=("together", "voice"))  # type: ignore[arg-type]


def test_of_several_instruments_one_is_named() -> None:
    both = corpus().add(corpus().judgments.clear(), instruments=Instrument.load("irony"))
    with pytest.raises(InputError, match="2 instruments: tone, irony; name one"):
        Sheet.of(both)
    assert Sheet.of(both, instrument="irony").instrument.id == "irony"
