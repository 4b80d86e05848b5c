"""Numbers as answers: digits, words, "4/5", "4 out of 5"; and what looks like one but is none."""

from __future__ import annotations

import re
from typing import Final

from vantage.raters.replies.reply import JOINED, Reading
from vantage.scales import Scale

DIGITS: Final = r"(?:\d{1,3}+(?:,\d{3})++(?![\d])|\d++(?:[.,]\d++)?|\.\d++)"
NUMBER: Final = rf"(?P<sign>[+-]|(?:minus|negative|plus)[\s*_)(-]{{1,3}})?(?P<digits>{DIGITS})(?![\w])(?!:\d)"
FILLER: Final = (
    r"(?:(?:a|an|the|clearly|definitely|simply|just|only|solid|strong|weak|firm|clear|low|high|number"
    r"|option|score|rating|point|level|of|is|at|as|to\sbe|would\sbe)\s){0,4}"
)
NUMERIC: Final = ("number", "word", "fraction")
"""Forms of answers that are numbers."""
UNITS: Final = re.findall(
    r"[\w-]+",
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen",
)
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
WORDS: Final[dict[str, float]] = (
    {word: float(n) for n, word in enumerate(UNITS)}
    | {word: 10.0 * n for n, word in enumerate(_TENS, 2)}
    | {f"{ten}-{unit}": 10.0 * t + u for t, ten in enumerate(_TENS, 2) for u, unit in enumerate(UNITS[:10]) if u}
    | {"hundred": 100.0}
)

_SLOT = re.compile(rf"(?P<filler>{FILLER}){NUMBER}", re.IGNORECASE)
_NUMBER_WORD = rf"(?:{'|'.join(_TENS)})[ -](?:{'|'.join(UNITS[1:10])})|{'|'.join(sorted(WORDS, key=len, reverse=True))}"
_WORD_SLOT = re.compile(
    rf"(?P<filler>{FILLER})(?P<sign>(?:minus|negative|plus)[\s*_)(-]{{1,3}})?(?P<word>{_NUMBER_WORD})(?!\w)",
    re.IGNORECASE,
)
_OUT_OF = re.compile(
    rf"\s?[*_\"')]{{0,4}}\s?(?:/|out\sof|of|von|sur|su|de|van|av|из)\s?(?:a\spossible\s)?(?P<top>{DIGITS})(?![\w])",
    re.IGNORECASE,
)
_OUT_OF_WORD = re.compile(rf"\sout\sof\s({'|'.join(WORDS)})\b", re.IGNORECASE)
_RANGE_TAIL = re.compile(
    rf"\s?[*_\"')]{{0,4}}\s?(?:-|(?!of\b){JOINED}|a(?=\s\d)|\.\.|,?\s?\(?(?:or\s)?(?:maybe|possibly|perhaps))\s?[*_\"']{{0,4}}(?:an?\s)?[+-]?(?:{DIGITS}|{'|'.join(UNITS[:11])})"
    r"(?=[*_]{0,4}\s{0,3}(?:$|[\n.,;:!?)\]\"'(]|out\sof|/|because|on\b|for\b|-))",
    re.IGNORECASE,
)
_ENDPOINT = rf"(?:an?\s)?[+-]?(?:{DIGITS}|(?:{'|'.join(UNITS[:11])})\b)"
_RANGE = re.compile(
    rf"(?:somewhere\s)?(?:between|either|from|entre|tra|fra|zwischen|entweder|między|между)\s{_ENDPOINT}\s?(?:(?!of\b){JOINED}|-)\s?{_ENDPOINT}(?!\w)",
    re.IGNORECASE,
)
_EQUAL = re.compile(r"\s?=\s?[+-]?\d")
_DATE = re.compile(r"\d{1,4}([/.-])\d{1,2}\1\d{1,4}(?!\d)")
_PERCENT = re.compile(r"\s?(?:%|percent\b|per\scent\b)", re.IGNORECASE)
# What may follow a number that is an answer; anything else ("3 months", "2 of them") makes it part of a sentence.
_AFTER = re.compile(
    r"\s{0,3}(?:$|[\n.,;:!?)\]}\"'*_|(/=<>\ue001~#]|-(?!\d))|\s(?:because|since|as|for|on|out|given|due|with|from|in|but|and|which|where|would"
    r"|is(?!\sthe\s(?:highest|lowest|best|worst|top|maximum|minimum)\b)|seems|sounds|feels|fits|might|based|points?|stars?|here|overall|too|or)\b",
    re.IGNORECASE,
)
_AFTER_WORD = re.compile(
    r"\s{0,3}(?:$|[\n.,;:!?)\]}\"'*_|(/<]|-(?!\d))|\s(?:because|since|out|points?|stars?|on|or|to|from)\b",
    re.IGNORECASE,
)
_UNIT = re.compile(r"\s(?:points?|stars?)(?=\s{0,3}(?:$|[\n.,;:!?)]))", re.IGNORECASE)
_NEGATIVE_BEFORE = re.compile(r"\b(?:negative|minus|neg)\W{0,3}$", re.IGNORECASE)
_NEGATIVE_BEHIND = re.compile(r"\W{0,3}(?:on\sthe\s|in\sthe\s)?(?:negative|minus\b|below\szero)", re.IGNORECASE)
_SIGNS = {"-": -1.0, "minus": -1.0, "negative": -1.0}


