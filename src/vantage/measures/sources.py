"""From a table to the counts of each group, in one of two ways.

A table in memory is numbered and added up in plain arrays (`Encoded`), which is the faster way. A lazy frame,
and a frame too large to be numbered in little memory, is aggregated as it streams by (`Streamed`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, Generic, TypeAlias

import numpy as np
import polars as pl

from vantage.measures.counts import Counts, Moments, centre, coarse_columns
from vantage.measures.intervals import NOT_HELD, Bootstrap
from vantage.measures.kernel import Answers, Statistic, bounds
from vantage.measures.missing import Gap, allocated, gaps
from vantage.measures.ratings import (
    ALONE,
    CODER,
    REPEATED,
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
    level_of,
    one_scale,
    scales_of,
)
from vantage.measures.tables import Encoded, Streamed, Sums
from vantage.scales import Level, Scale, show_code

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


def source_groups(source: Source, sums: dict[Key, Sums], *, paired: bool) -> Iterator[CountedGroup[Sums]]:
    """Counts or moments of each group in turn, in the order of their keys, with all that a row of a result needs.

    With `paired`, units with a single answer are left out and counted as `unpaired`.

    >>> source = source_of({"item": [*"aabbc"], "rater": [*"xyxyx"], "value": [1, 2, 1, 2, 2]})
    >>> group, = source_groups(source, source.counts(), paired=True)
    >>> group.counts.table.tolist(), group.counts.multiplicity.tolist(), group.left_out
    ([[1.0, 1.0]], [2], {'unpaired': 1})
    """
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
    sums: Any = source.counts() if moments is None else moments
    for counted in source_groups(source, sums, paired=paired):
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
