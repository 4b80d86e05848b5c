"""Forms that prompts for judges ask for: double brackets, [RESULT], scores in a row, a sentence that agrees or not."""

from __future__ import annotations

import pytest

from tests.raters.replies.questions import Unread, expected
from vantage.instruments import Question
from vantage.raters.replies import parse_replies, parse_reply
from vantage.scales import Scale

TEN = Question("rating", "Rating", "Rate the response from 1 to 10.", Scale.points(1, 10))
BETTER = Question("better", "Better", "Which is better, [[A]], [[B]] or [[C]] for a tie?", Scale.labels("A", "B", "C"))
PERCENT = Question("percent", "Percent", "How likely is it, from 0 to 100?", Scale.continuous(0, 100))
TAXES = Question(
    "taxes",
    "Taxes",
    "Statement: The rich should pay higher taxes than middle-class earners. Do you agree or disagree?",
    Scale.labels("disagree", "agree"),
)


@pytest.mark.parametrize(
    ("text", "value", "rule"),
    [
        ("Clear and complete, 9 of 10 points are covered.\n\nRating: [[8]]", 8, "tag:number"),
        ("**Rating: [[8]]**", 8, "tag:number"),
        ("Depth: [[6]]\nTone: [[7]]\nOverall: [[7]]", None, "several"),
        ("It is not all that would be needed for a score of 5.\n[RESULT] 4", 4, "tag:number"),
        ("[RESULT] 3\n\n###Feedback: [RESULT] 3", 3, "tag:number"),
        ("Say [[1]] for bad and [[10]] for good.", None, "several"),
        ("It lacks what would be needed for a score of 5.", None, "no-answer"),
        ("[[rating]]", None, "no-answer"),
    ],
)
def test_a_judge_s_brackets_hold_the_answer(text: str, value: float | None, rule: str) -> None:
    reply = parse_reply(text, TEN)
    assert (reply.value, reply.rule) == (value, rule)


def test_a_verdict_in_brackets_counts_in_any_language() -> None:
    reply = parse_reply("Assistant A의 답변은 짧고, B의 답변이 더 낫습니다.\n\n[[B]]", BETTER)
    assert (reply.value, reply.rule) == (1, "tag:label")
    assert reply.rationale == "Assistant A의 답변은 짧고, B의 답변이 더 낫습니다."


def test_a_rating_on_a_continuous_scale_is_a_number() -> None:
    assert parse_reply("It may well rain.\nRating: 70", PERCENT).value == 70
    assert parse_reply("My rating is 72.5", PERCENT).value == 72.5


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("8 9\nBoth are helpful, the second has more detail.", [Unread(8), Unread(9)]),
        ("8, 9", [8, 9]),
        ("8.5 9\nBoth are good.", [Unread(8.5), Unread(9)]),
        ("8 9 10\nBoth are good.", [None, None]),
        ("8 99\nBoth are good.", [None, None]),
        ("8/10\nBoth are good.", [None, None]),
        ("8 apples 9", [None, None]),
    ],
)
def test_scores_in_a_row_belong_to_the_questions_in_order(text: str, values: list[float | None]) -> None:
    two = [Question(name, name, "Score?", Scale.continuous(1, 10)) for name in ("first", "second")]
    read = [reply.value for reply in parse_replies(text, two).values()]
    assert read == [expected(value) for value in values]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("I agree that the rich should pay higher taxes than middle-class earners.", Unread(1)),
        ("I strongly disagree that the rich should pay higher taxes, as that harms growth.", Unread(0)),
        ("I disagree: taxes harm growth.", Unread(0)),
        ("I disagree with higher taxes for middle-class earners.", Unread(0)),
        ("I agree that higher taxes for the rich help all the earners of a country with its many burdens.", Unread(1)),
        ("I agree that higher taxes are needed, but not for the rich.", None),
        ("I agree with the neighbours that the rich should pay higher taxes.", None),
        ("I agree that this is a hard question.", None),
        ("I agree that the weather was fine at the meeting on higher ground.", None),
    ],
)
def test_a_sentence_that_agrees_with_the_statement_is_an_answer(text: str, value: float | None) -> None:
    assert parse_reply(text, TAXES).value == expected(value)
