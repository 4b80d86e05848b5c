"""What a plan will take before anything is sent: calls, tokens, and cost where prices are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Final, NotRequired

from pydantic import Field, RootModel
from typing_extensions import TypedDict

from vantage.corpora import Corpus
from vantage.documents import Document
from vantage.errors import InputError
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
    cached: NotRequired[float]
    """Of prompt tokens that the endpoint had in its cache; as any other where it is not given."""
    date: NotRequired[str]
    """When the price was looked up."""


class Prices(RootModel[dict[str, Price | date]]):
    """A price file: from model names to prices, and under `date` when they were looked up."""

    root: dict[str, Price | date] = Field(default_factory=dict)


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
    """Prices from a YAML file such as `openai:gpt-5: {input: 1.25, output: 10, cached: 0.125}`, per million tokens.

    A line `date: 2026-11-15` says when they were looked up; it goes into every run's ledger.
    """
    document = Document.read(path)
    found = document.validate(Prices)
    document.check()
    told = found.root if found is not None else {}
    when = told.pop("date", None)
    prices = {model: price for model, price in told.items() if isinstance(price, dict)}
    if wrong := [model for model in told if model not in prices]:
        raise InputError(f"'{wrong[0]}' has a date and no price", file=path, remedy="write {input: …, output: …}")
    return {model: Price(**{"date": str(when), **price}) if when else price for model, price in prices.items()}


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
