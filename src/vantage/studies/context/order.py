"""Do models keep their order from statements alone to statements in context, and how sure is that?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.measures.relations.ranks import ranks
from vantage.measures.scoring.accuracy import accuracy
from vantage.raters.style import Style
from vantage.report.recipe import there
from vantage.studies.context.analysis import ContextAnalysis, Statements
from vantage.studies.context.models import ALL, WRONG, parts_of, rated
from vantage.studies.context.pipeline.controls import CONTEXT, STATIC
from vantage.studies.context.pipeline.detection import LEAST
from vantage.studies.context.tasks import TASK

AVERAGE: Final = "people, average"
BEST: Final = "people, best"
BOTH: Final = [STATIC, CONTEXT]
COLUMNS: Final = ("item", "question", "rater", "system", "condition", "sample", "value", "status")


@dataclass(frozen=True)
class Ranked:
    """The models of a task that were asked in one style under both conditions, as systems, and people beside them.

    The frames are judgments with the column `system`; they are the same where people did not judge in both conditions.
    """

    part: Statements
    named: dict[str, str]
    models: pl.DataFrame
    everyone: pl.DataFrame

    def ranks(self, judged: pl.DataFrame, between: str = "condition", values: Any = None, **how: Any) -> pl.DataFrame:
        """The measure `ranks` of these systems by F1 against the labels; of few items without intervals."""
        common: dict[str, Any] = {"resamples": self.part.options.resamples, "seed": self.part.seed, **WRONG}
        if judged["item"].n_unique() < LEAST:
            common["ci"] = "none"
        reference = self.part.labels.select("item", "value")
        common |= {"system": "system", "reference": reference, "score": "f1_macro", **how}
        return ranks(judged, between=between, values=values or BOTH, **common)


@lru_cache(maxsize=1)
def _ranked(analysis: ContextAnalysis) -> list[Ranked]:
    """The models of each task and style of which at least two were asked under both conditions."""
    return there([one for part in analysis.parts.values() for one in _styles(part)] or None)


def _styles(part: Statements) -> Iterator[Ranked]:
    known, people = list(rated(part)), _people(part)
    for style in dict.fromkeys(one.named["style"] for one in known):
        frames = [
            one.judged.with_columns(pl.lit(one.named["model"]).alias("system")).select(COLUMNS)
            for one in known
            if one.named["style"] == style
        ]
        whole = pl.concat(frames).filter(pl.col("condition").is_in(BOTH))
        some = whole.filter(pl.col("condition").n_unique().over("item") == 2)
        if set(some["condition"]) != set(BOTH) or some["system"].n_unique() < 2:
            continue
        theirs = people.join(some, on="item", how="semi")
        everyone = pl.concat([some, theirs]) if set(theirs["condition"]) == set(BOTH) else some
        yield Ranked(part, {TASK: part.task.name, "style": style}, some, everyone)


def _people(part: Statements) -> pl.DataFrame:
    """People as two systems: all of them pooled, and in each condition the one with the highest F1.

    The best of many is best by luck as well, and need not be the same person in both conditions.
    """
    judged = part.said("person").filter(pl.col("condition").is_in(BOTH))
    pooled = judged.with_columns(pl.lit(AVERAGE).alias("system")).select(COLUMNS)
    if judged.is_empty():
        return pooled
    by = ["rater", "condition"]
    scores = accuracy(judged, by=by, reference=part.labels, metric="f1_macro", ci="none", **WRONG)
    enough = scores.filter(pl.col("items") >= LEAST).drop_nulls("estimate")
    best = enough.sort("estimate", "rater", descending=[True, False]).unique("condition", keep="first")
    return pl.concat([pooled, pooled.join(best, on=by, how="semi").with_columns(pl.lit(BEST).alias("system"))])


def rank_correlations(analysis: ContextAnalysis) -> pl.DataFrame:
    """Rank correlations of models between the conditions, on all items and on parts, and between two runs of one."""
    rows: list[dict[str, Any]] = []
    for one in _ranked(analysis):
        frames = {"models": one.models, "models and people": one.everyone}
        if one.everyone is one.models:
            del frames["models and people"]
        for systems, frame in frames.items():
            for part, kept in parts_of(frame["item"].unique(maintain_order=True), one.part.flagged).items():
                some = frame.filter(pl.col("item").is_in(kept))
                if set(some["condition"]) < set(BOTH):
                    continue
                row = one.ranks(some).row(0, named=True)
                named = {**one.named, "systems_are": systems, "part": part, "between": "static and context"}
                # Two or three models have hardly any orders to be told apart; of them, changes of places say more.
                several = part == ALL and systems == "models" and row["systems"] > 3
                overall = row["estimate"] if several else None
                rows.append({**named, **row, "overall": overall})
        rows += [{**one.named, "systems_are": "models", "part": ALL, **row} for row in _between_runs(one)]
    return pl.DataFrame(rows, infer_schema_length=None)


def _between_runs(one: Ranked) -> Iterator[dict[str, Any]]:
    """How two runs under the same condition correlate, without which a low figure says little."""
    several = one.models.filter(pl.col("sample").n_unique().over("system") > 1)
    for condition in BOTH:
        runs = several.filter(condition=condition)
        pairs = combinations(runs["sample"].unique().sort().to_list(), 2) if runs["system"].n_unique() > 1 else ()
        orders = [one.ranks(runs, "sample", list(pair), ci="none").row(0, named=True) for pair in pairs]
        if orders:
            known = [row["estimate"] for row in orders if row["estimate"] is not None]
            middle = {"estimate": float(np.mean(known)) if known else None, "systems": orders[0].get("systems")}
            counted = {"items": orders[0]["items"], "judgments": len(runs)}
            yield {"between": f"two runs, {condition}", **middle, **counted}


def rank_changes(analysis: ContextAnalysis) -> pl.DataFrame:
    """Score and rank of every model without and with context, and the change of its rank with its interval."""
    frames = [
        one.ranks(one.models, per="system").with_columns(**{name: pl.lit(value) for name, value in one.named.items()})
        for one in _ranked(analysis)
    ]
    return pl.concat(frames, how="diagonal_relaxed")


def rank_shifts(analysis: ContextAnalysis) -> pl.DataFrame:
    """The order without and with context, for each task and style without examples, or else the first."""
    places: dict[str, list[pl.DataFrame]] = {}
    for one in _ranked(analysis):
        known = places.setdefault(one.named[TASK], [])
        if Style.parse(one.named["style"]).shots and known:
            continue
        order = one.ranks(one.everyone, per="system", ci="none")
        if "first_rank" in order.columns:
            asked = pl.lit("{task}, {style}".format_map(one.named)).alias("asked")
            known += [
                order.select("system", asked, condition=pl.lit(name), rank=f"{side}_rank", score=f"{side}_score")
                for side, name in (("first", STATIC), ("second", CONTEXT))
            ]
    return pl.concat(there([frame for known in places.values() for frame in known] or None))
