"""Reading replies that list keywords with reasons: numbered, bulleted, in bold, in a table, as JSON or with commas."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from vantage.raters.replies.refusals import refuses
from vantage.scales import Status

LONGEST: Final = 4
"""A keyword has at most so many words; two are asked for, and a negation or an article may stand before them."""
MOST: Final = 10
"""At most so many keywords are taken from one reply."""
_TEXT: Final = 20_000
"""So much of a reply is read; five keywords with reasons need a tenth of it."""
_MARK: Final = re.compile(r"\s{0,12}(?:[-*•+>–]|\(?\d{1,2}[.):]|\(?[a-h][.)])\s{1,4}(?=\S)")
_BOLD: Final = re.compile(r"\*{2}([^*\n]{1,60})\*{2}")
_SPLIT: Final = re.compile(r"\s*(?::|\s[-–—]\s|—|\((?=[^()]{12,}\)?\s*$))\s*")
_REASON: Final = re.compile(
    r"\s*(?:[-*•]\s*)?\**(?:reasons?|because|why|grund|begründung|raison|motivo)\**\s*[:–-]\s*\**\s*", re.IGNORECASE
)
_LETTER: Final = re.compile(r"[^\W\d_]")
_KEYS: Final = ("keyword", "word", "trait", "term", "feeling", "emotion", "verb", "behaviour", "behavior", "name")
_WHYS: Final = ("reason", "reasons", "why", "explanation", "description", "because")
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
    last: Keyword | None = None
    for line in text.split("\n"):
        if not line.strip():
            continue
        if last is not None and (reason := _REASON.match(line)):
            # A bare heading "Reasons:" says nothing yet.
            last = Keyword(last.word, _clean(line[reason.end() :]) or last.reason)
            continue
        row = line.strip()
        table = row.startswith("|") and row.count("|") >= 2
        mark = _MARK.match(line)
        bold = _BOLD.match(row[mark.end() - (len(line) - len(line.lstrip())) :] if mark else row)
        if need_mark and not (mark or bold or table):
            continue
        keyword = _cells(row) if table else _keyword(line[mark.end() :] if mark else line, needs_reason=not need_mark)
        if keyword is None:
            continue
        if last is not None:
            yield last
        last = keyword
    if last is not None:
        yield last


def _cells(row: str) -> Keyword | None:
    cells = [cell for cell in map(_clean, row.strip("|").split("|")) if cell and not cell.isdigit()]
    if not cells or not _is_keyword(word := _word(cells[0])):
        return None
    return Keyword(word, cells[1] if len(cells) > 1 else None)


def _keyword(line: str, *, needs_reason: bool) -> Keyword | None:
    """The keyword at the beginning of a line, and the reason behind it."""
    bold = _BOLD.match(line.strip())
    if bold:
        word, reason = _word(bold[1]), _clean(line.strip()[bold.end() :].lstrip(" :–—-"))
        return Keyword(word, reason or None) if _is_keyword(word) else None
    parts = _SPLIT.split(line.strip(), maxsplit=1)
    word, reason = _word(parts[0]), _clean(parts[1]).rstrip(")") if len(parts) > 1 else ""
    if not _is_keyword(word) or (needs_reason and not reason and len(parts) == 1 and line.strip().endswith((".", "!"))):
        return None
    return Keyword(word, reason or None)


def _commas(text: str) -> Iterator[Keyword]:
    for line in text.split("\n"):
        body = line.rpartition(":")[2]
        words = [_word(re.sub(r"^and\s", "", part.strip(), flags=re.IGNORECASE)) for part in re.split(r"[,;]", body)]
        if len(words) >= 3 and all(map(_is_keyword, words)):
            yield from (Keyword(word) for word in words)
            return


def _json(text: str) -> list[Keyword]:
    start = min((place for place in (text.find("["), text.find("{")) if place >= 0), default=-1)
    if start < 0:
        return []
    try:
        data, _ = json.JSONDecoder().raw_decode(text[start:])
    except (RecursionError, ValueError):
        return []
    return [keyword for keyword in _within(data, 0) if _is_keyword(keyword.word)]


def _within(data: Any, depth: int) -> Iterator[Keyword]:
    if depth > 3:
        return
    if isinstance(data, list):
        for part in data[:50]:
            if isinstance(part, str):
                yield Keyword(_word(part))
            else:
                yield from _within(part, depth + 1)
    elif isinstance(data, dict):
        word = next((data[key] for key in data if str(key).casefold() in _KEYS and isinstance(data[key], str)), None)
        if word is not None:
            why = next((data[key] for key in data if str(key).casefold() in _WHYS and isinstance(data[key], str)), None)
            yield Keyword(_word(word), _clean(why) or None if why else None)
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
    """A reason without the marks around it."""
    return " ".join(text.strip(" \t\"'`*_|").split())


def _word(text: str) -> str:
    """A keyword without the marks around it."""
    return _clean(text).strip(" *_:;,.!\"'")
