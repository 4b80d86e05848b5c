"""Who comes to a rehearsal, how they behave, and what they answer.

Answers come from the model of ratings that plans rest on, with stated parameters or those of a pilot: a latent value of
item, person and chance, cut into the options (see `planning.model`). A page does not say which item it shows, so the
item's text stands for it; the same text and question always have the same effect.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from string import Formatter
from typing import Any, Final, Literal

import numpy as np
from scipy.special import ndtr

from vantage.collect.blocks import phases_of
from vantage.collect.phases import accepts
from vantage.collect.study import AnnotationStudy
from vantage.corpora import Corpus
from vantage.errors import InputError, nearest
from vantage.instruments import Question
from vantage.measures.ratings import Floats
from vantage.planning.model import RatingModel
from vantage.planning.pilot import Pilot
from vantage.recruit.rehearsal.forms import FormField, Page
from vantage.scales import show_code

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
    """How often they see what a check, a quiz or an item with a known answer asks for."""
    says: str = ""


KINDS: Final[Mapping[Kind, Behaviour]] = {
    "careful": Behaviour(0.70, says="read, and answer as they see it"),
    "hasty": Behaviour(0.08, pace=0.35, random=0.25, attends=0.8, says="skim, and answer a quarter at random"),
    "careless": Behaviour(0.06, pace=0.2, random=1.0, attends=0.0, says="answer everything at random"),
    "copying": Behaviour(0.04, pace=0.6, random=0.1, attends=0.95, says="paste a model's reasons"),
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
"""The share of raters."""
OPTS_OUT: Final = 0.02
"""How often a careful person chooses an opt-out."""
WORDS: Final = ("The words", "of the text", "make me think", "that this", "is the case", "to some extent", "I believe")
COPIED: Final = "Based on the provided text, the statement clearly conveys this attribute in a nuanced manner overall."


@dataclass(frozen=True, slots=True)
class PageQuestion:
    """A question of the study that a legend on a page puts, and whether it is put the opposite way."""

    question: Question
    reversed: bool


class RehearsalAnswers:
    """The answers of all people of a rehearsal."""

    def __init__(self, study: AnnotationStudy, seed: int, pilot: Corpus | None = None) -> None:
        self.study, self.seed = study, seed
        questions = {
            question.id: question for block in study.blocks for question in block.instrument.questions
        }.values()
        self._patterns = [
            (re.compile(_pattern(text)), PageQuestion(question, opposite))
            for question in questions
            for form, opposite in ((question, False), (question.reversed, True))
            if form is not None
            for worded in (form, *form.wordings)
            for text in (worded.ask, *worded.ask_in.values())
        ]
        self.models = {question.id: _model(question, pilot) for question in questions}
        self._checks = {
            (" ".join(check.instruction.split()), check.question): check
            for block in study.blocks
            for check in block.checks.values()
        }
        quizzes = [phase.quiz for phase in phases_of(study.plan) if phase.quiz]
        self._quiz = {q.ask: q.options[q.answer - 1] for quiz in quizzes for q in quiz.questions}
        self._gold = _gold_texts(study)
        self._asked: dict[str, PageQuestion | None] = {}

    def asked(self, legend: str) -> PageQuestion | None:
        """The question that a legend puts, or null for questions about the person."""
        if legend not in self._asked:
            self._asked[legend] = next((what for made, what in self._patterns if made.fullmatch(legend)), None)
        return self._asked[legend]

    def choice(self, page: Page, one: FormField, guest: Guest, rng: np.random.Generator) -> str:
        """The value that a person chooses among the options of a field."""
        behaviour = guest.behaviour
        values = [value for value, _ in one.options if value] or [value for value, _ in one.options]
        if rng.random() < behaviour.attends and (right := self._right(page, one)):
            return str(rng.choice(right))
        asked = self.asked(one.asks)
        if asked is None or rng.random() < behaviour.random:
            return str(rng.choice(values))
        numbers = {value: code for value in values if (code := _number(value)) is not None}
        others = [value for value in values if value not in numbers]
        if others and rng.random() < OPTS_OUT:
            return str(rng.choice(others))
        codes = sorted(numbers.values())
        place = int(self._latent_answer(page, asked, guest, rng))
        code = codes[min(place, len(codes) - 1)]
        return next(value for value, number in numbers.items() if number == code)

    def number(self, page: Page, one: FormField, guest: Guest, rng: np.random.Generator) -> str:
        """A number within the range of a field; an age where nothing is known about it."""
        low = 18.0 if one.low is None else one.low
        high = low + 50 if one.high is None else one.high
        asked = self.asked(one.asks)
        if asked is None or rng.random() < guest.behaviour.random:
            return str(int(rng.integers(int(low), max(int(min(high, 75)), int(low)) + 1)))
        share = float(ndtr(self._latent_answer(page, asked, guest, rng)))
        return f"{low + share * (high - low):.1f}"

    def text(self, page: Page, one: FormField, guest: Guest, rng: np.random.Generator) -> str:
        """A reason in a person's own words, or the one that a model gave."""
        if one.kind == "text" or guest.kind == "careless":
            return "ok"
        if guest.kind == "copying":
            return COPIED
        own = page.item.split()
        start = int(rng.integers(0, max(len(own) - 4, 1)))
        return " ".join([*rng.permutation(WORDS)[:4].tolist(), *own[start : start + 4]])

    def _latent_answer(self, page: Page, asked: PageQuestion, guest: Guest, rng: np.random.Generator) -> float:
        model = self.models[asked.question.id]
        options = len(model.codes) if model.unordered else 1
        of_item = self._effect(f"item:{page.item}:{asked.question.id}", options)
        of_rater = self._effect(f"rater:{guest.number}:{asked.question.id}", options)
        rest = np.sqrt(max(1 - model.item - model.rater, 0.0)) * rng.normal(size=options)
        latent = np.sqrt(model.item) * of_item + np.sqrt(model.rater) * of_rater + rest
        return float(model.coded(-latent if asked.reversed and not model.unordered else latent))

    def _effect(self, name: str, options: int) -> Floats:
        digest = blake2b(f"{self.seed}:{name}".encode(), digest_size=8).digest()
        return np.random.default_rng(int.from_bytes(digest, "little")).normal(size=options)

    def _right(self, page: Page, one: FormField) -> list[str]:
        """The values that a check, a quiz or an item with known answers asks for."""
        if (right := self._quiz.get(one.asks)) is not None:
            return [value for value, label in one.options if label == right]
        asked = self.asked(one.asks)
        if asked is None:
            return []
        check = self._checks.get((page.instruction, asked.question.id))
        if check is not None:
            return [value for value, _ in one.options if value in {show_code(code) for code in check.accept}]
        gold = next((part for text, part in self._gold.items() if text and text in page.item), None)
        if gold is not None and asked.question.id in gold.accept and not page.instruction:
            accept = gold.accept[asked.question.id]
            return [value for value, _ in one.options if accepts(accept, _number(value))]
        return []


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
    if scale.range is not None:
        return RatingModel(np.empty(0), "interval", np.empty(0), ITEM, RATER)
    codes = sorted(scale.codes)
    frequency = np.exp(-np.square(np.linspace(-1.5, 1.5, len(codes))) / 2)
    return RatingModel.of_shares(codes, frequency.tolist(), scale.level, item=ITEM, rater=RATER)


def _pattern(ask: str) -> str:
    """A question with any text in place of the item's fields."""
    parts = [re.escape(" ".join(text.split())) if text.strip() else "" for text, *_ in Formatter().parse(ask)]
    joined = r"\s*.*?\s*".join(parts)
    return joined if not ask.rstrip().endswith("}") else joined + ".*"


def _gold_texts(study: AnnotationStudy) -> Mapping[str, Any]:
    gold = {item: part for block in study.blocks for item, part in block.gold.items()}
    if not gold:
        return {}
    rows = study.corpus.scan("items").select("item", *study.fields).collect().iter_rows(named=True)
    first = next(iter(study.fields))
    return {" ".join(str(row[first]).split()): gold[row["item"]] for row in rows if row["item"] in gold}


def _number(value: str) -> float | None:
    try:
        return float(value)
    except ValueError:
        return None
