"""For whom a model works: the average user, gaps between trait values, users it fails, and those who think otherwise.

Users are resampled where results are to hold for others; in an evaluation over texts, users are fixed and texts are
resampled, also where F1 is averaged over users.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.corpora import Corpus
from vantage.errors import InputError, nearest
from vantage.measures import Bounds, Floats, bootstrap_interval, linked_values, permutation_p, ratio, share_beyond
from vantage.measures.intervals import blocks, weights
from vantage.measures.multiplicity import COARSE, PERMUTATIONS, Flags
from vantage.perspective.evaluation import Evaluation
from vantage.perspective.tally import ClassCounts

APART: Final = "no text links the users of the two values, so the gap could come from the texts"
UNDEFINED: Final = "fewer than two values have users who gave the answer"
APART_BY: Final[dict[str, Any]] = {
    **{name: kind for end in ("best", "worst") for name, kind in ((end, pl.String), (f"{end}_f1", pl.Float64))},
    **dict.fromkeys(("gap", "low", "high", "chance", "p"), pl.Float64),
}
"""The columns of a gap, which are null where there is none."""


def gaps(evaluation: Evaluation, label: str = "macro") -> pl.DataFrame:
    """The distance in F1 between the value of each trait that a model serves best and the one it serves worst.

    A gap is never negative, and the largest of several is large by chance alone. So users are dealt out anew to the
    combinations of values that they have: `chance` is the mean gap of the trait then, and `p` the share of deals in
    which the largest gap of *any* trait is at least as large as this one, which corrects for the number of traits
    (Westfall and Young 1993). The interval is that of the difference between the two values that lie furthest apart,
    over users of each or, in an evaluation over texts, over texts drawn for both alike. These two were chosen
    because they lie furthest apart: `p` is the test, not the interval. `reason` says why something is null: users who
    judged texts of their own, such as those of their language, have no p value.
    """
    column = the_column(evaluation, label)
    of_traits = {trait: evaluation.tally(trait) for trait in evaluation.traits}
    f1 = {trait: _f1(tally, column) for trait, (_, tally) in of_traits.items()}
    dealt = _dealt(evaluation, column, max((float(_widest(scores)) for scores in f1.values()), default=0.0))
    largest = np.max(list(dealt.values()), axis=0) if dealt else None
    rows: list[dict[str, Any]] = []
    for trait, (values, _) in of_traits.items():
        scores = f1[trait]
        row: dict[str, Any] = {"trait": trait, "class": label, **dict.fromkeys(APART_BY), "values": len(values)}
        row |= {"users": int((evaluation.value_of_user(trait) >= 0).sum()), "reason": UNDEFINED}
        rows.append(row)
        order = [int(n) for n in np.argsort(-scores, kind="stable") if not np.isnan(scores[n])]
        if len(order) < 2:
            continue
        best, worst = order[0], order[-1]
        gap = float(scores[best] - scores[worst])
        low, high = _pair_interval(evaluation, [evaluation.of_value(trait, values[n]) for n in (best, worst)], column)
        inside = low is not None and high is not None and low <= gap <= high
        moved = dealt.get(trait)
        linked = linked_values(evaluation.pairs, trait, ["item"])
        apart = not any({values[best], values[worst]} <= one for one in linked)
        reason = APART if apart else None
        if moved is None and evaluation.resamples:
            reason = "every value has one user"
        row |= {
            "best": values[best],
            "best_f1": float(scores[best]),
            "worst": values[worst],
            "worst_f1": float(scores[worst]),
            "gap": gap,
            "low": low if inside else None,
            "high": high if inside else None,
            "chance": None if moved is None else float(moved.mean()),
            "p": None if moved is None or largest is None or apart else share_beyond(largest >= gap - 1e-12),
            "reason": reason,
        }
    return pl.DataFrame(rows, schema_overrides={**APART_BY, "reason": pl.String})


def below(evaluation: Evaluation, threshold: float = 0.5, label: str = "macro") -> pl.DataFrame:
    """The users for whom F1 is below a threshold, the worst first, with their traits and on how much it rests."""
    the_column(evaluation, label)
    worst = evaluation.users.filter(pl.col("class") == label, pl.col("f1") < threshold).sort("f1", "rater")
    traits = evaluation.pairs.select("rater", *evaluation.traits).unique()
    return worst.join(traits, on="rater", how="left", maintain_order="left")


def minority_gap(evaluation: Evaluation, corpus: Corpus, question: str) -> pl.DataFrame:
    """How much more often a model meets judgments that agree with most other people than those that oppose them.

    One row with both shares and their difference. The majority is that of the *other* people of the corpus, so that a
    judgment never votes for itself; ties, and texts that nobody else judged, are left out. Who opposes most others
    depends on the text as much as on the user, so the interval spans one over texts and, unless `over` says texts, one
    over users.
    """
    names = ["with most", "against most"]
    pairs = _with_stance(evaluation, corpus, question).filter(pl.col("stance").is_in(names))
    floats = ("with", "against", "difference", "low", "high")
    row: dict[str, Any] = dict.fromkeys(floats)
    if pairs["stance"].n_unique() == 2:
        units = ("rater", "item") if evaluation.over == "users" else ("item",)

        def apart(drawn: Floats) -> Floats:
            return ratio(drawn[:, :2]) - ratio(drawn[:, 2:])

        whole = _sums(pairs, names, "item").sum(axis=0, keepdims=True)
        bounds = [evaluation.resampling.of_sums(_sums(pairs, names, unit), apart) for unit in units]
        lows, highs = [[end for end in ends if end is not None] for ends in zip(*bounds, strict=True)]
        low, high = (min(lows), max(highs)) if len(lows) == len(units) else (None, None)
        row = {"with": ratio(whole[:, :2])[0], "against": ratio(whole[:, 2:])[0], "difference": apart(whole)[0]}
        row |= {"low": low, "high": high}
    row |= {"annotations": len(pairs), "users": pairs["rater"].n_unique(), "texts": pairs["item"].n_unique()}
    return pl.DataFrame([row], schema_overrides=dict.fromkeys(floats, pl.Float64))


def _with_stance(evaluation: Evaluation, corpus: Corpus, question: str) -> pl.DataFrame:
    """The pairs, each with how the judgment relates to most other people's; null where nobody else judged the text."""
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
    return evaluation.pairs.join(
        others.select("item", "rater", stance.alias("stance")), on=["item", "rater"], how="left"
    )


