"""People's evaluation of rationales: of whose they think more."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import polars as pl

from vantage.measures.resampling import difference_with_interval, mean_with_interval
from vantage.studies.appraisals.analysis import CRITERIA, MAIN, Appraised
from vantage.studies.appraisals.blinded import HUMAN
from vantage.studies.appraisals.coding import p_over_posts


def evaluation(analysis: Appraised) -> pl.DataFrame | None:
    """Mean human scores by criterion and by who wrote the rationale."""
    rows: list[dict[str, Any]] = []
    for (criterion, source), part in _judged(analysis).group_by(["criterion", "source"], maintain_order=True):
        mean = mean_with_interval(part["post"], part["value"].to_numpy(), analysis.how)
        count = {"rationales": part["item"].n_unique(), "judgments": len(part)}
        rows.append({"criterion": criterion, "source": source, **mean, **count})
    return pl.DataFrame(rows, infer_schema_length=None) if rows else None


def evaluation_differences(analysis: Appraised) -> pl.DataFrame | None:
    """The mean score of every model's rationales less that of the experts'."""
    rows: list[dict[str, Any]] = []
    for (criterion,), part in _judged(analysis).group_by(["criterion"], maintain_order=True):
        for source in part["source"].unique(maintain_order=True):
            both = part.filter(pl.col("source").is_in(["experts", source]))
            if source != "experts" and both["source"].n_unique() == 2:
                mine = (both["source"] == source).to_numpy().astype(np.float64)
                difference = difference_with_interval(both["post"], both["value"].to_numpy(), mine, analysis.how)
                p = p_over_posts(difference.values(), both["post"].n_unique())
                rows.append({"source": source, "criterion": criterion, **difference, "p": p})
    return pl.DataFrame(rows, infer_schema_length=None).sort("source", maintain_order=True) if rows else None


@lru_cache(maxsize=1)
def _judged(analysis: Appraised) -> pl.DataFrame:
    """The judgments of rationales with who wrote them, on one scale from 0 to 1, in the order of the criteria."""
    corpus = analysis.corpus
    if "source" not in corpus.items.columns:
        return pl.DataFrame(schema=["criterion", "source", "item", "post", "value"])
    sources = corpus.items.select("item", "source", pl.col("reddit_id").alias("post")).drop_nulls("source")
    order = {name: place for place, name in enumerate((*CRITERIA, "experts", *MAIN[1:]))}
    # Relevance is asked from 1 to 5.
    value = pl.when(criterion="relevance").then((pl.col("value") - 1) / 4).otherwise("value")
    return (
        corpus.judgments.filter(pl.col("question").is_in(CRITERIA) & pl.col("value").is_not_null())
        .join(sources, on="item")
        .rename({"question": "criterion"})
        .with_columns(value.alias("value"), pl.col("source").replace(HUMAN, "experts"))
        .sort(
            pl.col("criterion").replace_strict(order),
            pl.col("source").replace_strict(order, default=len(order)),
            "source",
            maintain_order=True,
        )
    )
