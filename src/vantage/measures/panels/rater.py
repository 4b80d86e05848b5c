"""A panel as a rater of its own: its answers join the corpus."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import polars as pl

from vantage.corpora import Corpus
from vantage.errors import InputError, nearest
from vantage.measures.aggregation.labels import aggregate

Answer: TypeAlias = Literal["each", "majority", "median"]


def with_panel(corpus: Corpus, raters: Sequence[str], *, name: str = "panel", answer: Answer = "each") -> Corpus:
    """The corpus with one more rater, of kind `aggregate`: the panel of some of its raters.

    With `each`, the members' answers are samples of the panel, so that it has a distribution of answers to each item;
    `majority` and `median` make one answer of them (a tie has none; a median between two codes is rounded up). Items
    that not all members answered are left out.

    >>> from vantage.corpora.bundled import planted_corpus
    >>> corpus = with_panel(planted_corpus(), ["model-a", "model-b"], answer="median")
    >>> corpus.raters.filter(rater="panel").select("rater", "kind").row(0)
    ('panel', 'aggregate')
    """
    known = corpus.raters["rater"].to_list()
    for member in raters:
        if member not in known:
            raise InputError(f"there is no rater '{member}'", remedy=nearest(member, known))
    if len(set(raters)) < 2:
        raise InputError("a panel has at least two members", remedy="name two raters or more")
    if name in known:
        raise InputError(f"there is a rater '{name}' already", remedy="give the panel another name")
    unit = ["item", "question", "condition"]
    members = corpus.judgments.filter(pl.col("rater").is_in(list(raters)), pl.col("value").is_not_null())
    complete = members.group_by(unit).agg(pl.col("rater").n_unique().alias("n")).filter(pl.col("n") == len(set(raters)))
    members = members.join(complete, on=unit, how="semi").sort(*unit, "rater", "sample")
    if members.is_empty():
        raise InputError(f"no item was answered by all of {', '.join(raters)}", remedy="leave one of them out")
    if answer == "each":
        votes = members.with_columns(pl.int_range(pl.len()).over(unit).cast(pl.Int32).alias("sample"))
    else:
        part = Corpus(corpus.items, corpus.raters, members, corpus.instruments)
        made = [
            aggregate(
                part.filter(question=question.id),
                method=answer,
                rounding="none" if answer == "majority" or question.scale.range else "half_up",
                kinds="all",
            )
            for question in part.questions
            if question.id in set(members["question"])
        ]
        votes = pl.concat(made).drop_nulls("value").with_columns(pl.lit(0, dtype=pl.Int32).alias("sample"))
    rows = votes.select(*unit, "sample", "value").with_columns(pl.lit(name).alias("rater"))
    panel = pl.DataFrame({"rater": [name], "kind": ["aggregate"], "members": [" + ".join(sorted(set(raters)))]})
    return corpus.add(rows, panel)
