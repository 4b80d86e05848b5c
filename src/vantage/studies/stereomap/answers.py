"""Answers: what is refused, how far they depend on run and wording, and their keywords and reasons."""

from __future__ import annotations

from itertools import combinations
from typing import Any, Final

import numpy as np
import polars as pl

from vantage import measures
from vantage.measures.texts.keywords import coverage, profile
from vantage.report.engine import Data, there
from vantage.studies.stereomap.analysis import PEOPLE, Stereomap

PLAIN: Final = "as asked"
"""The condition without a name, in tables."""
MOST_TEXTS: Final = 200
"""Self-BLEU compares each text with all others."""
RATERS: Final = ["rater", "condition"]


def refused(analysis: Stereomap) -> pl.DataFrame:
    """Refusals by model, apart from what could not be read."""
    return measures.refusals(_put(analysis), by="rater")


def refused_groups(analysis: Stereomap) -> pl.DataFrame:
    """Refusals by model and group, those with the highest share first."""
    group = pl.col("item").replace(analysis.labels).alias("group")
    rates = measures.refusals(_put(analysis), by=["rater", "item"]).with_columns(group)
    return rates.sort(["estimate", "rater", "item"], descending=[True, False, False], nulls_last=True)


def refused_first(analysis: Stereomap) -> pl.DataFrame:
    """The first twenty of them, where anything was refused."""
    rows = refused_groups(analysis).filter(pl.col("refused") > 0).head(20)
    return rows.with_columns(analysis.beside("group", "rater").alias("of"))


def spread_of_runs(analysis: Stereomap) -> Data:
    """How far runs differ, over equally many of each condition, since variants have fewer."""
    scores = there(_scores(analysis))
    equal = min(scores.group_by(RATERS).agg(pl.col("sample").n_unique())["sample"].to_list())
    spread = there(measures.run_spread(scores, runs=equal, seed=analysis.seed) if equal > 1 else None)
    group = pl.col("item").cast(pl.String).replace(analysis.labels)
    return Data(_named(spread).with_columns(group), {"equal_runs": equal})


def variants(analysis: Stereomap) -> pl.DataFrame:
    """Agreement of each variant with the prompt as it is."""
    _varied(analysis)
    return measures.condition_agreement(_scores(analysis), seed=analysis.seed)


def variant_refusals(analysis: Stereomap) -> pl.DataFrame:
    """Refusals under each variant."""
    return _named(measures.refusals(_varied(analysis), by=RATERS))


def diversity(analysis: Stereomap) -> pl.DataFrame:
    """How varied the reasons are, over equally many texts of each model and condition."""
    texts = there(analysis.reasons)
    size = min([MOST_TEXTS, *texts.group_by(RATERS).len()["len"].to_list()])
    return _named(measures.text_diversity(texts, by=RATERS, size=size, seed=analysis.seed))


def _put(analysis: Stereomap) -> pl.DataFrame:
    """The ratings and the lists of keywords that answer the prompt as it is."""
    lists = analysis.corpus.judgments.filter(pl.col("question").str.ends_with("-keywords"), pl.col("condition") == "")
    return pl.concat([there(analysis.models), lists], how="diagonal_relaxed")


def _scores(analysis: Stereomap) -> pl.DataFrame:
    """The scores of the map that models give under every condition."""
    made = measures.expected_values(analysis.ratings.filter(pl.col("rater") != PEOPLE))
    return measures.composites(made, analysis.instrument).filter(pl.col("question").is_in(analysis.dimensions))


def _varied(analysis: Stereomap) -> pl.DataFrame:
    """The ratings of models, where there are some as asked and some under a variant."""
    conditions = analysis.ratings["condition"].unique()
    there(("" in conditions and len(conditions) > 1) or None)
    return analysis.ratings.filter(pl.col("rater") != PEOPLE)


