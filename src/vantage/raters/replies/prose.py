"""Text without a format: the rules, in the order in which they are tried.

First comes what the writer sets apart as the answer: a text that is nothing else, the opening words, an
announcement, a line of its own, the last sentence. Then what only running prose says: a refusal, that the item is
silent, a number or an option that is stated. Wherever two of these contradict each other, nothing is chosen.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from vantage.raters.replies.copied import COPIED, ECHO, Span, copied, masked, scale_echoes
from vantage.raters.replies.doubts import FORCED, behind_withdrawal, unaccounted, withdrawn
from vantage.raters.replies.labels import meant, read_label, wordings, words
from vantage.raters.replies.markers import announced, compares, enumerates, limited, names_other, preferred
from vantage.raters.replies.numbers import NUMERIC
from vantage.raters.replies.opt_outs import denies, phrase
from vantage.raters.replies.other_languages import ANSWER, in_another_language, says_only
from vantage.raters.replies.own_lines import listed_lines, names_another, own_lines
from vantage.raters.replies.predicates import denies_answer
from vantage.raters.replies.refusals import refuses
from vantage.raters.replies.reply import ParsedReply, Reading, agree, is_named, unparsed
from vantage.raters.replies.slots import option_lists, read_all, read_lead, read_slot
from vantage.raters.replies.statements import (
    SENTENCE,
    continues,
    obstacle,
    read_silence,
    read_statement,
    stated_labels,
    stated_numbers,
)

if TYPE_CHECKING:
    from vantage.instruments import Question

_SENTENCE_BREAK = re.compile(r"(?<=[.!?\"')])\s{1,4}")
_SENTENCE_END = re.compile(r"[.!?\n]")
_LISTED_END = re.compile(r"[.!?)\n]")
_LISTED = re.compile(r"(?<![\w.])([+-]?\d{1,2})\s?[-=:]\s(?=[A-Za-z\"'])")
_HEADING = re.compile(r"(?:sure|certainly|of course|okay|ok|here)\b[^.!:\n]{0,60}[.!:,]\s{1,3}", re.IGNORECASE)
_LED_IN = re.compile(r"(?:\b(?:so|thus|therefore|hence|my|the|final|overall)[\s,:*]{0,3}){1,4}$", re.IGNORECASE)


_PLACED = re.compile(r"\W{0,4}(?:at|of|as|in|on)\s", re.IGNORECASE)
"""How a sentence about something else begins: "At 7, the narrator left"."""
_HEDGED = re.compile(r"\W{0,4}(?:maybe|perhaps|possibly|conceivably)\b", re.IGNORECASE)
_HELD_BACK = re.compile(r"\b(?:might|could|may)\b[^.!?\n]{0,60}\.{3}$", re.IGNORECASE)
"""A possibility that is only named behind the dots: "I might choose... green"."""
_CONDITION = re.compile(
    rf"[\"'*_)]{{0,4}},?\s(?:only\s)?(?:if{FORCED}(?!\syou\b)|unless|depending|provided|assuming)\b", re.IGNORECASE
)
_ASKED = re.compile(r"[\"'*_)]{0,4}\s?\?")
_CONCLUSION = re.compile(
    r"\W{0,4}(?:therefore|thus|so|hence|overall),?\s(?:i|my\s(?:final\s)?(?:answer|choice|rating))\b", re.IGNORECASE
)
_NUMERO = re.compile(r"\b(?:No|pg|pp?|vol|ch|fig|ca|approx)\.$", re.IGNORECASE)
_REMARK = re.compile(
    r"[,.!]?\s(?:(?:this|that|it)(?:\sis|'s)\san?\s(?:\w{1,14}\s){0,3}(?:question|point|topic)\b|i\sthink\sso\b"
    r"|i\s(?:understand|see|would\sgive)\b|(?:thank|sure)\b|(?:it(?:'s|\sis)|i(?:'m|\sam))\snot\s(?:clear|sure)\b)",
    re.IGNORECASE,
)
"""What follows a yes or a no that answers something else."""


_WORDED = re.compile(
    r"[\W_]{0,4}([a-z][a-z' -]{1,40}?)[*_\"']{0,3}\s?(?:[(\[]|[=:-]\s)([+-]?\d{1,3})[)\]]?[.*]{0,3}", re.I
)
"""A wording of the rater's own with its code, and nothing else: "slightly trustworthy (+1)"."""
_NO_WORDING = re.compile(
    r"\b(?:not|no|never|or|and|than|between|maybe|perhaps|example|question|item|step|point|page|turn|part|line|version|chapter|scale"
    r"|confidence|certainty|max|min|maximum|minimum|top|at|in|on|from|to|by|until|about|since|error|code)\b",
    re.I,
)
_NEXT_LINE = re.compile(r"[\"'.*]{0,3}\n(?=\d{1,3}\s(?:because|since)\b)")
"""A label and, on the line below it, a number with its reason."""
_LEFT_OPEN = re.compile(
    r"\banswer\s?:\s?[\"'*_]{0,3}(?:X|\.{3}|_{2,9}|\[[^\[\]\n]{0,40}\])?[\"'*_.]{0,3}\s*$", re.IGNORECASE
)
"""An answer line at the end that is as empty as in the prompt; what was said before is not the answer."""
_ANSWER_LINE = re.compile(
    rf"^[\W_]{{0,6}}(?:(?:my|the|final)\s){{0,2}}(?:answer|rating|score|label|choice|response|verdict|{ANSWER})[*_\"']{{0,4}}\s?:(?=(.*\w))",
    re.IGNORECASE | re.MULTILINE,
)
"""One of several lines that announce an answer; where the last one has none, those before do not count."""
_FINAL_LINE = re.compile(
    r"\W{0,4}(?:\d{1,2}[.)]\s)?(?P<last>(?:the\s)?(?:last|final)\sline\b[^\w\n]{0,6})?"
    r"(?:(?:my|the|final|to\sconclude,)\s){0,2}(?:answer|X(?=\s?=))[*_\"']{0,4}\s?[:=]",
    re.IGNORECASE,
)
"""The last line as prompts ask for it."""
_EXAMPLE = re.compile(
    r"\b(?:example|format|form|possible|could|would|might|if|previous|others?)\b[^.!?\n]{0,60}:\W{0,3}$", re.IGNORECASE
)
"""A line that announces what is not the answer."""
_UNSURE = re.compile(r"[,.!]?\s(?:i(?:'m|\sam)\snot\ssure|i\sdon't\sknow)\b", re.IGNORECASE)
_EQUATED = re.compile(r"^\W{0,3}(\w[\w ]{0,30}?)\s?=", re.MULTILINE)
_DECLINING = re.compile(r"^\W{0,3}(?:ambiguous|not[ _]mentioned)[\"']?\s?=.{0,200}$", re.IGNORECASE | re.MULTILINE)
"""An opt-out with what it means, as a prompt lists it."""
_BESIDE = re.compile(r",\s(?!(?:not|but|rather|instead|nor|as|since|because|with|the|it)\b)\w{1,20}\s[\w ]{3,40}\.?$")
"""A few words right behind the opening option, and no more."""
_SET_OFF = re.compile(r"[\"'*_)]{0,4}\s?(?:$|[.,;:!\n(-])")
_ANSWER_LENGTH = 60
"""Characters up to which a last line may be nothing but the answer."""
_AGREES = re.compile(
    r"((?:i|we)\s)(?:(?:strongly|completely|fully|firmly|wholeheartedly|totally|absolutely|respectfully)\s)?(?=(?:dis)?agree\b)",
    re.IGNORECASE,
)
_CONCEDES = re.compile(r"\b(?:but|however|although|though)\b", re.IGNORECASE)
_STATEMENT = re.compile(
    r"\s(?:that|with\s(?:(?:the|this)\s(?:statement|claim|idea|view|notion)(?:\sthat)?|(?![^.!?,;\n]{1,60}\sthat\b)))\s?"
    r"([^.!?,;\n]{1,300})",
    re.IGNORECASE,
)
_FINAL_WORDS = frozenset({"answer", "rating", "score", "label", "choice", "response", "verdict", "result"})
"""Words of which each announces one answer."""


