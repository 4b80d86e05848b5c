"""Three rows for one measure: people's judgments, the model's, and people's sharpened by the model's.

With influences ψ of n judged items, predictions g of them and of N others, the estimate is T + λ(ḡ_others − ḡ_judged)
(Angelopoulos et al. 2023; Zrnic and Candès 2024). It has people's expectation whatever the model says, and the items'
share of its variance is Var(T − λ ḡ_judged) + λ² Var(g)/N. Which people were asked matters as much as before, so that
share stays. People's own interval, by whatever method the measure makes it, is scaled by the quotient of the two
standard errors; with λ = 0 it is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.errors import InputError
from vantage.measures.base import RESULT, table
from vantage.measures.intervals import Bootstrap, Spread, speaks_of_raters, student
from vantage.measures.kinds import APART, Selection, with_left_out
from vantage.measures.parts import Part, parts
from vantage.measures.powered.contributions import Contribution, Contributions, Sides, without_each_rater
from vantage.measures.rater_variance import over_raters
from vantage.measures.ratings import Floats, Judgments, by_columns, group_name
from vantage.measures.resampling import Resampling

ROWS: Final = ("people", "model", "both")
ALL_JUDGED: Final = "people judged every item that the model judged, so the model adds nothing"
ALIKE: Final = "the model says the same of every item that people judged, so it cannot help"
NO_OVERLAP: Final = "people and the model have no item in common"
FOLDS: Final = 5
PENALTIES: Final = tuple(10.0 ** np.arange(-1, 5))
"""Penalties of the ridge regression, of which each fold takes the one with the smallest leave-one-out error."""
UNLIKE: Final = 0.01
"""Below this p value, judged items are not taken for a random sample."""
NOT_CONTRADICTED: Final = "not contradicted"
CONTRADICTED: Final = "contradicted"
"""What the model's answers say of the assumption that judged items are a random sample; they can never confirm it."""
STRONGEST: Final = 100.0
"""Beyond such odds no selection is looked for."""


@dataclass(frozen=True, slots=True)
class Powered:
    """How a measure is powered by a model: by what items contribute to it."""

    contributions: Contributions
    columns: tuple[str, ...] = ()
    """The options that name further columns of the judgments."""

    def __call__(
        self,
        function: Callable[..., pl.DataFrame],
        data: Judgments,
        options: Mapping[str, Any],
        powered_by: str | Sequence[str],
        whose: Callable[[Judgments], Selection],
    ) -> pl.DataFrame:
        """The measure of people, of the model, and of both, for every group."""
        by = by_columns(options.get("by", ()))
        _check(options, by)
        extra = [column for option in self.columns for column in by_columns(options.get(option) or ())]
        sides = Sides.of(data, powered_by, whose, by, extra)
        plain = function(sides.people, **options).drop("measure", "options", strict=False)
        alone = self._model_rows(function, sides, options)
        rows: list[dict[str, Any]] = []
        groups = {tuple(part.key.values()): part for part in parts(sides.people, by, extra=extra)}
        for row in plain.iter_rows(named=True):
            part = groups[tuple(row[column] for column in by)]
            contribution = next((c for c in self.contributions(part, options) if c.key.items() <= row.items()), None)
            model = {**row, **dict.fromkeys(RESULT), **alone(row, contribution)}
            both = JoinedJudgments(self, part, sides, options).row(row, contribution)
            for name, made in zip(ROWS, (row, model, both), strict=True):
                own = {column: made.pop(column) for column in by}
                rows.append({**own, "judged_by": name, **dict.fromkeys(OF_BOTH), **made})
        result = with_left_out(table(rows, [*by, "judged_by"]), sides.selection, by)
        return result.with_columns(
            pl.col("lambda", "labels_gained", "p_random", "hidden_odds").cast(pl.Float64),
            pl.col("random_sample").cast(pl.String),
        )

    def _model_rows(
        self, function: Callable[..., pl.DataFrame], sides: Sides, options: Mapping[str, Any]
    ) -> Callable[[Mapping[str, Any], Contribution | None], dict[str, Any]]:
        """What the model alone says, looked up for a row of people's."""
        ci = {"ci": options["ci"] if options.get("ci") == "none" else "items"} if "ci" in options else {}
        try:
            made = function(sides.model, **{**options, **ci, "by": sides.item_by}).to_dicts()
        except InputError as error:
            refused = {"reason": str(error)}
            return lambda *_: refused

        def look_up(row: Mapping[str, Any], contribution: Contribution | None) -> dict[str, Any]:
            key = {column: row[column] for column in sides.item_by} | dict(contribution.key if contribution else {})
            there = next((one for one in made if key.items() <= one.items()), {"reason": NO_OVERLAP})
            return {name: there.get(name) for name in RESULT}

        return look_up


