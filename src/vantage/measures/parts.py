"""All judgments of each group, those without a value included, for measures that need more than counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import polars as pl

from vantage.errors import InputError, nearest
from vantage.measures.base import RESULT, table
from vantage.measures.ratings import (
    REPEATED,
    UNIT,
    By,
    Floats,
    Judgments,
    by_columns,
    judgments_frame,
    level_of,
    on_repeats,
    one_scale,
)
from vantage.measures.ratings import partitioned as partitioned  # noqa: PLC0414
from vantage.measures.ratings import scales_of as scales_of  # noqa: PLC0414
from vantage.scales import Band, Level, Scale, show_code

names = by_columns
Rounding: TypeAlias = Literal["none", "half_even", "half_up"]
"""How an aggregated score becomes a scale point: 0.5 → 0 and 1.5 → 2 (`half_even`), or up (`half_up`)."""


@dataclass(frozen=True, slots=True)
class Part:
    """One group before anything is computed: its key, all of its judgments, the scales of its questions."""

    key: dict[str, Any]
    frame: pl.DataFrame
    scales: Mapping[str, Scale]
    statuses: tuple[str, ...]
    """The statuses of all judgments of the table that have no value, the same for every group."""
    ends: tuple[float, float] = (0.0, 0.0)
    """The lowest and the highest answer of the table, the same for every group."""
    unpaired: int = 0
    """How many answers were left out since nobody else answered their unit."""

    @property
    def answered(self) -> pl.DataFrame:
        """The judgments that have a value."""
        if not self.frame["value"].null_count():
            return self.frame  # a copy of all rows would be the most that models of raters hold
        return self.frame.filter(pl.col("value").is_not_null())

    def scale(self) -> Scale | None:
        """The one scale of the group; null for a plain table; different scales cannot be pooled."""
        return scale_of(self.frame, self.scales, self.key)

    def level(self, asked: Level | None) -> Level:
        """The level of measurement to use: as asked where the scale allows it, else the scale's own."""
        return level_of(self.scale(), asked, self.frame["question"].unique().sort().to_list())

    @property
    def counts(self) -> dict[str, Any]:
        """What an estimate from all answers rests on, and what was left out by status."""
        return counts(self.answered, self.frame, unpaired=self.unpaired)

    @property
    def note(self) -> str | None:
        """What to say of measures that compare all answers to a unit with each other."""
        return on_repeats(self.answered, REPEATED)

    def paired(self) -> Part:
        """The part without units that have a single answer, which are counted as `unpaired`.

        >>> part = next(parts({"item": [1, 1, 2], "rater": [1, 2, 1], "value": [0, 1, 1]})).paired()
        >>> len(part.answered), part.counts["left_out"]
        (2, {'unpaired': 1})
        """
        answered = pl.col("value").is_not_null()
        kept = self.frame.filter(~answered | (answered.sum().over(UNIT) > 1))
        return self if len(kept) == len(self.frame) else replace(self, frame=kept, unpaired=len(self.frame) - len(kept))


def parts(data: Judgments, by: By = (), *, extra: Sequence[str] = ()) -> Iterator[Part]:
    """All judgments of each group in turn, in the order of the groups' keys, with `extra` columns joined."""
    columns = names(by)
    frame = judgments_frame(data, list(dict.fromkeys([*columns, *extra])))
    scales = scales_of(data)
    valueless = frame.filter(pl.col("value").is_null())["status"].cast(pl.String).unique().sort()
    given = frame["value"].drop_nulls().to_numpy()
    ends = (float(given.min()), float(given.max())) if len(given) else (0.0, 0.0)
    for key, part in partitioned(frame, columns):
        yield Part(key, part, scales, tuple(valueless), ends)


def scale_of(frame: pl.DataFrame, scales: Mapping[str, Scale], key: Mapping[str, Any] | None = None) -> Scale | None:
    """The one scale of the questions of some rows; null for a plain table."""
    return one_scale(frame["question"].unique().sort().to_list(), scales, key or {}) if scales else None


