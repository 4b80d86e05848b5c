"""Profiles of models, kept in the run store beside the replies, and what follows from them for a rater."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Final

from vantage.raters.chat import ANSWER_TOKENS, ChatRater
from vantage.raters.models import kind_of
from vantage.raters.models.base import ChatModel
from vantage.raters.models.probe import ROOM, ModelProfile, probe
from vantage.runs.export import calls
from vantage.runs.keys import identity
from vantage.runs.options import RunOptions
from vantage.runs.prices import Price
from vantage.runs.store import RunStore

ENOUGH: Final = 5
"""Stored replies from which a mean is taken."""
LOOKED_AT: Final = 500
"""Stored replies of a model that are looked at."""
SAMPLES = 20
"""Replies that a distribution is drawn from where there are no probabilities."""


def kept(store: RunStore, rater: ChatRater) -> ModelProfile | None:
    """The newest profile of a rater's model that the store has."""
    known = profiles(store, _name(rater))
    return known[-1] if known else None


def keep(store: RunStore, rater: ChatRater, profile: ModelProfile) -> None:
    """Adds a profile."""
    row = (_name(rater), time.time(), json.dumps(profile.as_dict()))
    store.change("INSERT INTO profiles VALUES (NULL, ?, ?, ?)", row)


def profiles(store: RunStore, model: str | None = None) -> list[ModelProfile]:
    """All profiles of a store, or of one model by what it is known by, the oldest first."""
    sql = "SELECT profile FROM profiles WHERE model = COALESCE(?, model) ORDER BY id"
    return [ModelProfile.of(json.loads(text)) for (text,) in store.select(sql, (model,))]


@dataclass(frozen=True, slots=True)
class TokenUse:
    """How many tokens a model's prompts and replies take, as far as its profile or stored calls tell."""

    by_step: Mapping[tuple[str, str], float] = field(default_factory=dict)
    """Mean tokens of stored replies, by style and step."""
    plain: float | None = None
    """Tokens of a bare answer, thinking included, in other styles."""
    reasoned: float | None = None
    """Tokens of an answer with its reasons."""
    thinking: float = 0.0
    """Tokens that go into thinking, whatever is asked."""
    characters: float | None = None
    """Characters of a prompt per token."""
    source: str = ""


def token_use(store: RunStore | None, rater: ChatRater) -> TokenUse:
    """What the store knows of a model: from its calls, and from its profile where they do not tell."""
    if store is None:
        return TokenUse()
    profile = kept(store, rater)
    uses, source = (profile.reply_tokens, "its profile says") if profile else ({}, "")
    plain, reasoned = uses.get("zero-shot"), uses.get("reasoning")
    thinking = max(0.0, plain - ANSWER_TOKENS) if profile and profile.thinks and plain is not None else 0.0
    thinking = thinking or (float(profile.thinking_tokens) if profile else 0.0)
    model = str(identity(rater)["model"])
    sums: dict[tuple[str, str], list[float]] = {}
    size, tokens = 0, 0
    for call in islice((one for one in calls(store) if one["model"] == model and one["reply"]), LOOKED_AT):
        step = (str(json.loads(call["settings"]).get("style")), str(call["step"]))
        counts = (1, call["completion_tokens"], call["reasoning_tokens"])
        sums[step] = [a + b for a, b in zip(sums.get(step, [0.0] * 3), counts, strict=True)]
        if call["prompt_tokens"]:
            size, tokens = size + sum(len(m["content"]) for m in call["messages"]), tokens + call["prompt_tokens"]
    enough = {step: total for step, total in sums.items() if total[0] >= ENOUGH}
    if enough:
        thinking = sum(total[2] for total in enough.values()) / sum(total[0] for total in enough.values()) or thinking
        source = "its stored replies show"
    characters = size / tokens if tokens else profile.characters if profile else None
    means = {step: total[1] / total[0] for step, total in enough.items()}
    return TokenUse(means, plain, reasoned, thinking, characters, source)


def told_prices(store: RunStore, raters: Iterable[ChatRater], prices: Mapping[str, Price]) -> dict[str, Price]:
    """The prices with those that endpoints have told of models that have none."""
    named: dict[str, Price] = {}
    for rater in raters:
        profile = None if rater.model_name in (*prices, *named) or not rater.remote else kept(store, rater)
        if profile is not None and {"input", "output"} <= profile.price.keys():
            price = Price(input=profile.price["input"], output=profile.price["output"], date=profile.probed)
            named[rater.model_name] = price
    return {**prices, **named}


def all_suited(
    raters: Sequence[ChatRater], store: RunStore, options: RunOptions, *, max_tokens: int | None
) -> tuple[list[ChatRater], list[str]]:
    """Raters with the defaults that suit their models, and what was changed; with `probe`, unknown models are probed.

    What is wrong with one of them, or with a fallback, is told before another is asked.
    """
    known: dict[str, ModelProfile | None] = {}
    every = {rater.model_name: rater for rater in [*map(raters[0].asked_of, options.fallbacks), *raters]}
    for rater in every.values():
        rater.check_model()
    with ExitStack() as stack:
        unknown: list[tuple[ChatRater, ChatModel]] = []
        for name, rater in every.items():
            known[name] = kept(store, rater)
            if known[name] is None and options.probe and rater.remote and options.engine == "local":
                unknown.append((rater, stack.enter_context(closing(rater.open()))))
        for rater, model in unknown:
            known[rater.model_name] = profile = probe(model)
            keep(store, rater, profile)
    changed = [suited(rater, known[rater.model_name], max_tokens=max_tokens) for rater in raters]
    notes = dict.fromkeys(note for _, hints in changed for note in hints)
    return [rater for rater, _ in changed], list(notes)


def suited(rater: ChatRater, profile: ModelProfile | None, *, max_tokens: int | None) -> tuple[ChatRater, list[str]]:
    """A rater with the defaults that suit its model, and what was changed, in sentences.

    A thinking model gets room to think unless a limit was given. If the endpoint reports no probabilities, or replies
    do not begin with the letter of an option, the distribution is drawn from samples.
    """
    notes: list[str] = []
    changed: dict[str, Any] = {}
    if rater.parts.scoring:
        tells = profile.logprobs != 0 if profile else getattr(kind_of(rater.model_name), "tells_probabilities", True)
        otherwise = profile is not None and profile.begins == "other" and rater.remote
        if otherwise or not tells:
            changed["style"] = replace(rater.parts, scoring=False, sampling=SAMPLES)
            why = "reports no probabilities" if not tells else "does not begin its replies with an option"
            notes.append(f"{rater.model_name} {why}, so {SAMPLES} replies are drawn for each item instead.")
    if profile is not None:
        if profile.thinks and max_tokens is None:
            # Twice what a rating question took, in steps that do not change with every probe.
            longest = 2 * max(profile.reply_tokens.values(), default=0)
            room = changed["max_tokens"] = max(rater.max_tokens, ROOM * max(1, math.ceil(longest / ROOM)))
            notes.append(
                f"{rater.model_name} thinks before it answers, so replies may have {room} tokens (--max-tokens)."
            )
        if profile.window is not None and "window" not in rater.settings:
            changed["settings"] = {**rater.settings, "window": profile.window}
    return (replace(rater, **changed) if changed else rater), notes


def _name(rater: ChatRater) -> str:
    return json.dumps(identity(rater), sort_keys=True, default=str)
