"""All likenesses of texts by name, and which of them can be computed here.

`bleu-1` … `bleu-4`, `rouge-1`, `rouge-2`, `rouge-l`, `embedding` and `bertscore`. Each is computed for many pairs at
once, so that texts are cut and encoded once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from vantage.errors import InputError, nearest
from vantage.measures.ratings import Floats
from vantage.measures.rationale.overlap import ROUGE, Smoothing, Tokens, bleu_of_pairs, rouge_of_pairs
from vantage.measures.rationale.semantic import Pair, Score, embedding_similarity
from vantage.measures.texts.phrases import Encode

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
        for names, compute in self._parts():
            wanted = [name for name in self.metric if name in names]
            if not wanted:
                continue
            try:
                computed = compute(pairs, wanted)
            except InputError as error:
                reasons |= dict.fromkeys(wanted, str(error))
            else:
                scores |= {name: computed[name] for name in wanted}
        return {name: scores[name] for name in self.metric if name in scores}, reasons

    def _parts(self) -> list[tuple[tuple[str, ...], Callable[[Sequence[Pair], list[str]], dict[str, Floats]]]]:
        return [
            (tuple(name for name in KNOWN if name.startswith("bleu")), self._bleu),
            (ROUGE, lambda pairs, _: rouge_of_pairs(pairs)),
            (("embedding",), partial(_with, self.encode, self._embedding)),
            (("bertscore",), partial(_with, self.bertscore, self._bertscore)),
        ]

    def _bleu(self, pairs: Sequence[Pair], names: list[str]) -> dict[str, Floats]:
        lengths = [int(re.sub(r"\D", "", name)) for name in names]
        scores = bleu_of_pairs(pairs, lengths, self.smoothing, None, self.weights, self.tokens)
        return {name: scores[n] for name, n in zip(names, lengths, strict=True)}

    def _embedding(self, pairs: Sequence[Pair]) -> dict[str, Floats]:
        assert self.encode is not None  # noqa: S101 - seen to in _with
        return {"embedding": embedding_similarity(pairs, self.encode)}

    def _bertscore(self, pairs: Sequence[Pair]) -> dict[str, Floats]:
        assert self.bertscore is not None  # noqa: S101 - seen to in _with
        return {"bertscore": self.bertscore(pairs)}


def _with(
    encoder: Any, compute: Callable[[Sequence[Pair]], dict[str, Floats]], pairs: Sequence[Pair], names: list[str]
) -> dict[str, Floats]:
    if encoder is None:
        raise InputError(f"{names[0]} needs an encoder, and there is none", remedy="name one, such as minilm")
    return compute(pairs)
