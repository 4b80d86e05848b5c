"""A table that is aggregated as it streams by: Parquet files larger than memory, and frames that are large.

What is held is one row of counts per unit while they are made, and one row per kind of unit afterwards, never
raters × items.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.measures.codes import positions
from vantage.measures.counts import FEW, Counts, Moments, centre
from vantage.measures.ratings import UNIT, Floats, Key, left_out_of, not_finite
from vantage.scales import Scale


@dataclass(frozen=True)
class Passed:
    """What a first pass over a table shows."""

    by: list[str]
    values: Floats
    """The different values of all groups, in ascending order."""
    unanswered: dict[Key, dict[str, int]]
    """How many judgments of each group have no value, by status; a group may have no others."""
    scales: dict[str, Scale]


AT_ONCE: Final = 25_000_000
"""How many rows are aggregated in one pass; a longer table is read again for the next share of its items."""


@dataclass(frozen=True)
class Streamed(Passed):
    """The answers of a table as a query."""

    answered: pl.LazyFrame
    unit: list[str]
    """The columns that, with `by`, tell units apart."""
    passes: int

    @classmethod
    def of(cls, query: pl.LazyFrame, by: list[str], scales: dict[str, Scale]) -> Streamed:
        """Looks through the values once: which there are, whether all are finite, and who did not answer."""
        present = query.collect_schema()
        unit = [column for column in UNIT if column in present and column not in by]
        # A column with one value throughout tells no units apart and would only slow the aggregation down.
        varying = [
            ((pl.col(c).min() != pl.col(c).max()).fill_null(False) | pl.col(c).has_nulls()).alias(c)
            for c in unit
            if c != "item"
        ]
        if varying:
            varies = query.select(varying).collect(engine="streaming").row(0, named=True)
            unit = [column for column in unit if varies.get(column, True)]
        frequency = query.group_by("value").agg(__n=pl.len()).collect(engine="streaming").sort("value")
        values = frequency["value"].drop_nulls()
        if not values.is_finite().all():
            raise not_finite(query)
        unanswered: dict[Key, dict[str, int]] = {}
        answered = query
        if len(values) < len(frequency):
            unanswered = left_out_of(query, by)
            answered = query.filter(pl.col("value").is_not_null())
        passes = -(-int(frequency["__n"].sum()) // AT_ONCE) or 1
        return cls(by, values.to_numpy(), unanswered, scales, answered, unit, passes)

    @property
    def per_unit(self) -> list[str]:
        """The columns to aggregate units by."""
        return [*self.by, *self.unit]

    def counts(self) -> dict[Key, Counts]:
        """The counts of each group, by key; without values that nobody in the group gave."""
        return dict(self._lists() if len(self.values) > FEW else self._columns() if len(self.values) else ())

    def _columns(self) -> Iterator[tuple[Key, Counts]]:
        names = [f"__{index}" for index in range(len(self.values))]
        value = pl.col("value")
        sums = [(value == v).sum().alias(name) for v, name in zip(self.values, names, strict=True)]
        kind = [*self.by, *names]
        frame = self._per_item(
            lambda answered: answered.group_by(self.per_unit).agg(sums).group_by(kind).agg(__units=pl.len()),
            kind,
        ).sort(names)
        for key, part in self._parts(frame).items():
            table = part.select(names).to_numpy().astype(np.float64)
            given = table.any(axis=0)
            units_of_kind = part["__units"].to_numpy().astype(np.int64)
            yield key, Counts(self.values[given], table[:, given], units_of_kind)

    def _lists(self) -> Iterator[tuple[Key, Counts]]:
        from scipy.sparse import csr_array

        units = self.answered.group_by(self.per_unit).agg("value").select([*self.by, "value"])
        frame = units.collect(engine="streaming")
        for key, part in self._parts(frame).items():
            flat = part["value"].explode().to_numpy()
            values = np.unique(flat) if self.by else self.values
            rows = np.concatenate([[0], np.cumsum(part["value"].list.len().to_numpy())])
            shape = (len(part), len(values))
            table = csr_array((np.ones(len(flat)), positions(flat, values).astype(np.int32), rows), shape=shape)
            table.sum_duplicates()
            yield key, Counts(values, table, np.ones(len(part), dtype=np.int64))

    def moments(self, *, ordinal: bool, kinds: bool) -> dict[Key, Moments]:
        """The moments of each group, of the values or of their mid-ranks; for any number of values.

        Units with the same moments are one kind where `kinds` is asked for, and can be resampled. Without,
        a kind is the average over all units of one size, so that next to nothing has to be held.
        """
        ranks = self._ranks().lazy() if ordinal else None
        x = pl.col("__rank") if ordinal else pl.col("value") - centre(self.values)
        first, second = pl.col("__first"), pl.col("__second")
        kind = [*self.by, "__n", *(["__first", "__second"] if kinds else [])]
        sums = [pl.len().alias("__units"), (first**2).sum().alias("__squared")]

        def query(answered: pl.LazyFrame) -> pl.LazyFrame:
            if ranks is not None:
                answered = answered.join(ranks, on=[*self.by, "value"], how="left", nulls_equal=True)
            units = answered.group_by(self.per_unit).agg(__n=pl.len(), __first=x.sum(), __second=(x * x).sum())
            return units.group_by(kind).agg(*sums, *([] if kinds else [first.sum(), second.sum()]))

        summed = ["__squared"] if kinds else ["__first", "__second", "__squared"]
        frame = self._per_item(query, kind).with_columns(pl.col(summed) / pl.col("__units"))
        frame = frame.sort("__n", "__first", "__second")

        def moments(part: pl.DataFrame) -> Moments:
            names = ("__n", "__first", "__second", "__squared")
            n, first, second, squared = (part[name].to_numpy().astype(np.float64) for name in names)
            return Moments(n, first, second, squared, part["__units"].to_numpy().astype(np.int64))

        return {key: moments(part) for key, part in self._parts(frame).items()}

    def _ranks(self) -> pl.DataFrame:
        """The mid-rank of every value among the answers that can be paired, counted from the middle."""
        per_value = [*self.by, "value"]
        given = self.answered.group_by(per_value).agg(__all=pl.len()).collect(engine="streaming")
        alone = self._per_item(
            lambda answered: (
                answered.group_by(self.per_unit)
                .agg(pl.col("value").first(), __n=pl.len())
                .filter(pl.col("__n") == 1)
                .group_by(per_value)
                .agg(__single=pl.len())
            ),
            per_value,
        )
        count = pl.col("__all") - pl.col("__single").fill_null(0)
        frame = given.join(alone, on=per_value, how="left", nulls_equal=True).sort("value")
        frame = frame.select(*per_value, __count=count.cast(pl.Float64))
        number = pl.col("__count")
        rank, total = number.cum_sum() - number / 2, number.sum()
        if self.by:
            rank, total = rank.over(self.by), total.over(self.by)
        return frame.select(*per_value, __rank=rank - total / 2)

    def _per_item(self, query: Callable[[pl.LazyFrame], pl.LazyFrame], kind: list[str]) -> pl.DataFrame:
        """Runs a query that aggregates units, for a share of the items at a time, and adds up the results."""
        if self.passes == 1:
            return query(self.answered).collect(engine="streaming")
        share = pl.col("item").hash() % self.passes
        shares = [query(self.answered.filter(share == index)) for index in range(self.passes)]
        counts = pl.concat([part.collect(engine="streaming") for part in shares])
        return counts.group_by(kind).agg(pl.exclude(kind).sum())

    def _parts(self, frame: pl.DataFrame) -> dict[Key, pl.DataFrame]:
        """The rows of each group that has an answer."""
        return frame.partition_by(self.by, as_dict=True) if self.by else {(): frame} if len(frame) else {}

    def summary(self, *, paired: bool) -> dict[Key, dict[str, Any]]:
        """Items, raters and questions of each group; where `paired`, those of units with two answers."""
        answered = self.answered
        if paired:
            single = answered.group_by(self.per_unit).agg(__n=pl.len()).filter(pl.col("__n") == 1)
            answered = answered.join(single, on=self.per_unit, how="anti", nulls_equal=True)
        wanted = [pl.col("rater").n_unique().alias("raters"), pl.col("item").n_unique().alias("items")]
        if self.unit == ["item"] and "item" not in self.by:
            wanted.pop()  # every unit is an item, and units have been counted already
        if "sample" in answered.collect_schema():
            several = pl.col("rater").min() != pl.col("rater").max()
            wanted.append((several & (pl.col("sample").min() != pl.col("sample").max())).alias("repeated"))
        if self.scales:
            wanted.append(pl.col("question").unique().sort().implode().alias("questions"))
        query = answered.group_by(self.by).agg(wanted) if self.by else answered.select(wanted)
        rows = query.collect(engine="streaming").iter_rows(named=True)
        return {tuple(row.pop(column) for column in self.by): row for row in rows}
