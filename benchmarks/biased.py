"""Raters that are biased on purpose: synthetic answers with known response biases, for tests and benchmarks.

A `BiasedRater` knows what is true of every item and answers with a shift that depends on how the question is put. Its
mean answer is the truth plus the shift exactly, as long as neither leaves the scale, so that an audit has something
to be checked against.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from vantage.errors import InputError
from vantage.measures import Floats
from vantage.measures.audits.cards import falling
from vantage.presentations import Presentation
from vantage.scales import Scale


@dataclass(frozen=True, slots=True)
class BiasedRater:
    """A synthetic rater; biases are in points of the scale and zero unless planted.

    Args:
        name: The rater's name.
        primacy: How much higher answers are with options listed downwards than upwards; below zero is recency.
        letters: The same, only where options are called by letters.
        acquiescence: How far answers move towards agreement with a statement.
        drift: How much higher answers are on the later half of the dates.
        careless: The share of answers that are drawn at random from all options.
        noise: The share of answers that are one option off.

    >>> rater = BiasedRater(primacy=1.0)
    >>> up, down = (rater.probabilities([0.0], Scale.points(-3, 3), f"order={order}") for order in ("up", "down"))
    >>> codes = np.arange(-3, 4)
    >>> (up @ codes).tolist(), (down @ codes).tolist()
    ([-0.5], [0.5])
    """

    name: str = "biased"
    primacy: float = 0.0
    letters: float = 0.0
    acquiescence: float = 0.0
    drift: float = 0.0
    careless: float = 0.0
    noise: float = 0.0

    def __post_init__(self) -> None:
        for share in ("careless", "noise"):
            if not 0 <= getattr(self, share) <= 1:
                raise InputError(f"{share} is {getattr(self, share)}", remedy="give a share between 0 and 1")

    def probabilities(
        self, truth: Sequence[float] | Floats, scale: Scale, presentation: str = "", *, late: bool = False
    ) -> Floats:
        """The probability of each option, in the order of the scale's codes, one row per item."""
        codes = np.array(sorted(scale.codes))
        if len(codes) < 2 or not scale.ordered:
            raise InputError("synthetic raters need an ordered scale with options", remedy="give another scale")
        levels = Presentation.parse(presentation).levels
        side = -1.0 if levels.get("direction") == "reversed" else 1.0
        fall = side * falling(levels.get("order"), levels.get("seen"))
        shift = fall * (self.primacy + self.letters * (levels.get("labels") == "letters"))
        shift += self.acquiescence * (side if levels.get("direction") in ("plain", "reversed") else 0.0)
        latent = np.clip(np.asarray(truth, dtype=np.float64) + shift + self.drift * late, codes[0], codes[-1])
        below = np.clip(np.searchsorted(codes, latent, side="right") - 1, 0, len(codes) - 2)
        upper = (latent - codes[below]) / (codes[below + 1] - codes[below])
        shares = np.zeros((len(latent), len(codes)))
        rows = np.arange(len(latent))
        shares[rows, below], shares[rows, below + 1] = 1 - upper, upper
        shares = _stepped(shares, self.noise)
        shares = (1 - self.careless) * shares + self.careless / len(codes)
        if levels.get("middle") == "hidden" and len(codes) % 2:
            middle = len(codes) // 2
            shares[:, [middle - 1, middle + 1]] += shares[:, [middle]] / 2
            shares[:, middle] = 0.0
        return shares

    def judgments(
        self,
        truth: Mapping[str, float],
        scale: Scale,
        presentations: Sequence[str] = ("",),
        *,
        question: str = "rating",
        samples: int = 1,
        dates: Sequence[str] = (),
        seed: int = 0,
    ) -> pl.DataFrame:
        """Answers about every item in every presentation, `samples` times on each of the dates.

        >>> rater = BiasedRater(primacy=1.0)
        >>> rater.judgments({"a": 0.0}, Scale.points(-3, 3), ["order=up", "order=down"], seed=1).select(
        ...     "item", "sample", "value", "presentation").rows()
        [('a', 0, 0.0, 'order=up'), ('a', 1, 1.0, 'order=down')]
        """
        rng = np.random.default_rng(seed)
        items, codes = list(truth), np.array(sorted(scale.codes))
        frames, sample = [], 0
        for place, date in enumerate(dates or ("",)):
            for presentation in presentations:
                late = len(dates) > 1 and place >= len(dates) // 2
                chances = self.probabilities(list(truth.values()), scale, presentation, late=late).cumsum(axis=1)
                for _ in range(samples):
                    drawn = (chances < rng.random((len(items), 1))).sum(axis=1).clip(max=len(codes) - 1)
                    frames.append(
                        pl.DataFrame({"item": items, "value": codes[drawn]}).with_columns(
                            question=pl.lit(question),
                            rater=pl.lit(self.name),
                            sample=pl.lit(sample),
                            presentation=pl.lit(presentation or None, dtype=pl.String),
                            at=pl.lit(date or None, dtype=pl.String),
                        )
                    )
                    sample += 1
        return pl.concat(frames)


def _stepped(shares: Floats, noise: float) -> Floats:
    """The probabilities with a share moved one option up or down alike; what would leave the scale stays."""
    moved = (1 - noise) * shares
    moved[:, 1:] += noise / 2 * shares[:, :-1]
    moved[:, :-1] += noise / 2 * shares[:, 1:]
    moved[:, 0] += noise / 2 * shares[:, 0]
    moved[:, -1] += noise / 2 * shares[:, -1]
    return moved
