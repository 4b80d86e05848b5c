"""Ambiguity of single items: how answers are spread, how well that is known, and what words alone tell of it.

A spread has a share for each option and each opt-out, in the order in which a model is shown them. From it come the
entropy (Shannon 1948), divided by that of an even spread so that scales can be compared, the share of "ambiguous", and
the doubt: the share of answers that are not the most frequent option. Methods without a model are what a model has to
beat; those that learn from votes never see the votes on the item they judge, nor on the same text under another id.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import polars as pl
from scipy.special import entr, polygamma, psi

from vantage.corpora import Corpus
from vantage.errors import InputError, nearest
from vantage.instruments import Question
from vantage.measures import Floats
from vantage.raters.answers import choices
from vantage.raters.trained.examples import grouped_folds
from vantage.raters.trained.linear import LinearSettings, Vocabulary
from vantage.scales import Scale
from vantage.studies.context.pipeline.controls import STATIC

SURFACE: Final = ("constant", "length", "words-doubt")
"""The methods that need no model: everyone's average answer; short texts first; the doubt that words predict."""
FOLDS: Final = 5


def entropy(shares: Floats) -> Floats:
    """The Shannon entropy of every row of shares, from 0 (unanimity) to 1 (an even spread).

    >>> entropy(np.array([[0.5, 0.5], [1.0, 0.0]])).tolist()
    [1.0, 0.0]
    """
    return np.asarray(entr(shares).sum(axis=1) / np.log(max(shares.shape[1], 2)), dtype=np.float64)


def counted(shares: Floats, scale: Scale, *, opt_outs: bool) -> Floats:
    """Shares of the answers that count: all of them, or the options alone, which then add up to 1.

    >>> counted(np.array([[0.2, 0.2, 0.6]]), Scale.labels("no", "yes"), opt_outs=False).tolist()
    [[0.5, 0.5]]
    """
    if opt_outs:
        return shares
    options = shares[:, : len(scale.options)]
    total = options.sum(axis=1, keepdims=True)
    return np.where(total > 0, options / np.where(total > 0, total, 1.0), np.nan)


def shares_of(table: pl.DataFrame, column: str = "shares") -> Floats:
    """A column of shares as an array, one row per item."""
    return np.array(table[column].to_list(), dtype=np.float64)


def votes(corpus: Corpus, question: Question, *, condition: str = STATIC) -> pl.DataFrame:
    """How people answered each item: `item`, `shares`, `votes`, `entropy`, `ambiguity` and `doubt`.

    Shares include opt-outs; refused and unreadable answers are no votes. Items without votes are left out, and
    ambiguity is null where "ambiguous" is no answer.
    """
    rows = corpus.people().judgments.filter(question=question.id, condition=condition)
    table = pooled(rows, question.scale).rename({"answers": "votes"}).drop_nulls("shares").sort("item")
    shares = shares_of(table) if len(table) else np.empty((0, len(choices(question.scale))))
    return table.with_columns(with_doubt(shares, question.scale))


def with_doubt(shares: Floats, scale: Scale) -> list[pl.Series]:
    """Of every row of shares the `entropy`, the `doubt` and the `ambiguity`, null where it is no answer."""
    unclear = next((place for place, answer in enumerate(choices(scale)) if answer.status == "ambiguous"), None)
    return [
        pl.Series("entropy", entropy(shares)),
        pl.Series("doubt", 1.0 - shares[:, : len(scale.options)].max(axis=1)),
        pl.Series("ambiguity", [None] * len(shares) if unclear is None else shares[:, unclear], dtype=pl.Float64),
    ]


def fitted_dirichlet(counts: Floats) -> Floats:
    """The Dirichlet distribution of items' chances that makes their counts of answers likeliest (Minka 2000).

    >>> fitted_dirichlet(np.array([[4.0, 1.0], [1.0, 4.0], [5.0, 0.0], [0.0, 5.0]])).round(1).tolist()
    [0.4, 0.4]
    """
    a = np.ones(counts.shape[1])
    for _ in range(300):
        a *= (psi(counts + a) - psi(a)).sum(axis=0) / (psi(counts.sum(axis=1) + a.sum()) - psi(a.sum())).sum()
    return np.asarray(np.maximum(a, 1e-3), dtype=np.float64)


def pooled(judgments: pl.DataFrame, scale: Scale, by: Sequence[str] = ("item",)) -> pl.DataFrame:
    """One row per item, or item and rater: the shares of answers and their number; scored ones count with chances."""
    answers = choices(scale)
    if not answers:
        raise InputError("the scale is continuous, so answers do not fall into categories", remedy="choose another")
    chances, status = pl.lit(None, dtype=pl.List(pl.Float64)), pl.col("status").cast(pl.String)
    if "probabilities" in judgments.columns:
        chances = pl.col("probabilities")
    masses = []
    for place, answer in enumerate(answers):
        same = status == answer.status if answer.value is None else pl.col("value").eq_missing(answer.value)
        scored = chances.list.get(place, null_on_oob=True)
        mass = pl.when(chances.is_not_null()).then(scored).otherwise(same.cast(pl.Float64))
        masses.append(mass.sum().alias(f"__{place}"))
    total = pl.sum_horizontal(f"__{place}" for place in range(len(answers)))
    share = pl.concat_list([pl.col(f"__{place}") / total for place in range(len(answers))])
    return (
        judgments.group_by(*by, maintain_order=True)
        .agg(*masses)
        .select(*by, pl.when(total > 0).then(share).alias("shares"), total.round().cast(pl.Int64).alias("answers"))
    )


