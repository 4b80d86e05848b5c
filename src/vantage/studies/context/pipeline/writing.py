"""The writer of contexts: a chat model that is asked for free text, step by step, through the run store."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import polars as pl

from vantage.corpora import Corpus
from vantage.instruments import Instrument, Question
from vantage.raters.chat import ChatRater
from vantage.raters.conversation import ASK_AGAIN
from vantage.raters.models.base import ChatModel, Request
from vantage.raters.prompts import Prompter, Shot
from vantage.runs import RunOptions, RunPlan, RunStore
from vantage.studies.context.pipeline.simulation import Cost, finished
from vantage.studies.context.pipeline.wording import STEPS, Wording

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
    return StepWriter(
        generator.model,
        temperature=generator.temperature,
        top_p=generator.top_p,
        max_tokens=generator.max_tokens,
        seed=seed + attempt * ASK_AGAIN,
        settings=generator.settings,
        name=f"{generator.model_name}+{step}",
        step=step,
        wording=wording,
    )


def writing_instrument() -> Instrument:
    """The questions under which the writer's replies are recorded; of free text only the reply counts."""
    scale = {"level": "nominal", "options": [{"code": 0, "label": "no"}, {"code": 1, "label": "yes"}]}
    return Instrument.from_document(
        {
            "id": "context-generation",
            "version": 1,
            "title": "Writing a conversation around a statement",
            "description": "The steps in which a model writes a context; see the wording that it was given.",
            "fields": [
                {"name": "text", "title": "Statement"},
                {"name": "scenario", "title": "Situation"},
                {"name": "conversation", "title": "Conversation", "kind": "conversation"},
            ],
            "guidelines": "See the wording of each step.",
            "scales": {"no-yes": scale},
            "questions": [{"id": step, "title": step, "ask": step, "scale": "no-yes"} for step in STEPS],
        },
        file="context-generation",
    )


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
        nobody = pl.DataFrame(schema={"rater": pl.String})
        nothing = pl.DataFrame(schema={**dict.fromkeys(("item", "question", "rater"), pl.String), "value": pl.Float64})
        corpus = Corpus(items, nobody, nothing, instrument)
        apart = replace(rater, name=f"{rater.id}/{self.condition}") if self.condition else rater
        where = self.condition if condition is None else condition
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