def of_group(frame: pl.DataFrame, key: Mapping[str, Any]) -> pl.DataFrame:
    """The rows of the group with this key."""
    return frame.filter([pl.col(column).eq_missing(value) for column, value in key.items()]) if key else frame


def check_level(scale: Scale | None, frame: pl.DataFrame, asked: str, *, distances: bool = False) -> None:
    """Refuses what needs an order on a nominal scale, naming the questions.

    For what needs distances alone two options will do: it is the same whichever of them comes first.
    """
    refuse_nominal(scale, frame["question"].unique().sort().to_list(), asked, distances=distances)


def refuse_nominal(scale: Scale | None, questions: Sequence[str], asked: str, *, distances: bool = False) -> None:
    """The same, of questions that are known by name."""
    if scale is not None and not (scale.has_distances if distances else scale.ordered):
        named = ", ".join(f"'{question}'" for question in questions)
        raise InputError(
            f"question {named} has a nominal scale, so {asked} means nothing",
            remedy="use a measure of answers without an order, such as alpha or prevalence",
        )


def counts(used: pl.DataFrame, part: pl.DataFrame, **others: int) -> dict[str, Any]:
    """What an estimate rests on, and the judgments of the group that it left out by status.

    Answered judgments that a measure could not use are named by the caller in `others`.
    """
    rest = part.filter(pl.col("value").is_null())["status"].cast(pl.String).value_counts()
    left_out = {**dict(rest.iter_rows()), **{name: n for name, n in others.items() if n}}
    return {
        "items": used["item"].n_unique(),
        "raters": used["rater"].n_unique(),
        "judgments": len(used),
        "left_out": dict(sorted(left_out.items())),
    }


def unit_table(
    units: pl.DataFrame, part: Part, by: By, keys: Sequence[str], own: Sequence[str], used: pl.Expr
) -> pl.DataFrame:
    """One row per unit in the common shape of results; `units` has the keys, `own` columns, `estimate`.

    `used` says which judgments of the part an estimate rests on. The same columns as `base.table`, made
    without a Python object per row, since there are as many rows as items.
    """
    columns = list(dict.fromkeys([*names(by), *keys]))
    status = pl.col("status").cast(pl.String)
    unused = [((status == name) & ~used).sum().cast(pl.Int64).alias(name) for name in part.statuses]
    based_on = part.frame.group_by(keys).agg(
        pl.col("item").filter(used).n_unique().cast(pl.Int64).alias("items"),
        pl.col("rater").filter(used).n_unique().cast(pl.Int64).alias("raters"),
        used.sum().cast(pl.Int64).alias("judgments"),
        *([pl.struct(unused).alias("left_out")] if unused else []),
    )
    if not unused:
        nothing = pl.Series("left_out", [{}] * len(based_on), dtype=pl.Struct([]))
        based_on = based_on.with_columns(nothing)
    types = {"low": pl.Float64, "high": pl.Float64, "over": pl.String, "reason": pl.String}
    key = {name: value for name, value in part.key.items() if name not in units.columns}
    return (
        units.join(based_on, on=list(keys), how="left", nulls_equal=True)
        .with_columns([pl.lit(value).alias(name) for name, value in key.items()])
        .with_columns([pl.lit(None, dtype).alias(name) for name, dtype in types.items() if name not in units.columns])
        .select([*columns, *own, *RESULT])
        .sort(list(keys))
    )


def stacked(rows: Sequence[Mapping[str, Any]], frames: Sequence[pl.DataFrame], by: By = ()) -> pl.DataFrame:
    """One result from rows of groups and from tables of units, whichever there are."""
    made = [table(rows, names(by))] if rows or not frames else []
    return pl.concat([*frames, *made], how="diagonal_relaxed")


