"""F1 of models against the original labels: alone, with context, and with context for flagged items only.

A run is scored by itself, and a model's score is the mean over its runs. All conditions are scored on the same items,
and the same resampled items give the interval of their difference. An answer "ambiguous" is no label and counts as
wrong, and so does an answer that cannot be read.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.context.controls import CONTEXT, STATIC, target
from vantage.measures.ratings import Floats
from vantage.measures.resampling import Resampling
from vantage.measures.scores import Metric, Rules, Scores
from vantage.scales import Scale

ALL: Final = "all"
NEEDED: Final = "context needed"
REST: Final = "the rest"
SELECTIVE: Final = "selective"
DRAWS: Final = 20
"""Random selections with which a selective one is compared."""
F1: Final = Metric("f1", "macro")


@dataclass(frozen=True)
class Scoring:
    """How answers to one question are scored.

    Args:
        scale: The scale of the question.
        labels: The original labels: `item` and `value`.
        how: How items are resampled.
    """

    scale: Scale
    labels: pl.DataFrame
    how: Resampling

    @property
    def rules(self) -> Rules:
        """The labels of the scale; whatever is no label is wrong."""
        return Rules(np.array(self.scale.codes, dtype=np.float64), missing="wrong", opt_outs="wrong")

    def beside_labels(self, judged: pl.DataFrame) -> pl.DataFrame:
        """Judgments with the label in `gold` and the run in `person`, as scores take them."""
        gold = self.labels.select("item", pl.col("value").alias("gold"))
        return judged.join(gold, on="item").with_columns(pl.col("sample").cast(pl.String).alias("person"))

    def scores(self, judged: pl.DataFrame, items: pl.DataFrame) -> Scores:
        """The scores of one rater under one condition over given items."""
        runs = judged["person"].unique().sort().to_list()
        return Scores.of(judged, self.rules, runs or [None], items)

    def values(self, judged: pl.DataFrame, items: pl.DataFrame, weight: Floats) -> Floats:
        """F1 under each row of item weights."""
        return self.scores(judged, items).values(weight, [F1])[:, 0]


def common_items(judged: pl.DataFrame, conditions: Sequence[str], kept: Collection[str] | None = None) -> pl.DataFrame:
    """The items that were judged under all of the conditions, with their positions."""
    found = judged.filter(pl.col("condition").is_in(list(conditions)))
    counts = found.group_by("item").agg(pl.col("condition").n_unique())
    items = counts.filter(pl.col("condition") == len(conditions)).select("item").sort("item")
    if kept is not None:
        items = items.filter(pl.col("item").is_in(list(kept)))
    return items.with_row_index("position")


def selective(judged: pl.DataFrame, flagged: Collection[str]) -> pl.DataFrame:
    """Answers with context for flagged items and without it for all others.

    An item whose context was dropped keeps its answers without one.
    """
    in_context = judged.filter(pl.col("condition") == CONTEXT, pl.col("item").is_in(list(flagged)))
    alone = judged.filter(pl.col("condition") == STATIC).join(in_context.select("item"), on="item", how="anti")
    return pl.concat([alone, in_context]).with_columns(pl.lit(SELECTIVE).alias("condition"))


def before_and_after(
    scoring: Scoring, judged: pl.DataFrame, flagged: Collection[str], seed: int
) -> list[dict[str, Any]]:
    """One row per part of the items: F1 in each condition and the difference that context makes, with intervals.

    Args:
        scoring: How answers are scored.
        judged: The judgments of one rater, from `Scoring.beside_labels`.
        flagged: The items that need context, as some method of detection says.
        seed: The seed of the random selections.
    """
    conditions = [name for name in (STATIC, CONTEXT) if name in set(judged["condition"])]
    every = common_items(judged, conditions)["item"].to_list()
    parts = [(ALL, every)]
    if flagged:
        parts += [(NEEDED, [i for i in every if i in flagged]), (REST, [i for i in every if i not in flagged])]
    rows = []
    for part, kept in parts:
        items = common_items(judged, conditions, kept)
        row: dict[str, Any] = {"part": part, "items": len(items)}
        frames = {name: judged.filter(pl.col("condition") == name) for name in conditions}
        both = len(conditions) == 2
        if both and flagged and part == ALL:
            frames[SELECTIVE] = selective(judged, flagged)
            row["random"] = _random(scoring, judged, items, len(set(flagged) & set(every)), seed)
        row |= _estimates(scoring, frames, items)
        for name in conditions:
            row |= _declined(frames[name], items, name)
        rows.append(row)
    return rows


def _estimates(scoring: Scoring, frames: dict[str, pl.DataFrame], items: pl.DataFrame) -> dict[str, Any]:
    """F1 of every condition, and the difference of the first two, each with its interval."""
    names = list(frames)
    if items.is_empty():
        return {"reason": "no item of this part was judged under all conditions"}
    every = {name: scoring.scores(frame, items) for name, frame in frames.items()}

    def statistics(weight: Floats) -> Floats:
        columns = [every[name].values(weight, [F1])[:, 0] for name in names]
        if CONTEXT in names:
            columns.append(columns[names.index(CONTEXT)] - columns[names.index(STATIC)])
        return np.column_stack(columns)

    told = [*names, "difference"] if CONTEXT in names else names
    estimates = statistics(np.ones((1, len(items))))[0]
    row: dict[str, Any] = {}
    for name, estimate, (low, high) in zip(told, estimates, scoring.how.intervals(len(items), statistics), strict=True):
        row |= {name: float(estimate), f"{name}_low": low, f"{name}_high": high}
    return row


def _random(scoring: Scoring, judged: pl.DataFrame, items: pl.DataFrame, count: int, seed: int) -> float:
    """Mean F1 when context goes to as many items drawn by lot."""
    rng = np.random.default_rng(seed)
    ids, whole = items["item"].to_list(), np.ones((1, len(items)))
    drawn = [rng.choice(ids, min(count, len(ids)), replace=False).tolist() for _ in range(DRAWS)]
    return float(np.mean([scoring.values(selective(judged, some), items, whole)[0] for some in drawn]))


def _declined(frame: pl.DataFrame, items: pl.DataFrame, name: str) -> dict[str, float | None]:
    """The share of answers "ambiguous", and of those that are no answer at all."""
    status = frame.join(items, on="item", how="semi")["status"].cast(pl.String)
    if not len(status):
        return {}
    unclear, lost = status == "ambiguous", status.is_in(["refused", "unparsed", "failed"])
    return {f"ambiguous_{name}": int(unclear.sum()) / len(status), f"unread_{name}": int(lost.sum()) / len(status)}


def with_controls(scoring: Scoring, judged: pl.DataFrame, conditions: Sequence[str]) -> list[dict[str, Any]]:
    """One row per kind of context: F1 without and with it on the same items, and how many answers follow it.

    An answer follows a context when it is the label that the context was written for: the original one, or its
    opposite; `follows_static` is how many of the answers without context are that label already. Where a context was
    written for no label, there is nothing to follow.
    """
    rows = []
    for condition in conditions:
        items = common_items(judged, [STATIC, condition])
        if items.is_empty():
            continue
        frames = {STATIC: judged.filter(pl.col("condition") == STATIC), CONTEXT: judged.filter(condition=condition)}
        aim = "label" if condition == CONTEXT else condition.removeprefix(f"{CONTEXT}-")
        row: dict[str, Any] = {"written_for": aim, "items": len(items), "follows_static": None, "follows": None}
        if aim in ("label", "opposite"):
            row["follows_static"] = _following(scoring.scale, frames[STATIC], items, aim == "opposite")
            row["follows"] = _following(scoring.scale, frames[CONTEXT], items, aim == "opposite")
        rows.append({**row, **_estimates(scoring, frames, items)})
    return rows


def _following(scale: Scale, frame: pl.DataFrame, items: pl.DataFrame, opposite: bool) -> float:
    """The share of answers that are the label, or its opposite."""
    mine = frame.join(items, on="item", how="semi")
    aims = [target(scale, gold, "opposite" if opposite else "label") for gold in mine["gold"]]
    return int((mine["value"] == pl.Series(aims, dtype=pl.Float64)).sum()) / len(mine)
