"""Words: keywords read through a dictionary, and key phrases of reasons."""

from __future__ import annotations

import polars as pl

from vantage.measures.texts.keywords import coverage, profile
from vantage.measures.texts.phrases import class_phrases, similar_phrases
from vantage.report.engine import Data
from vantage.studies.stereomap.analysis import Stereomap


def keyword_coverage(analysis: Stereomap) -> Data | None:
    """How many keywords the dictionary knows, stage after stage."""
    if analysis.matches.is_empty():
        return None
    traits = _traits(analysis)
    facts = {
        "dictionary_name": analysis.dictionary.name,
        "dictionary_words": len(analysis.dictionary.words),
        "dictionary_notes": " ".join(analysis.dictionary.notes) or None,
        "traits_known": traits.drop_nulls("stage").height,
        "traits_given": len(traits) or None,
    }
    return Data(coverage(analysis.matches, by="rater"), facts)


def keyword_dimensions(analysis: Stereomap) -> pl.DataFrame | None:
    """How often trait keywords fall on each dimension, and in which direction, by cluster."""
    traits = _traits(analysis)
    # A dictionary of another language, or a short list of words, may know none of them.
    if not traits["dimension"].count():
        return None
    told = profile(traits, analysis.dictionary, of="cluster", by="rater", seed=analysis.seed)
    return told.with_columns(analysis.beside("cluster", "rater").alias("series"))


def unknown_keywords(analysis: Stereomap) -> pl.DataFrame:
    """The hundred most frequent keywords that the dictionary does not know."""
    unknown = analysis.matches.filter(pl.col("stage").is_null()).with_columns(pl.col("keyword").str.to_lowercase())
    counted = unknown.group_by("keyword").agg(
        pl.len().cast(pl.Int64).alias("times"), pl.col("item").n_unique().cast(pl.Int64).alias("groups")
    )
    return counted.sort("times", "keyword", descending=[True, False]).head(100)


def phrases_by_cluster(analysis: Stereomap) -> Data | None:
    """Key phrases of the reasons about the groups of each cluster."""
    placed = _reasons(analysis).join(analysis.clusters, on=["rater", "item"], how="inner")
    return _phrases(analysis, placed, ["rater", "cluster"])


def phrases_by_model(analysis: Stereomap) -> Data | None:
    """Key phrases of the reasons of each model, where there are several."""
    texts = _reasons(analysis)
    return _phrases(analysis, texts, ["rater"]) if texts["rater"].n_unique() > 1 else None


def reasons(analysis: Stereomap) -> pl.DataFrame:
    """How many reasons were given, by what was asked."""
    texts = _reasons(analysis)
    return texts.group_by("rater", "about").agg(pl.len().cast(pl.Int64).alias("reasons")).sort("rater", "about")


def _traits(analysis: Stereomap) -> pl.DataFrame:
    """The trait keywords of the groups that are in a cluster."""
    traits = analysis.matches.filter(pl.col("about") == "traits")
    return traits.join(analysis.clusters, on=["rater", "item"], how="inner")


def _reasons(analysis: Stereomap) -> pl.DataFrame:
    return analysis.reasons.filter(pl.col("condition") == "")


def _phrases(analysis: Stereomap, texts: pl.DataFrame, of: list[str]) -> Data | None:
    if texts.is_empty():
        return None
    if not (encoder := analysis.options.encoder):
        return Data(class_phrases(texts, of=of, names=analysis.names), {"phrases_by": "class-based TF-IDF"})
    from vantage.raters.encoders import load_encoder

    found = similar_phrases(texts, load_encoder(encoder), of=of, names=analysis.names)
    return Data(found, {"phrases_by": f"likeness to the reasons ({encoder})"})
