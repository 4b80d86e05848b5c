"""Answers that are no single point of a scale: the options that apply, and free texts.

Both are read strictly. A list counts when every part of it is an option; a text counts as it is written.
"""

from __future__ import annotations

import re
from typing import Any, Final

from vantage.instruments import MultipleChoice, Question
from vantage.raters.replies.clean import readable
from vantage.raters.replies.json_answers import answer_fields, reason_of
from vantage.raters.replies.labels import words
from vantage.raters.replies.loose_json import Cut, find_json
from vantage.raters.replies.opt_outs import read_opt_out
from vantage.raters.replies.prose import LETTER
from vantage.raters.replies.refusals import refuses
from vantage.raters.replies.reply import ParsedReply, unparsed
from vantage.raters.replies.slots import closed
from vantage.scales import show_code

_MARKED: Final = re.compile(r"^[\s*_#>-]{0,8}(?:final\s)?answer[*_]{0,3}\s?:[*_]{0,3}\s*", re.IGNORECASE | re.MULTILINE)
_BULLET: Final = re.compile(r"^\s*(?:[-*•+]|\(?\d{1,2}[.)])\s+")
_NUMBER: Final = re.compile(r"\d{1,3}(?:\.\d{1,6})?")
_SHARE: Final = re.compile(
    r"[\"'*_]{0,3}(.{1,200}?)[\"'*_]{0,3}\s?[:=–-]\s?(\d{1,3}(?:[.,]\d{1,6})?)\s?(?:%|per\s?cent)?[.*_]{0,3}"
)
_NONE: Final = frozenset({"none", "none of these", "none of them", "none applies", "none apply", "no option applies"})


def parse_own(
    text: str | None, question: Question, source: str | None = None, *, cut: bool = False, strict: bool = False
) -> dict[str, ParsedReply]:
    """The reply to such a question, by the ids of the questions that it answers: each option's own where several apply.

    >>> from vantage.scales import Scale
    >>> moods = MultipleChoice("mood", "Mood", "Which?", Scale.labels("joy", "fear", "awe"), none="None of these")
    >>> [reply.value for reply in parse_own("Joy; awe", moods).values()]
    [1.0, 0.0, 1.0]
    >>> parse_own("joy and perhaps fear", moods)["mood.joy"].rule
    'not-listed'
    >>> irony = Question("irony", "Irony", "Is it?", Scale.labels("no", "yes"), shares=True)
    >>> parse_own("no: 30 %; yes: 70 %", irony)["irony"].shares
    (0.3, 0.7)
    >>> parse_own("Keywords: rain, mud", Question("why", "Why", "Why?", Scale.free_text(40)))["why"].rationale
    'Keywords: rain, mud'
    """
    plain, obstacle = readable(text, cut=cut)
    if obstacle or cut:
        return alike(question, unparsed(obstacle or "cut"))
    for part in reversed(find_json(plain)):
        given = given_in(part.data, question, strict=strict)
        if part.cut and (given is not None or not question.scale.text):
            return alike(question, unparsed("truncated"))
        if given is not None and strict and LETTER.search(plain[part.end :]):
            return alike(question, unparsed("conflict"))
        if given is not None:
            return own_of(given, question, "json", reason_of(part.data), source)
    if strict and plain[:1] == "{" and plain[-1:] == "}" and not question.shares:
        return alike(question, unparsed("not-the-form"))
    marks = list(_MARKED.finditer(plain))
    before, answer = (plain[: marks[-1].start()], plain[marks[-1].end() :]) if marks else ("", plain)
    replies = own_of(answer, question, "marker" if marks else "whole", before.strip() or None, source)
    said = answer if question.scale.text else plain
    if (question.scale.text or next(iter(replies.values())).status == "unparsed") and refuses(said):
        return alike(question, ParsedReply(None, "refused", said, "prose:refusal"))
    return replies


def given_in(data: Any, question: Question, *, strict: bool = False) -> Any:
    """What stands in JSON as the answer to a question; null where nothing does."""
    if isinstance(data, dict) and question.shares:
        shares = [value for key, value in data.items() if words(key) in {"answer", *names(question)}]
        return shares[-1] if shares else data
    fields = answer_fields(data, names(question), strict=strict) if isinstance(data, dict) else []
    given = fields[-1].value if fields else data if isinstance(data, list) and not question.scale.text else None
    return None if isinstance(given, dict) and not question.scale.text else given


def own_of(
    given: Any, question: Question, place: str, reason: str | None = None, source: str | None = None
) -> dict[str, ParsedReply]:
    """What a value says that stands where the answer belongs; a reason beside a text is no answer of its own."""
    if isinstance(question, MultipleChoice):
        return several_of(given, question, place, reason)
    if question.shares:
        return {question.id: shares_of(given, question, place, reason)}
    return {question.id: text_of(given, question, place, source)}


