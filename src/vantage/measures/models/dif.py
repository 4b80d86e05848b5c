"""Differential item functioning (`vantage.measures.dif`): which items a group reads differently, given its severity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal

import numpy as np
import polars as pl
from scipy.special import chdtrc, ndtri

from vantage.errors import InputError
from vantage.measures.base import measure, table
from vantage.measures.models.crossed import Crossed
from vantage.measures.models.explain import MANY_POINTS, one_question
from vantage.measures.models.facets import Facets
from vantage.measures.models.gaussian import Gaussian
from vantage.measures.multiplicity import Correction, adjusted
from vantage.measures.parts import Part, check_level, counts, names, parts, two_values
from vantage.measures.presentation import Against, Column, View
from vantage.measures.ratings import SAMPLED, By, Floats, Ints, Judgments, has_column, on_repeats

FOUND: Final = 0.05
"""Items below this share of false discoveries are counted as different."""
LEAST: Final = 0.05
"""Answers have at least this share of the variance that the model expects."""
UNEQUAL: Final = 1.5
NOISIER: Final = (
    "one group scatters {:.1f} times as much as the other, and the test of all items together then rejects in some "
    "10 % of cases instead of 5; tests of single items keep their size"
)
"""What is said of the test of all items where one group scatters more than UNEQUAL times as much."""
FARTHEST: Final = 12.0
"""The farthest location considered, in logits."""

VIEW: Final = View(
    "Items that two groups read differently",
    columns={
        "estimate": Column("difference", digits=2, signed=True, interval=("low", "high")),
        "logits": Column(digits=2, signed=True),
        "p_adjusted": Column("p (corrected)", digits=3),
    },
    show=("item", "text", "first", "second", "estimate", "logits", "p", "p_adjusted", "judgments"),
    notes=("Differences are in points of the scale, beyond the two groups' general severity.",),
    says=(
        Against(
            0.0,
            above="{first} rate higher than {second}, given their severity: {rows}",
            below="{first} rate lower than {second}, given their severity: {rows}",
            p="p",
            label="{item}",
        ),
    ),
    method="Score tests in a rating scale model looked for differential item functioning (correction: {correction}).",
    sources=("holland1993", "benjamini1995"),
)


_OF_ITEMS: Final = (
    "item", "text", "estimate", "low", "high", "over", "logits", "se", "p", "p_adjusted", "reason", "first_answers",
    "second_answers",
)  # fmt: skip


@measure("dif", "models", view=VIEW, pools=False)
def dif(
    data: Judgments,
    *,
    by: By = (),
    between: str,
    values: Sequence[Any] | None = None,
    question: str | None = None,
    correction: Correction = "bh",
    show: Literal["items", "invariance"] = "items",
    confidence: float = 0.95,
) -> pl.DataFrame:
    """Which items do two groups rate differently, given how severe their raters are in general?

    `between` is a trait, `kind` (people against models) or `rater`; of more than two values, `values` names two. All
    raters are placed on one scale (see `facets`; by a linear model where the scale has more than twenty points), which
    takes their severity out. Then each item's location is compared between the two groups by a score test,
    χ² = (U₁/V₁ − U₂/V₂)² / (W₁/V₁² + W₂/V₂²), where V is the information of the model and W the variance that the
    scores of a group have. What a group does to all items is taken out. `estimate` is
    the difference of the mean answers that raters of equal severity would give, in points of the scale, `logits` the
    same on the scale of locations, and `shift` the difference in general severity (second group less first).
    `p_adjusted` bounds the share of false discoveries (Benjamini and Hochberg 1995). `show="invariance"` has one row:
    how many items differ, and the test that none does.

    >>> rng = np.random.default_rng(0)
    >>> item, rater = (grid.ravel() for grid in np.indices((30, 40)))
    >>> latent = rng.normal(size=30)[item] + 3.0 * ((item == 12) & (rater < 20)) + rng.logistic(size=1200)
    >>> value = np.digitize(latent, [-1.0, 1.0])
    >>> frame = pl.DataFrame({"item": item, "rater": rater, "value": value, "group": np.where(rater < 20, "a", "b")})
    >>> dif(frame, between="group").filter(pl.col("p_adjusted") < 0.05)["item"].to_list()
    [12]
    """
    extra = [between, *(column for column in ("kind", "text") if has_column(data, column) and column != between)]
    groupings: list[tuple[list[dict[str, Any]], float]] = []
    for part in parts(data, by, extra=extra):
        chosen = part if question is None else one_question(part, question)
        first, second = two_values(chosen.answered, between, values)
        made, noisier = _compared(chosen, between, (first, second), confidence)
        groupings.append(([{**part.key, **row} for row in made], noisier))
    rows = [row for made, _ in groupings for row in made]
    for row, p in zip(rows, adjusted([row["p"] for row in rows], correction), strict=True):
        row["p_adjusted"] = p
    if show == "invariance":
        return table([_invariance(*one) for one in groupings], names(by))
    return table(rows, names(by)).with_columns(pl.col("p", "p_adjusted").cast(pl.Float64))


def _compared(
    part: Part, between: str, groups: tuple[Any, Any], confidence: float
) -> tuple[list[dict[str, Any]], float]:
    """One row per item that both groups rated, and how many times as much one group scatters as the other."""
    many = part.answered["value"].n_unique() > MANY_POINTS
    scored = _Linear(part) if many else _Ordinal(part)
    frame = scored.frame
    side = np.where((frame[between] == groups[0]).fill_null(value=False).to_numpy(), 0, 2)
    side[(frame[between] == groups[1]).fill_null(value=False).to_numpy()] = 1
    there = side < 2
    item, size = scored.item, scored.size
    both = (np.bincount(item[side == 0], minlength=size) > 0) & (np.bincount(item[side == 1], minlength=size) > 0)
    if not both.any():
        raise InputError(
            f"no item was rated by both '{groups[0]}' and '{groups[1]}'",
            remedy="choose other values, or another column",
        )
    weight = (side < 2).astype(np.float64)
    for _ in range(3):
        location, moved = scored.locations(weight)
        residual, variance = scored.residuals(location)
        scatter = _scatter(item, side, residual, variance)
        u, v, w = (
            np.stack([np.bincount(item[side == g], x[side == g], size) for g in (0, 1)])
            for x in (residual, variance, scatter)
        )
        v, w = np.maximum(v, 1e-300), np.maximum(w, 1e-300)
        # With answers weighted by their group's precision, errors of locations and differences are uncorrelated.
        weight = np.where(side < 2, (v / w)[np.minimum(side, 1), item], 0.0)
    logits = np.where(both, u[0] / v[0] - u[1] / v[1], 0.0)
    se = np.where(both, np.sqrt((w / v**2).sum(axis=0)), 1.0)
    general, se = _use_of_scale(location, logits, se, both & moved)
    logits = logits - general
    shares = v[1] / v.sum(axis=0)
    reach = float(ndtri((1 + confidence) / 2))
    points = [scored.points(location, shares, logits + step * reach * se) for step in (0, -1, 1)]
    severity = [float(scored.severity[side == g].mean()) for g in (0, 1)]
    shift = severity[1] - severity[0] if scored.connected else None
    labels = _labels(frame, item, size)
    answers = [np.bincount(item[side == g], minlength=size) for g in (0, 1)]
    common = {**counts(frame.filter(there), part.frame), "note": on_repeats(frame, SAMPLED)}
    rows = []
    for n in np.flatnonzero(both).tolist():
        row = {**labels[n], "first": str(groups[0]), "second": str(groups[1])}
        row |= {"statistic": None, "first_answers": int(answers[0][n]), "second_answers": int(answers[1][n])}
        row |= {"shift": shift, **common, "judgments": int(answers[0][n] + answers[1][n])}
        if not moved[n]:
            rows.append({**row, "p": None, "reason": "everyone gave the same answer, at one end of the scale"})
            continue
        row["statistic"] = float((logits[n] / se[n]) ** 2)
        p = float(chdtrc(1, row["statistic"]))
        ends = {"estimate": points[0][n], "low": points[1][n], "high": points[2][n], "logits": logits[n], "se": se[n]}
        rows.append({**row, **{name: float(value) for name, value in ends.items()}, "over": "raters", "p": p})
    first, second = w.sum(axis=1) / v.sum(axis=1)
    return rows, float(max(first / second, second / first))


def _scatter(item: Ints, side: Ints, residual: Floats, variance: Floats) -> Floats:
    """The variance of each answer given its item and group: α + βv, where v is what the model expects.

    In a group whose answers scatter more, those about items at the ends of the scale scatter more still.
    """
    from scipy.optimize import nnls

    scatter = variance.copy()
    for g in (0, 1):
        mine = side == g
        # Where a group never answered an item twice, as a single model, all answers to the item show its place.
        mates = mine if np.bincount(item[mine]).max() > 1 else side < 2
        code, v, size = item[mine], variance[mine], int(item.max()) + 1
        own = v / np.maximum(np.bincount(item[mates], variance[mates], size), 1e-300)[code]
        left = residual[mine] - own * np.bincount(item[mates], residual[mates], size)[code]
        shared = np.maximum(1 - own, 0.0)
        columns = np.column_stack([np.full(len(v), v.mean()), v])
        coefficients, _ = nnls(columns * shared[:, None], np.square(left))
        scatter[mine] = np.maximum(columns @ coefficients, LEAST * v)
    return scatter


def _use_of_scale(location: Floats, logits: Floats, se: Floats, there: Any) -> tuple[Floats, Floats]:
    """The difference that two ways of using the scale make, and the standard errors of what lies beyond it.

    It is a shift, and a slope where one group spreads items more. Each item is held against the line of the others, and
    items that lie far off have no part in any line.
    """
    general, near, wider = np.zeros(len(location)), there, np.ones(len(location))
    for _ in range(4 if there.sum() > 5 else 0):
        if near.sum() <= 5:
            break
        powers = np.column_stack([np.ones(len(location)), location])
        x = powers / se[:, None]
        inverse = np.linalg.pinv(x[near].T @ x[near])
        general = powers @ (inverse @ (x[near].T @ (logits / se)[near]))
        # Without the item itself, of which the line has its share.
        part = np.minimum(np.einsum("ij,jk,ik->i", x, inverse, x), 0.99)
        general = np.where(near, (general - part * logits) / (1 - part), general)
        wider = np.sqrt(np.where(near, 1 / (1 - part), 1 + part))
        near = there & (np.abs(logits - general) < 2.5 * se * wider)
    return general, se * wider


def _invariance(rows: list[dict[str, Any]], noisier: float) -> dict[str, Any]:
    """Whether two groups read the items alike: how many differ, and the test that none does."""
    tested = [row for row in rows if row["p"] is not None]
    kept = {name: value for name, value in rows[0].items() if name not in _OF_ITEMS}
    differ = sum(row["p_adjusted"] < FOUND for row in tested)
    row = {**kept, "judgments": sum(row["judgments"] for row in rows), "tested": len(tested), "differ": differ}
    df = len(tested) - 2  # two are spent on the groups' general use of the scale
    if df < 1:
        return {**row, "statistic": None, "df": None, "p": None, "reason": "fewer than two items can be tested"}
    # Each item is held against the others, which adds to its square what the line takes from the sum.
    statistic = sum(row["statistic"] for row in tested) * df / len(tested)
    ends = {"statistic": statistic, "df": df, "p": float(chdtrc(df, statistic)), "estimate": differ / len(tested)}
    return {**row, **ends, "reason": NOISIER.format(noisier) if noisier > UNEQUAL else None}


def _labels(frame: pl.DataFrame, item: Ints, size: int) -> list[dict[str, Any]]:
    """The name, and the text where there is one, of each item."""
    first = np.zeros(size, dtype=np.int64)
    first[item[::-1]] = np.arange(len(item))[::-1]
    return frame[first].select([column for column in ("item", "text") if column in frame.columns]).to_dicts()


class _Ordinal:
    """Answers in a rating scale model."""

    def __init__(self, part: Part) -> None:
        # Items are compared with themselves, so that raters need not be connected.
        self.model = Facets.of(part, "common", "assume")
        self.frame, fit = self.model.frame, self.model.fit
        self.item, self.size, self.severity = fit.answers.item, fit.answers.items, fit.offset
        self._fit, self.connected = fit, not self.model.parts.any()

    def locations(self, weight: Floats) -> tuple[Floats, Any]:
        """The likeliest location of each item from its weighted answers, and where that is finite."""
        sums = np.bincount(self.item, weight * self._fit.answers.category, self.size)
        top = np.bincount(self.item, weight, self.size) * self._fit.answers.steps
        location = self._fit.items[0].copy()
        for _ in range(40):
            residual, variance = (np.bincount(self.item, weight * x, self.size) for x in self.residuals(location))
            step = residual / np.maximum(variance, 1e-9)
            location = np.clip(location + np.clip(step, -1, 1), -FARTHEST, FARTHEST)
            if np.abs(step[(sums > 0) & (sums < top)]).max(initial=0) < 1e-8:
                break
        return location, (sums > 0) & (sums < top)

    def residuals(self, location: Floats) -> tuple[Floats, Floats]:
        """What each answer has beyond its expectation, and the variance of that."""
        expected, variance = self._fit.expected(location[self.item] - self._fit.offset)
        return self._fit.answers.category - expected, variance

    def points(self, location: Floats, shares: Floats, logits: Floats) -> Floats:
        """A difference of locations in points of the scale, for raters of severity 0."""
        at = location + self.model.origin
        return self.model.expected(at + shares * logits) - self.model.expected(at - (1 - shares) * logits)


class _Linear:
    """Answers in a linear model, for scales of many points."""

    def __init__(self, part: Part) -> None:
        check_level(part.scale(), part.frame, "a difference of means")
        self.frame = part.answered.sort("item", "rater", "question", "condition", "sample")
        codes = [self.frame[name].rank("dense").to_numpy().astype(np.int64) - 1 for name in ("item", "rater")]
        value = self.frame["value"].to_numpy()
        fit = Gaussian(value, np.ones((len(value), 1)), Crossed(codes)).fit(np.array([1.0, 0.4]))
        self.item, self.size = codes[0], int(codes[0].max()) + 1
        self.severity = -fit.effects[1][0][codes[1]]
        self._left, self._residual = value + self.severity, fit.residual
        self.connected = not fit.model.design.components().any()

    def locations(self, weight: Floats) -> tuple[Floats, Any]:
        """The weighted mean of each item's answers, freed from their raters' severity."""
        size = np.bincount(self.item, weight, self.size)
        return np.bincount(self.item, weight * self._left, self.size) / np.maximum(size, 1e-300), size > 0

    def residuals(self, location: Floats) -> tuple[Floats, Floats]:
        """What each answer has beyond its item, in units of the residual variance, and the variance of that."""
        return (self._left - location[self.item]) / self._residual, np.full(len(self.item), 1 / self._residual)

    def points(self, location: Floats, shares: Floats, logits: Floats) -> Floats:
        """Differences are in points already."""
        del location, shares
        return logits
