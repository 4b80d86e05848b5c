"""Who comes to a rehearsal, how they behave, and what they answer.

Answers come from the model of ratings that plans rest on, with stated parameters or those of a pilot: a latent value of
item, person and chance, cut into the options (see `planning.model`). The item's text stands for the item; the same text
and question always have the same effect.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final, Literal

import numpy as np
from scipy.special import ndtr

from vantage.collect.answers import tokens
from vantage.collect.form import AGREED, FormField, StudyForm, answered
from vantage.collect.study import AnnotationStudy
from vantage.collect.views import QuestionAnswer
from vantage.corpora import Corpus
from vantage.errors import InputError, nearest
from vantage.instruments import Question
from vantage.measures import Floats
from vantage.planning.model import RatingModel
from vantage.planning.pilot import Pilot

Kind = Literal["careful", "hasty", "careless", "copying", "leaving", "phone", "declining"]


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How people of a kind behave."""

    share: float
    """How many of all people are of this kind, unless other shares are given."""
    pace: float = 1.0
    """Their time for a page, relative to careful people."""
    random: float = 0.0
    """The share of their answers that are drawn at random from all options."""
    attends: float = 0.98
    """How often they see what a check or an item with a known answer asks for."""
    reads: float = 1.0
    """How often they have read the rules of a screener, and the guidelines that a quiz and a training ask for."""
    says: str = ""


KINDS: Final[Mapping[Kind, Behaviour]] = {
    "careful": Behaviour(0.70, says="read, and answer as they see it"),
    "hasty": Behaviour(
        0.08, pace=0.35, random=0.25, attends=0.8, reads=0.8, says="skim, and answer a quarter at random"
    ),
    "careless": Behaviour(0.06, pace=0.2, random=1.0, attends=0.0, reads=0.0, says="answer everything at random"),
    "copying": Behaviour(0.04, pace=0.6, random=0.1, attends=0.95, reads=0.95, says="paste a model's reasons"),
    "leaving": Behaviour(0.05, says="leave half-way; half of them return the submission, the others vanish"),
    "phone": Behaviour(0.03, pace=1.2, says="leave half-way and come back on a phone"),
    "declining": Behaviour(0.04, says="do not agree"),
}


@dataclass(frozen=True, slots=True)
class Guest:
    """One simulated person."""

    number: int
    kind: Kind
    speed: float
    """Their time for a page, relative to others of the kind."""

    @property
    def behaviour(self) -> Behaviour:
        """How they behave."""
        return KINDS[self.kind]

    @property
    def id(self) -> str:
        """Their id on the platform."""
        return f"{self.number:024x}"


def crowd(people: int, seed: int, mix: Mapping[str, float] | None = None) -> list[Guest]:
    """So many people in the order of their arrival, as many of each kind as its share says.

    >>> sum(guest.kind == "careful" for guest in crowd(200, 1))
    140
    """
    shares = {kind: one.share for kind, one in KINDS.items()} if mix is None else dict(mix)
    for kind in shares:
        if kind not in KINDS:
            raise InputError(f"There are no '{kind}' people", remedy=nearest(kind, list(KINDS)))
    if people < 1 or min(shares.values()) < 0 or sum(shares.values()) <= 0:
        raise InputError("A rehearsal needs people", remedy="give one person or more, and shares of 0 or more")
    exact = {kind: people * share / sum(shares.values()) for kind, share in shares.items()}
    counts = {kind: int(number) for kind, number in exact.items()}
    for kind in sorted(exact, key=lambda kind: counts[kind] - exact[kind])[: people - sum(counts.values())]:
        counts[kind] += 1
    rng = np.random.default_rng([seed, 1])
    kinds = rng.permutation([kind for kind in KINDS for _ in range(counts.get(kind, 0))])
    return [Guest(n, kind, float(np.exp(rng.normal(0, 0.3)))) for n, kind in enumerate(kinds.tolist(), 1)]


ITEM: Final = 0.4
"""The share of items in the latent variance of answers, unless a pilot says otherwise."""
RATER: Final = 0.1
OPTS_OUT: Final = 0.02
"""How often a careful person chooses an opt-out."""
SCREENED: Final = 1000
"""How often answers about a person are drawn until they meet the rules of a screener."""
UNHURRIED: Final = 0.5
"""The pace from which on people also answer what they need not."""
WORDS: Final = ("The words", "of the text", "make me think", "that this", "is the case", "to some extent", "I believe")
COPIED: Final = "Based on the provided text, the statement clearly conveys this attribute in a nuanced manner overall."


