"""The average over presentations as a rater of its own: what a model answers once order, labels and wording cancel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import polars as pl

from vantage.corpora import Corpus
from vantage.corpora.schema import JUDGMENTS
from vantage.errors import InputError
from vantage.scales import Scale

SUFFIX: Final = "+balanced"
REMEDY: Final = "vary presentations: vantage rate --vary"


def balanced(corpus: Corpus, raters: str | Sequence[str] = ()) -> Corpus:
    """The corpus with a rater `NAME+balanced` for every rater who was asked in several presentations.

    Samples of one presentation are averaged first, then presentations, so that each counts the same. `expected` is the
    mean (of the expected values, where options were scored), and `value` the code of the scale nearest to it (the lower
    of two); on a nominal scale it is the most frequent answer, and of several the lowest. Where fewer than half of the
    presentations have an answer, the judgment has the status that most others have. Averages that were there before are
    replaced.

    Args:
        corpus: Judgments with a column `presentation`.
        raters: Whose answers are averaged; everyone who was asked in several presentations where none is named.
    """
    judgments = corpus.judgments
    if "presentation" not in judgments.columns:
        raise InputError("the judgments do not say how they were asked", remedy=REMEDY)
    named = [raters] if isinstance(raters, str) else list(raters)
    varied = judgments.filter(pl.col("presentation").is_not_null())
    counts = varied.group_by("rater").agg(pl.col("presentation").n_unique())
    chosen = named or counts.filter(pl.col("presentation") > 1)["rater"].sort().to_list()
    if missing := [rater for rater in chosen if rater not in set(counts["rater"])]:
        raise InputError(f"rater '{missing[0]}' was not asked in named presentations", remedy="vary them first")
    if not chosen:
        raise InputError("every rater was asked in one presentation", remedy=REMEDY)
    scales = {question.id: question.scale for question in corpus.questions}
    key = ["item", "question", "rater", "condition"]
    parts = varied.filter(pl.col("rater").is_in(chosen)).group_by(key, maintain_order=True)
    rows = [(*about, 0, *_average(part, scales[str(about[1])])) for about, part in parts]
    schema = {**{name: dtype for name, dtype in JUDGMENTS.items() if name != "rationale"}, "expected": pl.Float64}
    averages = pl.DataFrame(rows, schema=schema, orient="row").with_columns(
        pl.col("rater") + SUFFIX, pl.lit(None, dtype=pl.String).alias("rationale")
    )
    names = [f"{rater}{SUFFIX}" for rater in chosen]
    merged = corpus.raters.filter(pl.col("rater").is_in(chosen)).with_columns(pl.col("rater") + SUFFIX)
    if "style" in merged.columns:
        merged = merged.with_columns(pl.col("style").cast(pl.String) + SUFFIX)
    kept = corpus._with(
        judgments=judgments.filter(~pl.col("rater").is_in(names)),
        raters=corpus.raters.filter(~pl.col("rater").is_in(names)),
    )
    return kept.add(averages, merged)


def _average(part: pl.DataFrame, scale: Scale) -> tuple[float | None, str, float | None]:
    """Value, status and mean of the presentations of one question about one item."""
    presentations = part["presentation"].n_unique()
    answered = part.filter(pl.col("value").is_not_null())
    if 2 * answered["presentation"].n_unique() < presentations:
        others = part.filter(pl.col("value").is_null())["status"].cast(pl.String)
        return None, str(others.value_counts().sort("count", "status", descending=[True, False])["status"][0]), None
    value = pl.coalesce("expected", "value") if "expected" in answered.columns else pl.col("value")
    means = answered.group_by("presentation").agg(value.mean().alias("mean")).sort("presentation")["mean"].to_numpy()
    if not scale.ordered:
        shares = (
            answered.group_by("presentation", "value")
            .len()
            .with_columns(pl.col("len") / pl.col("len").sum().over("presentation"))
        )
        votes = shares.group_by("value").agg(pl.col("len").sum()).sort("len", "value", descending=[True, False])
        return float(votes["value"][0]), "answered", None
    mean = float(means.mean())
    codes = np.array(scale.codes or (mean,))
    return float(codes[np.argmin(np.abs(codes - mean))]), "answered", mean
