"""The counts of each group, from a table in memory or from one that is streamed.

The units, raters and values of a table in memory are numbered once; sums over units are then sums over whole numbers,
a few passes of plain arrays. Parquet files larger than memory, and frames that are large, are aggregated as they
stream by: what is held is one row of counts per unit while they are made, and one row per kind of unit afterwards,
never raters × items.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, TypeVar, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from vantage.measures.codes import dense, distinct, encode, numbered, positions
from vantage.measures.counts import FEW, Counts, Moments, centre
from vantage.measures.kernel import Answers
from vantage.measures.ratings import (
    UNIT,
    Floats,
    Ints,
    ItemSources,
    Key,
    RaterGroups,
    RaterWeights,
    left_out_of,
    not_finite,
    repeats,
)
from vantage.scales import Scale

Sums = TypeVar("Sums", Counts, Moments)
NO_COUNTS: Final = Counts(np.zeros(0), np.zeros((0, 0)), np.zeros(0, dtype=np.int64))
NO_MOMENTS: Final = Moments(np.zeros(0), np.zeros(0), np.zeros(0), np.zeros(0), np.zeros(0, dtype=np.int64))
EXACT: Final = 2**53
"""Up to here every whole number is a floating-point number."""


@dataclass(frozen=True)
class Coded:
    """The answers of one group; units are numbered 0, 1, 2 …, other codes may have gaps."""

    unit: Ints
    value: Floats
    rater: Ints
    item: Ints | None
    """The item of each answer; none where the units are the items."""
    question: Ints | None
    """The question of each answer, where there are several."""
    source: Ints | None = None
    """The source of each answer's item, where items were drawn from sources."""
    group: Ints | None = None
    """The group of each answer's rater, where raters were drawn in groups."""
    who: Ints | None = None
    """The place of each answer's rater among those with weights, where they have some."""
    weights: RaterWeights | None = None

    def rows(self, chosen: Any) -> Coded:
        """Some of the answers, their units numbered anew."""
        optional = (self.item, self.question, self.source, self.group, self.who)
        item, question, source, group, who = (None if codes is None else codes[chosen] for codes in optional)
        unit, value, rater = dense(self.unit[chosen])[0], self.value[chosen], self.rater[chosen]
        return Coded(unit, value, rater, item, question, source, group, who, self.weights)

    @property
    def drawn(self) -> Ints:
        """What each answer's rater was drawn as: the rater, or the group of raters."""
        return self.rater if self.group is None else self.group

    @property
    def several(self) -> int:
        """How many raters, or groups of raters, judged several items."""
        item, drawn = self.unit if self.item is None else self.item, self.drawn
        first = np.zeros(int(drawn.max(initial=-1)) + 1, dtype=np.int64)
        first[drawn] = item
        return int(np.count_nonzero(np.bincount(drawn[item != first[drawn]])))

    def answers(self, values: Floats, ranks: Floats | None = None) -> Answers:
        """The answers by rater and unit; `values` are the group's own, or `ranks` in their place."""
        clusters = self.item if self.source is None else self.source
        cluster = None if clusters is None else dense(clusters)[0]
        answers = Answers(self.unit, dense(self.drawn)[0], positions(self.value, values), values, cluster, ranks)
        if self.weights is None or self.who is None:
            return answers
        return replace(answers, weight=self.weights.values[self.who], weights=self.weights, who=self.who)

    @cached_property
    def size(self) -> Ints:
        """How many answers each unit has."""
        return np.bincount(self.unit)

    def kinds(self, column: Ints, columns: int) -> tuple[Floats, Ints]:
        """The different rows of the table units × columns, in ascending order, and how often each occurs."""
        base = int(self.size.max()) + 1
        if base**columns > EXACT:
            table = np.bincount(self.unit * columns + column, minlength=len(self.size) * columns)
            patterns, multiplicity = np.unique(table.reshape(-1, columns), axis=0, return_counts=True)
            return patterns.astype(np.float64), multiplicity
        # A row of counts is written as one number, whose digits to a large enough base are the counts.
        digit = base ** np.arange(columns - 1, -1, -1)
        keys = np.bincount(self.unit, weights=digit.astype(np.float64)[column])
        rows, multiplicity = np.unique(keys, return_counts=True)
        return (rows.astype(np.int64)[:, None] // digit % base).astype(np.float64), multiplicity

    def counts(self, values: Floats, *, many: bool) -> Counts:
        """The counts of the group's own values; of `many` values, one sparse row per unit."""
        column = positions(self.value, values)
        given = np.bincount(column, minlength=len(values)) > 0
        if not given.all():
            column, values = (np.cumsum(given) - 1)[column], values[given]
        if self.weights is not None:
            return cast(Counts, self.answers(values).kinds[0])
        if not many:
            return Counts(values, *self.kinds(column, len(values)))
        return Counts.of_units(self.unit, column, values, len(self.size), many=True)

    def moments(self, x: Floats, *, kinds: bool) -> Moments:
        """The moments of numbers that stand for the answers."""
        first: Floats = np.bincount(self.unit, weights=x).astype(np.float64, copy=False)
        second: Floats = np.bincount(self.unit, weights=x * x).astype(np.float64, copy=False)
        if kinds:
            order = np.lexsort((second, first, self.size))
            n, first, second = self.size[order].astype(np.float64), first[order], second[order]
            differs = [np.diff(column) != 0 for column in (n, first, second)]
            begin = np.flatnonzero(np.r_[True, np.any(differs, axis=0)])
            n, first, second = n[begin], first[begin], second[begin]
            return Moments(n, first, second, np.square(first), np.diff(begin, append=len(order)))
        units = np.bincount(self.size)
        sizes = np.flatnonzero(units)
        multiplicity = units[sizes]
        average = [np.bincount(self.size, weights=part)[sizes] / multiplicity for part in (first, second, first**2)]
        return Moments(sizes.astype(np.float64), average[0], average[1], average[2], multiplicity)

    def midranks(self, values: Floats) -> Floats:
        """For each answer, the mid-rank of its value among the answers that can be paired, from the middle."""
        column = positions(self.value, values)
        paired = (self.size >= 2)[self.unit]
        number = np.bincount(column[paired], minlength=len(values)).astype(np.float64)
        rank = np.cumsum(number) - number / 2 - number.sum() / 2
        return np.asarray(rank[column])


@dataclass(frozen=True)
class _Table:
    """What a first pass over a table shows."""

    by: list[str]
    values: Floats
    """The different values of all groups, in ascending order."""
    unanswered: dict[Key, dict[str, int]]
    """How many judgments of each group have no value, by status."""
    scales: dict[str, Scale]

    def _with_silent(self, sums: Iterable[tuple[Key, Sums]], nothing: Sums) -> dict[Key, Sums]:
        """The sums of groups, and nothing for those that may have no answer at all."""
        return dict.fromkeys(self.unanswered if self.by else [()], nothing) | dict(sums)


@dataclass(frozen=True)
class Encoded(_Table):
    """The answers of a table in memory as whole numbers, group by group."""

    questions: list[str]
    """The questions that the codes stand for."""
    parts: dict[Key, Coded]

    @classmethod
    def of(
        cls,
        query: pl.LazyFrame,
        frame: pl.DataFrame,
        by: list[str],
        scales: dict[str, Scale],
        sources: ItemSources | None = None,
        weights: RaterWeights | None = None,
        groups: RaterGroups | None = None,
    ) -> Encoded:
        """The groups of a frame; `query` tells the same rows with their status."""
        unanswered: dict[Key, dict[str, int]] = {}
        if frame["value"].null_count():
            unanswered = left_out_of(query, by)
            frame = frame.filter(pl.col("value").is_not_null())
        value = frame["value"].to_numpy()
        if not np.isfinite(value).all():
            raise not_finite(query)
        item, _ = numbered(frame["item"])
        unit = np.zeros(len(frame), dtype=np.int64) if "item" in by else item
        for column in UNIT[1:]:
            if column in frame.columns and column not in by:
                codes, count = numbered(frame[column])
                if count > 1:
                    unit, _ = dense(unit * count + codes)
        question, questions = _questions(frame) if scales else (None, [])
        source = None if sources is None else sources.codes(frame["item"])
        who = None if weights is None else weights.codes(frame["rater"])
        group = None if groups is None else groups.codes(frame["rater"])
        rater, items = numbered(frame["rater"])[0], None if unit is item else item
        part = Coded(unit, value, rater, items, question, source, group, who, weights)
        parts = _split(part, frame, by)
        return cls(by, distinct(value), unanswered, scales, questions, parts)

    def counts(self) -> dict[Key, Counts]:
        """The counts of each group, by key; without values that nobody in the group gave."""
        many = len(self.values) > FEW
        sums = ((key, part.counts(self.values, many=many)) for key, part in self.parts.items())
        return self._with_silent(sums, NO_COUNTS)

    def moments(self, *, ordinal: bool, kinds: bool) -> dict[Key, Moments]:
        """The moments of each group, of the values or of their mid-ranks; for any number of values (see `Streamed`)."""
        middle = centre(self.values)
        sums = (
            (key, part.moments(part.midranks(self.values) if ordinal else part.value - middle, kinds=kinds))
            for key, part in self.parts.items()
        )
        return self._with_silent(sums, NO_MOMENTS)

    def summary(self, *, paired: bool) -> dict[Key, dict[str, Any]]:
        """Items, raters and questions of each group; where `paired`, those of units with two answers."""
        summary: dict[Key, dict[str, Any]] = {}
        for key, part in self.parts.items():
            kept = (part.size >= 2)[part.unit] if paired else None
            counts = {"raters": len(_present(part.rater, kept)), "repeated": repeats(part.unit, part.rater)}
            if part.item is not None:
                counts["items"] = len(_present(part.item, kept))
            several = range(len(self.questions)) if part.question is None else _present(part.question, kept)
            summary[key] = {**counts, "questions": sorted(self.questions[i] for i in several)}
        return summary


def _questions(frame: pl.DataFrame) -> tuple[Ints | None, list[str]]:
    """The question of each answer, unless all are to one, and the names of the questions."""
    codes, count = numbered(frame["question"])
    first = np.zeros(count, dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    return (codes if count > 1 else None), frame["question"][first].to_list()


def _split(part: Coded, frame: pl.DataFrame, by: list[str]) -> dict[Key, Coded]:
    """The groups of a frame apart, by key."""
    if not by or not len(frame):
        return {(): part} if len(frame) else {}
    group = encode(frame, by)
    order = np.argsort(group, kind="stable")
    begin = np.flatnonzero(np.diff(group[order], prepend=-1))
    keys = frame.select(by)[order[begin]].iter_rows()
    return {key: part.rows(rows) for key, rows in zip(keys, np.split(order, begin[1:]), strict=True)}


def _present(codes: Ints, kept: NDArray[np.bool_] | None) -> list[int]:
    """The codes that occur, among the answers that are kept."""
    codes = codes if kept is None else codes[kept]
    return np.flatnonzero(np.bincount(codes)).tolist() if len(codes) else []


AT_ONCE: Final = 25_000_000
"""How many rows are aggregated in one pass; a longer table is read again for the next share of its items."""


@dataclass(frozen=True)
class Streamed(_Table):
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
        sums = self._lists() if len(self.values) > FEW else self._columns() if len(self.values) else ()
        return self._with_silent(sums, NO_COUNTS)

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

        return self._with_silent(((key, moments(part)) for key, part in self._parts(frame).items()), NO_MOMENTS)

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
        return frame.partition_by(self.by, as_dict=True) if self.by else {(): frame}

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
