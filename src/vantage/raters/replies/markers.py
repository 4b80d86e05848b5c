"""Answers that a reply announces: "Answer: 4", "my rating is 6", "I would give it a 3", tags and boxes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

from vantage.raters.replies.doubts import hedged, supposed
from vantage.raters.replies.labels import explained, is_negated, wordings, words
from vantage.raters.replies.numbers import NUMERIC
from vantage.raters.replies.other_languages import ANSWER
from vantage.raters.replies.reply import Reading, is_named
from vantage.raters.replies.slots import closed, read_all, read_slot
from vantage.scales import Scale

_NOUN = (
    r"(?:answers?|rating|score|label|choice|verdict|response|judge?ment|classification|likert(?:\sscale)?|rate|result|value|selection"
    r"|evaluation|option|pick|grade|level|(?:selected|chosen|my)\sscale|assessment)"
)
_ANNOUNCED = re.compile(
    rf"(?<![\w<]){_NOUN}\b(?:\s(?:to|for|of)\s(?:(?:this|that|the|your|its)\s)?(?:[a-z-]{{1,16}}\s)?[a-z-]{{3,16}})?[*_\"']{{0,4}}(?:\s?\([^()\n]{{0,60}}\))?(?:\s?\ue001{{1,80}}+)?[*_\"']{{0,4}}\s?"
    r"(?:(?:is|was|are|would\sbe|will\sbe|should\sbe|of)\b|=|:|\||->|→|-(?=\s?[^\d\s]|\s))(?:\s?(?:therefore|thus|then|that|probably|likely)\b)?"
    r"[:*_\"'\s]{0,6}(?:-(?=[a-z]))?(?:the\s(?:colou?r|category|label|class)\s(?=[*_\"']{1,3}\w))?",
    re.IGNORECASE,
)
_ELSEWHERE = re.compile(
    r"(?:^|[.!,]\s{0,3}|\b(?:quindi|perciò|pertanto|dunque|donc|also|daher|somit|entonces|portanto)\s)[*_\"']{0,4}"
    r"(?:(?:la|il|mia|mi|ma|die|meine|minha|a|de|mijn|mitt|moja|final|finale)\s){0,3}"
    rf"{ANSWER}(?:\s(?:finale?|corretta|correcta))?[*_\"']{{0,4}}\s?"
    r"(?:(?:è|sarà|es|est|ist|lautet|é|is|är|to)\b|:|是|为|は|은|는)[:*_\"'\s]{0,6}",
    re.IGNORECASE | re.MULTILINE,
)
"""An answer that is announced in another language; only the announcement at the beginning of a clause, for what denies
it is known in English alone."""
_ASKS_WHICH = re.compile(
    r"\bwhich\s(?:\w{1,20}\s){0,3}?(\w{3,20})\sdoes\s(?:this|the|that)\s(\w{3,20})\s"
    r"(?:(?:best|most|mainly|primarily)\s)?(\w{3,20})\b",
    re.IGNORECASE,
)
"""A question that can be answered in its own words: "which culture does this image best represent?"."""
_CONCLUDED = re.compile(
    r"(?<!\w)(?:therefore|thus|hence|so|overall|in\s(?:conclusion|summary|short)|based\son\s[^.,:\n]{3,60}|conclusion|finally|final)\b\s?[,:]?\s?"
    r"(?:(?:it's|it\sis|this\sis|my\sanswer\sis|the\sanswer\sis|i'd\ssay|i\swould\ssay)\s)?[*_\"']{0,4}",
    re.IGNORECASE,
)
_JUDGED = re.compile(
    r"(?<!\w)(?:i|we|i'd|i'll|we'd|i'm|im|let's|let\s(?:us|me))(?:\s(?:am|would|will|do|could|might|must|should|(?:am\s)?going\sto|have\sto))?"
    r"(?:\s(?:still|probably|personally|therefore|also|just|now|definitely|rather|likely|then|thus))?"
    r"\s(?:rate|rated|give|gave|score|scored|say|choose|chose|select|selected|pick|picked|assign|assigned|answer|put|mark|marked|marking|rating|giving|label|labelled|classify"
    r"|go\s(?:with|for)|opt\sfor|(?:settle|land)\son|lean\stowards?|consider|call|guess|estimate|judge|think|believe|(?:suggest|recommend)(?:\s(?:choosing|selecting|picking|option))?)\b",
    re.IGNORECASE,
)
_JUDGED_THING = re.compile(r"\b(?:the|this|that|each|an?)\s([a-z]{4,20})")
_STEP = re.compile(
    r"\s(?:as|at|a|an|is|was|be|with|it|of|to|option|choice|colou?r|category|label|class)(?=\s)|:\s?|\s(?=[\"'*(\d+-])",
    re.IGNORECASE,
)
_PAUSE = re.compile(r"\s?(?:\.{3,4}|…)\s{1,3}(?=[*_\"']{1,3}\w)")
"""What holds back an answer that is set apart: "I choose... **green**"."""
_OPENING = re.compile(r"[\s\"'*_(:]{0,6}")
_ONE_OF_THEM = re.compile(r"[\s\"'*_]{0,4}(?:just\s|only\s)?one\b", re.IGNORECASE)
_CHOICE = re.compile(r"\b(?:choose|chose|select(?:ed)?|pick(?:ed)?|go\s(?:with|for)|opt\sfor)$", re.IGNORECASE)
_BOUND = re.compile(
    r"\b(?:at\sleast|at\smost|less\sthan|more\sthan|over|under|up\sto|nearly|almost|below|above|after|for|in)\s$",
    re.IGNORECASE,
)
_COMPARED = re.compile(
    r"\b(?:which|who)\b[^?\n]{0,80}?\b(?:is|are|was|were|sounds|seems|looks)\s((?:more|less|most|least)\s\w{2,20}|\w{2,12}(?:er|est))\b",
    re.IGNORECASE,
)
"""What a question compares its options by: "which output is better?"."""
_PREFER = re.compile(r"\b(?:i|we)(?:'d|\swould|\sdo|\sstill)?\s(?:prefer|favou?r)\s[\"'*_(]{0,3}$", re.IGNORECASE)
_ONLY_SAID = re.compile(
    r"\b(?:whether|at\sfirst|initially|might|may|could|can|would|thought|unclear|unsure|not\s(?:sure|clear|certain)"
    r"|thinks?|believes?|claims?|argues?|says?|said|feels?|seems?|assum\w{1,4}|suppos\w{1,4}|answer|instruction)\b[^.!?\n]{0,120}$",
    re.IGNORECASE,
)
_OWN_VIEW = re.compile(
    r"\b(?:i|we)(?:'d|\s(?:would|do|must|can|also))?\s(?:say|argue|believe|think|conclude|find|feel)\b[^.!?\n]{0,40}$",
    re.IGNORECASE,
)
"""What only speaks of a preference, unless it is the writer's own."""
_OR = re.compile(r"\bor\s[\"'*_(]{0,3}$", re.IGNORECASE)
_OR_ELSE = re.compile(r"[.,\"'*_)]{0,5}\sor\b", re.IGNORECASE)
"""One of the statements between which a prompt lets the rater choose."""
_STOP = re.compile(r"[\"'*_)]{0,4}\s{0,2}(?:$|[.,;!\n]|because\b|since\b|as\b|over\b)")
_BEHIND = re.compile(r"[^.!?\n]{0,160}")
_BETTER = ("better", "best", "superior", "preferable", "preferred")
_BUT = re.compile(r"\b(?:but|yet|however|whereas|while)\b", re.IGNORECASE)
_SAID = re.compile(r"\b(?:but|an?|is|was|be|it's|say|rate|give|overall|here)[\s,:]{1,2}[*_\"']{0,3}", re.IGNORECASE)
RATED = re.compile(r"[*_\"'\s]{0,4}(?:my\s|the\s)?(?:rating|score|rate|grade|level)\b", re.IGNORECASE)
"""What announces a number on a scale of ratings."""
_CLAUSE_START = re.compile(r"(?:^|[.!?\n,;:(*\"'-]|\b(?:and|but))\s{0,3}$", re.IGNORECASE)
_CLAUSE = re.compile(r"[^!?\n;]{0,160}+")
_BECAUSE = re.compile(r"\s(?:because|since|when|if|should)\s", re.IGNORECASE)
_LETTERED = re.compile(r"\b(?:option|choice|answer|letter)\s[\"'*(]{0,3}$", re.IGNORECASE)
_FULL_STOP = re.compile(r"\.(?!\d)")
_POINT = re.compile(r"(?:^|(?<=[.!?:]\s)|(?<=\n))[ \t*]{0,6}(\d{1,2})[.)]\s")
_HEADED = re.compile(r"\s{0,3}1[.)]\s{1,3}\*\*[^*\n]{1,80}:\*{0,2}")
"""A first point under a heading in bold: "1. **Error:**"."""
_TAG = re.compile(r"<(likert|answer|rating|score|label|value|choice|final_answer|response)>", re.IGNORECASE)
_RATIONALE = re.compile(r"<(rationale|reason|reasoning|explanation|justification)>", re.IGNORECASE)
_BOXED = re.compile(r"\\boxed\{(?:\\text\{)?([^{}\n]{1,80})\}")
_BRACKETED = re.compile(
    r"\[\[\s?([^\[\]\n]{1,40}?)\s?\]\]"
    r"|\[(?:RESULT|FINAL(?:\sANSWER)?|VERDICT)\][\s:*]{0,4}\(?([^\s()\[\]]{1,20})",
    re.IGNORECASE,
)
_LONGEST_FIELD = 4_000
_TAGS = 20
"""As many tags are read, from the end; an answer has one, or one for each question."""


