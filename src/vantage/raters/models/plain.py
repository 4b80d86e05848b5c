"""What stands in for a model's own chat template and tokenizer where there is none."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from vantage.raters.models.base import Message

LEAD: Final = " "
"""What stands between a plain prompt and an answer: the prompt ends in a word, not in a line."""

_PIECE: Final = re.compile(r"[A-Za-z]+|[0-9]+|\s+|[^\sA-Za-z0-9]")


def plain_prompt(messages: Sequence[Message]) -> str:
    """A chat as running text, for models that were never trained on chats.

    >>> print(plain_prompt([Message("system", "Rate the text."), Message("user", "Lovely day.")]))
    Rate the text.
    <BLANKLINE>
    Lovely day.
    <BLANKLINE>
    Answer:
    """
    turns = [f"Answer: {m.content}" if m.role == "assistant" else m.content for m in messages]
    if not messages or messages[-1].role != "assistant":
        turns.append("Answer:")
    return "\n\n".join(turns)


def estimate_tokens(text: str) -> int:
    """How many tokens a text has at most, guessed without a tokenizer; for English about a third too many.

    >>> estimate_tokens("How warm does the author seem?")
    11
    """
    return sum(_weight(piece) for piece in _PIECE.findall(text))


def _weight(piece: str) -> int:
    if piece.isspace():
        # A single space belongs to the word behind it.
        return 0 if piece == " " else 1 + piece.count("\n") // 2
    if not piece.isascii():
        size = len(piece.encode("utf-8", "replace"))
        return size if size < 3 else size - 1
    # Some tokenizers write every digit on its own.
    return -(-len(piece) // 3) if piece.isalpha() else len(piece)
