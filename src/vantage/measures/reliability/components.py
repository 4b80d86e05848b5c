"""How much of the variance of the answers belongs to items, raters, traits of raters, and noise.

Generalisability theory (Cronbach, Gleser, Nanda and Rajaratnam 1972; Brennan 2001): the variance components of the data
at hand say how reliable scores would be with other numbers of raters, items and repetitions (a decision study).
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
from vantage.measures.reliability.variance_design import VarianceDesign, shares
from vantage.measures.reliability.variance_draws import interval_of, variance_draws

CONSTANT: Final = "the answers do not vary"
ONCE: Final = "no rater answered twice, so that samples cannot be told from item × rater"
VIEW: Final = View(
    "Where the variance of single answers comes from",
    columns={"estimate": Column("share", percent=True, digits=0), "variance": Column(digits=2)},
    show=("component", "variance", "estimate"),
    notes=("The residual is what one rater sees in one item and nobody else does, together with noise.",),
    method="Components of variance were estimated for items and raters as crossed random effects.",
)


@measure("components", "relations", view=VIEW, follows=True)
def components(
    data: Judgments,
    *,
    by: By = (),
    trait: By = (),
    interaction: bool = True,
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

    Where the table has gaps (up to 200,000 answers) variances are those of restricted maximum likelihood, as in lme4.
    Where it has none, Henderson's Method I gives the same, but for components so small that `variance` falls below
    zero. `estimate` is the share of the total, with negative variances counted as zero.

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
        if (reason := design.problem()) is not None:
            rows += [{**part.key, "component": name, **based_on, "reason": reason} for name in design.names]
            continue
        variances = design.best()
        share = shares(variances[None])[0]
        drawn = shares(variance_draws(design, over.ci, seed=seed)) if over.ci != "none" and share.any() else None
        for i, name in enumerate(design.names):
            row = {
                "component": name,
                "variance": float(variances[i]),
                "levels": design.factors[i].levels if i < len(design.factors) else len(used),
                **based_on,
            }
            result: dict[str, Any] = {"reason": CONSTANT}
            if np.isfinite(share[i]):
                result = {"estimate": float(share[i])}
                if drawn is not None:
                    result |= over.stated(interval_of(drawn[:, i], float(share[i]), confidence))
            if name == "item":
                result = doubted(result, design.factors[0].code, design.value)
            rows.append({**part.key, **row, **result})
    return table(rows, names(by))


ITEMS: Final = (1,)
RATERS: Final = (1, 2, 3, 5, 10, 20)

D_STUDY_VIEW: Final = View(
    "Reliability of scores by so many items, raters and samples",
    columns={
        "estimate": Column("generalisability", digits=2),
        "dependability": Column(digits=2, interval=("dependability_low", "dependability_high")),
    },
    show=("score", "raters_each", "samples_each", "estimate", "dependability"),
    method="A decision study projected the reliability of scores from components of variance.",
)


@measure("d-study", "reliability", view=D_STUDY_VIEW, follows=True)
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
        problem = design.problem() or (CONSTANT if np.ptp(design.value) == 0 else None)
        variances = design.best() if problem is None else np.empty(0)
        drawn = variance_draws(design, how.ci, seed=seed) if problem is None and how.ci != "none" else None
        for size, sample in product(others, samples):
            row = {**about, f"{'raters' if score == 'item' else 'items'}_each": size, "samples_each": sample}
            reason = problem or (ONCE if sample > 1 and len(variances) < 4 else None)
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
