"""Predictions for ⟨text, user⟩ pairs, scored globally and per user, text and trait value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import polars as pl

from vantage.corpora import Corpus
from vantage.errors import InputError, Problems, nearest
from vantage.instruments import Question
from vantage.measures.ratings import Ints
from vantage.perspective.splits import Split, people_pairs, the_question
from vantage.perspective.tally import SCORES, UNDEFINED, Average, Tally, Undefined, average, pooled
from vantage.scales import show_code

Missing: TypeAlias = Literal["wrong", "left_out", "class"]
Level: TypeAlias = Literal["global", "user", "text", "trait"]

EXAMPLES: Final = 3
"""How many examples a problem names."""
_UNKNOWN: Final = ("", "UNK", "unknown")


@dataclass(frozen=True)
class Evaluation:
    """Scores of predictions at four levels; every user, text and trait value stays accessible.

    All tables have the columns `class` (a label of the scale, `macro` or `micro`), `precision`, `recall` and `f1`, and
    say on how much they rest: `support` (gold labels of the class) and `predicted`.
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

    @cached_property
    def summary(self) -> pl.DataFrame:
        """Every level and class in one table, with F1's interval, its spread between groups, and how many groups count.

        Global and trait values pool their pairs and resample users; the user and text levels average over users and
        texts and resample these.
        """
        users, texts = self._tally("rater"), self._tally("item")
        rows = self._rows({"level": "global", "trait": None}, self._pooled(users), users)
        rows += self._rows({"level": "user", "trait": None}, self._averaged(users), users)
        rows += self._rows({"level": "text", "trait": None}, self._averaged(texts), texts)
        for trait in self.traits:
            tally = self._tally(trait)
            told = self._averaged(tally, resamples=0)
            rows += self._rows({"level": "trait", "trait": trait}, told, tally)
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
        """One row per trait, value and class, with an interval of F1 over the value's users."""
        rows: list[dict[str, Any]] = []
        for trait in self.traits:
            for value in self._values(trait):
                chosen = self.pairs.filter(pl.col(trait) == value)
                tally = self._tally("rater", chosen)
                told = self._pooled(tally)
                key = {"trait": trait, "value": value, "users": len(tally.rows), "texts": chosen["item"].n_unique()}
                rows += self._rows(key, told, tally)
        return _frame(rows).drop("groups", "spread", strict=False)

    def f1(self, level: Level = "global", label: str | None = None, trait: str | None = None) -> float | None:
        """One F1: of a class by its name, or macro."""
        found = self.summary.filter(pl.col("level") == level, pl.col("class") == (label or "macro"))
        if trait is not None:
            found = found.filter(pl.col("trait") == trait)
        if found.is_empty():
            known = self.summary["class"].unique().to_list()
            raise InputError(f"there is no '{label or 'macro'}' at level {level}", remedy=nearest(str(label), known))
        value: float | None = found["f1"][0]
        return value

    def tally(self, column: str) -> tuple[list[str], Tally]:
        """The counts of each group of a column of the pairs, in the order of the groups' names."""
        return self._values(column), self._tally(column)

    def _values(self, column: str) -> list[str]:
        return [str(v) for v in self.pairs[column].drop_nulls().unique().sort()]

    def _codes(self, frame: pl.DataFrame) -> tuple[Ints, Ints]:
        labels = np.array(self.labels)
        gold = np.searchsorted(labels, frame["gold"].to_numpy()).astype(np.int64)
        value = frame["predicted"].fill_null(float("nan")).to_numpy()
        answered = np.isfinite(value)
        code = np.where(answered, np.searchsorted(labels, np.where(answered, value, labels[0])), -1)
        if self.missing == "class":
            # As a class of its own, after those of the scale.
            code = np.where(answered, code, len(labels))
        return gold, code.astype(np.int64)

    def _tally(self, column: str, frame: pl.DataFrame | None = None) -> Tally:
        frame = (self.pairs if frame is None else frame).filter(pl.col(column).is_not_null())
        gold, predicted = self._codes(frame)
        group = frame[column].rank("dense").to_numpy().astype(np.int64) - 1
        groups = int(group.max()) + 1 if len(group) else 0
        return Tally.of(gold, predicted, group, groups, len(self.names))

    def _averaged(self, tally: Tally, resamples: int | None = None) -> Average:
        wanted = self.resamples if resamples is None else resamples
        return average(tally, self.undefined, wanted, self.confidence, self.seed)

    def _pooled(self, tally: Tally) -> Average:
        # All pairs together have the classes of the whole label set, or of what occurs where the reference asks so.
        rule: Undefined = "reference" if self.undefined == "reference" else "gold"
        return pooled(tally, rule, self.resamples, self.confidence, self.seed)

    def _rows(self, key: dict[str, Any], told: Average, tally: Tally) -> list[dict[str, Any]]:
        gold = [*tally.gold.sum(axis=0), tally.rows.sum(), tally.rows.sum()]
        answered = [*tally.predicted.sum(axis=0), tally.predicted.sum(), tally.predicted.sum()]
        rows = []
        for n, name in enumerate([*self.names, "macro", "micro"]):
            scores = {score: _number(told.scores[n, s]) for s, score in enumerate(SCORES)}
            low, high = told.bounds[n]
            rest = {"low": low, "high": high, "spread": _number(told.spread[n]), "groups": int(told.groups[n])}
            rows.append(
                {**key, "class": name, **scores, **rest, "support": int(gold[n]), "predicted": int(answered[n])}
            )
        return rows

    def _each(self, column: str) -> pl.DataFrame:
        values, tally = self.tally(column)
        scores, used = tally.scored(self.undefined)
        names = [*self.names, "macro", "micro"]
        groups = len(values)
        columns: dict[str, Any] = {
            column: np.repeat(np.array(values, dtype=object), len(names)).tolist(),
            "class": names * groups,
        }
        counted = np.where(used > 0, 1.0, np.nan)
        for s, score in enumerate(SCORES):
            columns[score] = (scores[..., s] * counted).reshape(-1)
        rows = np.repeat(tally.rows[:, None], 2, axis=1)
        answered = np.repeat(tally.predicted.sum(axis=1)[:, None], 2, axis=1)
        columns["support"] = np.column_stack([tally.gold, rows]).astype(np.int64).reshape(-1)
        columns["predicted"] = np.column_stack([tally.predicted, answered]).astype(np.int64).reshape(-1)
        frame = pl.DataFrame(columns, schema_overrides={column: pl.String}, nan_to_null=True)
        return frame.with_columns(pl.col(list(SCORES)).fill_nan(None))


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
) -> Evaluation:
    """Scores predictions of what each user says of each text.

    Args:
        predictions: One row per pair: `item`, `rater` (the user), `value`; null where there was no readable answer.
        people: The split whose test set was predicted, or a corpus, of which every pair must be.
        question: Which question of a corpus; it may be left out where there is one.
        traits: Which traits to look at; all that the users of the test set differ in, unless given.
        undefined: In which groups a class counts when it is averaged over users, texts or trait values. `gold`:
            where people chose it, so that all systems are averaged over the same groups. `reference`: where it
            was chosen or predicted, as PersEval does. `zero`, `one`: everywhere, absent classes scoring so.
        missing: A pair without a prediction is `wrong` for every class, `left_out`, or a `class` of its own as
            in PersEval, where it adds a class of score 0 to macro averages.
        resamples: For the intervals; 0 for none.
        confidence: Of the intervals.
        seed: Of the resamples.

    >>> from vantage import demo_corpus
    >>> corpus = demo_corpus()
    >>> people = corpus.judgments.filter(pl.col("question") == "trust").select("item", "rater", "value")
    >>> evaluate(people, corpus, question="trust", resamples=0).f1("user")
    1.0
    """
    if undefined not in UNDEFINED:
        raise InputError(f"undefined '{undefined}' is not known", remedy=nearest(undefined, UNDEFINED))
    if missing not in ("wrong", "left_out", "class"):
        raise InputError(f"missing '{missing}' is not known", remedy="use wrong, left_out or class")
    corpus = people.corpus if isinstance(people, Split) else people
    asked = corpus.question(people.question if isinstance(people, Split) else the_question(corpus, question))
    gold = people.test if isinstance(people, Split) else people_pairs(corpus, asked.id).select("item", "rater", "value")
    if asked.scale.range is not None:
        raise InputError(f"question '{asked.id}' has a continuous scale and no classes", remedy="use vantage.accuracy")
    pairs = paired(predictions, gold, corpus, asked)
    labels = tuple(sorted(asked.scale.codes))
    known = corpus.raters.join(pairs.select("rater").unique(), on="rater", how="semi")
    chosen = _traits(known, corpus, traits, people)
    if missing == "left_out":
        pairs = pairs.filter(pl.col("predicted").is_not_null())
        if pairs.is_empty():
            raise InputError("no pair has a prediction", remedy="count missing ones as wrong")
    if chosen:
        strings = [
            pl.when(~pl.col(t).cast(pl.String).is_in(_UNKNOWN)).then(pl.col(t).cast(pl.String)).alias(t) for t in chosen
        ]
        pairs = pairs.join(known.select("rater", *strings), on="rater", how="left")
    names = [asked.scale.label(code) for code in labels]
    if missing == "class":
        names.append("no answer")
    return Evaluation(pairs, labels, tuple(names), tuple(chosen), undefined, missing, resamples, confidence, seed)


