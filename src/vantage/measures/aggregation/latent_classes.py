"""Latent-class models of raters: Dawid and Skene (1979), and MACE (Hovy, Berg-Kirkpatrick, Vaswani and Hovy 2013).

Such models give every rater a probability for every answer. Only the pairs of rater and answer that occur are kept, so
memory grows with the number of answers and not with raters × classes. In the model of Dawid and Skene each rater has a
confusion matrix and each unit a hidden true class; both steps of the EM algorithm are one product with the same sparse
matrix, which says how often each unit received each pair of rater and answer. In MACE a rater either knows the answer,
with a probability called competence, or gives one after a strategy of their own. A class that nobody chose for a unit
is as likely as any other such class, so only the classes that were chosen are kept, and the cost does not grow with the
number of points on the scale.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, TypeAlias

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
        return np.asarray(np.add.reduceat(pairs, self.begin, axis=0))


SMALLEST: Final = 1e-10
"""Replaces expected counts and priors of zero, so that no single answer excludes a class."""


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
        return np.asarray(self.classes[self.posterior.argmax(axis=1)])

    @property
    def confidence(self) -> Floats:
        """The probability of each unit's label."""
        return np.asarray(self.posterior.max(axis=1))

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


SMOOTHING: Final = 0.01
"""Added to the expected counts, divided by the number of classes, as the authors do."""

Parameters: TypeAlias = tuple[Floats, Floats, Floats]
"""Per rater the probability to know and to guess, and per pair that of the answer in a guess."""


@dataclass(frozen=True, slots=True, eq=False)
class Mace:
    """A fitted model: what each unit's class probably is, and how often each rater knows it."""

    classes: Floats
    """The values that occur, rising."""
    labels: Floats
    """The most probable value of each unit; the lowest of those that are equally probable."""
    confidence: Floats
    """The probability of each unit's label."""
    competence: Floats
    """The probability that a rater knows the answer rather than guesses."""
    strategy: Floats
    """The probability of each pair's answer when its rater guesses."""
    pair_rater: Ints
    pair_answer: Ints
    cell_unit: Ints
    cell_answer: Ints
    cell_probability: Floats
    """The probability of each class that somebody chose for a unit."""
    log_likelihood: tuple[float, ...]
    """The log-likelihood of the answers before each update, in the restart that was kept."""
    restarts: tuple[float, ...]
    """The log-likelihood at the end of each restart."""

    @property
    def posterior(self) -> Floats:
        """Units × classes: the probability of each class given all answers."""
        units, classes = len(self.labels), len(self.classes)
        mass = np.bincount(self.cell_unit, self.cell_probability, minlength=units)
        chosen = np.bincount(self.cell_unit, minlength=units)
        rest = np.maximum(1 - mass, 0) / np.maximum(classes - chosen, 1)
        posterior = np.repeat(rest[:, None], classes, axis=1)
        posterior[self.cell_unit, self.cell_answer] = self.cell_probability
        return posterior


@dataclass(frozen=True, slots=True, eq=False)
class _Cells:
    """The classes that somebody chose for a unit, and the sparse matrix from pairs to them."""

    data: Responses
    unit: Ints
    answer: Ints
    begin: Ints
    unchosen: Ints
    """How many classes nobody chose for a unit."""
    given: Any
    received: Any

    @classmethod
    def of(cls, data: Responses) -> _Cells:
        from scipy.sparse import csr_array

        classes = len(data.classes)
        keys, cell = np.unique(data.unit * classes + data.answer, return_inverse=True)
        unit = keys // classes
        given = csr_array((np.ones(len(cell)), (cell, data.pair)), (len(keys), len(data.pair_rater)))
        unchosen = classes - np.bincount(unit, minlength=data.units)
        begin = np.searchsorted(unit, np.arange(data.units))
        return cls(data, unit, keys % classes, begin, unchosen, given, given.T.tocsr())


def mace(
    ratings: Ratings,
    *,
    restarts: int = 10,
    iterations: int = 50,
    tolerance: float = 1e-6,
    seed: int = 0,
) -> Mace:
    """Fits the model by EM from several random starts and keeps the likeliest.

    A restart stops when the log-likelihood gains less than `tolerance` per answer, or after `iterations`.
    The order of the answers makes no difference, not even in the last digit.

    >>> unit, rater = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 1, 2, 0, 1, 2])
    >>> ratings = Ratings.of(unit, rater, np.array([1.0, 1, 0, 0, 0, 0]))
    >>> mace(ratings).labels
    array([1., 0.])
    """
    cells = _Cells.of(Responses.of(ratings))
    rng = np.random.default_rng(seed)
    runs = [climb(cells, start(cells.data, rng), iterations, tolerance) for _ in range(restarts)]
    parameters, probability, history = max(runs, key=lambda run: run[2][-1])
    know, guess, strategy = parameters
    confidence = np.maximum.reduceat(probability, cells.begin)
    best = np.flatnonzero(probability == confidence[cells.unit])
    first = best[np.searchsorted(cells.unit[best], np.arange(cells.data.units))]
    return Mace(
        classes=cells.data.classes,
        labels=cells.data.classes[cells.answer[first]],
        confidence=confidence,
        competence=know / (know + guess),
        strategy=strategy,
        pair_rater=cells.data.pair_rater,
        pair_answer=cells.data.pair_answer,
        cell_unit=cells.unit,
        cell_answer=cells.answer,
        cell_probability=probability,
        log_likelihood=tuple(history),
        restarts=tuple(run[2][-1] for run in runs),
    )


def start(data: Responses, rng: np.random.Generator) -> Parameters:
    """A random start: any competence, and a strategy drawn evenly from all strategies."""
    know = rng.uniform(0.05, 0.95, data.raters)
    strategy = rng.standard_exponential((data.raters, len(data.classes))) + SMOOTHING
    strategy /= strategy.sum(axis=1, keepdims=True)
    return know, 1 - know, strategy[data.pair_rater, data.pair_answer]


def climb(
    cells: _Cells,
    parameters: Parameters,
    iterations: int,
    tolerance: float,
) -> tuple[Parameters, Floats, list[float]]:
    """Updates from one start; the parameters, the cells' probabilities under them, and the history."""
    data = cells.data
    history: list[float] = []
    while True:
        know, guess, strategy = parameters
        knows = know[data.pair_rater]
        by_guess = guess[data.pair_rater] * strategy
        gain = cells.given @ np.log1p(knows / by_guess)
        top = np.maximum.reduceat(gain, cells.begin)
        probability = np.exp(gain - top[cells.unit])
        total = np.add.reduceat(probability, cells.begin) + cells.unchosen * np.exp(-top)
        probability /= total[cells.unit]
        likelihood = data.pair_count @ np.log(by_guess) + (np.log(total) + top).sum()
        history.append(float(likelihood - data.units * np.log(len(data.classes))))
        settled = len(history) > 1 and abs(history[-1] - history[-2]) < tolerance * len(data.unit)
        if settled or len(history) > iterations:
            return parameters, probability, history
        known = (cells.received @ probability) * knows / (knows + by_guess)
        parameters = _smoothed(data, known, np.maximum(data.pair_count - known, 0))


def _smoothed(data: Responses, known: Floats, guessed: Floats) -> Parameters:
    """The parameters that the expected counts, a little smoothed, make likeliest."""
    smoothing = SMOOTHING / len(data.classes)
    know, guess = data.per_rater(known) + smoothing, data.per_rater(guessed) + smoothing
    total = (guess - smoothing + SMOOTHING)[data.pair_rater]
    return know / (know + guess), guess / (know + guess), (guessed + smoothing) / total
