"""The average user: how well a model meets them, and how much better than another model on the same pairs.

Users are resampled where results are to hold for others; in an evaluation over texts, users are fixed and texts are
resampled, also where F1 is averaged over users.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from vantage.errors import InputError
from vantage.measures.intervals import Bounds, blocks, percentile, weights
from vantage.measures.multiplicity import Flags, permutation_p
from vantage.measures.ratings import Floats
from vantage.perspective.evaluation import Evaluation
from vantage.perspective.fairness import the_column
from vantage.perspective.tally import ClassCounts


def average_user(evaluation: Evaluation, label: str = "macro") -> dict[str, float | None]:
    """The F1 of the average user with its interval: over users or, in an evaluation over texts, over texts."""
    if evaluation.over == "users":
        row = evaluation.summary.filter(pl.col("class") == label, level="user").row(0, named=True)
        return {"estimate": row["f1"], "low": row["low"], "high": row["high"]}
    users = _Users.of(evaluation, label)
    low, high = users.interval(users.mean)
    return {"estimate": users.whole(users.mean), "low": low, "high": high}


def advantage(one: Evaluation, other: Evaluation, label: str = "macro") -> dict[str, Any]:
    """How much better the average user is met by one model than by another that predicted the same pairs.

    `p` is that of an approximate randomisation test (Noreen 1989): the predictions of the two change places, user by
    user or, in evaluations over texts, text by text.
    """
    if (
        not one.pairs.select("item", "rater")
        .sort("item", "rater")
        .equals(other.pairs.select("item", "rater").sort("item", "rater"))
    ):
        raise InputError("the two models did not predict the same pairs", remedy="evaluate both on the same texts")
    first, second = _Users.of(one, label), _Users.of(other, label)

    def apart(weight: Floats) -> Floats:
        return first.mean(weight) - second.mean(weight)

    def swapped(kept: Floats) -> Floats:
        return first.mean(kept, second) - second.mean(kept, first)

    difference = first.whole(apart)
    low, high = first.interval(apart)
    p = None
    if difference is not None and one.resamples and first.units > 1:
        rng, size = np.random.default_rng(one.seed), abs(difference) - 1e-12

        def beyond(many: int) -> Flags:
            parts = [rng.integers(0, 2, (n, first.units)).astype(np.float64) for n in blocks(first.units, many)]
            return np.concatenate([np.abs(np.nan_to_num(swapped(kept))) >= size for kept in parts])

        p = permutation_p(beyond)
    return {"difference": difference, "low": low, "high": high, "p": p}


@dataclass(frozen=True, slots=True)
class _Users:
    """The F1 of every user as a function of weights on the units that are resampled."""

    evaluation: Evaluation
    column: int
    tallies: list[ClassCounts]
    """One for all users, whose rows are users; or one for each user, whose rows are texts."""

    @classmethod
    def of(cls, evaluation: Evaluation, label: str) -> _Users:
        """The users of an evaluation."""
        if evaluation.over == "users":
            return cls(evaluation, the_column(evaluation, label), [evaluation.tally("rater")[1]])
        return cls(evaluation, the_column(evaluation, label), evaluation.of_users())

    @property
    def units(self) -> int:
        """How many users or texts there are."""
        return len(self.tallies[0].rows)

    def mean(self, weight: Floats, rest: _Users | None = None) -> Floats:
        """The F1 of the average user under weights; `rest` predicts the units that a 0/1 weight leaves out."""
        total, count = np.zeros(len(weight)), np.zeros(len(weight))
        for n, tally in enumerate(self.tallies):
            if self.evaluation.over == "users":
                f1, used = self._scored(tally)
                total, count = total + weight @ (f1 * used), count + weight @ used
                if rest is not None:
                    others, used = self._scored(rest.tallies[n])
                    total, count = total + (1 - weight) @ (others * used), count + (1 - weight) @ used
                continue
            drawn = tally.summed(weight)
            if rest is not None:
                drawn = drawn.plus(rest.tallies[n].summed(1 - weight))
            f1, used = self._scored(drawn)
            total, count = total + f1 * used, count + used
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(total / count)

    def whole(self, statistic: Callable[[Floats], Floats]) -> float | None:
        """A statistic of the data as they are."""
        value = float(statistic(np.ones((1, self.units)))[0])
        return value if np.isfinite(value) else None

    def interval(self, statistic: Callable[[Floats], Floats]) -> Bounds:
        """The interval of a statistic over the units."""
        evaluation = self.evaluation
        if not evaluation.resamples or self.units < 2:
            return None, None
        drawn = [statistic(block) for block in weights(self.units, evaluation.resamples, evaluation.seed)]
        return percentile(np.concatenate(drawn), evaluation.confidence, self.units)

    def _scored(self, tally: ClassCounts) -> tuple[Floats, Floats]:
        scores, used = tally.scored("gold")
        return scores[:, self.column, 2], used[:, self.column]
