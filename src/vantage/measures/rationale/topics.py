"""What rationales are about: topics by latent Dirichlet allocation, with their coherence and their stability.

A topic model always finds topics. Two numbers say whether to believe them: coherence, whether a topic's words occur
together, and stability, whether another seed finds the same topic.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.errors import InputError
from vantage.measures.ratings import By, Floats, by_columns
from vantage.measures.texts.phrases import STOP_WORDS
from vantage.measures.texts.tokens import words

LEAST: Final = 2
"""In how many texts a word must occur to be counted."""
STEPS: Final = 100
"""Of a fit; more steps find topics no more coherent or stable."""


def topics(
    texts: pl.DataFrame,
    *,
    by: By = (),
    count: int = 3,
    shown: int = 8,
    stop_words: Iterable[str] = (),
    least_texts: int = LEAST,
    fits: int = 5,
    seed: int = 0,
) -> pl.DataFrame:
    """The topics of each group of texts (latent Dirichlet allocation, Blei et al. 2003), the most prominent first.

    One row per group and `topic`: its `words`, the `share` of all words that it takes up, its `coherence` (the mean
    normalised pointwise mutual information of its words in texts, Bouma 2009: 1 always together, 0 as chance would have
    it, −1 never) and its `stability` (the mean Jaccard likeness of its words to those of the topic that matches it best
    in `fits` with other seeds). Function words and `stop_words` are left out, and words in fewer than `least_texts`
    texts.

    >>> fire = ["smoke fire house", "fire house smoke", "house smoke fire"] * 4
    >>> rain = ["rain river boat", "boat rain river", "river boat rain"] * 4
    >>> result = topics(pl.DataFrame({"text": fire + rain}), count=2, shown=3, fits=2)
    >>> sorted(sorted(w.split(", ")) for w in result["words"]), result["stability"].to_list()
    ([['boat', 'rain', 'river'], ['fire', 'house', 'smoke']], [1.0, 1.0])
    """
    columns = by_columns(by)
    for column in ("text", *columns):
        if column not in texts.columns:
            raise InputError(f"the texts have no column '{column}'", remedy=f"they have {', '.join(texts.columns)}")
    if count < 1 or fits < 1:
        raise InputError("topics need at least one topic and one fit", remedy="use count 3 and fits 5")
    ignored = STOP_WORDS | {word.casefold() for word in stop_words}
    texts_of = texts.drop_nulls("text")
    split = texts_of.partition_by(columns, as_dict=True, maintain_order=True) if columns else {(): texts_of}
    rows: list[dict[str, Any]] = []
    for key, part in split.items():
        head = dict(zip(columns, key, strict=True))
        bags = [[w for w in words(text) if w not in ignored and not w.isdigit()] for text in part["text"]]
        rows += [{**head, **row} for row in _topics(bags, count, shown, least_texts, fits, seed)]
    schema: dict[str, Any] = {
        **{column: texts.schema[column] for column in columns},
        "topic": pl.Int64,
        "words": pl.String,
        **dict.fromkeys(("share", "coherence", "stability"), pl.Float64),
        "texts": pl.Int64,
        "reason": pl.String,
    }
    return pl.DataFrame(rows, schema=schema)


def npmi(top: Sequence[int], present: Floats) -> float | None:
    """The mean normalised pointwise mutual information of words over texts (Bouma 2009).

    `present` has a row per text and a column per word, 1 where the word occurs.

    >>> npmi([0, 1], np.array([[1.0, 1.0], [0.0, 0.0]]))
    1.0
    """
    total = len(present)
    values = []
    for first, second in combinations(top, 2):
        joint = float((present[:, first] * present[:, second]).sum()) / total
        alone = float(present[:, first].mean()) * float(present[:, second].mean())
        if joint == 0:
            values.append(-1.0)
        elif joint < 1:
            values.append(float(np.log(joint / alone) / -np.log(joint)))
    return float(np.mean(values)) if values else None


def _topics(
    bags: Sequence[Sequence[str]], count: int, shown: int, least: int, fits: int, seed: int
) -> list[dict[str, Any]]:
    occurs = Counter(word for bag in bags for word in set(bag))
    vocabulary = sorted(word for word, times in occurs.items() if times >= least)
    if len(vocabulary) < count:
        nothing = dict.fromkeys(("topic", "words", "share", "coherence", "stability"))
        return [{**nothing, "texts": len(bags), "reason": f"fewer than {count} words occur in {least} texts"}]
    place = {word: number for number, word in enumerate(vocabulary)}
    counts = np.zeros((len(bags), len(vocabulary)))
    for row, bag in enumerate(bags):
        for word in bag:
            if word in place:
                counts[row, place[word]] += 1
    present = (counts > 0).astype(np.float64)
    fitted = [_fit(counts, count, seed + number) for number in range(fits)]
    tops = [np.argsort(-weights, axis=1, kind="stable")[:, :shown].tolist() for weights, _ in fitted]
    shares = fitted[0][1]
    stable = _stability(tops)
    order = np.argsort(-shares, kind="stable")
    return [
        {
            "topic": number,
            "words": ", ".join(vocabulary[word] for word in tops[0][topic]),
            "share": float(shares[topic]),
            "coherence": npmi(tops[0][topic], present),
            "stability": stable[topic],
            "texts": len(bags),
            "reason": None,
        }
        for number, topic in enumerate(order.tolist(), 1)
    ]


def _fit(counts: Floats, count: int, seed: int) -> tuple[Floats, Floats]:
    """The weights of words in each topic, and the share of all words that each topic takes up.

    Variational Bayes as in Hoffman et al. (2010), all texts at once: one step for texts and one for topics in turn,
    which finds topics as coherent and as stable as steps of each until they settle (Neal and Hinton 1998).
    """
    prior = 1 / count
    topics_of_words = np.random.default_rng(seed).gamma(100.0, 0.01, (count, counts.shape[1]))
    topics_of_texts = np.ones((len(counts), count))
    for _ in range(STEPS):
        of_words, of_texts = _expected(topics_of_words), _expected(topics_of_texts)
        taken = counts / (of_texts @ of_words + np.finfo(float).tiny)
        topics_of_texts = prior + of_texts * (taken @ of_words.T)
        topics_of_words = prior + of_words * (of_texts.T @ taken)
    shares = topics_of_texts / topics_of_texts.sum(axis=1, keepdims=True)
    return topics_of_words, counts.sum(axis=1) @ shares / max(counts.sum(), 1.0)


def _expected(dirichlet: Floats) -> Floats:
    """Each row's shares under a Dirichlet distribution, as geometric means."""
    from scipy.special import psi

    return np.asarray(np.exp(psi(dirichlet) - psi(dirichlet.sum(axis=1, keepdims=True))))


def _stability(tops: Sequence[Sequence[Sequence[int]]]) -> list[float | None]:
    """How well each topic of the first fit is found again, on average over the others."""
    from scipy.optimize import linear_sum_assignment

    if len(tops) < 2:
        return [None] * len(tops[0])
    overlaps = np.zeros((len(tops) - 1, len(tops[0])))
    for number, other in enumerate(tops[1:]):
        alike = np.array([[len({*a} & {*b}) / len({*a} | {*b}) for b in other] for a in tops[0]])
        rows, columns = linear_sum_assignment(-alike)
        overlaps[number, rows] = alike[rows, columns]
    return [float(mean) for mean in overlaps.mean(axis=0)]
