"""Answers as latent-class models of raters see them: which rater gave which answer to which unit.

Such models give every rater a probability for every answer. Only the pairs of rater and answer that occur
are kept, so memory grows with the number of answers and not with raters × classes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vantage.measures.ratings import Floats, Ints, Ratings


@dataclass(frozen=True, slots=True, eq=False)
class Responses:
    """Answers in the order of unit, rater and value, whatever order they came in."""

    unit: Ints
    """The unit of each answer."""
    answer: Ints
    """The class of each answer: a position in `classes`."""
    pair: Ints
    """The pair of rater and class of each answer: a position in `pair_rater` and `pair_answer`."""
    classes: Floats
    """The values that occur, rising."""
    pair_rater: Ints
    pair_answer: Ints
    pair_count: Floats
    """How often each pair occurs."""
    begin: Ints
    """Where each rater's pairs begin."""
    units: int
    raters: int

    @classmethod
    def of(cls, ratings: Ratings) -> Responses:
        """The responses behind ratings.

        >>> unit, rater, value = np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([4.0, 2.0, 2.0])
        >>> result = Responses.of(Ratings.of(unit, rater, value))
        >>> result.classes.tolist(), result.answer.tolist(), result.pair.tolist()
        ([2.0, 4.0], [1, 0, 0], [0, 1, 1])
        """
        classes, code = np.unique(ratings.value, return_inverse=True)
        code = code.reshape(-1)
        order = np.argsort((ratings.unit * ratings.coders + ratings.coder) * len(classes) + code, kind="stable")
        answer = code[order]
        key = ratings.coder[order] * len(classes) + answer
        pairs, pair, count = np.unique(key, return_inverse=True, return_counts=True)
        pair_rater = pairs // max(len(classes), 1)
        return cls(
            unit=ratings.unit[order],
            answer=answer.astype(np.int64),
            pair=pair.astype(np.int64),
            classes=classes,
            pair_rater=pair_rater,
            pair_answer=pairs % max(len(classes), 1),
            pair_count=count.astype(np.float64),
            begin=np.searchsorted(pair_rater, np.arange(ratings.coders)),
            units=ratings.units,
            raters=ratings.coders,
        )

    def per_rater(self, pairs: Floats) -> Floats:
        """Sums over each rater's pairs, along the first axis."""
        sums: Floats = np.add.reduceat(pairs, self.begin, axis=0)
        return sums
