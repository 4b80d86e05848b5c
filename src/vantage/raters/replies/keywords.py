"""Reading replies that list keywords with reasons: numbered, bulleted, in bold, in a table, as JSON or with commas."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from vantage.raters.replies.json_answers import reason_of
from vantage.raters.replies.loose_json import find_json
from vantage.raters.replies.refusals import refuses
from vantage.scales import Status

LONGEST: Final = 4
"""A keyword has at most so many words; two are asked for, and a negation or an article may stand before them."""
MOST: Final = 10
"""At most so many keywords are taken from one reply."""
_TEXT: Final = 20_000
"""So much of a reply is read; five keywords with reasons need a tenth of it."""
_MARK: Final = re.compile(r"(?:[-*•+>–]|\(?\d{1,2}[.):]|\(?[a-h][.)])\s{1,4}(?=\S)")
_BOLD: Final = re.compile(r"\*{2}([^*\n]{1,60})\*{2}[ :–—-]*(.*)")
_SPLIT: Final = re.compile(r"\s*(?::|\s[-–—]\s|—|\((?=[^()]{12,}\)?\s*$))\s*")
_REASON: Final = re.compile(
    r"\s*(?:[-*•]\s*)?\**(?:reasons?|because|why|grund|begründung|raison|motivo)\**\s*[:–-]\s*\**\s*", re.IGNORECASE
)
_LETTER: Final = re.compile(r"[^\W\d_]")
_KEYS: Final = ("keyword", "word", "trait", "term", "feeling", "emotion", "verb", "behaviour", "behavior", "name")
_NOT: Final = frozenset({"keyword", "keywords", "reason", "reasons", "verbs", "feelings", "traits", "note", "answer"})


@dataclass(frozen=True, slots=True)
class Keyword:
    """A keyword with the reason that was given for it, if any."""

    word: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class KeywordReply:
    """What a reply lists: keywords where it is answered, and otherwise whether it refuses or cannot be read."""

    status: Status
    keywords: tuple[Keyword, ...] = ()


def read_keywords(text: str | None) -> KeywordReply:
    r"""The keywords of a reply. Never raises; a refusal is told from a reply that cannot be read.

    >>> result = read_keywords("1. **Caring:** They look after people.\n2. Hard-working - Long shifts.")
    >>> [(keyword.word, keyword.reason) for keyword in result.keywords]
    [('Caring', 'They look after people.'), ('Hard-working', 'Long shifts.')]
    >>> read_keywords("I'm sorry, but I cannot generalise about a group.").status
    'refused'
    """
    reply = (text or "")[:_TEXT].strip()
    keywords: dict[str, Keyword] = {}
    for keyword in _json(reply) or _listed(reply):
        key = keyword.word.casefold()
        if keywords[key].reason is None if key in keywords else len(keywords) < MOST:
            keywords[key] = keyword
    if keywords:
        return KeywordReply("answered", tuple(keywords.values()))
    return KeywordReply("refused" if reply and refuses(reply) else "unparsed")


def _listed(text: str) -> list[Keyword]:
    """Keywords of a list, a table or lines; failing that, of a line with commas."""
    marked = list(_lines(text, need_mark=True))
    if marked:
        return marked
    plain = list(_lines(text, need_mark=False))
    if len(plain) >= 2 or (plain and not refuses(text)):
        return plain
    return [] if refuses(text) else list(_commas(text))


def _lines(text: str, *, need_mark: bool) -> Iterator[Keyword]:
    """The keywords of lines; with `need_mark`, of those in a list, in a table or in bold only."""
    last: Keyword | None = None
    for line in filter(None, map(str.strip, text.split("\n"))):
        if last is not None and (reason := _REASON.match(line)):
            # A bare heading "Reasons:" says nothing yet.
            last = Keyword(last.word, _clean(line[reason.end() :]) or last.reason)
            continue
        mark, table = _MARK.match(line), line.startswith("|") and line.count("|") >= 2
        rest = line[mark.end() :] if mark else line
        if need_mark and not (mark or table or _BOLD.match(rest)):
            continue
        if keyword := _cells(line) if table else _keyword(rest, sentences=need_mark):
            if last is not None:
                yield last
            last = keyword
    if last is not None:
        yield last


def _cells(row: str) -> Keyword | None:
    cells = [cell for cell in map(_clean, row.strip("|").split("|")) if cell and not cell.isdigit()]
    return _checked(*cells[:2]) if cells else None


def _keyword(line: str, *, sentences: bool) -> Keyword | None:
    """The keyword at the beginning of a line, and the reason behind it; a bare sentence is none unless allowed."""
    if bold := _BOLD.match(line):
        return _checked(bold[1], _clean(bold[2]))
    word, *reasons = _SPLIT.split(line, maxsplit=1)
    if not (sentences or reasons) and line.endswith((".", "!")):
        return None
    return _checked(word, _clean(reasons[0]).rstrip(")") if reasons else "")


def _checked(text: str, reason: str = "") -> Keyword | None:
    word = _word(text)
    return Keyword(word, reason or None) if _is_keyword(word) else None


def _commas(text: str) -> Iterator[Keyword]:
    for line in text.split("\n"):
        body = line.rpartition(":")[2]
        words = [_word(re.sub(r"^and\s", "", part.strip(), flags=re.IGNORECASE)) for part in re.split(r"[,;]", body)]
        if len(words) >= 3 and all(map(_is_keyword, words)):
            yield from (Keyword(word) for word in words)
            return


def _json(text: str) -> list[Keyword]:
    first = find_json(text)[:1]
    return [keyword for one in first for keyword in _within(one.data) if _is_keyword(keyword.word)]


def _within(data: Any, depth: int = 0) -> Iterator[Keyword]:
    """The keywords of JSON: words, objects with a word and a reason, or words with their reasons."""
    if isinstance(data, str):
        yield Keyword(_word(data))
    elif isinstance(data, list) and depth < 4:
        for part in data[:50]:
            yield from _within(part, depth + 1)
    elif isinstance(data, dict) and depth < 4:
        word = next((data[key] for key in data if str(key).casefold() in _KEYS and isinstance(data[key], str)), None)
        if word is not None:
            yield Keyword(_word(word), _clean(reason_of(data) or "") or None)
            return
        for key, value in list(data.items())[:50]:
            if isinstance(value, list | dict):
                yield from _within(value, depth + 1)
            else:
                yield Keyword(_word(str(key)), _clean(value) or None if isinstance(value, str) else None)


def _is_keyword(word: str) -> bool:
    pieces = word.split()
    return (
        1 <= len(pieces) <= LONGEST
        and len(word) <= 60
        and bool(_LETTER.search(word))
        and word.casefold() not in _NOT
        and not word.endswith("?")
    )


def _clean(text: str) -> str:
    return " ".join(text.strip(" \t\"'`*_|").split())


def _word(text: str) -> str:
    return _clean(text).strip(" *_:;,.!\"'")
