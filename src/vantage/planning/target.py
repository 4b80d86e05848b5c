"""How many raters of which groups make a weighted estimate as sure as asked, and the quotas that bring them.

The estimate Σ W m over groups with shares W and means m is surest where each group has its share of the people times
how much its members differ, σ (Neyman 1934), taken to be the same for all groups, since a pilot has few of each.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from vantage.corpora import Corpus, Target, as_text
from vantage.documents import dump
from vantage.errors import InputError
from vantage.measures import Column, Fact, View, student
from vantage.measures.parts import parts
from vantage.measures.targets.poststratify import target_of, trait_columns

LEAST: Final = 5
"""The fewest people of a group: fewer say nothing of it, and may not be shown."""
MOST: Final = 10**9
VIEW: Final = View(
    "Raters for the target",
    columns=dict.fromkeys(("width", "asked"), Column(digits=3)),
    says=(
        Fact("With {people} people in these groups the interval of {question} is at most {asked} wide."),
        Fact("If people come as in the pilot and are weighted, it takes {as_they_come} (design effect {effect})."),
    ),
)


@dataclass(frozen=True)
class TargetPlan:
    """How many raters of each group there are and are needed, and quotas for a study file."""

    groups: pl.DataFrame
    summary: pl.DataFrame
    settings: str
    """Lines of a study file (YAML): quotas for each trait."""


def plan_target(
    pilot: Corpus, target: object, *, width: float = 0.1, question: str | None = None, confidence: float = 0.95
) -> TargetPlan:
    """How many raters of which groups make the interval of a weighted mean or share so wide.

    `pilot` says how much raters of one group differ in their mean answer to its items; `target` is the name of its
    weights, or a file or mapping of shares. With several questions the one whose raters differ most decides. Answers
    without an order count as the share of the most frequent one.

    >>> from vantage import demo_corpus
    >>> made = plan_target(demo_corpus(), {"gender": {"woman": 0.5, "man": 0.5}}, width=1.5, question="trust")
    >>> made.groups.select("group", "there", "needed", "missing").rows()
    [('woman', 4, 5, 1), ('man', 4, 5, 1)]
    >>> print(made.settings)
    quotas:
      gender:
        woman: 5
        man: 5
    """
    if not width > 0:
        raise InputError(f"a width of {width:g} cannot be reached", remedy="use for example 0.1")
    _, wanted = target_of(pilot, target)
    people = pilot.people()
    columns = trait_columns(people, wanted.traits)
    spread, asked, raters = _spread(people, wanted, columns, question)
    shares = wanted.cells(raters)
    cells, weight = list(shares), np.array(list(shares.values()))
    own = raters.select(as_text(raters[trait]) for trait in wanted.traits).rows()
    there = np.array([own.count(cell) for cell in cells])

    def people_for(factor: float) -> int:
        """The fewest with whom Student's interval of a variance of `factor` σ² / n is as wide as asked."""
        wide, groups = 2 * spread / width, len(cells)
        return bisect_left(
            range(MOST), 0.0, LEAST, key=lambda n: n - factor * (wide * student(max(n - groups, 2), confidence)) ** 2
        )

    needed = np.maximum(np.ceil(people_for(1.0) * weight), LEAST).astype(np.int64) * (weight > 0)
    composition = np.maximum(there, 0.5) / np.maximum(there, 0.5).sum()
    effect = float(np.square(weight) @ (1 / composition))
    named = {"group": [" × ".join(cell) for cell in cells], "share": weight, "there": there, "needed": needed}
    groups = pl.DataFrame({**named, "missing": np.maximum(needed - there, 0)})
    people_needed = int(needed.sum())
    come = {"as_they_come": max(people_for(effect), people_needed), "effect": round(effect, 2)}
    summary = pl.DataFrame({"question": [asked], "people": people_needed, "asked": width, "spread": spread, **come})
    by_cell = pl.DataFrame(cells, wanted.traits, orient="row").with_columns(needed=needed)
    sums = {trait: by_cell.group_by(trait, maintain_order=True).agg(pl.col("needed").sum()) for trait in wanted.traits}
    quotas = {trait: dict(rows.iter_rows()) for trait, rows in sums.items()}
    return TargetPlan(groups, summary, dump({"quotas": quotas}).rstrip("\n"))


def _spread(
    people: Corpus, target: Target, columns: dict[str, str], question: str | None
) -> tuple[float, str, pl.DataFrame]:
    """How much raters of one group differ in their means over items, for the question where it is most."""
    known = []
    for part in parts(people, "question", extra=list(columns.values())):
        scale, answered = part.scale(), target.in_words(part.answered, columns)
        if question not in (None, part.key["question"]) or answered.is_empty():
            continue
        if scale is not None and not scale.ordered:
            common = answered["value"].mode().sort()[0]
            answered = answered.with_columns(value=(pl.col("value") == common).cast(pl.Float64))
        # Items that not everyone judged are not what raters differ by.
        centred = answered.with_columns(value=pl.col("value") - pl.col("value").mean().over("item"))
        each = centred.group_by("rater", maintain_order=True).agg(
            pl.col("value").mean(), pl.col(*columns.values()).first()
        )
        within = each.with_columns(away=pl.col("value") - pl.col("value").mean().over(list(columns.values())))
        freedom = len(each) - each.select(columns.values()).n_unique()
        if freedom >= 1:
            spread = float(np.sqrt(np.square(within["away"].to_numpy()).sum() / freedom))
            known.append((spread, str(part.key["question"]), each.rename({c: t for t, c in columns.items()})))
    if not known:
        remedy = "name a question with answers of two people of one group" if question else "collect a larger pilot"
        raise InputError("the pilot does not say how much people of one group differ", remedy=remedy)
    return max(known, key=lambda one: one[0])
