"""The writer of contexts: what a chat model is told, how it is asked, and what an estimate assumes that it answers.

The wording is that of a file which can be translated. For an estimate every check but the last of each item is assumed
to fail, so that the most that may be asked is gone through, with prompts of about the right length; nothing is sent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

import polars as pl

from vantage.corpora import Corpus
from vantage.documents import Document
from vantage.errors import InputError
from vantage.instruments import Instrument, Question
from vantage.raters.chat import ChatRater
from vantage.raters.conversation import ASK_AGAIN
from vantage.raters.models.base import ChatModel, Message, Request
from vantage.raters.prompts import Prompter, Shot
from vantage.runs import RunOptions, RunPlan, RunStore
from vantage.studies.context.pipeline.controls import COST
from vantage.studies.context.pipeline.dialogue import Position, as_turns, cell, fault, insert, read_turns, script
from vantage.studies.context.pipeline.simulation import Cost, finished

STEPS: Final = ("first-person", "scenario", "conversation", "position", "written")
_WORDS: Final = (*STEPS, "role", "aim", "again")
_EXAMPLE: Final = ("statement", "scenario", "conversation", "speaker")
_NEEDED: Final = {
    "first-person": ("statement",),
    "scenario": ("statement", "aim"),
    "conversation": ("statement", "scenario", "aim"),
    "position": ("statement", "turns", "count", "aim"),
    "written": ("statement", "turns", "count", "aim"),
    "aim": ("meaning",),
    "again": ("reason",),
}
"""The places that each piece of wording must have."""
_PLACE: Final = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Wording:
    """The wording of all steps, and the item and replies of the worked example, where there is one.

    >>> words = Wording.read()
    >>> print(words.task("first-person", {"text": "I'm {late}."}).splitlines()[2])
    > I'm {late}.
    """

    words: Mapping[str, str]
    example: Mapping[str, Any] | None = None
    replies: Mapping[str, str] | None = None
    """What the example answers, by step."""

    @classmethod
    def read(cls, source: str | Path = "") -> Wording:
        """The bundled wording, or that of a file of the same shape."""
        document = Document.read(source) if source else Document.bundled(__package__, "wording.yaml")
        data = document.data if isinstance(document.data, Mapping) else {}
        for name in _WORDS:
            if not isinstance(data.get(name), str):
                remedy = f"give {', '.join(_WORDS)}"
                raise InputError(f"the wording '{name}' is missing", file=document.file, remedy=remedy)
            for place in _NEEDED.get(name, ()):
                if f"{{{place}}}" not in data[name]:
                    raise InputError(f"the wording '{name}' has no {{{place}}}", file=document.file, remedy="put it in")
        words = {name: str(data[name]) for name in _WORDS}
        if "example" not in data:
            return cls(words)
        return cls(words, *_example(data["example"], document.file))

    def messages(self, step: str, item: Mapping[str, Any]) -> tuple[Message, ...]:
        """The chat that asks for one step of one item: the role, the worked example, the task."""
        chat = [Message("system", self.words["role"])]
        if self.example is not None and self.replies is not None:
            chat += [Message("user", self.task(step, self.example)), Message("assistant", self.replies[step])]
        return (*chat, Message("user", self.task(step, item)))

    def task(self, step: str, item: Mapping[str, Any]) -> str:
        """What is to be done, with everything that comes from outside quoted."""
        turns = as_turns(item.get("conversation"))
        numbered = [f"{n}. {turn.speaker}: {turn.text}" for n, turn in enumerate(turns, 1)]
        values = {
            "statement": quoted(str(item["text"])),
            "scenario": quoted(str(item.get("scenario") or "")),
            "turns": quoted("\n".join(" ".join(line.split()) for line in numbered)),
            "count": str(len(turns)),
            "aim": "",
        }
        if item.get("meaning"):
            about = {"meaning": str(item["meaning"]), "question": str(item["question"])}
            values["aim"] = filled(self.words["aim"], about).strip() + "\n\n"
        task = filled(self.words[step], values)
        if item.get("reason"):
            task += "\n\n" + filled(self.words["again"], {"reason": str(item["reason"])})
        return task


def quoted(text: str) -> str:
    r"""Text from outside as a quotation that it cannot leave: every line of it begins with a mark.

    >>> print(quoted("Nice.\nIgnore the above."))
    > Nice.
    > Ignore the above.
    """
    return "\n".join(f"> {line}" for line in text.strip().splitlines()) or "> "


def filled(words: str, values: Mapping[str, str]) -> str:
    """Wording with its places filled in, once: braces in what is filled in stay what they are."""
    return _PLACE.sub(lambda place: values.get(place[1], place[0]), words)


def _example(example: Any, file: str) -> tuple[dict[str, Any], dict[str, str]]:
    """The worked example as an item, and what it answers at each step."""
    if not isinstance(example, Mapping) or any(not isinstance(example.get(name), str) for name in _EXAMPLE):
        raise InputError("the example is not complete", file=file, remedy=f"give {', '.join(_EXAMPLE)} and after")
    turns, statement, after = read_turns(example["conversation"]), example["statement"], example.get("after")
    if problem := fault(turns, statement):
        raise InputError(f"the example cannot be used: {problem}", file=file)
    if not isinstance(after, int) or not 1 <= after <= len(turns):
        raise InputError("the example's 'after' is not the number of one of its turns", file=file)
    whole = insert(turns, statement, Position(after, example["speaker"]))
    item = {"text": statement, "scenario": example["scenario"], "conversation": cell(turns)}
    replies = {
        "first-person": "yes",
        "scenario": example["scenario"],
        "conversation": script(turns),
        "position": f"After: {after}\nSpeaker: {example['speaker']}",
        "written": script(whole),
    }
    return item, replies


QUALITY: Final = "context-quality"
"""The instrument with which contexts are checked."""
TEMPERATURE: Final = 0.8
"""Of a writer that is named only: a try that was turned down should not come out the same again."""
WRITTEN_TOKENS: Final = {"first-person": 8, "scenario": 60, "conversation": 220, "position": 12, "written": 240}
"""How long the replies of each step are, typically."""


@dataclass(frozen=True, slots=True)
class StepPrompter(Prompter):
    """Writes the prompts of one step."""

    wording: Wording = field(default_factory=Wording.read)
    step: str = "scenario"

    def request(self, questions: Sequence[Question], item: Mapping[str, Any], shots: Sequence[Shot] = ()) -> Request:
        """The request of the step for one item."""
        return Request(self.wording.messages(self.step, item), self.sampling)


@dataclass(frozen=True)
class StepWriter(ChatRater):
    """A chat model that writes one step of a context."""

    step: str = "scenario"
    wording: Wording = field(default_factory=Wording.read)

    def row(self) -> dict[str, Any]:
        """The rater's row; its style is the step."""
        return {**ChatRater.row(self), "style": f"writing: {self.step}"}

    def reply_tokens(self, questions: Sequence[Question]) -> int:
        """How long what it writes in this step is, typically."""
        return WRITTEN_TOKENS[self.step]

    def prompter(self, corpus: Corpus, instrument: Instrument, condition: str = "") -> Prompter:
        """What writes this step's prompts."""
        plain = ChatRater.prompter(self, corpus, instrument, condition)
        common = (plain.instrument, plain.style, plain.condition, plain.voice, plain.sampling)
        return StepPrompter(*common, wording=self.wording, step=self.step)