def tagged(text: str) -> tuple[list[str], str | None, bool]:
    """What stands between answer tags (or in a LaTeX box), the reason between its tags, and whether a tag is open.

    >>> tagged("<likert>7</likert><rationale>They say so.</rationale>")
    (['7'], 'They say so.', False)
    """
    answers: list[str] = []
    cut = False
    for tag in list(_TAG.finditer(text))[-_TAGS:]:
        content, is_open = _field(text, tag)
        answers.append(content)
        cut = is_open
    if not answers:
        answers = [box[1] for box in list(_BOXED.finditer(text))[-_TAGS:]]
    reasons = [_field(text, tag)[0] for tag in list(_RATIONALE.finditer(text))[-1:]]
    return answers, (reasons[-1] or None) if reasons else None, cut


def bracketed(text: str, scale: Scale) -> Reading | None:
    """The last answer in the brackets of a judge, unless several are told one after the other, as a prompt does.

    >>> scale = Scale.points(1, 10)
    >>> bracketed("Vivid but short. Rating: [[8]]", scale).value, bracketed("Clear. [RESULT] 4", scale).value
    (8.0, 4.0)
    >>> bracketed("Say [[1]] for bad and [[10]] for good.", scale).form
    'several'
    """
    readings = [
        (place, reading)
        for place in list(_BRACKETED.finditer(text))[-_TAGS:]
        if (reading := read_all(place[1] or place[2], scale)) and reading.usable
    ]
    if not readings or supposed(text, *readings[-1][0].span()):
        return None
    for (one, first), (other, second) in pairwise(readings):
        if "\n" not in text[one.end() : other.start()] and not first.same(second):
            return Reading("several", other.end())
    place, last = readings[-1]
    return replace(last, end=place.end())