OF_BOTH: Final = ("lambda", "labels_gained", "p_random", "random_sample", "hidden_odds")


@dataclass(frozen=True, slots=True)
class JoinedJudgments:
    """People's judgments of a group and the model's, put together."""

    powered: Powered
    part: Part
    sides: Sides
    options: Mapping[str, Any]

    def row(self, plain: Mapping[str, Any], contribution: Contribution | None) -> dict[str, Any]:
        """The row of both: people's row where the model cannot help, with the reason."""
        without = self.sides.without_model(self.part.key)
        left_out = {**(plain["left_out"] or {}), **({"without_model": len(without)} if len(without) else {})}
        row = {**plain, "left_out": left_out, "lambda": 0.0, "labels_gained": 0.0}
        if contribution is None or plain["estimate"] is None:
            return {**row, "lambda": None, "labels_gained": None, "reason": plain["reason"] or NO_OVERLAP}
        said = self.sides.said(self.part.key)
        reasons = [plain["reason"], self._missing(without)]
        judged = said.items.is_in(contribution.items.implode()).to_numpy()
        other = ~said.items.is_in(self.part.frame["item"].unique().implode()).to_numpy()
        if not other.any():
            return {**row, "reason": joined([*reasons, ALL_JUDGED])}
        row["items"] = int(judged.sum() + other.sum())
        features = contribution.features(said)
        weight, rest, rested = contribution.weights, features[other], other
        if weight is not None:
            rested = np.ones(len(features), dtype=np.bool_)
            rest = features - features.mean(axis=0)
            shown = weight[:, None] / weight.mean() * (features[judged] - features.mean(axis=0))
        else:
            shown = features[judged]
        tested, warning = sampling(shown, rest, int(other.sum()))
        row |= tested
        reasons.append(warning)
        if np.ptp(features[judged], axis=0).max(initial=0.0) < 1e-12:
            return {**row, "reason": joined([*reasons, ALIKE])}
        influence = contribution.influence
        if contribution.direct:
            own, new = shown[:, 0], rest[:, 0]
        else:
            own, new = cross_fitted(shown, influence, rest, self.options.get("seed", 0))
        lam = power_tuned(influence[:, None], own[:, None], new[:, None], np.eye(1))
        moved = float(plain["estimate"] + lam * (new.mean() - own.mean()))
        row |= {"lambda": lam, "estimate": float(np.clip(moved, *contribution.limits)) if lam else plain["estimate"]}
        row |= self._interval(
            plain, row["estimate"], contribution, said.items.filter(pl.Series(rested)), (influence, own, new, lam)
        )
        if row["low"] is not None:
            reach = min(row["estimate"] - row["low"], row["high"] - row["estimate"])
            row["hidden_odds"] = hidden_odds(influence - lam * own, reach)
        return {**row, "reason": joined(reasons)}

    def _interval(
        self,
        plain: Mapping[str, Any],
        estimate: float,
        contribution: Contribution,
        others: pl.Series,
        estimated: tuple[Floats, Floats, Floats, float],
    ) -> dict[str, Any]:
        """People's interval, shorter by as much as the standard error is smaller, and the labels gained."""
        influence, own, new, lam = estimated
        over = plain["over"]
        if contribution.direct and not speaks_of_raters(over):
            alone, left = (self._of_mean(each, contribution.items) for each in (influence, influence - lam * own))
        else:
            alone, left = self._resampled(contribution, own, lam)
        left += lam**2 * self._of_mean(new, others)
        gained = plain["judgments"] * (alone / left - 1) if left > 0 and lam > 0 else 0.0
        if over is None or plain["low"] is None or lam == 0:
            return {"labels_gained": gained}
        shorter = (left / alone) ** 0.5 if alone > 0 else 1.0
        if speaks_of_raters(over):
            # Labels of further items by the same few raters are worth as much as they shorten this interval.
            shorter = self._with_raters(contribution, alone, left)
            gained = plain["judgments"] * (1 / shorter**2 - 1)
        low, high = (estimate + shorter * (plain[end] - plain["estimate"]) for end in ("low", "high"))
        low, high = np.clip([low, high], *contribution.limits)
        return {"labels_gained": gained, "low": float(min(low, estimate)), "high": float(max(high, estimate))}

    def _of_mean(self, values: Floats, items: pl.Series) -> float:
        """The variance of a mean of items, or of items from sources that are alike within."""
        sources = self.options.get("sources")
        if sources is None:
            return float(values.var() / len(values))
        sums = np.bincount(sources.codes(items), values - values.mean())
        return float(np.square(sums).sum() / len(values) ** 2 * len(sums) / max(len(sums) - 1, 1))

    def _resampled(self, contribution: Contribution, own: Floats, lam: float) -> tuple[float, float]:
        """The variance of the measure over items by the bootstrap, alone and less the predictions."""
        how = Resampling(
            resamples=self.options.get("resamples", 1000),
            seed=self.options.get("seed", 0),
            sources=self.options.get("sources"),
        )
        made = [
            np.column_stack([contribution.weighted(block), block @ own / len(own)])
            for block in how.draws(len(own), contribution.items)
        ]
        draws = np.concatenate(made)
        draws = draws[np.isfinite(draws[:, 0])]
        return float(draws[:, 0].var()), float((draws[:, 0] - lam * draws[:, 1]).var())

    def _with_raters(self, contribution: Contribution, alone: float, left: float) -> float:
        """The quotient of the standard errors over items and raters."""
        seed, n, sources = self.options.get("seed", 0), len(contribution.items), self.options.get("sources")
        units = n if sources is None else len(np.unique(sources.codes(contribution.items)))
        how = Bootstrap(seed=seed, groups=self.options.get("groups"))
        tables = without_each_rater(self.part, self.powered.contributions, self.options, contribution, how)
        of_raters = over_raters(tables, n, seed)[0] if len(tables) >= 3 else None

        def reach(items: float) -> float:
            alone = Spread(items, units - 1)
            spread = alone.plus(of_raters) or alone
            return float(student(spread.freedom, self.options.get("confidence", 0.95)) * spread.variance**0.5)

        return reach(left) / reach(alone) if alone > 0 else 1.0

    def _missing(self, without: pl.Series) -> str | None:
        """A sentence where items without the model's answer are not like the others."""
        if len(without) == 0:
            return None
        whole = replace(self.part, frame=self.sides.everyone(self.part.key))
        for contribution in self.powered.contributions(whole, self.options):
            there = contribution.items.is_in(without.implode()).to_numpy()
            p = difference_p(contribution.influence[there, None], contribution.influence[~there, None])
            if p is not None and p < UNLIKE:
                return (
                    f"people judge the {there.sum():,} items without the model's answer differently from the others "
                    f"(p {_p(p)}), so leaving them out changes the estimate"
                )
        return None


