"""What a model does with a trait that it is told, beside what people do who have it."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.corpora import Corpus
from vantage.measures import Bounds, Floats, Ints, student
from vantage.perspective.losses import Measured, concluded
from vantage.perspective.splits import known_trait, people_pairs, the_question

PAIR: Final = ["item", "rater"]
POWER: Final = 0.8
"""The chance with which the least difference that is given would have been seen."""


def passport(
    predictions: pl.DataFrame,
    corpus: Corpus,
    trait: str,
    question: str | None = None,
    *,
    confidence: float = 0.95,
    fewest: int = 2,
) -> pl.DataFrame:
    """What a model does with a trait, beside what people with its values do: a stereotype passport.

    `predictions` has `item`, `rater` and `value`; `rater` is a user, who was described by their own traits, or a value
    of the trait, where each text was put with every value. For each two values: the mean difference of people's answers
    to the texts that both judged (`people`), that of the model (`model`), and their distance (`excess`, positive where
    the model sets the groups further apart). Intervals are for other texts and people. `least` is the smallest excess
    that would have been seen four times in five. `ratio` is model / people with Fieller's interval (1954), null where
    people's own difference cannot be told from zero; the `verdict` rests on the excess. Of less than the `fewest` texts
    there is neither interval nor verdict.
    """
    known_trait(corpus, trait)
    asked = the_question(corpus, question)
    group = pl.col(trait).cast(pl.String).alias("group")
    users = corpus.raters.select("rater", group).drop_nulls()
    people = people_pairs(corpus, asked).select(*PAIR, "value").join(users, on="rater")
    given = predictions.select(*PAIR, pl.col("value").cast(pl.Float64)).drop_nulls()
    values = users["group"].unique().sort().to_list()
    swapped = bool(given["rater"].is_in(values).all())
    model = given.with_columns(group="rater") if swapped else given.join(people.drop("value"), on=PAIR)
    if not swapped:
        people = people.join(given, on=PAIR, how="semi")
    rows = []
    for first, second in combinations(values, 2):
        row: dict[str, Any] = {"trait": trait, "first": first, "second": second, "swapped": swapped}
        texts = _judged(people, first, second).join(_judged(model, first, second), on="item", how="inner").sort("item")
        row["texts"] = len(texts)
        if len(texts) < 2:
            rows.append({**row, "reason": "fewer than two texts were judged by users of both values"})
            continue
        of_people, of_model = (_difference(frame, texts, first, second) for frame in (people, model))
        if swapped:
            # Nobody is sampled for the model: only texts can be others.
            nothing = np.zeros(len(of_people.effect))
            of_model = Measured(of_model.value, nothing, of_people.item, of_people.user)
        row |= _compared(of_people, of_model, confidence)
        if len(texts) < fewest:
            row |= {name: None for name in row if name == "ratio" or name.endswith(("low", "high"))}
            row |= {"verdict": None, "reason": f"fewer than {fewest} texts were judged by users of both values"}
        rows.append(row)
    ends = [f"{name}{end}" for name in ("people", "model", "excess") for end in ("", "_low", "_high")]
    numbers = dict.fromkeys((*ends, "ratio", "low", "high", "p", "least"), pl.Float64())
    names: dict[str, Any] = dict.fromkeys(("trait", "first", "second"), pl.String())
    key = {**names, "swapped": pl.Boolean(), "texts": pl.Int64()}
    return pl.DataFrame(rows, schema={**key, **numbers, "verdict": pl.String(), "reason": pl.String()})


def _judged(frame: pl.DataFrame, first: str, second: str) -> pl.DataFrame:
    """The texts that both groups judged."""
    both = frame.filter(pl.col("group").is_in([first, second])).group_by("item").agg(pl.col("group").n_unique())
    return both.filter(pl.col("group") == 2).select("item")


def _difference(frame: pl.DataFrame, texts: pl.DataFrame, first: str, second: str) -> Measured:
    """The difference of the two groups on each text, and how much each answer moves it."""
    index = texts.with_row_index("text")
    rows = frame.filter(pl.col("group").is_in([first, second])).join(index, on="item").sort("text", "rater")
    text, value = rows["text"].to_numpy().astype(np.int64), rows["value"].to_numpy()
    second_ = (rows["group"] == second).to_numpy().astype(np.int64)
    cell = text * 2 + second_
    n = np.bincount(cell, minlength=2 * len(texts))
    mean = np.bincount(cell, value, 2 * len(texts)) / n
    apart: Floats = mean[::2] - mean[1::2]
    effect = (value - mean[cell]) / np.maximum(n[cell] - 1, 1) * (1 - 2 * second_)
    alone = n[cell] < 2
    effect[alone] = (apart[text] - apart.mean())[alone]
    user: Ints = rows["rater"].rank("dense").to_numpy().astype(np.int64) - 1
    return Measured(apart, effect, text, user)


def _compared(people: Measured, model: Measured, confidence: float) -> dict[str, Any]:
    """Both differences, how far they are apart in the direction of people's, and the verdict."""
    sign = -1.0 if people.estimate < 0 else 1.0
    excess = model.minus(people)
    excess = replace(excess, value=sign * excess.value, effect=sign * excess.effect)
    parts = {"people": people, "model": model, "excess": excess}
    reached = {name: concluded([part], confidence) for name, part in parts.items()}
    row: dict[str, Any] = {}
    for name, one in reached.items():
        row |= {name: one["estimate"], f"{name}_low": one["low"], f"{name}_high": one["high"]}
    row["p"] = reached["excess"]["p"]
    spread = excess.spread
    if spread is not None:
        reach = student(spread.freedom, confidence) + student(spread.freedom, 2 * POWER - 1)
        row["least"] = reach * spread.variance**0.5
    low, high = _fieller(people, model, excess, confidence)
    if low is None:
        row["reason"] = "people's own difference cannot be told from zero"
    else:
        row |= {"ratio": model.estimate / people.estimate, "low": low, "high": high}
    return row | {"verdict": _verdict_on(row, sign)}


def _verdict_on(row: dict[str, Any], sign: float) -> str:
    """What the intervals allow to say."""
    low, high = row["excess_low"], row["excess_high"]
    ends = [end for end in (row["model_low"], row["model_high"]) if end is not None]
    if low is None or len(ends) < 2:
        return "too few texts to tell"
    still = min(ends) <= 0 <= max(ends)
    wrong_way = not still and row["model"] * sign < 0
    if wrong_way:
        return "moves against people's direction"
    if low > 0:
        return "sets the groups further apart than people are"
    if high < 0:
        return "does not move with the trait" if still else "moves in people's direction, less than people do"
    return "cannot be told apart from people"


def _fieller(people: Measured, model: Measured, excess: Measured, confidence: float) -> Bounds:
    """The interval of model / people (Fieller 1954); null where people's difference may be zero."""
    spreads = [spread for part in (people, model, excess) if (spread := part.spread) is not None]
    if len(spreads) < 3:
        return None, None
    of_people, of_model, of_both = (spread.variance for spread in spreads)
    reach = student(min(spread.freedom for spread in spreads), confidence) ** 2
    together = (of_people + of_model - of_both) / 2
    p, m = people.estimate, model.estimate
    square, line, rest = p * p - reach * of_people, m * p - reach * together, m * m - reach * of_model
    root = line * line - square * rest
    if square <= 0 or root < 0:
        return None, None
    return (line - root**0.5) / square, (line + root**0.5) / square