class Prose:
    """One stretch of text in reply to a question about an item.

    >>> from vantage.instruments import Instrument
    >>> question = Instrument.load("irony").question("irony")
    >>> Prose("They praise the rain. So, yes.", question, "", frozenset()).parse().rule
    'marker:label'
    """

    def __init__(self, text: str, question: Question, source: str, names: frozenset[str]) -> None:
        self.question, self.scale, self.names = question, question.scale, names
        heading = _HEADING.match(text)
        self.text = (text[heading.end() :] if heading else "") or text
        shown = masked(self.text, copied(self.text, source), COPIED) if source else self.text
        shown = masked(shown, scale_echoes(shown, self.scale), ECHO)
        lists = [*option_lists(shown, self.scale), *_listed_codes(shown), *listed_lines(shown)]
        lists += [line.span() for line in _DECLINING.finditer(shown) if line.start()]
        self.shown = masked(shown, lists, ECHO)
        answer = re.search(rf"[^\s{ECHO}]", self.shown)
        place = answer.start() if answer else 0
        self.among_options = any(end <= place for _, end in lists) and any(start > place for start, _ in lists)
        """Whether what is not the list of options stands in the middle of it."""

    def parse(self) -> ParsedReply:
        """What the first rule finds; in other languages than English, if nothing else could be meant."""
        reply = self._first_found()
        if reply.value is None or reply.rule.startswith("whole:") or not in_another_language(self.text):
            return reply
        lead = read_lead(self.shown, self.scale) if reply.rule == "lead:label" else None
        if lead is not None and not _SET_OFF.match(self.shown, lead.end):
            return unparsed("language")
        *above, last = self.shown.rstrip().split("\n")
        line = above and len(last) <= _ANSWER_LENGTH and says_only(last, reply.value, self.scale, named=True)
        return reply if line or says_only(self.shown, reply.value, self.scale) else unparsed("language")

    def _first_found(self) -> ParsedReply:
        whole = read_all(self.shown, self.scale)
        if whole is not None and whole.usable:
            listed = self.among_options or ("=" in self.shown and ECHO in self.shown.partition("=")[2])
            return unparsed("options") if listed else whole.reply("whole")
        if unaccounted(self.shown):
            return unparsed("hedged")
        own, listed = own_lines(self.shown, self.scale)
        reply = self._final_line() or self._set_apart(self._lead(listed), own) or self._last_words()
        if reply is None and listed and all(len(line) <= _ANSWER_LENGTH for line in self.shown.split("\n")):
            return unparsed("options")
        return reply or self._worded() or self._said()

    def _worded(self) -> ParsedReply | None:
        """A code behind a wording that is no option's, where both are all there is."""
        pair = None if is_named(self.scale) else _WORDED.fullmatch(self.shown)
        code = read_all(pair[2], self.scale) if pair else None
        if pair is None or code is None or code.value is None or _NO_WORDING.search(pair[1]):
            return None
        return None if names_other(pair[1], code, self.scale) else code.reply("whole")

    def _set_apart(self, lead: Reading | None, own: list[Reading]) -> ParsedReply | None:
        """What the text opens with, announces or gives a line of its own, if nothing speaks against it."""
        marked = list(announced(self.shown, self.scale, sorted(self.names), self.question.ask))
        start, marker = max(marked, key=lambda place: place[0], default=(0, None))
        counted = [one for one in marked if one[1].usable and one[1].form in NUMERIC]
        if counted and marker is not None and marker.form == "label" and not is_named(self.scale):
            named, (start, marker) = marker, max(counted, key=lambda place: place[0])
            if not self._fits(marker, named):
                return unparsed("conflict")
        if (first := preferred(self.shown, self.scale, self.question.ask)) or _LEFT_OPEN.search(self.shown):
            return self._preferred(first, [reading for _, reading in marked])
        lines = list(_ANSWER_LINE.finditer(self.shown))
        if marker is not None and len(lines) > 1 and self._announced_otherwise(lines, marker, start):
            return unparsed("several")
        if {reading.value is None for _, reading in marked if reading.usable} == {True, False}:
            return unparsed("conflict")
        if _said_twice(self.shown, marked):
            return unparsed("several")
        asked_for = any("answer" in line.group().casefold() for line in lines)
        if marker is None and asked_for and any(one is not None and self._is_bare(one) for one in (lead, *own)):
            return unparsed("conflict")
        if lead is not None and lead.usable:
            return self._led(lead, marker, own)
        if lead is not None and not (marker is not None and marker.usable):
            return unparsed(lead.form)
        if marker is not None and marker.usable and any(not (marker.same(o) or self._fits(marker, o)) for o in own):
            return unparsed("conflict")
        if marker is not None:
            return self._marked(marker, start)
        return self._lined(own)

    def _final_line(self) -> ParsedReply | None:
        """The answer line with which a text ends, as prompts ask for it, if no other line says something else."""
        *above, last = self.text.rstrip().split("\n")
        line = _FINAL_LINE.match(last)
        final = read_all(last[line.end() :], self.scale) if line else None
        if line is None or final is None or not final.usable or (is_named(self.scale) and final.form in NUMERIC):
            return None
        before = [one for one in above if one.strip()]
        if COPIED in self.shown.rstrip()[-len(last) :] or (before and _EXAMPLE.search(before[-1])):
            return None
        kept = "" if line["last"] else behind_withdrawal("\n".join(above)) or "\n".join(above)
        others = [one[1] for one in _ANSWER_LINE.finditer(kept) if one[1].strip(" X*")]
        alone = {(one.value, one.opt_out) for text in before if "=" not in text and (one := read_all(text, self.scale))}
        alone -= {(final.value, final.opt_out)}
        same = all((one := read_all(other, self.scale)) is not None and final.same(one) for other in others)
        # Several other options, each on its own line, are those of the prompt.
        return final.reply("marker", _reason("\n".join(above))) if same and len(alone) != 1 else None

    def _lead(self, listed: bool) -> Reading | None:
        """The opening answer, unless it is the first of a list of options or of points."""
        lead = read_lead(self.shown, self.scale) or self.agreed()
        if lead is None or (listed and lead.form == "label") or _PLACED.match(self.shown):
            return None
        if lead.form in NUMERIC and (hedge := _HEDGED.match(self.shown)) and hedge.end() <= lead.end:
            return Reading("hedged", lead.end)
        if lead.usable and (_ASKED.match(self.shown, lead.end) or _CONDITION.match(self.shown, lead.end)):
            return Reading("hedged", lead.end)
        if self._is_aside(lead) or (compares(self.question.ask) and continues(self.shown, lead.end)):
            return None
        return None if lead.form == "number" and enumerates(self.shown) else lead

    def agreed(self) -> Reading | None:
        """The agreement with which a text begins, where it is asked for: "I agree that" and the statement."""
        opens = _AGREES.match(self.text) if "agree" in self.question.ask.casefold() else None
        if opens is None or _CONCEDES.search(self.text):
            return None
        reading = read_label(self.text, opens.end(1), self.scale) or read_label(self.text, opens.end(), self.scale)
        if reading is None or _SET_OFF.match(self.text, reading.end):
            return reading
        stated = _STATEMENT.match(self.text, reading.end)
        said = {word for word in words(stated[1]).split() if len(word) > 4} if stated else set()
        same = said & set(words(self.question.ask).split())
        return reading if len(same) > 2 or (len(same) > 1 and 2 * len(same) >= len(said)) else None

    def _is_aside(self, lead: Reading) -> bool:
        """Whether a text begins with words that only look like an answer: a first point, a quotation, a remark."""
        rest = self.shown[lead.end :]
        if lead.form in NUMERIC and is_named(self.scale) and rest.strip(" .)\n"):
            return True
        if (lead.form == "label" and _REMARK.match(rest)) or _UNSURE.match(rest):
            return True
        quoted = self.shown[:1] == '"' and not rest.startswith('"')
        return quoted and lead.form == "label" and self.shown.rstrip().endswith('"')

    def _is_bare(self, reading: Reading) -> bool:
        """Whether an answer is a number, a letter or a degree: an answer line in other words does not confirm it."""
        yes_or_no = {self.scale.code("yes"), self.scale.code("no")}
        return (
            reading.form in NUMERIC or reading.form == "letter" or (reading.usable and reading.value not in yes_or_no)
        )

    def _announced_otherwise(self, lines: list[re.Match[str]], marker: Reading, start: int) -> bool:
        """Whether the last of several answer lines has no answer, or one of them begins with another number."""
        numbers = [read_slot(line[1], 0, self.scale) for line in lines if re.match(r"\W{0,4}\d", line[1])]
        return start < lines[-1].start() or any(number is None or not number.same(marker) for number in numbers)

    def _led(self, lead: Reading, marker: Reading | None, own: list[Reading]) -> ParsedReply:
        """The opening answer, if nothing that follows contradicts it."""
        others = [*own, marker] if marker is not None and marker.usable else own
        if any(not lead.same(other) and not self._fits(lead, other) for other in others):
            counted = all(reading.form == "number" for reading in [lead, *others])
            return unparsed("several" if counted else "conflict")
        rest = self.shown[lead.end :]
        below = _NEXT_LINE.match(rest) if lead.form == "label" else None
        number = read_lead(rest[below.end() :], self.scale) if below else None
        if number is not None and number.usable and number.form in NUMERIC:
            return number.reply("line", _reason(self.text)) if self._fits(lead, number) else unparsed("conflict")
        _, *behind = _SENTENCE_BREAK.split(rest[:400].lstrip()) if rest[:1] in ".!" else [""]
        for place, sentence in enumerate(behind):
            again = read_all(sentence, self.scale) if not place or lead.form == "label" else None
            if again is not None and again.usable and not lead.same(again) and not self._fits(lead, again):
                return unparsed("conflict")
        if limited(self.shown, lead, self.scale) or (lead.form == "label" and names_another(rest, lead, self.scale)):
            return unparsed("several")
        if lead.form == "label" and (beside := _BESIDE.match(rest)) and names_other(beside.group(), lead, self.scale):
            return unparsed("several")
        unlike = meant(rest, self.scale) - {lead.value} if lead.form == "label" else set()
        opposed = bool(unlike) or (
            lead.form == "label"
            and lead.value is not None
            and denies_answer(rest, self.question.ask, lead.value, self.scale)
        )
        opposed |= lead.form == "label" and any(
            names_other(line[1], lead, self.scale) for line in _ANSWER_LINE.finditer(rest)
        )
        if opposed or self._contradicted(lead, rest) or withdrawn(rest):
            return unparsed("conflict")
        return lead.reply("lead", _reason(self.text[lead.end :]))

    def _contradicted(self, lead: Reading, rest: str) -> bool:
        """Whether the next sentence names another option or says that there is nothing to rate, or the reverse."""
        if lead.value is None:
            return len(stated_labels(rest, self.scale)) == 1
        match = SENTENCE.search(rest)
        first = match.group() if match else ""
        named = stated_labels(first, self.scale) if lead.form != "label" else set()
        if any(not agree(self.scale, lead.value, code) for code in named):
            return True
        silent = phrase(first, self.scale) if match and match.start() < 8 else None
        can_be = any(opt_out.status == "not_mentioned" for opt_out in self.scale.opt_outs)
        return can_be and (silent is not None or denies(rest))

    def _fits(self, one: Reading, other: Reading) -> bool:
        """Whether a number and the wording of an option, each in its own place, are one answer."""
        if one.value is None or other.value is None or "label" not in (one.form, other.form):
            return False
        number, named = (one.value, other.value) if other.form == "label" else (other.value, one.value)
        return agree(self.scale, number, named)

    def _preferred(self, first: list[Reading], marked: list[Reading]) -> ParsedReply:
        """The option that the text calls the better one, unless it says so of two or announces another."""
        if not first:
            return unparsed("no-answer")
        if any(not first[0].same(other) for other in [*first, *marked] if other.usable):
            return unparsed("several")
        if withdrawn(self.shown[first[-1].end :]):
            return unparsed("conflict")
        return first[-1].reply("marker", _reason(self.text))

    def _marked(self, marker: Reading, start: int) -> ParsedReply:
        """The last announced answer; an option by its name goes with a number that is stated elsewhere."""
        rest = self.shown[marker.end :]
        lines = [line[1] for line in _ANSWER_LINE.finditer(rest)]
        denied = any(denies_answer(line, self.question.ask, marker.value or 0, self.scale) for line in lines)
        alone = {
            one.value for line in rest.split("\n")[1:] if (one := read_all(line, self.scale)) and one.form == "label"
        }
        if marker.form == "label" and len(alone - {marker.value}) == 1:
            return unparsed("several")
        declined = refuses(_SENTENCE_BREAK.split(rest.lstrip(" .\n*"), maxsplit=1)[0])
        if marker.usable and (withdrawn(rest) or declined or (denied and marker.form == "label")):
            return unparsed("conflict")
        behind = SENTENCE.search(self.shown, marker.end, marker.end + 600)
        if marker.form == "label" and behind and meant(behind.group(), self.scale) - {marker.value}:
            return unparsed("conflict")
        if limited(self.shown, marker, self.scale):
            return unparsed("several")
        numbers = stated_numbers(self.shown, self.scale, self.question.ask) if marker.form == "label" else set()
        if numbers:
            number = Reading("number", marker.end, numbers.pop())
            if numbers or not self._fits(number, marker):
                return unparsed("conflict")
            return number.reply("prose", _reason(self.text))
        cut = max(0, start - 60)
        before = self.text[:cut] + _LED_IN.sub("", self.text[cut:start])
        reasoning = before if _SENTENCE_END.search(before) else ""
        return marker.reply("marker", _reason(reasoning) or _reason(self.text[marker.end :]))

    def _lined(self, own: list[Reading]) -> ParsedReply | None:
        if not own:
            return None
        if withdrawn(self.shown):
            return unparsed("conflict")
        if all(own[0].same(reading) for reading in own):
            return own[-1].reply("line", _reason(self.text))
        return unparsed("conflict" if any(reading.opt_out for reading in own) else "several")

    def _last_words(self) -> ParsedReply | None:
        """An answer that makes up the last sentence."""
        *before, last = _SENTENCE_BREAK.split(self.shown[-400:].rstrip())
        reading = read_all(last, self.scale) if before else None
        if reading is None or not reading.usable or reading.form == "letter" or _NUMERO.search(before[-1]):
            return None
        if (reading.form in NUMERIC and _HEDGED.match(last)) or _ASKED.search(last) or _HELD_BACK.search(before[-1]):
            return unparsed("hedged")
        # "Yes = it is" behind other sentences repeats an option of the prompt.
        if reading.form in {"label", "opt-out"} and "=" in last:
            return None
        if reading.form == "label" and stated_labels(self.shown, self.scale) - {reading.value}:
            return None
        if reading.value is not None and denies_answer(" ".join(before), self.question.ask, reading.value, self.scale):
            return unparsed("conflict")
        return reading.reply("end", _reason(self.text[: len(self.text.rstrip()) - len(last)]))

    def _said(self) -> ParsedReply:
        if len({wordings(self.scale).codes.get(words(line[1])) for line in _EQUATED.finditer(self.text)} - {None}) > 1:
            return unparsed("options")
        reading = read_silence(self.shown, self.question.ask, self.scale)
        # "The text does not say, so I cannot rate it" is no refusal.
        if (reading is None or not reading.usable) and refuses(self.shown) and not self.concludes():
            return ParsedReply(None, "refused", _reason(self.text), "prose:refusal")
        reading = reading or read_statement(self.shown, self.question.ask, self.scale)
        if reading is None:
            return unparsed(obstacle(self.text, self.shown, self.scale))
        if reading.value is not None and withdrawn(self.shown):
            return unparsed("conflict")
        return reading.reply("prose", _reason(self.text))

    def concludes(self) -> bool:
        """Whether a sentence answers all the same ("Therefore, I would disagree")."""
        concluding = [sentence for sentence in SENTENCE.findall(self.shown) if _CONCLUSION.match(sentence)]
        return any(stated_labels(sentence, self.scale) for sentence in concluding)


