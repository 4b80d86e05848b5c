"""What people and a model said of items, and what each item contributes to a measure.

Of the model, the distribution of its answers to each item counts: from probabilities, samples, personas or a panel.

The measure is a function of sums per item. One that is a smooth function h of totals S = Σᵢ sᵢ changes by ∇h(S)·sᵢ with
the weight of item *i*: its influence (Hampel 1974). The variance of the influences over items, divided by their number,
is that of the measure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, TypeAlias

import numpy as np
import polars as pl

from vantage.errors import InputError, nearest
from vantage.measures.intervals import LIMITS, Bootstrap, Statistic
from vantage.measures.kinds import Selection
from vantage.measures.parts import Part, constant_within, of_group
from vantage.measures.rater_variance import without_raters
from vantage.measures.ratings import UNIT, ChangedCorpus, Floats, Judgments, has_column, judgments_frame, scales_of
from vantage.measures.resampling import Statistics, per_item, ratio
from vantage.notebook import to_polars
from vantage.scales import Scale

ASKED: Final = ["item", "question"]
CHANCES: Final = "probabilities"
FEW_CODES: Final = 12
"""Up to so many answers, the share of each is a feature of its own."""
STEP: Final = 1e-5
"""By which share of themselves totals are moved to see how a measure changes."""


@dataclass(frozen=True)
class ModelAnswers:
    """The answers of a model, or of several raters together, to one group of judgments.

    >>> frame = pl.DataFrame({"item": ["a", "a", "b"], "question": [""] * 3, "value": [0.0, 1.0, 1.0]})
    >>> said = ModelAnswers(frame, {})
    >>> said.mean.tolist(), said.share(1.0).tolist()
    ([0.5, 1.0], [0.5, 1.0])
    """

    frame: pl.DataFrame
    """Answered judgments with `item`, `question`, `value` and, where options were scored, `probabilities`."""
    scales: Mapping[str, Scale]

    @cached_property
    def items(self) -> pl.Series:
        """The items that have an answer, in the order of their names."""
        return self.frame["item"].unique().sort()

    @cached_property
    def codes(self) -> Floats:
        """The answers that are possible or were given, in ascending order."""
        asked = self.frame["question"].unique().to_list()
        declared = [code for question in asked if question in self.scales for code in self.scales[question].codes]
        return np.unique(np.concatenate([self.frame["value"].to_numpy(), np.array(declared, dtype=np.float64)]))

    @cached_property
    def shares(self) -> Floats:
        """The probability of each answer to each item: items × codes."""
        rows = np.zeros((len(self.frame), len(self.codes)))
        rows[np.arange(len(rows)), np.searchsorted(self.codes, self.frame["value"].to_numpy())] = 1
        if "probabilities" in self.frame.columns:
            scored = self.frame.with_row_index("__row").filter(pl.col("probabilities").is_not_null())
            for (question,), part in scored.partition_by("question", as_dict=True).items():
                codes = self.scales[str(question)].codes if str(question) in self.scales else ()
                # Options come in the order of the scale, opt-outs behind them.
                chances = np.array(part["probabilities"].to_list(), dtype=np.float64)[:, : len(codes)]
                if codes and np.all(chances.sum(axis=1) > 0):
                    at = part["__row"].to_numpy()
                    rows[at] = 0
                    rows[np.ix_(at, np.searchsorted(self.codes, codes))] = chances / chances.sum(axis=1, keepdims=True)
        item = self.frame["item"].rank("dense").to_numpy().astype(np.int64) - 1
        sums = np.zeros((len(self.items), len(self.codes)))
        np.add.at(sums, item, rows)
        return np.asarray(sums / np.bincount(item)[:, None])

    @property
    def mean(self) -> Floats:
        """The expected answer to each item."""
        return np.asarray(self.shares @ self.codes)

    def share(self, code: float) -> Floats:
        """The probability of one answer to each item."""
        return np.asarray(self.shares @ (self.codes == code).astype(np.float64))

    def asked(self, question: str) -> ModelAnswers:
        """The answers to one question."""
        return ModelAnswers(self.frame.filter(pl.col("question") == question), self.scales)

    def features(self) -> Floats:
        """What may predict an item's contribution: shares, mean and spread of the model's answers to it."""
        p, mean = self.shares, self.mean
        surprise = -np.sum(p * np.log(np.where(p > 0, p, 1.0)), axis=1)
        spread = [np.square(mean), p @ np.square(self.codes) - np.square(mean), 1 - np.square(p).sum(axis=1), surprise]
        return np.column_stack([*(p.T if len(self.codes) <= FEW_CODES else ()), mean, *spread])


@dataclass(frozen=True, slots=True)
class Sides:
    """People's and the model's judgments, as measures take them and as frames."""

    people: Any
    """People's judgments of the items that the model judged."""
    model: Any
    selection: Selection
    item_by: list[str]
    """The grouping columns that are the same for all judgments of an item, so that the model's have them too."""
    judged: pl.DataFrame
    """People's answers, those to items without the model's included."""
    answers: pl.DataFrame
    """The model's answers."""

    @classmethod
    def of(
        cls,
        data: Judgments,
        powered_by: str | Sequence[str],
        whose: Callable[[Judgments], Selection],
        by: Sequence[str],
        extra: Sequence[str] = (),
    ) -> Sides:
        """Divides judgments by rater; stops where the two have no item in common."""
        names = [powered_by] if isinstance(powered_by, str) else list(powered_by)
        rest, model = _divided(data, names)
        selection = whose(rest)
        columns = list(dict.fromkeys([*by, *extra]))
        judged = judgments_frame(selection.data, columns)
        chances = [CHANCES] if has_column(model, CHANCES) else []
        answers = judgments_frame(model, [*columns, *chances]).filter(pl.col("value").is_not_null())
        asked = answers.select(ASKED).unique()
        known = judged.filter(pl.col("value").is_not_null())
        if known.join(asked, on=ASKED, how="semi").is_empty():
            raise InputError(
                f"no item was judged both by people and by {' and '.join(repr(name) for name in names)}",
                remedy="let people judge some of the items that the model judged",
            )
        columns = list(dict.fromkeys([*UNIT, *by]))
        alike = pl.concat([known.select(columns), answers.select(columns)], how="vertical_relaxed")
        item_by = [column for column in by if column in UNIT or constant_within(alike, column, UNIT)]

        def of_both(frame: pl.DataFrame) -> pl.DataFrame:
            return frame.join(asked, on=ASKED, how="semi", maintain_order="left")

        people: Any
        if hasattr(selection.data, "with_columns_of"):
            people = ChangedCorpus(selection.data, of_both)
        else:
            people = of_both(judged)
        return cls(people, model, selection, item_by, judged, answers)

    def said(self, key: Mapping[str, Any]) -> ModelAnswers:
        """What the model said of the items of a group."""
        return ModelAnswers(
            of_group(self.answers, {column: key[column] for column in self.item_by}), scales_of(self.people)
        )

    def everyone(self, key: Mapping[str, Any]) -> pl.DataFrame:
        """People's judgments of a group, those of items without the model's answer included."""
        return of_group(self.judged, key)

    def without_model(self, key: Mapping[str, Any]) -> pl.Series:
        """The items of a group that people judged and the model did not."""
        answered = self.everyone(key).filter(pl.col("value").is_not_null())
        return answered.join(self.answers, on=ASKED, how="anti")["item"].unique()