def two_values(frame: pl.DataFrame, between: str, values: Sequence[Any] | None) -> tuple[Any, Any]:
    """The two values of a column that are compared: those asked for, or the only two there are."""
    present = frame[between].drop_nulls().unique().sort().to_list()
    if values is None:
        if not present:
            raise InputError(f"column '{between}' is empty here", remedy="compare by a column that has two values")
        if len(present) != 2:
            shown = ", ".join(f"'{v}'" for v in present[:6])
            raise InputError(
                f"column '{between}' has {len(present)} values ({shown}), not two",
                remedy="name the two to compare with the option values",
            )
        return present[0], present[1]
    if len(values) != 2:
        raise InputError(f"{len(values)} values were given to compare", remedy="give two")
    for value in values:
        if value not in present:
            remedy = nearest(str(value), [str(v) for v in present])
            raise InputError(f"column '{between}' has no value '{value}'", remedy=remedy)
    return values[0], values[1]


DISJOINT: Final = "the two groups share no item, so a difference could come from the items"


def linked_values(answered: pl.DataFrame, column: str, unit: Sequence[str] = UNIT) -> list[set[Any]]:
    """The values of a column in sets that items link: within a set, each has an item in common with another.

    >>> frame = pl.DataFrame({"item": [1, 1, 2, 2, 3], "country": ["it", "fr", "fr", "es", "jp"]})
    >>> sorted(map(sorted, linked_values(frame, "country", ["item"])))
    [['es', 'fr', 'it'], ['jp']]
    """
    linked: list[set[Any]] = []
    for values in answered.drop_nulls(column).group_by(unit).agg(pl.col(column).unique())[column].unique().to_list():
        touched = [one for one in linked if one & set(values)]
        linked = [one for one in linked if one not in touched] + [set(values).union(*touched)]
    return linked


def constant_within(answered: pl.DataFrame, column: str, within: Sequence[str]) -> bool:
    """Whether a column has one value for each unit, as a trait has for each rater."""
    values = answered.group_by(list(within)).agg(pl.col(column).n_unique().alias("values"))
    return len(values) > 0 and values["values"].max() == 1


def rounded(values: Floats, rounding: Rounding) -> Floats:
    """Aggregated scores as scale points.

    >>> rounded(np.array([-0.5, 0.5, 1.5]), "half_up").tolist()
    [0.0, 1.0, 2.0]
    >>> rounded(np.array([-0.5, 0.5, 1.5]), "half_even").tolist()
    [-0.0, 0.0, 2.0]
    """
    if rounding == "half_even":
        return np.rint(values)
    return np.floor(values + 0.5) if rounding == "half_up" else values


def neutral_point(scale: Scale | None, ends: tuple[float, float]) -> float:
    """The point between low and high: zero where the scale has both signs, else its middle.

    An unknown scale, of which the lowest and the highest answer are known, has a neutral zero or none that is known.

    >>> [neutral_point(scale, (0, 3)) for scale in (Scale.points(-3, 3), Scale.points(1, 5), None)]
    [0.0, 3.0, 0.0]
    """
    if scale is not None:
        low, high = scale.ends
        return 0.0 if low < 0 < high else (low + high) / 2
    if not reach_zero(ends):
        lowest, highest = map(show_code, ends)
        raise InputError(
            f"a plain table with answers from {lowest} to {highest} does not say which of them are low and high",
            remedy="give the option neutral, such as the middle of the scale",
        )
    return 0.0


def rising_bands(scale: Scale) -> list[Band]:
    """The bands of a scale from low to high."""
    edges = {band: [edge for edge in (band.at_least, band.above) if edge is not None] for band in scale.bands}
    return sorted(edges, key=lambda band: max(edges[band], default=-np.inf))


def reach_zero(ends: tuple[float, float]) -> bool:
    """Whether zero is one of the possible answers."""
    return ends[0] <= 0 <= ends[1]