def announced(text: str, scale: Scale, names: Iterable[str], ask: str = "") -> Iterator[tuple[int, Reading]]:
    """Every answer that is announced, with the place where the announcement begins.

    At the beginning of a line, a name of the question announces it too: "Trust: -1". Where the question is about a
    response, "the response is excellent" speaks of that response and announces nothing.
    """
    named, judged = is_named(scale), set(_JUDGED_THING.findall(ask.casefold()))
    for pattern in (_ANNOUNCED, _CONCLUDED, _named(tuple(names))):
        for marker in pattern.finditer(text):
            reading = read_slot(text, marker.end(), scale)
            if reading is None or is_negated(text, marker.start()) or _asks(text, marker.start()):
                continue
            if "\n" in marker.group() and reading.form == "number" and enumerates(text[marker.end() :]):
                continue
            if pattern is _CONCLUDED and not _CLAUSE_START.search(text, max(0, marker.start() - 8), marker.start()):
                continue
            if RATED.match(marker.group()) and (reading.form == "letter" or (named and reading.form in NUMERIC)):
                # A rating is a number on a scale of ratings, and its letter a grade; these answers are words.
                yield marker.start(), Reading("other-scale", reading.end)
                continue
            said = words(text[marker.end() : reading.end])
            subject, *verb = words(marker.group()).split() or [""]
            if reading.form == "label" and verb and subject in judged:
                continue
            if pattern is _CONCLUDED and (not _ends(text, reading.end) or said in wordings(scale).slot_only):
                continue
            if not supposed(text, marker.end(), reading.end):
                yield marker.start(), _sure(text, marker.end(), reading)
    yield from _in_another_language(text, scale)
    yield from _in_words_of(ask, text, scale)
    for marker in _JUDGED.finditer(text):
        if is_negated(text, marker.start()):
            continue
        reading = _judged(text, marker.end(), scale)
        if reading is not None and not supposed(text, marker.end(), reading.end):
            yield marker.start(), reading


