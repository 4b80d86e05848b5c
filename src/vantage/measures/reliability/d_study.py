"""Decision studies: how reliable scores would be with other numbers of raters, items and repetitions.

Generalisability theory (Cronbach, Gleser, Nanda and Rajaratnam 1972; Brennan 2001): the variance components of the data
at hand say what a study of another size would give.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, Final, Literal

import numpy as np
import polars as pl

from vantage.errors import InputError
from vantage.measures.base import measure, table
from vantage.measures.intervals import OVER, Bootstrap, Over, doubted
from vantage.measures.parts import check_level, counts, names, parts
from vantage.measures.presentation import Column, View
from vantage.measures.rater_variance import several_items
from vantage.measures.ratings import By, Floats, Judgments
from vantage.measures.reliability.variance_design import VarianceDesign
from vantage.measures.reliability.variance_draws import interval_of, variance_draws

ITEMS: Final = (1,)
RATERS: Final = (1, 2, 3, 5, 10, 20)

VIEW: Final = View(
    "Reliability of scores by so many items, raters and samples",
    columns={
        "estimate": Column("generalisability", digits=2),
        "dependability": Column(digits=2, interval=("dependability_low", "dependability_high")),
    },
    show=("score", "raters_each", "samples_each", "estimate", "dependability"),
    method="A decision study projected the reliability of scores from components of variance.",
)


@measure("d-study", "reliability", view=VIEW)
def d_study(
    data: Judgments,
    *,
    by: By = (),
    score: Literal["item", "rater"] = "item",
    items: Sequence[int] = ITEMS,
    raters: Sequence[int] = RATERS,
    samples: Sequence[int] = (1,),
    ci: Over = "auto",
    confidence: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """How reliable scores would be with so many items, raters and samples of each rater (a decision study).

    With `score="item"` an item's score is the mean of k raters with m samples each; with `score="rater"` a rater's
    (a model's, say) is the mean over n items with m samples each. `estimate` is the generalisability coefficient: what
    is scored, against what disturbs its order, σ²ᵢ / (σ²ᵢ + σ²ᵢᵣ/k + σ²ₑ/km) for items. `dependability` counts the
    other side's level too, + σ²ᵣ/k: it is for scores that mean something by themselves, where not everything is
    judged by the same raters. Samples can be told apart from item × rater only where raters answered repeatedly;
    otherwise `samples` must be 1. Intervals as for `components`.

    >>> answers = [[1, 2, 3, 4], [2, 3, 4, 5], [1, 3, 3, 5]]
    >>> result = d_study(answers, raters=[1, 3], ci="none")
    >>> result.select("raters_each", pl.col("estimate", "dependability").round(3)).rows()
    [(1, 0.944, 0.85), (3, 0.981, 0.944)]
    """
    for name, sizes in (("items", items), ("raters", raters), ("samples", samples)):
        if not sizes or min(sizes) < 1:
            raise InputError(f"{name} must be whole numbers from 1 up", remedy="use for example 1,2,5")
    if tuple(items if score == "item" else raters) != (ITEMS if score == "item" else RATERS):
        unused = "items" if score == "item" else "raters"
        raise InputError(
            f"the score of one {score} is not a mean over {unused}", remedy=f"leave {unused} out, or score {unused}"
        )
    asked = Bootstrap(ci, confidence=confidence, over=OVER)
    others = raters if score == "item" else items
    rows: list[dict[str, Any]] = []
    for part in parts(data, by):
        check_level(part.scale(), part.frame, "a variance", distances=True)
        about = {**part.key, "score": score, **counts(part.answered, part.frame)}
        design = VarianceDesign.of(part.answered)
        how = asked.modelled(several_items(part.answered))
        variances = design.best() if design.problem() is None else np.full(1, np.nan)
        repeated = len(variances) == 4
        drawn = None
        if np.isfinite(variances).all() and np.ptp(design.value) > 0 and how.ci != "none":
            drawn = variance_draws(design, how.ci, seed=seed)
        for size, sample in product(others, samples):
            row = {**about, f"{'raters' if score == 'item' else 'items'}_each": size, "samples_each": sample}
            reason = design.problem()
            if reason is None and not np.isfinite(variances).all():
                reason = "the design cannot tell the components apart"
            if reason is None and np.ptp(design.value) == 0:
                reason = "the answers do not vary"
            if reason is None and sample > 1 and not repeated:
                reason = "no rater answered twice, so that samples cannot be told from item × rater"
            if reason is not None:
                rows.append({**row, "dependability": None, "reason": reason})
                continue
            both = _coefficients(np.clip(variances, 0, None)[None], score, size, sample)[0].tolist()
            row |= {"dependability": both[1], "estimate": both[0]}
            if drawn is not None:
                relative, absolute = _coefficients(drawn, score, size, sample).T
                row |= how.stated(interval_of(relative, both[0], confidence))
                named = ("dependability_low", "dependability_high")
                row |= dict(zip(named, interval_of(absolute, both[1], confidence), strict=True))
            rows.append(doubted(row, design.factors[0].code, design.value) if score == "item" else row)
    return table(rows, names(by))


def _coefficients(variances: Floats, score: str, size: int, samples: int) -> Floats:
    """Generalisability and dependability, one row per row of variances: item, rater, (item × rater,) residual."""
    scored, other = (variances[:, 0], variances[:, 1]) if score == "item" else (variances[:, 1], variances[:, 0])
    if variances.shape[1] == 4:
        disturbing = (variances[:, 2] + variances[:, 3] / samples) / size
    else:
        disturbing = variances[:, 2] / size
    relative = scored / np.maximum(scored + disturbing, 1e-300)
    absolute = scored / np.maximum(scored + disturbing + other / size, 1e-300)
    return np.column_stack([relative, absolute])
