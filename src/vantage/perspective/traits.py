"""What traits do to predictions: votes over traits, their ablation, changed labels and alignment with people.

A model that is told one trait of a user at a time gives one table of predictions per trait, each with a row per
⟨text, user⟩ pair: `item`, `rater`, `value`. These tables, by the names of their traits, are what this module looks
at.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any, Final, Literal, TypeAlias, get_args

import numpy as np
import polars as pl

from vantage.corpora import Corpus
from vantage.errors import InputError
from vantage.measures import distance
from vantage.perspective.evaluation import evaluate
from vantage.perspective.splits import Split, known_trait, known_word, people_pairs

Ties: TypeAlias = Literal["first", "lowest", "random"]
ByTrait: TypeAlias = Mapping[str, pl.DataFrame]
PAIR: Final = ["item", "rater"]


def vote(predictions: ByTrait, *, ties: Ties = "first", seed: int = 42) -> pl.DataFrame:
    """One prediction per pair: the label that most traits lead to; `tied` says where the rule for ties decided.

    A prediction that could not be read does not vote. Ties go to the trait named `first`, to the `lowest` code, or
    are drawn at `random`. With two traits every disagreement is a tie, so the rule is part of the result.

    >>> age = pl.DataFrame({"item": ["a"], "rater": ["x"], "value": [1.0]})
    >>> vote({"age": age, "sex": age.with_columns(value=0.0)}).row(0)
    ('a', 'x', 1.0, True)
    """
    known_word("ties", ties, get_args(Ties))
    if not predictions:
        raise InputError("no trait has predictions", remedy="pass one table per trait")
    every = pl.concat(
        [
            frame.select(*PAIR, pl.col("value").cast(pl.Float64)).with_columns(pl.lit(n).alias("place"))
            for n, frame in enumerate(predictions.values())
        ]
    )
    counted = (
        every.drop_nulls("value")
        .group_by([*PAIR, "value"])
        .agg(pl.len().alias("votes"), pl.col("place").min())
        .filter(pl.col("votes") == pl.col("votes").max().over(PAIR))
        .sort(*PAIR, "value")
    )
    order = {"first": "place", "lowest": "value", "random": "lot"}[ties]
    lots = np.random.default_rng(seed).random(len(counted))
    chosen = (
        counted.with_columns(pl.Series("lot", lots))
        .group_by(PAIR)
        .agg(pl.col("value").sort_by(order).first(), (pl.len() > 1).alias("tied"))
    )
    pairs = every.select(PAIR).unique()
    return pairs.join(chosen, on=PAIR, how="left").with_columns(pl.col("tied").fill_null(False)).sort(PAIR)


def ablation(
    predictions: ByTrait,
    people: Split | Corpus,
    *,
    question: str | None = None,
    ties: Ties = "first",
    resamples: int = 0,
    seed: int = 42,
) -> pl.DataFrame:
    """Global scores of the vote over every combination of traits, from single traits to all of them.

    `tied` is the share of pairs that the rule for ties decided.
    """
    names = list(predictions)
    rows: list[dict[str, Any]] = []
    for size in range(1, len(names) + 1):
        for chosen in combinations(names, size):
            votes = vote({name: predictions[name] for name in chosen}, ties=ties, seed=seed)
            evaluation = evaluate(
                votes, people, question=question, traits=(), missing="wrong", resamples=resamples, seed=seed
            )
            overall = evaluation.summary.filter(pl.col("level") == "global")
            share = float(votes["tied"].mean())  # type: ignore[arg-type]
            key = {"traits": " + ".join(chosen), "size": size, "ties": ties, "tied": share}
            rows += [
                {**key, **row}
                for row in overall.select("class", "precision", "recall", "f1", "low", "high", "support").iter_rows(
                    named=True
                )
            ]
    return pl.DataFrame(rows, schema_overrides={"low": pl.Float64, "high": pl.Float64})


def label_change(predictions: pl.DataFrame, corpus: Corpus, trait: str, question: str) -> pl.DataFrame:
    """How often the label of a text changes with a trait: in the predictions, and among the people themselves.

    `rater` of the predictions is a user or, where each text was put with every value of the trait, a value. Only texts
    whose users have two or more values of the trait count. `between` is the chance that two users with
    different values get different labels, averaged over texts. `texts` is the share of texts on which not all labels
    are equal, and `annotations` the number of such texts over the number of annotations, as the PersEval paper counts:
    it cannot exceed texts/annotations, so it cannot be compared between corpora.
    """
    known_trait(corpus, trait)
    users = corpus.raters.select("rater", pl.col(trait).cast(pl.String).alias("group")).drop_nulls()
    swapped = bool(predictions["rater"].is_in(users["group"].unique().implode()).all())
    labels, shared = predictions.select(*PAIR, "value"), "item" if swapped else PAIR
    gold = people_pairs(corpus, question).select(*PAIR, "value").join(labels, on=shared, how="semi")
    model = labels.with_columns(group="rater") if swapped else labels.join(users, on="rater")
    rows = []
    for who, frame in (("model", model), ("people", gold.join(users, on="rater"))):
        joined = frame.drop_nulls("value")
        kept = joined.filter(pl.col("group").n_unique().over("item") > 1)
        texts = kept.group_by("item").agg((pl.col("value").n_unique() > 1).alias("changed"))
        cells = kept.group_by("item", "group", "value").len()
        pairs = (
            cells.join(cells, on="item", suffix="_other")
            .filter(pl.col("group") < pl.col("group_other"))
            .with_columns((pl.col("len") * pl.col("len_other")).alias("n"))
            .group_by("item")
            .agg(
                pl.col("n").filter(pl.col("value") != pl.col("value_other")).sum().alias("different"),
                pl.col("n").sum().alias("all"),
            )
        )
        rows.append(
            {
                "who": who,
                "trait": trait,
                "between": (pairs["different"] / pairs["all"]).mean(),
                "texts": texts["changed"].mean(),
                "annotations": int(texts["changed"].sum()) / len(kept) if len(kept) else None,
                "compared_texts": len(texts),
                "compared_annotations": len(kept),
            }
        )
    floats = dict.fromkeys(("between", "texts", "annotations"), pl.Float64)
    return pl.DataFrame(rows, schema_overrides=floats)


def alignment(predictions: pl.DataFrame, corpus: Corpus, trait: str, question: str) -> pl.DataFrame:
    """How far predicted labels lie from those of the people they stand for, text by text, for each value of a trait.

    Jensen–Shannon over the users of a value who judged a text, averaged over texts that users with two or more values
    judged: the divergence in bits and nats, and its square root in nats, which the PersEval paper prints. *Lower* is
    closer. Where most texts have one user per value, they tell no more than the error rate beside them. A prediction
    that could not be read counts as a label of its own.
    """
    known_trait(corpus, trait)
    users = corpus.raters.select("rater", pl.col(trait).cast(pl.String).alias("value_of")).drop_nulls()
    gold = people_pairs(corpus, question).select(*PAIR, pl.col("value").alias("gold"))
    label = pl.col("value").cast(pl.Float64).fill_null(np.finfo(np.float64).max)
    predicted = predictions.select(*PAIR, label.alias("told"))
    frame = gold.join(predicted, on=PAIR).join(users, on="rater")
    frame = frame.filter(pl.col("value_of").n_unique().over("item") > 1)
    if frame.is_empty():
        raise InputError(f"no text was judged by users with two values of {trait}", remedy="choose another trait")
    cell = ["value_of", "item"]
    sides = [frame.select(*cell, "rater", value=side, side=pl.lit(side)) for side in ("gold", "told")]
    texts = distance(pl.concat(sides), between="side", match=cell, per="item", ci="none")
    errors = frame.group_by("value_of").agg(
        (pl.col("gold") != pl.col("told")).mean().alias("error_rate"),
        pl.col("rater").n_unique().alias("users"),
        (pl.len() / pl.col("item").n_unique()).alias("users_per_text"),
    )
    return (
        texts.group_by("value_of")
        .agg(
            (pl.col("estimate") / np.log(2)).mean().alias("divergence_bits"),
            pl.col("estimate").mean().alias("divergence_nats"),
            pl.col("estimate").sqrt().mean().alias("distance_nats"),
            pl.len().alias("texts"),
        )
        .join(errors, on="value_of")
        .rename({"value_of": "value"})
        .with_columns(pl.lit(trait).alias("trait"))
        .select("trait", pl.exclude("trait"))
        .sort("value")
    )
