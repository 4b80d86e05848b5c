"""Two groups of raters in a model of ratings: how far apart they are, given which items each rater judged."""

from __future__ import annotations

import numpy as np
import polars as pl
from scipy.special import stdtr

from vantage.measures.models.crossed import Crossed
from vantage.measures.models.gaussian import Gaussian
from vantage.measures.ratings import Floats
from vantage.measures.reliability.variance_design import VarianceDesign


def can_be_told(design: VarianceDesign) -> bool:
    """Whether items and raters have more than one answer each, so that their variances have an estimate."""
    return all(1 < factor.levels < len(design.value) for factor in design.factors[:2])


def two_groups(answered: pl.DataFrame, first: pl.Expr, *, within: bool = True) -> tuple[Floats, float, float, float]:
    """The mean answer of both groups, the t statistic of their difference, its p-value, and the weight of the share.

    *answer = group + share + item + rater + error* with items and raters random, by restricted maximum likelihood; the
    degrees of freedom are the raters less two. Unlike a mean per rater this weighs raters by what their answers say.
    The share of an item's answers that are the first group's takes up what sets the items of one group apart from
    those of the other, so that the difference is that within items (Mundlak 1978); without `within`, as for a column of
    the items themselves, it is left out.

    >>> rng = np.random.default_rng(0)
    >>> item, rater = (grid.ravel() for grid in np.indices((20, 10)))
    >>> value = rng.normal(size=20)[item] + 2.0 * (rater < 5) + rng.normal(size=200)
    >>> frame = pl.DataFrame({"item": item, "rater": rater, "value": value})
    >>> frame = frame.with_columns(question=pl.lit(""), condition=pl.lit(""), sample=0)
    >>> means, _, p, _ = two_groups(frame, pl.col("rater") < 5)
    >>> bool(abs(means[0] - means[1] - 2) < 0.5), bool(p < 0.001)
    (True, True)
    """
    design = VarianceDesign.of(answered)
    inside = np.sign(VarianceDesign.of(answered.with_columns(value=first.cast(pl.Float64))).value) / 2
    codes = [factor.code for factor in design.factors[:2]]
    share = (np.bincount(codes[0], inside) / np.bincount(codes[0]))[codes[0]]
    columns = [np.ones(len(inside)), inside, *([share - share.mean()] if within and np.ptp(share) > 1e-9 else [])]
    model = Gaussian(design.value, np.column_stack(columns), Crossed(codes))
    variances = np.nan_to_num(design.variances, nan=float(design.value.var()))
    fit = model.fit(np.sqrt(np.clip(variances[:2], 0, None) / max(float(variances[2:].sum()), 1e-9)))
    middle, apart, *weight = fit.beta.tolist()
    statistic = apart / float(np.sqrt(fit.covariance[1, 1]))
    freedom = max(design.factors[1].levels - 2, 1)
    centre = float(answered["value"].mean()) + middle  # type: ignore[arg-type]
    means = centre + apart * np.array([0.5, -0.5])
    return means, statistic, 2 * float(stdtr(freedom, -abs(statistic))), sum(weight)
