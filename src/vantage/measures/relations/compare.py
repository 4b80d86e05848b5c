"""Comparisons of two groups: a test, an effect size with an interval, and a correction for many tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final, Literal, TypeAlias

import polars as pl

from vantage.errors import InputError, nearest
from vantage.measures.base import measure, table
from vantage.measures.multiplicity import Correction, adjusted
from vantage.measures.parts import DISJOINT, Part, check_level, constant_within, counts, names, parts, share_items
from vantage.measures.presentation import Against, Column, View
from vantage.measures.ratings import By, ItemSources, Judgments, judgments_frame
from vantage.measures.relations.groups import ENOUGH, analysed, trait_scales
from vantage.measures.relations.two_samples import UNTESTED, Sample, compared
from vantage.measures.reliability.variance_design import rater_scores
from vantage.measures.resampling import Resampling

Test: TypeAlias = Literal["mixed", "t", "welch", "wilcoxon", "mann_whitney", "permutation"]
Effect: TypeAlias = Literal["points", "d", "g", "dz", "rank_biserial", "cliffs_delta"]

_PAIRED: Final[dict[str, str]] = {"t": "dz", "wilcoxon": "rank_biserial", "permutation": "dz"}
_UNPAIRED: Final[dict[str, str]] = {"t": "g", "welch": "g", "mann_whitney": "cliffs_delta", "permutation": "g"}


VIEW: Final = View(
    "Groups compared",
    columns={
        "difference": Column(digits=2, signed=True),
        "estimate": Column("effect", digits=2, signed=True, interval=("low", "high")),
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
    ci: Literal["auto", "both", "items", "raters", "runs", "none"] = "auto",
    sources: ItemSources | str | None = None,
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """Do groups judge differently? The values of a column compared, in a model that fits the design of the answers.

    `between` is a trait of raters, a condition, a property of items or `rater`. Two values are compared with each
    other, each of several with all others, an ordered column by its trend and a number by its slope; `values` names
    those to compare. It is the analysis of `groups`: a linear mixed model (test `mixed`) with random effects of items,
    raters and `sources` of items, whose effects vary where the column varies within them, and variances of their own
    for groups of raters; degrees of freedom are Satterthwaite's. `estimate` is the difference in points, and interval
    and p agree; `over` says what they generalise to. Groups of fewer than five raters are described and not tested,
    groups of raters that share no item are not compared; `reason` says so. For several traits at once `explain` is
    better: it holds the other traits constant.

    With `test`, `unit`, `paired`, `effect` or `aggregate` each unit has one score per group, its mean or median answer,
    and a classical test compares these. Tests: paired `t`, `wilcoxon` (signed ranks, zeros dropped) and `permutation`
    of signs; unpaired `t` (equal variances), `welch`, `mann_whitney` and `permutation` of group membership, all
    two-sided. The unit is the rater where the column is constant within raters (a rater's score is then freed from the
    items that the rater happened to judge, see `reliability.rater_scores`), else the item. Effect sizes, as
    `estimate`, positive when the first group is higher:

    * `d`: difference of means / pooled standard deviation (Cohen 1988); `g`: d corrected for small
      samples by 1 − 3 / (4(n₁ + n₂ − 2) − 1) (Hedges 1981);
    * `dz` (paired): mean of the differences / their standard deviation (Cohen 1988);
    * `rank_biserial` (paired): share of positive minus share of negative signed ranks (Kerby 2014);
    * `cliffs_delta` (unpaired): P(first > second) − P(first < second) (Cliff 1993).

    Their interval leaves out units in turn. With fewer than fifty that of d, g and dz comes from the non-central t
    distribution; with fewer than ten the others have none.
    `p_adjusted` corrects over all rows of the result.

    >>> answers = {"item": [1, 2, 3, 4] * 2, "rater": ["a"] * 8, "value": [1, 2, 3, 4, 3, 3, 4, 5],
    ...            "condition": ["plain"] * 4 + ["context"] * 4}
    >>> compare(answers, between="condition").select("first", pl.col("difference", "p").round(4)).rows()
    [('context', 1.25, 0.0154)]
    """
    keys = None if unit is None else names(unit)
    if between in (["item"] if keys is None else keys):
        remedy = "pass unit, for example rater" if unit is None else "choose another unit"
        raise InputError(f"column '{between}' cannot be both compared and the unit", remedy=remedy)
    how = Resampling("none" if ci == "none" else "items", resamples=resamples, confidence=confidence, seed=seed)
    present = judgments_frame(data, [between])[between].drop_nulls().unique().sort().to_list()
    levels = present if values is None else list(values)
    for value in levels:
        if value not in present:
            known = [str(v) for v in present]
            raise InputError(f"column '{between}' has no value '{value}'", remedy=nearest(str(value), known))
    if len(levels) < 2:
        raise InputError(f"column '{between}' has only one value", remedy="compare another column")
    asked = unit is not None or paired is not None or aggregate != "mean" or effect not in (None, "points")
    classical = asked or test not in (None, "mixed")
    if classical and test == "mixed":
        raise InputError("test 'mixed' takes its units from the design", remedy="leave unit, paired and effect out")
    rows: list[dict[str, Any]] = []
    for part in parts(data, by, extra=[between, *(keys or ())]):
        if not classical:
            made = analysed(
                part,
                between,
                trait_scales(data).get(between),
                values=values,
                sources=sources,
                over=ci,
                confidence=confidence,
            )
            rows += [{**part.key, **row} for row in _shown(list(made))]
            continue
        check_level(part.scale(), part.frame, "a comparison of means or ranks")
        design = ScoredUnits.of(part.answered.filter(pl.col(between).is_in(levels)), between, keys, paired)
        rows += _of_scores(part, design, levels, test, effect, aggregate, permutations, ci, how)
    for row, p in zip(rows, adjusted([row["p"] for row in rows], correction), strict=True):
        row["p_adjusted"] = p
    numbers = ("statistic", "p", "p_adjusted")
    return table(rows, names(by)).with_columns(pl.col(name).cast(pl.Float64) for name in numbers if rows)


def _shown(made: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of the analysis of groups as comparisons: two groups are one, unknown values are counted."""
    unknown = sum(row["judgments"] for row in made if row["row"] == "missing")
    kept = [row for row in made if row["row"] != "missing"]
    if [row["row"] for row in kept] == ["group", "group"]:
        first, second = kept
        apart = {"rater": ["raters"], "item": ["items"], "source": ["items"]}.get(first["unit"], [])
        both = {name: max(first[name], second[name]) for name in ("items", "raters")}
        kept = [{**first, **both, **{name: first[name] + second[name] for name in (*apart, "judgments")}}]
    out = []
    for row in kept:
        left_out = {**row["left_out"], **({"no_value": unknown} if unknown else {})}
        named = {
            "first": row["higher"] if row["versus"] is None else row["group"],
            "second": row["versus"] or row["lower"],
        }
        means = {"first_mean": row.get("mean"), "second_mean": row.get("versus_mean")}
        result = {"difference": row.get("estimate"), "test": "mixed", "effect": "points"}
        own = ("row", "group", "versus", "higher", "lower", "mean", "versus_mean", "p_trait")
        rest = {name: value for name, value in row.items() if name not in own}
        units = row["raters"] if row["unit"] == "rater" else row["items"]
        out.append({**named, **means, **result, "statistic": None, **rest, "left_out": left_out, "units": units})
    return out


