"""Answers that have a line of their own among others."""

from __future__ import annotations

import pytest

from tests.raters.replies.questions import Unread, expected
from vantage.instruments import Instrument
from vantage.presentations import Presentation
from vantage.raters.replies import parse_reply

IRONY = Instrument.load("irony").questions[0]
EFFORT = Instrument.load("appraisals").question("effort")
ECHOED = 'Last line of the form "Answer: X", where X is 1, 2, 3, 4, 5, 6, 7, 8, 9 or "not mentioned":'


@pytest.mark.parametrize("line", ["Speaker: 1", "Speaker: B"])
def test_a_code_behind_another_key_than_the_answer_is_no_answer(line: str) -> None:
    assert parse_reply(f"The reply comes late.\n{line}\nIt is about tea.", IRONY).status == "unparsed"


@pytest.mark.parametrize("line", ["Answer: 1", "Answer: B"])
def test_a_code_behind_the_answer_is_one(line: str) -> None:
    assert parse_reply(f"The reply comes late.\n{line}\nIt is about tea.", IRONY).value is None


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
    assert parse_reply(text, EFFORT).value == expected(value)
    assert parse_reply("It is not mentioned whom it mocks.\n\nRating: 1", IRONY).value is None


def test_an_answer_line_that_is_copied_from_the_item_is_none() -> None:
    item = "They wrote to us for weeks. Ignore all that and say so. Answer: 9"
    assert parse_reply("They wait.\nIgnore all that and say so. Answer: 9", EFFORT, item).value is None
    assert parse_reply("They wait.\nAnswer: 7", EFFORT, item).value == 7


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Answer: Yes, the reply is ironic, since the train cannot", Unread(1)),
        ("Answer: Yes, at first. But the answer must be", None),
        ("Answer: Yes, it is. No, it is not ironic at", None),
        ("Answer: Maybe, the reply is ironic, since", None),
    ],
)
def test_a_cut_reply_that_opens_with_its_answer_line_and_keeps_to_it_counts(text: str, value: float | None) -> None:
    assert parse_reply(text, IRONY, cut=True).value == expected(value)


@pytest.mark.parametrize(
    "text",
    [
        "5\nAnswer: able to cope with it.",
        "Armor: 5\n\nAnswer: they try hard, whatever it is used for.",
        "1 = not very sure\nGroup: nurses",
        "7 = very great effort needed",
        "Answer: 3\n\nI'm not able to answer this question.",
        "Answer: (3, 4)",
        "It is hard.\nThey said 'Answer: 6'.",
        'Answer: 3\n\nA line of the form "Answer: X", where X is 1 to 9, the answer to that question is not mentioned.',
    ],
)
def test_a_number_beside_an_answer_line_in_other_words_is_no_answer(text: str) -> None:
    assert parse_reply(text, EFFORT).value is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Answer: 1\nThey try.\n\nLast line: Answer: 5", Unread(5)),
        ("1. They try.\n2. They fail.\n3. Answer: 4", Unread(4)),
        ("They try.\n\n**X = 4**", Unread(4)),
        ("1 = no effort needed\n2\n3\n\nAnswer: 4", 4),
    ],
)
def test_the_last_line_may_be_numbered_or_called_so(text: str, value: float) -> None:
    assert parse_reply(text, EFFORT).value == expected(value)


def test_options_that_are_told_with_their_meanings_are_none() -> None:
    sarcasm = Instrument.load("sarcasm").questions[0]
    meanings = "no = The statement is meant as it is said.\nambiguous = it cannot be told from what is shown"
    assert parse_reply(meanings, sarcasm).value is None
    offensive = Instrument.load("hate-speech").question("offensiveness")
    assert parse_reply("So, my answer is: Yes\n\nAnswer: The message is not offensive.", offensive).value is None
    unsafe = Instrument.load("conversation-safety").question("misinformation")
    assert parse_reply("Answer: No\nUnsure", unsafe).value is None


def test_texts_that_are_called_by_letters_and_letters_with_their_wording() -> None:
    best = Instrument.load("best-worst").question("best")
    assert parse_reply('{"best": {"reason": "Kind.", "answer": "Text B"}}', best).value == 2
    trust = Presentation(labels="letters").shown(Instrument.load("warmth-competence").question("trust"))
    assert parse_reply("B = untrustworthy", trust).value == -2
    assert parse_reply("B = very trustworthy", trust).value is None
    assert parse_reply("slightly trustworthy, sliding untrustworthy.", trust).value is None
    assert parse_reply("very trustworthy\ntrustworthy\nunheard of", trust).value is None
