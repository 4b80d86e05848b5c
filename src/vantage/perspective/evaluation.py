"""Predictions for ⟨text, user⟩ pairs, scored globally and per user, text and trait value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal, TypeAlias, get_args

import numpy as np
import polars as pl

from vantage.corpora import Corpus
from vantage.errors import InputError, nearest
from vantage.measures import Ints, Resampling
from vantage.perspective.splits import Split, differing, known_word, tested
from vantage.perspective.tally import CLOSENESS, SCORES, Average, ClassCounts, Undefined, average, paired, pooled

Missing: TypeAlias = Literal["wrong", "left_out", "class"]
Level: TypeAlias = Literal["global", "user", "text", "trait"]
Over: TypeAlias = Literal["users", "texts"]

MINIMUM: Final = 2
"""An ordered scale of more labels than this is scored by distances too."""
_UNKNOWN: Final = ("", "UNK", "unknown")


@dataclass(frozen=True)
class Evaluation:
    """Scores of predictions at four levels; every user, text and trait value stays accessible.

    All tables have the columns `class` (a label of the scale, `macro` or `micro`), `precision`, `recall` and `f1`, and
    say on how much they rest: `support` (gold labels of the class) and `predicted`. An ordered scale of more than two
    labels has the further row `closeness`, whose `f1` is 1 less the mean distance of predictions from gold, in lengths
    of the scale; an answer that is missing is as far away as can be.
    """

    pairs: pl.DataFrame
    """One row per pair: item, rater, gold, predicted, and the users' traits."""
    labels: tuple[float, ...]
    names: tuple[str, ...]
    traits: tuple[str, ...]
    undefined: Undefined
    missing: Missing
    resamples: int
    confidence: float
    seed: int
    over: Over = "users"
    """What the intervals of pooled scores (all pairs, the pairs of a trait value) resample."""
    ordered: bool = False
    """Whether distances between labels mean something, so that closeness is scored."""

    @property
    def classes(self) -> list[str]:
        """What is scored: the labels, their averages and, on an ordered scale, closeness."""
        return [*self.names, "macro", "micro", *([CLOSENESS] if self.ordered else [])]

    @property
    def resampling(self) -> Resampling:
        """How intervals are made."""
        over = "items" if self.resamples else "none"
        return Resampling(over, resamples=max(1, self.resamples), confidence=self.confidence, seed=self.seed)

    @cached_property
    def summary(self) -> pl.DataFrame:
        """Every level and class in one table, with F1's interval, its spread between groups, and how many groups count.

        Global and trait values pool their pairs and resample users, or texts where `over` says so; the user and text
        levels average over users and texts and resample these.
        """
        (_, users), (_, texts) = self.tally("rater"), self.tally("item")
        whole = self._pooled(users if self.over == "users" else texts)
        rows = self._rows({"level": "global", "trait": None}, whole, users)
        rows += self._rows({"level": "user", "trait": None}, self._averaged(users), users)
        rows += self._rows({"level": "text", "trait": None}, self._averaged(texts), texts)
        for trait in self.traits:
            _, tally = self.tally(trait)
            mean = self._averaged(tally, resamples=0)
            rows += self._rows({"level": "trait", "trait": trait}, mean, tally)
        return _frame(rows)

    @cached_property
    def users(self) -> pl.DataFrame:
        """One row per user and class."""
        return self._each("rater")

    @cached_property
    def texts(self) -> pl.DataFrame:
        """One row per text and class."""
        return self._each("item")

    @cached_property
    def trait_values(self) -> pl.DataFrame:
        """One row per trait, value and class, with an interval of F1 over the value's users, or over texts."""
        rows: list[dict[str, Any]] = []
        for trait in self.traits:
            for value in self._grouped(trait)[0]:
                users, texts = self.members(trait, value)
                tally = self.of_value(trait, value)
                key = {"trait": trait, "value": value, "users": users, "texts": texts}
                rows += self._rows(key, self._pooled(tally), tally)
        return _frame(rows).drop("groups", "spread", strict=False)

    def f1(self, level: Level = "global", label: str | None = None, trait: str | None = None) -> float | None:
        """One F1: of a class by its name, or macro."""
        rows = self.summary.filter(pl.col("level") == level, pl.col("class") == (label or "macro"))
        if trait is not None:
            rows = rows.filter(pl.col("trait") == trait)
        if rows.is_empty():
            known = self.summary["class"].unique().to_list()
            raise InputError(f"there is no '{label or 'macro'}' at level {level}", remedy=nearest(str(label), known))
        value: float | None = rows["f1"][0]
        return value

    def _repr_html_(self) -> str:
        from vantage.notebook import html

        names = ["level", "trait", "class", *SCORES, "low", "high", "support", "groups"]
        # The classes once, over all pairs; users, texts and traits by their macro averages.
        shown = self.summary.filter((pl.col("class") == "macro") | (pl.col("level") == "global")).select(names)
        note = f"{len(self.pairs):,} pairs of text and user; low and high: {self.confidence:.0%} interval of F1"
        numeric = [name not in ("level", "trait", "class") for name in names]
        return str(html.block("Evaluation", html.grid(names, shown.iter_rows(), numeric=numeric), note=note))

    def tally(self, column: str) -> tuple[list[str], ClassCounts]:
        """The counts of each group of a column of the pairs, in the order of the groups' names."""
        values, group = self._grouped(column)
        if column not in self._tallies:
            if column in self.traits:
                # Everyone has one value of a trait, so its counts are sums of those of its users.
                users = self.tally("rater")[1]
                weight = np.zeros((len(values), len(users.rows)))
                known = np.flatnonzero(self.value_of_user(column) >= 0)
                weight[self.value_of_user(column)[known], known] = 1.0
                self._tallies[column] = users.summed(weight)
            else:
                self._tallies[column] = self._counted(group, len(values))
        return values, self._tallies[column]

    def of_value(self, trait: str, value: str) -> ClassCounts:
        """The counts of a trait value: one row per user who has it or, where texts are resampled, per text."""
        place = self._grouped(trait)[0].index(value)
        if self.over == "users":
            return self.tally("rater")[1].chosen(np.flatnonzero(self.value_of_user(trait) == place))
        texts, group = self._grouped("item")
        return self._counted(group, len(texts), self._grouped(trait)[1] == place)

    def of_users(self) -> list[ClassCounts]:
        """The counts of each user, one row per text."""
        texts, group = self._grouped("item")
        users, rater = self._grouped("rater")
        return [self._counted(group, len(texts), rater == n) for n in range(len(users))]

    def _counted(self, group: Ints, groups: int, chosen: Any = slice(None)) -> ClassCounts:
        gold, predicted = self._labelled
        codes = np.array(self.labels) if self.ordered else None
        return ClassCounts.of(gold[chosen], predicted[chosen], group[chosen], groups, len(self.names), codes)

    def members(self, trait: str, value: str) -> tuple[int, int]:
        """How many users have a trait value, and how many texts they judged."""
        place = self._grouped(trait)[0].index(value)
        texts, group = self._grouped("item")
        judged = np.bincount(group[self._grouped(trait)[1] == place], minlength=len(texts))
        return int((self.value_of_user(trait) == place).sum()), int((judged > 0).sum())

    @cached_property
    def _tallies(self) -> dict[str, ClassCounts]:
        return {}

    @cached_property
    def _codes(self) -> dict[str, tuple[list[str], Ints]]:
        return {}

    def _grouped(self, column: str) -> tuple[list[str], Ints]:
        """The values of a column in order, and which of them each pair has (-1: none)."""
        if column not in self._codes:
            values = self.pairs[column].drop_nulls().unique().sort()
            index = values.to_frame().with_row_index("place")
            place = self.pairs.select(column).join(index, on=column, how="left", maintain_order="left")["place"]
            codes = place.cast(pl.Int64).fill_null(-1).to_numpy()
            self._codes[column] = ([str(value) for value in values], codes)
        return self._codes[column]

    def value_of_user(self, trait: str) -> Ints:
        """Which value of a trait each user has, in the order of the users (-1: it is not known)."""
        users, rater = self._grouped("rater")
        places = np.full(len(users), -1, dtype=np.int64)
        places[rater] = self._grouped(trait)[1]
        return places

    @cached_property
    def _labelled(self) -> tuple[Ints, Ints]:
        labels = np.array(self.labels)
        gold = np.searchsorted(labels, self.pairs["gold"].to_numpy()).astype(np.int64)
        value = self.pairs["predicted"].fill_null(float("nan")).to_numpy()
        answered = np.isfinite(value)
        code = np.where(answered, np.searchsorted(labels, np.where(answered, value, labels[0])), -1)
        if self.missing == "class":
            # As a class of its own, after those of the scale.
            code = np.where(answered, code, len(labels))
        return gold, code.astype(np.int64)

    def _averaged(self, tally: ClassCounts, resamples: int | None = None) -> Average:
        wanted = self.resamples if resamples is None else resamples
        return average(tally, self.undefined, wanted, self.confidence, self.seed)

    def _pooled(self, tally: ClassCounts) -> Average:
        # All pairs together have the classes of the whole label set, or of what occurs where the reference asks so.
        rule: Undefined = "reference" if self.undefined == "reference" else "gold"
        return pooled(tally, rule, self.resampling)

    def _rows(self, key: dict[str, Any], mean: Average, tally: ClassCounts) -> list[dict[str, Any]]:
        whole = [tally.rows.sum()] * 3, [tally.predicted.sum()] * 3
        gold, answered = [*tally.gold.sum(axis=0), *whole[0]], [*tally.predicted.sum(axis=0), *whole[1]]
        rows = []
        for n, name in enumerate(self.classes):
            known = SCORES[2:] if name == CLOSENESS else SCORES
            scores = {score: _number(mean.scores[n, s]) if score in known else None for s, score in enumerate(SCORES)}
            low, high = mean.bounds[n]
            rest = {"low": low, "high": high, "spread": _number(mean.spread[n]), "groups": int(mean.groups[n])}
            rows.append(
                {**key, "class": name, **scores, **rest, "support": int(gold[n]), "predicted": int(answered[n])}
            )
        return rows

    def _each(self, column: str) -> pl.DataFrame:
        values, tally = self.tally(column)
        scores, used = tally.scored(self.undefined)
        names, groups = self.classes, len(values)
        columns: dict[str, Any] = {
            column: np.repeat(np.array(values, dtype=object), len(names)).tolist(),
            "class": names * groups,
        }
        counted = np.where(used > 0, 1.0, np.nan)
        for s, score in enumerate(SCORES):
            columns[score] = (scores[..., s] * counted).reshape(-1)
        further = len(names) - len(self.names)
        rows = np.repeat(tally.rows[:, None], further, axis=1)
        answered = np.repeat(tally.predicted.sum(axis=1)[:, None], further, axis=1)
        columns["support"] = np.column_stack([tally.gold, rows]).astype(np.int64).reshape(-1)
        columns["predicted"] = np.column_stack([tally.predicted, answered]).astype(np.int64).reshape(-1)
        frame = pl.DataFrame(columns, schema_overrides={column: pl.String}, nan_to_null=True)
        return frame.with_columns(pl.when(pl.col("class") != CLOSENESS).then(pl.col("precision", "recall")).name.keep())


