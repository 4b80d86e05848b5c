"""For whom a model works: the average user, gaps between trait values, users it fails, and those who think otherwise.

Users are resampled where results are to hold for others; in an evaluation over texts, users are fixed and texts are
resampled, also where F1 is averaged over users.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.corpora import Corpus
from vantage.errors import InputError, nearest
from vantage.measures import Bounds, Floats, error_gaps, permutation_p, ratio
from vantage.measures.intervals import blocks
from vantage.measures.multiplicity import Flags
from vantage.perspective.evaluation import Evaluation
from vantage.perspective.tally import ClassCounts

DIFFERENCE: Final = (-1.0, 1.0)
"""What scores, shares and their differences never exceed."""


def gaps(evaluation: Evaluation) -> pl.DataFrame:
    """For whom a model works worse: its errors for the users of each trait value, beside those for all others.

    The analysis is that of `measures.error_gaps`: the error of a pair is 0 or 1 or, on an ordered scale of more than
    two labels, the distance of the prediction from the label in lengths of the scale.
    """
    if not evaluation.traits:
        return pl.DataFrame()
    pairs = evaluation.pairs.with_columns(user=pl.col("rater"))
    span = max(evaluation.labels) - min(evaluation.labels) or 1.0
    if evaluation.missing != "left_out":
        pairs = pairs.with_columns(pl.col("predicted").fill_null(pl.col("gold") + span))  # as far away as can be
    people = pairs.select(
        "item", "rater", "user", *evaluation.traits, kind=pl.lit("person"), value=pl.col("gold") / span
    )
    models = pairs.select("item", "user", rater=pl.lit("model"), kind=pl.lit("model"), value=pl.col("predicted") / span)
    frame = error_gaps(
        pl.concat([people, models], how="diagonal"),
        traits=list(evaluation.traits),
        match=("item", "user"),
        level="interval" if evaluation.ordered else "nominal",
        confidence=evaluation.confidence,
    )
    return frame.drop("model", "ceiling", "beyond", "beyond_low", "beyond_high", "beyond_p", strict=False)


def below(evaluation: Evaluation, threshold: float = 0.5, label: str = "macro") -> pl.DataFrame:
    """The users for whom F1 is below a threshold, the worst first, with their traits and on how much it rests."""
    the_column(evaluation, label)
    worst = evaluation.users.filter(pl.col("class") == label, pl.col("f1") < threshold).sort("f1", "rater")
    traits = evaluation.pairs.select("rater", *evaluation.traits).unique()
    return worst.join(traits, on="rater", how="left", maintain_order="left")


def minority_gap(evaluation: Evaluation, corpus: Corpus, question: str) -> pl.DataFrame:
    """How much more often a model meets judgments that agree with most other people than those that oppose them.

    One row with both shares and their difference. The majority is that of the *other* people of the corpus; ties, and
    texts that nobody else judged, are left out. The interval spans one over texts and, unless `over` says texts, one
    over users.
    """
    names = ["with most", "against most"]
    pairs = _with_stance(evaluation, corpus, question).filter(pl.col("stance").is_in(names))
    floats = ("with", "against", "difference", "low", "high")
    row: dict[str, Any] = dict.fromkeys(floats)
    if pairs["stance"].n_unique() == 2:
        units = ("rater", "item") if evaluation.over == "users" else ("item",)

        def apart(drawn: Floats) -> Floats:
            return ratio(drawn[:, :2]) - ratio(drawn[:, 2:])

        whole = _sums(pairs, names, "item").sum(axis=0, keepdims=True)
        bounds = [evaluation.resampling.of_sums(_sums(pairs, names, unit), apart, DIFFERENCE) for unit in units]
        lows, highs = [[end for end in ends if end is not None] for ends in zip(*bounds, strict=True)]
        low, high = (min(lows), max(highs)) if len(lows) == len(units) else (None, None)
        row = {"with": ratio(whole[:, :2])[0], "against": ratio(whole[:, 2:])[0], "difference": apart(whole)[0]}
        row |= {"low": low, "high": high}
    row |= {"annotations": len(pairs), "users": pairs["rater"].n_unique(), "texts": pairs["item"].n_unique()}
    return pl.DataFrame([row], schema_overrides=dict.fromkeys(floats, pl.Float64))


def _with_stance(evaluation: Evaluation, corpus: Corpus, question: str) -> pl.DataFrame:
    """The pairs, each with how the judgment relates to most other people's; null where nobody else judged the text."""
    votes = corpus.judgments.filter(pl.col("question") == question, pl.col("value").is_not_null())
    votes = votes.select("item", "rater", "value")
    others = (
        evaluation.pairs.select("item", "rater", "gold")
        .join(votes.rename({"rater": "other", "value": "vote"}), on="item")
        .filter(pl.col("rater") != pl.col("other"))
        .group_by("item", "rater", "gold", "vote")
        .len()
        .group_by("item", "rater", "gold")
        .agg(pl.col("vote").filter(pl.col("len") == pl.col("len").max()).alias("most"))
    )
    tied = pl.col("most").list.len() > 1
    agrees = pl.col("most").list.first() == pl.col("gold")
    stance = pl.when(tied).then(pl.lit("tied")).when(agrees).then(pl.lit("with most")).otherwise(pl.lit("against most"))
    return evaluation.pairs.join(
        others.select("item", "rater", stance.alias("stance")), on=["item", "rater"], how="left"
    )


