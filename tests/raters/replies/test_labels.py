from __future__ import annotations

import pytest

from vantage.instruments import Question
from vantage.raters.replies import parse_reply
from vantage.raters.replies.labels import read_label, read_letter, wordings
from vantage.scales import Scale

AGREE = Scale.labels("strongly disagree", "disagree", "neutral", "agree", "strongly agree", level="ordinal")
THREAT = Scale.points(1, 9, anchors={1: "They were: Not at all threatened", 9: "They were: Completely threatened"})


@pytest.mark.parametrize(
    ("text", "code"),
    [("Strongly  AGREE", 4.0), ("strongly-agree", 4.0), ("disagree", 1.0), ("agreement", None), ("", None)],
)
def test_the_longest_wording_counts(text: str, code: float | None) -> None:
    reading = read_label(text, 0, AGREE)
    assert (reading.value if reading else None) == code


def test_what_two_options_share_names_neither() -> None:
    scale = Scale.points(1, 2, anchors={1: "low: it was", 2: "high: it was"})
    assert sorted(wordings(scale).codes) == ["high it was", "low it was"]


def test_letters_need_wordings() -> None:
    assert read_letter("C)", 0, THREAT) is None
    reading = read_letter("C)", 0, AGREE)
    assert reading is not None
    assert reading.value == 2
    assert read_letter("F)", 0, AGREE) is None
    assert read_letter("A nice one", 0, AGREE) is None


def test_numbers_of_a_label_may_be_words() -> None:
    scale = Scale.labels("2 people", "5 people")
    reading = read_label("Two people.", 0, scale)
    assert reading is not None
    assert reading.value == 0
    assert read_label("Twelve people.", 0, scale) is None


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("A solid response, grade B", None),
        ("Answer: a clear fail", None),
        ("A clear choice is B.", 1),
        ("A", 0),
        ("A, since it is kind", 0),
        ("A because it is kind", 0),
        ("Answer: B", 1),
        ("I'd give it a B.", 1),
    ],
)
def test_an_option_that_is_called_a_is_no_article(text: str, code: float | None) -> None:
    question = Question("grade", "Grade", "Which grade does the essay deserve?", Scale.labels("A", "B", "C"))
    assert parse_reply(text, question).value == code
