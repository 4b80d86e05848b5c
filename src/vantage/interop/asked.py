"""What another tool is to ask: the prompts that Vantage would send, and what people answered.

The tool gets the same messages as a Vantage run in the same style, so that its answers can be compared with those
of other raters. There is no single right answer: what travels along is how many people gave each answer.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from vantage.corpora import Corpus
from vantage.errors import InputError, nearest
from vantage.instruments import Instrument, Question
from vantage.raters.answers import choices
from vantage.raters.asked import asked_instrument, asked_questions
from vantage.raters.chat import ChatRater
from vantage.raters.models.base import Message
from vantage.raters.style import Style


class AskedWith(TypedDict, total=False):
    """What may be chosen of a sheet, as `Sheet.of` explains it."""

    instrument: str | Instrument | None
    question: str | Sequence[str]
    style: str
    condition: str
    seed: int


@dataclass(frozen=True, slots=True)
class Asked:
    """One question about one item: the messages, and how many people gave each answer."""

    item: Mapping[str, Any]
    question: Question
    messages: tuple[Message, ...]
    people: Mapping[str, int]
    """How many people gave each answer, by the word that is written for it, in the order of the scale."""

    @property
    def form(self) -> dict[str, Any]:
        """What a reply may say: words, or for a continuous scale any number between two ends."""
        scale = self.question.scale
        return {"words": [choice.word for choice in choices(scale)], "range": list(scale.range or ())}

    @property
    def most(self) -> list[str]:
        """The answers that most people gave: several where they tie, none where nobody answered."""
        top = max(self.people.values(), default=0)
        return [word for word, count in self.people.items() if count == top > 0]


@dataclass(frozen=True)
class Sheet:
    """Everything that is asked, in one style and under one condition."""

    corpus: Corpus
    instrument: Instrument
    """As it is asked: with bands as answers in the coarse style."""
    style: Style
    condition: str
    questions: tuple[Question, ...]
    seed: int

    @classmethod
    def of(
        cls,
        corpus: Corpus,
        *,
        instrument: str | Instrument | None = None,
        question: str | Sequence[str] = (),
        style: str = "zero-shot",
        condition: str = "",
        seed: int = 0,
        refused: Collection[str] = (),
        tool: str = "the other tool",
    ) -> Sheet:
        """The sheet of a corpus.

        Args:
            corpus: The items, and people's answers where there are any.
            instrument: What is asked, where the corpus has several instruments or another one is meant.
            question: Some of its questions; all where none is named.
            style: How it is asked (see `vantage.raters.style`).
            condition: The circumstances.
            seed: Of the order of worked examples.
            refused: Parts of styles that the tool has no place for.
            tool: Its name, for the sentence that says so.

        >>> from vantage import demo_corpus
        >>> sheet = Sheet.of(demo_corpus(), question="trust")
        >>> first = next(sheet.asked())
        >>> first.question.id, [message.role for message in first.messages]
        ('trust', ['system', 'user'])
        """
        parts = Style.parse(style)
        given = {"two-step": parts.two_step, "together": parts.together, "scoring": parts.scoring, "voice": parts.voice}
        if wrong := next((name for name in refused if given[name]), None):
            named = parts.voice if wrong == "voice" else wrong
            raise InputError(f"{tool} has no place for the style '{named}'", remedy="leave it out, or use vantage rate")
        rater = ChatRater("export", parts)
        chosen = asked_instrument(rater, _instrument(corpus, instrument))
        words = [question] if isinstance(question, str) else list(question)
        ids = asked_questions(rater, [part.strip() for word in words for part in word.split(",") if part.strip()])
        questions = tuple(chosen.question(id_) for id_ in ids) if ids else chosen.questions
        if condition and condition not in chosen.conditions:
            problem = f"instrument '{chosen.id}' has no condition '{condition}'"
            raise InputError(problem, remedy=nearest(condition, list(chosen.conditions)))
        return cls(corpus, chosen, parts, condition, questions, seed)

    def asked(self, *questions: Question) -> Iterator[Asked]:
        """Every question about every item, question by question; some of the questions where they are given."""
        rater = ChatRater("export", self.style, seed=self.seed)
        for question in questions or self.questions:
            people = self._people(question)
            calls = rater.plan(self.corpus, self.instrument, questions=[question.id], condition=self.condition)
            for call in calls:
                counts = people.get(str(call.item["item"]), {})
                ordered = {c.word: counts[c.word] for c in choices(question.scale) if c.word in counts}
                yield Asked(call.item, question, call.request.messages, ordered)

    def shown(self, item: Mapping[str, Any]) -> dict[str, Any]:
        """The fields of an item that its raters see."""
        names = [field.name for field in self.instrument.shown(self.condition)]
        return {name: item[name] for name in names if item.get(name) is not None}

    def _people(self, question: Question) -> dict[str, dict[str, int]]:
        """For every item: how many people gave each answer; of a continuous scale there are no answers to count.

        Of people who judged an item again their first answer counts.
        """
        source = question.id.removesuffix("-coarse") if self.style.coarse else question.id
        known = {q.id: q for q in self.corpus.questions}.get(source)
        if known is None or question.scale.range is not None:
            return {}
        rows = self.corpus.people().judgments.filter(question=source)
        conditions = rows["condition"].unique().sort().to_list()
        if self.condition or "" in conditions:
            rows = rows.filter(condition=self.condition)
        elif len(conditions) > 1:
            problem = f"people answered question '{source}' under several conditions ({', '.join(conditions)})"
            raise InputError(problem, remedy="name one with --condition, or filter one of them first")
        rows = rows.sort("sample", maintain_order=True).unique(["item", "rater"], keep="first", maintain_order=True)
        by_item: dict[str, dict[str, int]] = {}
        counts = rows.group_by("item", "value", "status").len().sort("item", "value", "status")
        words = {(c.value, c.status): c.word for c in choices(question.scale)}
        for item, value, status, count in counts.iter_rows():
            banded = self.style.coarse and value is not None
            word = known.scale.band(value) if banded else words.get((value, status))
            if word is not None:
                times = by_item.setdefault(item, {})
                times[word] = times.get(word, 0) + count
        return by_item


def plain_name(text: str) -> str:
    """A name that every tool takes: small letters, digits and underscores, a letter first.

    >>> plain_name("W&C-Sent 2023"), plain_name("1984"), plain_name("反讽")
    ('w_c_sent_2023', 'task_1984', 'task')
    """
    name = re.sub(r"[^a-z0-9]+", "_", text.casefold().encode("ascii", "replace").decode()).strip("_")
    return name if name[:1].isalpha() else f"task_{name}".rstrip("_")


def _instrument(corpus: Corpus, wanted: str | Instrument | None) -> Instrument:
    if isinstance(wanted, Instrument):
        return wanted
    own = {instrument.id: instrument for instrument in corpus.instruments}
    if wanted is None:
        if len(own) == 1:
            return next(iter(own.values()))
        problem = f"the corpus has {len(own)} instruments: {', '.join(own)}"
        raise InputError(problem, remedy="name one with --instrument NAME")
    return own[wanted] if wanted in own else Instrument.load(wanted)
