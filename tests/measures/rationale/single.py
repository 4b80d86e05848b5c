"""BLEU and ROUGE of one text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vantage.measures.rationale.overlap import bleu_of_pairs, rouge_of_pairs


def bleu(
    text: str, known: str | Sequence[str], *, n: int = 4, weights: Sequence[float] | None = None, **options: Any
) -> float:
    return float(bleu_of_pairs([(text, known)], [n], weights={n: weights} if weights else {}, **options)[n][0])


def rouge(text: str, known: str | Sequence[str]) -> dict[str, float]:
    return {name: float(scores[0]) for name, scores in rouge_of_pairs([(text, known)]).items()}
