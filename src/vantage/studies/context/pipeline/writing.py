"""The writer of contexts: a chat model that is told at each step what `wording.yaml` says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from vantage.corpora import Corpus
from vantage.documents import Document
from vantage.instruments import Instrument, Question
from vantage.instruments.questions import fill
from vantage.raters.chat import ChatRater
from vantage.raters.models.base import Message, Request
from vantage.raters.prompts import Prompter, Shot
from vantage.studies.context.pipeline.dialogue import read_turns, script

WRITTEN_TOKENS: Final = {"scenario": 60, "conversation": 220, "position": 12}
"""The steps, and how long their replies are, typically."""
ASK_AGAIN: Final = 1_000_003
"""What the seed is moved by at each further attempt, far from the seeds of the samples."""


@cache
def wording() -> Mapping[str, Any]:
    """What the writer is told, from `wording.yaml`; the worked example as an item, and its reply at each step."""
    words = dict(Document.bundled(__package__, "wording.yaml").data)
    example = words["example"]
    turns = read_turns(example["conversation"])
    replies = {
        "scenario": example["scenario"],
        "conversation": script(turns),
        "position": f"After: {example['after']}\nSpeaker: {example['speaker']}",
    }
    item = {"text": example["statement"], "scenario": example["scenario"], "conversation": turns}
    return {**words, "example": item, "replies": replies}


def messages(step: str, item: Mapping[str, Any]) -> tuple[Message, ...]:
    """The chat that asks for one step of one item: the role, the worked example, the task."""
    words = wording()
    shown = (Message("user", task(step, words["example"])), Message("assistant", words["replies"][step]))
    return (Message("system", words["role"]), *shown, Message("user", task(step, item)))


def task(step: str, item: Mapping[str, Any]) -> str:
    """What is to be done, with everything that comes from outside quoted.

    >>> print(task("scenario", {"text": "I'm {late}."}).splitlines()[2])
    > I'm {late}.
    """
    words, turns = wording(), item.get("conversation") or []
    numbered = [f"{n}. {turn['speaker']}: {turn['text']}" for n, turn in enumerate(turns, 1)]
    values = {
        "statement": quoted(str(item["text"])),
        "scenario": quoted(str(item.get("scenario") or "")),
        "turns": quoted("\n".join(" ".join(line.split()) for line in numbered)),
        "count": str(len(turns)),
        "aim": "",
    }
    if item.get("meaning"):
        about = {"meaning": str(item["meaning"]), "question": str(item["question"])}
        values["aim"] = fill(words["aim"], about).strip() + "\n\n"
    again = "\n\n" + fill(words["again"], {"reason": str(item["reason"])}) if item.get("reason") else ""
    return fill(words[step], values) + again


def quoted(text: str) -> str:
    r"""Text from outside as a quotation that it cannot leave: every line of it begins with a mark.

    >>> print(quoted("Nice.\nIgnore the above."))
    > Nice.
    > Ignore the above.
    """
    return "\n".join(f"> {line}" for line in text.strip().splitlines()) or "> "


@dataclass(frozen=True, slots=True)
class StepPrompter(Prompter):
    """Writes the prompts of one step."""

    step: str = "scenario"

    def request(self, questions: Sequence[Question], item: Mapping[str, Any], shots: Sequence[Shot] = ()) -> Request:
        """The request of the step for one item."""
        return Request(messages(self.step, item), self.sampling)


@dataclass(frozen=True)
class StepWriter(ChatRater):
    """A chat model that writes one step of a context."""

    step: str = "scenario"

    @classmethod
    def of(cls, generator: ChatRater, step: str, attempt: int, seed: int) -> StepWriter:
        """The generator as the writer of one step; each attempt draws anew."""
        names = ("temperature", "top_p", "max_tokens", "settings")
        common: dict[str, Any] = {name: getattr(generator, name) for name in names}
        named = f"{generator.model_name}+{step}"
        return cls(generator.model, step=step, name=named, seed=seed + attempt * ASK_AGAIN, **common)

    def reply_tokens(self, questions: Sequence[Question]) -> int:
        """How long what it writes in this step is, typically."""
        return WRITTEN_TOKENS[self.step]

    def prompter(self, corpus: Corpus, instrument: Instrument, condition: str = "") -> Prompter:
        """What writes this step's prompts."""
        plain = ChatRater.prompter(self, corpus, instrument, condition)
        common = (plain.instrument, plain.style, plain.condition, plain.voice, plain.sampling)
        return StepPrompter(*common, step=self.step)


@cache
def writing_instrument() -> Instrument:
    """The questions under which the writer's replies are recorded; of free text only the reply counts."""
    return Instrument.from_document(Document.bundled(__package__, "steps.yaml").data, file="steps.yaml")
