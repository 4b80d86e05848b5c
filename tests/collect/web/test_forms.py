"""Questions become a form and a filled form becomes answers, for every scale there may be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vantage.collect.answers import LONGEST, checked, read
from vantage.collect.views import InvalidAnswers, QuestionAnswer
from vantage.collect.web import forms
from vantage.collect.web.site import templates
from vantage.instruments import Instrument, Question, bundled
from vantage.scales import OptOut, Scale

WORDS = st.text(max_size=30)


def wrong(asked: Sequence[Question], form: Mapping[str, str]) -> dict[str, str]:
    """What the server says about a form, by input."""
    try:
        checked(asked, forms.read(asked, form))
    except InvalidAnswers as invalid:
        return forms.errors(asked, invalid)
    return {}


def rendered(index: int, asked: Question, given: Mapping[str, str]) -> str:
    """A question as HTML."""
    template = templates().get_template("question.html")
    page = {"wording": asked.ask, "given": given, "errors": {}, "longest": LONGEST, "language": "en"}
    return template.render(index=index, question=asked, **page)


def question(scale: Scale, **given: Any) -> Question:
    return Question("q one", "Title", "What?", scale, **given)


@pytest.mark.parametrize("name", bundled())
def test_the_worked_answers_of_every_instrument_pass_through_the_form(name: str) -> None:
    instrument = Instrument.load(name)
    for example in instrument.examples:
        asked = [q for q in instrument.questions if q.id in example.answers]
        replies = {}
        for q in asked:
            worked = example.answers[q.id]
            reason = worked.reason if q.rationale != "no" else None
            if isinstance(worked.answer, str):
                opt_out = next(o.status for o in q.scale.opt_outs if o.status == worked.answer)
                replies[q.id] = QuestionAnswer(None, opt_out, reason)
            else:
                replies[q.id] = QuestionAnswer(worked.answer, "answered", reason)
        given_ = forms.inputs(asked, replies)
        assert forms.read(asked, given_) == replies
        assert wrong(asked, given_) == {}
        assert [rendered(i, q, given_).count(" checked") for i, q in enumerate(asked)] == [1] * len(asked)


@pytest.mark.parametrize("name", bundled())
def test_an_empty_form_names_every_question(name: str) -> None:
    questions = Instrument.load(name).questions
    wanted = {f"a{i}" for i in range(len(questions))}
    wanted |= {f"r{i}" for i, q in enumerate(questions) if q.rationale == "required"}
    assert set(wrong(questions, {})) == wanted


@pytest.mark.parametrize(
    ("scale", "layout"),
    [
        (Scale.points(1, 9, anchors={1: "low", 9: "high"}), "points"),
        (Scale.points(0, 100), "list"),
        (Scale.labels("no", "yes"), "inline"),
        (Scale.labels("a rather long answer that needs a line", "yes"), "list"),
        (Scale.continuous(0, 1), "number"),
    ],
)
def test_each_scale_has_its_layout(scale: Scale, layout: str) -> None:
    assert forms.layout(scale) == layout


@pytest.mark.parametrize("value", ["", "4", "1e0", "１", " nan", "ambiguous", "yes", "0x1", "-0", "1.0"])
def test_only_what_the_page_offers_is_taken(value: str) -> None:
    assert wrong([question(Scale.points(1, 3))], {"a0": value}) == {"a0": "Please choose an answer."}


@pytest.mark.parametrize(
    ("value", "number"),
    [("0.25", 0.25), ("0,25", 0.25), ("1", 1.0), ("nan", None), ("2", None), ("x", None), ("", None)],
)
def test_numbers_on_a_range(value: str, number: float | None) -> None:
    asked = [question(Scale.continuous(0, 1))]
    if number is None:
        assert wrong(asked, {"a0": value}) == {"a0": "Please enter a number from 0 to 1."}
    else:
        assert wrong(asked, {"a0": value}) == {}
        assert forms.read(asked, {"a0": value})["q one"].value == number


def test_an_opt_out_beside_a_number() -> None:
    scale = Scale(level="interval", range=(0, 1), opt_outs=(OptOut("ambiguous", "cannot tell"),))
    asked = [question(scale)]
    assert forms.read(asked, {"a0": "", "o0": "ambiguous"})["q one"] == QuestionAnswer(None, "ambiguous")
    assert wrong(asked, {"a0": "", "o0": "ambiguous"}) == {}
    assert "or choose the other answer" in wrong(asked, {"a0": "1", "o0": "ambiguous"})["a0"], "not both"
    assert forms.inputs(asked, {"q one": QuestionAnswer(None, "ambiguous")}) == {"o0": "ambiguous"}
    assert 'value="ambiguous" checked' in rendered(0, asked[0], {"o0": "ambiguous"})


def test_reasons_are_cleaned_and_limited() -> None:
    asked = [question(Scale.points(1, 3), rationale="required")]
    given_ = forms.read(asked, {"a0": "2", "r0": " so\r\nit is\x00\ud800 "})
    assert read(checked(asked, given_))["q one"].rationale == "so\nit is"
    assert "shorten" in wrong(asked, {"a0": "2", "r0": "x" * (LONGEST + 1)})["r0"]
    given_ = forms.read([question(Scale.points(1, 3))], {"a0": "2", "r0": "not asked for"})
    assert read(checked([question(Scale.points(1, 3))], given_))["q one"].rationale is None


@given(st.dictionaries(st.sampled_from(["a0", "r0", "o0", "a1", "x"]), WORDS))
def test_whatever_is_sent_is_an_answer_or_an_error(form: dict[str, str]) -> None:
    scale = Scale.points(-3, 3, opt_outs=[OptOut("not_mentioned", "not mentioned")])
    asked = [question(scale, rationale="optional")]
    if wrong(asked, form):
        return
    for reply in read(checked(asked, forms.read(asked, form))).values():
        assert (reply.status == "answered") == (reply.value is not None)
        assert reply.value is None or scale.holds(reply.value)
