"""How much closer to people the average over presentations, `MODEL+balanced`, is than single answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.measures.aggregation.balanced import SUFFIX
from vantage.measures.audits.cards import Card, cards
from vantage.measures.audits.regression import shifts, stated
from vantage.measures.base import measure, table
from vantage.measures.codes import encode
from vantage.measures.presentation import Against, Column, View
from vantage.measures.ratings import UNIT, Judgments, by_columns, judgments_frame

GAIN_VIEW: Final = View(
    "How much closer to people the average over presentations is",
    columns={
        "estimate": Column("gain", digits=2, signed=True, interval=("low", "high")),
        "single": Column("one answer", digits=2),
        "balanced": Column("average over presentations", digits=2),
    },
    show=("rater", "scale", "single", "balanced", "estimate", "unit", "p", "reason"),
    notes=(
        "Distances are from the mean answer of people, in points of the scale; on nominal scales, how many people "
        "answered otherwise, in percent.",
    ),
    says=(
        Against(
            0.0,
            above="An average over presentations is closer to people than a single answer: {rows}",
            below="An average over presentations is farther from people than a single answer: {rows}",
            within="An average over presentations is about as close to people as a single answer: {rows}",
            p="p",
            label="{rater}",
            result="{estimate} {unit}, 95 % CI {low} to {high}",
        ),
    ),
    method="Answers were averaged over presentations, each counting the same.",
)


@measure("balanced-gain", "audit", view=GAIN_VIEW, pools=False)
def balanced_gain(data: Judgments, *, rater: str | Sequence[str] = (), confidence: float = 0.95) -> pl.DataFrame:
    """How much closer to people is the average over presentations than a single answer?

    The average is the rater `NAME+balanced` (`vantage rate --vary … --balanced`, or `balanced`). `single` is the mean
    distance of single answers from the mean answer of people, `balanced` that of the average, `estimate` the
    first less the second, in points of the scale. On nominal scales the distance is the share of people who answered
    otherwise, in percentage points. The interval is over items, with these people.

    >>> frame = pl.DataFrame({"item": ["a", "a", "a", "a", "b", "b", "b", "b"],
    ...                       "rater": ["bot", "bot", "bot+balanced", "ann"] * 2,
    ...                       "sample": [0, 1, 0, 0] * 2, "value": [1, 3, 2, 2, 2, 4, 3, 3],
    ...                       "kind": ["model", "model", "model", "person"] * 2})
    >>> balanced_gain(frame).select("rater", "single", "balanced", "estimate").row(0)
    ('bot', 1.0, 0.0, 1.0)
    """
    there = judgments_frame(data)["rater"].cast(pl.String).unique().sort().to_list()
    chosen = by_columns(rater) or [name.removesuffix(SUFFIX) for name in there if name.endswith(SUFFIX)]
    rows: list[dict[str, Any]] = []
    for name in chosen:
        averages = {card.outcome: card for card in cards(data, name + SUFFIX)} if name + SUFFIX in there else {}
        for card in cards(data, name):
            unit = {"single": None, "balanced": None, "unit": card.outcome.unit, "p": None}
            gained = _gained(card, averages.get(card.outcome), confidence)
            rows.append({**card.key, **unit, **card.counts, **gained})
    return table(rows, ("rater", "scale")).with_columns(
        pl.col(name).cast(pl.Float64) for name in (("single", "balanced", "p") if rows else ())
    )


def _gained(card: Card, average: Card | None, confidence: float) -> dict[str, Any]:
    if average is None:
        return {"reason": f"there is no rater '{card.rater}{SUFFIX}', the average over presentations"}
    if card.people.is_empty():
        return {"reason": "there are no people to compare with"}
    single, mean = (_distance(one).group_by(UNIT).agg(pl.col("__apart").mean()) for one in (card, average))
    both = single.join(mean, on=UNIT, suffix="_mean").sort(UNIT)
    if both.is_empty():
        return {"reason": "people answered other items"}
    gain = (both["__apart"] - both["__apart_mean"]).to_numpy()
    (shift,) = shifts(gain, np.ones((len(gain), 1)), None, encode(both, ["item"]))
    known = {"single": both["__apart"].mean(), "balanced": both["__apart_mean"].mean()}
    return known | ({"reason": shift} if isinstance(shift, str) else stated(shift, confidence))


def _distance(card: Card) -> pl.DataFrame:
    """The distance of every answer from people, on the units that people answered."""
    if card.outcome.ordered:
        people = card.people.group_by(UNIT).agg(pl.col("value").mean().alias("__people"))
        reach = card.outcome.width / ((card.outcome.ends[1] - card.outcome.ends[0]) or 1.0)
        apart = reach * (pl.col("value") - pl.col("__people")).abs()
        return card.frame.join(people, on=UNIT).with_columns(apart.alias("__apart"))
    votes = card.people.group_by([*UNIT, "value"]).len("__votes")
    mine = card.frame.join(card.people.group_by(UNIT).len("__all"), on=UNIT).join(
        votes, on=[*UNIT, "value"], how="left"
    )
    return mine.with_columns((100 * (1 - pl.col("__votes").fill_null(0) / pl.col("__all"))).alias("__apart"))