def evaluate(
    predictions: pl.DataFrame,
    people: Split | Corpus,
    *,
    question: str | None = None,
    traits: Sequence[str] | None = None,
    undefined: Undefined = "gold",
    missing: Missing = "wrong",
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
    over: Over = "users",
) -> Evaluation:
    """Scores predictions of what each user says of each text.

    `predictions` has one row per pair: `item`, `rater` (the user), `value`; null where there was no readable answer.
    `people` is the split whose test set was predicted, or a corpus. `traits` are all that the users of the test set
    differ in, unless given. `undefined` says in which groups a class counts when it is averaged: where people chose it
    (`gold`), where it was chosen or predicted (`reference`, as PersEval does), or everywhere, absent classes scoring
    `zero` or `one`. A pair without a prediction is `wrong` for every class, `left_out`, or a `class` of its own as in
    PersEval. `over` says what the intervals of pooled scores resample: `users`, to whom results are to hold for others,
    or `texts`.

    >>> from vantage import demo_corpus
    >>> corpus = demo_corpus()
    >>> people = corpus.judgments.filter(pl.col("question") == "trust").select("item", "rater", "value")
    >>> evaluate(people, corpus, question="trust", resamples=0).f1("user")
    1.0
    """
    known_word("undefined", undefined, get_args(Undefined))
    known_word("missing", missing, get_args(Missing))
    known_word("over", over, get_args(Over))
    corpus, asked, gold = tested(people, question)
    if asked.scale.range is not None:
        raise InputError(
            f"question '{asked.id}' has a continuous scale and no classes", remedy="use vantage.measures.accuracy"
        )
    pairs = paired(predictions, gold, corpus, asked)
    labels = tuple(sorted(asked.scale.codes))
    unnamed = isinstance(people, Split) and people.users == "unnamed"
    same = "all users of the test set have the same {trait}, so it cannot tell them apart"
    chosen = differing(corpus, pairs, () if traits is None and unnamed else traits, same)
    if missing == "left_out":
        pairs = pairs.filter(pl.col("predicted").is_not_null())
        if pairs.is_empty():
            raise InputError("no pair has a prediction", remedy="count missing ones as wrong")
    if chosen:
        strings = [
            pl.when(~pl.col(t).cast(pl.String).is_in(_UNKNOWN)).then(pl.col(t).cast(pl.String)).alias(t) for t in chosen
        ]
        pairs = pairs.join(corpus.raters.select("rater", *strings), on="rater", how="left")
    names = [asked.scale.label(code) for code in labels]
    if missing == "class":
        names.append("no answer")
    common = (undefined, missing, resamples, confidence, seed, over)
    return Evaluation(pairs, labels, tuple(names), chosen, *common, asked.scale.ordered and len(labels) > MINIMUM)


