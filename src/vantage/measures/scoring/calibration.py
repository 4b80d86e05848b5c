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
from vantage.measures.intervals import IntervalOptions
from vantage.measures.parts import names, partitioned, scales_of
from vantage.measures.presentation import Column, View
from vantage.measures.ratings import By, Floats, Ints, Judgments
from vantage.measures.resampling import Resampling, Statistics, item_codes, mean_with_interval, ratio
from vantage.measures.scoring.floors import (
    AT_RANDOM,
    MODAL,
    OWN,
    SHUFFLED,
    SKILL_COLUMNS,
    SKILL_NOTES,
    Score,
    share_of_the_way,
)
from vantage.measures.scoring.references import under_test_and_judges

SCORES: Final = ("brier", "log", "calibration_error")
INFINITE: Final = "an answer that people gave has probability 0; pass smoothing"


VIEW: Final = View(
    "How well the distribution of a rater's answers predicts single people",
    columns={
        **SKILL_COLUMNS,
        "estimate": Column(digits=3),
        "best": Column(digits=3),
        "floor": Column(digits=3),
        "ceiling": Column("the other people", digits=3),
    },
    show=(
        "rater",
        "score",
        "estimate",
        "floor",
        "floor_rater",
        "ceiling",
        "best",
        "skill",
        "items",
        "judgments",
        "reason",
    ),
    notes=("Lower is better; best is what the distribution that people have would reach.", *SKILL_NOTES),
    method="Distributions of answers were scored against the single answers of people.",
)


