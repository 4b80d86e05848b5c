"""What the desk hands out and takes in: participants, places, pages, answers, and the researcher's tables.

Frozen dataclasses only. Nothing here knows of databases or web pages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from vantage.errors import VantageError
from vantage.instruments import Question
from vantage.scales import OptOutStatus

PlaceKind = Literal[
    "consent",
    "traits",
    "guidelines",
    "quiz",
    "item",
    "review",
    "finished",
    "declined",
    "screened_out",
    "withdrawn",
    "full",
    "paused",
]
"""The page that a participant should see now.

`consent`, `traits`, `guidelines`, `quiz`, `item` (with a position) come in this order; `review` means that every
page of the batch is answered and may still be changed until the batch is handed in; then `finished`. `full`:
no work is left for this person; `paused`: the researcher has paused the study.
"""

Verdict = Literal["pending", "approved", "excluded"]
"""What the researcher decided about a rater."""

ReplyStatus = Literal["answered"] | OptOutStatus


class Refused(VantageError):  # noqa: N818 - a decision, not a failure
    """The desk cannot do what was asked: a sentence for the participant, and one word for the page's status.

    `kind` is `unknown` (no such participant, page or invitation: 404), `denied` (not allowed: 403) or
    `conflict` (not possible any more, such as changing answers that were handed in: 409).
    """

    def __init__(self, sentence: str, kind: Literal["unknown", "denied", "conflict"] = "denied") -> None:
        self.kind = kind
        super().__init__(sentence)


class Unanswered(VantageError):  # noqa: N818 - what is missing, not a failure
    """Answers that cannot be taken as they are: for each question (or trait) one sentence that says why."""

    def __init__(self, problems: Mapping[str, str]) -> None:
        self.problems = dict(problems)
        super().__init__("; ".join(f"{name}: {problem}" for name, problem in problems.items()))


@dataclass(frozen=True, slots=True)
class Participant:
    """Somebody who takes part. `id` is secret and unguessable: it may stand in a signed cookie, never in a page."""

    id: str
    number: int
    """A running number, for the log."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a participant is: the page to show, and how far they have come."""

    kind: PlaceKind
    position: int = 0
    """With `item`: the first page that is not answered yet, counted from 1."""
    pages: int = 0
    """How many pages the batch has, checks included."""
    answered: int = 0
    attempts_left: int = 0
    """With `quiz`."""
    more: bool = False
    """With `finished`: whether another batch may be asked for (`Desk.another_batch`)."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A participant's answer to one question: a code of the scale, or an opt-out; and a reason where asked."""

    value: float | None = None
    status: ReplyStatus = "answered"
    rationale: str | None = None


@dataclass(frozen=True, slots=True)
class ItemPage:
    """One page of the batch: an item, the questions about it, and what was answered before."""

    position: int
    """Counted from 1."""
    pages: int
    answered: int
    """How many pages of the batch are answered."""
    condition: str
    record: Mapping[str, Any]
    """The item's fields by name, as the instrument shows them; text is not escaped. The item's id is not in it."""
    questions: tuple[Question, ...]
    instruction: str
    """An instruction to show with the item, before the questions; empty for ordinary pages."""
    earlier: Mapping[str, Reply]
    """What the participant answered before, by question."""
    token: str
    """To be sent back with the answers: a submission with the same token is counted once."""
    opened: float
    """When the page was opened, in seconds since 1970."""


@dataclass(frozen=True, slots=True)
class Submitted:
    """An acknowledged submission: it is durable."""

    position: int
    revision: int
    """1 for the first answers to this page, 2 after the first change …"""
    repeated: bool
    """Whether the same submission, or the same answers, had been taken before."""
    place: Place
    """Where to go from here."""


@dataclass(frozen=True, slots=True)
class QuizResult:
    """What became of an attempt at the quiz."""

    passed: bool
    wrong: tuple[int, ...]
    """The questions (counted from 0) that were answered wrongly."""
    attempts_left: int


@dataclass(frozen=True, slots=True)
class Completion:
    """With what a participant leaves: a code to copy, an address to return to, or neither."""

    code: str | None = None
    redirect: str | None = None


@dataclass(frozen=True, slots=True)
class Arm:
    """Progress of one condition and group of questions."""

    condition: str
    questions: tuple[str, ...]
    wanted: int
    """Ratings asked for: items times raters, and the double annotations."""
    answered: int
    reserved: int
    """Handed out and not answered yet."""
    free: int
    """Not handed out."""
    participants: int
    seconds: float | None
    """Median time per page; null before the first answer."""


@dataclass(frozen=True, slots=True)
class Overview:
    """How the study stands."""

    arms: tuple[Arm, ...]
    participants: Mapping[str, int]
    """How many participants are at which stage: `consent` … `finished`."""
    items: int
    answers: int
    """Submitted pages, checks not counted, each counted once however often it was changed."""
    flagged: int
    """Raters that wait for review and have at least one flag."""
    paused: bool


@dataclass(frozen=True, slots=True)
class RaterRow:
    """One rater's quality, as far as it is known; null where it cannot be computed."""

    rater: str
    """The pseudonym under which the rater is exported; safe to show and to put into a link."""
    number: int
    stage: str
    verdict: Verdict
    note: str
    """What the researcher wrote with the verdict."""
    condition: str
    answered: int
    pages: int
    attention_failed: int
    attention_seen: int
    gold_failed: int
    gold_seen: int
    seconds: float | None
    """Median time per page."""
    agreement: float | None
    """Share of the others' answers to the same items that are equal to this rater's."""
    consistency: float | None
    """Correlation with the mean of the others' answers."""
    top_share: float | None
    """Share of the most frequent answer: 1 is straight-lining."""
    longest_run: int | None
    flags: tuple[str, ...]
    """The reasons to look at this rater, in words; none is a proof."""
    code: str | None = None
    """The completion code that this participant was given, to compare with the platform's list."""


@dataclass(frozen=True, slots=True)
class Spread:
    """The answers to one question about one item under one condition."""

    question: str
    condition: str
    counts: Mapping[str, int]
    """How many chose each option or opt-out, in the order of the scale, zeros included."""
    mean: float | None
    rationales: tuple[tuple[str, str, str], ...]
    """Rater, answer and reason, for those who gave one. Excluded raters are left out everywhere here."""


@dataclass(frozen=True, slots=True)
class ItemAnswers:
    """An item as the researcher sees it."""

    item: str
    record: Mapping[str, Any]
    spreads: tuple[Spread, ...]
    raters: int = 0
    gold: bool = False


@dataclass(frozen=True, slots=True)
class ItemLine:
    """An item in a list: its id, the start of its text and how many ratings it has."""

    item: str
    start: str
    ratings: int
    reserved: int = 0


@dataclass(frozen=True, slots=True)
class Invitation:
    """An invitation: the token goes into the link as `?invitation=TOKEN`."""

    token: str
    note: str = ""
    used: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)
