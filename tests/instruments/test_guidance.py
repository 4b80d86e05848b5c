"""Guidelines that refer to answers, readers and circumstances by role."""

from __future__ import annotations

from typing import Any

import pytest

from vantage import Instrument
from vantage.errors import InputError
from vantage.instruments import answer_names, rendered, shared_names
from vantage.presentations import Presentation
from vantage.raters.prompts import Prompter
from vantage.raters.style import Style
from vantage.scales import OptOut, Scale

WARM = Instrument.load("warmth-competence")


def with_guidelines(text: str, name: str = "warmth-competence") -> dict[str, Any]:
    return {**Instrument.load(name).document, "guidelines": text}


@pytest.mark.parametrize(
    ("style", "way", "words"),
    [
        ("zero-shot", "", "Choose 0 when"),
        ("coarse", "", 'Choose "neutral" when'),
        ("zero-shot", "labels=letters", "Choose D when"),
        ("zero-shot", "labels=letters order=down", "Choose D when"),
        ("zero-shot", "labels=words", 'Choose "not expressed, or neither" when'),
    ],
)
def test_an_answer_is_called_as_it_is_shown(style: str, way: str, words: str) -> None:
    parts, presentation = Style.parse(style), Presentation.parse(way)
    used = WARM.coarse() if parts.coarse else WARM
    shown = [presentation.shown(used.questions[0])]
    assert words in Prompter(used, parts, presentation=presentation).system(shown)


def test_a_point_about_an_answer_that_is_not_offered_is_left_out() -> None:
    hidden = Presentation(middle="hidden")
    text = Prompter(WARM, Style(), presentation=hidden).system([hidden.shown(WARM.questions[0])])
    assert "says nothing about this quality" not in text
    assert "Answer each question by itself" in text


def test_a_reversed_twin_is_explained_with_the_opposite_codes() -> None:
    warm, turned = (
        Instrument.from_document(with_guidelines("A liar is {answer:-3}.")),
        Presentation(direction="reversed"),
    )
    text = Prompter(warm, Style(), presentation=turned).system([turned.shown(warm.questions[0])])
    assert "A liar is 3." in text
    assert turned.guidelines(warm) == "A liar is 3."
    assert warm.guidelines == "A liar is -3."


def test_people_and_models_read_the_same_guidelines() -> None:
    plain = Prompter(WARM, Style()).system(WARM.questions)
    assert WARM.guidelines.strip() in plain
    assert Presentation().guidelines(WARM) == WARM.guidelines


def test_who_speaks_for_a_person_is_asked_for_that_persons_reading() -> None:
    irony = Instrument.load("irony")
    own = " ".join(Prompter(irony, Style()).system(irony.questions).split())
    other = " ".join(Prompter(irony, Style(), voice="Age: 30.").system(irony.questions).split())
    assert "we want to know your own reading" in own
    assert "we want to know this person's reading" in other
    assert "your own" not in other


def test_a_sentence_holds_under_its_condition_and_where_a_reason_is_asked_for() -> None:
    sarcasm, appraisals = Instrument.load("sarcasm"), Instrument.load("appraisals")
    said = {
        condition: Prompter(sarcasm, Style(), condition).system(sarcasm.questions)
        for condition in ("", "static", "context")
    }
    assert ["do not make up" in text for text in said.values()] == [True, True, False]
    assert ["When the conversation is shown" in text for text in said.values()] == [True, False, True]
    scored = Prompter(appraisals, Style.parse("scoring")).system(appraisals.questions[:1])
    assert "your reason" not in scored
    assert "In your reason" in Prompter(appraisals, Style()).system(appraisals.questions[:1])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("Choose {answer:nuetral}.", "no question has an answer 'nuetral'; did you mean 'neutral'?"),
        ("{when:contxt}Read it.", "there is no condition 'contxt'"),
        ("Choose {anwser}.", "{anwser} is neither a field nor a parameter"),
    ],
)
def test_a_role_that_nothing_has_is_refused(text: str, problem: str) -> None:
    with pytest.raises(InputError) as error:
        Instrument.from_document(with_guidelines(text))
    assert problem in str(error.value)


def test_a_code_becomes_its_band_in_the_coarse_form() -> None:
    text = "Choose {answer:-2} or {answer:0}, never {answer:highest}."
    assert Instrument.from_document(with_guidelines(text)).coarse().guidelines == (
        'Choose "low" or "neutral", never "high".'
    )


def test_names_of_answers() -> None:
    scale = Scale.labels("no", "yes", opt_outs=[OptOut("cannot_say", "I cannot say: too little is shown")])
    assert answer_names(scale) == {"cannot_say": "I cannot say", "no": "no", "yes": "yes", "0": "no", "1": "yes"}
    assert shared_names([{"a": "1", "b": "2"}, {"a": "1", "b": "3"}]) == {"a": "1"}
    assert rendered("{{x}} {whose} {readers}", {}) == "{x} your own most readers"
