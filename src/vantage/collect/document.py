"""The keys of a study file, from which its JSON Schema is generated.

`study.AnnotationStudy` adds what these models refer to: the instruments and the items.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from pydantic import Discriminator, Field, Tag, field_validator, model_validator

from vantage.adaptive.until import Until
from vantage.collect.flow_document import (
    AttentionPart,
    BatchPart,
    ConditionsPart,
    DoublePart,
    GoldPart,
    OrderPart,
    PhasePart,
    PresentationPart,
    Questions,
    QuizPart,
    TraitId,
    TraitPart,
)
from vantage.instruments.document import DocumentPart, Id, Text

FACTS: Final = {
    "failed attention": "share of attention checks that were failed",
    "failed gold": "share of gold items that were failed",
    "seconds": "median seconds per page",
    "longest run": "longest run of equal answers to a question",
    "same answer": "share of the most frequent answer to a question",
    "copied reasons": "share of reasons that nearly copy a model's",
}
"""What a rule may look at."""
_RULE: Final = re.compile(rf"({'|'.join(FACTS)})\s*([<>])\s*([0-9]*\.?[0-9]+)(?:\s+after\s+([0-9]+))?")


@dataclass(frozen=True, slots=True)
class RaterFact:
    """What is known of a rater: a value, and how many answers it rests on."""

    value: float
    of: int


@dataclass(frozen=True, slots=True)
class Rule:
    """A fact compared with a number, such as `failed attention > 0.5`, `seconds < 2 after 10` or `longest run > 30`.

    It looks at a rater's own answers only, so that its result depends on nobody else.

    >>> rule = Rule.parse("failed attention > 0.5 after 2")
    >>> rule.breaks({"failed attention": RaterFact(1.0, 1)}), rule.breaks({"failed attention": RaterFact(1.0, 2)})
    (False, True)
    """

    fact: str
    below: bool
    limit: float
    after: int = 1
    """Answers, checks or reasons that there must be."""

    @classmethod
    def parse(cls, text: str) -> Rule:
        """Reads a rule; `ValueError` says how one is written."""
        match = _RULE.fullmatch(" ".join(text.split()))
        if match is None:
            known = ", ".join(f"'{name}'" for name in FACTS)
            raise ValueError(f"'{text}' is no rule; write for example 'failed attention > 0.5 after 2', with {known}")
        return cls(match[1], match[2] == "<", float(match[3]), int(match[4] or 1))

    def breaks(self, facts: Mapping[str, RaterFact]) -> bool:
        """Whether a rater with these facts breaks the rule."""
        fact = facts.get(self.fact)
        if fact is None or fact.of < self.after:
            return False
        return fact.value < self.limit if self.below else fact.value > self.limit


Code = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
"""A platform's code: letters, digits, hyphens and underscores."""


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


class OfferPart(DocumentPart):
    """What participants are offered on a platform, for `vantage collect recruit`."""

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
    people_of: str = ""
    """The database of an earlier study of the same people: they have the same names in both exports."""
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


HookEvent = Literal["entered", "consented", "screened_out", "finished", "withdrawn", "paused", "resumed"]


class WebhookPart(DocumentPart):
    """An address that receives the study's events, signed, with pseudonyms and without answers."""

    url: Annotated[str, Field(pattern=r"^https?://[^\s\"'<>]+$")]
    """Where events are sent to."""
    events: tuple[HookEvent, ...] = ("consented", "screened_out", "finished", "withdrawn")
    """Which events."""


class TranslationPart(DocumentPart):
    """The study in another language. Items have their texts in columns such as `text_de` or `text:de`."""

    instrument: Text
    """The instrument in this language: the same fields, questions, codes and checks, in the same order."""
    back_translation: Text
    """How the translation was checked: who translated it back, and what was changed; goes into the methods section."""
    parameters: Annotated[dict[Id, str], Field(default_factory=dict)]
    """Values for the instrument's parameters."""
    texts: Annotated[dict[Text, Text], Field(default_factory=dict)]
    """This file's texts for participants, each with its translation."""


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
    translations: Annotated[dict[Id, TranslationPart], Field(default_factory=dict)]
    """The study in other languages, by their codes: each participant gets items, questions and pages in one of them."""
    corpus: Text | Annotated[dict[Id, Text], Field(min_length=1)]
    """The corpus folder, relative to this file, or several folders by name; then items have a column `corpus`."""
    instrument: Text
    """A bundled instrument (NAME or NAME:FORM), or an instrument file, relative to this file."""
    parameters: Annotated[dict[Id, str], Field(default_factory=dict)]
    """Values for the instrument's parameters."""
    questions: Questions = "together"
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
    flow: tuple[PhasePart, ...] = ()
    """The phases of the study in order; by default consent, traits, guidelines, quiz and one block of all items."""
    quotas: Annotated[dict[TraitId, dict[str, Annotated[int, Field(ge=0)]]], Field(default_factory=dict)]
    """Most participants with each answer to a question about them; answers that are not named are not limited."""
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
    webhooks: tuple[WebhookPart, ...] = ()
    """Addresses that receive the study's events."""
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
    DocumentPart.describe()
    schema = StudyDocument.model_json_schema(by_alias=True)
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Vantage study"}
    return json.dumps({**schema, **head}, indent=2, ensure_ascii=False, sort_keys=True) + "\n"


if __name__ == "__main__":
    import sys

    sys.stdout.write(json_schema())
