"""The reasons given: what people think of them, whether automatic measures agree, their likeness and topics."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.measures.intervals import SHARES
from vantage.measures.multiplicity import adjusted
from vantage.measures.rationale.agreement import (
    ACTUAL,
    SAME_ITEM,
    SAME_QUESTION,
    Writer,
    rationale_agreement,
    rationale_similarity,
)
from vantage.measures.rationale.form import form
from vantage.measures.rationale.topics import topics
from vantage.measures.relations.correlations import coefficient
from vantage.measures.resampling import difference_with_interval, item_codes, mean_with_interval
from vantage.report.engine import Absent, there
from vantage.studies.appraisals.analysis import CRITERIA, HUMAN, MAIN, Appraised
from vantage.studies.appraisals.coding import clustered, p_over_posts

_FORM: Final = {"words": "length in words", "density": "density of copied runs", "coverage": "coverage by the post"}


def evaluation(analysis: Appraised) -> pl.DataFrame | None:
    """Mean human scores by criterion and by who wrote the rationale."""
    rows: list[dict[str, Any]] = []
    for (criterion, source), part in _judged(analysis).group_by(["criterion", "source"], maintain_order=True):
        mean = mean_with_interval(part["post"], part["value"].to_numpy(), analysis.how, SHARES)
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
                values = both["value"].to_numpy()
                difference = difference_with_interval(both["post"], values, mine, analysis.how, (-1.0, 1.0))
                p = p_over_posts(difference.values(), both["post"].n_unique())
                rows.append({"source": source, "criterion": criterion, **difference, "p": p})
    return pl.DataFrame(rows, infer_schema_length=None).sort("source", maintain_order=True) if rows else None


def evaluation_automatic(analysis: Appraised) -> pl.DataFrame:
    """How each automatic measure of a model's rationale goes with the human scores: one row per measure and criterion.

    Correlations are of ranks, after taking off each model's mean ranks (`estimate`) and over all models (`all_…`).
    Intervals and p values resample posts, since rationales about one post share what it tells; Holm's correction is
    over all of them.
    """
    judged, texts = there(_judged(analysis)), _reasons_of_models(analysis)
    human = judged.group_by("item", "criterion").agg(pl.col("value").mean())
    rows: list[dict[str, Any]] = []
    # Likeness to people's rationales, form, and copying from the post.
    pairs = texts.select("rationale", "references").iter_rows()
    scores, _ = analysis.likeness.scores([(text, tuple(references)) for text, references in pairs])
    scores |= form(texts["rationale"].to_list(), texts["post"].to_list())
    for name, mine in scores.items():
        for criterion in CRITERIA:
            theirs = human.filter(criterion=criterion).drop("criterion")
            scored = texts.select("item", "source", pl.col("reddit_id").alias("post"), pl.Series("mine", mine))
            both = scored.join(theirs, on="item", maintain_order="left").filter(pl.col("mine").is_not_nan())
            ranks = both.with_columns(pl.col("mine", "value").rank())
            inside = ranks.with_columns(pl.col("mine", "value") - pl.col("mine", "value").mean().over("source"))
            over = {f"all_{key}": value for key, value in _correlated(ranks, analysis).items()}
            head = {"automatic": _FORM.get(name, name), "criterion": criterion, **_correlated(inside, analysis)}
            rows.append({**head, **over, "rationales": len(both), "posts": both["post"].n_unique()})
    corrected = adjusted([row[p] for row in rows for p in ("p", "all_p")], "holm")
    for place, row in enumerate(rows):
        row["p_adjusted"], row["all_p_adjusted"] = corrected[2 * place : 2 * place + 2]
    return pl.DataFrame(rows, infer_schema_length=None)


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


def _reasons_of_models(analysis: Appraised) -> pl.DataFrame:
    """Rationales of models that were evaluated, with all that people wrote about the same thing under `references`."""
    items = analysis.corpus.items
    if not {"source", "rationale"} <= set(items.columns):
        raise Absent
    people = analysis.by_people.drop_nulls("rationale").group_by(
        pl.col("item").alias("reddit_id"), pl.col("question").alias("appraisal"), maintain_order=True
    )
    written = items.filter(pl.col("source") != HUMAN).drop_nulls("rationale")
    known = people.agg(pl.col("rationale").alias("references"))
    return there(written.join(known, on=["reddit_id", "appraisal"], maintain_order="left"))


def _correlated(ranks: pl.DataFrame, analysis: Appraised) -> dict[str, float | None]:
    """Pearson's correlation of ranks, with interval and p value over posts."""
    one, two = ranks["mine"].to_numpy(), ranks["value"].to_numpy()
    if len(ranks) < 3 or np.ptp(one) == 0 or np.ptp(two) == 0:
        return dict.fromkeys(("estimate", "low", "high", "p"))
    (low, high), p = clustered(one, two, item_codes(ranks["post"])[0], analysis.how)
    return {"estimate": coefficient(one, two, "pearson"), "low": low, "high": high, "p": p}


PROMPT_WORDS: Final = """
narrator narrator's narrators situation situations post feel feels feeling felt think thinks thought extent mention
mentions mentioned mentioning says said say state states stated express expresses text author seems seem
"""
"""Words that nearly every rationale has because the questions have them."""
OTHER: Final = "the other annotator"
BASELINES: Final[tuple[tuple[str, Writer, bool], ...]] = (
    (OTHER, "other", False),
    ("either annotator", "any", False),
    ("either annotator, reference included", "any", True),
)
"""Who wrote the texts of the baselines: the draft seems to draw from either, and the reference itself."""


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
    how: dict[str, Any] = {"count": options.topics, "fits": options.fits, "stop_words": PROMPT_WORDS.split()}
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
    words = {SAME_QUESTION: "the same question about another post", SAME_ITEM: "another question about the same post"}
    return scores.with_columns(p, said, pl.col("pairs").replace(words).alias("what"))
