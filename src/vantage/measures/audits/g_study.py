"""Generalizability studies: how much of a rater's variance is due to items, and how much to the way of asking.

Variance components of items, presentations and their interactions with items (Cronbach, Gleser, Nanda and Rajaratnam
1972; Brennan 2001), by Henderson's Method I or by REML, and what follows for the reliability of answers. What averaging
over presentations gains is how much closer to people `MODEL+balanced` is than single answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil
from typing import Any, Final, Literal

import numpy as np
import polars as pl

from vantage.errors import InputError
from vantage.measures.aggregation.balanced import SUFFIX
from vantage.measures.audits.cards import COLUMN, UNKNOWN, Card, cards
from vantage.measures.audits.regression import shifts, stated
from vantage.measures.base import measure, table
from vantage.measures.codes import encode
from vantage.measures.intervals import PORTIONS, Bootstrap, Bounds, Resampled, Spread, interval
from vantage.measures.presentation import Against, Column, View
from vantage.measures.ratings import UNIT, Floats, Judgments, by_columns, judgments_frame
from vantage.measures.reliability.variance_design import Factor, VarianceDesign, crossed_codes, shares

GROUPS: Final = 30
"""In how many groups items are left out, at most."""
RESIDUAL: Final = "residual"

VIEW: Final = View(
    "Where the variance of a rater's answers comes from",
    columns={
        "estimate": Column("share", percent=True, digits=0),
        "variance": Column(digits=3),
        "dependability": Column(digits=2, interval=("dependability_low", "dependability_high")),
    },
    notes=(
        "Item is what the answers are meant to tell apart; the residual holds repetition and everything that was not "
        "varied on purpose.",
    ),
    method="A generalizability study separated the variance of items from that of presentations.",
    sources=("cronbach1972", "brennan2001"),
)

Show = Literal["components", "reliability"]


@measure("g-study", "audit", view=VIEW, pools=False)
def g_study(
    data: Judgments,
    *,
    rater: str | Sequence[str] = (),
    show: Show = "components",
    answers: Sequence[int] = (1, 2, 4, 8, 16),
    target: float = 0.8,
    estimator: Literal["moments", "reml"] = "moments",
    ci: Resampled = "auto",
    confidence: float = 0.95,
) -> pl.DataFrame:
    """What share of a rater's variance belongs to items, to the way of asking, and to chance?

    Each factor of the presentation with two levels or more is a facet; `item` is the item under its question.
    Components are item, every facet, item × facet, facet × facet where there are two of them, rater and item × rater
    on the card of people, and the residual: repetition, and higher interactions. An interaction that no two answers
    share is part of the residual. `moments` is Henderson's Method I, `reml` restricted maximum likelihood (see
    `components`).

    With `show="reliability"`, one row for each number of `answers` that are averaged, each in another presentation:
    `estimate` is the generalizability coefficient σ²ᵢ / (σ²ᵢ + σ²δ/n), where σ²δ is all that disturbs the order of
    items; `dependability` counts the levels of facets and raters as well. `needed` is how many answers reach the
    `target`. Intervals leave out items in turn; facets stay as they are.

    >>> rng = np.random.default_rng(0)
    >>> item, order, sample = (grid.ravel() for grid in np.indices((60, 2, 2)))
    >>> value = rng.normal(size=60)[item] + 0.5 * order + rng.normal(size=(60, 2))[item, order] * 0.5
    >>> frame = pl.DataFrame({"item": item, "rater": "bot", "sample": order * 2 + sample,
    ...                       "value": value + 0.3 * rng.normal(size=240),
    ...                       "presentation": pl.Series(["order=up", "order=down"])[order.tolist()]})
    >>> g_study(frame, ci="none").select("component", pl.col("variance").round(2)).rows()
    [('item', 0.7), ('order', 0.14), ('item × order', 0.24), ('residual', 0.1)]
    """
    if not 0 < target < 1:
        raise InputError(f"the target is {target}", remedy="give a reliability between 0 and 1, such as 0.8")
    if not answers or min(answers) < 1:
        raise InputError("answers must be whole numbers from 1 up", remedy="use for example 1,2,4")
    how = Bootstrap(ci, confidence=confidence)
    rows: list[dict[str, Any]] = []
    for card in cards(data, rater):
        base = {**card.key, **card.counts}
        design = designed(card)
        if (reason := _problem(card, design)) is not None:
            rows.append({**base, "component" if show == "components" else "answers_each": None, "reason": reason})
            continue
        variances = _estimated(design, estimator)
        left = _replicates(design, estimator) if how.ci == "items" else None
        made = _components(design, variances, left, confidence)
        if show == "reliability":
            made = _reliability(design.names, variances, left, confidence, answers, target)
        rows += [{**base, **row} for row in made]
    return table(rows, ("rater", "scale"))


def designed(card: Card) -> VarianceDesign:
    """The answers of a card with their level of every component."""
    frame, facets = card.frame, card.varied
    factors = [Factor.of("item", card.unit, True)]
    # The options of a reversed twin run backwards in the codes of the question.
    turned = pl.col("order").replace({"up": "down", "down": "up"})
    frame = frame.with_columns(
        pl.when(pl.col("direction") == "reversed").then(turned).otherwise(pl.col("order")).alias("order")
    )
    codes = {facet: encode(frame.with_columns(pl.col(facet).fill_null("")), [facet]) for facet in facets}
    if card.raters is not None:
        codes["rater"] = card.raters
    factors += [Factor.of(name, code, False) for name, code in codes.items()]
    crossed = [Factor.of(f"item × {name}", crossed_codes(card.unit, code), True) for name, code in codes.items()]
    if len(facets) == 2:
        first, second = facets
        crossed.append(Factor.of(f"{first} × {second}", crossed_codes(codes[first], codes[second]), False))
    factors += [factor for factor in crossed if factor.levels < len(frame)]
    value = card.outcome.scored(card.value)
    return VarianceDesign(value - value.mean(), factors)


def _problem(card: Card, design: VarianceDesign) -> str | None:
    if not card.outcome.ordered:
        return "the scale is nominal, so a variance means nothing"
    if not card.varied and card.raters is None and design.factors[0].levels == len(design.value):
        unknown = card.frame[COLUMN].null_count() == len(card.frame)
        return UNKNOWN if unknown else "every item was answered once, in one presentation"
    if np.ptp(design.value) == 0:
        return "the answers do not vary"
    return design.problem()


def _estimated(design: VarianceDesign, estimator: str) -> Floats:
    known = np.isfinite(design.variances).all()
    return design.likeliest() if estimator == "reml" and known else design.variances


def _replicates(design: VarianceDesign, estimator: str) -> Floats:
    """The variances without each group of items in turn."""
    group = design.factors[0].code % min(GROUPS, design.factors[0].levels)
    replicates = []
    for out in np.unique(group).tolist():
        kept = group != out
        factors = [Factor.of(one.name, one.code[kept], one.in_item) for one in design.factors]
        value = design.value[kept] - design.value[kept].mean()
        replicates.append(_estimated(VarianceDesign(value, factors), estimator))
    return np.array(replicates)


def _bounds(estimate: float, left: Floats, confidence: float) -> Bounds:
    """The bounds of a share or a reliability; a share that is estimated below zero still has a length.

    The interval of one that may be 0 reaches it.
    """
    low, high = interval(estimate, Spread.without(left), confidence)
    if low is None or high is None:
        return None, None
    if 0 < estimate < 1 and bool(np.all((left > 0) & (left < 1))):
        lowest, highest = interval(estimate, Spread.without(left, PORTIONS), confidence, PORTIONS)
        return (lowest if low > 0 else 0.0), highest
    return max(0.0, low), max(0.0, min(1.0, high))


def _unbiased(variances: Floats) -> Floats:
    """Shares of the total in which negative variances stay negative."""
    return np.asarray(variances / np.maximum(np.clip(variances, 0, None).sum(axis=1, keepdims=True), 1e-300))


def _components(
    design: VarianceDesign, variances: Floats, left: Floats | None, confidence: float
) -> Iterator[dict[str, Any]]:
    share, plain = shares(variances[None])[0], _unbiased(variances[None])[0]
    others = None if left is None else _unbiased(left)
    for n, name in enumerate(design.names):
        levels = design.factors[n].levels if n < len(design.factors) else len(design.value)
        low, high = (None, None) if others is None else _bounds(float(plain[n]), others[:, n], confidence)
        row = {"component": name, "variance": float(variances[n]), "levels": levels, "estimate": float(share[n])}
        yield {**row, "low": low, "high": high, "over": None if low is None else "items"}


def _reliability(
    names: list[str],
    variances: Floats,
    left: Floats | None,
    confidence: float,
    answers: Sequence[int],
    target: float,
) -> Iterator[dict[str, Any]]:
    relative = np.array([name == RESIDUAL or name.startswith("item ×") for name in names])
    absolute = np.array([name != "item" for name in names])
    item = names.index("item")

    def coefficients(variances: Floats, size: int, error: Any) -> Floats:
        kept = np.clip(variances, 0, None)
        noise = kept[:, error].sum(axis=1) / size
        return np.asarray(kept[:, item] / np.maximum(kept[:, item] + noise, 1e-300))

    positive = np.clip(variances, 0, None)
    needed = None
    if positive[item] > 0:
        needed = max(1, ceil(target / (1 - target) * positive[relative].sum() / positive[item] - 1e-9))
    for size in answers:
        row: dict[str, Any] = {"answers_each": size, "target": target, "needed": needed}
        for name, error in (("", relative), ("dependability", absolute)):
            estimate = float(coefficients(variances[None], size, error)[0])
            bounds = (None, None) if left is None else _bounds(estimate, coefficients(left, size, error), confidence)
            prefix = f"{name}_" if name else ""
            row |= {name or "estimate": estimate, f"{prefix}low": bounds[0], f"{prefix}high": bounds[1]}
        yield {**row, "over": None if row["low"] is None else "items"}


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