def _in_another_language(text: str, scale: Scale) -> Iterator[tuple[int, Reading]]:
    """What is announced in another language, if but once: words that take one back or limit it are known in English."""
    answers: list[tuple[int, Reading]] = []
    for marker in _ELSEWHERE.finditer(text):
        reading = read_slot(text, marker.end(), scale)
        if reading is not None and not supposed(text, marker.end(), reading.end):
            answers.append((marker.start(), reading))
    for start, reading in answers:
        several = len({(other.value, other.opt_out) for _, other in answers}) > 1 or (
            reading.form == "label" and names_other(text[reading.end :], reading, scale)
        )
        yield start, Reading("several", reading.end) if several else reading


def _in_words_of(ask: str, text: str, scale: Scale) -> Iterator[tuple[int, Reading]]:
    """Options that a sentence names in the words of the question: "this image best represents the … culture"."""
    asked = _ASKS_WHICH.search(ask)
    if asked is None:
        return
    kind, thing, verb = map(re.escape, asked.groups())
    stated = re.compile(
        rf"\b(?:this|the)\s{thing}\s(?:[\"\ue000][^\n]{{0,200}}?[\"\ue000]\s)?(?:(?:best|most|mainly|primarily)\s)?{verb}(?:e?s)\s"
        rf"(?:(?:the|an?)\s)?(?:{kind}\sof\s(?:(?:the|an?)\s)?)?[*_\"']{{0,4}}",
        re.IGNORECASE,
    )
    behind = re.compile(rf"[\"'*_)]{{0,4}}\s(?:{kind}|people)\b(?:\sof\s\w{{1,20}})?", re.IGNORECASE)
    for place in stated.finditer(text):
        reading = read_slot(text, place.end(), scale)
        if reading is None or reading.form not in {"label", "several", "opt-out"} or is_negated(text, place.end()):
            continue
        called = behind.match(text, reading.end)
        end = called.end() if called else reading.end
        only_said = _ONLY_SAID.search(text[max(0, place.start() - 160) : place.start()])
        sentence = _BEHIND.match(text, end)
        rest = sentence.group() if sentence else ""
        if _ends(text, end) and not only_said and not supposed(text, place.start(), end):
            yield place.start(), Reading("several", end) if names_other(rest, reading, scale) else reading


