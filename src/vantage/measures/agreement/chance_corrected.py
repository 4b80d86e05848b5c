"""Agreement corrected for chance: Fleiss', Randolph's and Gwet's coefficients for any number of raters.

All three are (pₐ − pₑ)/(1 − pₑ) with the same observed agreement pₐ and differ in the agreement pₑ that
chance would bring. Items may have different numbers of answers (Gwet 2014): pₐ is the mean, over items with
two answers or more, of the share of agreeing pairs; the prevalence of a category is the mean, over items with
one answer or more, of the category's share of the answers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, TypeAlias, Unpack

import numpy as np
import polars as pl

from vantage.errors import InputError
from vantage.measures.base import measure, table
from vantage.measures.counts import Counts, quotient
from vantage.measures.intervals import OVER, Bootstrap, IntervalOptions
from vantage.measures.kernel import Statistic
from vantage.measures.presentation import agreement_view
from vantage.measures.ratings import ALONE, By, Floats, Judgments
from vantage.measures.tables import CountedGroup, counted_groups
from vantage.scales import show_code

Weights: TypeAlias = Literal["linear", "quadratic", "ordinal"]
"""How much two different answers still agree; null in their place means not at all."""
Chance: TypeAlias = Callable[[Floats, Floats], Floats]
"""From prevalences, one row per resample, and agreement weights to the agreement expected by chance."""

CERTAIN: Final = "chance alone would bring full agreement: all answers are in one category"


FLEISS_VIEW: Final = agreement_view(
    "Fleiss' kappa",
    "κ",
    "Agreement was measured by Fleiss' kappa (Fleiss, 1971).",
    "fleiss1971",
)


@measure("fleiss", family="agreement", view=FLEISS_VIEW, interval=("raters", "sources"))
def fleiss(
    data: Judgments, *, by: By = (), agreement_weights: Weights | None = None, **resampling: Unpack[IntervalOptions]
) -> pl.DataFrame:
    """Fleiss' kappa (1971): chance agreement from the prevalence of the categories.

    Items may differ in how many answers they have (Gwet 2014); an item with a single answer counts towards
    the prevalences only. With `agreement_weights`, partial agreement counts too. Null when no item has two answers, or
    when all answers are in one category. The interval is over items, raters or both (`ci`, see
    `vantage.measures.alpha`).

    >>> votes = [[1, 1, 2, 2, 1], [1, 2, 2, 2, 1], [1, 1, 2, 1, 1]]
    >>> round(fleiss(votes, ci="none")["estimate"][0], 4)
    0.4444
    """
    bootstrap = Bootstrap(**resampling, over=OVER)
    groups = counted_groups(data, by, bootstrap, agreement=True)
    return table([_row(*group, _fleiss_chance, agreement_weights, None) for group in groups], by)


RANDOLPH_VIEW: Final = agreement_view(
    "Randolph's kappa",
    "κ",
    "Agreement was measured by Randolph's free-marginal kappa (Randolph, 2005).",
    "randolph2005",
)


@measure("randolph", family="agreement", view=RANDOLPH_VIEW, interval=("raters", "sources"))
def randolph(
    data: Judgments,
    *,
    by: By = (),
    agreement_weights: Weights | None = None,
    categories: Sequence[float] | None = None,
    **resampling: Unpack[IntervalOptions],
) -> pl.DataFrame:
    """Randolph's free-marginal kappa (2005): chance agreement of 1/q when all q categories are alike.

    The categories are those of the question's scale; for a plain table, `categories` or else the values that
    occur. Items with a single answer are left out as `unpaired`. The interval is over items, raters or both.

    >>> votes = [[1, 1, 2, 2, 1], [1, 2, 2, 2, 1], [1, 1, 2, 1, 1]]
    >>> round(randolph(votes, categories=[1, 2, 3], ci="none")["estimate"][0], 4)
    0.6
    """
    bootstrap = Bootstrap(**resampling, over=OVER)
    groups = counted_groups(data, by, bootstrap, paired=True)
    return table([_row(*group, _uniform_chance, agreement_weights, categories) for group in groups], by)


AC1_VIEW: Final = agreement_view("Gwet's AC1", "AC1", "Agreement was measured by Gwet's AC1 (Gwet, 2008).", "gwet2008")


@measure("ac1", family="agreement", view=AC1_VIEW, interval=("raters", "sources"))
def ac1(
    data: Judgments,
    *,
    by: By = (),
    agreement_weights: Weights | None = None,
    categories: Sequence[float] | None = None,
    **resampling: Unpack[IntervalOptions],
) -> pl.DataFrame:
    """Gwet's AC1 (2008), and AC2 with agreement weights: chance agreement only where raters would have to guess.

    pₑ = Σπ(1 − π)/(q − 1), times the mean weight of two categories for AC2 (Gwet 2014). Unlike kappas it is
    defined, and 1, when everyone always gives the same one of several possible answers. The categories are
    those of the scale; for a plain table, `categories` or else the values that occur. Bootstrap over items,
    raters or both.

    >>> votes = [[1, 1, 2, 2, 1], [1, 2, 2, 2, 1], [1, 1, 2, 1, 1]]
    >>> round(ac1(votes, ci="none")["estimate"][0], 4)
    0.4872
    """
    bootstrap = Bootstrap(**resampling, over=OVER)
    groups = counted_groups(data, by, bootstrap, agreement=True)
    return table([_row(*group, _gwet_chance, agreement_weights, categories) for group in groups], by)


def coefficient(weight: Floats, chance: Chance) -> Statistic:
    """A chance-corrected coefficient: what units add to observed agreement and to prevalences, and what follows."""

    def rows(counts: Counts) -> Floats:
        n, table = counts.size, counts.dense
        agreeing = np.einsum("kc,kc->k", table, table @ weight) - n
        agreement = np.divide(agreeing, n * (n - 1), out=np.zeros(len(n)), where=n >= 2)
        return np.column_stack([agreement, n >= 2, np.ones(len(n)), table / n[:, None]])

    def of(sums: Floats) -> Floats:
        agreed, pairs, units = sums[:, :3].T
        expected = chance(quotient(sums[:, 3:], units[:, None] + np.zeros(sums[:, 3:].shape)), weight)
        left = 1 - expected
        return quotient(quotient(agreed, pairs) - expected, np.where(left > 1e-12, left, 0.0))

    return Statistic(rows, of, (-1.0, 1.0))


def _fleiss_chance(prevalence: Floats, weight: Floats) -> Floats:
    return np.asarray(np.einsum("bc,bc->b", prevalence @ weight, prevalence))


def _uniform_chance(prevalence: Floats, weight: Floats) -> Floats:
    return np.full(len(prevalence), weight.mean())


def _gwet_chance(prevalence: Floats, weight: Floats) -> Floats:
    q = len(weight)
    if q == 1:
        return np.ones(len(prevalence))
    return np.asarray(weight.sum() / (q * (q - 1)) * (prevalence * (1 - prevalence)).sum(axis=1))


def _row(
    group: CountedGroup[Counts],
    bootstrap: Bootstrap,
    chance: Chance,
    weights: Weights | None,
    categories: Sequence[float] | None,
) -> dict[str, Any]:
    row = group.row
    if not group.counts.paired().units:
        return {**row, "reason": ALONE}
    if weights is not None and group.scale is not None:
        group.level("ordinal")  # refuses weights on a scale that has no order
    group = _over_categories(group, categories)
    corrected = coefficient(weight_matrix(weights, group.counts.values), chance)
    return {**row, **group.estimated(corrected, bootstrap, CERTAIN)}


def _over_categories(group: CountedGroup[Counts], categories: Sequence[float] | None) -> CountedGroup[Counts]:
    """The group with a column of counts for every category, whether or not anyone chose it."""
    counts = group.counts
    codes = categories or (group.scale.codes if group.scale is not None else ())
    wanted = np.unique(np.asarray(codes, dtype=np.float64)) if codes else counts.values
    position = np.searchsorted(wanted, counts.values)
    known = position < len(wanted)
    known[known] = wanted[position[known]] == counts.values[known]
    if not known.all():
        raise InputError(
            f"the value {show_code(float(counts.values[~known][0]))} is not one of the categories",
            remedy=f"they are {', '.join(show_code(code) for code in wanted.tolist())}",
        )
    return group.merged(position, wanted)


def weight_matrix(weights: Weights | None, codes: Floats) -> Floats:
    """Agreement weights between codes: 1 on the diagonal, less the farther apart.

    Linear and quadratic weights (Cohen 1968) fall with the distance of the codes; ordinal weights
    (Gwet 2014) with the number of pairs of ranks in between, whatever the codes.

    >>> weight_matrix("quadratic", np.array([1.0, 2.0, 3.0])).tolist()
    [[1.0, 0.75, 0.0], [0.75, 1.0, 0.75], [0.0, 0.75, 1.0]]
    """
    if weights is None:
        return np.eye(len(codes))
    if len(codes) < 2:
        return np.ones((len(codes), len(codes)))
    if weights == "ordinal":
        between = np.abs(np.subtract.outer(np.arange(len(codes)), np.arange(len(codes)))) + 1
        lost: Floats = between * (between - 1) / 2
    else:
        lost = np.abs(np.subtract.outer(codes, codes)) ** (1 if weights == "linear" else 2)
    return np.asarray(1 - lost / lost.max())