def _divided(data: Judgments, names: Sequence[str]) -> tuple[Any, Any]:
    """The judgments of other raters and those of the raters that are named by their ids or by their `model`."""
    corpus: Any = data if hasattr(data, "with_columns_of") else None
    raters = corpus.raters if corpus is not None else to_polars(data)
    if raters is None or "rater" not in raters.collect_schema().names():
        raise InputError(
            "an array has no names of raters", remedy="pass a corpus, or a frame with item, rater and value"
        )
    raters = raters.lazy().collect()
    known = raters.select(pl.col("rater").cast(pl.String), *([pl.col("model")] if "model" in raters.columns else []))
    chosen: list[str] = []
    for name in names:
        mine = known.filter(pl.any_horizontal(pl.all().eq_missing(name)))["rater"].unique().to_list()
        if not mine:
            raise InputError(f"there is no rater '{name}'", remedy=nearest(name, known["rater"].unique().to_list()))
        chosen += mine
    there = pl.col("rater").cast(pl.String).is_in(chosen)
    return (data if corpus is not None else raters).filter(~there), (corpus or raters).filter(there)  # type: ignore[union-attr]


@dataclass(frozen=True, eq=False)
class Contribution:
    """The sums of each item and the measure as a function of totals, one row of them per estimate.

    >>> items = pl.Series("item", ["a", "b", "c"])
    >>> share = Contribution.of_units(items, np.array([0.0, 0.0, 3.0]))
    >>> share.estimate, share.influence.round(6).tolist()
    (1.0, [-1.0, -1.0, 2.0])
    """

    items: pl.Series
    """The items that the measure uses, in the order of their names."""
    sums: Floats
    statistic: Statistic
    key: Mapping[str, Any] = field(default_factory=dict)
    """What tells it from other rows of its group."""
    limits: tuple[float, float] = LIMITS
    features: Callable[[ModelAnswers], Floats] = ModelAnswers.features
    """What may predict it, from what the model said of each item."""
    direct: bool = False
    """Whether the one feature is the prediction itself, as in PPI++."""
    weights: Floats | None = None
    """The design weight of each item: one over the probability that people were asked about it."""

    @classmethod
    def of_units(cls, items: pl.Series, values: Floats, **others: Any) -> Contribution:
        """A mean of the values of units, each of which belongs to an item."""
        sums = per_item(items, np.column_stack([values, np.ones(len(values))]))
        return cls(items.unique().sort(), sums, ratio, **others)

    @property
    def estimate(self) -> float:
        """The measure."""
        return float(self.statistic(self.sums.sum(axis=0, keepdims=True))[0])

    @property
    def influence(self) -> Floats:
        """What each item adds to the measure, times the number of items; its mean is 0."""
        total, n = self.sums.sum(axis=0), len(self.sums)
        step = STEP * np.maximum(np.abs(self.sums).sum(axis=0), 1e-12)
        moved = np.diag(step)
        slope = (self.statistic(total + moved) - self.statistic(total - moved)) / (2 * step)
        values = n * (self.sums @ np.nan_to_num(slope))
        return np.asarray(values - values.mean())

    def weighted(self, weight: Floats) -> Floats:
        """The measure under weights on items, one row per resample, as one column."""
        return self.statistic(weight @ self.sums)[:, None]

    def within(self, items: pl.Series) -> Contribution:
        """The same sums among further items, in the order of their names too: 0 where an item has none."""
        sums = np.zeros((len(items), self.sums.shape[1]))
        sums[items.is_in(self.items.implode()).to_numpy()] = self.sums
        return replace(self, items=items, sums=sums)


Contributions: TypeAlias = Callable[[Part, Mapping[str, Any]], Iterable[Contribution]]
"""From the judgments of a group and the options of a measure to what items contribute, one for each row."""


def without_each_rater(
    part: Part, make: Contributions, options: Mapping[str, Any], contribution: Contribution, how: Bootstrap
) -> list[Statistics]:
    """The measure under weights on items in the table without each rater in turn."""
    tables: list[Statistics] = []
    for rest in without_raters(part.frame, how):
        fewer = make(replace(part, frame=rest), options)
        tables += [c.within(contribution.items).weighted for c in fewer if c.key == contribution.key]
    return tables
