"""How alike raters answer: the agreement of every two of them, in an order in which groups show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import polars as pl

from vantage.corpora import Corpus
from vantage.instruments import Question
from vantage.measures.ratings import Floats, Ints


@dataclass(frozen=True, slots=True)
class RaterDistances:
    """The raters of a question, people and models alike, and how far each two of them are apart."""

    raters: pl.DataFrame
    apart: Floats
    """The mean distance of two raters' answers to the same items, as a share of the scale; not a number without any."""

    @classmethod
    def of(cls, corpus: Corpus, question: Question, most: int) -> Self:
        """The raters with most answers, in the order of the corpus.

        >>> from vantage import demo_corpus
        >>> alike = RaterDistances.of(demo_corpus(), demo_corpus().questions[0], 4)
        >>> alike.apart.shape, alike.raters["rater"].gather(alike.order.tolist()).n_unique()
        ((4, 4), 4)
        """
        given = corpus.judgments.filter(question=question.id).drop_nulls("value")
        chosen = given["rater"].value_counts(sort=True).sort("count", "rater", descending=[True, False]).head(most)
        raters = corpus.raters.join(chosen, on="rater", how="semi", maintain_order="left")
        given = given.join(raters, on="rater", how="semi").unique(["item", "rater"], keep="first", maintain_order=True)
        place = given["rater"].replace_strict(raters["rater"], range(len(raters)), return_dtype=pl.Int64).to_numpy()
        return cls(raters, _apart(given, place, len(raters), question))

    @property
    def filled(self) -> Floats:
        """The distances, with the mean of all where two raters judged nothing in common."""
        known = ~np.isnan(self.apart)
        return np.asarray(np.where(known, self.apart, self.apart[known].mean() if known.any() else 0.0))

    @property
    def order(self) -> Ints:
        """The raters so that those who answer alike stand together: the leaves of average-linkage clustering."""
        from scipy.cluster.hierarchy import leaves_list, linkage
        from scipy.spatial.distance import squareform

        if len(self.apart) < 3:
            return np.arange(len(self.apart))
        tree = linkage(squareform(self.filled, checks=False), "average", optimal_ordering=True)
        return np.asarray(leaves_list(tree))


def _apart(given: pl.DataFrame, place: Ints, raters: int, question: Question) -> Floats:
    from scipy.sparse import csr_array

    values, items = given["value"].to_numpy(), given["item"].rank("dense").cast(pl.Int64).to_numpy() - 1
    shape = (raters, given["item"].n_unique())
    there = csr_array((np.ones(len(values)), (place, items)), shape)
    answers, ordered = np.unique(values), question.scale.ordered
    # On an ordered scale the steps that lie between two answers; without an order, whether they differ.
    steps = np.diff(answers) / np.ptp(question.scale.ends) if ordered else np.full(len(answers), 0.5)
    sums = np.zeros((raters, raters))
    for answer, step in zip(answers[:-1] if ordered else answers, steps, strict=True):
        beyond = csr_array(
            ((values > answer if ordered else values == answer).astype(np.float64), (place, items)), shape
        )
        one_side = (beyond @ (there - beyond).T).toarray()
        sums += step * (one_side + one_side.T)
    shared = (there @ there.T).toarray()
    apart = np.divide(sums, shared, out=np.full_like(sums, np.nan), where=shared > 0)
    np.fill_diagonal(apart, 0.0)
    return np.asarray(apart)
