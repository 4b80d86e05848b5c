"""Presentations: what a rater sees differs, what is stored does not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vantage.errors import InputError, Problems
from vantage.instruments import Instrument
from vantage.presentations import FACTORS, Presentation, levels
from vantage.raters.answers import choices
from vantage.raters.replies import parse_reply

DOCUMENT: dict[str, Any] = {
    "id": "worth",
    "version": 1,
    "title": "Worth",
    "description": "Whether a text is worth reading.",
    "fields": [{"name": "text", "title": "Text"}],
    "guidelines": "Read the text and answer.",
    "wordings": ["Answer after you have read the text."],
    "scales": {
        "agree": {
            "level": "ordinal",
            "options": [
                {"code": -2, "label": "strongly disagree"},
                {"code": -1, "label": "disagree"},
                {"code": 0, "label": "undecided"},
                {"code": 1, "label": "agree"},
                {"code": 2, "label": "strongly agree"},
            ],
            "opt_outs": {"ambiguous": "cannot tell"},
        },
        "points": {"level": "ordinal", "from": 5, "to": 1, "anchors": {1: "dull", 5: "gripping"}},
    },
    "questions": [
        {
            "id": "worth",
            "title": "Worth",
            "ask": "The text is worth reading.",
            "scale": "agree",
            "wordings": [{"ask": "Reading the text pays off."}],
            "reversed": {
                "ask": "The text is a waste of time.",
                "scoring": "mirrored",
                "wordings": [{"ask": "Reading the text does not pay off."}],
            },
        },
        {"id": "gripping", "title": "Gripping", "ask": "How gripping is the text?", "scale": "points"},
    ],
    "examples": [
        {"item": {"text": f"Example {code}."}, "answers": {"worth": {"answer": code, "reason": "So it is."}}}
        for code in (-2, -1, 0, 1, 2)
    ],
}
INSTRUMENT = Instrument.from_document(DOCUMENT)
WORTH = INSTRUMENT.question("worth")


def changed(**question: Any) -> dict[str, Any]:
    first, second = DOCUMENT["questions"]
    return {**DOCUMENT, "questions": [{**first, **question}, second]}


levels_of = {factor: known or ("1", "2") for factor, known in FACTORS.items() if factor not in ("questions", "format")}
presentations = st.fixed_dictionaries({}, optional={f: st.sampled_from(known) for f, known in levels_of.items()})


@given(presentations)
def test_a_presentation_reads_as_it_is_written(chosen: dict[str, str]) -> None:
    presentation = Presentation(**chosen)
    assert Presentation.parse(str(presentation)) == presentation
    assert str(presentation).split() == sorted(str(presentation).split())


@given(presentations, st.integers(0, 10_000))
def test_every_answer_that_is_shown_decodes_to_the_option_it_names(chosen: dict[str, str], key: int) -> None:
    """The reply that names an option, in whatever way options are called, is read as that option's own code."""
    presentation = Presentation(**chosen).drawn(WORTH, key)
    shown = presentation.shown(WORTH)
    turned = presentation.direction == "reversed"
    for choice in choices(shown.scale):
        for text in (choice.word, f"Answer: {choice.word}", f'{{"answer": "{choice.word}"}}'):
            reply = parse_reply(text, shown)
            assert (reply.value, reply.status) == (choice.value, choice.status), (str(presentation), text)
        if choice.value is not None:
            label = next(o.label for o in shown.scale.options if o.code == choice.value)
            wanted = WORTH.scale.code(label)
            assert wanted is not None
            assert presentation.decoded(WORTH, choice.value) == (-wanted if turned else wanted)
    offered = {c.value for c in choices(shown.scale) if c.value is not None}
    assert offered == {-2, -1, 1, 2} | (set() if presentation.middle == "hidden" else {0})
    assert bool(shown.scale.opt_outs) == (presentation.optout != "hidden")


def test_options_stand_in_the_order_and_under_the_names_that_are_asked_for() -> None:
    def listed(text: str) -> list[str]:
        shown = Presentation.parse(text).shown(WORTH)
        return [f"{c.word}={c.meaning}" for c in choices(shown.scale)]

    assert listed("order=down labels=numbers")[:2] == ["2=strongly agree", "1=agree"]
    assert listed("order=up labels=words optout=hidden") == [f"{o.label}=" for o in WORTH.scale.options]
    assert listed("order=down labels=letters")[0] == "A=strongly agree"
    assert listed("order=random seen=3.1.5.2.4 labels=numbers optout=hidden")[0] == "0=undecided"
    assert Presentation.parse("direction=reversed wording=2").shown(WORTH).ask == "Reading the text does not pay off."
    assert Presentation.parse("wording=2").guidelines(INSTRUMENT) == "Answer after you have read the text."


