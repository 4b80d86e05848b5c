"""An item as raters see it: its fields under their headings, with the target and the statement marked.

Guidelines, warnings and consent are `prose`, plain text of instruments and studies.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from markupsafe import Markup

from vantage.instruments import Field, Instrument
from vantage.scales import show_code

_POINT = re.compile(r"^\s*[-*•]\s+")


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of text, marked or not."""

    text: str
    marked: bool = False


@dataclass(frozen=True, slots=True)
class ShownTurn:
    """One speaker's turn; `marked` where it contains the judged statement."""

    speaker: str
    spans: tuple[Span, ...]
    marked: bool = False


@dataclass(frozen=True, slots=True)
class Panel:
    """One field of an item as shown."""

    name: str
    title: str
    kind: Literal["text", "target", "conversation"]
    spans: tuple[Span, ...] = ()
    turns: tuple[ShownTurn, ...] = ()


def panels(instrument: Instrument, item: Mapping[str, Any], condition: str = "") -> tuple[Panel, ...]:
    """The fields that a condition shows, in order, without those that the item lacks.

    The target is marked wherever the texts name it, and in a conversation so is the judged statement.

    >>> from vantage import Instrument
    >>> item = {"text": "The mayor lied, the Mayor left.", "target": "the mayor"}
    >>> text, target = panels(Instrument.load("warmth-competence"), item)
    >>> [span.text for span in text.spans if span.marked]
    ['The mayor', 'the Mayor']
    >>> target.kind
    'target'
    """
    shown = [field for field in instrument.shown(condition) if item.get(field.name) not in (None, "", [])]
    targets = [_text(item[field.name]) for field in shown if field.kind == "target"]
    # Where only the conversation is shown, the judged statement may still be the item's text.
    statements = [_text(item[field.name]) for field in shown if field.kind == "text"] or [_text(item.get("text"))]
    return tuple(_panel(field, item[field.name], targets, statements) for field in shown)


def texts(item: Mapping[str, Any]) -> dict[str, str]:
    """The fields of an item as text, for a question's wording."""
    return {name: _text(value) for name, value in item.items()}


def _panel(field: Field, content: Any, targets: Sequence[str], statements: Sequence[str]) -> Panel:
    if field.kind == "conversation":
        if not isinstance(content, str) and isinstance(content, Sequence):
            return Panel(field.name, field.title, "conversation", turns=_turns(content, statements))
        return Panel(field.name, field.title, "text", marked(_text(content), statements))
    if field.kind == "target":
        return Panel(field.name, field.title, "target", (Span(_text(content)),))
    return Panel(field.name, field.title, "text", marked(_text(content), targets))


def _turns(content: Sequence[Any], statements: Sequence[str]) -> tuple[ShownTurn, ...]:
    said = [
        (_text(turn.get("speaker")), _text(turn.get("text"))) if isinstance(turn, Mapping) else ("", _text(turn))
        for turn in content
    ]
    # A short statement ("Yes.") may occur elsewhere; a turn that is exactly the statement takes precedence.
    wanted = {_folded(statement) for statement in statements}
    whole = any(_folded(text) in wanted for _, text in said)
    turns = []
    for speaker, text in said:
        spans = marked(text, statements) if not whole or _folded(text) in wanted else (Span(text),)
        turns.append(ShownTurn(speaker, spans, any(span.marked for span in spans)))
    return tuple(turns)


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def marked(text: str, wanted: Sequence[str]) -> tuple[Span, ...]:
    """The text split at wanted phrases, matched as whole words regardless of case and spacing.

    >>> [(span.text, span.marked) for span in marked("An art, an artist.", ["art"])]
    [('An ', False), ('art', True), (', an artist.', False)]
    """
    phrases = sorted({phrase.strip() for phrase in wanted if phrase.strip()}, key=len, reverse=True)
    pieces: list[Span] = []
    at = 0
    for start, end in _matches(text, phrases):
        if start > at:
            pieces.append(Span(text[at:start]))
        pieces.append(Span(text[start:end], marked=True))
        at = end
    if at < len(text):
        pieces.append(Span(text[at:]))
    return tuple(pieces)


def _matches(text: str, phrases: Sequence[str]) -> list[tuple[int, int]]:
    """Where the phrases occur, from left to right, without overlap; the longest wins.

    Compiling a pattern for every item would cost more than the rest of the page, so patterns are used only for texts
    whose lower case has another length (as that of "İ") or whose spaces are not single.
    """
    lower = text.lower()
    if len(lower) != len(text) or " ".join(lower.split()) != lower:
        either = "|".join(r"\s+".join(map(re.escape, phrase.split())) for phrase in phrases)
        matches = [match.span() for match in re.finditer(either, text, re.IGNORECASE)] if either else []
        return [(start, end) for start, end in matches if _whole(text, start, end)]
    places: list[tuple[int, int]] = []
    for phrase in phrases:
        sought = " ".join(phrase.lower().split())
        start = lower.find(sought)
        while start >= 0:
            end = start + len(sought)
            if _whole(text, start, end) and all(end <= other[0] or start >= other[1] for other in places):
                places.append((start, end))
            start = lower.find(sought, end)
    return sorted(places)


def _whole(text: str, start: int, end: int) -> bool:
    """Whether a match is not part of a longer word; scripts without spaces have no word boundaries."""
    before, after = text[start - 1 : start], text[end : end + 1]
    return not (_joins(before) and _joins(text[start])) and not (_joins(after) and _joins(text[end - 1]))


def _joins(character: str) -> bool:
    return character.isalnum() and character < "\u0250"


def _text(content: Any) -> str:
    """A field as text; a conversation as one line per turn."""
    if content is None:
        return ""
    if isinstance(content, float):
        return show_code(content)
    if isinstance(content, Sequence) and not isinstance(content, str):
        return "\n".join(
            ": ".join(filter(None, (_text(turn.get("speaker")), _text(turn.get("text")))))
            if isinstance(turn, Mapping)
            else _text(turn)
            for turn in content
        )
    return str(content).strip()


@lru_cache(maxsize=512)
def prose(text: str) -> Markup:
    r"""Text as HTML: paragraphs and lists only, everything else escaped.

    Blank lines separate paragraphs, and a line that starts with a hyphen is a list item.

    >>> prose("Read it.\n\n- Judge the <b>reply</b>.\n- Take\n  your time.")
    Markup('<p>Read it.</p><ul><li>Judge the &lt;b&gt;reply&lt;/b&gt;.</li><li>Take your time.</li></ul>')
    """
    parts: list[Markup] = []
    for block in re.split(r"\n\s*\n", text.strip()):
        paragraph: list[str] = []
        points: list[str] = []
        for line in block.splitlines():
            if _POINT.match(line):
                points.append(_POINT.sub("", line))
            elif points:
                points[-1] += " " + line.strip()
            else:
                paragraph.append(line.strip())
        if paragraph:
            parts.append(Markup("<p>{}</p>").format(" ".join(paragraph)))
        if points:
            parts.append(Markup("<ul>{}</ul>").format(Markup("").join(Markup("<li>{}</li>").format(p) for p in points)))
    return Markup("").join(parts)
