"""From a table to the counts of each group, with all that a row of a result needs.

The units, raters and values of a table in memory are numbered once (`Encoded`); sums over units are then sums over
whole numbers, a few passes of plain arrays. A lazy frame, and one too large to be numbered in little memory, is
aggregated as it streams by (`Streamed`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, Generic, TypeAlias, TypeVar, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from vantage.measures.codes import dense, distinct, encode, numbered, positions
from vantage.measures.counts import FEW, Counts, Moments, centre, coarse_columns
from vantage.measures.intervals import NOT_HELD, Bootstrap
from vantage.measures.kernel import Answers, Statistic, bounds
from vantage.measures.missing import Gap, allocated, gaps
from vantage.measures.ratings import (
    ALONE,
    CODER,
    REPEATED,
    UNIT,
    By,
    Floats,
    Ints,
    ItemSources,
    Judgments,
    Key,
    RaterGroups,
    RaterWeights,
    by_columns,
    judgments_query,
    key_order,
    left_out_of,
    level_of,
    not_finite,
    one_scale,
    repeats,
    scales_of,
)
from vantage.measures.streamed import Passed, Streamed
from vantage.scales import Level, Scale, show_code

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
class Encoded(Passed):
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
        return {key: part.counts(self.values, many=many) for key, part in self.parts.items()}

    def moments(self, *, ordinal: bool, kinds: bool) -> dict[Key, Moments]:
        """The moments of each group, of the values or of their mid-ranks; for any number of values (see `Streamed`)."""
        middle = centre(self.values)
        return {
            key: part.moments(part.midranks(self.values) if ordinal else part.value - middle, kinds=kinds)
            for key, part in self.parts.items()
        }

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


NOBODY: Final = "no item has an answer"
AT_HAND: Final = 5_000_000
"""A table in memory with more rows than that is streamed."""


Source: TypeAlias = Encoded | Streamed
"""The answers of a table, with its groups, its values and the number of missing answers."""


def source_of(
    data: Judgments,
    by: By = (),
    sources: ItemSources | None = None,
    weights: RaterWeights | None = None,
    groups: RaterGroups | None = None,
    *,
    held: bool = False,
) -> Source:
    """The table in the form that is right for its size; in memory where it must be `held`.

    >>> type(source_of({"item": [1, 1], "rater": [1, 2], "value": [0, 1]})).__name__
    'Encoded'
    """
    columns = by_columns(by)
    query, scales = judgments_query(data, columns), scales_of(data)
    if isinstance(data, pl.LazyFrame) and not held:
        return Streamed.of(query, columns, scales)
    # The status matters only where a value is missing; a plain table has none until then.
    wanted = [column for column in query.collect_schema() if column in columns or column not in ("status", CODER[1])]
    frame = query.select(wanted).collect()
    if len(frame) > AT_HAND and not held:
        return Streamed.of(query, columns, scales)
    return Encoded.of(query, frame, columns, scales, sources, weights, groups)


@dataclass(frozen=True)
class CountedGroup(Generic[Sums]):
    """One row of a result before it is computed: the group's key, its counts, and what was left out."""

    key: dict[str, Any]
    counts: Sums
    items: int
    raters: int
    left_out: dict[str, int]
    scale: Scale | None
    questions: list[str]
    repeated: bool
    """Whether one of several raters answered a unit more than once."""
    answers: Answers | None = None
    """The answers by rater, where the interval is over raters or over more than single units."""
    gap: Gap | None = None
    """What is missing, where something is."""
    allocation: str | None = None
    """What to say of agreement where items went to raters by what these would say of them."""

    @property
    def row(self) -> dict[str, Any]:
        """The key and the common columns of the group's row."""
        return {
            **self.key,
            "items": self.items,
            "raters": self.raters,
            "judgments": self.counts.total,
            "left_out": self.left_out,
            "note": "; ".join(note for note in self.notes if note) or None,
        }

    @property
    def notes(self) -> tuple[str | None, ...]:
        """What may make the estimate answer another question than the one that was meant."""
        return REPEATED if self.repeated else None, None if self.gap is None else self.gap.note, self.allocation

    def level(self, asked: Level | None) -> Level:
        """The level of measurement to use: as asked where the scale allows it, else the scale's own."""
        return level_of(self.scale, asked, self.questions)

    def merged(self: CountedGroup[Counts], column: Ints, values: Floats) -> CountedGroup[Counts]:
        """The group with other values: what was value *c* is now `values[column[c]]`."""
        answers = None if self.answers is None else self.answers.merged(column, values)
        return replace(self, counts=self.counts.merged(column, values), answers=answers)

    def estimated(self, statistic: Statistic, how: Bootstrap, undefined: str | None = None) -> dict[str, Any]:
        """The estimate of a statistic with its interval, as columns of the group's row; or why there is none."""
        if not self.counts.units:
            return {"estimate": None, "reason": ALONE if statistic.least > 1 else NOBODY}
        estimate = statistic.estimate(self.counts)
        if not np.isfinite(estimate):
            return {"estimate": None, "reason": undefined}
        return {"estimate": estimate, "reason": None, **bounds(statistic, self.counts, self.answers, how)}


