"""Probing a model: some ten cheap calls that find out what it takes, tells and does.

The answers are facts about one model behind one endpoint on one day: a profile. It drives the defaults of `vantage
rate`: a thinking model gets room to think, its thinking is taken out also where its marks are new, options are scored
only where probabilities are told, prompts are cut to the window that the endpoint names, and estimates follow the
tokens and the price that were met.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Final, Literal

import polars as pl

from vantage.corpora import Corpus
from vantage.instruments import Instrument
from vantage.raters.chat import ChatRater
from vantage.raters.models.base import ChatModel, Completion, Message, ModelError, Request, Sampling
from vantage.raters.models.dialects import enclosed, learn, split_thinking

ROOM: Final = 4096
"""Tokens that a thinking model is given for a reply, where nothing else is said."""
_STYLES: Final = (("zero-shot", 2), ("reasoning", 1))
"""Styles in which rating questions are put, and how many."""
_ITEMS: Final = (
    ("1", "The caretaker brought the parcel up four flights of stairs and would not take a tip.", "the caretaker"),
    ("2", "The mayor announced a new library, and then the same library again a year later.", "the mayor"),
)
_LONGEST: Final = 20_000
_SCHEMA: Final = {
    "type": "object",
    "properties": {"answer": {"type": "integer", "enum": [1, 2, 3]}},
    "required": ["answer"],
    "additionalProperties": False,
}
_WINDOWS: Final = (
    *("max_model_len", "context_length", "context_window", "max_context_length", "n_ctx", "max_input_tokens"),
)

First = Literal["option", "other", "not told"]


@dataclass(frozen=True, slots=True)
class ModelProfile:
    """What a model behind an endpoint takes, tells and does, as it was on a day."""

    model: str
    probed: str
    calls: int = 0
    rejects: tuple[str, ...] = ()
    """Parameters that the endpoint refuses."""
    schema: Literal["held", "asked for", "refused"] = "refused"
    """Whether replies are held to a JSON Schema, only asked for in words, or the schema broke the reply."""
    logprobs: int = 0
    """How many of the likeliest first tokens were returned; 0 where none were, -1 where all are known."""
    begins: First = "not told"
    """Whether a reply that is asked for one of two letters begins with one of them."""
    mass: float | None = None
    """The probability that it does."""
    thinks: bool = False
    dialect: str = ""
    """How it marks thinking in its replies, where the endpoint leaves it there (see `dialects`)."""
    marks: tuple[str, ...] = ()
    """The marks around its thinking that no dialect knew, which the table of dialects has from now on."""
    unknown_marks: bool = False
    """Whether its replies have marks like those of thinking that could not be learned; such replies are not read."""
    thinking_tokens: int = 0
    """The most that went into thinking in a reply to a rating question, where the endpoint tells it."""
    reply_tokens: dict[str, float] = field(default_factory=dict)
    """Tokens of a reply to a rating question, thinking included, by style."""
    characters: float | None = None
    """Characters of a prompt per token."""
    window: int | None = None
    price: dict[str, float] = field(default_factory=dict)
    """Per million tokens, where the endpoint tells it."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    """What the probe itself took."""
    notes: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The profile as plain data."""
        return asdict(self)

    @classmethod
    def of(cls, stored: dict[str, Any]) -> ModelProfile:
        """The profile that plain data tell; what other versions have found out besides is left out."""
        known: dict[str, Any] = {
            name: tuple(one) if isinstance(one, list) else one
            for name, one in stored.items()
            if name in cls.__dataclass_fields__
        }
        return cls(**known)


def probe(model: ChatModel, progress: Callable[[str], None] = lambda _: None) -> ModelProfile:
    """Asks a model some ten short questions; one that cannot be used at all raises `ModelError` with the reason."""
    return _Probe(model, progress).profile()


