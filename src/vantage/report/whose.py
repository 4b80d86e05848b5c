"""Whose label: how labels change where raters stand for the people of a target, as the report on a corpus shows it."""

from __future__ import annotations

from typing import Any

import polars as pl

from vantage.measures import whose_label
from vantage.report.cases import LISTED
from vantage.report.cells import shortened
from vantage.report.engine import Analysis, Data, there


def whose_labels(analysis: Analysis) -> Data:
    """The labels that change under each target that the corpus has weights for, and under its groups."""
    rows = _of_targets(analysis).unique(["question", "target"], keep="first", maintain_order=True)
    weights = analysis.corpus.about.weights
    said = " ".join(f"“{name}”: {' '.join(record.sentences)}" for name, record in weights.items())
    return Data(there(rows.filter(pl.col("changed").is_not_null())), {"targets": said})


def depending_texts(analysis: Analysis) -> pl.DataFrame | None:
    """The texts whose label changes under a target beyond chance, those that differ most first."""
    rows = _of_targets(analysis, per="item")
    if "depends" not in rows.columns:
        return None
    largest = (pl.col("estimate") - pl.col("raw")).abs().max().over("item", "question", "target")
    shown = rows.with_columns(apart=largest).filter(pl.col("depends"), pl.col("answer") == pl.col("label"))
    once = shown.unique(["item", "question", "target"], maintain_order=True).sort("apart", descending=True).head(LISTED)
    texts = [shortened(str(text), 280) for text in once["text" if "text" in once.columns else "item"]]
    return once.with_columns(text=pl.Series(texts, dtype=pl.String)) if len(once) else None


def _of_targets(analysis: Analysis, **how: Any) -> pl.DataFrame:
    """Whose label it is, for each target that the corpus has weights for."""
    weights = there(dict(analysis.corpus.about.weights) or None)
    of: dict[str, Any] = {"by": "question", "seed": analysis.seed, **how}
    return pl.concat((whose_label(analysis.people, target=name, **of) for name in weights), how="diagonal_relaxed")
