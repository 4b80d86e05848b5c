"""The model of Dawid and Skene (1979): each rater has a confusion matrix, each unit a hidden true class.

Both steps of the EM algorithm are one product with the same sparse matrix, which says how often each unit
received each pair of rater and answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from vantage.measures.aggregation.responses import Responses
from vantage.measures.ratings import Floats, Ints, Ratings

SMALLEST: Final = 1e-10
"""What stands for an expected count or a prior of zero, so that no class is excluded by one answer alone."""


@dataclass(frozen=True, slots=True, eq=False)
class DawidSkene:
    """A fitted model: what each unit's class probably is, and how each rater confuses classes."""

    classes: Floats
    """The values that occur, rising."""
    posterior: Floats
    """Units × classes: the probability of each class given all answers."""
    prior: Floats
    """The share of each class."""
    errors: Floats
    """Pairs × classes: the probability that a rater gives an answer, given the true class."""
    pair_rater: Ints
    pair_answer: Ints
    log_likelihood: tuple[float, ...]
    """The log-likelihood of the answers before each update; it never falls but for rounding."""
    converged: bool

    @property
    def labels(self) -> Floats:
        """The most probable value of each unit; the lowest of those that are equally probable."""
        labels: Floats = self.classes[self.posterior.argmax(axis=1)]
        return labels

    @property
    def confidence(self) -> Floats:
        """The probability of each unit's label."""
        confidence: Floats = self.posterior.max(axis=1)
        return confidence

    @property
    def competence(self) -> Floats:
        """The probability that a rater's answer is the true class, classes weighted by their shares."""
        right = self.errors[np.arange(len(self.pair_answer)), self.pair_answer] * self.prior[self.pair_answer]
        return np.bincount(self.pair_rater, right).astype(np.float64)


def dawid_skene(ratings: Ratings, *, iterations: int = 100, tolerance: float = 1e-5) -> DawidSkene:
    """Fits the model by EM, starting from each unit's shares of answers, until it stops improving.

    It stops when the log-likelihood gains less than `tolerance` per answer, or after `iterations`. The order
    of the answers makes no difference, not even in the last digit.

    >>> unit, rater = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 1, 2, 0, 1, 2])
    >>> ratings = Ratings.of(unit, rater, np.array([1.0, 1, 0, 0, 0, 0]))
    >>> dawid_skene(ratings).labels
    array([1., 0.])
    """
    from scipy.sparse import csr_array

    data = Responses.of(ratings)
    classes = len(data.classes)
    given = csr_array((np.ones(len(data.unit)), (data.unit, data.pair)), (data.units, len(data.pair_rater)))
    received = given.T.tocsr()
    votes = np.bincount(data.unit * classes + data.answer, minlength=data.units * classes)
    shares = votes.reshape(data.units, classes).astype(np.float64)
    posterior = shares / shares.sum(axis=1, keepdims=True)
    history: list[float] = []
    converged = False
    prior, errors = _maximise(data, posterior, received @ posterior)
    while len(history) < iterations and not converged:
        joint = given @ np.log(errors)
        joint += np.log(prior)
        top = joint.max(axis=1, keepdims=True)
        posterior = np.exp(joint - top)
        total = posterior.sum(axis=1, keepdims=True)
        posterior /= total
        history.append(float((np.log(total) + top).sum()))
        prior, errors = _maximise(data, posterior, received @ posterior)
        converged = len(history) > 1 and history[-1] - history[-2] < tolerance * len(ratings)
    return DawidSkene(
        data.classes,
        posterior,
        prior,
        errors,
        data.pair_rater,
        data.pair_answer,
        tuple(history),
        converged,
    )


def _maximise(data: Responses, posterior: Floats, counts: Floats) -> tuple[Floats, Floats]:
    """The shares of the classes, and each rater's probabilities, that the expected counts make likeliest."""
    counts = np.maximum(counts, SMALLEST)
    errors = counts / data.per_rater(counts)[data.pair_rater]
    return np.maximum(posterior.mean(axis=0), SMALLEST), errors
