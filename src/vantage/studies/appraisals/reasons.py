"""The reasons given: how alike they are, and what they are about."""

from __future__ import annotations

from typing import Any, Final

import polars as pl

from vantage.measures.rationale.agreement import (
    ACTUAL,
    SAME_ITEM,
    SAME_QUESTION,
    Writer,
    rationale_agreement,
    rationale_similarity,
)
from vantage.measures.rationale.topics import topics
from vantage.report.engine import Absent, there
from vantage.studies.appraisals.analysis import Appraised
from vantage.studies.appraisals.coding import p_over_posts

_PROMPT_WORDS: Final = """
narrator narrator's narrators situation situations post feel feels feeling felt think thinks thought extent mention
mentions mentioned mentioning says said say state states stated express expresses text author seems seem
"""
PROMPT_WORDS: Final = tuple(_PROMPT_WORDS.split())
"""Words that stand in nearly every rationale because the questions have them."""
OTHER: Final = "the other annotator"
BASELINES: Final[tuple[tuple[str, Writer, bool], ...]] = (
    (OTHER, "other", False),
    ("either annotator", "any", False),
    ("either annotator, reference included", "any", True),
)
"""Who wrote the texts that chance draws: the draft seems to draw from either, and from the reference itself."""

_WHAT: Final = {
    SAME_QUESTION: "the same question about another post",
    SAME_ITEM: "another question about the same post",
}


def reasons_agreement(analysis: Appraised) -> pl.DataFrame:
    """The annotators' pairs with baselines by the other hand, by either hand, and by either hand with the leak."""
    if "rationale" not in analysis.experts.judgments.columns:
        raise Absent
    frames = []
    for name, writer, leak in BASELINES:
        how: dict[str, Any] = {"draws": analysis.options.draws, "writer": writer, "with_itself": leak}
        agreement = rationale_agreement(analysis.experts.judgments, direction="ordered", **how, **_options(analysis))
        if leak:
            agreement = agreement.filter(pairs=SAME_ITEM)
        elif name != OTHER:
            agreement = agreement.filter(pl.col("pairs") != ACTUAL)
        frames.append(agreement.with_columns(pl.lit(name).alias("candidates_by")))
    return _with_p(pl.concat(frames, how="diagonal_relaxed"))


def reasons_models(analysis: Appraised) -> pl.DataFrame:
    """Models' rationales beside people's."""
    if "rationale" not in there(analysis.by_models).columns:
        raise Absent
    return _with_p(rationale_similarity(analysis.judged, **_options(analysis)))


def reasons_topics(analysis: Appraised) -> pl.DataFrame | None:
    """Topics of people's rationales per question; none where none are asked for."""
    options = analysis.options
    if not options.topics:
        return None
    texts = analysis.by_people.select("item", "appraisal", pl.col("rationale").alias("text")).drop_nulls()
    how: dict[str, Any] = {"count": options.topics, "fits": options.fits, "stop_words": PROMPT_WORDS}
    return topics(texts, by="appraisal", seed=analysis.seed, **how)


def _options(analysis: Appraised) -> dict[str, Any]:
    like = analysis.likeness
    names = ("metric", "smoothing", "tokens", "weights", "encode", "bertscore")
    return {**{n: getattr(like, n) for n in names}, "resamples": analysis.options.resamples, "seed": analysis.seed}


def _with_p(scores: pl.DataFrame) -> pl.DataFrame:
    """The scores with what the candidates are reasons for in words, and the p value of what is `said`: ROUGE-L."""
    if "beyond" not in scores.columns:
        # Nobody gave reasons that could be compared; the rows say so.
        return scores
    ends = scores.select("beyond", "beyond_low", "beyond_high", "items").iter_rows()
    p = pl.Series("p", [p_over_posts(row[:3], row[3]) for row in ends], dtype=pl.Float64)
    said = pl.when(metric="rouge-l").then("beyond").alias("said")
    return scores.with_columns(p, said, pl.col("pairs").replace(_WHAT).alias("what"))