def test_a_scale_listed_downwards_is_shown_so_and_keeps_its_codes() -> None:
    scale = INSTRUMENT.question("gripping").scale
    assert list(scale.codes) == [1, 2, 3, 4, 5]
    assert [c.word for c in choices(scale)] == ["5", "4", "3", "2", "1"]
    assert choices(Presentation(order="up").shown(INSTRUMENT.question("gripping")).scale)[0].word == "1"
    again = Instrument.from_document(Instrument.of_questions("x", "X", {"q": scale}).document)
    assert again.question("q").scale == scale


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"reversed": {"ask": "It is a waste."}}, "does not say how it is scored; add scoring: mirrored"),
        ({"wordings": [{"ask": "Is it?", "scale": "points"}]}, "is another one than that of question 'worth'"),
        ({"wordings": [{"ask": "Is it?", "scale": "pionts"}]}, "there is no scale 'pionts'"),
        ({"wordings": [{"ask": "{nothing}"}]}, "neither a field nor a parameter"),
        ({"wordings": []}, "the twin has 1 paraphrases and the question 0"),
    ],
)
def test_twins_and_paraphrases_are_checked(change: dict[str, Any], problem: str) -> None:
    with pytest.raises(Problems, match=problem):
        Instrument.from_document(changed(**change))


def test_only_scales_with_a_direction_are_mirrored() -> None:
    scales = {
        **DOCUMENT["scales"],
        "kinds": {"level": "nominal", "options": [{"code": n, "label": w} for n, w in enumerate(("a", "b", "c"))]},
        "gaps": {"level": "ordinal", "options": [{"code": n, "label": str(n)} for n in (1, 2, 4)]},
    }
    for name, problem in (("kinds", "has no direction"), ("gaps", "are not symmetric")):
        twin = {"ask": "Not?", "scoring": "mirrored"}
        question = {"id": "q", "title": "Q", "ask": "So?", "scale": name, "reversed": twin}
        with pytest.raises(Problems, match=problem):
            Instrument.from_document({**DOCUMENT, "scales": scales, "questions": [question], "examples": []})


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("odrer=up", "there is no factor 'odrer'"),
        ("order=sideways", "order has no level 'sideways'"),
        ("order", "does not give one level of order"),
        ("order=up order=down", "does not give one level of order"),
        ("wording=0", "wording=0 is not a wording"),
        ("seen=a.b", "no order of options"),
    ],
)
def test_a_presentation_that_does_not_exist_is_refused(text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        Presentation.parse(text)


def test_a_factor_that_a_question_does_not_have_is_refused() -> None:
    for factor, lacks in (
        ("direction", "no reversed twin"),
        ("optout", "no opt-out"),
        ("wording", "0 paraphrases where others have 1"),
    ):
        with pytest.raises(InputError, match=f"'gripping' has {lacks}" if factor == "wording" else lacks):
            levels(factor, Instrument.from_document({**DOCUMENT, "wordings": []}), INSTRUMENT.questions)
    assert levels("labels", INSTRUMENT, [INSTRUMENT.question("gripping")]) == ("numbers", "letters")
    with pytest.raises(InputError, match="no wording for every option"):
        Presentation(labels="words").shown(INSTRUMENT.question("gripping"))
    with pytest.raises(InputError, match="has no wording 3"):
        Presentation(wording="3").shown(WORTH)


def test_the_bundled_twins_mean_the_opposite() -> None:
    """Every label of the twin of a question, and of its paraphrases, names the mirrored code's label."""
    for question in Instrument.load("warmth-competence").questions:
        for wording in ("1", "2"):
            way = Presentation(direction="reversed", wording=wording)
            shown = way.shown(question)
            for option in shown.scale.options:
                assert question.scale.label(way.decoded(question, option.code)) == option.label
            opposite = "un" if question.id != "competence" else "in"
            assert f"how {opposite}" in shown.ask.lower()
