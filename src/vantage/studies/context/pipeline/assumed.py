"""The steps of a generation as they are assumed for an estimate: every check but the last of each item is failed.

The most that may be asked is gone through in this way, with prompts of about the right length, and nothing is sent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import polars as pl

from vantage.runs import RunPlan
from vantage.studies.context.pipeline.record import COST
from vantage.studies.context.pipeline.verification import QUALITY
from vantage.studies.context.pipeline.writing import Asking

ASSUMPTION: Final = (
    "Contexts are counted as written as often as they may be, and as kept in the end: the most calls there can be."
)
_SPOKEN: Final = "one thing and another, and what came of it in the end, which nobody had thought of before"
REPLIES: Final = {
    "first-person": "yes",
    "scenario": f"Two friends talk about {_SPOKEN}. " * 2,
    "conversation": "\n".join(f"Person {'AB'[n % 2]}: Attempt {{attempt}}, {{control}}, {_SPOKEN}." for n in range(8)),
    "position": "After: 4\nSpeaker: Person A",
}
"""Replies of the usual length, by step; conversations differ from attempt to attempt and by control."""


@dataclass
class Assumed(Asking):
    """Asks nobody: plans go to `asks`, and each step is assumed to come out so that as much as possible follows.

    Args:
        asks: Takes a plan, and what was assumed for it.
        attempts: How often a context is written at most; the last one passes.
    """

    asks: Callable[[RunPlan, str], object] = lambda *_: None
    attempts: int = 1
    _checked: int = field(default=0, init=False)

    def carried(self, plan: RunPlan) -> pl.DataFrame:
        """Judgments that were not made."""
        self.asks(plan, ASSUMPTION)
        (part,) = plan.parts
        low, value = part.used.question(part.asked[0]).scale.ends
        if part.used.id == QUALITY:
            self._checked += 1
            value = value if self._checked >= self.attempts else low
        reply = REPLIES.get(part.asked[0], "").format(attempt=self._checked + 1, control=self.condition)
        asked = part.corpus.items.select("item").join(pl.DataFrame({"question": part.asked}), how="cross")
        return asked.with_columns(
            pl.lit(value).alias("value"),
            pl.lit("answered").alias("status"),
            pl.lit(reply).alias("reply"),
            *(pl.lit(0).alias(name) for name in COST),
        )
