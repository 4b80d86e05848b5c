"""What a study service returns and accepts: participants, steps, pages, answers, and the researcher's tables.

Frozen dataclasses, independent of databases and web pages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from vantage.errors import VantageError
from vantage.instruments import Instrument, Question
from vantage.scales import Status

StepKind = Literal[
    "consent",
    "screener",
    "traits",
    "guidelines",
    "training",
    "quiz",
    "item",
    "review",
    "debriefing",
    "finished",
    "declined",
    "screened_out",
    "withdrawn",
    "full",
    "paused",
]
"""The page that a participant should see now.

`consent` comes first; then the phases of the study follow in the participant's order: `screener`, `traits` (a
questionnaire), `guidelines`, `training`, `quiz`, `item` (with a position; a block of items), `debriefing`. At `review`
every page of the block is answered and can still be changed. `finished` comes last. `full`: no work is left for this
participant. `paused`: the researcher has paused the study.
"""

ENDS: Final = ("finished", "declined", "screened_out", "withdrawn", "full", "paused")
"""The steps that end a visit."""

Verdict = Literal["pending", "approved", "excluded"]
"""The researcher's decision about a rater."""


Role = Literal["view", "review", "manage"]
"""What a researcher may do on the dashboard: look, also decide about raters, or everything."""


class Refused(VantageError):  # noqa: N818 - a decision, not a failure
    """A request that cannot be granted: a sentence for the participant, and a kind that a page turns into a status.

    `kind` is `unknown` (no such participant, page or invitation: 404), `denied` (not allowed: 403) or `conflict` (no
    longer possible, such as changing final answers: 409). A page may show it under its own `heading`.
    """

    def __init__(
        self, sentence: str, kind: Literal["unknown", "denied", "conflict"] = "denied", heading: str = ""
    ) -> None:
        self.sentence, self.kind, self.heading = sentence, kind, heading
        super().__init__(sentence)


class InvalidAnswers(VantageError):  # noqa: N818 - a form to correct, not a failure
    """Answers that cannot be stored: for each question (or trait) one sentence that says why.

    `problems` concern the answers, `reasons` the rationales.
    """

    def __init__(self, problems: Mapping[str, str], reasons: Mapping[str, str] | None = None) -> None:
        self.problems, self.reasons = dict(problems), dict(reasons or {})
        sentences = [*self.problems.items(), *self.reasons.items()]
        super().__init__("; ".join(f"{name}: {problem}" for name, problem in sentences))


@dataclass(frozen=True, slots=True)
class Participant:
    """A participant. `id` is secret and unguessable: it may be stored in a signed cookie, never shown on a page."""

    id: str
    number: int
    """A running number, for the log."""
    language: str = field(default="", compare=False)
    """The language of what they read, where a study has several and they have agreed to it in one."""


@dataclass(frozen=True, slots=True)
class Step:
    """A participant's current step: the page to show, and their progress."""

    kind: StepKind
    position: int = 0
    pages: int = 0
    answered: int = 0
    attempts_left: int = 0
    """With `quiz`."""
    message: str = ""
    """With `screened_out`: what the study says to those who are screened out."""
    seconds_left: float | None = None
    """With `item` and `review`: the time left for the block, where it is limited."""
    more: bool = False
    """With `finished`: whether the participant may do another batch (`ParticipantService.another_batch`)."""
    left: float | None = None
    """Seconds until the participant's reservation expires; null where nothing is reserved."""
    share: float = 0.0
    """How much of the study lies behind the participant, from 0 to 1."""
    lapsed: bool = False
    """With `full`: whether the participant had begun, and others took the rest in their absence."""

    @classmethod
    def in_batch(cls, pages: int, answered: int) -> Step:
        """The step of a participant who has answered some of their pages, in order.

        >>> Step.in_batch(3, 1).position, Step.in_batch(3, 3).kind
        (2, 'review')
        """
        if answered >= pages:
            return cls("review", 0, pages, answered)
        return cls("item", answered + 1, pages, answered)


@dataclass(frozen=True, slots=True)
class QuestionAnswer:
    """A participant's answer to one question: a code of the scale, or an opt-out; and a reason where asked."""

    value: float | None = None
    status: Status = "answered"
    rationale: str | None = None
    shares: tuple[float, ...] | None = field(default=None, repr=False)
    """Where shares are asked for: one for each option, in the order of the scale; the value is that of the largest."""
    marked: tuple[int, ...] | None = field(default=None, repr=False)
    """Where words of the item are marked: which, counted from 0 (see `answers.tokens`)."""


@dataclass(frozen=True, slots=True)
class ItemPage:
    """One page of the batch: an item, the questions about it, and earlier answers."""

    position: int
    pages: int
    answered: int
    condition: str
    record: Mapping[str, Any]
    """The item's fields by name, as the instrument shows them, without the item's id; text is not escaped."""
    questions: tuple[Question, ...]
    """As they are shown to this participant; answers are given in the codes shown."""
    instruction: str
    """An instruction to show with the item, before the questions; empty for ordinary pages."""
    earlier: Mapping[str, QuestionAnswer]
    """The participant's earlier answers, by question."""
    token: str
    """Sent back with the answers: submissions with the same token count once."""
    group: int = 0
    """Which of the study's groups of questions it is."""
    presentations: tuple[str, ...] = ()
    """How each question is put."""
    seconds_left: float | None = None
    """The time left for the page or the block, where it is limited."""
    draft: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """What the participant chose and typed and did not send, by input; empty where there is nothing."""
    left: float | None = None
    """Seconds until the participant's reservation expires."""
    share: float = 0.0
    """How much of the study lies behind the participant, from 0 to 1."""