def stood_for(corpus: Corpus, question: str, **raters: str) -> pl.DataFrame:
    """Predictions from judgments of models that stood for people: one row per text and the person they stood for.

    Columns of the raters table, such as `model` or `style`, choose among several models. Of several samples the
    majority counts, the lower code where it is tied. Where every answer has a distribution, their mean is there too.
    """
    if "stands_for" not in corpus.raters.columns:
        raise InputError(
            "no rater of the corpus stands for a person", remedy="rate with a user: style perspective or history"
        )
    chosen = corpus.raters.filter(pl.col("stands_for").is_not_null(), **raters).select("rater", "stands_for")
    rows = corpus.judgments.filter(pl.col("question") == question).join(chosen, on="rater")
    for column in ("rater", "condition"):
        several = rows.group_by("stands_for").agg(pl.col(column).unique().sort()).filter(pl.col(column).list.len() > 1)
        if len(several):
            first = "', '".join(several[column][0].head(2))
            raise InputError(
                f"several answers stand for '{several['stands_for'][0]}' ({column} '{first}')",
                remedy=f"filter the corpus to one {column}, or choose a model or style",
            )
    answers = [pl.col("value").drop_nulls().mode().min().alias("value"), *mean_distribution(rows)]
    return rows.group_by("item", pl.col("stands_for").alias("rater")).agg(answers).sort("rater", "item")


def mean_distribution(rows: pl.DataFrame) -> list[pl.Expr]:
    """The mean of `probabilities` in a group of judgments; nothing where an answer has none."""
    if (
        "probabilities" not in rows.columns
        or rows.filter(pl.col("value").is_not_null() & pl.col("probabilities").is_null()).height
    ):
        return []
    given = pl.col("probabilities")
    lengths = range(max(rows["probabilities"].list.len().drop_nulls(), default=0))
    mean = pl.concat_list([given.list.get(n, null_on_oob=True).mean() for n in lengths]) if lengths else pl.lit(None)
    return [pl.when(given.count() > 0).then(mean).alias("probabilities")]


def _number(value: float | np.floating[Any]) -> float | None:
    return float(value) if np.isfinite(value) else None


def _frame(rows: list[dict[str, Any]]) -> pl.DataFrame:
    floats = dict.fromkeys(("precision", "recall", "f1", "low", "high", "spread"), pl.Float64)
    strings = dict.fromkeys(("trait", "value"), pl.String)
    return pl.DataFrame(rows, schema_overrides={**floats, **strings}, infer_schema_length=None)