def several_of(given: Any, question: MultipleChoice, place: str, reason: str | None = None) -> dict[str, ParsedReply]:
    """The options that a list names, or a text whose parts are separated by semicolons, commas or lines."""
    scale = question.scale
    known = {words(option.label): option.code for option in scale.options}
    if isinstance(given, str):
        whole = given.strip().strip("\"'`*[](){}.")
        if declined := _declined(whole, question):
            return alike(question, ParsedReply(None, declined, reason, f"{place}:opt-out"))
        parts = [whole] if words(whole) in known else re.split(r"[;\n]", whole)
        if len(parts) == 1 and words(whole) not in known:
            parts = re.split(r",", whole)
    elif isinstance(given, list) and all(isinstance(part, str) for part in given):
        parts = given or ["none"]
    else:
        return alike(question, unparsed("truncated" if isinstance(given, Cut) else "not-listed"))
    named = [words(_BULLET.sub("", part)) for part in parts if words(part)]
    if question.ranked:
        return _ranking([known.get(name) for name in named], question, place, reason)
    if named and all(name in (*_NONE, words(question.none)) for name in named):
        chosen: set[float] = set()
    elif named and all(name in known for name in named):
        chosen = {known[name] for name in named}
    else:
        return alike(question, unparsed("not-listed" if named else "empty"))
    rule = f"{place}:list" if chosen else f"{place}:none"
    values = [float(option.code in chosen) for option in scale.options]
    return {
        id_: ParsedReply(value, "answered", reason, rule) for id_, value in zip(question.part_ids, values, strict=True)
    }


def _ranking(
    named: list[float | None], question: MultipleChoice, place: str, reason: str | None
) -> dict[str, ParsedReply]:
    """The place of each option, where every one is named once."""
    codes = question.scale.codes
    if None in named or not named:
        return alike(question, unparsed("not-listed" if named else "empty"))
    if sorted(named) != sorted(codes):  # type: ignore[type-var]
        return alike(question, unparsed("no-ranking"))
    places = {code: float(n) for n, code in enumerate(named, 1)}
    asked = zip(question.part_ids, question.scale.options, strict=True)
    return {id_: ParsedReply(places[one.code], "answered", reason, f"{place}:ranking") for id_, one in asked}


def shares_of(given: Any, question: Question, place: str, reason: str | None = None) -> ParsedReply:
    """The shares in an object, or in a text whose parts are separated by semicolons, commas or lines."""
    scale, pairs = question.scale, list[tuple[str, Any]]()
    if isinstance(given, str):
        whole = given.strip().strip("\"'`*[](){}.")
        if declined := _declined(whole, question):
            return ParsedReply(None, declined, reason, f"{place}:opt-out")
        parts = [
            _SHARE.fullmatch(_BULLET.sub("", part).strip()) for part in re.split(r"[;\n]|,\s", whole) if part.strip()
        ]
        if not parts or None in parts:
            return unparsed("not-listed" if parts else "empty")
        pairs = [(match[1], match[2].replace(",", ".")) for match in parts if match]
    elif isinstance(given, dict):
        pairs = [(str(key), str(value).strip().rstrip("% ")) for key, value in given.items() if words(key) != "reason"]
    known = {words(name): n for n, o in enumerate(scale.options) for name in (o.label, show_code(o.code)) if name}
    shares = dict.fromkeys(range(len(scale.options)), 0.0)
    for name, share in pairs:
        if words(name) not in known or not _NUMBER.fullmatch(share):
            return unparsed("truncated" if isinstance(given, Cut) else "not-listed")
        shares[known[words(name)]] += float(share)
    total = sum(shares.values())
    if len({words(name) for name, _ in pairs}) < len(pairs) or abs(total - 100) > 1:
        return unparsed("not-100")
    value = scale.codes[max(shares, key=lambda place: shares[place])]
    parts_of_1 = tuple(round(share / total, 6) for share in shares.values())
    return ParsedReply(value, "answered", reason, f"{place}:shares", parts_of_1)


def text_of(given: Any, question: Question, place: str, source: str | None = None) -> ParsedReply:
    """A value that is to be a text; several parts, such as keywords, are joined, and marked words stand in the item."""
    if isinstance(given, list) and all(isinstance(part, str) for part in given):
        given = "; ".join(given)
    if isinstance(given, int | float) and not isinstance(given, bool):
        given = str(given)
    if not isinstance(given, str):
        return unparsed("truncated" if isinstance(given, Cut) else "not-text")
    said = given.strip()
    if declined := _declined(said, question):
        return ParsedReply(None, declined, None, f"{place}:opt-out")
    if question.rationale == "optional" and words(said) in ("", "none"):
        return ParsedReply(0.0, "answered", None, f"{place}:none")
    parts = [words(part) for part in said.split(";")] if question.marks else []
    if not said or sum(len(part.split()) for part in parts) > question.scale.text:
        return unparsed("too-long" if said else "empty")
    if question.marks:
        if source is not None and not all(part and f" {part} " in f" {words(source)} " for part in parts):
            return unparsed("not-in-text")
        return ParsedReply(1.0, "answered", said, f"{place}:marks")
    if len(said) > question.scale.text:
        return unparsed("too-long")
    return ParsedReply(1.0, "answered", said, f"{place}:text")


def names(question: Question) -> frozenset[str]:
    """What a question is called as a key of JSON."""
    return frozenset(filter(None, (words(question.id.replace("-", " ")), words(question.id), words(question.title))))


def _declined(text: str, question: Question) -> str | None:
    reading = read_opt_out(text, 0, question.scale)
    return reading.opt_out if reading and closed(text, reading.end) else None


def alike(question: Question, reply: ParsedReply) -> dict[str, ParsedReply]:
    """The same reply to all questions that are answered as one."""
    return {part.id: reply for part in (question.parts() if isinstance(question, MultipleChoice) else [question])}
