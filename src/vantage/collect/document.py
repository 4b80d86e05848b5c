"""The shape of a study file: what may be written in its YAML, from which the JSON Schema is generated.

These models live at the edge and are kept by `study.Study`, which adds what they refer to: the instrument and
the items.
"""

from __future__ import annotations

import json
from typing import Annotated, Literal

from pydantic import Field, model_validator

from vantage.instruments.document import Id, Part, QuestionId, Text

Share = Annotated[float, Field(ge=0, le=1)]
Code = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
"""A code that a platform gave: letters, digits, hyphens and underscores."""


class ConditionsPart(Part):
    """Under which conditions of the instrument the items are judged."""

    between: tuple[Id, ...] = ()
    """Every participant works under one of these."""
    within: tuple[Id, ...] = ()
    """Every participant works under all of these, with different items under each."""

    @model_validator(mode="after")
    def _one_of_them(self) -> ConditionsPart:
        if bool(self.between) == bool(self.within):
            raise ValueError("give either 'between' or 'within'")
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """The conditions, whichever way they are spread."""
        return self.between or self.within


class BatchPart(Part):
    """How much one participant does."""

    size: Annotated[int, Field(ge=1, le=1000)] = 50
    """Items in a batch, checks not counted."""
    per_participant: Annotated[int, Field(ge=1, le=100_000)] = 1
    """How many batches one participant may do, one after the other."""


class OrderPart(Part):
    """In which order items are handed out and shown."""

    items: Literal["random", "fixed"] = "random"
    """`random`: another order for every participant; `fixed`: the order of the corpus for everybody."""
    seed: int = 0
    """The same seed gives the same orders, places of checks and subsets."""


class CheckPart(Part):
    """An attention check of the study's own: an instruction that has a known answer."""

    id: Id
    """The name of the check in the export."""
    instruction: Text
    """What the participant is told to choose; it stands with the item."""
    question: QuestionId
    """The question whose scale is used."""
    accept: Annotated[list[float], Field(min_length=1)]
    """The codes that pass."""


class AttentionPart(Part):
    """Attention checks, mixed in at random places."""

    per_batch: Annotated[int, Field(ge=0, le=100)] = 1
    """How many stand in every batch."""
    checks: tuple[Id | CheckPart, ...] = ()
    """Checks of the instrument by id, or checks of your own; without any, all of the instrument's."""
    threshold: Share = 0.2
    """A participant who fails a larger share than this is flagged for review."""


class RangePart(Part):
    """A stretch of a scale, both ends included."""

    from_: Annotated[float, Field(alias="from")]
    """The lowest answer that passes."""
    to: float
    """The highest answer that passes."""

    @model_validator(mode="after")
    def _rises(self) -> RangePart:
        if self.from_ > self.to:
            raise ValueError("'from' is larger than 'to'")
        return self


class GoldItemPart(Part):
    """An item whose answers are known."""

    item: Text
    """Its id in the corpus; gold items are not handed out for ordinary judgment."""
    accept: Annotated[dict[QuestionId, list[float] | RangePart], Field(min_length=1)]
    """For some of the questions the codes, or the range, that pass."""
    condition: str = ""
    """The condition under which it is shown, where its answer depends on that; otherwise that of the participant."""


class GoldPart(Part):
    """Items with known answers, mixed in at random places."""

    per_batch: Annotated[int, Field(ge=0, le=100)] = 1
    """How many stand in every batch."""
    items: Annotated[list[GoldItemPart], Field(min_length=1)]
    threshold: Share = 0.2
    """A participant who fails a larger share than this is flagged for review."""


class DoublePart(Part):
    """A random subset of the items that more people judge, to measure agreement."""

    share: Annotated[float, Field(gt=0, le=1)]
    """How large the subset is, as a share of the items."""
    raters: Annotated[int, Field(ge=2, le=1000)] = 2
    """How many raters are wanted for each item of the subset."""


class TraitPart(Part):
    """A question about the participant."""

    id: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=64)]
    """The column of the raters table that holds the answer."""
    ask: Text
    """The question as the participant reads it."""
    options: tuple[Text, ...] = ()
    """The answers to choose from; without them the answer is written."""
    kind: Literal["choice", "several", "number", "text"] = "choice"
    """One option, any number of options, a whole number, or a line of text."""
    from_: Annotated[int | None, Field(alias="from")] = None
    """The lowest number that is accepted."""
    to: int | None = None
    """The highest number that is accepted."""
    required: bool = False
    """Whether it must be answered; otherwise the participant may say nothing."""

    @model_validator(mode="after")
    def _fits(self) -> TraitPart:
        if (self.kind in ("choice", "several")) != bool(self.options):
            raise ValueError("'options' go with the kinds 'choice' and 'several', and these need them")
        if len(set(self.options)) < len(self.options):
            raise ValueError("an option stands twice")
        if self.kind != "number" and (self.from_ is not None or self.to is not None):
            raise ValueError("'from' and 'to' go with the kind 'number'")
        return self