def known_entropies(judgments: pl.DataFrame, scale: Scale) -> pl.DataFrame:
    """How well answers to one question tell the entropy of each item: its posterior `mean` and `sd`."""
    table = pooled(judgments, scale, by=("item", "rater")).drop_nulls("shares")
    if table.is_empty():
        return pl.DataFrame(schema={"item": pl.String, "mean": pl.Float64, "sd": pl.Float64})
    shares, answers = shares_of(table), table["answers"].to_numpy().astype(np.float64)
    items, place = np.unique(table["item"].to_numpy(), return_inverse=True)
    counts = np.zeros((len(items), shares.shape[1]))
    np.add.at(counts, place, shares * answers[:, None])
    mean, sd = entropy_posterior(counts / _design_effect(shares, answers, counts))
    return pl.DataFrame({"item": items.tolist(), "mean": mean, "sd": sd})


def entropy_posterior(counts: Floats) -> tuple[Floats, Floats]:
    """The posterior mean and standard deviation of entropies, one row of counts per item (Wolpert and Wolf 1995).

    The prior is a symmetric Dirichlet distribution that counts for one answer in all (Perks 1947).

    >>> mean, sd = entropy_posterior(np.array([[8.0, 0.0, 0.0], [4.0, 4.0, 0.0], [40.0, 40.0, 0.0]]))
    >>> mean.round(2).tolist(), sd.round(2).tolist()
    ([0.22, 0.67, 0.64], [0.18, 0.12, 0.03])
    """
    options = counts.shape[1]
    a = counts + 1 / options
    total = a.sum(axis=1)
    mean = psi(total + 1) - (a * psi(a + 1)).sum(axis=1) / total
    above = psi(a + 1) - psi(total + 2)[:, None]
    cross = a * above
    tri = polygamma(1, total + 2)
    apart = cross.sum(axis=1) ** 2 - (cross**2).sum(axis=1) - tri * (total**2 - (a**2).sum(axis=1))
    own = (psi(a + 2) - psi(total + 2)[:, None]) ** 2 + polygamma(1, a + 2) - tri[:, None]
    second = (apart + (a * (a + 1) * own).sum(axis=1)) / (total * (total + 1))
    return mean / np.log(options), np.sqrt(np.maximum(second - mean**2, 0.0)) / np.log(options)


def _design_effect(shares: Floats, answers: Floats, counts: Floats) -> float:
    """How many answers of the readers count for one independent one: those of one resemble each other (Kish 1965)."""
    several = answers > 1
    if not several.any():
        return 1.0
    within = ((1 - (shares**2).sum(axis=1)) * answers / (answers - 1 + ~several))[several].mean()
    total = (1 - ((counts / counts.sum(axis=1, keepdims=True)) ** 2).sum(axis=1)).mean()
    correlation = float(np.clip(1 - within / total, 0.0, 1.0)) if total > 0 else 0.0
    return 1.0 + (float(answers.mean()) - 1.0) * correlation


def by_surface(items: pl.DataFrame, votes: pl.DataFrame, method: str, *, seed: int = 0) -> pl.DataFrame:
    """The ambiguity of items by a method of `SURFACE`: `item`, `score`, `shares` and `reason`.

    Items without people's `votes` are left out; `seed` is that of the folds.

    >>> items = pl.DataFrame({"item": ["a", "b"], "text": ["Great.", "The bus comes at nine."]})
    >>> votes = pl.DataFrame({"item": ["a", "b"], "shares": [[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]], "doubt": [0.5, 0.0]})
    >>> by_surface(items, votes, "length").select("item", "score").rows()
    [('a', -1.0), ('b', -5.0)]
    """
    if method not in SURFACE:
        raise InputError(f"there is no method of detection '{method}'", remedy=nearest(method, SURFACE))
    table = votes.select("item", "shares", "doubt").join(items.select("item", "text"), on="item", maintain_order="left")
    legible = pl.col("text").str.strip_chars().str.len_chars().fill_null(0) > 0
    known, lost = table.filter(legible), table.filter(~legible)
    if len(known) < FOLDS and method != "length":
        raise InputError(f"{len(known)} items with votes are too few for {FOLDS} folds", remedy="give more votes")
    texts, shares = known["text"].to_list(), pl.lit(None, dtype=pl.List(pl.Float64))
    if method == "length":
        score = np.array([-float(len(text.split())) for text in texts])
    elif method == "words-doubt":
        score = _by_folds(texts, known["doubt"].to_numpy(), _ridge, seed)
    else:
        means = _by_folds(texts, shares_of(known), lambda known, given, asked: given.mean(axis=0), seed)
        # Folds differ by a hair in their average, which must not order the items.
        score, shares = np.full(len(known), entropy(means).mean()), pl.lit(pl.Series(means.tolist()))
    empty = lost.select("item", reason=pl.lit("the item has no text"))
    return pl.concat([known.select("item", shares=shares, score=pl.Series(score)), empty], how="diagonal")


def _by_folds(
    texts: Sequence[str], target: Floats, predict: Callable[[Sequence[str], Floats, Sequence[str]], Any], seed: int
) -> Floats:
    """What is predicted for each text from the texts of the other folds and their targets."""
    fold, predicted = grouped_folds(texts, FOLDS, seed), np.zeros_like(target)
    for one in range(FOLDS):
        known, asked = ([text for text, n in zip(texts, fold, strict=True) if (n == one) == own] for own in (0, 1))
        predicted[fold == one] = predict(known, target[fold != one], asked)
    return predicted


def _ridge(known: Sequence[str], doubt: Floats, asked: Sequence[str]) -> Any:
    from sklearn.linear_model import Ridge

    words = Vocabulary.fit(known, LinearSettings(characters=None))
    return Ridge(alpha=1.0).fit(words(known), doubt).predict(words(asked))