def stood_for(corpus: Corpus, question: str, **raters: str) -> pl.DataFrame:
    """Predictions from judgments of models that stood for people: one row per text and the person they stood for.

    Columns of the raters table, such as `model` or `style`, choose among several models. Of several samples the
    majority counts, the lower code where it is tied.
    """
    if "stands_for" not in corpus.raters.columns:
        raise InputError(
            "no rater of the corpus stands for a person", remedy="rate with a user: style perspective or history"
        )
    chosen = corpus.raters.filter(pl.col("stands_for").is_not_null(), **raters).select("rater", "stands_for")
    rows = corpus.judgments.filter(pl.col("question") == question).join(chosen, on="rater")
    return (
        rows.group_by("item", pl.col("stands_for").alias("rater"))
        .agg(pl.col("value").drop_nulls().mode().min().alias("value"))
        .sort("rater", "item")
    )


def paired(predictions: pl.DataFrame, gold: pl.DataFrame, corpus: Corpus, question: Question) -> pl.DataFrame:
    """Gold beside predictions; doubled, missing, unknown and unasked pairs and labels off the scale are all told."""
    for column in ("item", "rater", "value"):
        if column not in predictions.columns:
            raise InputError(f"the predictions have no column '{column}'", remedy="they need item, rater and value")
    told = predictions.select(
        pl.col("item", "rater").cast(pl.String), pl.col("value").cast(pl.Float64).fill_nan(None).alias("predicted")
    )
    problems: list[str] = []
    doubled = told.filter(told.select("item", "rater").is_duplicated())
    if len(doubled):
        many = len(doubled.unique(["item", "rater"]))
        problems.append(f"{many} pairs are predicted more than once, such as {_named(doubled)}; keep one each")
    strangers = told.join(corpus.raters, on="rater", how="anti")
    if len(strangers):
        some = ", ".join(strangers["rater"].unique().sort().head(EXAMPLES))
        problems.append(
            f"{len(strangers)} predictions are for users the corpus does not have, such as {some}; check the ids"
        )
    foreign = told.join(strangers, on="rater", how="anti").join(gold, on=["item", "rater"], how="anti")
    if len(foreign):
        problems.append(
            f"{len(foreign)} predictions are for pairs that are not in the test set, such as {_named(foreign)}"
        )
    unpredicted = gold.join(told, on=["item", "rater"], how="anti")
    if len(unpredicted):
        problems.append(
            f"{len(unpredicted)} of {len(gold)} test pairs have no prediction, such as {_named(unpredicted)}; "
            "add them, with a null value where there was no answer"
        )
    labels = sorted(question.scale.codes)
    off = told.filter(pl.col("predicted").is_not_null() & ~pl.col("predicted").is_in(labels))
    if len(off):
        problems.append(
            f"{len(off)} predictions are off the scale of question '{question.id}', such as "
            f"{show_code(off['predicted'][0])} for {_named(off.head(1))}; use {', '.join(map(show_code, labels))}, "
            "or null where there is no answer"
        )
    if problems:
        raise Problems("predictions", problems)
    return gold.rename({"value": "gold"}).join(told, on=["item", "rater"], how="left", maintain_order="left")


