"""Comparisons of two groups: a test, an effect size with an interval, and a correction for many tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import polars as pl
from scipy.special import stdtr

from vantage.errors import InputError, nearest
from vantage.measures.base import measure, table
from vantage.measures.intervals import Method
from vantage.measures.models.crossed import Crossed
from vantage.measures.models.gaussian import Gaussian
from vantage.measures.multiplicity import Correction, adjusted
from vantage.measures.parts import DISJOINT, check_level, constant_within, counts, names, parts, share_items
from vantage.measures.presentation import Against, Column, View
from vantage.measures.ratings import UNIT, By, Floats, Judgments, judgments_frame
from vantage.measures.relations.two_samples import UNTESTED, Sample, compared, sample_permutation_p
from vantage.measures.reliability.variance_design import VarianceDesign, is_complete, rater_scores
from vantage.measures.resampling import Resampling

Test: TypeAlias = Literal["t", "welch", "mixed", "wilcoxon", "mann_whitney", "permutation"]
Effect: TypeAlias = Literal["d", "g", "dz", "rank_biserial", "cliffs_delta"]

FEW_RATERS: Final = 5
"""A group of fewer raters has no p-value: nobody can tell a group's character from a person's."""
MODELLED: Final = "p is that of a model of items and raters, the interval is about these raters"
CONFOUNDED: Final = "what sets them apart counts as a difference of the groups, and p may be too small"
SEVERAL: Final = 6
"""Raters with as many answers would hardly have one value of a column that varies from answer to answer."""
_PAIRED: Final[dict[str, str]] = {"t": "dz", "wilcoxon": "rank_biserial", "permutation": "dz"}
_UNPAIRED: Final[dict[str, str]] = {
    **dict.fromkeys(("t", "welch", "mixed"), "g"),
    "mann_whitney": "cliffs_delta",
    "permutation": "g",
}


VIEW: Final = View(
    "Two groups compared",
    columns={
        "difference": Column(digits=2, signed=True),
        "estimate": Column("effect size", digits=2, signed=True),
        "p": Column(digits=3),
        "p_adjusted": Column("p (corrected)", digits=3),
    },
    show=("first", "second", "difference", "effect", "estimate", "test", "units", "p", "p_adjusted", "reason"),
    says=(
        Against(
            0.0,
            above="{first} give higher answers than {second}[ about {rows}]",
            below="{first} give lower answers than {second}[ about {rows}]",
            within="{first} and {second} cannot be told apart[ about {rows}]",
            value="difference",
            p="p",
        ),
    ),
    method="Groups were compared by a test of their mean answers (correction: {correction}).",
    sources=("holm1979",),
)


@measure("compare", "relations", view=VIEW)
def compare(
    data: Judgments,
    *,
    by: By = (),
    between: str,
    values: Sequence[object] | None = None,
    unit: By | None = None,
    paired: bool | None = None,
    test: Test | None = None,
    effect: Effect | None = None,
    aggregate: Literal["mean", "median"] = "mean",
    correction: Correction = "holm",
    permutations: int = 10000,
    ci: Literal["auto", "items", "raters", "runs", "none"] = "auto",
    interval: Method = "percentile",
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """Do two groups judge differently? A test and an effect size for every two values of a column.

    The design decides what the units are, unless `unit` and `paired` do. A column that is constant within raters (a
    trait, a condition that each person sees one of) compares raters: the unit is the rater, the two groups are
    separate samples, and each rater has one score, freed from the items that the rater happened to judge (see
    `reliability.rater_scores`). Items as units would take every answer of a person for another person's. A column
    that varies within raters compares items with themselves; one that is constant within items, separate items. Where
    it varies within some raters only, the test is `mixed`, and `reason` counts the others.
    `between="rater"` compares two raters on the items of both, and says nothing about others. For several traits at
    once `explain` is better: it holds the other traits constant.

    Otherwise a unit has one score per group: the mean or median of its answers. Paired, the units that both groups
    have are compared with themselves; unpaired, the two groups' units are separate samples.

    Tests: paired `t`, `wilcoxon` (signed ranks, zeros dropped) and `permutation` of signs; unpaired `t`
    (equal variances), `welch`, `mann_whitney`, `permutation` of group membership and, for groups of raters, `mixed`:
    the difference in a model with crossed random effects of items and raters (see `explain`), which weighs raters by
    what their answers say and compares them within items, so that it does not matter if one group was given the
    items that everyone rates higher. All two-sided. Groups of raters that share no item are not compared; `reason`
    says so. By default paired t or Welch, and `mixed` for groups of raters who did not all judge the same items;
    means and difference are then those of the model. Where raters are the units, `p_permutation` regroups them
    whatever the test, and a group of fewer than five raters has neither a p-value nor an interval: `reason` says
    so. Effect sizes, as `estimate`, positive when the first group is higher:

    * `d`: difference of means / pooled standard deviation (Cohen 1988); `g`: d corrected for small
      samples by 1 − 3 / (4(n₁ + n₂ − 2) − 1) (Hedges 1981);
    * `dz` (paired): mean of the differences / their standard deviation (Cohen 1988);
    * `rank_biserial` (paired): share of positive minus share of negative signed ranks (Kerby 2014);
    * `cliffs_delta` (unpaired): P(first > second) − P(first < second) (Cliff 1993).

    The interval resamples units, and `over` says what these are. With fewer than fifty that of d, g and dz comes from
    the non-central t distribution, since resamples of few units hold the effect too rarely; with fewer than ten the
    others have none. `p_adjusted` corrects over all rows of the result.

    >>> answers = {"item": [1, 2, 3, 4] * 2, "rater": ["a"] * 8, "value": [1, 2, 3, 4, 3, 3, 4, 5],
    ...            "condition": ["plain"] * 4 + ["context"] * 4}
    >>> compare(answers, between="condition").select("first", "difference", pl.col("p").round(4)).rows()
    [('context', 1.25, 0.0154)]
    """
    keys = None if unit is None else names(unit)
    if between in (["item"] if keys is None else keys):
        remedy = "pass unit, for example rater" if unit is None else "choose another unit"
        raise InputError(f"column '{between}' cannot be both compared and the unit", remedy=remedy)
    how = Resampling("none" if ci == "none" else "items", interval, resamples, confidence, seed)
    present = judgments_frame(data, [between])[between].drop_nulls().unique().sort().to_list()
    levels = present if values is None else list(values)
    for value in levels:
        if value not in present:
            known = [str(v) for v in present]
            raise InputError(f"column '{between}' has no value '{value}'", remedy=nearest(str(value), known))
    if len(levels) < 2:
        raise InputError(f"column '{between}' has only one value", remedy="compare another column")
    rows: list[dict[str, Any]] = []
    for part in parts(data, by, extra=[between, *(keys or ())]):
        check_level(part.scale(), part.frame, "a comparison of means or ranks")
        design = Comparison.of(part.answered.filter(pl.col(between).is_in(levels)), between, keys, paired)
        usual, measured = _chosen(design.paired, test, effect)
        free = test is None and aggregate == "mean"
        if free and design.of_raters and design.uneven(part.answered):
            usual = "mixed"
        elif usual == "mixed" and not (design.unit == ["rater"] and design.of_raters):
            raise InputError("test 'mixed' compares groups of raters", remedy="leave test out")
        design.check(ci)
        scores = design.scores(part.answered, aggregate)
        for first, second in combinations(levels, 2):
            sample = design.sample(scores, first, second)
            asked = part.frame.filter(pl.col(between).is_in([first, second]))
            used = sample.used(asked, design.unit)
            alone, several = design.apart(used)
            tested = "mixed" if free and unit is None and alone and several >= 2 * FEW_RATERS else usual
            row = {
                **part.key,
                "first": str(first),
                "second": str(second),
                "test": tested,
                "effect": measured,
                "unit": ", ".join(design.unit),
                "paired": design.paired,
                "units": len(sample.x) if design.paired else len(sample.x) + len(sample.y),
                **counts(used, asked, unpaired=asked["value"].count() - len(used)),
            }
            if design.of_raters and not share_items(used, between):
                rows.append({**row, **UNTESTED, "reason": DISJOINT})
                continue
            result = compared(sample, tested, measured, permutations, how)
            if tested == "mixed" and result["p"] is not None:
                answered, in_first = used.filter(pl.col("value").is_not_null()), pl.col(between) == first
                means, statistic, modelled, weight = two_groups(answered, in_first, within=design.of_raters)
                if weight and design.of_raters:
                    share = in_first.cast(pl.Float64).mean().over(UNIT)
                    freed = design.scores(answered.with_columns(pl.col("value") - weight * share), aggregate)
                    sample = design.sample(freed, first, second)
                    result = compared(sample, tested, measured, permutations, how)
                result |= {"first_mean": float(means[0]), "second_mean": float(means[1]), "statistic": statistic}
                result |= {"p": modelled, "difference": float(means[0] - means[1])}
            count = f"{alone} of {several} raters with several answers have one value of '{between}' only"
            reason = f"{count}: {MODELLED if tested == 'mixed' else CONFOUNDED}" if alone else None
            rows.append({**row, **design.judged(result, sample, (first, second), permutations, how, reason)})
    for row, p in zip(rows, adjusted([row["p"] for row in rows], correction), strict=True):
        row["p_adjusted"] = p
    numbers = ("statistic", "p", "p_permutation", "p_adjusted")
    return table(rows, names(by)).with_columns(pl.col(name).cast(pl.Float64) for name in numbers if rows)


@dataclass(frozen=True, slots=True)
class Comparison:
    """What is compared with what: the column, the units, and whether both groups have the same ones."""

    between: str
    unit: list[str]
    paired: bool
    of_raters: bool
    """Whether each rater belongs to one group, so that raters are what the groups are made of."""

    @classmethod
    def of(cls, answered: pl.DataFrame, between: str, unit: list[str] | None, paired: bool | None) -> Comparison:
        """The design that the answers have, or that was asked for where it is possible."""
        of_raters = between != "rater" and constant_within(answered, between, ["rater"])
        chosen = unit or (["rater"] if of_raters else ["item"])
        apart = constant_within(answered, between, chosen)
        if paired and apart:
            raise InputError(
                f"every {' and '.join(chosen)} has one value of '{between}' only, so nothing can be paired",
                remedy="leave paired out, or choose another unit",
            )
        alike = between == "rater" or not apart
        return cls(between, chosen, alike if paired is None else paired, of_raters)

    def apart(self, used: pl.DataFrame) -> tuple[int, int]:
        """Of the raters with several answers in two groups, how many are in one of them only, and how many there are.

        Nobody counts where units are raters.
        """
        if self.of_raters or self.between == "rater" or "rater" in self.unit:
            return 0, 0
        answered = used.filter(pl.col("value").is_not_null())
        of_rater = answered.group_by("rater").agg(pl.len().alias("n"), pl.col(self.between).n_unique().alias("values"))
        several = of_rater.filter(pl.col("n") >= SEVERAL)
        return int((several["values"] == 1).sum()), len(several)

    @property
    def over(self) -> str:
        """What an interval over the units generalises to."""
        return "raters" if "rater" in self.unit else "runs" if self.unit == ["sample"] else "items"

    def scores(self, answered: pl.DataFrame, aggregate: str) -> pl.DataFrame:
        """One score per unit and group."""
        if self.of_raters and self.unit == ["rater"]:
            groups = answered.select("rater", self.between).unique()
            return rater_scores(answered, aggregate).join(groups, on="rater").sort("rater")
        centre = pl.col("value").mean() if aggregate == "mean" else pl.col("value").median()
        keys = [*self.unit, self.between]
        return answered.group_by(keys).agg(centre.alias("score")).sort(keys)

    def check(self, ci: str) -> None:
        """Refuses an interval over what the units are not."""
        if ci not in ("auto", "none", self.over):
            raise InputError(
                f"the units of this comparison are {self.over}, so it has no interval over '{ci}'",
                remedy="leave ci out, or choose another unit",
            )

    def sample(self, scores: pl.DataFrame, *groups: Any) -> Sample:
        """The scores of two groups."""
        one, two = (scores.filter(pl.col(self.between) == group).drop(self.between) for group in groups)
        return Sample.of(one, two, self.unit, self.paired)

    def uneven(self, answered: pl.DataFrame) -> bool:
        """Whether raters are the units and judged different items, so that a mean of each is not all they say."""
        if self.paired or self.unit != ["rater"] or is_complete(answered):
            return False
        design = VarianceDesign.of(answered.drop_nulls(self.between))
        # Items and raters have more than one answer each, so that their variances have an estimate.
        return all(1 < factor.levels < len(design.value) for factor in design.factors[:2])

    def judged(
        self,
        result: dict[str, Any],
        sample: Sample,
        groups: tuple[Any, Any],
        permutations: int,
        how: Resampling,
        apart: str | None,
    ) -> dict[str, Any]:
        """The row of a pair of groups, without what its design cannot give."""
        result = {**result, "p_permutation": None, "over": self.over if result.get("low") is not None else None}
        if not self.of_raters or (sample.paired and "rater" in self.unit):
            return result if result["p"] is None or apart is None else {**result, "reason": apart}
        if "rater" not in self.unit:
            reason = (
                f"no p-value: '{self.between}' does not vary within raters, and units other than raters would count "
                "one rater's answers as independent; leave unit out"
            )
            return {**result, "p": None, "statistic": None, "reason": reason}
        few = [(str(g), len(s)) for g, s in zip(groups, (sample.x, sample.y), strict=True) if len(s) < FEW_RATERS]
        if few:
            counted = " and ".join(f"'{name}' has {n} rater{'s' if n != 1 else ''}" for name, n in few)
            reason = f"{counted}; a p-value and an interval need at least {FEW_RATERS} in each group"
            if any(n == 1 for _, n in few):
                reason += ", or between='rater' to compare single raters on their items"
            return {**result, **dict.fromkeys(("statistic", "p", "low", "high", "over")), "reason": reason}
        if result["p"] is None:
            return result
        return {**result, "p_permutation": sample_permutation_p(sample, permutations, how.seed)}


def _chosen(paired: bool, test: Test | None, effect: Effect | None) -> tuple[str, str]:
    tests = _PAIRED if paired else _UNPAIRED
    allowed = ("dz", "d", "g", "rank_biserial") if paired else ("d", "g", "cliffs_delta")
    words = "paired" if paired else "unpaired"
    if test is not None and test not in tests:
        raise InputError(f"test '{test}' is not for {words} samples", remedy=f"use {', '.join(tests)}")
    name = test or ("t" if paired else "welch")
    if effect is not None and effect not in allowed:
        raise InputError(f"effect '{effect}' is not for {words} samples", remedy=f"use {', '.join(allowed)}")
    return name, effect or tests[name]


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
