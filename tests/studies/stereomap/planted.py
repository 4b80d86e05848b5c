"""Answers with a known structure: planted clusters, correlations, refusals and keywords, as recorded replies."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from vantage.instruments import Instrument
from vantage.studies.stereomap.elicitation import blocks
from vantage.studies.stereomap.groups import SocialGroup, human_clusters, reference_groups

WORDS = {
    "HC-LW": ["intelligent", "Ambitious", "cold", "wealthy", "hard-working"],
    "LC-HW": ["friendly", "weak", "kind", "helpless", "honest"],
    "LC-LW": ["lazy", "poor", "criminals", "dirty", "zorbly"],
    "HC-HW": ["friendly", "competent", "honest", "not lazy", "normal"],
    "MC-MW": ["different", "strong family ties", "proud", "hardworking", "religious"],
}
"""The keywords of each cluster; "zorbly" is in no dictionary."""
REFUSAL = "I'm sorry, but I cannot rate a group of people."
GIBBERISH = "Well, that depends on so many things."


def scores(cluster: str) -> dict[str, float]:
    """What each score is for the groups of a human cluster, so that the correlations are known."""
    human = human_clusters()[cluster]
    c, w = human.competence, human.warmth
    return {
        "competence": c,
        "warmth": w,
        "contempt": 6 - (c + w) / 2,
        "admiration": (c + w) / 2,
        "pity": 3 + (w - c) / 2,
        "envy": 3 + (c - w) / 2,
        "active-facilitation": w,
        "active-harm": 6 - w,
        "passive-facilitation": c,
        "passive-harm": 6 - c,
        "status": c,
        "competition": 6 - w,
    }


def recorded(
    path: Path,
    form: str = "extended",
    *,
    groups: Sequence[SocialGroup] | None = None,
    runs: int = 6,
    refused: Mapping[str, int] | None = None,
    unread: Mapping[str, int] | None = None,
    condition: str = "",
    keywords: bool = True,
    shift: float = 0.0,
    noise: bool = False,
    inverted: bool = False,
    seed: int = 0,
) -> Path:
    """A table of replies; `refused` and `unread` say in how many runs a group's questions end so.

    With `noise` all groups are alike; `inverted` turns every score round.
    """
    chosen = reference_groups() if groups is None else groups
    instrument = Instrument.load(f"stereotype-content:{form}")
    rng = np.random.default_rng(seed)
    rows, spread = [], 0.8 if noise else 0.35
    for group in chosen:
        told = dict.fromkeys(scores("MC-MW"), 3.0) if noise else scores(group.reference or "MC-MW")
        told = {name: 6 - value for name, value in told.items()} if inverted else told
        # Groups of a cluster differ a little, so that ranks are not all tied.
        own = 0.0 if noise else rng.normal(0, 0.08)
        for sample in range(runs):
            for block, questions in blocks(instrument).items():
                fate = "refused" if sample < (refused or {}).get(group.id, 0) else ""
                fate = fate or ("unread" if sample < (unread or {}).get(group.id, 0) else "")
                name = f"{condition}/{block}" if condition else block
                if keywords and block != "structure":
                    rows.append((group.id, f"{name}-keywords", sample, keyword_reply(group, block, fate)))
                rows.append(
                    (group.id, name, sample, _ratings(instrument, questions, told, own + shift, rng, fate, spread))
                )
    schema = ["item", "question", "sample", "reply"]
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    if path.exists():
        frame = pl.concat([pl.read_parquet(path), frame])
    frame.write_parquet(path)
    return path


def keyword_reply(group: SocialGroup, block: str, fate: str = "") -> str:
    if fate:
        return REFUSAL if fate == "refused" else GIBBERISH
    words = WORDS[group.reference or "MC-MW"] if block == "traits" else ["Admiration", "respect", "envy"]
    lines = [
        f"{n}. **{word}:** {group.group.capitalize()} are seen as {word.casefold()} at work."
        for n, word in enumerate(words, 1)
    ]
    return "\n".join(lines)


def _ratings(
    instrument: Instrument,
    questions: Sequence[str],
    told: Mapping[str, float],
    own: float,
    rng: np.random.Generator,
    fate: str,
    spread: float,
) -> str:
    if fate:
        return REFUSAL if fate == "refused" else GIBBERISH
    of = {question: aggregate.id for aggregate in instrument.aggregates for question in aggregate.members}
    answers = {}
    for question in questions:
        score = of.get(question, "warmth")
        score = of.get(score, score)
        value = int(np.clip(np.rint(told.get(score, 3.0) + own + rng.normal(0, spread)), 1, 5))
        answers[question] = {"reason": "The jobs that they hold pay well.", "answer": value}
    return json.dumps(answers)
