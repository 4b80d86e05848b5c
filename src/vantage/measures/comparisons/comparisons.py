"""Judgments of tuples as comparisons of their members, and the scores that follow from these.

The items of such a table are tuples: the columns `item_1`, `item_2` … name the members, and the answer is the place of
the member that was chosen. Counts are the share of wins in pairs, and the share of "best" less that of "worst" in
larger tuples (Louviere, Flynn & Marley 2015). Bradley–Terry strengths (1952) are fitted by Choix to all comparisons
that a judgment implies: the best beats the others, and all of them beat the worst.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import polars as pl
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from vantage.errors import InputError
from vantage.measures.parts import Part, counts, parts
from vantage.measures.rater_variance import LEFT_OUT_TABLES, left_out_together
from vantage.measures.ratings import By, Floats, Ints, Judgments, by_columns
from vantage.measures.resampling import Statistics
from vantage.notebook.frames import to_polars

Scoring: TypeAlias = Literal["counts", "bradley-terry"]
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

    def kept(self, mask: Any) -> Comparisons:
        """Some of the judgments, of the same tuples and members."""
        return replace(
            self,
            **{name: getattr(self, name)[mask] for name in ("member", "best", "worst", "unit", "rater")},
        )

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
        return left_out_together(raters, np.random.default_rng(seed), LEFT_OUT_TABLES)[self.rater]

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
            "Bradley–Terry scores need the package choix", remedy="run: pip install 'vantage[scaling]', or use counts"
        ) from None


def compared(data: Judgments, by: By, worst: str) -> Iterator[tuple[dict[str, Any], Comparisons]]:
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
                yield _comparisons(part, places, question, own.get(question))


def _places(data: Any) -> list[str]:
    columns: Sequence[str]
    if hasattr(data, "with_columns_of"):
        columns = data.items.columns
    else:
        frame = to_polars(data)
        columns = [] if frame is None else frame.lazy().collect_schema().names()
    places = sorted((name for name in columns if PLACE.fullmatch(name)), key=lambda name: int(name[5:]))
    if len(places) < 2 or places != [f"item_{number}" for number in range(1, len(places) + 1)]:
        raise InputError(
            "the items are no tuples: columns item_1, item_2 … must name their members",
            remedy="make them with: vantage corpora tuples",
        )
    return places


def _comparisons(
    part: Part, places: Sequence[str], question: str, worst: str | None
) -> tuple[dict[str, Any], Comparisons]:
    asked = part.frame.filter(pl.col("question").is_in([question, worst]))
    answered = asked.filter(pl.col("value").is_not_null())
    used = answered.filter(pl.col("question") == question)
    if worst is not None:
        other = answered.filter(pl.col("question") == worst).select(*_RUN, pl.col("value").alias("__worst"))
        used = used.join(other, on=_RUN, how="inner", nulls_equal=True)
    else:
        used = used.with_columns(pl.lit(0.0).alias("__worst"))
    incomplete = len(answered) - len(used) * (2 if worst is not None else 1)
    names = pl.concat([used[place].cast(pl.String) for place in places]).drop_nulls().unique().sort().to_list()
    number = {name: place for place, name in enumerate(names)}
    member = np.array([[number.get(name, -1) for name in used[place].cast(pl.String)] for place in places]).T
    best, worse = (used[column].to_numpy().astype(np.int64) - 1 for column in ("value", "__worst"))
    for chosen in (best, worse[worse >= 0] if worst is not None else worse[:0]):
        if len(chosen) and (chosen.min() < 0 or chosen.max() >= len(places)):
            raise InputError(
                f"question '{question}' has an answer that is no place from 1 to {len(places)}",
                remedy="code the first member of a tuple as 1, the second as 2 …",
            )
    unit = used["item"].rank("dense").to_numpy().astype(np.int64) - 1
    rater = used["rater"].rank("dense").to_numpy().astype(np.int64) - 1
    row = {**part.key, "question": question, **counts(used, asked, incomplete=incomplete)}
    made = Comparisons(
        tuple(names), member.reshape(len(used), -1), best, worse, unit, int(unit.max(initial=-1)) + 1, rater
    )
    return row, made


Fit: TypeAlias = Callable[[Comparisons], Floats]
"""The scores of the members, all tuples counting alike."""


def scores(method: Scoring, prior: float) -> Fit:
    """The function that scores members."""
    return lambda made: made.statistics(method, prior)(np.ones((1, made.units)))[0]