def names_other(text: str, reading: Reading, scale: Scale) -> bool:
    """Whether a text names another option than one that was read, whatever it says of it.

    >>> names_other("although it is not fair", Reading("label", 0, 0.0), Scale.labels("foul", "fair"))
    True
    """
    known = wordings(scale)
    places = known.pattern.finditer(text) if known.pattern else ()
    return any(known.codes.get(words(place.group()), reading.value) != reading.value for place in places)


def compares(ask: str) -> str | None:
    """What a question compares its options by, where it asks which of them is better, or more of something.

    >>> compares("Which output is better?"), compares("Is the output good?")
    ('better', None)
    """
    match = _COMPARED.search(ask)
    return match[1].casefold() if match else None


def preferred(text: str, scale: Scale, ask: str) -> list[Reading]:
    """The options that a text puts first in reply to a question that compares them.

    >>> scale = Scale.labels("Output (a)", "Output (b)")
    >>> text = "Output (a) is short. Therefore, Output (b) is better."
    >>> [reading.value for reading in preferred(text, scale, "Which output is better?")]
    [1.0]
    """
    by, known = compares(ask), wordings(scale)
    if by is None or known.pattern is None:
        return []
    each = "|".join(re.escape(word).replace(r"\ ", r"\s") for word in (_BETTER if by in _BETTER else (by,)))
    first = re.compile(
        rf"[\"'*_)]{{0,4}}\s(?:is|was)\s(?:(?:the|clearly|overall|slightly|much|significantly|definitely|therefore|thus)\s){{0,3}}"
        rf"(?:{each})(?:\s(?:one|choice|option|output|response|answer|reply|text))?(?:\sthan\s(?:the\sother|{known.pattern.pattern}))?"
        r"(?=[\"'*_)]{0,4}\s{0,2}(?:$|[.;!\n]|,(?!\s(?:if|unless|when|only|provided)\b)|because\b|since\b|as\b))",
        re.IGNORECASE,
    )
    readings = []
    for option in known.pattern.finditer(text):
        before = text[max(0, option.start() - 160) : option.start()]
        behind = first.match(text, option.end()) or (_PREFER.search(before) and _STOP.match(text, option.end()))
        code = known.codes.get(words(option.group()))
        if behind and (_OR.search(before) or _OR_ELSE.match(text, behind.end())):
            continue
        if not behind or code is None or (_ONLY_SAID.search(before) and not _OWN_VIEW.search(before)):
            continue
        if not is_negated(text, option.start()) and not supposed(text, option.start(), behind.end()):
            readings.append(Reading("label", behind.end(), code))
    return readings


def limited(text: str, marker: Reading, scale: Scale) -> bool:
    """Whether the sentence goes on to set another answer against an announced one.

    >>> text = "The score is 4 in general, but here it is 7."
    >>> limited(text, Reading("number", 14, 4.0), Scale.points(1, 9))
    True
    """
    behind = _BEHIND.match(text, marker.end)
    contrast = _BUT.search(text, marker.end, behind.end()) if behind else None
    if behind is None or contrast is None:
        return False
    for step in _SAID.finditer(text, contrast.start(), behind.end()):
        other = read_slot(text, step.end(), scale)
        if other is None or other.value is None or other.same(marker) or (is_named(scale) and other.form in NUMERIC):
            continue
        if other.form == "label" and _BUT.match(step.group()):  # "but yellow would do"
            continue
        if not is_negated(text, step.end()) and not supposed(text, step.end(), other.end):
            return True
    return False


def enumerates(text: str) -> bool:
    """Whether the number with which a text begins is that of a first point.

    >>> enumerates("8. They left. 9. They came back."), enumerates("8. They left at 9.")
    (True, False)
    >>> enumerates("1. **Tone:** They are sad.")
    True
    """
    points = [int(point[1]) for point in _POINT.finditer(text)]
    return bool(_HEADED.match(text)) or (len(points) > 1 and points[1] == points[0] + 1)


