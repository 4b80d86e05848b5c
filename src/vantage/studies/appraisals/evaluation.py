"""People's evaluation of rationales, and whether any automatic measure agrees with it."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.measures.agreement.alpha import alpha
from vantage.measures.agreement.chance_corrected import fleiss, randolph
from vantage.measures.multiplicity import adjusted
from vantage.measures.ratings import Floats
from vantage.measures.rationale.form import PROPERTIES
from vantage.measures.relations.correlations import coefficient
from vantage.measures.resampling import difference_with_interval, mean_with_interval
from vantage.report.engine import there
from vantage.studies.appraisals.analysis import Appraised
from vantage.studies.appraisals.coding import clustered, p_over_posts

CRITERIA: Final = ("factuality", "relevance", "consistency", "usefulness")
MAIN: Final = ("gold", "chatgpt", "alpaca-7B", "flan-t5-xxl")
"""The four sources that both files have."""
_FORM: Final = {"words": "length in words", "density": "density of copied runs", "coverage": "coverage by the post"}


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
            both = part.filter(pl.col("source").is_in(["gold", source]))
            if source != "gold" and both["source"].n_unique() == 2:
                mine = (both["source"] == source).to_numpy().astype(np.float64)
                difference = difference_with_interval(both["post"], both["value"].to_numpy(), mine, analysis.how)
                p = p_over_posts(difference.values(), both["post"].n_unique())
                rows.append({"source": source, "criterion": criterion, **difference, "p": p})
    return pl.DataFrame(rows, infer_schema_length=None).sort("source", maintain_order=True) if rows else None


def evaluation_agreement(analysis: Appraised) -> pl.DataFrame:
    """Agreement of the evaluators of a rationale, on the four sources that both files have."""
    main = there(_judged(analysis).filter(pl.col("source").is_in(MAIN)))
    options: dict[str, Any] = {"by": "criterion", "resamples": analysis.options.resamples, "seed": analysis.seed}
    coefficients = {
        "alpha, ordinal": alpha(main, level="ordinal", **options),
        "alpha, interval": alpha(main, level="interval", **options),
        "Randolph's kappa": randolph(main, **options),
        "Fleiss' kappa": fleiss(main, **options),
    }
    frames = [frame.with_columns(pl.lit(name).alias("coefficient")) for name, frame in coefficients.items()]
    ordinal = pl.when(coefficient="alpha, ordinal").then("estimate").alias("alpha")
    return pl.concat(frames, how="diagonal_relaxed").drop("level", strict=False).with_columns(ordinal)


def evaluation_automatic(analysis: Appraised) -> pl.DataFrame:
    """How each automatic measure of a model's rationale goes with the human scores: one row per measure and criterion.

    Correlations are of ranks, after taking off each model's mean ranks (`estimate`) and over all models (`all_…`).
    Intervals and p values resample posts, since rationales about one post share what it tells; Holm's correction is
    over all of them.
    """
    from scipy.stats import rankdata

    judged, texts = there(_judged(analysis)), there(_reasons_of_models(analysis) or None)
    scores = _automatic(analysis, texts)
    human = judged.group_by("item", "criterion").agg(pl.col("value").mean())
    by_item = {(item, criterion): value for item, criterion, value in human.iter_rows()}
    source, posts = (np.array([row[name] for row in texts]) for name in ("source", "reddit_id"))
    rows: list[dict[str, Any]] = []
    for name, mine in scores.items():
        for criterion in CRITERIA:
            theirs = np.array([by_item.get((row["item"], criterion), np.nan) for row in texts], dtype=np.float64)
            usable = ~(np.isnan(mine) | np.isnan(theirs))
            one, two = (np.asarray(rankdata(side[usable]), dtype=np.float64) for side in (mine, theirs))
            inside = [_centred(side, source[usable]) for side in (one, two)]
            within = _correlated(inside[0], inside[1], posts[usable], analysis)
            over = {f"all_{key}": value for key, value in _correlated(one, two, posts[usable], analysis).items()}
            head: dict[str, Any] = {"automatic": _FORM.get(name, name), "criterion": criterion, **within, **over}
            rows.append({**head, "rationales": int(usable.sum()), "posts": len(set(posts[usable]))})
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
    order = {name: place for place, name in enumerate((*CRITERIA, *MAIN))}
    # Relevance is asked from 1 to 5.
    value = pl.when(criterion="relevance").then((pl.col("value") - 1) / 4).otherwise("value")
    return (
        corpus.judgments.filter(pl.col("question").is_in(CRITERIA) & pl.col("value").is_not_null())
        .join(sources, on="item")
        .rename({"question": "criterion"})
        .with_columns(value.alias("value"))
        .sort(
            pl.col("criterion").replace_strict(order),
            pl.col("source").replace_strict(order, default=len(order)),
            "source",
            maintain_order=True,
        )
    )


def _reasons_of_models(analysis: Appraised) -> list[dict[str, Any]]:
    """Rationales of models that were evaluated, with all that people wrote about the same thing under `references`."""
    if not {"source", "rationale"} <= set(analysis.corpus.items.columns):
        return []
    people = analysis.by_people.select("item", "question", "rationale").drop_nulls()
    known = people.group_by("item", "question", maintain_order=True).agg("rationale")
    references = {(item, question): tuple(texts) for item, question, texts in known.iter_rows()}
    items = analysis.corpus.items.filter((pl.col("source") != "gold") & pl.col("rationale").is_not_null())
    return [
        {**row, "references": references[row["reddit_id"], row["appraisal"]]}
        for row in items.iter_rows(named=True)
        if (row["reddit_id"], row["appraisal"]) in references
    ]


def _automatic(analysis: Appraised, texts: list[dict[str, Any]]) -> dict[str, Floats]:
    """Every automatic measure of every text: likeness to people's rationales, form, and copying from the post."""
    scores, _ = analysis.likeness.scores([(row["rationale"], row["references"]) for row in texts])
    for name, compute in PROPERTIES.items():
        values = [compute(row["rationale"], row["post"]) for row in texts]
        scores[name] = np.array([np.nan if value is None else value for value in values])
    return scores


def _centred(values: Floats, source: Any) -> Floats:
    return np.asarray(values - np.array([values[source == name].mean() for name in source]), dtype=np.float64)


def _correlated(one: Floats, two: Floats, posts: Any, analysis: Appraised) -> dict[str, float | None]:
    """Pearson's correlation of ranks, with interval and p value over posts."""
    if len(one) < 3 or np.ptp(one) == 0 or np.ptp(two) == 0:
        return dict.fromkeys(("estimate", "low", "high", "p"))
    _, codes = np.unique(posts, return_inverse=True)
    (low, high), p = clustered(one, two, codes, analysis.how)
    return {"estimate": coefficient(one, two, "pearson"), "low": low, "high": high, "p": p}
