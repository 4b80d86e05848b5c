"""The wording of the options: labels in any case, as letters, and negated."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from vantage.raters.replies.doubts import supposed
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
_NEGATION = (
    r"(?:\bnot|n't|\bnever|\bneither|\bnor|\bno|\bwithout|\bhardly|\bbarely|\brather than|\binstead of|\bfar from"
    r"|\banything but|\b(?:refuses?|refused|declines?) to (?:give|say|rate|assign|call)"
    r"|\bunlikely|\bdoubt(?:s|ed|ful)?|\bless than|\bmore than|\bcompared (?:to|with)|\bunlike|\bversus"
    r"|\bcannot|\b(?:do|does|did|is|are|was|were|would|could|ca|wo)nt)"
)
_NEGATED = re.compile(
    rf"(?:{_NEGATION}(?:[^\w.,!?;\n]{{1,3}}\w{{1,20}}){{0,5}}|\bthan(?:\s(?:an?|the))?"
    r"|(?:\bnot|n't|\bdont)\s(?:think|believe|feel|say|agree)(?:[^\w.,!?;\n]{1,3}\w{1,20}){0,10})[^\w.,!?;\n]{1,4}$",
    re.IGNORECASE,
)
_HEDGED = re.compile(
    r"\b(?:somewhat|almost|nearly|partly|partially|half|at worst|at best|at least|at most|mostly|fairly|quite|very|too"
    r"|slightly|a bit|a little|more|less|if|whether|how|or)[^\w.!?\n]{1,3}$",
    re.IGNORECASE,
)
# What is hoped or feared is not stated, and what is set against another hand is not decided.
_UNREAL = re.compile(
    r"\b(?:hop(?:e|es|ed|ing)|wish(?:es|ed|ing)?|wants?|wanted|fears?|feared|worried|worry|afraid)(?:[^\w.!?;\n]{1,3}\w{1,20}){0,6}[^\w.!?;\n]{1,4}$",
    re.IGNORECASE,
)
_WEIGHED = re.compile(
    r"\bon\s(?:the\s)?(?:one|other)\shand\b[^.!?\n]{0,80}$|\b(?:because|since)\sit\s(?:is|was)\s$|\b(?-i:[XYZ])\sis\s$",
    re.IGNORECASE,
)
_ALSO_NOT = re.compile(r"[^.!?\n]{0,4}\sbut\s[^.!?\n]{0,16}\balso\s(?:not\b|\w{1,6}n't\b)", re.IGNORECASE)
# A wording that is asked about or explained: I don't know what "not at all" means.
_EXPLAINED = re.compile(
    r"\bwhat\s[\"'*(]{1,3}$"
    r"|\b(?:corresponds?\sto|stands?\sfor|represents|denotes|means)\s?[\"'*(]{0,3}(?:\w[\w ]{1,40}:\s?)?$",
    re.IGNORECASE,
)
_MEANS = re.compile(r"[\"'*)]{0,3}\s(?:means?|meant|before\sit)\b", re.IGNORECASE)
_UNSPACED = re.compile("[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]")
"""Scripts that write words without spaces between them."""
_WINDOW = 90
_LETTER = re.compile(r"(?:option\s|choice\s)?\(?([a-z])(?=[).:\]*\"']|\s{0,3}$|\s{0,3}\n)", re.IGNORECASE)
_LETTER_WORDED = re.compile(r"(?:option\s|choice\s)?\(?([a-z])(?:\s?[=,(-]\s?|\s(?=\"))[\"'*(]{0,3}", re.IGNORECASE)
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
_CODED = re.compile(r"(?<![\w.])([+-]?\d{1,3})\s?=\s?[\"'*]{0,2}$")
_COMMA = re.compile(r"[\"'*]{0,2}(?:[,/]|,?\s(?:or|nor))\s?[\"'*]{0,2}", re.IGNORECASE)
_BETWEEN = re.compile(r"\bbetween\s[\"'*]{0,2}$", re.IGNORECASE)
_SILENT = re.compile(r"(?:\bnot|n't|\bnever)\s(?:\w{1,12}\s)?(?:mention|express|say|state|acknowledge)", re.IGNORECASE)
"""Where what is denied is that something was said, and not what it would have said."""
_STATED = re.compile(
    r"(?:\b(?:i|is|are|was|were|be|as|seems|seem|appears|looks|look|feels|remains|choose|pick|select|(?<!free\sto\s)(?<!able\sto\s)say"
    r"|(?:call|rate|label|find|consider|mark|deem|judge|make)\sit)|'s|:)"
    r"(?:\s(?:clearly|definitely|certainly|simply|just|indeed|overall|probably|actually|really|in\sfact|rather))?"
    r"[\s\"'*_]{1,4}$",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(
    r"[\"'*_)]{0,4}\s{0,2}(?:$|[.,;!?\n]|the\starget\b|because\b|since\b|as\b|about\b|towards?\b|in\sterms\b|\(|-|with\s(?:this|the|that)\s(?:statement|claim|sentence)\b(?!\s?[\"'(]))",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Mention:
    """The wording of an option inside a text."""

    code: float
    start: int
    end: int
    negated: bool
    weighed: bool = False
    """Whether it is only one side of what is weighed, or a reason: "on the other hand, it is better"."""


@dataclass(frozen=True, slots=True)
class Wordings:
    """All the ways in which the options of a scale are called by their names."""

    codes: dict[str, float]
    """Wording in lower case, words separated by one space, and the code it stands for."""
    pattern: re.Pattern[str] | None
    at_all: tuple[tuple[re.Pattern[str], float], ...]
    """Patterns for "did not feel threatened at all", where an option is called "not at all threatened"."""
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
    at_all: list[tuple[re.Pattern[str], float]] = []
    stems: set[str] = set()
    for option in scale.options:
        if not option.label:
            continue
        for wording in _variants(option.label):
            known.setdefault(wording, set()).add(option.code)
            if rest := re.fullmatch(r"not at all (\w[\w ]{1,40})", wording):
                at_all.append((_at_all(rest[1]), option.code))
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
    return Wordings(codes, _any_of(list(codes)), tuple(at_all), _any_of(sorted(stems)), frozenset(slot_only), by_degree)


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
    worded = _LETTER_WORDED.match(text, at) if match is None else None
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


def mentions(text: str, scale: Scale) -> Iterator[Mention]:
    """Every option that is called by its name inside a text, with whether that is negated.

    A name of one word counts only where a sentence states it ("it is neutral."), for most such words have
    other uses.
    """
    known = wordings(scale)
    if known.pattern is not None:
        places = list(known.pattern.finditer(text))
        enumerated = _enumerated(text, places)
        for match in places:
            wording = words(match.group())
            before = text[max(0, match.start() - _WINDOW) : match.start()]
            if (
                wording not in known.codes
                or wording in known.slot_only
                or match.start() in enumerated
                or _HEDGED.search(before)
                or _UNREAL.search(before)
                or explained(text, match.start(), match.end())
                or ((coded := _CODED.search(before)) and float(coded[1]) != known.codes[wording])
            ):
                continue
            negated = bool(_NEGATED.search(before))
            if not negated and supposed(text, match.start(), match.end()):
                continue
            single = " " not in wording
            if single and not negated and re.search(r"should be\W{0,3}$", before, re.IGNORECASE):
                continue
            if single and not negated and not _STATED.search(before):
                continue
            # "I agree that …" says something of another sentence, but speaks against "I disagree".
            aside = single and not negated and not _SENTENCE_END.match(text, match.end())
            weighed = aside or bool(_WEIGHED.search(before) or _ALSO_NOT.match(text, match.end()))
            yield Mention(known.codes[wording], match.start(), match.end(), negated, weighed)
    for pattern, code in known.at_all:
        for match in pattern.finditer(text):
            if not (
                _SILENT.match(match.group())
                or supposed(text, match.start(), match.end())
                or supposed(text, match.end(), match.end())
                or explained(text, match.start(), match.end())
            ):
                yield Mention(code, match.start(), match.end(), False, bool(_ALSO_NOT.match(text, match.end())))


def _enumerated(text: str, places: Sequence[re.Match[str]]) -> set[int]:
    """Where wordings stand that are only told one after the other: "agree, disagree, strongly agree"."""
    numbers: set[int] = set()
    for one, other in pairwise(places):
        gap = text[one.end() : other.start()]
        either = _BETWEEN.search(text, max(0, one.start() - 12), one.start()) and _AND.fullmatch(gap)
        if (_COMMA.fullmatch(gap) or either) and words(one.group()) != words(other.group()):
            numbers |= {one.start(), other.start()}
    return numbers


def explained(text: str, start: int, end: int) -> bool:
    """Whether a wording is only spoken of: what it means, which code it stands for.

    >>> explained('I do not know what "fair" means.', 20, 24)
    True
    """
    return bool(_EXPLAINED.search(text, max(0, start - 70), start) or _MEANS.match(text, end))


def meant(text: str, scale: Scale) -> set[float]:
    """The codes of the options whose explanation a text repeats, whatever it is said of, and does not deny.

    >>> from vantage.scales import Option
    >>> scale = Scale((Option(0, "no", "It has a serious error."), Option(1, "yes", "It is all true.")), "nominal")
    >>> meant("Yes, the text has a serious error.", scale)
    {0}
    """
    codes: set[float] = set()
    for option in scale.options:
        core = re.sub(r"^(?:it|i|they|(?:the|this) \w+) ", "", words(option.description))
        telling = core.count(" ") > 1 or (" " in core and core != words(option.description))
        place = re.search(_GAP.join(map(re.escape, core.split())), text, re.IGNORECASE) if telling else None
        if place and not is_negated(text, place.start()):
            codes.add(option.code)
    return codes


def alludes(text: str, answer: float, scale: Scale) -> bool:
    """Whether a text calls another option by the beginnings of its words: "a complete sarcasm".

    >>> scale = Scale.points(1, 6, anchors={1: "not at all sarcastic", 6: "completely sarcastic"})
    >>> alludes("It is a complete sarcasm.", 1, scale), alludes("It is not a complete sarcasm.", 1, scale)
    (True, False)
    """
    own = " ".join(words(option.label) for option in scale.options if option.code == answer)
    for option in scale.options:
        stems = [re.escape(word[:6]) for word in words(option.label).split()]
        if words(option.label) in own or len(stems) != 2 or min(map(len, stems)) < 6:
            continue
        place = re.search(rf"\b{stems[0]}\w{{0,8}}\s{stems[1]}\w{{0,8}}", text, re.IGNORECASE)
        if place and not is_negated(text, place.start()):
            return True
    return False


def is_negated(text: str, at: int) -> bool:
    """Whether what stands at a place is denied by the words before it."""
    return bool(_NEGATED.search(text[max(0, at - _WINDOW) : at]))


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


def _at_all(rest: str) -> re.Pattern[str]:
    phrase = _GAP.join(re.escape(word) for word in rest.split())
    between = r"(?:[^\w.,!?;\n]{1,3}\w{1,20})"
    return re.compile(
        rf"{_NEGATION}{between}{{0,8}}?{_GAP}(?:{phrase}{between}{{0,6}}?{_GAP}at{_GAP}all|at{_GAP}all{_GAP}{phrase})(?!\w)",
        re.IGNORECASE,
    )
