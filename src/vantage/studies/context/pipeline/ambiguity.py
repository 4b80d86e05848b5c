"""Ambiguity of single items: how answers are spread, among people, among simulated readers, and as words foretell it.

A spread has one share for each option of the scale and one for each opt-out, in the order in which a model is shown
them. From it come the entropy (Shannon 1948), the share of "ambiguous", and the doubt: the share of answers that are
not the most frequent option. The methods that need no model are those that a model has to beat; those that learn from
people's votes never see the votes of the item that they judge, nor those of the same text under another id.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
import polars as pl
from scipy.special import entr

from vantage.corpora import Corpus
from vantage.errors import InputError, nearest
from vantage.instruments import Question
from vantage.measures.ratings import Floats, Ints
from vantage.raters.answers import choices
from vantage.raters.prompts import RELEVANT
from vantage.raters.trained.folds import grouped_folds
from vantage.raters.trained.linear import LinearSettings, Vocabulary
from vantage.scales import Scale
from vantage.studies.context.pipeline.controls import STATIC
from vantage.studies.context.pipeline.simulation import Cost, Simulation

Score = Literal["entropy", "ambiguous", "doubt"]
Base = Literal["nats", "bits", "k"]
NONE_RELEVANT: Final = "the item is relevant to none of the personas"
NO_ANSWER: Final = "none of the replies is an answer"
NO_OPTION: Final = "every answer is an opt-out"
_NOTHING: Final = pl.lit(None, dtype=pl.String)


@dataclass(frozen=True, slots=True)
class Spread:
    """How the ambiguity of an item is read off its answers.

    Args:
        score: `entropy` of the answers, the share of `ambiguous`, or the `doubt`.
        base: The logarithm of the entropy: natural, 2, or the number of answers, which makes scales comparable (0 is
            unanimity, 1 an even spread).
        opt_outs: Whether "ambiguous" is an answer like the others inside the entropy and the divergence.
    """

    score: Score = "entropy"
    base: Base = "k"
    opt_outs: bool = True

    def __post_init__(self) -> None:
        if self.score not in ("entropy", "ambiguous", "doubt"):
            raise InputError(f"there is no score '{self.score}'", remedy="use entropy, ambiguous or doubt")
        if self.base not in ("nats", "bits", "k"):
            raise InputError(f"there is no base '{self.base}'", remedy="use nats, bits or k")

    def of(self, shares: Floats, scale: Scale) -> Floats:
        """The score of every row of shares; not a number where it is not defined.

        >>> from vantage import Instrument
        >>> scale = Instrument.load("sarcasm").questions[0].scale
        >>> shares = np.array([[0.5, 0.5, 0.0], [0.2, 0.2, 0.6], [1.0, 0.0, 0.0]])
        >>> Spread(opt_outs=False).of(shares, scale).round(2).tolist()
        [1.0, 1.0, 0.0]
        >>> Spread("ambiguous").of(shares, scale).tolist()
        [0.0, 0.6, 0.0]
        >>> Spread("doubt").of(shares, scale).tolist()
        [0.5, 0.8, 0.0]
        """
        options = len(scale.options)
        if self.score == "ambiguous":
            statuses = [out.status for out in scale.opt_outs]
            if "ambiguous" not in statuses:
                raise InputError("the scale has no answer 'ambiguous'", remedy="use the entropy or the doubt")
            return np.asarray(shares[:, options + statuses.index("ambiguous")], dtype=np.float64)
        if self.score == "doubt":
            return np.asarray(1.0 - shares[:, :options].max(axis=1), dtype=np.float64)
        return entropy(counted(shares, scale, opt_outs=self.opt_outs), self.base)


def counted(shares: Floats, scale: Scale, *, opt_outs: bool) -> Floats:
    """Shares of the answers that count: all of them, or the options alone, which then add up to 1."""
    if opt_outs:
        return shares
    options = shares[:, : len(scale.options)]
    total = options.sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(total > 0, options / np.where(total > 0, total, 1.0), np.nan)


def entropy(shares: Floats, base: Base = "nats") -> Floats:
    """Shannon entropy of every row, −Σ p log p (Shannon 1948).

    >>> entropy(np.array([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]]), "bits").tolist()
    [1.0, 0.0]
    """
    divisor = {"nats": 1.0, "bits": np.log(2.0), "k": np.log(max(shares.shape[1], 2))}[base]
    return np.asarray(entr(shares).sum(axis=1) / divisor, dtype=np.float64)


@dataclass(frozen=True)
class Detected:
    """What a method says about the ambiguity of items.

    Args:
        method: The method's name.
        table: One row per item: `item`, `score`, `shares` (null where the method has no distribution), `reason` where
            there is no score, and for personas `asked` and `relevant`, how many were asked and answered.
        cost: What it took; null for a method without a model.
        readers: The ids of the simulated readers.
    """

    method: str
    table: pl.DataFrame
    cost: Cost | None = None
    readers: tuple[str, ...] = ()

    @property
    def unscored(self) -> dict[str, int]:
        """How many items have no score, by reason."""
        lost = self.table.filter(pl.col("score").is_null())
        return dict(lost.group_by("reason").len().sort("reason").iter_rows())


def detected(simulation: Simulation, spread: Spread | None = None) -> Detected:
    """The ambiguity of every item as simulated readers see it: their answers pooled, then one score.

    Every answer counts the same, so a persona that answered more often weighs more; a scored persona counts as one
    answer. An item that is relevant to no persona has no score and says so.

    Args:
        simulation: What they answered.
        spread: How the score is read off the answers.
    """
    how, question = spread or Spread(), simulation.question
    judgments = simulation.corpus.judgments.filter(pl.col("rater").is_in(simulation.raters))
    answers = pooled(judgments.filter(pl.col("question") == question.id), question.scale)
    table = simulation.corpus.items.select("item").join(answers, on="item", how="left", maintain_order="left")
    gate = judgments.filter(pl.col("question").str.ends_with("-relevance"))
    level = pl.col("expected").fill_null(pl.col("value")) if "expected" in gate.columns else pl.col("value")
    counts = gate.group_by("item").agg(
        pl.col("rater").n_unique().alias("asked"),
        pl.col("rater").filter(level >= RELEVANT).n_unique().alias("relevant"),
    )
    tallied = table.join(counts, on="item", how="left", maintain_order="left")
    answered = pl.lit(gate.is_empty()) | (pl.col("relevant") > 0)
    reason = pl.when(answered).then(pl.lit(NO_ANSWER)).otherwise(pl.lit(NONE_RELEVANT))
    return Detected(
        simulation.method, scored(tallied, question.scale, how, reason), simulation.cost, tuple(simulation.raters)
    )


def scored(table: pl.DataFrame, scale: Scale, spread: Spread, reason: pl.Expr = _NOTHING) -> pl.DataFrame:
    """A table of items and shares with a `score`, and a `reason` where there is none."""
    known = table.filter(pl.col("shares").is_not_null())
    values = spread.of(shares_of(known), scale) if len(known) else np.empty(0)
    scores = known.select("item").with_columns(pl.Series("score", values, dtype=pl.Float64).fill_nan(None))
    joined = table.join(scores, on="item", how="left", maintain_order="left")
    why = pl.when(pl.col("shares").is_not_null()).then(pl.lit(NO_OPTION)).otherwise(reason)
    return joined.with_columns(pl.when(pl.col("score").is_null()).then(why).alias("reason"))


def votes(
    corpus: Corpus,
    question: Question,
    *,
    condition: str | None = STATIC,
    kinds: Sequence[str] = ("person", "slot"),
) -> pl.DataFrame:
    """How people answered each item: `item`, `shares`, `votes`, `entropy` (of base k), `ambiguity` and `doubt`.

    Shares include opt-outs. Refused and unreadable answers are no votes. Items without votes are not in the table.

    Args:
        corpus: Items, raters and judgments.
        question: The question.
        condition: Under which circumstances; null for any.
        kinds: The kinds of raters that are people.
    """
    judges = corpus.raters.filter(pl.col("kind").cast(pl.String).is_in(list(kinds)))
    rows = corpus.judgments.filter(pl.col("question") == question.id).join(judges, on="rater", how="semi")
    if condition is not None:
        rows = rows.filter(pl.col("condition") == condition)
    table = pooled(rows, question.scale).rename({"answers": "votes"}).drop_nulls("shares").sort("item")
    shares = shares_of(table) if len(table) else np.empty((0, len(choices(question.scale))))
    columns: dict[str, Spread] = {"entropy": Spread(), "doubt": Spread("doubt")}
    if any(out.status == "ambiguous" for out in question.scale.opt_outs):
        columns["ambiguity"] = Spread("ambiguous")
    spreads = {name: spread.of(shares, question.scale) for name, spread in columns.items()}
    return table.with_columns(pl.Series(name, values, dtype=pl.Float64) for name, values in spreads.items())


def shares_of(table: pl.DataFrame) -> Floats:
    """The column `shares` as an array, one row per item."""
    return np.array(table["shares"].to_list(), dtype=np.float64)


def pooled(judgments: pl.DataFrame, scale: Scale, by: Sequence[str] = ("item",)) -> pl.DataFrame:
    """One row per item, or item and rater: the shares of answers and their number; scored ones count with chances."""
    answers = choices(scale)
    if not answers:
        raise InputError("the scale is continuous, so answers do not fall into categories", remedy="choose another")
    chances = pl.lit(None, dtype=pl.List(pl.Float64))
    if "probabilities" in judgments.columns:
        chances = pl.col("probabilities")
    status = pl.col("status").cast(pl.String)
    masses = []
    for place, answer in enumerate(answers):
        same = (
            (pl.col("value") == answer.value).fill_null(False)
            if answer.value is not None
            else pl.col("value").is_null() & (status == answer.status)
        )
        mass = (
            pl.when(chances.is_not_null())
            .then(chances.list.get(place, null_on_oob=True))
            .otherwise(same.cast(pl.Float64))
        )
        masses.append(mass.sum().alias(f"__{place}"))
    total = pl.sum_horizontal(f"__{place}" for place in range(len(answers)))
    share = pl.concat_list([pl.col(f"__{place}") / total for place in range(len(answers))])
    return (
        judgments.group_by(*by, maintain_order=True)
        .agg(*masses)
        .select(*by, pl.when(total > 0).then(share).alias("shares"), total.round().cast(pl.Int64).alias("answers"))
    )


SURFACE: Final = ("constant", "length", "words", "words-doubt")
"""The methods: everyone's average answer; short texts first; the entropy of the answers that words predict; the doubt
that words predict."""
NO_TEXT: Final = "the item has no text"
_WORDS: Final = LinearSettings(characters=None)


def by_surface(
    items: pl.DataFrame,
    votes: pl.DataFrame,
    scale: Scale,
    method: str,
    *,
    spread: Spread | None = None,
    folds: int = 5,
    seed: int = 0,
) -> Detected:
    """The ambiguity of items by a method that needs no model.

    Args:
        items: The items, with their `text`.
        votes: How people answered them (`vantage.studies.context.pipeline.votes`); items without votes are left out.
        scale: The scale of the question.
        method: A name in `SURFACE`.
        spread: How the score is read off predicted answers.
        folds: Into how many parts the texts are divided; each is judged by what was learned from the others.
        seed: The seed of the folds.

    >>> from vantage import Instrument
    >>> scale = Instrument.load("sarcasm").questions[0].scale
    >>> items = pl.DataFrame({"item": ["a", "b"], "text": ["Great.", "The bus comes at nine."]})
    >>> votes = pl.DataFrame({"item": ["a", "b"], "shares": [[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]], "doubt": [0.5, 0.0]})
    >>> by_surface(items, votes, scale, "length").table.select("item", "score").rows()
    [('a', -1.0), ('b', -5.0)]
    """
    if method not in SURFACE:
        raise InputError(f"there is no method of detection '{method}'", remedy=nearest(method, SURFACE))
    table = votes.select("item", pl.col("shares").alias("told"), "doubt").join(
        items.select("item", "text"), on="item", how="inner", maintain_order="left"
    )
    legible = pl.col("text").str.strip_chars().str.len_chars().fill_null(0) > 0
    known, lost = table.filter(legible), table.filter(~legible)
    if len(known) < folds and method != "length":
        raise InputError(
            f"{len(known)} items with votes are too few for {folds} folds", remedy="give more votes or fewer folds"
        )
    scores = _FOUND[method](known, folds, seed)
    if scores.ndim == 2:
        shares = known.select("item", shares=pl.Series(scores.tolist(), dtype=pl.List(pl.Float64)))
        result = scored(shares, scale, spread or Spread())
        if method == "constant":
            # Folds differ by a hair in their average, which must not order the items.
            result = result.with_columns(pl.col("score").mean())
    else:
        result = known.select("item", score=pl.Series(scores))
    empty = lost.select("item", pl.lit(NO_TEXT).alias("reason"))
    schema: dict[str, Any] = {"item": pl.String, "shares": pl.List(pl.Float64)}
    schema |= {"score": pl.Float64, "reason": pl.String}
    whole = pl.concat([pl.DataFrame(schema=schema), result, empty], how="diagonal_relaxed")
    return Detected(method, whole.select(*schema))


def _constant(table: pl.DataFrame, folds: int, seed: int) -> Floats:
    """The average answer to the items of the other folds."""
    shares, fold = _shares_and_folds(table, folds, seed)
    return np.array([shares[fold != one].mean(axis=0) for one in fold])


def _length(table: pl.DataFrame, folds: int, seed: int) -> Floats:
    """Short texts say less: minus the number of words."""
    return -np.array([len(text.split()) for text in table["text"]], dtype=np.float64)


def _words(table: pl.DataFrame, folds: int, seed: int) -> Floats:
    """The shares of the answers, as logistic regression on TF-IDF weights of words and pairs of words predicts them."""
    from sklearn.linear_model import LogisticRegression

    shares, fold = _shares_and_folds(table, folds, seed)
    predicted = np.zeros_like(shares)
    for train, test, learned, asked in _parts(table, fold, folds):
        used = np.flatnonzero(shares[train].sum(axis=0) > 0)
        if len(used) < 2:
            predicted[np.ix_(test, used)] = 1.0
            continue
        # One row for each answer to a text, weighted by how many gave it.
        row, answer = np.nonzero(shares[np.ix_(train, used)])
        model = LogisticRegression(C=1.0, max_iter=1000)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(learned[row], answer, sample_weight=shares[np.ix_(train, used)][row, answer])
        predicted[np.ix_(test, used)] = model.predict_proba(asked)
    return predicted


def _words_doubt(table: pl.DataFrame, folds: int, seed: int) -> Floats:
    """The doubt, as ridge regression on the same weights predicts it."""
    from sklearn.linear_model import Ridge

    _, fold = _shares_and_folds(table, folds, seed)
    doubt, predicted = table["doubt"].to_numpy(), np.zeros(len(table))
    for train, test, learned, asked in _parts(table, fold, folds):
        predicted[test] = Ridge(alpha=1.0).fit(learned, doubt[train]).predict(asked)
    return predicted


def _shares_and_folds(table: pl.DataFrame, folds: int, seed: int) -> tuple[Floats, Ints]:
    fold = grouped_folds(table["text"].to_list(), folds, seed)
    return shares_of(table.rename({"told": "shares"})), np.asarray(fold, dtype=np.int64)


def _parts(table: pl.DataFrame, fold: Ints, folds: int) -> Iterator[tuple[Ints, Ints, Any, Any]]:
    """For each fold: the places to learn from and to judge, and the TF-IDF weights of both."""
    for one in range(folds):
        train, test = np.flatnonzero(fold != one), np.flatnonzero(fold == one)
        known, asked = (table["text"].gather(places).to_list() for places in (train, test))
        vocabulary = Vocabulary.fit(known, _WORDS)
        yield train, test, vocabulary(known), vocabulary(asked)


_FOUND: Final = {"constant": _constant, "length": _length, "words": _words, "words-doubt": _words_doubt}
