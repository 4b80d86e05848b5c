"""The place where an answer is expected: a number, a label, a letter or an opt-out, alone or in pairs."""

from __future__ import annotations

import re

from vantage.raters.replies.copied import Span
from vantage.raters.replies.labels import read_label, read_letter, wordings, words
from vantage.raters.replies.numbers import NUMBER, amount, read_number
from vantage.raters.replies.opt_outs import read_opt_out
from vantage.raters.replies.reply import Reading, agree
from vantage.scales import Scale, show_code

_DECORATION = re.compile(r"(?:\ue001++,?|[\s*_\"'\[({#|=:\\$]|>(?=\s))*+")
_SURE = re.compile(r"(?:definitely|clearly|certainly|absolutely)\s", re.IGNORECASE)
_DEGREE = re.compile(
    r"(?:strongly|very|highly|extremely|slightly|somewhat|mildly|moderately|mostly|largely|predominantly|overall)\s",
    re.I,
)
_ALSO = re.compile(r"\s?(?:/|or\s)\s?", re.IGNORECASE)
_BETWEEN = re.compile(r"[\s).:,;=*_\"'(\[\]|>-]{0,12}(?:the\s)?")
_CLOSING = re.compile(r"[\s*_\"'\])}.,;:!|~`\\$/-]{0,40}(?:\ue001|\s)*+")
_LED = re.compile(
    r"[\"']{0,2}\s{0,3}(?:$|[\n.,;:!?)\]}*_|(/=<\ue001]|-(?!\d))|[\"']{0,2}\s(?:because|since|out\sof)\b", re.IGNORECASE
)
_SEQUENCE = re.compile(r"\s?[,/|;]\s?[+-]?\d{1,3}\s?[,/|;]\s?(?:and\s|or\s)?[+-]?\d")
_SECOND = re.compile(r"\s?[,;&]\s?(?:and\s|or\s)?[+-]?\d{1,3}\s?(?:$|[\n)\]]|\.$)")
_EQUATED = re.compile(r"\s?=\s?[\"'*(]{0,3}([a-z][^\n.]{0,80})", re.IGNORECASE)
_REMARK = re.compile(r"\s?[*_]{0,2}(?:[(=]|-\s|,\s)\s?([a-z][^()\n.]{2,60})", re.IGNORECASE)
_PAIR = re.compile(
    rf"(?<![\w./]){NUMBER}\s?[\"'*_]{{0,3}}\s?(?:=|:|-|\(|\.|\)|is\s|means\s|for\s|being\s)?\s?[\"'*_(]{{0,3}}"
)
_LETTERED = re.compile(r"(?<!\w)\(?([A-Z])[).:]\s?")


def read_slot(text: str, at: int, scale: Scale) -> Reading | None:
    """What stands at a place where an answer may stand, with what confirms or contradicts it right behind.

    >>> scale = Scale.points(1, 5, anchors={1: "not at all", 5: "extremely"})
    >>> read_slot("**4** (extremely)", 0, scale).value, read_slot("2, extremely", 0, scale).form
    (4.0, 'conflict')
    """
    at = _undecorated(text, at)
    if sure := _SURE.match(text, at):
        at = sure.end()
    if (degree := _DEGREE.match(text, at)) and not wordings(scale).by_degree:
        at = degree.end()
    reading = read_number(text, at, scale)
    if reading is not None:
        if _SEQUENCE.match(text, reading.end) or _SECOND.match(text, reading.end):
            return Reading("several", reading.end)
        return _confirmed(text, reading, scale)
    reading = read_label(text, at, scale)
    if reading is not None:
        also = _ALSO.match(text, reading.end)
        opt_out = read_opt_out(text, also.end(), scale) if also else None
        if opt_out is not None and opt_out.usable:
            return Reading("conflict", opt_out.end)
        return _counted(text, reading, scale)
    return read_opt_out(text, at, scale) or read_letter(text, at, scale)


def read_lead(text: str, scale: Scale) -> Reading | None:
    """An answer with which a text begins, set off from what follows; the stem of an option may come first."""
    at = _undecorated(text, 0)
    stems = wordings(scale).stems
    if stems is not None and (stem := stems.match(text, at)):
        behind = re.compile(r"\s?:").match(text, stem.end())
        reading = read_label(text, at, scale)
        if behind and reading is None:
            at = behind.end()
    reading = read_slot(text, at, scale)
    explains = reading is not None and words(text[at : reading.end]) in wordings(scale).slot_only
    if reading is None or (reading.form in {"label", "several", "conflict"} and not explains):
        return reading
    return reading if _LED.match(text, reading.end) else None


