"""The models that judge: in every style, several times, without and with context, examples from outside the sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.corpora import Corpus
from vantage.corpora.schema import KEY
from vantage.instruments import Instrument
from vantage.raters.shots import corpus_shots
from vantage.raters.style import Style
from vantage.studies.context.options import ContextOptions
from vantage.studies.context.pipeline.controls import CONTEXT, STATIC, with_context
from vantage.studies.context.tasks import listed
from vantage.studies.execution import Context

EXAMPLES: Final = 24
"""Items that examples are drawn from: twice as many as the longest prompt shows, and some to spare."""
EXAMPLE_RATER: Final = "label"


def example_corpus(
    items: pl.DataFrame,
    labels: pl.DataFrame,
    instrument: Instrument,
    sample: pl.DataFrame,
    *,
    count: int = EXAMPLES,
    seed: int = 0,
) -> Corpus:
    """Items with their labels to draw few-shot examples from, as many of every label; never one of the sample.

    Neither is one with the text of a sampled item, whatever its id.

    >>> sarcasm = Instrument.load("sarcasm")
    >>> pool = pl.DataFrame({"item": ["a", "b", "c"], "text": ["Fine.", "fine. ", "Great."]})
    >>> labels = pl.DataFrame({"item": ["a", "b", "c"], "value": [0.0, 0.0, 1.0]})
    >>> example_corpus(pool, labels, sarcasm, pool.head(1)).items["item"].to_list()
    ['c']

    Args:
        items: All items, with the column `text`.
        labels: The labels, as codes: `item` and `value`.
        instrument: The task.
        sample: The items that are judged.
        count: How many there are at most.
        seed: The seed of the draw.
    """
    key = pl.col("text").str.to_lowercase().str.replace_all(r"\s+", " ").str.strip_chars()
    told = labels.select("item", "value").drop_nulls()
    pool = items.filter(pl.col("text").is_not_null()).join(told, on="item").with_columns(key.alias("__key"))
    taken = sample.select(key.alias("__key"), "item")
    pool = pool.join(taken, on="item", how="anti").join(taken, on="__key", how="anti")
    pool = pool.unique("__key", keep="first", maintain_order=True)
    order = np.random.default_rng(seed).permutation(len(pool))
    drawn = pool[order].with_columns(pl.int_range(pl.len()).over("value").alias("__turn"))
    drawn = drawn.sort("__turn", "value").head(count)
    judged = drawn.select(
        "item", pl.lit(instrument.questions[0].id).alias("question"), pl.lit(EXAMPLE_RATER).alias("rater"), "value"
    )
    raters = pl.DataFrame({"rater": [EXAMPLE_RATER], "kind": ["slot"]})
    return Corpus(drawn.drop("value", "__key", "__turn"), raters, judged, instrument)


def ask_models(
    context: Context[ContextOptions],
    corpus: Corpus,
    instrument: Instrument,
    conditions: Sequence[str],
    examples: Mapping[str, Corpus],
) -> Corpus:
    """The corpus with the judgments of every model of a study, in every style and under every condition.

    Under a condition with context, only the items that have one are judged. A style with examples is left out, with a
    warning, under a condition for which there are not enough of them. Under the controls of context, models are asked
    without examples only. A style that gives the whole distribution is asked once.

    Args:
        context: The study, with its models and options.
        corpus: The sample, with contexts as `pipeline.controls.attached` puts them there.
        instrument: The task, with a condition for each kind of context.
        conditions: What is asked.
        examples: What few-shot examples are drawn from under each condition (see `example_corpus`).
    """
    options, questions = context.options, instrument.questions[:1]
    pools = {name: corpus_shots(part, questions) for name, part in examples.items()}
    for style in map(Style.parse, listed(options.styles)):
        how: dict[str, Any] = (
            {} if style.distribution else {"samples": options.runs, "temperature": options.temperature}
        )
        for condition in conditions:
            if style.shots:
                if condition not in (STATIC, CONTEXT):
                    continue
                there = len(pools.get(condition, ()))
                if there < style.shots:
                    context.warn(
                        f"{style.name} was left out under the condition {condition} of {instrument.id}: there are "
                        f"{there} worked examples for it outside the sample."
                    )
                    continue
                how["training"] = examples[condition]
            part = corpus if condition == STATIC else with_context(corpus, condition, instrument)
            if part.items.is_empty():
                continue
            raters = context.raters(style.name, **how)
            rated = context.rate(part, raters, instrument, questions=[questions[0].id], condition=condition)
            new = rated.judgments.join(part.judgments, on=list(KEY), how="anti")
            if len(new):
                fresh = rated.raters.join(corpus.raters, on="rater", how="anti")
                corpus = corpus.add(new, fresh if len(fresh) else None, [instrument])
            context.reached = corpus
    return corpus
