"""What running prose states: a rating, an option, that the item is silent; and why it states nothing."""

from __future__ import annotations

import re
from itertools import islice

from vantage.raters.replies.copied import COPIED
from vantage.raters.replies.doubts import supposed
from vantage.raters.replies.labels import alludes, is_negated, meant, mentions
from vantage.raters.replies.markers import compares, ends_announcing
from vantage.raters.replies.numbers import NUMBER, amount, has_range, read_number
from vantage.raters.replies.opt_outs import UNSAID, phrase
from vantage.raters.replies.predicates import denies_answer, read_predicate
from vantage.raters.replies.refusals import refuses
from vantage.raters.replies.reply import Reading, agree
from vantage.scales import Scale

SENTENCE = re.compile(r"[^.!?\n]{1,600}+")
_NUMBER = re.compile(rf"(?<![\w./]){NUMBER}", re.IGNORECASE)
_ARTICLE = re.compile(
    r"\b(?:an?(?:\s(?:solid|strong|weak|clear|firm))?|(?:degree|extent|level)\sof)\s[\"'*]{0,3}$", re.IGNORECASE
)
_NO_RATING = re.compile(
    r"\b(?:there(?:\s(?:is|was)|'s)|towards?|leans?\sto|instead\sof|at\s(?:least|most)|up\sto|nearly|almost|above|below)\san?\s[\"'*]{0,3}$",
    re.IGNORECASE,
)
_RATED = re.compile(r"\b(?:rate[sd]?|rating|score[sd]?)\b[^.!?\n\d]{0,80}\s(?:as|at)\s[\"'*]{0,3}$", re.IGNORECASE)
_ASIDE = re.compile(r"\b(?:confidence|certainty|sure|probability)\W{1,4}(?:\w{1,6}\s)?$", re.IGNORECASE)
# "I'm really very trustworthy" is said of the writer; where a narrator is asked about, it may be said in their place.
_OF_ONESELF = re.compile(r"(?:^|[.!?\n])\W{0,3}(?:i\sthink\s)?i(?:'m|\sam)\s|\bmade?\sme\slook\b", re.IGNORECASE)
_ABOUT_A_PERSON = re.compile(r"\b(?:narrator|you|your|agree)\b", re.IGNORECASE)
_GOES_ON = re.compile(r"[\"'*_)]{0,4},?\s(?!because\b|since\b|as\b|over\b|and\b|or\b)[a-z]")
_CLOSED = re.compile(r"[.!?…:)\]\"'*]\s*$")
_HOWEVER = re.compile(r"[.!?;]\s{1,3}however\b", re.IGNORECASE)
_WORDS = 60
"""Up to as many words a reply may take to say that the item is silent; in longer ones that is an aside."""
_NEGATIONS = 100
"""As many numbers are looked at to tell whether one is denied."""


def stated_numbers(text: str, scale: Scale, ask: str = "") -> set[float]:
    """Numbers that prose states as a rating: "a 9", "4/5"; nothing that counts or measures something.

    >>> sorted(stated_numbers("It took 3 weeks, so a 4, not a 5.", Scale.points(1, 5)))
    [4.0]
    """
    numbers: set[float] = set()
    read = 0
    for number in _NUMBER.finditer(text):
        at = number.start()
        if at < read:  # the second of two alternatives
            continue
        reading = read_number(text, at, scale)
        read = reading.end if reading is not None else read
        if reading is None or reading.value is None or _ASIDE.search(text[max(0, at - 24) : at]):
            continue
        rated = (
            reading.form == "fraction"
            or (_ARTICLE.search(text[max(0, at - 14) : at]) and not _NO_RATING.search(text[max(0, at - 24) : at]))
            or _RATED.search(text[max(0, at - 100) : at])
        )
        if rated and not is_negated(text, at) and not supposed(text, at, reading.end, ask):
            numbers.add(reading.value)
    return numbers


def continues(text: str, at: int) -> bool:
    """Whether what stands before a place is the subject of a sentence: "Output (a) is short"."""
    return bool(_GOES_ON.match(text, at))


def stated_labels(text: str, scale: Scale, ask: str = "") -> set[float]:
    """The codes of the options that prose calls by their names without denying them."""
    named = [mention for mention in mentions(text, scale) if not mention.negated]
    if compares(ask):
        named = [mention for mention in named if not continues(text, mention.end)]
    return {mention.code for mention in named} if any(not mention.weighed for mention in named) else set()


def read_silence(text: str, ask: str, scale: Scale) -> Reading | None:
    """An opt-out in the writer's own words, at either end of a text or in a short one."""
    sentences = [match.group() for match in SENTENCE.finditer(text) if match.group().strip()]
    if len(text.split()) > _WORDS:
        sentences = [sentences[0], sentences[-1]] if sentences else []
    for sentence in sentences:
        silent = phrase(sentence, scale)
        if silent is not None and not (UNSAID.search(sentence) and (_HOWEVER.search(text) or refuses(text))):
            answered = stated_numbers(text, scale, ask) or stated_labels(text, scale)
            return Reading("conflict", silent.end) if answered else silent
    return None


def read_statement(text: str, ask: str, scale: Scale) -> Reading | None:
    """The one number or option that prose states, or the obstacle where it states several.

    >>> read_statement("All in all it is neutral.", "", Scale.labels("negative", "neutral", "positive")).value
    1.0
    """
    numbers, labels = stated_numbers(text, scale, ask), stated_labels(text, scale, ask)
    if len(numbers) > 1:
        return Reading("several", len(text))
    if numbers:
        number = numbers.pop()
        fits = all(agree(scale, number, label) for label in labels)
        return Reading("number", len(text), number) if fits else Reading("conflict", len(text))
    if len(labels) > 1:
        listed = labels == {option.code for option in scale.options if option.label}
        return Reading("options" if listed else "several", len(text))
    if labels and _OF_ONESELF.search(text) and not _ABOUT_A_PERSON.search(ask):
        return None
    if labels:
        label = labels.pop()
        opposed = denies_answer(text, ask, label, scale) or alludes(text, label, scale)
        return Reading("conflict", len(text)) if opposed else Reading("label", len(text), label)
    predicate = read_predicate(text, ask, scale)
    declined = any(opt_out.status.replace("_", " ") in text.casefold() for opt_out in scale.opt_outs)
    if predicate is not None and (declined or meant(text, scale) - {predicate.value}):
        return Reading("conflict", len(text))
    return predicate


def obstacle(text: str, shown: str, scale: Scale) -> str:
    """Why a text has no answer; `shown` is the text with the words of item and prompt masked."""
    if _denied(shown, scale):
        return "negated"
    if has_range(shown):
        return "range"
    if ends_announcing(shown):
        return "truncated"
    if shown.count(COPIED) * 3 > len(shown):
        return "copied"
    if re.search(r"\d", text) and not re.search(r"\d", shown):
        return "copied" if COPIED in shown else "echo"
    return "truncated" if len(shown) > 200 and not _CLOSED.search(shown[-10:]) else "no-answer"


def _denied(text: str, scale: Scale) -> bool:
    return any(mention.negated for mention in mentions(text, scale)) or any(
        scale.holds(amount(number)) and is_negated(text, number.start())
        for number in islice(_NUMBER.finditer(text), _NEGATIONS)
    )