def _said_twice(text: str, marked: list[tuple[int, Reading]]) -> bool:
    r"""Whether the same word announces different answers: "Answer: no … Answer: yes".

    >>> _said_twice("Answer: 1\nAnswer: 2", [(0, Reading("number", 9, 1.0)), (10, Reading("number", 19, 2.0))])
    True
    """
    said: dict[str, Reading] = {}
    for place, reading in sorted(marked, key=lambda one: one[0]):
        match = re.compile(r"\W*(\w*)").match(text, place)
        word = match[1].casefold() if match else ""
        if word not in _FINAL_WORDS or not reading.usable:
            continue
        first = said.get(word, reading)
        if not first.same(reading) and not withdrawn(text[first.end : place]):
            return True
        said[word] = reading
    return False


def _listed_codes(text: str) -> list[Span]:
    """A list of codes with what they mean, whatever it says: three codes, or two with equals signs.

    >>> _listed_codes("9 - expected 8 - hardly 7 - neutral"), _listed_codes("9 - expected")
    ([(0, 13), (13, 24), (24, 35)], [])
    """
    points = list(_LISTED.finditer(text))
    codes = {point[1] for point in points}
    if len(codes) < 2 or (len(codes) == 2 and not all("=" in point.group() for point in points)):
        return []
    ends = [point.start() for point in points[1:]] + [len(text)]
    stops = [_LISTED_END.search(text, point.end(), end) for point, end in zip(points, ends, strict=True)]
    return [
        (point.start(), stop.start() if stop else end) for point, end, stop in zip(points, ends, stops, strict=True)
    ]


def _reason(text: str) -> str | None:
    """What is left of a reply, without the punctuation that set it off."""
    bare = text.strip(" \n\t-:;,)|*_").lstrip(". ")
    return bare if bare.strip(".") else None
