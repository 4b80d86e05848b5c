"""From scores to flagged items: a threshold learned on other items than those it is judged on, or a fixed budget.

A threshold that is chosen and judged on the same votes flatters the method, and "the lowest ambiguity that context
leaves" is always lowest when every item gets context. So thresholds are chosen by folds, every figure is compared with
what random flags of the same number would reach, and the whole curve is there for those with another budget.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from vantage.errors import InputError
from vantage.measures.ratings import Floats
from vantage.studies.context.pipeline.ambiguity import Detected

Criterion = Literal["f1", "youden", "budget"]
Flags = NDArray[np.bool_]
LEAST: Final = 10
"""With fewer items than this, a threshold would be chosen by accident."""
ONE_KIND: Final = "people find all of the items ambiguous, or none"


@dataclass(frozen=True, slots=True)
class Target:
    """Which items people find ambiguous.

    Args:
        column: What is looked at in the table of votes: `doubt`, `entropy` or `ambiguity`.
        mark: From which value on an item is ambiguous; 0.4 of the doubt are two of five readers.
    """

    column: Literal["doubt", "entropy", "ambiguity"] = "doubt"
    mark: float = 0.4

    def __post_init__(self) -> None:
        if self.column not in ("doubt", "entropy", "ambiguity"):
            raise InputError(f"there is no target '{self.column}'", remedy="use doubt, entropy or ambiguity")
        if not 0 < self.mark <= 1:
            raise InputError(f"the mark {self.mark:g} is not above 0 and at most 1", remedy="use for example 0.4")

    def marked(self, votes: pl.DataFrame) -> pl.Series:
        """Whether people find each item ambiguous."""
        if self.column not in votes.columns:
            raise InputError(
                f"the votes have no {self.column}", remedy="the scale has no answer 'ambiguous'; use doubt or entropy"
            )
        # A hair below the mark: 1 − 3/5 is not 0.4 to a computer.
        return votes[self.column] >= self.mark - 1e-9

    def joined(self, detected: Detected, votes: pl.DataFrame) -> pl.DataFrame:
        """The items that have votes: `item`, `score` (null where there is none), `degree` and `ambiguous`."""
        marks = votes.select("item", self.marked(votes).alias("ambiguous"), pl.col(self.column).alias("degree"))
        return detected.table.select("item", "score").join(marks, on="item", how="inner", maintain_order="left")


@dataclass(frozen=True)
class HeldOut:
    """Flags by thresholds that were chosen on other items.

    Args:
        table: `item`, `score`, `degree`, `ambiguous`, `fold` and `flagged`.
        thresholds: The threshold that each fold was flagged with.
        reason: Why there are no flags, where there are none.
    """

    table: pl.DataFrame
    thresholds: tuple[float, ...] = ()
    reason: str = ""

    @property
    def flagged(self) -> list[str]:
        """The items that are flagged."""
        return [] if self.reason else self.table.filter("flagged")["item"].to_list()


def choose(score: Floats, ambiguous: Flags, criterion: Criterion = "f1", budget: float = 0.25) -> float:
    """The threshold above which items are flagged, chosen on these very items.

    `f1` has the highest F1 of flagged against ambiguous items, `youden` the highest J = sensitivity + specificity − 1
    (Youden 1950), and `budget` flags the share of items nearest to the budget. Of equals the highest is taken, which
    flags least.

    >>> choose(np.array([0.9, 0.8, 0.3, 0.1]), np.array([True, True, False, False]))
    0.55
    """
    if criterion not in ("f1", "youden", "budget"):
        raise InputError(f"there is no criterion '{criterion}'", remedy="use f1, youden or budget")
    if not 0 < budget < 1:
        raise InputError(f"the budget {budget:g} is no share between 0 and 1", remedy="use for example 0.25")
    levels = np.unique(score)[::-1]
    cuts = np.append((levels[:-1] + levels[1:]) / 2, levels[-1] - 1.0)
    flagged = np.searchsorted(np.sort(-score), -cuts, side="left").astype(np.float64)
    hit = np.searchsorted(np.sort(-score[ambiguous]), -cuts, side="left").astype(np.float64)
    positive, n = float(ambiguous.sum()), float(len(score))
    if criterion == "budget":
        worth = -np.abs(flagged / n - budget)
    elif criterion == "f1":
        worth = 2 * hit / (flagged + positive)
    else:
        worth = hit / max(positive, 1.0) - (flagged - hit) / max(n - positive, 1.0)
    return float(cuts[int(np.argmax(worth))])


def held_out(
    table: pl.DataFrame,
    *,
    criterion: Criterion = "f1",
    budget: float = 0.25,
    folds: int = 5,
    seed: int = 0,
) -> HeldOut:
    """Flags items with thresholds that were chosen on others.

    Args:
        table: What `Target.joined` gives. Items without a score are never flagged.
        criterion: How a threshold is chosen (see `choose`).
        budget: With `budget`: the share of items to be flagged.
        folds: Each fold is flagged with the threshold chosen on the others.
        seed: The seed of the folds.

    >>> votes = pl.DataFrame({"item": [str(n) for n in range(20)], "score": [n // 10 + n / 99 for n in range(20)],
    ...                       "degree": [0.0] * 10 + [0.4] * 10, "ambiguous": [False] * 10 + [True] * 10})
    >>> held_out(votes, folds=2).table.group_by("ambiguous").agg(pl.col("flagged").mean()).sort("ambiguous").rows()
    [(False, 0.0), (True, 1.0)]
    """
    known = table.drop_nulls("score")
    if len(known) < LEAST:
        raise InputError(
            f"{len(known)} items with votes and a score are too few for a threshold",
            remedy=f"give at least {LEAST}, or look at the scores themselves",
        )
    if not 2 <= folds <= len(known):
        raise InputError(f"{len(known)} items cannot be divided into {folds} folds", remedy="use 2 to 10 folds")
    one_kind = HeldOut(table.with_columns(pl.lit(None, dtype=pl.Boolean).alias("flagged")), (), ONE_KIND)
    if criterion != "budget" and known["ambiguous"].n_unique() < 2:
        return one_kind
    order = np.random.default_rng(seed).permutation(len(known))
    fold = np.empty(len(known), dtype=np.int64)
    fold[order] = np.arange(len(known)) % folds
    score, ambiguous = known["score"].to_numpy(), known["ambiguous"].to_numpy()
    flagged = np.zeros(len(known), dtype=np.bool_)
    thresholds = []
    for one in range(folds):
        others = fold != one
        if criterion != "budget" and len(np.unique(ambiguous[others])) < 2:
            return one_kind
        threshold = choose(score[others], ambiguous[others], criterion, budget)
        thresholds.append(threshold)
        flagged[fold == one] = score[fold == one] > threshold
    flags = known.select("item").with_columns(pl.Series("fold", fold), pl.Series("flagged", flagged))
    joined = table.join(flags, on="item", how="left", maintain_order="left")
    return HeldOut(joined.with_columns(pl.col("flagged").fill_null(value=False)), tuple(thresholds))


def curve(table: pl.DataFrame, *, draws: int = 1000, seed: int = 0) -> pl.DataFrame:
    """What flagging the highest 1, 2, … items reaches, beside as many flags at random.

    One row per number of `flagged` items: the `threshold` (the lowest score among them), `precision` and `recall` of
    ambiguous items, `captured` (their share of all human doubt), and `random`, `random_low` and `random_high`: what
    is captured by random flags, and the middle 95 % of it. Items with equal scores are flagged in random order, so
    the figures inside a tie are expected values; items without a score come last.

    >>> some = pl.DataFrame({"item": ["a", "b"], "score": [1.0, 0.0], "degree": [0.4, 0.0], "ambiguous": [True, False]})
    >>> curve(some).select("flagged", "precision", "recall", "captured", "random").rows()
    [(1, 1.0, 1.0, 1.0, 0.5), (2, 0.5, 1.0, 1.0, 1.0)]
    """
    degree, n = table["degree"].to_numpy(), len(table)
    ordered = in_order(table["score"])
    hits = running(ordered, table["ambiguous"].to_numpy().astype(np.float64))
    caught = running(ordered, degree)
    flagged, rng = np.arange(1, n + 1), np.random.default_rng(seed)
    drawn = np.cumsum(np.stack([degree[rng.permutation(n)] for _ in range(draws)]), axis=1)
    # Without any ambiguous item, or any doubt, there is nothing to find: 0 / 0.
    with np.errstate(invalid="ignore"):
        random = np.quantile(drawn, [0.025, 0.975], axis=0) / caught[-1]
        columns = {
            "flagged": flagged,
            "share": flagged / n,
            "threshold": table["score"].to_numpy()[np.concatenate(ordered)],
            "precision": hits / flagged,
            "recall": hits / hits[-1],
            "captured": caught / caught[-1],
            "random": flagged / n * (caught[-1] / caught[-1]),
            "random_low": random[0],
            "random_high": random[1],
        }
    return pl.DataFrame(columns).fill_nan(None)


def remaining(table: pl.DataFrame) -> pl.DataFrame:
    """What is left on average when the highest 1, 2, … items get context and the others do not.

    Args:
        table: `score`, and what people show of each item `before` and `after` it has context (their ambiguity, or
            whether they are wrong); items that lack one of them are left out.

    Returns:
        One row per number of `flagged` items from 0 on: what is `left`, and what `random` flags would leave.

    >>> result = pl.DataFrame({"score": [0.9, 0.1], "before": [0.6, 0.2], "after": [0.0, 0.2]})
    >>> remaining(result)["left"].round(2).to_list()
    [0.4, 0.1, 0.1]
    """
    known = table.drop_nulls(["before", "after"])
    n = len(known)
    if not n:
        return pl.DataFrame(schema={"flagged": pl.Int64, "share": pl.Float64, "left": pl.Float64, "random": pl.Float64})
    before, gain = known["before"].to_numpy(), (known["before"] - known["after"]).to_numpy()
    saved = np.concatenate([[0.0], running(in_order(known["score"]), gain)])
    flagged = np.arange(n + 1)
    left, random = before.mean() - saved / n, before.mean() - flagged / n * gain.mean()
    return pl.DataFrame({"flagged": flagged, "share": flagged / n, "left": left, "random": random})


def in_order(score: pl.Series) -> list[NDArray[np.intp]]:
    """The places of items from the highest score to the lowest, equals together, unscored ones last."""
    values = score.fill_null(float("-inf")).to_numpy()
    order = np.argsort(-values, kind="stable")
    cuts = np.flatnonzero(values[order][1:] != values[order][:-1]) + 1
    return list(np.split(order, cuts))


def running(ordered: list[NDArray[np.intp]], values: Floats) -> Floats:
    """Running sums in an order; inside a tie, what they are on average over all orders of it."""
    return np.cumsum(np.concatenate([np.full(len(tie), values[tie].mean()) for tie in ordered]))
