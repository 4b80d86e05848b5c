"""Likenesses by name: what can be computed is, and the rest says why not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tests.measures.rationale.single import bleu, rouge
from vantage.errors import InputError
from vantage.measures.ratings import Floats
from vantage.measures.rationale.semantic import OVERLAP, Likeness

PAIRS = [("the cat sat", ("a cat sat",)), ("he blames them", ("they blame him", "he blames all of them"))]


def test_all_overlaps_are_those_of_single_texts() -> None:
    found, reasons = Likeness().scores(PAIRS)
    assert tuple(found) == OVERLAP
    assert reasons == {}
    assert found["bleu-3"].tolist() == [bleu(text, known, n=3) for text, known in PAIRS]
    assert found["rouge-l"].tolist() == [rouge(text, known)["rouge-l"] for text, known in PAIRS]


def test_encoders_are_asked_once_and_missing_ones_have_a_reason() -> None:
    calls = []

    def encode(texts: Sequence[str]) -> Floats:
        calls.append(texts)
        return np.ones((len(texts), 2))

    found, reasons = Likeness(("embedding", "bertscore", "rouge-1"), encode=encode).scores(PAIRS)
    assert list(found) == ["embedding", "rouge-1"]
    assert len(calls) == 1
    assert "needs an encoder" in reasons["bertscore"]
    scored, _ = Likeness(("bertscore",), bertscore=lambda pairs: np.full(len(pairs), 0.4)).scores(PAIRS)
    assert scored["bertscore"].tolist() == [0.4, 0.4]


def test_an_unknown_likeness_is_named() -> None:
    with pytest.raises(InputError, match="no likeness 'rouge-3'"):
        Likeness(("rouge-3",))