def _sums(pairs: pl.DataFrame, stances: list[str], unit: str) -> Floats:
    """Hits and judgments of each stance, one row per user or text."""
    hit = (pl.col("gold") == pl.col("predicted")).fill_null(False)
    of = [pl.col("stance") == name for name in stances]
    columns = [part.sum().alias(f"{n}") for n, part in enumerate(p for one in of for p in (hit & one, one))]
    return pairs.group_by(unit).agg(columns).sort(unit).drop(unit).to_numpy().astype(np.float64)


def the_column(evaluation: Evaluation, label: str) -> int:
    """Where the scores of a class stand, by its name."""
    names = evaluation.classes
    if label not in names:
        raise InputError(f"there is no class '{label}'", remedy=nearest(label, names))
    return names.index(label)


def _pair_interval(evaluation: Evaluation, pair: list[ClassCounts], column: int) -> Bounds:
    if not evaluation.resamples or min(len(group.rows) for group in pair) < 2:
        return None, None
    drawn: list[Floats] = []
    for n, group in enumerate(pair):
        # Users of different values are different people; texts are the same ones for every value.
        seed = evaluation.seed + (n if evaluation.over == "users" else 0)
        resampled = [np.ones((1, len(group.rows))), *weights(len(group.rows), evaluation.resamples, seed)]
        drawn.append(np.concatenate([group.summed(one).scored("gold")[0][:, column, 2] for one in resampled]))
    estimate, *replicates = drawn[0] - drawn[1]
    units = min(len(group.rows) for group in pair)
    return bootstrap_interval(np.array(replicates), float(estimate), units, evaluation.confidence, (-1.0, 1.0))


def _f1(tally: ClassCounts, column: int) -> Floats:
    """The F1 of each group; undefined where nobody in it gave the answer."""
    scores, counts = tally.scored("gold")
    return np.where(counts[:, column] > 0, scores[:, column, 2], np.nan)


def _widest(scores: Floats) -> Floats:
    """How far the highest score lies from the lowest, along the last axis; 0 where fewer than two are defined."""
    return np.asarray(np.nan_to_num(np.fmax.reduce(scores, axis=-1) - np.fmin.reduce(scores, axis=-1)))


def _dealt(evaluation: Evaluation, column: int, widest: float) -> dict[str, Floats]:
    """The gaps of each trait when users are dealt out at random, all traits of a user together.

    Where the widest gap is seldom reached, they are dealt out ten times as often (see `permutation_p`). A trait of
    which every value has one user is left out: whoever changes places, the gap is the same.
    """
    codes = {trait: evaluation.value_of_user(trait) for trait in evaluation.traits}
    codes = {trait: code for trait, code in codes.items() if (code >= 0).sum() > code.max() + 1}
    if not evaluation.resamples or not codes:
        return {}
    _, tally = evaluation.tally("rater")
    users = len(tally.rows)
    rng = np.random.default_rng(evaluation.seed)
    dealt: dict[str, list[Floats]] = {trait: [] for trait in codes}
    reached = np.zeros(0, dtype=np.bool_)
    for permutations in (PERMUTATIONS, 9 * (PERMUTATIONS + 1)):
        for many in blocks(users * int(max(code.max() for code in codes.values()) + 1), permutations):
            order = rng.permuted(np.tile(np.arange(users), (many, 1)), axis=1)
            for trait, code in codes.items():
                values = int(code.max()) + 1
                member = (code[order][:, None, :] == np.arange(values)[None, :, None]).astype(np.float64)
                scores = _f1(tally.summed(member.reshape(-1, users)), column).reshape(many, values)
                dealt[trait].append(_widest(scores))
            reached = np.append(reached, np.max([gaps_[-1] for gaps_ in dealt.values()], axis=0) >= widest - 1e-12)
        if share_beyond(reached) > COARSE:
            break
    return {trait: np.concatenate(parts) for trait, parts in dealt.items()}


