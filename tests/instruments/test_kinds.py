"""Kinds of answers in an instrument file: sliders, several options, texts, two that cannot be alike, own opt-outs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from vantage.errors import InputError
from vantage.instruments import Instrument, grouped, put

KINDS = Path(__file__).with_name("kinds.yaml")
OPINIONS = Path(__file__).with_name("opinions.yaml")


def diary() -> Instrument:
    """One question of every kind."""
    return Instrument.load(KINDS)


def test_a_question_with_several_options_is_judged_option_by_option() -> None:
    instrument = diary()
    ids = [question.id for question in instrument.questions]
    assert ids == [
        *("strength", "share", "emotions.joy", "emotions.anger-or-rage", "emotions.fear"),
        *("keywords", "remark", "best", "worst"),
    ]
    joy = instrument.question("emotions.joy")
    assert joy.wording() == 'Which emotions does the entry show? Does this apply: "joy"?'
    assert (joy.scale.codes, joy.title) == ((0.0, 1.0), "Emotions: joy")
    assert [o.status for o in joy.scale.opt_outs] == ["ambiguous"]
    assert [question.id for question in instrument.named("emotions")] == ids[2:5]
    assert [[question.id for question in group] for group in grouped(instrument.questions)][2:] == [
        ids[2:5],
        ["keywords"],
        ["remark"],
        ["best", "worst"],
    ]
    assert [question.id for question in put(instrument.questions)][2] == "emotions"
    answers = instrument.examples[0].answers
    assert [answers[id_].answer for id_ in ids[2:5]] == [0.0, 1.0, 0.0]


def test_anchors_of_a_slider_are_kept() -> None:
    instrument = diary()
    scale = instrument.question("strength").scale
    assert [(point.code, point.label) for point in scale.worded] == [
        (0, "not at all"),
        (50, "somewhat"),
        (100, "extremely"),
    ]
    assert scale.slides
    assert instrument.question("share").scale.slides
    again = Instrument.of_questions("x", "X", {"a": scale, "t": instrument.question("keywords").scale})
    assert again.question("a").scale == scale
    assert again.question("t").scale == instrument.question("keywords").scale


def test_an_instrument_names_its_own_opt_outs() -> None:
    (own,) = diary().question("strength").scale.opt_outs
    assert (own.status, own.label) == ("too_private", "I would rather not judge this")


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("several: None of these", "several: None, rationale: optional", "'rationale' does not go with 'several'"),
        ("scale: emotions, several", "scale: percent, several", "several options need a nominal scale"),
        ('"anger, or rage"', '"Joy!"', "two options differ only in punctuation"),
        ("too_private:", "refused:", "'refused' cannot name an opt-out"),
        ("too_private:", "Too private:", "string should match pattern"),
        ("100: extremely", "110: extremely", "anchor 110 is not between 0 and 100"),
        ("unlike: best", "unlike: share", "the question before it must be 'share', on the same scale"),
        ("{text: 60}", "{text: 60, level: nominal}", "'text' goes with 'opt_outs' only"),
        ("answer: [2]", "answer: 2", "this should be a list of codes, or an opt-out"),
        ("answer: [2]", "answer: [2, 7]", "7 is not on the scale"),
        ("answer: no_words", "answer: 3", "3 is not on the scale free text of at most 200 characters"),
        ("    level: ordinal\n    from", "    from", "give the level"),
    ],
)
def test_what_does_not_go_together_is_reported_with_its_line(old: str, new: str, sentence: str, tmp_path: Path) -> None:
    text = KINDS.read_text()
    assert old in text
    file = tmp_path / "diary.yaml"
    file.write_text(text.replace(old, new))
    with pytest.raises(InputError) as caught:
        Instrument.load(file)
    assert sentence in str(caught.value)
    assert "line" in str(caught.value)


def test_a_form_may_name_the_whole_question() -> None:
    data = yaml.safe_load(KINDS.read_text())
    data["forms"] = {"short": {"title": "Short", "questions": ["emotions", "share"]}}
    data["aggregates"] = [{"id": "tense", "title": "Tense", "mean_of": ["emotions.fear", "emotions.anger-or-rage"]}]
    short = Instrument.from_document(data).form("short")
    assert [question.id for question in short.questions][:2] == ["emotions.joy", "emotions.anger-or-rage"]
    assert [score.id for score in short.aggregates] == ["tense"]


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("confidence: tone", "confidence: anger", "the question before it must be 'anger', with one answer or shares"),
        ("scale: sure, confidence", "scale: tone, confidence", "how sure somebody is needs an ordered scale"),
        ("scale: tone, shares: true, others", "scale: degree, others", "is asked on the same scale, 'tone'"),
        ("scale: degree, shares", "scale: sure, shares", "shares need options"),
        ("scale: degree, shares", "scale: tone, several: None, shares", "'several' does not go with 'shares'"),
    ],
)
def test_what_is_asked_about_answers_is_checked(tmp_path: Path, old: str, new: str, sentence: str) -> None:
    text = OPINIONS.read_text(encoding="utf-8")
    assert old in text
    file = tmp_path / "other.yaml"
    file.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(InputError, match=re.escape(sentence)):
        Instrument.load(file)


def test_an_example_has_no_single_answer_where_shares_are_asked_for() -> None:
    data = yaml.safe_load(OPINIONS.read_text(encoding="utf-8"))
    data["examples"] = [{"item": {"text": "Hm."}, "answers": {"anger": {"answer": 1, "reason": "So."}}}]
    with pytest.raises(InputError, match="'anger' asks for shares"):
        Instrument.from_document(data)


ORDERS = Path(__file__).with_name("orders.yaml")


def test_a_ranking_is_judged_by_places_and_words_stand_with_their_answer() -> None:
    instrument = Instrument.load(ORDERS)
    ids = [question.id for question in instrument.questions]
    assert ids == ["aims.jobs", "aims.the-climate-or-nature", "aims.safety", "side", "side-words"]
    jobs = instrument.question("aims.jobs")
    assert (jobs.scale.codes, jobs.scale.level) == ((1.0, 2.0, 3.0), "ordinal")
    assert jobs.wording() == 'What matters to the speaker? Which place has "jobs"?'
    assert [[question.id for question in group] for group in grouped(instrument.questions)] == [ids[:3], ids[3:]]
    assert [instrument.examples[0].answers[id_].answer for id_ in ids[:3]] == [1.0, 2.0, 3.0]
    assert jobs.whole is not None
    assert jobs.whole.codes({"aims.jobs": 3, "aims.the-climate-or-nature": 1, "aims.safety": 2}) == [2, 3, 1]


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("ranking: true", "ranking: true, several: none", "'several' does not go with 'ranking'"),
        ("scale: aims, ranking", "scale: words, ranking", "a ranking needs a nominal scale"),
        ("answer: [1, 2, 3]", "answer: [1, 2]", "a ranking names every option once"),
        ("answer: [1, 2, 3]", "answer: 1", "this should be a list of codes"),
        ("marks: text", "marks: speech", "there is no field of text 'speech'"),
        ("scale: words, marks", "scale: side, marks", "marked words are a text"),
    ],
)
def test_rankings_and_marks_that_cannot_be_are_named(old: str, new: str, sentence: str, tmp_path: Path) -> None:
    file = tmp_path / "orders.yaml"
    file.write_text(ORDERS.read_text("utf-8").replace(old, new), "utf-8")
    with pytest.raises(InputError, match=re.escape(sentence)):
        Instrument.load(file)