@dataclass(frozen=True, slots=True)
class Practice:
    """An item to practise on; after it was answered, with feedback."""

    position: int
    items: int
    condition: str
    record: Mapping[str, Any]
    instrument: Instrument
    questions: tuple[Question, ...]
    answers: Mapping[str, QuestionAnswer]
    """The participant's answers; empty before they answer."""
    right: Mapping[str, bool]
    """Which answers are right."""
    explain: str


@dataclass(frozen=True, slots=True)
class Submitted:
    """An acknowledged submission: it is durable."""

    position: int
    revision: int
    """1 for the first answers to this page, 2 after the first change …"""
    repeated: bool = False
    """Whether the same submission, or the same answers, had been stored before."""
    step: Step = Step("full")
    """The participant's next step."""
    expired: bool = False
    """Whether the participant's reservation had expired and had to be renewed."""
    late: bool = False
    """Whether the time for the page was over, so that nothing was stored."""


@dataclass(frozen=True, slots=True)
class QuizResult:
    """The result of one attempt at the quiz."""

    passed: bool
    wrong: tuple[int, ...]
    """Wrongly answered questions, counted from 0."""
    attempts_left: int


@dataclass(frozen=True, slots=True)
class Receipt:
    """What was deleted for a participant who withdrew: times in seconds since 1970."""

    code: str
    at: float
    pages: int
    traits: bool
    purged_at: float | None = None
    """When the last remains in the database's files were removed; null while that is pending."""


@dataclass(frozen=True, slots=True)
class CompletionPath:
    """How a participant leaves: with a code to copy, an address to return to, or neither."""

    code: str | None = None
    redirect: str | None = None


@dataclass(frozen=True, slots=True)
class ArmProgress:
    """Progress of one condition and group of questions of a block."""

    block: str
    condition: str
    questions: tuple[str, ...]
    wanted: int
    """Ratings wanted: items times raters, plus double annotations."""
    answered: int
    reserved: int
    """Assigned and not answered yet."""
    free: int
    participants: int
    seconds: float | None


@dataclass(frozen=True, slots=True)
class Overview:
    """The study's progress."""

    arms: tuple[ArmProgress, ...]
    participants: Mapping[str, int]
    items: int
    answers: int
    """Submitted pages without checks; a page that was changed counts once."""
    flagged: int
    """Raters pending review with at least one flag."""
    paused: bool
    funnel: Mapping[str, int]
    """How many people came, agreed, answered a page and finished."""
    by_time: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class RaterRow:
    """One rater's quality; null where it cannot be computed."""

    rater: str
    """The pseudonym used in exports; safe to show and to put into a link."""
    number: int
    stage: str
    verdict: Verdict
    note: str
    condition: str
    answered: int
    pages: int
    attention_failed: int
    attention_seen: int
    gold_failed: int
    gold_seen: int
    seconds: float | None
    agreement: float | None
    """Share of other raters' answers to the same items that equal this rater's."""
    consistency: float | None
    """Correlation with the mean of the other raters' answers."""
    top_share: float | None
    """Share of the most frequent answer; 1 is straight-lining."""
    longest_run: int | None
    flags: tuple[str, ...]
    """Reasons to review this rater, in words; none is proof."""
    code: str | None = None
    rule: str = ""
    evidence: str = ""
    """How answers were typed, in words, where the consent says so; for a person to weigh, never a verdict."""
    decided: str = ""
    """Who made the latest decision and when, with the rule that was applied."""


@dataclass(frozen=True, slots=True)
class AnswerDistribution:
    """The answers to one question about one item under one condition."""

    question: str
    condition: str
    counts: Mapping[str, int]
    """Number of raters per option or opt-out, in the order of the scale, zeros included."""
    mean: float | None
    rationales: tuple[tuple[str, str, str], ...]
    """Rater, answer and reason, where one was given. Excluded raters are left out."""


@dataclass(frozen=True, slots=True)
class ItemAnswers:
    """An item as the researcher sees it."""

    item: str
    record: Mapping[str, Any]
    distributions: tuple[AnswerDistribution, ...]
    raters: int = 0
    gold: bool = False


@dataclass(frozen=True, slots=True)
class ItemLine:
    """An item in a list: its id, the start of its text and its number of ratings."""

    item: str
    start: str
    ratings: int
    reserved: int = 0


@dataclass(frozen=True, slots=True)
class WebhookState:
    """An address that receives events, and how far it has got."""

    url: str
    events: tuple[str, ...]
    waiting: int = 0
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Invitation:
    """An invitation: the token goes into the link as `?invitation=TOKEN`."""

    token: str
    note: str = ""
    used: bool = False
