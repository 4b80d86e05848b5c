"""The keys of a study file, from which its JSON Schema is generated.

`study.AnnotationStudy` adds what these models refer to: the instrument and the items.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, field_validator, model_validator

from vantage.adaptive.until import Until
from vantage.collect.rules import Rule
from vantage.instruments.document import DocumentPart, Id, QuestionId, Text

Share = Annotated[float, Field(ge=0, le=1)]
Code = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
"""A platform's code: letters, digits, hyphens and underscores."""


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


class RulePart(DocumentPart):
    """A rule about raters, applied by the server when they finish a batch."""

    exclude: Text | None = None
    """Raters who fulfil this are excluded, such as `failed attention > 0.5 after 2`."""
    flag: Text | None = None
    """Raters who fulfil this are flagged for review."""

    @field_validator("exclude", "flag")
    @classmethod
    def _readable(cls, text: str | None) -> str | None:
        if text is not None:
            Rule.parse(text)
        return text

    @model_validator(mode="after")
    def _one_of_them(self) -> RulePart:
        if (self.exclude is None) == (self.flag is None):
            raise ValueError("give either 'exclude' or 'flag'")
        return self


class RatersPart(DocumentPart):
    """Adaptive allocation: every item gets some ratings, and more until it is known well enough."""

    min: Annotated[int, Field(ge=1, le=1000)]
    """The core: ratings that every item gets, whatever the answers; estimates for the whole study rest on these."""
    max: Annotated[int, Field(ge=2, le=1000)]
    """The most ratings of an item."""
    until: Text
    """`width 0.3`, for every item; `error 0.1`, on average; or `alpha 0.2`, for the study's alpha."""
    balance: tuple[Id, ...] = ()
    """Traits of which every value should see every item."""

    @field_validator("until")
    @classmethod
    def _readable(cls, text: str) -> str:
        return str(Until.parse(text))

    @model_validator(mode="after")
    def _rises(self) -> RatersPart:
        if self.min >= self.max:
            raise ValueError(f"'max' is {self.max}, which is not more than 'min', {self.min}")
        return self

    @property
    def extra(self) -> int:
        """The most ratings of an item beyond the core."""
        return self.max - self.min


class TraitPart(DocumentPart):
    """A question about the participant."""

    id: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=64)]
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


class OfferPart(DocumentPart):
    """What participants are offered on a platform, for `vantage collect prolific` and `vantage collect recruit`."""

    url: Annotated[str, Field(pattern=r"^https?://[^\s\"'<>]+$")]
    """The study's address for participants."""
    description: Text
    """What participants read on the platform before they start."""
    hourly_pay: Annotated[float, Field(gt=0)]
    """What an hour is paid at least."""
    currency: Annotated[str, Field(pattern=r"^[A-Z]{3}$")]
    """The currency of the account, such as GBP or USD."""
    minutes: Annotated[float | None, Field(gt=0, le=24 * 60)] = None
    """How long it takes; by default the median of a rehearsal."""
    reward: Annotated[float | None, Field(gt=0)] = None
    """What a participant gets; by default what the minutes cost at `hourly_pay`."""
    places: Annotated[int | None, Field(ge=1)] = None
    """How many participants are recruited first; by default one for each batch."""
    filters: tuple[dict[str, Any], ...] = ()
    """Who may take part, as Prolific's documentation describes filters."""
    exclude: tuple[Code, ...] = ()
    """Ids of earlier studies on Prolific whose participants are not invited."""
    exclude_groups: tuple[Code, ...] = ()
    """Ids of participant groups on Prolific that are not invited."""
    group: Code | None = None
    """Id of a participant group on Prolific that everyone who finishes joins, so that other studies can exclude it."""
    devices: tuple[Literal["desktop", "tablet", "mobile"], ...] = ()
    """The devices that participants may use; by default all."""
    project: Code | None = None
    """Id of the project on Prolific."""


