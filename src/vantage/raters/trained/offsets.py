"""Offsets of users: how labels that a user gave beforehand move what is predicted for this user."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from vantage.raters.trained.base import Floats

SPREAD: Final = 1.0
"""Standard deviation of the normal prior of an offset, in logits: few labels move a user little."""


def fit_offsets(
    shares: Floats, labels: NDArray[np.intp], users: Sequence[str], weights: Sequence[float]
) -> dict[str, list[float]]:
    """Per user an offset of each option's logit, most probable given the user's labels and a normal prior.

    `weights` are those of the options in training, so that a model that was kept from overlooking rare labels is not
    turned back by its users.

    >>> even = np.full((4, 2), 0.5)
    >>> result = fit_offsets(even, np.array([1, 1, 1, 1]), ["ann"] * 4, [1.0, 1.0])["ann"]
    >>> round(result[1], 2), round(sum(result), 2)
    (0.74, 0.0)
    """
    logs, weight = np.log(np.maximum(shares, 1e-9)), np.asarray(weights)
    names = np.asarray(users)
    offsets = {}
    for user in dict.fromkeys(users):
        mine = names == user
        offsets[user] = _offset(logs[mine], labels[mine], weight[labels[mine]])
    return offsets


def moved(shares: Floats, users: Sequence[str], offsets: dict[str, list[float]]) -> Floats:
    """Shares after the offsets of their users."""
    if not offsets:
        return shares
    none = [0.0] * shares.shape[1]
    odds = shares * np.exp(np.array([offsets.get(user, none) for user in users]))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def _offset(logs: Floats, labels: NDArray[np.intp], weight: Floats) -> list[float]:
    chosen = np.eye(logs.shape[1])[labels]

    def cost(offset: Floats) -> tuple[float, Floats]:
        out = logs + offset
        out = out - out.max(axis=1, keepdims=True)
        norm = np.log(np.exp(out).sum(axis=1, keepdims=True))
        loss = -(weight * ((out - norm) * chosen).sum(axis=1)).sum() + (offset**2).sum() / (2 * SPREAD**2)
        slope = (weight[:, None] * (np.exp(out - norm) - chosen)).sum(axis=0) + offset / SPREAD**2
        return float(loss), slope

    best = minimize(cost, np.zeros(logs.shape[1]), jac=True, method="L-BFGS-B").x
    return [float(value) for value in best]
