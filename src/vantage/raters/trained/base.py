"""What a trained rater reads and what it predicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from vantage.errors import InputError, nearest
from vantage.scales import Scale

Floats: TypeAlias = NDArray[np.float64]
Progress = Callable[[int, int], None]
"""Called with the steps that are done and the steps there are."""


@dataclass(frozen=True, slots=True)
class ItemTexts:
    """The texts of items as a model reads them: a first part, and the target as the second where there is one."""

    first: tuple[str, ...]
    second: tuple[str, ...] | None = None

    def __len__(self) -> int:
        return len(self.first)

    def take(self, rows: Sequence[int] | NDArray[np.intp]) -> ItemTexts:
        """Some of the texts, in the order of `rows`."""
        second = None if self.second is None else tuple(self.second[row] for row in rows)
        return ItemTexts(tuple(self.first[row] for row in rows), second)

    def joined(self) -> list[str]:
        """Both parts as one text."""
        if self.second is None:
            return list(self.first)
        return [f"{a} [SEP] {b}" for a, b in zip(self.first, self.second, strict=True)]


@dataclass(frozen=True, slots=True)
class PredictedAnswers:
    """What is predicted for one question: the shares of the options, or mean and spread on a continuous scale."""

    shares: Floats | None
    """One row per item, one column per option of the scale."""
    mean: Floats | None = None
    """Expected value; null for a nominal scale."""
    spread: Floats | None = None
    """Standard deviation of the predicted answers; null for a nominal scale."""

    @property
    def place(self) -> NDArray[np.intp]:
        """The place of the most probable option among the options of the scale."""
        assert self.shares is not None  # noqa: S101 - options have shares
        return np.asarray(self.shares.argmax(axis=1), dtype=np.intp)

    @classmethod
    def of_shares(cls, shares: Floats, scale: Scale) -> PredictedAnswers:
        """From shares of the options, with mean and spread where codes can be averaged."""
        shares = np.asarray(shares, dtype=np.float64)
        shares = shares / shares.sum(axis=1, keepdims=True)
        if not scale.ordered:
            return cls(shares)
        codes = np.asarray(scale.codes)
        mean = shares @ codes
        return cls(shares, mean, np.sqrt(np.maximum(shares @ codes**2 - mean**2, 0.0)))

    @classmethod
    def of_numbers(cls, mean: Floats, spread: float, scale: Scale) -> PredictedAnswers:
        """From a predicted mean and the spread of errors around it, taken as normal; means are kept on the scale.

        >>> result = PredictedAnswers.of_numbers(np.array([9.0]), 0.5, Scale.points(1, 5))
        >>> float(result.mean[0]), [round(float(share), 2) for share in result.shares[0]]
        (5.0, [0.0, 0.0, 0.0, 0.16, 0.84])
        """
        low, high = scale.ends
        mean = np.clip(np.asarray(mean, dtype=np.float64), low, high)
        spreads = np.full(len(mean), spread)
        if not scale.options:
            return cls(None, mean, spreads)
        codes = np.asarray(scale.codes)
        edges = (codes[1:] + codes[:-1]) / 2
        below = ndtr((edges - mean[:, None]) / max(spread, 1e-6))
        whole = np.concatenate([np.zeros((len(mean), 1)), below, np.ones((len(mean), 1))], axis=1)
        return cls(np.diff(whole, axis=1), mean, spreads)

    def needed(self, answers: Floats, scale: Scale, *, single: bool = True) -> Floats:
        """How large a middle share has to be to hold an answer: of each option of the scale, or of each item's mean.

        >>> answers = PredictedAnswers.of_shares(np.array([[0.05, 0.3, 0.3, 0.3, 0.05]]), Scale.points(1, 5))
        >>> answers.needed(np.zeros(1), Scale.points(1, 5)).round(2).tolist()
        [[0.9, 0.3, 0.0, 0.3, 0.9]]
        """
        if self.shares is not None and single:
            order = np.argsort(scale.codes)
            below = np.cumsum(self.shares[:, order], axis=1)
            inside = 1 - 2 * np.minimum(below, 1 - below + self.shares[:, order])
            return np.asarray(np.clip(inside, 0, 1)[:, np.argsort(order)])
        assert self.mean is not None  # noqa: S101 - only ordered scales have a middle
        assert self.spread is not None  # noqa: S101
        return np.asarray(2 * ndtr(np.abs(answers - self.mean) / np.maximum(self.spread, 1e-9)) - 1)

    def take(self, rows: NDArray[np.intp]) -> PredictedAnswers:
        """Those of some items."""
        return PredictedAnswers(*(None if one is None else one[rows] for one in (self.shares, self.mean, self.spread)))

    @classmethod
    def joined(cls, parts: Sequence[PredictedAnswers]) -> PredictedAnswers:
        """Those of several groups of items, one after the other."""
        columns = zip(*((part.shares, part.mean, part.spread) for part in parts), strict=True)
        whole = [[one for one in column if one is not None] for column in columns]
        return cls(*(np.concatenate(column) if column else None for column in whole))

    def middle(self, share: float, scale: Scale, *, single: bool = True) -> tuple[Floats, Floats]:
        """The ends of the middle share of the predicted answers of single people, or of their means.

        >>> answers = PredictedAnswers.of_shares(np.array([[0.05, 0.3, 0.3, 0.3, 0.05]]), Scale.points(1, 5))
        >>> [float(end[0]) for end in answers.middle(0.8, Scale.points(1, 5))]
        [2.0, 4.0]
        """
        tail = (1 - share) / 2
        if self.shares is not None and single:
            order = np.argsort(scale.codes)
            codes, below = np.asarray(scale.codes)[order], np.cumsum(self.shares[:, order], axis=1)
            # At least the tail lies below the lowest answer's upper edge, and at most the tail above the highest's.
            low = (below < tail + 1e-12).sum(axis=1)
            high = (below < 1 - tail - 1e-12).sum(axis=1)
            return codes[low], codes[np.minimum(high, len(codes) - 1)]
        assert self.mean is not None  # noqa: S101 - only ordered scales have a middle
        assert self.spread is not None  # noqa: S101
        reach, (least, most) = float(ndtri(1 - tail)) * self.spread, scale.ends
        return np.clip(self.mean - reach, least, most), np.clip(self.mean + reach, least, most)


def mixture(parts: Sequence[tuple[float, PredictedAnswers]]) -> PredictedAnswers:
    """Several predictions as one, each with its weight: shares and means are averaged, spreads take in the differences.

    >>> one, two = (PredictedAnswers.of_numbers(np.array([m]), 1.0, Scale.continuous(0, 9)) for m in (2.0, 4.0))
    >>> mixed = mixture([(0.5, one), (0.5, two)])
    >>> float(mixed.mean[0]), round(float(mixed.spread[0]), 3)
    (3.0, 1.414)
    """
    if len(parts) == 1:
        return parts[0][1]
    weights = np.array([weight for weight, _ in parts])
    weights = weights / weights.sum()

    def average(arrays: Sequence[Floats | None]) -> Floats | None:
        there = [array for array in arrays if array is not None]
        return sum((w * a for w, a in zip(weights, there, strict=True)), np.zeros(())) if there else None

    shares, mean = average([p.shares for _, p in parts]), average([p.mean for _, p in parts])
    if mean is None:
        return PredictedAnswers(shares)
    second = average([p.spread**2 + p.mean**2 for _, p in parts if p.spread is not None and p.mean is not None])
    assert second is not None  # noqa: S101 - where there is a mean there is a spread
    return PredictedAnswers(shares, mean, np.sqrt(np.maximum(second - mean**2, 0.0)))


def decide(predicted: PredictedAnswers, scale: Scale, *, by_mean: bool) -> Floats:
    """The answer on the scale: the option nearest to the mean (halves up), or the most probable one.

    >>> shares = np.array([[0.4, 0.0, 0.3, 0.3]])
    >>> result = PredictedAnswers.of_shares(shares, Scale.points(0, 3))
    >>> decide(result, Scale.points(0, 3), by_mean=True), decide(result, Scale.points(0, 3), by_mean=False)
    (array([2.]), array([0.]))
    """
    if not scale.options:
        assert predicted.mean is not None  # noqa: S101 - a continuous scale has means
        return predicted.mean
    codes = np.asarray(scale.codes)
    if by_mean and predicted.mean is not None:
        return np.asarray(codes[nearest_option(predicted.mean, codes)])
    return np.asarray(codes[predicted.place])


def nearest_option(values: Floats, codes: Floats) -> NDArray[np.intp]:
    """The index of the code nearest to each value; a value half-way between two belongs to the higher one."""
    edges = (codes[1:] + codes[:-1]) / 2
    return np.asarray(np.searchsorted(edges, np.asarray(values) + 1e-9, side="right"), dtype=np.intp)


def refuse_unknown(given: Iterable[str], known: Sequence[str], what: str) -> None:
    """Refuses a setting that `what` does not have.

    >>> refuse_unknown(["epoch"], ["epochs", "batch"], "an encoder")
    Traceback (most recent call last):
        ...
    vantage.errors.InputError: an encoder has no setting 'epoch'; did you mean 'epochs'?
    """
    for name in given:
        if name not in known:
            raise InputError(f"{what} has no setting '{name}'", remedy=nearest(name, list(known)))


def short_name(model: str) -> str:
    """A model's name without the folders before it.

    >>> short_name("hf:/home/me/models/big"), short_name("vinai/bertweet-base"), short_name("embedded")
    ('big', 'bertweet-base', 'embedded')
    """
    return Path(model.removeprefix("hf:")).name
