"""Answers that have a line of their own among others."""

from __future__ import annotations

import pytest

from vantage.instruments import Instrument
from vantage.raters.replies import parse_reply

IRONY = Instrument.load("irony").questions[0]


@pytest.mark.parametrize("line", ["Speaker: 1", "Speaker: B"])
def test_a_code_behind_another_key_than_the_answer_is_no_answer(line: str) -> None:
    assert parse_reply(f"The reply comes late.\n{line}\nIt is about tea.", IRONY).status == "unparsed"


@pytest.mark.parametrize("line", ["Answer: 1", "Answer: B"])
def test_a_code_behind_the_answer_is_one(line: str) -> None:
    assert parse_reply(f"The reply comes late.\n{line}\nIt is about tea.", IRONY).value == 1.0
