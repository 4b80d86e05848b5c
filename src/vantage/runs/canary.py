"""Is it still the same model? A few fixed prompts per sitting, whose answers are compared between sittings.

A canary is a run like any other: every sentence is graded several times at temperature 1, and the calls are stored,
priced and counted. How far two sittings differ is the share of answers that would have to change for the distributions
to agree (total variation, averaged over the prompts); how much of it chance gives is told by exchanging answers to the
same prompt between the two sittings at random.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from typing import Final, TypeAlias

import numpy as np
import polars as pl

from vantage.corpora import Corpus
from vantage.instruments import Instrument
from vantage.raters.chat import ChatRater
from vantage.runs.keys import identity
from vantage.runs.plan import RunPlan
from vantage.runs.records import records
from vantage.runs.store import RunStore
from vantage.scales import Scale

Asked: TypeAlias = Callable[[RunPlan], tuple[pl.DataFrame, int]]
"""Carries a plan out: its judgments, and how many requests have no answer."""
NAME: Final = "canary-1"
"""The instrument; the prompts of a name never change, and other prompts are another instrument."""
SAMPLES: Final = 10
"""How often every prompt is put in a sitting."""
SITTING: Final = 3600.0
"""Seconds for which a canary counts; what is started within them belongs to the same sitting."""
SURE: Final = 0.01
"""Chance has to be less likely than this, over all comparisons, before drift is claimed."""
_EXCHANGES: Final = 2000
_ROOM: Final = 2048
"""Tokens of a reply at most, the same in all sittings; a model that thinks needs some."""
_TEXTS: Final = (
    "The bus was eleven minutes late, and the driver apologised to each passenger by name.",
    "A violinist sold her instrument to pay for her neighbour's new roof.",
    "The bakery closes at six, like every bakery in the street.",
    "The minister answered the question that had been asked.",
    "It rained on the day of the parade, and the band played on.",
    "A boy of nine beat the village champion at chess, twice.",
    "The cat came back after four years and asked for its usual chair.",
    "Nobody complained about the new parking fees.",
)


@cache
def _instrument() -> Instrument:
    scale = Scale.points(1, 9, anchors={1: "not at all", 9: "extremely"})
    asked = {"surprise": "How surprising is what the text says?"}
    return Instrument.of_questions(NAME, "Canary", {"surprise": scale}, asked)


def sitting_plan(rater: ChatRater, when: str) -> RunPlan:
    """What a rater's model is asked in the sitting of a time."""
    fixed = ChatRater(
        rater.model,
        name=f"{rater.model_name}+canary",
        samples=SAMPLES,
        temperature=1.0,
        max_tokens=_ROOM,
        settings=rater.settings,
    )
    items = pl.DataFrame({"item": [f"c{number}" for number in range(len(_TEXTS))], "text": _TEXTS})
    return RunPlan.of(Corpus.of_items(items, _instrument()), fixed, _instrument(), condition=when)


def checked(rater: ChatRater, store: RunStore, ask: Asked, read: Asked) -> tuple[list[str], list[str]]:
    """Puts the fixed prompts to a rater's model, once in a sitting: what has changed since others, and what has not.

    `ask` carries a plan out, `read` only looks up what an earlier sitting was answered.
    """
    times = _sittings(rater, store)
    now = _now()
    if times and time.time() - datetime.fromisoformat(times[-1]).timestamp() < SITTING:
        now = times.pop()
    today = _answers(*ask(sitting_plan(rater, now)))
    if today is None:
        return [], [f"{rater.model_name} did not answer all canary prompts, so nothing was compared."]
    compared = list(dict.fromkeys([times[0], times[-1]])) if times else []
    read_then = [(when, _answers(*read(sitting_plan(rater, when)))) for when in compared]
    earlier = [(when, answers) for when, answers in read_then if answers is not None]
    if not earlier:
        said = f"{rater.model_name} answered the {len(_TEXTS)} canary prompts; the next sitting will be compared with"
        return [], [f"{said} these answers."]
    drifted: list[str] = []
    same: list[str] = []
    for when, before in earlier:
        size, chance, likely = drift(before, today)
        share = f"{100 * size:.0f} % of the answers would have to change to match (chance alone: {100 * chance:.0f} %"
        prompts = f"answers the canary prompts as on {when[:10]}: {share}"
        if likely * len(earlier) < SURE:
            said = f"{rater.model_name} no longer {prompts}, p = {likely:.2g}). It may be another version of the model."
            drifted.append(said)
        else:
            same.append(f"{rater.model_name} still {prompts}).")
    return drifted, same


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def drift(before: pl.DataFrame, today: pl.DataFrame) -> tuple[float, float, float]:
    """How far two sittings differ, how far chance would have it, and how likely it is to have it as far as that.

    Each table has a row per answer: `item`, and `answer` as a word.
    """
    draw = np.random.default_rng(0)
    size, chance = 0.0, np.zeros(_EXCHANGES)
    items = sorted(set(before["item"]) | set(today["item"]))
    for item in items:
        old, new = (table.filter(item=item)["answer"].to_list() for table in (before, today))
        words = [*Counter([*old, *new])]
        codes = np.array([words.index(word) for word in [*old, *new]])
        table = np.eye(len(words))[codes]
        order = np.argsort(draw.random((_EXCHANGES, len(codes))), axis=1)
        first = table[order[:, : len(old)]].sum(axis=1) / len(old)
        rest = table[order[:, len(old) :]].sum(axis=1) / len(new)
        chance += np.abs(first - rest).sum(axis=1) / 2 / len(items)
        size += np.abs(table[: len(old)].mean(axis=0) - table[len(old) :].mean(axis=0)).sum() / 2 / len(items)
    likely = (1 + int((chance >= size - 1e-9).sum())) / (1 + _EXCHANGES)
    return float(size), float(chance.mean()), likely


def _sittings(rater: ChatRater, store: RunStore) -> list[str]:
    """When the model was asked before, the earliest first."""
    known = identity(rater)
    parts = [part for one in records(store) for part in one.plan["parts"] if part["instrument"] == NAME]
    mine = [part for part in parts if all(str(part.get(name)) == str(known[name]) for name in known)]
    return sorted({str(part["condition"]) for part in mine})


def _answers(rows: pl.DataFrame, missing: int) -> pl.DataFrame | None:
    if missing or (rows["status"].cast(pl.String) == "failed").any():
        return None
    return rows.select("item", answer=pl.coalesce(pl.col("value").cast(pl.String), pl.col("status").cast(pl.String)))
