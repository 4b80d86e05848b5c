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
from vantage.studies.context.analysis import ContextAnalysis, Statements
from vantage.studies.context.models import ALL, WRONG, parts_of, rated
from vantage.studies.context.pipeline.controls import CONTEXT, STATIC
from vantage.studies.context.pipeline.thresholds import LEAST
from vantage.studies.context.tasks import TASK

AVERAGE: Final = "people, average"
BEST: Final = "people, best"
BETWEEN: Final = "static and context"


@dataclass(frozen=True)
class Ranked:
    """The models that were asked in one style under both conditions, as systems, and people beside them.

    Args:
        part: The statements of the task.
        style: The style.
        models: Judgments with the column `system`, under `static` and `context`, and the number of `runs`.
        everyone: The same with people; the same frame where people did not judge in both conditions.
    """

    part: Statements
    style: str
    models: pl.DataFrame
    everyone: pl.DataFrame

    @property
    def named(self) -> dict[str, str]:
        """Task and style."""
        return {TASK: self.part.task.name, "style": self.style}

    def ranks(self, judged: pl.DataFrame, between: str = "condition", values: Any = None, **how: Any) -> pl.DataFrame:
        """The measure `ranks` of these systems by F1 against the labels."""
        columns = ["item", "question", "rater", "system", "condition", "sample", "value", "status"]
        common: dict[str, Any] = {"resamples": self.part.options.resamples, "seed": self.part.seed, **WRONG}
        return ranks(
            judged.select(columns), between=between, values=values or [STATIC, CONTEXT], system="system",
            reference=self.part.labels.select("item", "value"), score="f1_macro", **{**common, **how},
        )  # fmt: skip


@lru_cache(maxsize=1)
def _ranked(analysis: ContextAnalysis) -> list[Ranked]:
    """The models of each task and style of which at least two were asked under both conditions."""
    return [one for part in analysis.parts.values() for one in _styles(part)]


def _styles(part: Statements) -> Iterator[Ranked]:
    known = list(rated(part))
    people = _people(part)
    for style in dict.fromkeys(one.named["style"] for one in known):
        frames = [
            one.judged.with_columns(
                pl.lit(one.named["model"]).alias("system"), pl.lit(one.judged["sample"].n_unique()).alias("runs")
            )
            for one in known
            if one.named["style"] == style
        ]
        whole = pl.concat(frames).filter(pl.col("condition").is_in([STATIC, CONTEXT]))
        some = whole.filter(pl.col("condition").n_unique().over("item") == 2)
        if set(some["condition"]) != {STATIC, CONTEXT} or some["system"].n_unique() < 2:
            continue
        mine = people.join(some, on="item", how="semi")
        everyone = some
        if set(mine["condition"]) == {STATIC, CONTEXT}:
            everyone = pl.concat([some, mine.with_columns(pl.lit(1).alias("runs"))], how="diagonal_relaxed")
        yield Ranked(part, style, some, everyone)


def _people(part: Statements) -> pl.DataFrame:
    """People as two systems: all of them pooled, and in each condition the one with the highest F1.

    The best of many is best by luck as well, and need not be the same person in both conditions.
    """
    judged = part.said("person").filter(pl.col("condition").is_in([STATIC, CONTEXT]))
    pooled = judged.with_columns(pl.lit(AVERAGE).alias("system"))
    if judged.is_empty():
        return pooled
    by = ["rater", "condition"]
    scores = accuracy(judged, by=by, reference=part.labels, metric="f1_macro", ci="none", **WRONG)
    enough = scores.filter(pl.col("items") >= LEAST).drop_nulls("estimate")
    best = enough.sort("estimate", "rater", descending=[True, False]).unique("condition", keep="first")
    theirs = judged.join(best, on=by, how="semi").with_columns(pl.lit(BEST).alias("system"))
    return pl.concat([pooled, theirs])


def rank_correlations(analysis: ContextAnalysis) -> pl.DataFrame | None:
    """Rank correlations of models between the conditions, on all items and on parts, and between two runs of one."""
    rows: list[dict[str, Any]] = []
    for one in _ranked(analysis):
        frames = {"models": one.models}
        if one.everyone is not one.models:
            frames["models and people"] = one.everyone
        for systems, frame in frames.items():
            named = {**one.named, "systems_are": systems}
            items = frame["item"].unique(maintain_order=True).to_list()
            for part, kept in parts_of(items, one.part.flagged).items():
                some = frame.filter(pl.col("item").is_in(kept))
                if set(some["condition"]) < {STATIC, CONTEXT}:
                    continue
                row = one.ranks(some, **({} if len(kept) >= LEAST else {"ci": "none"})).row(0, named=True)
                rows.append({**named, "part": part, "between": BETWEEN, **row})
                if part == ALL and systems == "models":
                    rows[-1]["overall"] = row["estimate"]
        rows += [{**one.named, "systems_are": "models", **row} for row in _between_runs(one)]
    return pl.DataFrame(rows, infer_schema_length=None) if rows else None


def _between_runs(one: Ranked) -> Iterator[dict[str, Any]]:
    """How two runs under the same condition correlate, without which a low figure says little."""
    for condition in (STATIC, CONTEXT):
        runs = one.models.filter(pl.col("condition") == condition, pl.col("runs") > 1)
        pairs = combinations(runs["sample"].unique().sort().to_list(), 2) if runs["system"].n_unique() > 1 else ()
        orders = [one.ranks(runs, "sample", list(pair), ci="none").row(0, named=True) for pair in pairs]
        if orders:
            known = [row["estimate"] for row in orders if row["estimate"] is not None]
            middle = {"estimate": float(np.mean(known)) if known else None, "systems": orders[0].get("systems")}
            counted = {"items": orders[0]["items"], "judgments": len(runs)}
            yield {"part": ALL, "between": f"two runs, {condition}", **middle, **counted}


def _per(analysis: ContextAnalysis, per: str) -> pl.DataFrame | None:
    """The measure `ranks` for each system or each pair of systems, by task and style."""
    frames = []
    for one in _ranked(analysis):
        few = one.models["item"].n_unique() < LEAST
        frame = one.ranks(one.models, per=per, **({"ci": "none"} if few and per == "system" else {}))
        frames.append(frame.with_columns(pl.lit(value).alias(name) for name, value in one.named.items()))
    return pl.concat(frames, how="diagonal_relaxed") if frames else None


def rank_changes(analysis: ContextAnalysis) -> pl.DataFrame | None:
    """Score and rank of every model without and with context, and the change of its rank with its interval."""
    return _per(analysis, "system")


def swaps(analysis: ContextAnalysis) -> pl.DataFrame | None:
    """For every pair of models: the share of resamples in which context turns their order round."""
    return _per(analysis, "pair")


def rank_shifts(analysis: ContextAnalysis) -> pl.DataFrame | None:
    """The order without and with context, for each task and style without examples, or else the first."""
    places: dict[tuple[str, str], pl.DataFrame] = {}
    for one in _ranked(analysis):
        task = one.part.task.name
        if Style.parse(one.style).shots and any(known == task for known, _ in places):
            continue
        order = one.ranks(one.everyone, per="system", ci="none")
        if "first_rank" in order.columns:
            sides = [
                order.select("system", pl.lit(name).alias("condition"), rank=f"{side}_rank", score=f"{side}_score")
                for side, name in (("first", STATIC), ("second", CONTEXT))
            ]
            places[task, one.style] = pl.concat(sides).with_columns(asked=pl.lit(f"{task}, {one.style}"))
    return pl.concat(places.values()) if places else None