def _named(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(pl.col("condition").replace("", PLAIN))


def keyword_coverage(analysis: Stereomap) -> Data:
    """How many keywords the dictionary knows, stage after stage."""
    traits = _traits(analysis)
    facts = {
        "dictionary_name": analysis.dictionary.name,
        "dictionary_words": len(analysis.dictionary.words),
        "dictionary_notes": " ".join(analysis.dictionary.notes) or None,
        "traits_known": traits.drop_nulls("stage").height,
        "traits_given": len(traits) or None,
    }
    return Data(coverage(there(analysis.matches), by="rater"), facts)


def keyword_dimensions(analysis: Stereomap) -> pl.DataFrame:
    """How often trait keywords fall on each dimension, and in which direction, by cluster."""
    traits = _traits(analysis)
    # A dictionary of another language, or a short list of words, may know none of them.
    there(traits.drop_nulls("dimension"))
    profiles = profile(traits, analysis.dictionary, of="cluster", by="rater", seed=analysis.seed)
    return profiles.with_columns(analysis.beside("cluster", "rater").alias("series"))


def keyword_overlap(analysis: Stereomap) -> pl.DataFrame:
    """How far two models choose the same trait keywords for a group (Jaccard), and for different ones (`elsewhere`)."""
    given = analysis.keywords.filter(pl.col("condition") == "", pl.col("about") == "traits")
    words: dict[str, dict[str, set[str]]] = {}
    for rater, item, keyword in given.select("rater", "item", pl.col("keyword").str.to_lowercase()).iter_rows():
        words.setdefault(rater, {}).setdefault(item, set()).add(keyword)
    rows: list[dict[str, Any]] = []
    for (first, ours), (second, theirs) in combinations(sorted(words.items()), 2):
        shared = sorted(ours.keys() & theirs.keys())
        if not shared:
            continue
        table = np.array([[len(ours[i] & theirs[j]) / len(ours[i] | theirs[j]) for j in shared] for i in shared])
        apart = table[~np.eye(len(shared), dtype=bool)]
        how = measures.Resampling(seed=analysis.seed)
        same = measures.mean_with_interval(pl.Series(shared), np.diag(table), how, measures.SHARES)
        elsewhere = float(apart.mean()) if len(apart) else None
        rows.append({"first": first, "second": second, **same, "elsewhere": elsewhere, "groups": len(shared)})
    return pl.DataFrame(rows, infer_schema_length=None)


def phrases_by_cluster(analysis: Stereomap) -> Data:
    """Key phrases of the reasons about the groups of each cluster."""
    placed = analysis.reasons.join(analysis.clusters, on=["rater", "item"], how="inner")
    return _phrases(analysis, placed, ["rater", "cluster"])


def phrases_by_question(analysis: Stereomap) -> Data:
    """Key phrases of the reasons that were given with each question or list of keywords."""
    return _phrases(analysis, analysis.reasons, ["rater", "about"])


def reason_examples(analysis: Stereomap) -> pl.DataFrame:
    """For each model and question with reasons: what it says of the group it rates highest, and of the lowest."""
    mean = pl.col("value").mean().over("rater", "question", "item").round(9)
    given = there(analysis.models.drop_nulls(["rationale", "value"])).with_columns(mean.alias("mean"))
    # Of the runs of a group, the first whose answer is nearest to its mean speaks for it.
    ordered = given.with_columns((pl.col("value") - pl.col("mean")).abs().alias("off")).sort("off", "sample", "item")
    keys = ["rater", "question"]
    ends = [
        ordered.sort("mean", descending=end == "highest", maintain_order=True)
        .unique(keys, keep="first", maintain_order=True)
        .with_columns(end=pl.lit(end))
        for end in ("highest", "lowest")
    ]
    labels = pl.col("item").replace(analysis.labels).alias("group")
    shown = pl.concat(ends).select(*keys, "end", labels, "mean", "value", pl.col("rationale").alias("reason given"))
    order = {question.id: n for n, question in enumerate(analysis.instrument.questions)}
    return shown.sort("rater", pl.col("question").replace_strict(order), "end", maintain_order=True)


def _traits(analysis: Stereomap) -> pl.DataFrame:
    """The trait keywords of the groups that are in a cluster."""
    traits = analysis.matches.filter(pl.col("about") == "traits")
    return traits.join(analysis.clusters, on=["rater", "item"], how="inner")


def _phrases(analysis: Stereomap, texts: pl.DataFrame, of: list[str]) -> Data:
    """One row for each of what is told apart, with its phrases, the weightiest first; of the prompt as it is."""
    texts, encoder = there(texts.filter(condition="")), analysis.options.encoder
    if encoder:
        from vantage.raters.encoders import load_encoder

        phrases = measures.similar_phrases(texts, load_encoder(encoder), of=of, names=analysis.names)
    else:
        phrases = measures.class_phrases(texts, of=of, names=analysis.names)
    listed = phrases.group_by(of, maintain_order=True).agg(pl.col("phrase").str.join(", ").alias("phrases"))
    return Data(listed, {"phrases_by": f"likeness to the reasons ({encoder})" if encoder else "class-based TF-IDF"})
