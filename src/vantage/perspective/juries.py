"""Juries of a chosen composition: what they would decide, over all that could be seated so (Gordon et al. 2022)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from vantage.corpora import Corpus
from vantage.errors import InputError, nearest


def jury(
    predictions: pl.DataFrame,
    corpus: Corpus,
    trait: str,
    seats: Mapping[str, int],
    *,
    juries: int = 1000,
    seed: int = 0,
) -> pl.DataFrame:
    """The verdicts of juries with so many seats for each value of a trait, text by text.

    Each jury seats users at random, without seating anyone twice, among those for whom there is a prediction on the
    text, and decides by majority; a tie is no verdict. One row per text: the `verdict` of most juries (null where
    most are tied), the `share` of juries that reach it, the share that are `tied`, the mean `vote` with the central
    95 % of juries, and `reason` where a text has too few users to fill the seats.

    Args:
        predictions: One row per pair: `item`, `rater`, `value`; people's own judgments can be given as well.
        corpus: Where the users' traits stand.
        trait: Which trait the seats are given by.
        seats: How many seats each value has, such as `{"target": 3, "control": 3}`.
        juries: How many are drawn.
        seed: Of the draws.
    """
    if trait not in corpus.traits:
        raise InputError(f"the raters have no trait '{trait}'", remedy=nearest(trait, corpus.traits))
    known = corpus.raters[trait].drop_nulls().cast(pl.String).unique().to_list()
    for value, wanted in seats.items():
        if value not in known:
            raise InputError(f"nobody has the {trait} '{value}'", remedy=nearest(value, known))
        if wanted < 0:
            raise InputError(f"{wanted} seats cannot be filled", remedy="use 0 or more")
    if sum(seats.values()) < 1:
        raise InputError("the jury has no seats", remedy="give at least one value a seat")
    if predictions.select("item", "rater").is_duplicated().any():
        raise InputError("a user has several answers to one text", remedy="keep one question, condition and sample")
    users = corpus.raters.select("rater", pl.col(trait).cast(pl.String).alias("group"))
    frame = predictions.drop_nulls("value").join(users, on="rater").sort("item", "group", "rater")
    rng = np.random.default_rng(seed)
    rows = []
    for (item,), part in frame.group_by("item", maintain_order=True):
        votes = {value: part.filter(pl.col("group") == value)["value"].to_numpy() for value in seats}
        short = [value for value, wanted in seats.items() if len(votes[value]) < wanted]
        if short:
            rows.append({"item": item, "reason": f"too few users with {trait} {', '.join(short)}"})
            continue
        drawn = np.concatenate(
            [
                rng.permuted(np.tile(votes[value], (juries, 1)), axis=1)[:, :wanted]
                for value, wanted in seats.items()
                if wanted
            ],
            axis=1,
        )
        rows.append({"item": item, **_verdict(drawn)})
    schema = {"item": pl.String, **dict.fromkeys(("verdict", "share", "tied", "vote", "low", "high"), pl.Float64)}
    return pl.DataFrame(rows, schema={**schema, "reason": pl.String})


def _verdict(drawn: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> dict[str, Any]:
    codes = np.unique(drawn)
    counts = np.stack([(drawn == code).sum(axis=1) for code in codes])
    most = counts.max(axis=0)
    tied = (counts == most).sum(axis=0) > 1
    verdicts = codes[counts.argmax(axis=0)][~tied]
    labels, times = np.unique(verdicts, return_counts=True)
    mean = drawn.mean(axis=1)
    row: dict[str, Any] = {"tied": float(tied.mean()), "vote": float(mean.mean())}
    row |= {"low": float(np.quantile(mean, 0.025)), "high": float(np.quantile(mean, 0.975))}
    if len(labels) and times.max() > tied.sum():
        row |= {"verdict": float(labels[times.argmax()]), "share": float(times.max() / len(drawn))}
    return row
