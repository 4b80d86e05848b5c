"""Intraclass correlations: how much of the variance of the answers belongs to the items.

The six forms of Shrout and Fleiss (1979), with the intervals from the F distribution that McGraw and Wong
(1996) give for them, or from draws of the variances that know how much raters differ.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.measures.base import measure, table
from vantage.measures.codes import any_twice
from vantage.measures.intervals import OVER, Bootstrap, Bounds, Over, doubted
from vantage.measures.parts import Part, parts
from vantage.measures.presentation import Column, View
from vantage.measures.rater_variance import several_items
from vantage.measures.ratings import By, Floats, Judgments, Ratings, canonical
from vantage.measures.variance.variances import SEVERAL, VarianceDesign, interval_of, variance_draws

FORMS: Final = ("ICC(1,1)", "ICC(2,1)", "ICC(3,1)", "ICC(1,k)", "ICC(2,k)", "ICC(3,k)")
FEW_ITEMS: Final = "fewer than two items have answers"
ALONE: Final = "no item has two answers"
UNCONNECTED: Final = "the raters share too few items to tell raters, items and error apart"
ONE_RATER: Final = "the two-way forms need two raters"
ALIKE: Final = "all answers are the same, so there is no variance"
NESTED: Final = "no interval: the one-way forms cannot tell raters from items; use ci both"
NO_INTERVAL: Final = "no interval: too few degrees of freedom are left, or nobody differs within items"
UNLIKE: Final = "the items' means do not differ, so the mean of raters has no variance to share"


VIEW: Final = View(
    "Intraclass correlation",
    symbol="ICC",
    columns={"estimate": Column("ICC", digits=2)},
    notes=("Forms with 1 are the reliability of one rater, forms with k that of the mean of all raters.",),
    method="Reliability was measured by intraclass correlations (Shrout and Fleiss, 1979).",
    sources=("shrout1979",),
)


@measure("icc", family="agreement", view=VIEW)
def icc(data: Judgments, *, by: By = (), ci: Over = "auto", confidence: float = 0.95, seed: int = 0) -> pl.DataFrame:
    """Intraclass correlation: six forms, told apart by `form`, with their intervals.

    ICC(1,·): every item is answered by other raters; ICC(2,·): raters are a sample, and how high they answer
    matters (absolute agreement); ICC(3,·): these raters only, their levels set aside (consistency). ICC(·,1)
    is for a single rater, ICC(·,k) for the mean of the *k* raters of an item, or n₀ where items differ (Donner 1986).
    Where not every rater gave one answer to every item, the two-way forms come from components of variance.

    Intervals of complete tables come from the F distribution (McGraw and Wong 1996); with ten raters or more those of
    ICC(1,·) and ICC(2,·), and whatever `ci` asks for, from `vantage.measures.variance.variances`. They are over both,
    however few raters there are, and over items for ICC(3,·). The one-way forms have an interval over both only.

    >>> judges = [[9, 6, 8, 7, 10, 6], [2, 1, 4, 1, 5, 2], [5, 3, 6, 2, 6, 4], [8, 2, 8, 6, 9, 7]]
    >>> [round(estimate, 2) for estimate in icc(judges)["estimate"]]
    [0.17, 0.29, 0.71, 0.44, 0.62, 0.91]
    """
    how = Bootstrap(ci, confidence=confidence, seed=seed, over=OVER)
    return table([row for part in parts(data, by) for row in _rows(part, how)], by)


@dataclass(frozen=True, slots=True)
class Variance:
    """Mean squares of a one-way or two-way table, with *n* items and *k* answers each."""

    items: float
    within: float
    raters: float
    residual: float
    n: int
    k: float
    df_within: int

    @classmethod
    def one_way(cls, ratings: Ratings) -> Variance:
        """Between and within items, for any numbers of answers."""
        sizes = np.bincount(ratings.unit, minlength=ratings.units).astype(np.float64)
        x = _centred(ratings.value)
        means = np.bincount(ratings.unit, weights=x, minlength=ratings.units) / sizes
        total, n = sizes.sum(), len(sizes)
        df = int(total) - n
        squares = np.square(x - means[ratings.unit])
        return cls(
            items=_share(float(sizes @ np.square(means)), x) / (n - 1),
            within=_share(float(squares.sum()), x) / df,
            raters=0.0,
            residual=0.0,
            n=n,
            k=float((total - sizes @ sizes / total) / (n - 1)),
            df_within=df,
        )

    @classmethod
    def two_way(cls, answers: Floats) -> Variance:
        """Items, raters and residual of a complete table, one row per item and one column per rater."""
        n, k = answers.shape
        x = _centred(answers)
        of_items, of_raters = x.mean(axis=1, keepdims=True), x.mean(axis=0, keepdims=True)
        squares, df = np.square(x - of_items - of_raters), (n - 1) * (k - 1)
        return cls(
            items=_share(k * float(np.square(of_items).sum()), x) / (n - 1),
            within=_share(float(np.square(x - of_items).sum()), x) / (n * (k - 1)),
            raters=_share(n * float(np.square(of_raters).sum()), x) / (k - 1),
            residual=_share(float(squares.sum()), x) / df,
            n=n,
            k=k,
            df_within=n * (k - 1),
        )


def _centred(answers: Floats) -> Floats:
    """The answers around their mean; exactly zero where they are all the same."""
    apart = answers - answers.flat[0]
    return np.asarray(apart - apart.mean())


def _share(squares: float, x: Floats) -> float:
    """A sum of squares, without what rounding leaves of one that is zero."""
    return squares if squares > 1e-12 * float(np.square(x).sum()) else 0.0


def single(form: int, v: Variance) -> float:
    """The correlation for one rater in form 1, 2 or 3; NaN where there is no variance."""
    n, k = v.n, v.k
    if form == 1:
        above, below = v.items - v.within, v.items + (k - 1) * v.within
    elif form == 2:
        above = v.items - v.residual
        below = v.items + (k - 1) * v.residual + k * (v.raters - v.residual) / n
    else:
        above, below = v.items - v.residual, v.items + (k - 1) * v.residual
    return above / below if below > 0 else float("nan")


def mean_of(correlation: float, k: float) -> float | None:
    """The correlation for the mean of *k* raters (Spearman 1910, Brown 1910); null where it is without bound.

    >>> mean_of(0.5, 2)
    0.666...
    """
    below = 1 + (k - 1) * correlation
    return k * correlation / below if below > 1e-9 else None


def bounds(form: int, v: Variance, confidence: float) -> Bounds:
    """The interval of the correlation for one rater; null where nobody differs within items."""
    from scipy.special import fdtri

    high, n, k = (1 + confidence) / 2, v.n, v.k
    if form == 2:
        return _agreement_bounds(v, high)
    error, df = (v.within, v.df_within) if form == 1 else (v.residual, (n - 1) * (round(k) - 1))
    if error <= 0:
        return None, None
    ratio = v.items / error
    lower, upper = ratio / fdtri(n - 1, df, high), ratio * fdtri(df, n - 1, high)
    return float((lower - 1) / (lower + k - 1)), float((upper - 1) / (upper + k - 1))


FEW_DEGREES: Final = 0.05
"""Satterthwaite's degrees of freedom from which on an interval can be computed."""


