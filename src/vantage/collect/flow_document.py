"""The phases of a flow and what a block of items may say, as they are written in a study file.

`document.StudyDocument` is the whole file; `phases.Flow` is what participants go through.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

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


TraitId = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=64)]


class WhenPart(DocumentPart):
    """A condition on an earlier answer of the participant; an answer that was not given meets none."""

    if_: Annotated[TraitId, Field(alias="if")]
    """The id of an earlier question about the participant."""
    is_: Annotated[tuple[Text | int, ...], Field(alias="is")] = ()
    """Answers that meet the condition."""
    is_not: tuple[Text | int, ...] = ()
    """Answers that do not; all others meet the condition."""
    below: float | None = None
    """Smaller numbers meet the condition."""
    above: float | None = None
    """Larger numbers meet the condition."""

    @model_validator(mode="after")
    def _one_test(self) -> WhenPart:
        given = bool(self.is_) + bool(self.is_not) + (self.below is not None) + (self.above is not None)
        if given != 1:
            raise ValueError("give one of 'is', 'is_not', 'below' and 'above'")
        return self

    def holds(self, answers: Mapping[str, Any]) -> bool:
        """Whether the answers so far meet the condition.

        >>> WhenPart(**{"if": "age", "below": 18}).holds({"age": 17})
        True
        """
        answer = answers.get(self.if_)
        if answer is None or answer == []:
            return False
        if self.below is not None:
            return isinstance(answer, int) and answer < self.below
        if self.above is not None:
            return isinstance(answer, int) and answer > self.above
        given = set(answer) if isinstance(answer, list) else {answer}
        return bool(given & set(self.is_)) if self.is_ else not given & set(self.is_not)


class TraitPart(DocumentPart):
    """A question about the participant."""

    id: TraitId
    """The column of the raters table that holds the answer."""
    ask: Text
    """The question as the participant reads it."""
    options: tuple[Text, ...] = ()
    """The answers to choose from; without options participants type their answer."""
    kind: Literal["choice", "several", "number", "text"] = "choice"
    """One option, any number of options, a whole number, or a line of text."""
    from_: Annotated[int | None, Field(alias="from")] = None
    """The lowest accepted number."""
    to: int | None = None
    """The highest accepted number."""
    required: bool = False
    """Whether the participant must answer."""
    show_if: WhenPart | None = None
    """Asked only of participants whose earlier answers meet this condition."""

    @model_validator(mode="after")
    def _fits(self) -> TraitPart:
        if (self.kind in ("choice", "several")) != bool(self.options):
            raise ValueError("'options' are required for the kinds 'choice' and 'several', and only valid there")
        if len(set(self.options)) < len(self.options):
            raise ValueError("duplicate option")
        if self.kind != "number" and (self.from_ is not None or self.to is not None):
            raise ValueError("'from' and 'to' are only valid for the kind 'number'")
        return self


class QuizQuestionPart(DocumentPart):
    """One question of the comprehension quiz."""

    ask: Text
    """The question as the participant reads it."""
    options: Annotated[list[Text], Field(min_length=2)]
    """The answers to choose from."""
    answer: Annotated[int, Field(ge=1)]
    """The right option, counted from 1."""
    explain: str = ""
    """An explanation, shown after a wrong answer."""

    @model_validator(mode="after")
    def _exists(self) -> QuizQuestionPart:
        if self.answer > len(self.options):
            raise ValueError(f"'answer' is {self.answer}, but there are {len(self.options)} options")
        return self


class QuizPart(DocumentPart):
    """A comprehension quiz after the guidelines; participants who fail are screened out."""

    questions: Annotated[list[QuizQuestionPart], Field(min_length=1)]
    needed: Annotated[int | None, Field(ge=1)] = None
    """Right answers needed to pass; by default all."""
    attempts: Annotated[int, Field(ge=1, le=10)] = 2
    """Attempts allowed; crowd platforms require two."""

    @model_validator(mode="after")
    def _possible(self) -> QuizPart:
        if self.needed is not None and self.needed > len(self.questions):
            raise ValueError(f"'needed' is {self.needed}, but there are {len(self.questions)} questions")
        return self


class ConsentPart(DocumentPart):
    """The first page: what participants agree to."""

    text: str = ""
    """What participants agree to; by default the study's `consent`."""


class ScreeningRulePart(WhenPart):
    """Who is screened out."""

    end: Text
    """What they read on their last page."""


class ScreenerPart(DocumentPart):
    """Questions that decide who takes part. Participants who are screened out leave with the screen-out code."""

    title: str = ""
    """The heading of the page."""
    questions: Annotated[tuple[TraitPart, ...], Field(min_length=1)]
    """Questions about the participant."""
    rules: Annotated[tuple[ScreeningRulePart, ...], Field(min_length=1)]
    """The first rule that is met ends the study for the participant."""


class QuestionnairePart(DocumentPart):
    """Questions about the participant, before or after the task; the answers become columns of the raters table."""

    title: str = ""
    """The heading of the page."""
    intro: str = ""
    """What the page says before the questions."""
    questions: Annotated[tuple[TraitPart, ...], Field(min_length=1)]
    """Questions about the participant."""


class TrainingItemPart(DocumentPart):
    """An item to practise on, with its accepted answers."""

    item: Text | dict[Id, Any]
    """Its id in the corpus, or its fields. Training items are not assigned for ordinary judgment."""
    accept: Annotated[dict[QuestionId, list[float] | RangePart], Field(min_length=1)]
    """Codes, or the range, that are right, for one or more questions."""
    condition: str = ""
    """The condition that it is shown under."""
    explain: str = ""
    """Shown after the answer, right or wrong."""


