"""Whether an adaptive study would be worth it on items like those of a pilot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import polars as pl

from vantage.adaptive.simulated import worth
from vantage.adaptive.until import Until
from vantage.measures.ratings import UNIT, Floats
from vantage.planning.goals import WORDS, GoalName
from vantage.planning.pilot import Pilot

RULES: Final = (Until("width", 0.3), Until("error", 0.1))
MOST_ITEMS: Final = 400
"""How many items of a pilot are simulated at most."""
MOST_OPTIONS: Final = 25


def adapting(pilot: Pilot, goal: GoalName) -> pl.DataFrame:
    """One row per rule with what it saves, and one for the plan's own goal; no rows where answers have no shares."""
    rows = worth_on(pilot.answers, pilot.codes)
    if rows.is_empty():
        return rows
    own = f"Adapting is not worth it for the {WORDS[goal]}: such estimates rest on the ratings that every item has."
    return pl.concat([rows, pl.DataFrame([{"until": goal, "worth": False, "sentence": own}])], how="diagonal")


def worth_on(answers: pl.DataFrame, codes: Floats, rules: Sequence[Until] = RULES) -> pl.DataFrame:
    """What each rule would save on items with these answers, one row per rule; none where answers have no shares.

    `answers` has the columns `item`, `question`, `condition` and `value`, which is one of the `codes`, in order.
    """
    if not 2 <= len(codes) <= MOST_OPTIONS:
        return pl.DataFrame()
    unit = answers.select(pl.struct(UNIT).rank("dense")).to_series().to_numpy().astype(np.int64) - 1
    counts = np.zeros((unit.max() + 1, len(codes)))
    np.add.at(counts, (unit, np.searchsorted(codes, answers["value"].to_numpy())), 1)
    counts = counts[counts.sum(axis=1) >= 2]
    if len(counts) > MOST_ITEMS:
        counts = np.random.default_rng(0).permutation(counts)[:MOST_ITEMS]
    return worth(counts, rules) if len(counts) else pl.DataFrame()