def _sure(text: str, at: int, reading: Reading) -> Reading:
    """An announced answer, unless it is only offered as a possibility."""
    hedge = hedged(text, at) or re.compile(r"[\s\"'*_]{0,4}(?:maybe|perhaps|possibly|conceivably)\b", re.I).match(
        text, at
    )
    return Reading("hedged", reading.end) if hedge and reading.form in NUMERIC else reading


@lru_cache(maxsize=256)
def _named(names: tuple[str, ...]) -> re.Pattern[str]:
    each = "|".join(r"[\W_]{1,3}".join(re.escape(word) for word in name.split()) for name in sorted(names))
    return re.compile(
        rf"^\W{{0,6}}(?:{each or '(?!)'})[*_\"']{{0,4}}\s?(?:[:=|]|->|→|-(?=\s))[*_\"'\s]{{0,6}}",
        re.IGNORECASE | re.MULTILINE,
    )


def ends_announcing(text: str) -> bool:
    """Whether a text breaks off just where an answer should come.

    >>> ends_announcing("All in all, my rating is"), ends_announcing("my rating is 4")
    (True, False)
    """
    tail = text[-80:]
    return any(marker.end() == len(tail) for marker in _ANNOUNCED.finditer(tail))


def _field(text: str, tag: re.Match[str]) -> tuple[str, bool]:
    """The content of a tag; one that is not closed ends at the next tag or with the text."""
    body = text[tag.end() : tag.end() + _LONGEST_FIELD]
    close = body.casefold().find(f"</{tag[1].casefold()}>")
    if close >= 0:
        return body[:close].strip(), False
    other = body.find("<")
    return (body[:other] if other >= 0 else body).strip(), other < 0


def _judged(text: str, at: int, scale: Scale) -> Reading | None:
    """The first answer in the clause behind "I would rate …"; in "I choose one", one is no number."""
    pause = _PAUSE.match(text, at)
    if pause is None and _ONE_OF_THEM.match(text, at) and _CHOICE.search(text, max(0, at - 20), at):
        return None
    at = pause.end() if pause else at
    match = _CLAUSE.match(text, at)
    clause = match.group() if match else ""
    if stop := _FULL_STOP.search(clause):
        clause = clause[: stop.start()]
    limit = at + len(clause)
    for place in [at, *(step.end() for step in _STEP.finditer(text, at, limit))]:
        reading = read_slot(text, place, scale)
        begins = _OPENING.match(text, place)
        if reading is None or begins is None or is_negated(text, begins.end()):
            continue
        if reading.form in NUMERIC and is_named(scale):
            continue
        if reading.form == "letter" and not _LETTERED.search(text, at, place):
            continue
        if reading.form in {"label", "letter", "opt-out", "no-opt-out"} and (
            not _ends(text, reading.end) or explained(text, place, reading.end)
        ):
            continue
        if hedged(text, place) or re.compile(r"\s?(?:maybe|perhaps|possibly)\b", re.I).match(text, place):
            return _sure(text, place, reading)
        if _BECAUSE.search(text, at, place):
            return None
        if _BOUND.search(text, at, place) or (text[reading.end : reading.end + 1] == ")" and "(" not in clause):
            return None
        return reading
    return None


def _asks(text: str, at: int) -> bool:
    """Whether the words before ask for an answer rather than give one ("give a rating of 1 to 5")."""
    return bool(
        re.search(
            r"\b(?:what|which|give|choose|select|provide)\s(?:\w{1,10}\s){0,2}$|\bform\s[\"']{0,2}$"
            r"|\b(?:can|could|may|might|should)\s(?:write|say|put|reply|answer)\s[\"']{0,2}$",
            text[max(0, at - 40) : at],
            re.IGNORECASE,
        )
    )


def _ends(text: str, at: int) -> bool:
    return closed(text, at) or bool(
        re.compile(
            r"[\"'*_)]{0,4}\s?(?:[.,;!?\n(]|because\b|since\b|-|from\b|on\b|with\b|rather\sthan\b|instead\sof\b)"
        ).match(text, at)
    )
