"""What a model said of each item: the distribution of its answers, from probabilities, samples, personas or a panel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import polars as pl

from vantage.measures.ratings import Floats
from vantage.scales import Scale

FEW_CODES: Final = 12
"""Up to so many answers, the share of each is a feature of its own."""


@dataclass(frozen=True)
class ModelAnswers:
    """The answers of a model, or of several raters together, to one group of judgments.

    >>> frame = pl.DataFrame({"item": ["a", "a", "b"], "question": [""] * 3, "value": [0.0, 1.0, 1.0]})
    >>> said = ModelAnswers(frame, {})
    >>> said.mean.tolist(), said.share(1.0).tolist()
    ([0.5, 1.0], [0.5, 1.0])
    """

    frame: pl.DataFrame
    """Answered judgments with `item`, `question`, `value` and, where options were scored, `probabilities`."""
    scales: Mapping[str, Scale]

    @cached_property
    def items(self) -> pl.Series:
        """The items that have an answer, in the order of their names."""
        return self.frame["item"].unique().sort()

    @cached_property
    def codes(self) -> Floats:
        """The answers that are possible or were given, in ascending order."""
        asked = self.frame["question"].unique().to_list()
        declared = [code for question in asked if question in self.scales for code in self.scales[question].codes]
        return np.unique(np.concatenate([self.frame["value"].to_numpy(), np.array(declared, dtype=np.float64)]))

    @cached_property
    def shares(self) -> Floats:
        """The probability of each answer to each item: items × codes."""
        rows = np.zeros((len(self.frame), len(self.codes)))
        rows[np.arange(len(rows)), np.searchsorted(self.codes, self.frame["value"].to_numpy())] = 1
        if "probabilities" in self.frame.columns:
            scored = self.frame.with_row_index("__row").filter(pl.col("probabilities").is_not_null())
            for (question,), part in scored.partition_by("question", as_dict=True).items():
                codes = self.scales[str(question)].codes if str(question) in self.scales else ()
                # Options come in the order of the scale, opt-outs behind them.
                chances = np.array(part["probabilities"].to_list(), dtype=np.float64)[:, : len(codes)]
                if codes and np.all(chances.sum(axis=1) > 0):
                    at = part["__row"].to_numpy()
                    rows[at] = 0
                    rows[np.ix_(at, np.searchsorted(self.codes, codes))] = chances / chances.sum(axis=1, keepdims=True)
        item = self.frame["item"].rank("dense").to_numpy().astype(np.int64) - 1
        sums = np.zeros((len(self.items), len(self.codes)))
        np.add.at(sums, item, rows)
        return np.asarray(sums / np.bincount(item)[:, None])

    @property
    def mean(self) -> Floats:
        """The expected answer to each item."""
        return np.asarray(self.shares @ self.codes)

    def share(self, code: float) -> Floats:
        """The probability of one answer to each item."""
        return np.asarray(self.shares @ (self.codes == code).astype(np.float64))

    def asked(self, question: str) -> ModelAnswers:
        """The answers to one question."""
        return ModelAnswers(self.frame.filter(pl.col("question") == question), self.scales)

    def features(self) -> Floats:
        """What may predict an item's contribution: shares, mean and spread of the model's answers to it."""
        p, mean = self.shares, self.mean
        surprise = -np.sum(p * np.log(np.where(p > 0, p, 1.0)), axis=1)
        spread = [np.square(mean), p @ np.square(self.codes) - np.square(mean), 1 - np.square(p).sum(axis=1), surprise]
        return np.column_stack([*(p.T if len(self.codes) <= FEW_CODES else ()), mean, *spread])
