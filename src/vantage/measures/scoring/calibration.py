"""Soft labels against people: proper scores of predicted distributions, and how far their probabilities hold.

A rater under test that answers repeatedly (the samples of a model) gives each item a distribution of answers. It is
scored against the single answers of people, each of which counts, so that people who disagree about an item are not
taken to be wrong about it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, Unpack

import numpy as np
import polars as pl

from vantage.errors import InputError
from vantage.measures.base import measure, table
from vantage.measures.intervals import ItemIntervalOptions
from vantage.measures.parts import names, partitioned, scales_of
from vantage.measures.presentation import Column, View
from vantage.measures.ratings import By, Floats, Judgments
from vantage.measures.resampling import Resampling, item_codes, mean_with_interval
from vantage.measures.scoring.references import under_test_and_judges

SCORES: Final = ("brier", "log", "calibration_error")
INFINITE: Final = "an answer that people gave has probability 0; pass smoothing"


VIEW: Final = View(
    "How well the distribution of a rater's answers predicts single people",
    columns={"estimate": Column(digits=3), "best": Column(digits=3), "people": Column(digits=3)},
    notes=("Lower is better; best is what the distribution that people have would reach.",),
    method="Distributions of answers were scored against the single answers of people.",
)


@measure("calibration", "accuracy", view=VIEW, pools=False)
def calibration(
    data: Judgments,
    *,
    by: By = (),
    raters: Sequence[str] | None = None,
    people: Sequence[str] | None = None,
    smoothing: float = 0.0,
    bins: int = 10,
    match: By = ("item", "question"),
    per: Literal["score", "bin"] = "score",
    **resampling: Unpack[ItemIntervalOptions],
) -> pl.DataFrame:
    """How well the distribution of a rater's answers to an item predicts what people answer, one by one.

    `brier` is Σ (p − 1[answer])² (Brier 1950) and `log` −log p (Good 1952), averaged over the answers of an item
    and over items: proper scores, lowest for the distribution that people really have. `best` estimates what that
    distribution would reach, `people` what the other people of the item reach for each one of them. `smoothing` adds
    so many pseudo-answers to each category, for the rater and for the other people.

    `calibration_error` is the mean distance between predicted probabilities and the shares of people, in `bins` of
    equal width; its `best` is what remains, with this many people, when people answer exactly as predicted. With
    `per="bin"` there is a row for each bin, the reliability curve: `predicted`, the people's share as `estimate`, and
    `expected_low`…`expected_high` of it if people, drawn anew, answered as predicted.

    >>> answers = {"item": ["a"] * 6, "rater": [*"mmpqrs"], "sample": [0, 1, 0, 0, 0, 0], "value": [0, 1, 0, 0, 1, 1]}
    >>> calibration(answers, people=[*"pqrs"], ci="none").select("score", "estimate").rows()
    [('brier', 0.5), ('log', 0.69...), ('calibration_error', 0.0)]
    """
    if bins < 1 or smoothing < 0:
        raise InputError("bins must be at least 1 and smoothing at least 0", remedy="use for example 10 and 0.5")
    how = Resampling(**resampling)
    keys, columns = names(match), [name for name in names(by) if name != "rater"]
    tested, judges = under_test_and_judges(data, list(dict.fromkeys([*columns, *keys])), raters, people)
    scales = scales_of(data)
    rows: list[dict[str, Any]] = []
    for key, mine in partitioned(tested.filter(pl.col("value").is_not_null()), [*columns, "rater"]):
        group = [pl.col(name).eq_missing(key[name]) for name in columns if name not in keys]
        theirs = judges.filter(group) if group else judges
        soft = Soft.of(mine, theirs, keys, [s for q, s in scales.items() if q in set(mine["question"])], smoothing)
        about = {**key, "items": soft.items, "raters": theirs["rater"].n_unique(), "judgments": soft.answers}
        if not soft.items:
            rows.append({**about, "score": None, "reason": "no item was answered by the rater and by people"})
        elif per == "score":
            rows += [{**about, "score": name, **soft.scored(name, bins, how)} for name in SCORES]
        else:
            rows += [{**about, **row} for row in soft.curve(bins, how)]
    return table(rows, [*columns, "rater"])


@dataclass(frozen=True, slots=True)
class Soft:
    """The predicted probabilities of each unit's answers, and how many people gave each."""

    p: Floats
    counts: Floats
    item: pl.Series
    smoothing: float

    @classmethod
    def of(
        cls, mine: pl.DataFrame, theirs: pl.DataFrame, keys: Sequence[str], scales: Sequence[Any], smoothing: float
    ) -> Soft:
        """The units that the rater and people answered, in the order of their keys."""
        theirs = theirs.join(mine.select(keys).unique(), on=list(keys), how="semi", nulls_equal=True)
        mine = mine.join(theirs.select(keys).unique(), on=list(keys), how="semi", nulls_equal=True)
        codes = sorted({*mine["value"], *theirs["value"], *(code for scale in scales for code in scale.codes)})
        units = mine.select(keys).unique().sort(list(keys)).with_row_index("__unit")

        def tally(frame: pl.DataFrame) -> Floats:
            placed = frame.join(units, on=list(keys), nulls_equal=True)
            cell = placed["__unit"].to_numpy() * len(codes) + np.searchsorted(codes, placed["value"].to_numpy())
            return np.bincount(cell, minlength=len(units) * len(codes)).reshape(len(units), -1).astype(np.float64)

        if units.is_empty():
            return cls(np.zeros((0, 1)), np.zeros((0, 1)), pl.Series([], dtype=pl.Int64), smoothing)
        answers = tally(mine) + smoothing
        item = units["item"] if "item" in units.columns else units["__unit"]
        return cls(answers / answers.sum(axis=1, keepdims=True), tally(theirs), item, smoothing)

    @property
    def items(self) -> int:
        """How many different items there are."""
        return self.item.n_unique()

    @property
    def answers(self) -> int:
        """How many answers of people are predicted."""
        return int(self.counts.sum())

    def scored(self, name: str, bins: int, how: Resampling) -> dict[str, Any]:
        """The row of one score: the estimate with its interval, and what people and the best prediction reach."""
        sizes = self.counts.sum(axis=1)
        shares = self.counts / sizes[:, None]
        if name == "calibration_error":
            code, items = item_codes(self.item)
            place = self._bins(bins)

            def errors(weight: Floats) -> Floats:
                return np.column_stack([self._error(place, bins, shares, row[code]) for row in weight]).T

            estimate = float(errors(np.ones((1, items)))[0, 0])
            drawn = self._drawn(how.seed, min(how.resamples, 200))
            best = float(np.mean([self._error(place, bins, s, np.ones(len(sizes))) for s in drawn]))
            return {"people": None, "best": best, "estimate": estimate, **how.stated(how.intervals(items, errors)[0])}
        alone = sizes > 1
        others = (self.counts[alone, None, :] - np.eye(self.counts.shape[1])[None]).clip(0) + self.smoothing
        others /= np.maximum(others.sum(axis=2, keepdims=True), 1e-300)
        if name == "brier":
            units = 1 - 2 * (shares * self.p).sum(axis=1) + np.square(self.p).sum(axis=1)
            each = 1 - 2 * np.einsum("ucc->uc", others) + np.square(others).sum(axis=2)
            best = (sizes / np.maximum(sizes - 1, 1) * (1 - np.square(shares).sum(axis=1)))[alone]
        else:
            with np.errstate(divide="ignore", invalid="ignore"):
                units = -np.where(shares > 0, shares * np.log(self.p), 0.0).sum(axis=1)
                each = -np.log(np.einsum("ucc->uc", others))
                best = -np.where(shares > 0, shares * np.log(shares), 0.0).sum(axis=1)[alone]
            # Entropy of n answers is too small by (k − 1)/2n on average (Miller 1955).
            best = best + ((self.counts > 0).sum(axis=1)[alone] - 1) / (2 * sizes[alone])
        reached = np.where(shares[alone] > 0, shares[alone] * np.where(shares[alone] > 0, each, 0.0), 0.0).sum(axis=1)
        row: dict[str, Any] = {
            "people": float(reached.mean()) if alone.any() and np.isfinite(reached).all() else None,
            "best": float(best.mean()) if alone.any() else None,
        }
        if not np.isfinite(units).all():
            return {**row, "reason": INFINITE}
        return {**row, **mean_with_interval(self.item, units, how)}

    def curve(self, bins: int, how: Resampling) -> list[dict[str, Any]]:
        """One row per bin of predicted probabilities that occurs."""
        place, shares = self._bins(bins), self.counts / self.counts.sum(axis=1, keepdims=True)
        drawn = self._drawn(how.seed, how.resamples)
        tail = (1 - how.confidence) / 2
        rows = []
        for bin_ in np.unique(place).tolist():
            inside = place == bin_
            low, high = np.quantile([float(s[inside].mean()) for s in drawn], [tail, 1 - tail]).tolist()
            row = {"bin": bin_, "from": bin_ / bins, "to": (bin_ + 1) / bins, "probabilities": int(inside.sum())}
            row |= {"predicted": float(self.p[inside].mean()), "estimate": float(shares[inside].mean())}
            rows.append({**row, "expected_low": low, "expected_high": high})
        return rows

    def _bins(self, bins: int) -> Any:
        return np.minimum((self.p * bins).astype(np.int64), bins - 1)

    def _error(self, place: Any, bins: int, shares: Floats, weight: Floats) -> Floats:
        """The weighted mean distance between predicted and observed shares of the bins."""
        apart = np.bincount(place.ravel(), weights=(weight[:, None] * (self.p - shares)).ravel(), minlength=bins)
        return np.array([np.abs(apart).sum() / (weight.sum() * self.p.shape[1])])

    def _drawn(self, seed: int, times: int) -> list[Floats]:
        """Shares of as many people as there are, answering as predicted."""
        rng = np.random.default_rng(seed)
        sizes = self.counts.sum(axis=1)
        return [rng.multinomial(sizes.astype(np.int64), self.p) / sizes[:, None] for _ in range(times)]