class RecruitmentPart(DocumentPart):
    """How participants are recruited and how they leave."""

    via: Literal["link", "invitation", "prolific", "mturk", "panel"] = "link"
    """Anyone with the link, people with an invitation, or workers sent by a platform."""
    parameter: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_-]{0,63}$")] = "id"
    """With `panel`: the part of the link that identifies the person."""
    offer: OfferPart | None = None
    """What participants are offered on the platform."""
    completion_code: Code | None = None
    """The code shown at the end (Prolific: sent with the redirect). On MTurk each participant gets their own."""
    screen_out_code: Code | None = None
    """Prolific's code for participants who failed the quiz, and for those whom no other code fits."""
    no_consent_code: Code | None = None
    """Prolific's code for participants who declined."""
    failed_check_code: Code | None = None
    """Prolific's code for participants who were excluded while they were at work."""
    full_code: Code | None = None
    """Prolific's code for participants who find no work left."""
    completion_url: Annotated[str | None, Field(pattern=r"^https://[^\s\"'<>]+$")] = None
    """Another address to return to; `{code}` is replaced by the code, `{id}` by the person's id on the platform."""


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


class StudyDocument(DocumentPart):
    """A Vantage study: which items people judge, under which conditions, and how participants are recruited."""

    id: Id
    """The study's id, used for the database and the exported raters."""
    title: Text
    """Shown at the top of every page."""
    language: str = ""
    """The language of the pages and of this file's texts, such as `de`; by default the instrument's."""
    languages: tuple[str, ...] = ()
    """Languages of the pages to choose from; items, questions and this file's texts stay as they are."""
    corpus: Text
    """The corpus folder, relative to this file."""
    instrument: Text
    """A bundled instrument (NAME or NAME:FORM), or an instrument file, relative to this file."""
    parameters: Annotated[dict[Id, str], Field(default_factory=dict)]
    """Values for the instrument's parameters."""
    questions: Literal["together", "one per participant"] | list[Annotated[list[QuestionId], Field(min_length=1)]] = (
        "together"
    )
    """All on one page, one question per participant, or groups of questions, of which each participant gets one."""
    conditions: ConditionsPart | None = None
    """Conditions of the instrument; by default all fields are shown and the condition is empty."""
    raters: Annotated[
        Annotated[int, Field(ge=1, le=1000), Tag("[number]")] | Annotated[RatersPart, Tag("[rule]")],
        Discriminator(lambda given: "[rule]" if isinstance(given, dict | RatersPart) else "[number]"),
    ] = 3
    """Raters wanted per item, condition and group of questions: a number, or `{min, max, until}`."""
    double: DoublePart | None = None
    """More raters for a random subset of the items."""
    batch: BatchPart = BatchPart()
    order: OrderPart = OrderPart()
    presentation: PresentationPart | None = None
    """How questions are put: the order and names of options, their wording; by default as in the instrument."""
    reserve_minutes: Annotated[float, Field(gt=0, le=100_000)] = 60
    """Minutes without activity after which a participant's reserved work is released to others."""
    attention: AttentionPart | None = None
    gold: GoldPart | None = None
    rules: tuple[RulePart, ...] = ()
    """Rules about raters, fixed before the study starts."""
    evidence: Literal["typing"] | None = None
    """`typing`: count pastes, keys and absences; the consent then says so."""
    traits: tuple[TraitPart, ...] = ()
    """Questions about the participant, asked after consent."""
    quiz: QuizPart | None = None
    consent: str = ""
    """What participants agree to; by default the instrument's consent."""
    warning: str = ""
    """A content warning; by default the instrument's."""
    guidelines: str = ""
    """The study's guidelines, shown before the instrument's."""
    contact: str = ""
    """Contact address for participants."""
    withdrawal: Literal["delete", "keep"] = "delete"
    """What happens to the answers of participants who withdraw; the consent should say the same."""
    recruitment: RecruitmentPart = RecruitmentPart()
    database: str = ""
    """A database address; by default a SQLite file in the corpus folder."""

    @property
    def adaptive(self) -> RatersPart | None:
        """The adaptive allocation, where there is one."""
        return self.raters if isinstance(self.raters, RatersPart) else None

    @property
    def core(self) -> int:
        """Ratings per item that are assigned without a look at the answers."""
        if isinstance(self.raters, int):
            return self.raters
        return self.raters.min if Until.parse(self.raters.until).by_item else self.raters.max


def json_schema() -> str:
    """The JSON Schema of study files, as it ships with the package."""
    schema = StudyDocument.model_json_schema(by_alias=True)
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Vantage study"}
    return json.dumps({**schema, **head}, indent=2, ensure_ascii=False, sort_keys=True) + "\n"


if __name__ == "__main__":
    import sys

    sys.stdout.write(json_schema())
