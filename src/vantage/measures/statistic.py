"""A measure from one function: what the answers to one unit amount to.

Grouping, intervals over items, sources, raters or both, `powered_by`, the columns of the result, the command line and
the docs follow from the function and from what is declared with it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import partial, wraps
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl

from vantage.measures.base import Recorded, measure, option, table
from vantage.measures.codes import dense, encode
from vantage.measures.counts import FEW, Counts, coarse_columns
from vantage.measures.intervals import LIMITS, OVER, Bootstrap, Limits, WeightedIntervalOptions
from vantage.measures.kernel import Statistic, mean
from vantage.measures.parts import Part
from vantage.measures.powered.contributions import Contribution
from vantage.measures.powered.estimate import Powered
from vantage.measures.presentation import PLAIN, View
from vantage.measures.ratings import UNIT, By, Floats, Judgments
from vantage.measures.resampling import per_item
from vantage.measures.tables import coarse as coarsened
from vantage.measures.tables import counted_groups

Coarse: TypeAlias = bool | Literal["sign"]
Rows: TypeAlias = Callable[..., Floats]
"""From the counts of units, and options, to a value for each unit, or to columns of whose sums the estimate is made."""


def statistic(
    name: str,
    family: str,
    view: View = PLAIN,
    *,
    limits: Limits = LIMITS,
    least: int = 1,
    of: Callable[[Floats], Floats] = mean,
    coarsens: bool = False,
    powered: bool = False,
    undefined: str | None = None,
) -> Callable[[Rows], Recorded[Any]]:
    """Registers as a measure what a function says of single units.

    The function takes the counts of units (`Counts`) and gives one value for each, whose mean is the estimate, or
    several columns, of whose sums `of` makes it. Its keyword options become those of the measure. Units with fewer than
    `least` answers are left out; `limits` are what the estimate never exceeds. With `coarsens` the measure takes
    `coarse`, and with `powered` it takes `powered_by`; `undefined` is the reason where there is no estimate.

    >>> @statistic("top-share", "variation", limits=(0.0, 1.0))
    ... def top_share(units: Counts) -> Floats:
    ...     '''The share of the most frequent answer to an item.'''
    ...     return units.dense.max(axis=1) / units.size
    >>> votes = [[1, 2, 1, 1], [1, 2, 2, 1], [2, 2, 3, 1]]
    >>> top_share(votes).select(pl.col("estimate", "low", "high").round(2)).row(0)
    (0.75, 0.25, 0.97)
    """

    def register(rows: Rows) -> Recorded[Any]:
        own = [p for p in inspect.signature(rows).parameters.values() if p.kind is p.KEYWORD_ONLY]

        def made(options: Mapping[str, Any]) -> Statistic:
            return Statistic(partial(rows, **{p.name: options[p.name] for p in own}), of, limits, least)

        def contributions(part: Part, options: Mapping[str, Any]) -> Iterator[Contribution]:
            yield from contribution(part, lambda _: made(options), options.get("coarse", False))

        @wraps(rows)
        def function(data: Judgments, *, by: By = (), **options: Any) -> pl.DataFrame:
            asked = {*WeightedIntervalOptions.__annotations__, "groups"} & options.keys()
            how = Bootstrap(**{key: options[key] for key in asked}, over=OVER)
            result: list[dict[str, Any]] = []
            for group, chosen in counted_groups(data, by, how, paired=least > 1):
                part = coarsened(group, options["coarse"])[0] if coarsens and group.counts.units else group
                result.append({**group.row, **part.estimated(made(options), chosen, undefined)})
            return table(result, by)

        kind = inspect.Parameter
        data = kind("data", kind.POSITIONAL_OR_KEYWORD, annotation="Judgments")
        shared = [option("by", (), "By"), *([option("coarse", False, "bool | Literal['sign']")] if coarsens else [])]
        interval = kind("resampling", kind.VAR_KEYWORD, annotation="Unpack[WeightedIntervalOptions]")
        declared = inspect.Signature([data, *shared, *own, interval])
        function.__signature__ = function.__declared__ = declared  # type: ignore[attr-defined]
        by_model = Powered(contributions) if powered else None
        return measure(name, family, view, powered=by_model, interval=("raters", "sources", "weights"))(function)

    return register


def contribution(
    part: Part, statistic_of: Callable[[Counts], Statistic], coarse: Coarse = False
) -> Iterator[Contribution]:
    """What each item adds to a statistic, from what its units add; nothing where no unit has enough answers."""
    answered = part.answered
    unit, units = dense(encode(answered, UNIT))
    values, column = np.unique(answered["value"].to_numpy(), return_inverse=True)
    column = column.ravel()
    if coarse is not False and len(answered):
        questions = answered["question"].unique().sort().to_list()
        names, merged = coarse_columns(values, coarse, part.scale(), questions)
        values, column = np.arange(len(names), dtype=np.float64), merged[column]
    counts = Counts.of_units(unit, column, values, units, many=len(values) > FEW)
    used = statistic_of(counts)
    enough = counts.size >= used.least
    if not enough.any():
        return
    if used.least > 1:
        counts = counts.rows(enough)
        used = statistic_of(counts)
    items = answered["item"].gather(np.unique(unit, return_index=True)[1]).filter(enough)
    columns = per_item(items, used.columns(counts))
    yield Contribution(items.unique().sort(), columns, used.of, limits=used.limits)