@measure("calibration", "accuracy", view=VIEW, pools=False, interval=("sources",))
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
    **resampling: Unpack[IntervalOptions],
) -> pl.DataFrame:
    """How well the distribution of a rater's answers to an item predicts what people answer, one by one.

    `brier` is Σ (p − 1[answer])² (Brier 1950) and `log` −log p (Good 1952), averaged over the answers of an item and
    over items. `best` estimates what the distribution that people have would reach, `ceiling` what the other people of
    the item reach, `floor` the best of predictions that do not read, and `skill` is the share of the way. `smoothing`
    adds so many pseudo-answers to each category.

    `calibration_error` is the root of the mean squared distance between predicted probabilities and the shares of
    people, in `bins` of equal width, freed from the chance of few people and items (Kumar, Liang and Ma 2019). With
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
            squared = self._squared_error(self._bins(bins), bins, shares, code, items)
            estimate = float(squared(np.ones((1, items)))[0, 0])
            bounds = how.intervals(items, squared, items=self.item.unique().sort())[0]
            ends = [None if end is None else max(end, 0.0) ** 0.5 for end in bounds]
            return {
                **dict.fromkeys(("best", *OWN)),
                "estimate": max(estimate, 0.0) ** 0.5,
                **how.stated((ends[0], ends[1])),
            }
        alone = sizes > 1
        others = (self.counts[alone, None, :] - np.eye(self.counts.shape[1])[None]).clip(0) + self.smoothing
        others /= np.maximum(others.sum(axis=2, keepdims=True), 1e-300)
        units = _losses(name, shares, self.p)
        if name == "brier":
            each = 1 - 2 * np.einsum("ucc->uc", others) + np.square(others).sum(axis=2)
            best = (sizes / np.maximum(sizes - 1, 1) * (1 - np.square(shares).sum(axis=1)))[alone]
        else:
            with np.errstate(divide="ignore", invalid="ignore"):
                each = -np.log(np.einsum("ucc->uc", others))
                best = -np.where(shares > 0, shares * np.log(shares), 0.0).sum(axis=1)[alone]
            # Entropy of n answers is too small by (k − 1)/2n on average (Miller 1955).
            best = best + ((self.counts > 0).sum(axis=1)[alone] - 1) / (2 * sizes[alone])
        reached = np.where(shares[alone] > 0, shares[alone] * np.where(shares[alone] > 0, each, 0.0), 0.0).sum(axis=1)
        row: dict[str, Any] = {"best": float(best.mean()) if alone.any() else None, **dict.fromkeys(OWN)}
        if alone.any():
            row |= self._skill(name, shares, units, reached, alone, how)
        if not np.isfinite(units).all():
            return {**row, "reason": INFINITE}
        return {**row, **mean_with_interval(self.item, units, how)}

    def _skill(
        self, name: str, shares: Floats, units: Floats, reached: Floats, alone: Any, how: Resampling
    ) -> dict[str, Any]:
        """The score between predictions that do not read the item and the other people of an item, if there are any."""
        everyone = self.counts.sum(axis=0)
        modal = np.eye(len(everyone))[everyone.argmax()]
        predictions = {
            MODAL: (modal + self.smoothing) / (modal + self.smoothing).sum(),
            AT_RANDOM: (everyone + self.smoothing) / (everyone + self.smoothing).sum(),
        }
        unread = {rater: _losses(name, shares, np.tile(p, (len(shares), 1))) for rater, p in predictions.items()}
        # The rater's own predictions for all items, each item against all of them.
        with np.errstate(divide="ignore", invalid="ignore"):
            apart = -np.log(self.p).mean(axis=0) if name == "log" else 1 - 2 * self.p.mean(axis=0)
            own = np.where(shares > 0, shares * apart, 0.0).sum(axis=1)
        unread[SHUFFLED] = own + (np.square(self.p).sum(axis=1).mean() if name == "brier" else 0.0)
        items = self.item.filter(pl.Series(alone))
        code, count = item_codes(items)

        def mean(values: Floats) -> Score:
            sums = np.column_stack([np.bincount(code, one, minlength=count) for one in (values, np.ones(len(code)))])
            return lambda weight: ratio(weight @ sums)[:, None]

        floors = {rater: mean(loss[alone]) for rater, loss in unread.items() if np.isfinite(loss[alone]).all()}
        if not floors or not np.isfinite(units[alone]).all():
            return {"ceiling": float(reached.mean()) if np.isfinite(reached).all() else None}
        ceiling = mean(reached) if np.isfinite(reached).all() else None
        return share_of_the_way(mean(units[alone]), floors, ceiling, items.unique().sort(), how, sign=-1.0)[0]

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

    def _squared_error(self, place: Any, bins: int, shares: Floats, code: Ints, items: int) -> Statistics:
        """The squared distance between predicted and observed shares of the bins, as a function of item weights.

        The square of a bin's sum holds the square of every item's, which is chance as well as distance; products of
        different items hold distance alone.
        """
        cell = (code[:, None] * bins + place).ravel()
        shape = (items, bins)
        apart = np.bincount(cell, (self.p - shares).ravel(), minlength=items * bins).reshape(shape)
        cells = np.bincount(cell, minlength=items * bins).reshape(shape).astype(np.float64)

        def squared(weight: Floats) -> Floats:
            there = weight @ (cells > 0)
            pairs = np.square(weight @ apart) - np.square(weight) @ np.square(apart)
            several = there > 1
            distinct = np.where(several, there / np.maximum(there - 1, 1), 0.0)
            with np.errstate(divide="ignore", invalid="ignore"):
                each = np.where(several, distinct * pairs / (weight @ cells), 0.0)
            return np.asarray(each.sum(axis=1) / (weight @ cells).sum(axis=1))[:, None]

        return squared

    def _drawn(self, seed: int, times: int) -> list[Floats]:
        """Shares of as many people as there are, answering as predicted."""
        rng = np.random.default_rng(seed)
        sizes = self.counts.sum(axis=1)
        return [rng.multinomial(sizes.astype(np.int64), self.p) / sizes[:, None] for _ in range(times)]


def _losses(name: str, shares: Floats, p: Floats) -> Floats:
    """The mean score of each unit's answers, of which these shares were given, by the predicted probabilities."""
    if name == "brier":
        return np.asarray(1 - 2 * (shares * p).sum(axis=1) + np.square(p).sum(axis=1))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(-np.where(shares > 0, shares * np.log(p), 0.0).sum(axis=1))
