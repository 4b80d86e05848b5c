"""The wording of the options: labels in any case, as letters, and negated."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from vantage.raters.replies.numbers import UNITS
from vantage.raters.replies.reply import JOINED, Reading
from vantage.scales import Scale

_CALLED = ("text", "option", "response")
"""What stands before the letter of an option that is a letter: "Text A"."""
_ALIASES = {
    "yes": ("true", "y", "yep", "yeah"),
    "no": ("false", "n", "nope"),
    **dict.fromkeys(("favor", "favour"), ("in favor",)),
}
"""Other words for an option, where an answer is expected."""
_DEGREE = re.compile(r"\b(?:strongly|very|highly|extremely|slightly|somewhat|mildly|moderately|mostly|largely)\b")
_GAP = r"(?:[^\w.!?\n]|_){1,4}"
_UNSPACED = re.compile("[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]")
"""Scripts that write words without spaces between them."""
_LETTER = re.compile(r"(?:option\s|choice\s)?\(?([a-z])(?=[).:\]*\"']|\s{0,3}$|\s{0,3}\n)", re.IGNORECASE)
_LETTER_WORDED = re.compile(
    r"(?:option\s|choice\s)?\(?([a-z])(?:\s?[=,(-]\s?|[).:]\s|\s(?=\"))[\"'*(]{0,3}", re.IGNORECASE
)
# "No" is an answer; "no idea", "no rating", "no doubt" are not.
_AFTER_NO = re.compile(
    r"\s{0,3}(?:$|[\n.,;:=!?)\]}\"'*_(<#\ue000-])|\s(?:because|since|as|this|the|it|i|there|he|she|they)\b",
    re.IGNORECASE,
)
# An option that is called A is an answer; "a clear case" is none.
_AFTER_LETTER = re.compile(
    r"\s{0,3}(?:$|[\n.,;:=!?)\]}\"'*_(<#&+/\ue000\ue001-])|\s(?:because|since|is|was|over|and|or|nor|than|for|with)\b"
)
_AND = re.compile(
    rf"[\"'*)]{{0,3}}\s{{0,2}}(?:[,/;]\s?(?:{JOINED}\s)?(?:(?:possibly|perhaps|maybe|potentially)\s)?|[.&+]?\s{{0,2}}{JOINED}\s|(?:[&+→]|[-=]{{0,2}}>)\s?)[\"'*(]{{0,3}}",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Wordings:
    """All the ways in which the options of a scale are called by their names."""

    codes: dict[str, float]
    """Wording in lower case, words separated by one space, and the code it stands for."""
    pattern: re.Pattern[str] | None
    stems: re.Pattern[str] | None
    """The beginnings that options share, up to their colon."""
    slot_only: frozenset[str]
    """Wordings that count where an answer is expected but not inside a sentence."""
    by_degree: bool
    """Whether a degree tells options apart, as in "agree" and "strongly agree"; elsewhere it changes no answer."""


@lru_cache(maxsize=256)
def wordings(scale: Scale) -> Wordings:
    """The wordings of a scale's options; what two options share is left out.

    >>> sorted(wordings(Scale.points(1, 3, anchors={1: "It was: not at all fair", 3: "It was: fair"})).codes)
    ['fair', 'it was fair', 'it was not at all fair', 'it was not fair at all', 'not at all fair', 'not fair at all']
    """
    known: dict[str, set[float]] = {}
    slot_only: set[str] = set()
    stems: set[str] = set()
    for option in scale.options:
        if not option.label:
            continue
        for wording in _variants(option.label):
            known.setdefault(wording, set()).add(option.code)
        for meaning in {words(option.description), words(option.description.partition(",")[0])} - {""}:
            known.setdefault(meaning, set()).add(option.code)
            slot_only.add(meaning)
        for alias in _ALIASES.get(option.label.casefold(), ()):
            known.setdefault(alias, set()).add(option.code)
            slot_only.add(alias)
        if re.fullmatch("[A-Z]", option.label):
            called = {f"{noun} {option.label.casefold()}" for noun in _CALLED}
            slot_only |= called
            for wording in called:
                known.setdefault(wording, set()).add(option.code)
        head, colon, _ = option.label.rpartition(":")
        if colon and words(head):
            stems.add(words(head))
    codes = {wording: codes_of.pop() for wording, codes_of in known.items() if len(codes_of) == 1}
    by_degree = scale.ordered or any(_DEGREE.search(wording) for wording in codes)
    return Wordings(codes, _any_of(list(codes)), _any_of(sorted(stems)), frozenset(slot_only), by_degree)


def words(text: str) -> str:
    """The words of a text in lower case, separated by single spaces; "favour" is "favor"."""
    return " ".join(re.findall(r"[\w']+|[+-](?=\d)", text.casefold().replace("_", " ").replace("favour", "favor")))


def read_label(text: str, at: int, scale: Scale) -> Reading | None:
    """The option that is called by its name at a place of a text.

    >>> scale = Scale.labels("disagree", "agree")
    >>> read_label("Agree, because", 0, scale).value, read_label("disagreeing", 0, scale)
    (1.0, None)
    """
    known = wordings(scale)
    if known.pattern is None:
        return None
    first = _named(text, at, known)
    if first is None:
        return None
    other = _AND.match(text, first.end)
    second = _named(text, other.end(), known) if other else None
    return Reading("several", second.end) if second and not second.same(first) else first


def read_letter(text: str, at: int, scale: Scale) -> Reading | None:
    """The option that is called by its letter, where options are shown so or every one has a wording of its own.

    >>> read_letter("(B) because", 0, Scale.labels("no", "yes")).value
    1.0
    """
    lettered = scale.called == "letters"
    if scale.range is not None or len(scale.options) > 26:
        return None
    if not lettered and not all(option.label for option in scale.options):
        return None
    match = _LETTER.match(text, at)
    worded = _LETTER_WORDED.match(text, at)
    label = read_label(text, worded.end(), scale) if worded else None
    if worded is not None and label is not None:
        place = ord(worded[1].casefold()) - ord("a")
        same = place < len(scale.options) and scale.shown[place].code == label.value
        return Reading("letter" if same else "conflict", label.end, label.value if same else None)
    if match is None:
        return None
    position = ord(match[1].casefold()) - ord("a")
    if lettered and 0 <= position - len(scale.options) < len(scale.opt_outs):
        return Reading("letter", match.end(), opt_out=scale.opt_outs[position - len(scale.options)].status)
    if not 0 <= position < len(scale.options):
        return None
    return Reading("letter", match.end(), scale.shown[position].code)


def _named(text: str, at: int, known: Wordings) -> Reading | None:
    match = known.pattern.match(text, at) if known.pattern is not None else None
    wording = words(match.group()) if match is not None else ""
    if match is None or wording not in known.codes:
        return None
    if wording in {"no", "n", "y"} and not _AFTER_NO.match(text, match.end()):
        return None
    if len(wording) == 1 and wording.isalpha() and not _AFTER_LETTER.match(text, match.end()):
        return None
    return Reading("label", match.end(), known.codes[wording])


def _variants(label: str) -> set[str]:
    """A label, its part behind the colon, before the comma and without brackets; "at all" turned; numbers in words."""
    parts = {
        label,
        label.rpartition(":")[2],
        label.partition(",")[0],
        re.sub(r"\([^()]{0,200}\)", " ", label),
    }
    variants = {words(part) for part in parts if words(part)}
    variants |= {re.sub(r"\b1?\d\b", lambda number: UNITS[int(number.group())], wording) for wording in variants}
    for wording in list(variants):
        variants.add(re.sub(r"\bnot at all (\w[\w ]*)$", r"not \1 at all", wording))
        variants.add(re.sub(r"\bnot (?!at all)(\w[\w ]*?) at all$", r"not at all \1", wording))
    return variants


def _any_of(wordings_: list[str]) -> re.Pattern[str] | None:
    if not wordings_:
        return None
    longest_first = sorted(wordings_, key=len, reverse=True)
    spaced = [wording for wording in longest_first if not _UNSPACED.search(wording)]
    each = "|".join(_GAP.join(map(re.escape, wording.split())) for wording in spaced).replace("favor", "favou?r")
    unspaced = "|".join(re.escape(wording) for wording in longest_first if wording not in spaced)
    whole = [rf"(?<![\w])(?:{each})(?!\w)"] if each else []
    return re.compile("|".join([*whole, *([unspaced] if unspaced else [])]), re.IGNORECASE)
