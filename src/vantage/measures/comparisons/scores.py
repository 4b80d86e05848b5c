"""Pairwise comparisons and best–worst scaling: a score for every member of the tuples, and how reliable it is.

The items of such a table are tuples: the columns `item_1`, `item_2` … name the members, and the answer is the place of
the member that was chosen. Counts are the share of wins in pairs, and the share of "best" less that of "worst" in
larger tuples (Louviere, Flynn & Marley 2015). Bradley–Terry strengths (1952) are fitted by Choix to all comparisons
that a judgment implies: the best beats the others, and all of them beat the worst.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import polars as pl
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from vantage.errors import InputError
from vantage.measures.base import measure, table
from vantage.measures.intervals import CORRELATIONS, OVER, Bounds, Over, percentile
from vantage.measures.parts import Part, counts, parts
from vantage.measures.presentation import Column, Extremes, View
from vantage.measures.rater_variance import FEW_RATERS, LEFT_OUT, left_out_together, several_items
from vantage.measures.ratings import By, Floats, Ints, Judgments, RaterGroups, by_columns
from vantage.measures.relations.correlations import pearson_rows
from vantage.measures.resampling import Resampling, Statistics, item_codes
from vantage.notebook import to_polars

Scoring: TypeAlias = Literal["counts", "bradley-terry"]
UNLINKED: Final = "the comparisons fall into {parts} parts that no tuple links, so their strengths cannot be compared"
PLACE: Final = re.compile(r"item_([1-9]\d*)")
_RUN: Final = ["item", "rater", "condition", "sample"]


@dataclass(frozen=True, slots=True)
class Comparisons:
    """Judgments of tuples: who stood where, and which places were chosen as best and as worst."""

    names: tuple[str, ...]
    """The members, by their numbers."""
    member: Ints
    """The members of the tuple of each judgment; −1 where it has fewer."""
    best: Ints
    worst: Ints
    """The chosen places; −1 where nobody was asked for the worst."""
    unit: Ints
    units: int
    rater: Ints
    """Who judged; raters who were drawn in a group share a number."""

    def kept(self, mask: Any) -> Comparisons:
        """Some of the judgments, of the same tuples and members."""
        names = ("member", "best", "worst", "unit", "rater")
        return replace(self, **{name: getattr(self, name)[mask] for name in names})

    def statistics(self, method: Scoring, prior: float) -> Statistics:
        """From weights of tuples to the scores of the members."""
        return self._strengths(prior) if method == "bradley-terry" else self._counts()

    def without(self, method: Scoring, prior: float, seed: int) -> list[Statistics]:
        """The same without each rater in turn, or without each group of raters where they are many."""
        group = self.left_out_together(seed)
        return [self.kept(group != number).statistics(method, prior) for number in range(int(group.max()) + 1)]

    def left_out_together(self, seed: int) -> Ints:
        """For each judgment the number of the group of raters with which it is left out."""
        raters = int(self.rater.max(initial=-1)) + 1
        return left_out_together(raters, np.random.default_rng(seed))[self.rater]

    @property
    def appearances(self) -> Ints:
        """How often each member was judged."""
        return np.bincount(self.member[self.member >= 0], minlength=len(self.names))

    def chosen(self, places: Ints) -> Ints:
        """How often each member stood at the chosen places."""
        asked = places >= 0
        return np.bincount(self.member[asked, places[asked]], minlength=len(self.names))

    @property
    def parts(self) -> int:
        """Into how many parts the members fall that no tuple links."""
        first, other, _ = self._pairs()
        size = len(self.names)
        linked = csr_array((np.ones(len(first)), (first, other)), shape=(size, size))
        return int(connected_components(linked, directed=False)[0])

    def scores(self, method: Scoring, prior: float, how: Resampling) -> list[dict[str, Any]]:
        """A row for each member, the highest score first."""
        if not self.names:
            return [{"member": None, "reason": "no tuple was judged"}]
        if method == "bradley-terry" and (unlinked := self.parts) > 1:
            return [{"member": None, "reason": UNLINKED.format(parts=unlinked)}]
        statistics = self.statistics(method, prior)
        bounds = how.intervals(self.units, statistics, partial(self.without, method, prior, how.seed))
        estimates = statistics(np.ones((1, self.units)))[0]
        counted = zip(self.appearances, self.chosen(self.best), self.chosen(self.worst), strict=True)
        scored: list[dict[str, Any]] = [
            {"member": name, "appearances": int(n), "best": int(best), "worst": int(worse), "estimate": float(estimate)}
            | how.stated(interval)
            | ({"reason": FEW_RATERS} if how.ci in ("raters", "both") and interval[0] is None else {})
            for name, (n, best, worse), estimate, interval in zip(self.names, counted, estimates, bounds, strict=True)
        ]
        return sorted(scored, key=lambda one: (-one["estimate"], one["member"]))

    def _counts(self) -> Statistics:
        row, place = np.nonzero(self.member >= 0)
        score = (place == self.best[row]).astype(np.float64) - (place == self.worst[row])
        shape = (self.units, len(self.names))
        at = (self.unit[row], self.member[row, place])
        scores, shown = csr_array((score, at), shape=shape), csr_array((np.ones(len(row)), at), shape=shape)

        def statistics(weight: Floats) -> Floats:
            with np.errstate(divide="ignore", invalid="ignore"):
                return np.asarray((scores.T @ weight.T).T / (shown.T @ weight.T).T)

        return statistics

    def _pairs(self) -> tuple[Ints, Ints, Ints]:
        """Winner, loser and tuple of every comparison that the judgments imply."""
        row, place = np.nonzero(self.member >= 0)
        best, worst = self.best[row], self.worst[row]
        over = place != best
        under = (worst >= 0) & (place != worst) & (place != best)
        winner = np.concatenate([self.member[row, best][over], self.member[row, place][under]])
        loser = np.concatenate([self.member[row, place][over], self.member[row, worst][under]])
        return winner, loser, np.concatenate([self.unit[row][over], self.unit[row][under]])

    def _strengths(self, prior: float) -> Statistics:
        fit = choix().ilsr_pairwise_dense
        winner, loser, unit = self._pairs()
        size = len(self.names)
        cell = winner * size + loser

        def strengths(weight: Floats) -> Floats:
            wins = np.bincount(cell, weights=weight[unit], minlength=size * size).reshape(size, size)
            return np.asarray(fit(wins, alpha=prior / max(size - 1, 1)))

        return lambda weight: np.stack([strengths(row) for row in weight])


def choix() -> Any:
    """The library that fits Bradley–Terry models."""
    try:
        return import_module("choix")
    except ImportError:
        raise InputError(
            "Bradley–Terry scores need the package choix",
            remedy="run: pip install 'vantage-raters[scaling]', or use counts",
        ) from None


def compared(
    data: Judgments, by: By, worst: str, groups: RaterGroups | None = None
) -> Iterator[tuple[dict[str, Any], Comparisons]]:
    """The comparisons of each group and question in turn, with the columns of a result row that are known already."""
    columns, places = by_columns(by), _places(data)
    if "question" in columns:
        columns.remove("question")
    asked = {question.id: question.unlike for question in data.questions} if hasattr(data, "questions") else {}
    pairs = {unlike: id_ for id_, unlike in asked.items() if unlike}
    for part in parts(data, columns, extra=places):
        every = part.frame["question"].unique().sort().to_list()
        own = pairs or {one: worst for one in every if worst in every and one != worst}
        for question in every:
            if question not in own.values():
                yield _comparisons(part, places, question, own.get(question), groups)


def _places(data: Any) -> list[str]:
    frame = data.items if hasattr(data, "with_columns_of") else to_polars(data)
    columns = [] if frame is None else frame.lazy().collect_schema().names()
    places = sorted((name for name in columns if PLACE.fullmatch(name)), key=lambda name: int(name[5:]))
    if len(places) < 2 or places != [f"item_{number}" for number in range(1, len(places) + 1)]:
        raise InputError(
            "these items are not tuples: columns item_1, item_2 … must name their members",
            remedy="make them with: vantage corpora tuples",
        )
    return places


def _comparisons(
    part: Part, places: Sequence[str], question: str, worst: str | None, groups: RaterGroups | None
) -> tuple[dict[str, Any], Comparisons]:
    asked = part.frame.filter(pl.col("question").is_in([question, worst]))
    answered = asked.filter(pl.col("value").is_not_null())
    used = answered.filter(pl.col("question") == question)
    used = used.with_columns(pl.lit(0.0).alias("__worst"))
    if worst is not None:
        other = answered.filter(pl.col("question") == worst).select(*_RUN, pl.col("value").alias("__worst"))
        used = used.drop("__worst").join(other, on=_RUN, how="inner", nulls_equal=True)
    incomplete = len(answered) - len(used) * (2 if worst is not None else 1)
    names = pl.concat([used[place].cast(pl.String) for place in places]).drop_nulls().unique().sort().to_list()
    number = {name: place for place, name in enumerate(names)}
    member = np.array([[number.get(name, -1) for name in used[place].cast(pl.String)] for place in places]).T
    best, worse = (used[column].to_numpy().astype(np.int64) - 1 for column in ("value", "__worst"))
    for chosen in (best, worse[worse >= 0] if worst is not None else worse[:0]):
        if len(chosen) and (chosen.min() < 0 or chosen.max() >= len(places)):
            raise InputError(
                f"question '{question}' has an answer that is not a position from 1 to {len(places)}",
                remedy="code the first member of a tuple as 1, the second as 2 …",
            )
    unit, units = item_codes(used["item"])
    rater = item_codes(used["rater"])[0] if groups is None else groups.codes(used["rater"])
    row = {**part.key, "question": question, **counts(used, asked, incomplete=incomplete)}
    return row, Comparisons(tuple(names), member.reshape(len(used), -1), best, worse, unit, units, rater)


VIEW: Final = View(
    "Scores from comparisons",
    columns={"estimate": Column("score", digits=2), "member": Column("text")},
    show=("member", "estimate", "appearances", "best", "worst"),
    chart="points",
    notes=(
        "Counts: the share of wins in pairs, and the share of best less that of worst in larger tuples. "
        "Bradley–Terry: strengths on the logit scale, with mean 0.",
    ),
    says=(
        Extremes(
            most="The highest score has {rows}",
            least="The lowest score has {rows}",
            value="estimate",
            among=("question",),
            label="{member}",
        ),
    ),
    method="Texts were scored from comparisons: by counts, or by the strengths of a Bradley–Terry model.",
    sources=("louviere2015", "bradley1952"),
)


@measure("scaling", "scaling", view=VIEW)
def scaling(
    data: Judgments,
    *,
    by: By = (),
    method: Scoring = "counts",
    worst: str = "worst",
    prior: float = 0.5,
    show: Literal["scores", "reliability"] = "scores",
    splits: int = 100,
    ci: Over = "auto",
    resamples: int = 200,
    confidence: float = 0.95,
    seed: int = 0,
    groups: RaterGroups | None = None,
) -> pl.DataFrame:
    """The score of every member of the judged tuples: by counts, or as its Bradley–Terry strength.

    An item is a tuple whose members are named in the columns `item_1`, `item_2` …; a value is the place of the chosen
    member. Where an instrument asks for the worst with `unlike`, best and worst belong together; in a plain table the
    question called `worst` asks for it. Judgments of which one of the two is missing are left out as `incomplete`.

    `method="counts"` is the share of wins in pairs, and (best − worst) / appearances otherwise. `"bradley-terry"` fits
    strengths with Choix (pip install 'vantage-raters[scaling]') to the comparisons that the answers imply; `prior`
    gives every text so many wins and losses against all others together, which keeps strengths finite. Intervals over
    tuples, raters or both.

    With `show="reliability"` there is one row: split-half reliability (Kiritchenko & Mohammad 2017). The judgments of
    each tuple are split at random into two halves, members are scored in each, and the scores are correlated (Pearson).
    `estimate` is the mean over `splits`, 95 % of which are in `split_low`…`split_high`: the luck of the split, not the
    sample's. `low`…`high` is for other tuples of these members, other raters or both: tuples and raters are left out in
    turn, and correlations taken as Fisher's z. Tuples that were judged once are in one half.

    >>> duels = {"item": [*"xyz"], "rater": [*"aaa"], "value": [1, 2, 1],
    ...          "item_1": ["p", "q", "p"], "item_2": ["q", "r", "r"]}
    >>> scaling(duels, ci="none").select("member", "best", "estimate").rows()
    [('p', 2, 1.0), ('r', 1, 0.5), ('q', 0, 0.0)]
    """
    if prior <= 0:
        raise InputError(f"prior {prior} is not above 0", remedy="use 0.5")
    if splits < 1:
        raise InputError(f"{splits} splits cannot be drawn", remedy="ask for at least one")
    bootstrap = Resampling(ci, resamples=resamples, confidence=confidence, seed=seed, groups=groups, over=OVER)
    rows: list[dict[str, Any]] = []
    for row, made in compared(data, by, worst, groups):
        how = bootstrap.chosen(several_items(pl.DataFrame({"rater": made.rater, "item": made.unit}), None))
        given = (
            _reliability(made, method, prior, splits, how) if show == "reliability" else made.scores(method, prior, how)
        )
        rows += [{**row, **one} for one in given]
    grouping = [*(column for column in by_columns(by) if column != "question"), "question"]
    return table(rows, [*grouping, *(["member"] if show == "scores" else [])])


def _reliability(
    made: Comparisons, method: Scoring, prior: float, splits: int, how: Resampling
) -> list[dict[str, Any]]:
    """The row of split-half reliability."""
    row: dict[str, Any] = {"members": len(made.names), "estimate": None}
    if np.bincount(made.unit, minlength=1).max() < 2:
        return [{**row, "reason": "no tuple was judged twice"}]
    rng = np.random.default_rng(how.seed)
    halves = [_halves(made, rng) for _ in range(splits)]
    split = SplitScores(made, method, prior, halves)
    drawn = split.correlations(np.ones((1, made.units)))[0]
    drawn = drawn[np.isfinite(drawn)]
    if not len(drawn):
        return [{**row, "reason": "the scores of the halves do not vary"}]
    bounds = replace(split, halves=halves[:LEFT_OUT_SPLITS]).interval(how)
    split_low, split_high = percentile(drawn)
    sd = float(drawn.std(ddof=1)) if len(drawn) > 1 else None
    row |= {"estimate": float(drawn.mean()), "sd": sd, "split_low": split_low, "split_high": split_high}
    few = how.ci in ("raters", "both") and bounds[0] is None
    return [{**row, **how.stated(bounds), "reason": FEW_RATERS if few else LONG if bounds[0] is not None else None}]


LONG: Final = (
    "leaving out tuples and raters takes away answers that others would give, so that the interval may be too long"
)
LEFT_OUT_SPLITS: Final = 10
"""In how many of the splits tuples and raters are left out."""


@dataclass(frozen=True, slots=True)
class SplitScores:
    """Scores of members from two halves of the judgments, in several splits."""

    made: Comparisons
    method: Scoring
    prior: float
    halves: list[Ints]

    def correlations(self, weight: Floats) -> Floats:
        """The correlation of the two halves, one row for each row of weights of tuples and one column per split."""
        columns = []
        for half in self.halves:
            sides = [self.made.kept(half == side).statistics(self.method, self.prior)(weight) for side in (0, 1)]
            both = np.asarray(np.isfinite(sides).all(axis=0))
            first, second = (np.where(both, side, 0.0) for side in sides)
            values = pearson_rows(first, second, (1e-24, 1e-24), both.astype(np.float64))
            columns.append(np.where(both.sum(axis=1) > 2, values, np.nan))
        return np.column_stack(columns)

    def mean(self, weight: Floats) -> Floats:
        """Their mean over the splits, as a column."""
        return np.asarray(np.nanmean(self.correlations(weight), axis=1))[:, None]

    def kept(self, mask: Any) -> SplitScores:
        """The same splits of some of the judgments."""
        return replace(self, made=self.made.kept(mask), halves=[half[mask] for half in self.halves])

    def interval(self, how: Resampling) -> Bounds:
        """The interval of the mean correlation, from tuples and raters that are left out in turn."""
        if self.made.units < 3:
            return None, None
        group = self.made.left_out_together(how.seed)

        def without() -> list[Statistics]:
            return [self.kept(group != number).mean for number in range(int(group.max()) + 1)]

        few = replace(how, resamples=LEFT_OUT)
        return few.intervals(self.made.units, self.mean, without, [CORRELATIONS])[0]


def _halves(made: Comparisons, rng: np.random.Generator) -> Ints:
    """The half of each judgment: those of a tuple take turns in a random order, beginning with either half."""
    order = np.lexsort((rng.random(len(made.unit)), made.unit))
    unit = made.unit[order]
    start = np.flatnonzero(np.diff(unit, prepend=-1))
    rank = np.arange(len(unit)) - np.repeat(start, np.diff(np.append(start, len(unit))))
    half = np.empty(len(unit), dtype=np.int64)
    half[order] = (rank + rng.integers(0, 2, made.units)[unit]) % 2
    return half