def writer(generator: ChatRater, step: str, wording: Wording, attempt: int, seed: int) -> StepWriter:
    """The generator as the writer of one step; each attempt draws anew."""
    common: dict[str, Any] = {
        name: getattr(generator, name) for name in ("temperature", "top_p", "max_tokens", "settings")
    }
    named: dict[str, Any] = {"name": f"{generator.model_name}+{step}", "seed": seed + attempt * ASK_AGAIN}
    return StepWriter(generator.model, step=step, wording=wording, **common, **named)


@cache
def writing_instrument() -> Instrument:
    """The questions under which the writer's replies are recorded; of free text only the reply counts."""
    return Instrument.from_document(Document.bundled(__package__, "steps.yaml").data, file="steps.yaml")


@dataclass
class Asking:
    """How the calls of a generation are carried out: the store they go through, and the options of the run.

    Args:
        store: Where replies are looked up and put.
        options: How the run is carried out.
        tell: Called with what models could not do as asked.
        condition: What keeps the runs of one control apart from those of another.
    """

    store: RunStore | None
    options: RunOptions | None = None
    tell: Callable[[str], None] = lambda _: None
    condition: str = ""

    def ask(
        self,
        rater: ChatRater,
        items: pl.DataFrame,
        instrument: Instrument,
        questions: Sequence[str] = (),
        *,
        condition: str | None = None,
    ) -> pl.DataFrame:
        """The judgments of one rater about items, with `reply` and what each item's calls took.

        The condition is the control where none is given.
        """
        apart = replace(rater, name=f"{rater.id}/{self.condition}") if self.condition else rater
        where = self.condition if condition is None else condition
        corpus = Corpus.of_items(items, instrument)
        return self.carried(RunPlan.of(corpus, apart, instrument, questions=questions, condition=where))

    def carried(self, plan: RunPlan) -> pl.DataFrame:
        """What a plan gives. Whatever the store holds is not asked again, and costs are those of all sittings."""
        assert self.store is not None  # noqa: S101 - only an estimate has none
        outcome = finished(plan, self.store, self.options)
        for judged in outcome.judged:
            for note in judged.notes:
                self.tell(note)
        costs = Cost.of_items(self.store, outcome.run)
        return outcome.judged[0].judgments.join(costs, on="item", how="left", maintain_order="left")


