"""Declining to choose: NA, "not mentioned", "the text does not say", "it cannot be told"."""

from __future__ import annotations

import re
from functools import lru_cache

from vantage.raters.replies.labels import words
from vantage.raters.replies.phrases import choice
from vantage.raters.replies.reply import Reading
from vantage.scales import Scale, Status

_NAMES: dict[Status, str] = {
    "not_mentioned": "not mentioned|not applicable|not addressed|not stated|not specified|not discussed|n a|na",
    "ambiguous": "ambiguous|undetermined|cannot tell|can't tell|cannot be told|cannot be determined|unclear",
}
_ITEM = f"(?:{choice('item')})"
_SILENT = re.compile(choice("silent"), re.IGNORECASE)
UNSAID = re.compile(
    r"^\W{0,3}(?:the\s)?(?:narrator|author|speaker|writer|poster)\s(?:does\snot|doesn't|did\snot|didn't)(?:\s\w{1,12}ly)?\s"
    r"(?:(?:mention|express|state|say|specify|indicate)\s(?=(?:whether|if|how|what)\b)"
    r"|mention\s(?=(?!\S{1,20}sel(?:f|ves)\b)(?:(?!\bas\b)[^.!?\n]){1,80}\sin\srelation\sto\b))"
    r"(?!.*\b(?:but|however|though|although|besides|other\sthan|seems?|implie[sd])\b)",
    re.IGNORECASE | re.DOTALL,
)
"""Who is asked about keeps silent, and nothing is inferred from other words."""
_UNTOLD = re.compile(
    rf"\b(?:cannot|can't|can\snot|could\snot|couldn't|impossible\sto|not\spossible\sto|unable\sto|hard\sto|difficult\sto)\s(?:be\s)?"
    rf"(?:tell|told|determined?|determine|infer(?:red)?|know|known|deduced?)\b(?=[^.!?\n]{{0,80}}\b(?:{_ITEM}|alone|shown|context)\b|\s?[.!?\n]|$)",
    re.IGNORECASE,
)
_HYPOTHETICAL = re.compile(r"\b(?:means?|mark)\b", re.IGNORECASE)
_CONDITION = re.compile(r"\b(?:if|whether)\b", re.IGNORECASE)
_INFERRED = re.compile(r"\bbut\b[^.!?\n]{0,60}\b(?:inferred|implied|implies|suggests?|assumed?)\b", re.IGNORECASE)


@lru_cache(maxsize=256)
def _names(scale: Scale) -> tuple[re.Pattern[str], dict[str, Status]]:
    known: dict[str, Status] = {name: status for status, names in _NAMES.items() for name in names.split("|")}
    for opt_out in scale.opt_outs:
        head, _, meaning = opt_out.label.partition(":")
        for part in {opt_out.label, head, opt_out.status, meaning if meaning.count(" ") > 2 else ""}:
            if words(part):
                known[words(part)] = opt_out.status
    each = "|".join(
        r"[\W_]{1,4}".join(re.escape(word) for word in name.split()) for name in sorted(known, key=len, reverse=True)
    )
    return re.compile(rf"(?<![\w])(?:{each})(?!\w)", re.IGNORECASE), known


def read_opt_out(text: str, at: int, scale: Scale) -> Reading | None:
    """The opt-out that is named at a place of a text; an obstacle where the scale has none of this kind.

    >>> from vantage.scales import OptOut
    >>> scale = Scale.points(1, 9, opt_outs=[OptOut("not_mentioned", "not mentioned")])
    >>> read_opt_out("N/A: nothing is said", 0, scale).opt_out
    'not_mentioned'
    >>> read_opt_out("N/A", 0, Scale.points(1, 9)).form
    'no-opt-out'
    """
    pattern, known = _names(scale)
    match = pattern.match(text, at)
    if match is None:
        return None
    # "na" is a word of some languages and "NA" the answer; "n a" comes from "N/A" only.
    if words(match.group()) == "na" and match.group() not in {"NA", "na", "Na"}:
        return None
    status = known.get(words(match.group()))
    return None if status is None else offered(status, "opt-out", match.end(), scale)


def phrase(sentence: str, scale: Scale) -> Reading | None:
    """The opt-out that a sentence states in its own words.

    >>> from vantage.scales import OptOut
    >>> scale = Scale.points(1, 9, opt_outs=[OptOut("not_mentioned", "not mentioned")])
    >>> phrase("The post does not say anything about fairness.", scale).opt_out
    'not_mentioned'
    """
    if _HYPOTHETICAL.search(sentence):
        return None
    if unsaid := UNSAID.search(sentence):
        return _first(("not_mentioned",), unsaid.end(), scale)
    if match := _SILENT.search(sentence):
        statuses: tuple[Status, ...] = ("not_mentioned", "ambiguous")
    elif match := _UNTOLD.search(sentence):
        statuses = ("ambiguous", "not_mentioned")
    else:
        return None
    if _CONDITION.search(sentence, 0, match.end()) or _INFERRED.search(sentence, match.end()):
        return None
    return _first(statuses, match.end(), scale)


def _first(statuses: tuple[Status, ...], end: int, scale: Scale) -> Reading | None:
    has = [opt_out.status for opt_out in scale.opt_outs]
    status = next((status for status in statuses if status in has), None)
    return Reading("phrase", end, opt_out=status) if status else None


def offered(status: Status, form: str, end: int, scale: Scale) -> Reading:
    """An opt-out as a reading, where the scale offers it."""
    if any(opt_out.status == status for opt_out in scale.opt_outs):
        return Reading(form, end, opt_out=status)
    return Reading("no-opt-out", end)