def _of_scores(
    part: Part,
    design: ScoredUnits,
    levels: Sequence[Any],
    test: Test | None,
    effect: Effect | None,
    aggregate: str,
    permutations: int,
    ci: str,
    how: Resampling,
) -> list[dict[str, Any]]:
    """One row for every two groups, by a test of one score per unit."""
    tested, measured = _chosen(design.paired, test, effect)
    design.check(ci)
    scores, rows = design.scores(part.answered, aggregate), []
    for first, second in combinations(levels, 2):
        sample = design.sample(scores, first, second)
        asked = part.frame.filter(pl.col(design.between).is_in([first, second]))
        used = sample.used(asked, design.unit)
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
        if design.of_raters and not share_items(used, design.between):
            rows.append({**row, **UNTESTED, "reason": DISJOINT})
            continue
        result = compared(sample, tested, measured, permutations, how)
        rows.append({**row, **design.judged(result, sample, (first, second))})
    return rows


@dataclass(frozen=True, slots=True)
class ScoredUnits:
    """What is compared with what: the column, the units, and whether both groups have the same ones."""

    between: str
    unit: list[str]
    paired: bool
    of_raters: bool
    """Whether each rater belongs to one group, so that raters are what the groups are made of."""

    @classmethod
    def of(cls, answered: pl.DataFrame, between: str, unit: list[str] | None, paired: bool | None) -> ScoredUnits:
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

    def judged(
        self,
        result: dict[str, Any],
        sample: Sample,
        groups: tuple[Any, Any],
    ) -> dict[str, Any]:
        """The row of a pair of groups, without what its design cannot give."""
        result = {**result, "over": self.over if result.get("low") is not None else None}
        if not self.of_raters or (sample.paired and "rater" in self.unit):
            return result
        if "rater" not in self.unit:
            reason = (
                f"no p-value: '{self.between}' does not vary within raters, and units other than raters would count "
                "one rater's answers as independent; leave unit out"
            )
            return {**result, "p": None, "statistic": None, "reason": reason}
        few = [(str(g), len(s)) for g, s in zip(groups, (sample.x, sample.y), strict=True) if len(s) < ENOUGH]
        if few:
            counted = " and ".join(f"'{name}' has {n} rater{'s' if n != 1 else ''}" for name, n in few)
            reason = f"{counted}; a p-value and an interval need at least {ENOUGH} in each group"
            if any(n == 1 for _, n in few):
                reason += ", or between='rater' to compare single raters on their items"
            return {**result, **dict.fromkeys(("statistic", "p", "low", "high", "over")), "reason": reason}
        return result


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
