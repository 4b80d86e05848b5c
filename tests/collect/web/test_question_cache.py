"""Kept drawings are the same as fresh ones, and nothing of one item or person shows up on another's page."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import escape

from vantage.collect.web.forms import QuestionCache
from vantage.collect.web.item_view import texts
from vantage.collect.web.site import templates
from vantage.instruments import Instrument, bundled
from vantage.scales import show_code


@pytest.mark.parametrize("name", bundled())
def test_kept_drawings_equal_fresh_ones(name: str) -> None:
    instrument = Instrument.load(name)
    fresh = templates().get_template("question.html")
    own = QuestionCache(templates(), 100)
    for example in [*instrument.examples, *instrument.examples]:
        given = {
            f"a{n}": show_code(q.scale.options[n % len(q.scale.options)].code)
            for n, q in enumerate(instrument.questions)
            if n % 2
        }
        drawn = "".join(
            html for _, html in own.sections(instrument.questions, example.item, example.condition, given, {})
        )
        words = texts(example.item)
        expected = "".join(
            fresh.render(
                index=n,
                question=q,
                wording=q.wording(example.condition, **words),
                given=given,
                errors={},
                longest=100,
                language="en",
            )
            for n, q in enumerate(instrument.questions)
        )
        assert drawn == expected


def test_sections_keep_the_order_and_the_headings() -> None:
    questions = Instrument.load("appraisals").questions
    own = QuestionCache(templates(), 100)
    found = own.sections(questions, {"text": "…"}, "", {}, {})
    assert [title for title, _ in found] == list(dict.fromkeys(q.section for q in questions))
    assert [html.count("<fieldset ") for _, html in found] == [
        sum(q.section == title for q in questions) for title, _ in found
    ]


@given(st.text(max_size=40), st.text(max_size=10))
def test_wordings_are_escaped_and_odd_values_choose_nothing(target: str, value: str) -> None:
    own = QuestionCache(templates(), 100)
    item = {"text": "…", "target": f"<{target}>"}
    ((_, html),) = own.sections(Instrument.load("warmth-competence").questions[:1], item, "", {"a0": f"x{value}"}, {})
    assert "\x00wording\x00" not in html
    assert escape(item["target"]) in html
    assert "checked" not in html


def test_what_one_person_wrote_is_not_kept() -> None:
    own = QuestionCache(templates(), 100)
    questions = Instrument.load("appraisals").questions[:1]
    ((_, first),) = own.sections(questions, {"text": "…"}, "", {"a0": "3", "r0": "my secret"}, {})
    ((_, second),) = own.sections(questions, {"text": "…"}, "", {"a0": "3"}, {})
    assert "my secret" in first
    assert "my secret" not in second


def test_no_drawing_is_kept_of_what_the_page_does_not_offer() -> None:
    own = QuestionCache(templates(), 100)
    questions = Instrument.load("warmth-competence").questions[:1]
    for number in range(20):
        own.sections(questions, {"text": "…", "target": "x"}, "", {"a0": f"odd {number}", "o0": "x" * number}, {})
    assert len(own._html) == 1
