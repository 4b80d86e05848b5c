"""A reply as it came, made fit for reading: text only, one kind of dash and digit, no marks of the model."""

from __future__ import annotations

import re
import unicodedata

from vantage.raters.models.dialects import split_thinking

LONGEST = 16_000
"""A longer reply is read at its two ends, where answers are."""

# The Turkish letters match "i" whatever the case, yet do not fold to it.
_LETTERS = str.maketrans({"½": ".5", "¼": ".25", "¾": ".75", "ı": "i", "İ": "I"})
_DASHES = str.maketrans(
    dict.fromkeys("‐‑‒–—―−﹣-", "-")
    | dict.fromkeys("‘’ʼ`´", "'")
    | {"≈": "~", "。": ".", "।": ".", "،": ",", "、": ",", "؟": "?", "؛": ";"}
)
_UNSEEN = re.compile(
    "[\ufe0f\u20e3\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff\u00ad\ue000\ue001]|[^\\S\\n ]|[\x00-\x09\x0b-\x1f\x7f]"
)
# French sets guillemets off by spaces.
_QUOTES = re.compile(r"[“”„「」『』《》]|«[^\S\n]?|[^\S\n]?»")
_OBJECT = re.compile(r"\{\s*\"")
# A number between the marks of mathematics, or words in its \\text, is written without them.
_LATEX = re.compile(
    r"(?:\$|\\\()\s?((?:[+-]|\\minus\s?|\{-\})?\s?\d{1,4}(?:\.\d+)?)\s?(?:\$|\\\))|\\text\{([^{}\n]{0,80})\}"
)
_MARKUP = re.compile(r"</?(?:b|i|u|em|strong|span|p|br)\s?/?>", re.IGNORECASE)
# Where a model goes on to write the next turn of a conversation, its answer is over.
_NEXT_TURN = re.compile(
    r"###\s{0,4}(?:end|input|instruction|human|user)\b|</s>|<\|[a-z_]{1,30}\|>|<eos>|</?INST>|\[/?INST\]", re.IGNORECASE
)


def plain_text(reply: object) -> str | None:
    """The text of a reply, or null for something that is no text at all.

    >>> plain_text(" −2 </s>"), plain_text(b"yes"), plain_text(7), plain_text(object())
    ('-2', 'yes', '7', None)
    """
    if reply is None:
        return ""
    if isinstance(reply, bytes | bytearray):
        reply = bytes(reply[: 2 * LONGEST]).decode("utf-8", "replace")
    elif isinstance(reply, int | float) and not isinstance(reply, bool):
        try:
            reply = str(reply)
        except ValueError:  # an integer of more digits than Python is willing to write
            return None
    if not isinstance(reply, str):
        return None
    text = _shortened(_normal(_shortened(reply)))
    return _first_turn(text).strip()


def readable(text: object, *, cut: bool = False) -> tuple[str, str]:
    """The text of a reply without thinking, and why it cannot be read, where it cannot.

    >>> readable("[THINK]A 3?[/THINK] −2"), readable("<think>Let me see"), readable("", cut=True)
    (('-2', ''), ('', 'unclosed-thinking'), ('', 'cut'))
    """
    reply = split_thinking(text) if isinstance(text, str) else None
    plain = plain_text(text if reply is None else reply.answer.strip())
    if plain is None:
        return "", "not-text"
    if reply is not None and reply.open:
        return "", "unclosed-thinking"
    return plain, "" if plain else "cut" if cut else "empty"


def _shortened(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    return f"{text[: LONGEST // 2]}\n\n{text[-LONGEST // 2 + 2 :]}"


def _normal(text: str) -> str:
    text = text.encode("utf-8", "replace").decode("utf-8")
    text = unicodedata.normalize("NFKC", text.translate(_LETTERS)).translate(_DASHES)
    # Inside the strings of an object, quotation marks of another kind do not end them.
    text = _QUOTES.sub("'" if _OBJECT.search(text) else '"', text)
    text = _LATEX.sub(lambda match: re.sub(r"\\minus\s?|\{-\}", "-", match[1] or match[2]), text)
    text = _MARKUP.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    return _UNSEEN.sub(lambda match: " " if match.group().isspace() else "", text)


def _first_turn(text: str) -> str:
    """The text up to the next turn; a mark before any text (a template that leaked) is dropped instead."""
    kept = 0
    for mark in _NEXT_TURN.finditer(text):
        if text[kept : mark.start()].strip():
            return text[kept : mark.start()]
        kept = mark.end()
    return text[kept:].lstrip(": ") if kept else text
