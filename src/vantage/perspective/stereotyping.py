"""Whether a model stereotypes: the differences it makes between groups beside those that people have."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from vantage.corpora import Corpus
from vantage.measures.intervals import Bounds, blocks, percentile, weights
from vantage.measures.multiplicity import Flags, permutation_p
from vantage.measures.ratings import Floats, Ints
from vantage.perspective.splits import people_pairs, the_question
from vantage.perspective.traits import PAIR, known_trait


def exaggeration(
    predictions: pl.DataFrame,
    corpus: Corpus,
    trait: str,
    question: str | None = None,
    *,
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """Whether a model exaggerates the differences between groups: its difference beside people's, for each two values.

    The mean code of the users of one value minus that of the other, text by text where both judged it, averaged over
    texts; the same for predictions. `ratio` above 1 means that the model sees the groups further apart than they are,
    below 0 that it sees them the wrong way round. Intervals resample texts; a ratio whose denominator cannot be told
    from zero is null, with a reason. `excess` is how far the model's difference lies from people's, positive where it
    is the larger of the two; unlike the ratio it is there for every two groups, so it is what to test.
    """
    known_trait(corpus, trait)
    asked = the_question(corpus, question)
    users = corpus.raters.select("rater", pl.col(trait).cast(pl.String).alias("group")).drop_nulls()
    gold = people_pairs(corpus, asked).select(*PAIR, pl.col("value").alias("gold"))
    frame = gold.join(predictions.select(*PAIR, pl.col("value").alias("told")), on=PAIR).drop_nulls("told")
    means = frame.join(users, on="rater").group_by("item", "group").agg(pl.col("gold", "told").mean())
    rows = []
    for first, second in combinations(means["group"].unique().sort().to_list(), 2):
        both = (
            means.filter(pl.col("group") == first).join(means.filter(pl.col("group") == second), on="item").sort("item")
        )
        key = {"trait": trait, "first": first, "second": second, "texts": len(both)}
        if len(both) < 2:
            rows.append({**key, "reason": "fewer than two texts were judged by users of both values"})
            continue
        differences = both.select(
            (pl.col("gold") - pl.col("gold_right")).alias("people"),
            (pl.col("told") - pl.col("told_right")).alias("model"),
        ).to_numpy()
        drawn = [block @ differences / len(both) for block in weights(len(both), resamples, seed)]
        replicates = np.concatenate(drawn)
        people, model = differences.mean(axis=0)
        row = {**key, "people": float(people), "model": float(model)}
        bounds = percentile(replicates[:, 0], confidence, len(both))
        row |= {"people_low": bounds[0], "people_high": bounds[1]}
        bounds = percentile(replicates[:, 1], confidence, len(both))
        row |= {"model_low": bounds[0], "model_high": bounds[1]}
        away = percentile(replicates[:, 1] - replicates[:, 0], confidence, len(both))
        row |= _excess(float(people), float(model), away)
        rows.append({**row, **_ratio(people, model, replicates, confidence, len(both))})
    ends = ("people", "people_low", "people_high", "model", "model_low", "model_high", "ratio", "low", "high")
    columns = (*ends, "excess", "excess_low", "excess_high")
    schema = {"trait": pl.String, "first": pl.String, "second": pl.String, "texts": pl.Int64}
    return pl.DataFrame(rows, schema={**schema, **dict.fromkeys(columns, pl.Float64), "reason": pl.String})


def explained(
    corpus: Corpus, question: str | None = None, *, folds: int = 10, permutations: int = 1999, seed: int = 0
) -> pl.DataFrame:
    """How much of people's disagreement each trait explains: the cross-validated gain over knowing the text alone.

    A person's answer is predicted by the mean of the *other* people's answers to the same text; a trait adds the mean
    remainder of the people who share its value, learned on other people. `gain` is the share of the squared error
    that the trait takes away from people it has not seen, so a trait that explains nothing has a gain at or below 0.
    `p` is the share of permutations, in which people get each other's values of the trait, with a gain as large.
    A trait that explains little in people should change little in a model.
    """
    asked = the_question(corpus, question)
    pairs = people_pairs(corpus, asked).select(*PAIR, "value").join(corpus.raters, on="rater")
    total, n = pl.col("value").sum().over("item"), pl.len().over("item")
    rest = pl.col("value") - (total - pl.col("value")) / (n - 1)
    people = (
        pairs.filter(n > 1)
        .with_columns(rest.alias("rest"))
        .group_by("rater")
        .agg(
            pl.col(corpus.traits).first(),
            pl.len().alias("n"),
            pl.col("rest").sum(),
            (pl.col("rest") ** 2).sum().alias("error"),
        )
        .sort("rater")
    )
    rng = np.random.default_rng(seed)
    people = people.with_columns(
        pl.Series("fold", rng.permutation(len(people)) % min(folds, max(2, len(people))), dtype=pl.Int64)
    )
    rows = []
    for trait in corpus.traits:
        part = people.with_columns(pl.col(trait).cast(pl.String).alias("group")).drop_nulls("group")
        values = part["group"].n_unique()
        row: dict[str, Any] = {"trait": trait, "values": values, "users": len(part)}
        if values < 2 or values == len(part):
            rows.append({**row, "reason": "the trait has one value, or one for each person"})
            continue
        row["annotations"] = int(part["n"].sum())
        if part["error"].sum() == 0:
            rows.append({**row, "reason": "everyone agrees, so there is nothing to explain"})
            continue
        group = part["group"].rank("dense").to_numpy().astype(np.int64) - 1
        gain = float(_gains(part, group[None])[0])

        def beyond(many: int, part: pl.DataFrame = part, group: Ints = group, gain: float = gain) -> Flags:
            dealt = [_gains(part, rng.permuted(np.tile(group, (some, 1)), axis=1)) for some in blocks(len(group), many)]
            return np.concatenate(dealt) >= gain - 1e-12

        p = permutation_p(beyond, permutations) if permutations else None
        rows.append({**row, "gain": gain, "p": p})
    schema = {"trait": pl.String, "values": pl.Int64, "users": pl.Int64, "annotations": pl.Int64}
    frame = pl.DataFrame(rows, schema={**schema, "gain": pl.Float64, "p": pl.Float64, "reason": pl.String})
    return frame.sort("gain", descending=True)


def _gains(people: pl.DataFrame, group: Ints) -> Floats:
    """The share of the squared error that groups take away, the mean remainder of each learned in the other folds.

    One row of groups for each way to deal them out to people.
    """
    fold, n, rest = (people[name].to_numpy() for name in ("fold", "n", "rest"))
    deal = np.arange(len(group))[:, None]
    shape = (len(group), int(group.max()) + 1, int(fold.max()) + 1)
    cell = ((deal * shape[1] + group) * shape[2] + fold).ravel()
    sums, counts = (
        np.bincount(cell, np.broadcast_to(column, group.shape).ravel(), int(np.prod(shape))).reshape(shape)
        for column in (rest, n)
    )
    others, count = sums.sum(axis=2, keepdims=True) - sums, counts.sum(axis=2, keepdims=True) - counts
    shift = np.divide(others, count, out=np.zeros(shape), where=count > 0)[deal, group, fold]
    return -np.asarray((n * shift**2 - 2 * shift * rest).sum(axis=1) / people["error"].sum())


def _excess(people: float, model: float, away: Bounds) -> dict[str, float | None]:
    """The distance of two differences, with the sign of what it does to the distance between the groups."""
    turned = (abs(model) < abs(people)) != (model < people)
    low, high = away
    if turned:
        low, high = None if away[1] is None else -away[1], None if away[0] is None else -away[0]
    return {"excess": (people - model) if turned else (model - people), "excess_low": low, "excess_high": high}


def _ratio(people: float, model: float, replicates: Floats, confidence: float, texts: int) -> dict[str, Any]:
    bounds: Bounds = percentile(replicates[:, 0], confidence, texts)
    low, high = bounds
    if low is None or high is None or low <= 0 <= high:
        return {"reason": "people's own difference cannot be told from zero"}
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = percentile(replicates[:, 1] / replicates[:, 0], confidence, texts)
    return {"ratio": float(model / people), "low": ends[0], "high": ends[1]}