class QuizQuestionPart(Part):
    """One question of the comprehension quiz."""

    ask: Text
    """The question as the participant reads it."""
    options: Annotated[list[Text], Field(min_length=2)]
    """The answers to choose from."""
    answer: Annotated[int, Field(ge=1)]
    """Which option is right, counted from 1."""
    explain: str = ""
    """Why, shown after a wrong answer."""

    @model_validator(mode="after")
    def _exists(self) -> QuizQuestionPart:
        if self.answer > len(self.options):
            raise ValueError(f"'answer' is {self.answer}, but there are {len(self.options)} options")
        return self


class QuizPart(Part):
    """A comprehension quiz after the guidelines; who fails it is screened out."""

    questions: Annotated[list[QuizQuestionPart], Field(min_length=1)]
    needed: Annotated[int | None, Field(ge=1)] = None
    """How many right answers pass; all without it."""
    attempts: Annotated[int, Field(ge=1, le=10)] = 2
    """How often it may be tried; crowd platforms ask for two."""

    @model_validator(mode="after")
    def _possible(self) -> QuizPart:
        if self.needed is not None and self.needed > len(self.questions):
            raise ValueError(f"'needed' is {self.needed}, but there are {len(self.questions)} questions")
        return self


class RecruitmentPart(Part):
    """How participants come and with what they leave."""

    via: Literal["link", "invitation", "prolific", "mturk"] = "link"
    """Anyone with the link, holders of an invitation, or workers whom a platform sends."""
    completion_code: Code | None = None
    """The code shown at the end (Prolific: sent with the redirect). MTurk style codes are made per participant."""
    screen_out_code: Code | None = None
    """Prolific's code for those who failed the quiz or declined."""
    full_code: Code | None = None
    """Prolific's code for those who find no work left."""
    completion_url: Annotated[str | None, Field(pattern=r"^https://[^\s\"'<>]+$")] = None
    """Another address to return to; `{code}` in it stands for the code."""


class StudyDocument(Part):
    """A Vantage study: which items people judge, under which conditions, and how participants come and go."""

    id: Id
    """The name of the study; the database and the exported raters carry it."""
    title: Text
    """What participants read at the top of every page."""
    corpus: Text
    """The corpus folder, relative to this file."""
    instrument: Text
    """A bundled instrument (NAME or NAME:FORM), or an instrument file, relative to this file."""
    parameters: Annotated[dict[Id, str], Field(default_factory=dict)]
    """Other words for the instrument's parameters."""
    questions: Literal["together", "one per participant"] | list[Annotated[list[QuestionId], Field(min_length=1)]] = (
        "together"
    )
    """All on one page, one question per participant, or groups of questions of which every participant gets one."""
    conditions: ConditionsPart | None = None
    """Conditions of the instrument; without them all fields are shown and the condition is empty."""
    raters: Annotated[int, Field(ge=1, le=1000)] = 3
    """How many raters are wanted per item, condition and group of questions."""
    double: DoublePart | None = None
    """More raters for a random subset of the items."""
    batch: BatchPart = BatchPart()
    order: OrderPart = OrderPart()
    reserve_minutes: Annotated[float, Field(gt=0, le=100_000)] = 60
    """Work of a participant who has not been heard of for so long is given to others."""
    attention: AttentionPart | None = None
    gold: GoldPart | None = None
    traits: tuple[TraitPart, ...] = ()
    """Questions about the participant, asked after consent."""
    quiz: QuizPart | None = None
    consent: str = ""
    """What a participant agrees to; the instrument's consent without it."""
    warning: str = ""
    """A content warning; the instrument's without it."""
    guidelines: str = ""
    """Guidelines of the study, shown before the instrument's."""
    contact: str = ""
    """Whom participants may write to."""
    withdrawal: Literal["delete", "keep"] = "delete"
    """What becomes of the answers of somebody who withdraws; the consent text should say the same."""
    recruitment: RecruitmentPart = RecruitmentPart()
    database: str = ""
    """A database address; without it a SQLite file in the corpus folder."""


def json_schema() -> str:
    """The JSON Schema of study files, as it ships with the package."""
    schema = StudyDocument.model_json_schema(by_alias=True)
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Vantage study"}
    return json.dumps({**schema, **head}, indent=2, ensure_ascii=False, sort_keys=True) + "\n"


if __name__ == "__main__":
    import sys

    sys.stdout.write(json_schema())