def _check(options: Mapping[str, Any], by: Sequence[str]) -> None:
    if set(by) & set(APART):
        raise InputError(
            "a powered estimate pools people, so it cannot be grouped by rater or kind", remedy="change by"
        )
    if options.get("ci") == "raters":
        raise InputError(
            "an interval over raters holds for these items, to which the model adds nothing", remedy="use ci both"
        )
    if options.get("per", "mean") != "mean":
        raise InputError("a powered estimate describes a group, not single items", remedy="leave per out")


def sampling(judged: Floats, others: Floats, number: int) -> tuple[dict[str, Any], str | None]:
    """Whether the model says of judged items what it says of the others, and a warning where it does not."""
    p = difference_p(judged, others)
    if p is None or p >= UNLIKE:
        return {"p_random": p, "random_sample": None if p is None else NOT_CONTRADICTED}, None
    return {"p_random": p, "random_sample": CONTRADICTED}, (
        f"the model answers the {len(judged):,} items that people judged differently from the {number:,} others "
        f"(p {_p(p)}): people's items are not a random sample, and the estimate does not hold for all items"
    )


def hidden_odds(beyond: Floats, reach: float) -> float | None:
    """How strong a selection that the model cannot see puts the true value outside the interval.

    `beyond` is what people say of judged items beyond what the model says, and `reach` how far the estimate lies from
    the nearer end of its interval. If some items were up to Γ times as likely to be judged as others of which the model
    says the same, each judged item should count from 1 to Γ times, and the estimate could be wrong by the most that
    such weights move the mean: those of the highest (or lowest) values are Γ (the marginal sensitivity model of Tan
    2006, as in Zhao, Small and Bhattacharya 2019). The answer is the smallest Γ that moves it by `reach`; null where
    none up to 100 does.

    >>> round(hidden_odds(np.array([-1.0, -1.0, 1.0, 1.0]), 0.2), 3)  # (Γ − 1)/(Γ + 1) = 0.2
    1.5
    """
    ordered = np.sort(beyond - beyond.mean())
    n = len(ordered)
    if n < 2 or reach <= 0:
        return None
    # With the k highest counted Γ times, the mean moves by (Γ − 1)·S_k/(n + (Γ − 1)·k), S_k being their sum.
    number = np.arange(1, n)
    sides = [np.cumsum(side)[:-1] for side in (ordered[::-1], -ordered)]
    # Solved for Γ − 1, with the k that asks for the least.
    needed = [reach * n / (total - reach * number) for total in sides]
    enough = np.concatenate([part[total > reach * number] for part, total in zip(needed, sides, strict=True)])
    odds = 1 + float(enough.min(initial=np.inf))
    return odds if odds <= STRONGEST else None


