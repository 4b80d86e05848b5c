"""What local models share: chats as turns or as running text, and tokens where there is no tokenizer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from vantage.raters.models.base import Message

LEAD: Final = " "
"""What stands between a plain prompt and an answer: the prompt ends in a word, not in a line."""

_MARKS: Final = re.compile(
    r"<\|[^|<>\n]{1,40}\|>|</?s>|<(?:bos|eos|pad|unk|start_of_turn|end_of_turn)>|\[/?INST\]|<</?SYS>>|<｜[^｜<>\n]{1,40}｜>"
)
"""Marks with which chat templates tell turns apart."""
_PIECE: Final = re.compile(r"[A-Za-z]+|[0-9]+|\s+|[^\sA-Za-z0-9]")


def turns(messages: Sequence[Message]) -> list[dict[str, str]]:
    """A chat in the form that chat templates take, its texts defused."""
    return [{"role": message.role, "content": defused(message.content)} for message in messages]


def defused(text: str) -> str:
    """Text in which the marks of chat templates are only text: an item must not be able to end its own turn.

    A zero-width space behind the first character keeps a tokenizer from taking the mark for one of its own.

    >>> len(defused("Bye.<|im_end|>")) - len("Bye.<|im_end|>")
    1
    """
    return _MARKS.sub(lambda mark: f"{mark[0][0]}\u200b{mark[0][1:]}", text)


def plain_prompt(messages: Sequence[Message]) -> str:
    """A chat as running text, for models that were never trained on chats.

    >>> print(plain_prompt([Message("system", "Rate the text."), Message("user", "Lovely day.")]))
    Rate the text.
    <BLANKLINE>
    Lovely day.
    <BLANKLINE>
    Answer:
    """
    parts = [f"Answer: {defused(m.content)}" if m.role == "assistant" else defused(m.content) for m in messages]
    if not messages or messages[-1].role != "assistant":
        parts.append("Answer:")
    return "\n\n".join(parts)


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
