"""Multi-annotator competence estimation, MACE (Hovy, Berg-Kirkpatrick, Vaswani and Hovy 2013).

A rater either knows the answer, with a probability called competence, or gives one after a strategy of
their own. A class that nobody chose for a unit is as likely as any other such class, so only the classes
that were chosen are kept, and the cost does not grow with the number of points on the scale.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np

from vantage.measures.aggregation.responses import Responses
from vantage.measures.ratings import Floats, Ints, Ratings

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
