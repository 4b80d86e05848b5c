"""Predictions beside a reference, added up per item: everything that accuracy metrics are functions of.

The metrics of a whole group and of all resamples come from the same sums, by one product with the items'
weights. `accuracy` and `ranks` are built on this.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import polars as pl

from vantage.measures.intervals import SHARES, Bounds, wilson
from vantage.measures.rater_variance import FEW_RATERS
from vantage.measures.ratings import OPTED_OUT, Floats, Ints
from vantage.measures.relations.correlations import CORRELATIONS, weighted_correlation
from vantage.measures.resampling import Resampling, Statistics, item_codes
from vantage.scales import Scale, show_code

Missing: TypeAlias = Literal["left_out", "wrong"]

_AVERAGES: Final = ("macro", "weighted", "micro", "class")
_BY_CLASS: Final = ("precision", "recall", "f1")
_CLASSIFYING: Final = ("accuracy", "kappa", *_BY_CLASS)
NUMERIC: Final = ("within", "mae", "rmse", *CORRELATIONS, "quadratic_kappa")
UNDEFINED_WITHOUT: Final = "no interval: without some of the raters too few items have the class or vary at all"
METRICS: Final = (*_CLASSIFYING, *(f"{m}_{a}" for m in _BY_CLASS for a in _AVERAGES), *NUMERIC)
"""Every metric by name; `f1` is all of `f1_macro`, `f1_weighted`, `f1_micro` and `f1_class`."""


@dataclass(frozen=True, slots=True)
class Metric:
    """One number of the result: a metric, how it is averaged over classes, or which class it is of."""

    name: str
    average: str | None = None
    label: int | None = None

    @property
    def of_classes(self) -> bool:
        """Whether it is of the classes of a scale."""
        return self.name in _CLASSIFYING

    @property
    def classifies(self) -> bool:
        """Whether it looks at classes only, so that a missing answer can count as wrong."""
        return self.of_classes or self.name == "within"

    @property
    def limits(self) -> tuple[float, float]:
        """What it never exceeds."""
        if self.name in ("mae", "rmse"):
            return 0.0, np.inf
        return SHARES if self.name in ("accuracy", "within", *_BY_CLASS) else (-1.0, 1.0)


@dataclass(frozen=True, slots=True)
class Rules:
    """The label set, and what counts as near, as wrong, and as the score of a class that never occurs."""

    labels: Floats
    within: float = 1.0
    missing: Missing = "left_out"
    opt_outs: Missing = "left_out"
    zero_division: float | None = 0.0

    @property
    def wrong(self) -> pl.Expr:
        """Which judgments without a value count as wrong answers."""
        wrong = pl.when(OPTED_OUT).then(self.opt_outs == "wrong").otherwise(self.missing == "wrong")
        return pl.col("value").is_null() & wrong


@dataclass(frozen=True, slots=True)
class Scores:
    """Predictions beside their reference, added up per item."""

    persons: tuple[PersonScores, ...]
    items: int
    rules: Rules
    frame: pl.DataFrame
    names: pl.Series
    """The items by their position."""

    @classmethod
    def of(
        cls,
        frame: pl.DataFrame,
        rules: Rules,
        persons: Sequence[str | None] = (None,),
        items: pl.DataFrame | None = None,
    ) -> Scores:
        """The scores of one group.

        `items`, with their `position`, are given where several groups are to be resampled alike.
        """
        judged = frame.filter(pl.col("gold").is_not_null() & (pl.col("value").is_not_null() | rules.wrong))
        if items is None:
            items = judged.select("item").unique().sort("item").with_row_index("position")
        judged = judged.join(items, on="item").sort("item", "question", "condition")
        parts = [judged if p is None else judged.filter(pl.col("person") == p) for p in persons]
        names = items.sort("position")["item"]
        return cls(tuple(PersonScores.of(part, rules) for part in parts), len(items), rules, judged, names)

    @property
    def off_scale(self) -> bool:
        """Whether the reference has values that are no answers of the label set."""
        labels = self.rules.labels
        return bool(len(labels)) and not np.isin(self.frame["gold"].to_numpy(), labels).all()

    def values(self, weight: Floats, metrics: Sequence[Metric]) -> Floats:
        """Each metric for each row of item weights, as the mean over people where there are several."""
        every = np.stack([p.values(weight, metrics, self.rules) for p in self.persons])
        defined = np.isfinite(every)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.where(defined, every, 0.0).sum(axis=0) / defined.sum(axis=0))

    def rows(
        self,
        metrics: Sequence[Metric],
        how: Resampling,
        part: pl.DataFrame,
        scale: Scale | None,
        without: Sequence[Scores] = (),
    ) -> list[dict[str, Any]]:
        """The result rows of a group, one per metric, each with an estimate or a reason.

        `without` are the scores from which raters were left out in turn.
        """
        if not self.persons or self.items == 0:
            reason = "no judgment has both an answer and a reference"
            return [{**self._named(m, scale), **self._counts(m, part), "reason": reason} for m in metrics]
        estimates = self.values(np.ones((1, self.items)), metrics)[0]

        def values(scores: Scores) -> Statistics:
            return lambda weight: scores.values(weight, metrics)

        limits = [m.limits for m in metrics]
        rest = [values(scores) for scores in without]
        intervals = how.intervals(self.items, values(self), lambda: rest, limits, self.names)
        edges = self._edges(metrics, how) if how.ci != "none" else {}
        rows = []
        for m, estimate, resampled in zip(metrics, estimates, intervals, strict=True):
            row = {**self._named(m, scale), **self._counts(m, part)}
            if self.off_scale and m.of_classes:
                row["reason"] = "the reference lies between the answers of the scale; pass rounding"
            elif np.isfinite(estimate):
                bounds = resampled
                if bounds[0] is not None and m.limits == SHARES:
                    bounds = self._with_edges(m, float(estimate), bounds, edges, how)
                row |= {"estimate": float(estimate), **how.stated(bounds)}
                if how.ci in ("raters", "both") and bounds[0] is None:
                    row["reason"] = FEW_RATERS if len(without) < 3 else UNDEFINED_WITHOUT
            else:
                row["reason"] = _undefined(m, row["judgments"], len(self.rules.labels))
            rows.append(row)
        return rows

    def _edges(self, metrics: Sequence[Metric], how: Resampling) -> dict[Metric, tuple[float, float]]:
        """How far down and up those classes reach that were always or never hit, which no resample can show.

        It is Wilson's interval of the items that have the class: by the reference, by the answers, or by one of them.
        """
        sides = {"precision": ["value"], "recall": ["gold"], "f1": ["value", "gold"]}
        named = dict.fromkeys(m.name for m in metrics if m.name in sides)
        classes = [Metric(name, "class", label) for name in named for label in range(len(self.rules.labels))]
        reach: dict[Metric, tuple[float, float]] = {}
        if not classes:
            return reach
        for m, share in zip(classes, self.values(np.ones((1, self.items)), classes)[0].tolist(), strict=True):
            if share in SHARES:
                having = pl.any_horizontal(pl.col(sides[m.name]) == float(self.rules.labels[m.label or 0]))
                units = _drawn(self.frame.filter(having)["item"], how)
                least, most = wilson(share * units, units, how.confidence)
                reach[m] = share - least, most - share
        return reach

    def _with_edges(
        self, m: Metric, estimate: float, bounds: Bounds, edges: Mapping[Metric, tuple[float, float]], how: Resampling
    ) -> Bounds:
        """The interval of a share that is 0 or 1, or an average of classes of which some are.

        An average reaches as much farther as such classes do, weighted and added in squares (Zou and Donner 2008).
        """
        if m.name not in _BY_CLASS or m.average == "micro":
            units = _drawn(self.names, how)
            return wilson(estimate * units, units, how.confidence) if estimate in SHARES else bounds
        own = {Metric(m.name, "class", label) for label in range(len(self.rules.labels)) if m.label in (None, label)}
        if not edges.keys() & own:
            return bounds
        counted = len(own)
        if self.rules.zero_division is None:  # classes without a denominator are left out
            counted = int(np.isfinite(self.values(np.ones((1, self.items)), list(own))).sum())
        shares: dict[Metric, float] = dict.fromkeys(own, 1 / counted)
        if m.average == "weighted":
            shares = {one: float((self.frame["gold"] == self.rules.labels[one.label or 0]).mean() or 0) for one in own}
        far = [0.0, 0.0] if estimate in SHARES else [((end or 0) - estimate) ** 2 for end in bounds]
        for one in edges.keys() & own:
            far = [square + (shares[one] * reach) ** 2 for square, reach in zip(far, edges[one], strict=True)]
        return max(0.0, estimate - far[0] ** 0.5), min(1.0, estimate + far[1] ** 0.5)

    def _named(self, m: Metric, scale: Scale | None) -> dict[str, Any]:
        label = None if m.label is None else shown(float(self.rules.labels[m.label]), scale)
        return {"metric": m.name, "average": m.average, "class": label}

    def _counts(self, m: Metric, part: pl.DataFrame) -> dict[str, Any]:
        used = self.frame if m.classifies else self.frame.filter(pl.col("value").is_not_null())
        rest = part.filter(pl.col("value").is_null())
        if m.classifies:
            rest = rest.filter(~self.rules.wrong)
        left_out = dict(rest["status"].cast(pl.String).value_counts().iter_rows())
        return {
            "wrong": int(used["value"].null_count()),
            "items": used["item"].n_unique(),
            "raters": used["rater"].n_unique(),
            "judgments": len(used),
            "left_out": dict(sorted({**left_out, **without_reference(part)}.items())),
        }


def _drawn(items: pl.Series, how: Resampling) -> int:
    """How many items there are, or sources where these were drawn."""
    return items.n_unique() if how.item_sources is None else len(np.unique(how.item_sources.codes(items)))


@dataclass(frozen=True, slots=True)
class PersonScores:
    """The scores against one reference: sums per item, and the pairs of codes for rank correlations."""

    positions: Ints
    sums: Floats
    prediction: Floats
    gold: Floats
    pair_positions: Ints

    @classmethod
    def of(cls, frame: pl.DataFrame, rules: Rules) -> PersonScores:
        """Sums per item of everything that the metrics are functions of."""
        position = frame["position"].to_numpy().astype(np.int64)
        rows, count = item_codes(frame["position"])
        gold = frame["gold"].to_numpy()
        value = frame["value"].fill_null(float("nan")).to_numpy()
        answered = np.isfinite(value)
        hit = answered & (value == gold)
        labels, k = rules.labels, len(rules.labels)
        sums = np.zeros((count, 3 * k + 10))
        for block, (column, chosen_rows) in enumerate(((gold, hit), (value, answered), (gold, np.ones_like(hit)))):
            for label in range(k):
                chosen_now = rows[chosen_rows & (column == labels[label])]
                sums[:, block * k + label] = np.bincount(chosen_now, minlength=count)
        # Codes are centred once, so that variances from sums of squares do not cancel.
        centre = float(gold.mean()) if len(gold) else 0.0
        x, y = value[answered] - centre, gold[answered] - centre
        error = np.abs(x - y)
        near = np.zeros(len(value))
        near[answered] = error <= rules.within + 1e-9
        pairs = rows[answered]
        for offset, (where, column) in enumerate(
            [(rows, np.ones(len(value))), (rows, hit.astype(float)), (rows, near), (pairs, np.ones(len(x)))]
            + [(pairs, c) for c in (error, error**2, x, y, x * x + y * y, x * y)]
        ):
            sums[:, 3 * k + offset] = np.bincount(where, weights=column, minlength=count)
        where = np.unique(position)
        return cls(where, sums, value[answered], gold[answered], position[answered])

    def values(self, weight: Floats, metrics: Sequence[Metric], rules: Rules) -> Floats:
        """Each metric for each row of item weights."""
        k = len(rules.labels)
        sums = weight[:, self.positions] @ self.sums
        hits, predicted, expected = sums[:, :k], sums[:, k : 2 * k], sums[:, 2 * k : 3 * k]
        rest = sums[:, 3 * k :].T
        columns = []
        with np.errstate(divide="ignore", invalid="ignore"):
            for m in metrics:
                if m.name in CORRELATIONS and len(self.gold) < 2:
                    column = np.full(len(weight), np.nan)
                elif m.name in CORRELATIONS:
                    drawn = weight[:, self.pair_positions]
                    column = weighted_correlation(self.prediction, self.gold, drawn, m.name)
                elif m.name in _BY_CLASS:
                    column = _by_class(m, hits, predicted, expected, rules.zero_division)
                elif m.name == "kappa":
                    chance = (predicted * expected).sum(axis=1) / rest[0] ** 2
                    column = (rest[1] / rest[0] - chance) / (1 - chance)
                else:
                    column = _from_sums(m.name, rest)
                columns.append(column)
        return np.column_stack(columns)


def chosen(wanted: Sequence[str] | None, scale: Scale | None, classes: int, continuous: bool = False) -> list[Metric]:
    """The metrics asked for, or all that the scale allows, with one entry per average and class."""
    if wanted is None:
        ordered = scale is None or scale.ordered
        wanted = [*(() if continuous else _CLASSIFYING), *(NUMERIC if ordered else ())]
    metrics: list[Metric] = []
    for name in wanted:
        base, _, average = name.rpartition("_") if name not in METRICS[:5] and name not in NUMERIC else (name, "", "")
        if base not in _BY_CLASS:
            metrics.append(Metric(name))
            continue
        for a in [average] if average else _AVERAGES:
            metrics += [Metric(base, a, c) for c in range(classes)] if a == "class" else [Metric(base, a)]
    return metrics


def _by_class(m: Metric, hits: Floats, predicted: Floats, expected: Floats, zero_division: float | None) -> Floats:
    if m.average == "micro":
        hits, predicted, expected = (a.sum(axis=1, keepdims=True) for a in (hits, predicted, expected))
    score = {
        "precision": hits / predicted,
        "recall": hits / expected,
        "f1": 2 * hits / (predicted + expected),
    }[m.name]
    if m.label is not None:
        return np.asarray(score[:, m.label])
    if m.average == "micro":
        return np.asarray(score[:, 0])
    defined = np.isfinite(score)
    filled = np.where(defined, score, 0.0 if zero_division is None else zero_division)
    share = np.ones_like(score) if m.average == "macro" else expected
    if zero_division is None:
        share = share * defined
    return np.asarray((filled * share).sum(axis=1) / share.sum(axis=1))


def _from_sums(name: str, rest: Floats) -> Floats:
    judged, hits, near, n, absolute, square, x, y, squares, xy = rest
    if name in ("accuracy", "within"):
        return np.asarray((hits if name == "accuracy" else near) / judged)
    if name in ("mae", "rmse"):
        return np.asarray(absolute / n if name == "mae" else np.sqrt(square / n))
    # Expected squared difference of two independent draws from the two columns.
    chance = squares - 2 * x * y / n
    return np.asarray(np.where(chance > 1e-12 * np.abs(xy).clip(1), 1 - square / chance, np.nan))


def _undefined(m: Metric, judgments: int, classes: int) -> str:
    """Why a metric has no value."""
    if judgments == 0:
        return "no judgment has both an answer and a reference"
    if m.name in CORRELATIONS:
        return "fewer than two answers, or one side does not vary"
    if classes == 0 and m.of_classes:
        return "the scale is continuous and has no classes"
    return {
        "precision": "this class is never predicted",
        "recall": "the reference never has this class",
        "f1": "the class occurs neither in the answers nor in the reference",
    }.get(m.name, "only one class occurs, so chance agreement is already perfect")


def label_set(frame: pl.DataFrame, scale: Scale | None, labels: Sequence[float] | None) -> Floats:
    """The fixed label set: as given, of the scale, or of the whole table."""
    if labels is not None:
        return np.array(sorted(labels), dtype=np.float64)
    if scale is not None:
        return np.array(scale.codes, dtype=np.float64)
    seen = [frame[column].drop_nulls().to_numpy() for column in ("value", "gold")]
    return np.asarray(np.unique(np.concatenate(seen)))


def without_reference(part: pl.DataFrame) -> dict[str, int]:
    """Answers that have no reference to be compared with."""
    n = part.filter(pl.col("gold").is_null() & pl.col("value").is_not_null()).height
    return {"no_reference": n} if n else {}


def shown(code: float, scale: Scale | None) -> str:
    """A class in words: its label on the scale, or its code."""
    return scale.label(code) if scale is not None else show_code(code)
