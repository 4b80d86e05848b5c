"""For whom a model works: gaps between trait values, users it fails, and those who think otherwise than most."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from vantage.corpora import Corpus
from vantage.errors import InputError, nearest
from vantage.measures.intervals import percentile, weights
from vantage.measures.ratings import Floats
from vantage.perspective.evaluation import Evaluation
from vantage.perspective.tally import Tally


def gaps(evaluation: Evaluation, label: str = "macro") -> pl.DataFrame:
    """The distance in F1 between the value of each trait that a model serves best and the one it serves worst.

    The interval comes from resampled users within each value or, in an evaluation over texts, from texts resampled for
    all values alike. A gap is never negative, so its interval is biased
    upwards where the values hardly differ; `chance` is the mean gap when the same users are dealt out to values of the
    same sizes at random, which is what to compare it with.
    """
    column = _column(evaluation, label)
    rows: list[dict[str, Any]] = []
    for trait in evaluation.traits:
        values, _ = evaluation.tally(trait)
        members = [evaluation.of_value(trait, value) for value in values]
        scores = [_f1(group, column) for group in members]
        best, worst = int(np.argmax(scores)), int(np.argmin(scores))
        low, high = _gap_interval(evaluation, members, column)
        users = sum(evaluation.members(trait, value)[0] for value in values)
        rows.append(
            {
                "trait": trait,
                "class": label,
                "best": values[best],
                "best_f1": scores[best],
                "worst": values[worst],
                "worst_f1": scores[worst],
                "gap": scores[best] - scores[worst],
                "low": low,
                "high": high,
                "chance": _chance(evaluation, trait, column),
                "values": len(values),
                "users": users,
            }
        )
    return pl.DataFrame(rows, schema_overrides=dict.fromkeys(("low", "high", "chance"), pl.Float64))


def below(evaluation: Evaluation, threshold: float = 0.5, label: str = "macro") -> pl.DataFrame:
    """The users for whom F1 is below a threshold, the worst first, with their traits and on how much it rests."""
    _column(evaluation, label)
    worst = evaluation.users.filter(pl.col("class") == label, pl.col("f1") < threshold).sort("f1", "rater")
    traits = evaluation.pairs.select("rater", *evaluation.traits).unique()
    return worst.join(traits, on="rater", how="left", maintain_order="left")


def against_majority(evaluation: Evaluation, corpus: Corpus, question: str) -> pl.DataFrame:
    """Scores apart for judgments that agree with most other people on the text, that oppose them, and that face a tie.

    The majority is that of the *other* people of the corpus, so that a judgment never votes for itself. Pairs of which
    nobody else judged the text are left out and counted. Intervals resample users, or texts where `over` says so.
    """
    votes = corpus.judgments.filter(pl.col("question") == question, pl.col("value").is_not_null())
    votes = votes.select("item", "rater", "value")
    others = (
        evaluation.pairs.select("item", "rater", "gold")
        .join(votes.rename({"rater": "other", "value": "vote"}), on="item")
        .filter(pl.col("rater") != pl.col("other"))
        .group_by("item", "rater", "gold", "vote")
        .len()
        .group_by("item", "rater", "gold")
        .agg(pl.col("vote").filter(pl.col("len") == pl.col("len").max()).alias("most"))
    )
    tied = pl.col("most").list.len() > 1
    agrees = pl.col("most").list.first() == pl.col("gold")
    stance = pl.when(tied).then(pl.lit("tied")).when(agrees).then(pl.lit("with most")).otherwise(pl.lit("against most"))
    pairs = evaluation.pairs.join(
        others.select("item", "rater", stance.alias("stance")), on=["item", "rater"], how="left"
    )
    rows: list[dict[str, Any]] = []
    for name in ("with most", "against most", "tied"):
        part = pairs.filter(pl.col("stance") == name)
        hits = part.filter(pl.col("gold") == pl.col("predicted"))
        unit = "rater" if evaluation.over == "users" else "item"
        units = part.group_by(unit).agg(
            pl.len().alias("n"), (pl.col("gold") == pl.col("predicted")).fill_null(False).sum().alias("hits")
        )
        low, high = _share_interval(units.sort(unit).select("hits", "n").to_numpy(), evaluation)
        accuracy = len(hits) / len(part) if len(part) else None
        rows.append(
            {
                "stance": name,
                "accuracy": accuracy,
                "low": low,
                "high": high,
                "annotations": len(part),
                "users": part["rater"].n_unique(),
                "alone": int(pairs["stance"].null_count()),
            }
        )
    return pl.DataFrame(rows, schema_overrides=dict.fromkeys(("accuracy", "low", "high"), pl.Float64))


def _column(evaluation: Evaluation, label: str) -> int:
    names = [*evaluation.names, "macro", "micro"]
    if label not in names:
        raise InputError(f"there is no class '{label}'", remedy=nearest(label, names))
    return names.index(label)


def _f1(tally: Tally, column: int) -> float:
    scores, _ = tally.summed(np.ones((1, len(tally.rows)))).scored("gold")
    return float(scores[0, column, 2])


def _gap_interval(evaluation: Evaluation, members: list[Tally], column: int) -> tuple[float | None, float | None]:
    if not evaluation.resamples or min(len(group.rows) for group in members) < 2:
        return None, None
    drawn: list[Floats] = []
    for n, group in enumerate(members):
        # Users of different values are different people; texts are the same ones for every value.
        seed = evaluation.seed + (n if evaluation.over == "users" else 0)
        blocks = weights(len(group.rows), evaluation.resamples, seed)
        drawn.append(np.concatenate([group.summed(block).scored("gold")[0][:, column, 2] for block in blocks]))
    every = np.stack(drawn)
    return percentile(every.max(axis=0) - every.min(axis=0), evaluation.confidence)


def _chance(evaluation: Evaluation, trait: str, column: int) -> float | None:
    """The mean gap when users are dealt out to values at random; null where no two users could change places."""
    _, tally = evaluation.tally("rater")
    value = evaluation.value_of_user(trait)
    known = np.flatnonzero(value >= 0)
    counts = np.bincount(value[known])
    if not evaluation.resamples or len(known) <= len(counts):
        return None
    rng = np.random.default_rng(evaluation.seed)
    found = []
    for _ in range(min(200, evaluation.resamples)):
        dealt = np.split(rng.permutation(known), np.cumsum(counts)[:-1])
        scores = [_f1(tally.chosen(part), column) for part in dealt]
        found.append(max(scores) - min(scores))
    return float(np.mean(found))


def _share_interval(counts: Floats, evaluation: Evaluation) -> tuple[float | None, float | None]:
    if not evaluation.resamples or len(counts) < 2:
        return None, None
    drawn = []
    for block in weights(len(counts), evaluation.resamples, evaluation.seed):
        sums = block @ counts
        with np.errstate(invalid="ignore", divide="ignore"):
            drawn.append(sums[:, 0] / sums[:, 1])
    return percentile(np.concatenate(drawn), evaluation.confidence)
