"""Means over texts whose variance is over texts and people.

A score is the mean over texts of a value per text, so that its variance over texts and people is V_texts + V_people −
V_answers (see `rater_variance`), with the effect of leaving each annotator out of each text in closed form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr

from vantage.measures.intervals import Spread, interval
from vantage.measures.ratings import Floats, Ints


@dataclass(frozen=True)
class Measured:
    """A mean over texts with what texts and people add to its variance."""

    value: Floats
    """Of each text."""
    effect: Floats
    """Of each pair: by how much the value of its text moves without it."""
    item: Ints
    user: Ints

    @property
    def estimate(self) -> float:
        """The score."""
        return float(self.value.mean())

    @property
    def spread(self) -> Spread | None:
        """Over texts and people; null where there are fewer than two texts."""
        texts = len(self.value)
        if texts < 2:
            return None
        of_texts = Spread(float(self.value.var(ddof=1)) / texts, texts - 1, units=texts)
        moved = np.bincount(self.user, self.effect)
        people = int(self.user.max()) + 1
        if people < 3:
            return of_texts
        total, noise = (float(np.square(effect).sum()) / texts**2 for effect in (moved, self.effect))
        return of_texts.plus(Spread(total, people - 1, units=people), noise)

    def in_skill(self, floor: float, ceiling: float) -> Measured:
        """As shares of the way from floor to ceiling."""
        return Measured((floor - self.value) / (floor - ceiling), self.effect / (floor - ceiling), self.item, self.user)

    def minus(self, other: Measured) -> Measured:
        """The difference of two systems, text by text and person by person."""
        return Measured(self.value - other.value, self.effect - other.effect, self.item, self.user)


def concluded(parts: Sequence[Measured], confidence: float = 0.95) -> dict[str, float | None]:
    """The mean of one or several scores with its interval, and the p value of the hypothesis that it is 0."""
    estimate = float(np.mean([part.estimate for part in parts]))
    known = [part.spread for part in parts]
    spreads = [spread for spread in known if spread is not None]
    if len(spreads) < len(known):
        return {"estimate": estimate, "low": None, "high": None, "p": None}
    total = sum(spread.variance for spread in spreads) / len(parts) ** 2
    freedom = min(spread.freedom for spread in spreads)
    low, high = interval(estimate, Spread(total, freedom), confidence)
    reach = abs(estimate) / max(total, 1e-300) ** 0.5 if estimate else 0.0
    return {"estimate": estimate, "low": low, "high": high, "p": float(2 * stdtr(min(freedom, 1e9), -reach))}
