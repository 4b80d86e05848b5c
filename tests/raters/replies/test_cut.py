"""Replies that the limit on their length cut: an answer counts only if it was really given."""

from __future__ import annotations

import pytest

from tests.raters.replies.questions import Unread, expected
from vantage.instruments import Instrument, Question
from vantage.raters.replies import parse_replies, parse_reply
from vantage.scales import Scale

TRUST = Instrument.load("warmth-competence").question("trust")


@pytest.mark.parametrize(
    "text",
    [
        "At first glance he seems very trustworthy. However, the last line changes that, because he was",
        "The author seems warm. I would rate this a 2 because",
        "Let me think. On trust I lean towards 3, but",
        "Answer: -",
        "Reasons: he kept his word.\nAnswer:",
        "Overall, a 3. But wait",
        "1. The tone is friendly.\n2. The author",
        '{"reason": "He kept his word and then',
        '{"reason": "ok", "answer":',
        "2 or maybe",
        "Answer: 2\nOn second thought\nAnswer: 1\nso",
        "",
    ],
)
def test_no_value_without_an_answer_line(text: str) -> None:
    reply = parse_reply(text, TRUST, cut=True)
    assert (reply.value, reply.status) == (None, "unparsed")


WRONG = Question(
    "wrong",
    "Wrong",
    "How wrong is this?",
    Scale.points(0, 3, anchors={0: "Not at all wrong", 1: "Not too wrong", 2: "Somewhat wrong", 3: "Very wrong"}),
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3: Very wrong. Curfews are there for a reason. However, a teenager who", Unread(3)),
        ("1: Not too wrong. It could be wrong in a sense, as", Unread(1)),
        ("3: Very wrong. On reflection, 2: Somewhat wrong. But the", None),
        ("0: Not at all wrong. 1: Not too wrong. 2: Somewhat wrong. 3: Very", None),
        ("3: Not too wrong. Because of", None),
        ("3: Very wrong. This is not very wrong, however, since", None),
        ("3: Very wrong. Wait, no, that is", None),
        ("3: Very wrong. Actually it may be somewhat", None),
    ],
)
def test_a_code_with_its_wording_at_the_beginning_is_an_answer_if_it_is_kept(text: str, value: float | None) -> None:
    assert parse_reply(text, WRONG, cut=True).value == expected(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Answer: 2", 2.0),
        ("2", 2.0),
        ("-3", -3.0),
        ('{"answer": 2, "reason": "He kept', 2.0),
        ('{"answer": -2, "reason": "He', -2.0),
        ("<answer>1</answer> because he", 1.0),
    ],
)
def test_an_answer_that_was_given_before_the_cut_counts(text: str, value: float) -> None:
    reply = parse_reply(text, TRUST, cut=True)
    assert (reply.value, reply.status) == (value, "answered")
    assert reply.rule.startswith("cut:")


def test_a_number_that_could_have_gone_on_is_cut() -> None:
    (wide,) = Instrument.of_questions("w", "W", {"w": Scale.points(1, 10)}).questions
    assert parse_reply("Answer: 1", wide, cut=True).rule == "cut"
    assert parse_reply("Answer: 1\nbecause", wide, cut=True).value is None


def test_a_refusal_that_was_cut_is_a_refusal() -> None:
    reply = parse_reply("I'm sorry, but I can't rate people. It would be", TRUST, cut=True)
    assert (reply.status, reply.rule) == ("refused", "cut:refusal")


def test_several_questions_keep_what_was_whole() -> None:
    questions = Instrument.load("warmth-competence").questions
    replies = parse_replies('{"trust": 2, "sociability": 1, "compe', questions, cut=True)
    assert [replies[q.id].value for q in questions] == [2, 1, None]
    assert replies["competence"].rule == "cut"
    replies = parse_replies("Trust: 2\nSociability: -", questions, cut=True)
    assert [replies[q.id].rule for q in questions] == ["cut:number", "cut", "cut"]
