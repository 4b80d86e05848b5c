"""Answers: what is refused, and how far scores and reasons depend on the run and on the wording of the prompt."""

from __future__ import annotations

from typing import Final

import polars as pl

from vantage.measures.texts.composites import composites, expected_values
from vantage.measures.texts.diversity import text_diversity
from vantage.measures.texts.sensitivity import condition_agreement, run_spread
from vantage.measures.variation.refusals import refusals
from vantage.report.engine import Data
from vantage.studies.stereomap.analysis import Stereomap
from vantage.studies.stereomap.placing import AXES

PLAIN: Final = "as asked"
"""What the condition without a name is called in tables."""
MOST_TEXTS: Final = 200
"""Self-BLEU compares each text with all others, so that not more are drawn."""
RATERS: Final = ["rater", "condition"]


def refused(analysis: Stereomap) -> pl.DataFrame:
    """Refusals by model, apart from what could not be read."""
    return refusals(_put(analysis), by="rater")


def refused_groups(analysis: Stereomap) -> pl.DataFrame:
    """Refusals by model and group, those with the highest share first."""
    found = refusals(_put(analysis), by=["rater", "item"])
    named = found.with_columns(pl.col("item").replace(analysis.labels).alias("group"))
    return named.sort(["estimate", "rater", "item"], descending=[True, False, False], nulls_last=True)


def refused_first(analysis: Stereomap) -> pl.DataFrame:
    """The first twenty of them, where anything was refused."""
    rows = refused_groups(analysis).filter(pl.col("refused") > 0).head(20)
    return rows.with_columns(analysis.beside("group", "rater").alias("of"))


def spread_of_runs(analysis: Stereomap) -> Data | None:
    """How far runs differ, over equally many of each condition, since variants have fewer."""
    scores = _scores(analysis)
    equal = min(scores.group_by(RATERS).agg(pl.col("sample").n_unique())["sample"].to_list(), default=0)
    if equal < 2:
        return None
    found = run_spread(scores, runs=equal, seed=analysis.seed)
    group = pl.col("item").cast(pl.String).replace(analysis.labels)
    return Data(_named(found).with_columns(group), {"equal_runs": equal})


def variants(analysis: Stereomap) -> pl.DataFrame | None:
    """Agreement of each variant with the prompt as it is."""
    return condition_agreement(_scores(analysis), seed=analysis.seed) if _varied(analysis) else None


def variant_refusals(analysis: Stereomap) -> pl.DataFrame | None:
    """Refusals under each variant."""
    return _named(refusals(analysis.ratings, by=RATERS)) if _varied(analysis) else None


def diversity(analysis: Stereomap) -> pl.DataFrame | None:
    """How varied the reasons are, over equally many texts of each model and condition."""
    if (texts := analysis.reasons).is_empty():
        return None
    size = min([MOST_TEXTS, *texts.group_by(RATERS).len()["len"].to_list()])
    return _named(text_diversity(texts, by=RATERS, size=size, seed=analysis.seed))


def _put(analysis: Stereomap) -> pl.DataFrame:
    """The ratings and the lists of keywords that answer the prompt as it is."""
    lists = analysis.corpus.judgments.filter(pl.col("question").str.ends_with("-keywords"), pl.col("condition") == "")
    return pl.concat([analysis.asked, lists], how="diagonal_relaxed")


def _scores(analysis: Stereomap) -> pl.DataFrame:
    """Competence and warmth under every condition."""
    return composites(expected_values(analysis.ratings), analysis.instrument).filter(pl.col("question").is_in(AXES))


def _varied(analysis: Stereomap) -> bool:
    conditions = analysis.ratings["condition"].unique().to_list()
    return len(conditions) > 1 and "" in conditions


def _named(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(pl.col("condition").replace("", PLAIN))
