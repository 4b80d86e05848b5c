"""Predictions beside gold, and the counts of every group and class that precision, recall and F1 are functions of.

Groups of the same pattern of counts are one kind, so that the average over millions of texts and its resamples cost as
much as over the few patterns they show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np
import polars as pl

from vantage.corpora import Corpus
from vantage.errors import InputError, Problems
from vantage.instruments import Question
from vantage.measures import SHARES, Bounds, Floats, Ints, Resampling, bootstrap_interval
from vantage.measures.intervals import weights
from vantage.scales import show_code

Undefined: TypeAlias = Literal["gold", "reference", "zero", "one"]
SCORES: Final = ("precision", "recall", "f1")
CLOSENESS: Final = "closeness"
"""The score of an ordered scale: 1 less the mean distance of predictions from gold, in lengths of the scale."""


@dataclass(frozen=True, slots=True)
class ClassCounts:
    """Counts of some groups: one row per group, one column per class."""

    hits: Floats
    predicted: Floats
    gold: Floats
    rows: Floats
    """How many pairs each group has, answered or not."""
    distance: Floats
    """The summed distance of predictions from gold along an ordered scale, in one column; no column without order."""
    longest: float = 1.0
    """The distance between the ends of the scale."""

    @classmethod
    def of(
        cls, gold: Ints, predicted: Ints, group: Ints, groups: int, classes: int, codes: Floats | None = None
    ) -> ClassCounts:
        """Counts from the places of labels: a prediction of -1 is none, which is wrong for every class.

        `codes` are those of the labels of an ordered scale; what is no label of it is as far away as can be.

        >>> counts = ClassCounts.of(np.array([0, 1, 1]), np.array([0, 0, -1]), np.array([0, 0, 0]), 1, 2)
        >>> counts.hits.tolist(), counts.predicted.tolist(), counts.gold.tolist()
        ([[1.0, 0.0]], [[2.0, 0.0]], [[1.0, 2.0]])
        """

        def counted(chosen: np.ndarray[tuple[int], np.dtype[np.bool_]], codes: Ints) -> Floats:
            cells = group[chosen] * classes + codes[chosen]
            return np.bincount(cells, minlength=groups * classes).reshape(groups, classes).astype(np.float64)

        distance: Floats = np.empty((groups, 0))
        longest = 1.0
        if codes is not None:
            longest = float(codes[-1] - codes[0])
            labelled = (predicted >= 0) & (predicted < len(codes))
            apart = np.abs(codes[gold] - codes[np.where(labelled, predicted, 0)])
            distance = np.bincount(group, np.where(labelled, apart, longest), groups).astype(np.float64)[:, None]
        everything = np.ones(len(gold), dtype=np.bool_)
        return cls(
            counted(gold == predicted, gold),
            counted(predicted >= 0, predicted),
            counted(everything, gold),
            np.bincount(group, minlength=groups).astype(np.float64),
            distance,
            longest,
        )

    def summed(self, weight: Floats) -> ClassCounts:
        """Groups added up with weights: one row per row of weights."""
        return self._each(lambda counts: weight @ counts)

    def chosen(self, rows: Ints) -> ClassCounts:
        """Some of the groups."""
        return self._each(lambda counts: counts[rows])

    def plus(self, other: ClassCounts) -> ClassCounts:
        """The counts of the same groups in two sets of pairs together."""
        mine, theirs = self._columns, other._columns
        hits, predicted, gold, rows, distance = (one + two for one, two in zip(mine, theirs, strict=True))
        return ClassCounts(hits, predicted, gold, rows, distance, self.longest)

    @property
    def _columns(self) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        return self.hits, self.predicted, self.gold, self.rows, self.distance

    def _each(self, function: Callable[[Floats], Floats]) -> ClassCounts:
        hits, predicted, gold, rows, distance = map(function, self._columns)
        return ClassCounts(hits, predicted, gold, rows, distance, self.longest)

    def scored(self, rule: Undefined) -> tuple[Floats, Floats]:
        """The scores of each class, macro and micro (groups × (classes + 2) × 3), and whether each counts.

        An ordered scale adds its closeness: 1 less the mean distance of predictions from gold, in lengths of the scale.
        A class counts where gold has it, with the rule `reference` where either has it, and with others everywhere. One
        that is absent from gold and predictions of a group scores 1 with the rule `one`, else 0.
        """
        chosen = self.gold > 0
        if rule != "gold":
            chosen |= self.predicted > 0
        counts = chosen if rule in ("gold", "reference") else np.ones_like(chosen)
        n = counts.sum(axis=1)
        parts = [(self.hits, self.predicted), (self.hits, self.gold), (2 * self.hits, self.predicted + self.gold)]
        with np.errstate(divide="ignore", invalid="ignore"):
            scores = np.stack([np.where(below > 0, above / below, 0.0) for above, below in parts], axis=-1)
            scores = np.where(chosen[..., None], scores, 1.0) if rule == "one" else scores
            macro = (scores * counts[..., None]).sum(axis=1) / n[:, None]
            hits, answered = self.hits.sum(axis=1), self.predicted.sum(axis=1)
            micro = np.stack(
                [np.where(answered > 0, hits / answered, 0.0), hits / self.rows, 2 * hits / (answered + self.rows)],
                axis=-1,
            )
            close = 1 - self.distance / (self.rows[:, None] * self.longest)
        every = np.concatenate([scores, macro[:, None], micro[:, None], np.repeat(close[..., None], 3, axis=2)], axis=1)
        some = self.rows > 0
        ordered = np.repeat(some[:, None], close.shape[1], axis=1)
        used = np.column_stack([counts & some[:, None], (n > 0) & some, some, ordered]).astype(np.float64)
        return np.nan_to_num(every), used

    def kinds(self) -> tuple[ClassCounts, Ints]:
        """Groups of the same counts as one, and how many there are of each."""
        table = np.column_stack(self._columns)
        bases = table.max(axis=0, initial=0) + 1
        if np.prod(bases) < 2.0**62 and (self.distance == np.rint(self.distance)).all():
            # One whole number per row is sorted many times faster than rows are.
            places = np.concatenate([[1.0], np.cumprod(bases[:-1])]).astype(np.int64)
            _, first, multiplicity = np.unique(table.astype(np.int64) @ places, return_index=True, return_counts=True)
            kinds = table[first]
        else:
            kinds, multiplicity = np.unique(table, axis=0, return_counts=True)
        k = self.hits.shape[1]
        hits, predicted, gold, rows, distance = np.split(kinds, [k, 2 * k, 3 * k, 3 * k + 1], axis=1)
        one_each = ClassCounts(hits, predicted, gold, rows[:, 0], distance, self.longest)
        return one_each, multiplicity.astype(np.int64)


@dataclass(frozen=True, slots=True)
class Average:
    """An average over groups: the three scores of each class, macro and micro, with F1's interval and spread."""

    scores: Floats
    spread: Floats
    """Standard deviation of F1 between groups."""
    bounds: list[Bounds]
    groups: Ints
    """Over how many groups each row is averaged."""


