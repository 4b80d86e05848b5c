"""How much of the variance of the answers belongs to items, raters, traits of raters, and noise."""

from __future__ import annotations

from typing import Any, Final, Literal

import numpy as np
import polars as pl

from vantage.measures.base import measure, table
from vantage.measures.intervals import OVER, Bootstrap, Over, doubted
from vantage.measures.parts import check_level, counts, names, parts
from vantage.measures.presentation import Column, View
from vantage.measures.rater_variance import several_items
from vantage.measures.ratings import By, Judgments
from vantage.measures.reliability.variance_design import VarianceDesign, shares
from vantage.measures.reliability.variance_draws import interval_of, variance_draws

VIEW: Final = View(
    "Where the variance of single answers comes from",
    columns={"estimate": Column("share", percent=True, digits=0), "variance": Column(digits=2)},
    show=("component", "variance", "estimate"),
    notes=("The residual is what one rater sees in one item and nobody else does, together with noise.",),
    method="Components of variance were estimated for items and raters as crossed random effects.",
)


@measure("components", "relations", view=VIEW)
def components(
    data: Judgments,
    *,
    by: By = (),
    trait: By = (),
    interaction: bool = True,
    estimator: Literal["auto", "moments", "reml"] = "auto",
    ci: Over = "auto",
    confidence: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """The share of the variance that belongs to items, raters, traits of raters, and what is left.

    Components: `item` (what is judged), `rater` (some are stricter), each `trait` (groups of raters differ
    on average) and `item × trait` (groups differ on certain items; `interaction`), `item × rater` where
    raters answered repeatedly (then the residual is the noise between repetitions), and `residual`.
    Without repetitions the residual holds item × rater and noise together. Items and raters may have met in any
    pattern.

    `moments` is Henderson's Method I: unbiased, so that `variance` may fall below zero when a component is small;
    `reml` is restricted maximum likelihood (as in lme4), which is never negative and more precise where
    items or raters have very different numbers of answers. `auto` is `reml` where the table has gaps (up to 200,000
    answers), and `moments` where it has none. `estimate` is the share of the total, with negative
    variances counted as zero.

    The interval is over other items and other raters ("auto", both, however few raters there are; `reason` says so
    below ten), over items with these raters, or over raters with these items. It comes from draws of generalised
    pivotal quantities (see `variance_draws`), so that few raters make it long and not wrong. The levels of a trait are
    taken as they are. Codes are taken as numbers: the scale must be ordered.

    >>> answers = [[1, 2, 3, 4], [2, 3, 4, 5], [1, 3, 3, 5]]
    >>> components(answers, ci="none").select("component", pl.col("variance").round(3)).rows()
    [('item', 1.889), ('rater', 0.222), ('residual', 0.111)]
    """
    asked = Bootstrap(ci, confidence=confidence, over=OVER)
    traits = names(trait)
    rows: list[dict[str, Any]] = []
    for part in parts(data, by, extra=traits):
        check_level(part.scale(), part.frame, "a variance", distances=True)
        known = [pl.col(column).is_not_null() for column in traits]
        used = part.answered.filter(known) if known else part.answered
        based_on = counts(used, part.frame, no_trait=len(part.answered) - len(used))
        design = VarianceDesign.of(used, traits, interaction)
        over = asked.modelled(several_items(used))
        reason = design.problem()
        variances = design.variances() if reason is None else np.empty(0)
        if reason is None and not np.isfinite(variances).all():
            reason = "the design cannot tell the components apart"
        if reason is not None:
            rows += [{**part.key, "component": name, **based_on, "reason": reason} for name in design.names]
            continue
        if estimator != "moments" and np.ptp(design.value) > 0:
            variances = design.best() if estimator == "auto" else design.likeliest()
        share = shares(variances[None])[0]
        drawn = shares(variance_draws(design, over.ci, seed=seed)) if over.ci != "none" and share.any() else None
        for i, name in enumerate(design.names):
            row = {
                "component": name,
                "variance": float(variances[i]),
                "levels": design.factors[i].levels if i < len(design.factors) else len(used),
                **based_on,
            }
            result: dict[str, Any] = {"reason": "the answers do not vary"}
            if np.isfinite(share[i]):
                result = {"estimate": float(share[i])}
                if drawn is not None:
                    result |= over.stated(interval_of(drawn[:, i], float(share[i]), confidence))
            if name == "item":
                result = doubted(result, design.factors[0].code, design.value)
            rows.append({**part.key, **row, **result})
    return table(rows, names(by))
