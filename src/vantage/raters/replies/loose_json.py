"""JSON as models write it: single quotes, bare keys, trailing commas, Python's True and None, a missing end."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

_DEEPEST: Final = 12
_STARTS: Final = 40
"""As many brackets are tried; a reply has one object, or a few."""
_OPENS: Final = re.compile(r"[{\[]")
_BARE: Final = re.compile(r"[^\s,;:{}\[\]\"']{1,60}+(?:[ ][^\s,;:{}\[\]\"']{1,60}+){0,12}")
_NUMBER: Final = re.compile(r"[+-]?(?:\d{1,15}(?:\.\d{1,15})?)(?=[\s,;}\]]|$)")
# A quote inside a word ("it's") does not end a string.
_SINGLE: Final = re.compile(r"'((?:[^'\\]|\\.|(?<=[^\W_])'(?=[^\W_]))*+)'", re.DOTALL)
_STRINGS: Final = {"'": _SINGLE, '"': re.compile(r'"((?:[^"\\]|\\.)*+)"', re.DOTALL)}
# Nor does a quotation mark behind which nothing stands that could follow the string.
_QUOTING: Final = {**_STRINGS, '"': re.compile(r'"((?:[^"\\]|\\.|"(?!\s*+(?:$|[,;:=}\]])))*+)"', re.DOTALL)}
_ESCAPED: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_KEY: Final = re.compile(r"[\"']\s?:")
_SPACE: Final = re.compile(r"\s*+")
_COMMAS: Final = re.compile(r"(?:[,;]\s*+)++")
_WORDS: Final[dict[str, bool | None]] = {"true": True, "false": False, "null": None, "none": None}


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
        opened = _OPENS.search(text, at)
        if opened is None:
            break
        part = _read(text, opened.start()) or _read(text, opened.start(), quoting=True)
        at = max(part.end if part else 0, opened.end())
        if part and part.data:
            objects.append(part)
    return objects


def _read(text: str, start: int, *, quoting: bool = False) -> Found | None:
    """What stands at a place of a text, if it is JSON; with quotation marks inside strings, only as a whole."""
    reader = _Reader(text, start, quoting)
    try:
        data = reader.value(0)
    except _NotJsonError:
        return None
    return None if quoting and reader.cut else Found(data, start, reader.at, reader.cut)


class _NotJsonError(Exception):
    """What stands here is something else."""


class _Reader:
    """Reads one value from left to right, never twice."""

    def __init__(self, text: str, at: int, quoting: bool) -> None:
        self.text, self.at, self.cut, self.quoting = text, at, False, quoting

    def value(self, depth: int) -> Any:
        if depth > _DEEPEST:
            raise _NotJsonError
        if self._ended():
            return None
        if self.text[self.at] in "{[":
            return self._group(depth)
        return self._word()

    def _group(self, depth: int) -> dict[str, Any] | list[Any]:
        keyed = self.text[self.at] == "{"
        closes = "}" if keyed else "]"
        entries: list[tuple[Any, Any]] = []
        self.at += 1
        while not self._ended() and self.text[self.at] != closes:
            key = self._word() if keyed else None
            if keyed and self._ended():
                break
            if keyed:
                if self.text[self.at] not in ":=" or isinstance(key, Cut):
                    raise _NotJsonError
                self.at += 1
            value = self.value(depth + 1)
            if not (keyed and self.cut and value is None):
                entries.append((key, value))
            if self.cut or self._ended():
                break
            if comma := _COMMAS.match(self.text, self.at):
                self.at = comma.end()
            elif self.text[self.at] not in (closes, '"', "'"):  # a comma may be forgotten before the next key
                raise _NotJsonError
        self.at += not self.cut
        return {str(key): value for key, value in entries} if keyed else [value for _, value in entries]

    def _word(self) -> Any:
        if self.text[self.at] in _STRINGS:
            return self._string()
        number = _NUMBER.match(self.text, self.at)
        word = number or _BARE.match(self.text, self.at)
        if word is None:
            raise _NotJsonError
        self.at = word.end()
        if self.at == len(self.text):
            self.cut = True
            return Cut(word.group())
        return float(word.group()) if number else _WORDS.get(word.group().casefold(), word.group())

    def _string(self) -> str:
        whole = (_QUOTING if self.quoting else _STRINGS)[self.text[self.at]].match(self.text, self.at)
        if whole is None:
            said, self.at, self.cut = self.text[self.at + 1 :], len(self.text), True
        else:
            said, self.at = whole[1], whole.end()
        if self.quoting and _KEY.search(said):  # it has swallowed the next key
            raise _NotJsonError
        plain = _ESCAPED.sub(lambda one: chr(int(one[1], 16)) if one[1] else _ESCAPES.get(one[2], one[2]), said)
        # The halves of escaped characters are put together.
        return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")

    def _ended(self) -> bool:
        """Whether the text ends here, white space aside."""
        space = _SPACE.match(self.text, self.at)
        self.at = space.end() if space else self.at
        self.cut = self.cut or self.at >= len(self.text)
        return self.cut
