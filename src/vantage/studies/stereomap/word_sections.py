"""The sections on words: keywords read through a dictionary, and key phrases of reasons."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from vantage.measures.keywords import coverage, matched, profile
from vantage.measures.lemmas import lemmas
from vantage.measures.phrases import class_phrases, similar_phrases
from vantage.report.parts import Column, Figure, Section, Table

if TYPE_CHECKING:
    from vantage.studies.stereomap.sections import Analysis


def keyword_section(analysis: Analysis) -> Section | None:
    """What the keywords are about, and in which direction."""
    given = analysis.keywords.filter(pl.col("condition") == "")
    if given.is_empty():
        return None
    language = analysis.instrument.language or "en"
    found = matched(given, analysis.dictionary, lemmatize=lambda word, parts: lemmas(word, parts, language))
    covered = coverage(found, by="rater")
    share = Column(percent=True, digits=1)
    notes = [
        f"Dictionary: {analysis.dictionary.name}, {len(analysis.dictionary.words):,} words.",
        *analysis.dictionary.notes,
    ]
    parts: list[Table | Figure] = [
        Table(
            "keyword-coverage",
            "How many keywords the dictionary knows, stage after stage: as written, in another spelling, as a lemma, "
            "by the head of a phrase.",
            covered,
            {"covered": share, "covered_words": Column("different words covered", percent=True, digits=1)},
            keys=("rater", "stage"),
            notes=notes,
        )
    ]
    traits = found.filter(pl.col("about") == "traits").join(analysis.clusters, on=["rater", "item"], how="inner")
    # A dictionary of another language, or a short list of words, may know none of them.
    text: list[str] = []
    if not traits["dimension"].count():
        text = [] if traits.is_empty() else ["The dictionary knows none of the trait keywords."]
    else:
        told = profile(traits, analysis.dictionary, of="cluster", by="rater", seed=analysis.seed)
        parts += [
            Figure(
                "keyword-dimensions",
                "Direction of the trait keywords on each dimension, by cluster; 95 % intervals over groups.",
                "Points per dimension and cluster between −1, low, and 1, high.",
                "points",
                told.drop_nulls("direction").with_columns(analysis.beside("cluster", "rater").alias("series")),
                {
                    "category": "dimension",
                    "value": "direction",
                    "low": "direction_low",
                    "high": "direction_high",
                    "series": "series",
                    "label": "mean direction",
                    "reference": 0.0,
                },
            ),
            Table(
                "keyword-dimensions",
                "How often trait keywords fall on each dimension (prevalence) and in which direction, by cluster.",
                told,
                {
                    "prevalence": Column(percent=True, digits=1, interval=("prevalence_low", "prevalence_high")),
                    "prevalence_chance": Column(
                        "by chance",
                        percent=True,
                        digits=1,
                        interval=("prevalence_chance_low", "prevalence_chance_high"),
                    ),
                    "prevalence_p": Column("p", 3),
                    "direction": Column(digits=2, signed=True, interval=("direction_low", "direction_high")),
                    "direction_chance": Column(
                        "direction by chance",
                        2,
                        signed=True,
                        interval=("direction_chance_low", "direction_chance_high"),
                    ),
                    "direction_p": Column("p of direction", 3),
                    "dictionary_share": Column("share of dictionary", percent=True, digits=1),
                    "dictionary_direction": Column("direction in dictionary", 2, signed=True),
                },
                shown=(
                    *("rater", "cluster", "dimension", "keywords", "prevalence", "prevalence_chance", "prevalence_p"),
                    *(
                        "direction",
                        "direction_chance",
                        "direction_p",
                        "dictionary_share",
                        "dictionary_direction",
                        "reason",
                    ),
                ),
                keys=("rater", "cluster", "dimension"),
                notes=(
                    "By chance: clusters dealt out to the groups at random. Every occurrence of a keyword counts.",
                    "p-values are not corrected for the number of dimensions and clusters.",
                ),
            ),
        ]
    unknown = (
        found.filter(pl.col("stage").is_null())
        .with_columns(pl.col("keyword").str.to_lowercase())
        .group_by("keyword")
        .agg(pl.len().cast(pl.Int64).alias("times"), pl.col("item").n_unique().cast(pl.Int64).alias("groups"))
        .sort("times", "keyword", descending=[True, False])
        .head(100)
    )
    if not unknown.is_empty():
        caption = "The most frequent keywords that the dictionary does not know."
        parts.append(Table("unknown-keywords", caption, unknown, keys=("keyword",)))
    return Section("Keywords", text, parts)


def reason_section(analysis: Analysis) -> Section | None:
    """What the reasons talk about, by cluster and by model."""
    texts = reasons(analysis)
    if texts.is_empty():
        return None
    placed = texts.join(analysis.clusters, on=["rater", "item"], how="inner")
    parts: list[Table | Figure] = []
    columns: dict[str, Column | str] = {"weight": Column(digits=3), "rater": "model"}
    told = "distinguish" if analysis.encode is None else "are most like"
    for name, frame, of in (("cluster", placed, ["rater", "cluster"]), ("model", texts, ["rater"])):
        if frame.is_empty() or (name == "model" and frame["rater"].n_unique() < 2):
            continue
        if analysis.encode is None:
            found = class_phrases(frame, of=of, names=analysis.names)
        else:
            found = similar_phrases(frame, analysis.encode, of=of, names=analysis.names)
        if not found.is_empty():
            caption = f"Phrases that {told} the reasons of each {name}; names of the groups are masked."
            parts.append(Table(f"phrases-by-{name}", caption, found, columns, keys=(*of, "place")))
    counted = texts.group_by("rater", "about").agg(pl.len().cast(pl.Int64).alias("reasons")).sort("rater", "about")
    parts.append(Table("reasons", "How many reasons were given, by what was asked.", counted, {"rater": "model"}))
    return Section("Reasons", [], parts)


def reasons(analysis: Analysis, condition: str | None = "") -> pl.DataFrame:
    """Every reason that was given: with keywords, and with ratings. Null as condition means all of them."""
    keys = ["item", "rater", "condition", "sample"]
    given = analysis.keywords.drop_nulls("reason").select(*keys, "about", pl.col("reason").alias("text"))
    rated = analysis.ratings.drop_nulls("rationale").filter(pl.col("status").cast(pl.String) == "answered")
    told = rated.select(*keys, pl.col("question").alias("about"), pl.col("rationale").alias("text"))
    both = pl.concat([given, told.cast({"sample": pl.Int64})])
    return both if condition is None else both.filter(pl.col("condition") == condition)