class RehearsalAnswers:
    """The answers of all people of a rehearsal."""

    def __init__(self, study: AnnotationStudy, seed: int, pilot: Corpus | None = None) -> None:
        self.study, self.seed = study, seed
        questions = {q.id: q for block in study.blocks for q in block.instrument.questions if not q.scale.text}
        self.models = {question.id: _model(question, pilot) for question in questions.values()}

    def filled(self, form: StudyForm, guest: Guest, rng: np.random.Generator) -> dict[str, Any]:
        """The answers of a person to a form. Those who read its rules are among those whom the study looks for."""
        reads = form.admits is not None and rng.random() < guest.behaviour.reads
        filling, given = Filling(self, form, guest, rng), dict[str, Any]()
        for _ in range(SCREENED if reads else 1):
            given = {}
            for field in form.fields:
                given |= filling.answered(field, given)
            if form.admits is None or form.admits(given):
                break
        return given


@dataclass(frozen=True, slots=True)
class Filling:
    """A person who fills in a form."""

    all: RehearsalAnswers
    form: StudyForm
    guest: Guest
    rng: np.random.Generator

    def answered(self, field: FormField, given: Mapping[str, Any]) -> dict[str, Any]:
        """The answers to a field, after those `given` to the fields before it."""
        if field.name == AGREED:
            return {AGREED: "no" if self.guest.kind == "declining" else "yes"}
        behaviour = self.guest.behaviour
        sees = self.rng.random() < (behaviour.reads if field.tests == "reading" else behaviour.attends)
        right = (field.right or {}) if sees else {}
        if not field.questions:
            return {field.name: self._of_person(field, right.get(field.name))}
        reason = self._reason(field)
        if field.kind == "text":
            return {field.name: QuestionAnswer(float(bool(reason)), "answered", reason)}
        if field.kind == "marks":
            words = tokens(str(self.form.record.get(field.questions[0].marks) or ""))
            most = min(field.questions[0].scale.text, len(words), 3)
            start = int(self.rng.integers(len(words) - most + 1))
            return {field.name: QuestionAnswer(1.0, marked=tuple(range(start, start + most)))}
        opt_outs = field.questions[0].scale.opt_outs
        if opt_outs and not right and self.rng.random() < OPTS_OUT:
            status = opt_outs[int(self.rng.integers(len(opt_outs)))].status
            return {question.id: QuestionAnswer(None, status, reason) for question in field.questions}
        if field.kind == "ranking":
            return answered(field, self._places(field, right), reason)
        values = []
        for question in field.questions:
            if question.id in right:
                values.append(float(self.rng.choice(right[question.id])))
            else:
                taken = given[question.unlike].value if question.unlike in given else self._kept_free(question)
                values.append(self._value(field, question, taken))
        shares = self._shares(field, values[0]) if field.kind == "shares" else None
        return answered(field, values, reason, shares)

    def _places(self, field: FormField, right: Mapping[str, Any]) -> list[float]:
        """A place for each option: the right ones, then in the order in which this person sees the options."""
        known = {question.id: float(right[question.id][0]) for question in field.questions if question.id in right}
        free = [one for one in field.questions[0].scale.codes if one not in known.values()]
        careless = self.rng.random() < self.guest.behaviour.random
        seen = {
            question.id: self.rng.normal() if careless else float(self._latent(question)[0])
            for question in field.questions
            if question.id not in known
        }
        known |= dict(zip(sorted(seen, key=lambda id_: (seen[id_], id_)), free, strict=True))
        return [known[question.id] for question in field.questions]

    def _shares(self, field: FormField, value: float) -> tuple[float, ...]:
        """Whole shares that add up to 100, the largest for the answer that a person would give alone."""
        codes = field.questions[0].scale.codes
        drawn = np.sort(self.rng.dirichlet(np.full(len(codes), 1.0 if self.guest.kind == "careless" else 0.5)))
        whole = np.floor(100 * drawn)
        whole[-1] += 100 - whole.sum()
        rest = iter(self.rng.permutation(whole[:-1]).tolist())
        return tuple(float(whole[-1]) if code == value else next(rest) for code in codes)

    def _of_person(self, field: FormField, right: Sequence[int] | None) -> str | list[str]:
        """An answer about the person, or to the quiz, as a page sends it."""
        if field.tests:
            return str(right[0] if right else self.rng.integers(len(field.options)))
        if field.kind == "choice":
            return str(self.rng.choice(field.options))
        if field.kind == "several":
            return [str(self.rng.choice(field.options))]
        if field.kind == "number":  # an age where nothing is known about it
            low = 18 if field.low is None else int(field.low)
            high = low + 50 if field.high is None else int(field.high)
            return str(int(self.rng.integers(low, max(min(high, 75), low) + 1)))
        return "ok" if field.required or self.guest.behaviour.pace >= UNHURRIED else ""

    def _reason(self, field: FormField) -> str | None:
        """A reason, or an answer, in a person's own words, or the one that a model gave."""
        question = field.questions[0]
        asked = "required" if field.kind == "text" and field.required else question.rationale
        if asked == "no" or (asked == "optional" and self.guest.behaviour.pace < UNHURRIED):
            return None
        own = self.form.item.split()
        start = int(self.rng.integers(0, max(len(own) - 4, 1)))
        text = " ".join([*self.rng.permutation(WORDS)[:4].tolist(), *own[start : start + 4]])
        text = "ok" if self.guest.kind == "careless" else COPIED if self.guest.kind == "copying" else text
        return text[: field.longest].strip()

    def _value(self, field: FormField, question: Question, taken: float | None) -> float:
        """An answer in the codes shown: as this person sees the item, or at random; never one that is taken."""
        scale = question.scale
        random = self.rng.random() < self.guest.behaviour.random
        if field.low is not None and field.high is not None:
            span = field.high - field.low
            given = field.low + self.rng.random() * span if random else self._meant(question)
            return field.way.decoded(question, round(given, 1) if scale.range is not None else float(round(given)))
        codes = sorted(code for code in scale.codes if code != taken)
        if random:
            return float(self.rng.choice(codes))
        meant = self._meant(question)
        shown = min(scale.codes, key=lambda code: abs(field.way.decoded(question, code) - meant))
        return float(shown if shown != taken else self.rng.choice(codes))

    def _meant(self, question: Question) -> float:
        model = self.all.models[question.id]
        answer = float(model.coded(self._latent(question)))
        if len(model.codes):
            return float(model.codes[int(answer)])
        low, high = question.scale.ends
        return low + float(ndtr(answer)) * (high - low)

    def _latent(self, question: Question) -> Floats:
        model = self.all.models[question.id]
        options = len(model.codes) if model.unordered else 1
        of_item = self._effect(f"item:{self.form.item}:{question.id}", options)
        of_rater = self._effect(f"rater:{self.guest.number}:{question.id}", options)
        rest = np.sqrt(max(1 - model.item - model.rater, 0.0)) * self.rng.normal(size=options)
        return np.asarray(np.sqrt(model.item) * of_item + np.sqrt(model.rater) * of_rater + rest)

    def _effect(self, name: str, options: int) -> Floats:
        digest = blake2b(f"{self.all.seed}:{name}".encode(), digest_size=8).digest()
        return np.random.default_rng(int.from_bytes(digest, "little")).normal(size=options)

    def _kept_free(self, question: Question) -> float | None:
        """The answer that is right for the question whose answer must be another than this one's."""
        others = ((one, field.right or {}) for field in self.form.fields for one in field.questions)
        return next((right[one.id][0] for one, right in others if one.unlike == question.id and one.id in right), None)


def _model(question: Question, pilot: Corpus | None) -> RatingModel:
    """The model of answers to a question: that of the pilot, or the stated shares with a bell of answers."""
    scale = question.scale
    if pilot is not None:
        try:
            return Pilot.of(pilot, question.id, None).model
        except InputError as error:
            raise InputError(
                f"The pilot has no model of '{question.id}': {error.problem}", remedy=error.remedy
            ) from None
    if scale.slides:
        return RatingModel(np.empty(0), "interval", np.empty(0), ITEM, RATER)
    codes = sorted(scale.codes)
    frequency = np.exp(-np.square(np.linspace(-1.5, 1.5, len(codes))) / 2)
    return RatingModel.of_shares(codes, frequency.tolist(), scale.level, item=ITEM, rater=RATER)
