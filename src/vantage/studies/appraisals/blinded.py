"""People judge reasons without knowing who wrote them: a study of `vantage collect` from any models' answers.

`leave` draws reasons of people and models about the same posts and questions and writes a corpus and a study file;
`taken_back` adds what was exported from it to the corpus of the study.
"""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from vantage.corpora import About, Corpus
from vantage.errors import InputError
from vantage.instruments import Instrument

FOLDER: Final = "evaluation"
INSTRUMENT: Final = "rationale-quality"
HUMAN: Final = "gold"
"""What the release calls the reasons of its annotators."""
STUDY: Final = """\
id: rationale-evaluation
title: How good are these reasons?
corpus: corpus
instrument: rationale-quality
raters: 2
batch: {{size: {size}, per_participant: 1}}
order: {{items: random, seed: {seed}}}
attention: {{per_batch: 1, threshold: 0}}
"""


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
    key = pl.format("{}/{}/{}/{}", pl.lit(seed), "item", "question", "source")
    status = pl.col("status").cast(pl.String).str.replace("_", " ")
    items = drawn.select(
        *("rationale", "source"),
        item=key.map_elements(lambda text: f"r-{blake2b(text.encode(), digest_size=6).hexdigest()}", pl.String),
        post="text",
        asked=pl.col("question").replace(titles),
        rating=pl.col("value").map_elements(lambda value: f"{value:g}", pl.String).fill_null(status),
        reddit_id="item",
        appraisal="question",
    )
    about = About(name="rationale-evaluation", title="Reasons to be judged", language=corpus.about.language)
    # The order of the ids says nothing about who wrote them either.
    return Corpus.of_items(items.sort("item"), Instrument.load(INSTRUMENT), about)


def leave(corpus: Corpus, instrument: Instrument, each: int, folder: Path | None, seed: int = 0) -> str:
    """Writes the corpus and the study file; gives the sentence that says how to serve them."""
    if folder is None:
        raise InputError("the study of reasons needs a folder", remedy="pass --to FOLDER")
    place = folder / FOLDER
    items = reasons_to_judge(corpus, instrument, each, seed)
    if not (place / "study.yaml").exists():
        items.write(place / "corpus")
        (place / "study.yaml").write_text(STUDY.format(size=min(20, len(items.items)), seed=seed), "utf-8")
    return (
        f"{len(items.items):,} reasons of {items.items['source'].n_unique()} sources are ready to be judged: serve "
        f"them with vantage collect serve {place / 'study.yaml'}, export, and run this study again with --judged."
    )


def taken_back(corpus: Corpus, judged: str) -> Corpus:
    """The corpus with people's judgments of the reasons."""
    theirs = Corpus.read(judged).included()
    if "source" not in theirs.items.columns or not theirs.judgments["value"].count():
        raise InputError(
            "the corpus has no judgments of reasons with their source",
            file=judged,
            remedy="name the corpus that was exported from evaluation/study.yaml",
        )
    return corpus.merge(theirs)
