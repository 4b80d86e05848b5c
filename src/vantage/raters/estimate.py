"""What a plan will take before anything is sent: calls, tokens, and cost where prices are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import Field, RootModel
from typing_extensions import TypedDict

from vantage.corpora import Corpus
from vantage.documents import Document
from vantage.instruments import Instrument
from vantage.raters.asked import asked_instrument, asked_questions
from vantage.raters.chat import ChatRater

LOCAL: Final = ("embedded", "gguf:", "hf:", "recorded:")
"""Models that run here and cost nothing per token."""
COUNTED: Final = 200
"""How many prompts are counted; the rest is extrapolated from them."""
TOKEN_LENGTH: Final = 4
"""Characters per token where no tokenizer is at hand: about right for English prose."""
REPLY_TOKENS: Final = {"scoring": 0, "reasoning": 120, "plain": 8}
"""Typical lengths of replies, by style."""


class Price(TypedDict):
    """The price of a model per million tokens, in the currency of your file."""

    input: float
    output: float


class Prices(RootModel[dict[str, Price]]):
    """A price file: from model names to prices."""

    root: dict[str, Price] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Estimate:
    """What one rater will take."""

    rater: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    """Null when the price of the model is not known."""


def read_prices(path: str | Path) -> dict[str, Price]:
    """Prices from a YAML file such as `openai:gpt-5: {input: 1.25, output: 10}`, per million tokens."""
    document = Document.read(path)
    found = document.validate(Prices)
    document.check()
    return found.root if found is not None else {}


def estimate(
    rater: ChatRater,
    corpus: Corpus,
    instrument: Instrument,
    *,
    questions: Sequence[str] = (),
    condition: str = "",
    prices: Mapping[str, Price] | None = None,
) -> Estimate:
    """Counts the calls of a rater and estimates their tokens; no model is loaded and nothing is sent."""
    characters, counted, calls = 0, 0, 0
    style = rater.parts
    names = asked_questions(rater, questions)
    for call in rater.plan(corpus, asked_instrument(rater, instrument), questions=names, condition=condition):
        calls += 1
        if counted < COUNTED:
            characters += sum(len(message.content) for message in call.request.messages)
            counted += 1
    steps = style.sampling or (2 if style.two_step or (style.scoring and style.reasoning) else 1)
    told = style.reasoning or style.two_step
    kind = "reasoning" if told else "scoring" if style.scoring else "plain"
    width = len(names or instrument.questions) if style.together else 1
    prompt = round(characters / TOKEN_LENGTH / max(counted, 1) * calls * steps)
    reply = REPLY_TOKENS[kind] * width * calls * (style.sampling or 1)
    if style.voice == "selective-persona":
        calls += len(corpus.items)
    price = (prices or {}).get(rater.model_name)
    if rater.model_name.startswith(LOCAL):
        cost: float | None = 0.0
    else:
        cost = None if price is None else (prompt * price["input"] + reply * price["output"]) / 1e6
    return Estimate(rater.id, calls * steps, prompt, reply, cost)