def average_user(evaluation: Evaluation, label: str = "macro") -> dict[str, float | None]:
    """The F1 of the average user with its interval: over users or, in an evaluation over texts, over texts."""
    if evaluation.over == "users":
        row = evaluation.summary.filter(pl.col("class") == label, level="user").row(0, named=True)
        return {"estimate": row["f1"], "low": row["low"], "high": row["high"]}
    users = _Users.of(evaluation, label)
    low, high = users.interval(users.mean)
    return {"estimate": users.whole(users.mean), "low": low, "high": high}


def advantage(one: Evaluation, other: Evaluation, label: str = "macro") -> dict[str, Any]:
    """How much better the average user is met by one model than by another that predicted the same pairs.

    `p` is that of an approximate randomisation test (Noreen 1989): the predictions of the two change places, user by
    user or, in evaluations over texts, text by text.
    """
    predicted, beside = (each.pairs.select("item", "rater").sort("item", "rater") for each in (one, other))
    if not predicted.equals(beside):
        raise InputError("the two models did not predict the same pairs", remedy="evaluate both on the same texts")
    first, second = _Users.of(one, label), _Users.of(other, label)

    def apart(weight: Floats) -> Floats:
        return first.mean(weight) - second.mean(weight)

    def swapped(kept: Floats) -> Floats:
        return np.nan_to_num(first.mean(kept, second) - second.mean(kept, first))

    difference = first.whole(apart)
    low, high = first.interval(apart)
    p = None
    if difference is not None and one.resamples and first.units > 1:
        p = swap_p(difference, swapped, first.units, one.seed)
    return {"difference": difference, "low": low, "high": high, "p": p}


def swap_p(difference: float, swapped: Callable[[Floats], Floats], units: int, seed: int) -> float:
    """The p value of a difference by approximate randomisation (Noreen 1989): two sides change places unit by unit.

    `swapped` gives the difference for each row of weights, 1 for the units that keep their places and 0 for the others.
    """
    rng = np.random.default_rng(seed)

    def beyond(many: int) -> Flags:
        parts = (rng.integers(0, 2, (some, units)).astype(np.float64) for some in blocks(units, many))
        return np.concatenate([np.abs(swapped(kept)) >= abs(difference) - 1e-12 for kept in parts])

    return permutation_p(beyond)


@dataclass(frozen=True, slots=True)
class _Users:
    """The F1 of every user as a function of weights on the units that are resampled."""

    evaluation: Evaluation
    column: int
    tallies: list[ClassCounts]
    """One for all users, whose rows are users; or one for each user, whose rows are texts."""

    @classmethod
    def of(cls, evaluation: Evaluation, label: str) -> _Users:
        """The users of an evaluation."""
        if evaluation.over == "users":
            return cls(evaluation, the_column(evaluation, label), [evaluation.tally("rater")[1]])
        return cls(evaluation, the_column(evaluation, label), evaluation.of_users())

    @property
    def units(self) -> int:
        """How many users or texts there are."""
        return len(self.tallies[0].rows)

    def mean(self, weight: Floats, rest: _Users | None = None) -> Floats:
        """The F1 of the average user under weights; `rest` predicts the units that a 0/1 weight leaves out."""
        total, count = np.zeros(len(weight)), np.zeros(len(weight))
        for n, tally in enumerate(self.tallies):
            if self.evaluation.over == "users":
                f1, used = self._scored(tally)
                total, count = total + weight @ (f1 * used), count + weight @ used
                if rest is not None:
                    others, used = self._scored(rest.tallies[n])
                    total, count = total + (1 - weight) @ (others * used), count + (1 - weight) @ used
                continue
            drawn = tally.summed(weight)
            if rest is not None:
                drawn = drawn.plus(rest.tallies[n].summed(1 - weight))
            f1, used = self._scored(drawn)
            total, count = total + f1 * used, count + used
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(total / count)

    def whole(self, statistic: Callable[[Floats], Floats]) -> float | None:
        """A statistic of the data as they are."""
        value = float(statistic(np.ones((1, self.units)))[0])
        return value if np.isfinite(value) else None

    def interval(self, statistic: Callable[[Floats], Floats]) -> Bounds:
        """The interval of a statistic over the units."""
        return self.evaluation.resampling.intervals(self.units, lambda weight: statistic(weight)[:, None])[0]

    def _scored(self, tally: ClassCounts) -> tuple[Floats, Floats]:
        scores, used = tally.scored("gold")
        return scores[:, self.column, 2], used[:, self.column]
