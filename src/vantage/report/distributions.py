"""How often each group of raters gave each answer to one question about each item, and what follows from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Final, TypeAlias

import numpy as np
import polars as pl

from vantage.corpora import Corpus
from vantage.corpora.schema import PEOPLE as PERSON_KINDS
from vantage.instruments import Question
from vantage.measures.ratings import Floats, Ints
from vantage.report.marks import Mark, mark
from vantage.scales import show_code

PEOPLE: Final = "people"
EVERYONE: Final = "all raters"
CHOSEN: Final = "chosen raters"
BINS: Final = 10
"""Answers on a slider are counted in so many equal parts."""
GROUPS: Final = 8
"""At most so many groups have a picture of their own; other raters with most judgments come first."""
PARTS: Final = 12
"""At most so many groups of one trait, those with most raters."""


Members: TypeAlias = list[tuple[str, Any]]
"""Groups of raters: a name, and for each rater whether it is one of them."""


@dataclass(frozen=True)
class AnswerCounts:
    """Counts of answers: items × groups × answers."""

    question: Question
    items: pl.Series
    groups: tuple[str, ...]
    codes: Floats
    counts: Ints
    totals: Floats
    """Sums of the answers themselves: items × groups."""
    declined: Ints
    """How many judgments of an item have no answer."""
    apart: Floats
    """Sums of the distances between each two answers of the first group; without an order, 0 or 1."""
    predicted: Floats
    """The mean distribution that a group gave, where its answers have one: items × groups × answers, or empty."""

    @classmethod
    def of(
        cls,
        corpus: Corpus,
        question: Question,
        *,
        trait: str = "",
        where: pl.Expr | None = None,
        among: Sequence[str] = (),
    ) -> AnswerCounts:
        """People first (all raters where nobody is a person), chosen ones, people by a trait, each other rater.

        Raters of one model that stand for people are a group. `where` says which judgments are counted.
        """
        asked = pl.col("question") == question.id
        if where is not None:
            asked &= where
        items, raters = corpus.items["item"], corpus.raters
        # Everything is counted by number: hashing two columns once is dearer than all that follows.
        numbers = [
            pl.col(name).cast(pl.Enum(known)).to_physical().cast(pl.Int64)
            for name, known in (("item", items), ("rater", raters["rater"]))
        ]
        chances = [name for name in ("probabilities",) if name in corpus.judgments.columns]
        rows = corpus.judgments.lazy().filter(asked).select(*numbers, "value", *chances).collect()
        place, who, value = rows["item"].to_numpy(), rows["rater"].to_numpy(), rows["value"].to_numpy()
        times = np.bincount(who, minlength=len(raters))
        is_person = raters["kind"].cast(pl.String).is_in(PERSON_KINDS).to_numpy()
        first = is_person if times[is_person].any() else np.ones(len(raters), dtype=bool)
        members: Members = [(PEOPLE if times[is_person].any() else EVERYONE, first)]
        if among:
            members.append((CHOSEN, raters["rater"].is_in(list(among)).to_numpy()))
        if trait:
            members += [(f"{trait} = {name}", is_person & mine) for name, mine in trait_groups(corpus, trait)]
        others = [at for at in np.argsort(-times, kind="stable") if not is_person[at] and times[at]]
        system = raters["rater"]
        if {"stands_for", "model"} <= set(raters.columns):  # a model that answers for people is one system
            many = pl.col("stands_for").is_not_null() & pl.col("model").is_not_null()
            named = pl.when(many).then(pl.format("{} for users", "model")).otherwise("rater")
            system = raters.select(named.alias("rater"))["rater"]
        names = list(dict.fromkeys(system[int(at)] for at in others))[: max(GROUPS - len(members), 0)]
        members += [(name, ~is_person & (system == name).to_numpy()) for name in names]
        codes, _, _ = answers_of(question)
        column = answer_places(value, question, codes)
        shape = (len(items), len(members), len(codes))
        counts, sums = np.zeros(shape, dtype=np.int64), np.zeros(shape[:2])
        given = np.isfinite(value)
        for at, (_, group) in enumerate(members):
            mine = given & group[who]
            cells = np.bincount(place[mine] * shape[2] + column[mine], minlength=shape[0] * shape[2])
            counts[:, at] = cells.reshape(shape[0], shape[2])
            sums[:, at] = np.bincount(place[mine], value[mine], minlength=shape[0])
        declined = np.bincount(place[~given], minlength=shape[0])
        groups = tuple(name for name, _ in members)
        shares = np.empty((0, len(members), len(codes)))
        if chances and not question.scale.slides and (sure := _have(rows["probabilities"], len(codes))).any():
            shares = _mean_distribution(rows["probabilities"].filter(sure), place[sure], who[sure], members, shape)
        mine = given & first[who]
        n = counts[:, 0].sum(axis=1)
        unlike = np.asarray((n * (n - 1) - (counts[:, 0] * (counts[:, 0] - 1)).sum(axis=1)) / 2.0)
        apart = _pairs(place[mine], value[mine], len(items)) if question.scale.ordered else unlike
        return cls(question, items, groups, codes, counts, sums, declined, apart, shares)

    def first(self, name: str) -> AnswerCounts:
        """The first group alone, under another name."""
        parts = {part: getattr(self, part)[:, :1] for part in ("counts", "totals", "predicted")}
        return replace(self, groups=(name,), **parts)

    @cached_property
    def n(self) -> Ints:
        """How many answers each group gave: items × groups."""
        return np.asarray(self.counts.sum(axis=2))

    @cached_property
    def means(self) -> Floats:
        """The mean answer of each group, or what it expects; not a number where it gave none."""
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = np.asarray(self.totals / self.n)
        return np.where(np.isnan(self.shares[:, :, 0]), mean, self.shares @ self.codes) if len(self.predicted) else mean

    @cached_property
    def shares(self) -> Floats:
        """The distribution of each group: the one it gave, or that of its answers; not a number without any."""
        n = self.n[:, :, None]
        given = np.divide(self.counts, n, out=np.full(self.counts.shape, np.nan), where=n > 0)
        return np.where(np.isnan(self.predicted), given, self.predicted) if len(self.predicted) else given

    @cached_property
    def disagreement(self) -> Floats:
        """The mean distance between the answers of two people, as a share of the scale; without an order, 0 or 1."""
        low, high = self.question.scale.ends if self.question.scale.ordered else (0.0, 1.0)
        n = self.n[:, 0]
        pairs = n * (n - 1) / 2 * ((high - low) or 1.0)
        return np.asarray(np.divide(self.apart, pairs, out=np.full(len(n), np.nan), where=n > 1))

    def distance(self, group: int) -> Floats:
        """How far a group's distribution is from the first's (Wasserstein), as a share of the scale, or what moved."""
        one, two = self.shares[:, 0, :], self.shares[:, group, :]
        if self.question.scale.ordered:
            order = np.argsort(self.codes)
            low, high = self.question.scale.ends
            steps = np.diff(self.codes[order]) / ((high - low) or 1.0)
            apart = np.abs(np.cumsum((one - two)[:, order], axis=1)[:, :-1]) @ steps
        else:
            apart = np.abs(one - two).sum(axis=1) / 2
        return np.asarray(apart)

    def picture(self, place: int) -> list[dict[str, Any]]:
        """The distribution of each group that answered about an item: how often, and `shares` that it gave itself."""
        drawn = []
        for at, name in enumerate(self.groups):
            if self.counts[place, at].any():
                one = {"group": name, "counts": self.counts[place, at].tolist(), "mean": number(self.means[place, at])}
                given = self.predicted[place, at] if len(self.predicted) else np.array([np.nan])
                drawn.append(one if np.isnan(given).any() else {**one, "shares": given.round(4).tolist()})
        return drawn


def _pairs(place: Ints, value: Floats, items: int) -> Floats:
    """Sums of all differences of two answers to an item: each answer counts by how many lie below and above it."""
    order = np.lexsort([value, place])
    place, value = place[order], value[order]
    n = np.bincount(place, minlength=items)
    rank = np.arange(len(place)) - (np.cumsum(n) - n)[place]
    return np.asarray(np.bincount(place, (2.0 * rank - (n[place] - 1)) * value, minlength=items), dtype=np.float64)


def shares_of(answers: pl.DataFrame, question: Question) -> list[pl.Series]:
    """The share that each judgment gives each answer, and its value: of a distribution, what it expects."""
    codes = answers_of(question)[0]
    shares = np.eye(len(codes))[answer_places(answers["value"].to_numpy(), question, codes)]
    value = answers["value"].to_numpy().copy()
    if "probabilities" in answers.columns and not question.scale.slides:
        there = _have(answers["probabilities"], len(codes))
        given = _chances(answers["probabilities"].filter(there), len(codes))
        shares[there], value[there] = given, given @ codes
    return [pl.Series("shares", shares), pl.Series("value", value)]


def _have(given: pl.Series, k: int) -> Any:
    """Which judgments have a distribution over all answers."""
    return (given.list.len() >= k).fill_null(False).to_numpy()


def _chances(given: pl.Series, k: int) -> Floats:
    """Distributions over the answers, without opt-outs, which stand behind."""
    chances = np.array(given.list.head(k).to_list(), dtype=np.float64).reshape(len(given), k)
    return np.asarray(chances / np.maximum(chances.sum(axis=1, keepdims=True), 1e-12))


def _mean_distribution(given: pl.Series, place: Ints, who: Ints, members: Members, shape: tuple[int, ...]) -> Floats:
    """The mean of the distributions that each group gave of each item."""
    chances, mean = _chances(given, shape[2]), np.full(shape, np.nan)
    for at, (_, group) in enumerate(members):
        mine = group[who]
        times = np.bincount(place[mine], minlength=shape[0])
        sums = [np.bincount(place[mine], column, minlength=shape[0]) for column in chances[mine].T]
        mean[times > 0, at] = np.column_stack(sums)[times > 0] / times[times > 0, None]
    return mean


def trait_groups(corpus: Corpus, trait: str) -> Members:
    """The raters of each group of a trait, in its order, or those with most raters first; of numbers, three parts."""
    column, scale = corpus.raters[trait], corpus.trait_scales[trait]
    groups: list[tuple[str, pl.Series]] = []
    if scale.level == "numeric":
        number, below = column.cast(pl.Float64), -np.inf
        thirds = [number.quantile(share, "lower") for share in (1 / 3, 2 / 3, 1)]
        for top in sorted({float(end) for end in thirds if end is not None}):
            mine = (number > below) & (number <= top)
            low, below = float(number.filter(mine).to_numpy().min()), top
            groups.append((f"{low:g} to {top:g}" if low != top else f"{top:g}", mine))
    else:
        text = column.cast(pl.String)
        sizes = text.drop_nulls().alias("value").value_counts().sort("count", "value", descending=[True, False])
        place = {name: at for at, name in enumerate(scale.order)}
        names = sorted(sizes["value"].head(PARTS), key=lambda name: place.get(name, len(place)))
        groups = [(name, text == name) for name in names]
    return [(name, mine.fill_null(value=False).to_numpy()) for name, mine in groups]


def answers_of(question: Question) -> tuple[Floats, tuple[str, ...], tuple[str, ...]]:
    """Codes, names and short names of the answers to a question; of equal parts of what slides."""
    scale = question.scale
    if not scale.slides:
        names = tuple(option.name for option in scale.options)
        return np.array(scale.codes), names, tuple(map(show_code, scale.codes)) if scale.ordered else names
    low, high = scale.ends
    edges = np.linspace(low, high, BINS + 1)
    ends = [show_code(round(float(edge), 2)) for edge in edges]
    names = tuple(f"{one} to {other}" for one, other in pairwise(ends))
    return (edges[:-1] + edges[1:]) / 2, names, names


def counted_answers(corpus: Corpus) -> Iterator[tuple[Question, AnswerCounts]]:
    """The questions that two raters or more answered about some item, with their answers by item."""
    for question in corpus.questions:
        if question.scale.codes or question.scale.slides:
            counts = AnswerCounts.of(corpus, question)
            if (counts.n[:, 0] > 1).any():
                yield question, counts


def text_of_items(corpus: Corpus) -> dict[str, str]:
    """The text of each item that is not `hidden`, with its target where it has one."""
    items = corpus.with_texts().items
    if "text" not in items.columns:
        return {}
    if items.schema.get("hidden") == pl.Boolean:
        items = items.filter(~pl.col("hidden").fill_null(value=False))
    text = pl.col("text").fill_null(pl.col("item")).cast(pl.String)
    if "target" in items.columns:
        about = pl.format("{} [about {}]", text, pl.col("target").cast(pl.String))
        text = pl.when(pl.col("target").is_null()).then(text).otherwise(about)
    return dict(items.select("item", text.alias("text")).iter_rows())


def answer_mark(question: Question, values: Floats) -> Mark:
    """The mark of some answers to a question."""
    codes, _, ticks = answers_of(question)
    return mark(ticks, np.bincount(answer_places(values, question, codes), minlength=len(codes)).tolist())


def answer_places(value: Floats, question: Question, codes: Floats) -> Ints:
    """The answer, or the part of a continuous scale, that each value is; of those missing, the first."""
    filled = np.nan_to_num(value)
    if not question.scale.slides:
        order = np.argsort(codes)
        return np.asarray(order[np.clip(np.searchsorted(codes[order], filled), 0, len(codes) - 1)])
    low, high = question.scale.ends
    return np.clip(((filled - low) / (high - low) * BINS).astype(np.int64), 0, BINS - 1)


def number(value: float) -> float | None:
    """A number, or null where it is none."""
    return float(value) if np.isfinite(value) else None
