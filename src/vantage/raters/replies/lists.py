"""Several questions answered in one reply: JSON, a table, bullets, or a line for each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from vantage.instruments import MultipleChoice, put
from vantage.raters.replies.clean import readable
from vantage.raters.replies.json_answers import answer_fields, reason_of
from vantage.raters.replies.labels import words
from vantage.raters.replies.loose_json import find_json
from vantage.raters.replies.own_words import alike, given_in, names, own_of, parse_own
from vantage.raters.replies.parse import Parser, parse_reply
from vantage.raters.replies.prose import LETTER, WITHDRAWN
from vantage.raters.replies.refusals import refuses
from vantage.raters.replies.reply import ParsedReply, unparsed
from vantage.raters.replies.slots import read_all, read_lead

if TYPE_CHECKING:
    from vantage.instruments import Question

_MARK = re.compile(r"\s{0,12}(?:(?:[-*•+>]|#{1,6}|\(?\d{1,3}[.):]|\(?[a-z][.)])\s{1,4}){0,2}[*_\"'`]{0,4}")
_AFTER_NAME = re.compile(
    r"[*_\"'`]{0,4}\s?(?:\([^()\n]{0,80}\)\s?)?[*_\"'`]{0,4}\s?(?:[:=|]|->|→|-(?=\s))[*_\"'`\s]{0,6}"
)
_REVISED = re.compile(
    r"^\W{0,6}(?:(?:my|the|here are(?: the| my)?)\s)?(?:revised|final|updated|adjusted|corrected)\s[^:\n.]{1,40}:",
    re.I | re.M,
)
"""The heading of answers that replace those above it."""
_OFFERED = re.compile(
    r"^[^\n]{0,60}\b(?:example|sample|(?:could|might|may)\sbe|possible|hypothetical|illustrat\w{2,6})\b"
    r"[^\n:]{0,40}:[ \t]*\n(?:[ \t]*\n)?(?:.*\S.*(?:\n|$)){1,40}",
    re.I | re.M,
)
"""A paragraph that its heading calls an example or a possibility."""
_RULE_ROW = re.compile(r"[\s|:-]{3,}+")
_NAMES = re.findall(r"\w+", "question id name item trait dimension title key attribute adjective emotion")
_LONGEST_LINE = 4000
_LINES = 2000
_Entry: TypeAlias = tuple[str, ParsedReply]
"""The id of a question, and what a reply says under its name."""


def parse_replies(
    text: str | None,
    questions: Iterable[Question],
    source: str | None = None,
    *,
    cut: bool = False,
    strict: bool = False,
) -> dict[str, ParsedReply]:
    r"""The replies to several questions that were answered together, by question id. Never raises.

    A question is found by its id or its title. One that the reply leaves out is `unparsed` with the rule `missing`;
    one that it answers twice and differently, with the rule `several`. Of a reply that was cut, the last line does not
    count unless it is JSON, and what is missing has the rule `cut`.

    >>> from vantage.instruments import Instrument
    >>> questions = Instrument.load("warmth-competence").questions
    >>> replies = parse_replies("- **Trust:** -2 (a broken promise)\n- Sociability: n/a\n", questions)
    >>> [(id, reply.value, reply.rule) for id, reply in replies.items()]
    [('trust', -2.0, 'line:number'), ('sociability', None, 'no-opt-out'), ('competence', None, 'missing')]
    """
    asked = list(questions)
    if len(asked) == 1:
        return {asked[0].id: parse_reply(text, asked[0], source, cut=cut, strict=strict)}
    whole = put(asked)
    if isinstance(whole[0], MultipleChoice) and len(whole) == 1:
        return parse_own(text, whole[0], cut=cut, strict=strict)
    apart = [one for one in whole if isinstance(one, MultipleChoice) or one.scale.text or one.shares]
    points = [question for question in whole if question not in apart]
    replies = _points(text, points, source, cut, strict) if points else {}
    for question in whole:
        if question in apart:
            replies |= _in_own_words(text, question, source, strict=strict)
    for question in points:
        if question.unlike and replies[question.id].value == replies[question.unlike].value is not None:
            replies |= {question.id: unparsed("conflict"), question.unlike: unparsed("conflict")}
    return replies


def _in_own_words(text: str | None, question: Question, source: str | None, *, strict: bool) -> dict[str, ParsedReply]:
    """A text or a list of options among the answers to other questions: only what stands under its key counts."""
    plain, _ = readable(text)
    for one in reversed(find_json(plain)):
        data = one.data if isinstance(one.data, dict) else {}
        key = next((key for key in data if words(key) in names(question)), None)
        if key is None:
            continue
        value = None if one.cut else data[key]
        if isinstance(value, dict):
            return own_of(given_in(value, question, strict=strict), question, "json", reason_of(value), source)
        return own_of(value, question, "json", source=source)
    refused = ParsedReply(None, "refused", plain, "prose:refusal")
    return alike(question, refused if refuses(plain) else unparsed("missing"))


def _points(
    text: str | None, asked: Sequence[Question], source: str | None, cut: bool, strict: bool
) -> dict[str, ParsedReply]:
    """The replies to questions that are answered by one point of a scale each."""
    plain, obstacle = readable(text, cut=cut)
    if obstacle:
        return {question.id: unparsed(obstacle) for question in asked}
    batch = _Batch(asked, source, strict)
    entries = [*batch.json(plain)]
    if not strict:
        whole = _OFFERED.sub("", plain.rpartition("\n")[0] if cut else plain)
        *_, at = [0, *(heading.end() for heading in _REVISED.finditer(whole))]
        entries += batch.lines(whole[at:]) or batch.in_a_row(whole)
    if not entries and refuses(plain):
        return {question.id: ParsedReply(None, "refused", plain, "prose:refusal") for question in asked}
    settled = {question.id: _settled([reply for id_, reply in entries if id_ == question.id]) for question in asked}
    objects = find_json(plain)
    # Behind the object that was asked for, any words may take an answer back.
    if (LETTER if strict and objects else WITHDRAWN).search(plain[objects[-1].end :] if objects else plain):
        settled = {id_: reply if reply.status == "unparsed" else unparsed("conflict") for id_, reply in settled.items()}
    if not cut:
        return settled
    return {question: _of_cut(reply) for question, reply in settled.items()}


class _Batch:
    def __init__(self, questions: Sequence[Question], source: str | None, strict: bool) -> None:
        self.strict = strict
        self.parsers = {question.id: Parser(question, source, strict=strict) for question in questions}
        self.ids: dict[str, str] = {}
        shared: set[str] = set()
        for question_id, parser in self.parsers.items():
            for name in parser.names:
                if self.ids.setdefault(name, question_id) != question_id:
                    shared.add(name)
        self.ids = {name: question_id for name, question_id in self.ids.items() if name not in shared}
        names = sorted(self.ids, key=len, reverse=True)
        each = "|".join(r"[\W_]{1,3}".join(re.escape(word) for word in name.split()) for name in names)
        self.name = re.compile(rf"(?:{each})(?!\w)", re.IGNORECASE) if names else re.compile(r"(?!)")

    def json(self, text: str) -> Iterator[_Entry]:
        for found_json in find_json(text):
            yield from self._within(found_json.data, 0)

    def _within(self, data: Any, depth: int) -> Iterator[_Entry]:
        if depth > 4:
            return
        if isinstance(data, list):
            for part in data[:500]:
                yield from self._within(part, depth + 1)
        if not isinstance(data, dict):
            return
        named = next((self.ids[words(str(data[key]))] for key in data if self._names(key, data[key])), None)
        if named is not None:
            yield (named, self._answer(named, data))
            return
        for key, value in data.items():
            question = self.ids.get(words(key))
            if question is not None:
                yield (question, self._answer(question, {key: value}))
            elif isinstance(value, dict | list) and not self.strict:
                yield from self._within(value, depth + 1)

    def _names(self, key: str, value: Any) -> bool:
        return words(key) in _NAMES and isinstance(value, str) and words(value) in self.ids

    def _answer(self, question: str, data: dict[str, Any]) -> ParsedReply:
        parser = self.parsers[question]
        kept = {key: value for key, value in data.items() if not self._names(key, value)}
        fields = answer_fields(kept, parser.names, strict=parser.strict)
        if len(fields) != 1:
            return unparsed("several" if fields else "no-answer")
        return parser.value(fields[0].value, "json", reason_of(kept))

    def lines(self, text: str) -> list[_Entry]:
        """Lines and table rows that begin with the name of a question."""
        entries: list[_Entry] = []
        for line in text.split("\n")[:_LINES]:
            if not line.strip() or _RULE_ROW.fullmatch(line[:_LONGEST_LINE]):
                continue
            bare = line[:_LONGEST_LINE].lstrip("| \t")
            place = "table" if line.lstrip().startswith("|") else "line"
            while (named := self._named(bare)) is not None:
                question, answer = named
                here, bare = self._before_next(question, answer)
                entries.append((question, self._cell(question, here, place)))
        return entries

    def _named(self, line: str) -> tuple[str, str] | None:
        """The question with whose name a line begins, and what stands behind it."""
        mark = _MARK.match(line)
        name = self.name.match(line, mark.end() if mark else 0)
        after = _AFTER_NAME.match(line, name.end()) if name else None
        question = self.ids.get(words(name.group())) if name and after else None
        return (question, line[after.end() :]) if question and after else None

    def _before_next(self, question: str, answer: str) -> tuple[str, str]:
        """What belongs to a question, and the rest of its line where that is whole and another name follows."""
        for name in self.name.finditer(answer):
            if _AFTER_NAME.match(answer, name.end()) and read_all(answer[: name.start()], self.parsers[question].scale):
                return answer[: name.start()], answer[name.start() :]
        return answer, ""

    def in_a_row(self, text: str) -> list[_Entry]:
        """Numbers alone on the first line, where there is one for each question, in order: "8 9"."""
        cells = re.split(r",\s{0,3}|\s{1,3}", text.strip().partition("\n")[0].strip())
        if len(cells) != len(self.parsers) or not all(re.fullmatch(r"[+-]?\d{1,3}(?:\.\d+)?", cell) for cell in cells):
            return []
        both = zip(self.parsers, cells, strict=True)
        entries = [(question, self._cell(question, cell, "row")) for question, cell in both]
        return entries if all(reply.value is not None for _, reply in entries) else []

    def _cell(self, question: str, rest: str, place: str) -> ParsedReply:
        """The answer at the beginning of the rest of a line, and the reason behind it."""
        scale = self.parsers[question].scale
        cell, _, behind = rest.partition("|")
        reading = read_all(cell, scale)
        if reading is not None:
            return reading.reply(place, behind.strip(" |\t") or None)
        reading = read_lead(cell, scale)
        if reading is None and refuses(cell):
            return ParsedReply(None, "refused", cell.strip(), f"{place}:refusal")
        if reading is None:
            return unparsed("no-answer")
        return reading.reply(place, f"{cell[reading.end :]} {behind}".strip(" |\t-:;,.()*") or None)


def _of_cut(reply: ParsedReply) -> ParsedReply:
    """A reply to one of several questions that was read from a text that was cut."""
    if reply.status == "unparsed":
        return unparsed("cut") if reply.rule in ("missing", "truncated") else reply
    return replace(reply, rule=f"cut:{reply.rule.partition(':')[2]}")


def _settled(replies: Sequence[ParsedReply]) -> ParsedReply:
    """One reply out of all that stand under a question's name."""
    if not replies:
        return unparsed("missing")
    usable = [reply for reply in replies if reply.status != "unparsed"]
    if not usable:
        return replies[0]
    if len({(reply.value, reply.status) for reply in usable}) > 1:
        return unparsed("several")
    return usable[0]
