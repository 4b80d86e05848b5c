"""The judgments of an audit: one card per rater and scale, with the presentation of every answer in columns.

People are one card together, models have one each. Judgments without a presentation count as one unknown presentation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.corpora import PEOPLE
from vantage.errors import InputError, nearest
from vantage.measures.aggregation.balanced import SUFFIX
from vantage.measures.codes import encode
from vantage.measures.parts import counts
from vantage.measures.ratings import UNIT, Floats, Ints, Judgments, by_columns, has_column, judgments_frame, scales_of
from vantage.measures.relations.correlations import coefficient
from vantage.presentations import FACTORS, Presentation
from vantage.scales import Scale, show_code

COLUMN: Final = "presentation"
DATES: Final = ("at", "date", "time")
"""Columns that may say when a judgment was made."""
CROWD: Final = "people"
UNKNOWN: Final = "the judgments do not say how the question was presented, so it counts as one unknown presentation"
POINTS: Final = "points"
PERCENT: Final = "percentage points"


@dataclass(frozen=True, slots=True)
class AuditOutcome:
    """What is counted of an answer: its code, or the share of an option on nominal scales and those of two options."""

    codes: tuple[float, ...]
    ordered: bool
    ends: tuple[float, float]

    @classmethod
    def of(cls, scale: Scale | None, values: pl.Series) -> AuditOutcome:
        """The outcome on a scale; on the values that occur where a plain table does not say its scale."""
        if scale is None:
            codes = tuple(values.drop_nulls().unique().sort().to_list())
            return cls(codes, ordered=True, ends=(codes[0], codes[-1]) if codes else (0.0, 1.0))
        if not _ordered(scale):
            # Codes of nominal scales stand for places here, so that questions with other options can be pooled.
            places = tuple(float(place) for place in range(len(scale.codes)))
            return cls(places, ordered=False, ends=(places[0], places[-1]))
        return cls(tuple(sorted(scale.codes)), ordered=True, ends=scale.ends)

    @property
    def shares(self) -> bool:
        """Whether shares are counted."""
        return not self.ordered or len(self.codes) == 2

    @property
    def unit(self) -> str:
        """The unit of effects."""
        return PERCENT if self.shares else POINTS

    @property
    def width(self) -> float:
        """The largest possible difference of two means."""
        return 100.0 if self.shares else (self.ends[1] - self.ends[0]) or 1.0

    @property
    def middle(self) -> float | None:
        """The code in the middle of an ordered scale with an odd number of options."""
        count = len(self.codes)
        return self.codes[count // 2] if self.ordered and count > 2 and count % 2 else None

    @property
    def about(self) -> str:
        """The scale in words."""
        if not self.ordered:
            return "nominal"
        count, span = len(self.codes), " to ".join(show_code(end) for end in self.ends)
        if count == 2:
            return f"two options, {span}"
        if not count:
            return f"{span}, continuous"
        return span if count == self.ends[1] - self.ends[0] + 1 else f"{span}, {count} options"

    def scored(self, values: Floats) -> Floats:
        """Answers as numbers: codes, or 100 where the last of two or the first of several options was chosen."""
        if not self.shares:
            return values
        return self.among(values, (self.codes[-1] if self.ordered else self.codes[0],))

    def among(self, values: Floats, codes: Sequence[float]) -> Floats:
        """100 where an answer is one of some codes."""
        return np.where(np.isin(values, codes), 100.0, 0.0)


@dataclass(frozen=True)
class Card:
    """One rater on one scale: answers, all judgments, and people's answers on the same scale for comparison."""

    rater: str
    outcome: AuditOutcome
    frame: pl.DataFrame
    everything: pl.DataFrame
    people: pl.DataFrame

    @property
    def key(self) -> dict[str, Any]:
        """The columns that name the card in a result."""
        return {"rater": self.rater, "scale": self.outcome.about}

    @cached_property
    def counts(self) -> dict[str, Any]:
        """What its rows rest on."""
        return counts(self.frame, self.everything)

    @cached_property
    def value(self) -> Floats:
        """The answers."""
        return self.frame["value"].to_numpy()

    @cached_property
    def unit(self) -> Ints:
        """The unit of each answer."""
        return encode(self.frame, UNIT)

    @cached_property
    def item(self) -> Ints:
        """The item of each answer."""
        return encode(self.frame, ["item"])

    @cached_property
    def raters(self) -> Ints | None:
        """The rater of each answer; null for a single rater."""
        return encode(self.frame, ["rater"]) if self.frame["rater"].n_unique() > 1 else None

    def levels(self, factor: str) -> list[str]:
        """The levels of a factor that occur, in their usual order."""
        present = self.frame[factor].drop_nulls().unique().to_list()
        usual = FACTORS[factor] or tuple(sorted(present, key=int))
        return [level for level in usual if level in present]

    @property
    def varied(self) -> list[str]:
        """The factors with two levels or more."""
        return [factor for factor in FACTORS if len(self.levels(factor)) > 1]