def _agreement_bounds(v: Variance, high: float) -> Bounds:
    """The interval of ICC(2,1), with Satterthwaite's degrees of freedom."""
    from scipy.special import fdtri

    n, k, correlation = v.n, v.k, single(2, v)
    if v.residual <= 0 or np.isnan(correlation):
        return None, None
    ratio = v.raters / v.residual
    inner = n * (1 + (k - 1) * correlation) - k * correlation
    spread = (n - 1) * (k * correlation * ratio) ** 2 + inner**2
    df = (k - 1) * (n - 1) * (k * correlation * ratio + inner) ** 2 / spread if spread > 0 else 0.0
    # Quantiles run off to nought and to infinity as the degrees of freedom vanish; there is no interval then.
    quantiles = np.array([fdtri(n - 1, df, high), fdtri(df, n - 1, high)]) if df > FEW_DEGREES else np.zeros(2)
    if not (np.isfinite(quantiles).all() and quantiles.min() > 0):
        return None, None
    upper, lower = 1 / quantiles
    shared = k * v.raters + (k * n - k - n) * v.residual
    below = shared + n * v.items * upper, shared * lower + n * v.items
    if not (np.isfinite(below).all() and min(below) > 0):
        return None, None
    low, top = n * (v.items * upper - v.residual) / below[0], n * (v.items - v.residual * lower) / below[1]
    return float(low), float(top)


def _rows(part: Part, how: Bootstrap) -> list[dict[str, Any]]:
    ci, confidence, seed = how.ci, how.confidence, how.seed
    answered = part.answered
    if len(answered) and part.scale() is not None:
        part.level("interval")  # refuses means of a nominal scale
    ratings = canonical(answered).ratings
    few = FEW_ITEMS if ratings.units < 2 else ALONE if len(ratings) == ratings.units else None
    one_way = few or Variance.one_way(ratings)
    two_way = few or _two_way(ratings)
    # Of ten raters or more it shows how much they differ, which the formulas do not know.
    drawn = ci in ("items", "raters", "both") or (ci == "auto" and ratings.coders >= SEVERAL)
    gaps = None
    if isinstance(one_way, Variance) and (two_way is None or (drawn and isinstance(two_way, Variance))):
        gaps = IntraclassVariances.of(answered, one_way.k, ci, seed)
    note, about = part.note, part.counts
    because = how.modelled(several_items(answered, None)).because
    rows = []
    for name in FORMS:
        form, averaged = int(name[4]), name[6] == "k"
        design = one_way if form == 1 else two_way
        if form > 1 and two_way is None and gaps is not None:
            result = gaps.row(form, averaged, confidence)
        elif design is None or isinstance(design, str):
            result = {"reason": design}
        else:
            result = _form(form, averaged, design, gaps, ci, confidence)
        result["note"] = note if form == 1 else None
        if result.get("over") == "both":
            result["because"] = because
        rows.append({**part.key, "form": name, **about, **doubted(result, ratings.unit, ratings.value)})
    return rows