def read_number(text: str, at: int, scale: Scale) -> Reading | None:
    """The number that stands at a place of a text, if it can be an answer; or the obstacle.

    >>> scale = Scale.points(1, 5)
    >>> for text in ["4/5", "a 3.", "3 or 4", "3.5", "7", "four", "2 weeks", "8/10"]:
    ...     print(text, "->", reading.form if (reading := read_number(text, 0, scale)) else None)
    4/5 -> fraction
    a 3. -> number
    3 or 4 -> range
    3.5 -> decimal
    7 -> off-scale
    four -> word
    2 weeks -> None
    8/10 -> other-scale
    """
    if _DATE.match(text, at):
        return None
    if match := _RANGE.match(text, at):
        return Reading("range", match.end())
    digits = _SLOT.match(text, at)
    match = digits or _WORD_SLOT.match(text, at)
    if match is None:
        return None
    value = amount(match) if digits else _sign(match) * WORDS[re.sub(r"[ -]", "-", match["word"].casefold())]
    end = match.end()
    if digits and scale.named and "option" in match["filler"].casefold():  # the options had no numbers
        return Reading("other-scale", end)
    if _other_sign(text, match, scale):
        return Reading("conflict", end)
    if digits and (percent := _PERCENT.match(text, end)):
        return _placed(value, "number", percent.end(), scale) if scale.range == (0.0, 100.0) else None
    if top := _OUT_OF.match(text, end):
        return _of(value, _float(top["top"]), top.end(), scale)
    if not digits and (top := _OUT_OF_WORD.match(text, end)):
        return _of(value, WORDS[top[1].casefold()], top.end(), scale)
    if tail := _RANGE_TAIL.match(text, end):
        return Reading("range", tail.end())
    if not digits:
        return _placed(value, "word", end, scale) if _AFTER_WORD.match(text, end) else None
    if equal := _EQUAL.match(text, end):
        return Reading("conflict", equal.end())
    if not _AFTER.match(text, end) or (scale.named and text[end : end + 1] == ")" and "(" not in text[:at]):
        return None
    unit = _UNIT.match(text, end)
    return _placed(value, "number", unit.end() if unit else end, scale)


def has_range(text: str) -> bool:
    """Whether a text gives two numbers as the ends of a range or as alternatives.

    >>> has_range("somewhere between 3 and 4"), has_range("either a 3 or a 4"), has_range("3 of 4")
    (True, True, False)
    """
    return _RANGE.search(text) is not None


def amount(match: re.Match[str]) -> float:
    """The value of a match of `NUMBER`; "-0" is zero without a sign."""
    return _sign(match) * _float(match["digits"]) + 0.0


def _sign(match: re.Match[str]) -> float:
    return _SIGNS.get((match["sign"] or "").strip(" *_)(").casefold().rstrip("-") or (match["sign"] or "").strip(), 1.0)


def _other_sign(text: str, match: re.Match[str], scale: Scale) -> bool:
    """Whether the words around a number without a sign speak of a negative one: "2 (negative)"."""
    if match["sign"] or scale.ends[0] >= 0:
        return False
    before, behind = text[max(0, match.start() - 14) : match.start()], text[match.end() : match.end() + 30]
    return bool(_NEGATIVE_BEFORE.search(before) or _NEGATIVE_BEHIND.match(behind))


def _of(value: float, top: float, end: int, scale: Scale) -> Reading:
    """A number out of a highest number: an answer only if that is the top of this scale."""
    if top != scale.ends[1]:
        return Reading("other-scale", end)
    return _placed(value, "fraction", end, scale)


def _placed(value: float, form: str, end: int, scale: Scale) -> Reading:
    if scale.holds(value):
        return Reading(form, end, value)
    low, high = scale.ends
    return Reading("decimal" if low < value < high and value % 1 else "off-scale", end)


def _float(digits: str) -> float:
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+", digits):
        return float(digits.replace(",", ""))
    return float(digits.replace(",", "."))