def source_groups(
    source: Source, sums: dict[Key, Sums], nothing: Sums, *, paired: bool
) -> Iterator[CountedGroup[Sums]]:
    """Counts or moments of each group in turn, in the order of their keys, with all that a row of a result needs.

    A group without an answer has `nothing`. With `paired`, units with a single answer are left out and counted as
    `unpaired`.

    >>> source = source_of({"item": [*"aabbc"], "rater": [*"xyxyx"], "value": [1, 2, 1, 2, 2]})
    >>> group, = source_groups(source, source.counts(), NO_COUNTS, paired=True)
    >>> group.counts.table.tolist(), group.counts.multiplicity.tolist(), group.left_out
    ([[1.0, 1.0]], [2], {'unpaired': 1})
    """
    sums = dict.fromkeys(source.unanswered if source.by else [()], nothing) | sums
    kept = {key: group.paired() for key, group in sums.items()} if paired else sums
    unpaired = {key: group.units - kept[key].units for key, group in sums.items()}
    summary = source.summary(paired=any(unpaired.values())) if len(source.values) else {}
    for key in sorted(sums, key=key_order):
        left_out = dict(source.unanswered.get(key, {}))
        if unpaired[key]:
            left_out["unpaired"] = unpaired[key]
        known = summary.get(key, {})
        named = dict(zip(source.by, key, strict=True))
        questions = known.get("questions") or []
        scale = one_scale(questions, source.scales, named) if questions else None
        items = known.get("items", kept[key].units)
        raters, repeated = known.get("raters", 0), known.get("repeated", False)
        yield CountedGroup(named, kept[key], items, raters, left_out, scale, questions, repeated)


def source_for(data: Judgments, by: By, how: Bootstrap) -> Source:
    """The table in the form that an interval needs: over raters and over sources, and with weights, it is held."""
    held = how.ci in ("raters", "both") or how.sources is not None or how.weights is not None
    return source_of(data, by, how.item_sources, how.rater_weights, how.groups, held=held)


def counted_groups(
    data: Judgments,
    by: By,
    how: Bootstrap,
    *,
    paired: bool = False,
    agreement: bool = False,
    source: Source | None = None,
    moments: dict[Key, Moments] | None = None,
) -> Iterator[tuple[CountedGroup[Any], Bootstrap]]:
    """The counts of each group, or its `moments`, with how its interval is made, and all that it needs for that.

    Left to itself, the interval of a table that is streamed is over items, since its raters are not held. Measures of
    `agreement` say where items went to raters by what these would say of them.
    """
    source = source or source_for(data, by, how)
    missing = gaps(data, by) if source.unanswered else {}
    sums: Any = (source.counts(), NO_COUNTS) if moments is None else (moments, NO_MOMENTS)
    for counted in source_groups(source, *sums, paired=paired):
        key = tuple(counted.key.values())
        group = replace(counted, gap=missing.get(key))
        if not isinstance(source, Encoded):
            yield group, replace(how, ci="items", because=NOT_HELD) if how.ci == "auto" else how
            continue
        part = source.parts.get(key)
        chosen = how.chosen(0 if part is None else part.several)
        if part is not None:
            if (agreement or paired) and (group.scale is None or group.scale.has_distances):
                group = replace(group, allocation=allocated(part.unit, part.rater, part.value))
            alone = chosen.ci == "items" and part.item is None and part.source is None
            if not alone and chosen.ci != "none":
                ranks = None if moments is None else source.values - centre(source.values)
                values = counted.counts.values if moments is None else source.values
                group = replace(group, answers=part.answers(values, ranks))
        yield group, chosen


def coarse(group: CountedGroup[Counts], how: bool | str) -> tuple[CountedGroup[Counts], list[str]]:
    """The group with its values replaced by coarse ones, and the names of the coarse values.

    `how` is false for the values as they are, true for the bands of the scale, "sign" for the sign.
    """
    values = group.counts.values
    if how is False:
        return group, [show_code(value) for value in values.tolist()]
    names, column = coarse_columns(values, how, group.scale, group.questions)
    return group.merged(column, np.arange(len(names), dtype=np.float64)), names