def _traits(known: pl.DataFrame, corpus: Corpus, wanted: Sequence[str] | None, people: Split | Corpus) -> list[str]:
    if wanted is None:
        if isinstance(people, Split) and people.users == "unnamed":
            return []
        return [t for t in corpus.traits if known[t].drop_nulls().n_unique() > 1]
    for trait in wanted:
        if trait not in corpus.traits:
            raise InputError(f"the raters have no trait '{trait}'", remedy=nearest(trait, corpus.traits))
        if known[trait].drop_nulls().n_unique() < 2:
            raise InputError(
                f"all users of the test set have the same {trait}, so it cannot tell them apart",
                remedy="leave the trait out",
            )
    return list(wanted)


def _named(frame: pl.DataFrame) -> str:
    pairs: Iterable[tuple[str, str]] = (
        frame.select("item", "rater").unique(maintain_order=True).head(EXAMPLES).iter_rows()
    )
    return ", ".join(f"'{item}' by '{rater}'" for item, rater in pairs)


def _number(value: float | np.floating[Any]) -> float | None:
    return float(value) if np.isfinite(value) else None


def _frame(rows: list[dict[str, Any]]) -> pl.DataFrame:
    floats = dict.fromkeys(("precision", "recall", "f1", "low", "high", "spread"), pl.Float64)
    strings = dict.fromkeys(("trait", "value"), pl.String)
    return pl.DataFrame(rows, schema_overrides={**floats, **strings}, infer_schema_length=None)
