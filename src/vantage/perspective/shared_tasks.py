"""Scores of the shared task on Learning With Disagreements, third edition (Leonardelli et al. 2025).

The *perspectivist* scores compare what is predicted for each annotator with what the annotator said; the *soft* ones
compare the distribution of labels that is predicted for a text with the distribution of people's labels.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from vantage.corpora import Corpus
from vantage.errors import InputError
from vantage.measures.resampling import Resampling, mean_with_interval
from vantage.perspective.splits import people_pairs, the_question
from vantage.perspective.tally import paired


def shared_task(
    predictions: pl.DataFrame,
    corpus: Corpus,
    *,
    question: str | None = None,
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """Perspectivist and soft scores of predictions for every ⟨text, annotator⟩ pair of a corpus; lower is better.

    * `error_rate`: the share of a text's annotators whose label was missed, averaged over texts;
    * `absolute_distance`: |predicted − given| over the length of the scale, averaged in the same way;
    * `manhattan`: Σ |p − q| between the two distributions of labels, averaged over texts;
    * `wasserstein`: the area between their cumulative distributions, in steps of the scale, averaged over texts.

    The two distances along the scale need an ordered one. A pair without a readable prediction counts as an error and
    as the longest distance, and its text's predicted distribution is that of the others; where there is none, the
    distances of the distributions are the largest possible. Intervals resample texts.
    """
    asked = corpus.question(the_question(corpus, question))
    if asked.scale.range is not None:
        raise InputError(f"question '{asked.id}' has a continuous scale", remedy="use accuracy for mean errors")
    pairs = paired(predictions, people_pairs(corpus, asked.id).select("item", "rater", "value"), corpus, asked)
    codes = np.array(sorted(asked.scale.codes))
    low, high = asked.scale.ends
    length = high - low
    wrong = (pl.col("gold") != pl.col("predicted")).fill_null(True).cast(pl.Float64)
    far = ((pl.col("gold") - pl.col("predicted")).abs() / length).fill_null(1.0)
    texts = pairs.group_by("item").agg(
        wrong.mean().alias("error_rate"),
        far.mean().alias("absolute_distance"),
        *(
            (pl.col(side) == code).mean().alias(f"{side}_{n}")
            for side in ("gold", "predicted")
            for n, code in enumerate(codes)
        ),
        pl.col("predicted").drop_nulls().len().alias("answered"),
    )
    texts = texts.sort("item")
    gold = texts.select([f"gold_{n}" for n in range(len(codes))]).to_numpy()
    predicted = texts.select([f"predicted_{n}" for n in range(len(codes))]).fill_null(0.0).to_numpy()
    unanswered = (texts["answered"] == 0).to_numpy()
    scores = {
        "error_rate": texts["error_rate"].to_numpy(),
        "manhattan": np.where(unanswered, 2.0, np.abs(gold - predicted).sum(axis=1)),
    }
    if asked.scale.ordered or len(codes) == 2:
        area = np.abs(np.cumsum(gold - predicted, axis=1))[:, :-1] @ np.diff(codes)
        scores["absolute_distance"] = texts["absolute_distance"].to_numpy()
        scores["wasserstein"] = np.where(unanswered, length, area)
    how = Resampling("items" if resamples else "none", "percentile", max(1, resamples), confidence, seed)
    rows: list[dict[str, Any]] = []
    for name in sorted(scores):
        kind = "soft" if name in ("manhattan", "wasserstein") else "perspectivist"
        row = {"kind": kind, "score": name, **mean_with_interval(texts["item"], scores[name], how)}
        rest = {"items": len(texts), "annotations": len(pairs), "unanswered": int(pairs["predicted"].null_count())}
        rows.append({**row, **rest})
    return pl.DataFrame(rows, schema_overrides={"low": pl.Float64, "high": pl.Float64})
