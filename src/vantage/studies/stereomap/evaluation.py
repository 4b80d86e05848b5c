"""Model answers as items of the instrument `response-quality`, which asks for relevance, soundness and coherence."""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from vantage.corpora import About, Corpus
from vantage.errors import InputError
from vantage.studies.blind import blinded
from vantage.studies.stereomap.elicitation import blocks, keywords_of

INSTRUMENT: Final = "response-quality"


def response_items(corpus: Corpus, per_group: int = 5, seed: int = 0) -> Corpus:
    """At most `per_group` answers per group and model, drawn at random, for people to judge.

    Each item shows the trait keywords with their reasons, the ratings of the same run, and the keywords of another run
    of the same model about the same group. Runs without keywords or ratings are not drawn. The items keep `source`,
    `of` and `sample`, so that judgments can be compared by model; raters do not see them.
    """
    run = ["rater", "item", "sample"]
    words = keywords_of(corpus).filter(condition="", about="traits")
    line = pl.concat_str("keyword", pl.lit(": ") + pl.col("reason"), ignore_nulls=True)
    listed = words.group_by(run, maintain_order=True).agg(line.str.join("\n").alias("keywords"))
    asked = {
        question.id: question.title
        for instrument in corpus.instruments
        if instrument.aggregates
        for question in instrument.questions
        if question.id in blocks(instrument).get("traits", [])
    }
    rated = corpus.judgments.filter(pl.col("question").is_in([*asked]), condition="").drop_nulls("value")
    value = pl.col("value").map_elements(lambda number: f"{number:g}", pl.String)
    lines = pl.format("{}: {}", pl.col("question").cast(pl.String).replace(asked), value).str.join(", ")
    ratings = rated.group_by(run, maintain_order=True).agg(lines.alias("ratings"))
    both = listed.join(ratings.cast({"sample": pl.Int64}), on=run).join(corpus.items.select("item", "group"), on="item")
    if both.is_empty():
        raise InputError("no run has both keywords and ratings", remedy="run the study with first=keywords")
    same = pl.struct("rater", "item")
    other = pl.col("keywords").shift(-1, fill_value=pl.col("keywords").first()).over(same)
    again = pl.when(pl.len().over(same) > 1).then(other).otherwise(pl.lit("(It was asked once only.)"))
    shuffled = both.sort(run)[np.random.default_rng(seed).permutation(len(both))].with_columns(again=again, of="item")
    drawn = shuffled.group_by("rater", "item", maintain_order=True).head(per_group).rename({"rater": "source"})
    about = About(name=INSTRUMENT, title="Answers of models about groups", language=corpus.about.language)
    return blinded(drawn, INSTRUMENT, about, seed, ["source", "of", "sample"])
