"""Answers freed from the way of asking: the average over balanced presentations, as a rater of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from vantage.errors import InputError
from vantage.measures.audit.cards import Card, cards
from vantage.measures.audit.effects import varied
from vantage.measures.audit.regression import Shift, shifts
from vantage.measures.base import measure, table
from vantage.measures.codes import encode
from vantage.measures.presentation import Against, Column, View
from vantage.measures.ratings import UNIT, Judgments

if TYPE_CHECKING:
    from vantage.corpora import Corpus

SUFFIX: Final = "+balanced"
VIEW: Final = View(
    "How much closer to people the average over presentations is",
    columns={
        "estimate": Column("gain", digits=2, signed=True, interval=("low", "high")),
        "single": Column("one answer", digits=2),
        "balanced": Column("average over presentations", digits=2),
    },
    show=("rater", "scale", "single", "balanced", "estimate", "unit", "p"),
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
    method="Answers were averaged over presentations, each level counting the same.",
)


def balanced(corpus: Corpus, rater: str | Sequence[str] = ()) -> Corpus:
    """The corpus with a further rater `NAME+balanced` for each model that was asked in several presentations.

    Its answer is the mean over presentations, moved to where every level would count the same if some were used more
    often than others, and rounded to an option of the scale; on nominal scales it is the most frequent answer.

    >>> from vantage import Corpus, Instrument, Scale
    >>> frame = pl.DataFrame({"item": ["a", "a"], "question": "q", "rater": "bot", "sample": [0, 1],
    ...                       "value": [1.0, 3.0], "presentation": ["order=up", "order=down"]})
    >>> instrument = Instrument.of_questions("mine", "Mine", {"q": Scale.points(1, 5)})
    >>> raters = pl.DataFrame({"rater": ["bot"], "kind": ["model"]})
    >>> corpus = balanced(Corpus(pl.DataFrame({"item": ["a"]}), raters, frame, instrument))
    >>> corpus.judgments.filter(rater="bot+balanced").select("item", "value").rows()
    [('a', 2.0)]
    """
    made = [card for card in cards(corpus, rater) if card.varied and card.raters is None]
    if not made:
        raise InputError(
            "no model was asked in two presentations", remedy="ask again with vantage rate --vary, then balance"
        )
    judgments = pl.concat([averaged(card).with_columns(rater=pl.lit(card.rater + SUFFIX)) for card in made])
    names = list(dict.fromkeys(card.rater for card in made))
    raters = corpus.raters.filter(pl.col("rater").is_in(names)).with_columns(pl.col("rater") + SUFFIX)
    return corpus.add(judgments.with_columns(sample=pl.lit(0)), raters)


def averaged(card: Card) -> pl.DataFrame:
    """One answer per unit: the mean over presentations in which every level counts the same."""
    if not card.outcome.ordered:
        # Every presentation has one vote, however often it was used.
        once = card.frame.with_columns(__vote=1 / pl.len().over([*UNIT, "presentation"]))
        votes = once.group_by([*UNIT, "value"]).agg(pl.col("__vote").sum())
        order = [*UNIT, "__vote", "value"]
        return (
            votes.sort(order, descending=[False, False, False, True, False])
            .unique(UNIT, keep="first")
            .select(*UNIT, "value")
            .sort(UNIT)
        )
    value, columns = card.value, varied(card)
    if columns:
        design = np.column_stack([column.values for column in columns])
        found = shifts(value, design, card.unit, card.item, card.raters)
        slope = np.array([shift.estimate if isinstance(shift, Shift) else 0.0 for shift in found])
        value = value - (design - np.array([column.centre for column in columns])) @ slope
    means = card.frame.with_columns(value=value).group_by(UNIT).agg(pl.col("value").mean()).sort(UNIT)
    low, high = card.outcome.ends
    mean = means["value"].to_numpy().clip(low, high)
    if card.outcome.codes:
        codes = np.array(card.outcome.codes)
        # Halves go to the even place, so that rounding favours neither end.
        place = np.interp(mean, codes, np.arange(len(codes)))
        mean = codes[np.rint(place).astype(np.int64)]
    return means.with_columns(value=mean)


@measure("balanced-gain", "audit", view=VIEW, pools=False)
def balanced_gain(data: Judgments, *, rater: str | Sequence[str] = (), confidence: float = 0.95) -> pl.DataFrame:
    """How much closer to people is the average over balanced presentations than a single answer?

    `single` is the mean distance of a model's single answers from the mean answer of people, `balanced` that of its
    average over presentations (see `balanced`), `estimate` the first less the second, in points of the scale. On
    nominal scales the distance is the share of people who answered otherwise, in percentage points. The interval is
    over items, with these people.

    >>> frame = pl.DataFrame({"item": ["a", "a", "a", "b", "b", "b"], "rater": ["bot", "bot", "ann"] * 2,
    ...                       "sample": [0, 1, 0] * 2, "value": [1, 3, 2, 2, 4, 3],
    ...                       "kind": ["model", "model", "person"] * 2,
    ...                       "presentation": ["order=up", "order=down", None] * 2})
    >>> balanced_gain(frame).select("rater", "single", "balanced", "estimate").row(0)
    ('bot', 1.0, 0.0, 1.0)
    """
    rows: list[dict[str, Any]] = []
    for card in cards(data, rater):
        if card.raters is not None:
            continue
        row = {**card.key, "single": None, "balanced": None, "unit": card.outcome.unit, "p": None, **card.counts}
        if not card.varied or card.people.is_empty():
            why = (
                "no factor of the presentation was varied" if not card.varied else "there are no people to compare with"
            )
            rows.append({**row, "reason": why})
            continue
        away = _distances(card)
        one = away.group_by([*UNIT]).agg(pl.col("single").mean(), pl.col("balanced").first()).sort(UNIT)
        gain = (one["single"] - one["balanced"]).to_numpy()
        (shift,) = (
            shifts(gain, np.ones((len(gain), 1)), None, encode(one, ["item"])) if len(gain) else ("no common items",)
        )
        row |= {"single": one["single"].mean(), "balanced": one["balanced"].mean()}
        rows.append({**row, **({"reason": shift} if isinstance(shift, str) else shift.stated(confidence))})
    return table(rows, ("rater", "scale")).with_columns(pl.col("single", "balanced", "p").cast(pl.Float64))


def _distances(card: Card) -> pl.DataFrame:
    """The distance of every single answer and of the average from people, on the units that people answered."""
    average = averaged(card).rename({"value": "__average"})
    both = card.frame.select(*UNIT, "value").join(average, on=UNIT)
    if card.outcome.ordered:
        people = card.people.group_by(UNIT).agg(pl.col("value").mean().alias("__people"))
        reach = 100 / (card.outcome.codes[-1] - card.outcome.codes[0]) if card.outcome.shares else 1.0
        apart = [
            (reach * (pl.col(own) - pl.col("__people")).abs()).alias(name)
            for own, name in (("value", "single"), ("__average", "balanced"))
        ]
        return both.join(people, on=UNIT).with_columns(apart)
    votes = card.people.group_by([*UNIT, "value"]).len("__votes")
    total = card.people.group_by(UNIT).len("__all")
    both = both.join(total, on=UNIT)
    for own, name in (("value", "single"), ("__average", "balanced")):
        mine = votes.rename({"value": own, "__votes": f"__{name}"})
        both = both.join(mine, on=[*UNIT, own], how="left").with_columns(
            (100 * (1 - pl.col(f"__{name}").fill_null(0) / pl.col("__all"))).alias(name)
        )
    return both