def average(tally: ClassCounts, rule: Undefined, resamples: int, confidence: float, seed: int) -> Average:
    """Averages over groups, with an interval of F1 from resampled groups."""
    kinds, multiplicity = tally.kinds()
    scores, used = kinds.scored(rule)
    weight = multiplicity.astype(np.float64)
    counted = weight @ used
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.einsum("g,gc,gcs->cs", weight, used, scores) / counted[:, None]
        f1 = scores[..., 2]
        square = np.einsum("g,gc,gc->c", weight, used, (f1 - mean[:, 2]) ** 2)
        spread = np.sqrt(square / (counted - 1))
    bounds: list[Bounds] = [(None, None)] * len(mean)
    if resamples and len(tally.rows) > 1:
        drawn = weights(len(weight), resamples, seed, multiplicity=multiplicity)
        with np.errstate(divide="ignore", invalid="ignore"):
            replicates = np.concatenate([(block @ (used * f1)) / (block @ used) for block in drawn])
        bounds = [
            bootstrap_interval(column, estimate, int(groups), confidence, SHARES)
            for column, estimate, groups in zip(replicates.T, mean[:, 2].tolist(), counted, strict=True)
        ]
    return Average(mean, spread, bounds, counted.astype(np.int64))


def pooled(tally: ClassCounts, rule: Undefined, how: Resampling) -> Average:
    """Scores of all groups taken together, with an interval of F1 from resampled groups."""

    def scored(weight: Floats) -> Floats:
        scores, used = tally.summed(weight).scored(rule)
        return np.where(used[..., None] > 0, scores, np.nan)

    groups = len(tally.rows)
    scores = scored(np.ones((1, groups)))[0]
    bounds = how.intervals(groups, lambda weight: scored(weight)[..., 2], limits=[SHARES] * len(scores))
    return Average(scores, np.full(len(scores), np.nan), bounds, np.ones(len(scores), dtype=np.int64))


