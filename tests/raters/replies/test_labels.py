from __future__ import annotations

import pytest

from vantage.instruments import Question
from vantage.raters.replies import parse_reply
from vantage.raters.replies.labels import is_negated, mentions, read_label, read_letter, wordings
from vantage.scales import Scale

AGREE = Scale.labels("strongly disagree", "disagree", "neutral", "agree", "strongly agree", level="ordinal")
THREAT = Scale.points(1, 9, anchors={1: "They were: Not at all threatened", 9: "They were: Completely threatened"})


def named(text: str, scale: Scale) -> list[tuple[float, bool]]:
    return [(mention.code, mention.negated) for mention in mentions(text, scale)]


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


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("They were completely threatened.", [(9.0, False)]),
        ("They were not completely threatened.", [(9.0, True)]),
        ("They did not feel threatened at all.", [(1.0, False)]),
        ("I don't think they were being threatened by anyone at all.", [(1.0, False)]),
        ("They were almost completely threatened.", []),
        ("They hope not to be completely threatened.", []),
        ("It was not at all easy.", []),
    ],
)
def test_mentions_in_prose(text: str, found: list[tuple[float, bool]]) -> None:
    assert named(text, THREAT) == found


@pytest.mark.parametrize(
    ("text", "found"), [("It is neutral.", [(2.0, False)]), ("a neutral tone", []), ("It is very neutral.", [])]
)
def test_a_single_word_has_to_be_stated(text: str, found: list[tuple[float, bool]]) -> None:
    assert named(text, AGREE) == found


def test_letters_need_wordings() -> None:
    assert read_letter("C)", 0, THREAT) is None
    reading = read_letter("C)", 0, AGREE)
    assert reading is not None
    assert reading.value == 2
    assert read_letter("F)", 0, AGREE) is None
    assert read_letter("A nice one", 0, AGREE) is None


def test_a_comma_ends_a_negation() -> None:
    assert is_negated("not a 5", 6)
    assert not is_negated("I'm not sure, but a 5", 20)


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
