"""Whose label: how labels change where raters stand for the people of a target, as the report on a corpus shows it."""

from __future__ import annotations

from typing import Literal

import polars as pl

from vantage.measures import whose_label
from vantage.report.cases import LISTED
from vantage.report.cells import shortened
from vantage.report.engine import Analysis, Data, there


def whose_labels(analysis: Analysis) -> Data:
    """The labels that change under each target that the corpus has weights for, and under its groups."""
    rows = _under_targets(analysis, "target").unique(["question", "target"], keep="first", maintain_order=True)
    weights = analysis.corpus.about.weights.items()
    said = " ".join(f"“{name}”: {' '.join(record.sentences)}" for name, record in weights)
    return Data(there(rows.filter(pl.col("changed").is_not_null())), {"targets": said})


def depending_texts(analysis: Analysis) -> pl.DataFrame | None:
    """The texts whose label changes under a target beyond chance, those that differ most first."""
    rows = _under_targets(analysis, "item")
    if "depends" not in rows.columns:
        return None
    largest = (pl.col("estimate") - pl.col("raw")).abs().max().over("item", "question", "target")
    shown = rows.with_columns(apart=largest).filter(pl.col("depends"), pl.col("answer") == pl.col("label"))
    shown = shown.unique(["item", "question", "target"], maintain_order=True).sort("apart", descending=True)
    text = pl.col("text" if "text" in shown.columns else "item")
    short = text.map_elements(lambda one: shortened(str(one), 280), return_dtype=pl.String)
    made = shown.head(LISTED).with_columns(short.alias("text"))
    return made if len(made) else None


def _under_targets(analysis: Analysis, per: Literal["target", "item"]) -> pl.DataFrame:
    targets = there(list(analysis.corpus.about.weights) or None)
    frames = [whose_label(analysis.people, by="question", target=name, per=per, seed=analysis.seed) for name in targets]
    return pl.concat(frames, how="diagonal_relaxed")
