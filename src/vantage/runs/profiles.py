"""Profiles of models, kept in the run store beside the replies, and what follows from them for a rater."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from vantage.raters.chat import ChatRater
from vantage.raters.models import kind_of
from vantage.raters.models.probe import ROOM, ModelProfile
from vantage.runs.keys import identity
from vantage.runs.store import RunStore
from vantage.runs.tables import unpacked

ENOUGH: Final = 5
"""Stored replies from which a mean is taken."""
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
    if not store.has("profiles"):
        return []
    sql = "SELECT profile FROM profiles WHERE model = COALESCE(?, model) ORDER BY id"
    return [ModelProfile.of(json.loads(text)) for (text,) in store.select(sql, (model,))]


@dataclass(frozen=True, slots=True)
class TokenUse:
    """How many tokens a model's replies take, as far as its profile or stored calls tell."""

    by_step: Mapping[tuple[str, str], float] = field(default_factory=dict)
    """Mean tokens of a reply, by style and step."""
    thinking: float = 0.0
    """Tokens that go into thinking in other styles."""
    source: str = ""


def token_use(store: RunStore | None, rater: ChatRater) -> TokenUse:
    """What the store knows of a model: from its calls, else from its profile."""
    if store is None:
        return TokenUse()
    model = str(identity(rater)["model"])
    join = "LEFT JOIN details ON details.key = calls.key" if store.has("details") else ""
    thought = "SUM(COALESCE(reasoning_tokens, 0))" if join else "0"
    sql = f"SELECT body, COUNT(*), SUM(completion_tokens), {thought} FROM calls JOIN texts ON texts.id = context {join}"  # noqa: S608
    sums: dict[tuple[str, str], list[float]] = {}
    for body, *counts in store.select(f"{sql} WHERE scores IS NULL GROUP BY context"):
        context = json.loads(unpacked(body))
        if context["model"] == model:
            known = sums.setdefault((str(context.get("style")), str(context.get("step"))), [0.0, 0.0, 0.0])
            sums[str(context.get("style")), str(context.get("step"))] = [
                a + b for a, b in zip(known, counts, strict=True)
            ]
    enough = {key: total for key, total in sums.items() if total[0] >= ENOUGH}
    calls, _, thinking = (sum(total[place] for total in enough.values()) for place in range(3))
    if enough:
        means = {key: total[1] / total[0] for key, total in enough.items()}
        return TokenUse(means, thinking / calls, "its stored replies show")
    profile = kept(store, rater)
    return TokenUse({}, float(profile.thinking_tokens), "its profile says") if profile else TokenUse()


def suited(rater: ChatRater, profile: ModelProfile | None, *, max_tokens: int | None) -> tuple[ChatRater, list[str]]:
    """A rater with the defaults that suit its model, and what was changed, in sentences.

    A thinking model gets room to think unless a limit was given. Where the endpoint tells no probabilities, the
    distribution is drawn from samples.
    """
    notes: list[str] = []
    changed: dict[str, Any] = {}
    if profile is not None:
        tells = profile.logprobs != 0
    else:
        tells = getattr(kind_of(rater.model_name), "tells_probabilities", True)
    if rater.parts.scoring and not tells:
        changed["style"] = replace(rater.parts, scoring=False, sampling=SAMPLES)
        notes.append(
            f"{rater.model_name} tells no probabilities, so {SAMPLES} replies are drawn for each item instead."
        )
    if profile is not None:
        if profile.thinks and max_tokens is None:
            changed["max_tokens"] = ROOM
            notes.append(
                f"{rater.model_name} thinks before it answers, so replies may have {ROOM} tokens (--max-tokens)."
            )
        if profile.window is not None and "window" not in rater.settings:
            changed["settings"] = {**rater.settings, "window": profile.window}
    return (replace(rater, **changed) if changed else rater), notes


def _name(rater: ChatRater) -> str:
    """What a model and its endpoint are known by."""
    return json.dumps(identity(rater), sort_keys=True, default=str)
