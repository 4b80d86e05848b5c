"""Answers as annotation tools store them, turned into coded judgments, and items out of the data that tools show.

A tool stores a chosen label or a number. With an instrument, labels and numbers are looked up on its scales;
a question that it does not have, or every question where no instrument was named, gets a bare scale: the
options in the order that the tool's own configuration gives, or else in alphabetical order.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import polars as pl

from vantage.corpora import schema
from vantage.corpora.prolific import snake_case
from vantage.corpora.storage import About
from vantage.errors import InputError
from vantage.instruments import Instrument, Question
from vantage.scales import NO_OPT_OUTS, OptOut, Scale, Status

RATIONALES: Final = ("rationale", "reason", "explanation", "justification")
"""What a text field is called when it holds the reason for an answer: alone, or behind a question's name."""
UNCHOSEN: Final = "another answer"
"""The second option of a question for which only one label was ever chosen."""


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """One rater's answer to one question about one item, and where it was found."""

    item: str
    rater: str
    question: str
    label: str | None = None
    number: float | None = None
    status: Status = "answered"
    rationale: str | None = None
    sample: int = 0
    seconds: float | None = None
    file: Path | None = None
    row: int | None = None


def ask(name: str, instrument: Instrument | None) -> str:
    """The id of the question that a field of the tool stands for.

    Case, blanks, hyphens and underscores make no difference: the field `Self_Responsibility` is the question
    `self-responsibility` of an instrument that has one.
    """
    wanted = _plain(name)
    for question in instrument.questions if instrument else ():
        if wanted in (_plain(question.id), _plain(question.title)):
            return question.id
    return _id(name)


def ask_option(name: str, label: str) -> str:
    """The id of the question whether an option was chosen, where several may be.

    >>> ask_option("topics", "sport")
    'topics: sport'
    """
    return _id(f"{name}: {label}")


def ask_options(
    base: GivenAnswer, name: str, options: Iterable[str], chosen: Container[str], instrument: Instrument | None
) -> Iterator[GivenAnswer]:
    """The answers, no or yes, to the questions whether each option was chosen."""
    if question_of(ask(name, instrument), instrument):
        problem = f"several options were chosen in '{name}', and the instrument allows one"
        raise InputError(problem, file=base.file, row=base.row, remedy="name another instrument")
    for label in options:
        yield replace(base, question=ask_option(name, label), number=float(label in chosen))


def rationale_of(field: str, questions: Iterable[str]) -> str | None:
    """The question that a text field gives the reason for: "" for all of them, null for none.

    >>> rationale_of("irony_rationale", ["irony"]), rationale_of("Rationale", ["irony"])
    ('irony', '')
    >>> rationale_of("remarks", ["irony"]) is None
    True
    """
    name = _plain(field)
    if name in RATIONALES:
        return ""
    for question in questions:
        asked = _plain(question)
        if any(name in (f"{asked} {word}", f"{word} {asked}") for word in RATIONALES):
            return question
    return None


def about_tool(tool: str, path: Path, notes: Iterable[str], left_out: Mapping[str, int]) -> About:
    """The origin of a corpus that an annotation tool exported."""
    unread = (f"Not read: {count} of {what}." for what, count in left_out.items())
    return About(path.stem, path.stem, f"{tool}, {path.name}", notes=(*notes, *unread))


def with_rationales(answers: Iterable[GivenAnswer], reasons: Mapping[str, str]) -> list[GivenAnswer]:
    """The answers of one rater about one item with the reasons given: for their question, or else for all."""
    return [
        replace(answer, rationale=reason) if (reason := reasons.get(answer.question) or reasons.get("")) else answer
        for answer in answers
    ]


def coded(
    answers: Sequence[GivenAnswer], instrument: Instrument | None, name: str, scales: Mapping[str, Scale]
) -> tuple[pl.DataFrame, list[Instrument], list[str]]:
    """The judgments, the instruments that they belong to, and what has to be noted.

    `name` is what a bare instrument for further questions is called; `scales` are those of the tool's configuration.
    """
    questions = {question.id: question.scale for question in instrument.questions} if instrument else {}
    asked = list(dict.fromkeys(answer.question for answer in answers))
    notes: list[str] = []
    further = None
    if bare := [question for question in asked if question not in questions]:
        inferred = {
            question: scales.get(question) or _scale([a for a in answers if a.question == question])
            for question in bare
        }
        questions |= inferred
        slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60] or "answers"
        slug = f"{slug}-more" if instrument and instrument.id == slug else slug
        further = Instrument.of_questions(slug, name, inferred)
        if instrument:
            notes.append(f"The instrument '{instrument.id}' does not ask: {', '.join(bare)}.")
    rows = [_row(answer, questions[answer.question]) for answer in answers]
    judgments = pl.DataFrame(rows, schema={**schema.JUDGMENTS, "seconds": pl.Float64}, orient="row")
    if judgments["seconds"].null_count() == len(judgments):
        judgments = judgments.drop("seconds")
    return judgments, [i for i in (instrument, further) if i], notes


def _row(answer: GivenAnswer, scale: Scale) -> tuple[Any, ...]:
    status, value = answer.status, answer.number
    if answer.label is not None and not answer.label.strip():
        raise _misfit(answer, answer.label, scale)
    if answer.label is not None and status == "answered":
        status, value = _looked_up(answer, answer.label, scale)
    elif value is not None and not scale.holds(value):
        raise _misfit(answer, f"{value:g}", scale)
    key = (answer.item, answer.question, answer.rater, "", answer.sample)
    return (*key, value if status == "answered" else None, status, answer.rationale, answer.seconds)