def _form(
    form: int, averaged: bool, design: Variance, gaps: IntraclassVariances | None, ci: str, confidence: float
) -> dict[str, Any]:
    """The columns of one form of a table without gaps."""
    one = single(form, design)
    if np.isnan(one):
        return {"reason": ALIKE}
    limits: list[float | None] = [one, *bounds(form, design, confidence)]
    estimate, low, high = (None if x is None else mean_of(x, design.k) for x in limits) if averaged else limits
    if estimate is None:
        return {"reason": UNLIKE}
    if ci == "none":
        return {"estimate": estimate}
    if form == 1 and ci in ("items", "raters"):
        return {"estimate": estimate, "reason": NESTED}
    if gaps is not None and gaps.known and ((ci != "auto" and form > 1) or (form < 3 and gaps.several)):
        return {"estimate": estimate, **gaps.interval(form, averaged, estimate, confidence)}
    reason = NO_INTERVAL if low is None and high is None else None
    over = None if low is None or high is None else "items" if form == 3 else "both"
    return {"estimate": estimate, "low": low, "high": high, "over": over, "reason": reason}


@dataclass(frozen=True, slots=True)
class IntraclassVariances:
    """The variances of items, raters and the rest, of which the forms are quotients.

    Used for tables with gaps, where `ci` asks for it, and for ten raters or more, which show how much they differ.
    """

    variances: Floats | None
    """Of items, raters, and all that is left; null where they cannot be told apart."""
    design: VarianceDesign
    k: float
    ci: str
    """What intervals are over; "auto" is what suits the form, "none" nothing."""
    seed: int
    draws: dict[str, Floats] = field(default_factory=dict)
    """Draws of the variances over items, raters or both, once they are needed."""

    @classmethod
    def of(cls, answered: pl.DataFrame, k: float, ci: str, seed: int) -> IntraclassVariances:
        """The components of a group."""
        design = VarianceDesign.of(answered)
        if design.problem() is not None:
            return cls(None, design, k, ci, seed)
        return cls(_three(design.variances[None])[0], design, k, ci, seed)

    @property
    def known(self) -> bool:
        """Whether the variances are known and not all zero."""
        return self.variances is not None and bool(self.variances.any())

    @property
    def several(self) -> bool:
        """Whether there are enough raters to see how much they differ."""
        return next(f.levels for f in self.design.factors if f.name == "rater") >= SEVERAL

    def row(self, form: int, averaged: bool, confidence: float) -> dict[str, Any]:
        """The columns of one form."""
        if self.variances is None:
            return {"reason": UNCONNECTED}
        if not self.known:
            return {"reason": ALIKE}
        estimate = float(self._correlation(self.variances[None], form, averaged)[0])
        return {"estimate": estimate, **self.interval(form, averaged, estimate, confidence)}

    def interval(self, form: int, averaged: bool, estimate: float, confidence: float) -> dict[str, Any]:
        """The bounds of one form, and what they are over."""
        if self.ci == "none":
            return {}
        over = self.ci if self.ci != "auto" else "items" if form == 3 else "both"
        if over not in self.draws:
            self.draws[over] = _three(variance_draws(self.design, over, seed=self.seed))
        low, high = interval_of(self._correlation(self.draws[over], form, averaged), estimate, confidence)
        return {"low": low, "high": high, "over": over}

    def _correlation(self, variances: Floats, form: int, averaged: bool) -> Floats:
        item, rater, error = variances.T
        others = (error + (rater if form < 3 else 0.0)) / (self.k if averaged else 1.0)
        return np.asarray(item / np.maximum(item + others, 1e-300))


def _three(variances: Floats) -> Floats:
    """The variances of items, of raters, and of all that is left."""
    return np.column_stack([variances[:, :2], variances[:, 2:].sum(axis=1)])


def _two_way(ratings: Ratings) -> Variance | str | None:
    """The two-way analysis, or why there is none; null where the table has gaps."""
    if ratings.coders < 2:
        return ONE_RATER
    cell = ratings.unit * ratings.coders + ratings.coder
    if len(ratings) != ratings.units * ratings.coders or any_twice(cell):
        return None
    answers = np.empty(len(cell))
    answers[cell] = ratings.value
    return Variance.two_way(answers.reshape(ratings.units, ratings.coders))
