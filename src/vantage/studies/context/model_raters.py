"""The models that judge: in every style, several times, without and with context, examples from outside the sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.corpora import Corpus
from vantage.corpora.schema import KEY
from vantage.instruments import Instrument
from vantage.raters.chat import ChatRater
from vantage.raters.shots import corpus_shots
from vantage.raters.style import Style
from vantage.studies.context.pipeline.controls import CONTEXT, STATIC, with_context
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
    context: Context[Any],
    corpus: Corpus,
    instrument: Instrument,
    *,
    conditions: Sequence[str],
    styles: Sequence[str],
    runs: int,
    temperature: float = 0.2,
    examples: Mapping[str, Corpus] | None = None,
) -> Corpus:
    """The corpus with the judgments of every model of a study, in every style and under every condition.

    Under a condition with context, only the items that have one are judged. A style with examples is left out, with a
    warning, under a condition for which there are not enough of them. Under the controls of context, models are asked
    without examples only.

    Args:
        context: The study, with its models.
        corpus: The sample, with contexts as `pipeline.controls.attached` puts them there.
        instrument: The task, with a condition for each kind of context.
        conditions: What is asked.
        styles: How it is asked.
        runs: How often; a style that gives the whole distribution is asked once.
        temperature: Of the models.
        examples: What few-shot examples are drawn from under each condition (see `example_corpus`).
    """
    pools = {name: corpus_shots(part, instrument.questions[:1]) for name, part in (examples or {}).items()}
    for style in map(Style.parse, styles):
        how: dict[str, Any] = {} if style.distribution else {"samples": runs, "temperature": temperature}
        for condition in conditions:
            if style.shots:
                there = len(pools.get(condition, ()))
                if condition in (STATIC, CONTEXT) and there < style.shots:
                    context.warn(
                        f"{style.name} was left out under the condition {condition} of {instrument.id}: there are "
                        f"{there} worked examples for it outside the sample."
                    )
                if condition not in (STATIC, CONTEXT) or there < style.shots:
                    continue
                how["training"] = (examples or {})[condition]
            corpus = _asked(context, corpus, context.raters(style.name, **how), instrument, condition)
    return corpus


def _asked(
    context: Context[Any],
    corpus: Corpus,
    raters: Sequence[ChatRater],
    instrument: Instrument,
    condition: str,
) -> Corpus:
    """The corpus with what the raters say under one condition about the items that can be shown under it."""
    part = corpus if condition == STATIC else with_context(corpus, condition, instrument)
    if part.items.is_empty():
        return corpus
    rated = context.rate(part, raters, instrument, questions=[instrument.questions[0].id], condition=condition)
    new = rated.judgments.join(part.judgments, on=list(KEY), how="anti")
    if len(new):
        fresh = rated.raters.join(corpus.raters, on="rater", how="anti")
        corpus = corpus.add(new, fresh if len(fresh) else None, [instrument])
    context.reached = corpus
    return corpus