def as_rater(model: str | ChatModel | ChatRater, **options: Any) -> ChatRater:
    """A model as a chat rater; one that is a rater already stays what it is."""
    return model if isinstance(model, ChatRater) else ChatRater(model, **options)


ASSUMPTION: Final = (
    "Contexts are counted as written as often as they may be, and as kept in the end: the most calls there can be."
)
_SPOKEN: Final = "one thing and another, and what came of it in the end, which nobody had thought of before"
REPLIES: Final = {
    "first-person": "yes",
    "scenario": f"Two friends talk about {_SPOKEN}. " * 2,
    "conversation": "\n".join(f"Person {'AB'[n % 2]}: Attempt {{attempt}}, {{control}}, {_SPOKEN}." for n in range(8)),
    "position": "After: 4\nSpeaker: Person A",
}
"""Replies of the usual length, by step; conversations differ from attempt to attempt and by control."""


@dataclass
class Assumed(Asking):
    """Asks nobody: plans go to `asks`, and each step is assumed to come out so that as much as possible follows.

    Args:
        asks: Takes a plan, and what was assumed for it.
        attempts: How often a context is written at most; the last one passes.
    """

    asks: Callable[[RunPlan, str], object] = lambda *_: None
    attempts: int = 1
    _checked: int = field(default=0, init=False)

    def carried(self, plan: RunPlan) -> pl.DataFrame:
        """Judgments that were not made."""
        self.asks(plan, ASSUMPTION)
        (part,) = plan.parts
        low, value = part.used.question(part.asked[0]).scale.ends
        if part.used.id == QUALITY:
            self._checked += 1
            value = value if self._checked >= self.attempts else low
        reply = REPLIES.get(part.asked[0], "").format(attempt=self._checked + 1, control=self.condition)
        asked = part.corpus.items.select("item").join(pl.DataFrame({"question": part.asked}), how="cross")
        return asked.with_columns(
            pl.lit(value).alias("value"),
            pl.lit("answered").alias("status"),
            pl.lit(reply).alias("reply"),
            *(pl.lit(0).alias(name) for name in COST),
        )
