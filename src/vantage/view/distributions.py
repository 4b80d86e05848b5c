"""How often each group of raters gave each answer to one question about each item, and what follows from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.corpora import Corpus
from vantage.corpora.schema import PEOPLE as PERSON_KINDS
from vantage.instruments import Question
from vantage.measures.ratings import Floats, Ints
from vantage.scales import show_code

PEOPLE: Final = "people"
EVERYONE: Final = "all raters"
BINS: Final = 11
"""Answers of a continuous scale are counted in so many equal parts."""
GROUPS: Final = 8
"""At most so many groups have a picture of their own; those with most judgments come first."""


@dataclass(frozen=True, slots=True)
class Distributions:
    """Counts of answers: items × groups × answers."""

    question: Question
    items: pl.Series
    groups: tuple[str, ...]
    labels: tuple[str, ...]
    codes: Floats
    counts: Ints
    totals: Floats
    """Sums of the answers themselves: items × groups."""
    declined: Ints
    """How many judgments of an item have no answer."""

    @classmethod
    def of(cls, corpus: Corpus, question: Question, *, trait: str = "", condition: str | None = None) -> Distributions:
        """People first (all raters where nobody is a person), then people by a trait, then each other rater."""
        rows = corpus.judgments.lazy().filter(pl.col("question") == question.id)
        if condition is not None:
            rows = rows.filter(pl.col("condition") == condition)
        person = pl.col("kind").cast(pl.String).is_in(PERSON_KINDS)
        traits = [pl.format("{} = {}", pl.lit(trait), pl.col(trait).cast(pl.String)).alias("trait")] if trait else []
        raters = corpus.raters.lazy().select("rater", person.alias("person"), *traits)
        items = corpus.items["item"]
        numbered = pl.LazyFrame({"item": items}).with_row_index("place")
        each = rows.select("item", "rater", "value").join(raters, on="rater")
        people = each.filter("person").with_columns(pl.lit(PEOPLE).alias("group"))
        parts = [people, each.filter(~pl.col("person")).with_columns(pl.col("rater").alias("group"))]
        if trait:
            parts.insert(1, each.filter("person", pl.col("trait").is_not_null()).with_columns(group="trait"))
        tallied = [part.group_by("item", "group", "value").len().join(numbered, on="item") for part in parts]
        counted = pl.collect_all(tallied)
        if counted[0].is_empty() and len(counted[1]):
            pooled = counted[-1].group_by("item", "value", "place").agg(pl.col("len").sum())
            counted[0] = pooled.with_columns(pl.lit(EVERYONE).alias("group")).select(counted[-1].columns)
        order = [name for part in counted for name in _by_size(part)]
        judged = pl.concat(counted)
        scale = question.scale
        codes, labels, _ = answers_of(question)
        groups = tuple(order[:GROUPS])
        given = judged.filter(pl.col("value").is_not_null(), pl.col("group").is_in(groups))
        value = given["value"].to_numpy()
        if scale.options:
            column = np.searchsorted(np.sort(codes), value)
            column = np.argsort(codes)[np.clip(column, 0, len(codes) - 1)]
        else:
            low, high = scale.ends
            column = np.clip(((value - low) / (high - low) * BINS).astype(np.int64), 0, BINS - 1)
        place = given["place"].to_numpy().astype(np.int64)
        at = np.array([groups.index(name) for name in given["group"]], dtype=np.int64)
        times = given["len"].to_numpy().astype(np.float64)
        cells = (len(items), len(groups), len(codes))
        flat = (place * len(groups) + at) * len(codes) + column
        counts = np.bincount(flat, times, minlength=int(np.prod(cells))).astype(np.int64).reshape(cells)
        sums = np.bincount(place * len(groups) + at, times * value, minlength=len(items) * len(groups))
        none = pl.concat([counted[0], counted[-1]] if PEOPLE in groups else [counted[0]])
        none = none.filter(pl.col("value").is_null())
        weights = none["len"].to_numpy().astype(np.float64)
        declined = np.bincount(none["place"].to_numpy(), weights, minlength=len(items)).astype(np.int64)
        return cls(question, items, groups, labels, codes, counts, sums.reshape(cells[:2]), declined)

    @property
    def n(self) -> Ints:
        """How many answers each group gave: items × groups."""
        return np.asarray(self.counts.sum(axis=2))

    @property
    def means(self) -> Floats:
        """The mean answer of each group; not a number where it gave none."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(self.totals / self.n)

    def disagreement(self) -> Floats:
        """The mean distance between the answers of two people: steps of the scale, or the share that differ."""
        people = self.counts[:, 0, :].astype(np.float64) if self.groups else np.zeros((len(self.items), 1))
        n = people.sum(axis=1)
        apart = np.einsum("ic,cd,id->i", people, self._distances(), people, optimize=True)
        return np.divide(apart, n * (n - 1), out=np.full(len(n), np.nan), where=n > 1)

    def ambiguity(self) -> Floats:
        """The entropy of people's answers, from 0 (all alike) to 1 (all answers equally often)."""
        people = self.counts[:, 0, :] if self.groups else np.zeros((len(self.items), 2))
        n = people.sum(axis=1, keepdims=True)
        shares = np.divide(people, n, out=np.zeros(people.shape), where=n > 0)
        logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
        entropy = -(shares * logs).sum(axis=1) / np.log(max(people.shape[1], 2))
        return np.where(n[:, 0] > 1, entropy, np.nan)

    def distance(self, group: int) -> Floats:
        """How far a group's distribution is from the first's: steps of the scale (Wasserstein), or the share moved."""
        n = self.n
        both = (n[:, 0] > 0) & (n[:, group] > 0)
        shares = np.divide(self.counts, n[:, :, None], out=np.zeros(self.counts.shape), where=n[:, :, None] > 0)
        one, two = shares[:, 0, :], shares[:, group, :]
        if self.question.scale.ordered:
            order = np.argsort(self.codes)
            steps = np.diff(self.codes[order])
            apart = np.abs(np.cumsum((one - two)[:, order], axis=1)[:, :-1]) @ steps
        else:
            apart = np.abs(one - two).sum(axis=1) / 2
        return np.where(both, apart, np.nan)

    def _distances(self) -> Floats:
        if self.question.scale.ordered:
            return np.asarray(np.abs(self.codes[:, None] - self.codes[None, :]))
        return np.asarray(1.0 - np.eye(len(self.codes)))

    def picture(self, place: int) -> list[dict[str, Any]]:
        """The distribution of each group that answered about an item."""
        return [
            {"group": name, "counts": self.counts[place, at].tolist(), "mean": _number(self.means[place, at])}
            for at, name in enumerate(self.groups)
            if self.counts[place, at].any()
        ]


def answers_of(question: Question) -> tuple[Floats, tuple[str, ...], tuple[str, ...]]:
    """Codes, names and short names of the answers to a question; of equal parts on a continuous scale."""
    scale = question.scale
    if scale.options:
        names = tuple(option.name for option in scale.options)
        return np.array(scale.codes), names, tuple(map(show_code, scale.codes)) if scale.ordered else names
    low, high = scale.ends
    edges = np.linspace(low, high, BINS + 1)
    middles = (edges[:-1] + edges[1:]) / 2
    names = tuple(show_code(round(float(middle), 2)) for middle in middles)
    return middles, names, names


def _by_size(counted: pl.DataFrame) -> list[str]:
    """Groups, those with most judgments first."""
    sizes = counted.group_by("group").agg(pl.col("len").sum()).sort("len", "group", descending=[True, False])
    return sizes["group"].to_list()


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
