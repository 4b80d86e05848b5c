"""Drawing tokens for a batch of replies, each with its own temperature and its own seed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vantage.raters.models.base import Sampling


class RowSampler:
    """A logits processor after which the most probable token of a row is a draw from its distribution.

    Adding Gumbel noise to log-probabilities and taking the greatest is drawing from the distribution (Gumbel
    1954). As each row has its own generator, a reply depends on its own seed and not on its neighbours in the
    batch, which one generator for the whole batch could not give.
    """

    def __init__(self, torch: Any, device: Any, rows: Sequence[Sampling]) -> None:
        self._torch = torch
        self._drawn = [row for row, sampling in enumerate(rows) if sampling.temperature > 0]
        asked = [rows[row] for row in self._drawn]
        self._temperatures = torch.tensor([[s.temperature] for s in asked], device=device)
        # The likeliest token always stays.
        self._nuclei = torch.tensor([[max(s.top_p, 1e-9)] for s in asked], device=device)
        self._cuts = any(s.top_p < 1 for s in asked)
        self._generators = [torch.Generator(device=device) for _ in asked]
        for generator, sampling in zip(self._generators, asked, strict=True):
            if sampling.seed is None:
                generator.seed()
            else:
                generator.manual_seed(sampling.seed)

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """The scores of the next token, with noise where the row is to be drawn."""
        scores = scores.float()
        if not self._drawn:
            return scores
        logits = scores[self._drawn] / self._temperatures
        if self._cuts:
            logits = self._nucleus(logits)
        noise = self._torch.empty_like(logits)
        for row, generator in enumerate(self._generators):
            noise[row].exponential_(generator=generator)
        scores[self._drawn] = logits - noise.log()
        return scores

    def _nucleus(self, logits: Any) -> Any:
        """Only the likeliest tokens that together have the probability `top_p` (Holtzman et al. 2020)."""
        ordered, index = logits.sort(dim=-1, descending=True)
        probabilities = ordered.softmax(dim=-1)
        before = probabilities.cumsum(dim=-1) - probabilities
        ordered = ordered.masked_fill(before >= self._nuclei, float("-inf"))
        return self._torch.empty_like(logits).scatter(-1, index, ordered)