def _p(value: float) -> str:
    return "< .001" if value < 0.001 else f"= {value:.3f}".replace("0.", ".")


def joined(reasons: Sequence[str | None]) -> str | None:
    """Several reasons as one."""
    return "; ".join(reason for reason in reasons if reason) or None


def sentences(result: pl.DataFrame, model: str | Sequence[str], by: Sequence[str] = ()) -> list[str]:
    """One sentence for each estimate of both: what the model is worth, or why it is worth nothing.

    >>> row = {"judged_by": "both", "estimate": 0.5, "lambda": 0.41, "labels_gained": 110.8, "hidden_odds": None,
    ...        "reason": None}
    >>> sentences(pl.DataFrame([row]), "gpt-4o")
    ['gpt-4o is worth 111 additional labels of people (λ = 0.41).']
    """
    name = model if isinstance(model, str) else " and ".join(model)
    made = []
    for row in result.filter(pl.col("judged_by") == "both").iter_rows(named=True):
        keys = {column: row[column] for column in (*by, "term", "first", "second") if row.get(column) is not None}
        where = f"{group_name(keys)}: " if keys else ""
        made += [
            f"{where}{sentence}." for sentence in [worth(row, name), row["reason"], fragile(row, name)] if sentence
        ]
    return made


def fragile(row: Mapping[str, Any], model: str) -> str | None:
    """How strong a hidden selection would overturn a row of both, without a full stop; null where that is unknown."""
    if row["hidden_odds"] is None:
        return None
    return (
        f"If some items were {row['hidden_odds']:.2g} times as likely to be judged as others of which {model} says the "
        "same, the true value could lie outside the interval"
    )


