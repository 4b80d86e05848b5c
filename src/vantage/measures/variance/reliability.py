"""Where the variance of answers comes from, and how reliable the mean of k answers is.

Generalisability theory (Cronbach, Gleser, Nanda and Rajaratnam 1972; Brennan 2001): the components of the variance of
items, raters and ways of asking say how reliable scores would be with other numbers of raters (a decision study).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any, Final, Literal, Unpack

import numpy as np
import polars as pl

from vantage.errors import InputError
from vantage.measures.audits.cards import COLUMN, UNKNOWN, Card, cards
from vantage.measures.base import measure, table
from vantage.measures.codes import encode
from vantage.measures.counts import Counts
from vantage.measures.intervals import OVER, Bootstrap, WeightedIntervalOptions, doubted, speaks_of_raters
from vantage.measures.kernel import Statistic
from vantage.measures.kinds import SEATS, are_seats
from vantage.measures.parts import Part, check_level, counts, names, parts
from vantage.measures.presentation import Column, Fact, View
from vantage.measures.rater_variance import several_items
from vantage.measures.ratings import ALONE, By, Floats, Judgments, by_columns
from vantage.measures.tables import CountedGroup, counted_groups
from vantage.measures.variance.one_rater import one_way_reliability, stepped_up
from vantage.measures.variance.variances import (
    Factor,
    VarianceDesign,
    crossed_codes,
    interval_of,
    shares,
    variance_draws,
)

CONSTANT: Final = "the answers do not vary"
ONCE: Final = "no rater answered twice, so that samples cannot be told from item × rater"
FEW: Final = "fewer than three items have two answers"
NORMAL_RATERS: Final = (
    "raters' severities are taken for normal; if a few raters lie far out, 95 % intervals hold the value in some 85 % "
    "of cases"
)
NEEDED: Final = ("needed", "needed_low", "needed_high", "needed_consistent")
VIEW: Final = View(
    "Reliability of the mean of k raters",
    columns={
        "estimate": Column("reliability", digits=2),
        "consistent": Column("with the same raters", digits=2, interval=("consistent_low", "consistent_high")),
        "needed": Column("raters needed", interval=("needed_low", "needed_high")),
        "variance": Column(digits=3),
    },
    chart="curve",
    chart_options={"x": "k", "x_label": "raters", "label": "reliability"},
    says=(
        Fact(
            "For a reliability of {target}, each item needs about {rows}.",
            row="{needed} raters[ on {group}] (95 % CI {needed_low} to {needed_high})",
        ),
    ),
    method="The reliability of means and the raters that an item needs follow from components of variance.",
    sources=("cronbach1972", "brennan2001"),
)


@measure("reliability", "reliability", view=VIEW, interval=("raters", "weights"))
def reliability(
    data: Judgments,
    *,
    by: By = (),
    show: Literal["means", "components"] = "means",
    trait: By = (),
    interaction: bool = True,
    presentations: bool = False,
    rater: str | Sequence[str] = (),
    target: float = 0.8,
    up_to: int = 10,
    samples: int = 1,
    **resampling: Unpack[WeightedIntervalOptions],
) -> pl.DataFrame:
    """The reliability of the mean of k = 1, 2 … `up_to` raters, the raters needed for a target, and the variances.

    `estimate` is the dependability of a mean of k answers to an item by other raters, σ²ᵢ / (σ²ᵢ + (σ²ᵣ + σ²ₑ)/k), and
    `needed` the smallest k that reaches `target`. It charges raters with all they differ by; `rater_share` is the part
    of the variance that is bias: some are always stricter. Bias does not matter where the same raters judge every
    item: `consistent` is the generalisability then, σ²ᵢ / (σ²ᵢ + σ²ₑ/k), and `needed_consistent` its k. With `samples`
    each rater answers so often, which can be told from item × rater only where raters answered repeatedly.

    Variances are those of restricted maximum likelihood, as in lme4. `show="components"` gives them: `item` (what is
    judged), `rater`, each `trait` (groups of raters differ on average) and `item × trait` (on certain items;
    `interaction`), `item × rater` where raters answered repeatedly (then the residual is the noise between
    repetitions), and `residual`; `estimate` is the share of the total.

    With `presentations`, by rater, the answers of each `rater` and scale are told apart by how the question was put
    (see `audit`): every factor of the presentation is a component, and so is its interaction with items; k counts
    answers, each in another presentation. These levels stay as they are, and intervals are over items.

    Other intervals are over items and raters, from draws of pivots (see `vantage.measures.variance.variances`), or
    over what `ci` says. Where raters cannot be told apart, because they are seats or no two of them share items, the
    reliability is that of a one-way analysis (Shrout and Fleiss 1979; Donner 1986), stepped up to k raters (Spearman
    1910; Brown 1910); so it is with `weights`, for a rater who is drawn by them.

    >>> ratings = [[1, 2, 3, 4, 5], [1, 3, 3, 4, 4], [2, 2, 3, 5, 5], [3, 2, 4, 1, 5]]
    >>> reliability(ratings, up_to=2, target=0.9).select("k", pl.col("estimate").round(2), "needed").rows()
    [(1, 0.55, 8), (2, 0.71, 8)]
    >>> reliability(ratings, show="components", ci="none").select("component", pl.col("variance").round(2)).rows()
    [('item', 1.13), ('rater', 0.0), ('residual', 0.93)]
    """
    if not 0 < target < 1:
        raise InputError(f"the target {target} is not between 0 and 1", remedy="use for example 0.8")
    if up_to < 1 or samples < 1:
        raise InputError("up_to and samples must be at least 1", remedy="use for example up_to 10 and samples 1")
    if presentations and "rater" not in by_columns(by):
        raise InputError("presentations are compared within raters", remedy="use by rater")
    how, sizes = Bootstrap(**resampling, over=OVER), range(1, up_to + 1)
    rows: list[dict[str, Any]] = []
    if how.weights is not None:
        for group, own in counted_groups(data, by, how, paired=True):
            rows += _one_way(group, own, target, sizes)
        return _result(rows, by)
    for one in _presented(data, rater) if presentations else _grouped(data, by, names(trait), interaction):
        if show == "components":
            made = one.components(how)
        elif one.problem is None or one.part is None:
            made = one.means(how, target, sizes, samples)
        else:
            over_items = replace(how, ci="none" if how.ci == "none" else "items")
            again = counted_groups(one.part.frame, (), over_items, paired=True)
            made = (row for group, own in again for row in _one_way(group, own, target, sizes))
        rows += [{**one.key, **row} for row in made]
    return _result(rows, ("rater", "scale") if presentations else by)


@dataclass(frozen=True)
class VarianceStudy:
    """The answers of one group with their factors: a generalisability study."""

    key: dict[str, Any]
    about: dict[str, Any]
    """What its rows rest on."""
    design: VarianceDesign
    problem: str | None
    part: Part | None = None

    def components(self, how: Bootstrap) -> Iterator[dict[str, Any]]:
        """One row for each component."""
        design, rows = self.design, dict.fromkeys(self.design.names, self.problem or CONSTANT)
        if self.problem is not None or np.ptp(design.value) == 0:
            yield from ({"component": name, **self.about, "reason": reason} for name, reason in rows.items())
            return
        share, draws = shares(design.variances[None])[0], self._draws(how)
        drawn = None if draws is None else shares(draws[0])
        for n, name in enumerate(design.names):
            levels = design.factors[n].levels if n < len(design.factors) else len(design.value)
            row = {"component": name, "variance": float(design.variances[n]), "levels": levels, **self.about}
            row["estimate"] = float(share[n])
            held = design.presented and " × " in name and not name.startswith("item × ")
            if drawn is not None and draws is not None and not held:
                row |= draws[1].stated(interval_of(drawn[:, n], float(share[n]), how.confidence))
            if name == "rater" and speaks_of_raters(row.get("over")):
                row["reason"] = NORMAL_RATERS
            yield doubted(row, design.factors[0].code, design.value) if name == "item" else row

    def means(self, how: Bootstrap, target: float, sizes: Sequence[int], samples: int) -> Iterator[dict[str, Any]]:
        """One row for each number of raters, or of answers."""
        design, reason = self.design, self.problem
        if reason is None and np.ptp(design.value) == 0:
            reason = CONSTANT
        if samples > 1 and "item × rater" not in design.names:
            reason = reason or ONCE
        draws = self._draws(how) if reason is None else None
        for k in sizes:
            row: dict[str, Any] = {"k": k, "target": target, **dict.fromkeys(NEEDED), **self.about, "reason": reason}
            if reason is not None:
                yield row
                continue
            every, consistent = _coefficients(design, design.variances[None], k, samples)[0].tolist()
            one = _coefficients(design, design.variances[None], 1, samples)[0].tolist()
            row |= {"needed": raters_for(target, one[0]), "needed_consistent": raters_for(target, one[1])}
            levels = [n for n, factor in enumerate(design.factors) if not factor.in_item]
            row |= {"rater_share": float(shares(design.variances[None])[0, levels].sum()), "estimate": every}
            row |= {"consistent": consistent, "consistent_low": None, "consistent_high": None}
            if draws is not None:
                drawn, chosen = draws
                ends = [
                    interval_of(side, value, how.confidence)
                    for side, value in zip(_coefficients(design, drawn, k, samples).T, (every, consistent), strict=True)
                ]
                least, most = interval_of(_coefficients(design, drawn, 1, samples)[:, 0], one[0], how.confidence)
                row |= {"needed_low": raters_for(target, most), "needed_high": raters_for(target, least)}
                row |= {**chosen.stated(ends[0]), "consistent_low": ends[1][0], "consistent_high": ends[1][1]}
            yield doubted(row, design.factors[0].code, design.value)

    def _draws(self, how: Bootstrap) -> tuple[Floats, Bootstrap] | None:
        """Draws of the variances, and what they are over."""
        if how.ci == "none":
            return None
        items = replace(how, ci="items")
        chosen = items if self.part is None else how.modelled(several_items(self.part.answered, None))
        return variance_draws(self.design, chosen.ci, seed=how.seed), chosen


def _grouped(data: Judgments, by: By, traits: list[str], interaction: bool) -> Iterator[VarianceStudy]:
    """The answers of each group, with raters, their traits and repetitions."""
    seats = SEATS if are_seats(data) else None
    for part in parts(data, by, extra=traits):
        check_level(part.scale(), part.frame, "a variance", distances=True)
        known = [pl.col(column).is_not_null() for column in traits]
        used = part.answered.filter(known) if known else part.answered
        about = counts(used, part.frame, no_trait=len(part.answered) - len(used))
        design = VarianceDesign.of(used, traits, interaction)
        yield VarianceStudy(part.key, about, design, seats or design.problem(), part)


def _presented(data: Judgments, rater: str | Sequence[str]) -> Iterator[VarianceStudy]:
    """The answers of each rater on each scale, with the factors of the presentation; those of people together."""
    for card in cards(data, rater):
        design = designed(card)
        yield VarianceStudy(card.key, card.counts, design, _problem(card, design))


def designed(card: Card) -> VarianceDesign:
    """The answers of a card with their level of every component."""
    frame, facets = card.frame, card.varied
    # The options of a reversed twin run backwards in the codes of the question.
    turned = pl.col("order").replace({"up": "down", "down": "up"})
    frame = frame.with_columns(
        pl.when(pl.col("direction") == "reversed").then(turned).otherwise(pl.col("order")).alias("order")
    )
    codes = {facet: encode(frame.with_columns(pl.col(facet).fill_null("")), [facet]) for facet in facets}
    if card.raters is not None:
        codes["rater"] = card.raters
    factors = [Factor.of("item", card.unit, True), *(Factor.of(name, code, False) for name, code in codes.items())]
    crossed = [Factor.of(f"item × {name}", crossed_codes(card.unit, code), True) for name, code in codes.items()]
    if len(facets) == 2:
        first, second = facets
        crossed.append(Factor.of(f"{first} × {second}", crossed_codes(codes[first], codes[second]), False))
    factors += [factor for factor in crossed if factor.levels < len(frame)]
    value = card.outcome.scored(card.value)
    return VarianceDesign(value - value.mean(), factors, presented=True)


def _problem(card: Card, design: VarianceDesign) -> str | None:
    if not card.outcome.ordered:
        return "the scale is nominal, so answers have no variance"
    if not card.varied and card.raters is None and design.factors[0].levels == len(design.value):
        unknown = card.frame[COLUMN].null_count() == len(card.frame)
        return UNKNOWN if unknown else "every item was answered once, in one presentation"
    return CONSTANT if np.ptp(design.value) == 0 else design.problem()


def _coefficients(design: VarianceDesign, variances: Floats, k: int, samples: int) -> Floats:
    """Dependability and generalisability of the mean of k raters, one row per row of variances."""
    item, disturbing, level = variances[:, 0], np.zeros(len(variances)), np.zeros(len(variances))
    for n, factor in enumerate(design.factors[1:], 1):
        if factor.in_item:
            disturbing = disturbing + variances[:, n]
        else:
            level = level + variances[:, n]
    disturbing = disturbing + variances[:, -1] / samples
    below = [item + (disturbing + level) / k, item + disturbing / k]
    return np.column_stack([item / np.maximum(one, 1e-300) for one in below])


def raters_for(target: float, reliability: float | None) -> int | None:
    """The smallest number of raters whose mean reaches the target; null where no number does.

    >>> raters_for(0.75, 0.5)
    3
    """
    if reliability is None or reliability <= 0:
        return None
    # A target that is met exactly must not need one more rater because of rounding.
    return max(1, ceil(target * (1 - reliability) / (reliability * (1 - target)) - 1e-9))


def _one_way(
    group: CountedGroup[Counts], how: Bootstrap, target: float, sizes: Sequence[int]
) -> Iterator[dict[str, Any]]:
    """The same where raters are not told apart, or are drawn by weights."""
    about: dict[str, Any] = {**group.row, "target": target, **dict.fromkeys(NEEDED)}
    if group.counts.units < 3:
        yield from ({**about, "k": k, "reason": FEW if group.counts.units else ALONE} for k in sizes)
        return
    group.level("interval")
    made = group.estimated(ONE_OF_MANY, how, CONSTANT)
    one, low, high = (made.get(name) for name in ("estimate", "low", "high"))
    needed = dict(zip(NEEDED[:3], (raters_for(target, rho) for rho in (one, high, low)), strict=True))
    for k in sizes:
        at_k = (None if rho is None else stepped_up(max(rho, 0.0), k) for rho in (one, low, high))
        stepped = dict(zip(("estimate", "low", "high"), at_k, strict=True))
        yield {**about, **made, **needed, "k": k, **stepped}


def _columns(table: Counts) -> Floats:
    moments = table.moments()
    n = moments.size
    return np.column_stack([np.ones(len(n)), n, n**2, moments.first, moments.squared / n, moments.second])


ONE_OF_MANY: Final = Statistic(_columns, one_way_reliability, (-1.0, 1.0), 2)
"""The reliability of one rater, of effective numbers of answers."""


def _result(rows: list[dict[str, Any]], by: By) -> pl.DataFrame:
    result = table(rows, names(by))
    return result.with_columns(pl.col(name).cast(pl.Int64) for name in NEEDED if name in result.columns)
