from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vantage.raters.models import Message
from vantage.raters.models.plain import estimate_tokens, plain_prompt


def test_examples_and_a_begun_answer_keep_their_place() -> None:
    shown = [Message("user", "Good?"), Message("assistant", "4"), Message("user", "Bad?")]
    assert plain_prompt(shown) == "Good?\n\nAnswer: 4\n\nBad?\n\nAnswer:"
    begun = [*shown, Message("assistant", "I think")]
    assert plain_prompt(begun) == "Good?\n\nAnswer: 4\n\nBad?\n\nAnswer: I think"


@given(st.text(), st.text())
def test_a_longer_text_never_has_fewer_tokens(text: str, more: str) -> None:
    assert estimate_tokens(text) <= estimate_tokens(f"{text}\n{more}")


def test_half_characters_are_counted() -> None:
    assert estimate_tokens("\ud800") >= 1
