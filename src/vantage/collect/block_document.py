"""What a block of items may say in a study file: conditions, sizes, orders, checks and presentation."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field, model_validator

from vantage.instruments.document import DocumentPart, Id, QuestionId, Text

Share = Annotated[float, Field(ge=0, le=1)]
Questions: TypeAlias = (
    Literal["together", "one per participant"] | list[Annotated[list[QuestionId], Field(min_length=1)]]
)


class ConditionsPart(DocumentPart):
    """The instrument's conditions under which items are judged."""

    between: tuple[Id, ...] = ()
    """Each participant works under one of these."""
    within: tuple[Id, ...] = ()
    """Each participant works under all of these, with different items under each."""

    @model_validator(mode="after")
    def _one_of_them(self) -> ConditionsPart:
        if bool(self.between) == bool(self.within):
            raise ValueError("give either 'between' or 'within'")
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """The conditions, between or within participants."""
        return self.between or self.within


class BatchPart(DocumentPart):
    """How much one participant does."""

    size: Annotated[int, Field(ge=1, le=1000)] = 50
    """Items per batch, not counting checks."""
    per_participant: Annotated[int, Field(ge=1, le=100_000)] = 1
    """Batches that one participant may do, one after the other."""


class OrderPart(DocumentPart):
    """The order in which items are assigned and shown."""

    items: Literal["random", "fixed"] = "random"
    """`random`: a different order for each participant; `fixed`: the order of the corpus for everyone."""
    seed: int = 0
    """Random seed for orders, positions of checks and subsets."""


class AttentionCheckPart(DocumentPart):
    """An attention check defined in the study file: an instruction with a known answer."""

    id: Id
    """The name of the check in the export."""
    instruction: Text
    """The instruction shown with the item, such as "Choose 4 here"."""
    question: QuestionId
    """The question whose scale is used."""
    accept: Annotated[list[float], Field(min_length=1)]
    """Codes that pass."""


class AttentionPart(DocumentPart):
    """Attention checks, mixed in at random positions."""

    per_batch: Annotated[int, Field(ge=0, le=100)] = 1
    """Number per batch."""
    checks: tuple[Id | AttentionCheckPart, ...] = ()
    """Ids of the instrument's checks, or your own checks; by default all of the instrument's."""
    threshold: Share = 0.2
    """Participants who fail a larger share than this are flagged for review."""
    placed: Literal["above", "inside"] = "above"
    """Whether the instruction stands above the questions, or inside the text of an ordinary-looking item."""


class RangePart(DocumentPart):
    """A range of a scale, both ends included."""

    from_: Annotated[float, Field(alias="from")]
    """The lowest answer that passes."""
    to: float
    """The highest answer that passes."""

    @model_validator(mode="after")
    def _rises(self) -> RangePart:
        if self.from_ > self.to:
            raise ValueError("'from' is larger than 'to'")
        return self


class GoldItemPart(DocumentPart):
    """An item whose answers are known."""

    item: Text
    """Its id in the corpus; gold items are not assigned for ordinary judgment."""
    accept: Annotated[dict[QuestionId, list[float] | RangePart], Field(min_length=1)]
    """Codes, or the range, that pass, for one or more questions."""
    condition: str = ""
    """The condition it is shown under, where the answer depends on it; by default the participant's."""


class GoldPart(DocumentPart):
    """Items with known answers, mixed in at random positions."""

    per_batch: Annotated[int, Field(ge=0, le=100)] = 1
    """Number per batch."""
    items: Annotated[list[GoldItemPart], Field(min_length=1)]
    threshold: Share = 0.2
    """Participants who fail a larger share than this are flagged for review."""


class DoublePart(DocumentPart):
    """A random subset of the items that more raters judge, to measure agreement."""

    share: Annotated[float, Field(gt=0, le=1)]
    """Size of the subset, as a share of the items."""
    raters: Annotated[int, Field(ge=2, le=1000)] = 2
    """Raters wanted per item of the subset."""


class PresentationPart(DocumentPart):
    """How questions are put, apart from what they ask: one level of a factor for everyone, or one of several for each.

    Answers are stored in the codes of the questions, whatever was shown; the export says how each was asked.
    """

    order: Literal["up", "down", "random"] | list[Literal["up", "down", "random"]] | None = None
    """The order of the options; `random` is drawn for each participant."""
    labels: Literal["numbers", "words", "letters"] | list[Literal["numbers", "words", "letters"]] | None = None
    """What the options are called."""
    direction: Literal["plain", "reversed"] | list[Literal["plain", "reversed"]] | None = None
    """The question, or its reversed twin."""
    wording: Annotated[int, Field(ge=1)] | list[Annotated[int, Field(ge=1)]] | None = None
    """Which wording: 1 is the question's own, 2 its first paraphrase."""
    middle: Literal["shown", "hidden"] | list[Literal["shown", "hidden"]] | None = None
    """Whether there is a middle option."""
    optout: Literal["offered", "hidden"] | list[Literal["offered", "hidden"]] | None = None
    """Whether participants may decline."""
    questions: Literal["listed", "reversed", "random"] | list[Literal["listed", "reversed", "random"]] | None = None
    """The order of the questions on a page."""
    drawn: Literal["participant", "page"] = "participant"
    """Whether a participant keeps one presentation, or gets another on each page."""

    @property
    def levels(self) -> dict[str, tuple[str, ...]]:
        """The factors that are set, with their levels."""
        given = self.model_dump(exclude={"drawn"}, exclude_none=True)
        return {
            factor: tuple(str(level) for level in (value if isinstance(value, list) else [value]))
            for factor, value in given.items()
        }