def _sums(pairs: pl.DataFrame, stances: list[str], unit: str) -> Floats:
    """Hits and judgments of each stance, one row per user or text."""
    hit = (pl.col("gold") == pl.col("predicted")).fill_null(False)
    of = [pl.col("stance") == name for name in stances]
    columns = [part.sum().alias(f"{n}") for n, part in enumerate(p for one in of for p in (hit & one, one))]
    return pairs.group_by(unit).agg(columns).sort(unit).drop(unit).to_numpy().astype(np.float64)


def the_column(evaluation: Evaluation, label: str) -> int:
    """Where the scores of a class stand, by its name."""
    names = evaluation.classes
    if label not in names:
        raise InputError(f"there is no class '{label}'", remedy=nearest(label, names))
    return names.index(label)


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
    predicted, beside = (each.pairs.select("item", "rater").sort("item", "rater") for each in (one, other))
    if not predicted.equals(beside):
        raise InputError("the two models did not predict the same pairs", remedy="evaluate both on the same texts")
    first, second = _Users.of(one, label), _Users.of(other, label)

    def apart(weight: Floats) -> Floats:
        return first.mean(weight) - second.mean(weight)

    def swapped(kept: Floats) -> Floats:
        return np.nan_to_num(first.mean(kept, second) - second.mean(kept, first))

    difference = first.whole(apart)
    low, high = first.interval(apart)
    p = None
    if difference is not None and one.resamples and first.units > 1:
        p = swap_p(difference, swapped, first.units, one.seed)
    return {"difference": difference, "low": low, "high": high, "p": p}


def swap_p(difference: float, swapped: Callable[[Floats], Floats], units: int, seed: int) -> float:
    """The p value of a difference by approximate randomisation (Noreen 1989): two sides change places unit by unit.

    `swapped` gives the difference for each row of weights, 1 for the units that keep their places and 0 for the others.
    """
    rng = np.random.default_rng(seed)

    def beyond(many: int) -> Flags:
        parts = (rng.integers(0, 2, (some, units)).astype(np.float64) for some in blocks(units, many))
        return np.concatenate([np.abs(swapped(kept)) >= abs(difference) - 1e-12 for kept in parts])

    return permutation_p(beyond)


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
        return self.evaluation.resampling.intervals(
            self.units, lambda weight: statistic(weight)[:, None], limits=[DIFFERENCE]
        )[0]

    def _scored(self, tally: ClassCounts) -> tuple[Floats, Floats]:
        scores, used = tally.scored("gold")
        return scores[:, self.column, 2], used[:, self.column]
