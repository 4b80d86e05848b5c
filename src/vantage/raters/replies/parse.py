"""One reply to one question: the forms that prompts ask for, read strictly, and prose for replies that others recorded.

A form is a tag, a JSON object, an answer line at the end, or the option alone. What is in none of them is `unparsed`
where Vantage asked; a recorded reply, whose prompt may have asked for anything, goes on to `prose`.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from vantage.raters.replies.clean import LONGEST, readable
from vantage.raters.replies.copied import copied
from vantage.raters.replies.json_answers import answer_fields, reason_of
from vantage.raters.replies.labels import wordings, words
from vantage.raters.replies.loose_json import Cut, Found, find_json
from vantage.raters.replies.numbers import NUMERIC
from vantage.raters.replies.own_words import names, parse_own
from vantage.raters.replies.prose import ANSWER_LINE, LETTER, WITHDRAWN, Prose, names_options
from vantage.raters.replies.refusals import refuses
from vantage.raters.replies.reply import ParsedReply, Reading, unparsed
from vantage.raters.replies.slots import read_all
from vantage.scales import Scale

if TYPE_CHECKING:
    from vantage.instruments import Question

_FENCE: Final = re.compile(r"^```\w{0,20}[ \t]*$", re.MULTILINE)
_TAG: Final = re.compile(r"<(likert|answer|rating|score|label|value|choice|final_answer|response)>", re.IGNORECASE)
_RATIONALE: Final = re.compile(r"<(rationale|reason|reasoning|explanation|justification)>", re.IGNORECASE)
_BOXED: Final = re.compile(r"\\boxed\{(?:\\text\{)?([^{}\n]{1,80})\}")
_BRACKETED: Final = re.compile(
    r"\[\[\s?([^\[\]\n]{1,40}?)\s?\]\]"
    r"|\[(?:RESULT|FINAL(?:\sANSWER)?|VERDICT)\][\s:*]{0,4}\(?([^\s()\[\]]{1,20})",
    re.IGNORECASE,
)
_EXAMPLE: Final = re.compile(
    r"\b(?:example|format|form|possible|could|would|might|if|previous|others?)\b[^.!?\n]{0,60}:\W{0,3}$", re.IGNORECASE
)
"""A line that announces what is not the answer."""
_OFFERED: Final = re.compile(
    r"\b(?:example|sample|(?:could|might|may|would)\s(?:be|look)|possible|hypothetical|illustrat\w{2,6})\b"
    r"[^.!?\n]{0,60}:\s*\Z",
    re.IGNORECASE,
)
"""What announces an object as an example or a possibility."""
_RATED: Final = re.compile(r"rating|score|grade", re.IGNORECASE)
_INLINE: Final = re.compile(r"(?<=[.!?)\"'])\s{1,3}[*_]{0,3}Answer[*_]{0,3}:[^:]{1,80}$")
"""An answer line that was not given a line of its own."""
_LONGEST_FIELD: Final = 4_000
_TAGS: Final = 20
"""As many tags are read, from the end; an answer has one, or one for each question."""


def parse_reply(
    text: str | None, question: Question, source: str | None = None, *, cut: bool = False, strict: bool = False
) -> ParsedReply:
    """Value, status and rationale of a model's reply to a question, with the rule that read it. Never raises.

    Args:
        text: The reply as it came.
        question: The question that was asked, with the scale as it was shown to the model.
        source: The text of the item, so that what the reply merely copies from it is recognised.
        cut: Whether the model was stopped by the limit on the reply's length. Then only an answer that has a line of
            its own, a closed tag or a complete value in JSON counts: what was going to be said is not known.
        strict: Whether only the forms count that prompts of Vantage ask for, and no prose.

    >>> from vantage.instruments import Instrument
    >>> question = Instrument.load("sarcasm-rating").question("sarcasm-rating")
    >>> parse_reply('{"rating": "4/6", "reason": "Mock praise."}', question)
    ParsedReply(value=4.0, status='answered', rationale='Mock praise.', rule='json:fraction')
    >>> parse_reply("On a scale from 1 to 6, between 3 and 4.", question).rule
    'range'
    >>> parse_reply("I would rate it a 4.", question).value
    4.0
    >>> parse_reply("I would rate it a 4.", question, strict=True).rule
    'not-the-form'
    """
    if question.scale.text or question.shares:
        return parse_own(text, question, source, cut=cut, strict=strict)[question.id]
    plain, obstacle = readable(text, cut=cut)
    return unparsed(obstacle) if obstacle else Parser(question, source, strict=strict).parse(plain, cut=cut)


class Parser:
    """Reads replies to one question about one item."""

    def __init__(self, question: Question, source: str | None, *, strict: bool = False) -> None:
        self.question, self.scale, self.strict = question, question.scale, strict
        self.source = source[:LONGEST] if isinstance(source, str) else ""
        self.names = names(question)

    def parse(self, text: str, *, cut: bool = False) -> ParsedReply:
        """The reply to this question, from text that is already clean."""
        text = _FENCE.sub("", text).strip()
        form = self._tagged(text) or self._json(text) or self._alone(text, cut) or self._line(text, cut)
        if form is None and text[:1] == "{" and text[-1:] == "}":
            # An object without an answer: its reasons and examples are not to be taken for one.
            return unparsed("no-answer")
        if cut:
            return self._of_cut(form, text)
        if form is not None:
            return form
        if self.strict:
            return self._refusal(text) or unparsed("not-the-form")
        return Prose(text, self.question, self.source, self.names).parse()

    def _of_cut(self, form: ParsedReply | None, text: str) -> ParsedReply:
        """What a text says that was cut: an answer in a form that is whole, or a refusal."""
        if form is None or form.status == "unparsed":
            return unparsed("cut") if self._refusal(text) is None else ParsedReply(None, "refused", None, "cut:refusal")
        return replace(form, rule=f"cut:{form.rule.partition(':')[2]}")

    def _refusal(self, text: str) -> ParsedReply | None:
        """A refusal, unless an option is named beside it."""
        refused = refuses(text) and not names_options(text, self.scale)
        return ParsedReply(None, "refused", text, "prose:refusal") if refused else None

    def value(self, data: Any, place: str, reason: str | None = None) -> ParsedReply:
        """The reply that a single value of a structured format gives."""
        if isinstance(data, list) and len(data) == 1:
            data = data[0]
        if isinstance(data, Cut):
            return unparsed("truncated")
        if data is None or data == "":
            return unparsed("empty" if data == "" else "null")
        if isinstance(data, list | dict):
            return unparsed("several")
        written = _written(data)
        if (reading := read_all(written, self.scale)) is not None:
            return reading.reply(place, reason)
        if refused := self._refusal(written):
            return replace(refused, rationale=reason or refused.rationale, rule=f"{place}:refusal")
        return unparsed("not-the-form")

    def _alone(self, text: str, cut: bool) -> ParsedReply | None:
        reading = read_all(text, self.scale)
        if reading is None or (cut and self._may_go_on(text)):
            return None
        return reading.reply("whole") if reading.usable or self.strict else None

    def _line(self, text: str, cut: bool) -> ParsedReply | None:
        """The answer line with which a text ends, if no other answer line says something else."""
        *above, last = text.rstrip().split("\n")
        if inline := _INLINE.search(last):
            above, last = [*above, last[: inline.start()]], last[inline.start() :]
        line = ANSWER_LINE.match(last)
        final = read_all(last[line.end() :], self.scale) if line else None
        if line is None or final is None or not final.usable or (cut and self._may_go_on(last[line.end() :])):
            return None
        # A number behind "Rating:" is none of options that are words.
        if self.scale.named and final.form in NUMERIC and _RATED.search(line.group()):
            return unparsed("other-scale")
        before = [one for one in above if one.strip()]
        end = len(text.rstrip(" .\"'*"))
        if (before and _EXAMPLE.search(before[-1])) or any(stop >= end for _, stop in copied(text, self.source)):
            return None
        lines = [
            (one, match.end())
            for one in before
            if (match := ANSWER_LINE.match(one)) and one[match.end() :].strip(" X*_.")
        ]
        others = [read_all(one[at:], self.scale) for one, at in lines]
        alone = {
            (r.value, r.opt_out) for one in before if "=" not in one and (r := read_all(one, self.scale)) and r.usable
        }
        # Several other options, each on its own line, are those of the prompt.
        if (
            any(other is None or not final.same(other) for other in others)
            or len(alone - {(final.value, final.opt_out)}) == 1
        ):
            return unparsed("several")
        return final.reply("marker", "\n".join(above).strip() or None)

    def _may_go_on(self, text: str) -> bool:
        """Whether what stands at the end of a reply could be the beginning of another answer."""
        written = text.strip(" *_\"'`\n:")
        known = [words(one) for one in wordings(self.scale).codes if words(one) != words(written)]
        try:
            number = float(written)
        except ValueError:
            return any(one.startswith(words(written)) for one in known)
        sign = -1 if written.startswith("-") else 1
        return self.scale.range is not None or any(self.scale.holds(10 * number + sign * digit) for digit in range(10))

    def _tagged(self, text: str) -> ParsedReply | None:
        answers, reason, is_open = tagged(text)
        if not answers and (reading := bracketed(text, self.scale)):
            before = text[: reading.end].rpartition("[")[0].rstrip(" [*\n")
            return self._standing(reading.reply("tag", before or None), text[reading.end :])
        if is_open:
            return unparsed("truncated")
        reply = _agreed([self.value(answer, "tag", reason) for answer in answers])
        return reply and self._standing(reply, re.split(r"</\w+>" if "</" in text else r"\}", text)[-1])

    def _json(self, text: str) -> ParsedReply | None:
        objects = [(one, reply) for one in find_json(text) if (reply := self._object(one))]
        if any(_OFFERED.search(text[max(0, one.start - 200) : one.start]) for one, _ in objects):
            return unparsed("no-answer")
        if not objects:
            return None
        reply = _agreed([reply for _, reply in objects])
        return reply and self._standing(reply, text[objects[-1][0].end :])

    def _standing(self, reply: ParsedReply, behind: str) -> ParsedReply:
        """A reply in a form, unless what is said behind the form may take it back: strictly, any words may."""
        if reply.status == "unparsed":
            return reply
        if self.strict and names_options(behind, self.scale):
            return unparsed("several")
        may_withdraw = LETTER.search(behind) if self.strict else WITHDRAWN.search(behind)
        return unparsed("conflict") if may_withdraw else reply

    def _object(self, object_: Found) -> ParsedReply | None:
        fields = answer_fields(object_.data, self.names, strict=self.strict)
        if object_.cut:
            # A value with something behind it is whole, also where the object is not.
            fields = [field for field in fields if not isinstance(field.value, Cut | dict | list | str)]
            if not fields:
                return unparsed("truncated") if isinstance(object_.data, dict) else None
        final = [field for field in fields if field.final]
        return _agreed([self.value(field.value, "json", reason_of(object_.data)) for field in (final or fields)])


def tagged(text: str) -> tuple[list[str], str | None, bool]:
    """What stands between answer tags (or in a LaTeX box), the reason between its tags, and whether a tag is open.

    >>> tagged("<likert>7</likert><rationale>They say so.</rationale>")
    (['7'], 'They say so.', False)
    """
    fields = [_field(text, tag) for tag in list(_TAG.finditer(text))[-_TAGS:]]
    answers = [content for content, _ in fields] or [box[1] for box in list(_BOXED.finditer(text))[-_TAGS:]]
    reasons = [_field(text, tag)[0] for tag in list(_RATIONALE.finditer(text))[-1:]]
    return answers, (reasons[-1] or None) if reasons else None, bool(fields) and fields[-1][1]


def bracketed(text: str, scale: Scale) -> Reading | None:
    """The answer in the brackets of a judge, unless several are told one after the other, as a prompt does.

    >>> scale = Scale.points(1, 10)
    >>> bracketed("Vivid but short. Rating: [[8]]", scale).value, bracketed("Clear. [RESULT] 4", scale).value
    (8.0, 4.0)
    >>> bracketed("Say [[1]] for bad and [[10]] for good.", scale).form
    'several'
    """
    readings = [
        replace(reading, end=place.end())
        for place in list(_BRACKETED.finditer(text))[-_TAGS:]
        if (reading := read_all(place[1] or place[2], scale)) and reading.usable
    ]
    if any(not one.same(other) for one, other in pairwise(readings)):
        return Reading("several", readings[-1].end)
    return readings[-1] if readings else None


def _field(text: str, tag: re.Match[str]) -> tuple[str, bool]:
    """The content of a tag, and whether it is not closed."""
    body = text[tag.end() : tag.end() + _LONGEST_FIELD]
    close = body.casefold().find(f"</{tag[1].casefold()}>")
    return (body[:close].strip(), False) if close >= 0 else (body.strip(), True)


def _written(data: bool | float | str) -> str:
    """A value of JSON as an answer would be written."""
    if isinstance(data, bool):
        return "yes" if data else "no"
    return data.strip() if isinstance(data, str) else f"{data:.15g}"


def _agreed(replies: list[ParsedReply]) -> ParsedReply | None:
    """What several structured answers say if all of them say the same, else that they do not."""
    usable = [reply for reply in replies if reply.status != "unparsed"]
    if len({(reply.value, reply.status) for reply in usable}) > 1:
        return unparsed("several")
    return usable[-1] if usable else replies[-1] if replies else None