EXAMPLES: Final = 3
"""How many examples a problem names."""


def paired(
    predictions: pl.DataFrame, gold: pl.DataFrame, corpus: Corpus, question: Question, also: Sequence[str] = ()
) -> pl.DataFrame:
    """Gold beside predictions; doubled, missing, unknown and unasked pairs and labels off the scale are all told.

    `also` are further columns of the predictions that come along.
    """
    for column in ("item", "rater", "value"):
        if column not in predictions.columns:
            raise InputError(f"the predictions have no column '{column}'", remedy="they need item, rater and value")
    predicted = predictions.select(
        pl.col("item", "rater").cast(pl.String),
        pl.col("value").cast(pl.Float64).fill_nan(None).alias("predicted"),
        *also,
    )
    labels = sorted(question.scale.codes)
    fitted = _fitted(predicted, gold, corpus)
    if fitted is not None and fitted.filter(~pl.col("predicted").is_in(labels)).is_empty():
        return fitted
    problems: list[str] = []
    doubled = predicted.filter(predicted.select("item", "rater").is_duplicated())
    if len(doubled):
        many = len(doubled.unique(["item", "rater"]))
        problems.append(f"{many} pairs are predicted more than once, such as {_named(doubled)}; keep one each")
    strangers = predicted.join(corpus.raters, on="rater", how="anti")
    if len(strangers):
        some = ", ".join(strangers["rater"].unique().sort().head(EXAMPLES))
        problems.append(
            f"{len(strangers)} predictions are for users the corpus does not have, such as {some}; check the ids"
        )
    foreign = predicted.join(strangers, on="rater", how="anti").join(gold, on=["item", "rater"], how="anti")
    if len(foreign):
        problems.append(
            f"{len(foreign)} predictions are for pairs that are not in the test set, such as {_named(foreign)}"
        )
    unpredicted = gold.join(predicted, on=["item", "rater"], how="anti")
    if len(unpredicted):
        problems.append(
            f"{len(unpredicted)} of {len(gold)} test pairs have no prediction, such as {_named(unpredicted)}; "
            "add them, with a null value where there was no answer"
        )
    off = predicted.filter(pl.col("predicted").is_not_null() & ~pl.col("predicted").is_in(labels))
    if len(off):
        problems.append(
            f"{len(off)} predictions are off the scale of question '{question.id}', such as "
            f"{show_code(off['predicted'][0])} for {_named(off.head(1))}; use {', '.join(map(show_code, labels))}, "
            "or null where there is no answer"
        )
    if problems:
        raise Problems("predictions", problems)
    return gold.rename({"value": "gold"}).join(predicted, on=["item", "rater"], how="left", maintain_order="left")


def _fitted(predicted: pl.DataFrame, gold: pl.DataFrame, corpus: Corpus) -> pl.DataFrame | None:
    """Gold beside predictions where there is exactly one for each pair; null where something is wrong with them.

    Pairs are compared as whole numbers, which takes a fraction of the time of comparing two texts.
    """
    if len(predicted) != len(gold):
        return None
    if predicted["item"].equals(gold["item"]) and predicted["rater"].equals(gold["rater"]):
        return gold.rename({"value": "gold"}).hstack(predicted.drop("item", "rater"))
    users = corpus.raters.select("rater").with_row_index("user")
    items = gold.select("item").unique().with_row_index("text")

    def keyed(frame: pl.DataFrame) -> pl.DataFrame:
        numbered = frame.join(users, on="rater", how="left", maintain_order="left")
        numbered = numbered.join(items, on="item", how="left", maintain_order="left")
        return numbered.select(
            *frame.columns, (pl.col("text").cast(pl.UInt64) * len(users) + pl.col("user")).alias("pair")
        )

    predicted, gold = keyed(predicted), keyed(gold)
    if predicted["pair"].null_count() or predicted["pair"].n_unique() < len(predicted):
        return None
    beside = gold.rename({"value": "gold"}).join(
        predicted.drop("item", "rater").with_columns(there=pl.lit(True)), on="pair", how="left", maintain_order="left"
    )
    return None if beside["there"].null_count() else beside.drop("pair", "there")


def _named(frame: pl.DataFrame) -> str:
    pairs: Iterable[tuple[str, str]] = (
        frame.select("item", "rater").unique(maintain_order=True).head(EXAMPLES).iter_rows()
    )
    return ", ".join(f"'{item}' by '{rater}'" for item, rater in pairs)
