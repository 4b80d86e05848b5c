"""Free prose, which only recorded replies have: an answer that is set apart, and nothing that casts doubt on it.

The opening words, a line of its own, an announcement ("my rating is 4") and the last sentence are looked at; what they
say must be one answer. Negation, doubt, a condition or a second answer beside it, in any of the languages in which
models reply, leaves the reply `unparsed`: a missing value can be asked for again, a wrong one is never noticed.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Final

from vantage.raters.replies.copied import COPIED, ECHO, copied, masked, restated, scale_echoes
from vantage.raters.replies.labels import read_label, wordings, words
from vantage.raters.replies.numbers import NUMBER, NUMERIC, has_range, read_number
from vantage.raters.replies.opt_outs import phrase
from vantage.raters.replies.phrases import choice
from vantage.raters.replies.refusals import refuses
from vantage.raters.replies.reply import ParsedReply, Reading, agree, unparsed
from vantage.raters.replies.slots import closed, option_lists, read_all, read_lead, read_slot
from vantage.scales import Scale

if TYPE_CHECKING:
    from vantage.instruments import Question

_NOUN: Final = (
    "(?:answer|rating|score|label|choice|verdict|response|judge?ment|classification|result|grade"
    f"|{choice('elsewhere')})"
)
ANSWER_LINE: Final = re.compile(
    rf"[\W_]{{0,6}}(?:\d[.)]\s|last[\s-]line(?:\sof\sanswer)?\W{{0,6}})?(?:(?:my|the|final)\s){{0,2}}{_NOUN}"
    r"[*_\"']{0,4}\s?[:=：][*_\"']{0,4}",
    re.IGNORECASE,
)
"""What a line begins with that announces an answer and has nothing else."""
_MARKED: Final = re.compile(
    rf"(?<![\w<]){_NOUN}\b[*_\"']{{0,4}}\s?"
    r"(?:(?:is|was|è|es|est|ist|lautet|é)\b|[:=|]|->|→|是|为|は|은|는)[:*_\"'\s]{0,6}"
    r"|(?<!\w)(?:i|we)(?:'d|'ll|\s(?:would|will))?\s(?:rate|give|gave|score|choose|chose|pick|select|say|assign|go\swith)\s"
    r"(?:(?:it|this|that|the\s\w{3,20})\s)?(?:(?:as|at|with|option|an?|a\s(?:rating|score)\sof)\s){0,2}[*_\"']{0,4}",
    re.IGNORECASE,
)
_ENDS: Final = re.compile(r"[\"'*_)]{0,4}\s?(?:$|[.,;!\n(|]|-\s|(?:because|since|on|out\sof|for|as)\b)", re.IGNORECASE)
_SENTENCES: Final = re.compile(r"[^.!?。！？\n]+(?:\.(?=\d)[^.!?。！？\n]*)*[.!?。！？]*")
_DOUBT: Final = re.compile(choice("doubt"), re.IGNORECASE)
"""What casts doubt on an answer in its own sentence, or at the beginning of the next."""
_REASON: Final = re.compile(
    rf"(?<!\w)(?:{choice('because')}|out\sof|on\s(?:a|the)\s|as\s(?:the|it|they|he|she|this|there)\b)|[:|(]|-\s", re.I
)
"""What opens a reason, or sets it off, behind an answer; other words there may limit it."""
_ENGLISH: Final = re.compile(r"\b(?:the|this|that|it|they|he|she|there|is|was|somewhat|slightly|very)\b", re.I)
"""Words by which what stands on the line of an answer is known to be English, whose words of doubt are known."""
LETTER: Final = re.compile(r"[^\W\d_]")
WITHDRAWN: Final = re.compile(
    r"\b(?:on\s(?:second\sthoughts?|(?:further\s)?reflection)|scratch\sthat|correction|oops|then\sagain|wait|never\s?mind|just\skidding"
    r"|make\s(?:that|it)\s|take\s(?:that|it|this)\sback|chang(?:e|ed)\smy|stand\scorrected|withdraw|reconsider\w*"
    r"|edited(?=:)|actually,?\s(?:no|i|it|make)|or\srather|i\smeant|both\s(?:seem|are)|don't\sknow\swhy\si)\b",
    re.IGNORECASE,
)
_NOT_SAID: Final = re.compile(r"\bNA\b|\bN/A\b|\b(?i:not\s(?:mentioned|applicable))\b")
_PLACED: Final = re.compile(r"\W{0,4}(?:at|of|as|in|on)\s", re.IGNORECASE)
"""How a sentence about something else begins: "At 7, the narrator left"."""
_OPEN_LINE: Final = re.compile(rf"{ANSWER_LINE.pattern}\s*(?:X|\.{{3}}|_{{2,9}}|\[[^\[\]\n]{{0,40}}\])?[\W_]*$", re.I)
_OPENED: Final = re.compile(r"\A\W{0,4}<(\w{3,30})>(?!.*</\1>)", re.DOTALL)
"""A mark with which a text begins and that nothing closes: where the answer begins is not known."""
_BULLET: Final = re.compile(r"\s{0,8}[-*•]\s")
_NUMBERED: Final = re.compile(r"^[ \t*]{0,6}\d{1,2}[.)]\s", re.MULTILINE)
_NUMBER: Final = re.compile(rf"(?<![\w.,/+-]){NUMBER}", re.IGNORECASE)
_LINES: Final = 400
_ANSWERS: Final = 40
"""A text that sets apart so many answers is a list, whatever they say."""
_AROUND: Final = 600
"""Characters on either side of an answer in which its sentence may cast doubt on it."""


def names_options(text: str, scale: Scale) -> bool:
    """Whether a text names an option, by its wording or by a number that may be an answer.

    >>> names_options("I hope this helps!", Scale.points(1, 5)), names_options("or 3.", Scale.points(1, 5))
    (False, True)
    """
    return any(True for _ in _named(text, scale))


def _named(text: str, scale: Scale) -> Iterator[tuple[int, Reading]]:
    """Every place at which a text names an option, by its wording or by a number that may be an answer."""
    known = wordings(scale)
    for option in known.pattern.finditer(text) if known.pattern else ():
        reading = read_label(text, option.start(), scale)
        if reading is not None and words(option.group()) not in known.slot_only:
            yield option.start(), reading
    if not scale.named:
        for number in _NUMBER.finditer(text):
            reading = read_number(text, number.start(), scale)
            if reading is not None and (reading.usable or reading.form in ("range", "conflict")):
                yield number.start(), reading


@lru_cache(maxsize=256)
def _called(names: tuple[str, ...]) -> re.Pattern[str]:
    """A name of the question at the beginning of a line: "Trust: -1"."""
    each = "|".join(r"[\W_]{1,3}".join(re.escape(word) for word in name.split()) for name in names) or "(?!)"
    return re.compile(rf"^[\W_]{{0,6}}(?:{each})[*_\"']{{0,4}}\s?(?:[:=|]|->|→)[*_\"'\s]{{0,6}}", re.I | re.M)


class Prose:
    """A text without a format, in reply to one question about one item."""

    def __init__(self, text: str, question: Question, source: str, names: frozenset[str]) -> None:
        self.text, self.question, self.scale, self.names = text, question, question.scale, tuple(sorted(names))
        own = masked(text, copied(text, source), COPIED)
        echoes = [*scale_echoes(own, self.scale), *option_lists(own, self.scale), *restated(own, question.ask)]
        self.shown = masked(own, echoes, ECHO)
        self.sentences = [one.span() for one in _SENTENCES.finditer(self.shown)]

    def parse(self) -> ParsedReply:
        """What the text says, if it says one thing and no doubt is left."""
        if _OPENED.match(self.text):
            return unparsed("unclosed-thinking")
        readings = list(islice(self._set_apart(), _ANSWERS))
        if not readings:
            return self._silent()
        if len(readings) == _ANSWERS:
            return unparsed("several")
        obstacle = next((reading.form for _, _, reading in readings if not reading.usable), "")
        *_, (start, place, last) = readings
        # An option by its name and its number are one answer, of which the number is the exact one.
        exact = next((one for _, _, one in readings if one.form in NUMERIC), last)
        if not obstacle and any(not self._same(exact, one) for _, _, one in readings):
            obstacle = "several"
        if not obstacle and any(not self._same(exact, one) for _, one in _named(self.shown, self.scale)):
            obstacle = "conflict"
        if not obstacle and (WITHDRAWN.search(self.shown) or _OPEN_LINE.search(self.shown.rpartition("\n")[2])):
            obstacle = "conflict"
        if not obstacle and any(self._doubted(at, one.end) for at, _, one in readings):
            obstacle = "doubt"
        if not obstacle and (refuses(self.shown) or self._announces_otherwise(exact)):
            obstacle = "conflict"
        if obstacle:
            return unparsed(obstacle)
        ended = max((stop.end() for stop in re.finditer(r"[.!?\n]", self.text[:start])), default=0)
        reason = self.text[:ended].strip() or self.text[last.end :].lstrip(". ")
        return exact.reply(place, reason.strip(" \n\t-:;,)|*_") or None)

    def _set_apart(self) -> Iterator[tuple[int, str, Reading]]:
        """Where an answer is set apart: place in the text, name of the place, and what stands there."""
        text, at = self.shown, 0
        listed = len(_NUMBERED.findall(text)) > 1
        lead = read_lead(text, self.scale)
        if lead is not None and not (lead.form in NUMERIC and (listed or self.scale.named)) and self._set_off(lead):
            yield 0, "lead", lead
        for line in text.split("\n")[:_LINES]:
            own = at and line.strip() and not _BULLET.match(line) and words(line) not in wordings(self.scale).slot_only
            whole = read_all(line, self.scale) if own else None
            if whole is not None and "=" not in line and not (whole.form in NUMERIC and self.scale.named):
                yield at, "line", Reading(whole.form, at + whole.end, whole.value, whole.opt_out)
            at += len(line) + 1
        for pattern in (_MARKED, _called(self.names)):
            for mark in pattern.finditer(text):
                reading = read_slot(text, mark.end(), self.scale)
                if reading is None:
                    continue
                if pattern is _MARKED and reading.form in (*NUMERIC, "letter") and self.scale.named:
                    continue
                if words(text[mark.end() : reading.end]) in wordings(self.scale).slot_only:
                    continue
                if closed(text, reading.end) or _ENDS.match(text, reading.end):
                    yield mark.start(), "marker", reading

    def _announces_otherwise(self, exact: Reading) -> bool:
        """Whether an answer line says something else in words of its own, or that the item does not say."""
        lines = [(line, mark) for line in self.shown.split("\n") if (mark := ANSWER_LINE.match(line))]
        written = [(line, mark.end()) for line, mark in lines if line[mark.end() :].strip(" X*_.")]
        readings = [read_slot(line, at, self.scale) for line, at in written]
        if any(one is None or not self._same(exact, one) for one in readings):
            return True
        silent = any(phrase(self.shown[slice(*one)], self.scale) for one in self.sentences)
        return exact.value is not None and (silent or _NOT_SAID.search(self.shown) is not None)

    def _set_off(self, lead: Reading) -> bool:
        """Whether punctuation or a reason follows the opening words: "Yes, it is", and not "No idea"."""
        said = words(self.shown[: lead.end])
        if self.shown[:1] in "\"'" or _PLACED.match(self.shown) or said in wordings(self.scale).slot_only:
            return False
        if lead.value is not None and lead.value in {self.scale.code("yes"), self.scale.code("no")}:
            # What follows a yes or a no may well say the opposite.
            return closed(self.shown, lead.end)
        return closed(self.shown, lead.end) or bool(_ENDS.match(self.shown, lead.end))

    def _same(self, one: Reading, other: Reading) -> bool:
        if one.same(other):
            return True
        if one.value is None or other.value is None or "label" not in (one.form, other.form):
            return False
        number, label = (one.value, other.value) if other.form == "label" else (other.value, one.value)
        return agree(self.scale, number, label)

    def _doubted(self, start: int, end: int) -> bool:
        """Whether the sentence of an answer doubts it, denies it or makes it a condition, before it or close behind.

        Behind it only a reason may follow, and what is set off must be English: other languages doubt in words that no
        list has.
        """
        place = bisect_right(self.sentences, (start, len(self.shown) + 1)) - 1
        begin, stop = self.sentences[place] if place >= 0 else (start, end)
        if start >= stop:
            begin, stop = start, end
        begin, stop = max(begin, start - _AROUND), min(stop, end + _AROUND)
        answer = re.sub(r"[^\w']+", " ", self.shown[start:end])
        before = self.shown[begin:start]
        behind = self.shown[end : max(stop, end)]
        opener = _REASON.search(behind)
        remark = behind[: opener.start()] if opener else behind
        inside = _DOUBT.search(answer) if not wordings(self.scale).codes else None
        if inside or _DOUBT.search(before) or _DOUBT.match(self.shown[stop:].lstrip()) or LETTER.search(remark):
            return True
        if opener and opener.group()[0].isalpha():
            return False
        line = self.shown[end:].partition("\n")[0]
        return bool(_DOUBT.search(behind) or (LETTER.search(line) and not _ENGLISH.search(line)))

    def _silent(self) -> ParsedReply:
        """A text that sets no answer apart: a refusal, that the item does not say, or why there is nothing."""
        named = any(reading.usable for _, reading in _named(self.shown, self.scale))
        if refuses(self.shown) and not named:
            return ParsedReply(None, "refused", self.text, "prose:refusal")
        phrases = [phrase(self.shown[slice(*one)], self.scale) for one in self.sentences]
        if not named and (reading := next(filter(None, phrases), None)):
            return reading.reply("prose", self.text)
        if has_range(self.shown):
            return unparsed("range")
        if re.search(r"\d", self.text) and not re.search(r"\d", self.shown):
            return unparsed("copied" if COPIED in self.shown else "echo")
        announced = [mark for mark in _MARKED.finditer(self.shown[-80:]) if mark.end() == len(self.shown[-80:])]
        return unparsed("truncated" if announced else "no-answer")
