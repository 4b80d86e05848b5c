from __future__ import annotations

import pytest

from vantage.raters.models.dialects import split_thinking
from vantage.raters.replies.clean import LONGEST, plain_text


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        (None, ""),
        ("5</s>", "5"),
        ("5\n\n### End\n\nmore", "5"),
        ("<|assistant|>5<|end|>", "5"),
        ("[INST] 5", "5"),
        ("They said:\nUser: hello\n\n5", "They said:\nUser: hello\n\n5"),
        ("−5\u200b", "-5"),
        ("３½", "3.5"),
        ("a\r\nb\tc", "a\nb c"),
        ("\ud800", "?"),
        (b"\xff5", "\ufffd5"),
        ("« 5 »", '"5"'),
        (5, "5"),
        (5.0, "5.0"),
        (True, None),
        ([5], None),
    ],
)
def test_plain_text(reply: object, text: str | None) -> None:
    assert plain_text(reply) == text


def test_long_replies_are_read_at_both_ends() -> None:
    text = plain_text("start " + "x" * 10 * LONGEST + " end")
    assert text is not None
    assert len(text) <= LONGEST
    assert text.startswith("start")
    assert text.endswith("end")
    assert len(plain_text("ﷺ" * LONGEST) or "") <= LONGEST


def test_a_number_too_long_to_write_is_no_text() -> None:
    assert plain_text(10**5000) is None


def test_reasoning_blocks() -> None:
    for text in ("<think>3</think><think>4</think>5", "3</think>5"):
        assert (split_thinking(text).answer, split_thinking(text).open) == ("5", False)
    assert (split_thinking("5 <think>or 4").answer.strip(), split_thinking("5 <think>or 4").open) == ("5", True)
