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

INSTRUMENT = "response-quality"


def response_items(corpus: Corpus, *, per_group: int = 5, about: str = "traits", seed: int = 0) -> Corpus:
    """A sample of answers per group and model, ready for people to judge.

    Each item shows the keywords with their reasons, the ratings of the same run, and the keywords of another run of
    the same model about the same group. Runs without keywords or ratings are not drawn. The items keep `source`, `of`
    and `sample`, so that judgments can be compared by model; raters do not see them.

    Args:
        corpus: What the study left.
        per_group: How many answers are drawn per group and model, at most.
        about: Which block: traits, emotions or behaviours.
        seed: Of the draw.
    """
    words = keywords_of(corpus).filter(pl.col("condition") == "", pl.col("about") == about)
    if words.is_empty():
        raise InputError(f"the corpus has no keywords about {about}", remedy="run the study with first=keywords")
    keywords = {
        key: "\n".join(
            f"{row['keyword']}: {row['reason']}" if row["reason"] else row["keyword"]
            for row in part.iter_rows(named=True)
        )
        for key, part in words.group_by("rater", "item", "sample", maintain_order=True)
    }
    ratings = _ratings(corpus, about)
    shown = dict(corpus.items.select("item", "group").iter_rows())
    rng = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    for rater, item in sorted({(str(key[0]), str(key[1])) for key in keywords}):
        runs = sorted(key[2] for key in keywords if key[:2] == (rater, item) and key in ratings)
        for sample in sorted(rng.permutation(runs)[:per_group].tolist()):
            others = [run for run in runs if run != sample]
            again = keywords[rater, item, int(rng.choice(others))] if others else None
            rows.append(
                {
                    "item": f"{item}-{len(rows) + 1:04d}",
                    "group": shown[item],
                    "keywords": keywords[rater, item, sample],
                    "ratings": ratings[rater, item, sample],
                    "again": again or "(It was asked once only.)",
                    "source": rater,
                    "of": item,
                    "sample": sample,
                }
            )
    if not rows:
        raise InputError("no run has both keywords and ratings", remedy="run the study with first=keywords")
    about_it = About(name="response-quality", title="Answers of models about groups", language=corpus.about.language)
    return Corpus.of_items(pl.DataFrame(rows), Instrument.load(INSTRUMENT), about_it)


def _ratings(corpus: Corpus, about: str) -> dict[tuple[str, str, int], str]:
    """The ratings of each run in a line."""
    asked = {
        question.id: question.title
        for instrument in corpus.instruments
        if instrument.aggregates
        for question in instrument.questions
        if question.id in blocks(instrument).get(about, [])
    }
    mine = corpus.judgments.filter(
        pl.col("condition") == "", pl.col("question").is_in([*asked]), pl.col("value").is_not_null()
    )
    lines: dict[tuple[str, str, int], list[str]] = {}
    for rater, item, sample, question, value in mine.select("rater", "item", "sample", "question", "value").iter_rows():
        lines.setdefault((rater, item, sample), []).append(f"{asked[question]}: {value:g}")
    return {key: ", ".join(parts) for key, parts in lines.items()}
