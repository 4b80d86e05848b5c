"""Questions: what is asked, on which scale, and which of them are asked as one."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from string import Formatter
from typing import Literal, Self

from vantage.instruments.guidance import REASON, answer_names, escaped, has_roles, refers, rendered
from vantage.scales import Scale


@dataclass(frozen=True, slots=True)
class Question:
    """One question about an item."""

    id: str
    title: str
    ask: str
    scale: Scale
    ask_in: Mapping[str, str] = field(default_factory=dict)
    guidance: str = ""
    """How to answer it, as it is written: what it refers to by role is filled in for whoever reads it."""
    rationale: Literal["no", "optional", "required"] = "no"
    section: str = ""
    wordings: tuple[Question, ...] = ()
    """The same question in other words."""
    reversed: Question | None = None
    """The opposite question; its answers are mirrored within the scale."""
    whole: MultipleChoice | None = None
    """The question of which this is one option, where several may apply."""
    unlike: str = ""
    """The question whose answer this one cannot have."""
    shares: bool = False
    """Whether the answer is a distribution: shares of all options, which add up to 100."""
    confidence: str = ""
    """The question of whose answer this one asks how sure the rater is."""
    others: str = ""
    """The question of which this one asks how other people answer it."""
    of_person: Mapping[str, str] = field(default_factory=dict)
    """What labels of its scale become for a rater who speaks for a described person, where they differ."""
    marks: str = ""
    """The field of the item whose words are marked: those that decided the answer before it."""

    @property
    def guidelines(self) -> str:
        """How to answer it, as people read it."""
        return rendered(self.guidance, answer_names(self.whole.scale if self.whole else self.scale))

    @property
    def places(self) -> set[str]:
        """The fields of an item that its wordings are filled with."""
        of_item = (
            name
            for text in (self.ask, *self.ask_in.values())
            for name, _ in refers(text)
            if not has_roles(f"{{{name}}}")
        )
        return {*of_item} - {"answer", "when"}

    def wording(self, condition: str = "", **filled: str) -> str:
        """The question under a condition as people read it, with the item's fields filled in."""
        written = self.ask_in.get(condition, self.ask)
        if has_roles(written):
            circumstances = {condition, *([REASON] if self.rationale != "no" else [])} if condition else None
            written = rendered(written, answer_names(self.scale), holds=circumstances, again=True)
        return fill(written, filled)

    def spoken(self) -> Self:
        """The question with the labels that a rater reads who speaks for a described person."""
        return replace(self, scale=self.scale.reworded(self.of_person)) if self.of_person else self

    def read(self, answers: Mapping[str, str], *, person: bool, holds: Container[str]) -> Self:
        """The question as a rater reads it: without roles, which `vantage.instruments.guidance` explains."""

        def plain(text: str) -> str:
            return rendered(text, answers, person=person, holds=holds, again=True) if has_roles(text) else text

        asks = {condition: plain(ask) for condition, ask in self.ask_in.items()}
        whole = self.whole and self.whole.read(answers, person=person, holds=holds)
        return replace(self, ask=plain(self.ask), ask_in=asks, whole=whole)


@dataclass(frozen=True, slots=True)
class MultipleChoice(Question):
    """A question about all its options: asked as one, judged as a question about each option.

    Where several may apply, the answer about each is 0 or 1; where they are ranked, it is the option's place.
    """

    none: str = ""
    """The label of the answer that no option applies."""
    ranked: bool = False
    ids: tuple[str, ...] = ()
    """The ids of the questions about the options, where these are not made of the options' labels."""

    @property
    def part_ids(self) -> tuple[str, ...]:
        """The ids of the questions about the options, in the order of the scale."""
        return self.ids or tuple(part_id(self.id, option.label) for option in self.scale.options)

    def parts(self) -> Iterator[Question]:
        """The question about each option, as it is asked alone and as the judgments table has it."""
        scale, last = Scale.labels("no", "yes", opt_outs=self.scale.opt_outs), len(self.scale.options)
        if self.ranked:
            scale = Scale.points(1, last, anchors={1: "first", last: "last"}, opt_outs=self.scale.opt_outs)
        for id_, option in zip(self.part_ids, self.scale.options, strict=True):
            said = f'Which place has "{option.label}"?' if self.ranked else f'Does this apply: "{option.label}"?'
            asks = [escaped(said)]
            yield Question(
                id_,
                f"{self.title}: {option.label}",
                " ".join([self.ask, *asks]),
                scale,
                {condition: " ".join([ask, *asks]) for condition, ask in self.ask_in.items()},
                self.guidance,
                section=self.section,
                whole=self,
            )

    def codes(self, answers: Mapping[str, float | str]) -> list[float]:
        """The options that apply, or all in the order of their places, by the answers to the questions about them."""
        given = {o.code: answers.get(id_) for id_, o in zip(self.part_ids, self.scale.options, strict=True)}
        if self.ranked:
            return sorted(given, key=lambda code: float(given[code] or 0))
        return [code for code, answer in given.items() if answer == 1]


def part_id(question: str, label: str) -> str:
    """The id of the question about one option.

    >>> part_id("emotions", "Joy, or relief")
    'emotions.joy-or-relief'
    """
    words = re.findall(r"[^\W_]+", label.casefold())
    return f"{question}.{'-'.join(words)}"


def grouped(questions: Iterable[Question]) -> list[tuple[Question, ...]]:
    """Questions that are asked as one stand together.

    These are the options of one question, questions that cannot be alike, and a question with those about its answer:
    how sure it is, what others say, and which words decided.

    >>> [len(group) for group in grouped([Question("a", "A", "A?", Scale.labels("no", "yes"))])]
    [1]
    """
    groups: list[tuple[Question, ...]] = []
    for question in questions:
        last = groups[-1] if groups else ()
        about = {question.unlike, question.confidence, question.others}
        joins = last and (
            (question.whole is not None and last[-1].whole == question.whole)
            or any(one.id in about for one in last)
            or bool(question.marks)
        )
        groups = [*groups[:-1], (*last, question)] if joins else [*groups, (question,)]
    return groups


def put(questions: Sequence[Question]) -> list[Question]:
    """Questions as they are put to a rater: those about the options of one question as that question."""
    if len(questions) == 1:
        return list(questions)
    return [group[0].whole or one for group in grouped(questions) for one in (group[:1] if group[0].whole else group)]


def fill(text: str, values: Mapping[str, str], *, again: bool = False) -> str:
    """Text with `{name}` replaced where the name is known; a doubled brace stands for itself.

    With `again`, the result is to be filled once more: braces of the text stay doubled and unknown names stand.
    """
    parts: list[str] = []
    for literal, name, role, _ in Formatter().parse(text):
        parts.append(escaped(literal) if again else literal)
        if name is not None:
            value = None if role else values.get(name)
            left = "{" + name + (f":{role}" if role else "") + "}"
            parts.append(left if value is None else escaped(value) if again else value)
    return "".join(parts)
