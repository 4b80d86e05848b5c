"""Profiles of models, kept in the run store beside the replies, and what follows from them for a rater."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import Any

from vantage.raters.chat import ChatRater
from vantage.raters.models import kind_of
from vantage.raters.models.probe import ROOM, ModelProfile
from vantage.runs.keys import identity
from vantage.runs.store import RunStore

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
