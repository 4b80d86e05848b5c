"""Answers that have a line of their own among others."""

from __future__ import annotations

import pytest

from vantage.instruments import Instrument
from vantage.raters.replies import parse_reply

IRONY = Instrument.load("irony").questions[0]
EFFORT = Instrument.load("appraisals").question("effort")
ECHOED = 'Last line of the form "Answer: X", where X is 1, 2, 3, 4, 5, 6, 7, 8, 9 or "not mentioned":'


@pytest.mark.parametrize("line", ["Speaker: 1", "Speaker: B"])
def test_a_code_behind_another_key_than_the_answer_is_no_answer(line: str) -> None:
    assert parse_reply(f"The reply comes late.\n{line}\nIt is about tea.", IRONY).status == "unparsed"


@pytest.mark.parametrize("line", ["Answer: 1", "Answer: B"])
def test_a_code_behind_the_answer_is_one(line: str) -> None:
    assert parse_reply(f"The reply comes late.\n{line}\nIt is about tea.", IRONY).value == 1.0


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("The post says nothing about this, so it is not mentioned.\n\nAnswer: 9", 9),
        ("They need a lot of effort.\n**Answer:** 7.", 7),
        (f"Answer: 4\n\n1. They plan it.\n2. They do it.\n\n{ECHOED}\nAnswer: 4", 4),
        (f"They plan it.\n\n{ECHOED}", None),
        ("The post says nothing about this. For example:\nAnswer: 7", None),
        ("Answer: 2-1\nThey try hard.\n\nAnswer: 8", None),
        ("Answer: 3\nThey try hard.\n\nAnswer: 8", None),
        ("3\nThey try hard.\n\nAnswer: 8", None),
        ('They hope.\nYou can write "Answer: 5".\nTherefore, the "not mentioned" option is the best.', None),
    ],
)
def test_the_answer_line_at_the_end_counts_unless_another_line_says_something_else(
    text: str, value: float | None
) -> None:
    assert parse_reply(text, EFFORT).value == value
    assert parse_reply("It is not mentioned whom it mocks.\n\nRating: 1", IRONY).value is None


def test_a_word_that_announces_its_opposite_is_no_answer() -> None:
    stance = Instrument.load("abortion-stance").questions[0]
    assert parse_reply("Answer: favoring. The speaker opposes abortion.", stance).value is None
    assert parse_reply("Answer: favoring. The speaker speaks of rights.", stance).value == 1


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Answer: Yes, the reply is ironic, since the train cannot", 1),
        ("Answer: Yes, at first. But the answer must be", None),
        ("Answer: Yes, it is. No, it is not ironic at", None),
        ("Answer: Maybe, the reply is ironic, since", None),
    ],
)
def test_a_cut_reply_that_opens_with_its_answer_line_and_keeps_to_it_counts(text: str, value: float | None) -> None:
    assert parse_reply(text, IRONY, cut=True).value == value
