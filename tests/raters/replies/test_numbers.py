from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vantage.instruments import Instrument
from vantage.raters.replies import parse_reply
from vantage.raters.replies.numbers import WORDS, read_number
from vantage.scales import Scale

NINE = Scale.points(1, 9)


@pytest.mark.parametrize("text", ["3rd", "18M", "3 months", "50%", "3:30", "7/22/2021", "7-4-21", "x"])
def test_numbers_that_belong_to_something_else_are_no_answers(text: str) -> None:
    assert read_number(text, 0, NINE) is None


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("20,000", "off-scale"),
        ("1,5", "decimal"),
        ("9" * 400, "off-scale"),
        ("7/10", "other-scale"),
        ("seven out of ten", "other-scale"),
        ("seven or eight", "range"),
        ("3-4", "range"),
        ("from 2 to 4", "range"),
    ],
)
def test_obstacles(text: str, form: str) -> None:
    reading = read_number(text, 0, NINE)
    assert reading is not None
    assert (reading.form, reading.value) == (form, None)


@pytest.mark.parametrize("sign", ["-", "\u2212", "minus ", "negative ", "Negative-"])
@pytest.mark.parametrize("digits", ["2", "two"])
def test_a_negative_number_keeps_its_sign(sign: str, digits: str) -> None:
    trust = Instrument.load("warmth-competence").question("trust")
    if digits.isalpha() and sign in "-\u2212":
        sign = "minus "
    for text in (f"{sign}{digits}", f"Answer: {sign}{digits}", f"I would give it a {sign}{digits}."):
        assert parse_reply(text, trust).value == -2, text


def test_a_number_called_negative_behind_it_is_no_positive_one() -> None:
    trust = Instrument.load("warmth-competence").question("trust")
    for text in ("2 (negative)", "two, negative", "2 on the negative side"):
        assert parse_reply(text, trust).value != 2, text


@given(st.integers(-50, 50), st.integers(1, 40))
def test_a_number_out_of_the_top_is_itself(low: int, width: int) -> None:
    scale = Scale.points(low, low + width)
    for code in (low, low + width):
        reading = read_number(f"{code} out of {low + width}", 0, scale)
        # A negative top cannot be written this way: "-4 out of -2".
        assert (reading is not None and reading.value == code) or low + width < 0


def test_words_count_up_to_a_hundred() -> None:
    scale = Scale.continuous(0, 100)
    assert {
        word for word, value in WORDS.items() if (r := read_number(word, 0, scale)) is None or r.value != value
    } == set()
    assert len(WORDS) == 101
