"""No prompt of a bundled instrument says anything against itself, in any style, voice, condition and presentation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from vantage import Instrument
from vantage.errors import InputError
from vantage.instruments import Question, bundled
from vantage.presentations import PLAIN, Presentation
from vantage.raters.chat import ChatRater
from vantage.raters.contradictions import contradictions
from vantage.raters.personas import Personas
from vantage.raters.prompts import Prompter
from vantage.raters.shots import instrument_shots
from vantage.raters.style import Style

STYLES = ("zero-shot", "reasoning", "two-step", "scoring", "together", "json", "reasoning+scoring", "coarse")
VOICES = ("", Personas.load("pool")[0].profile(), "One thing is known. Age: 30. Answer as you think this person would.")
PRESENTATIONS = (
    "",
    "labels=letters",
    "labels=words",
    "middle=hidden",
    "optout=hidden",
    "direction=reversed",
    "wording=2",
)


def asked(instrument: Instrument) -> Iterator[tuple[Prompter, tuple[Question, ...]]]:
    """The prompts of an instrument, one question each and all together."""
    for style in map(Style.parse, STYLES):
        if style.coarse and not any(question.scale.bands for question in instrument.questions):
            continue
        used = instrument.coarse() if style.coarse else instrument
        groups = ChatRater("openai:x", style).groups(used.questions)
        for way in map(Presentation.parse, PRESENTATIONS if style == Style() else PRESENTATIONS[:2]):
            for voice in VOICES:
                for condition in ("", *used.conditions):
                    writer = Prompter(used, style, condition, voice, presentation=way)
                    for group in groups[:1] if way != PLAIN else groups[:: len(groups) // 4 + 1]:
                        try:
                            yield writer, writer.read([way.shown(one) for one in group])
                        except InputError:  # this question cannot be put in this way
                            continue


def test_no_prompt_contradicts_itself() -> None:
    rendered = 0
    for name in bundled():
        instrument = Instrument.load(name)
        item: dict[str, Any] = dict(instrument.examples[0].item)
        for writer, questions in asked(instrument):
            notes = contradictions(writer, questions)
            assert not notes, f"{name}, {writer.style.name}, {writer.presentation}, {writer.condition}: {notes}"
            text = "\n".join(message.content for message in writer.request(questions, item).messages)
            assert "{" not in text.replace('{"', ""), text
            rendered += 1
    assert rendered >= 2000, rendered


def changed(name: str, guidelines: str) -> Instrument:
    return Instrument.from_document({**Instrument.load(name).document, "guidelines": guidelines})


@pytest.mark.parametrize(
    ("name", "guidelines", "style", "voice", "way", "sentence"),
    [
        ("warmth-competence", "Choose 0 when it says nothing.", "coarse", "", "", "tell to answer 0"),
        ("warmth-competence", "Choose 0 when it says nothing.", "zero-shot", "", "labels=letters", "tell to answer 0"),
        ("warmth-competence", "Choose 0 when it says nothing.", "zero-shot", "", "middle=hidden", "tell to answer 0"),
        ("irony", "We want to know how you read it.", "zero-shot", "Age: 30.", "", "“how you read”"),
        ("irony", "Decide as most readers would.", "zero-shot", "Age: 30.", "", "“most readers”"),
        ("sarcasm", 'Where both fit, "ambiguous" is right.', "zero-shot", "", "optout=hidden", "“ambiguous”"),
        ("irony", "Rate it and say why.", "scoring", "", "", "“say why”"),
    ],
)
def test_what_is_written_out_is_noticed(
    name: str, guidelines: str, style: str, voice: str, way: str, sentence: str
) -> None:
    instrument = changed(name, guidelines)
    parts, presentation = Style.parse(style), Presentation.parse(way)
    used = instrument.coarse() if parts.coarse else instrument
    questions = [presentation.shown(used.questions[0])]
    (note,) = contradictions(Prompter(used, parts, voice=voice, presentation=presentation), questions)
    assert sentence in note
    plain = Prompter(instrument, Style.parse("reasoning"))
    assert contradictions(plain, [instrument.questions[0]]) == []


def test_guidelines_do_not_say_how_long_reasons_are_where_the_form_does() -> None:
    instrument = changed("irony", "Rate it. Say why in a sentence or two.")
    (note,) = contradictions(Prompter(instrument, Style.parse("reasoning")), instrument.questions)
    assert note.startswith("The guidelines say “Say why in a sentence”, and its form says how long")


def test_a_condition_that_shows_no_conversation_is_noticed() -> None:
    instrument = changed("sarcasm", "When the conversation is shown, judge the last line.")
    writer = Prompter(instrument, Style(), "static")
    assert "not shown under the condition static" in contradictions(writer, instrument.questions)[0]
    assert contradictions(replace(writer, condition="context"), instrument.questions) == []


@pytest.mark.parametrize(
    ("ask", "style", "voice", "sentence"),
    [
        ("Is it ironic? Answer 1 if it is.", "zero-shot", "", "The question tells to answer 1"),
        (
            "What do you read? Say what you think of it.",
            "zero-shot",
            "Age: 30.",
            "The question asks for “what you think”",
        ),
        ("Do you find it ironic?", "zero-shot", "Age: 30.", "The question asks for “Do you find”"),
    ],
)
def test_what_a_question_writes_out_is_noticed_too(ask: str, style: str, voice: str, sentence: str) -> None:
    document = dict(Instrument.load("irony").document)
    questions = [{**document["questions"][0], "ask": ask}, *document["questions"][1:]]
    instrument = Instrument.from_document({**document, "questions": questions})
    (note,) = contradictions(Prompter(instrument, Style.parse(style), voice=voice), instrument.questions[:1])
    assert sentence in note


def with_roles(**question: object) -> Instrument:
    """Sarcasm with a question, labels and reasons that refer by role."""
    document: dict[str, Any] = {**Instrument.load("sarcasm").document}
    options = [{"code": 0, "label": "no"}, {"code": 1, "label": "yes", "description": "Sarcastic, in {whose} view."}]
    out = {"ambiguous": "ambiguous: {readers} could not tell"}
    document["scales"] = {"no-yes": {"level": "nominal", "options": options, "opt_outs": out}}
    ask = 'Is "{text}" sarcastic, in {whose} view? Choose {answer:ambiguous} in doubt. {when:context}Think of the talk.'
    document["questions"] = [{**document["questions"][0], "ask": ask, "ask_in": {}, **question}]
    example = {"item": {"text": "Nice {day}."}, "condition": "static"}
    reason = "In {whose} view it is {answer:1}, not {answer:ambiguous}."
    document["examples"] = [{**example, "answers": {"sarcasm": {"answer": 1, "reason": reason}}}] * 2
    return Instrument.from_document(document)


def test_questions_labels_and_examples_have_roles_too() -> None:
    instrument = with_roles()
    (plain,) = instrument.questions
    item = {"item": "1", "text": "Oh {great}."}
    assert plain.wording(**item) == (
        'Is "Oh {great}." sarcastic, in your own view? Choose "ambiguous" in doubt. Think of the talk.'
    )
    assert plain.scale.options[1].description == "Sarcastic, in your own view."
    for voice, whose, who in (("", "your own", "most readers"), ("Age: 30.", "this person's", "this person")):
        writer = Prompter(instrument, Style.parse("few-shot:1+reasoning"), "static", voice)
        shot = instrument_shots(instrument, instrument.questions, "static")[0]
        read = writer.read(instrument.questions)
        _, shown, answered, asked = (message.content for message in writer.request(read, item, [shot]).messages)
        assert f'Is "Nice {{day}}." sarcastic, in {whose} view? Choose "ambiguous" in doubt.\n' in shown
        assert answered == f'In {whose} view it is "yes", not "ambiguous".\nAnswer: yes'
        assert f"Sarcastic, in {whose} view." in asked
        assert f"{who} could not tell" in asked
        hidden = replace(writer, presentation=Presentation.parse("optout=hidden"))
        (without,) = hidden.read([hidden.presentation.shown(plain)])
        assert without.wording("static", **item) == f'Is "Oh {{great}}." sarcastic, in {whose} view?'


@pytest.mark.parametrize(
    ("question", "problem"),
    [
        ({"ask": "{when:context}Is it sarcastic?"}, "nothing may be left of this question"),
        ({"ask": "Is it sarcastic? Choose {answer:unclear}."}, "no question has an answer 'unclear'"),
        ({"ask": "Is it sarcastic?", "anchors": {1: "{answer:1}"}}, "a label refers to {whose} and {readers} only"),
    ],
)
def test_roles_that_cannot_be_read_are_refused(question: dict[str, object], problem: str) -> None:
    with pytest.raises(InputError, match=re.escape(problem)):
        with_roles(**question)
