"""Reasons of people and models about the same posts and questions, for people who are not told who wrote them."""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from vantage.corpora import About, Corpus
from vantage.errors import InputError
from vantage.instruments import Instrument
from vantage.studies.blind import blinded

INSTRUMENT: Final = "rationale-quality"
SERVED: Final = "--study flow:reason-check"
HUMAN: Final = "gold"
"""What the release calls the reasons of its annotators."""


def reasons_to_judge(corpus: Corpus, instrument: Instrument, each: int, seed: int = 0) -> Corpus:
    """Reasons of every source about the same posts and questions, under ids that do not tell who wrote them.

    Of each post and question everyone who gave a reason is drawn, so that sources are compared on the same ones; of
    several runs or annotators one is drawn. `source` stays in the items and is no field of the instrument.

    Args:
        corpus: People's and models' judgments with reasons.
        instrument: What was asked.
        each: How many reasons of each source.
        seed: Of the draw.
    """
    titles = {question.id: question.ask for question in instrument.questions}
    kinds = corpus.raters.select("rater", pl.col("kind").cast(pl.String))
    given = corpus.judgments.filter(pl.col("question").is_in(list(titles))).drop_nulls("rationale")
    given = given.join(kinds, on="rater").filter(pl.col("kind").is_in(["person", "model"]))
    rng = np.random.default_rng(seed)
    given = given.with_columns(
        pl.when(pl.col("kind") == "person").then(pl.lit(HUMAN)).otherwise("rater").alias("source"),
        pl.Series("order", rng.permutation(len(given))),
    )
    given = given.sort("order").unique(["item", "question", "source"], keep="first")
    sources = given["source"].n_unique()
    shared = given.filter(pl.len().over("item", "question") == sources).sort("item", "question")
    cells = shared.select("item", "question").unique(maintain_order=True)
    if sources < 2 or cells.is_empty():
        raise InputError("no post and question has reasons of two sources", remedy="record or ask at least one model")
    chosen = cells[sorted(rng.permutation(len(cells))[:each].tolist())]
    drawn = shared.join(chosen, on=["item", "question"], how="semi").join(corpus.items, on="item")
    status = pl.col("status").cast(pl.String).str.replace("_", " ")
    rows = drawn.select(
        *("item", "rationale", "source"),
        post="text",
        asked=pl.col("question").replace(titles),
        rating=pl.col("value").map_elements(lambda value: f"{value:g}", pl.String).fill_null(status),
        reddit_id="item",
        appraisal="question",
    )
    about = About(name="rationale-evaluation", title="Reasons to be judged", language=corpus.about.language)
    return blinded(rows, INSTRUMENT, about, seed, ["item", "appraisal", "source"])
