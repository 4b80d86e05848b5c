"""`vantage.measures.regress`: what item columns have to do with judgments, by people's answers sharpened by a model's.

People answered some items and a model all of them. The loss is people's, plus λ times the model's on the other items
less the model's on people's items (PPI++; Angelopoulos, Duchi and Zrnic 2023); with λ = 0 it is the plain regression.
Variances are sandwiches over items, and over raters too where four or more judged several items.
Where people's items were drawn with known probabilities π, each weighs 1/π and all items stand for the others, as in
design-based supervised learning (Egami et al. 2023).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import polars as pl
from scipy.special import expit

from vantage.errors import InputError
from vantage.measures.base import measure, table
from vantage.measures.intervals import OVER, Bootstrap, Contrast, Over, Spread, over_units
from vantage.measures.kinds import Selection, with_left_out
from vantage.measures.means.level import code_of, design_weights
from vantage.measures.models.crossed import level_sums
from vantage.measures.models.explain import one_question
from vantage.measures.parts import Part, check_level, counts, names, parts
from vantage.measures.powered.contributions import Sides
from vantage.measures.powered.estimate import ALL_JUDGED, OF_BOTH, joined, power_tuned, sampling
from vantage.measures.presentation import Against, Column, View
from vantage.measures.rater_variance import over_raters, several_items, without_raters
from vantage.measures.ratings import By, Floats, Ints, ItemSources, Judgments, RaterGroups, by_columns

Family: TypeAlias = Literal["auto", "linear", "logistic"]

SINGULAR: Final = "the columns are collinear, or one of them is constant"
SEPARATED: Final = "a column separates the two answers perfectly, so its coefficient is infinite"
STEPS: Final = 100
"""How many steps of Newton's method are made at most."""
FARTHEST: Final = 30.0
"""A logistic coefficient beyond this has no limit."""


VIEW: Final = View(
    "Regression of judgments on item columns",
    columns={
        "estimate": Column("coefficient", digits=2, signed=True, interval=("low", "high")),
        "p": Column(digits=3),
    },
    show=("judged_by", "term", "estimate", "p", "items", "reason"),
    says=(
        Against(
            0.0,
            above="Judgments rise with {rows}",
            below="Judgments fall with {rows}",
            within="No relation is shown for {rows}",
            p="p",
            label="{term}",
        ),
    ),
    method="Judgments were regressed on columns of the items, with standard errors over items.",
    sources=("angelopoulos2023b", "egami2023"),
)


def _powered(
    function: Callable[..., pl.DataFrame],
    data: Judgments,
    options: Mapping[str, Any],
    powered_by: str | Sequence[str],
    whose: Callable[[Judgments], Selection],
) -> pl.DataFrame:
    """Three regressions: of people's answers, of the model's, and of both."""
    del function
    by = by_columns(options["by"])
    sides = Sides.of(data, powered_by, whose, by, _extra(options))
    rows: list[dict[str, Any]] = []
    for part in parts(sides.people, by, extra=_extra(options)):
        rows += _Regression(part, options, _bootstrap(part, options), sides).rows()
    return with_left_out(table(rows, [*by, "judged_by"]), sides.selection, by)


@measure("regress", "models", view=VIEW, powered=_powered)
def regress(
    data: Judgments,
    *,
    by: By = (),
    on: By,
    question: str | None = None,
    family: Family = "auto",
    value: float | str | None = None,
    probability: str | None = None,
    ci: Over = "auto",
    sources: ItemSources | str | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    groups: RaterGroups | None = None,
) -> pl.DataFrame:
    """How judgments depend on columns of the items: linear or logistic regression of each item's mean answer.

    `on` names columns of items: numbers, true or false, or words, of which each but the first has a coefficient. A
    logistic regression is of the share of one answer (`value`; of two answers the higher one) and is the default where
    there are two; its coefficients are logarithms of odds ratios. Standard errors are robust, over items; where at
    least four raters judged several items each, what other raters would add is part of them (`ci`).

    `powered_by` names a rater that judged these and further items, such as a model: PPI++ (Angelopoulos et al. 2023).
    Where items were drawn for people with known probabilities, `probability` names their column. See docs/powered.md.

    >>> rng = np.random.default_rng(0)
    >>> length = rng.normal(size=200)
    >>> frame = pl.DataFrame({"item": range(200), "rater": "ann", "length": length,
    ...                       "value": (length + rng.logistic(size=200) > 0).astype(float)})
    >>> regress(frame, on="length").select("term", pl.col("estimate").round(2)).rows()
    [('constant', 0.22), ('length', 1.07)]
    """
    options = {
        "on": on, "by": by, "question": question, "family": family, "value": value, "probability": probability,
        "ci": ci, "sources": sources, "confidence": confidence, "seed": seed, "groups": groups,
    }  # fmt: skip
    rows: list[dict[str, Any]] = []
    for part in parts(data, by, extra=_extra(options)):
        rows += _Regression(part, options, _bootstrap(part, options)).rows()
    return table(rows, names(by))