def worth(row: dict[str, object], model: str) -> str | None:
    """What the model is worth in a row of both, without a full stop; null where there is no estimate."""
    lam, gained = row["lambda"], row["labels_gained"]
    if row["estimate"] is None or not isinstance(lam, float) or not isinstance(gained, float):
        return None
    if lam == 0:
        return f"{model} adds nothing to people's judgments (λ = 0)"
    if round(gained) < 0:
        return f"{model} costs {-gained:,.0f} labels of people here (λ = {lam:.2f})"
    labels = "label" if round(gained) == 1 else "labels"
    return f"{model} is worth {gained:,.0f} additional {labels} of people (λ = {lam:.2f})"


def cross_fitted(judged: Floats, target: Floats, others: Floats, seed: int) -> tuple[Floats, Floats]:
    """Predictions of the target for judged items, each by a regression without it, and for the others by their mean.

    Only slopes are kept: a mean over the other folds is lower where an item's own is higher, and would look like a
    model that errs.

    >>> x = np.arange(40.0)[:, None]
    >>> own, new = cross_fitted(x, 2 * x.ravel(), np.array([[50.0], [60.0]]), seed=0)
    >>> round(float(np.diff(new)[0])), round(float(own[30] - own[20]))
    (20, 20)
    """
    from sklearn.linear_model import RidgeCV

    centre, spread = judged.mean(axis=0), judged.std(axis=0)
    kept = spread > 1e-9 * np.maximum(np.abs(centre), 1.0)
    if not kept.any():
        return np.zeros(len(judged)), np.zeros(len(others))
    x, new = ((part[:, kept] - centre[kept]) / spread[kept] for part in (judged, others))
    fold = np.random.default_rng(seed).permutation(len(x)) % min(FOLDS, len(x))
    own, slopes = np.zeros(len(x)), []
    for number in range(int(fold.max()) + 1):
        there = fold != number
        slope = RidgeCV(PENALTIES).fit(x[there], target[there]).coef_
        own[~there] = x[~there] @ slope
        slopes.append(slope)
    return own, np.asarray(new @ np.mean(slopes, axis=0))


def power_tuned(influence: Floats, judged: Floats, others: Floats, scale: Floats) -> float:
    """The weight λ of the predictions with the smallest variance, from 0 to 1 (PPI++, Angelopoulos et al. 2023).

    Of several coefficients at once, one column each, the variances of `scale` × gradients have the smallest sum.

    >>> own, judged = np.array([[0.0], [1.0], [0.0], [1.0]]), np.array([[1.0], [0.0], [1.0], [0.0]])
    >>> power_tuned(own, judged, np.array([[0.0], [1.0]]), np.eye(1))
    0.0
    """
    if not len(others):
        return 0.0
    along = [part @ scale for part in (influence, judged, others)]
    variance = float(np.concatenate(along[1:]).var(axis=0, ddof=1).sum())
    if variance <= 1e-18:
        return 0.0
    own, said = (part - part.mean(axis=0) for part in along[:2])
    covariance = float(np.mean(own * said, axis=0).sum())
    return float(np.clip(covariance / ((1 + len(judged) / len(others)) * variance), 0.0, 1.0))


def difference_p(first: Floats, second: Floats) -> float | None:
    """The p value that two samples of features have the same means (Hotelling's T², large samples); null for few.

    >>> x = np.random.default_rng(0).normal(size=(60, 2))
    >>> difference_p(x[:30], x[30:] + 2) < 1e-6 < 0.01 < difference_p(x[:30], x[30:])
    True
    """
    from scipy.special import chdtrc

    if min(len(first), len(second)) < 5:
        return None
    spread = np.concatenate([first, second]).std(axis=0)
    kept = spread > 1e-9
    if not kept.any():
        return None
    first, second = (part[:, kept] / spread[kept] for part in (first, second))
    apart = first.mean(axis=0) - second.mean(axis=0)
    total = np.atleast_2d(np.cov(np.concatenate([first, second]), rowvar=False))
    # Shares add up to 1, so features depend on each other: directions without spread are left out.
    values, vectors = np.linalg.eigh(total * (1 / len(first) + 1 / len(second)))
    there = values > 1e-8 * values.max()
    distance = float(np.sum(np.square(apart @ vectors[:, there]) / values[there]))
    return float(chdtrc(int(there.sum()), distance))
