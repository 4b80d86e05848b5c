"""Likeness of meaning, by cosines of sentence vectors and by BERTScore, and all likenesses of texts by name.

Both take any encoder. Scores of different encoders cannot be compared, so results name theirs. Each likeness is
computed for many pairs at once, so that texts are cut and encoded once.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np

from vantage.errors import InputError, nearest
from vantage.measures.ratings import Floats
from vantage.measures.rationale.overlap import ROUGE, Smoothing, Tokens, bleu_of_pairs, rouge_of_pairs
from vantage.measures.texts.phrases import Encode, unit

Pair: TypeAlias = tuple[str, Sequence[str]]
"""A text and its references."""
Score: TypeAlias = Callable[[Sequence[Pair]], Floats]
"""From pairs to one score each, such as a `BertScore`."""


def embedding_similarity(pairs: Sequence[Pair], encode: Encode) -> Floats:
    """The cosine of each text's vector with that of its most similar reference.

    >>> vectors = {"a": [1.0, 0.0], "b": [1.0, 1.0], "c": [0.0, 2.0]}
    >>> embedding_similarity([("a", ["b", "c"])], lambda texts: np.array([vectors[t] for t in texts])).round(3).tolist()
    [0.707]
    """
    texts = list(dict.fromkeys(text for candidate, references in pairs for text in (candidate, *references)))
    if not texts:
        return np.zeros(0)
    matrix = np.asarray(encode(texts), dtype=np.float64)
    if matrix.ndim != 2 or len(matrix) != len(texts):
        raise InputError(f"the encoder gave {matrix.shape} numbers for {len(texts)} texts", remedy="one row per text")
    vectors = dict(zip(texts, unit(matrix), strict=True))
    return np.array([max(float(vectors[c] @ vectors[r]) for r in references) for c, references in pairs])


@dataclass(frozen=True)
class BertScore:
    """BERTScore F1 (Zhang et al. 2020) by the package bert-score, with any Transformers encoder (a folder or hub name).

    Every token is paired with the most similar one on the other side; of several references the highest F1 counts.
    `layers` is the layer whose token vectors are taken; the package knows the best one of many models. With a
    `baseline`, the mean score of unrelated texts, that is 0 and identity 1: (F − b) / (1 − b).
    """

    model: str
    layers: int | None = None
    baseline: float = 0.0

    def __post_init__(self) -> None:
        if not self.baseline < 1:
            raise InputError(f"a baseline of {self.baseline} leaves no room below 1", remedy="use a lower one")

    @property
    def name(self) -> str:
        """The encoder in words, for results."""
        return f"bert-score with {Path(self.model).name}"

    def __call__(self, pairs: Sequence[Pair]) -> Floats:
        """One score per pair."""
        try:
            package = import_module("bert_score")
        except ImportError:
            problem = "BERTScore needs bert-score and torch, which are not installed"
            raise InputError(problem, remedy="pip install bert-score, or leave it out") from None
        texts, references = [text for text, _ in pairs], [list(known) for _, known in pairs]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                scores = package.score(
                    texts, references, model_type=self.model, num_layers=self.layers, device=None, verbose=False
                )
        except (KeyError, OSError, ValueError, AssertionError) as error:
            reason = " ".join(str(error).split())[:160].rstrip(".")
            problem = f"the encoder '{self.model}' cannot be used for BERTScore ({reason})"
            raise InputError(problem, remedy="name a Transformers encoder and its layers") from None
        return (np.asarray(scores[2].numpy(), dtype=np.float64) - self.baseline) / (1 - self.baseline)


OVERLAP: Final = ("bleu-2", "bleu-3", "bleu-4", *ROUGE)
"""What is computed unless more is asked for: needs no model."""
KNOWN: Final = ("bleu-1", *OVERLAP, "embedding", "bertscore")


@dataclass(frozen=True)
class Likeness:
    """The likenesses to compute, with their options and encoders.

    A likeness that cannot be computed, because its package or encoder is missing, is left out with a reason; the
    others run.

    >>> result, reasons = Likeness(("rouge-1", "embedding")).scores([("a cat", ["the cat"])])
    >>> result["rouge-1"].tolist(), list(reasons)
    ([0.5], ['embedding'])
    """

    metric: Sequence[str] = OVERLAP
    smoothing: Smoothing = "floor"
    tokens: Tokens = "treebank"
    weights: Mapping[int, Sequence[float]] = field(default_factory=dict)
    encode: Encode | None = None
    bertscore: Score | None = None

    def __post_init__(self) -> None:
        for name in self.metric:
            if name not in KNOWN:
                raise InputError(f"there is no likeness '{name}'", remedy=nearest(name, KNOWN))

    def scores(self, pairs: Sequence[Pair]) -> tuple[dict[str, Floats], dict[str, str]]:
        """The scores of every pair by metric, and why some metrics have none."""
        scores: dict[str, Floats] = {}
        reasons: dict[str, str] = {}
        families = {"bleu": self._bleu, "rouge": self._rouge, "embedding": self._encoded, "bertscore": self._encoded}
        for family, compute in families.items():
            wanted = [name for name in self.metric if name.startswith(family)]
            try:
                scores |= compute(pairs, wanted) if wanted else {}
            except InputError as error:
                reasons |= dict.fromkeys(wanted, str(error))
        return {name: scores[name] for name in self.metric if name in scores}, reasons

    def _bleu(self, pairs: Sequence[Pair], names: list[str]) -> dict[str, Floats]:
        lengths = [int(re.sub(r"\D", "", name)) for name in names]
        scores = bleu_of_pairs(pairs, lengths, self.smoothing, self.weights, self.tokens)
        return {name: scores[n] for name, n in zip(names, lengths, strict=True)}

    def _rouge(self, pairs: Sequence[Pair], _: list[str]) -> dict[str, Floats]:
        return rouge_of_pairs(pairs)

    def _encoded(self, pairs: Sequence[Pair], names: list[str]) -> dict[str, Floats]:
        name = names[0]
        if name == "embedding" and self.encode is not None:
            return {name: embedding_similarity(pairs, self.encode)}
        if name == "bertscore" and self.bertscore is not None:
            return {name: self.bertscore(pairs)}
        raise InputError(f"{name} needs an encoder, and there is none", remedy="name one, such as minilm")
