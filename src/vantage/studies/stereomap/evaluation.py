"""Model answers as items that people judge: relevance, soundness and coherence, with the instrument `response-quality`.

`vantage collect` serves the corpus that `response_items` makes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from vantage.corpora import About, Corpus
from vantage.errors import InputError
from vantage.instruments import Instrument
from vantage.studies.stereomap.elicitation import blocks, keywords_of


def response_items(corpus: Corpus, *, per_group: int = 5, seed: int = 0) -> Corpus:
    """A sample of answers per group and model, ready for people to judge.

    Each item shows the trait keywords with their reasons, the ratings of the same run, and the keywords of another run
    of the same model about the same group. Runs without keywords or ratings are not drawn. The items keep `source`,
    `of` and `sample`, so that judgments can be compared by model; raters do not see them.

    Args:
        corpus: What the study left.
        per_group: How many answers are drawn per group and model, at most.
        seed: Of the draw.
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
    rng = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    for _, mine in both.sort(run).group_by("rater", "item", maintain_order=True):
        for n in sorted(rng.permutation(len(mine))[:per_group]):
            others = [other for other in range(len(mine)) if other != n]
            again = mine["keywords"][int(rng.choice(others))] if others else "(It was asked once only.)"
            answer = mine.row(n, named=True)
            source = {"source": answer.pop("rater"), "of": answer["item"], "sample": answer.pop("sample")}
            rows.append({**answer, "item": f"{answer['item']}-{len(rows) + 1:04d}", "again": again, **source})
    about = About(name="response-quality", title="Answers of models about groups", language=corpus.about.language)
    return Corpus.of_items(pl.DataFrame(rows), Instrument.load("response-quality"), about)