def _extra(options: Mapping[str, Any]) -> list[str]:
    columns = [*by_columns(options["on"]), *([options["probability"]] if options["probability"] else [])]
    if not by_columns(options["on"]):
        raise InputError("no columns to regress on", remedy="name columns of the items with the option on")
    return columns


def _bootstrap(part: Part, options: Mapping[str, Any]) -> Bootstrap:
    if options["ci"] == "raters":
        raise InputError("a regression over items has no interval over raters alone", remedy="use ci both")
    how = Bootstrap(
        options["ci"],
        confidence=options["confidence"],
        seed=options["seed"],
        over=OVER,
        sources=options["sources"],
        groups=options.get("groups"),
    )
    return how.chosen(several_items(part.answered, how.groups))


@dataclass(frozen=True, slots=True)
class _Regression:
    """The regression of one group."""

    part: Part
    options: Mapping[str, Any]
    how: Bootstrap
    sides: Sides | None = None

    def rows(self) -> list[dict[str, Any]]:
        """One row per coefficient, or three where there is a model."""
        part, key = one_question(self.part, self.options["question"]), self.part.key
        if not len(part.answered):
            return [{**key, "term": None, "p": None, "reason": "no item has an answer"}]
        logistic, code = self._family(part)
        columns, probability = by_columns(self.options["on"]), self.options["probability"]
        every = _scores(part.answered, code).join(_columns(part.answered, columns), on="item")
        used = every.drop_nulls(columns).sort("item")
        said = self._said(part, code, columns)
        terms, x, other_x = _design(used, said, columns)
        about = {**key, **counts(part.answered, self.part.frame), "items": len(used)}
        about["family"] = "logistic" if logistic else "linear"
        if dropped := len(every) - len(used):
            about["left_out"] = {**about["left_out"], "without_columns": dropped}
        weight = design_weights(part.answered, used["item"], probability) if probability else np.ones(len(used))
        loss = Loss(x, used["score"].to_numpy(), weight / weight.mean(), logistic, source=self._source(used))
        people, added = loss.fit(), self._raters(part, used["item"], loss, code)
        rows = list(self._rows(about, terms, loss, people, added))
        if said is None or other_x is None:
            return rows
        made = [{**key, "judged_by": "people", **dict.fromkeys(OF_BOTH), **row} for row in rows]
        answers = said["said"].to_numpy()
        alone = Loss(other_x, answers, np.ones(len(said)), logistic, source=self._source(said))
        whole = {**about, "items": len(said), "raters": None, "judgments": len(said), "left_out": {}}
        of_model = self._rows(whole, terms, alone, alone.fit(), None)
        made += [{**key, "judged_by": "model", **dict.fromkeys(OF_BOTH), **row} for row in of_model]
        judged = said["item"].is_in(used["item"].implode()).to_numpy()
        asked = ~said["item"].is_in(part.frame["item"].unique().implode()).to_numpy()
        both, extra = people, {**dict.fromkeys(OF_BOTH), "lambda": 0.0}
        warning: str | None = ALL_JUDGED
        if asked.any():
            there = np.ones(len(said), dtype=np.bool_) if probability else asked
            both = replace(loss, model=(answers[judged], other_x[there], answers[there])).fit()
            rest = answers[there, None] - answers[there].mean()
            shown = loss.weight[:, None] * (answers[judged, None] - answers[there].mean())
            tested, warning = sampling(shown, rest, int(asked.sum()))
            extra = {"lambda": both.lam, **tested}
        for alone_row, row in zip(rows, self._rows(about, terms, loss, both, added), strict=True):
            narrower = both.lam > 0 and row["se"] and alone_row["se"]
            labels = row["judgments"] * ((alone_row["se"] / row["se"]) ** 2 - 1) if narrower else 0.0
            more = {"items": len(used) + int(asked.sum()), "reason": joined([row["reason"], warning])}
            made.append({**key, "judged_by": "both", **row, **extra, "labels_gained": labels, **more})
        return made

    def _source(self, items: pl.DataFrame) -> Ints | None:
        """The source of each item, where items were drawn from sources."""
        return None if self.how.item_sources is None else self.how.item_sources.codes(items["item"])

    def _said(self, part: Part, code: float | None, columns: Sequence[str]) -> pl.DataFrame | None:
        """The model's answer to each item with the columns of the regression; null without a model."""
        if self.sides is None:
            return None
        said, asked = self.sides.said(part.key), part.frame["question"].unique().implode()
        said = replace(said, frame=said.frame.filter(pl.col("question").is_in(asked)))
        model = pl.DataFrame({"item": said.items, "said": said.mean if code is None else said.share(code)})
        return model.join(_columns(said.frame, columns), on="item").drop_nulls(columns).sort("item")

    def _family(self, part: Part) -> tuple[bool, float | None]:
        """Whether the regression is logistic, and the answer whose share it is of."""
        scale, family = part.scale(), self.options["family"]
        several = len(scale.codes) if scale is not None and scale.codes else part.answered["value"].n_unique()
        logistic = family == "logistic" or (family == "auto" and (several <= 2 or self.options["value"] is not None))
        if not logistic and self.options["value"] is None:
            check_level(scale, part.frame, "a linear regression of answers")
        asked = logistic or self.options["value"] is not None
        return logistic, code_of(
            self.options["value"], part.scale(), part.answered["value"].to_numpy()
        ) if asked else None

    def _raters(self, part: Part, items: pl.Series, loss: Loss, code: float | None) -> list[Spread | None] | None:
        """What other raters would add to the variance of each coefficient; null for an interval over items."""
        if self.how.ci != "both":
            return None
        order = items.to_frame("item")
        tables = []
        for rest in without_raters(part.answered, self.how):
            scores = order.join(_scores(rest, code), on="item", how="left", maintain_order="left")["score"]
            there = scores.is_not_null().to_numpy()
            fewer = replace(loss, y=scores.fill_null(0.0).to_numpy(), weight=loss.weight * there)
            tables.append(fewer.reweighted)
        return over_raters(tables, len(items), self.how.seed) if len(tables) >= 3 else None

    def _rows(
        self,
        about: Mapping[str, Any],
        terms: Sequence[str],
        loss: Loss,
        fit: Fit,
        added: list[Spread | None] | None,
    ) -> Iterator[dict[str, Any]]:
        units = len(loss.y) if loss.source is None else len(np.unique(loss.source))
        left, confidence = max(units - len(terms), 1), self.options["confidence"]
        problem = None if np.isfinite(fit.coefficients).all() else SEPARATED if loss.logistic else SINGULAR
        for place, term in enumerate(terms):
            row = {**about, "term": term, "se": None, "p": None, "reason": problem}
            if problem is not None:
                yield row
                continue
            of_items = Spread(float(fit.covariance[place, place]), left)
            raters = added[place] if added is not None else None
            spread = of_items.plus(raters) or of_items
            contrast = Contrast(float(fit.coefficients[place]), spread.variance**0.5, spread.freedom)
            row |= {"estimate": contrast.estimate, "se": contrast.error, "p": contrast.p}
            if self.how.ci != "none":
                over = over_units("items" if raters is None else "both", self.how.sources, self.how.groups)
                row |= {**contrast.stated(confidence), "over": over}
                row |= {"because": self.how.because} if about["raters"] is not None else {}
            yield row