class TrainingPart(DocumentPart):
    """Items to practise on, with feedback after each."""

    items: Annotated[tuple[TrainingItemPart, ...], Field(min_length=1)]
    needed: Annotated[int | None, Field(ge=1)] = None
    """Items that must be answered rightly to go on; without it everybody goes on."""

    @model_validator(mode="after")
    def _possible(self) -> TrainingPart:
        if self.needed is not None and self.needed > len(self.items):
            raise ValueError(f"'needed' is {self.needed}, but there are {len(self.items)} items")
        return self


class GuidelinesPart(DocumentPart):
    """The guidelines of an instrument with its worked examples, and items to practise on."""

    instrument: str = ""
    """Another instrument than the study's."""
    training: TrainingPart | None = None


class SelectionPart(DocumentPart):
    """Which items a block has; several keys narrow it down."""

    where: Annotated[dict[str, Text | int | float | list[Text | int | float]], Field(default_factory=dict)]
    """Items with this value, or one of these values, in a column of the corpus."""
    ids: tuple[Text, ...] = ()
    """These items."""
    sample: Annotated[int | None, Field(ge=1)] = None
    """So many of them at random: of the corpus, or with `same_as` of each participant's items."""
    same_as: Id | None = None
    """The items that the participant judged in an earlier block, once more."""
    distance: Annotated[int, Field(ge=0)] = 0
    """With `same_as`: so many pages at least between the two."""

    @model_validator(mode="after")
    def _fits(self) -> SelectionPart:
        if self.same_as and (self.where or self.ids):
            raise ValueError("'same_as' goes with 'sample' and 'distance' only")
        if self.distance and not self.same_as:
            raise ValueError("'distance' goes with 'same_as'")
        return self


class BlockPart(DocumentPart):
    """Items judged with one instrument. What a block leaves out is as in the study."""

    id: Id
    """Names the block in the export."""
    title: str = ""
    """The heading of its pages."""
    instrument: str = ""
    """Another instrument than the study's; its guidelines are shown before the block."""
    parameters: Annotated[dict[Id, str], Field(default_factory=dict)]
    """Values for the parameters of that instrument."""
    items: Literal["all"] | SelectionPart = "all"
    """Which items."""
    condition: str = ""
    """The condition under which all items are judged."""
    conditions: ConditionsPart | None = None
    """Several conditions, between or within people."""
    questions: Questions | None = None
    """As in the study; with another instrument, all its questions together."""
    raters: Annotated[int | None, Field(ge=1, le=1000)] = None
    """Raters wanted per item, condition and group of questions."""
    batch: Annotated[int | None, Field(ge=1, le=1000)] = None
    """Items per participant, not counting checks."""
    order: Literal["random", "fixed"] | None = None
    """The order of the items."""
    comments: bool = False
    """Whether participants may write a comment on each answer, which is exported as its reason."""
    presentation: PresentationPart | None = None
    attention: AttentionPart | None = None
    gold: GoldPart | None = None
    minutes: Annotated[float | None, Field(gt=0, le=10_000)] = None
    """A time limit for the block; what is not answered by then goes to others."""
    page_minutes: Annotated[float | None, Field(gt=0, le=10_000)] = None
    """A time limit for each page."""

    @model_validator(mode="after")
    def _one_kind_of_conditions(self) -> BlockPart:
        if self.condition and self.conditions:
            raise ValueError("give either 'condition' or 'conditions'")
        return self


class BlocksPart(DocumentPart):
    """Several blocks in an order of their own."""

    order: Literal["fixed", "random", "counterbalanced"] = "fixed"
    """`random`: drawn for each participant; `counterbalanced`: every block equally often at every position."""
    people: Literal["within", "between"] = "within"
    """Each participant does all of the blocks, or one of them."""
    of: Annotated[tuple[BlockPart, ...], Field(min_length=2)]
    """The blocks."""


class DebriefingPart(DocumentPart):
    """A page after the task."""

    title: str = ""
    """The heading of the page."""
    text: Text
    """What participants learn after the task."""


class PhasePart(DocumentPart):
    """One phase of the study; exactly one of the keys."""

    consent: ConsentPart | None = None
    screener: ScreenerPart | None = None
    questionnaire: QuestionnairePart | None = None
    guidelines: GuidelinesPart | None = None
    quiz: QuizPart | None = None
    block: BlockPart | None = None
    blocks: BlocksPart | None = None
    debriefing: DebriefingPart | None = None

    @model_validator(mode="before")
    @classmethod
    def _named(cls, data: Any) -> Any:
        return {data: {}} if data in ("consent", "guidelines") else data

    @model_validator(mode="after")
    def _one_phase(self) -> PhasePart:
        if len([name for name, part in self if part is not None]) != 1:
            raise ValueError("a phase has exactly one key, such as 'block'")
        return self

    @property
    def kind(self) -> str:
        """The key that is given."""
        return next(name for name, part in self if part is not None)

    @property
    def blocks_here(self) -> tuple[BlockPart, ...]:
        """The blocks of the phase, if it has some."""
        return (self.block,) if self.block else self.blocks.of if self.blocks else ()

    @property
    def questions_here(self) -> tuple[TraitPart, ...]:
        """The questions about the participant that the phase asks."""
        asks = self.screener or self.questionnaire
        return asks.questions if asks else ()