def cards(data: Judgments, rater: str | Sequence[str] = ()) -> Iterator[Card]:
    """The cards of all raters, or of those that are named; models first, then people.

    >>> table = {"item": [1, 1, 2, 2], "rater": ["bot", "ann", "bot", "ben"], "value": [1, 2, 3, 1],
    ...          "kind": ["model", "person", "model", "person"]}
    >>> [(card.rater, len(card.frame), len(card.people)) for card in cards(table)]
    [('bot', 2, 2), ('people', 2, 0)]
    """
    date = next((name for name in DATES if has_column(data, name)), None)
    wanted = [name for name in (COLUMN, "kind", date) if name is not None and has_column(data, name)]
    frame = judgments_frame(data, wanted).with_columns(pl.col("rater").cast(pl.String))
    kind = pl.col("kind").cast(pl.String) if "kind" in frame.columns else pl.lit("")
    frame = frame.with_columns(
        __person=kind.is_in(PEOPLE), __date=_days(frame[date]) if date else pl.lit(None, dtype=pl.String)
    )
    frame = _presented(frame)
    everyone = _named(frame)
    chosen = by_columns(rater)
    for name in chosen:
        if name not in (*everyone, *frame["rater"].unique()):
            raise InputError(f"there is no rater '{name}'", remedy=nearest(name, list(everyone)))
    scales = scales_of(data)
    frame = _placed(frame, scales)
    questions = frame["question"].unique().sort().to_list()
    grouped: dict[tuple[Any, ...], list[str]] = {}
    for question in questions:
        scale = scales.get(question)
        shape = ("",) if scale is None else (scale.codes, scale.range) if _ordered(scale) else ("nominal",)
        grouped.setdefault(shape, []).append(question)
    for name in chosen or everyone:
        for asked in grouped.values():
            there = frame.filter(pl.col("question").is_in(asked))
            part = there.filter(everyone.get(name, pl.col("rater") == name))
            answered = part.filter(pl.col("value").is_not_null())
            if answered.is_empty():
                continue
            beside = pl.lit(name != CROWD) & pl.col("__person") & (pl.col("rater") != name)
            others = there.filter(beside & pl.col("value").is_not_null())
            yield Card(name, AuditOutcome.of(scales.get(asked[0]), there["value"]), answered, part, others)


def _placed(frame: pl.DataFrame, scales: Mapping[str, Scale]) -> pl.DataFrame:
    """The frame with answers on nominal scales as places of their options: 0 is the first one."""
    value = pl.col("value")
    for question, scale in scales.items():
        if not _ordered(scale):
            places = {code: float(place) for place, code in enumerate(scale.codes)}
            value = pl.when(pl.col("question") == question).then(pl.col("value").replace(places)).otherwise(value)
    return frame.with_columns(value)


def _ordered(scale: Scale) -> bool:
    return scale.ordered or len(scale.codes) == 2


def _named(frame: pl.DataFrame) -> dict[str, pl.Expr]:
    """The cards by name, with the rows of each."""
    # An average over presentations has none of its own to look at.
    models = frame.filter(~pl.col("__person") & ~pl.col("rater").str.ends_with(SUFFIX))["rater"].unique().sort()
    people = frame.filter("__person")["rater"].unique().sort()
    singles = [*models, *(people if len(people) == 1 else ())]
    named = {name: pl.col("rater") == name for name in singles}
    return {**named, CROWD: pl.col("__person")} if len(people) > 1 else named


def _presented(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with one column per factor, null where a presentation does not name it."""
    if COLUMN not in frame.columns:
        frame = frame.with_columns(pl.lit(None, dtype=pl.String).alias(COLUMN))
    read: dict[str, dict[str, str]] = {}
    for text in frame[COLUMN].drop_nulls().unique().to_list():
        try:
            read[text] = Presentation.parse(text).levels
        except InputError as error:
            row = int((frame[COLUMN] == text).arg_max() or 0) + 1
            raise InputError(str(error), file="judgments", row=row, column=COLUMN) from None
    levels = {name: {text: levels.get(name) for text, levels in read.items()} for name in (*FACTORS, "seen")}
    return frame.with_columns(
        pl.col(COLUMN).replace_strict(of_text, default=None, return_dtype=pl.String).alias(name)
        for name, of_text in levels.items()
    )


def _days(dates: pl.Series) -> pl.Series:
    """The day of each judgment, as text that sorts."""
    if dates.dtype.is_numeric():
        dates = pl.from_epoch(dates.cast(pl.Float64).cast(pl.Int64), "s")
    return dates.cast(pl.String).str.slice(0, 10)


def falling(order: str | None, seen: str | None = None) -> float:
    """How far the options fall as they are listed: −½ upwards, ½ downwards, in between where the order is random.

    >>> falling("up"), falling("down"), falling("random", "3.2.1"), falling("random", "2.1.3")
    (-0.5, 0.5, 0.5, -0.25)
    """
    if order in ("up", "down"):
        return -0.5 if order == "up" else 0.5
    places = np.array([float(place) for place in seen.split(".")]) if order == "random" and seen else np.empty(0)
    return -0.5 * coefficient(places, np.arange(len(places), dtype=np.float64), "pearson") if len(places) > 1 else 0.0