class _Probe:
    def __init__(self, model: ChatModel, progress: Callable[[str], None]) -> None:
        self.model, self.progress = model, progress
        self.calls = 0
        self.replies: list[Completion] = []

    def profile(self) -> ModelProfile:
        self.progress("a short reply")
        first = self._ask("Reply with the word: ready", 32)
        if first.finish == "failed":
            raise ModelError(first.error)
        self.progress("thinking")
        if not split_thinking(first.text).answer.strip():
            # A thinking model may need more room before it says anything.
            first = self._ask("Reply with the word: ready", ROOM)
        marks = self._marks(first)
        thinks = any(c.thinking or c.reasoning_tokens or split_thinking(c.text).dialect for c in self.replies)
        room = ROOM if thinks else 64
        self.progress("a JSON Schema")
        schema = self._schema(room)
        self.progress("rating")
        uses, characters, thought = self._rating(room)
        self.progress("log-probabilities")
        depth, begins, mass = self._first_token()
        self.progress("window and price")
        window, price = self._described()
        return ModelProfile(
            model=self.model.name,
            probed=datetime.now(UTC).date().isoformat(),
            calls=self.calls,
            rejects=tuple(sorted(getattr(self.model, "left_out", ()))),
            schema=schema,
            logprobs=depth,
            begins=begins,
            mass=mass,
            thinks=thinks,
            dialect=next((name for c in self.replies if (name := split_thinking(c.text).dialect)), ""),
            marks=marks,
            unknown_marks=any(c.finish == "stop" and split_thinking(c.text).open for c in self.replies),
            thinking_tokens=thought or max((c.reasoning_tokens for c in self.replies), default=0),
            reply_tokens=uses,
            characters=characters,
            window=self.model.window or window,
            price=price,
            prompt_tokens=sum(c.prompt_tokens for c in self.replies),
            completion_tokens=sum(c.completion_tokens for c in self.replies),
            notes=tuple(self.model.notes),
        )

    def _ask(self, text: str, limit: int, schema: Any = None) -> Completion:
        self.calls += 1
        sampling = Sampling(max_tokens=limit, seed=1)
        (answer,) = self.model.complete([Request((Message("user", text),), sampling, schema)])
        self.replies.append(answer)
        return answer

    def _marks(self, first: Completion) -> tuple[str, ...]:
        """Marks of thinking that no dialect knows, if another reply has the same ones; the table has them then."""
        if split_thinking(first.text).answer.strip(" .!").casefold() == "ready":
            return ()
        marks = enclosed(first.text[:_LONGEST], "ready")
        again = self._ask("Reply with the word: steady", ROOM).text if marks else ""
        if not marks or enclosed(again[:_LONGEST], "steady") != marks:
            return ()
        learn(*marks)
        return marks

    def _rating(self, room: int) -> tuple[dict[str, float], float | None, int]:
        """Tokens of replies by style, characters of a prompt per token, and the most that went into thinking."""
        instrument = Instrument.load("warmth-competence")
        corpus = Corpus.of_items(pl.DataFrame(_ITEMS, schema=("item", "text", "target"), orient="row"), instrument)
        uses: dict[str, float] = {}
        replies: list[tuple[int, Completion]] = []
        for style, count in _STYLES:
            rater = ChatRater(self.model, style, max_tokens=room)
            calls = islice(rater.plan(corpus, instrument, questions=["trust"]), count)
            requests = [call.request for call in calls]
            self.calls += len(requests)
            answers = [one for one in self.model.complete(requests) if one.finish != "failed"]
            self.replies += answers
            replies += [(sum(len(m.content) for m in r.messages), a) for r, a in zip(requests, answers, strict=False)]
            if answers:
                uses[style] = sum(one.completion_tokens for one in answers) / len(answers)
        tokens = sum(answer.prompt_tokens for _, answer in replies)
        characters = sum(length for length, answer in replies if answer.prompt_tokens) / tokens if tokens else None
        return uses, characters, max((answer.reasoning_tokens for _, answer in replies), default=0)

    def _schema(self, room: int) -> Literal["held", "asked for", "refused"]:
        answer = self._ask("Tell me at length what you think of rain.", room, schema=_SCHEMA)
        if answer.finish == "failed":
            return "refused"
        try:
            answer_of = json.loads(split_thinking(answer.text).answer)
        except ValueError:
            return "asked for"
        return "held" if isinstance(answer_of, dict) and answer_of.get("answer") in (1, 2, 3) else "asked for"

    def _first_token(self) -> tuple[int, First, float | None]:
        asked = (
            "Which letter comes first in the alphabet?\nA = it is A\nB = it is B\nReply with A or B, and nothing else."
        )
        self.calls += 1
        try:
            scores = self.model.score([Request((Message("user", asked),))], ["A", "B"])[0].tolist()
        except ModelError:
            return 0, "not told", None
        if any(math.isnan(score) for score in scores):
            return 0, "not told", None
        mass = math.fsum(math.exp(score) for score in scores)
        depth = getattr(self.model, "received", None)
        return -1 if depth is None else depth, "option" if mass >= 0.5 else "other", round(min(mass, 1.0), 4)

    def _described(self) -> tuple[int | None, dict[str, float]]:
        """What the endpoint's list of models says of this one."""
        described = getattr(self.model, "described", None)
        if described is None:
            return None, {}
        self.calls += 1
        description = described()
        meta, price = (
            entry if isinstance(entry := description.get(name), dict) else {} for name in ("meta", "pricing")
        )
        windows = [source.get(name) for source in (description, meta) for name in _WINDOWS]
        window = next((int(size) for size in windows if isinstance(size, int) and size > 0), None)
        names: Sequence[tuple[str, str]] = (("input", "prompt"), ("output", "completion"))
        try:
            return window, {ours: float(price[theirs]) * 1e6 for ours, theirs in names if theirs in price}
        except (TypeError, ValueError):
            return window, {}
