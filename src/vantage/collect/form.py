"""The page of a participant's step as data: what there is to read, and typed fields to fill in.

A field knows its kind, limits, label and meaning and, for those who test a study, the answers that are right and
whether answers let somebody go on. `form_of` makes the form of any step, and sending it does what the page's button
does, so that whoever fills in forms (a rehearsed person, a program) needs no page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Literal

import numpy as np
from sqlalchemy import select

from vantage.collect.answers import LINE, LONGEST, whole_number
from vantage.collect.flow_document import RangePart
from vantage.collect.languages import sentence
from vantage.collect.participants import ParticipantService
from vantage.collect.phases import Questionnaire, Quiz, TrainingPhase, accepts
from vantage.collect.submissions import page_of
from vantage.collect.tables import pages
from vantage.collect.views import InvalidAnswers, Participant, QuestionAnswer, Step
from vantage.collect.web.item_view import texts
from vantage.instruments import Question, grouped
from vantage.presentations import PLAIN, Presentation

FieldKind = Literal["choice", "several", "ranking", "shares", "number", "text", "marks"]
Tests = Literal["", "reading", "attention"]
"""What a right answer shows: that somebody has read the instructions, or that they look at each item."""
Given = Mapping[str, Any]
"""Answers by field: of questions a `QuestionAnswer` by question, of others text, or a list where several may apply."""
STEPS: Final = 101
"""Points of a continuous scale that are tried for right answers."""
AGREED: Final = "agreed"
RightAnswers = Mapping[str, Sequence[float] | RangePart]
"""Right answers by question, in the codes of the question."""


@dataclass(frozen=True, slots=True)
class FormField:
    """Something to fill in."""

    name: str
    kind: FieldKind
    label: str
    options: tuple[str, ...] = ()
    """Texts to choose from, of fields that are no questions of an instrument."""
    low: float | None = None
    high: float | None = None
    longest: int = 0
    required: bool = True
    questions: tuple[Question, ...] = ()
    """The question of an instrument, or those about the options that may apply together."""
    way: Presentation = PLAIN
    right: Mapping[str, tuple[Any, ...]] | None = None
    """Answers that are right, as the page offers them, by question (or under the field's own name)."""
    tests: Tests = ""

    @property
    def choices(self) -> tuple[tuple[str, str], ...]:
        """What is sent for each text to choose, and the text: in a quiz its number."""
        return tuple((f"{n}" if self.tests else text, text) for n, text in enumerate(self.options))


@dataclass(frozen=True, slots=True)
class StudyForm:
    """The page of a step."""

    place: str
    """Where it is: the kind of the step, and which of several. A form that is sent twice answers no later page."""
    name: str
    reads: str
    """What there is to read, without the labels of fields."""
    send: Callable[[Given, float], Step]
    """Sends answers, given after so many seconds; the next step. Raises `InvalidAnswers`."""
    fields: tuple[FormField, ...] = ()
    item: str = ""
    """What is judged, as text."""
    record: Mapping[str, Any] = field(default_factory=dict)
    admits: Callable[[Given], bool] | None = None
    """Whether answers let somebody go on, where a rule decides."""
    shows: Any = None
    """The phase whose page it is, or the item to practise on, for those who draw it."""

    @property
    def questions(self) -> tuple[Question, ...]:
        """The questions of the instrument, in their order on the page."""
        return tuple(question for one in self.fields for question in one.questions)

    @property
    def words(self) -> int:
        """Words to read, with those of the fields."""
        labels = [label for one in self.fields for label in (one.label, *one.options)]
        labels += [option.label for question in self.questions for option in question.scale.options]
        return len(" ".join([self.reads, *labels]).split())


def consent_form(people: ParticipantService, params: Mapping[str, str], language: str = "") -> StudyForm:
    """The first page, for a visitor who enters only by agreeing, in a language of the content."""
    study = people.study.in_language(language)

    def send(given: Given, _: float) -> Step:
        if given[AGREED] != "yes":
            return Step("declined")
        return people.give_consent(people.enter(params), agreed=True, language=language)

    agreed = FormField(AGREED, "choice", "", ("yes", "no"))
    return StudyForm("consent", "consent", f"{study.consent} {study.warning}", send, (agreed,))


def form_of(people: ParticipantService, participant: Participant, step: Step) -> StudyForm:
    """The form of a step that is not an end."""
    if step.kind == "item":
        return _item(people, participant, step)
    if step.kind == "training":
        return _training(people, participant)
    phase, known = people.phase(participant)
    if isinstance(phase, Questionnaire):
        asked = phase.asked(known.traits)
        first = asked[0] if asked else None
        return StudyForm(
            f"{step.kind}/{first.id if first else ''}",
            f"{step.kind}: {first.ask if first else ''}",
            "",
            lambda given, _: people.give_traits(participant, given),
            tuple(FormField(t.id, t.kind, t.ask, t.options, t.from_, t.to, LINE, t.required) for t in asked),
            admits=lambda given: phase.accept(known, given).move != "out",
            shows=phase,
        )
    if isinstance(phase, Quiz):
        return _quiz(people, participant, phase, step.attempts_left)
    if step.kind == "review":

        def finish(_: Given, __: float) -> Step:
            people.finish(participant)
            return people.step(participant)

        return StudyForm("review", "review", "", finish)
    text = ""
    if step.kind == "guidelines" and (guide := people.guide(participant)) is not None:
        examples = [example.item for example in guide.instrument.examples]
        text = " ".join([guide.instrument.guidelines, *map(_text, examples)])
    text = text or getattr(getattr(phase, "part", None), "text", "")
    place = f"{step.kind}/{phase.number}"
    return StudyForm(place, step.kind, text, lambda _, __: people.confirm(participant), shows=phase)


def _quiz(people: ParticipantService, participant: Participant, phase: Quiz, attempts_left: int) -> StudyForm:
    asked = phase.part.questions

    def send(given: Given, _: float) -> Step:
        result = people.answer_quiz(participant, [whole_number(given[f"{n}"]) for n in range(len(asked))])
        if result.passed or not result.attempts_left:
            return people.step(participant)
        raise InvalidAnswers({f"{n}": asked[n].explain or sentence("This is not right.") for n in result.wrong})

    fields = tuple(
        FormField(f"{n}", "choice", q.ask, tuple(q.options), right={f"{n}": (q.answer - 1,)}, tests="reading")
        for n, q in enumerate(asked)
    )
    # The number of attempts tells a form that was sent twice from a second attempt.
    return StudyForm(f"quiz/{phase.number}.{attempts_left}", "quiz", "", send, fields, shows=phase)


def _item(people: ParticipantService, participant: Participant, step: Step) -> StudyForm:
    page = people.page(participant, step.position)
    number, _ = page_of(page.token)
    ways = people.study.shown(page.group, participant.number, number)[1]
    query = select(pages.c.kind, pages.c.check).where(pages.c.id == number)
    kind, check = people.database.read(lambda connection: connection.execute(query).one())
    known = people.study.block(page.group).accepted(kind, check)
    text = _text(page.record)

    def send(given: Given, seconds: float) -> Step:
        return people.submit(participant, step.position, given, token=page.token, seconds=seconds).step

    fields = tuple(_fields(page.questions, ways, known, "attention"))
    place = f"item/{page.position}/{page.group}"
    reads = f"{text} {page.instruction}"
    return StudyForm(place, f"item: {text[:70]}", reads, send, fields, text, page.record, shows=page)


def _training(people: ParticipantService, participant: Participant) -> StudyForm:
    practice, (phase, _) = people.practice(participant), people.phase(participant)
    text = _text(practice.record)
    place = f"training/{practice.position}.{'feedback' if practice.answers else 'item'}"
    if practice.answers:
        confirm = partial(people.confirm, participant)
        return StudyForm(place, "training: feedback", practice.explain, lambda _, __: confirm(), shows=practice)
    known = phase.part.items[practice.position - 1].accept if isinstance(phase, TrainingPhase) else {}
    ways = [PLAIN] * len(practice.questions)
    return StudyForm(
        place,
        f"training: {text[:70]}",
        text,
        lambda given, _: people.give_practice(participant, given),
        tuple(_fields(practice.questions, ways, known, "reading")),
        text,
        practice.record,
        shows=practice,
    )


def _fields(
    questions: Sequence[Question], ways: Sequence[Presentation], known: RightAnswers, tests: Tests
) -> Iterator[FormField]:
    """The fields of questions: those about options that may apply together are one."""
    by_question = dict(zip((question.id for question in questions), ways, strict=True))
    for group in grouped(questions):
        together = [group] if group[0].whole is not None else [(question,) for question in group]
        for own in together:
            first, way = own[0], by_question[own[0].id]
            scale = first.scale
            kind: FieldKind = "several" if first.whole and len(own) > 1 else "shares" if first.shares else "choice"
            kind = "ranking" if first.whole and first.whole.ranked else kind
            kind = "marks" if first.marks else "text" if scale.text else "number" if scale.slides else kind
            offered = np.linspace(*scale.ends, STEPS).tolist() if scale.slides else scale.codes
            right = {
                q.id: tuple(v for v in offered if accepts(known[q.id], by_question[q.id].decoded(q, v)))
                for q in own
                if q.id in known
            }
            low, high = scale.ends if scale.slides else (None, None)
            label = first.whole.ask if first.whole else first.ask
            required = not scale.text or first.rationale != "optional"
            longest = scale.text or LONGEST
            name = first.whole.id if first.whole else first.id
            yield FormField(
                name, kind, label, (), low, high, longest, required, own, way, right or None, tests if right else ""
            )


def _text(record: Mapping[str, Any]) -> str:
    return " ".join(filter(None, texts(record).values()))


def answered(
    field: FormField, values: Sequence[float], reason: str | None = None, shares: tuple[float, ...] | None = None
) -> dict[str, QuestionAnswer]:
    """The answers to the questions of a field, in the codes shown."""
    pairs = zip(field.questions, values, strict=True)
    return {question.id: QuestionAnswer(value, "answered", reason, shares) for question, value in pairs}