def _scores(answered: pl.DataFrame, code: float | None) -> pl.DataFrame:
    """The mean answer to each item, or the share of one answer."""
    answer = pl.col("value") if code is None else (pl.col("value") == code).cast(pl.Float64)
    units = answered.group_by("item", "condition").agg(answer.mean().alias("score"))
    return units.group_by("item").agg(pl.col("score").mean()).sort("item")


def _columns(frame: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """The columns of each item, which must be the same in all of its rows."""
    items = frame.select("item", *columns).unique()
    twice = items["item"].is_duplicated()
    if twice.any():
        item = items.filter(twice)["item"][0]
        raise InputError(f"item '{item}' has several values of {', '.join(columns)}", remedy="use columns of the items")
    return items


def _design(
    used: pl.DataFrame, others: pl.DataFrame | None, columns: Sequence[str]
) -> tuple[list[str], Floats, Floats | None]:
    """The terms and the columns of the regression, of people's items and of the model's."""
    terms = [("constant", pl.lit(1.0))]
    for column in columns:
        dtype = used.schema[column]
        if dtype.is_numeric() or dtype == pl.Boolean:
            terms.append((column, pl.col(column).cast(pl.Float64)))
            continue
        word = pl.col(column).cast(pl.String)
        levels = (used if others is None else others).select(word.unique().sort()).to_series().to_list()
        if len(levels) < 2:
            raise InputError(f"column '{column}' is the same for all items", remedy="regress on another column")
        if len(levels) > 50:
            raise InputError(f"column '{column}' has {len(levels)} different words", remedy="regress on fewer groups")
        terms += [(f"{column}: {level}", (word == level).cast(pl.Float64)) for level in levels[1:]]

    def matrix(frame: pl.DataFrame) -> Floats:
        return np.column_stack(frame.select(one.alias(str(n)) for n, (_, one) in enumerate(terms)).get_columns())

    return [name for name, _ in terms], matrix(used), None if others is None else matrix(others)


@dataclass(frozen=True, eq=False)
class Loss:
    """People's items with columns `x`, answers `y` and weights."""

    x: Floats
    y: Floats
    weight: Floats
    logistic: bool
    model: tuple[Floats, Floats, Floats] | None = None
    """The model's answers to these items, and the columns of others with its answers to them."""
    source: Ints | None = None
    """The source of each of these items, where items were drawn from sources."""

    def solved(self, lam: float) -> Floats:
        """The coefficients at which the loss is smallest; NaN where there is no single minimum."""
        if not self.logistic:
            return np.asarray(np.sum([_least_squares(*part) for part in self._linear(lam)], axis=0))
        sides = self._sides(lam)
        theta = np.zeros(self.x.shape[1]) if lam == 0 else self.solved(0.0)
        for _ in range(STEPS):
            gradient, hessian = np.zeros(len(theta)), np.zeros((len(theta), len(theta)))
            for x, y, w, scale in sides:
                mean = expit(x @ theta)
                gradient += scale * x.T @ (w * (mean - y)) / len(y)
                hessian += scale * (x.T * (w * mean * (1 - mean))) @ x / len(y)
            try:
                step = np.linalg.solve(hessian, gradient)
            except np.linalg.LinAlgError:
                return np.full(len(theta), np.nan)
            theta = theta - step * min(1.0, 5.0 / max(np.abs(step).max(), 1e-300))
            if np.abs(step).max() < 1e-12:
                return theta if np.abs(theta).max() < FARTHEST else np.full(len(theta), np.nan)
        return np.full(len(theta), np.nan)

    def reweighted(self, times: Floats) -> Floats:
        """The coefficients under further weights of items, one row for each row of weights."""
        return np.stack([replace(self, weight=self.weight * row).solved(0.0) for row in times])

    def fit(self) -> Fit:
        """Coefficients and their variances, with the best λ."""
        lam = 0.0
        if self.model is not None:
            starts = [theta for theta in (self.solved(1.0), self.solved(0.0)) if np.isfinite(theta).all()]
            lam = self._parts(starts[0], use=True).lam if starts else 0.0
        theta = self.solved(lam)
        if not np.isfinite(theta).all():
            return Fit(theta, np.full((len(theta), len(theta)), np.nan), lam)
        return Fit(theta, self._parts(theta, use=lam > 0).covariance(lam), lam)

    def _sides(self, lam: float) -> list[tuple[Floats, Floats, Floats, float]]:
        """Columns, answers, weights and sign of each part of the loss."""
        sides = [(self.x, self.y, self.weight, 1.0)]
        if lam and self.model is not None:
            said, other_x, other_said = self.model
            sides.append((self.x, said, self.weight, -lam))
            sides.append((other_x, other_said, np.ones(len(other_x)), lam))
        return sides

    def _linear(self, lam: float) -> list[tuple[Floats, Floats, Floats]]:
        """Columns, answers and weights of the regressions whose coefficients add up."""
        if not lam or self.model is None:
            return [(self.x, self.y, self.weight)]
        said, other_x, other_said = self.model
        return [(self.x, self.y - lam * said, self.weight), (other_x, lam * other_said, np.ones(len(other_x)))]

    def _parts(self, theta: Floats, *, use: bool) -> _Gradients:
        """The gradients of every item's loss, and the inverse of the mean curvature."""

        def mean(x: Floats) -> Floats:
            return np.asarray(expit(x @ theta) if self.logistic else x @ theta)

        def curvature(x: Floats, w: Floats) -> Floats:
            m = mean(x)
            return np.asarray((x.T * (w * (m * (1 - m) if self.logistic else 1.0))) @ x)

        hessian, n, middle = curvature(self.x, self.weight), len(self.x), mean(self.x)
        # Items that draw the fit to themselves have small residuals (HC3; MacKinnon and White 1985).
        drawn = np.einsum("ij,jk,ik->i", self.x, _inverse(hessian), self.x) * self.weight
        drawn *= middle * (1 - middle) if self.logistic else 1.0
        larger = 1 / np.maximum(1 - drawn, 1 / n)
        own = self.weight[:, None] * self.x * (middle - self.y)[:, None]
        if not use or self.model is None:
            none = np.zeros((2, own.shape[1]))
            return _Gradients(own, np.zeros_like(own), none, _inverse(hessian / n), larger, self.source)
        said, other_x, other_said = self.model
        hessian = hessian + curvature(other_x, np.ones(len(other_x)))
        theirs = self.weight[:, None] * self.x * (middle - said)[:, None]
        other = other_x * (mean(other_x) - other_said)[:, None]
        return _Gradients(own, theirs, other, _inverse(hessian / (n + len(other))), larger, self.source)


@dataclass(frozen=True, eq=False)
class _Gradients:
    """The gradients of people's answers, of the model's to the same items, and of the model's to the others."""

    own: Floats
    said: Floats
    other: Floats
    inverse: Floats
    larger: Floats
    """What the gradients of people's items are multiplied by in variances."""
    source: Ints | None

    @property
    def lam(self) -> float:
        """The weight of the model for which the variances of the coefficients have the smallest sum."""
        return power_tuned(self.own, self.said, self.other, self.inverse)

    def covariance(self, lam: float) -> Floats:
        """The variances and covariances of the coefficients over items, or over the sources that they come from."""
        n, others = len(self.own), len(self.other)
        mine = (self.own - lam * self.said) * self.larger[:, None]
        if self.source is not None:
            mine = level_sums(self.source, mine, int(self.source.max()) + 1)
        of_mine = len(mine) / n * np.cov(mine, rowvar=False)
        middle = of_mine + n / others * np.cov(lam * self.other, rowvar=False)
        return np.asarray(self.inverse @ np.atleast_2d(middle) @ self.inverse / n)


@dataclass(frozen=True, eq=False)
class Fit:
    """Coefficients, their covariance over items, and the weight of the model."""

    coefficients: Floats
    covariance: Floats
    lam: float


def _least_squares(x: Floats, y: Floats, w: Floats) -> Floats:
    """Weighted least squares; NaN where columns depend on each other."""
    root = np.sqrt(w)[:, None]
    if np.linalg.matrix_rank(root * x) < x.shape[1]:
        return np.full(x.shape[1], np.nan)
    return np.asarray(np.linalg.lstsq(root * x, root[:, 0] * y, rcond=None)[0])


def _inverse(matrix: Floats) -> Floats:
    return np.asarray(np.linalg.pinv(matrix), dtype=np.float64)