def read_all(text: str, scale: Scale) -> Reading | None:
    """The answer that a text consists of, with nothing beside it.

    >>> scale = Scale.labels("negative", "neutral", "positive")
    >>> [read_all(text, scale).value for text in ["[1]", "(c)", "**Neutral.**"]]
    [1.0, 2.0, 1.0]
    >>> read_all("neutral, I think", scale) is None
    True
    """
    reading = read_lead(text, scale)
    return reading if reading is not None and closed(text, reading.end) else None


def closed(text: str, at: int) -> bool:
    """Whether nothing but punctuation follows."""
    match = _CLOSING.match(text, at)
    return match is not None and match.end() == len(text)


def option_lists(text: str, scale: Scale) -> list[Span]:
    """Where a text lists options as a prompt does: two or more codes or letters, each with its own wording.

    >>> option_lists("1 = no, 2 = yes", Scale.points(1, 2, anchors={1: "no", 2: "yes"}))
    [(0, 6), (8, 15)]
    """
    spans: list[Span] = []
    codes: set[float] = set()
    for match in _PAIR.finditer(text):
        label = read_label(text, match.end(), scale) or _stemmed(text, match.end(), scale)
        if label is not None and label.value is not None and label.value == amount(match):
            spans.append((match.start(), label.end))
            codes.add(label.value)
    for match in _LETTERED.finditer(text):
        label = read_label(text, match.end(), scale)
        position = ord(match[1]) - ord("A")
        if label is not None and position < len(scale.options) and label.value == scale.shown[position].code:
            spans.append((match.start(), label.end))
            codes.add(label.value)
    return spans if len(codes) > 1 else []


def _stemmed(text: str, at: int, scale: Scale) -> Reading | None:
    stems = wordings(scale).stems
    stem = stems.match(text, at) if stems is not None else None
    return read_label(text, _undecorated(text, stem.end()), scale) if stem else None


def _undecorated(text: str, at: int) -> int:
    match = _DECORATION.match(text, at)
    return match.end() if match else at


def _confirmed(text: str, reading: Reading, scale: Scale) -> Reading:
    """A number with the wording or the opt-out that stands right behind it."""
    if reading.value is None:
        return reading
    between = _BETWEEN.match(text, reading.end)
    at = between.end() if between else reading.end
    if at == reading.end and not _ALSO.match(text, at):
        return reading
    label = read_label(text, at, scale) or _stemmed(text, at, scale)
    if label is not None and label.value is not None:
        equated = "=" in text[reading.end : at]
        if reading.value == label.value or (agree(scale, reading.value, label.value) and not equated):
            return Reading("label" if scale.named else reading.form, label.end, reading.value)
        return Reading("conflict", label.end)
    also = _ALSO.match(text, reading.end)
    opt_out = read_opt_out(text, also.end() if also else at, scale)
    if opt_out is not None and opt_out.usable:
        return Reading("conflict", opt_out.end)
    otherwise = _means_otherwise(text, reading, scale) or _other_side(text, reading, scale)
    return Reading("conflict", reading.end) if otherwise else reading


def _means_otherwise(text: str, reading: Reading, scale: Scale) -> bool:
    """Whether a code is given a meaning that has no word of its own: "1 = not very sure" for "1 = not at all"."""
    label = scale.label(reading.value) if reading.value is not None else ""
    meaning = _EQUATED.match(text, reading.end)
    own = {word for word in words(label).split() if len(word) > 3 or label == word}
    if meaning is None or reading.value is None or label == show_code(reading.value):
        return False
    return not own & set(words(meaning[1]).split())


def _other_side(text: str, reading: Reading, scale: Scale) -> bool:
    """Whether a code is called by a word of the other end: "1 (slightly untrustworthy)" from -3 to 3."""
    remark, (low, high) = _REMARK.match(text, reading.end), scale.ends
    if remark is None or not reading.value or not low < 0 < high:
        return False
    own, other = (set(words(scale.label(end)).split()) for end in ((high, low) if reading.value > 0 else (low, high)))
    said = set(words(remark[1]).split())
    return bool(said & {word for word in other - own if len(word) > 4}) and not said & {"not", "than", "never", "but"}


def _counted(text: str, reading: Reading, scale: Scale) -> Reading:
    """A label with its meaning, or the number that stands in brackets or behind a dash right after it."""
    behind = re.compile(r"\s?[*_\"']{0,3}\s?(?:[(\[:=]|-(?=\s)|,(?=\s?\d)|(?<=[\"'])(?=\d))\s?").match(
        text, reading.end
    )
    if behind is None or reading.value is None:
        return reading
    meaning = read_label(text, behind.end(), scale)
    if meaning is not None and meaning.same(reading):
        return meaning
    number = read_number(text, behind.end(), scale)
    if "=" in behind.group() and number is None:
        return Reading("conflict", reading.end)
    if number is None or number.value is None:
        return reading
    if agree(scale, number.value, reading.value):
        return Reading("number", number.end, number.value)
    return Reading("conflict", number.end)
