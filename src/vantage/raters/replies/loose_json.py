"""JSON as models write it: single quotes, bare keys, trailing commas, Python's True and None, a missing end."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

_DEEPEST = 12
_STARTS = 40
"""As many brackets are tried; a reply has one object, or a few."""
_BARE = re.compile(r"[^\s,;:{}\[\]\"']{1,60}+(?:[ ][^\s,;:{}\[\]\"']{1,60}+){0,12}")
_NUMBER = re.compile(r"[+-]?(?:\d{1,15}(?:\.\d{1,15})?)(?=[\s,;}\]]|$)")
_CODE_POINT = re.compile(r"\\u([0-9a-fA-F]{4})")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_AFTER_STRING = re.compile(r"\s*+(?:$|[,;:=}\]])")
_KEY = re.compile(r"[\"']\s?:")
_SPACE = re.compile(r"\s*+")
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None, "none": None}


@dataclass(frozen=True, slots=True)
class Found:
    """An object or array in a text, where it stands, and whether the text ends inside it."""

    data: Any
    start: int
    end: int
    cut: bool


@dataclass(frozen=True, slots=True)
class Cut:
    """A bare value at the very end of a text: more of it may be missing."""

    text: str


def find_json(text: str) -> list[Found]:
    r"""The objects and arrays of a text, in order, however carelessly written.

    >>> [result.data for result in find_json("Sure! {'rating': 4, reason: \"it's fine\",} Bye.")]
    [{'rating': 4.0, 'reason': "it's fine"}]
    >>> find_json('{"rating": 4, "reason": "They')[0].cut
    True
    """
    objects: list[Found] = []
    at = 0
    for _ in range(_STARTS):
        starts = [start for bracket in "{[" if (start := text.find(bracket, at)) >= 0]
        if not starts:
            break
        start = min(starts)
        reader = _Reader(text, start)
        try:
            data = reader.value(0)
        except _NotJsonError:
            reader = _Reader(text, start, quotes_inside=True)
            try:
                data = reader.value(0)
            except _NotJsonError:
                reader.cut = True
            if reader.cut:
                at = start + 1
                continue
        if data:
            objects.append(Found(data, start, reader.at, reader.cut))
        at = max(reader.at, start + 1)
    return objects


class _NotJsonError(Exception):
    """What stands here is something else."""


class _Reader:
    """Reads one value from left to right, never twice."""

    def __init__(self, text: str, at: int, *, quotes_inside: bool = False) -> None:
        self.text, self.at, self.cut, self.quotes_inside = text, at, False, quotes_inside

    def value(self, depth: int) -> Any:
        if depth > _DEEPEST:
            raise _NotJsonError
        self._space()
        if self._ended():
            return None
        match self.text[self.at]:
            case "{":
                return self._object(depth)
            case "[":
                return self._array(depth)
            case '"' | "'":
                return self._string()
            case _:
                return self._bare()

    def _object(self, depth: int) -> dict[str, Any]:
        self.at += 1
        data: dict[str, Any] = {}
        while not self._closes("}"):
            key = self._string() if self.text[self.at] in "\"'" else self._bare()
            self._space()
            if self._ended():
                break
            if self.text[self.at] not in ":=" or isinstance(key, Cut):
                raise _NotJsonError
            self.at += 1
            value = self.value(depth + 1)
            if not (self.cut and value is None):
                data[str(key)] = value
            if self.cut:
                break
            self._separator("}")
        return data

    def _array(self, depth: int) -> list[Any]:
        self.at += 1
        data: list[Any] = []
        while not self._closes("]"):
            data.append(self.value(depth + 1))
            if self.cut:
                break
            self._separator("]")
        return data

    def _closes(self, bracket: str) -> bool:
        self._space()
        if self._ended():
            return True
        if self.text[self.at] == bracket:
            self.at += 1
            return True
        return False

    def _separator(self, bracket: str) -> None:
        self._space()
        if self._ended() or self.text[self.at] == bracket:
            return
        if self.text[self.at] in ",;":
            while self.at < len(self.text) and self.text[self.at] in ",;":
                self.at += 1
                self._space()
        elif self.text[self.at] not in "\"'":  # a forgotten comma before the next key
            raise _NotJsonError

    def _string(self) -> str:
        """A quoted string; a quote inside a word ("it's") does not end it."""
        quote = self.text[self.at]
        self.at += 1
        parts: list[str] = []
        while self.at < len(self.text):
            letter = self.text[self.at]
            if letter == "\\" and self.at + 1 < len(self.text):
                parts.append(self._escaped())
                continue
            if letter == quote and not (quote == "'" and self._inside_word()) and not self._quotes_on():
                self.at += 1
                whole = _joined(parts)
                if self.quotes_inside and _KEY.search(whole):  # it has swallowed the next key
                    raise _NotJsonError
                return whole
            parts.append(letter)
            self.at += 1
        self.cut = True
        return _joined(parts)

    def _escaped(self) -> str:
        if number := _CODE_POINT.match(self.text, self.at):
            self.at = number.end()
            return chr(int(number[1], 16))
        letter = self.text[self.at + 1]
        self.at += 2
        return _ESCAPES.get(letter, letter)

    def _quotes_on(self) -> bool:
        """Whether a quotation mark belongs to the string, since nothing that could follow the string follows."""
        return self.quotes_inside and self.text[self.at] == '"' and _AFTER_STRING.match(self.text, self.at + 1) is None

    def _inside_word(self) -> bool:
        return self.text[self.at - 1].isalnum() and self.text[self.at + 1 : self.at + 2].isalnum()

    def _bare(self) -> Any:
        if number := _NUMBER.match(self.text, self.at):
            self.at = number.end()
            if self.at == len(self.text):
                self.cut = True
                return Cut(number.group())
            return float(number.group())
        word = _BARE.match(self.text, self.at)
        if word is None:
            raise _NotJsonError
        self.at = word.end()
        if self.at == len(self.text):
            self.cut = True
            return Cut(word.group())
        return _WORDS.get(word.group().casefold(), word.group())

    def _space(self) -> None:
        space = _SPACE.match(self.text, self.at)
        self.at = space.end() if space else self.at

    def _ended(self) -> bool:
        if self.at >= len(self.text):
            self.cut = True
        return self.cut


def _joined(parts: list[str]) -> str:
    """The string, with the halves of escaped characters put together."""
    return "".join(parts).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
