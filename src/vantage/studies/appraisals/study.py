"""The study: read the release, ask models, leave reasons for people to judge, and run the recipe.

Questions are read as they were asked, and recorded answers go through our own parser.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.corpora import About, Corpus
from vantage.corpora.readers import load
from vantage.errors import InputError
from vantage.instruments import Instrument
from vantage.runs.reparse import reparse
from vantage.studies.appraisals import emotions, experts, models, reasons
from vantage.studies.appraisals.analysis import HUMAN, INSTRUMENT, Appraised, likeness_of
from vantage.studies.base import paper_prompts
from vantage.studies.execution import Context, blinded, leave, taken_back
from vantage.studies.recipes import recipe_study

STYLES: Final = {"one": "zero-shot", "two": "two-step"}
QUALITY: Final = "rationale-quality"
"""What is asked about reasons."""
SERVED: Final = "--study flow:reason-check"
_ANCHOR: Final = re.compile(r'(\d) being "([^"]+)"')
_STEM: Final = re.compile(r"\s*Rate on a scale from.*$", re.DOTALL)


def collect(context: Context[Any]) -> Corpus:
    """The release with its recorded answers, and the answers of models that are asked now."""
    options = context.options
    assert context.data is not None  # noqa: S101 - the study needs data
    likeness_of(options)  # an encoder that is not known should end the run before models are asked, not after
    corpus = read_release(context.data)
    instrument = next(one for one in corpus.instruments if one.id == INSTRUMENT)
    rated = set(corpus.filter(question=[question.id for question in instrument.questions]).judgments["item"])
    asked = [item for item in corpus.items["item"] if item in rated][: options.posts or None]
    styles = paper_prompts("appraisals")["styles"] if options.prompt == "paper" else STYLES
    for style in (styles[step] for step in STYLES if context.models and options.steps in (step, "both")):
        raters = context.raters(
            style, samples=options.runs, temperature=options.temperature, max_tokens=options.max_tokens
        )
        corpus = context.rate(corpus, raters, instrument, items=asked)
    if options.evaluate and not context.plans:
        waiting = reasons_to_judge(corpus, instrument, options.evaluate, context.seed)
        leave(context, "evaluation", waiting, "reasons", SERVED, "run this study again with --judged")
    return corpus.merge(taken_back(options.judged, "source", SERVED)) if options.judged else corpus


def read_release(path: Path) -> Corpus:
    """People's ratings, the recorded answers of models as our parser reads them, and the evaluation of rationales.

    A corpus folder is taken as it is.
    """
    if (path / "corpus.yaml").is_file():
        corpus = Corpus.read(path)
        if not {q.id for q in Instrument.load(INSTRUMENT).questions} & {q.id for q in corpus.questions}:
            raise InputError("the corpus has no judgments of appraisals", file=path, remedy="name one that has")
        return corpus
    corpus = load("appraisals", path)
    instrument = asked(path)
    corpus = Corpus(corpus.items, corpus.raters, corpus.judgments, instrument, corpus.about)
    if "reply" in corpus.judgments.columns:
        corpus = reparse(corpus).corpus
    if any(path.glob("*_models.csv")) or any(path.glob("*/*_models.csv")):
        corpus = corpus.merge(load("rationale-evaluation", path))
    return corpus


def asked(path: Path) -> Instrument:
    """The instrument in the wording of the release, where that is there; else as bundled.

    Only so can answers be read that repeat the words at the ends of a scale.
    """
    bundled = Instrument.load(INSTRUMENT)
    # A search through all levels passes over folders that are links.
    files = sorted({*path.rglob("prompt_scale.txt"), *path.glob("*/prompt_scale.txt")})
    if not files:
        return bundled
    prompts = files[0].read_text("utf-8-sig").strip().split("\n")
    if len(prompts) != len(bundled.questions):
        problem = f"there are {len(prompts)} prompts for {len(bundled.questions)} questions"
        raise InputError(problem, file=files[0], remedy="one line per question")
    document: dict[str, Any] = {**bundled.document}
    # Braces would be read as places to be filled.
    stems = [_STEM.sub("", prompt).replace("{", "(").replace("}", ")").strip() for prompt in prompts]
    document["questions"] = [
        {**question, "ask": stem, "anchors": {int(code): label for code, label in _ANCHOR.findall(prompt)}}
        for question, stem, prompt in zip(document["questions"], stems, prompts, strict=True)
    ]
    return Instrument.from_document(document, str(files[0]))


def reasons_to_judge(corpus: Corpus, instrument: Instrument, each: int, seed: int = 0) -> Corpus:
    """Reasons of every source about the same posts and questions, under ids that do not tell who wrote them.

    Of each post and question everyone who gave a reason is drawn, so that sources are compared on the same ones; of
    several runs or annotators one is drawn. `source` stays in the items and is no field of the instrument.
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
    return blinded(rows, QUALITY, about, seed, ["item", "appraisal", "source"])


STUDY: Final = recipe_study(
    "appraisals", __package__, collect, experts, emotions, models, reasons, prepare=Appraised.of
)