def _looked_up(answer: GivenAnswer, label: str, scale: Scale) -> tuple[Status, float | None]:
    if (code := scale.code(label)) is not None:
        return "answered", code
    for opt_out in scale.opt_outs:
        if _plain(label) in (_plain(opt_out.label), _plain(opt_out.status)):
            return opt_out.status, None
    if (number := as_number(label)) is not None and scale.holds(number):
        return "answered", number
    raise _misfit(answer, label, scale)


def _misfit(answer: GivenAnswer, given: str, scale: Scale) -> InputError:
    whose = f"'{given}', given by rater '{answer.rater}' for item '{answer.item}',"
    problem = f"{whose} is not an answer of question '{answer.question}', which is {scale.describe()}"
    remedy = "name another instrument, or correct its scale"
    return InputError(problem, file=answer.file, row=answer.row, remedy=remedy)


def _scale(answers: Sequence[GivenAnswer]) -> Scale:
    """A bare scale for what was answered: numbers as they are, labels in alphabetical order."""
    declined = {answer.status for answer in answers}
    opt_outs = [OptOut(s, s.replace("_", " ")) for s in sorted(declined - set(NO_OPT_OUTS))]
    chosen = {label for a in answers if (label := (a.label or "").strip())}
    labels = sorted(chosen, key=lambda label: (label.casefold(), label))
    numbers = [a.number for a in answers if a.number is not None] + [
        number for label in labels if (number := as_number(label)) is not None
    ]
    if labels and (len(numbers) < len(labels) or any(as_number(label) is None for label in labels)):
        return scale_of_labels(labels, opt_outs)
    low, high = (min(numbers), max(numbers)) if numbers else (0.0, 1.0)
    if any(number % 1 for number in numbers) or high - low > 100:
        return Scale(level="interval", opt_outs=tuple(opt_outs), range=(low, high if high > low else low + 1))
    return Scale.points(int(low), int(high if high > low else low + 1), opt_outs=opt_outs)


def scale_of_labels(labels: Sequence[str], opt_outs: Sequence[OptOut] = ()) -> Scale:
    """A nominal scale of labels in their order; of two that differ in case only, the first."""
    distinct = list({label.casefold(): label for label in reversed(labels)}.values())[::-1]
    if len(distinct) == 1:
        distinct.append(UNCHOSEN)
    return Scale.labels(*distinct, opt_outs=opt_outs)


def as_number(text: object) -> float | None:
    """A finite number that is written as a number or as text, or null."""
    if isinstance(text, bool) or not isinstance(text, int | float | str):
        return None
    try:
        number = float(text)
    except (ValueError, OverflowError):
        return None
    return number if abs(number) < float("inf") else None


def question_of(id: str, instrument: Instrument | None) -> Question | None:  # noqa: A002
    """The instrument's question of this id, where it has one."""
    return next((q for q in instrument.questions if q.id == id), None) if instrument else None


def _id(name: str) -> str:
    return " ".join(name.split())[:200].strip() or "answer"


def _plain(name: str) -> str:
    return re.sub(r"[\s_-]+", " ", name).strip().casefold()


SPEAKERS: Final = ("speaker", "author", "role", "name", "user")
UTTERANCES: Final = ("text", "content", "utterance", "message")


def items_of(tasks: Mapping[str, Mapping[str, Any]]) -> pl.DataFrame:
    """The items table: one column per key, named in lower_snake_case.

    Lists of turns become conversations, other nested data JSON text; a column that mixes kinds becomes text.

    >>> items_of({"1": {"text": "Hi", "Turns": [{"author": "Ann", "text": "Hello"}]}}).to_dicts()
    [{'item': '1', 'text': 'Hi', 'turns': [{'speaker': 'Ann', 'text': 'Hello'}]}]
    """
    names: dict[str, str] = {}
    for data in tasks.values():
        for key in data:
            names.setdefault(key, _free(snake_case(key) or "column", {*names.values(), "item"}))
    columns = [pl.Series("item", list(tasks), dtype=pl.String)]
    columns += [_column(name, [data.get(key) for data in tasks.values()]) for key, name in names.items()]
    return pl.DataFrame(columns)


def _free(name: str, taken: set[str]) -> str:
    """The name, with a number behind it where it is taken."""
    return next(n for n in (name, *(f"{name}_{i}" for i in range(2, len(taken) + 3))) if n not in taken)


def _column(name: str, values: list[Any]) -> pl.Series:
    known = [value for value in values if value is not None]
    if known and all(_turns(value) is not None for value in known):
        return pl.Series(name, [_turns(value) for value in values], dtype=schema.CONVERSATION)
    kinds = {bool if isinstance(v, bool) else float if isinstance(v, int | float) else type(v) for v in known}
    if kinds == {bool} or (kinds == {float} and all(abs(v) < 2**53 for v in known)):
        return pl.Series(name, values, strict=False)
    return pl.Series(name, [_text(value) for value in values], dtype=pl.String)


def _turns(value: Any) -> list[dict[str, str]] | None:
    """The turns of a conversation, or null for anything else."""
    if not isinstance(value, list) or not value or not all(isinstance(turn, dict) for turn in value):
        return None
    turns = []
    for turn in value:
        speaker = next((key for key in SPEAKERS if key in turn), None)
        said = next((key for key in UTTERANCES if key in turn), None)
        if speaker is None or said is None:
            return None
        turns.append({"speaker": str(turn[speaker]), "text": str(turn[said])})
    return turns


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)
