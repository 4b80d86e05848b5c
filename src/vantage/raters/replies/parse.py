"""One reply to one question: the rules, in the order in which they are tried.

What a format marks as the answer comes first (tags, JSON); text without a format is read as `prose` reads it. A
question that the reply asks again parts what comes before it from what comes after.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from vantage.raters.replies.clean import LONGEST, plain_text, without_thought
from vantage.raters.replies.copied import restated
from vantage.raters.replies.json_answers import answer_fields, reason_of
from vantage.raters.replies.loose_json import Cut, Found, find_json
from vantage.raters.replies.markers import RATED, bracketed, tagged
from vantage.raters.replies.numbers import NUMERIC
from vantage.raters.replies.own_words import names, parse_text
from vantage.raters.replies.predicates import denies_answer
from vantage.raters.replies.prose import Prose
from vantage.raters.replies.reply import ParsedReply, Reading, is_named, unparsed
from vantage.raters.replies.slots import read_all

if TYPE_CHECKING:
    from vantage.instruments import Question

_MARKED = "answer|rating|score|label|choice|verdict|response|judge?ment"
_PAIR = re.compile(r"(?:^|(?<=[\s,]))([-+]?\d{1,3})\s?[:=–-]\s?([^\n.!?]{1,80})[.!]\s")
_OPENING = re.compile(
    r"[*_\"']{0,3}(?:final\s)?answer[*_\"']{0,3}:[*_\"']{0,3}\s?([^.,;\n]{1,40}+)[.,;]\s", re.IGNORECASE
)
_QUESTION = re.compile(r"[^.!?\n]{8,300}\?")
_FENCE = re.compile(r"^```\w{0,20}[ \t]*$", re.MULTILINE)
_NOTHING = frozenset({"no-answer", "copied", "echo", "truncated", "options"})
"""Obstacles that say only that there is no answer, not that there is an unusable one."""


def parse_reply(text: str | None, question: Question, source: str | None = None, *, cut: bool = False) -> ParsedReply:
    """Value, status and rationale of a model's reply to a question, with the rule that read it. Never raises.

    Args:
        text: The reply as it came.
        question: The question that was asked, with the scale as it was shown to the model.
        source: The text of the item, so that what the reply merely copies from it is recognised.
        cut: Whether the model was stopped by the limit on the reply's length. Then only an answer that has a line of
            its own, a closed tag or a complete value in JSON counts: what was going to be said is not known.

    >>> from vantage.instruments import Instrument
    >>> question = Instrument.load("sarcasm-rating").question("sarcasm-rating")
    >>> parse_reply('Sure! {"rating": "4/6", "reason": "Mock praise."}', question)
    ParsedReply(value=4.0, status='answered', rationale='Mock praise.', rule='json:fraction')
    >>> parse_reply("On a scale from 1 to 6, between 3 and 4.", question)
    ParsedReply(value=None, status='unparsed', rationale=None, rule='range')
    >>> parse_reply("It says 'see you at 6'.", question, source="Great. See you at 6.").rule
    'copied'
    """
    if question.scale.text:
        return parse_text(text, question, cut=cut)
    said, unclosed = without_thought(text) if isinstance(text, str) else (text, False)
    plain = plain_text(said)
    if plain is None:
        return unparsed("not-text")
    if unclosed or not plain:
        return unparsed("unclosed-thinking" if unclosed else "cut" if cut else "empty")
    parser = Parser(question, source)
    return parser.parse_cut(plain) if cut else parser.parse(plain)


class Parser:
    """Reads replies to one question about one item."""

    def __init__(self, question: Question, source: str | None) -> None:
        self.question, self.scale = question, question.scale
        self.source = source[:LONGEST] if isinstance(source, str) else ""
        self.names = names(question)

    def parse(self, text: str) -> ParsedReply:
        """The reply to this question, from text that is already clean."""
        text = _FENCE.sub("", text).strip()
        marked = self._tagged(text) or self._json(text)
        if (
            marked is None
            and text[:1] == "{"
            and text[-1:] == "}"
            and any(isinstance(f.data, dict) for f in find_json(text))
        ):
            # An object without an answer: its reasons and examples are not to be taken for one.
            return unparsed("no-answer")
        return marked or self._free(text)

    def answers(self, text: str) -> bool:
        """Whether a text without a format concludes with an answer to this question."""
        return Prose(text, self.question, self.source, self.names).concludes()

    def parse_cut(self, text: str) -> ParsedReply:
        """The reply to this question, from text that was cut: only what is marked as the answer, and is whole."""
        text = _FENCE.sub("", text).strip()
        marked = self._tagged(text) or self._json(text)
        if marked is not None:
            form = marked.rule.partition(":")[2]
            return unparsed("cut") if marked.status == "unparsed" else replace(marked, rule=f"cut:{form}")
        if stated := self._led_by_pair(text) or self._led_by_line(text):
            return stated
        lines = text.split("\n")
        answers = [(n, self._answer_line(line)) for n, line in enumerate(lines)]
        if len(lines) > 1 and (first := read_all(lines[0], self.scale)):
            answers.insert(0, (0, first))
        alone = [reading for line in lines if (reading := read_all(line, self.scale))]
        if any(not alone[0].same(other) for other in alone[1:]):
            return unparsed("cut")
        readings = [(n, reading) for n, reading in answers if reading is not None and reading.usable]
        if not readings and len(lines) == 1 and (whole := read_all(text, self.scale)) and whole.usable:
            readings = [(0, whole)]
        if not readings:
            refused = self._free(text).status == "refused"
            return ParsedReply(None, "refused", None, "cut:refusal") if refused else unparsed("cut")
        number, reading = readings[-1]
        rest = "\n".join(lines[number + 1 :])
        if reading.value is not None and denies_answer(rest, self.question.ask, reading.value, self.scale):
            return unparsed("cut")
        last = re.split(r"[:=]", lines[-1])[-1].strip(" *_\"'`")
        if (number == len(lines) - 1 and self._may_go_on(last)) or any(
            not reading.same(other) for _, other in readings
        ):
            return unparsed("cut")
        return reading.reply("cut", "\n".join(lines[:number]).strip() or None)

    def _led_by_pair(self, text: str) -> ParsedReply | None:
        """The answer that a cut text opens with as a code with its own wording, "3: Very wrong. It is …", and keeps."""
        pair = _PAIR.match(text)
        code, label = (read_all(part, self.scale) for part in pair.groups()) if pair else (None, None)
        if pair is None or code is None or label is None or not code.usable or not code.same(label):
            return None
        rest = text[pair.end() :]
        doubted = re.search(
            rf"\b(?:actually|wait|no)\b|(?:\bnot|n't)\s(?:\w+\s)?{re.escape(pair[2])}", rest, re.IGNORECASE
        )
        kept = self._free(text).value == code.value and not _PAIR.search(rest) and not doubted
        return code.reply("cut", rest) if kept else None

    def _led_by_line(self, text: str) -> ParsedReply | None:
        """The answer that a cut text announces first, "Answer: Yes, it is …", and keeps."""
        opening = _OPENING.match(text)
        answer = read_all(opening[1], self.scale) if opening else None
        if opening is None or answer is None or not answer.usable:
            return None
        again = re.search(r"\banswer\b", text[opening.end() :], re.IGNORECASE)
        if answer.value is None or again or self._free(text).value != answer.value:
            return None
        rest = text[opening.end() :]
        return None if denies_answer(rest, self.question.ask, answer.value, self.scale) else answer.reply("cut", rest)

    def _answer_line(self, line: str) -> Reading | None:
        """The answer that a line announces and consists of: "Answer: 4", "**Trust:** -1"."""
        named = "|".join(re.escape(name) for name in sorted(self.names))
        match = re.match(
            rf"\W{{0,6}}(?:(?:my|the|final)\s){{0,2}}(?:{_MARKED}|{named})\b[*_\"']{{0,4}}\s?[:=]", line, re.I
        )
        reading = read_all(line[match.end() :], self.scale) if match else None
        if match and reading and reading.form in NUMERIC and is_named(self.scale) and RATED.match(match.group()):
            return None
        return reading

    def value(self, data: Any, place: str, reason: str | None = None, cut: bool = False) -> ParsedReply:
        """The reply that a single value of a structured format gives."""
        if isinstance(data, list) and len(data) == 1:
            data = data[0]
        if isinstance(data, Cut):
            data, cut = data.text, True
        if data is None or data == "":
            return unparsed("empty" if data == "" else "null")
        if isinstance(data, list | dict):
            return unparsed("several")
        written = _written(data)
        if cut and self._may_go_on(written):
            return unparsed("truncated")
        reading = read_all(written, self.scale)
        reply = reading.reply(place, reason) if reading is not None else self._free(written)
        if reading is not None or reply.status == "unparsed":
            return reply
        form = reply.rule.partition(":")[2] or reply.rule
        return ParsedReply(reply.value, reply.status, reason or reply.rationale, f"{place}:{form}")

    def _may_go_on(self, data: str) -> bool:
        """Whether a value at the end of a reply could be the beginning of another answer."""
        try:
            number = float(data)
        except ValueError:
            return read_all(data, self.scale) is None
        sign = -1 if data.startswith("-") else 1
        return self.scale.range is not None or any(self.scale.holds(10 * number + sign * digit) for digit in range(10))

    def _tagged(self, text: str) -> ParsedReply | None:
        answers, reason, cut = tagged(text)
        if not answers and (reading := bracketed(text, self.scale)):
            return reading.reply("tag", text[: reading.end].rpartition("[")[0].rstrip(" [*\n") or None)
        replies = [self.value(answer, "tag", reason, cut and answer is answers[-1]) for answer in answers]
        return _last(replies)

    def _json(self, text: str) -> ParsedReply | None:
        replies = [reply for object_ in find_json(text) if (reply := self._object(object_))]
        given = [reply.value for reply in replies if reply.status == "answered"]
        # Twice may be a draft and the answer; more often is going round in circles.
        return unparsed("several") if len(given) > 2 and len(set(given)) > 1 else _last(replies)

    def _object(self, object_: Found) -> ParsedReply | None:
        fields = answer_fields(object_.data, self.names)
        if not fields:
            if object_.cut and isinstance(object_.data, dict):
                return unparsed("truncated")
            return None
        final = [field for field in fields if field.final]
        replies = [self.value(field.value, "json", reason_of(object_.data)) for field in (final or fields)]
        usable = [reply for reply in replies if reply.status != "unparsed"]
        if not usable:
            return replies[0]
        if len({(reply.value, reply.status) for reply in usable}) > 1:
            return unparsed("conflict")
        return usable[0]

    def _after_question(self, text: str) -> str:
        """What follows where a text begins with the question that was asked, word for word."""
        *_, asked = _QUESTION.findall(self.question.ask) or [""]
        begins = asked and text.casefold().startswith(asked.strip().casefold())
        return (text[len(asked.strip()) :].lstrip(" \n:*\"'") or text) if begins else text

    def _free(self, text: str) -> ParsedReply:
        """Text without a format: a question that is asked again parts what comes before from what comes after."""
        reading = read_all(text, self.scale)
        if reading is not None and reading.usable:
            return reading.reply("whole")
        text = self._after_question(text)
        again = restated(text, self.question.ask, self.scale)
        if again and (agreed := Prose(text, self.question, self.source, self.names).agreed()):
            return agreed.reply("lead", text)
        if again:
            for stretch in (text[: again[0][0]], text[again[-1][1] :]):
                if part := stretch.strip(" \n.:\"'?"):
                    reply = Prose(part, self.question, self.source, self.names).parse()
                    if reply.status != "unparsed" or reply.rule not in _NOTHING:
                        return reply
            return unparsed("echo")
        return Prose(text, self.question, self.source, self.names).parse()


def _written(data: bool | float | str) -> str:
    """A value of JSON as an answer would be written."""
    if isinstance(data, bool):
        return "yes" if data else "no"
    return data.strip() if isinstance(data, str) else f"{data:.15g}"


def _last(replies: list[ParsedReply]) -> ParsedReply | None:
    """The last of several structured answers that says something, else the last."""
    usable = [reply for reply in replies if reply.status != "unparsed"]
    if usable:
        return usable[-1]
    return replies[-1] if replies else None
