"""From the log-probabilities of options to a fair distribution and to a number on the scale."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax

from vantage.errors import InputError
from vantage.raters.models.base import LogProbs


def distribution(logprobs: LogProbs) -> NDArray[np.float64]:
    """The probabilities of the options, given that one of them is the answer; rows add up to 1.

    >>> distribution(np.log([[0.2, 0.2], [0.1, 0.3]]))
    array([[0.5 , 0.5 ],
           [0.25, 0.75]])
    """
    return np.asarray(softmax(logprobs, axis=1), dtype=np.float64)


def calibrated(logprobs: LogProbs) -> LogProbs:
    """Log-probabilities without what an option is given whatever the item, renormalised row by row.

    Language models prefer some options in every context (Zhao et al. 2021, contextual calibration); that
    preference is estimated here by the mean log-probability of each option over the batch, as in batch
    calibration (Zhou et al. 2024), and subtracted. What is left tells items apart, but no longer how high
    they are on average: the mean over the batch is even by construction. Rows that could not be scored (not
    a number) stay so and do not count.

    >>> np.exp(calibrated(np.log([[0.9, 0.1], [0.6, 0.4]]))).round(2)
    array([[0.71, 0.29],
           [0.29, 0.71]])
    """
    logprobs = np.asarray(logprobs, dtype=np.float64)
    scored = ~np.isnan(logprobs).any(axis=1)
    if np.count_nonzero(scored) < 2:
        raise InputError(
            "calibration compares items, and fewer than two were scored",
            remedy="score more items or use the probabilities as they are",
        )
    prior = logprobs[scored].mean(axis=0)
    return np.asarray(log_softmax(logprobs - prior, axis=1), dtype=np.float64)


def expected_values(logprobs: LogProbs, values: Sequence[float]) -> NDArray[np.float64]:
    """The mean of the scale's values under each row's distribution over the options.

    >>> expected_values(np.log([[0.1, 0.1], [0.1, 0.3]]), [1, 5])
    array([3., 4.])
    """
    if len(values) != np.shape(logprobs)[1]:
        raise InputError(f"there are {np.shape(logprobs)[1]} options and {len(values)} values")
    return np.asarray(distribution(logprobs) @ np.asarray(values, dtype=np.float64), dtype=np.float64)
